"""What the running Spark job of a statement has done so far: stages, tasks, rows and bytes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from .connect import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True)
class Progress:
    """A running job. Numbers of rows and bytes are None if they are not known."""

    stage: int
    """The number of the stage that runs, from 1."""
    stages: int
    done: int
    """The tasks of that stage that have ended."""
    tasks: int
    running: int
    """The tasks that are running, of all stages of the job."""
    read: tuple[int | None, int | None] = (None, None)
    """The rows and the bytes that the job has read."""
    written: tuple[int | None, int | None] = (None, None)
    """The rows and the bytes that it has written."""
    ui: str | None = None
    """The address of Spark's UI, if it is on."""
    is_local: bool = False
    """Whether Spark needs no executors."""

    def __str__(self) -> str:
        parts = [f"stage {self.stage} of {self.stages}, {self.done:,} of {self.tasks:,} tasks done"]
        if not self.running and self.done < self.tasks:
            parts.append("no task is running" + ("" if self.is_local else " (are there executors?)"))
        parts += [f"{_amount(*counts)} {verb}" for counts, verb in ((self.read, "read"), (self.written, "written")) if any(counts)]
        return ", ".join(parts) + (f"; {self.ui}" if self.ui else "")


ProgressSource = Callable[[str], "Progress | None"]
"""Returns the progress of the newest running job of a job group; None if none is running."""


def progress_source(session: SparkSession) -> ProgressSource:
    """Return a function for the progress of a session's jobs, which any thread may call."""
    if is_connect(session):
        received = _Received()
        cast(Any, session).registerProgressHandler(received)
        return received.newest
    return lambda group: _newest_job(session.sparkContext, group)


def _newest_job(context: Any, group: str) -> Progress | None:
    tracker = context.statusTracker()
    jobs = [info for info in map(tracker.getJobInfo, tracker.getJobIdsForGroup(group)) if info is not None and info.status == "RUNNING"]
    if not jobs:
        return None
    store = context._jsc.sc().statusStore()
    stages = []
    for number in sorted(max(jobs, key=lambda job: job.jobId).stageIds):
        with contextlib.suppress(Exception):  # a stage that was not submitted yet may be unknown
            stages.append(store.lastStageAttempt(number))
    stages = [stage for stage in stages if stage.status().toString() != "SKIPPED"]
    if not stages:
        return None
    ended = sum(stage.status().toString() == "COMPLETE" for stage in stages)
    active = next((stage for stage in stages if stage.status().toString() != "COMPLETE"), stages[-1])
    return Progress(
        stage=min(ended + 1, len(stages)),
        stages=len(stages),
        done=active.numCompleteTasks(),
        tasks=active.numTasks(),
        running=sum(stage.numActiveTasks() for stage in stages),
        read=(sum(stage.inputRecords() for stage in stages), sum(stage.inputBytes() for stage in stages)),
        written=(sum(stage.outputRecords() for stage in stages), sum(stage.outputBytes() for stage in stages)),
        ui=context.uiWebUrl,
        is_local=context.master.startswith("local"),
    )


class _Received:
    """What a Spark Connect server has reported. It knows no job groups; a session runs one statement at a time."""

    def __init__(self) -> None:
        self._latest: dict[str, tuple[Sequence[Any], int]] = {}

    def __call__(self, stages: Iterable[Any] | None, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        """Receive a report, in the thread of the statement."""
        key = operation_id or ""
        self._latest.pop(key, None)
        if not done:
            self._latest[key] = (list(stages or ()), inflight_tasks)

    def newest(self, _group: str) -> Progress | None:
        """Return the progress of the statement that reported last."""
        reports = list(self._latest.values())
        if not reports or not reports[-1][0]:
            return None
        stages, running = reports[-1]
        ended = sum(bool(stage.done) for stage in stages)
        active = next((stage for stage in stages if not stage.done), stages[-1])
        read = sum(stage.num_bytes_read for stage in stages)
        return Progress(min(ended + 1, len(stages)), len(stages), active.num_completed_tasks, active.num_tasks, running, read=(None, read))


def _amount(rows: int | None, size: int | None) -> str:
    return " and ".join(part for part in (f"{rows:,} rows" if rows else "", _bytes(size) if size else "") if part)


def _bytes(size: int) -> str:
    amount, unit = float(size), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:,.0f} {_UNITS[unit]}" if unit < 2 else f"{amount:,.1f} {_UNITS[unit]}"
