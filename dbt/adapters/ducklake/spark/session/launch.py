"""Start the JVM that Spark's driver runs in: with a Java that fits, its log off the terminal, and quickly where that was asked for.

`fast_start` keeps an archive of loaded classes (AppCDS) in the cache directory. The first session that finds none
lets its JVM write one as it exits (about 13 s, once). Every process writes to a name of its own and then moves it
into place, so two that start at once do no harm.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from ...errors import ConfigurationError
from .java import Java, cache_directory, find_java

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
ARCHIVE_SECONDS = 120
"""How long to wait for a JVM that writes its class archive while it exits."""
LOG_TAIL_BYTES = 4000


def launch(config: Mapping[str, str], *, fast_start: bool, log_path: str | None) -> Any:
    """Start a JVM and return PySpark's gateway to it.

    Args:
        config: Spark configuration known at the start.
        fast_start: see the module.
        log_path: file to append the JVM's output to; None keeps it only until the process ends.

    Raises:
        ConfigurationError: no Java, or the JVM ended at once; the text has the last lines of its log.
    """
    from pyspark import SparkConf
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    java = find_java()
    options = dict(config)
    on_exit = _fast_start(java, options) if fast_start else None
    conf = SparkConf(loadDefaults=False)
    for key, value in options.items():
        conf.set(key, value)
    log = _open_log(log_path)
    start: Any = launch_gateway
    try:
        with _java_home(java):
            gateway: Any = start(conf, popen_kwargs={"stdout": log, "stderr": subprocess.STDOUT})
    except PySparkRuntimeError as error:
        raise ConfigurationError(
            f"Spark did not start with Java {java.version} from {java.origin} ({java.home}). Its log ends:\n{_tail(log)}"
        ) from error
    except OSError as error:
        raise ConfigurationError(f"Spark could not be started: {error}") from error
    if on_exit is not None:
        atexit.register(_finish_archive, gateway, on_exit, os.getpid())
    return gateway


def _fast_start(java: Java, options: dict[str, str]) -> Callable[[], None] | None:
    """Add the Java options for a fast start; returns what to do when the JVM has ended."""
    flags = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=256m"]
    after: Callable[[], None] | None = None
    if java.has_class_archive:
        archive = _archive_path(java)
        if archive.is_file():
            flags.append(f"-XX:SharedArchiveFile={archive}")
        else:
            archive.parent.mkdir(parents=True, exist_ok=True)
            fresh = archive.with_name(f"{archive.stem}.{os.getpid()}.tmp")
            flags.append(f"-XX:ArchiveClassesAtExit={fresh}")
            after = _mover(fresh, archive)
    options[JAVA_OPTIONS] = " ".join([*flags, options.get(JAVA_OPTIONS, "")]).strip()
    return after


def _mover(fresh: Path, archive: Path) -> Callable[[], None]:
    def move() -> None:
        if fresh.is_file():
            os.replace(fresh, archive)

    return move


def _archive_path(java: Java) -> Path:
    """One archive per Spark and Java: an archive serves only the class path and the JVM that it was made with."""
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    stamp = jars.stat().st_mtime_ns if jars.is_dir() else 0
    key = hashlib.sha256(f"{pyspark.__version__}|{jars}|{stamp}|{java.home}|{java.version}".encode()).hexdigest()[:16]
    return cache_directory() / "classes" / f"spark-{pyspark.__version__}-java-{java.version}-{key}.jsa"


def _finish_archive(gateway: Any, move: Callable[[], None], owner: int) -> None:
    """At exit: end the JVM, wait until it has written the archive, and put that in its place."""
    if os.getpid() != owner or gateway.proc is None:
        return
    with contextlib.suppress(Exception):
        gateway.shutdown()
    try:
        gateway.proc.stdin.close()
        gateway.proc.wait(timeout=ARCHIVE_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return
    move()


@contextlib.contextmanager
def _java_home(java: Java) -> Iterator[None]:
    """`spark-submit` takes JAVA_HOME from the environment only."""
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = str(java.home)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("JAVA_HOME", None)
        else:
            os.environ["JAVA_HOME"] = before


def _open_log(log_path: str | None) -> IO[bytes]:
    """The file outlives this function: the JVM writes to it as long as it runs."""
    if log_path is None:
        return tempfile.TemporaryFile(prefix="dbt-ducklake-spark-")
    path = Path(log_path).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("a+b")


def _tail(log: IO[bytes]) -> str:
    log.flush()
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - LOG_TAIL_BYTES))
    return log.read().decode("utf-8", "replace").strip()
