"""Open the shop's lake with DuckDB and its `ducklake` extension."""

from __future__ import annotations

from pathlib import Path

import duckdb

CATALOG = Path(__file__).parent / "lake" / "shop.sqlite"


def connect() -> duckdb.DuckDBPyConnection:
    """Return a DuckDB connection whose current database is the lake, under the name `lake`."""
    connection = duckdb.connect()
    for name in ("ducklake", "sqlite_scanner"):
        load_extension(connection, name)
    connection.execute(f"ATTACH 'ducklake:sqlite:{CATALOG}' AS lake")
    connection.execute("USE lake")
    return connection


def load_extension(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Load an extension from the package `duckdb-extension-…` if it is installed, otherwise from DuckDB's own repository."""
    try:
        from duckdb_extensions import import_extension

        import_extension(name, con=connection)
    except ImportError:
        connection.execute(f"INSTALL {name}")
    connection.execute(f"LOAD {name}")
