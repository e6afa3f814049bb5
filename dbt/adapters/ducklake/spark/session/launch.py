"""Start the JVM of Spark's driver with a suitable Java, with its log kept off the terminal, and with options for a fast start."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import IO, Any

from ...errors import ConfigurationError
from .class_archive import ClassArchive, archive_for
from .given_options import defaults_file, driver_options, serial_collector
from .java import Java, find_java
from .jvm import Jvm, JvmEndedError, Spawn, end_process, spawn, start_jvm
from .kept import Keeping, Lease, place_of
from .settings import SparkSettings

logger = logging.getLogger(__name__)

C1_ONLY = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m")
"""With C1 alone Java reserves a code cache of 48 MB, and a long run compiles the same methods again and again."""
DELAYED_C2 = (
    "-XX:Tier4InvocationThreshold=15000",
    "-XX:Tier4MinInvocationThreshold=1800",
    "-XX:Tier4CompileThreshold=45000",
    "-XX:Tier4BackEdgeThreshold=120000",
)
"""C2 starts at three times Java's thresholds of calls and iterations. A cold `dbt build` of a small project takes 16.5 s; 17.3 s with
Java's own thresholds, and 16.1 s with 50 times as many. But with 50 times, merges in a session of several minutes are 17 % slower.
"""
LOG_TAIL_BYTES = 4000
END_SECONDS = 10
"""Seconds that this process waits at exit for the JVM to end, so that the JVM's temporary files can be removed."""


def launch(
    settings: SparkSettings,
    owner: str,
    started: Callable[[Any], None] | None = None,
    warn: Callable[[str], None] = logger.warning,
) -> Jvm:
    """Start a JVM, or use a kept one.

    Args:
        settings: how to start it.
        owner: the project; a kept JVM serves one project only.
        started: called with the process as soon as it exists.
        warn: receives a message if the Java of JAVA_HOME is not used.

    Raises:
        ConfigurationError: there is no suitable Java, the process cannot be started, or the JVM ended during the start; the message then
            has the end of its log.
    """
    java, config = find_java(), settings.launch_config()
    if java.warning is not None:
        warn(java.warning)
    keeping = None
    if settings.keep_seconds is not None:
        place = place_of(java, config, owner, settings.keep_seconds, settings.fast_start, settings.log_path)
        if (kept := place.lease()) is not None:
            logger.debug("Using the Spark of an earlier command")
            return kept
        keeping = Keeping(place)
    archive = archive_for(java, config)
    log = open_log(settings.log_path)
    try:
        jvm = _start(java, config, settings.fast_start, archive, log, started, spawn if keeping is None else keeping.spawn)
    except OSError as error:
        raise ConfigurationError(f"Spark could not be started: {error}") from error
    if keeping is not None:
        jvm = keeping.kept(jvm)
    if not isinstance(jvm.process, Lease):
        atexit.register(_end, jvm.process, os.getpid())
    if archive is not None and not archive.path.exists():
        atexit.register(_make_later, archive, os.getpid())
    return jvm


def has_foreign_settings() -> bool:
    """Whether other settings than the profile's would apply: from the environment, `spark-defaults.conf`, or a Spark that already runs."""
    spark = sys.modules.get("pyspark")
    if "PYSPARK_SUBMIT_ARGS" in os.environ or "PYSPARK_GATEWAY_PORT" in os.environ or (spark and spark.SparkContext._gateway is not None):
        return True
    return defaults_file().exists()


def _start(
    java: Java,
    config: Mapping[str, str],
    fast_start: bool,
    archive: ClassArchive | None,
    log: IO[bytes],
    started: Callable[[Any], None] | None,
    spawn: Spawn,
) -> Jvm:
    """Start the JVM; if it does not start with its archive, start it again without. An archive that fails twice is removed.

    Raises:
        ConfigurationError: it ended; the message has the end of its log.
        OSError: the process could not be started.
    """
    used = archive if archive is not None and archive.use() else None
    begin = log.seek(0, os.SEEK_END)
    try:
        return start_jvm(java.home, config, log, started, spawn, java_options(config, fast_start, used))
    except JvmEndedError as error:
        if used is None:
            raise _not_started(java, log, begin) from error
    begin = log.seek(0, os.SEEK_END)
    try:
        jvm = start_jvm(java.home, config, log, started, spawn, java_options(config, fast_start, None))
    except JvmEndedError as error:
        raise _not_started(java, log, begin) from error
    used.discard()
    return jvm


def _not_started(java: Java, log: IO[bytes], begin: int) -> ConfigurationError:
    return ConfigurationError(
        f"Spark did not start with Java {java.version} from {java.origin} ({java.home}). Check `spark.master` and `spark.config` in the "
        f"profile, and the environment. Its log ends:\n{tail(log, begin)}"
    )


def java_options(config: Mapping[str, str], fast_start: bool, archive: ClassArchive | None) -> list[str]:
    """Return our options for Java.

    `fast_start` means C1 only, and the serial collector. Otherwise C2 is delayed if the master is local.
    """
    options: list[str] = []
    if fast_start:
        options += [*C1_ONLY, *serial_collector(driver_options(config))]
    elif config.get("spark.master", "").startswith("local"):
        options += DELAYED_C2
    if archive is not None:
        options.append(f"-XX:SharedArchiveFile={archive.path}")
    return options


def _end(process: Popen[bytes], starter_pid: int) -> None:
    """Wait for the JVM when the process that started it exits: until then it may write to its temporary folder."""
    if os.getpid() == starter_pid:
        _disconnect()
        with contextlib.suppress(TimeoutExpired):
            end_process(process, END_SECONDS)


def _disconnect() -> None:
    """Mark Py4J as disconnected; otherwise it would try to release Java objects, and write connection errors to stderr."""
    from pyspark import SparkContext

    if SparkContext._gateway is not None:
        SparkContext._gateway._gateway_client.is_connected = False


def _make_later(archive: ClassArchive, starter_pid: int) -> None:
    """Start building the class archive when the process that started Spark exits, but not when a process forked from it does."""
    if os.getpid() == starter_pid:
        archive.make_later()


def open_log(log_path: str | None) -> IO[bytes]:
    """Open the log file and leave it open, because the JVM writes to it.

    Raises:
        ConfigurationError: it cannot be opened.
    """
    if log_path is None:
        return tempfile.TemporaryFile(prefix="dbt-ducklake-spark-")
    path = Path(log_path).expanduser()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a+b")
    except OSError as error:
        raise ConfigurationError(f"`spark.log_path` cannot be written: {error}. Correct it, or remove it") from error


def tail(log: IO[bytes], begin: int) -> str:
    """Return at most the last LOG_TAIL_BYTES of what a log has after `begin` bytes, as text."""
    log.flush()
    size = log.seek(0, os.SEEK_END)
    log.seek(max(begin, size - LOG_TAIL_BYTES))
    return log.read().decode("utf-8", "replace").strip()


def running_jvm() -> Popen[bytes] | Lease | None:
    """Return the JVM that PySpark uses, if this process started it, or the lease of a kept one; None for any other."""
    from pyspark import SparkContext

    return getattr(SparkContext._gateway, "proc", None)


def forget_jvm() -> None:
    """Remove an ended JVM's context, session and gateway from PySpark's global state, so that this process can start another JVM."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context, gateway = SparkContext._active_spark_context, SparkContext._gateway
    if context is not None:
        with warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")  # PySpark warns that the JVM did not stop cleanly
            context.stop()
    if gateway is not None:
        with contextlib.suppress(Exception):
            gateway.shutdown()  # type: ignore[no-untyped-call]  # Py4J has no types
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = None
