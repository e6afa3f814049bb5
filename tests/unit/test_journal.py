"""A step of a transaction is replayed only if its caller would receive the same result."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dbt.adapters.ducklake.errors import ConflictError
from dbt.adapters.ducklake.session.journal import Step


def step(before: Any, now: Any) -> Step:
    return Step(lambda: now, before, lambda rows: rows)


def test_not_a_number_is_the_same_result() -> None:
    step([(1, math.nan)], [(1, float("nan"))]).replay()


def test_another_result_is_a_conflict() -> None:
    with pytest.raises(ConflictError, match="has changed"):
        step([(1, math.nan)], [(2, math.nan)]).replay()
