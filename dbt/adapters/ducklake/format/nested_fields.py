"""New fields of a struct, which can be added to a table one by one by changing metadata only."""

from __future__ import annotations

from .datatype import DataType, Field
from .identifiers import fold


def new_fields(current: DataType, wanted: DataType) -> list[tuple[tuple[str, ...], DataType]]:
    """Return the fields to add to `current` to get `wanted`; empty if adding fields is not enough.

    Fields are added at the end of their struct and values are cast by position, so new fields must be at the end in `wanted` too.

    Returns:
        (path below the column, type) of each new field.
    """
    found: list[tuple[tuple[str, ...], DataType]] = []
    return found if _collect(current, wanted, (), found) else []


def _collect(current: DataType, wanted: DataType, path: tuple[str, ...], found: list[tuple[tuple[str, ...], DataType]]) -> bool:
    """Add the new fields to `found` and return whether nothing else is different."""
    if current.name != "struct" or wanted.name != "struct":
        return _plain(current) == _plain(wanted)
    known, new = wanted.fields[: len(current.fields)], wanted.fields[len(current.fields) :]
    if [fold(field.name) for field in known] != [fold(field.name) for field in current.fields]:
        return False
    if not all(_collect(old.type, field.type, (*path, old.name), found) for old, field in zip(current.fields, known, strict=True)):
        return False
    found += [((*path, field.name), field.type) for field in new]
    return True


def _plain(type_: DataType) -> DataType:
    """Return the type without nullability, comments and the case of names."""
    return DataType(type_.name, tuple(Field(fold(field.name), _plain(field.type)) for field in type_.fields))
