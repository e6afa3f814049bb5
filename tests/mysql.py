"""A MySQL or MariaDB server for tests: the fixture `mysql_url` gives a fresh, empty database.

The environment variable DUCKLAKE_TEST_MYSQL names the server; its user must be allowed to create databases. Without the variable, a local
`mariadbd` is started on a socket and stopped when the test process ends. If neither is available, the tests are skipped with a clear
message.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.fast_files import fast_folder

VARIABLE = "DUCKLAKE_TEST_MYSQL"
_numbers = itertools.count()


def _program(*names: str) -> str | None:
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", "/usr/libexec"))
    return next((found for name in names if (found := shutil.which(name, path=path))), None)


def _options(directory: Path) -> list[str]:
    return ["--no-defaults", f"--datadir={directory}/data", *(["--user=root"] if os.geteuid() == 0 else [])]


def _install(directory: Path) -> None:
    """Make the files of a server."""
    install = _program("mariadb-install-db", "mysql_install_db")
    if install is None or _program("mariadbd", "mysqld") is None:
        pytest.skip(f"NO MYSQL: set {VARIABLE} to the URL of a server, or install MariaDB's server on this machine")
    command = [install, *_options(directory), "--auth-root-authentication-method=normal", "--skip-test-db"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)


def _serve(directory: Path) -> subprocess.Popen[bytes]:
    """Start the server of a folder. Its default collation is wrong on purpose: the catalog must set its own."""
    options = ["--skip-networking", f"--socket={directory}/s", "--character-set-server=latin1", "--innodb-flush-log-at-trx-commit=0"]
    server = _program("mariadbd", "mysqld")
    assert server is not None
    with open(f"{directory}/log", "wb") as log:
        return subprocess.Popen([server, *_options(directory), *options, f"--pid-file={directory}/pid"], stdout=log, stderr=log)


class OwnServer:
    """A server that a test stops and starts again."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.url = f"mysql://root@localhost/?unix_socket={quote(f'{directory}/s', safe='/')}"
        _install(directory)
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.process = _serve(self.directory)
        _wait(self.url, self.process, self.directory)

    def stop(self) -> None:
        """End it and all connections."""
        self.process.terminate()
        self.process.wait(60)


@pytest.fixture(scope="session")
def mysql_server() -> Iterator[str]:
    """The URL of a running server."""
    if VARIABLE in os.environ:
        yield os.environ[VARIABLE]
        return
    with own_server() as server:
        yield server.url


@contextmanager
def own_server() -> Iterator[OwnServer]:
    """Yield a new server of this machine, and remove it at the end."""
    directory = fast_folder("my-")
    try:
        server = OwnServer(directory)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _wait(url: str, process: subprocess.Popen[bytes], directory: Path) -> None:
    for _ in range(600):
        try:
            _execute(url, "SELECT 1")
            return
        except Exception:
            assert process.poll() is None, (directory / "log").read_text()
            time.sleep(0.1)
    raise TimeoutError((directory / "log").read_text())


def _execute(url: str, statement: str) -> None:
    from sqlalchemy import create_engine, text

    engine = create_engine(url.replace("mysql:", "mysql+pymysql:", 1))
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()


def new_database(server: str, name: str) -> str:
    """Create a database on a server, and return its URL."""
    _execute(server, f"CREATE DATABASE {name}")
    address, mark, query = server.partition("?")
    return f"{address.rpartition('/')[0]}/{name}{mark}{query}"


@contextmanager
def fresh_database(server: str) -> Iterator[str]:
    """Yield the URL of a new database on a server, and drop it at the end."""
    name = f"lake_{os.getpid()}_{next(_numbers)}"
    yield new_database(server, name)
    _execute(server, f"DROP DATABASE {name}")


@pytest.fixture
def mysql_url(mysql_server: str) -> Iterator[str]:
    """The URL of a fresh database."""
    with fresh_database(mysql_server) as url:
        yield url
