"""DuckDB with extensions that pip installed from PyPI: the reference implementation that tests compare with."""

from __future__ import annotations

import functools

import duckdb
from duckdb_extensions import import_extension


def open_duckdb(*extensions: str, database: str = ":memory:", threads: int = 1) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB instance with these extensions loaded.

    Args:
        extensions: Names, such as `ducklake`.
        database: Path of a file, which is created if it does not exist.
        threads: Number of worker threads of the instance. With one thread, small statements take half the CPU time.
    """
    # Unsigned: pip has verified the packages, and checking the signatures of 80 MB at each LOAD takes longer than most tests.
    connection = duckdb.connect(database, config={"threads": threads, "allow_unsigned_extensions": "true"})
    for extension in extensions:
        _install(extension)
        connection.execute(f"LOAD {extension}")
    return connection


@functools.cache
def _install(extension: str) -> None:
    """Copy an extension from its package to DuckDB's extension directory."""
    with duckdb.connect() as connection:
        import_extension(extension, con=connection)
