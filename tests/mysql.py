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


def _start(directory: Path) -> tuple[subprocess.Popen[bytes], str]:
    server, install = _program("mariadbd", "mysqld"), _program("mariadb-install-db", "mysql_install_db")
    if server is None or install is None:
        pytest.skip(f"NO MYSQL: set {VARIABLE} to the URL of a server, or install MariaDB's server on this machine")
    user = ["--user=root"] if os.geteuid() == 0 else []
    common = ["--no-defaults", f"--datadir={directory}/data", *user]
    # The server's default collation is wrong on purpose: the catalog must set its own.
    subprocess.run(
        [install, *common, "--auth-root-authentication-method=normal", "--skip-test-db"], check=True, capture_output=True, timeout=300
    )
    socket = f"{directory}/s"
    options = ["--skip-networking", f"--socket={socket}", "--character-set-server=latin1", "--innodb-flush-log-at-trx-commit=0"]
    with open(f"{directory}/log", "wb") as log:
        process = subprocess.Popen([server, *common, *options, f"--pid-file={directory}/pid"], stdout=log, stderr=log)
    return process, f"mysql://root@localhost/?unix_socket={quote(socket, safe='/')}"


@pytest.fixture(scope="session")
def mysql_server() -> Iterator[str]:
    """The URL of a running server."""
    if VARIABLE in os.environ:
        yield os.environ[VARIABLE]
        return
    directory = fast_folder("my-")
    process = None
    try:
        process, url = _start(directory)
        _wait(url, process, directory)
        yield url
    finally:
        if process is not None:
            process.terminate()
            process.wait(60)
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


@contextmanager
def fresh_database(server: str) -> Iterator[str]:
    """Yield the URL of a new database on a server, and drop it at the end."""
    name = f"lake_{os.getpid()}_{next(_numbers)}"
    _execute(server, f"CREATE DATABASE {name}")
    address, mark, query = server.partition("?")
    yield f"{address.rpartition('/')[0]}/{name}{mark}{query}"
    _execute(server, f"DROP DATABASE {name}")


@pytest.fixture
def mysql_url(mysql_server: str) -> Iterator[str]:
    """The URL of a fresh database."""
    with fresh_database(mysql_server) as url:
        yield url
