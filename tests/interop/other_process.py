"""DuckDB in a process of its own, as concurrent readers and writers are.

A process has two copies of SQLite if it has both DuckDB and ours, and file locks do not work between them: one may roll back the commit of the
other. So tests in which both use an SQLite catalog at the same time need another process.
"""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import duckdb

from tests.interop import oracle

if TYPE_CHECKING:
    from typing_extensions import Self


class OtherProcess:
    """A DuckDB process with the lake attached as `lake`."""

    def __init__(self, place: oracle.Place) -> None:
        context = multiprocessing.get_context("spawn")
        self._process = ProcessPoolExecutor(1, context, initializer=_open, initargs=(place,))

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        return self._process.submit(_query, statement).result()

    @contextmanager
    def watching(self, query: str) -> Iterator[list[list[tuple[Any, ...]]]]:
        """Run a query again and again; the list that is yielded has the rows of each at the end."""
        seen: list[list[tuple[Any, ...]]] = []
        self._process.submit(_begin_watch, query).result()
        try:
            yield seen
        finally:
            seen += self._process.submit(_end_watch).result()

    def close(self) -> None:
        self._process.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Watch(threading.Thread):
    def __init__(self, query: str) -> None:
        super().__init__(daemon=True)
        self._query, self._done = query, threading.Event()
        self.seen: list[list[tuple[Any, ...]]] = []

    def run(self) -> None:
        with _opened["duckdb"].cursor() as connection:
            while not self._done.wait(0.05) or not self.seen:  # at least one read, however short the time is
                with suppress(duckdb.Error), _lock:  # a busy catalog is no wrong answer
                    self.seen.append(connection.execute(self._query).fetchall())

    def end(self) -> list[list[tuple[Any, ...]]]:
        self._done.set()
        self.join()
        return self.seen


_opened: dict[str, Any] = {}
"""In the other process: the connection, and the thread that watches."""
_lock = threading.Lock()
"""In the other process: its reads would keep its writes waiting."""


def _open(place: oracle.Place) -> None:
    _opened["duckdb"] = oracle.connect(place)


def _query(statement: str) -> list[tuple[Any, ...]]:
    with _lock:
        found: list[tuple[Any, ...]] = _opened["duckdb"].execute(statement).fetchall()
        return found


def _begin_watch(query: str) -> None:
    _opened["watch"] = _Watch(query)
    _opened["watch"].start()


def _end_watch() -> list[list[tuple[Any, ...]]]:
    seen: list[list[tuple[Any, ...]]] = _opened.pop("watch").end()
    return seen
