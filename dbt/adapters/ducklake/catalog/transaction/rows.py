"""Staging of what becomes of the rows of tables: files, inlined rows, deletes, and files in the place of others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ...errors import StatementError
from ...format.compaction import Compaction
from ...format.files import ColumnFilter, ColumnStats, WrittenDeleteFile, WrittenFile
from ...format.objects import Table
from ..read.row_state import base_has_rows
from ..read.view import CatalogView
from ..staged import Flush, Redate, RowChanges
from ..store.database import Database
from .staging import Staging


class RowStaging:
    """The changes of a transaction to rows.

    Args:
        view: the lake with what is staged.
        staging: what is staged.
        database: the catalog database.
        next_row_id: the first row id of the staged files of a table.
    """

    def __init__(self, view: CatalogView, staging: Staging, database: Database, next_row_id: Callable[[Table], int]) -> None:
        self._view = view
        self._staging = staging
        self._database = database
        self._next_row_id = next_row_id

    def add_files(self, table: Table, files: Sequence[WrittenFile]) -> None:
        """Stage data files; their partition values belong to the table's partitioning as it is now."""
        self._staging.require_open()
        for file in files:
            if file.mapping is None:
                self._staging.files[file.path] = None
        current = self._view.by_id(table.table_id)
        partitioning = (current if isinstance(current, Table) else table).partitioning
        partition_id = None if partitioning is None else partitioning.partition_id
        self._staging.put_rows(table, self._staging.rows_of(table).with_files(files, partition_id, self._staging.new_id))

    def add_inlined(self, table: Table, rows: Sequence[tuple[Any, ...]], column_stats: tuple[ColumnStats, ...]) -> None:
        """Stage rows that the catalog itself will hold.

        Args:
            rows: values as in `files.InlinedRows`, in the order of the table's columns, of a kind that `LakeCatalog.can_inline` approves.
            column_stats: the statistics of these rows.
        """
        self._staging.require_open()
        self._staging.put_rows(table, self._staging.rows_of(table).with_inlined(table.columns, rows, column_stats, self._staging.new_id()))

    def delete_rows(
        self,
        table: Table,
        *,
        delete_files: Sequence[WrittenDeleteFile] = (),
        ended_files: Collection[int] = (),
        inlined: Mapping[str, Collection[int]] | None = None,
        redate: Redate | None = None,
    ) -> None:
        """Stage deletes.

        Args:
            delete_files: each holds all deleted positions of its data file, which may be a staged one.
            ended_files: ids of data files all of whose rows go; a staged one is simply abandoned.
            inlined: row ids by name of the inlined-data table, as a scan plan has them: rows staged here may be among them.
            redate: called by a commit that becomes another snapshot than the next one, for delete files that name the snapshot. Without it
                such a commit is a conflict.
        """
        self._staging.require_open()
        for file in delete_files:
            self._staging.files[file.path] = None
        changes = self._staging.rows_of(table)
        first = self._next_row_id(table) if changes.inlined and inlined else 0
        self._staging.put_rows(table, changes.with_deletes(delete_files, ended_files, inlined or {}, self._staging.new_id, first, redate))

    def flush(self, table: Table, flush: Flush) -> None:
        """Stage files in the place of inlined rows and deletes; what the table holds does not change.

        Raises:
            StatementError: this transaction has changed the table already.
        """
        self._put_alone(table, RowChanges(flush=flush))

    def compact(self, table: Table, compaction: Compaction) -> None:
        """Stage files in the place of others; what the table holds does not change.

        Raises:
            StatementError: this transaction has changed the table already.
        """
        self._put_alone(table, RowChanges(compaction=compaction))

    def truncate(self, table: Table, deletes: Flush | None = None) -> None:
        """Stage the end of every row; files staged for the table are abandoned.

        Args:
            deletes: delete files in the place of `inlined_deletes`.
        """
        self._staging.require_open()
        changes = self._staging.rows_of(table)
        if deletes is not None:
            for file in deletes.written():
                self._staging.files[file.path] = None
        ends = table.table_id >= 0 and (
            changes.ends_something or base_has_rows(self._database, table.table_id, self._view.snapshot.snapshot_id)
        )
        self._staging.put_rows(
            table,
            RowChanges(
                truncated=table.table_id >= 0,
                ends_something=ends,
                depends_on_rows=changes.depends_on_rows,
                reserved_row_ids=changes.reserved_row_ids,
                flush=changes.flush or deletes,
            ),
        )

    def depends_on_rows(self, table: Table, within: Sequence[ColumnFilter] = ()) -> None:
        """Declare that a change of a table depends on its rows: a concurrent insert or delete of such rows is then a conflict.

        Args:
            within: it depends on the rows that pass all of these only, and on what queries of this transaction read of the table.
        """
        self._staging.require_open()
        if table.table_id >= 0:
            self._staging.put_rows(table, self._staging.rows_of(table).depending_on([tuple(within)]))

    def _put_alone(self, table: Table, changes: RowChanges) -> None:
        self._staging.require_open()
        for path in (file.path for file in changes.written()):
            self._staging.files[path] = None
        if self._staging.rows_of(table).has_changes or table.table_id in self._staging.changes.tables:
            raise StatementError(f"{table.schema_name}.{table.name} was changed in this transaction; commit before its maintenance")
        self._staging.put_rows(table, changes)
