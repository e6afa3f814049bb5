"""What the field `target_type` of a profile changes in a package: comparisons of `target.type`, and macros for Databricks."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from dbt.adapters.ducklake.target_type import TARGET_TYPES

MACRO = re.compile(r"\{%-?\s*macro\s+(databricks__\w+)")
COMPARISON = re.compile(r"""target\.type\s*(==|!=|not\s+in|in)\s*('[^']*'|"[^"]*"|\([^()]*\)|\[[^\[\]]*\])""")


def comparisons(package: Path) -> tuple[int, ...]:
    """Count the comparisons in the macros, models and settings of a package.

    Returns:
        How many there are, and how many have another result with `spark` and with `databricks` than with `ducklake` alone.
    """
    files = [
        package / "dbt_project.yml",
        *package.glob("macros/**/*.sql"),
        *package.glob("models/**/*.sql"),
        *package.glob("models/**/*.yml"),
    ]
    found = [match.groups() for file in files for match in COMPARISON.finditer(file.read_text(encoding="utf-8"))]
    changed = [sum(_holds(each, *one) != _holds("ducklake", *one) for one in found) for each in TARGET_TYPES]
    return (len(found), *changed)


def macros_for_databricks(package: Path) -> int:
    """Count the macros `databricks__…` of a package, with those of its tests."""
    return len({name for file in package.rglob("*.sql") for name in MACRO.findall(file.read_text(encoding="utf-8"))})


def _holds(name: str, operator: str, literal: str) -> bool:
    types = ast.literal_eval(literal)
    equal = name == types if isinstance(types, str) and operator in ("==", "!=") else name in types
    return equal == (operator in ("==", "in"))
