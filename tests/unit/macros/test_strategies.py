"""The SQL of the incremental strategies."""

from __future__ import annotations

import pytest
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from tests.guides import example_strategy
from tests.unit.macros.macro_rendering import Macros, columns, relation

TARGET = relation("orders")
COLUMNS = columns(id="int", region="string", amount="decimal(10,2)")


def arguments(macros: Macros, **more: object) -> dict[str, object]:
    source = macros.make_temp_relation(TARGET)
    return {
        "target_relation": TARGET,
        "temp_relation": source,
        "unique_key": "id",
        "dest_columns": COLUMNS,
        "incremental_predicates": None,
        **more,
    }


def test_the_source_is_a_temporary_view_without_a_schema(macros: Macros) -> None:
    source = macros.make_temp_relation(TARGET)

    assert str(source) == "`orders__dbt_tmp`"
    assert source.has_one_part
    assert source.is_view
    assert macros.create_table_as(True, source, "select 1 as id") == "create or replace temporary view `orders__dbt_tmp` as select 1 as id"


def test_append_inserts_by_name(macros: Macros) -> None:
    assert macros.get_incremental_append_sql(arguments(macros)) == (
        "insert into `lake`.`main`.`orders` (`id`, `region`, `amount`) select `id`, `region`, `amount` from `orders__dbt_tmp`"
    )


def test_merge_updates_every_column_and_inserts_the_rest(macros: Macros) -> None:
    assert macros.get_incremental_merge_sql(arguments(macros)) == (
        "merge into `lake`.`main`.`orders` as DBT_INTERNAL_DEST using `orders__dbt_tmp` as DBT_INTERNAL_SOURCE "
        "on (DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id) "
        "when matched then update set `id` = DBT_INTERNAL_SOURCE.`id`, `region` = DBT_INTERNAL_SOURCE.`region`, "
        "`amount` = DBT_INTERNAL_SOURCE.`amount` "
        "when not matched then insert (`id`, `region`, `amount`) "
        "values (DBT_INTERNAL_SOURCE.`id`, DBT_INTERNAL_SOURCE.`region`, DBT_INTERNAL_SOURCE.`amount`)"
    )


def test_merge_by_several_keys_and_predicates(macros: Macros) -> None:
    sql = macros.get_incremental_merge_sql(
        arguments(macros, unique_key=["id", "region"], incremental_predicates=["DBT_INTERNAL_DEST.amount > 0 or 1 = 0"])
    )

    assert (
        " on (DBT_INTERNAL_DEST.amount > 0 or 1 = 0) and (DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id) "
        "and (DBT_INTERNAL_SOURCE.region = DBT_INTERNAL_DEST.region) when " in sql
    )


@pytest.mark.parametrize("name", ["incremental_predicates", "predicates"])
def test_predicates_are_a_condition_or_a_list_of_them(macros: Macros, name: str) -> None:
    assert macros.ducklake__incremental_predicates() is None
    for given, expected in (("a > 0", ["a > 0"]), (["a > 0", "b = 1"], ["a > 0", "b = 1"])):
        macros.config[name] = given
        assert macros.ducklake__incremental_predicates() == expected
    for wrong in (5, True, ["a > 0", 5], {"a": 0}):
        macros.config[name] = wrong
        with pytest.raises(CompilationError, match=f"the config {name} must be a condition or a list of conditions; it is "):
            macros.ducklake__incremental_predicates()


def test_null_keys_match_only_under_the_behavior_flag(macros: Macros) -> None:
    assert "DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id" in macros.get_incremental_merge_sql(arguments(macros))

    macros.adapter.behavior.enable_truthy_nulls_equals_macro.no_warn = True

    assert "DBT_INTERNAL_SOURCE.id <=> DBT_INTERNAL_DEST.id" in macros.get_incremental_merge_sql(arguments(macros))


