"""Check whether a transaction can still commit after everything that concurrent writers committed since it began.

The rules are in `format/conflicts.py`; this module reads the data that they need. Without concurrent writers it reads nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Select, select

from ...errors import ConflictError
from ...format.changes import CHANGES_OF_ROWS, MOVES, Change
from ...format.conflicts import Act, Action, Conflict, Renamed, find_conflicts
from ...format.objects import Table, View
from ...format.paths import normalize, resolve
from ..read.history import SnapshotRecord, require_not_expired, snapshot_records
from ..read.reader import SnapshotReader
from ..staged import RowChanges, Staged
from ..store import tables as t
from ..store.database import rows_with_ids
from ..store.inlined import find_delete_table
from ..store.known_files import scheduled_paths, table_directories
from .concurrent_rows import concurrent_change
from .state import CommitState

_RUN_AGAIN = "; nothing was written, so run it again"
_MAX_NAMED = 5
"""The number of conflicts or writers in a message."""


def require_no_conflict(state: CommitState) -> None:
    """Check this commit against every snapshot since the transaction began whose changes it has not seen.

    Raises:
        ConflictError: a concurrent writer's change forbids this commit, or the pinned snapshot or a later one has expired.
    """
    start = state.base.snapshot
    if state.latest.snapshot_id == start.snapshot_id:
        return
    require_not_expired(state.connection, state.database, start.snapshot_id)
    records = snapshot_records(state.connection, after=start.snapshot_id)
    if len(records) != state.latest.snapshot_id - start.snapshot_id:
        raise ConflictError(
            "snapshots that were committed during this transaction have already expired, so it is not known whether "
            "they conflict with it" + _RUN_AGAIN
        )
    records = [record for record in records if record.snapshot.snapshot_id not in state.staged.seen]
    theirs: list[tuple[str | None, Change | Renamed]] = [(record.title, change) for record in records for change in record.changes]
    theirs += [(None, renamed) for renamed in _renamed(state)]
    known = _tables_of_known_rows(state, [change for record in records for change in record.changes])
    found = find_conflicts(_actions(state.base, state.staged, known), theirs)
    if found:
        raise ConflictError(_sentences(found) + _RUN_AGAIN)
    _require_not_added(state)
    for table_id, changes in state.staged.rows.items():
        _require_untouched_files(state, table_id, changes)
    for table_id in known:
        _require_untouched_rows(state, table_id, records)


def _actions(base: SnapshotReader, staged: Staged, known: Collection[int]) -> list[Action]:
    """Return the actions of the staged changes, with names for messages; `known` has the ids of the tables whose read set is known."""
    return [
        *_schema_actions(base, staged),
        *_table_actions(base, staged),
        *_view_actions(base, staged),
        *(Action(Act.DROP_MACRO, macro_id, macro.schema_name, macro.name) for macro_id, macro in staged.dropped_macros.items()),
        *_row_actions(base, staged, known),
        *_input_actions(base, staged),
        *_read_actions(base, staged),
        *(action for schema in staged.rolled_back for action in _rollback_actions(base, schema)),
    ]


def _sentences(found: Sequence[Conflict]) -> str:
    more = f"; {len(found) - _MAX_NAMED} more conflicts" if len(found) > _MAX_NAMED else ""
    return "; ".join(each.describe() for each in found[:_MAX_NAMED]) + more


def _rollback_actions(base: SnapshotReader, name: str | None) -> Iterator[Action]:
    """Yield an action for the lake, or for the schema and each object in it, because most logged changes have only the object's id."""
    yield Action(Act.ROLL_BACK_ALL, None if name is None else _schema_id(base, name), name)
    if name is not None:
        yield from (Action(Act.ROLL_BACK_ALL, each.relation_id, name, each.name) for each in base.names(name))
        yield from (Action(Act.ROLL_BACK_ALL, each.macro_id, name, each.name) for each in base.macros(name))


def _schema_actions(base: SnapshotReader, staged: Staged) -> Iterator[Action]:
    names = {schema.schema_id: schema.name for schema in base.schemas()}
    for schema_id, schema in staged.schemas.items():
        if schema is None:
            yield Action(Act.DROP_SCHEMA, schema_id, names.get(schema_id))
        elif schema_id < 0:
            yield Action(Act.CREATE_SCHEMA, None, schema.name)


