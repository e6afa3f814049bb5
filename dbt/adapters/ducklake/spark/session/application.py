"""The Spark application of this process: start it on first use, restart it if its process has ended, and stop it if it was started here."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from subprocess import Popen
from typing import TYPE_CHECKING, Any

from ...errors import ConfigurationError
from .connect import connect, is_connect
from .jvm import Jvm, end_accumulators
from .kept import Lease, context_of, leave, separate_workers
from .launch import forget_jvm, has_foreign_settings, launch, running_jvm
from .settings import SparkSettings

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

END_SECONDS = 20
"""Seconds to wait at exit, at most, for the thread that was starting Spark."""
STOP_SECONDS = 5
"""Seconds in which a JVM whose SparkContext has stopped ends by itself; then it is killed."""
OUT_OF_MEMORY = 52
"""The exit status of a JVM that Spark ends because it ran out of memory (`SparkExitCode.OOM`)."""
KILLED = frozenset({-9, 137})
"""The exit statuses of a JVM, or of a shell that ran it, after SIGKILL, which Linux sends if no memory is left."""
_STARTING = threading.Lock()
"""Held during a start: a process has one Spark application, even with several objects of this class."""
NOISY_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""PySpark's loggers that write each exception to stderr as JSON."""


class Application:
    """Starts, finds and stops Spark. Thread-safe, except for `stop`.

    Args:
        settings: how to start it.
        owner: the dbt project; only commands of the same project share a kept Spark.
        given: an existing session to use instead, which is never stopped.
        at_exit: called at the exit of this process if Spark was started, leased or connected to here.
    """

    def __init__(self, settings: SparkSettings, owner: str, given: SparkSession | None, at_exit: Callable[[], None]) -> None:
        self._settings = settings
        self._owner = owner
        self._given = given
        self._at_exit = at_exit
        self.has_only_our_settings = settings.is_local and not has_foreign_settings()
        """Whether a local Spark gets all its settings from `settings`: none from the environment, a file, or a Spark that already runs."""
        self.base = given
        """The session from which others are created; None until Spark is started."""
        self.started_here = False
        """Whether this object must stop or release Spark: it started it, leased a kept one, or connected to a remote one."""
        self.process: Popen[bytes] | Lease | None = None
        """The process that ends with Spark: the JVM, its keeper, or the lease of a kept JVM; None if another process started it."""
        self.notify: Callable[[str], None] = logger.warning
        """Receives a message when Spark starts again because its process has ended, and when JAVA_HOME is not used."""
        self._pid = os.getpid()
        self._early_start: threading.Thread | None = None
        self._is_exiting = False
        """Whether this process exits before the early start is complete."""
        self._lock = threading.RLock()

    @property
    def has_ended(self) -> bool:
        """Whether its process has ended; False if that is unknown, because another process started it."""
        return self._given is None and self.process is not None and self.process.poll() is not None

    @property
    def is_of_this_process(self) -> bool:
        """Whether this is the process that started Spark, and not a fork of it."""
        return self._pid == os.getpid()

    def end_stopped(self) -> None:
        """End the process if its SparkContext has stopped, as it does before the process ends, so that `session` starts another one.

        A JVM that was not started here is not ended if other code of this process has stopped the SparkContext: that code may have a new
        one in it, which `session` then uses.
        """
        with self._lock:
            if self._given is not None or self.base is None or not self.is_of_this_process or not _is_stopped(self.base):
                return
            if not self.started_here and _is_stopped_by_python(self.base):
                self.base, self.process = None, None
            process = self.process
            if process is None:
                return
            deadline = time.monotonic() + STOP_SECONDS
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
            if process.poll() is None:
                process.kill()
                if not isinstance(process, Lease):
                    process.wait()

    def session(self) -> SparkSession:
        """Return a session of the application; the first call starts it, and so does the first one after its process has ended.

        Raises:
            ConfigurationError: Spark cannot be started, or this process was forked from the process that started it.
        """
        with self._lock:
            self._forget_ended()
            if self.base is None:
                self._pid = os.getpid()
                with _STARTING:
                    self._start()
            elif not self.is_of_this_process:
                raise ConfigurationError(
                    "This process was forked after Spark was started, and a fork cannot use its parent's Spark. "
                    "Start Spark after the fork, or use the `spawn` start method"
                )
            assert self.base is not None
            return self.base

    def start_early(self, start: Callable[[], object]) -> None:
        """In another thread, call a function that starts Spark. Its errors are ignored, because `session` tries again and reports them.

        Nothing is done if there is nothing to wait for: this process has a Spark, perhaps of an earlier command, or connects to a server.
        """
        if self._early_start is not None or self.base is not None or self._settings.remote is not None or _has_context():
            return

        def run() -> None:
            with contextlib.suppress(Exception):
                start()
            atexit.unregister(self._end_early_start)

        self._early_start = threading.Thread(target=run, name="dbt-ducklake-start", daemon=True)
        atexit.register(self._end_early_start)
        self._early_start.start()

    def stop(self) -> None:
        """Stop Spark if it was started here; leave a kept one to the next command."""
        base, started_here = self.base, self.started_here
        self.base, self.started_here = self._given, False
        atexit.unregister(self._at_exit)
        if base is None or not started_here:
            return
        if isinstance(self.process, Lease):
            leave(self.process)
            self.process = None
        else:
            with contextlib.suppress(Exception):
                if not is_connect(base):
                    end_accumulators(base.sparkContext)
                base.stop()

    def _end_early_start(self) -> None:
        """End the JVM that a thread of this process is still starting, and wait for the thread to clean up."""
        if self._early_start is None or not self.is_of_this_process:
            return
        self._is_exiting = self._early_start.is_alive()
        if self._is_exiting and self.process is not None:
            self.process.kill()
        self._early_start.join(END_SECONDS)

    def _notify(self, message: str) -> None:
        """Send a message to `notify`, which may have been replaced since the start began."""
        self.notify(message)

    def _on_process(self, process: Popen[bytes]) -> None:
        """Record the process of the JVM as soon as it exists; end it if this process exits."""
        self.process = process
        if self._is_exiting:
            process.kill()

    def _forget_ended(self) -> None:
        """Forget Spark if its process has ended."""
        if self.is_of_this_process and self.has_ended:
            assert self.process is not None
            self.notify(f"Spark's process has ended{_reason(self.process)}; Spark starts again")
            if running_jvm() is self.process:
                forget_jvm()
            self.base, self.process, self.started_here = None, None, False

    def _start(self) -> None:
        """Start Spark, or connect to it, and set `base`.

        Raises:
            ConfigurationError: Spark cannot be started.
        """
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession

        _silence_loggers()
        try:
            if self._settings.remote is not None:
                self.base = connect(self._settings, self._notify)
                self.started_here = True
            else:
                with _translated_jvm_errors():
                    self.started_here = self._start_classic()
                    self.base = SparkSession.builder.getOrCreate()
                    self.process = running_jvm()
        except (PySparkException, ImportError) as error:
            raise ConfigurationError(f"Spark could not be started: {error}") from error
        except ConfigurationError:
            self.process = None  # otherwise `has_ended` would report an ended Spark
            raise
        if self.started_here:
            atexit.register(self._at_exit)

    def _start_classic(self) -> bool:
        """Start or lease a JVM and create its SparkContext; return False if this process already has one."""
        from pyspark import SparkContext

        process = running_jvm()
        if process is not None and process.poll() is not None:
            forget_jvm()
        if SparkContext._active_spark_context is not None:
            return False
        jvm: Jvm | None = None
        if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
            jvm = launch(self._settings, self._owner, self._on_process, self._notify)
            self.process = jvm.process
        gateway = None if jvm is None else jvm.attach()
        if jvm is not None and jvm.has_context:
            try:
                context = context_of(gateway)
            except Exception as error:
                logger.debug("The kept Spark cannot be used: %s: %s", type(error).__name__, error)
                jvm.process.kill()
                forget_jvm()
                return self._start_classic()
        else:
            context = self._new_context(gateway)
        if isinstance(self.process, Lease):
            separate_workers(context)
        self._set_python(context)
        return True

    def _new_context(self, gateway: Any) -> SparkContext:
        """Create a SparkContext with the settings; `gateway` is Py4J's connection to the JVM, None to let PySpark find or start one."""
        from pyspark import SparkConf, SparkContext

        config = self._settings.launch_config()
        conf = SparkConf(loadDefaults=gateway is None)
        for key, value in config.items():
            conf.set(key, value)
        context = SparkContext(conf=conf, gateway=gateway)
        context.setLogLevel(config.get("spark.log.level", "WARN"))
        return context

    def _set_python(self, context: SparkContext) -> None:
        """Let the workers of a local Spark run this Python, unless the user has named another one.

        PySpark would start the first `python3` of PATH, which may lack our packages.
        """
        is_own_jvm = self.has_only_our_settings or running_jvm() is not None  # started now, or for an earlier session of this process
        is_named = "PYSPARK_PYTHON" in os.environ or "spark.pyspark.python" in self._settings.config
        if self._settings.is_local and is_own_jvm and not is_named:
            context.pythonExec = sys.executable


