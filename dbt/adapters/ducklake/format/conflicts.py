"""The conflict matrix: which changes of a concurrent writer forbid which actions of this transaction.

Specification: the page "Conflict Resolution", and the matrix of the reference implementation. Ours is stricter. These actions conflict with
these changes that a concurrent writer committed after this transaction began:
- Dropping a table: also with changes of its rows or columns. Altering a table: also with changes of its rows, whose types and defaults may
  no longer fit, and with a flush, whose files may lack the buckets of new partition keys. So flushing: also with an alter.
- Dropping a schema: also with a macro created in it, which would be left without a schema.
- Renaming: with a drop, an alter or a rename, which would leave a live table without columns.
- Deleting rows: also with deletes in the catalog (`inlined_delete`), compaction and flush; otherwise deletes are lost or counted twice.
- Flushing: also with deletes, compaction and other flushes.
- A result that depends on a table's rows: with inserts and deletes; otherwise two upserts of one key both insert it.
- A rollback of a schema or the lake: with anything created, changed or dropped in it, which would survive the rollback.
- With the isolation level `serializable`, a lookup of a table or view: with its creation, drop, alter or rename.

DuckDB's own matrix is looser; `changes.format_changes` guards against its deletes.

In two cases ours is less strict. If the read set is known, changes of other rows do not conflict: two batches that replace the rows of two
different days can both commit. A compaction only requires that the table exists: its commit compares each file that it replaces.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from .changes import CHANGES_OF_ROWS, CREATIONS, MOVES, Change, Kind
from .identifiers import fold


class Act(Enum):
    """What a transaction does to an object. Finer than `Kind`, because the log records a rename as a creation."""

    CREATE_SCHEMA = "create schema"
    DROP_SCHEMA = "drop schema"
    CREATE = "create"
    """Create a table or a view; `object_id` is the schema's."""
    DROP_TABLE = "drop table"
    DROP_VIEW = "drop view"
    DROP_MACRO = "drop macro"
    RENAME_TABLE = "rename table"
    RENAME_VIEW = "rename view"
    ALTER_TABLE = "alter table"
    ALTER_VIEW = "alter view"
    INSERT = "insert into"
    DELETE = "delete from"
    """Delete rows of files; the files are compared separately, so deletes from different files do not conflict."""
    DELETE_ALL = "replace all rows of"
    DELETE_INLINED = "delete inlined rows of"
    DEPEND_ON_ROWS = "use the rows of"
    FLUSH = "flush"
    COMPACT = "compact"
    ROLL_BACK = "roll back the rows of"
    READ_DEFINITION = "use the definition of"
    """Look up a table or view; `object_id` is None if there was none with this name."""
    READ_LAKE = "use the tables of"
    """Read the list of all tables, or their files."""
    ROLL_BACK_ALL = "roll back"
    """Roll back a schema, or the lake if `schema` is None; `object_id` is the schema or one of the objects that were in it."""


@dataclass(frozen=True)
class Action:
    """One action of this transaction. Ids are those at its start; creations and renames have the new name."""

    act: Act
    object_id: int | None = None
    schema: str | None = None
    name: str | None = None
    rows_known: bool = False
    """The read set is known; whether concurrent writers changed any of its rows is checked separately."""


@dataclass(frozen=True)
class Renamed:
    """A concurrent writer's rename of a table or view, found in the catalog because the logged change has only the new name."""

    object_id: int


