"""A DuckDB file as a catalog database: one process at a time, one writing thread at a time.

Specification: "Choosing a Catalog Database". A process has the file open for one transaction, and other processes wait. So only threads of
the same process can write concurrently.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnClause, ColumnElement, case, event, func, literal_column, try_cast
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.pool import NullPool
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import TryCast
from sqlalchemy.types import BOOLEAN, Double, TypeEngine, UserDefinedType

from ....format.duckdb_types import NAMES, duckdb_type
from ....format.identifiers import double_quoted
from ....format.inlined_cells import has_negative_zero, text_cell
from ....format.leaf_types import Encoding, LeafType, leaf_type
from ....format.objects import Column
from .dialect import CatalogDialect
from .duckdb_driver import is_in_use

_CONFLICTS = ("write-write conflict", "conflict on", "duplicate key", "transaction conflict")


class DuckDBType(UserDefinedType[Any]):
    """A type with DuckDB's name."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        """Return the type's name for CREATE TABLE."""
        return self.name


@functools.cache
def _lock_of(_file: str) -> threading.Lock:
    return threading.Lock()


@contextmanager
def _write_lock(connection: Connection) -> Iterator[None]:
    """Make writing threads wait for each other, because DuckDB would let them write concurrently and fail the later one."""
    with _lock_of(os.path.realpath(connection.engine.url.database or "")):
        yield


def _prepare(engine: Engine, read_only: bool) -> None:
    @event.listens_for(engine, "do_connect")
    def _connect(_dialect: object, _record: object, _args: list[Any], named: dict[str, Any]) -> None:
        named["read_only"] = read_only


def _nothing(_connection: Connection, _schema: str | None = None) -> None:
    """Do nothing: every DuckDB transaction sees one state."""


def _is_write_conflict(error: BaseException) -> bool:
    words = str(error).lower()
    return is_in_use(error) or any(each in words for each in _CONFLICTS)


def _identity(value: Any) -> Any:
    return value


def _read_timestamp(value: datetime) -> datetime:
    return value.astimezone(timezone.utc)


def _cell(value: Any, column: Column) -> Any:
    """Convert a value to text, which the database casts. Negative zeros are refused: DuckDB's compression can turn them into 0.0."""
    if value is None:
        return None
    if has_negative_zero(value):
        raise ValueError("a DuckDB file does not preserve the sign of a zero")
    if any(node.type == "variant" for node in column.walk()):
        raise ValueError("DuckDB creates variants from values, not from Parquet's encoding")
    return text_cell(value, column)


def _readable(cell: ColumnElement[Any], column: Column) -> ColumnElement[Any]:
    """Convert variants to Parquet's encoding, because the driver's Python values lose information."""
    if not any(node.type == "variant" for node in column.walk()):
        return cell
    name: ColumnClause[Any] = cell  # type: ignore[assignment]
    return literal_column(_encoded(double_quoted(name.name), column, 0))


def _encoded(value: str, column: Column, depth: int) -> str:
    """Return the SQL expression of a value with variants as texts: `metadata:value`, both binaries in hexadecimal digits."""
    item = f"item{depth}"
    match column.type, column.children:
        case "variant", _:
            both = f"CAST(variant_to_parquet_variant(variant_normalize({value})) AS STRUCT(metadata BLOB, value BLOB))"
            made = f"hex({both}.metadata) || ':' || hex({both}.value)"
        case "list", (element,):
            return f"list_transform({value}, lambda {item}: {_encoded(item, element, depth + 1)})"
        case "map", (key, entry):
            pair = f"{{'k': {_encoded(f'{item}.key', key, depth + 1)}, 'v': {_encoded(f'{item}.value', entry, depth + 1)}}}"
            made = f"map_from_entries(list_transform(map_entries({value}), lambda {item}: {pair}))"
        case "struct", children:
            fields = (
                f"{double_quoted(each.name)} := {_encoded(f'{value}.{double_quoted(each.name)}', each, depth + 1)}" for each in children
            )
            made = f"struct_pack({', '.join(fields)})"
        case _:
            return value
    return f"CASE WHEN {value} IS NOT NULL THEN {made} END"


@compiles(TryCast, "duckdb")
def _compiled_try_cast(element: Any, compiler: SQLCompiler, **options: Any) -> str:
    return f"TRY_CAST({compiler.process(element.clause, **options)} AS {compiler.process(element.typeclause, **options)})"


def _number(text: ColumnElement[Any]) -> ColumnElement[Any]:
    number = try_cast(text, Double)
    return case((func.isfinite(number), number))


def _inlined_type(_found: TypeEngine[Any], column: Column) -> TypeEngine[Any]:
    return DuckDBType(duckdb_type(column))


def _is_exact_in_python(leaf: LeafType) -> bool:
    """Whether the driver returns every value of the type unchanged."""
    numbers = leaf.is_integer or leaf.is_float or leaf.encoding is Encoding.DECIMAL
    return numbers or leaf.is_text or leaf.encoding in (Encoding.BOOLEAN, Encoding.BLOB)


DUCKDB = CatalogDialect(
    name="duckdb",
    default_schema="main",
    uuid_type=DuckDBType("UUID"),
    boolean_type=BOOLEAN(),
    timestamp_type=DuckDBType("TIMESTAMP WITH TIME ZONE"),
    write_boolean=bool,
    write_timestamp=_identity,
    read_timestamp=_read_timestamp,
    comparable_timestamp=_identity,
    engine_options=MappingProxyType({"poolclass": NullPool}),
    prepare_engine=_prepare,
    begin_read=_nothing,
    begin_commit=_nothing,
    is_write_conflict=_is_write_conflict,
    inlined_types=MappingProxyType({name: DuckDBType(spelling) for name, spelling in NAMES.items()}),
    inlined_type=_inlined_type,
    inlined_cell=_cell,
    inlined_readable=_readable,
    # Python's dates end at the year 9999, and DuckDB's client returns infinities as that; nested values may contain such dates.
    read_as_text=frozenset(name for name in NAMES if not _is_exact_in_python(leaf_type(name))),
    number=_number,
    write_lock=_write_lock,
    indexes=False,  # DuckDB's scans need none, and they make updates slower
    package="duckdb",
)
