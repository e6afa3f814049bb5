"""Run compiled Python models in this process, in the session and transaction of their node."""

from __future__ import annotations

import linecache
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import DbtRuntimeError
from packaging.requirements import InvalidRequirement, Requirement

from .errors import CancelledError

if TYPE_CHECKING:
    from .session import LakeSession


class ModelSession:
    """The `session` and `spark` of a Python model: a Spark session whose `sql` and `table` read the lake."""

    def __init__(self, session: LakeSession) -> None:
        self._session = session

    def sql(self, query: str, *args: Any, **kwargs: Any) -> Any:
        """Return a DataFrame for a query, which may read tables of the lake, with or without parameters."""
        if args or kwargs:
            return self._session.spark().sql(self._session.bound(query), *args, **kwargs)
        return self._session.sql(query)

    def table(self, name: str) -> Any:
        """Return a DataFrame of a table or view, at the transaction's snapshot."""
        return self._session.table(name)

    def create_temp_view(self, name: str, result: Any) -> None:
        """Create the temporary view `name` from a model's result, which may be any supported kind of DataFrame."""
        self._session.create_temp_view(name, self._session.to_dataframe(result))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session.spark(), name)


def run_model(node: Mapping[str, Any], code: str, session: LakeSession) -> None:
    """Run a compiled Python model as a module.

    Args:
        node: dbt's dictionary of the model's node.
        code: the compiled code, which ends by registering its result as a temporary view.
        session: the lake session of the node.

    Raises:
        DbtRuntimeError: the model failed; the message ends with the model's traceback.
    """
    _check_packages(node)
    seconds = _timeout(node)
    code = code.lstrip()  # keeps the line numbers of the model's file
    filename = f"{node['original_file_path']} (compiled)"
    module = ModuleType(f"dbt_model_{node['alias']}")
    module.__file__ = filename
    proxy = ModelSession(session)
    vars(module).update(session=proxy, spark=proxy)
    linecache.cache[filename] = (len(code), None, code.splitlines(keepends=True), filename)
    failure: tuple[Exception, str] | None = None
    with _within(seconds, node["name"], session.cancel), session.job_group(f"Python model {node['name']}"):
        session.spark()  # functions of PySpark such as `udf` need an active session
        try:
            exec(compile(code, filename, "exec"), vars(module))
        except CancelledError:
            raise
        except Exception as error:
            failure = error, _own_traceback(error, filename)
        finally:
            linecache.cache.pop(filename, None)
    if failure is not None:  # raised here, because the job group would translate it as an error of Spark
        cause, text = failure
        raise DbtRuntimeError(f"Python model {node['name']} failed:\n{text}") from cause


def _timeout(node: Mapping[str, Any]) -> float | None:
    config = node["config"]
    given = config.get("timeout")
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or given <= 0:
        raise DbtRuntimeError(f"The config `timeout` of {node['name']} must be a number of seconds; it is {given!r}")
    return float(given)


@contextmanager
def _within(seconds: float | None, name: str, cancel: Callable[[], None]) -> Iterator[None]:
    """Cancel the model's Spark jobs after a timeout in seconds; the model then fails even if it handles the cancellation."""
    if seconds is None:
        yield
        return
    timed_out = threading.Event()

    def stop() -> None:
        timed_out.set()
        cancel()

    timer = threading.Timer(seconds, stop)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if timed_out.is_set():
            raise DbtRuntimeError(f"Python model {name} took longer than its timeout of {seconds:g} seconds")


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
