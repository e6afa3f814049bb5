"""Operations of a lake: by `dbt run-operation`, by the command `ducklake`, in hooks and in models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from dbt.tests.util import run_dbt, run_dbt_and_capture

from dbt.adapters.ducklake.cli import main

MODEL = "{{ config(materialized='incremental', unique_key='id', on_schema_change='ignore') }} select {{ var('n', 1) }} as id, 'x' as v"
CHANGES = "select count(*) as n from {{ ducklake_table_changes(ref('orders'), 0, ducklake_last_snapshot(ref('orders')) or 0) }}"
BEFORE = "select count(*) as n from {{ ducklake_at(ref('orders'), version=var('version', 0)) }}"


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"orders.sql": MODEL}


def operation(name: str, **arguments: Any) -> str:
    """Run an operation and return what it printed."""
    _, output = run_dbt_and_capture(["run-operation", name, "--args", repr(arguments)])
    return output


class TestOperations:
    @pytest.mark.usefixtures("project")
    def test_the_error_says_which_argument_is_wrong_or_missing(self) -> None:
        arguments = ["run-operation", "ducklake_rewrite_data_files", "--args", "{delete_threshold: 7}"]
        _, output = run_dbt_and_capture(arguments, expect_pass=False)
        assert "delete_threshold must be a fraction of rows, from 0 to 1, not 7" in output
        _, output = run_dbt_and_capture(["run-operation", "ducklake_list_files"], expect_pass=False)
        assert "needs table_name" in output
        _, output = run_dbt_and_capture(["run-operation", "ducklake_set_sorted_by", "--args", "{table_name: orders}"], expect_pass=False)
        assert "ducklake_set_sorted_by needs keys" in output
        _, output = run_dbt_and_capture(["run-operation", "ducklake_add_data_files"], expect_pass=False)
        assert "CALL add_data_files needs table_name, files" in output
        # The other test sets the option, and then the operation needs no argument.
        _, output = run_dbt_and_capture(["run-operation", "ducklake_expire_snapshots"], expect_pass=False)
        assert "expire_snapshots needs versions => [3, 4] or older_than => TIMESTAMP '…'" in output

    def test_operations_run_and_print_their_results(self, project: Any, tmp_path: Path) -> None:
        for number in range(3):
            run_dbt(["run", "--vars", f"{{n: {number}}}"])
        assert "orders" in operation("ducklake_table_info")
        assert "commit_message" in operation("ducklake_snapshots")
        assert len(operation("ducklake_snapshots", limit=1).splitlines()) < len(operation("ducklake_snapshots").splitlines())
        assert "model.test.orders" in operation("ducklake_history", table_name="orders", limit=1)
        assert "insert" in operation("ducklake_table_changes", table_name="orders", start_snapshot=0, end_snapshot=3)
        assert ".parquet" in operation("ducklake_list_files", table_name="orders")
        operation("ducklake_set_option", key="expire_older_than", value="0 seconds")
        assert "expire_older_than" in operation("ducklake_options")
        operation("ducklake_set_sorted_by", table_name="orders", keys=["v desc", "id"])
        operation("ducklake_reset_sorted_by", table_name="orders")
        operation("ducklake_set_partitioned_by", table_name="orders", keys="v")
        operation("ducklake_reset_partitioned_by", table_name="orders")
        operation("ducklake_flush_inlined_data")
        assert "orders" in operation("ducklake_merge_adjacent_files", table_name="orders")
        operation("ducklake_rewrite_data_files", delete_threshold=0.5)
        operation("ducklake_expire_snapshots", versions=[1], dry_run=True)
        assert ".parquet" in operation("ducklake_cleanup_old_files", cleanup_all=True)
        operation("ducklake_delete_orphaned_files", dry_run=True)
        operation("ducklake_migrate")
        assert "0 would change, 1 kept" in operation("ducklake_rollback", timestamp="2100-01-01", table_name="orders", dry_run=True)
        assert "0 changed" in operation("ducklake_rollback", timestamp="2100-01-01")
        pq.write_table(pa.table({"id": pa.array([9], pa.int32()), "v": ["added"]}), tmp_path / "added.parquet")
        assert "added.parquet" in operation("ducklake_add_data_files", table_name="orders", files=f"{tmp_path}/*.parquet")
        output = operation("ducklake_checkpoint")
        steps = ["flush_inlined_data", "expire_snapshots", "merge_adjacent_files", "rewrite_data_files", "cleanup_old_files"]
        assert [step for step in steps if step in output] == steps
        assert project.run_sql("select count(*) from {schema}.orders", fetch="one") == (4,)
        assert project.run_sql("select count(*) from lake.snapshots()", fetch="one") == (1,)


class TestCommandLine:
    def test_a_target_is_queried_and_maintained(self, project: Any) -> None:
        for number in range(3):
            run_dbt(["run", "--vars", f"{{n: {number}}}"])
        operation("ducklake_set_option", key="expire_older_than", value="0 seconds")

        def ducklake(*arguments: str) -> list[dict[str, Any]]:
            done = CliRunner().invoke(main, ["--profiles-dir", str(project.profiles_dir), *arguments, "--format", "json"])
            assert done.exit_code == 0, done.output
            found: list[dict[str, Any]] = json.loads(done.stdout)
            return found

        assert ducklake("sql", "select count(*) as n, max(v) as v from orders") == [{"n": 3, "v": "x"}]
        first_change = "select rows_inserted, changes from lake.history('orders') order by snapshot_id limit 1"
        assert ducklake("sql", first_change) == [{"rows_inserted": 1, "changes": ["create", "insert"]}]
        assert {row["node_id"] for row in ducklake("history", "orders")} == {"model.test.orders"}
        assert "flush_inlined_data" in {row["step"] for row in ducklake("checkpoint")}
        assert {row["commit_message"] for row in ducklake("snapshots")} == {"ducklake checkpoint"}


class TestInModelsAndHooks:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        hook = "{{ config(pre_hook=\"{{ ducklake_set_commit_message('me', 'by a hook') }}\") }} select 1 as a"
        return {"orders.sql": MODEL, "changes.sql": CHANGES, "before.sql": BEFORE, "hooked.sql": hook}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"on-run-end": ["{{ ducklake_checkpoint() }}"]}

    def test_operations_are_sql_in_models_and_hooks(self, project: Any) -> None:
        run_dbt(["run", "--select", "orders"])
        run_dbt(["run", "--select", "orders", "--vars", "{n: 2}"])
        (first,) = (
            project.run_sql(  # the snapshot of the first build: the first with changes after those that create the lake and the schema
                "select min(snapshot_id) from lake.snapshots() where cardinality(changes) > 0 and snapshot_id > 1", fetch="one"
            )
        )
        run_dbt(["run", "--select", "changes before hooked", "--vars", f"{{version: {first}}}"])
        assert project.run_sql("select n from {schema}.changes", fetch="one") == (2,)
        assert project.run_sql("select n from {schema}.before", fetch="one") == (1,)
        messages = project.run_sql("select commit_message from lake.snapshots()", fetch="all")
        assert ("by a hook",) in messages
