"""The change feed reads the delete files of several data files at the same time."""

from __future__ import annotations

from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from dbt.adapters.ducklake.format.files import DeleteFile
from dbt.adapters.ducklake.spark.files.deletes import write_delete_file
from dbt.adapters.ducklake.spark.read import changes


def test_delete_files_are_read_at_the_same_time_and_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, read = Barrier(2), changes.entries
    files = {}
    for number in (9, 4):
        written = write_delete_file("/lake/x.parquet", number, str(tmp_path), [number], [number])
        file = DeleteFile(1, written.path, "parquet", 1, written.size_bytes, written.footer_size, 3, 99)
        files[number] = (file,)

    def together(file: DeleteFile) -> tuple[pa.Array, pa.Array]:
        reading.wait(timeout=5)
        return read(file)

    monkeypatch.setattr(changes, "entries", together)
    data_files = tuple(SimpleNamespace(data_file_id=number) for number in files)
    plan: Any = SimpleNamespace(
        files_with_deletes=SimpleNamespace(files=data_files), delete_files=files, inlined_deletes={number: {} for number in files}
    )
    assert [list(row.values()) for row in changes._positions(plan, 0).to_pylist()] == [[9, 9, 9], [4, 4, 4]]
