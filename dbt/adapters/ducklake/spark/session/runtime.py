"""The Spark application of this process: started when the first statement needs it, and stopped only if we started it.

Each caller gets a new session with its own temporary views and configuration; the application, its cache and its executors are shared.
PySpark pins each Python thread to a JVM thread, so the job group and pool of a `scope` apply only to the calling thread.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import logging
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from subprocess import Popen
from typing import TYPE_CHECKING, Any, cast

from ...errors import CancelledError, ConfigurationError, EngineError
from .java_names import cache_names
from .jvm import Jvm
from .kept import Lease, context_of, leave, separate_workers
from .launch import forget_jvm, has_own_settings, launch, running_jvm
from .private_settings import private_settings
from .settings import SparkSettings
from .temporary_folder import TemporaryFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

SCRATCH = "spark.dbt.ducklake.scratch"
"""The session setting for a temporary directory that both this process and the driver's JVM can use; not set with Spark Connect."""
INTERRUPT_SECONDS = 0.5
"""The interval between interrupts of a cancelled Spark Connect statement until it ends."""
END_SECONDS = 20
"""The longest time to wait at exit for the thread that was starting Spark."""
_STARTING = threading.Lock()
"""One start at a time, also by runtimes of different adapters: a process has one Spark application."""
NOISY_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""PySpark's loggers that write each exception to stderr as JSON."""


class Scope:
    """The jobs of one statement (`SparkRuntime.scope`). They are in a new job group, because a cancelled group accepts no more jobs."""

    _numbers = itertools.count(1)

    def __init__(self, group: str, session: SparkSession) -> None:
        self.group = f"{group}-{next(Scope._numbers)}"
        self._session = session
        self._cancelled = threading.Event()
        self._ended = threading.Event()

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called for this scope."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Stop the running jobs of the statement, and all jobs that it starts later."""
        self._cancelled.set()
        if is_connect(self._session):
            threading.Thread(target=self._interrupt, daemon=True).start()
        else:
            self._session.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(self.group)

    def end(self) -> None:
        """Mark the end of the statement: no more jobs follow."""
        self._ended.set()

    def _interrupt(self) -> None:
        """Interrupt repeatedly until the statement has ended, because Spark Connect interrupts only running jobs."""
        while True:
            self._session.interruptTag(_tag(self.group))
            if self._ended.wait(INTERRUPT_SECONDS):
                return

    def check(self) -> None:
        """Raise an error if the statement was cancelled. Called between two steps.

        Raises:
            CancelledError: the statement was cancelled.
        """
        if self.cancelled:
            raise CancelledError("The statement was cancelled; nothing was committed")


