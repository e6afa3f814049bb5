"""Run compiled Python models in this process, in the session and transaction of their node."""

from __future__ import annotations

import linecache
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import DbtRuntimeError
from packaging.requirements import InvalidRequirement, Requirement

from .errors import CancelledError
from .spark.session.python_modules import imported

if TYPE_CHECKING:
    from .session import LakeSession

_NUMBERS = count(1)
"""Numbers in the names of modules, because models that run at the same time may have the same name."""


class ModelSession:
    """The `session` and `spark` of a Python model: a Spark session whose `sql` and `table` read the lake."""

    def __init__(self, session: LakeSession) -> None:
        self._session = session

    def sql(self, query: str, *args: Any, **kwargs: Any) -> Any:
        """Return a DataFrame for a query, which may read tables of the lake, with or without parameters."""
        if args or kwargs:
            return self._session.spark().sql(self._session.spark_text(query), *args, **kwargs)
        return self._session.sql(query)

    def table(self, name: str) -> Any:
        """Return a DataFrame of a table or view, at the transaction's snapshot."""
        return self._session.table(name)

    def create_temp_view(self, name: str, result: Any) -> None:
        """Create the temporary view `name` from a model's result, which may be any supported kind of DataFrame."""
        self._session.create_temp_view(name, self._session.to_dataframe(result))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session.spark(), name)


class Timeout:
    """Cancels the work of a Python model when its time is over, unless `end` is called before.

    Args:
        seconds: the time from now; None for no limit.
        name: the model's name.
        cancel: cancels the model's work.
    """

    def __init__(self, seconds: float | None, name: str, cancel: Callable[[], None]) -> None:
        self.passed = threading.Event()
        """Set when the time is over."""
        self._message = f"Python model {name} took longer than its timeout of {seconds:g} seconds" if seconds else ""
        self._cancel = cancel
        self._timer = threading.Timer(seconds or 0, self._pass)
        self._timer.daemon = True
        if seconds is not None:
            self._timer.start()

    @property
    def error(self) -> DbtRuntimeError:
        """The error of a model whose time is over."""
        return DbtRuntimeError(self._message)

    def end(self) -> None:
        """Cancel nothing any more."""
        self._timer.cancel()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the model's code. If its time is over, it fails even if it handles the cancellation.

        Raises:
            DbtRuntimeError: its time is over.
        """
        try:
            yield
        except BaseException:
            self.end()
            raise
        finally:
            if self.passed.is_set():
                raise self.error

    def _pass(self) -> None:
        self.passed.set()
        self._cancel()


def run_model(node: Mapping[str, Any], code: str, session: LakeSession) -> Timeout:
    """Run a compiled Python model as a module.

    Args:
        node: dbt's dictionary of the model's node.
        code: the compiled code, which ends by registering its result as a temporary view.
        session: the lake session of the node.

    Returns:
        The model's timeout, which goes on, because the rows of a DataFrame are computed when they are written.

    Raises:
        DbtRuntimeError: the model failed; the message ends with the model's traceback.
    """
    _check_packages(node)
    seconds = _seconds(node)
    code = code.lstrip()  # keeps the line numbers of the model's file
    filename = f"{node['original_file_path']} (compiled)"
    module = ModuleType(f"dbt_model_{node['alias']}_{next(_NUMBERS)}")
    module.__file__ = filename
    proxy = ModelSession(session)
    vars(module).update(session=proxy, spark=proxy)
    linecache.cache[filename] = (len(code), None, code.splitlines(keepends=True), filename)
    failure: tuple[Exception, str] | None = None
    timeout = Timeout(seconds, node["name"], session.cancel)
    with timeout.running(), session.job_group(f"Python model {node['name']}"):
        session.spark()  # functions of PySpark such as `udf` need an active session
        try:
            with imported(module):
                exec(compile(code, filename, "exec"), vars(module))
        except CancelledError:
            raise
        except Exception as error:
            session.require_spark(error)
            failure = error, _own_traceback(error, filename)
        finally:
            linecache.cache.pop(filename, None)
    if failure is not None:  # raised here, because the job group would translate it as an error of Spark
        timeout.end()
        cause, text = failure
        raise DbtRuntimeError(f"Python model {node['name']} failed:\n{text}") from cause
    return timeout


def _seconds(node: Mapping[str, Any]) -> float | None:
    config = node["config"]
    given = config.get("timeout")
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or given <= 0:
        raise DbtRuntimeError(f"The config `timeout` of {node['name']} must be a number of seconds; it is {given!r}")
    return float(given)


def _check_packages(node: Mapping[str, Any]) -> None:
    """Refuse a model whose `packages`, requirements such as `scikit-learn>=1.4`, are not installed."""
    config = node["config"]
    for package in config.get("packages") or []:
        try:
            wanted = Requirement(str(package))
        except InvalidRequirement as error:
            raise DbtRuntimeError(
                f"The config `packages` of {node['name']} has {package!r}, which is not a valid requirement: {error}"
            ) from error
        try:
            installed = version(wanted.name)
        except PackageNotFoundError:
            raise DbtRuntimeError(f"Python model {node['name']} needs the package {wanted}: install it where dbt runs") from None
        if not wanted.specifier.contains(installed, prereleases=True):
            raise DbtRuntimeError(f"Python model {node['name']} needs the package {wanted}, but {installed} is installed where dbt runs")


def _own_traceback(error: BaseException, filename: str) -> str:
    """Return the part of the traceback that begins in the model."""
    frames = traceback.extract_tb(error.__traceback__)
    first = next((index for index, frame in enumerate(frames) if frame.filename == filename), len(frames))
    lines = traceback.format_list(frames[first:]) + traceback.format_exception_only(type(error), error)
    return "".join(lines).rstrip()
