"""Run a session's work in Spark: in its own Spark session and a job group that can be cancelled, with errors translated to ours."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import CancelledError, DuckLakeError, EngineError
from ..run.environment import SessionState
from ..spark.errors import lost_session, lost_spark, translate
from ..spark.session.connect import is_connect
from ..spark.session.node_settings import PreviousSettings, apply_settings, node_settings, restore_settings
from ..spark.session.progress import Progress, ProgressSource, progress_source
from ..spark.session.runtime import SparkRuntime
from ..spark.session.scopes import Scope
from .progress import WATCH, RunningWork

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


logger = logging.getLogger(__name__)


class SparkWork:
    """A Spark session that starts when it is needed. Only `cancel` may be called from another thread."""

    _numbers = itertools.count(1)

    def __init__(self, runtime: SparkRuntime, state: SessionState) -> None:
        self.runtime = runtime
        self.group = f"dbt-ducklake-{next(SparkWork._numbers)}"
        self._state = state
        self._spark: SparkSession | None = None
        self._last_used = 0.0
        """The end of the last statement, by `time.monotonic`."""
        self._settings: dict[str, str] = {}
        self._previous_settings: PreviousSettings = {}
        self._scopes: ExitStack | None = None
        self._scope: Scope | None = None
        self._description = ""
        self._progress: ProgressSource = lambda _group: None
        self._running_work: RunningWork | None = None
        self._cancelled = threading.Event()
        self.notify: Callable[[str], None] = logger.info
        """Receives messages about replays, and about the progress of long statements."""
        self.warn: Callable[[str], None] = logger.warning
        """Receives warnings about SQL that probably does not do what its author intended; each is given once per node."""
        self._warned: set[tuple[str | None, str]] = set()
        self.node: Callable[[], str | None] = lambda: None
        """Returns the node that the session works for."""

    @property
    @abstractmethod
    def in_transaction(self) -> bool:
        """Whether the next statement belongs to an open transaction."""

    def spark(self) -> SparkSession:
        """Return this session's Spark session; the first call starts Spark if it is not running, or if it has ended."""
        if self._spark is None:
            session = self.runtime.session()
            self._previous_settings = apply_settings(session, self._settings)
            self._spark, self._progress = session, progress_source(session)
            self._last_used = time.monotonic()
        if self._scopes is not None and self._scope is None:
            self._scope = self._scopes.enter_context(self.runtime.scope(self._spark, self.group, self._description))
        return self._spark

    def use_settings(self, given: Any) -> None:
        """Apply a mapping of Spark settings to this session and undo those of the previous call. This does not start Spark.

        Raises:
            ConfigurationError: `given` is not a mapping of settings, or reading a lake depends on one of them. Spark may refuse others
                when it starts.
            EngineError: Spark has ended, and an open transaction needs what its session had.
        """
        settings = node_settings(given)
        if settings == self._settings:
            return
        self._forget_lost_spark()
        self._state.setting_changes += 1
        if self._spark is not None:
            previous, self._previous_settings, self._settings = self._previous_settings, {}, {}
            restore_settings(self._spark, previous)
            self._previous_settings = apply_settings(self._spark, settings)
        self._settings = settings

    def cancel(self) -> None:
        """Stop the running statement, from any thread; it fails with CancelledError and commits nothing.

        In a transaction all later statements and COMMIT fail as well, even if none runs now; ROLLBACK ends it.
        """
        self._cancelled.set()
        self.runtime.cancel(self.group)

    def require_spark(self, error: Exception) -> None:
        """Raise the error that Spark has ended, if that is why a statement has failed; the next statement starts Spark or a session again.

        Raises:
            EngineError: Spark has stopped, its process has ended, or a Spark Connect server has closed the session.
        """
        if self._spark is not None and not self._cancelled.is_set() and self.runtime.has_stopped(self._spark, error):
            raise (lost_session() if is_connect(self._spark) else lost_spark()) from error

    def _forget_lost_spark(self) -> None:
        """Forget the Spark session if it cannot be used any more, so that the next statement that needs one starts another.

        Raises:
            EngineError: an open transaction needs what the session had.
        """
        if self._spark is None or not self.runtime.has_lost(self._spark, time.monotonic() - self._last_used):
            return
        lost_rows, lost_settings = bool(self._state.cached), self._state.settings_of_transaction
        self._spark, self._previous_settings = None, {}
        self._state.forget_spark()
        if self.in_transaction and (lost_rows or lost_settings):  # other rows and settings would give other results
            lost = "the rows that it had cached are" if lost_rows else "what SET had changed in its session is"
            raise EngineError(f"Spark ended during the transaction, and {lost} lost. Run the transaction again")

    def _require_not_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise CancelledError

    def _current_work(self) -> RunningWork:
        """Return what the next statement is part of: a node with all of its statements, or the statement alone."""
        node = self.node()
        if self._running_work is None or node is None or self._running_work.name != node:
            self._running_work = RunningWork(node or "the statement", time.monotonic(), self._job, self.notify)
        return self._running_work

    def _job(self) -> Progress | None:
        scope = self._scope
        return None if scope is None else self._progress(scope.group)

    @contextmanager
    def job_group(self, description: str) -> Iterator[None]:
        """Run Spark jobs in this session's job group, and translate Spark's errors to ours."""
        if self._scopes is not None:  # nested: the outer block does the work
            yield
            return
        if not self.in_transaction:
            self._cancelled.clear()
        self._description = description
        self._forget_lost_spark()
        try:
            with WATCH.running(self._current_work()), ExitStack() as self._scopes:
                yield
        except Exception as error:
            self.require_spark(error)
            if isinstance(error, DuckLakeError):
                raise
            raise translate(error, self._state.registry.user_names) from error
        finally:
            self._last_used = time.monotonic()
            self._scopes = None
            self._scope = None