def test_a_key_in_double_quotes_is_a_column_everywhere(macros: Macros) -> None:
    assert macros.ducklake__key_columns(['"id"', "region", '"a" || "b"']) == ["`id`", "region", '"a" || "b"']
    macros.config.update(merge_update_columns_default_rule="coalesce")
    sql = macros.get_incremental_merge_sql(arguments(macros, unique_key='"id"'))
    assert "`id` = DBT_INTERNAL_SOURCE.`id`" in sql, "the default rule does not apply to keys"
    assert "`amount` = coalesce(DBT_INTERNAL_SOURCE.`amount`, DBT_INTERNAL_DEST.`amount`)" in sql


def test_merge_updates_only_the_columns_of_merge_update_columns(macros: Macros) -> None:
    macros.config["merge_update_columns"] = ["amount"]

    assert "update set amount = DBT_INTERNAL_SOURCE.amount when not matched" in macros.get_incremental_merge_sql(arguments(macros))


def test_merge_does_not_update_the_columns_of_merge_exclude_columns(macros: Macros) -> None:
    macros.config["merge_exclude_columns"] = ["`AMOUNT`", "id"]

    assert "update set `region` = DBT_INTERNAL_SOURCE.`region` when not matched" in macros.get_incremental_merge_sql(arguments(macros))


def test_merge_refuses_both_column_lists(macros: Macros) -> None:
    macros.config.update(merge_update_columns=["id"], merge_exclude_columns=["amount"])

    with pytest.raises(DbtRuntimeError, match="merge_update_columns and merge_exclude_columns cannot be used together"):
        macros.get_incremental_merge_sql(arguments(macros))


def test_merge_keeps_the_rows_that_the_flags_leave_out_and_always_has_a_clause(macros: Macros) -> None:
    macros.adapter.leaves_out_rows = lambda: True
    macros.config.update(not_matched_by_source_action="delete")
    assert "by source" not in macros.get_incremental_merge_sql(arguments(macros))

    macros.config.update(skip_matched_step=True, skip_not_matched_step=True)
    assert macros.get_incremental_merge_sql(arguments(macros)).endswith(") when not matched by source and false then delete")
    macros.config.update(not_matched_by_source_condition="DBT_INTERNAL_DEST.id > 1")
    found = macros.get_incremental_merge_sql(arguments(macros))
    assert found.endswith(" when not matched by source and false and (DBT_INTERNAL_DEST.id > 1) then delete")


def test_merge_without_a_key_inserts_every_row(macros: Macros) -> None:
    sql = macros.get_incremental_merge_sql(arguments(macros, unique_key=None))

    assert " on false when not matched then insert " in sql
    assert "when matched then" not in sql


@pytest.mark.parametrize(
    ("key", "expected"), [(None, "insert into"), ([], "insert into"), ("", "insert into"), ("id", "merge into"), (["id"], "merge into")]
)
def test_the_default_is_merge_with_a_key_and_append_without(macros: Macros, key: object, expected: str) -> None:
    assert macros.get_incremental_default_sql(arguments(macros, unique_key=key)).startswith(expected)


def test_delete_insert_matches_the_whole_key_and_computes_its_source_once(macros: Macros) -> None:
    given = arguments(macros, unique_key=["id", "region"], incremental_predicates=["amount > 0"])

    assert macros.get_incremental_delete_insert_sql(given) == (
        "delete from `lake`.`main`.`orders` as DBT_INTERNAL_DEST "
        "where (id, region) in (select distinct DBT_INTERNAL_SOURCE.id, DBT_INTERNAL_SOURCE.region from `orders__dbt_tmp` as DBT_INTERNAL_SOURCE) "
        "and (amount > 0); "
        "insert into `lake`.`main`.`orders` (`id`, `region`, `amount`) select `id`, `region`, `amount` from `orders__dbt_tmp`"
    )
    assert ("materialize_temp_view", given["temp_relation"]) in macros.adapter.calls