def _table_actions(base: SnapshotReader, staged: Staged) -> Iterator[Action]:
    for table_id, table in staged.tables.items():
        before = base.by_id(table_id)
        if table is None:
            if isinstance(before, Table):
                yield Action(Act.DROP_TABLE, table_id, before.schema_name, before.name)
        elif not isinstance(before, Table):
            yield Action(Act.CREATE, _schema_id(base, table.schema_name), table.schema_name, table.name)
        else:
            if (table.schema_name, table.name) != (before.schema_name, before.name):
                yield Action(Act.RENAME_TABLE, table_id, table.schema_name, table.name)
            if replace(table, schema_name=before.schema_name, name=before.name) != before:
                yield Action(Act.ALTER_TABLE, table_id, before.schema_name, before.name)


def _view_actions(base: SnapshotReader, staged: Staged) -> Iterator[Action]:
    for view_id, view in staged.views.items():
        before = base.by_id(view_id)
        if view is None:
            if isinstance(before, View):
                yield Action(Act.DROP_VIEW, view_id, before.schema_name, before.name)
        elif not isinstance(before, View):
            yield Action(Act.CREATE, _schema_id(base, view.schema_name), view.schema_name, view.name)
        elif (view.schema_name, view.name) != (before.schema_name, before.name):
            yield Action(Act.RENAME_VIEW, view_id, view.schema_name, view.name)
        else:
            yield Action(Act.ALTER_VIEW, view_id, before.schema_name, before.name)


def _row_actions(base: SnapshotReader, staged: Staged, known: Collection[int]) -> Iterator[Action]:
    for table_id, changes in staged.rows.items():
        before = base.by_id(table_id)
        if not isinstance(before, Table):
            continue
        acts = [
            (Act.INSERT, changes.adds_rows),
            (Act.DELETE, bool(changes.ended_files) or any(file_id >= 0 for file_id in changes.delete_files)),
            (Act.DELETE_ALL, changes.truncated),
            (Act.DELETE_INLINED, any(changes.ended_inlined.values())),
            (Act.DEPEND_ON_ROWS, bool(changes.depends_on_rows)),
            (Act.FLUSH, changes.flush is not None),
            (Act.COMPACT, changes.compaction is not None),
            (Act.ROLL_BACK, changes.restored is not None),
        ]
        for act, applies in acts:
            if applies:
                yield Action(act, table_id, before.schema_name, before.name, rows_known=table_id in known)


def _input_actions(base: SnapshotReader, staged: Staged) -> Iterator[Action]:
    """Yield that a position depends on all rows of its input, which a concurrent writer may have changed."""
    for table_id in staged.inputs:
        before = base.by_id(table_id)
        if isinstance(before, Table):
            yield Action(Act.DEPEND_ON_ROWS, table_id, before.schema_name, before.name)


def _read_actions(base: SnapshotReader, staged: Staged) -> Iterator[Action]:
    """Yield that the changes depend on definitions that the transaction has read."""
    if staged.lake_read:
        yield Action(Act.READ_LAKE)
    for schema, name in staged.names_read:
        found = base.find(schema, name)
        yield Action(Act.READ_DEFINITION, None if found is None else found.relation_id, schema, name)


def _tables_of_known_rows(state: CommitState, theirs: Sequence[Change]) -> list[int]:
    """Return the tables whose rows a concurrent writer changed and whose read set is known."""
    changed = {change.object_id for change in theirs if change.kind in CHANGES_OF_ROWS}
    moved = {change.object_id for change in theirs if change.kind in MOVES}
    return [
        table_id
        for table_id, changes in state.staged.rows.items()
        if changes.depends_on_rows and all(changes.depends_on_rows) and not changes.truncated and table_id in changed - moved
    ]


