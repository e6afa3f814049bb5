"""Schedules the tests: each worker runs whole files, the longest first, by the seconds that `tests/durations.json` has for each file.

`pytest -n 2 --dist loadfile` uses it. Each worker takes the longest remaining file, so that all end at nearly the same time.
`--store-durations` updates the file (`make test ARGS=--store-durations`), for the short run or for the full matrix. Only the order of the
durations matters.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.places import FULL_MATRIX

if TYPE_CHECKING:
    from xdist.scheduler import LoadFileScheduling
    from xdist.workermanage import WorkerController

DURATIONS = Path(__file__).with_name("durations.json")
MATRIX = "full" if FULL_MATRIX else "short"
UNKNOWN = 60.0
"""Seconds assumed for a file that was never measured, so that it starts early."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--store-durations`."""
    parser.addoption("--store-durations", action="store_true", help="write how long each file took to tests/durations.json")


def pytest_configure(config: pytest.Config) -> None:
    """Measure in the process that receives all reports."""
    if config.getoption("--store-durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Stopwatch(), "durations")


class _Stopwatch:
    """Adds up the seconds of each file."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid.partition("::")[0]] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Store the measured seconds. Files that were not measured keep theirs while they exist."""
        stored = _stored()
        known = {file: seconds for file, seconds in stored[MATRIX].items() if DURATIONS.parents[1].joinpath(file).exists()}
        measured = {file: round(seconds, 1) for file, seconds in self.seconds.items()}
        stored[MATRIX] = dict(sorted((known | measured).items()))
        DURATIONS.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def _stored() -> dict[str, dict[str, float]]:
    """Return seconds by matrix and file."""
    found: dict[str, dict[str, float]] = json.loads(DURATIONS.read_text(encoding="utf-8"))
    return found


def durations() -> dict[str, float]:
    """Return seconds by file in this run's matrix, or those of the short run if the full matrix was never measured."""
    stored = _stored()
    return stored["short"] | stored[MATRIX]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Replace xdist's scheduler for files, which starts with the files that have the most tests."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    known = durations()

    class LongestFirst(LoadFileScheduling):
        def _assign_work_unit(self, node: WorkerController) -> None:
            longest = max(self.workqueue, key=lambda file: known.get(file, UNKNOWN))
            self.workqueue.move_to_end(longest, last=False)
            super()._assign_work_unit(node)

        def remove_node(self, node: WorkerController) -> str | None:
            """Return the test in which a worker crashed. It is not run again: it would crash each replacement too."""
            assigned = self.assigned_work[node]
            crashed = next((test for tests in assigned.values() for test, done in tests.items() if not done), None)
            if crashed is not None:
                assigned[self._split_scope(crashed)][crashed] = True
            super().remove_node(node)
            return crashed

        def _reschedule(self, node: WorkerController) -> None:
            """Give the worker at least two tests: it runs a test only when it knows the next one.

            xdist gives one file, and after a crash even one whose tests are all done. The worker that replaces the crashed one then waits
            forever.
            """
            super()._reschedule(node)
            while self.workqueue and not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
                self._assign_work_unit(node)

    return LongestFirst(config, log)
