"""A process starts Spark more than once: after Spark's own process has ended in the middle of a command, or for a later session."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.functional.dbt_process import LAKE, SPARK, start_dbt, write_project
from tests.places import nightly_rows

ROOT = Path(__file__).parents[2]
MODELS = {
    "a_first.sql": "{{ config(materialized='table') }} select id from range(100)",
    "b_ends.py": "def model(dbt, session):\n    java = session.sparkContext._jvm.java.lang\n    END\n    return dbt.ref('a_first')\n",
    "c_next.sql": "{{ config(materialized='table') }} select count(*) as n from {{ ref('a_first') }}",
    "d_view.sql": "{{ config(materialized='view') }} select n + 1 as more from {{ ref('c_next') }}",
}
KILL = "__import__('os').kill(java.ProcessHandle.current().pid(), 9)"
HALT = "java.Runtime.getRuntime().halt(3)"
KILLED = "because it was killed, perhaps by the system for lack of memory (`spark.driver.memory` in the profile)"
STOPPING_MODELS = {
    "a_first.sql": "{{ config(materialized='table') }} select id from range(100)",
    "b_large.sql": "{{ config(materialized='table') }} select size(collect_list(repeat(cast(id as string), 1000))) as n from range(0, 10000000, 1, 1)",
    "c_next.sql": "{{ config(materialized='table') }} select count(*) as n from {{ ref('a_first') }}",
    "d_stops.py": "def model(dbt, session):\n    session.stop()\n    return dbt.ref('a_first')\n",
    "e_next.sql": "{{ config(materialized='table') }} select count(*) as n from {{ ref('a_first') }}",
}
SCRIPT = """
import pytest
from dbt.adapters.ducklake.errors import DuckLakeError, EngineError
from dbt.adapters.ducklake.session import connect

with connect("sqlite:///lake.sqlite", "data/") as lake:
    def end_spark():
        lake.runtime.application.process.kill()
        lake.runtime.application.process.wait()

    lake.execute("CREATE TABLE t AS SELECT id FROM range(100)")
    lake.execute("CREATE TEMPORARY VIEW few AS SELECT id FROM t WHERE id < 10")
    assert lake.execute("SELECT count(*) FROM few").fetch() == [(10,)]
    end_spark()
    assert lake.execute("SELECT count(*) FROM few").fetch() == [(10,)]  # the loss is noticed before the statement runs

    lake.execute("BEGIN")
    lake.execute("DELETE FROM t WHERE id < 20")
    assert lake.cache("few") == 0
    end_spark()
    with pytest.raises(EngineError, match="the rows that it had cached are lost. Run the transaction again"):
        lake.execute("SELECT count(*) FROM few")
    lake.execute("ROLLBACK")

    lake.execute("BEGIN")
    lake.execute("DELETE FROM t WHERE id < 20")
    end_spark()
    lake.execute("INSERT INTO t SELECT id + 1000 FROM t WHERE id < 25")
    assert lake.execute("SELECT count(*) FROM t").fetch() == [(85,)]
    lake.execute("COMMIT")
    assert lake.execute("SELECT count(*), max(id) FROM t").fetch() == [(85, 1024)]

    lake.execute("BEGIN")
    lake.execute("SET spark.sql.session.timeZone = Asia/Tokyo")
    end_spark()
    with pytest.raises(EngineError, match="what SET had changed in its session is lost. Run the transaction again"):
        lake.execute("SELECT count(*) FROM few")
    lake.execute("ROLLBACK")

    lake.execute("SET spark.sql.session.timeZone = America/New_York")
    frame = lake.sql("SELECT id FROM t")
    end_spark()
    with pytest.raises(Exception):
        frame.collect()
    assert lake.execute("SELECT min(id) FROM t").fetch() == [(20,)]

    ended = lake.runtime.application.process
    end_spark()
    lake.execute("CREATE TABLE u (id INT, note STRING)")
    lake.execute("INSERT INTO u VALUES (1, 'one'), (2, 'two')")
    lake.execute("ALTER TABLE u RENAME COLUMN note TO text")
    lake.execute("ALTER TABLE u ADD COLUMN more STRING DEFAULT 'none'")
    lake.load_seed("main", "s", [("id", "int"), ("day", "date")], [(1, "2026-11-27"), (2, None)])
    lake.execute("BEGIN")
    lake.execute("DROP TABLE s")
    lake.execute("INSERT INTO u (id) VALUES (3)")
    lake.execute("COMMIT")
    assert lake.runtime.application.process is ended, "no statement above needs Spark"
    assert lake.execute("SELECT * FROM u ORDER BY id").fetch() == [(1, "one", "none"), (2, "two", "none"), (3, None, "none")]
    assert lake.runtime.application.process is not ended
"""
TWO_RUNTIMES = """
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from dbt.adapters.ducklake.spark.session.settings import SparkSettings

settings = SparkSettings(master="local[1]", fast_start=True)
first, second = SparkRuntime(settings), SparkRuntime(settings)
messages = []
first.application.notify = second.application.notify = messages.append
assert first.session().range(3).count() == second.session().range(3).count() == 3
first.application.process.kill()
first.application.process.wait()
for runtime in (second, first, SparkRuntime(settings)):  # the runtimes of a command, of an earlier one, and of a later one
    session = runtime.session()
    assert session.range(3).count() == 3
    assert not second.has_lost(session)
assert len(messages) == 2, messages
"""
TWO_SESSIONS = """
import sys
from dbt.adapters.ducklake.session import connect

for _ in range(2):
    with connect("sqlite:///lake.sqlite", "data/", spark_config={"spark.master": "local[1]"}) as lake:
        workers = lake.spark().range(1).rdd.map(lambda row: sys.executable).collect()
        assert workers == [sys.executable], workers
