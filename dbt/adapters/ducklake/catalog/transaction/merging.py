"""Merge the staged changes of two transactions that started from the same staged changes.

Changes of the same object are a conflict, except rows that both only appended to a table: these are joined.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from ...errors import ConflictError, StatementError
from ...format.identifiers import fold
from ...format.objects import Table, View
from ..staged import RowChanges, Staged, StagedFile, StagedRows, without

V = TypeVar("V")

_OBJECTS = ("schemas", "tables", "views", "dropped_macros", "restored_macros", "rows", "options")
"""The parts of `Staged` that map ids to changes."""


def merged(start: Staged, mine: Staged, others: Staged, read: Collection[int | None] = ()) -> Staged:
    """Return `others` with the changes that lead from `start` to `mine`.

    Args:
        start: the staged changes from which both started.
        mine: the staged changes of one transaction.
        others: the staged changes of all other transactions.
        read: ids of the tables whose rows `mine` depends on; None is any table.

    Raises:
        ConflictError: both changed the same object other than by appending rows, or created objects with the same name.
    """
    added = {}
    apart = set(read) | mine.inputs | others.inputs
    changed_by_both = set() if None in read else (_changed(start.rows, mine.rows) & others.rows.keys()) - apart
    for table_id in changed_by_both:
        rows = _appended_to(start, mine, table_id)
        if rows is not None and start.tables.get(table_id) == others.tables.get(table_id):
            added[table_id] = rows
            mine = replace(mine, rows={**without(mine.rows, table_id), **_only(start.rows, table_id)})
    _require_independent(start, mine, others)
    parts: dict[str, Any] = {part: _merged(getattr(start, part), getattr(mine, part), getattr(others, part)) for part in _OBJECTS}
    parts["rows"] |= {table_id: _with_appended(others.rows[table_id], rows) for table_id, rows in added.items()}
    return replace(others, **parts, rolled_back=mine.rolled_back | others.rolled_back, inputs=mine.inputs | others.inputs)


def _only(mapping: Mapping[Any, V], key: Any) -> dict[Any, V]:
    return {key: mapping[key]} if key in mapping else {}


def _appended_to(start: Staged, after: Staged, table_id: int) -> RowChanges | None:
    """Return the rows that were appended to a table; None if its definition or other rows have changed."""
    if table_id not in after.rows or start.tables.get(table_id) != after.tables.get(table_id):
        return None
    return _appended_rows(start.rows.get(table_id, RowChanges()), after.rows[table_id])


def difference(start: Staged, after: Staged) -> Staged:
    """Return the changes of `after` that `start` does not have, without the commit message.

    Raises:
        StatementError: one of them changes what `start` changes, other than by appending rows, or a model read the changes of a table
            that `start` changes; such changes cannot be committed separately.
    """
    added = {}
    for table_id in _changed_tables(start, after) & (start.tables.keys() | start.rows.keys()):
        rows = _appended_to(start, after, table_id) if table_id not in start.tables else None
        if rows is None:
            raise _inseparable("changed", after.tables.get(table_id) or start.tables.get(table_id))
        added[table_id] = rows
    parts: dict[str, Any] = {}
    for part in _OBJECTS:
        before, now = getattr(start, part), getattr(after, part)
        changed = _changed(before, now)
        for key in changed & before.keys() - (added.keys() if part == "rows" else set()):
            raise _inseparable("changed", now.get(key) or before[key])
        parts[part] = {key: now[key] for key in changed if key in now}
    parts["rows"] |= added
    for option in parts["options"].values():
        if option.scope_id is not None and option.scope_id < 0:  # the option of a new table or schema
            owner = start.tables.get(option.scope_id) or start.schemas.get(option.scope_id)
            if owner is not None:
                raise _inseparable("changed", owner)
    schemas = {fold(schema.name) for schema in start.schemas.values() if schema is not None}
    for relation in (*parts["tables"].values(), *parts["views"].values()):
        if relation is not None and fold(relation.schema_name) in schemas:
            raise _inseparable("changed", relation)
    inputs = after.inputs - start.inputs
    for table_id in inputs & (start.tables.keys() | start.rows.keys()):
        raise _inseparable("read for its changes", start.tables.get(table_id))
    return Staged(**parts, rolled_back=after.rolled_back - start.rolled_back, inputs=inputs)


def _inseparable(action: str, relation: Any) -> StatementError:
    name = getattr(relation, "name", None)
    what = ".".join(filter(None, (getattr(relation, "schema_name", None), name))) if name is not None else "a table, macro or option"
    return StatementError(
        f"{what} cannot be {action} here: an earlier node that is not published yet changed it or created its schema. "
        "Set publish: run, so that they are published together, or publish: node"
    )


def is_changed(start: Staged, after: Staged) -> bool:
    """Whether `after` has other changes than `start`. The commit message and what was only read do not count."""
    one, other = (replace(each, commit_message=None, rows=_recorded(each.rows)) for each in (start, after))
    return one != other


def changed_relations(start: Staged, after: Staged) -> set[int]:
    """Return the ids of the tables and views whose definition or rows differ. What was only read does not count."""
    rows = _changed(_recorded(start.rows), _recorded(after.rows))
    return _changed(start.tables, after.tables) | _changed(start.views, after.views) | rows


def _recorded(rows: Mapping[int, RowChanges]) -> dict[int, RowChanges]:
    """Return the changes of rows that a commit records, without what they depend on."""
    return {table_id: replace(changes, depends_on_rows=()) for table_id, changes in rows.items() if changes.has_changes}


def _require_independent(start: Staged, mine: Staged, others: Staged) -> None:
    for table_id in _changed_tables(start, mine) & _changed_tables(start, others):
        table = mine.tables.get(table_id) or others.tables.get(table_id)
        name = f"{table.schema_name}.{table.name}" if table is not None else "a table"
        raise ConflictError(f"{name} was changed by another transaction of this run")
    for one, other in ((mine, others), (others, mine)):
        if (one.inputs - start.inputs) & _changed_tables(start, other):
            raise ConflictError("a table whose changes were read was changed by another transaction of this run")
    for part in _OBJECTS:
        before, one, other = getattr(start, part), getattr(mine, part), getattr(others, part)
        for key in _changed(before, one) & _changed(before, other):
            if one.get(key) != other.get(key):
                raise ConflictError("the same schema, view, macro or option was changed by another transaction of this run")
    for names in set(_new_names(start, mine)) & set(_new_names(start, others)):
        raise ConflictError(f"{'.'.join(names)} was created by another transaction of this run")
    for one, other in ((mine, others), (others, mine)):
        if _drops_schema(start, one) and any(True for _ in _new_names(start, other)):
            raise ConflictError("another transaction of this run dropped a schema")


def _changed_tables(start: Staged, after: Staged) -> set[int]:
    return _changed(start.tables, after.tables) | _changed(start.rows, after.rows)


def _changed(start: Mapping[Any, V], after: Mapping[Any, V]) -> set[Any]:
    """Return the keys whose entries differ, added and removed ones included."""
    changed = {key for key, value in after.items() if key not in start or (start[key] is not value and start[key] != value)}
    return changed | (start.keys() - after.keys())


def _merged(start: Mapping[Any, V], mine: Mapping[Any, V], others: Mapping[Any, V]) -> dict[Any, V]:
    changed = _changed(start, mine)
    kept = {key: value for key, value in others.items() if key not in changed}
    return kept | {key: mine[key] for key in changed if key in mine}


def _new_names(start: Staged, after: Staged) -> Iterator[tuple[str, ...]]:
    """Yield the names, folded, of the schemas, tables and views that were created, renamed or changed."""
    for schema_id in _changed(start.schemas, after.schemas):
        schema = after.schemas.get(schema_id)
        if schema is not None:
            yield (fold(schema.name),)
    relations: tuple[tuple[Mapping[int, Table | View | None], Mapping[int, Table | View | None]], ...] = (
        (start.tables, after.tables),
        (start.views, after.views),
    )
    for before, now in relations:
        for relation_id in _changed(before, now):
            relation = now.get(relation_id)
            if relation is not None:
                yield fold(relation.schema_name), fold(relation.name)


def _drops_schema(start: Staged, after: Staged) -> bool:
    return any(after.schemas.get(schema_id) is None for schema_id in _changed(start.schemas, after.schemas))


def _appended_rows(start: RowChanges, after: RowChanges) -> RowChanges | None:
    """Return the rows that were appended between two states of a table's changes; None if anything else has changed."""
    files, inlined = after.files[len(start.files) :], after.inlined[len(start.inlined) :]
    rest = replace(
        after,
        files=after.files[: len(start.files)],
        inlined=after.inlined[: len(start.inlined)],
        reserved_row_ids=start.reserved_row_ids,
    )
    if rest != start or any(each.file.embedded_row_ids for each in files):
        return None
    return RowChanges(
        files=tuple(_moved_files(files, -start.reserved_row_ids)),
        inlined=tuple(_moved_rows(inlined, -start.reserved_row_ids)),
        reserved_row_ids=after.reserved_row_ids - start.reserved_row_ids,
    )


def _with_appended(changes: RowChanges, more: RowChanges) -> RowChanges:
    """Return changes of a table with more rows appended, as `_appended_rows` returns them."""
    return replace(
        changes,
        files=(*changes.files, *_moved_files(more.files, changes.reserved_row_ids)),
        inlined=(*changes.inlined, *_moved_rows(more.inlined, changes.reserved_row_ids)),
        reserved_row_ids=changes.reserved_row_ids + more.reserved_row_ids,
    )


def _moved_files(files: Iterable[StagedFile], by: int) -> Iterable[StagedFile]:
    return (replace(each, row_id_offset=each.row_id_offset + by) for each in files)


def _moved_rows(rows: Iterable[StagedRows], by: int) -> Iterable[StagedRows]:
    return (replace(each, offsets=tuple(offset + by for offset in each.offsets)) for each in rows)
