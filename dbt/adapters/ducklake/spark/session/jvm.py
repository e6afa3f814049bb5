"""The process of Spark's driver: start it with `spark-submit`, as PySpark does, and attach PySpark to it.

PySpark starts and attaches in one call. Here these are two steps, so that a start can be ended before it is complete.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import IO, Any

from ...errors import ConfigurationError
from .private_settings import submit_arguments

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
LAUNCHER_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For the JVM that only computes the command line for the driver's JVM."""


class JvmEndedError(Exception):
    """The JVM ended before PySpark could attach to it."""


@dataclass(frozen=True)
class Jvm:
    """A JVM that PySpark can attach to. It ends when its standard input is closed, also by the end of the process that started it.

    Args:
        process: the JVM or its keeper, or the lease of a kept one.
        port: where it listens.
        secret: what clients must send.
        has_context: whether it already has a SparkContext, of an earlier command.
    """

    process: Any
    port: int
    secret: str
    has_context: bool = False

    def attach(self) -> Any:
        """Return PySpark's gateway to the JVM.

        PySpark's function reads the address from the environment. A copy of it gets an environment of its own, because this may be a
        background thread, and dbt's main thread iterates over `os.environ`, which fails if a variable is removed meanwhile.
        """
        from pyspark.java_gateway import launch_gateway

        environment = {**os.environ, "PYSPARK_GATEWAY_PORT": str(self.port), "PYSPARK_GATEWAY_SECRET": self.secret}
        names = {**launch_gateway.__globals__, "os": SimpleNamespace(environ=environment)}
        gateway: Any = FunctionType(launch_gateway.__code__, names, argdefs=launch_gateway.__defaults__)()
        gateway.proc = self.process
        return gateway

    def end(self, seconds: float) -> None:
        """Let the JVM exit, and wait for it."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait(timeout=seconds)


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


def command_and_environment(java_home: Path, config: Mapping[str, str], address: Path) -> tuple[list[str], dict[str, str]]:
    """Return the command that starts a JVM, and its environment.

    Args:
        java_home: the Java.
        config: the Spark configuration at the start.
        address: the file to which the JVM writes its port and secret, in a folder that only the user can read.
    """
    script = "spark-submit.cmd" if os.name == "nt" else "spark-submit"
    command = [str(spark_home() / "bin" / script)]
    command += submit_arguments(address.parent, config)
    launcher = f"{LAUNCHER_OPTIONS} {os.environ.get('SPARK_LAUNCHER_OPTS', '')}".strip()
    own = {"JAVA_HOME": str(java_home), "SPARK_CONNECT_MODE": "0", "SPARK_LAUNCHER_OPTS": launcher}
    return command, {**os.environ, **own, "_PYSPARK_DRIVER_CONN_INFO_PATH": str(address)}


def spawn(command: list[str], variables: Mapping[str, str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a process that Ctrl-C does not end, although the terminal sends it to all processes.

    A shell ignores the signal, and the JVM inherits that. `preexec_fn` could do the same, but it can deadlock if the process has threads.
    """
    flags = 0
    if os.name == "nt":
        flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    else:
        command = ["/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh", *command]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, env=variables, creationflags=flags)


Spawn = Callable[[list[str], Mapping[str, str], IO[bytes]], "subprocess.Popen[bytes]"]
"""Starts a command with an environment, and with a file for its output."""


def start_jvm(java_home: Path, config: Mapping[str, str], log: IO[bytes], started: Any = None, spawn: Spawn = spawn) -> Jvm:
    """Start a JVM and wait until PySpark can attach to it.

    Args:
        java_home: the Java.
        config: the Spark configuration at the start.
        log: the file for the JVM's output.
        started: called with the process as soon as it exists; ending the process ends the wait.
        spawn: starts the process, which must end when the JVM does, and the JVM with it.

    Raises:
        JvmEndedError: the process ended.
        OSError: the process could not be started.
    """
    folder = Path(tempfile.mkdtemp(prefix="dbt-ducklake-"))
    try:
        address = folder / "address"
        command, variables = command_and_environment(java_home, config, address)
        process = spawn(command, variables, log)
        if started is not None:
            started(process)
        port, secret = await_address(address, process)
        return Jvm(process, port, secret)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
