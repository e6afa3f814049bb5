"""One set of compiled macros for all tests, reset for each test."""

from __future__ import annotations

import pytest

from tests.unit.macros.macro_rendering import Macros


@pytest.fixture(scope="session")
def all_macros() -> Macros:
    return Macros()


@pytest.fixture
def macros(all_macros: Macros) -> Macros:
    all_macros.reset()
    return all_macros