class SparkRuntime:
    """Owns the Spark application of this process.

    Args:
        source: how to start Spark, or an existing session, which is never stopped or changed.
        owner: the project, with no other of which a kept Spark is shared.
    """

    def __init__(self, source: SparkSettings | SparkSession, owner: str = "") -> None:
        self._owner = owner
        self._settings = source if isinstance(source, SparkSettings) else SparkSettings(master=None)
        self._base: SparkSession | None = None if isinstance(source, SparkSettings) else source
        self._given = self._base
        self._started_here = False
        self._is_alone = self._settings.is_local and not has_own_settings()
        self._scratch: TemporaryFolder | None = None
        self._lock = threading.RLock()
        self._clients: weakref.WeakSet[SparkSession] = weakref.WeakSet()
        """The sessions of Spark Connect. Python cannot close their connections after its threads have ended: it would wait for ever."""
        self._scopes: dict[str, list[Scope]] = {}
        self._pools: set[int] = set()
        """The numbers of the scheduler pools that open scopes use."""
        self._scopes_lock = threading.Lock()
        self._pid = os.getpid()
        self._early: threading.Thread | None = None
        self._process: Popen[bytes] | Lease | None = None
        """The JVM or its keeper, if this process started it, also for another runtime, or the use of a kept one."""
        self._ended = False
        self.notify: Callable[[str], None] = logger.warning
        """Receives a message when Spark starts again because its process has ended."""

    @property
    def settings(self) -> SparkSettings:
        """The given settings; for an existing session, the defaults."""
        return self._settings

    @property
    def started(self) -> bool:
        """Whether Spark is available without starting it."""
        return self._base is not None

    @property
    def settings_are_known(self) -> bool:
        """Whether a new session has the settings of `SparkSettings.session_config`, and otherwise Spark's defaults."""
        return self._is_alone and (self._started_here or not self.started)

    def session(self) -> SparkSession:
        """Create a session configured for lakes; the first call starts Spark, and so does the first one after its process has ended.

        Raises:
            ConfigurationError: Spark cannot be started, or this process was forked from the process that started it.
        """
        with self._lock:
            self._forget_ended()
            if self._base is None:
                self._pid = os.getpid()
                self._start()
            elif self._pid != os.getpid():
                raise ConfigurationError(
                    "Spark was started before this process was forked, and cannot be shared with the process it came from. "
                    "Start Spark after the fork, or start processes with the `spawn` method"
                )
            base = self._base
            assert base is not None
            session = base.newSession()
            if is_connect(session):
                self._clients.add(session)
            self._configure(session)
            return session

    def has_lost(self, session: SparkSession) -> bool:
        """Whether the process that a session of this runtime needs has ended. Only known if this Python process started it."""
        with self._lock:
            if self._given is not None or is_connect(session):
                return False
            return self._has_ended() or (self._base is not None and session.sparkContext is not self._base.sparkContext)

    def start_early(self) -> None:
        """Start Spark in another thread, so that a later `session` waits less. An error is left to `session`, which tries again."""
        if self._early is None and self._base is None and self._settings.remote is None:
            self._early = threading.Thread(target=self._start_early, name="dbt-ducklake-start", daemon=True)
            atexit.register(self._end_early)
            self._early.start()

    @contextlib.contextmanager
    def scope(self, session: SparkSession, group: str, description: str) -> Iterator[Scope]:
        """Run all jobs of the calling thread in a job group and a scheduler pool, until the block ends; scopes can be nested.

        Scopes that are open at the same time have different pools, which share the resources fairly. Spark never removes a pool, so later
        scopes use the same ones.

        Args:
            session: the session that runs the jobs.
            group: the name to pass to `cancel`.
            description: the jobs' description in Spark's UI.
        """
        scope = Scope(group, session)
        with self._scopes_lock:
            self._scopes.setdefault(group, []).append(scope)
            pool = next(number for number in itertools.count(1) if number not in self._pools)
            self._pools.add(pool)
        try:
            with (
                _tagged(session, scope.group)
                if is_connect(session)
                else _grouped(session, f"dbt-ducklake-{pool}", scope.group, description)
            ):
                yield scope
        finally:
            scope.end()
            with self._scopes_lock:
                self._pools.remove(pool)
                rest = [other for other in self._scopes[group] if other is not scope]
                if rest:
                    self._scopes[group] = rest
                else:
                    del self._scopes[group]

    def cancel(self, group: str) -> None:
        """Cancel all open scopes of `group`, from any thread: their jobs stop, and no further step starts."""
        with self._scopes_lock:
            scopes = list(self._scopes.get(group, []))
        for scope in scopes:
            scope.cancel()

    def stop(self) -> None:
        """Stop Spark if this runtime started it, and remove its scratch directory. A later `session()` starts Spark again."""
        with self._lock:
            if self._pid != os.getpid():
                return
            base, started_here = self._base, self._started_here
            self._base, self._started_here = self._given, False
            for client in list(self._clients):
                with contextlib.suppress(Exception):
                    client.stop()
            if base is not None and started_here:
                if isinstance(self._process, Lease):
                    leave(self._process)
                    self._process = None
                else:
                    with contextlib.suppress(Exception):
                        base.stop()
            self.release()
            atexit.unregister(self.stop)

    def release(self) -> None:
        """Remove the scratch folder, and leave Spark running. A later `session()` makes another folder."""
        with self._lock:
            scratch, self._scratch = self._scratch, None
            if scratch is not None:
                scratch.remove()

    def __enter__(self) -> SparkRuntime:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _has_ended(self) -> bool:
        return self._given is None and self._process is not None and self._process.poll() is not None

    def _forget_ended(self) -> None:
        """Forget Spark if its process has ended."""
        if self._pid == os.getpid() and self._has_ended():
            assert self._process is not None
            self.notify(f"Spark's process has ended with the status {self._process.returncode}; Spark starts again")
            if running_jvm() is self._process:
                forget_jvm()
            self._base, self._process, self._started_here = None, None, False

    def _start_early(self) -> None:
        with contextlib.suppress(Exception):
            self.session()
        atexit.unregister(self._end_early)

    def _end_early(self) -> None:
        """End the JVM that a thread of this process is still starting, and wait for the thread to clean up."""
        if self._early is None or self._pid != os.getpid():
            return
        self._ended = self._early.is_alive()
        if self._ended and self._process is not None:
            self._process.kill()
        self._early.join(END_SECONDS)

    def _on_process(self, process: Popen[bytes]) -> None:
        self._process = process
        if self._ended:
            process.kill()

    def _start(self) -> None:
        with _STARTING:
            self._start_alone()

    def _start_alone(self) -> None:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession

        _silence_loggers()
        try:
            if self._settings.remote is not None:
                self._base = _connect(self._settings)
                self._started_here = True
            else:
                self._started_here = self._start_classic()
                self._base = SparkSession.builder.getOrCreate()
                self._process = running_jvm()
        except (PySparkException, ImportError) as error:
            raise ConfigurationError(f"Spark could not be started: {error}") from error
        except ConfigurationError:
            self._process = None  # it did not start, which is no reason to start it again
            raise
        if self._started_here:
            atexit.register(self.stop)

    def _start_classic(self) -> bool:
        """Create a SparkContext unless this process has one, and return whether it was created."""
        from pyspark import SparkConf, SparkContext

        process = running_jvm()
        if process is not None and process.poll() is not None:
            forget_jvm()
        if SparkContext._active_spark_context is not None:
            return False
        jvm: Jvm | None = None
        if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
            jvm = launch(self._settings, self._owner, self._on_process)
            self._process = jvm.process
        gateway = None if jvm is None else jvm.attach()
        if jvm is not None and jvm.has_context:
            try:
                context = context_of(gateway)
            except Exception as error:
                logger.debug(f"The kept Spark cannot be used: {type(error).__name__}: {error}")
                jvm.process.kill()
                forget_jvm()
                return self._start_classic()
        else:
            config = self._settings.launch_config()
            conf = SparkConf(loadDefaults=gateway is None)
            for key, value in config.items():
                conf.set(key, value)
            context = SparkContext(conf=conf, gateway=gateway)
            context.setLogLevel(config.get("spark.log.level", "WARN"))
        if isinstance(self._process, Lease):
            separate_workers(context)
        if self._is_alone and "PYSPARK_PYTHON" not in os.environ and "spark.pyspark.python" not in self._settings.config:
            context.pythonExec = sys.executable  # PySpark would start the first `python3` of PATH, which may lack our packages
        return True

    def _configure(self, session: SparkSession) -> None:
        if not is_connect(session):
            cache_names(session.sparkContext._jvm)
            if self._given is not None:
                _copy_sql_settings(self._given, session)
            if self._scratch is None:
                self._scratch = TemporaryFolder()
            session.conf.set(SCRATCH, str(self._scratch.path))
        for key, value in self._settings.session_config().items():
            _set(session, key, value)


