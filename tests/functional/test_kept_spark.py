"""`keep_alive`: a local Spark outlives its command and serves the next one, which sees nothing of the first."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbt.adapters.ducklake.spark.session.java import cache_directory
from dbt.adapters.ducklake.spark.session.kept import folder, states, stop_all
from tests.functional.dbt_process import (
    LAKE,
    LONG,
    SPARK,
    interrupt_while_writing,
    run_dbt,
    spark_ui,
    start_dbt,
    unchanged,
    write_project,
)
from tests.long_use import WITHOUT_ARCHIVE
from tests.waiting import await_true

COMMAND = """
import sys
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from dbt.adapters.ducklake.spark.session.settings import SparkSettings

runtime = SparkRuntime(SparkSettings(master="local[1]", fast_start=True, keep_alive="10m"), "shop")
# before
session = runtime.session()

def pid():
    return session.sparkContext._jvm.java.lang.ProcessHandle.current().pid()

print(pid(), flush=True)
"""
USE = """
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
import changed

def views(session):
    return session.sql("SHOW VIEWS").count() + session.sql("SHOW VIEWS IN global_temp").count()

default = SparkSession.builder.getOrCreate()
print(views(session), views(default), session.conf.get("spark.sql.ansi.enabled"), default.conf.get("spark.own", "unset"))
default.conf.set("spark.own", "set")
rows = session.range(3)
print(rows.storageLevel.useMemory)
rows.cache().count()
rows.createTempView("mine"), rows.createGlobalTempView("shared"), session.range(2).createTempView("default")
session.conf.set("spark.sql.ansi.enabled", "false")
print([row.number for row in rows.select(udf(changed.number, "int")().alias("number")).collect()])
runtime.stop()
session = runtime.session()
print(pid(), views(session))
"""
VARIABLES = """
import os
from pyspark.sql.functions import udf

read = udf(lambda _: str([os.environ.get(name) or None for name in ("CHANGED", "SET_FIRST", "SET_LATER")]))
print(session.range(1).select(read("id")).first()[0])
"""
UNUSABLE = """
import dbt.adapters.ducklake.spark.session.application as module
from py4j.protocol import Py4JError

def context_of(gateway):
    raise Py4JError("its context was stopped")

