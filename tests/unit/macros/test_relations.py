"""The SQL that creates, changes and documents tables and views."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from dbt_common.exceptions import CompilationError

from tests.unit.macros.macro_rendering import Macros, columns, relation

TABLE = relation("orders")
VIEW = relation("orders", "view")


def test_a_table_is_replaced_and_never_renamed(macros: Macros) -> None:
    assert macros.create_table_as(False, TABLE, "select 1 as id") == "create or replace table `lake`.`main`.`orders` as select 1 as id"


def test_partitioning_is_part_of_create_table(macros: Macros) -> None:
    macros.config["partitioned_by"] = ["region", "year(sold_at)"]

    assert " partitioned by (region, year(sold_at)) tblproperties (" in macros.create_table_as(False, TABLE, "select 1 as id")


def test_one_partition_key_can_be_a_string(macros: Macros) -> None:
    macros.config["partition_by"] = "region"

    assert " partitioned by (region) tblproperties (" in macros.create_table_as(False, TABLE, "select 1 as id")


def test_a_table_stores_the_options_that_its_configs_set(macros: Macros) -> None:
    macros.config.update(sorted_by="id desc", options={"parquet_compression": "zstd"}, tblproperties={"team": "it's"})

    assert macros.create_table_as(False, TABLE, "select 1 as id") == (
        "create or replace table `lake`.`main`.`orders` sorted by (id desc) tblproperties ("
        "'team' = 'it\\'s', 'parquet_compression' = 'zstd', "
        '\'dbt.configured\' = \'["properties.parquet_compression", "properties.team", "sorted_by"]\') as select 1 as id'
    )


def test_materializations_for_spark_get_each_option_once(macros: Macros) -> None:
    """They call these two macros of dbt-spark, one after the other, and must find those of this adapter behind them."""
    macros.config.update(options={"parquet_compression": "zstd"}, tblproperties={"team": "blue"})

    assert macros.options_clause() == ""
    assert macros.tblproperties_clause().startswith("tblproperties ('team' = 'blue', 'parquet_compression' = 'zstd', ")


def test_a_sql_header_comes_before_the_statement(macros: Macros) -> None:
    macros.config["sql_header"] = "set x = 1;"

    assert macros.create_table_as(False, TABLE, "select 1 as id").startswith("set x = 1; create or replace table")


def test_a_view_is_replaced(macros: Macros) -> None:
    assert macros.create_view_as(VIEW, "select 1 as id") == "create or replace view `lake`.`main`.`orders` as select 1 as id"


def test_column_comments_of_a_view_are_part_of_its_creation(macros: Macros) -> None:
    macros.config["persist_docs"] = {"columns": True}
    macros.context["get_columns_in_query"] = lambda _: ["id", "name"]
    macros.context["model"].columns = {"ID": Documented("the owner's id")}

    assert macros.create_view_as(VIEW, "select 1") == (
        r"create or replace view `lake`.`main`.`orders` ( `id` comment 'the owner\'s id', `name` ) as select 1"
    )


def test_comments_with_quotes_and_backslashes_are_escaped(macros: Macros) -> None:
    assert macros.alter_relation_comment(TABLE, 'it\'s a \\ /* x */ -- "q"') == (
        "comment on table `lake`.`main`.`orders` is 'it\\'s a \\\\ /* x */ -- \"q\"'"
    )


def test_each_column_gets_its_description_as_comment_and_loses_it_with_an_empty_one(macros: Macros) -> None:
    documented = {"id": Documented("the key"), "name": Documented("")}

    assert macros.alter_column_comment(TABLE, documented) == (
        "alter table `lake`.`main`.`orders` alter column `id` comment 'the key'; "
        "alter table `lake`.`main`.`orders` alter column `name` comment null;"
    )


def test_columns_are_added_and_dropped_by_alter_table(macros: Macros) -> None:
    macros.alter_relation_add_remove_columns(TABLE, columns(a="int", b="string"), columns(c="int"))

    assert macros.statements == [
        "alter table `lake`.`main`.`orders` add columns ( `a` int, `b` string )",
        "alter table `lake`.`main`.`orders` drop columns (`c`)",
    ]


def test_a_widened_type_changes_only_metadata(macros: Macros) -> None:
    macros.adapter.columns["orders"] = columns(id="int")

    macros.alter_column_type(TABLE, "id", "bigint")

    assert macros.statements == ["alter table `lake`.`main`.`orders` alter column `id` type bigint"]


def test_any_other_type_needs_a_new_column(macros: Macros) -> None:
    macros.adapter.columns["orders"] = columns(id="string")

    macros.alter_column_type(TABLE, "id", "int")

    assert macros.statements == [
        "alter table `lake`.`main`.`orders` rename column `id` to `id__dbt_alter`; alter table `lake`.`main`.`orders` add columns (`id` int)",
        "alter table `lake`.`main`.`orders` drop columns (`id__dbt_alter`)",
    ]
    assert [call[0] for call in macros.adapter.calls] == ["key_actions", "convert_column", "attribute_actions"]


def test_a_column_of_another_type_is_found_in_any_case(macros: Macros) -> None:
    macros.adapter.columns["orders"] = columns(id="int")

    macros.alter_column_type(TABLE, "ID", "bigint")

    assert macros.statements == ["alter table `lake`.`main`.`orders` alter column `id` type bigint"]
    with pytest.raises(CompilationError, match=r"there is no column nope in `lake`\.`main`\.`orders`"):
        macros.alter_column_type(TABLE, "nope", "bigint")


def test_fields_are_changed_by_their_paths(macros: Macros) -> None:
    macros.adapter.columns["orders"] = columns(place="array<struct<gone:int,wider:int>>")

    macros.alter_column_type(TABLE, "place", "array<struct<wider:bigint,new:string>>")

    assert macros.statements == [
        "alter table `lake`.`main`.`orders` add columns ( `place`.`element`.`new` string )",
        "alter table `lake`.`main`.`orders` drop columns (`place`.`element`.`gone`)",
        "alter table `lake`.`main`.`orders` alter column `place`.`element`.`wider` type bigint",
    ]


def test_schema_changes_ignore_the_case_of_names_and_compatible_types(macros: Macros) -> None:
    macros.adapter.columns["source"] = columns(ID="int", amount="decimal(10,2)", new="string", changed="string")
    macros.adapter.columns["orders"] = columns(id="bigint", amount="decimal(12,2)", changed="int", old="int")

    found = macros.check_for_schema_changes(relation("source"), TABLE)

    assert found["schema_changed"]
    assert [c.name for c in found["source_not_in_target"]] == ["new"]
    assert [c.name for c in found["target_not_in_source"]] == ["old"]
    assert found["new_target_types"] == [{"column_name": "changed", "new_type": "string"}]


def test_schema_changes_compare_names_as_the_lake_does(macros: Macros) -> None:
    macros.adapter.columns["source"] = columns(ä="int", ID="int")
    macros.adapter.columns["orders"] = columns(Ä="int", id="int")

    found = macros.check_for_schema_changes(relation("source"), TABLE)

    assert [c.name for c in found["source_not_in_target"]] == ["ä"]
    assert [c.name for c in found["target_not_in_source"]] == ["Ä"]


def test_a_schema_is_created_and_is_dropped_with_its_relations(macros: Macros) -> None:
    macros.drop_schema(TABLE)
    macros.create_schema(TABLE)

    assert macros.statements == ["drop schema if exists `lake`.`main` cascade", "create schema if not exists `lake`.`main`"]


def test_a_changed_layout_is_applied_unless_the_config_keeps_it(macros: Macros) -> None:
    macros.ducklake__apply_layout(TABLE)
    assert [call[0] for call in macros.adapter.calls] == ["layout_actions"]

    macros.config["incremental_apply_config_changes"] = False
    macros.ducklake__apply_layout(TABLE)
    assert [call[0] for call in macros.adapter.calls] == ["layout_actions"]


def test_hooks_outside_the_transaction_send_no_commit(macros: Macros) -> None:
    hooks = [
        {"sql": "insert into t values (1)", "transaction": False},
        {"sql": "  ", "transaction": False},
        {"sql": "x", "transaction": True},
    ]

    macros.run_hooks(hooks, inside_transaction=False)

    assert macros.statements == ["insert into t values (1)"]


def test_the_commit_message_of_a_model_is_rendered(macros: Macros) -> None:
    macros.context["render"] = lambda text: text.replace("{{ this }}", "orders")
    macros.config.update(commit_message="built {{ this }}", commit_author="me", commit_extra_info={"of": "{{ this }}", "n": 1})

    macros.ducklake__begin_snapshot()

    assert macros.adapter.calls == [("begin_transaction", "built orders", "me", {"of": "orders", "n": 1})]


class Documented(SimpleNamespace):
    """A column of a model that supports attributes and keys, like dbt's own."""

    def __init__(self, description: str, quote: bool = False) -> None:
        super().__init__(description=description, quote=quote)

    def __getitem__(self, key: str) -> object:
        return getattr(self, key)
