"""Check NOT NULL and the ranges of integers by the statistics of written files, before the files are registered."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import DataError, LakeError
from ...format.files import ColumnStats, WrittenFile
from ...format.leaf_types import leaf_type
from ...format.objects import Column


def null_message(column: Column) -> str:
    """Return the error message for a NULL in a NOT NULL column."""
    return f"column {column.name} is NOT NULL, but a row has a NULL in it: filter such rows out or give them a value"


def check_stats(files: Sequence[WrittenFile], columns: Sequence[Column]) -> None:
    """Check NOT NULL of leaf columns, and the ranges of integers that are narrower than their Spark type, such as unsigned ones.

    Args:
        files: the written files with their statistics.
        columns: the table's columns.

    Raises:
        DataError: a value violates a constraint; the message names the column.
        LakeError: the footers lack the statistics.
    """
    required = {column.column_id: column for column in columns if not column.nullable and not column.children}
    narrow = {
        node.column_id: (column, leaf.limits)
        for column in columns
        for node in column.walk()
        if (leaf := leaf_type(node.type)).is_integer and leaf.has_bounds and not leaf.is_native
    }
    for file in files:
        for stats in file.column_stats:
            if stats.column_id in required:
                _check_nulls(file, stats, required[stats.column_id])
            if stats.column_id in narrow:
                _check_range(stats, *narrow[stats.column_id])


def _check_nulls(file: WrittenFile, stats: ColumnStats, column: Column) -> None:
    if stats.null_count is None:
        raise LakeError(
            f"the footer of {file.path} does not count the NULLs of column {column.name}, so NOT NULL cannot be checked; nothing was "
            f"changed. Without the constraint (ALTER COLUMN {column.name} DROP NOT NULL) the rows can be written"
        )
    if stats.null_count:
        raise DataError(null_message(column))


def _check_range(stats: ColumnStats, column: Column, limits: tuple[int, int]) -> None:
    least, greatest = limits
    for bound in (stats.min_value, stats.max_value):
        if bound is not None and not least <= int(bound) <= greatest:
            raise DataError(
                f"column {column.name}: the value {bound} does not fit an integer from {least} to {greatest}; change the value, or the "
                "type of the column"
            )
