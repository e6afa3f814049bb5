"""Merge configs of dbt-duckdb and dbt-databricks, and replace_where: their effect on rows, and which are refused."""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt

from tests.functional.adapter.test_strategies import incremental, rows

FIRST = "select * from values (1, 'a', 10), (2, 'b', 20), (3, 'c', 30) as t(id, name, n)"
SECOND = "select * from values (2, 'B', 25), (3, 'C', 5), (4, 'D', 40), (5, 'E', 1) as t(id, name, n)"
DEFAULT = {1: ("a", 10), 2: ("B", 25), 3: ("C", 5), 4: ("D", 40), 5: ("E", 1)}
OLD = {1: ("a", 10), 2: ("b", 20), 3: ("c", 30)}

CASES: dict[str, tuple[str, dict[int, tuple[object, ...]]]] = {
    "update_condition": (
        "merge_update_condition='DBT_INTERNAL_SOURCE.n > DBT_INTERNAL_DEST.n'", {**DEFAULT, 3: ("c", 30)}),
    "insert_condition": ("merge_insert_condition='DBT_INTERNAL_SOURCE.n > 1'", {k: v for k, v in DEFAULT.items() if k != 5}),
    "set_expressions": (
        "merge_update_set_expressions={'n': 'DBT_INTERNAL_DEST.n + DBT_INTERNAL_SOURCE.n'}", {**DEFAULT, 2: ("B", 45), 3: ("C", 35)}),
    "set_of_one_column": (
        "merge_update_columns=['name'], merge_update_set_expressions={'n': '-1'}", {**DEFAULT, 2: ("B", -1), 3: ("C", -1)}),
    "aliases": (
        "source_alias='s', target_alias='t', matched_condition='s.n > t.n', not_matched_condition='s.n > 1'",
        {1: ("a", 10), 2: ("B", 25), 3: ("c", 30), 4: ("D", 40)}),
    "athena": (
        ("delete_condition='src.n < 10', update_condition='src.n > target.n', insert_condition='src.n > 1', "
        "merge_update_columns_rules={'n': 'sum', 'name': 'concat(_old_, _new_)'}"), {1: ("a", 10), 2: ("bB", 45), 4: ("D", 40)}),
    "default_rule": ("merge_update_columns_default_rule='coalesce', merge_update_columns_rules={'name': 'append'}",
        {**DEFAULT, 2: ("Bb", 25), 3: ("Cc", 5)}),
    "delete_by_source": ("not_matched_by_source_action='delete'", {k: v for k, v in DEFAULT.items() if k != 1}),
    "update_by_source": (
        ("not_matched_by_source_action='update set name = concat(DBT_INTERNAL_DEST.name, \\'!\\'), n = 0', "
        "not_matched_by_source_condition='DBT_INTERNAL_DEST.n < 100'"), {**DEFAULT, 1: ("a!", 0)}),
    "not_by_source": (
        "not_matched_by_source_action='delete', not_matched_by_source_condition='DBT_INTERNAL_DEST.n > 10'", DEFAULT),
    "no_update": ("skip_matched_step=true", {**DEFAULT, **OLD}),
    "no_insert": ("skip_not_matched_step=true", {k: v for k, v in DEFAULT.items() if k < 4}),
    "clauses": (
        ("merge_clauses={'when_matched': ["
        "{'action': 'delete', 'condition': 'DBT_INTERNAL_SOURCE.n < 10'}, "
        "{'action': 'update', 'mode': 'explicit', 'update': {'exclude': ['name'], 'set_expressions': {'n': '0'}}}], "
        "'when_not_matched': ["
        "{'action': 'insert', 'mode': 'explicit', 'condition': ['DBT_INTERNAL_SOURCE.n > 1', 'DBT_INTERNAL_SOURCE.id < 10'], "
        "'insert': {'columns': ['id', 'name'], 'values': ['DBT_INTERNAL_SOURCE.id', \"'new'\"]}}, "
        "{'by': 'source', 'action': 'update', 'set_expressions': {'name': \"'gone'\"}}]}"),
        {1: ("gone", 10), 2: ("b", 0), 4: ("new", None)}),
    "clauses_do_nothing": (
        ("merge_clauses={'when_matched': ["
        "{'action': 'do_nothing', 'condition': 'DBT_INTERNAL_SOURCE.n < DBT_INTERNAL_DEST.n'}, {'action': 'update', 'mode': 'star'}], "
        "'when_not_matched': [{'action': 'do_nothing'}, {'by': 'target', 'action': 'insert', 'mode': 'star'}]}"),
        {**OLD, 2: ("B", 25)}),
    "clauses_by_position": (
        ("merge_clauses={'when_matched': [{'action': 'update', 'mode': 'by_position'}], "
        "'when_not_matched': [{'action': 'insert', 'mode': 'by_position'}]}"), DEFAULT),
    "clauses_one_side": ("merge_clauses={'when_matched': [{'action': 'delete'}]}", {1: ("a", 10), 4: ("D", 40), 5: ("E", 1)}),
}  # fmt: skip
KEYLESS = {
    "using": "merge_on_using_columns=['id']",
    "using_and_clauses": "merge_on_using_columns='id', merge_clauses={'when_matched': [{'action': 'update'}]}",
}
FAILING = {
    "error_matched": "merge_clauses={'when_matched': [{'action': 'error', 'error_message': \"it's there\", 'condition': 'DBT_INTERNAL_SOURCE.id = 3'}]}",
    "error_missing": "merge_clauses={'when_not_matched': [{'action': 'error'}]}",
}


