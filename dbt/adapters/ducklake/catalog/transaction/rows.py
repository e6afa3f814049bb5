"""Stage changes of rows: new files, inlined rows, deletes, and files that replace others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ...errors import StatementError
from ...format.compaction import Compaction
from ...format.files import ColumnFilter, ColumnStats, WrittenDeleteFile, WrittenFile
from ...format.objects import Table
from ..read.view import CatalogView
from ..staged import Flush, RewriteWithId, RowChanges
from .staging import Staging


class RowStaging:
    """Stages the changes of a transaction to rows.

    Every method raises the errors of `Staging.require_open`, and all but `read_as_input` also those of `Staging.put_rows`.

    Args:
        view: the lake with the staged changes.
        staging: the staged changes.
        next_row_id: returns the first row id of the staged rows of a table.
        record_read: adds the rows of a table that pass all filters to the read set of the transaction.
    """

    def __init__(
        self,
        view: CatalogView,
        staging: Staging,
        next_row_id: Callable[[Table], int],
        record_read: Callable[[int, Sequence[ColumnFilter]], None],
    ) -> None:
        self._view = view
        self._staging = staging
        self._next_row_id = next_row_id
        self._record_read = record_read

    def add_files(self, table: Table, files: Sequence[WrittenFile]) -> None:
        """Stage data files; their partition values belong to the table's current partitioning."""
        self._staging.require_open()
        for file in files:
            if file.mapping is None:
                self._staging.files[file.path] = None
        current = self._view.by_id(table.table_id)
        partitioning = (current if isinstance(current, Table) else table).partitioning
        partition_id = None if partitioning is None else partitioning.partition_id
        self._staging.put_rows(table, self._staging.rows_of(table).with_files(table.columns, files, partition_id, self._staging.new_id))

    def add_inlined(self, table: Table, rows: Sequence[tuple[Any, ...]], column_stats: tuple[ColumnStats, ...]) -> None:
        """Stage rows to be inlined in the catalog.

        Args:
            table: the table.
            rows: values as in `files.InlinedRows`, in the order of the table's columns; `LakeCatalog.can_inline` must accept them.
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
        rewrite_with_id: RewriteWithId | None = None,
    ) -> None:
        """Stage deletes.

        Args:
            table: the table.
            delete_files: each contains all deleted positions of its data file, except the inlined ones. The data file may be a staged one.
            ended_files: ids of data files whose rows are all deleted; a staged file is abandoned.
            inlined: inlined-data table of the scan plan → ids of the rows to delete, which may be staged rows.
            rewrite_with_id: rewrites delete files that contain the expected snapshot id, if the commit gets another id. Without it, such
                a commit fails with a conflict.
        """
        self._staging.require_open()
        for file in delete_files:
            self._staging.files[file.path] = None
        changes = self._staging.rows_of(table)
        first = self._next_row_id(table) if changes.inlined and inlined else 0
        self._staging.put_rows(
            table, changes.with_deletes(delete_files, ended_files, inlined or {}, self._staging.new_id, first, rewrite_with_id)
        )

    def read_as_input(self, table: Table) -> None:
        """Record that a model has read a table's staged changes as changes of its input. This transaction cannot change the table again."""
        self._staging.require_open()
        self._staging.put(inputs=self._staging.changes.inputs | {table.table_id})

    def flush(self, table: Table, flush: Flush) -> None:
        """Stage files that replace inlined rows and deletes; the table's rows do not change.

        Raises:
            StatementError: this transaction has already changed the table.
        """
        self._put_alone(table, RowChanges(flush=flush))

    def compact(self, table: Table, compaction: Compaction) -> None:
        """Stage files that replace other files; the table's rows do not change.

        Raises:
            StatementError: this transaction has already changed the table.
        """
        self._put_alone(table, RowChanges(compaction=compaction))

    def truncate(self, table: Table, deletes: Flush | None = None, *, has_rows: bool = True) -> None:
        """Stage the delete of all rows; files staged for the table are abandoned.

        Args:
            table: the table.
            deletes: delete files that replace the table's inlined deletes.
            has_rows: whether the table has committed rows that this transaction has not deleted.
        """
        self._staging.require_open()
        self._record_read(table.table_id, ())
        changes = self._staging.rows_of(table)
        if deletes is not None:
            for file in deletes.written():
                self._staging.files[file.path] = None
        self._staging.put_rows(
            table,
            RowChanges(
                truncated=table.table_id >= 0,
                ends_something=changes.ends_something or (table.table_id >= 0 and has_rows),
                depends_on_rows=changes.depends_on_rows,
                reserved_row_ids=changes.reserved_row_ids,
                flush=changes.flush or deletes,
            ),
        )

    def depends_on_rows(self, table: Table, within: Sequence[ColumnFilter] = ()) -> None:
        """Declare that a change of a table depends on its rows, so that a concurrent insert or delete of these rows is a conflict.

        Args:
            table: the table.
            within: the change depends only on rows that pass all of these filters, and on rows that queries of this transaction read.
        """
        self._staging.require_open()
        # the read set gets it even if the staged changes do not: the table is new, or an earlier transaction of the run had the condition
        self._record_read(table.table_id, within)
        if table.table_id >= 0:
            self._staging.put_rows(table, self._staging.rows_of(table).depending_on([tuple(within)]))

    def _put_alone(self, table: Table, changes: RowChanges) -> None:
        self._staging.require_open()
        for path in (file.path for file in changes.written()):
            self._staging.files[path] = None
        if self._staging.rows_of(table).has_changes or table.table_id in self._staging.changes.tables:
            raise StatementError(
                f"{table.schema_name}.{table.name} was changed in this transaction; COMMIT before you run maintenance on it"
            )
        self._staging.put_rows(table, changes)
