"""The errors name all merge configs that contradict each other, at once."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.ducklake.merge_configs import check, missing_keys, plan
from dbt.adapters.ducklake.merge_fields import MERGE_CONFIGS

MATCHED, MISSING = "when_matched", "when_not_matched"
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"merge_update_condition": "a", "matched_condition": "b"}, "are aliases of one config"),
    ({"merge_insert_condition": "a", "not_matched_condition": "a"}, "are aliases of one config"),
    ({"insert_condition": "a", "not_matched_condition": "a"}, "not_matched_condition and insert_condition are aliases of one config"),
    ({"skip_matched_step": True, "delete_condition": "a"}, "delete_condition has no effect with skip_matched_step"),
    ({"delete_condition": "a", "source_alias": "Target"}, "both called target"),
    ({"merge_update_columns_rules": ["n"]}, "must be a map"),
    (
        {"merge_update_columns_rules": {"n": "summ"}},
        "n: 'summ' is not a rule; the rules are replace, coalesce, sum, append, append_distinct",
    ),
    ({"merge_update_columns_rules": {"n": 1}}, "n: 1 is not a rule"),
    ({"merge_update_columns_default_rule": "add"}, "merge_update_columns_default_rule: 'add' is not a rule"),
    ({"merge_update_columns_rules": {"n": "sum"}, "merge_update_set_expressions": {"`N`": "1"}}, "n has a rule and an expression"),
    ({"merge_clauses": {MATCHED: [{"action": "delete"}]}, "merge_update_columns_rules": {"n": "sum"}}, "remove merge_update_columns_rules"),
    ({"merge_update_columns": ["a"], "merge_exclude_columns": ["b"]}, "cannot be used together"),
    ({"merge_clauses": {MATCHED: [{"action": "delete"}]}, "skip_matched_step": True}, "remove skip_matched_step"),
    ({"skip_matched_step": True, "merge_exclude_columns": ["b"]}, "merge_exclude_columns has no effect with skip_matched_step"),
    ({"skip_not_matched_step": True, "not_matched_condition": "b"}, "not_matched_condition has no effect with skip_not_matched_step"),
    ({"skip_matched_step": True, "skip_not_matched_step": True}, "leave the merge nothing to do"),
    ({"not_matched_by_source_condition": "a"}, "set not_matched_by_source_action too"),
    ({"not_matched_by_source_action": "insert"}, "'delete' or 'update set"),
    ({"not_matched_by_source_action": "update set *"}, "'delete' or 'update set"),
    ({"source_alias": "t", "target_alias": "T"}, "both called"),
    ({"source_alias": "a b"}, "must be a plain identifier"),
    ({"merge_on_using_columns": ["a", "b"]}, "name different columns"),
    ({"merge_update_condition": ["a"]}, "must be a string"),
    ({"merge_update_columns": {"a": 1}}, "must be a list of columns"),
    ({"skip_matched_step": "yes"}, "must be true or false"),
    ({"merge_clauses": [1]}, "must be a map"),
    ({"merge_clauses": {"matched": []}}, "may contain only when_matched and when_not_matched, not matched"),
    ({"merge_clauses": {MATCHED: {"action": "delete"}}}, "must be a list of clauses"),
    ({"merge_clauses": {MATCHED: ["delete"]}}, "is not a map"),
    ({"merge_clauses": {MATCHED: [{"action": "insert"}]}}, "has the action insert; when matched it is one of"),
    ({"merge_clauses": {MISSING: [{"action": "delete"}]}}, "has the action delete; when not matched it is one of insert"),
    ({"merge_clauses": {MISSING: [{"action": "insert", "by": "source"}]}}, "when not matched by source it is one of update"),
    ({"merge_clauses": {MATCHED: [{"mode": "star"}]}}, "has no action; when matched it is one of"),
    ({"merge_clauses": {MISSING: [{"action": "insert", "by": "x"}]}}, "has by: x; it must be source or target"),
    (
        {"merge_clauses": {MATCHED: [{"action": "update", "update": {"exclude": "ab"}}]}},
        "has update.exclude, which must be a list; it is 'ab'",
    ),
    ({"merge_clauses": {MATCHED: [{"action": "update", "update": {"include": 1}}]}}, "has update.include, which must be a list; it is 1"),
    (
        {"merge_clauses": {MISSING: [{"action": "insert", "insert": {"columns": "id", "values": "xy"}}]}},
        "insert.columns, which must be a list",
    ),
    (
        {"merge_clauses": {MISSING: [{"action": "insert", "insert": {"columns": ["id"], "values": 1}}]}},
        "insert.values, which must be a list",
    ),
    (
        {"merge_clauses": {MATCHED: [{"action": "update", "update": {"set_expressions": ["n = 1"]}}]}},
        "update.set_expressions, which must be a map",
    ),
    ({"merge_clauses": {MATCHED: [{"action": "update", "update": ["a"]}]}}, r"has update, which must be a map; it is \['a'\]"),
    (
        {"merge_clauses": {MATCHED: [{"action": "delete", "update": {"include": ["a"]}}]}},
        "has update, which only a clause with the action update",
    ),
    ({"merge_clauses": {MATCHED: [{"action": "update", "mode": "x"}]}}, "has the mode x"),
    ({"merge_clauses": {MATCHED: [{"action": "update", "colums": []}]}}, "the unknown key colums"),
    ({"merge_clauses": {MATCHED: [{"action": "update", "update": {"only": []}}]}}, "has the unknown update.only"),
    ({"merge_clauses": {MATCHED: [{"action": "update", "update": {"include": ["a"], "exclude": ["b"]}}]}}, "cannot be used together"),
    ({"merge_clauses": {MATCHED: [{"action": "update", "mode": "star", "update": {"include": ["a"]}}]}}, "for the mode explicit"),
    ({"merge_clauses": {MATCHED: [{"action": "delete", "error_message": "x"}]}}, "its action is delete"),
    ({"merge_clauses": {MATCHED: [{"action": "delete", "condition": 1}]}}, "neither a string nor a list"),
    ({"merge_clauses": {MATCHED: [{"action": "update", "set_expressions": {"a": "1"}}]}}, "for matched rows it belongs in update"),
    ({"merge_clauses": {MISSING: [{"action": "insert", "mode": "explicit"}]}}, "needs insert"),
    ({"merge_clauses": {MISSING: [{"action": "insert", "insert": {"columns": ["a"], "values": []}}]}}, "1 columns and 0 values"),
    ({"merge_clauses": {MISSING: [{"action": "insert", "insert": {"columns": []}}]}}, "an insert without columns"),
    ({"merge_clauses": {MISSING: [{"action": "update", "by": "source"}]}}, "needs set_expressions"),
    (
        {"merge_clauses": {MISSING: [{"action": "update", "by": "source", "mode": "star", "set_expressions": {"a": "1"}}]}},
        "nothing to copy",
    ),
]


@pytest.mark.parametrize(("configs", "message"), REFUSED)
def test_contradictions_are_refused(configs: dict[str, Any], message: str) -> None:
    with pytest.raises(DbtRuntimeError, match=message):
        check(configs, "id")


@pytest.mark.parametrize(
    "configs",
    [
        {"not_matched_by_source_action": "delete"},
        {"skip_matched_step": True},
        {"matched_condition": "a"},
        {"delete_condition": "a"},
        {"merge_update_columns_rules": {"n": "sum"}},
        {"merge_clauses": {MATCHED: [{"action": "delete"}]}},
        {"merge_clauses": {MISSING: [{"action": "delete", "by": "source"}]}},
    ],
)
def test_configs_that_need_a_key_are_refused_without_one(configs: dict[str, Any]) -> None:
    with pytest.raises(DbtRuntimeError, match="needs unique_key or merge_on_using_columns"):
        check(configs, None)
    check({**configs, "merge_on_using_columns": ["id"]}, None)


@pytest.mark.parametrize("configs", [{"merge_update_condition": "a"}, {"delete_condition": "a"}, {"skip_not_matched_step": True}])
def test_the_strategy_changes_refuses_what_it_does_not_have(configs: dict[str, Any]) -> None:
    with pytest.raises(DbtRuntimeError, match=f"{next(iter(configs))} has no effect with the strategy changes"):
        check(configs, "id", (), "changes")
    check({"merge_update_columns": ["a"]}, "id", (), "changes")


def test_a_config_that_has_no_effect_in_a_lake_is_not_unknown() -> None:
    check({}, "id", ["merge_with_target_partition_filter"])


def test_every_mistake_is_named_at_once() -> None:
    with pytest.raises(DbtRuntimeError) as caught:
        check({"skip_matched_step": 1, "source_alias": "a b"}, "id", ["merge_colums", "matched_by"])
    assert str(caught.value).count("\n  - ") == 4


def test_missing_configs_are_not_refused() -> None:
    check(dict.fromkeys(MERGE_CONFIGS) | {"skip_matched_step": False, "merge_clauses": {}}, None, ["unique_key", *MERGE_CONFIGS])


def test_a_merge_without_effect_is_refused() -> None:
    nothing = {"merge_clauses": {MATCHED: [{"action": "do_nothing"}], MISSING: [{"action": "do_nothing"}]}}
    check(nothing, "id")
    with pytest.raises(DbtRuntimeError, match="leave the merge nothing to do"):
        plan(nothing, "id", [], ["id"], list)


def test_by_position_requires_equal_numbers_of_columns() -> None:
    with pytest.raises(DbtRuntimeError, match="the model has 1 columns and its table 2"):
        plan({"merge_clauses": {MATCHED: [{"action": "update", "mode": "by_position"}]}}, "id", [], ["id", "n"], lambda: ["id"])


@pytest.mark.parametrize(
    ("unique_key", "missing"),
    [
        ("ID", []),
        ("nosuch", ["nosuch"]),
        (["id", "`two words`", "x"], ["x"]),
        ("id || name", []),
        ("lower(x)", []),
        (None, []),
        ([], []),
    ],
)
def test_a_key_that_is_not_a_column_is_found(unique_key: object, missing: list[str]) -> None:
    assert missing_keys(unique_key, ["id", "name", "two words"]) == missing  # type: ignore[arg-type]


def test_rules_are_expressions_of_source_and_target() -> None:
    rules = {"N": "sum", "tags": "append_distinct", "seen": "greatest(_new_, _old_)", "name": "replace"}
    configs = {"merge_update_columns_rules": rules, "merge_update_columns_default_rule": "coalesce", "delete_condition": "src.gone"}
    columns = ["id", "n", "tags", "seen", "name", "other"]
    made = plan(configs, "ID", [f"`{column}`" for column in columns], columns, list)
    assert (made.target_alias, made.source_alias) == ("target", "src")
    assert made.clauses[:2] == (
        "when matched and (src.gone) then delete",
        (
            "when matched then update set `n` = src.`n` + target.`n`, `tags` = array_distinct(src.`tags` || target.`tags`), "
            "`seen` = greatest(src.`seen`, target.`seen`), `other` = coalesce(src.`other`, target.`other`), `id` = src.`id`, `name` = src.`name`"
        ),
    )


def test_a_rule_needs_a_column_that_is_updated() -> None:
    with pytest.raises(DbtRuntimeError, match="has nam, which the merge does not update; it updates id, name"):
        plan({"merge_update_columns_rules": {"nam": "sum"}}, "id", ["id", "name"], ["id", "name"], list)


def test_a_rule_does_not_change_names_that_contain_its_keywords() -> None:
    columns = ["id", "an_old_price"]
    made = plan({"merge_update_columns_rules": {"an_old_price": "coalesce"}}, "id", columns, columns, list)
    assert "an_old_price = coalesce(DBT_INTERNAL_SOURCE.an_old_price, DBT_INTERNAL_DEST.an_old_price)" in made.clauses[0]
