"""Python models: the compiled model runs in this process, in the session and the transaction of its node."""

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
    """What a Python model gets as `session` and as `spark`: a Spark session whose `sql` and `table` see the lake."""

    def __init__(self, session: LakeSession) -> None:
        self._session = session

    def sql(self, query: str, *args: Any, **kwargs: Any) -> Any:
        """A DataFrame of a query that may name lake tables, with or without parameters."""
        if args or kwargs:
            return self._session.spark().sql(self._session.bound(query), *args, **kwargs)
        return self._session.sql(query)

    def table(self, name: str) -> Any:
        """A DataFrame of a table or view, as of the transaction's snapshot."""
        return self._session.table(name)

    def create_temp_view(self, name: str, result: Any) -> None:
        """Make a model's result, of any supported kind of frame, the temporary view `name`."""
        self._session.create_temp_view(name, self._session.to_dataframe(result))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session.spark(), name)


def run_model(node: Mapping[str, Any], code: str, session: LakeSession) -> None:
    """Run a compiled Python model as a module of its own.

    Args:
        node: the model's node as dbt's dictionary.
        code: the compiled text, which registers its result as a temporary view at its end.
        session: the lake session of the node.

    Raises:
        DbtRuntimeError: the model failed; the text ends with its own traceback.
    """
    _check_packages(node)
    seconds = _timeout(node)
    code = code.lstrip()  # so that its lines are numbered as those of the model's file
    filename = f"{node['original_file_path']} (compiled)"
    module = ModuleType(f"dbt_model_{node['alias']}")
    module.__file__ = filename
    proxy = ModelSession(session)
    vars(module).update(session=proxy, spark=proxy)
    linecache.cache[filename] = (len(code), None, code.splitlines(keepends=True), filename)
    with _within(seconds, node["name"], session.cancel):
        try:
            exec(compile(code, filename, "exec"), vars(module))
        except CancelledError:
            raise
        except Exception as error:
            raise DbtRuntimeError(f"Python model {node['name']} failed:\n{_own_traceback(error, filename)}") from error
        finally:
            linecache.cache.pop(filename, None)


def _timeout(node: Mapping[str, Any]) -> float | None:
    config = node["config"]
    given = config.get("timeout")
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or given <= 0:
        raise DbtRuntimeError(f"The config `timeout` of {node['name']} is a number of seconds; it is {given!r}")
    return float(given)


@contextmanager
def _within(seconds: float | None, name: str, cancel: Callable[[], None]) -> Iterator[None]:
    """Cancel what Spark does for the model when its time is over; the model then fails, however it takes it."""
    if seconds is None:
        yield
        return
    over = threading.Event()

    def stop() -> None:
        over.set()
        cancel()

    timer = threading.Timer(seconds, stop)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if over.is_set():
            raise DbtRuntimeError(f"Python model {name} took longer than its timeout of {seconds:g} seconds")


def _check_packages(node: Mapping[str, Any]) -> None:
    """Refuse a model whose `packages` are not there, each a requirement as pip has it: `scikit-learn>=1.4`."""
    config = node["config"]
    for package in config.get("packages") or []:
        try:
            wanted = Requirement(str(package))
        except InvalidRequirement as error:
            raise DbtRuntimeError(f"The config `packages` of {node['name']} has {package!r}, which is no requirement: {error}") from error
        try:
            installed = version(wanted.name)
        except PackageNotFoundError:
            raise DbtRuntimeError(f"Python model {node['name']} needs the package {wanted}: install it where dbt runs") from None
        if not wanted.specifier.contains(installed, prereleases=True):
            raise DbtRuntimeError(f"Python model {node['name']} needs the package {wanted}, and {installed} is installed where dbt runs")


def _own_traceback(error: BaseException, filename: str) -> str:
    """The part of the traceback that begins in the model."""
    frames = traceback.extract_tb(error.__traceback__)
    first = next((index for index, frame in enumerate(frames) if frame.filename == filename), len(frames))
    lines = traceback.format_list(frames[first:]) + traceback.format_exception_only(type(error), error)
    return "".join(lines).rstrip()
