"""The jobs of one statement: they share a job group, so that they can be cancelled, and a scheduler pool.

PySpark pins each Python thread to a JVM thread, so the job group and pool of a scope apply only to the calling thread.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from ...errors import CancelledError
from .connect import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

INTERRUPT_SECONDS = 0.5
"""The interval between interrupts of a cancelled Spark Connect statement until it ends."""


class Scope:
    """The jobs of one statement (`Scopes.open`).

    They are in a new job group, because a cancelled group accepts no more jobs. No other process uses its name: a kept Spark remembers the
    groups that earlier commands have cancelled.
    """

    def __init__(self, group: str, session: SparkSession) -> None:
        self.group = f"{group}-{uuid.uuid4().hex[:12]}"
        self._session = session
        self._cancelled = threading.Event()
        self._ended = threading.Event()

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called for this scope."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Stop the running jobs of the statement, and all jobs that it starts later."""
        self._cancelled.set()
        if is_connect(self._session):
            threading.Thread(target=self._interrupt, daemon=True).start()
        else:
            self._session.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(self.group)

    def end(self) -> None:
        """Mark the end of the statement: no more jobs follow."""
        self._ended.set()

    def _interrupt(self) -> None:
        """Interrupt repeatedly until the statement has ended, because Spark Connect interrupts only running jobs."""
        while True:
            try:
                self._session.interruptTag(_tag(self.group))
            except Exception as error:  # the server may answer the next one
                logger.debug(f"Spark Connect did not interrupt {self.group}: {type(error).__name__}: {error}")
            if self._ended.wait(INTERRUPT_SECONDS):
                return

    def check(self) -> None:
        """Raise an error if the statement was cancelled. Called between two steps.

        Raises:
            CancelledError: the statement was cancelled.
        """
        if self.cancelled:
            raise CancelledError


class Scopes:
    """The open scopes of all threads.

    Scopes that are open at the same time have different pools, which share the resources fairly. Spark never removes a pool, so later
    scopes use the same ones.
    """

    def __init__(self) -> None:
        self._open: dict[str, list[Scope]] = {}
        self._pools: set[int] = set()
        """The numbers of the pools that open scopes use."""
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def open(self, session: SparkSession, group: str, description: str) -> Iterator[Scope]:
        """Run all jobs of the calling thread in a scope, until the block ends; scopes can be nested. Arguments as `SparkRuntime.scope`."""
        scope = Scope(group, session)
        with self._lock:
            self._open.setdefault(group, []).append(scope)
            pool = next(number for number in itertools.count(1) if number not in self._pools)
            self._pools.add(pool)
        try:
            with (
                _tagged(session, scope.group)
                if is_connect(session)
                else _grouped(session, f"dbt-ducklake-{pool}", scope.group, description)
            ):
                yield scope
        finally:
            scope.end()
            with self._lock:
                self._pools.remove(pool)
                rest = [other for other in self._open[group] if other is not scope]
                if rest:
                    self._open[group] = rest
                else:
                    del self._open[group]

    def cancel(self, group: str) -> None:
        """Cancel all open scopes of a group, from any thread."""
        with self._lock:
            scopes = list(self._open.get(group, []))
        for scope in scopes:
            scope.cancel()


@contextlib.contextmanager
def _grouped(session: SparkSession, pool: str, group: str, description: str) -> Iterator[None]:
    context = session.sparkContext
    keys = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel", "spark.scheduler.pool")
    before = {key: context.getLocalProperty(key) for key in keys}
    context.setJobGroup(group, description, interruptOnCancel=True)
    context.setLocalProperty("spark.scheduler.pool", pool)
    try:
        yield
    finally:
        with contextlib.suppress(Exception):  # if Spark has ended, the error of the statement tells more
            for key, value in before.items():
                context.setLocalProperty(key, cast(str, value))  # None removes the property


@contextlib.contextmanager
def _tagged(session: SparkSession, group: str) -> Iterator[None]:
    session.addTag(_tag(group))
    try:
        yield
    finally:
        session.removeTag(_tag(group))


def _tag(group: str) -> str:
    """Return a valid Spark Connect tag for a job group: not empty and without commas."""
    return group.replace(",", ";") or "dbt-ducklake"
