"""Make an archive of the classes that Spark loads (JVM class data sharing), in a low-priority process that runs typical queries.

One maker runs at a time. It tests the new archive before it renames it to its final name, so no process sees an incomplete one.

    python -m dbt.adapters.ducklake.spark.session.class_archive_maker '<ClassArchive as JSON>'
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .class_archive import ClassArchive, age
from .jvm import command_and_environment, end_process, start_jvm
from .settings import SparkSettings
from .temporary_folder import TemporaryFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAKING_SECONDS = 600
"""How long a JVM of this process may take to exit."""
UNUSED_SECONDS = 60 * 24 * 3600
"""An archive that was unused for this long is removed when another one is made."""
SUFFIXES = (".jsa", ".failed", ".tmp")
"""File name suffixes: archives, marks of failed attempts, and unfinished archives."""
ROWS = """
SELECT id, cast(id % 7 AS string) AS name, cast(id AS decimal(10,2)) AS amount, current_timestamp() AS at FROM range(1000)
"""
VIEW = "CREATE TEMPORARY VIEW named AS SELECT name, sum(amount) AS total, max(at) AS last FROM rows GROUP BY name"
QUERIES = (
    """
    SELECT r.name, count(*), sum(r.amount), min(r.at), max(f.name) FROM rows r JOIN few f ON f.id = r.id
    WHERE r.id % 3 <> 0 GROUP BY r.name ORDER BY 1
    """,
    "SELECT r.id, n.total FROM rows r LEFT ANTI JOIN few f ON r.id = f.id JOIN named n ON n.name = r.name",
    "SELECT id, row_number() OVER (PARTITION BY name ORDER BY at) AS number, lag(amount) OVER (ORDER BY id) AS before FROM rows",
    "SELECT CASE WHEN amount > 3 THEN upper(name) END, date_trunc('day', at), count(DISTINCT id) FROM rows GROUP BY 1, 2",
    """
    WITH all_rows AS (SELECT id FROM rows UNION ALL SELECT id FROM few)
    SELECT id FROM all_rows WHERE id NOT IN (SELECT id FROM few) AND id IN (SELECT id FROM rows)
    """,
)
"""Queries that load the classes that most runs need: joins, aggregates, windows, views, subqueries, types."""


def make(archive: ClassArchive) -> None:
    """Make an archive, unless it exists or another process is making one. A failure leaves a mark and no archive."""
    folder = archive.path.parent
    folder.mkdir(parents=True, exist_ok=True)
    with _only_maker(folder) as alone:
        if not alone or archive.path.exists():
            return
        temporary = archive.path.with_suffix(".tmp")
        try:
            _write(archive, temporary)
            _require_usable(archive, temporary)
            os.replace(temporary, archive.path)
            archive.path.with_suffix(".failed").unlink(missing_ok=True)
        except Exception:
            archive.path.with_suffix(".failed").touch()
            raise
        finally:
            temporary.unlink(missing_ok=True)
            remove_outdated(archive)


def remove_outdated(archive: ClassArchive) -> None:
    """Remove archives for other versions of the same Spark, unused archives, and files left by a process that died."""
    place = archive.path.name.partition("-")[0]
    for path in archive.path.parent.iterdir():
        other = path.stem != archive.path.stem
        old = path.name.startswith(place + "-") or age(path) > UNUSED_SECONDS or path.suffix == ".tmp"
        if path.suffix in SUFFIXES and other and old:
            path.unlink(missing_ok=True)


def _write(archive: ClassArchive, path: Path) -> None:
    """Run the queries in a JVM that writes the classes it loaded to `path` when it exits."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    settings = SparkSettings(master="local[2]", config={"spark.driver.memory": "1g"})
    config = settings.launch_config()
    with open(os.devnull, "r+b") as log:
        jvm = start_jvm(Path(archive.java_home), config, log, java_options=(f"-XX:ArchiveClassesAtExit={path}", "-XX:TieredStopAtLevel=1"))
        assert jvm.folder is not None
        gateway = jvm.attach()
        conf = SparkConf(_jvm=gateway.jvm)
        for key, value in config.items():
            conf.set(key, value)
        context = SparkContext(conf=conf, gateway=gateway)
        session = SparkSession(context).newSession()
        for key, value in settings.session_config().items():
            session.conf.set(key, value)
        _run_queries(session, str(jvm.folder.path))
        context.stop()
        with contextlib.suppress(Exception):
            gateway.shutdown()
        end_process(jvm.process, MAKING_SECONDS)
        jvm.folder.remove()


def _run_queries(session: SparkSession, work: str) -> None:
    import pyarrow as pa

    session.createDataFrame(pa.table({"id": [1, 2, 3], "name": ["a", "b", None]})).createOrReplaceTempView("few")
    session.sql(ROWS).write.mode("append").option("compression", "zstd").parquet(f"{work}/rows")
    rows = session.read.parquet(f"{work}/rows").selectExpr("*", "_metadata.file_path AS file", "_metadata.row_index AS position")
    rows.createOrReplaceTempView("rows")
    session.sql(VIEW)
    for query in QUERIES:
        frame = session.sql(query)
        frame.write.mode("overwrite").parquet(f"{work}/result")
        frame.limit(3).toArrow()
    cached = rows.repartition(2, "name").persist()
    cached.groupBy("name").count().collect()
    cached.unpersist()


def _require_usable(archive: ClassArchive, path: Path) -> None:
    """Raise an error unless a JVM that `spark-submit` starts can map the archive."""
    options = ("-Xshare:on", f"-XX:SharedArchiveFile={path}")
    with TemporaryFolder() as work:
        command, variables = command_and_environment(Path(archive.java_home), {"spark.master": "local"}, work / "address", options)
        done = subprocess.run([*command[:-1], "--version"], env=variables, capture_output=True, timeout=MAKING_SECONDS, check=False)
    if done.returncode != 0:
        raise OSError(f"the archive cannot be used: {(done.stdout + done.stderr).decode('utf-8', 'replace')}")


@contextlib.contextmanager
def _only_maker(folder: Path) -> Iterator[bool]:
    """Yield whether no other process is making an archive; the lock is released when this process ends."""
    import fcntl

    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True


if __name__ == "__main__":
    os.nice(19)
    os.chdir("/")  # the folder of the dbt project may be removed in the meantime, and no JVM starts in a removed folder
    make(ClassArchive(**json.loads(sys.argv[1])))
