"""The one Spark of this process: started when the first statement needs it, a session of its own for each caller, stopped only if ours.

A session has its own temporary views and configuration; the Spark application, its cache and its executors are
shared. PySpark pins each Python thread to a JVM thread, so job groups and pools set in `scope` hold for the calling
thread only.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from ...errors import CancelledError, ConfigurationError, EngineError
from .launch import launch
from .settings import SparkSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCRATCH = "spark.dbt.ducklake.scratch"
"""Session configuration: a directory of this process that the driver's JVM can read; absent with Spark Connect."""
INTERRUPT_SECONDS = 0.5
"""How often a cancelled statement of Spark Connect is interrupted until it ends."""
NOISY_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


class Scope:
    """The work of one statement, as `SparkRuntime.scope` gives it. Its job group is its own: a cancelled group accepts no further job."""

    _numbers = itertools.count(1)

    def __init__(self, group: str, session: SparkSession) -> None:
        self.group = f"{group}-{next(Scope._numbers)}"
        self._session = session
        self._cancelled = threading.Event()
        self._ended = threading.Event()

    @property
    def cancelled(self) -> bool:
        """Somebody called `cancel` for this group since the scope began."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Stop the jobs that run, and those that the statement starts after this."""
        self._cancelled.set()
        if is_connect(self._session):
            threading.Thread(target=self._interrupt, daemon=True).start()
        else:
            self._session.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(self.group)

    def end(self) -> None:
        """No more jobs follow."""
        self._ended.set()

    def _interrupt(self) -> None:
        """Spark Connect interrupts only what runs already, so this repeats until the statement has ended."""
        while True:
            self._session.interruptTag(_tag(self.group))
            if self._ended.wait(INTERRUPT_SECONDS):
                return

    def check(self) -> None:
        """Between two steps: go no further if the statement was cancelled.

        Raises:
            CancelledError: it was.
        """
        if self.cancelled:
            raise CancelledError("The statement was cancelled; nothing was committed")


class SparkRuntime:
    """Owner of the process's Spark.

    Args:
        source: how to start Spark, or a session that exists. A session that we did not create is never stopped or
        changed.
    """

    def __init__(self, source: SparkSettings | SparkSession) -> None:
        self._settings = source if isinstance(source, SparkSettings) else SparkSettings(master=None)
        self._base: SparkSession | None = None if isinstance(source, SparkSettings) else source
        self._given = self._base
        self._ours = False
        self._scratch: str | None = None
        self._lock = threading.RLock()
        self._scopes: dict[str, list[Scope]] = {}
        self._pid = os.getpid()

    @property
    def settings(self) -> SparkSettings:
        """As given; for a session that existed, only defaults."""
        return self._settings

    @property
    def started(self) -> bool:
        """There is a Spark to use already; asking starts none."""
        return self._base is not None

    def session(self) -> SparkSession:
        """A new session, configured for lakes; the first call starts Spark.

        Raises:
            ConfigurationError: Spark cannot be started, or this process was forked from the one that started it.
        """
        with self._lock:
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
            self._configure(session, base)
            return session

    @contextlib.contextmanager
    def scope(self, session: SparkSession, pool: str, group: str, description: str) -> Iterator[Scope]:
        """Everything that the calling thread runs inside belongs to `group`, shows `description`, and shares `pool` fairly.

        Scopes nest: the former group comes back at the end.
        """
        scope = Scope(group, session)
        with self._lock:
            self._scopes.setdefault(group, []).append(scope)
        try:
            with _tagged(session, scope.group) if is_connect(session) else _grouped(session, pool, scope.group, description):
                yield scope
        finally:
            scope.end()
            with self._lock:
                rest = [other for other in self._scopes[group] if other is not scope]
                if rest:
                    self._scopes[group] = rest
                else:
                    del self._scopes[group]

    def cancel(self, group: str) -> None:
        """From any thread: stop the jobs of `group`, and mark its open scopes, so that no further step starts."""
        with self._lock:
            scopes = list(self._scopes.get(group, []))
        for scope in scopes:
            scope.cancel()

    def stop(self) -> None:
        """Stop what this runtime started, and remove its scratch directory. A later `session()` starts again."""
        with self._lock:
            if self._pid != os.getpid():
                return
            base, ours = self._base, self._ours
            self._base, self._ours = self._given, False
            if base is not None and ours:
                with contextlib.suppress(Exception):
                    base.stop()
            if self._scratch is not None:
                shutil.rmtree(self._scratch, ignore_errors=True)
                self._scratch = None
            atexit.unregister(self.stop)

    def __enter__(self) -> SparkRuntime:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _start(self) -> None:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession

        _silence_loggers()
        try:
            if self._settings.remote is not None:
                self._base = _connect(self._settings)
                self._ours = True
            else:
                self._ours = _start_classic(self._settings)
                self._base = SparkSession.builder.getOrCreate()
        except (PySparkException, ImportError) as error:
            raise ConfigurationError(f"Spark could not be started: {error}") from error
        atexit.register(self.stop)

    def _configure(self, session: SparkSession, base: SparkSession) -> None:
        if not is_connect(session):
            if self._given is not None:
                _copy_sql_settings(self._given, session)
            if self._scratch is None:
                self._scratch = tempfile.mkdtemp(prefix="dbt-ducklake-")
                atexit.register(self.stop)
            session.conf.set(SCRATCH, self._scratch)
        for key, value in self._settings.session_config().items():
            _set(session, key, value)