@dataclass(frozen=True)
class Conflict:
    """The first pair of an action of this transaction and a concurrent change that conflict."""

    mine: Action
    theirs: Change | Renamed
    writer: str | None = None
    """The concurrent writer, if it is known."""

    def describe(self) -> str:
        """Return a sentence for the user, with names instead of ids where they are known."""
        writer = self.writer or "a concurrent transaction"
        target = ".".join(part for part in (self.mine.schema, self.mine.name) if part)
        change = self._change()
        if isinstance(self.theirs, Change) and self.theirs.kind in CREATIONS:
            change += " with that name" if self.mine.act in _USES_NAME | {Act.CREATE_SCHEMA} else " in it"
        if self.mine.act in _ALL and not target:
            target = "the lake"
        return f"cannot {self.mine.act.value} {target or f'object {self.mine.object_id}'}: {writer} {change}"

    def _change(self) -> str:
        if isinstance(self.theirs, Renamed):
            return "renamed it"
        if self.theirs.kind is Kind.DROPPED_SCHEMA and self.mine.act is Act.CREATE:
            return "dropped its schema"
        if self.mine.act in _ALL and self.mine.object_id is None and self.theirs.kind not in CREATIONS | {Kind.UNKNOWN}:
            return "changed or dropped something in it"
        return _SENTENCES[self.theirs.kind]


_INSERTS = frozenset({Kind.INSERTED_INTO_TABLE, Kind.INLINED_INSERT})
_DELETES = frozenset({Kind.DELETED_FROM_TABLE, Kind.INLINED_DELETE})
_FLUSH = frozenset({Kind.INLINE_FLUSH})
_GONE = frozenset({Kind.DROPPED_TABLE})
_CHANGED = frozenset({Kind.DROPPED_TABLE, Kind.ALTERED_TABLE})

_SAME_OBJECT: dict[Act, frozenset[Kind]] = {
    Act.DROP_SCHEMA: frozenset({Kind.DROPPED_SCHEMA}),
    Act.CREATE: frozenset({Kind.DROPPED_SCHEMA}),
    Act.DROP_MACRO: frozenset({Kind.DROPPED_SCALAR_MACRO, Kind.DROPPED_TABLE_MACRO}),
    Act.DROP_TABLE: _CHANGED | _INSERTS | _DELETES,
    Act.DROP_VIEW: frozenset({Kind.DROPPED_VIEW, Kind.ALTERED_VIEW}),
    Act.RENAME_TABLE: _CHANGED,
    Act.RENAME_VIEW: frozenset({Kind.DROPPED_VIEW, Kind.ALTERED_VIEW}),
    Act.ALTER_TABLE: _CHANGED | _INSERTS | _DELETES | _FLUSH,
    Act.ALTER_VIEW: frozenset({Kind.DROPPED_VIEW, Kind.ALTERED_VIEW}),
    Act.INSERT: _CHANGED | _DELETES,
    Act.DELETE: _CHANGED | _INSERTS | MOVES | {Kind.INLINED_DELETE},
    Act.DELETE_ALL: _CHANGED | _INSERTS | _DELETES | MOVES,
    Act.DELETE_INLINED: _CHANGED | _INSERTS | _DELETES | MOVES,
    Act.DEPEND_ON_ROWS: _CHANGED | _INSERTS | _DELETES,
    Act.READ_DEFINITION: _CHANGED | {Kind.DROPPED_VIEW, Kind.ALTERED_VIEW},
    Act.FLUSH: _CHANGED | _DELETES | MOVES,
    Act.COMPACT: _GONE,
    Act.ROLL_BACK: _CHANGED | _INSERTS | _DELETES | MOVES,
}
_NOT_AFTER_RENAME = frozenset(
    {Act.DROP_TABLE, Act.DROP_VIEW, Act.RENAME_TABLE, Act.RENAME_VIEW, Act.ALTER_TABLE, Act.ALTER_VIEW, Act.READ_DEFINITION}
)
_USES_NAME = frozenset({Act.CREATE, Act.RENAME_TABLE, Act.RENAME_VIEW, Act.READ_DEFINITION})
_ALL = frozenset({Act.ROLL_BACK_ALL, Act.READ_LAKE})
_NEW_RELATIONS = frozenset({Kind.CREATED_TABLE, Kind.CREATED_VIEW})
_NEW_MACROS = frozenset({Kind.CREATED_SCALAR_MACRO, Kind.CREATED_TABLE_MACRO})
_SENTENCES: dict[Kind, str] = {
    Kind.DROPPED_SCHEMA: "dropped it",
    Kind.DROPPED_TABLE: "dropped it",
    Kind.DROPPED_VIEW: "dropped it",
    Kind.CREATED_SCHEMA: "created a schema",
    Kind.CREATED_TABLE: "created a table",
    Kind.CREATED_VIEW: "created a view",
    Kind.CREATED_SCALAR_MACRO: "created a macro",
    Kind.CREATED_TABLE_MACRO: "created a macro",
    Kind.DROPPED_SCALAR_MACRO: "dropped it",
    Kind.DROPPED_TABLE_MACRO: "dropped it",
    Kind.INSERTED_INTO_TABLE: "inserted rows into it",
    Kind.DELETED_FROM_TABLE: "deleted rows from it",
    Kind.ALTERED_TABLE: "altered it",
    Kind.ALTERED_VIEW: "altered it",
    Kind.INLINED_INSERT: "inserted rows into it",
    Kind.INLINED_DELETE: "deleted rows from it",
    Kind.INLINE_FLUSH: "flushed its inlined rows",
    Kind.MERGE_ADJACENT: "merged its files",
    Kind.REWRITE_DELETE: "rewrote its files",
    Kind.UNKNOWN: "made a change of a kind that this version of dbt-ducklake does not know; upgrade dbt-ducklake",
}


