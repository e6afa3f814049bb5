"""Write Parquet files under their final names with one Spark job, without renames and listings: for storage where a rename is a copy.

Spark's usual committer writes each file to a folder of its task and renames it twice, because a reader may list the table's folder at any
time. Here readers see only files that the catalog lists. So the job uses the committer of Spark's streaming file sink: every attempt of a
task writes to names of its own (uuids), and a successful task returns its names. Only one attempt of each
task counts. Files of other attempts, which a retry or speculation has started, are removed by the attempt or stay as orphans.

Neither the committer nor `FileFormatWriter` has a public interface in Python. They are reached through the driver's JVM, so not with Spark
Connect, and `is_available` checks that this version of Spark has them as expected.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from uuid import uuid4

from ..session.connect import is_connect
from ..session.jvm import java_class
from ..session.runtime import SCRATCH

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOG_PACKAGES = ("org.apache.spark.sql.execution.streaming.sinks", "org.apache.spark.sql.execution.streaming")
"""The package of the log of the file sink: since Spark 4.1, and before."""
_COMMITTER = "org.apache.spark.sql.execution.streaming.ManifestFileCommitProtocol"
_WRITER = "org.apache.spark.sql.execution.datasources.FileFormatWriter"
_PARQUET = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
_SESSION = "org.apache.spark.sql.classic.SparkSession"
_OPTION = "scala.Option"
_CONVERTERS = "scala.jdk.javaapi.CollectionConverters"
_LOG_VERSION = 1
_BATCH = 0


def is_available(spark: SparkSession) -> bool:
    """Whether `write_direct` works with this session: it needs the driver's JVM, and a folder that this process and the JVM share."""
    return not is_connect(spark) and spark.conf.get(SCRATCH, None) is not None and _log_class(spark.sparkContext._jvm) is not None


def write_direct(rows: DataFrame, target: str, options: Mapping[str, str], keys: Sequence[str] = ()) -> list[tuple[str, int]]:
    """Write the rows to files below a directory, in a directory for each value of `keys`.

    Args:
        rows: the rows; the columns of `keys` are the last.
        target: the directory's URL for Hadoop; nothing exists below it yet.
        options: the options of Spark's Parquet writer.
        keys: the partition columns.

    Returns:
        (path below `target` with a leading slash, size in bytes) of each file of a successful task, ordered by path.
    """
    spark: Any = rows.sparkSession
    frame: Any = rows
    jvm = spark.sparkContext._jvm
    session = spark._jsparkSession
    folder = Path(spark.conf.get(SCRATCH)) / f"written-{uuid4().hex}"
    execution = frame._jdf.queryExecution()
    output = execution.analyzed().output()
    scala_options = jvm.PythonUtils.toScalaMap(dict(options))
    committer = java_class(jvm, _COMMITTER)(uuid4().hex, target)
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # if Spark made it again, others could read it
    try:
        log = _log_class(jvm)(_LOG_VERSION, session, folder.as_uri(), java_class(jvm, _OPTION).empty())
        committer.setupManifestOptions(log, _BATCH)
        writer = java_class(jvm, _WRITER)
        arguments = (
            session,
            execution.executedPlan(),
            java_class(jvm, _PARQUET)(),
            committer,
            java_class(jvm, f"{_WRITER}$OutputSpec")(target, jvm.PythonUtils.toScalaMap({}), output),
            session.sessionState().newHadoopConfWithOptions(scala_options),
            output.takeRight(len(keys)),
            java_class(jvm, _OPTION).empty(),  # no buckets
            output.take(0),  # no statistics, which would ask the storage for the size of each file
            scala_options,
        )
        with _settings_in_tasks(spark):
            writer.write(*arguments, *_defaults(writer, len(arguments)))
        return _written(folder / str(_BATCH), target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _log_class(jvm: Any) -> Any:
    """Return the class of the sink's log; None if this version of Spark does not have it."""
    from py4j.java_gateway import JavaClass

    found = (java_class(jvm, f"{package}.FileStreamSinkLog") for package in _LOG_PACKAGES)
    return next((each for each in found if isinstance(each, JavaClass)), None)


def _defaults(writer: Any, given: int) -> list[Any]:
    """Return the defaults of the parameters after the first `given`; versions of Spark differ in their number."""
    count = sum(name.startswith("write$default$") for name in dir(writer))
    return [getattr(writer, f"write$default${given + 1 + index}")() for index in range(count)]


@contextmanager
def _settings_in_tasks(spark: Any) -> Iterator[None]:
    """Give the session's settings to the tasks of this thread's jobs, as Spark does for each of its own commands."""
    context = spark.sparkContext._jsc.sc()
    jvm = spark.sparkContext._jvm
    before = context.getLocalProperties()
    inside = before.clone()
    settings = spark._jsparkSession.sessionState().conf().getAllConfs()
    inside.putAll(java_class(jvm, _CONVERTERS).asJava(settings))
    java_class(jvm, _SESSION).setActiveSession(spark._jsparkSession)
    context.setLocalProperties(inside)
    try:
        yield
    finally:
        context.setLocalProperties(before)


def _written(log: Path, target: str) -> list[tuple[str, int]]:
    """Return the path below `target` and the size of each file that the sink's log lists."""
    inside = "/" + target.rpartition("/")[2] + "/"
    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()[1:]]
    return sorted(("/" + unquote(entry["path"].rpartition(inside)[2]), int(entry["size"])) for entry in entries)
