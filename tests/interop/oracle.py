"""The reference implementation: DuckDB with its ducklake extension, all from the package registry (environment.md)."""

from __future__ import annotations

import functools
from typing import Any, Protocol

import duckdb
from duckdb_extensions import import_extension

EXTENSIONS = ("ducklake", "sqlite_scanner", "postgres_scanner")


class Place(Protocol):
    """Where a lake is."""

    @property
    def path(self) -> str:
        """An attach string `ducklake:…`, or the URL of a PostgreSQL database."""

    @property
    def data_path(self) -> str: ...

    @property
    def metadata_schema(self) -> str | None: ...


def attach_string(path: str) -> str:
    """What ATTACH takes."""
    return path if path.startswith("ducklake:") else f"ducklake:postgres:{path}"


def connect(place: Place, *, alias: str = "lake", **options: Any) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection with the lake attached as `alias`, created if it is not there; session zone UTC.

    Args:
        options: further options of ATTACH, such as `data_inlining_row_limit=0`.
    """
    connection = duckdb.connect(config={"threads": 2})
    _install()
    for extension in EXTENSIONS:
        connection.execute(f"LOAD {extension}")
    connection.execute("SET TimeZone = 'UTC'")
    attach(connection, place, alias=alias, **options)
    return connection


@functools.lru_cache(maxsize=1)
def _install() -> None:
    with duckdb.connect() as connection:
        for extension in EXTENSIONS:
            import_extension(extension, con=connection)


def attach(connection: duckdb.DuckDBPyConnection, place: Place, *, alias: str = "lake", **options: Any) -> None:
    """Attach a lake to an open connection."""
    settings = {"data_path": place.data_path, **options}
    if place.metadata_schema is not None:
        settings["metadata_schema"] = place.metadata_schema
    listed = ", ".join(f"{name.upper()} {_literal(value)}" for name, value in settings.items())
    connection.execute(f"ATTACH '{attach_string(place.path)}' AS {alias} ({listed})")


def _literal(value: Any) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
