"""How the type of a column becomes another one by changes of metadata alone: fields that are new or gone, at any depth, and wider types.

Fields of structs are matched by name, as DuckDB matches them in ALTER COLUMN … TYPE STRUCT(…), and their order is no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter

from .datatype import DataType, Field
from .identifiers import fold
from .types import can_promote

NestedField = tuple[tuple[str, ...], DataType]
"""(path below the column, type); the path of the column itself is empty."""


def new_fields(current: DataType, wanted: DataType) -> list[NestedField]:
    """Return the fields of structs in `wanted` that `current` lacks; with the arguments exchanged, those to drop."""
    if current.name != wanted.name:
        return []
    known = {fold(field.name): field for field in current.fields}
    found: list[NestedField] = []
    for field in wanted.fields:
        old = known.get(fold(field.name))
        if old is None:
            found.append(((field.name,), field.type))
        else:
            found += [((old.name, *path), kind) for path, kind in new_fields(old.type, field.type)]
    return found


def wider_fields(current: DataType, wanted: DataType) -> list[NestedField]:
    """Return the fields of `current`, with new types, whose leaf types a lake can change to those of `wanted` without rewriting files."""
    if can_promote(current.name, wanted.name):
        return [((), wanted)]
    return [((old.name, *path), kind) for old, new in _common(current, wanted) for path, kind in wider_fields(old.type, new.type)]


def widened(type_: DataType, other: DataType) -> DataType:
    """Return the type with the leaf types of `other` wherever a lake can change to them without rewriting files."""
    if can_promote(type_.name, other.name):
        return other
    wider = {fold(old.name): widened(old.type, new.type) for old, new in _common(type_, other)}
    return DataType(type_.name, tuple(replace(field, type=wider.get(fold(field.name), field.type)) for field in type_.fields))


def needs_rewrite(current: DataType, wanted: DataType) -> bool:
    """Whether a lake must rewrite files to change `current`, or a field that both types have, to the type in `wanted`."""
    if current.name != wanted.name:
        return not can_promote(current.name, wanted.name)
    return any(needs_rewrite(old.type, new.type) for old, new in _common(current, wanted))


def without_order(type_: DataType) -> DataType:
    """Return the type with the fields of structs sorted by name, without nullability, comments and the case of names."""
    fields = [Field(fold(field.name), without_order(field.type)) for field in type_.fields]
    return DataType(type_.name, tuple(sorted(fields, key=attrgetter("name")) if type_.name == "struct" else fields))


def _common(one: DataType, other: DataType) -> Iterator[tuple[Field, Field]]:
    """Yield the fields that both types have."""
    if one.name == other.name:
        others = {fold(field.name): field for field in other.fields}
        for field in one.fields:
            if fold(field.name) in others:
                yield field, others[fold(field.name)]
