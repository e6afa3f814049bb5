"""Which changes of a concurrent writer forbid which actions of mine: the conflict matrix as pure functions over pairs.

Specification: the page "Conflict Resolution", and the reference's own matrix. This one is stricter: what a concurrent writer did between
the start of my transaction and its commit conflicts
- with dropping a table also when its rows or columns changed, with altering it also when its rows changed (their types and defaults may
  no longer fit);
- with dropping a schema also when a macro was created in it (else a live macro has no schema);
- with renaming when it was dropped, altered or renamed (else a live table without columns remains);
- with deleting rows also when rows were deleted in the catalog (`inlined_delete`) or the files were compacted or flushed, each way
  round (else deletes are lost or counted twice);
- with a result that depends on the table's rows when any were inserted or deleted (else two upserts of one key both insert it);
- with a rollback of a schema or the lake whenever something in it was created, changed or dropped (else that would survive it).

Where it is known which rows those are, what became of other rows is no conflict, which is the one thing that the reference refuses and
this does not: two batches that replace the rows of two days commit side by side.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from .changes import CREATIONS, Change, Kind
from .identifiers import fold


class Act(Enum):
    """What a transaction does to an object. Finer than `Kind`, because the log does not tell a rename from a creation."""

    CREATE_SCHEMA = "create schema"
    DROP_SCHEMA = "drop schema"
    CREATE = "create"
    """A table or a view; `object_id` is the schema's."""
    DROP_TABLE = "drop table"
    DROP_VIEW = "drop view"
    DROP_MACRO = "drop macro"
    RENAME_TABLE = "rename table"
    RENAME_VIEW = "rename view"
    ALTER_TABLE = "alter table"
    ALTER_VIEW = "alter view"
    INSERT = "insert into"
    DELETE = "delete from"
    """By files; which files is compared apart from this, so two deletes of different files go together."""
    DELETE_ALL = "replace all rows of"
    DELETE_INLINED = "delete inlined rows of"
    DEPEND_ON_ROWS = "use the rows of"
    FLUSH = "flush"
    COMPACT = "compact"
    ROLL_BACK = "roll back the rows of"
    ROLL_BACK_ALL = "roll back"
    """Everything in a schema, or, without one, in the lake; `object_id` is one of the objects there were in the schema, or the schema."""


@dataclass(frozen=True)
class Action:
    """One thing that my transaction does. Ids as they were at its start; creations and renames carry the new name."""

    act: Act
    object_id: int | None = None
    schema: str | None = None
    name: str | None = None
    rows_known: bool = False
    """The rows it depends on are known; whether concurrent writers changed any of them is compared separately."""


@dataclass(frozen=True)
class Renamed:
    """A concurrent writer gave a table or view another row of `ducklake_table` or `ducklake_view`; the log names only the new name."""

    object_id: int


@dataclass(frozen=True)
class Conflict:
    """The first pair found."""

    mine: Action
    theirs: Change | Renamed
    snapshot_id: int | None = None

    def describe(self) -> str:
        """One sentence for the user; ids stay out of it where there is a name."""
        where = "a concurrent transaction" if self.snapshot_id is None else f"snapshot {self.snapshot_id}"
        target = ".".join(part for part in (self.mine.schema, self.mine.name) if part)
        did = "renamed it" if isinstance(self.theirs, Renamed) else _SENTENCES[self.theirs.kind]
        if self.mine.act is Act.ROLL_BACK_ALL and not target:
            target = "the lake"
        return f"cannot {self.mine.act.value} {target or f'object {self.mine.object_id}'}: {where} {did}"


