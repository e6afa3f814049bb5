"""What a node reads, from its code and dbt's manifest."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.ducklake.manifest_nodes import READS_CHANGES, calls_macro, inputs_of, names_macro, spark_config


def macro(*calls: str) -> SimpleNamespace:
    return SimpleNamespace(depends_on=SimpleNamespace(macros=list(calls)))


def relation(database: str | None, name: str, **more: Any) -> SimpleNamespace:
    return SimpleNamespace(database=database, schema="main", alias=name, **more)


MANIFEST = SimpleNamespace(
    macros={
        "macro.shop.outer": macro("macro.shop.inner", "macro.shop.outer"),
        "macro.shop.inner": macro("macro.dbt_ducklake.ducklake_changes"),
        "macro.shop.other": macro("macro.dbt.is_incremental", "macro.gone.away"),
        "macro.dbt.is_incremental": macro(),
    },
    nodes={
        "model.shop.a": relation("lake", "a", defer_relation=relation("prod", "a", identifier="a")),
        "model.shop.short": relation(None, "short"),
    },
    sources={"source.shop.s": SimpleNamespace(database="raw", schema="main", identifier="orders")},
)


@pytest.mark.parametrize(
    ("code", "names_it"),
    [
        ("select * from {{ ducklake_changes(ref('a')) }}", True),
        ("{% set rows = dbt_ducklake.ducklake_changes(ref('a')) %} select * from {{ rows }}", True),
        ("select * from {{ ref('a') }} -- no longer ducklake_changes", False),
        ("{# it read ducklake_changes(ref('a')) #} select * from {{ ref('a') }}", False),
        ("select * from {{ my_ducklake_changes(ref('a')) }}", False),
    ],
)
def test_only_jinja_names_a_macro(code: str, names_it: bool) -> None:
    assert names_macro(code, READS_CHANGES) is names_it
    assert calls_macro({"raw_code": code}, READS_CHANGES, None) is names_it


@pytest.mark.parametrize(
    ("macros", "calls_it"), [(["macro.shop.outer"], True), (["macro.dbt.is_incremental", "macro.shop.other"], False), ([], False)]
)
def test_a_macro_is_called_through_others(macros: list[str], calls_it: bool) -> None:
    node = {"raw_code": "select * from {{ rows() }}", "depends_on": {"macros": macros}}
    assert calls_macro(node, READS_CHANGES, MANIFEST) is calls_it


def test_the_inputs_are_the_relations_of_the_nodes() -> None:
    node = {"depends_on": {"nodes": ["model.shop.a", "model.shop.short", "source.shop.s", "model.gone.away"]}}
    assert inputs_of(node, MANIFEST) == {("lake", "main.a"), ("prod", "main.a"), ("raw", "main.orders")}
    assert inputs_of(node, None) is None


class Config(dict[str, Any]):
    """The configs of a node that runs, as dbt gives them to the adapter."""

    def __init__(self, model: SimpleNamespace, **configs: Any) -> None:
        super().__init__(configs)
        self.model = model


def test_a_unit_test_has_the_spark_settings_of_its_model() -> None:
    manifest = SimpleNamespace(nodes={"model.shop.a": SimpleNamespace(config={"spark_config": {"x": "1"}})})
    unit_test = Config(SimpleNamespace(tested_node_unique_id="model.shop.a"), materialized="unit")
    model = Config(SimpleNamespace(), spark_config={"x": "2"})
    assert spark_config(unit_test, manifest) == {"x": "1"}
    assert spark_config(model, manifest) == {"x": "2"}
    assert spark_config(unit_test, None) is None
