"""Maintenance skips the tables whose option `auto_compact` is false, as DuckDB does, and logs it if the table is named."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from dbt.adapters.ducklake.session import connect
from tests.duckdb_instances import open_duckdb

SCOPES = ("schema => 's', table_name => 't'", "schema => 's'", "")


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize(
    "call",
    [
        "ducklake_merge_adjacent_files('lake', 't', schema => 's')",
        "ducklake_rewrite_data_files('lake', 't', schema => 's', delete_threshold => 0)",
        "ducklake_flush_inlined_data('lake', table_name => 't', schema_name => 's')",
    ],
)
def test_a_named_table_is_skipped_too(tmp_path: Path, caplog: pytest.LogCaptureFixture, call: str, scope: str) -> None:
    lake = f"ducklake:sqlite:{tmp_path}/lake.sqlite"
    with open_duckdb("ducklake", "sqlite_scanner") as duck:
        duck.execute(f"ATTACH '{lake}' AS lake (DATA_PATH '{tmp_path}/files/')")
        duck.execute("CREATE SCHEMA lake.s")
        duck.execute("CREATE TABLE lake.s.t (a INTEGER)")
        duck.execute("INSERT INTO lake.s.t FROM range(3)")
        duck.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
        for start in (0, 100):
            duck.execute(f"INSERT INTO lake.s.t FROM range({start}, {start + 20})")
        duck.execute("DELETE FROM lake.s.t WHERE a = 10")
        duck.execute(f"CALL lake.set_option('auto_compact', false{', ' if scope else ''}{scope})")
        assert duck.execute(f"CALL {call}").fetchall() == []
    with caplog.at_level(logging.WARNING), connect(lake, f"{tmp_path}/files/") as session:
        assert session.execute(f"CALL {call}").fetch() == []
    assert [record.getMessage() for record in caplog.records] == ["s.t is skipped, because its option auto_compact is false"]
