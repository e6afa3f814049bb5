"""Sort an Arrow table by the keys of a sorted table."""

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
    """Return the rows sorted by the keys, up to the first key that is not simply a column that Arrow can compare.

    Args:
        table: its first columns are `columns`; it may have more.
        columns: the table's columns.
        order: the sort keys, in DuckDB's dialect.
    """
    indices = {fold(column.name): index for index, column in enumerate(columns)}
    data: dict[str, pa.ChunkedArray] = {}
    keys: list[tuple[str, str]] = []
    for number, key in enumerate(order):
        name = bare_column(key.expression)
        index = None if name is None else indices.get(fold(name))
        values = None if index is None else table.column(index)
        if values is None or not _comparable(values):
            logger.warning("rows are not sorted by %s, which needs Spark", key.expression)
            break
        # Arrow has one NULL order for all keys, so an extra key before each sorts its NULLs.
        data |= {f"null{number}": pc.is_null(values), f"value{number}": values}
        keys.append((f"null{number}", "descending" if key.nulls.upper() == "NULLS_FIRST" else "ascending"))
        keys.append((f"value{number}", "descending" if key.direction.upper() == "DESC" else "ascending"))
    return table.take(pc.sort_indices(pa.table(data), sort_keys=keys)) if keys else table


def _comparable(values: pa.ChunkedArray) -> bool:
    try:
        pc.sort_indices(values.slice(0, 2))
    except pa.ArrowException:
        return False
    return True
