"""What a transaction reads: the snapshot at which it began, with what is staged on top of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..errors import StatementError
from ..spec.files import ColumnFilter, Condition, DataFile, Filters, InlinedDeletes, ScanPlan, WriteOptions
from ..spec.objects import Macro, Relation, Schema, Snapshot, Table
from ..spec.options import Options
from .definitions import RelationName
from .options import read_options
from .overlay import Overlay, staged_scan_plan
from .reader import DefinitionCache, SnapshotReader
from .row_state import next_row_id, row_bytes
from .staged import RowChanges, Staged


class StagedReading:
    """Reads like a `SnapshotReader`, the staged changes included.

    Args:
        require_writable: raises what stands against any change.
    """

    def __init__(self, cache: DefinitionCache, snapshot: Snapshot, require_writable: Callable[[], None]) -> None:
        self.snapshot = snapshot
        """The newest snapshot when the transaction began."""
        self.base = SnapshotReader(cache, snapshot)
        """The lake without the staged changes."""
        self._cache = cache
        self.require_writable = require_writable
        """Raises what stands against any change; asked before files are written, and by every change that is staged."""
        self._staged = Staged()
        self._last_id = 0
        self._seen: dict[str, None] = {}
        self._next_row_ids: dict[int, int] = {}
        self._reads: dict[int | None, dict[Condition, None]] = {}
        self._finished = False

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

    def inlined_deletes(self, table: Table) -> tuple[InlinedDeletes, ...]:
        """What the catalog holds of the deletes on the table's committed files; nothing once this transaction has truncated it."""
        if table.table_id < 0 or self._rows(table).truncated:
            return ()
        return self.base.inlined_deletes(table)

    def reads_rows(self, table_id: int | None, within: Sequence[ColumnFilter] = ()) -> None:
        """Remember that a query reads the rows of a table that pass all filters; None: it may read all rows of any table."""
        self._reads.setdefault(table_id, {})[tuple(within)] = None

    def row_bytes(self, table: Table) -> float | None:
        """What a row takes in the data files that the table has; None if that cannot be told."""
        return row_bytes(self._cache.database, table.table_id, self.snapshot.snapshot_id) if table.table_id >= 0 else None

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

    # For those that stage

    @property
    def _overlay(self) -> Overlay:
        return Overlay(self.base, self._staged)

    def _rows(self, table: Table) -> RowChanges:
        return self._staged.rows.get(table.table_id, RowChanges())

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

    def _require_open(self) -> None:
        if self._finished:
            raise StatementError("the transaction is over; begin another one")
        self.require_writable()
