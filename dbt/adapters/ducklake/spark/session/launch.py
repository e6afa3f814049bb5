"""Start the JVM of Spark's driver with a suitable Java, its log not on the terminal, and fast if requested.

`fast_start` stores an archive of loaded classes (AppCDS) in the cache directory. The first session without an archive lets its JVM write
one when it exits (about 13 s, once). Each process writes to its own file and then renames it, so concurrent processes do not interfere.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from ...errors import ConfigurationError
from .java import Java, cache_directory, find_java
from .private_settings import private_settings

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
CODE_CACHE = "256m"
"""With the first compiler alone Java reserves 48 MB, and a long run compiles the same methods again and again."""
ARCHIVE_SECONDS = 120
"""The maximum time to wait for a JVM that writes its class archive when it exits."""
LOG_TAIL_BYTES = 4000


def launch(config: Mapping[str, str], *, fast_start: bool, log_path: str | None) -> Any:
    """Start a JVM and return PySpark's gateway to it.

    Args:
        config: the Spark configuration at the start.
        fast_start: use a class archive, see the module's docstring.
        log_path: the file to append the JVM's output to; None discards it when the process ends.

    Raises:
        ConfigurationError: there is no suitable Java, or the JVM ended during the start; the message has the last lines of its log.
    """
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    java = find_java()
    options = dict(config)
    on_exit = _fast_start(java, options) if fast_start else None
    log = _open_log(log_path)
    start: Any = launch_gateway
    try:
        with _java_home(java), private_settings(options):
            gateway: Any = start(popen_kwargs={"stdout": log, "stderr": subprocess.STDOUT})
    except PySparkRuntimeError as error:
        raise ConfigurationError(
            f"Spark did not start with Java {java.version} from {java.origin} ({java.home}). Its log ends:\n{_tail(log)}"
        ) from error
    except OSError as error:
        raise ConfigurationError(f"Spark could not be started: {error}") from error
    if on_exit is not None:
        atexit.register(_finish_archive, gateway, on_exit, os.getpid())
    return gateway


def has_own_settings() -> bool:
    """Whether Spark would start with settings that this process was not given: of the environment, or of a running Spark."""
    spark = sys.modules.get("pyspark")
    if "PYSPARK_SUBMIT_ARGS" in os.environ or "PYSPARK_GATEWAY_PORT" in os.environ or (spark and spark.SparkContext._gateway is not None):
        return True
    found = importlib.util.find_spec("pyspark")
    home = os.environ.get("SPARK_HOME") or (found.submodule_search_locations or [""])[0] if found else ""
    return Path(os.environ.get("SPARK_CONF_DIR") or f"{home}/conf", "spark-defaults.conf").exists()


def _fast_start(java: Java, options: dict[str, str]) -> Callable[[], None] | None:
    """Add the Java options for a fast start, and return the function to call after the JVM has ended."""
    flags = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", f"-XX:ReservedCodeCacheSize={CODE_CACHE}"]
    after: Callable[[], None] | None = None
    if java.has_class_archive:
        archive = _archive_path(java)
        if archive.is_file():
            flags.append(f"-XX:SharedArchiveFile={archive}")
        else:
            archive.parent.mkdir(parents=True, exist_ok=True)
            temporary = archive.with_name(f"{archive.stem}.{os.getpid()}.tmp")
            flags.append(f"-XX:ArchiveClassesAtExit={temporary}")
            after = _mover(temporary, archive)
    options[JAVA_OPTIONS] = " ".join([*flags, options.get(JAVA_OPTIONS, "")]).strip()
    return after


def _mover(temporary: Path, archive: Path) -> Callable[[], None]:
    def move() -> None:
        if temporary.is_file():
            os.replace(temporary, archive)

    return move


def _archive_path(java: Java) -> Path:
    """Return the archive for this Spark and Java: an archive works only with the class path and JVM that created it."""
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    stamp = jars.stat().st_mtime_ns if jars.is_dir() else 0
    key = hashlib.sha256(f"{pyspark.__version__}|{jars}|{stamp}|{java.home}|{java.version}".encode()).hexdigest()[:16]
    return cache_directory() / "classes" / f"spark-{pyspark.__version__}-java-{java.version}-{key}.jsa"


def _finish_archive(gateway: Any, move: Callable[[], None], owner: int) -> None:
    """End the JVM at exit, wait until it has written the archive, and move the archive to its path."""
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
    """Set JAVA_HOME in the environment, the only place where `spark-submit` reads it."""
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
    """Open the log file and leave it open, because the JVM writes to it."""
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