_INSERTS = frozenset({Kind.INSERTED_INTO_TABLE, Kind.INLINED_INSERT})
_DELETES = frozenset({Kind.DELETED_FROM_TABLE, Kind.INLINED_DELETE})
_COMPACTIONS = frozenset({Kind.MERGE_ADJACENT, Kind.REWRITE_DELETE})
_FLUSH = frozenset({Kind.INLINE_FLUSH})
ROW_CHANGES = _INSERTS | _DELETES
MOVES = _COMPACTIONS | _FLUSH
"""What puts rows elsewhere and changes none; what was done to them before can then no longer be told from the files."""
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
    Act.ALTER_TABLE: _CHANGED | _INSERTS | _DELETES,
    Act.ALTER_VIEW: frozenset({Kind.DROPPED_VIEW, Kind.ALTERED_VIEW}),
    Act.INSERT: _CHANGED | _DELETES,
    Act.DELETE: _CHANGED | _INSERTS | _COMPACTIONS | _FLUSH | {Kind.INLINED_DELETE},
    Act.DELETE_ALL: _CHANGED | _INSERTS | _DELETES | _COMPACTIONS | _FLUSH,
    Act.DELETE_INLINED: _CHANGED | _INSERTS | _DELETES | _COMPACTIONS | _FLUSH,
    Act.DEPEND_ON_ROWS: _CHANGED | _INSERTS | _DELETES,
    Act.FLUSH: _GONE | _DELETES | _FLUSH | _COMPACTIONS,
    Act.COMPACT: _GONE | _DELETES | _COMPACTIONS | _FLUSH,
    Act.ROLL_BACK: _CHANGED | _INSERTS | _DELETES | _COMPACTIONS | _FLUSH,
}
_NOT_AFTER_RENAME = frozenset({Act.DROP_TABLE, Act.DROP_VIEW, Act.RENAME_TABLE, Act.RENAME_VIEW, Act.ALTER_TABLE, Act.ALTER_VIEW})
_CLAIMS_NAME = frozenset({Act.CREATE, Act.RENAME_TABLE, Act.RENAME_VIEW})
_NEW_RELATIONS = frozenset({Kind.CREATED_TABLE, Kind.CREATED_VIEW})
_NEW_MACROS = frozenset({Kind.CREATED_SCALAR_MACRO, Kind.CREATED_TABLE_MACRO})
_SENTENCES: dict[Kind, str] = {
    Kind.DROPPED_SCHEMA: "dropped its schema",
    Kind.DROPPED_TABLE: "dropped it",
    Kind.DROPPED_VIEW: "dropped it",
    Kind.CREATED_SCHEMA: "created a schema of that name",
    Kind.CREATED_TABLE: "created a table there",
    Kind.CREATED_VIEW: "created a view there",
    Kind.CREATED_SCALAR_MACRO: "created a macro there",
    Kind.CREATED_TABLE_MACRO: "created a macro there",
    Kind.DROPPED_SCALAR_MACRO: "dropped a macro",
    Kind.DROPPED_TABLE_MACRO: "dropped a macro",
    Kind.INSERTED_INTO_TABLE: "inserted rows into it",
    Kind.DELETED_FROM_TABLE: "deleted rows from it",
    Kind.ALTERED_TABLE: "altered it",
    Kind.ALTERED_VIEW: "altered it",
    Kind.INLINED_INSERT: "inserted rows into it",
    Kind.INLINED_DELETE: "deleted rows from it",
    Kind.INLINE_FLUSH: "flushed its inlined rows",
    Kind.MERGE_ADJACENT: "merged its files",
    Kind.REWRITE_DELETE: "rewrote its files",
    Kind.UNKNOWN: "made a change that this version does not know",
}


def conflicts(mine: Action, theirs: Change | Renamed) -> bool:
    """Whether my action cannot follow what a concurrent writer did since my transaction began."""
    if isinstance(theirs, Renamed):
        return mine.act in _NOT_AFTER_RENAME and mine.object_id == theirs.object_id
    if theirs.kind is Kind.UNKNOWN:
        return True
    if mine.act is Act.ROLL_BACK_ALL:
        return _is_in(mine, theirs)
    if theirs.kind is Kind.CREATED_SCHEMA:
        return mine.act is Act.CREATE_SCHEMA and same_name(mine.schema, theirs.schema)
    if theirs.kind in _NEW_MACROS:
        return mine.act is Act.DROP_SCHEMA and same_name(mine.schema, theirs.schema)
    if theirs.kind in _NEW_RELATIONS:
        if mine.act is Act.DROP_SCHEMA:
            return same_name(mine.schema, theirs.schema)
        return mine.act in _CLAIMS_NAME and same_name(mine.schema, theirs.schema) and same_name(mine.name, theirs.name)
    kinds = _SAME_OBJECT.get(mine.act, frozenset())
    if mine.rows_known:
        kinds -= ROW_CHANGES
    return mine.object_id is not None and mine.object_id == theirs.object_id and theirs.kind in kinds


def _is_in(mine: Action, theirs: Change) -> bool:
    """Whether a change is one of what a rollback of a schema or the lake is about; where rows lie is none of it."""
    if theirs.kind in MOVES:
        return False
    if mine.schema is None:
        return True
    return same_name(mine.schema, theirs.schema) if theirs.kind in CREATIONS else mine.object_id == theirs.object_id


def find_conflict(mine: Iterable[Action], theirs: Iterable[tuple[int | None, Change | Renamed]]) -> Conflict | None:
    """The first pair that conflicts, or None. `theirs` are (snapshot id, change) pairs."""
    actions = list(mine)
    for snapshot_id, change in theirs:
        for action in actions:
            if conflicts(action, change):
                return Conflict(action, change, snapshot_id)
    return None


def same_name(one: str | None, other: str | None) -> bool:
    """Names compare without regard to case, as DuckDB compares them."""
    return one is not None and other is not None and fold(one) == fold(other)
