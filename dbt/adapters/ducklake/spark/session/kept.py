"""Share a Spark JVM that outlives the command that started it with later commands of the same settings (`keep_alive`).

A JVM serves one command at a time, and only commands of one user, project, working directory, Java, Python, environment and Spark
configuration: `place_of` has the whole list. A separate process, the keeper (`keeper.py`), owns the JVM. Its socket is in a folder that
only the user can open.
"""

from __future__ import annotations

import hashlib
import logging
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast
from uuid import uuid4

from ...errors import ConfigurationError
from .java import Java, cache_directory
from .jvm import Jvm, end_accumulators, spark_home, spawn
from .temporary_folder import TemporaryFolder

if TYPE_CHECKING:
    from pyspark import SparkContext

logger = logging.getLogger(__name__)

ENVIRONMENT = (
    "AWS_", "AZURE_", "GOOGLE_", "CLOUDSDK_", "HADOOP_", "HIVE_", "YARN_", "KRB5", "SPARK_", "PYSPARK_", "PYTHON", "JAVA_", "JDK_",
    "LD_", "DYLD_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_", "PATH", "HOME", "USER", "LANG", "LC_", "TZ", "TMPDIR", "VIRTUAL_ENV",
    "CONDA_",
)  # fmt: skip
"""The prefixes of the environment variables that a JVM and its Python workers may depend on."""
SET_BY_PYSPARK = ("SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE")
"""Environment variables that PySpark sets in a process that uses Spark."""
MAX_COMMANDS = 100
"""The number of commands after which a kept JVM ends."""
ANSWER_SECONDS = 5
"""The timeout for an answer of a keeper."""
MAX_PATH_BYTES = 100
"""The longest path of a Unix socket is 104 bytes on macOS and 108 on Linux."""


class Lease:
    """The use of a kept JVM by this process, with the part of Popen's interface that `SparkRuntime` needs."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.returncode: int | None = None
        """Not None after the JVM or its keeper has ended."""

    def poll(self) -> int | None:
        """Return None while the JVM runs."""
        if self.returncode is None:
            try:
                ended = not self._connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except BlockingIOError:
                ended = False
            except OSError:
                ended = True
            self.returncode = 1 if ended else None
        return self.returncode

    def kill(self) -> None:
        """End the JVM."""
        self._connection.close()

    def end(self) -> None:
        """Leave the JVM to the next command."""
        from .keeper import send

        send(self._connection, {"want": "end"})
        self._connection.close()


@dataclass(frozen=True)
class Place:
    """Where the keeper of some settings listens."""

    key: str
    idle_seconds: float

    @property
    def socket(self) -> Path:
        """The path of the keeper's socket."""
        return folder() / f"{self.key}.socket"

    def lease(self) -> Jvm | None:
        """Return the kept JVM; None if none is kept, or if another command uses it."""
        connection = _connect(self.socket)
        if connection is None:
            return None
        answer = _ask(connection, "lease")
        if "port" not in answer:
            connection.close()
            return None
        connection.settimeout(None)
        return Jvm(Lease(connection), answer["port"], answer["secret"], has_context=True)


