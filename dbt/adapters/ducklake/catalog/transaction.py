"""A transaction: one pinned snapshot, the changes staged on top of it, and reading that sees both.

Nothing is written to the catalog before `commit`; files are written by the caller before they are staged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import StatementError
from ..spec.compaction import Compaction
from ..spec.files import (
    ColumnFilter,
    ColumnStats,
    Condition,
    DataFile,
    Filters,
    InlinedDeletes,
    ScanPlan,
    WriteOptions,
    WrittenDeleteFile,
    WrittenFile,
)
from ..spec.objects import Column, Macro, PartitionField, Partitioning, Relation, Schema, Snapshot, SortField, Table, View
from ..spec.options import Options, StoredOption
from ..spec.paths import directory_name, new_uuid
from .commit import CommitProgress, RetrySettings, commit
from .definitions import RelationName
from .options import read_options
from .overlay import Overlay, staged_scan_plan
from .reader import DefinitionCache, SnapshotReader
from .row_state import base_has_rows, next_row_id, row_bytes
from .staged import CommitMessage, Flush, RowChanges, Staged, put, without

__all__ = ["RetrySettings", "Savepoint", "Transaction"]

Savepoint = Staged
"""What `savepoint` gives and `restore` takes."""


class Transaction:
    """Reads like a `SnapshotReader`, its own staged changes included. Not thread-safe: it has one owner."""

    def __init__(self, cache: DefinitionCache, snapshot: Snapshot, retry: RetrySettings, require_writable: Callable[[], None]) -> None:
        self.snapshot = snapshot
        """The newest snapshot when the transaction began."""
        self.base = SnapshotReader(cache, snapshot)
        """The lake without the staged changes."""
        self._cache = cache
        self._retry = retry
        self.require_writable = require_writable
        """Raises what stands against any change; asked before files are written, and by every change that is staged."""
        self._staged = Staged()
        self._last_id = 0
        self._seen: dict[str, None] = {}
        self._next_row_ids: dict[int, int] = {}
        self._reads: dict[int | None, dict[Condition, None]] = {}
        self._finished = False

    # Reading

    def schemas(self) -> list[Schema]:
        """All schemas, by name."""
        return self._overlay.schemas()

    def schema(self, name: str) -> Schema | None:
        """The schema of a name, compared without case."""
        return self._overlay.schema(name)

    def relations(self, schema_name: str | None = None) -> list[Relation]:
        """All tables and views, of one schema or of all, by schema and name."""
        return self._overlay.relations(schema_name)

    def names(self, schema_name: str | None = None) -> list[RelationName]:
        """What there is, without definitions: for listings of lakes with thousands of relations."""
        return self._overlay.names(schema_name)

    def named(self, names: Iterable[RelationName]) -> list[Relation]:
        """The definitions of some relations that `names` gave."""
        return self._overlay.named(names)

    def find(self, schema_name: str, name: str) -> Relation | None:
        """The table or view of a name, compared without case."""
        return self._overlay.find(schema_name, name)

    def by_id(self, relation_id: int) -> Relation | None:
        """The table or view of an id, which is negative for one created by this transaction."""
        return self._overlay.by_id(relation_id)

    def macros(self, schema_name: str | None = None) -> list[Macro]:
        """The macros that DuckDB keeps in the lake, of one schema or of all, by schema and name."""
        return self._overlay.macros(schema_name)

    def scan_plan(self, table: Table, within: Filters = ()) -> ScanPlan:
        """How to read a table with the changes staged so far; staged files are never left out by `within`."""
        changes = self._rows(table)
        first = self._next_row_id(table) if changes.adds_rows else 0
        return staged_scan_plan(self.base, table, changes, within, first)

    def staged_files(self, table: Table) -> list[DataFile]:
        """The data files that this transaction adds to a table."""
        changes = self._rows(table)
        return [each for each in self.scan_plan(table).files if each.data_file_id in changes.staged_ids()]

    # Schemas, tables and views

    def new_schema(self, name: str) -> Schema:
        """Stage a schema.

        Raises:
            StatementError: one of that name exists.
        """
        self._require_open()
        if self.schema(name) is not None:
            raise StatementError(f"schema {name} exists already")
        identifier = new_uuid()
        path = self._cache.data_path + directory_name(name, identifier)
        schema = Schema(self._new_id(), identifier, name, path)
        self._staged = replace(self._staged, schemas=put(self._staged.schemas, schema.schema_id, schema))
        return schema

    def put_schema(self, schema: Schema) -> None:
        """Stage the new definition of a schema; only its comment and tags may change.

        Raises:
            StatementError: another name, which format 1.0 cannot record.
        """
        self._require_open()
        base = next((each for each in self.base.schemas() if each.schema_id == schema.schema_id), None)
        before = self._staged.schemas.get(schema.schema_id) or base
        if before is not None and before.name != schema.name:
            raise StatementError(f"schema {before.name} cannot be renamed: DuckLake 1.0 has no rename of schemas")
        changed = schema != base
        entries = put(self._staged.schemas, schema.schema_id, schema)
        self._staged = replace(self._staged, schemas=entries if changed else without(self._staged.schemas, schema.schema_id))

    def drop_schema(self, schema: Schema) -> None:
        """Stage the end of a schema whose tables, views and macros were dropped before.

        Raises:
            StatementError: it still has some.
        """
        self._require_open()
        if self.names(schema.name) or self.macros(schema.name):
            raise StatementError(f"schema {schema.name} is not empty; drop its tables, views and macros first, or write CASCADE")
        rest = without(self._staged.schemas, schema.schema_id)
        self._staged = replace(self._staged, schemas=rest if schema.schema_id < 0 else put(rest, schema.schema_id, None))

    def new_table(
        self,
        schema: Schema,
        name: str,
        columns: tuple[Column, ...],
        *,
        partitioning: tuple[PartitionField, ...] = (),
        sorting: tuple[SortField, ...] = (),
        comment: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Table:
        """Stage a table without rows; its id is negative until it is committed.

        Raises:
            StatementError: a table or view of that name exists, or there are no columns.
        """
        self._require_open()
        self._require_free(schema.name, name, None)
        identifier = new_uuid()
        greatest = max((each.column_id for column in columns for each in column.walk()), default=0)
        table = Table(
            self._new_id(),
            identifier,
            schema.name,
            name,
            schema.path + directory_name(name, identifier),
            columns,
            greatest + 1,
            Partitioning(self._new_id(), partitioning) if partitioning else None,
            sorting,
            comment,
            dict(tags or {}),
        )
        self._require_columns(table)
        self._staged = replace(self._staged, tables=put(self._staged.tables, table.table_id, table))
        return table

    def put_table(self, table: Table) -> None:
        """Stage the new definition of a table; another name is a rename. One that equals the committed one stages nothing.

        Raises:
            StatementError: the new name is taken, or no column is left.
        """
        self._require_open()
        self._require_free(table.schema_name, table.name, table.table_id)
        self._require_columns(table)
        base = self.base.by_id(table.table_id) if table.table_id >= 0 else None
        table = replace(table, partitioning=self._partitioning(table, base if isinstance(base, Table) else None))
        tables = without(self._staged.tables, table.table_id)
        self._staged = replace(self._staged, tables=tables if table == base else put(tables, table.table_id, table))

    def drop_table(self, table: Table) -> None:
        """Stage the end of a table and of all its rows; files staged for it are abandoned."""
        self._require_open()
        tables = without(self._staged.tables, table.table_id)
        self._staged = replace(
            self._staged,
            tables=tables if table.table_id < 0 else put(tables, table.table_id, None),
            rows=without(self._staged.rows, table.table_id),
        )

    def new_view(
        self,
        schema: Schema,
        name: str,
        sql: str,
        dialect: str = "duckdb",
        column_aliases: Sequence[str] = (),
        comment: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> View:
        """Stage a view.

        Raises:
            StatementError: a table or view of that name exists.
        """
        self._require_open()
        self._require_free(schema.name, name, None)
        identifier, aliases = new_uuid(), tuple(column_aliases)
        view = View(self._new_id(), identifier, schema.name, name, sql, dialect, aliases, comment, dict(tags or {}))
        self._staged = replace(self._staged, views=put(self._staged.views, view.view_id, view))
        return view

    def put_view(self, view: View) -> View:
        """Stage the new definition of a view, which keeps its id; another name is a rename.

        Raises:
            StatementError: the new name is taken.
        """
        self._require_open()
        self._require_free(view.schema_name, view.name, view.view_id)
        views = without(self._staged.views, view.view_id)
        unchanged = view.view_id >= 0 and view == self.base.by_id(view.view_id)
        self._staged = replace(self._staged, views=views if unchanged else put(views, view.view_id, view))
        return view

    def drop_view(self, view: View) -> None:
        """Stage the end of a view."""
        self._require_open()
        views = without(self._staged.views, view.view_id)
        self._staged = replace(self._staged, views=views if view.view_id < 0 else put(views, view.view_id, None))

    def drop_macro(self, macro: Macro) -> None:
        """Stage the end of a macro."""
        self._require_open()
        self._staged = replace(self._staged, dropped_macros=put(self._staged.dropped_macros, macro.macro_id, macro))

    # Earlier snapshots

    def return_to(self, then: Table | View | Macro, rows: RowChanges | None = None) -> None:
        """Stage what a table, view or macro was at an earlier snapshot, with the ids of then; a view or macro that was dropped comes back.

        The caller sees to it that no two have one name in the end. A table that was dropped is a new one: DuckDB looks for the schema that
        the first row of a table names, however old that row is.

        Args:
            rows: what becomes of the rows of the table; it goes on from the rows of the snapshot when the transaction began.
        """
        self._require_open()
        match then:
            case Macro():
                self._staged = replace(self._staged, returned_macros=put(self._staged.returned_macros, then.macro_id, then))
            case View():
                self._staged = replace(self._staged, views=put(self._staged.views, then.view_id, then))
            case Table() if then.table_id >= 0 and then != self.base.by_id(then.table_id):
                self._staged = replace(self._staged, tables=put(self._staged.tables, then.table_id, then))
        if rows is not None and isinstance(then, Table):
            for file in rows.written():
                self._seen[file.path] = None
            self._put_rows(then, rows)

    # Rows

    def add_files(self, table: Table, files: Sequence[WrittenFile]) -> None:
        """Stage data files; their partition values belong to the table's partitioning as it is now."""
        self._require_open()
        for file in files:
            if file.mapping is None:
                self._seen[file.path] = None
        partitioning = self._current(table).partitioning
        partition_id = None if partitioning is None else partitioning.partition_id
        self._put_rows(table, self._rows(table).with_files(files, partition_id, self._new_id))

    def add_inlined(self, table: Table, rows: Sequence[tuple[Any, ...]], column_stats: tuple[ColumnStats, ...]) -> None:
        """Stage rows that the catalog itself will hold.

        Args:
            rows: values as in `files.InlinedRows`, in the order of the table's columns, of a kind that `LakeCatalog.can_inline` approves.
            column_stats: the statistics of these rows.
        """
        self._require_open()
        self._put_rows(table, self._rows(table).with_inlined(table.columns, rows, column_stats, self._new_id()))

    def delete_rows(
        self,
        table: Table,
        *,
        delete_files: Sequence[WrittenDeleteFile] = (),
        ended_files: Collection[int] = (),
        inlined: Mapping[str, Collection[int]] | None = None,
    ) -> None:
        """Stage deletes.

        Args:
            delete_files: each holds all deleted positions of its data file, which may be a staged one.
            ended_files: ids of data files all of whose rows go; a staged one is simply abandoned.
            inlined: row ids by name of the inlined-data table, as a scan plan has them: rows staged here may be among them.
        """
        self._require_open()
        for file in delete_files:
            self._seen[file.path] = None
        changes = self._rows(table)
        first = self._next_row_id(table) if changes.inlined and inlined else 0
        self._put_rows(table, changes.with_deletes(delete_files, ended_files, inlined or {}, self._new_id, first))

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

    def inlined_deletes(self, table: Table) -> tuple[InlinedDeletes, ...]:
        """What the catalog holds of the deletes on the table's committed files; nothing once this transaction has truncated it."""
        if table.table_id < 0 or self._rows(table).truncated:
            return ()
        return self.base.inlined_deletes(table)

    def truncate(self, table: Table, deletes: Flush | None = None) -> None:
        """Stage the end of every row; files staged for the table are abandoned.

        Args:
            deletes: delete files in the place of `inlined_deletes`.
        """
        self._require_open()
        changes = self._rows(table)
        if deletes is not None:
            for file in deletes.written():
                self._seen[file.path] = None
        ends = table.table_id >= 0 and (
            changes.ends_something or base_has_rows(self._cache.database, table.table_id, self.snapshot.snapshot_id)
        )
        self._put_rows(
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
        """Declare that what is done to a table depends on its rows: an insert or delete of such rows by a rival is then a conflict.

        Args:
            within: it depends on the rows that pass all of these only, and on what queries of this transaction read of the table.
        """
        self._require_open()
        if table.table_id >= 0:
            self._put_rows(table, self._rows(table).depending_on([tuple(within)]))

    def reads_rows(self, table_id: int | None, within: Sequence[ColumnFilter] = ()) -> None:
        """Remember that a query reads the rows of a table that pass all filters; None: it may read all rows of any table."""
        self._reads.setdefault(table_id, {})[tuple(within)] = None

    def row_bytes(self, table: Table) -> float | None:
        """What a row takes in the data files that the table has; None if that cannot be told."""
        return row_bytes(self._cache.database, table.table_id, self.snapshot.snapshot_id) if table.table_id >= 0 else None

    # Options

    def options(self) -> Options:
        """The options of the lake as they are now, with the staged ones."""
        with self._cache.database.reading() as connection:
            return read_options(connection).with_rows(self._staged.options.values())

    def write_options(self, table: Table) -> WriteOptions:
        """How data files of a table are written."""
        schema = self.schema(table.schema_name)
        return self.options().write_options(schema_id=None if schema is None else schema.schema_id, table_id=table.table_id)

    def inlining_row_limit(self, table: Table, default: int) -> int:
        """Up to how many rows of one statement are kept in the catalog instead of in a file; 0: never any."""
        schema = self.schema(table.schema_name)
        return self.options().inlining_row_limit(default, schema_id=None if schema is None else schema.schema_id, table_id=table.table_id)

    def set_option(self, key: str, value: str | None, of: Table | Schema | None = None) -> None:
        """Stage an option of the lake, a schema or a table; it makes no snapshot by itself.

        Args:
            value: in its stored form; None: what holds for the wider scope holds again.
        """
        self._require_open()
        match of:
            case None:
                option = StoredOption(key, value)
            case Schema():
                option = StoredOption(key, value, "schema", of.schema_id)
            case Table():
                option = StoredOption(key, value, "table", of.table_id)
        options = put(self._staged.options, (option.key, option.scope, option.scope_id), option)
        self._staged = replace(self._staged, options=options)

    # The transaction itself

    def set_commit_message(self, author: str | None, message: str | None, extra_info: str | None = None) -> None:
        """What the snapshot's entry in the log will say."""
        self._staged = replace(self._staged, commit_message=CommitMessage(author, message, extra_info))

    @property
    def has_changes(self) -> bool:
        """Whether a commit would make a snapshot."""
        return self._staged.has_changes

    @property
    def writes(self) -> bool:
        """Whether a commit would change the catalog at all: options make no snapshot."""
        return self._staged.has_changes or bool(self._staged.options)

    @property
    def staged(self) -> Staged:
        """All staged changes."""
        return self._staged

    def abandoned_files(self) -> list[str]:
        """Files that were staged and are not part of the lake: dropped again, or of a transaction that did not commit.

        Meaningful once the transaction is over; before that, `restore` may bring some back. Empty when the database failed in the very
        act of committing, so that nobody removes a file of a snapshot that exists after all.
        """
        kept = self._staged.written()
        return [path for path in self._seen if path not in kept]

    def written_files(self) -> dict[str, int]:
        """The files that are staged: path → bytes."""
        return self._staged.written()

    def changed_tables(self) -> list[Table]:
        """The committed tables whose definition or rows are changed, as they were."""
        found = (self.base.by_id(table_id) for table_id in {*self._staged.tables, *self._staged.rows} if table_id >= 0)
        return [each for each in found if isinstance(each, Table)]

    def savepoint(self) -> Savepoint:
        """The present state, for `restore`."""
        return self._staged

    def restore(self, savepoint: Savepoint) -> None:
        """Forget everything staged since a savepoint."""
        reserved = {table_id: changes.reserved_row_ids for table_id, changes in self._staged.rows.items()}
        rows = {
            table_id: replace(changes, reserved_row_ids=max(changes.reserved_row_ids, reserved.get(table_id, 0)))
            for table_id, changes in savepoint.rows.items()
        }
        self._staged = replace(savepoint, rows=rows)

    def commit(self) -> Snapshot | None:
        """Make the staged changes a snapshot; None if there is nothing to record.

        Raises:
            ConflictError: a rival committed a change that these depend on, or kept the catalog busy for too long.
            StatementError: the lake demands a commit message and there is none.
            EngineError: the catalog database failed.
        """
        if self._finished:
            raise StatementError("the transaction is over; begin another one")
        self._finished = True
        if not self.writes:
            self._staged = Staged()
            return None
        progress = CommitProgress()
        try:
            return commit(self._cache, self.base, self._with_reads(), self._retry, self._next_row_ids, progress)
        except BaseException:
            if not progress.uncertain:  # else the files may be part of the lake already
                self._staged = Staged()
            raise

    def rollback(self) -> None:
        """Forget everything."""
        self._finished = True
        self._staged = Staged()

    @property
    def _overlay(self) -> Overlay:
        return Overlay(self.base, self._staged)

    def _with_reads(self) -> Staged:
        """What is staged, where a change of a table that depends on some of its rows depends on what queries read of it, too."""
        staged = self._staged
        for table_id, changes in staged.rows.items():
            if changes.depends_on_rows:
                read = (*self._reads.get(table_id, ()), *self._reads.get(None, ()))
                staged = staged.with_rows(table_id, changes.depending_on(read))
        return staged

    def _rows(self, table: Table) -> RowChanges:
        return self._staged.rows.get(table.table_id, RowChanges())

    def _put_alone(self, table: Table, changes: RowChanges) -> None:
        self._require_open()
        for path in (file.path for file in changes.written()):
            self._seen[path] = None
        if self._rows(table).has_changes or table.table_id in self._staged.tables:
            raise StatementError(f"{table.schema_name}.{table.name} was changed in this transaction; commit before its maintenance")
        self._put_rows(table, changes)

    def _put_rows(self, table: Table, changes: RowChanges) -> None:
        self._staged = self._staged.with_rows(table.table_id, changes)

    def _current(self, table: Table) -> Table:
        found = self._overlay.by_id(table.table_id)
        return found if isinstance(found, Table) else table

    def _new_id(self) -> int:
        self._last_id -= 1
        return self._last_id

    def _next_row_id(self, table: Table) -> int:
        """The first row id of the staged files, if no rival inserts; a commit checks it when it matters."""
        if table.table_id not in self._next_row_ids:
            self._next_row_ids[table.table_id] = next_row_id(self._cache.database, table.table_id)
        return self._next_row_ids[table.table_id]

    def _partitioning(self, table: Table, base: Table | None) -> Partitioning | None:
        """The wanted keys with the id they have already, else with a new one."""
        wanted = table.partitioning
        if wanted is None or not wanted.fields:
            return None
        staged = self._staged.tables.get(table.table_id)
        for known in (base, staged):
            if known is not None and known.partitioning is not None and known.partitioning.fields == wanted.fields:
                return known.partitioning
        return Partitioning(self._new_id(), wanted.fields)

    def _require_open(self) -> None:
        if self._finished:
            raise StatementError("the transaction is over; begin another one")
        self.require_writable()

    def _require_free(self, schema_name: str, name: str, own_id: int | None) -> None:
        taken = self.find(schema_name, name)
        if taken is not None and own_id != (taken.table_id if isinstance(taken, Table) else taken.view_id):
            kind = "table" if isinstance(taken, Table) else "view"
            raise StatementError(f"{kind} {taken.schema_name}.{taken.name} exists already")

    @staticmethod
    def _require_columns(table: Table) -> None:
        if not table.columns:
            raise StatementError(f"table {table.schema_name}.{table.name} must have at least one column")
