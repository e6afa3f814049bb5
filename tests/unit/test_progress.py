"""When a long statement reports its progress, by a clock that nobody waits for."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from dbt.adapters.ducklake.session import progress
from dbt.adapters.ducklake.session.progress import WATCH, RunningWork, Watch


class Clock:
    """A clock that goes on when somebody waits."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def watched_until(end: float, watch: Watch, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do in this thread what the thread of a watch does, until its clock shows `end`."""
    monkeypatch.setattr(watch._changed, "wait", clock.wait)
    while clock.now < end:
        watch._report_due()


def test_the_first_line_comes_after_ten_seconds_and_the_others_each_thirty(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[tuple[float, str]] = []

    def report(line: str) -> None:
        reported.append((clock.now - 1000, line.partition(":")[0]))

    watch = Watch()
    watch._running |= {RunningWork("a", 1000, lambda: None, report), RunningWork("b", 1003, lambda: None, report)}
    watched_until(1075, watch, clock, monkeypatch)
    assert reported == [
        (10, "a has been running for 10 s"),
        (13, "b has been running for 10 s"),
        (40, "a has been running for 40 s"),
        (43, "b has been running for 40 s"),
        (70, "a has been running for 70 s"),
        (73, "b has been running for 70 s"),
    ]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_reports_only_its_own_work() -> None:
    def work(name: str) -> RunningWork:
        return RunningWork(name, time.monotonic(), lambda: None, lambda _line: None)

    with WATCH.running(work("parent")), WATCH._changed:  # a fork also copies a lock that another thread has
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            running = set[str]()
            try:
                thread = threading.Thread(target=lambda: running.update(names_while_running(work("child"))))
                thread.start()
                thread.join()
            finally:
                os._exit(0 if running == {"child"} else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert "parent" in {each.name for each in WATCH._running}


def names_while_running(work: RunningWork) -> set[str]:
    with WATCH.running(work):
        return {each.name for each in WATCH._running}
