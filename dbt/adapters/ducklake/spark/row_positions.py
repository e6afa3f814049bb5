"""Where rows are: bring the file and position of each row of a DataFrame to the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..spec.files import LINEAGE_FILE, LINEAGE_POSITION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def collect_positions(frame: DataFrame) -> dict[int, list[int]]:
    """LINEAGE_FILE → the LINEAGE_POSITIONs of the rows in it; a row that stands twice in `frame` is given once."""
    rows = frame.select(LINEAGE_FILE, LINEAGE_POSITION).toArrow()
    if rows.num_rows == 0:
        return {}
    grouped = rows.group_by(LINEAGE_FILE).aggregate([(LINEAGE_POSITION, "distinct")])
    files = grouped.column(LINEAGE_FILE).to_pylist()
    positions = grouped.column(f"{LINEAGE_POSITION}_distinct").to_pylist()
    return dict(zip(files, positions, strict=True))
