"""Files under their final names: which of them belong to the result, and that each task writes with the settings of its session.

`write_direct` is called with local folders here, where every file that an attempt leaves behind can be seen.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from dbt.adapters.ducklake.spark.session.runtime import SCRATCH
from dbt.adapters.ducklake.spark.write.direct import is_available, write_direct

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def found(folder: Path) -> set[str]:
    return {str(path).removeprefix(str(folder)) for path in folder.rglob("*.parquet")}


def test_every_task_writes_one_file_under_its_final_name(spark: SparkSession, tmp_path: Path) -> None:
    assert is_available(spark)
    target = tmp_path / "job"
    files = write_direct(spark.range(0, 100, 1, 3).toDF("id"), target.as_uri(), {"compression": "zstd"})
    assert len(files) == 3
    assert {path for path, _ in files} == found(target)
    assert all(size == (target / path[1:]).stat().st_size for path, size in files)
    assert [path.name for path in target.iterdir() if path.name.startswith("_")] == []
    assert sorted(pq.read_table([target / path[1:] for path, _ in files]).column("id").to_pylist()) == list(range(100))
    assert pq.ParquetFile(target / files[0][0][1:]).metadata.row_group(0).column(0).compression == "ZSTD"


def test_partitions_get_directories_and_keep_their_order(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.range(1000).select(F.col("id"), F.concat(F.lit("a/b %c="), F.col("id") % 3).alias("__ducklake_key_0"))
    rows = rows.repartition(2, "__ducklake_key_0").sortWithinPartitions("__ducklake_key_0", F.desc("id"))
    files = write_direct(rows, (tmp_path / "job").as_uri(), {"maxRecordsPerFile": "200"}, ["__ducklake_key_0"])
    assert len(files) == 6
    for path, _ in files:
        assert path.startswith("/__ducklake_key_0=a%2Fb %25c%3D")
        ids = pq.read_table(tmp_path / "job" / path[1:]).column("id").to_pylist()
        assert ids == sorted(ids, reverse=True)
    assert {path for path, _ in files} == found(tmp_path / "job")


def test_tasks_have_the_settings_of_their_session(spark: SparkSession, tmp_path: Path) -> None:
    other = spark.newSession()
    other.conf.set("spark.dbt.ducklake.scratch", spark.conf.get("spark.dbt.ducklake.scratch") or "")
    values = []
    for session, zone, kind in ((spark, "UTC", "TIMESTAMP_MICROS"), (other, "Asia/Tokyo", "INT96")):
        before = session.conf.get("spark.sql.session.timeZone")
        session.conf.set("spark.sql.session.timeZone", zone)
        session.conf.set("spark.sql.parquet.outputTimestampType", kind)
        rows = session.range(0, 1, 1, 1).select(F.to_timestamp(F.lit("2026-01-01 00:00:00")).alias("at"))
        ((path, _),) = write_direct(rows, (tmp_path / kind).as_uri(), {})
        session.conf.set("spark.sql.session.timeZone", before or "UTC")
        session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        written = pq.ParquetFile(tmp_path / kind / path[1:])
        values.append((written.schema.column(0).physical_type, written.read().column("at")[0].as_py().hour))
    assert values == [("INT64", 0), ("INT96", 15)]
    assert spark.sparkContext.getLocalProperty("spark.sql.session.timeZone") is None


def test_no_rows_give_an_empty_file_and_a_failure_leaves_no_file(spark: SparkSession, tmp_path: Path) -> None:
    assert len(write_direct(spark.range(0).toDF("id"), (tmp_path / "empty").as_uri(), {})) == 1
    late = "id < 8 OR reflect('java.lang.Thread', 'sleep', 2000L) = 'never'"  # the other task has ended when this one fails
    wrong = spark.range(0, 10, 1, 2).select(F.assert_true(F.expr(late)).alias("none"), F.col("id"))
    with pytest.raises(Exception, match="is not true"):
        write_direct(wrong, (tmp_path / "failed").as_uri(), {})
    assert found(tmp_path / "failed") == set()


def test_a_removed_scratch_folder_is_made_again(spark: SparkSession, tmp_path: Path) -> None:
    session, scratch = spark.newSession(), tmp_path / "scratch"
    session.conf.set(SCRATCH, str(scratch))
    for name in ("first", "second"):
        files = write_direct(session.range(0, 10, 1, 2).toDF("id"), (tmp_path / name).as_uri(), {})
        assert {path for path, _ in files} == found(tmp_path / name)
        assert len(files) == 2
        assert scratch.stat().st_mode & 0o777 == 0o700
        assert list(scratch.iterdir()) == []
        shutil.rmtree(scratch)


CLUSTER = """
import os, signal, sys, time
from pathlib import Path
from pyspark import TaskContext
from pyspark.sql import SparkSession, functions as F
from dbt.adapters.ducklake.spark.session.runtime import SCRATCH
from dbt.adapters.ducklake.spark.write.direct import write_direct

folder = Path(sys.argv[1])
builder = SparkSession.builder.master("local-cluster[2,2,1024]").config("spark.ui.enabled", "false").config("spark.executor.memory", "600m")
for key, value in {"speculation": "true", "speculation.interval": "200ms", "speculation.multiplier": "1.1", "speculation.quantile": "0.3",
                   "speculation.minTaskRuntime": "200ms", "sql.execution.arrow.maxRecordsPerBatch": "100"}.items():
    builder = builder.config("spark." + key, value)
spark = builder.getOrCreate()
spark.conf.set(SCRATCH, str(folder / "scratch"))

@F.udf("long")
def attempt(number):
    task = TaskContext.get()
    first = task.attemptNumber() == 0
    if first and task.partitionId() == 0 and number == 900:
        raise ValueError("the first attempt fails after it has written rows")
    if first and task.partitionId() == 1 and number == 1900:
        time.sleep(25)  # another attempt starts meanwhile
    if task.partitionId() == 2 and number == 2900 and not (folder / "killed").exists():
        (folder / "killed").touch()
        executor = os.getppid()
        while "CoarseGrainedExecutorBackend" not in Path(f"/proc/{executor}/cmdline").read_text():
            executor = int(Path(f"/proc/{executor}/stat").read_text().rsplit(")", 1)[1].split()[1])
        os.kill(executor, signal.SIGKILL)
    return task.attemptNumber()

rows = spark.range(0, 4000, 1, 4).select("id", attempt("id").alias("attempt"))
files = write_direct(rows, (folder / "job").as_uri(), {"parquet.block.size": "4096"})
print("FILES", *[path for path, _ in files])
spark.stop()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds the process of an executor in /proc")
@pytest.mark.slow
@pytest.mark.nightly
def test_only_one_attempt_of_a_repeated_task_is_in_the_result(tmp_path: Path) -> None:
    """One attempt fails, one is overtaken by speculation, and the executor of one is killed while it writes."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", CLUSTER, str(tmp_path)], env=environment, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert (tmp_path / "killed").exists()
    names = next(line for line in done.stdout.splitlines() if line.startswith("FILES")).split()[1:]
    assert len(names) == 4, "each task must return one file"
    tables = [pq.read_table(tmp_path / "job" / name[1:]) for name in names]
    assert sorted(number for table in tables for number in table.column("id").to_pylist()) == list(range(4000))
    for table in tables:
        assert len(set(table.column("attempt").to_pylist())) == 1, "a file has rows of several attempts"
    assert max(max(table.column("attempt").to_pylist()) for table in tables) >= 1
    left = found(tmp_path / "job") - set(names)
    assert left, "the killed executor should have left a file that is not in the result"
