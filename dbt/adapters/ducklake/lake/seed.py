"""Seeds: rows that are already in the driver become files, or inlined rows if they are few, without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..spark.arrow import arrow_table, write_arrow
from ..spark.frames import to_dataframe
from ..spec.constraints import checks_of
from ..spec.objects import Table
from .context import Context
from .inlining import inline_arrow
from .insert import insert
from .order import stored_order


def append_rows(context: Context, table: Table, rows: Iterable[Sequence[Any]]) -> int:
    """Stage rows of Python values, in the order of the table's columns.

    Returns:
        The number of rows.

    Raises:
        DataError: a value does not fit its column; the text names both.
    """
    data = arrow_table(rows, table.columns)
    if data.num_rows == 0:
        return 0
    if checks_of(table.tags):  # which Spark computes
        return insert(context, table, to_dataframe(context.spark(), data))
    if inline_arrow(context, table, data):
        return int(data.num_rows)
    options = context.transaction.write_options(table)
    files = write_arrow(
        data,
        table.columns,
        table.path,
        options,
        partition_fields=table.partitioning.fields if table.partitioning else (),
        order=stored_order(table, options),
    )
    context.transaction.add_files(table, files)
    return int(data.num_rows)
