"""Rows of the driver in the order of a sorted table."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ...format.identifiers import fold
from ...format.objects import Column, SortField
from ...format.sort_text import bare_column

logger = logging.getLogger(__name__)


def in_order(table: pa.Table, columns: Sequence[Column], order: Sequence[SortField]) -> pa.Table:
    """The rows sorted by the keys, in DuckDB's words, up to the first that is more than a column that Arrow can compare.

    Args:
        table: its first columns are `columns`; there may be more.
    """
    places = {fold(column.name): place for place, column in enumerate(columns)}
    data: dict[str, pa.ChunkedArray] = {}
    keys: list[tuple[str, str]] = []
    for index, key in enumerate(order):
        place = places.get(fold(bare_column(key.expression) or ""))
        values = None if place is None else table.column(place)
        if values is None or not _comparable(values):
            logger.warning("rows are not sorted by %s, which needs Spark", key.expression)
            break
        # Arrow puts the NULLs of all keys at one end: a key before each says where its own go.
        data |= {f"null{index}": pc.is_null(values), f"value{index}": values}
        keys.append((f"null{index}", "descending" if key.nulls.upper() == "NULLS_FIRST" else "ascending"))
        keys.append((f"value{index}", "descending" if key.direction.upper() == "DESC" else "ascending"))
    return table.take(pc.sort_indices(pa.table(data), sort_keys=keys)) if keys else table


def _comparable(values: pa.ChunkedArray) -> bool:
    try:
        pc.sort_indices(values.slice(0, 2))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
    return True
