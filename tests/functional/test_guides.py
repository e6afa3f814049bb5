"""Runs the commands of the guides that need dbt or Spark, exactly as written."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

from tests.acceptance.projects import Project
from tests.duckdb_instances import open_duckdb
from tests.guides import block


def commands(guide: str, title: str) -> list[list[str]]:
    """Return the dbt commands of a block, without the word dbt."""
    lines = [line for line in block(guide, "bash", title).splitlines() if line and not line.startswith("#")]
    assert all(line.startswith("dbt ") for line in lines)
    return [shlex.split(line, comments=True)[1:] for line in lines]


class TestBackupAndRecovery:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"orders.sql": "{{ config(materialized='table') }} select {{ var('n', 1) }} as n"}

    @pytest.mark.usefixtures("project")
    def test_checks_after_a_restore(self) -> None:
        run_dbt(["run"])
        for command in commands("backup-and-recovery", "look"):
            run_dbt_and_capture(command)

    def test_a_table_is_rolled_back_to_a_snapshot(self, project: Any) -> None:
        run_dbt(["run"])
        version = project.run_sql("select max(snapshot_id) from lake.snapshots()", fetch="one")[0]
        run_dbt(["run", "--vars", "{n: 2}"])
        _, would, done = [
            run_dbt_and_capture([each.replace("version: 7", f"version: {version}") for each in command])[1]
            for command in commands("backup-and-recovery", "go back")
        ]
        assert f"ROLLBACK to snapshot {version}: 1 would change" in would
        assert f"ROLLBACK to snapshot {version}: 1 changed" in done
        assert project.run_sql("select n from {schema}.orders", fetch="all") == [(1,)]


@pytest.mark.nightly
class TestClones:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        orders = "{{ config(materialized='table', schema='prod') }} select id from range(20)"
        return {"orders.sql": orders, "recent.sql": "{{ config(schema='prod') }} select * from {{ ref('orders') }} where id > 17"}

    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {"names.sql": "{% macro generate_schema_name(name, node) %}{{ name or target.schema }}{% endmacro %}"}

    def test_a_schema_and_a_table_are_cloned(self, project: Any) -> None:
        run_dbt(["run"])
        outputs = [run_dbt_and_capture(command)[1] for command in commands("clones", "clone")]
        assert [output.count("1 cloned") for output in outputs] == [0, 1, 1, 1]
        assert "2 cloned, 0 left out" in outputs[0]
        for name, count in {"dev_anna.orders": 20, "dev_anna.recent": 2, "dev_ben.orders": 20, "dev_ben.orders_before": 20}.items():
            assert project.run_sql(f"select count(*) from {name}", fetch="one") == (count,)


@pytest.mark.nightly
class TestPullRequests:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        contract = "{{ config(materialized='table', contract={'enforced': true}) }}"
        orders = f"{contract} select cast(id as int) as order_id, '{{{{ target.name }}}}' as status from range({{{{ 3 if target.name == 'ci' else 4 }}}})"
        key = "constraints: [{type: primary_key, columns: [order_id], warn_unenforced: false}]"
        columns = "columns: [{name: order_id, data_type: int}, {name: status, data_type: string}]"
        return {"orders.sql": orders, "schema.yml": f"models: [{{name: orders, {key}, {columns}}}]"}

    @pytest.fixture(scope="class")
    def dbt_profile_data(self, unique_schema: str, dbt_profile_target: dict[str, Any]) -> dict[str, Any]:
        schemas = {"default": unique_schema, "ci": f"{unique_schema}_ci", "prod": f"{unique_schema}_prod"}
        outputs = {name: {**dbt_profile_target, "schema": schema} for name, schema in schemas.items()}
        return {"test": {"outputs": outputs, "target": "default"}}

    def test_a_pull_request_is_compared_with_production(self, project: Any) -> None:
        run_dbt(["build", "--target", "prod"])
        _, text, written = (run_dbt_and_capture(command)[1] for command in commands("pull-requests", "compare"))
        assert "rows by order_id: 0 added, 1 removed, 3 changed" in text
        assert "diff: " in written
        assert (
            Path("target/diff/orders.md")
            .read_text()
            .startswith(f"### `lake.{project.test_schema}_ci.orders`: rows 0 added, 1 removed, 3 changed")
        )


@pytest.mark.nightly
class TestMaintenance:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"orders.sql": "{{ config(materialized='incremental') }} select {{ var('n', 1) }} as n"}

    def test_the_commands_have_the_described_effect(self, project: Any) -> None:
        run_dbt(["run-operation", "ducklake_set_option", "--args", "{key: data_inlining_row_limit, value: 0}"])
        for number in range(3):
            run_dbt(["run", "--vars", f"{{n: {number}}}"])
        for command in commands("maintenance", "once"):
            run_dbt_and_capture(command)
        options = dict(project.run_sql("select option_name, value from lake.options()", fetch="all"))
        assert options["expire_older_than"] == "30 days"
        assert options["delete_older_than"] == "7 days"
        for command in commands("maintenance", "by hand"):
            run_dbt_and_capture(command)
        files = f"select * from ducklake_list_files('lake', 'orders', schema => '{project.test_schema}')"
        assert len(project.run_sql(files, fetch="all")) == 1
        (command,) = commands("maintenance", "every night")
        _, output = run_dbt_and_capture(command)
        assert "delete_orphaned_files" in output
        assert project.run_sql("select count(*) from {schema}.orders", fetch="one") == (3,)


class TestReport:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"orders.sql": "{{ config(materialized='table') }} select 1 as n"}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"on-run-end": ["{{ ducklake_report(path='from_a_hook.html') }}"]}

    def test_the_report_is_written_by_the_command_and_by_a_hook(self, project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(project.project_root)
        run_dbt(["run"])
        assert "model.test.orders" in Path("from_a_hook.html").read_text()
        for command in commands("report", "write it"):
            _, output = run_dbt_and_capture(command)
            assert "report: " in output
        for path in (Path("target/ducklake_report.html"), Path("public/lake.html")):
            assert "model.test.orders" in path.read_text()


@pytest.mark.nightly
class TestMovingFromDuckDB:
    def test_a_project_of_dbt_duckdb_runs_on_a_lake(self, tmp_path: Path) -> None:
        models = {
            "orders": "{{ config(materialized='incremental', unique_key='id') }} select {{ var('n') }} as id, 'run {{ var('n') }}' as message",
            "counted": "{{ config(materialized='table') }} select count(*) as orders from {{ ref('orders') }}",
            "seen": "{{ config(materialized='view') }} select id * 2 as twice from {{ ref('orders') }}",
        }
        project = Project(tmp_path)
        (tmp_path / "models").mkdir()
        (tmp_path / "dbt_project.yml").write_text("name: shop\nversion: '1.0'\nprofile: shop\nflags: {send_anonymous_usage_stats: false}\n")
        for name, text in models.items():
            (tmp_path / f"models/{name}.sql").write_text(text)
        with open_duckdb("ducklake", "sqlite_scanner") as duck:  # so that dbt-duckdb finds the extensions
            for run, profile in enumerate(("before", "after"), 1):
                (tmp_path / "profiles.yml").write_text(block("moving-from-duckdb", "yaml", profile))
                project.dbt("run", "--vars", f"{{n: {run}}}")
            place = f"DATA_PATH '{tmp_path}/lake_files/', OVERRIDE_DATA_PATH true"
            duck.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.sqlite' AS lake ({place})")
            assert duck.execute("SELECT * FROM lake.orders ORDER BY id").fetchall() == [(1, "run 1"), (2, "run 2")]
            assert duck.execute("SELECT * FROM lake.counted").fetchall() == [(2,)]
            assert duck.execute("SELECT * FROM lake.seen ORDER BY 1").fetchall() == [(2,), (4,)]
