"""docs/configs.md has every config that the macros and the adapter read, and no other."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from dbt.artifacts.resources import NodeConfig, SeedConfig, SnapshotConfig

from dbt.adapters.ducklake.foreign_configs import WITHOUT_MEANING, warnings_of
from dbt.adapters.ducklake.impl import DuckLakeConfig
from dbt.adapters.ducklake.merge_configs import MERGE_CONFIGS

ROOT = Path(__file__).parents[2]
READ = re.compile(r"""\bconfig\.get\(\s*['"](\w+)['"]""")
BY_FUNCTION = {"should_full_refresh()": "full_refresh", "config.persist_relation_docs()": "persist_docs"}
"""What dbt has a function for."""
RENAMED = {"snapshot_table_column_names": "snapshot_meta_column_names"}
"""What dbt hands to macros under another name than the user's."""
OF_SOURCES = {"snapshot_version", "snapshot_time"}
"""Configs of sources, for which dbt lets no adapter declare any."""
OF_DBT = {"incremental_predicates", "predicates", "sql_header", "submission_method", "volatility"}
"""Configs that dbt or dbt-spark reads too, and that dbt declares nowhere."""


def documented() -> list[str]:
    lines = (ROOT / "docs/configs.md").read_text(encoding="utf-8").splitlines()
    return [line.split("`")[1] for line in lines if line.startswith("| `")]


def read() -> set[str]:
    macros = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "dbt/include/ducklake/macros").rglob("*.sql")))
    adapter = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "dbt/adapters/ducklake").glob("*.py")))
    found = {name for name in READ.findall(macros + adapter) if not name.startswith("__dbt_internal")}
    found = {RENAMED.get(name, name) for name in found}
    return found | {name for text, name in BY_FUNCTION.items() if text in macros}


def test_every_config_is_read_and_documented_once() -> None:
    names = documented()
    assert sorted(names) == sorted(set(names))
    assert set(names) == read()


def test_the_adapter_declares_its_own_configs() -> None:
    of_dbt = {field.name for kind in (NodeConfig, SeedConfig, SnapshotConfig) for field in fields(kind)} | OF_DBT
    assert {field.name for field in fields(DuckLakeConfig)} - {"_extra"} == read() - of_dbt - OF_SOURCES


def test_every_merge_config_is_read() -> None:
    assert set(MERGE_CONFIGS) <= read()


def test_configs_that_do_nothing_are_named() -> None:
    section = (ROOT / "docs/configs.md").read_text(encoding="utf-8").partition("## Configs of other adapters")[2]
    assert set(re.findall(r"`(\w+)`", section)) == set(WITHOUT_MEANING)
    assert not set(WITHOUT_MEANING) & read()


def test_each_is_warned_of_unless_it_says_what_is_so_anyway() -> None:
    assert warnings_of({"file_format": "parquet", "indexes": None, "submission_method": "in_process", "unique_key": "id"}) == []
    found = warnings_of(
        {"file_format": "delta", "indexes": ["a"], "buckets": 4, "submission_method": "job_cluster", "materialized": "table"}
    )
    assert [warning.split("`")[1] for warning in found] == ["file_format", "indexes", "submission_method: job_cluster", "clustered_by"]
