"""Load seeds: store rows of Python values, as inlined rows if there are few and otherwise in files, without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..format.constraints import checks_of
from ..format.evolution import NewColumn
from ..format.objects import Table
from ..spark.arrow.values import InZone
from ..spark.arrow.write import arrow_table
from ..spark.rows.frames import to_dataframe
from .context import Context
from .delete import end_all_rows
from .inlining import inline_arrow
from .insert import insert
from .small import write_small
from .tables import TableRequest, create_table


def load_rows(
    context: Context,
    schema: str,
    name: str,
    columns: Sequence[NewColumn],
    rows: Iterable[Sequence[Any]],
    *,
    rebuild: bool = True,
    in_zone: InZone | None = None,
) -> int:
    """Stage a table with exactly these rows.

    Args:
        context: the catalog, the transaction and Spark.
        schema: the table's schema.
        name: the table's name.
        columns: the columns of `rows`.
        rows: Python values, in the order of `columns`.
        rebuild: give an existing table these columns; otherwise it keeps its own.
        in_zone: gives a local time the time zone of the session; None: local times are in UTC.

    Returns:
        The number of rows.

    Raises:
        DataError: a value does not fit its column; the message names both.
    """
    table = context.transaction.find(schema, name)
    if rebuild or not isinstance(table, Table):
        table = create_table(context, TableRequest(schema, name, columns), replace_existing=True)
    else:
        end_all_rows(context, table)
    return append_rows(context, table, rows, in_zone)


def append_rows(context: Context, table: Table, rows: Iterable[Sequence[Any]], in_zone: InZone | None = None) -> int:
    """Stage rows of Python values, in the order of the table's columns; for `in_zone` see `load_rows`.

    Returns:
        The number of rows.

    Raises:
        DataError: a value does not fit its column; the message names both.
    """
    data = arrow_table(rows, table.columns, in_zone)
    if data.num_rows == 0:
        return 0
    if checks_of(table.tags):  # only Spark can evaluate CHECK constraints
        return insert(context, table, to_dataframe(context.spark(), data))
    if inline_arrow(context, table, data):
        return int(data.num_rows)
    return write_small(context, table, data)
