"""The sessions of this process's Spark application, which starts with the first one.

Each caller gets a new session with its own temporary views and configuration; the application, its cache and its executors are shared.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...errors import EngineError
from .application import Application
from .connect import is_closed_by_server, is_connect, is_lost_session
from .java import require_pair
from .jvm import cache_names
from .s3_secrets import S3Secret
from .scopes import Scope, Scopes
from .sensitive import DEFAULT_OPTIONS_REDACTION, OPTIONS_REDACTION, REDACTED_BUCKETS, REDACTION
from .settings import SparkSettings
from .temporary_folder import TemporaryFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IDLE_SECONDS = 60.0
"""After this time without a statement, a Spark Connect server is asked whether it still has the session."""
SCRATCH = "spark.dbt.ducklake.scratch"
"""The session setting for a temporary directory that both this process and the driver's JVM can use; not set with Spark Connect."""


class SparkRuntime:
    """Creates sessions, and runs their jobs in scopes.

    Args:
        source: how to start Spark, or an existing session, which is never stopped or changed.
        owner: the project, with no other of which a kept Spark is shared.
    """

    def __init__(self, source: SparkSettings | SparkSession, owner: str = "") -> None:
        self._settings = source if isinstance(source, SparkSettings) else SparkSettings(master=None)
        self._given = None if isinstance(source, SparkSettings) else source
        self.application = Application(self._settings, owner, self._given, self.stop)
        self._scratch: TemporaryFolder | None = None
        self._clients: weakref.WeakSet[SparkSession] = weakref.WeakSet()
        """The usable sessions of Spark Connect. `stop` closes their connections, because Python would wait forever to do so at its end."""
        self._sessions: weakref.WeakSet[SparkSession] = weakref.WeakSet()
        """The sessions, whose settings `use_secrets` changes."""
        self._hadoop: dict[str, str] = {}
        """Settings of Hadoop, and the pattern that hides them, that were added after the start, for all sessions."""
        self._scopes = Scopes()
        self._lock = threading.RLock()
        self._scratch_lock = threading.Lock()
        """Protects only the scratch folder, so that `release` does not wait for a start of Spark."""

    @property
    def settings(self) -> SparkSettings:
        """The given settings; for an existing session, the defaults."""
        return self._settings

    @property
    def started(self) -> bool:
        """Whether Spark is available without starting it."""
        return self.application.base is not None

    @property
    def settings_are_known(self) -> bool:
        """Whether a new session has the settings of `SparkSettings.session_config`, and otherwise Spark's defaults."""
        return self.application.has_only_our_settings and (self.application.started_here or not self.started)

    def session(self) -> SparkSession:
        """Create a session configured for lakes; the first call starts Spark, and so does the first one after its process has ended.

        Raises:
            ConfigurationError: Spark cannot be started, or this process was forked from the process that started it.
        """
        with self._lock:
            session = self.application.session().newSession()
            if is_connect(session):
                self._clients.add(session)
            self._configure(session)
            self._sessions.add(session)
            return session

    def use_secrets(self, secrets: Iterable[S3Secret]) -> None:
        """Reach more buckets, in the sessions that exist and in new ones. The profile's settings of Spark take precedence.

        A given session, and the server of Spark Connect, have their own settings.
        """
        config = self._settings.config
        if self._given is not None or not self._settings.starts_jvm:
            return
        with self._lock:
            if REDACTION in config:  # a pattern of the profile may lack the keys, and cannot be changed after the start
                self._hadoop[OPTIONS_REDACTION] = f"{config.get(OPTIONS_REDACTION, DEFAULT_OPTIONS_REDACTION)}|{REDACTED_BUCKETS}"
            for secret in secrets:
                self._hadoop |= {
                    key.removeprefix("spark.hadoop."): value for key, value in secret.hadoop_settings().items() if key not in config
                }
            for session in [each for each in self._sessions if not self.has_lost(each)]:
                for key, value in self._hadoop.items():
                    _set(session, key, value)

    def has_lost(self, session: SparkSession, idle_seconds: float = 0) -> bool:
        """Whether a session of this runtime cannot be used any more.

        The end of Spark's process is only known if this Python process started it. A Spark Connect server is only asked after a while.

        Args:
            session: the session.
            idle_seconds: the time since its last statement.
        """
        if is_connect(session):
            if idle_seconds > IDLE_SECONDS and session in self._clients and is_closed_by_server(session):
                self._forget(session)
            return session not in self._clients
        with self._lock:
            if self._given is not None:
                return False
            base = self.application.base
            return self.application.has_ended or base is None or session.sparkContext is not base.sparkContext

    def has_stopped(self, session: SparkSession, error: Exception) -> bool:
        """Whether an error of a session came from the end of Spark. A Spark that has stopped is ended (`Application.end_stopped`)."""
        if is_connect(session):
            if is_lost_session(error):
                self._forget(session)
            return session not in self._clients
        with self._lock:
            self.application.end_stopped()
            return self.has_lost(session)

    def _forget(self, client: SparkSession) -> None:
        """Close the connection of a session of Spark Connect, which cannot be used any more."""
        self._clients.discard(client)
        with contextlib.suppress(Exception):
            client.client.close()

    def start_early(self) -> None:
        """Start Spark in another thread, so that a later `session` waits less. An error is left to `session`, which tries again."""
        self.application.start_early(self.session)

    def scope(self, session: SparkSession, group: str, description: str) -> contextlib.AbstractContextManager[Scope]:
        """Run all jobs of the calling thread in a job group and a scheduler pool, until the block ends; scopes can be nested.

        Args:
            session: the session that runs the jobs.
            group: the name to pass to `cancel`.
            description: the jobs' description in Spark's UI.
        """
        return self._scopes.open(session, group, description)

    def cancel(self, group: str) -> None:
        """Cancel all open scopes of `group`, from any thread: their jobs stop, and no further step starts."""
        self._scopes.cancel(group)

    def stop(self) -> None:
        """Stop Spark if this runtime started it, and remove its scratch directory. A later `session()` starts Spark again."""
        with self._lock:
            if not self.application.is_of_this_process:
                return
            for client in list(self._clients):  # the method `stop` of one would also end a server that PySpark has started for all
                with contextlib.suppress(Exception):
                    client.client.release_session()
                self._forget(client)
            self.application.stop()
            self.release()

    def release(self) -> None:
        """Remove the scratch folder, and leave Spark running or starting. A later `session()` makes another folder."""
        with self._scratch_lock:
            scratch, self._scratch = self._scratch, None
            if scratch is not None:
                scratch.remove()

    def __enter__(self) -> SparkRuntime:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _configure(self, session: SparkSession) -> None:
        if not is_connect(session):
            cache_names(session.sparkContext._jvm)
            if self._given is not None:
                _copy_sql_settings(self._given, session)
            session.conf.set(SCRATCH, str(self._scratch_folder(session).path))
        for key, value in {**self._settings.session_config(), **self._hadoop}.items():
            _set(session, key, value)

    def _scratch_folder(self, session: SparkSession) -> TemporaryFolder:
        """Return the scratch folder; make it for the first session, after its Java is checked."""
        with self._scratch_lock:
            if self._scratch is None:
                _require_java(session)
                self._scratch = TemporaryFolder()
            return self._scratch


def _require_java(session: SparkSession) -> None:
    """Require a suitable Java of a Spark that somebody else may have started."""
    context: Any = session.sparkContext
    require_pair(context._jvm.java.lang.System.getProperty("java.version"), session.version, "The running Spark")


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