def is_connect(session: SparkSession) -> bool:
    """The session is a Spark Connect client: it has no JVM in reach."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def _start_classic(settings: SparkSettings) -> bool:
    """Make a SparkContext unless this process has one; returns whether it did."""
    from pyspark import SparkConf, SparkContext

    if SparkContext._active_spark_context is not None:
        return False
    config = settings.launch_config()
    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        gateway = launch(config, fast_start=settings.fast_start, log_path=settings.log_path)
    else:
        gateway = None
    conf = SparkConf(loadDefaults=gateway is None)
    for key, value in config.items():
        conf.set(key, value)
    context = SparkContext(conf=conf, gateway=gateway)
    context.setLogLevel(config.get("spark.log.level", "WARN"))
    return True


def _connect(settings: SparkSettings) -> SparkSession:
    from pyspark.sql import SparkSession

    assert settings.remote is not None
    builder = SparkSession.builder.remote(settings.remote).appName(settings.app_name)
    for key, value in settings.config.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _set(session: SparkSession, key: str, value: str) -> None:
    """A setting that this Spark does not have (TIME before 4.1) or does not let go of (a managed service) stays as it is."""
    from pyspark.errors import PySparkException

    try:
        session.conf.set(key, value)
    except PySparkException as error:
        if key.endswith((".enabled", "ignoreMissing")) and "fieldId" in key:
            raise EngineError(f"This Spark does not allow {key} to be set, which reading a lake needs: {error}") from error


def _copy_sql_settings(given: SparkSession, session: SparkSession) -> None:
    """What the owner of the session set after building it, which `newSession` does not inherit."""
    get_all = getattr(given.conf, "getAll", None)
    settings: Any = get_all() if callable(get_all) else get_all
    for key, value in dict(settings or {}).items():
        if key.startswith("spark.sql.") and not key.startswith("spark.sql.warehouse"):
            with contextlib.suppress(Exception):
                if session.conf.get(key, None) != value:
                    session.conf.set(key, value)


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
            context.setLocalProperty(key, cast(str, value))  # None removes it


@contextlib.contextmanager
def _tagged(session: SparkSession, group: str) -> Iterator[None]:
    session.addTag(_tag(group))
    try:
        yield
    finally:
        session.removeTag(_tag(group))


def _tag(group: str) -> str:
    """Tags may not hold commas nor be empty."""
    return group.replace(",", ";") or "dbt-ducklake"


def _silence_loggers() -> None:
    """PySpark logs every exception with a query context as JSON on stderr; our errors carry the text."""
    from pyspark.logger import PySparkLogger

    for name in NOISY_LOGGERS:
        PySparkLogger.getLogger(name).disabled = True
