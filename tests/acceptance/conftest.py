"""Fixtures of the acceptance tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.projects import Project, Rows, in_order, same_row


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project in an empty folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    return Project(folder)


@pytest.fixture
def same_rows() -> Callable[[str, Rows, Rows], None]:
    """A function that compares two results as rows in any order. Numbers may differ by rounding (Spark averages decimals as decimals)."""

    def check(what: str, found: Rows, expected: Rows) -> None:
        assert len(found) == len(expected), f"{what}: {len(found)} rows, expected {len(expected)}"
        for ours, theirs in zip(in_order(found), in_order(expected), strict=True):
            assert same_row(ours, theirs), f"{what}: {ours} is not {theirs}"

    return check
