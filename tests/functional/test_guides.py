"""The guides, where dbt or Spark has a part in them, followed as they are written."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

from tests.guides import block


def commands(guide: str, title: str) -> list[list[str]]:
    """The dbt commands of a block, without the word dbt."""
    lines = [line for line in block(guide, "bash", title).splitlines() if line and not line.startswith("#")]
    assert all(line.startswith("dbt ") for line in lines)
    return [shlex.split(line, comments=True)[1:] for line in lines]


class TestBackupAndRecovery:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"orders.sql": "{{ config(materialized='table') }} select {{ var('n', 1) }} as n"}

    def test_what_is_looked_at_after_a_restore(self, project: Any) -> None:
        run_dbt(["run"])
        for command in commands("backup-and-recovery", "look"):
            run_dbt_and_capture(command)

    def test_a_table_goes_back_to_a_snapshot(self, project: Any) -> None:
        run_dbt(["run"])
        version = project.run_sql("select max(snapshot_id) from lake.snapshots()", fetch="one")[0]
        run_dbt(["run", "--vars", "{n: 2}"])
        statement = block("backup-and-recovery", "sql", "a table as it was")
        schema = project.test_schema
        project.run_sql(statement.replace("main.", f"{schema}.").replace("AS OF 7", f"AS OF {version}"))
        assert project.run_sql("select n from {schema}.orders", fetch="all") == [(1,)]
