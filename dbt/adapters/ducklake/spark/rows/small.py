"""Fetch the rows that a small statement writes, so that PyArrow can write them in this process instead of another Spark job."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from ...format.identifiers import backquoted
from ...format.leaf_types import leaf_type
from ...format.objects import Column
from ...format.types import INTEGER_DIGITS
from ..files.field_ids import LOGICAL_TYPES
from ..values.conform import conform, data_errors, is_unchanged
from ..values.expressions import Expression, select
from .plans import limit_partitions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SAME_IN_ARROW = frozenset(
    {"boolean", *INTEGER_DIGITS, "float", "double", "decimal", "date", "timestamp", "timestamp_ntz", "string", "binary"}
)
"""Spark types whose Arrow data PyArrow writes as Spark writes the values. A TIME, for example, has nanoseconds in Arrow."""


def can_fetch(columns: Sequence[Column]) -> bool:
    """Whether PyArrow, given the rows that Spark returns, writes the same values and types to files as Spark."""
    return all(leaf_type(column.type).spark.partition("(")[0] in _SAME_IN_ARROW and column.type not in LOGICAL_TYPES for column in columns)


def fetch_small(
    rows: DataFrame,
    columns: Sequence[Column],
    limit: int,
    *,
    extra: Collection[str] = (),
    at_most: int | None = None,
    few_partitions: bool = False,
) -> pa.Table | None:
    """Fetch rows in the shape of the table's files.

    Args:
        rows: the table's columns under their names, and the columns in `extra`.
        columns: the table's columns to fetch.
        limit: the maximum number of rows.
        extra: names of further columns to fetch, which come first and are not cast.
        at_most: an upper bound of the number of rows in `rows`, if one is known.
        few_partitions: whether `rows` has so few partitions that each may send about `limit` rows, which saves a stage of the Spark job.

    Returns:
        The rows; None if there are more than `limit`.

    Raises:
        DataError: a value does not fit its column.
    """
    types = {field.name: field.dataType for field in rows.schema.fields}
    wanted: list[Expression] = [backquoted(name) for name in extra]
    for column in columns:
        name = backquoted(column.name)
        source = types[column.name]
        wanted.append(name if is_unchanged(source, column) else conform(F.col(name), source, column))
    plain = [each for each in wanted if isinstance(each, str)]  # a `Column` cannot be compared
    frame = rows if len(plain) == len(wanted) and plain == [backquoted(name) for name in types] else select(rows, wanted)
    if at_most is None or at_most > limit:
        frame = limit_partitions(frame, limit + 1) if few_partitions else frame.limit(limit + 1)
    with data_errors():
        found = frame.toArrow()
    return found if found.num_rows <= limit else None
