"""A column for dbt: with Spark's type names, names in backquotes, and the type changes that need no rewrite of files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dbt.adapters.base.column import Column

from .errors import DuckLakeError
from .format.datatype import DataType
from .format.identifiers import backquoted, fold
from .format.nested_fields import NestedField, needs_rewrite, new_fields, widened, wider_fields, without_order
from .format.types import can_promote, decimal_parameters, parse_type, spark_name

_INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
_FLOATS = frozenset({"float", "double"})


@dataclass
class DuckLakeColumn(Column):
    """A column with its Spark type in `dtype`: `bigint`, `decimal(10,2)`, `struct<a:int>`."""

    comment: str | None = None

    @classmethod
    def translate_type(cls, dtype: str) -> str:
        """Return Spark's name of a type as written in any common SQL dialect; a type that lakes do not have is returned unchanged."""
        try:
            return spark_name(parse_type(dtype))
        except DuckLakeError:
            return dtype

    @staticmethod
    def fold(name: str) -> str:
        """Return the form in which names are compared: two names are equal in a lake if their folded forms are."""
        return fold(name)

    @property
    def quoted(self) -> str:
        """The name in backquotes."""
        return backquoted(self.column)

    @property
    def data_type(self) -> str:
        """The full type, as in a cast."""
        return self.dtype

    def is_string(self) -> bool:
        """Whether the type is a string; lakes have no string lengths."""
        return self._spark_type == "string"

    def is_integer(self) -> bool:
        """Whether the type is a signed integer of up to eight bytes."""
        return self._spark_type in _INTEGERS

    def is_float(self) -> bool:
        """Whether the type is a binary floating-point number."""
        return self._spark_type in _FLOATS

    def is_numeric(self) -> bool:
        """Whether the type is a decimal number."""
        return self._spark_type.startswith("decimal(")

    def can_expand_to(self, other_column: Column) -> bool:
        """Whether the lake can change this column's type to the other's without rewriting files."""
        try:
            return can_promote(parse_type(self.dtype).name, parse_type(other_column.dtype).name)
        except DuckLakeError:
            return False

    def fields_beyond(self, other_column: Column) -> list[NestedColumn]:
        """Return the fields of structs in this column's type, at any depth, that the other column's type lacks."""
        try:
            return _nested(other_column.name, new_fields(parse_type(other_column.dtype), parse_type(self.dtype)))
        except DuckLakeError:
            return []

    def wider_fields(self, other_column: Column) -> list[NestedColumn]:
        """Return the fields, with their new types, that the lake can change to the other column's types without rewriting files."""
        try:
            return _nested(self.name, wider_fields(parse_type(self.dtype), parse_type(other_column.dtype)))
        except DuckLakeError:
            return []

    def needs_rewrite(self, other_column: Column) -> bool:
        """Whether the lake must rewrite files to change the type, or that of a field that both types have, to the other column's."""
        try:
            return needs_rewrite(parse_type(self.dtype), parse_type(other_column.dtype))
        except DuckLakeError:
            return True

    def widened(self, other_column: Column) -> DuckLakeColumn:
        """Return this column with the other column's types wherever the lake can change to them without rewriting files."""
        try:
            return type(self)(self.name, spark_name(widened(parse_type(self.dtype), parse_type(other_column.dtype))))
        except DuckLakeError:
            return self

    def has_same_fields(self, other_column: Column) -> bool:
        """Whether the two types differ at most in the order of the fields of structs, on which stored values do not depend."""
        try:
            return without_order(parse_type(self.dtype)) == without_order(parse_type(other_column.dtype))
        except DuckLakeError:
            return False

    def moves_fields(self, other_column: Column) -> bool:
        """Whether a cast to the other type, by position, gives a struct field, at any depth, the value of a field with another name."""
        try:
            return _moves_fields(parse_type(self.dtype), parse_type(other_column.dtype))
        except DuckLakeError:
            return False

    def literal(self, value: Any) -> str:
        """Return SQL for `value` in this column's type."""
        return f"cast({value} as {self.dtype})"

    @classmethod
    def string_type(cls, size: int) -> str:  # noqa: ARG003 (dbt's signature)
        """Return the type of strings; lakes have no string lengths."""
        return "string"

    @classmethod
    def numeric_type(cls, dtype: str, precision: Any, scale: Any) -> str:
        """Return the decimal type with a precision and scale; without a precision, Spark's default."""
        if precision is None:
            return cls.translate_type(dtype)
        return f"decimal({precision},{scale or 0})"

    @classmethod
    def from_description(cls, name: str, raw_data_type: str) -> DuckLakeColumn:
        """Return a column from a name and a type, written as in any common SQL dialect."""
        column = cls(name, cls.translate_type(raw_data_type))
        parameters = decimal_parameters(column.dtype)
        if parameters is not None:
            column.numeric_precision, column.numeric_scale = parameters
        return column

    @property
    def _spark_type(self) -> str:
        return self.translate_type(self.dtype)


@dataclass
class NestedColumn(DuckLakeColumn):
    """A field of a struct, with the path to it."""

    path: tuple[str, ...] = ()

    @property
    def quoted(self) -> str:
        """The path with each name in backquotes."""
        return ".".join(map(backquoted, self.path))


def _nested(column: str, fields: list[NestedField]) -> list[NestedColumn]:
    return [NestedColumn(".".join((column, *path)), spark_name(kind), path=(column, *path)) for path, kind in fields]


def _moves_fields(own: DataType, other: DataType) -> bool:
    if own.name != other.name:
        return False
    pairs = list(zip(own.fields, other.fields, strict=False))
    moved = own.name == "struct" and any(fold(old.name) != fold(new.name) for old, new in pairs)
    return moved or any(_moves_fields(old.type, new.type) for old, new in pairs)
