"""A DuckDB file as a catalog database: one process at a time, its threads in turn.

Specification: "Choosing a Catalog Database". The file is held for the time of one transaction; a process that finds it held waits. As a
process commits with the file to itself, rivals are the threads of this one.
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

from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import NullPool
from sqlalchemy.types import BOOLEAN, TypeEngine, UserDefinedType

from ...spec.duckdb_types import NAMES, duckdb_type
from ...spec.inlined_cells import has_negative_zero, text_cell
from ...spec.objects import Column
from . import CatalogDialect
from .duckdb_driver import is_in_use

_CONFLICTS = ("write-write conflict", "conflict on", "duplicate key", "transaction conflict")


class DuckDBType(UserDefinedType[Any]):
    """A type by the name that DuckDB gives it."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        return self.name


@functools.cache
def _turn(_file: str) -> threading.Lock:
    return threading.Lock()


@contextmanager
def _writers_turn(connection: Connection) -> Iterator[None]:
    """DuckDB lets threads write at once and fails the later one; they had better wait."""
    with _turn(os.path.realpath(connection.engine.url.database or "")):
        yield


def _prepare(engine: Engine, read_only: bool) -> None:
    @event.listens_for(engine, "do_connect")
    def _connect(_dialect: object, _record: object, _args: list[Any], named: dict[str, Any]) -> None:
        named["read_only"] = read_only


def _nothing(_connection: Connection, _schema: str | None = None) -> None:
    """BEGIN is enough: every transaction of DuckDB sees one state."""


def _is_rival(error: BaseException) -> bool:
    words = str(error).lower()
    return is_in_use(error) or any(each in words for each in _CONFLICTS)


def _identity(value: Any) -> Any:
    return value


def _read_timestamp(value: datetime) -> datetime:
    return value.astimezone(timezone.utc)


def _cell(value: Any, column: Column) -> Any:
    """A text, which the database casts. Its compression takes -0.0 for 0.0, beside which it may come to stand."""
    if has_negative_zero(value):
        raise ValueError("a DuckDB file does not keep the sign of a zero")
    return text_cell(value, column)


def _inlined_type(_found: TypeEngine[Any], column: Column) -> TypeEngine[Any]:
    return DuckDBType(duckdb_type(column))


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
    is_rival=_is_rival,
    inlined_types=MappingProxyType({name: DuckDBType(spelling) for name, spelling in NAMES.items()}),
    inlined_type=_inlined_type,
    inlined_cell=_cell,
    # Python's dates end at the year 9999, where DuckDB's client puts infinities too; nested values may hold such.
    read_as_text=frozenset(NAMES)
    - {"boolean", "int8", "int16", "int32", "int64", "int128", "uint8", "uint16", "uint32", "uint64"}
    - {"uint128", "float32", "float64", "decimal", "varchar", "json", "blob"},
    writers_turn=_writers_turn,
    indexes=False,  # its scans need none, and they would make updates slower
    package="duckdb",
)
