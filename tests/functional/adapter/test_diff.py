"""`ducklake_diff`: between two snapshots, two relations and two targets, as an operation, in a hook and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from dbt.tests.fixtures.project import TestProjInfo
from dbt.tests.util import run_dbt, run_dbt_and_capture

from dbt.adapters.ducklake.cli import main

ORDERS = """
{{ config(materialized='table') }}
select cast(id as int) as id, case when id in ({{ var('changed', '0') }}) then 'changed' else 'a' end as status
{% if var('with_note', false) %}, 'n' as note {% endif %}
from range(1, {{ var('until', 11) }})
"""
KEYED = (
    "{{ config(materialized='table', contract={'enforced': true}) }} select cast(id as int) as id, {{ var('value', 1) }} as v from range(3)"
)
SCHEMA = """
models:
  - name: keyed
    constraints: [{type: primary_key, columns: [id], warn_unenforced: false}]
    columns: [{name: id, data_type: int}, {name: v, data_type: int}]
"""
IN_HOOK = "{% if target.name == 'ci' %}{{ ducklake_diff('orders', other_target='default', key='id', format='json', path='target/hook.json') }}{% endif %}"


def operation(*, target: str = "default", passes: bool = True, **given: Any) -> str:
    """Run the operation and return what it printed."""
    arguments = ["--quiet", "run-operation", "ducklake_diff", "--args", repr(given), "--target", target]
    _, output = run_dbt_and_capture(arguments, expect_pass=passes)
    return output.strip()


def found(**given: Any) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(operation(**given, format="json"))
    return parsed


def counts(found: dict[str, Any]) -> tuple[int, int, int]:
    rows = found["rows"]
    return rows["added"], rows["removed"], rows["changed"]


class TestDiff:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"orders.sql": ORDERS, "keyed.sql": KEYED, "schema.yml": SCHEMA, "orders_view.sql": "select * from {{ ref('orders') }}"}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"on-run-end": [IN_HOOK]}

    @pytest.fixture(scope="class")
    def dbt_profile_data(self, unique_schema: str, dbt_profile_target: dict[str, Any], tmp_path_factory: Any) -> dict[str, Any]:
        """Three targets: two schemas of one lake, and another lake."""
        folder = tmp_path_factory.mktemp("far")
        here = {**dbt_profile_target, "schema": unique_schema}
        far = {**here, "path": f"ducklake:sqlite:{folder}/lake.sqlite", "data_path": f"{folder}/files/", "schema": "shop"}
        outputs = {
            "default": here,
            "ci": {**here, "schema": f"{unique_schema}_ci"},
            "far": far,
            "other": {"type": "spark", "method": "session"},
        }
        return {"test": {"outputs": outputs, "target": "default"}}

    @pytest.fixture(scope="class")
    def built(self, project: TestProjInfo) -> TestProjInfo:
        """The models as they are in all targets; those of `far` and `ci` have other rows."""
        run_dbt(["run"])
        run_dbt(["run", "--target", "far", "--vars", "{changed: '3, 4', until: 12}"])
        run_dbt(["run", "--target", "ci", "--vars", "{changed: '2', until: 10, with_note: true, value: 2}"])
        return project

    def test_two_snapshots_of_a_model(self, built: TestProjInfo) -> None:
        (before,) = built.run_sql("select max(snapshot_id), max(snapshot_time) from lake.snapshots()", fetch="all")
        run_dbt(["run", "--select", "orders", "--vars", "{changed: '5', until: 10}"])
        run_dbt(["run", "--select", "orders"])
        after = before[0] + 1
        for start in (before[0], str(before[1]), before[1].isoformat()):
            assert counts(found(table="orders", **{"from": start, "to": after}, key="id")) == (0, 1, 1)
        assert found(table="orders", **{"from": before[0]})["equal"]
        text = operation(table_name="orders", **{"from": before[0], "to": after}, key=["id"], examples=1)
        assert "rows by id: 0 added, 1 removed, 1 changed" in text
        assert "~ id = 5: status a → changed" in text

    def test_a_stored_key_is_used(self, built: TestProjInfo) -> None:
        schema = f"{built.test_schema}_ci"
        compared = found(table="keyed", other=f"{schema}.keyed")
        assert (compared["key"], counts(compared)) == (["id"], (0, 0, 3))

    def test_another_schema_of_this_lake_is_another_target(self, built: TestProjInfo) -> None:
        compared = found(target="ci", table="orders", other_target="default", key="id")
        assert (counts(compared), compared["columns"][0]["column"]) == ((0, 1, 1), "note")
        assert compared["from"]["relation"] == f"lake.{built.test_schema}.orders"
        assert json.loads(Path("target/hook.json").read_text())["rows"] == compared["rows"]

    def test_another_lake_is_another_target(self, built: TestProjInfo) -> None:
        text = operation(table="orders", other_target="far", key="id", format="markdown")
        assert text.startswith(f"### `lake.{built.test_schema}.orders`: rows 0 added, 1 removed, 2 changed\n")
        assert "From `far.shop.orders` at snapshot" in text
        assert counts(found(table="orders_view", other_target="far", other="orders", key="id")) == (0, 1, 2)
        assert counts(found(table="orders_view", other_target="far", other="shop.orders", key="id")) == (0, 1, 2)

    @pytest.mark.usefixtures("built")
    def test_a_file_is_written(self, tmp_path: Path) -> None:
        path = tmp_path / "new" / "diff.md"
        assert operation(table="orders", other="keyed", key="id", format="markdown", path=str(path)) == f"diff: {path}"
        assert path.read_text().startswith("### `lake.")
        output = operation(passes=False, table="orders", other="keyed", key="id", path=str(tmp_path / "new"))
        assert "cannot be written" in output
        assert "choose another path" in output

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({}, "ducklake_diff needs table_name"),
            ({"table": "orders"}, "needs `from`, a snapshot or timestamp, or `other`"),
            ({"table": "nothing", "from": 1}, "nothing does not exist"),
            ({"table": "orders", "other_target": "nothing"}, "does not have a target named 'nothing'"),
            ({"table": "orders", "other_target": "other"}, "is of type spark: choose a target of type ducklake"),
            ({"table": "orders", "other_target": "far"}, "no stored primary key: give `key`"),
            ({"table": "orders", "other": "keyed", "key": "x"}, "column x of lake."),
            ({"table": "orders", "other": "keyed", "key": "id", "format": "xml"}, "must be one of text, json, markdown, not xml"),
        ],
    )
    @pytest.mark.usefixtures("built")
    def test_wrong_arguments_are_errors(self, given: dict[str, Any], message: str) -> None:
        assert message in " ".join(operation(passes=False, **given).split())

    def test_on_the_command_line(self, built: TestProjInfo) -> None:
        def ducklake(*arguments: str) -> dict[str, Any]:
            done = CliRunner().invoke(main, ["--profiles-dir", str(built.profiles_dir), *arguments, "--format", "json"])
            assert done.exit_code == 0, done.output
            parsed: dict[str, Any] = json.loads(done.stdout)
            return parsed

        assert counts(ducklake("--target", "ci", "diff", "orders", "--other-target", "default", "--key", "id")) == (0, 1, 1)
        assert counts(ducklake("diff", "orders", "--other-target", "far", "--key", "id", "--key", "id")) == (0, 1, 2)
        assert counts(ducklake("diff", f"{built.test_schema}.orders", "shop.orders", "--other-target", "far", "--key", "id")) == (0, 1, 2)
        assert counts(ducklake("diff", "keyed", f"{built.test_schema}_ci.keyed")) == (0, 0, 3)


@pytest.mark.nightly
class TestDiffOnPostgres(TestDiff):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, new_postgres_url: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
        return {
            "type": "ducklake",
            "path": new_postgres_url(),
            "data_path": f"{tmp_path_factory.mktemp('postgres')}/",
            "threads": 4,
            "spark": {"master": "local[2]"},
        }
