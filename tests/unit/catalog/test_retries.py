"""The retry policy: which errors are retried, how often, and the waits."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.catalog.store.retries import RetrySettings
from dbt.adapters.ducklake.errors import ConfigurationError


class Flaky:
    """A function that raises errors before it returns."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def test_an_error_of_the_type_is_retried_after_growing_waits_with_jitter() -> None:
    waits: list[float] = []
    policy = RetrySettings(max_retry_count=3, wait_ms=100, backoff=2).policy(ValueError)
    policy.sleep = waits.append
    function = Flaky(*[ValueError(str(number)) for number in range(3)])
    assert policy(function) == "done"
    assert function.calls == 4
    assert [0.5 <= wait / longest <= 1 for wait, longest in zip(waits, (0.1, 0.2, 0.4), strict=True)] == [True] * 3


@pytest.mark.parametrize(("attempts", "calls"), [(None, 3), (1, 1), (2, 2)])
def test_the_last_attempt_raises_its_own_error(attempts: int | None, calls: int) -> None:
    function = Flaky(*[ValueError(str(number)) for number in range(1, 9)])
    with pytest.raises(ValueError, match=f"^{calls}$"):
        RetrySettings(max_retry_count=2, wait_ms=0).policy(ValueError, attempts)(function)
    assert function.calls == calls


@pytest.mark.parametrize("error", [TypeError("other"), KeyboardInterrupt()])
def test_other_errors_are_not_retried(error: BaseException) -> None:
    function = Flaky(ValueError("first"), error)
    with pytest.raises(type(error)) as caught:
        RetrySettings(wait_ms=0).policy(ValueError)(function)
    assert caught.value is error
    assert function.calls == 2


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="connect_attempts must be 1 or more"):
        RetrySettings(connect_attempts=0)
    with pytest.raises(ConfigurationError, match="backoff must be 1 or more"):
        RetrySettings(backoff=0.5)
