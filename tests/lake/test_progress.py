"""Progress of long statements: lines with the stages, tasks, rows and bytes of the Spark job. Short statements have none."""

from __future__ import annotations

import re
import threading
import time

import pytest
from pyspark import SparkContext

from dbt.adapters.ducklake.session import LakeSession, progress
from dbt.adapters.ducklake.session.progress import RunningWork, Watch
from dbt.adapters.ducklake.spark.read import local
from dbt.adapters.ducklake.spark.session.progress import Progress, _Received
from dbt.adapters.ducklake.spark.write import few_rows
from tests.places import ENCRYPTED

SLEEP = "java_method('java.lang.Thread', 'sleep', 20L)"
LINE = re.compile(r"model\.p\.m has been running for \d+ s: (?P<job>.*)")
JOB = re.compile(r"stage (\d) of \1, (?P<done>\d+) of \d+ tasks done.*")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST_SECONDS", 0.5)
    monkeypatch.setattr(progress, "NEXT_SECONDS", 0.5)


@pytest.fixture
def lines(lake: LakeSession) -> list[str]:
    notified: list[str] = []
    lake.notify = notified.append
    lake.node = lambda: "model.p.m"
    return notified


@pytest.mark.usefixtures("quick")
def test_a_long_statement_says_how_far_it_has_come(lake: LakeSession, lines: list[str]) -> None:
    lake.execute(f"CREATE TABLE slow AS SELECT id, {SLEEP} AS waited FROM range(0, 240, 1, 4)")
    jobs = [match["job"] for match in map(LINE.fullmatch, lines) if match is not None]
    assert len(jobs) == len(lines) > 1
    done = [int(match["done"]) for match in map(JOB.fullmatch, jobs) if match is not None]
    assert done, lines
    before = len(lines)
    time.sleep(1)
    assert len(lines) == before, "the statement has ended"


@pytest.mark.skipif(ENCRYPTED, reason="DuckDB reads the files, so Spark counts no rows and bytes")
@pytest.mark.usefixtures("quick")
def test_a_line_has_what_the_job_has_read_and_the_address_of_the_ui(
    lake: LakeSession, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "MAX_ROWS", -1)  # Spark reads the files
    monkeypatch.setattr(SparkContext, "uiWebUrl", "http://host:4040")
    monkeypatch.setattr(few_rows, "MAX_ROWS", -1)  # and has written one for each of its tasks
    lake.execute("CALL lake.set_option('per_thread_output', 'true')")
    lake.execute("CREATE TABLE source AS SELECT id FROM range(0, 320, 1, 8)")
    lake.execute("SET spark.sql.files.minPartitionNum = 8")
    lake.execute(f"SELECT {SLEEP} FROM source").fetch()
    shown = re.compile(r".*: stage 1 of \d, [1-7] of 8 tasks done, \d+ rows and [\d,]+ (bytes|KiB) read; http://host:4040")
    assert [line for line in lines if shown.fullmatch(line)], "\n".join(lines)


def test_a_short_statement_says_nothing(lake: LakeSession, lines: list[str]) -> None:
    lake.execute("CREATE TABLE t AS SELECT id FROM range(5)")
    assert lines == []


@pytest.mark.usefixtures("quick")
def test_the_statements_of_a_node_count_together() -> None:
    messages: list[str] = []
    watch, node = Watch(), RunningWork("model.p.m", time.monotonic(), lambda: None, messages.append)
    for _ in range(4):
        with watch.running(node):
            time.sleep(0.2)
    assert [re.sub(r"\d+ s", "N s", line) for line in messages] == ["model.p.m has been running for N s: no Spark job is running"]


@pytest.mark.usefixtures("quick")
def test_an_error_of_spark_does_not_end_the_watch() -> None:
    notified = threading.Event()

    def broken() -> Progress:
        raise RuntimeError("Spark has ended")

    watch = Watch()
    with watch.running(RunningWork("a", time.monotonic(), broken, lambda _: notified.set())):
        assert notified.wait(10)
    notified.clear()
    with watch.running(RunningWork("b", time.monotonic(), lambda: None, lambda _: notified.set())):
        assert notified.wait(10)


def test_texts() -> None:
    assert str(Progress(2, 3, 1200, 5000, 8, (12_000_000, 3 << 30), (5, 700))) == (
        "stage 2 of 3, 1,200 of 5,000 tasks done, 12,000,000 rows and 3.0 GiB read, 5 rows and 700 bytes written"
    )
    assert str(Progress(1, 1, 0, 4, 0, ui="http://host:4040")) == (
        "stage 1 of 1, 0 of 4 tasks done, no task is running (are there executors?); http://host:4040"
    )
    assert str(Progress(1, 1, 0, 4, 0, is_local=True)) == "stage 1 of 1, 0 of 4 tasks done, no task is running"


def test_reports_of_a_connect_server() -> None:
    class Stage:
        def __init__(self, done: bool, completed: int, read: int) -> None:
            self.done, self.num_tasks, self.num_completed_tasks, self.num_bytes_read = done, 4, completed, read

    received = _Received()
    assert received.newest("g") is None
    received([Stage(True, 4, 2048), Stage(False, 1, 0)], 2, "operation", False)
    assert str(received.newest("g")) == "stage 2 of 2, 1 of 4 tasks done, 2 KiB read"
    received([Stage(True, 4, 2048), Stage(True, 4, 0)], 0, "operation", True)
    assert received.newest("g") is None
