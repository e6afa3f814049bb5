"""When a long statement reports its progress, by a clock that nobody waits for."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.session import progress
from dbt.adapters.ducklake.session.progress import RunningWork, Watch


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
