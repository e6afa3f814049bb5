"""Delete files: written as DuckDB writes them, and read as of a snapshot."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.ducklake.errors import LakeError
from dbt.adapters.ducklake.format.files import SNAPSHOT_ID_COLUMN, DeleteFile, InlinedDeletes, WrittenDeleteFile
from dbt.adapters.ducklake.spark.arrow.flushed import write_deletes
from dbt.adapters.ducklake.spark.files import deletes
from dbt.adapters.ducklake.spark.files.cache import FileCache
from dbt.adapters.ducklake.spark.files.deletes import positions_table, write_delete_file
from dbt.adapters.ducklake.spark.files.field_ids import read_schema
from dbt.adapters.ducklake.spark.files.footer_bytes import read_footer


def registered(written: WrittenDeleteFile, limit: int = 2**62) -> DeleteFile:
    return DeleteFile(1, written.path, "parquet", written.delete_count, written.size_bytes, written.footer_size, 3, limit)


def test_the_first_delete_of_a_file_has_two_columns_with_field_ids(tmp_path: Path) -> None:
    written = write_delete_file("/lake/x.parquet", 7, f"{tmp_path}/t/", [1, 5, 2**40])
    root = read_schema(read_footer(written.path, written.size_bytes))
    assert [(node.name, node.field_id) for node in root.children] == [("file_path", 2147483646), ("pos", 2147483645)]
    assert pq.read_table(written.path).column("file_path").to_pylist() == ["/lake/x.parquet"] * 3
    assert (written.data_file_id, written.delete_count, written.min_snapshot, written.max_snapshot) == (7, 3, None, None)
    assert Path(written.path).name.endswith("-delete.parquet")
    assert positions_table(registered(written)).to_pydict() == {"pos": [1, 5, 2**40]}


def test_a_later_delete_has_the_snapshot_of_each_position(tmp_path: Path) -> None:
    written = write_delete_file("/lake/x.parquet", 7, str(tmp_path), [1, 5, 9], [4, 6, 5])
    assert (written.min_snapshot, written.max_snapshot) == (4, 6)
    assert list(zip(*positions_table(registered(written)).to_pydict().values(), strict=True)) == [(1, 4), (5, 6), (9, 5)]
    assert positions_table(registered(written, limit=5)).column("pos").to_pylist() == [1, 9]


def test_an_entry_without_a_snapshot_counts(tmp_path: Path) -> None:
    path = f"{tmp_path}/x-delete.parquet"
    table = pa.table(
        {"file_path": ["x"] * 3, "pos": pa.array([1, 5, 9], pa.int64()), SNAPSHOT_ID_COLUMN: pa.array([None, 5, 9], pa.int64())}
    )
    pq.write_table(table, path)
    assert positions_table(DeleteFile(1, path, "parquet", 3, 1, None, 3, 7)).column("pos").to_pylist() == [1, 5]


@pytest.mark.parametrize("positions", [[], [1, 1], [2, 1]])
def test_positions_ascend_strictly(tmp_path: Path, positions: list[int]) -> None:
    with pytest.raises(ValueError, match="ascend strictly"):
        write_delete_file("/lake/x.parquet", 7, str(tmp_path), positions)


def test_a_missing_delete_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match=r"gone\.parquet does not exist"):
        positions_table(DeleteFile(1, f"{tmp_path}/gone.parquet", "parquet", 1, 1, None, 1, 1))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the delete files that were read, in order."""
    found: list[str] = []
    read = deletes._read
    monkeypatch.setattr(deletes, "_read", lambda file: (found.append(file.path), read(file))[1])
    return found


def test_a_delete_file_is_read_once_for_all_snapshots(tmp_path: Path, reads: list[str]) -> None:
    written = write_delete_file("/lake/x.parquet", 7, str(tmp_path), [1, 5, 9], [4, 6, 5])
    found = [positions_table(registered(written, limit)).column("pos").to_pylist() for limit in (4, 2**62, 5, 4)]
    assert found == [[1], [1, 5, 9], [1, 9], [1]]
    assert reads == [written.path]


def test_a_delete_file_that_was_replaced_or_removed_is_not_remembered(tmp_path: Path, reads: list[str]) -> None:
    first, second = (write_delete_file("/lake/x.parquet", 7, str(tmp_path), [each]) for each in (1, 5))
    assert positions_table(registered(first)).column("pos").to_pylist() == [1]
    Path(second.path).replace(first.path)
    assert positions_table(registered(first)).column("pos").to_pylist() == [5]
    assert len(reads) == 2
    Path(first.path).unlink()
    with pytest.raises(LakeError, match="does not exist"):
        positions_table(registered(first))


def test_the_least_recently_used_contents_of_files_are_dropped(tmp_path: Path) -> None:
    reads: list[str] = []
    cache = FileCache[str](8, len)

    def read(name: str, size: int = 2) -> str:
        (tmp_path / name).touch(exist_ok=True)
        os.utime(tmp_path / name, (1, 1))
        return cache.get(f"{tmp_path}/{name}", None, lambda: (reads.append(name), name * size)[1])

    assert [read(name) for name in "abcdabeadc"] == [2 * name for name in "abcdabeadc"]
    assert "".join(reads) == "abcdec"
    assert [read("x", 3), read("x", 3)] == ["xxx", "xxx"]
    assert "".join(reads) == "abcdecxx", "contents that would take too much of the cache are not kept"


def test_a_file_that_is_not_a_delete_file_is_an_error(tmp_path: Path) -> None:
    import pyarrow as pa

    pq.write_table(pa.table({"a": [1]}), f"{tmp_path}/x.parquet")
    with pytest.raises(LakeError, match="not a delete file: its columns are a, and not file_path, pos"):
        positions_table(DeleteFile(1, f"{tmp_path}/x.parquet", "parquet", 1, 1, None, 1, 1))


def test_a_failed_write_of_inlined_deletes_leaves_no_file(tmp_path: Path) -> None:
    earlier = DeleteFile(1, f"{tmp_path}/gone.parquet", "parquet", 1, 1, None, 1, 1)
    deletes = [InlinedDeletes(1, "/lake/x.parquet", {0: 3}, None, 1), InlinedDeletes(2, "/lake/y.parquet", {0: 3}, earlier, 1)]
    with pytest.raises(LakeError, match=r"gone\.parquet does not exist"):
        write_deletes(deletes, f"{tmp_path}/t/")
    assert [path for path in (tmp_path / "t").rglob("*") if path.is_file()] == []
    assert [written.data_file_id for written in write_deletes(deletes[:1], f"{tmp_path}/t/")] == [1]


@pytest.mark.parametrize("third", [pa.array([{"i": 1, "s": "a"}] * 2), pa.array([7, 7], pa.int64())])
def test_a_delete_file_may_have_the_deleted_rows_as_in_iceberg(tmp_path: Path, third: pa.Array) -> None:
    table = pa.table({"file_path": ["x", "x"], "pos": pa.array([0, 2], pa.int64()), "row": third})
    path = tmp_path / "iceberg.parquet"
    pq.write_table(table, path)
    found = positions_table(DeleteFile(1, str(path), "parquet", 2, 1, None, 1, 1))
    assert found.to_pydict() == {"pos": [0, 2]}
