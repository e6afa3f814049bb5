"""Opens the shop's lake with DuckDB and its `ducklake` extension, as any colleague with DuckDB would."""

from __future__ import annotations

from pathlib import Path

import duckdb

CATALOG = Path(__file__).parent / "lake" / "shop.sqlite"


def connect() -> duckdb.DuckDBPyConnection:
    """A connection with the lake attached under the name `lake` and in use."""
    connection = duckdb.connect()
    for name in ("ducklake", "sqlite_scanner"):
        load_extension(connection, name)
    connection.execute(f"ATTACH 'ducklake:sqlite:{CATALOG}' AS lake")
    connection.execute("USE lake")
    return connection


def load_extension(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """From the package `duckdb-extension-…` where it is installed, else from DuckDB's own repository."""
    try:
        from duckdb_extensions import import_extension

        import_extension(name, con=connection)
    except ImportError:
        connection.execute(f"INSTALL {name}")
    connection.execute(f"LOAD {name}")
