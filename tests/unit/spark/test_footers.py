"""Footers: ids that a writer omitted are added, statistics cover all row groups, and invalid files are refused."""

from __future__ import annotations

import datetime as dt
import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.ducklake.errors import DataError, LakeError
from dbt.adapters.ducklake.format.files import ColumnStats, DataFile, DeleteFile, WrittenFile
from dbt.adapters.ducklake.format.objects import Table
from dbt.adapters.ducklake.spark.arrow.foreign_files import Matching, read_foreign
from dbt.adapters.ducklake.spark.files.deletes import positions_table
from dbt.adapters.ducklake.spark.files.field_ids import read_schema
from dbt.adapters.ducklake.spark.files.footer_bytes import read_footer, replace_footer
from dbt.adapters.ducklake.spark.files.footers import FileToRead, read_files
from dbt.adapters.ducklake.spark.files.physical import physical_schemas
from dbt.adapters.ducklake.spark.values.stats_checks import check_stats
from tests.lake.written import columns_of


def write(path: Path, table: pa.Table, **options: object) -> FileToRead:
    pq.write_table(table, path, **options)
    return FileToRead(str(path), path.stat().st_size)


def test_ids_are_added_to_a_file_without_them_and_its_rows_stay(tmp_path: Path) -> None:
    columns = columns_of("a int", "b array<map<string, struct<x int, y double>>>")
    type_ = pa.list_(pa.map_(pa.string(), pa.struct([("x", pa.int32()), ("y", pa.float64())])))
    rows = [{"a": 1, "b": [[("k", {"x": 1, "y": 2.0})], None]}, {"a": None, "b": []}]
    table = pa.Table.from_pylist(rows, schema=pa.schema([("a", pa.int32()), ("b", type_)]))
    file = write(tmp_path / "x.parquet", table)
    (written,) = read_files([file], columns)
    root = read_schema(read_footer(written.path, written.size_bytes))
    found = []

    def collect(node: object) -> None:
        if node.field_id is not None:  # type: ignore[attr-defined]
            found.append((node.name, node.field_id))  # type: ignore[attr-defined]
        for child in node.children:  # type: ignore[attr-defined]
            collect(child)

    collect(root)
    assert found == [("a", 1), ("b", 2), ("element", 3), ("key", 4), ("value", 5), ("x", 6), ("y", 7)]
    assert written.size_bytes == Path(written.path).stat().st_size
    assert pq.read_table(written.path).to_pylist() == rows
    assert [(s.column_id, s.value_count, s.null_count) for s in written.column_stats] == [(1, 1, 1), (4, 1, 2), (6, 1, 2), (7, 1, 2)]


def test_an_empty_bound_for_a_string_that_is_too_long_is_unknown(tmp_path: Path) -> None:
    """PyArrow 15 to 17 read the bounds of such a column so: the least string, and an empty one."""
    file = write(tmp_path / "x.parquet", pa.table({"s": ["b", "c"]}))
    footer = read_footer(file.path, file.size_bytes)
    patched = footer.replace(b"\x01c", b"\x01a")  # the length and the greatest string: less than the least one
    assert patched != footer
    replace_footer(file.path, file.size_bytes, len(footer), patched)
    (written,) = read_files([file], columns_of("s string"))
    assert [(s.min_value, s.max_value, s.null_count) for s in written.column_stats] == [(None, None, 0)]


def test_statistics_cover_all_row_groups(tmp_path: Path) -> None:
    columns = columns_of("a int", "t timestamp_ntz", "s string")
    stamps = [dt.datetime(2020, 1, day) for day in (3, 1, 2)]
    table = pa.table({"a": pa.array([5, None, -2], pa.int32()), "t": pa.array(stamps, pa.timestamp("ms")), "s": [None, None, "x"]})
    (written,) = read_files([write(tmp_path / "x.parquet", table, row_group_size=1)], columns)
    assert [(s.min_value, s.max_value, s.null_count) for s in written.column_stats] == [
        ("-2", "5", 1),
        ("2020-01-01 00:00:00", "2020-01-03 00:00:00", 0),
        ("x", "x", 2),
    ]


def test_a_file_without_rows_is_removed(tmp_path: Path) -> None:
    file = write(tmp_path / "x.parquet", pa.table({"a": pa.array([], pa.int32())}))
    assert read_files([file], columns_of("a int")) == []
    assert not (tmp_path / "x.parquet").exists()


def test_many_files_keep_their_order(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{i}.parquet", pa.table({"a": pa.array([i], pa.int32())})) for i in range(20)]
    assert [file.column_stats[0].min_value for file in read_files(files, columns_of("a int"))] == [str(i) for i in range(20)]


def test_a_file_with_other_columns_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "x.parquet", pa.table({"a": [1], "b": [1]}))
    with pytest.raises(LakeError, match="has 2 fields, but 1 columns were expected"):
        read_files([file], columns_of("a int"))
    (tmp_path / "y.parquet").write_bytes(b"x" * 100)
    with pytest.raises(LakeError, match="is not a Parquet file"):
        read_footer(f"{tmp_path}/y.parquet", 100)


