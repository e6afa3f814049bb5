"""Flush: turn inlined rows and inlined deletes into files.

Specification: the page "Flush Inlined Data". The rows of every snapshot, row ids and change feed stay the same. Row versions that ended
before the oldest snapshot are removed, because nothing can show them any more.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..catalog.staged import Flush
from ..format.files import FlushedFile, WrittenDeleteFile
from ..format.objects import Table
from ..spark.arrow.flushed import remove, write_deletes, write_flushed
from .context import Context
from .maintained import Maintained


@dataclass(frozen=True)
class Flushed:
    """The result for one table. `rows` counts the row versions in the files, including versions that are deleted."""

    schema_name: str
    table_name: str
    rows: int


def flush_inlined_data(context: Context, table: Table) -> None:
    """Stage the flush of a table, without Spark.

    Raises:
        DataError: a value cannot be stored in a file; the message names its column.
    """
    transaction = context.transaction
    plan = transaction.base.flush_plan(table)
    if plan.is_empty:
        return
    options = transaction.write_options(table)
    files: list[FlushedFile] = []
    delete_files: tuple[WrittenDeleteFile, ...] = ()
    try:
        for versions in plan.versions:
            files += write_flushed(versions, table, options)
        delete_files = write_deletes(plan.deletes, table.path, encrypted=options.encrypted)
        until = transaction.snapshot.snapshot_id
        entries = sum(each.entries for each in plan.deletes)
        transaction.rows.flush(table, Flush(tuple(files), delete_files, plan.rows, entries, until))
    except BaseException:
        remove(files, delete_files)
        raise


def flushed(context: Context, table: Table) -> Maintained[Flushed]:
    """Return what a transaction has flushed of a table, after its commit; nothing if it has not written rows."""
    changes = context.transaction.staged.rows.get(table.table_id)
    rows = 0 if changes is None or changes.flush is None else sum(each.file.record_count for each in changes.flush.files)
    return Maintained([Flushed(table.schema_name, table.name, rows)] if rows else [])