def is_connect(session: SparkSession) -> bool:
    """Whether the session is a Spark Connect client, without access to a JVM."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def _connect(settings: SparkSettings) -> SparkSession:
    from pyspark.sql import SparkSession

    assert settings.remote is not None
    builder = SparkSession.builder.remote(settings.remote).appName(settings.app_name)
    if settings.remote.startswith("local"):  # PySpark starts a server, and gives a builder's settings to it as arguments
        with private_settings(settings.config):
            return builder.getOrCreate()
    for key, value in settings.config.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _set(session: SparkSession, key: str, value: str) -> None:
    """Set a session setting; one that this version (TIME before 4.1) or service does not support is skipped.

    Raises:
        EngineError: the setting is required for matching columns by field id.
    """
    from pyspark.errors import PySparkException

    try:
        session.conf.set(key, value)
    except PySparkException as error:
        if key.endswith((".enabled", "ignoreMissing")) and "fieldId" in key:
            raise EngineError(f"This Spark does not allow setting {key}, which is required to read a lake: {error}") from error


def _copy_sql_settings(given: SparkSession, session: SparkSession) -> None:
    """Copy the settings that the caller changed in the given session, because `newSession` does not inherit them."""
    get_all = getattr(given.conf, "getAll", None)
    settings: Any = get_all() if callable(get_all) else get_all
    for key, value in dict(settings or {}).items():
        if key.startswith("spark.sql.") and not key.startswith("spark.sql.warehouse"):
            with contextlib.suppress(Exception):
                if session.conf.get(key, None) != value:
                    session.conf.set(key, value)


def _pool(number: int) -> str:
    """Return the name of a scheduler pool."""
    return f"dbt-ducklake-{number}"


@contextlib.contextmanager
def _grouped(session: SparkSession, pool: str, group: str, description: str) -> Iterator[None]:
    context = session.sparkContext
    keys = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel", "spark.scheduler.pool")
    before = {key: context.getLocalProperty(key) for key in keys}
    context.setJobGroup(group, description, interruptOnCancel=True)
    context.setLocalProperty("spark.scheduler.pool", pool)
    try:
        yield
    finally:
        for key, value in before.items():
            context.setLocalProperty(key, cast(str, value))  # None removes the property


@contextlib.contextmanager
def _tagged(session: SparkSession, group: str) -> Iterator[None]:
    session.addTag(_tag(group))
    try:
        yield
    finally:
        session.removeTag(_tag(group))


def _tag(group: str) -> str:
    """Return a valid Spark Connect tag for a job group: not empty and without commas."""
    return group.replace(",", ";") or "dbt-ducklake"


def _silence_loggers() -> None:
    """Disable `NOISY_LOGGERS`, because our errors contain the same messages."""
    from pyspark.logger import PySparkLogger

    for name in NOISY_LOGGERS:
        PySparkLogger.getLogger(name).disabled = True
