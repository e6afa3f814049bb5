"""Report the progress of long-running nodes and statements: first after 10 seconds, then every 30 seconds."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..spark.session.progress import Progress

FIRST_SECONDS = 10.0
NEXT_SECONDS = 30.0


@dataclass(eq=False)
class RunningWork:
    """Something that takes time, such as a node of dbt with all of its statements.

    Args:
        name: its name in the reported lines.
        begun: its start time in seconds, by `time.monotonic`.
        progress: returns the progress of its Spark job; None if none is running.
        report_line: receives each line.
    """

    name: str
    begun: float
    progress: Callable[[], Progress | None]
    report_line: Callable[[str], None]

    def __post_init__(self) -> None:
        self.due = self.begun + FIRST_SECONDS

    def report(self, now: float) -> None:
        """Report the progress and schedule the next report."""
        self.due = now + NEXT_SECONDS
        found: Progress | None = None
        with contextlib.suppress(Exception):  # Spark may end at any time; the statement reports its error
            found = self.progress()
        self.report_line(f"{self.name} has been running for {now - self.begun:.0f} s: {found or 'no Spark job is running'}")


class Watch:
    """A thread that reports long-running work; it starts when the first work is registered."""

    def __init__(self) -> None:
        self._running: set[RunningWork] = set()
        self._changed = threading.Condition()
        self._wakes = 0.0
        """When the thread looks again, by `time.monotonic`."""
        self._thread: threading.Thread | None = None

    @contextmanager
    def running(self, work: RunningWork) -> Iterator[None]:
        """Report the progress of `work` until the block ends."""
        with self._changed:
            self._running.add(work)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._report, name="dbt-ducklake-progress", daemon=True)
                self._thread.start()
            if work.due < self._wakes:  # otherwise not, because a thread that wakes delays each statement by half a millisecond
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._running.discard(work)

    def forget_all(self) -> None:
        """Begin anew in a forked process: it has no thread, its parent reports the work, and nobody there would release the lock."""
        self._running, self._changed, self._wakes, self._thread = set(), threading.Condition(), 0.0, None

    def _report(self) -> None:
        while True:
            self._report_due()

    def _report_due(self) -> None:
        for each in self._due():
            each.report(time.monotonic())

    def _due(self) -> list[RunningWork]:
        """Return the work whose report is due. If there is none, wait until the next report may be due, and return an empty list."""
        with self._changed:
            now = time.monotonic()
            due = [each for each in self._running if each.due <= now]
            if not due:
                self._wakes = min((each.due for each in self._running), default=now + FIRST_SECONDS)
                self._changed.wait(self._wakes - now)
            return due


WATCH = Watch()
"""The watch of this process."""
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=WATCH.forget_all)
