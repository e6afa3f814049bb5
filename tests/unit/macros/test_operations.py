"""The statements of operations: one name for each argument, and an error for one that is missing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from tests.unit.macros.macro_rendering import Macros


@pytest.fixture
def operations(macros: Macros) -> Macros:
    macros.context.update(flags=SimpleNamespace(WHICH="run"), target=SimpleNamespace(database="lake", schema="main"))
    return macros


@pytest.mark.parametrize(
    ("name", "given", "sql"),
    [
        ("snapshots", {"limit": 5}, "call snapshots(limit => 5)"),
        ("snapshots", {}, "call snapshots()"),
        ("history", {"table_name": "t", "limit": 1}, "call `lake`.history(table_name => 't', schema => 'main', limit => 1)"),
        ("history", {"table": "t", "limit": 1}, "call `lake`.history(table_name => 't', schema => 'main', limit => 1)"),
        ("list_files", {"table_name": "t"}, "call list_files(table_name => 't', schema => 'main')"),
        ("flush_inlined_data", {"table_name": "t", "schema": "s"}, "call flush_inlined_data(table_name => 't', schema_name => 's')"),
        ("flush_inlined_data", {"table_name": "t", "schema_name": "s"}, "call flush_inlined_data(table_name => 't', schema_name => 's')"),
        ("table_changes", {"table_name": "t", "start_snapshot": 1, "end_snapshot": 2}, "ducklake_table_changes('lake', 'main', 't', 1, 2)"),
        ("table_changes", {"table": "t", "start_snapshot": 1, "end_snapshot": 2}, "ducklake_table_changes('lake', 'main', 't', 1, 2)"),
    ],
)
def test_an_operation_is_a_statement(operations: Macros, name: str, given: dict[str, Any], sql: str) -> None:
    assert getattr(operations, f"ducklake_{name}")(**given) == sql


def test_an_argument_that_is_missing_is_left_to_the_procedure(operations: Macros) -> None:
    assert operations.ducklake_add_data_files() == "call add_data_files(schema => 'main')"
    assert operations.ducklake_list_files() == "call list_files()"


@pytest.mark.parametrize(
    ("name", "given", "needs"),
    [
        ("set_sorted_by", {"table_name": "t"}, "keys"),
        ("set_partitioned_by", {}, "table_name and keys"),
        ("reset_sorted_by", {}, "table_name"),
        ("reset_partitioned_by", {}, "table_name"),
        ("table_changes", {"table_name": "t"}, "start_snapshot and end_snapshot"),
    ],
)
def test_a_missing_argument_is_named(operations: Macros, name: str, given: dict[str, Any], needs: str) -> None:
    with pytest.raises(CompilationError, match=f"ducklake_{name} needs {needs}"):
        getattr(operations, f"ducklake_{name}")(**given)
