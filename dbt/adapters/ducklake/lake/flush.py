"""Flush: turn inlined rows and inlined deletes into files.

Specification: the page "Flush Inlined Data". The rows of every snapshot, row ids and change feed stay the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..catalog.staged import Flush
from ..format.files import FlushedFile, WrittenDeleteFile
from ..format.objects import Table
from ..spark.arrow.flushed import remove, write_deletes, write_flushed
from .context import Context
from .maintained import maintained_tables


@dataclass(frozen=True)
class Flushed:
    """The result for one table. `rows` counts row versions, including versions that are deleted."""

    schema_name: str
    table_name: str
    rows: int


def flush_inlined_data(context: Context, schema: str | None = None, table: str | None = None) -> list[Flushed]:
    """Stage the flush of one table, of the tables of a schema, or of all tables, without Spark.

    Args:
        context: the transaction.
        schema: the schema; None for all schemas, or for `main` if a table is named.
        table: the table; None for all tables.

    Returns:
        The tables whose inlined rows were flushed, by schema and name, without those that only had inlined deletes.

    Raises:
        NotFoundError: the schema or table does not exist.
        ConfigurationError: the lake is read-only.
        DataError: a value cannot be stored in a file; the message names its column.
    """
    flushed = [_flush(context, each) for each in maintained_tables(context, schema, table)]
    return [each for each in flushed if each.rows]


def _flush(context: Context, table: Table) -> Flushed:
    transaction = context.transaction
    plan = transaction.base.flush_plan(table)
    rows = {versions.table_name: len(versions.row_ids) for versions in plan.versions}
    if plan.is_empty:
        return Flushed(table.schema_name, table.name, 0)
    options = transaction.write_options(table)
    files: list[FlushedFile] = []
    delete_files: tuple[WrittenDeleteFile, ...] = ()
    try:
        for versions in plan.versions:
            files += write_flushed(versions, table, options)
        delete_files = write_deletes(plan.deletes, table.path, encrypted=options.encrypted)
        until = transaction.snapshot.snapshot_id
        entries = sum(each.entries for each in plan.deletes)
        transaction.rows.flush(table, Flush(tuple(files), delete_files, rows, entries, until))
    except BaseException:
        remove(files, delete_files)
        raise
    return Flushed(table.schema_name, table.name, sum(rows.values()))