def test_delete_insert_matches_null_keys_under_the_behavior_flag(macros: Macros) -> None:
    macros.adapter.behavior.enable_truthy_nulls_equals_macro.no_warn = True

    assert (
        "where exists ( select 1 from `orders__dbt_tmp` as DBT_INTERNAL_SOURCE where (DBT_INTERNAL_SOURCE.id <=> DBT_INTERNAL_DEST.id) );"
        in macros.get_incremental_delete_insert_sql(arguments(macros))
    )


def test_insert_overwrite_without_partitions_replaces_the_table(macros: Macros) -> None:
    assert macros.get_incremental_insert_overwrite_sql(arguments(macros)).startswith(
        "insert overwrite `lake`.`main`.`orders` (`id`, `region`, `amount`) select"
    )
    assert macros.adapter.calls == []


def test_insert_overwrite_replaces_the_partitions_of_the_source(macros: Macros) -> None:
    macros.config["partition_by"] = ["region", "id"]

    assert "insert overwrite `lake`.`main`.`orders` partition (region, id) (`id`" in macros.get_incremental_insert_overwrite_sql(
        arguments(macros)
    )


def test_insert_overwrite_names_keys_with_transforms(macros: Macros) -> None:
    macros.config["partitioned_by"] = ["year(sold_at)", "region", "bucket(8, id)"]

    assert "insert overwrite `lake`.`main`.`orders` partition (year(sold_at), region, bucket(8, id)) (`id`" in (
        macros.get_incremental_insert_overwrite_sql(arguments(macros))
    )


def test_microbatch_replaces_its_window(macros: Macros) -> None:
    macros.config.update(
        event_time="sold_at",
        __dbt_internal_microbatch_event_time_start="2020-01-01 00:00:00+00:00",
        __dbt_internal_microbatch_event_time_end="2020-01-02 00:00:00+00:00",
    )

    assert macros.get_incremental_microbatch_sql(arguments(macros)).startswith(
        "delete from `lake`.`main`.`orders` as DBT_INTERNAL_DEST where sold_at >= timestamp '2020-01-01 00:00:00+00:00' "
        "and sold_at < timestamp '2020-01-02 00:00:00+00:00'; insert into `lake`.`main`.`orders` ("
    )


@pytest.mark.parametrize("reads", [True, False])
def test_microbatch_keeps_the_rows_of_a_model_that_reads_its_own_table(macros: Macros, reads: bool) -> None:
    macros.adapter.view_reads_table = lambda view, table: reads and (view.identifier, table.identifier) == ("orders__dbt_tmp", "orders")
    given = arguments(macros)
    macros.config.update(event_time="sold_at", __dbt_internal_microbatch_event_time_start="2020-01-01 00:00:00+00:00")
    macros.get_incremental_microbatch_sql(given)
    assert macros.adapter.calls == ([("materialize_temp_view", given["temp_relation"])] if reads else [])


@pytest.mark.parametrize(
    ("kind", "start", "end"),
    [
        ("timestamp", "timestamp '2020-01-01 06:00:00+00:00'", "timestamp '2020-01-02 00:00:00+00:00'"),
        ("timestamp_ntz", "timestamp_ntz '2020-01-01 06:00:00'", "timestamp_ntz '2020-01-02 00:00:00'"),
        ("date", "date '2020-01-01'", "date '2020-01-02'"),
    ],
)
def test_microbatch_compares_as_dbt_filters_the_input(macros: Macros, kind: str, start: str, end: str) -> None:
    macros.config.update(
        event_time="`Sold at`",
        __dbt_internal_microbatch_event_time_start="2020-01-01 06:00:00+00:00",
        __dbt_internal_microbatch_event_time_end="2020-01-02 00:00:00+00:00",
    )
    given = arguments(macros)
    given["dest_columns"] = [*COLUMNS, *columns(**{"sold at": kind})]
    assert f"where `Sold at` >= {start} and `Sold at` < {end}; " in macros.get_incremental_microbatch_sql(given)


