"""DuckDB with extensions from the package registry: the reference implementation that tests compare with."""

from __future__ import annotations

import functools

import duckdb
from duckdb_extensions import import_extension


def open_duckdb(*extensions: str, database: str = ":memory:", threads: int = 1) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB instance with these extensions loaded.

    Args:
        extensions: Names, such as `ducklake`.
        database: Path of a file, which is created if it does not exist.
        threads: Number of worker threads of the instance. With one, small statements take half of the processor time.
    """
    # pip verified the packages. Checking the signature of 80 MB again takes longer than most tests.
    connection = duckdb.connect(database, config={"threads": threads, "allow_unsigned_extensions": "true"})
    for extension in extensions:
        _install(extension)
        connection.execute(f"LOAD {extension}")
    return connection


@functools.cache
def _install(extension: str) -> None:
    """Copy an extension from its package to DuckDB's folder."""
    with duckdb.connect() as connection:
        import_extension(extension, con=connection)
