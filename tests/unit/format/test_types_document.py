"""docs/types.md covers all existing types and names the Spark type of each."""

from __future__ import annotations

import re
from pathlib import Path

from dbt.adapters.ducklake.format.leaf_types import LEAF_TYPES
from dbt.adapters.ducklake.format.types import NESTED, parse_type
from tests.interop.types.cases import CASES

SPARK_NAMES = {leaf.name: leaf.spark for leaf in LEAF_TYPES.values() if leaf.name not in ("decimal", "unknown")}
DOCUMENT = Path(__file__).parents[3] / "docs" / "types.md"


def _rows() -> dict[str, list[str]]:
    lines = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {row[0].strip("` "): row for row in cells}


def test_every_type_has_a_row_with_its_spark_type() -> None:
    rows = _rows()
    assert set(rows) == set(SPARK_NAMES) | NESTED | {"decimal(p,s)"}
    for stored, name in SPARK_NAMES.items():
        assert rows[stored][1] == f"`{name}`"


def test_the_names_of_the_ddl_are_accepted() -> None:
    for stored, row in _rows().items():
        name = row[2].strip("`")
        if "…" not in name and "(p,s)" not in name:
            assert parse_type(name).name == stored


def test_types_that_spark_cannot_represent_are_marked() -> None:
    rows = _rows()
    for case in CASES:
        if case.not_in_spark:
            assert re.search("error|as `int128`", rows[case.stored][4])
    assert {case.stored for case in CASES if not case.stored.startswith("decimal")} == set(SPARK_NAMES)
