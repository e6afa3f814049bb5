"""The text of an adapter's type that is also equal to another type."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from dbt.adapters.ducklake.target_type import TargetType


def same(value: Any) -> Any:
    return value


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("copied", [same, copy.copy, copy.deepcopy, pickled])
def test_a_type_and_its_copies_are_equal_to_two_texts(copied: Callable[[Any], Any]) -> None:
    found = copied(TargetType("ducklake", "spark"))
    assert str(found) == "ducklake"
    assert [found == each for each in ("ducklake", "spark", "databricks", "")] == [True, True, False, False]
    assert [found != each for each in ("ducklake", "spark", "databricks", "")] == [False, False, True, True]


def test_a_type_needs_another_one() -> None:
    with pytest.raises(TypeError, match="also"):
        TargetType("ducklake")  # type: ignore[call-arg]
