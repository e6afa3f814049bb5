"""The walk-throughs of CONTRIBUTING.md are true: the names in modules exist, the lines that diffs change, and the row of the new type."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.errors import DataError
from dbt.adapters.ducklake.format import leaf_types, text_patterns
from dbt.adapters.ducklake.format.objects import Column
from dbt.adapters.ducklake.spark.arrow.values import array_of
from dbt.adapters.ducklake.spark.rows.small import can_fetch

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def file_of(path: str) -> Path:
    below = ROOT / "dbt/adapters/ducklake" / path
    return below if below.exists() else ROOT / path


def diffs() -> Iterator[tuple[str, list[str]]]:
    """Yield each file that a diff changes, with its lines."""
    for indent, block in re.findall(r"^( *)```diff\n(.*?)^ *```$", TEXT, re.DOTALL | re.MULTILINE):
        lines = [line[len(indent) :] for line in block.splitlines()]
        headers = [index for index, line in enumerate(lines) if line.startswith(" # ")]
        for start, end in zip(headers, [*headers[1:], len(lines)], strict=True):
            yield lines[start].removeprefix(" # "), lines[start + 1 : end]


def added(path: str) -> str:
    return "\n".join(line[1:] for file, lines in diffs() if file == path for line in lines if line.startswith("+"))


@pytest.mark.parametrize(("name", "path"), sorted(set(re.findall(r"`(\w+)` in `([\w/]+\.py)`", TEXT))))
def test_names_in_modules_exist(name: str, path: str) -> None:
    assert re.search(rf"\b{name}\b", file_of(path).read_text(encoding="utf-8"))


@pytest.mark.parametrize(("path", "lines"), [pytest.param(path, lines, id=path) for path, lines in diffs()])
def test_lines_that_a_diff_changes_exist(path: str, lines: list[str]) -> None:
    old = [line[1:] for line in lines if not line.startswith("+")]
    assert set(old) <= set(file_of(path).read_text(encoding="utf-8").splitlines() if old else [])
    assert all(line[0] in " +-" for line in lines)


@pytest.fixture
def new_type(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Add the example's row to the table of types."""
    scope: dict[str, Any] = {**vars(text_patterns), **vars(leaf_types)}
    exec(added("dbt/adapters/ducklake/format/text_patterns.py"), scope)
    row = added("dbt/adapters/ducklake/format/leaf_types.py").partition("    LeafType(")[2]
    leaf = eval("LeafType(" + row.rstrip(","), scope)
    for table in (leaf_types.LEAF_TYPES, leaf_types.STORED_NAMES):
        monkeypatch.setitem(table, leaf.name, leaf)  # type: ignore[arg-type]
    leaf_types.leaf_type.cache_clear()
    yield leaf.name
    leaf_types.leaf_type.cache_clear()


def test_the_row_of_a_new_type_is_enough_to_convert_its_values(new_type: str) -> None:
    column = Column(1, "c", new_type)
    assert array_of(["10.0.0.1", None], column).to_pylist() == ["10.0.0.1", None]
    assert can_fetch([column])
    for text in ("10.0.0", "256.0.0.1", "10.0.0.1.2"):
        with pytest.raises(DataError):
            array_of([text], column)


def test_a_new_type_without_bounds_has_the_statistics_that_duckdb_needs(new_type: str) -> None:
    assert leaf_types.leaf_type(new_type).has_only_counts
