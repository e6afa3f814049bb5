"""Tests of the actors without a lake."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .actors import Ours


def test_a_line_about_progress_is_not_a_replay() -> None:
    session: Any = SimpleNamespace()
    ours = Ours(session)
    session.notify("the statement has been running for 10 s: no Spark job is running")
    assert ours.replays == 0
    session.notify("main.t was changed by a concurrent writer. Trying again at the newest snapshot (attempt 2 of 11)")
    assert ours.replays == 1
