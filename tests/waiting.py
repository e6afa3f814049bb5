"""Waits for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable


def await_true(is_true: Callable[[], object], seconds: float = 40) -> None:
    """Wait until something is true, and fail if it is not within some seconds."""
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, f"not within {seconds:.1f} s"
        time.sleep(0.05)
