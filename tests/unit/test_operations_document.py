"""docs/operations.md lists every operation with its arguments."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MACROS = ROOT / "dbt" / "include" / "ducklake" / "macros" / "operations"
SIGNATURE = re.compile(r"{% macro (ducklake_[a-z]\w+)\(([^)]*)\) %}")
ROW = re.compile(r"^\| `(ducklake_\w+)` \| ([^|]*) \|", re.MULTILINE)


def test_the_page_has_each_operation_with_its_arguments() -> None:
    files = ("inspect.sql", "maintenance.sql", "tables.sql")
    signatures = dict(SIGNATURE.findall("".join((MACROS / name).read_text() for name in files)))
    model_functions = {"ducklake_at", "ducklake_last_snapshot"}
    expected = {name: re.findall(r"(\w+)(?==|,|\n|$)(?:=\w+)?", given) for name, given in signatures.items() if name not in model_functions}
    documented = {name: re.findall(r"`(\w+)`", given) for name, given in ROW.findall((ROOT / "docs" / "operations.md").read_text())}

    assert documented == expected
