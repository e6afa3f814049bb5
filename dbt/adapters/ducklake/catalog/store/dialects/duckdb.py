"""A DuckDB file as the catalog database: one process at a time, one writing thread at a time.

Specification: "Choosing a Catalog Database". A process opens the file for each transaction, and other processes wait until it closes it. So
concurrent writers are always threads of one process, and a lock makes them take turns. Every transaction sees one state of the catalog.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnClause, ColumnElement, case, event, func, literal_column, try_cast
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.pool import NullPool
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import TryCast
from sqlalchemy.types import Double, TypeEngine

from ....format.duckdb_types import NAMES, duckdb_type
from ....format.identifiers import double_quoted
from ....format.inlined_cells import has_negative_zero, text_cell
from ....format.leaf_types import Encoding, LeafType, leaf_type
from ....format.objects import Column
from .dialect import CatalogDialect, NamedType
from .duckdb_driver import is_in_use

_CONFLICTS = ("write-write conflict", "conflict on", "duplicate key", "transaction conflict")


@functools.cache
def _lock_for(_file: str) -> threading.Lock:
    """Return the lock of a file: the same for every call, because the result is cached."""
    return threading.Lock()


@contextmanager
def _write_lock(connection: Connection) -> Iterator[None]:
    """Make writing threads take turns, because DuckDB would let them write concurrently and the later one would fail."""
    with _lock_for(os.path.realpath(connection.engine.url.database or "")):
        yield


def _prepare(engine: Engine, read_only: bool) -> None:
    """Let the engine's connections open the file read-only if nothing will be written."""

    @event.listens_for(engine, "do_connect")
    def _connect(_dialect: object, _record: object, _args: list[Any], keywords: dict[str, Any]) -> None:
        keywords["read_only"] = read_only


def _is_write_conflict(error: BaseException) -> bool:
    message = str(error).lower()
    return is_in_use(error) or any(each in message for each in _CONFLICTS)


def _inlined_cell(value: Any, column: Column) -> Any:
    """Convert a value to a query parameter that the database casts to the column's type.

    Raises:
        ValueError: the value contains a negative zero, which DuckDB's compression can turn into 0.0, or a variant, or no string reads back
            as the value.
    """
    if value is None:
        return None
    if has_negative_zero(value):
        raise ValueError("a DuckDB file does not preserve the sign of a zero")
    if any(node.type == "variant" for node in column.walk()):
        raise ValueError("DuckDB creates variants from values, not from Parquet's encoding")
    return text_cell(value, column)


def _readable_inlined(cell: ColumnElement[Any], column: Column) -> ColumnElement[Any]:
    """Convert variants to Parquet's encoding, because the Python values that the driver returns lose information."""
    if not any(node.type == "variant" for node in column.walk()):
        return cell
    name: ColumnClause[Any] = cell  # type: ignore[assignment]
    return literal_column(_encoded_sql(double_quoted(name.name), column, 0))


def _encoded_sql(value: str, column: Column, depth: int) -> str:
    """Return SQL that converts the variants in a value to text: `metadata:value`, each as hexadecimal digits."""
    item = f"item{depth}"
    match column.type, column.children:
        case "variant", _:
            encoded = f"CAST(variant_to_parquet_variant(variant_normalize({value})) AS STRUCT(metadata BLOB, value BLOB))"
            converted = f"hex({encoded}.metadata) || ':' || hex({encoded}.value)"
        case "list", (element,):
            return f"list_transform({value}, lambda {item}: {_encoded_sql(item, element, depth + 1)})"
        case "map", (key, entry):
            pair = f"{{'k': {_encoded_sql(f'{item}.key', key, depth + 1)}, 'v': {_encoded_sql(f'{item}.value', entry, depth + 1)}}}"
            converted = f"map_from_entries(list_transform(map_entries({value}), lambda {item}: {pair}))"
        case "struct", children:
            fields = (
                f"{double_quoted(each.name)} := {_encoded_sql(f'{value}.{double_quoted(each.name)}', each, depth + 1)}" for each in children
            )
            converted = f"struct_pack({', '.join(fields)})"
        case _:
            return value
    return f"CASE WHEN {value} IS NOT NULL THEN {converted} END"


@compiles(TryCast, "duckdb")
def _compiled_try_cast(element: Any, compiler: SQLCompiler, **options: Any) -> str:
    return f"TRY_CAST({compiler.process(element.clause, **options)} AS {compiler.process(element.typeclause, **options)})"


def _parse_number(text: ColumnElement[Any]) -> ColumnElement[Any]:
    """Convert a string to a double; to NULL if it is not a finite number."""
    number = try_cast(text, Double)
    return case((func.isfinite(number), number))


def _inlined_type(_found: TypeEngine[Any], column: Column) -> TypeEngine[Any]:
    return NamedType(duckdb_type(column))


def _is_exact_in_python(leaf: LeafType) -> bool:
    """Whether the driver returns every value of the type unchanged."""
    is_number = leaf.is_integer or leaf.is_float or leaf.encoding is Encoding.DECIMAL
    return is_number or leaf.is_text or leaf.encoding in (Encoding.BOOLEAN, Encoding.BLOB)


DUCKDB = CatalogDialect(
    name="duckdb",
    default_schema="main",
    uuid_type=NamedType("UUID"),
    timestamp_type=NamedType("TIMESTAMP WITH TIME ZONE"),
    engine_options=MappingProxyType({"poolclass": NullPool}),
    prepare_engine=_prepare,
    is_write_conflict=_is_write_conflict,
    inlined_types=MappingProxyType({name: NamedType(spelling) for name, spelling in NAMES.items()}),
    inlined_type=_inlined_type,
    inlined_cell=_inlined_cell,
    readable_inlined=_readable_inlined,
    # Python's last date is 9999-12-31, which DuckDB's client also returns for infinity; nested values may contain such dates.
    read_as_text=frozenset(name for name in NAMES if not _is_exact_in_python(leaf_type(name))),
    sql_structs=False,
    parse_number=_parse_number,
    write_lock=_write_lock,
    indexes=False,  # DuckDB's scans do not need indexes, which make updates slower
    extra="duckdb",
)