def _require_untouched_rows(state: CommitState, table_id: int, records: Sequence[SnapshotRecord]) -> None:
    """Require that concurrent writers did not insert or delete rows of this transaction's read set."""
    table, changes = state.table(table_id), state.staged.rows[table_id]
    change = concurrent_change(state, table, changes.depends_on_rows)
    if change is not None:
        writers = [each.title for each in records if any(_changes_rows_of(table_id, logged) for logged in each.changes)]
        act = "change" if changes.has_changes else Act.DEPEND_ON_ROWS.value
        raise ConflictError(
            f"cannot {act} {table.schema_name}.{table.name}: a concurrent transaction {change} rows that this one depends on, "
            f"{' or '.join(writers[:_MAX_NAMED])}{_RUN_AGAIN}"
        )


def _changes_rows_of(table_id: int, change: Change) -> bool:
    return change.kind in CHANGES_OF_ROWS and change.object_id == table_id


def _schema_id(base: SnapshotReader, name: str) -> int | None:
    schema = base.schema(name)
    return None if schema is None else schema.schema_id


def _renamed(state: CommitState) -> Iterator[Renamed]:
    """Yield the changed and the read tables and views that a concurrent writer renamed; the logged change has only the new name."""
    start = state.base.snapshot.snapshot_id
    read = [each for names in state.staged.names_read if (each := state.base.find(*names)) is not None]
    for table, key, ids in (
        (t.table, t.table.c.table_id, {*state.staged.tables, *(each.relation_id for each in read if isinstance(each, Table))}),
        (t.view, t.view.c.view_id, {*state.staged.views, *(each.relation_id for each in read if isinstance(each, View))}),
    ):
        query = select(key).where(table.c.begin_snapshot > start, table.c.begin_snapshot.not_in(state.staged.seen))
        yield from (Renamed(row[0]) for row in rows_with_ids(state.connection, query, key, [each for each in ids if each >= 0]))


def _require_untouched_files(state: CommitState, table_id: int, changes: RowChanges) -> None:
    """Require that no concurrent writer deleted rows of the files from which this transaction deletes."""
    touched = {file_id for file_id in changes.delete_files if file_id >= 0} | changes.ended_files
    if not touched:
        return
    start, files, deletes = state.base.snapshot, t.data_file.c, t.delete_file.c

    def of_touched(query: Select[Any], key: ColumnElement[Any]) -> set[int]:
        return {row[0] for row in rows_with_ids(state.connection, query, key, touched)}

    alive = of_touched(select(files.data_file_id).where(files.end_snapshot.is_(None)), files.data_file_id)
    newer = select(deletes.data_file_id).where(deletes.end_snapshot.is_(None), deletes.delete_file_id >= start.next_file_id)
    alive -= of_touched(newer, deletes.data_file_id)
    entries = find_delete_table(state.connection, table_id)
    if entries is not None:
        alive -= of_touched(select(entries.c.file_id).where(entries.c.begin_snapshot > start.snapshot_id), entries.c.file_id)
    if alive != touched:
        table = state.table(table_id)
        raise ConflictError(
            f"cannot delete from {table.schema_name}.{table.name}: a concurrent transaction deleted rows of the same files" + _RUN_AGAIN
        )


def _require_not_added(state: CommitState) -> None:
    """Require that the files that this transaction adds were not registered or scheduled for deletion since it began.

    Raises:
        ConflictError: one of them already belongs to the lake.
    """
    for table_id, changes in state.staged.rows.items():
        added = {normalize(staged.file.path): staged.file.path for staged in changes.files if staged.file.mapping is not None}
        if not added:
            continue
        for path in _taken(state):
            if normalize(path) in added:
                table = state.table(table_id)
                raise ConflictError(
                    f"cannot add {added[normalize(path)]} to {table.schema_name}.{table.name}: a concurrent transaction added it, and "
                    "a file can be added only once, to one table; nothing was written, so run it again"
                )


def _taken(state: CommitState) -> Iterator[str]:
    directories = table_directories(state.connection, state.data_path)
    data = t.data_file.c
    query = select(data.table_id, data.path, data.path_is_relative).where(data.data_file_id >= state.base.snapshot.next_file_id)
    for row in state.connection.execute(query):
        yield resolve(directories.get(row.table_id, state.data_path), row.path, row.path_is_relative)
    yield from scheduled_paths(state.connection, state.data_path)
