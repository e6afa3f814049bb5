"""The process of Spark's driver: start it with `spark-submit`, as PySpark does, attach PySpark to it, and cache the names of its classes.

PySpark starts and attaches in one call. Here these are two steps, so that a start can be ended before it is complete.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shlex
import shutil
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import IO, Any

from ...errors import ConfigurationError
from .given_options import LAUNCHER_OPTIONS, SUBMIT_OPTIONS, launcher_options, serial_collector
from .private_settings import submit_arguments
from .temporary_folder import TemporaryFolder

JAVA_TEMPORARY = "java.io.tmpdir"
"""The system property with Java's temporary folder. Spark's is the same unless spark.local.dir names another one."""
_JAVA_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", SUBMIT_OPTIONS)
CACHED_NAMES = (
    "functions",
    "PythonUtils",
    "PythonSQLUtils",
    "org.apache.spark.sql.functions",
    "org.apache.spark.sql.classic.SparkSession",
    "org.apache.spark.sql.types.Metadata",
    "org.apache.spark.storage.StorageLevel",
)
"""The Java classes that PySpark uses, as it writes them. Most statements use the first five several times."""


class JvmEndedError(Exception):
    """The JVM ended before PySpark could attach to it."""


@dataclass(frozen=True)
class Jvm:
    """A JVM that PySpark can attach to. It ends when its standard input is closed, also by the end of the process that started it.

    Args:
        process: the handle whose end ends the JVM: the process itself, the process that keeps it, or the connection to a kept JVM.
        port: where it listens.
        secret: what clients must send.
        folder: its temporary folder, removed with everything that a killed Spark left in it; None if the keeping process removes it.
        has_context: whether it already has a SparkContext, of an earlier command.
    """

    process: Any
    port: int
    secret: str
    folder: TemporaryFolder | None = None
    has_context: bool = False

    def attach(self) -> Any:
        """Return PySpark's gateway to the JVM.

        PySpark's function reads the address from the environment. A copy of it gets an environment of its own, because this may be a
        background thread, and dbt's main thread iterates over `os.environ`, which fails if a variable is removed in the meantime.
        """
        from pyspark.java_gateway import launch_gateway

        environment = {**os.environ, "PYSPARK_GATEWAY_PORT": str(self.port), "PYSPARK_GATEWAY_SECRET": self.secret}
        names = {**launch_gateway.__globals__, "os": SimpleNamespace(environ=environment)}
        gateway: Any = FunctionType(launch_gateway.__code__, names, argdefs=launch_gateway.__defaults__)()
        gateway.proc = self.process
        gateway.folder = self.folder  # is removed when nothing refers to the gateway
        return gateway


def end_process(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Let a JVM exit, and wait for it.

    Raises:
        TimeoutExpired: it did not exit in time.
    """
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    process.wait(timeout=seconds)


def spark_home() -> Path:
    """Return the folder of Spark, without importing PySpark.

    Raises:
        ConfigurationError: PySpark is not installed, or is only a client.
    """
    given = os.environ.get("SPARK_HOME")
    found = importlib.util.find_spec("pyspark")
    home = given or (os.path.dirname(found.origin) if found is not None and found.origin else None)
    if home is None or not os.path.isfile(os.path.join(home, "bin", "spark-submit")):
        raise ConfigurationError(f"There is no Spark in {home or 'this Python'}. Install it with `pip install pyspark`, or set SPARK_HOME")
    return Path(home)


def spark_version(home: Path) -> str:
    """Return the version of a Spark, without importing PySpark: that in the name of a JAR, or of the installed package.

    Args:
        home: the folder of Spark. SPARK_HOME may name another Spark than the one of the installed package.

    Raises:
        ConfigurationError: neither exists.
    """
    found = _version_in_jars(home, "spark-core_*")
    if found is not None:
        return found
    try:
        return version("pyspark")
    except PackageNotFoundError:
        raise ConfigurationError(
            f"The version of the Spark in {home} is not known: it has no jars/spark-core_*.jar. Correct SPARK_HOME"
        ) from None


def hadoop_version(home: Path) -> str | None:
    """Return the version of the Hadoop that a Spark has, such as `3.5.0`; None if it has none of its own.

    Args:
        home: the folder of Spark.
    """
    return _version_in_jars(home, "hadoop-client-api")


def _version_in_jars(home: Path, name: str) -> str | None:
    """Return the version in the name of a JAR of Spark, `name-version.jar`; None if there is no such JAR."""
    for path in (home / "jars").glob(f"{name}-*.jar"):
        if (match := re.fullmatch(r".+?-(\d+\.\d+.*)\.jar", path.name)) is not None:
            return match.group(1)
    return None


def command_and_environment(
    java_home: Path, config: Mapping[str, str], address: Path, java_options: Sequence[str] = ()
) -> tuple[list[str], dict[str, str]]:
    """Return the command that starts a JVM, and its environment.

    The options for Java are in the environment, because a setting would replace that of `spark-defaults.conf`.

    Args:
        java_home: the folder of the Java installation.
        config: the Spark configuration at the start.
        address: the file to which the JVM writes its port and secret, in a folder that only the user can read.
        java_options: our options for Java; those of the environment, the configuration and `spark-defaults.conf` take precedence.
    """
    script = "spark-submit.cmd" if os.name == "nt" else "spark-submit"
    command = [str(spark_home() / "bin" / script)]
    command += submit_arguments(address.parent, config)
    launcher = shlex.join(["-XX:TieredStopAtLevel=1", *serial_collector(launcher_options())])
    launcher = f"{launcher} {os.environ.get(LAUNCHER_OPTIONS, '')}".strip()
    own = {"JAVA_HOME": str(java_home), "SPARK_CONNECT_MODE": "0", LAUNCHER_OPTIONS: launcher}
    if java_options:
        own[SUBMIT_OPTIONS] = f"{shlex.join(java_options)} {os.environ.get(SUBMIT_OPTIONS, '')}".strip()
    return command, {**os.environ, **own, "_PYSPARK_DRIVER_CONN_INFO_PATH": str(address)}