module.context_of = context_of
"""
WAIT = "sys.stdin.readline()\n"
JOB = """
import threading
from pyspark.sql.functions import udf
threading.Thread(target=lambda: session.range(1).select(udf(lambda i: __import__("time").sleep(60), "int")("id")).collect(), daemon=True).start()
"""
CANCEL = "with runtime.scope(session, 'group', '') as scope:\n    scope.cancel()\n"
COUNT = "with runtime.scope(session, 'group', ''):\n    print(session.range(3).count())\n"
STOP = "runtime.application.base.stop()\n"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    own = Path(f"/tmp/kept-{os.getpid()}")  # the path of a socket must be short
    monkeypatch.setenv("XDG_CACHE_HOME", str(own))
    cache_directory().mkdir(parents=True)
    for name, value in WITHOUT_ARCHIVE.items():  # the process that makes one has a temporary folder too
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{Path.cwd()}")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    stop_all()
    await_true(lambda: not list(states()))
    shutil.rmtree(own)


def start(text: str, before: str = "") -> subprocess.Popen[str]:
    command = COMMAND.replace("# before", before) + text
    return subprocess.Popen([sys.executable, "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run(text: str = "", before: str = "") -> list[str]:
    """Run a command in its own process and return the lines that it prints; the first one is the process of Spark."""
    output, _ = start(text, before).communicate(timeout=120)
    return output.splitlines()


def temporary_folders(path: Path) -> list[Path]:
    return [each for each in path.glob("*") if each.name.startswith(("dbt-ducklake-", "blockmgr-"))]


def has_ended(pid: str) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_the_next_commands_use_the_same_spark_and_see_nothing_of_earlier_ones(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cache / "changed.py").write_text("def number():\n    return 1\n")
    monkeypatch.setenv("CHANGED", "1")
    monkeypatch.setenv("SET_FIRST", "1")
    found = run(USE + VARIABLES)
    (cache / "changed.py").write_text("def number():\n    return 23\n")
    monkeypatch.setenv("CHANGED", "2")
    monkeypatch.delenv("SET_FIRST")
    monkeypatch.setenv("SET_LATER", "2")
    again = run(USE + VARIABLES)
    assert found[1:] == ["0 0 true unset", "False", "[1, 1, 1]", f"{found[0]} 0", "['1', '1', None]"]
    expected = [found[0], *found[1:3], "[23, 23, 23]", found[4], "['2', None, '2']"]
    assert again == expected, "with the changed module, and Python workers have the environment of their command"
    (state,) = states()
    assert (state["pid"], state["commands"]) == (int(found[0]), 4), "each of the two commands has stopped and started once"
    assert stat.S_IMODE(folder().stat().st_mode) == 0o700

    assert [(each["pid"], each["stopped"]) for each in stop_all()] == [(int(found[0]), True)]
    await_true(lambda: has_ended(found[0]))
    assert not list(folder().glob("*.socket"))
    await_true(lambda: not temporary_folders(cache))  # the keeper removes them after the end of Spark


@pytest.mark.nightly
@pytest.mark.usefixtures("cache")
def test_a_cancelled_statement_cancels_none_of_a_later_command() -> None:
    (pid,) = run(CANCEL)
    assert run(COUNT) == [pid, "3"]


@pytest.mark.nightly
@pytest.mark.usefixtures("cache")
def test_one_command_at_a_time() -> None:
    first = start(WAIT)
    assert first.stdout is not None
    kept = first.stdout.readline().strip()
    (state,) = stop_all()
    assert (state["idle_seconds"], state["stopped"]) == (None, False), "it is in use"
    (own,) = run()
    assert own != kept
    await_true(lambda: has_ended(own))
    first.communicate("\n", timeout=60)
    assert run() == [kept]
    (new,) = run(before=UNUSABLE)
    assert new != kept
    await_true(lambda: has_ended(kept))


@pytest.mark.nightly
@pytest.mark.usefixtures("cache")
def test_a_command_that_stops_spark_leaves_none() -> None:
    (pid,) = run(STOP)
    await_true(lambda: has_ended(pid))
    assert not list(states())


@pytest.mark.usefixtures("cache")
@pytest.mark.nightly
def test_spark_ends_with_a_killed_command() -> None:
    killed = start(JOB + WAIT)
    assert killed.stdout is not None
    pid = killed.stdout.readline().strip()
    killed.kill()
    killed.communicate()
    await_true(lambda: has_ended(pid))
    assert not list(states())


def write_kept_project(folder: Path, models: dict[str, str], config: dict[str, str]) -> Path:
    project = folder / "project"
    project.mkdir()
    return write_project(project, models, {"here": {**LAKE, "threads": 2, "spark": {**SPARK, "keep_alive": "10m", "config": config}}})


@pytest.mark.nightly
def test_an_interrupted_run_leaves_no_job_to_the_next_command(cache: Path) -> None:
    ui, running_jobs = spark_ui()
    project = write_kept_project(cache, {"before.sql": "{{ config(materialized='table') }} select 1 as id", "long.sql": LONG}, ui)
    run_dbt(project, "run", "--select", "before")
    (kept,) = states()
    with unchanged(project, {"before"}):
        interrupt_while_writing(start_dbt(project, "run", "--select", "long"), project, running_jobs)
    run_dbt(project, "run", "--select", "before")
    assert [(each["pid"], each["commands"]) for each in states()] == [(kept["pid"], 3)]


@pytest.mark.nightly
def test_dbt(cache: Path) -> None:
    models = {
        "a.sql": "{{ config(materialized='incremental', unique_key='id') }} select id from range({{ var('n') }})",
        "b.py": "def model(dbt, session):\n    dbt.config(materialized='table')\n    return dbt.ref('a').limit(1)\n",
    }
    project = write_kept_project(cache, models, {})
    assert "PASS=2" in run_dbt(project, "run", "--vars", "n: 3")
    (state,) = states()
    assert "PASS=2" in run_dbt(project, "run", "--vars", "n: 5")
    assert f"a Spark is kept for further commands: ok (process {state['pid']}, unused for " in run_dbt(project, "debug")
    assert [each["commands"] for each in states()] == [3]
    assert f"Spark's process {state['pid']} ends" in run_dbt(project, "run-operation", "ducklake_stop_spark")
    await_true(lambda: has_ended(state["pid"]))
