"""Merge the staged changes of two transactions that started from the same staged changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from ...errors import ConflictError
from ...format.identifiers import fold
from ...format.objects import Table, View
from ..staged import Staged

V = TypeVar("V")

_OBJECTS = ("schemas", "tables", "views", "dropped_macros", "returned_macros", "rows", "options")
"""The parts of `Staged` that map ids to changes."""


def merged(start: Staged, mine: Staged, others: Staged) -> Staged:
    """Return `others` with the changes between `start` and `mine`.

    Args:
        start: the staged changes from which both started.
        mine: the staged changes of one transaction.
        others: the staged changes of all other transactions.

    Raises:
        ConflictError: both changed the same object, or created objects with the same name.
    """
    _require_independent(start, mine, others)
    parts: dict[str, Any] = {part: _merged(getattr(start, part), getattr(mine, part), getattr(others, part)) for part in _OBJECTS}
    return replace(others, **parts, rolled_back=mine.rolled_back | others.rolled_back)


def changed_relations(start: Staged, after: Staged) -> set[int]:
    """Return the ids of the tables and views whose definition or rows differ."""
    return _changed_tables(start, after) | _changed(start.views, after.views)


def _require_independent(start: Staged, mine: Staged, others: Staged) -> None:
    for table_id in _changed_tables(start, mine) & _changed_tables(start, others):
        table = mine.tables.get(table_id) or others.tables.get(table_id)
        name = f"{table.schema_name}.{table.name}" if table is not None else "a table"
        raise ConflictError(f"{name} was changed by another transaction of this run")
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