def spawn(command: list[str], variables: Mapping[str, str], log: IO[bytes], folder: TemporaryFolder) -> subprocess.Popen[bytes]:
    """Start a process that ignores Ctrl-C, which the terminal sends to the whole process group.

    A shell ignores the signal, and the JVM inherits that. `preexec_fn` could do the same, but it can deadlock if the process has threads.
    The JVM also keeps the lock of its temporary folder, because it may live longer than this process.

    Args:
        command: the program and its arguments.
        variables: the whole environment.
        log: the file for the output of the process.
        folder: the temporary folder whose lock the process inherits.

    Raises:
        OSError: the process could not be started.
    """
    options: dict[str, Any] = {"pass_fds": folder.descriptors}
    if os.name == "nt":
        options = {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    else:
        command = ["/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh", *command]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, env=variables, **options)


Spawn = Callable[[list[str], Mapping[str, str], IO[bytes], TemporaryFolder], "subprocess.Popen[bytes]"]
"""Starts a command with an environment, a file for its output, and a temporary folder, whose lock it inherits."""


def start_jvm(
    java_home: Path,
    config: Mapping[str, str],
    log: IO[bytes],
    started: Callable[[subprocess.Popen[bytes]], None] | None = None,
    launch: Spawn = spawn,
    java_options: Sequence[str] = (),
) -> Jvm:
    """Start a JVM and wait until PySpark can attach to it.

    Args:
        java_home: the folder of the Java installation.
        config: the Spark configuration at the start.
        log: the file for the JVM's output.
        started: called with the process as soon as it exists; ending the process ends the wait.
        launch: starts the process, which must end when the JVM does, and the JVM with it.
        java_options: our options for Java; all others take precedence.

    Raises:
        JvmEndedError: the process ended.
        OSError: the process could not be started.
    """
    folder = TemporaryFolder()
    start, temporary = folder.path / "start", folder.path / "tmp"
    start.mkdir(mode=0o700)
    temporary.mkdir(mode=0o700)
    try:
        options = [*_temporary_option(temporary), *java_options]
        command, variables = command_and_environment(java_home, config, start / "address", options)
        process = launch(command, variables, log, folder)
        if started is not None:
            started(process)
        port, secret = await_address(start / "address", process)
        return Jvm(process, port, secret, folder)
    except BaseException:
        folder.remove()
        raise
    finally:
        shutil.rmtree(start, ignore_errors=True)


def _temporary_option(folder: Path) -> list[str]:
    """Return the option for a temporary folder of Java, unless the environment has one."""
    if any(f"-D{JAVA_TEMPORARY}=" in os.environ.get(name, "") for name in _JAVA_VARIABLES):
        return []
    return [f"-D{JAVA_TEMPORARY}={folder}"]


def await_address(address: Path, process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Wait until the JVM has written its address, and return its port and secret.

    Raises:
        JvmEndedError: the process ended.
    """
    while not address.is_file():
        if process.poll() is not None:
            raise JvmEndedError(f"the JVM ended with the status {process.returncode}")
        time.sleep(0.02)
    data = address.read_bytes()
    (port, length), text = struct.unpack("!ii", data[:8]), data[8:]
    return port, text[:length].decode()


def end_accumulators(context: Any) -> None:
    """End the server of a SparkContext's accumulators, which PySpark waits for up to half a second, in the background.

    A Unix socket is a file, so that its server is waited for.
    """
    server, context._accumulatorServer = getattr(context, "_accumulatorServer", None), None
    if server is None:  # as after a stop
        return
    if server.address_family in (socket.AF_INET, socket.AF_INET6):
        threading.Thread(target=server.shutdown, name="dbt-ducklake-accumulators", daemon=True).start()
    else:
        server.shutdown()


def cache_names(jvm: Any) -> None:
    """Store the classes of `CACHED_NAMES` as attributes of Py4J's JVM object.

    So Py4J does not ask the JVM for each name at each use.

    Names that this Spark lacks are skipped. A name without its package, such as `functions`, is slow: the JVM searches all jars once for
    each imported package.
    """
    from py4j.protocol import Py4JError

    for name in CACHED_NAMES:
        with contextlib.suppress(Py4JError):
            java_class(jvm, name)


def java_class(jvm: Any, name: str) -> Any:
    """Return a Java class by its full name, for which the JVM is asked once and not for each package; without one, a Py4J package.

    Args:
        jvm: Py4J's JVM object, which caches the class.
        name: such as `java.nio.ByteOrder`.
    """
    known = vars(jvm).get(name)
    if known is not None:
        return known

    from py4j.java_gateway import JavaClass, JavaMember

    class CachedClass(JavaClass):
        """A class that asks for the name of each static method once."""

        def __getattr__(self, name: str) -> Any:
            member = super().__getattr__(name)  # type: ignore[no-untyped-call]  # Py4J has no types
            if isinstance(member, JavaMember):
                setattr(self, name, member)
            return member

    found = getattr(jvm, name)
    if isinstance(found, JavaClass):
        found = CachedClass(found._fqn, found._gateway_client)  # type: ignore[no-untyped-call]
        setattr(jvm, name, found)
    return found
