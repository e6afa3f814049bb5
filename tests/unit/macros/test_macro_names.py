"""A macro of a project replaces one of an adapter with the same name, so ours have names that no project gives by chance."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import dbt.include.global_project as dbt_project
import dbt.include.spark as spark_project
import pytest

import dbt.include.ducklake as our_project

STRATEGIES = {"get_incremental_changes_sql", "get_incremental_replace_where_sql"}
"""dbt calls these: the names of the macros of a strategy follow from its own."""


def names_in(project: ModuleType) -> set[str]:
    """Return the names of the macros of a package."""
    assert project.__file__ is not None
    files = Path(project.__file__).with_name("macros").rglob("*.sql")
    return {name for file in files for name in re.findall(r"\{%-?\s*macro\s+(\w+)", file.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("name", sorted(names_in(our_project)))
def test_a_macro_has_our_prefix_or_the_name_of_a_macro_of_dbt(name: str) -> None:
    known = STRATEGIES | names_in(dbt_project) | names_in(spark_project)
    assert re.match(r"(ducklake_|spark__)", name) or name in known
