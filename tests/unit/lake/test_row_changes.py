"""The delete files of one statement: written concurrently, and removed after an error."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier
from typing import Any

import pyarrow as pa
import pytest

from dbt.adapters.ducklake.format.files import ScanPlan
from dbt.adapters.ducklake.format.objects import Table
from dbt.adapters.ducklake.lake import row_changes
from dbt.adapters.ducklake.lake.context import Context
from dbt.adapters.ducklake.lake.row_changes import stage_deletes
from dbt.adapters.ducklake.session import Lake, LakeSettings
from tests.catalog_objects import table_of

FILES = 3


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[tuple[Context, Table, ScanPlan]]:
    """An open transaction, and its table `t` with FILES files of two rows."""
    with Lake.open(LakeSettings(f"sqlite:///{tmp_path}/lake.sqlite", f"{tmp_path}/files/")) as lake, lake.session() as session:
        session.execute("CREATE TABLE t (n INT)")
        session.execute("CALL set_option('data_inlining_row_limit', '0')")
        for number in range(FILES):
            session.execute(f"INSERT INTO t VALUES ({number}), ({number})")
        session.begin()
        with session.reading() as transaction:
            table = table_of(transaction)
            yield Context(lake.catalog, transaction, session.spark), table, transaction.scan_plan(table)


def delete_files(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "files").rglob("*-delete.parquet"))


def test_delete_files_are_written_concurrently(
    opened: tuple[Context, Table, ScanPlan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, table, plan = opened
    all_write, write = Barrier(FILES), row_changes.write_delete_file

    def write_with_others(*args: Any, **named: Any) -> Any:
        all_write.wait(60)
        return write(*args, **named)

    monkeypatch.setattr(row_changes, "write_delete_file", write_with_others)
    assert stage_deletes(context, table, plan, {file.data_file_id: pa.array([1]) for file in plan.files}) == FILES
    assert len(delete_files(tmp_path)) == FILES


def test_no_delete_file_is_left_after_an_error(
    opened: tuple[Context, Table, ScanPlan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, table, plan = opened
    others_wrote, write = Barrier(FILES), row_changes.write_delete_file

    def write_or_fail(path: str, data_file_id: int, *args: Any, **named: Any) -> Any:
        if data_file_id != plan.files[1].data_file_id:
            written = write(path, data_file_id, *args, **named)
            others_wrote.wait(60)
            return written
        others_wrote.wait(60)
        raise OSError("no space left")

    monkeypatch.setattr(row_changes, "write_delete_file", write_or_fail)
    with pytest.raises(OSError, match="no space left"):
        stage_deletes(context, table, plan, {file.data_file_id: pa.array([0]) for file in plan.files})
    assert delete_files(tmp_path) == []


def test_few_files_with_many_positions_are_written_at_once(
    opened: tuple[Context, Table, ScanPlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    context, table, plan = opened
    running: list[int] = []
    most: list[int] = []
    write = row_changes.write_delete_file

    def count_writers(path: str, data_file_id: int, *args: Any, **named: Any) -> Any:
        running.append(data_file_id)
        most.append(len(running))
        time.sleep(0.1)
        running.remove(data_file_id)
        return write(path, data_file_id, *args, **named)

    monkeypatch.setattr(row_changes, "write_delete_file", count_writers)
    monkeypatch.setattr(row_changes, "POSITIONS_AT_ONCE", 1)
    assert stage_deletes(context, table, plan, {file.data_file_id: pa.array([1]) for file in plan.files}) == FILES
    assert max(most) == 1