@pytest.mark.parametrize("kind", ["length", "zeros", "name", "end"])
def test_an_error_about_a_damaged_footer_names_the_file(tmp_path: Path, kind: str) -> None:
    file = write(tmp_path / "x.parquet", pa.table({"a": pa.array([1], pa.int32())}))
    content = Path(file.path).read_bytes()
    footer = read_footer(file.path, file.size_bytes)
    before, after = content[: -8 - len(footer)], content[-8:]
    damaged = {
        "length": before + footer + struct.pack("<I", 2**31) + b"PAR1",
        "zeros": before + bytes(len(footer)) + after,
        "name": before + footer.replace(b"\x18\x01a", b"\x18\x01\xf5") + after,
        "end": before + footer[:20] + b"\xff" * (len(footer) - 20) + after,
    }
    Path(file.path).write_bytes(damaged[kind])
    table = Table(1, "u", "main", "t", str(tmp_path), columns_of("a int"), 2)
    with pytest.raises(LakeError, match=file.path):
        read_foreign([file], table, Matching())
    with pytest.raises(LakeError, match=file.path):
        physical_schemas("t", [DataFile(1, file.path, 1, file.size_bytes, None, 0, 1)])
    with pytest.raises(LakeError, match=file.path):
        positions_table(DeleteFile(1, file.path, "parquet", 1, file.size_bytes, None, 1, 1))


def test_footers_are_kept_with_one_schema_for_all_files_of_a_table(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{number}.parquet", pa.table({"a": [number], "b": [{"c": "x" * number}]})) for number in range(3)]
    found = physical_schemas("t", [DataFile(1, file.path, 1, file.size_bytes, None, 0, 1) for file in files])
    assert [field.name for field in found[0]] == ["a", "b"]
    assert found[0] is found[1] is found[2]
    Path(files[0].path).unlink()
    assert physical_schemas("t", [DataFile(1, files[0].path, 1, files[0].size_bytes, None, 0, 1)])[0] is found[0]


def test_a_large_footer_is_read_completely(tmp_path: Path) -> None:
    names = [f"column_{i}_{'x' * 100}" for i in range(1000)]
    file = write(tmp_path / "x.parquet", pa.table({name: pa.array([1], pa.int32()) for name in names}))
    (written,) = read_files([file], columns_of(*[f"{name} int" for name in names]))
    assert written.footer_size > 65536
    assert len(written.column_stats) == 1000
    assert pq.read_table(written.path).num_columns == 1000


@pytest.mark.parametrize("in_place", [True, False])
def test_a_footer_can_become_shorter(tmp_path: Path, in_place: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbt.adapters.ducklake.spark.files.storage.is_local", lambda _: in_place)
    file = write(tmp_path / "x.parquet", pa.table({"a": [1]}))
    footer = read_footer(file.path, file.size_bytes)
    padded = footer + b"\0" * 100
    replace_footer(file.path, file.size_bytes, len(footer), padded)
    assert Path(file.path).stat().st_size == file.size_bytes + 100
    replace_footer(file.path, file.size_bytes + 100, len(padded), footer)
    assert Path(file.path).stat().st_size == file.size_bytes
    assert pq.read_table(file.path).to_pylist() == [{"a": 1}]


def test_constraints_are_checked_by_statistics() -> None:
    columns = columns_of("a int NOT NULL", "l array<uint8>")

    def file(*stats: ColumnStats) -> WrittenFile:
        return WrittenFile("x", 1, 1, 1, stats)

    check_stats([file(ColumnStats(1, null_count=0), ColumnStats(3, min_value="0", max_value="255"))], columns)
    with pytest.raises(DataError, match="column a is NOT NULL"):
        check_stats([file(ColumnStats(1, null_count=2))], columns)
    with pytest.raises(DataError, match="column l: the value 256 does not fit"):
        check_stats([file(ColumnStats(3, min_value="0", max_value="256"))], columns)
    with pytest.raises(LakeError, match="does not count the NULLs of column a"):
        check_stats([file(ColumnStats(1))], columns)


def test_the_minimum_zero_has_no_sign(tmp_path: Path) -> None:
    file = write(tmp_path / "x.parquet", pa.table({"f": [0.0, 2.5]}))
    (written,) = read_files([file], columns_of("f double"))
    assert (written.column_stats[0].min_value, written.column_stats[0].max_value) == ("0.0", "2.5")


@pytest.mark.parametrize(("nanos", "rounded"), [(1400, True), (1000, False)])
def test_bounds_of_finer_timestamps_are_marked_as_rounded(tmp_path: Path, nanos: int, rounded: bool) -> None:
    file = write(tmp_path / "x.parquet", pa.table({"a": pa.array([nanos], pa.timestamp("ns"))}))
    (written,) = read_files([file], columns_of("a timestamp_ntz"))
    assert written.column_stats[0].is_rounded is rounded