def test_replace_where_replaces_the_rows_of_its_predicates(macros: Macros) -> None:
    macros.context["run_query"] = lambda sql: macros.statements.append(sql)
    given = arguments(macros, incremental_predicates=["region = 'eu'", "id > 1 or id is null"])

    assert macros.get_incremental_replace_where_sql(given) == (
        "insert into `lake`.`main`.`orders` by name replace where (region = 'eu') and (id > 1 or id is null) "
        "select `id`, `region`, `amount` from `orders__dbt_tmp`"
    )
    assert macros.statements == [
        "select count(*) from `orders__dbt_tmp` where not coalesce((region = 'eu') and (id > 1 or id is null), false)"
    ]
    assert ("materialize_temp_view", given["temp_relation"]) in macros.adapter.calls


def test_replace_where_needs_its_predicates(macros: Macros) -> None:
    with pytest.raises(CompilationError, match="replace_where needs incremental_predicates"):
        macros.get_incremental_replace_where_sql(arguments(macros))


def test_tmp_relation_type_determines_how_the_source_is_stored(macros: Macros) -> None:
    given = arguments(macros)
    kept = ("materialize_temp_view", given["temp_relation"])

    def after(kind: str | None, *names: str) -> int:
        macros.adapter.calls.clear()
        macros.config["tmp_relation_type"] = kind
        macros.ducklake__keep_source_if_configured(given["temp_relation"])
        for name in names:
            getattr(macros, f"get_incremental_{name}_sql")(given)
        return macros.adapter.calls.count(kept)

    assert [after(None, "merge"), after("view", "merge"), after("TABLE", "merge"), after("materialize", "append")] == [0, 0, 1, 1]
    assert [after(None, "delete_insert"), after("table", "delete_insert")] == [1, 1], "once, whoever asks"
    assert after("view", "append", "insert_overwrite") == 0
    with pytest.raises(CompilationError, match=r"delete\+insert reads the rows of the model twice"):
        after("view", "delete_insert")
    with pytest.raises(CompilationError, match="tmp_relation_type is view, table or materialize; it is ephemeral"):
        after("ephemeral")
    given["unique_key"] = None
    assert after("view", "delete_insert") == 0, "without a key it only inserts"


def test_buckets_of_clustered_by_are_not_partitions_to_overwrite(macros: Macros) -> None:
    macros.config.update(partition_by="region", clustered_by="id", buckets=8)

    assert macros.ducklake__partitioned_by_clause() == "partitioned by (region, bucket(8, id))"
    assert "partition (region) (" in macros.get_incremental_insert_overwrite_sql(arguments(macros))


# -- the example of a new strategy ---------------------------------------------------------------------------------------------------


@pytest.fixture
def with_example(macros: Macros) -> Macros:
    macros.define(example_strategy())
    return macros


def test_the_example_of_contributing_inserts_the_rows_whose_key_is_missing(with_example: Macros) -> None:
    given = arguments(with_example, unique_key=["id", "region"], incremental_predicates=["DBT_INTERNAL_DEST.amount > 0"])

    assert with_example.get_incremental_insert_missing_sql(given) == (
        "merge into `lake`.`main`.`orders` as DBT_INTERNAL_DEST using `orders__dbt_tmp` as DBT_INTERNAL_SOURCE "
        "on (DBT_INTERNAL_DEST.amount > 0) and (DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id) "
        "and (DBT_INTERNAL_SOURCE.region = DBT_INTERNAL_DEST.region) "
        "when not matched then insert (`id`, `region`, `amount`) "
        "values (DBT_INTERNAL_SOURCE.`id`, DBT_INTERNAL_SOURCE.`region`, DBT_INTERNAL_SOURCE.`amount`)"
    )


def test_the_example_of_contributing_needs_a_key(with_example: Macros) -> None:
    with pytest.raises(CompilationError, match="insert_missing needs a unique_key"):
        with_example.get_incremental_insert_missing_sql(arguments(with_example, unique_key=None))
