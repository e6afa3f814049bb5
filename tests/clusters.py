"""A standalone Spark cluster and a Spark Connect server for tests, from the installed PySpark.

The machines of a real cluster have Spark and nothing of this project. So the processes here have an environment of their own, without this
project's packages, and run as another user if the tests run as root.
"""

from __future__ import annotations

import functools
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbt.adapters.ducklake.spark.session.java import find_java
from dbt.adapters.ducklake.spark.session.jvm import spark_home

START_SECONDS = 180
QUICK_JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""The JVM's first compiler alone: a short life needs half the CPU time."""
CONNECT_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@functools.cache
def other_user() -> str | None:
    """Return a user without rights who can run this Spark, if the tests run as root; None: the processes run as the user of the tests."""
    if os.name != "posix" or os.geteuid() != 0:
        return None
    try:
        pwd.getpwnam("nobody")
    except KeyError:
        return None
    readable = ["sh", "-c", 'test -r "$0/bin/spark-class" && "$1/bin/java" -version', str(spark_home()), str(find_java().home)]
    return "nobody" if _runs(readable, "nobody") else None


@functools.cache
def bare_python() -> str:
    """Return a Python of this version, without any package, that the user of the cluster can run."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (f"/usr/bin/{name}", os.path.realpath(sys.executable)):
        if _runs([python, "-I", "-c", "pass"], other_user()):
            return python
    return name


def _runs(command: list[str], user: str | None) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=60, check=False, cwd="/", **_as(user)).returncode == 0
    except OSError:
        return False


def _as(user: str | None) -> dict[str, Any]:
    return {} if user is None else {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


@dataclass
class Daemon:
    """A process of a cluster, which writes its log to a file."""

    process: subprocess.Popen[bytes]
    log: Path

    def await_line(self, pattern: str) -> re.Match[str]:
        """Wait for a line of the log."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            found = re.search(pattern, self.log.read_text(errors="replace"))
            if found is not None:
                return found
            assert self.process.poll() is None, self.log.read_text(errors="replace")[-3000:]
            time.sleep(0.1)
        raise AssertionError(f"no {pattern!r} in:\n{self.log.read_text(errors='replace')[-3000:]}")

    def children(self) -> list[int]:
        """Return the ids of the processes that this process has started: of a worker, the executors."""
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True, check=False)
        return [int(each) for each in listed.stdout.split()]

    def kill(self) -> None:
        """End the process at once, as a machine that fails does."""
        self.process.kill()
        self.process.wait()


@dataclass
class Machines:
    """Starts processes with a folder of their own that they share with nobody, and ends all of them."""

    folder: Path
    user: str | None
    stack: ExitStack
    daemons: list[Daemon] = field(default_factory=list)

    def start(self, name: str, arguments: list[str], environment: Mapping[str, str] | None = None) -> Daemon:
        """Start a class of Spark; `spark-class` replaces itself by its JVM."""
        home = self.folder / name
        home.mkdir()
        if self.user is not None:
            shutil.chown(home, self.user)
        own = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "TMPDIR": str(home),
            "JAVA_HOME": str(find_java().home),
            "SPARK_HOME": str(spark_home()),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(home),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"{QUICK_JAVA} -Djava.io.tmpdir={home}",
            **(environment or {}),
        }
        log = self.folder / f"{name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [str(spark_home() / "bin" / "spark-class"), *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                cwd=home,
                env=own,
                start_new_session=True,
                **_as(self.user),
            )
        daemon = Daemon(process, log)
        self.stack.callback(_end, process)
        self.daemons.append(daemon)
        return daemon

    def work_folder(self, worker: int) -> Path:
        """Return the folder of a worker."""
        return self.folder / f"worker{worker}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and the processes of its session, such as a worker's executors."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def machines(user: str | None) -> Iterator[Machines]:
    """Yield a starter of processes that run as `user`; at the end all of them are ended, and their folders removed."""
    folder = Path(tempfile.mkdtemp(prefix="cluster-"))
    folder.chmod(0o755)
    try:
        with ExitStack() as stack:
            yield Machines(folder, user, stack)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Cluster:
    """A running master with its workers."""

    url: str
    master: Daemon
    workers: list[Daemon]

    def executors(self) -> list[int]:
        """Return the process ids of the executors."""
        return [pid for worker in self.workers if worker.process.poll() is None for pid in worker.children()]


@contextmanager
def cluster(user: str | None, workers: int = 2) -> Iterator[Cluster]:
    """Run a master and workers with one core each, on free ports."""
    with machines(user) as starter:
        address = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        master = starter.start("master", ["org.apache.spark.deploy.master.Master", *address])
        url = master.await_line(r"Starting Spark master at (spark://\S+)")[1]
        size = ["--cores", "1", "--memory", "1g"]
        started = [
            starter.start(
                f"worker{number}",
                ["org.apache.spark.deploy.worker.Worker", *address, *size, "--work-dir", str(starter.work_folder(number)), url],
            )
            for number in range(workers)
        ]
        for worker in started:
            worker.await_line("Successfully registered with master")
        yield Cluster(url, master, started)


@dataclass
class ConnectServer:
    """A Spark Connect server, which keeps its port when it starts again."""

    machines: Machines
    arguments: list[str]
    environment: Mapping[str, str]
    port: int = 0
    starts: int = 0

    @property
    def address(self) -> str:
        return f"sc://127.0.0.1:{self.port}"

    def start(self) -> Daemon:
        self.starts += 1
        arguments = ["org.apache.spark.deploy.SparkSubmit", "--class", CONNECT_SERVER, *self.arguments]
        arguments += ["--conf", f"spark.connect.grpc.binding.port={self.port}", "spark-internal"]
        server = self.machines.start(f"connect{self.starts}", arguments, {"SPARK_DAEMON_MEMORY": "768m", **self.environment})
        self.port = int(server.await_line(r"Spark Connect server started at: \S*:(\d+)\s")[1])
        return server

    def restart(self) -> None:
        """Kill the process, and start another one."""
        self.machines.daemons[-1].kill()
        self.start()


@contextmanager
def connect_server(master: str, user: str | None, config: Mapping[str, str], environment: Mapping[str, str]) -> Iterator[ConnectServer]:
    """Run a Spark Connect server.

    Args:
        master: the master of its Spark.
        user: the user of the process.
        config: the Spark settings of the server.
        environment: further environment variables.
    """
    settings = {"spark.connect.grpc.binding.address": "127.0.0.1", "spark.ui.enabled": "false"}
    settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.extraJavaOptions": QUICK_JAVA, **config}
    with machines(user) as starter:
        if "spark.jars" in settings:  # the user may not be able to read the files of the tests
            jars = starter.folder / "jars"
            jars.mkdir()
            settings["spark.jars"] = ",".join(shutil.copy(jar, str(jars)) for jar in settings["spark.jars"].split(","))
        conf = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
        server = ConnectServer(starter, ["--master", master, *conf], environment)
        server.start()
        yield server