def _has_context() -> bool:
    """Whether this process has a SparkContext. PySpark is not imported to find out."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    return getattr(context, "_active_spark_context", None) is not None


@contextlib.contextmanager
def _translated_jvm_errors() -> Iterator[None]:
    """Translate errors of Py4J, which a client of Spark Connect may lack, at a start."""
    from py4j.protocol import Py4JError

    try:
        yield
    except Py4JError as error:
        java = getattr(error, "java_exception", None)  # has the message without the stack trace
        raise ConfigurationError(f"Spark could not be started: {error if java is None else java.toString()}") from error


def _is_stopped(session: SparkSession) -> bool:
    """Whether the SparkContext of a session has stopped, or its JVM does not answer."""
    context: Any = session.sparkContext
    try:
        return bool(context._jsc.sc().isStopped())
    except Exception:
        return True


def _is_stopped_by_python(session: SparkSession) -> bool:
    """Whether this process has stopped the SparkContext of a session; otherwise its JVM has."""
    return session.sparkContext._jsc is None


def _reason(process: Popen[bytes] | Lease) -> str:
    """Say why a process has ended, as far as its exit status tells."""
    if isinstance(process, Lease):
        return ""
    if process.returncode == OUT_OF_MEMORY:
        return " because it ran out of memory (`spark.driver.memory` in the profile)"
    if process.returncode in KILLED:
        return " because it was killed, perhaps by the system for lack of memory (`spark.driver.memory` in the profile)"
    return f" with the status {process.returncode}"


def _silence_loggers() -> None:
    """Disable `NOISY_LOGGERS`, because our errors contain the same messages."""
    from pyspark.logger import PySparkLogger

    for name in NOISY_LOGGERS:
        PySparkLogger.getLogger(name).disabled = True