def conflicts(mine: Action, theirs: Change | Renamed) -> bool:
    """Whether a concurrent writer's change since this transaction began forbids this transaction's action."""
    if isinstance(theirs, Renamed):
        return mine.act in _NOT_AFTER_RENAME and mine.object_id == theirs.object_id
    if theirs.kind is Kind.UNKNOWN:
        return True
    if mine.act in _ALL:
        return _is_in(mine, theirs)
    if theirs.kind is Kind.CREATED_SCHEMA:
        return mine.act is Act.CREATE_SCHEMA and same_name(mine.schema, theirs.schema)
    if theirs.kind in _NEW_MACROS:
        return mine.act is Act.DROP_SCHEMA and same_name(mine.schema, theirs.schema)
    if theirs.kind in _NEW_RELATIONS:
        if mine.act is Act.DROP_SCHEMA:
            return same_name(mine.schema, theirs.schema)
        return mine.act in _USES_NAME and same_name(mine.schema, theirs.schema) and same_name(mine.name, theirs.name)
    kinds = _SAME_OBJECT.get(mine.act, frozenset())
    if mine.rows_known:
        kinds -= CHANGES_OF_ROWS
    return mine.object_id is not None and mine.object_id == theirs.object_id and theirs.kind in kinds


def _is_in(mine: Action, theirs: Change) -> bool:
    """Whether a change affects a schema, one of its objects, or the lake; moving rows does not."""
    if theirs.kind in MOVES:
        return False
    if mine.schema is None:
        return True
    if theirs.kind in CREATIONS:
        return mine.name is None and same_name(mine.schema, theirs.schema)
    return mine.object_id == theirs.object_id


def find_conflicts(mine: Iterable[Action], theirs: Iterable[tuple[str | None, Change | Renamed]]) -> list[Conflict]:
    """Return the first conflict of each object of this transaction, in the order of the changes. `theirs` are (writer, change) pairs."""
    actions, found = list(mine), dict[object, Conflict]()
    for writer, change in theirs:
        for action in actions:
            if conflicts(action, change):
                found.setdefault(action.object_id or (action.schema, action.name), Conflict(action, change, writer))
    return list(found.values())


def same_name(one: str | None, other: str | None) -> bool:
    """Whether two names are equal, ignoring the case of the letters A to Z as DuckDB does."""
    return one is not None and other is not None and fold(one) == fold(other)
