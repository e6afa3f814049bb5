"""The retry policy of a lake: how often a failed access to the catalog database is repeated, and the wait before each retry."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

from ...errors import ConfigurationError


@dataclass(frozen=True)
class RetrySettings:
    """How often a commit or a read of the catalog database is retried, with which waits, and how often opening a lake is attempted.

    The first three defaults are those of the reference implementation (`ducklake_max_retry_count`, `ducklake_retry_wait_ms`,
    `ducklake_retry_backoff`).

    Raises:
        ConfigurationError: a setting is too small.
    """

    max_retry_count: int = 10
    """The maximum number of retries of a commit after its first attempt."""
    wait_ms: float = 100
    """The wait before the first retry, in milliseconds. Jitter shortens it by up to half."""
    backoff: float = 1.5
    """The factor by which the wait grows with each retry."""
    connect_attempts: int = 1
    """The maximum number of attempts to connect to the catalog database when a lake is opened."""

    def __post_init__(self) -> None:
        if self.connect_attempts < 1:
            raise ConfigurationError("the retry setting connect_attempts must be 1 or more")
        if self.max_retry_count < 0 or self.wait_ms < 0 or self.backoff < 1:
            raise ConfigurationError("the retry settings max_retry_count and wait_ms must be 0 or more, and backoff must be 1 or more")

    def seconds(self, attempt: int) -> float:
        """Return the seconds to wait before a retry, with random jitter so that concurrent writers do not collide again.

        Args:
            attempt: the number of the retry, counted from 0.
        """
        return self.wait_ms / 1000 * random.uniform(0.5, 1) * self.backoff**attempt

    def policy(self, retried: type[Exception], attempts: int | None = None) -> Retrying:
        """Return a callable that calls a function again after each error of the type `retried`; the error of the last attempt is raised.

        Args:
            retried: the errors after which another attempt makes sense.
            attempts: the maximum number of attempts; None for `max_retry_count` + 1.
        """
        return Retrying(
            retry=retry_if_exception_type(retried),
            stop=stop_after_attempt(self.max_retry_count + 1 if attempts is None else attempts),
            wait=lambda state: self.seconds(state.attempt_number - 1),
            reraise=True,
        )