class TestMergeConfigs:
    @pytest.fixture(scope="class")
    def models(self):
        found = {f"{name}.sql": incremental(f"unique_key='id', {config}", FIRST, SECOND) for name, (config, _) in CASES.items()}
        found |= {f"{name}.sql": incremental(config, FIRST, SECOND) for name, config in KEYLESS.items()}
        return found | {f"{name}.sql": incremental(f"unique_key='id', {config}", FIRST, SECOND) for name, config in FAILING.items()}

    def test_rows_after_the_merge(self, project):
        run_dbt(["run"])
        results = run_dbt(["run"], expect_pass=False)
        found = {name: {row[0]: row[1:] for row in rows(project, name)} for name in (*CASES, *KEYLESS, *FAILING)}
        assert found == {name: expected for name, (_, expected) in CASES.items()} | dict.fromkeys(KEYLESS, DEFAULT) | dict.fromkeys(
            FAILING, OLD
        )
        failed = {result.node.name: result.message for result in results if result.status == "error"}
        assert sorted(failed) == sorted(FAILING)
        assert "it's there" in failed["error_matched"]
        assert "a row is not matched" in failed["error_missing"]


WINDOW = "incremental_strategy='replace_where', incremental_predicates=[\"day >= '2024-01-02'\", 'n < 100']"
DAYS = "select * from values (1, '2024-01-01'), (2, '2024-01-02'), (300, '2024-01-02') as t(n, day)"
LATER = "select * from values ('2024-01-02', 20), ('2024-01-03', 30) as t(day, n)"


class TestReplaceWhere:
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "replaced.sql": incremental(WINDOW, DAYS, LATER),
            "outside.sql": incremental(WINDOW, DAYS, DAYS),
            "without.sql": incremental("incremental_strategy='replace_where'", DAYS, LATER),
        }

    def test_rows_of_the_predicates_are_replaced(self, project):
        run_dbt(["run"])
        results = run_dbt(["run"], expect_pass=False)
        assert rows(project, "replaced") == [(1, "2024-01-01"), (20, "2024-01-02"), (30, "2024-01-03"), (300, "2024-01-02")]
        failed = {result.node.name: result.message for result in results if result.status == "error"}
        assert sorted(failed) == ["outside", "without"]
        assert "2 rows of the model do not pass incremental_predicates" in failed["outside"]
        assert "replace_where needs incremental_predicates" in failed["without"]
        assert len(rows(project, "outside")) == 3


class TestWithoutAKey:
    @pytest.fixture(scope="class")
    def models(self):
        return {"filtered.sql": incremental("merge_insert_condition='DBT_INTERNAL_SOURCE.id = 4'", FIRST, SECOND)}

    def test_a_condition_of_inserts_is_kept(self, project):
        run_dbt(["run"])
        before = project.run_sql("select count(*) from {schema}.filtered", fetch="one")[0]
        run_dbt(["run"])
        assert project.run_sql("select count(*), count_if(id = 4) from {schema}.filtered", fetch="one") == (before + 1, 1)


class TestRefusedBeforeTheFirstBuild:
    @pytest.fixture(scope="class")
    def models(self):
        return {"wrong.sql": incremental("unique_key='id', merge_update_colums=['n'], merge_returning_columns='n'", FIRST, SECOND)}

    @pytest.mark.usefixtures("project")
    def test_a_misspelt_config_is_refused(self):
        (result,) = run_dbt(["run"], expect_pass=False)
        assert "there is no config merge_update_colums; did you mean merge_update_columns?" in result.message
        assert "merge_returning_columns is not supported" in result.message
