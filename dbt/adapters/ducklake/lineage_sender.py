"""Send OpenLineage events from a background thread, so that no node waits for an endpoint. Failures are reported once, at the end."""

from __future__ import annotations

import copy
import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import DbtRuntimeError

from .catalog.store.redaction import HIDDEN
from .errors import ConfigurationError
from .lineage_events import Event, client_event
from .unknown import refuse_other_types, refuse_unknown

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient

_MAX_WAITING = 10_000
"""The number of events that can wait to be sent; further events are lost."""
FLUSH_SECONDS = 15.0
"""How long a command waits at its end for events that are not yet sent."""
_SHOWN_FIELDS = ("type", "url", "endpoint", "timeout", "verify", "log_file_path", "append", "topic")
"""The fields of a transport that `dbt debug` and errors show; any other field may be secret."""


@dataclass(frozen=True)
class LineageSettings:
    """The field `openlineage` of the profile.

    Args:
        transport: the configuration of the client's transport; None if the client reads its own file or environment variables.
        namespace: the namespace of the jobs; None for the default.
    """

    transport: Mapping[str, Any] | None = None
    namespace: str | None = None

    @classmethod
    def of(cls, given: bool | Mapping[str, Any] | None) -> LineageSettings | None:
        """Return the settings of the profile's field; None if it is false or not set.

        Raises:
            DbtRuntimeError: a part of the field is unknown, missing or of the wrong type; the message names it.
        """
        if given is None or isinstance(given, bool):
            return cls() if given else None
        refuse_unknown("`openlineage`", given, ("transport", "namespace"))
        refuse_other_types("openlineage.", given, {"transport": dict, "namespace": str})
        transport = given.get("transport")
        if transport is not None and not (isinstance(transport.get("type"), str) and transport["type"]):
            raise DbtRuntimeError("`openlineage.transport` needs a `type`, such as file or http")
        return cls(transport, given.get("namespace"))

    def client(self) -> OpenLineageClient:
        """Return a new OpenLineage client.

        Raises:
            ConfigurationError: the client is not installed, or refuses the transport.
        """
        try:
            from openlineage.client import OpenLineageClient
            from openlineage.client.transport import get_default_factory
        except ImportError:
            raise ConfigurationError(
                "`openlineage` in the profile needs the OpenLineage client: pip install 'dbt-ducklake[openlineage]'"
            ) from None
        try:
            if self.transport is None:
                return OpenLineageClient()
            return OpenLineageClient(transport=get_default_factory().create(copy.deepcopy(dict(self.transport))))
        except Exception as error:
            if self.transport is None:
                raise ConfigurationError(
                    f"with `openlineage: true` the client reads its own configuration, which it refuses ({error_types(error)}); "
                    "check openlineage.yml and the environment variables OPENLINEAGE_…"
                ) from None
            text = f"{type(error).__name__}: {error}"
            given = {key: value for key, value in self.transport.items() if key != "type"}
            for secret in sorted(_strings(given), key=len, reverse=True):
                text = text.replace(secret, HIDDEN)
            raise ConfigurationError(f"`openlineage.transport` is refused by the OpenLineage client. {text}") from None


def redacted_settings(given: Any) -> Any:
    """Return the field `openlineage` of a profile, in which the fields of the transport that may be secret are hidden."""
    if not isinstance(given, dict) or not isinstance(given.get("transport"), dict):
        return given
    secret = _hidden_fields(given["transport"])
    return {**given, "transport": {key: HIDDEN if key in secret else value for key, value in given["transport"].items()}}


def _hidden_fields(transport: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in transport.items() if key not in _SHOWN_FIELDS or isinstance(value, dict | list)}


def _strings(value: Any) -> Iterator[str]:
    """Yield all strings in a value, except empty ones."""
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)


def error_types(error: BaseException) -> str:
    """Return the types of an error and its causes, without their messages, which may contain a secret."""
    kinds: list[str] = []
    each: BaseException | None = error
    while each is not None:
        status = getattr(getattr(each, "response", None), "status_code", None)
        number = each.errno if isinstance(each, OSError) else None
        detail = f" {status}" if isinstance(status, int) else f" ({os.strerror(number)})" if isinstance(number, int) else ""
        kinds.append(type(each).__name__ + detail)
        each = each.__cause__ or each.__context__
    return ", caused by ".join(dict.fromkeys(kinds))


class Sender:
    """Sends events in order, until one fails.

    Args:
        client: sends the events; the sender closes it.
    """

    def __init__(self, client: OpenLineageClient) -> None:
        self._client = client
        self._waiting: queue.Queue[Event | None] = queue.Queue(_MAX_WAITING)
        self._failure: str | None = None
        self._lost = 0
        self._thread = threading.Thread(target=self._run, name="openlineage", daemon=True)
        self._thread.start()

    def send(self, event: Event) -> None:
        """Put an event into the queue, without waiting."""
        try:
            self._waiting.put_nowait(event)
        except queue.Full:
            self._lost += 1

    def close(self, seconds: float = FLUSH_SECONDS) -> str | None:
        """Wait until all events are sent.

        Args:
            seconds: the longest time to wait.

        Returns:
            Why some events were not sent; None if all were.
        """
        end = time.monotonic() + seconds
        try:
            self._waiting.put(None, timeout=seconds)
        except queue.Full:
            return f"the endpoint did not accept them within {seconds:g} seconds"
        self._thread.join(max(0.0, end - time.monotonic()))
        if self._failure is None and self._thread.is_alive():
            return f"the endpoint did not accept them within {seconds:g} seconds"
        if self._failure is None and self._lost:
            return f"the queue was full, and {self._lost} of them were dropped"
        return self._failure

    def _run(self) -> None:
        quiet = _OtherThreadsOnly(threading.get_ident())
        connections = logging.getLogger("urllib3.connectionpool")
        connections.addFilter(quiet)
        try:
            while (event := self._waiting.get()) is not None:
                if self._failure is None:
                    self._attempt(partial(self._emit, event))
            self._attempt(partial(self._client.close, FLUSH_SECONDS))
        finally:
            connections.removeFilter(quiet)

    def _emit(self, event: Event) -> None:
        self._client.emit(client_event(event))

    def _attempt(self, action: Callable[[], object]) -> None:
        """Call an action, and record its error if it is the first."""
        try:
            action()
        except Exception as error:
            self._failure = self._failure or error_types(error)


class _OtherThreadsOnly(logging.Filter):
    """Leaves out the log records of one thread: the retries of a request, whose failure `Sender.close` reports once."""

    def __init__(self, thread: int) -> None:
        super().__init__()
        self._thread = thread

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is from another thread."""
        return record.thread != self._thread