"""
LOCAL_SERVER = """
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from dbt.adapters.ducklake.spark.session.settings import SparkSettings

with SparkRuntime(SparkSettings(remote="local[1]")) as spark:
    sessions = [spark.session(), spark.session()]
    assert [session.range(3).count() for session in sessions] == [3, 3]
"""
CONNECT = """
import re
import time
import pytest
from dbt.adapters.ducklake.errors import ConfigurationError, EngineError
from dbt.adapters.ducklake.session import Lake, LakeSettings, progress
from dbt.adapters.ducklake.spark.session import java, runtime
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from dbt.adapters.ducklake.spark.session.settings import SparkSettings
from tests.clusters import connect_server

manager = "spark.connect.session.manager"
timeouts = {f"{manager}.defaultSessionTimeout": "4s", f"{manager}.maintenanceInterval": "500ms"}
reports = {"spark.connect.progress.reportInterval": "200ms"}
with (
    connect_server("local[2]", None, {**timeouts, **reports}, {}) as server,
    SparkRuntime(SparkSettings(remote=server.address)) as spark,
):
    java.FIRST_SPARK_WITHOUT, java.LAST_WITH_SECURITY_MANAGER = (99, 0), 16  # as if this Spark had an upper limit
    with pytest.raises(ConfigurationError, match="The Spark Connect server is Spark .* on Java .*, and it needs Java 17 to 16"):
        spark.session()
    java.LAST_WITH_SECURITY_MANAGER = 99

    lake = Lake.open(LakeSettings("sqlite:///lake.sqlite", "data/"), spark).session("main")
    lost = pytest.raises(EngineError, match="The Spark Connect server has closed the session: it was restarted, or the session was idle")
    lake.execute("CREATE TABLE t AS SELECT id FROM range(100)")
    lake.execute("CREATE TEMPORARY VIEW few AS SELECT id FROM t WHERE id < 10")
    lake.execute("SET spark.sql.session.timeZone = America/New_York")

    progress.FIRST_SECONDS = progress.NEXT_SECONDS = 0.5
    lines = []
    lake.notify = lines.append
    lake.execute("SELECT java_method('java.lang.Thread', 'sleep', 20L) FROM range(0, 240, 1, 8)").fetch()
    assert [line for line in lines if re.search(r"has been running for \\d s: stage 1 of \\d, [1-7] of 8 tasks done", line)], lines

    time.sleep(6)
    with lost:
        lake.execute("SELECT count(*) FROM few")
    assert lake.execute("SELECT count(*) FROM few").fetch() == [(10,)]

    runtime.IDLE_SECONDS = 2
    time.sleep(6)
    assert lake.execute("SELECT count(*) FROM few").fetch() == [(10,)]  # the loss is noticed before the statement runs

    lake.execute("BEGIN")
    lake.execute("DELETE FROM t WHERE id < 5")
    server.restart()
    runtime.IDLE_SECONDS = 60
    with lost:
        lake.execute("INSERT INTO t SELECT id + 1000 FROM t WHERE id < 25")
    lake.execute("INSERT INTO t SELECT id + 1000 FROM t WHERE id < 25")
    lake.execute("COMMIT")
    assert lake.execute("SELECT count(*), max(id) FROM t").fetch() == [(115, 1024)]
"""


@pytest.mark.parametrize(("end", "reason"), [(KILL, KILLED), *nightly_rows((HALT, "with the status 3"))], ids=["kill", "halt"])
def test_the_next_node_starts_spark_again(tmp_path: Path, end: str, reason: str) -> None:
    models = MODELS | {"b_ends.py": MODELS["b_ends.py"].replace("END", end)}
    project = write_project(tmp_path, models, {"here": {**LAKE, "threads": 1, "spark": SPARK}})
    process = start_dbt(project, "run")
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 1, output
    assert "PASS=3 WARN=0 ERROR=1" in output
    assert "ERROR creating python table model main.b_ends" in output
    assert output.count("; Spark starts again") == output.count(f"Spark's process has ended {reason}; Spark starts again") == 1


@pytest.mark.nightly
def test_the_next_node_starts_spark_again_after_it_ran_out_of_memory_or_was_stopped(tmp_path: Path) -> None:
    """Then the SparkContext stops first, and the process ends later or never."""
    spark = {**SPARK, "config": {"spark.driver.memory": "600m"}}
    project = write_project(tmp_path, STOPPING_MODELS, {"here": {**LAKE, "threads": 1, "spark": spark}})
    process = start_dbt(project, "run")
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 1, output
    assert "PASS=3 WARN=0 ERROR=2" in output
    assert output.count("The connection to Spark is lost") == 2
    assert output.count("Spark's process has ended because it ran out of memory") == 1
    assert output.count("; Spark starts again") == 2


@pytest.mark.nightly
def test_a_session_goes_on_after_spark_has_ended(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly
def test_a_session_goes_on_after_a_connect_server_has_closed_it(tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    done = subprocess.run(
        [sys.executable, "-c", CONNECT],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly
def test_a_process_with_a_connect_server_of_its_own_ends(tmp_path: Path) -> None:
    """Stopping a session after its server has stopped would wait ten minutes for the server."""
    pytest.importorskip("grpc")
    done = subprocess.run([sys.executable, "-c", LOCAL_SERVER], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly
def test_a_later_command_of_the_process_starts_spark_again(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", TWO_RUNTIMES], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly
def test_every_session_of_a_process_runs_workers_with_its_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "bin" / "python3"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{other.parent}:{os.environ['PATH']}")
    done = subprocess.run([sys.executable, "-c", TWO_SESSIONS], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
