"""The Spark application of a process: separate sessions, cancelling of job groups, and no change to a session that the caller supplied."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from pyspark.sql import functions

from dbt.adapters.ducklake.errors import CancelledError, ConfigurationError
from dbt.adapters.ducklake.spark.errors import translate
from dbt.adapters.ducklake.spark.session.java import Releases
from dbt.adapters.ducklake.spark.session.jvm import CACHED_NAMES
from dbt.adapters.ducklake.spark.session.node_settings import require_protected, restore_protected
from dbt.adapters.ducklake.spark.session.runtime import SCRATCH, SparkRuntime
from dbt.adapters.ducklake.spark.session.settings import REQUIRED


def test_sessions_share_only_spark(spark_runtime: SparkRuntime) -> None:
    one, other = spark_runtime.session(), spark_runtime.session()
    one.range(3).createOrReplaceTempView("only_here")
    assert one.sparkContext is other.sparkContext
    assert not other.catalog.tableExists("only_here")
    assert {key: other.conf.get(key) for key in REQUIRED} == dict(REQUIRED)
    assert other.conf.get("spark.sql.session.timeZone") == "UTC"
    assert other.sparkContext.getConf().get("spark.scheduler.mode") == "FAIR"


@pytest.mark.parametrize(
    "statement",
    [
        "SET spark.sql.parquet.binaryAsString=true",
        "EXECUTE IMMEDIATE 'SET spark.sql.files.ignoreMissingFiles = true'",
        "SET spark.sql.parquet.${half}.enabled=false",
    ],
)
def test_a_changed_protected_setting_is_refused_and_restored(spark_runtime: SparkRuntime, statement: str) -> None:
    session = spark_runtime.session()
    session.sql("SET spark.sql.variable.substitute=true")
    session.sql("SET half=fieldId.read")
    require_protected(session)
    session.sql(statement)
    with pytest.raises(ConfigurationError, match=r"binaryAsString|ignoreMissingFiles|fieldId\.read"):
        require_protected(session)
    assert {key: session.conf.get(key) for key in REQUIRED} == dict(REQUIRED)
    session.sql("RESET")
    restore_protected(session)
    assert {key: session.conf.get(key) for key in REQUIRED} == dict(REQUIRED)


def test_a_scope_marks_only_the_jobs_of_its_thread(spark_runtime: SparkRuntime) -> None:
    session = spark_runtime.session()
    context = session.sparkContext
    with spark_runtime.scope(session, "g1", "first") as outer:
        with spark_runtime.scope(session, "g2", "second") as inner:
            assert context.getLocalProperty("spark.jobGroup.id") == inner.group
            assert context.getLocalProperty("spark.scheduler.pool") == "dbt-ducklake-2"
        assert context.getLocalProperty("spark.jobGroup.id") == outer.group
        assert context.getLocalProperty("spark.job.description") == "first"
        assert context.getLocalProperty("spark.scheduler.pool") == "dbt-ducklake-1"
    assert context.getLocalProperty("spark.jobGroup.id") is None
    assert context.getLocalProperty("spark.scheduler.pool") is None


def test_a_group_is_cancelled_from_another_thread(spark_runtime: SparkRuntime) -> None:
    session = spark_runtime.session()
    slow = "SELECT count(*) FROM range(0, 10000000000, 1, 2) WHERE hash(id, sqrt(id)) = 5"
    done = threading.Event()

    def cancel() -> None:
        while not done.is_set():
            time.sleep(0.3)
            spark_runtime.cancel("to cancel")

    thread = threading.Thread(target=cancel)
    try:
        with spark_runtime.scope(session, "to cancel", "slow") as scope:
            thread.start()
            with pytest.raises(Exception) as caught:  # noqa: PT011
                session.sql(slow).collect()
            assert isinstance(translate(caught.value), CancelledError)
            assert scope.cancelled
            with pytest.raises(CancelledError):
                scope.check()
    finally:
        done.set()
        thread.join()
    assert session.sql("SELECT 1").collect()[0][0] == 1


def test_a_job_that_starts_after_the_cancellation_is_refused(spark_runtime: SparkRuntime) -> None:
    session = spark_runtime.session()
    with spark_runtime.scope(session, "cancelled early", "first"):
        spark_runtime.cancel("cancelled early")
        with pytest.raises(Exception) as caught:  # noqa: PT011
            session.range(3).count()
        assert isinstance(translate(caught.value), CancelledError)
    with spark_runtime.scope(session, "cancelled early", "second"):
        assert session.range(3).count() == 3


def test_a_supplied_session_is_neither_stopped_nor_changed(spark_runtime: SparkRuntime) -> None:
    theirs = spark_runtime.session()
    theirs.conf.set("spark.sql.shuffle.partitions", "5")
    theirs.conf.set("spark.sql.parquet.fieldId.read.enabled", "false")
    with SparkRuntime(theirs) as runtime:
        assert runtime.started
        ours = runtime.session()
        assert ours.conf.get("spark.sql.shuffle.partitions") == "5"
        assert ours.conf.get("spark.sql.parquet.fieldId.read.enabled") == "true"
        scratch = Path(str(ours.conf.get(SCRATCH)))
        assert scratch.is_dir()
    assert not scratch.exists()
    assert theirs.conf.get("spark.sql.parquet.fieldId.read.enabled") == "false"
    assert theirs.range(3).count() == 3


def test_a_supplied_session_on_a_java_that_spark_cannot_use_is_refused(
    spark_runtime: SparkRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = spark_runtime.session()
    monkeypatch.setattr("dbt.adapters.ducklake.spark.session.java.usable_releases", lambda _: Releases(11, 12))
    with pytest.raises(ConfigurationError, match=rf"Spark {given.version} on Java [\d.]+, and it needs Java 11 to 12"):
        SparkRuntime(given).session()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_gets_a_clear_error(spark_runtime: SparkRuntime) -> None:
    spark_runtime.session()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            spark_runtime.session()
            os.write(writing, b"got a session")
        except ConfigurationError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    assert b"forked" in os.read(reading, 1000)
    assert spark_runtime.session().range(2).count() == 2


def test_errors_are_raised_without_being_logged(spark_runtime: SparkRuntime, capfd: pytest.CaptureFixture[str]) -> None:
    session = spark_runtime.session()
    with pytest.raises(Exception):  # noqa: B017, PT011
        session.sql("SELECT nowhere")
    with pytest.raises(Exception):  # noqa: B017, PT011
        session.sql("SELECT 1 / 0").collect()
    assert capfd.readouterr().err == ""


def test_py4j_asks_for_a_name_once(spark_runtime: SparkRuntime) -> None:
    names = vars(spark_runtime.session().sparkContext._jvm)
    functions.soundex(functions.lit("a"))
    cached = names["org.apache.spark.sql.functions"]
    assert "soundex" in vars(cached)
    assert functions.soundex(functions.lit("a")) is not None
    assert set(CACHED_NAMES) <= names.keys()