class Keeping:
    """Starts a keeper that starts a JVM, for `start_jvm`.

    Args:
        place: where the keeper listens.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._lease: socket.socket | None = None

    def spawn(self, command: list[str], variables: Mapping[str, str], log: IO[bytes], folder: TemporaryFolder) -> subprocess.Popen[bytes]:
        """Start a keeper that runs the command; if these settings already have a keeper, run the command without one.

        The arguments and errors are those of `jvm.spawn`.

        Returns:
            The process of the keeper, or of the command if it has none.
        """
        from .keeper import Order, __file__, read, send

        if self._lease is not None:  # of a keeper whose command has failed
            self._lease.close()
            self._lease = None
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-I", __file__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=variables,
                pass_fds=[theirs.fileno(), *folder.descriptors],
                start_new_session=True,
            )
        place = self._place.socket
        order = Order(
            command,
            str(place),
            str(place.with_suffix(".lock")),
            str(folder.path),
            list(folder.descriptors),
            self._place.idle_seconds,
            MAX_COMMANDS,
        )
        send(ours, asdict(order))
        if (read(ours) or {}).get("started"):
            self._lease = ours
            return process
        ours.close()
        process.wait()
        return spawn(command, variables, log, folder)

    def kept(self, jvm: Jvm) -> Jvm:
        """Tell the keeper the address of the JVM that `spawn` started, and return the JVM with its lease."""
        from .keeper import send

        if self._lease is None:
            return jvm
        send(self._lease, {"port": jvm.port, "secret": jvm.secret})
        if jvm.folder is not None:
            jvm.folder.hand_over()
        return Jvm(Lease(self._lease), jvm.port, jvm.secret)


def place_of(java: Java, config: Mapping[str, str], owner: str, idle_seconds: float, *others: object) -> Place:
    """Return the place of the keeper for these settings.

    Args:
        java: the Java installation.
        config: the Spark configuration at the start; the place's name has only a hash of it.
        owner: the project.
        idle_seconds: how many seconds an unused JVM is kept.
        others: further values that must be equal for two commands to share a JVM.
    """
    environment = {name: value for name, value in os.environ.items() if _is_of_place(name) and name not in SET_BY_PYSPARK}
    parts = [
        (str(java.home), java.version, str(spark_home()), version("pyspark"), version("dbt-ducklake"), sys.executable),
        (owner, os.getcwd(), sorted(config.items()), others),
        sorted(environment.items()),
    ]
    return Place(hashlib.sha256(repr(parts).encode()).hexdigest()[:16], idle_seconds)


def folder() -> Path:
    """Return the folder of the sockets, which is created if necessary.

    Raises:
        ConfigurationError: it cannot be created, is not private, or its path is too long for a socket.
    """
    path = cache_directory() / "spark"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"`keep_alive` cannot create a folder: {error}. Set XDG_CACHE_HOME to a folder that can be written"
        ) from error
    if not _is_private(path):
        raise ConfigurationError(f"`keep_alive` needs a folder that only you can open. Run `chmod 700 {path}` as its owner, or remove it")
    if len(os.fsencode(path)) > MAX_PATH_BYTES - 24:
        raise ConfigurationError(f"`keep_alive` cannot put a socket into {path}: the path is too long. Set XDG_CACHE_HOME to a shorter one")
    return path


def states() -> Iterator[dict[str, Any]]:
    """Yield the state of each JVM that is kept for this user.

    Yields:
        `pid`, `started` (Unix seconds), `commands` (how many it has served), and `idle_seconds` (None: a command uses it).
    """
    return _all("status")


def stop_all() -> list[dict[str, Any]]:
    """End the JVMs of this user that no command uses, and return the state of each, with `stopped`."""
    return list(_all("stop"))


def context_of(gateway: Any) -> SparkContext:
    """Return a PySpark context for that of a kept JVM. Its new default session shows nothing of earlier commands."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    jvm = gateway.jvm
    java_context = jvm.JavaSparkContext(jvm.org.apache.spark.SparkContext.getOrCreate())
    context = SparkContext(conf=SparkConf(_jconf=java_context.getConf()), gateway=gateway, jsc=java_context)
    SparkSession(context, jvm.SparkSession.getDefaultSession().get().newSession())
    return context


def separate_workers(context: SparkContext) -> None:
    """Give the Python functions of this command workers of their own, with its environment.

    Workers do not import changed modules again. They inherit the environment of the JVM, in which a variable can be set, but not unset.
    """
    inherited = dict(cast(Any, context._jvm).System.getenv())
    own = {**dict.fromkeys(inherited, ""), **os.environ}
    changed = {name: value for name, value in own.items() if not _is_of_place(name) and inherited.get(name) != value}
    context.environment = {**changed, **context.environment, "DBT_DUCKLAKE_COMMAND": uuid4().hex}


def leave(lease: Lease) -> None:
    """End a lease: stop its jobs, clear what sessions share, and make PySpark forget the JVM. If that fails, the JVM ends."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context, session, jvm = SparkContext._active_spark_context, SparkSession._instantiatedSession, SparkContext._jvm
    try:
        if context is None or session is None or jvm is None or context._jsc.sc().isStopped():
            raise ConfigurationError("a statement has stopped Spark")
        context.cancelAllJobs()
        session.catalog.clearCache()
        for row in session.sql("SHOW VIEWS IN global_temp").collect():
            session.catalog.dropGlobalTempView(row.viewName)
        for worker in jvm.java.lang.ProcessHandle.current().children().toArray():
            worker.destroy()  # Python workers of this command
        end_accumulators(context)
        lease.end()
    except Exception as error:
        logger.debug(f"The kept Spark ends: {type(error).__name__}: {error}")
        lease.kill()
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = None


def _is_of_place(name: str) -> bool:
    """Whether only commands with the same value of an environment variable share a JVM."""
    return name.upper().startswith(ENVIRONMENT)


def _all(want: str) -> Iterator[dict[str, Any]]:
    place = cache_directory() / "spark"
    try:
        paths = sorted(place.glob("*.socket")) if os.name == "posix" and _is_private(place) else []
    except OSError:
        return
    for path in paths:
        connection = _connect(path)
        if connection is not None:
            with connection:
                answer = _ask(connection, want)
            if answer:
                yield answer


def _is_private(path: Path) -> bool:
    state = path.stat()
    return state.st_uid == os.getuid() and not stat.S_IMODE(state.st_mode) & 0o077


def _connect(path: Path) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(ANSWER_SECONDS)
    try:
        connection.connect(str(path))
    except OSError:
        connection.close()
        return None
    return connection


def _ask(connection: socket.socket, want: str) -> dict[str, Any]:
    from .keeper import read, send

    send(connection, {"want": want})
    return read(connection) or {}
