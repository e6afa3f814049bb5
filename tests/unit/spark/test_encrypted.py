"""Encrypted files without Spark: footers, keys, splitting into files, and what is sent to Spark's workers."""

from __future__ import annotations

import base64
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as T

from dbt.adapters.ducklake.errors import ConfigurationError, LakeError, StatementError
from dbt.adapters.ducklake.format.files import DataFile, DeleteFile, WriteOptions, WrittenDeleteFile, WrittenFile
from dbt.adapters.ducklake.format.objects import Column
from dbt.adapters.ducklake.spark.encrypted import duckdb_files, worker_tasks
from dbt.adapters.ducklake.spark.encrypted.keys import key_of
from dbt.adapters.ducklake.spark.encrypted.packages import require_packages
from dbt.adapters.ducklake.spark.encrypted.workers import send_code
from dbt.adapters.ducklake.spark.files.deletes import positions_table, with_snapshot, write_delete_file
from dbt.adapters.ducklake.spark.files.encrypted_files import write_table
from dbt.adapters.ducklake.spark.files.encrypted_format import format_of
from dbt.adapters.ducklake.spark.files.field_ids import read_schema, renumbered
from dbt.adapters.ducklake.spark.files.footer_bytes import parse_footer, read_footer, replace_footer, stored_footer
from dbt.adapters.ducklake.spark.files.physical import physical_footers, schema_of
from dbt.adapters.ducklake.spark.read.encrypted_columns import arrow_schema, select_list
from dbt.adapters.ducklake.spark.values.types import FIELD_ID

COLUMNS = (Column(7, "id", "int64"), Column(9, "v", "varchar"))
TABLE = pa.table({"id": pa.array(range(100), pa.int64()), "v": [f"GEHEIM{number}" for number in range(100)]})
KEY = "c2VjcmV0IHNlY3JldCBzZQ=="


@pytest.fixture
def file(tmp_path: Path) -> WrittenFile:
    return write_table(TABLE, COLUMNS, f"{tmp_path}/new folder/file.parquet", WriteOptions(encrypted=True))


def read_request(file: WrittenFile, select: str) -> duckdb_files.FileToRead:
    return duckdb_files.FileToRead(duckdb_files.FileLocation(file.path), base64.b64decode(file.encryption_key or ""), select)


def read(file: WrittenFile, select: str, schema: pa.Schema) -> pa.Table:
    return pa.Table.from_batches(duckdb_files.read_batches(duckdb_files.connect(), read_request(file, select), schema), schema)


def test_a_file_is_encrypted_under_a_key_of_its_own(file: WrittenFile, tmp_path: Path) -> None:
    content = Path(file.path).read_bytes()
    assert (content[:4], content[-4:]) == (b"PARE", b"PARE")
    assert b"GEHEIM" not in content
    assert len(base64.b64decode(file.encryption_key or "")) == 16
    other = write_table(TABLE, COLUMNS, f"{tmp_path}/other.parquet", WriteOptions(encrypted=True))
    assert other.encryption_key != file.encryption_key
    assert (file.record_count, file.size_bytes) == (100, len(content))
    assert file.footer_size == len(stored_footer(file.path, file.size_bytes, file.encryption_key))


def test_the_footer_has_the_field_ids(file: WrittenFile) -> None:
    footer = read_footer(file.path, file.size_bytes, file.encryption_key)
    assert parse_footer(footer).num_rows == 100
    assert [(node.name, node.field_id) for node in read_schema(footer).children] == [("id", 7), ("v", 9)]


@pytest.mark.parametrize("name", ["e0", "E0"])
def test_a_map_does_not_take_the_values_of_a_column_that_is_named_like_a_variable(name: str, tmp_path: Path) -> None:
    entry = [Column(2, "key", "varchar"), Column(3, "value", "int32")]
    columns = (
        Column(1, name, "struct", tuple(entry)),
        Column(4, "m", "map", tuple(replace(each, column_id=each.column_id + 3) for each in entry)),
    )
    types = (pa.struct([("key", pa.string()), ("value", pa.int32())]), pa.map_(pa.string(), pa.int32()))
    rows = pa.table([pa.array([{"key": "other", "value": -1}], types[0]), pa.array([[("a", 1)]], types[1])], names=[name, "m"])
    file = write_table(rows, columns, f"{tmp_path}/file.parquet", WriteOptions(encrypted=True))
    schema = schema_of(parse_footer(read_footer(file.path, file.size_bytes, file.encryption_key)).schema)
    fields = [T.StructField("m", T.MapType(T.StringType(), T.IntegerType()), metadata={FIELD_ID: 4})]
    found = read(file, select_list(fields, schema), arrow_schema(fields))
    assert found.column("m").to_pylist() == [[("a", 1)]]


@pytest.mark.parametrize("folder", ["a*", "[a]?", r"a\b", r"a\[b", r"\[a]\*\?"])
def test_a_path_may_have_the_characters_of_patterns(folder: str, tmp_path: Path) -> None:
    file = write_table(TABLE, COLUMNS, f"{tmp_path}/{folder}/file.parquet", WriteOptions(encrypted=True))
    assert read(file, '"id", "v"', TABLE.schema) == TABLE


def test_row_groups_and_batches_are_limited_by_their_bytes(tmp_path: Path) -> None:
    rows = pa.table({"id": pa.array(range(1000), pa.int64()), "v": ["x"] * 100 + ["y" * 300_000] * 900})
    file = write_table(rows, COLUMNS, f"{tmp_path}/file.parquet", WriteOptions(encrypted=True))
    (footer,) = physical_footers(
        "t", [DataFile(1, file.path, 1000, file.size_bytes, file.footer_size, 0, 1, encryption_key=file.encryption_key)]
    )
    assert 100 < footer.group_rows < 600
    request = read_request(file, '"id", "v"')._replace(batch_rows=1000)
    batches = list(duckdb_files.read_batches(duckdb_files.connect(), request, rows.schema))
    assert max(batch.nbytes for batch in batches) <= duckdb_files.BATCH_BYTES
    assert pa.Table.from_batches(batches) == rows


def test_a_footer_can_be_replaced(file: WrittenFile) -> None:
    footer = renumbered(read_footer(file.path, file.size_bytes, file.encryption_key), 9, 1_000_000)
    length = replace_footer(file.path, file.size_bytes, file.footer_size, footer, file.encryption_key)
    size = os.path.getsize(file.path)
    assert size - length == file.size_bytes - file.footer_size
    changed = read_schema(read_footer(file.path, size, file.encryption_key))
    assert [node.field_id for node in changed.children] == [7, 1_000_000]
    schema = pa.schema([("id", pa.int64()), ("v", pa.string())])
    assert read(file, '"id", "v"', schema) == TABLE


def test_a_wrong_key_and_a_plain_file_are_errors(file: WrittenFile) -> None:
    with pytest.raises(LakeError, match=r"file.parquet cannot be read: its key in the catalog is wrong"):
        read_footer(file.path, file.size_bytes, KEY)
    with pytest.raises(LakeError, match="is not a Parquet file"):
        read_footer(file.path, file.size_bytes)
    Path(file.path).write_bytes(b"PAR1" * 10)
    with pytest.raises(LakeError, match="is not an encrypted Parquet file"):
        read_footer(file.path, 40, file.encryption_key)


@pytest.mark.parametrize("part", [0.2, 0.9])
def test_damage_in_any_row_group_names_the_file(part: float, tmp_path: Path) -> None:
    rows = pa.table({"id": pa.array(range(50_000), pa.int64()), "v": [os.urandom(20).hex() for _ in range(50_000)]})
    file = write_table(rows, COLUMNS, f"{tmp_path}/file.parquet", WriteOptions(row_group_size=10_000, encrypted=True))
    content = bytearray(Path(file.path).read_bytes())
    content[int(len(content) * part)] ^= 255
    Path(file.path).write_bytes(content)
    with pytest.raises(
        duckdb_files.EncryptedFileError, match=r"file.parquet cannot be read: its key in the catalog is wrong, or the file is"
    ):
        read(file, '"id", "v"', rows.schema)


@pytest.mark.parametrize("stored", ["", "AAAA", "not base64!", base64.b64encode(bytes(17)).decode()])
def test_keys_of_a_wrong_form(stored: str) -> None:
    with pytest.raises(LakeError, match="no valid encryption_key for the file f") as error:
        key_of("f", stored)
    assert not stored or stored not in str(error.value)


def test_delete_files(tmp_path: Path) -> None:
    written = write_delete_file("/data.parquet", 3, str(tmp_path), [1, 5, 8], [7, 7, 9], encrypted=True)
    assert (written.delete_count, written.min_snapshot, written.max_snapshot) == (3, 7, 9)
    assert Path(written.path).read_bytes()[:4] == b"PARE"

    def read(file: WrittenDeleteFile, limit: int) -> list[Any]:
        deleted = DeleteFile(1, file.path, "parquet", 3, file.size_bytes, file.footer_size, 7, limit, encryption_key=file.encryption_key)
        return [tuple(row.values()) for row in positions_table(deleted).to_pylist()]

    assert read(written, 100) == [(1, 7), (5, 7), (8, 9)]
    assert read(written, 8) == [(1, 7), (5, 7)]
    with pytest.raises(LakeError, match="key"):
        read(replace(written, encryption_key=write_delete_file("/x", 3, str(tmp_path), [1], encrypted=True).encryption_key), 8)
    redated = with_snapshot(written, 8, 12)
    assert redated.encryption_key not in (None, written.encryption_key)
    assert read(redated, 100) == [(1, 7), (5, 7), (8, 12)]
    first = write_delete_file("/data.parquet", 3, str(tmp_path), [1, 5], encrypted=True)
    assert read(first, 100) == [(1,), (5,)]


def test_no_text_of_a_value_has_its_key() -> None:
    values = [
        WrittenFile("f", 1, 1, 1, encryption_key=KEY),
        WrittenDeleteFile(1, "f", 1, 1, 1, encryption_key=KEY),
        DeleteFile(1, "f", "parquet", 1, 1, 1, 1, 1, encryption_key=KEY),
        DataFile(1, "f", 1, 1, 1, 1, 1, encryption_key=KEY),
    ]
    assert [value for value in values if KEY in repr(value)] == []
    assert len({replace(values[0], encryption_key=None), values[0]}) == 2


def batches(*rows: tuple[int, str | None]) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(rows), 3):
        part = rows[start : start + 3]
        yield pa.RecordBatch.from_pydict({"c0": pa.array([row[0] for row in part]), "c1": pa.array([row[1] for row in part], pa.string())})


def split(rows_per_file: int, *rows: tuple[int, str | None]) -> list[tuple[Any, list[int]]]:
    files = worker_tasks.files_of(batches(*rows), 1, rows_per_file)
    return [(keys[0], [value for batch in part for value in batch.column(0).to_pylist()]) for keys, part in files]


def test_rows_are_split_by_key_and_number() -> None:
    rows = [(number, key) for number, key in enumerate(["a", "a", "b", "b", "b", "b", "b", None, None, "c"])]
    assert split(100, *rows) == [("a", [0, 1]), ("b", [2, 3, 4, 5, 6]), (None, [7, 8]), ("c", [9])]
    assert split(2, *rows) == [("a", [0, 1]), ("b", [2, 3]), ("b", [4, 5]), ("b", [6]), (None, [7, 8]), ("c", [9])]
    assert split(1, (1, "a"), (2, "a")) == [("a", [1]), ("a", [2])]
    assert split(5) == []


def test_without_keys_only_the_number_counts() -> None:
    pieces = worker_tasks.files_of(batches(*[(number, "x") for number in range(7)]), 0, 4)
    assert [sum(batch.num_rows for batch in part) for _, part in pieces] == [4, 3]


def test_a_failed_task_removes_its_files(tmp_path: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield from batches((1, "a"), (2, "b"), (3, "b"))
        raise ValueError("stop")

    columns = (Column(1, "id", "int64"),)
    format_ = format_of(columns, WriteOptions(), pa.schema([("id", pa.int64())]))
    write = worker_tasks.writer(duckdb_files.FileLocation(f"{tmp_path}/"), format_, 1, 10, "mark: ")
    with pytest.raises(Exception, match="stop"):
        list(write(failing()))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_completed_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_partly(_connection: Any, _batches: Any, path: str, _format: Any) -> None:
        Path(path).write_bytes(b"beginning")
        raise ValueError("stop")

    monkeypatch.setattr(duckdb_files, "write_batches", write_partly)
    with pytest.raises(ValueError, match="stop"):
        write_table(TABLE, COLUMNS, f"{tmp_path}/new/file.parquet", WriteOptions(encrypted=True))
    assert list((tmp_path / "new").iterdir()) == []


def test_nested_variants_cannot_be_written() -> None:
    column = Column(1, "l", "list", (Column(2, "element", "variant"),))
    with pytest.raises(StatementError, match="column l contains a variant in a list"):
        format_of((column,), WriteOptions(), pa.schema([]))


def chosen(options: WriteOptions) -> str:
    return format_of(COLUMNS, options, TABLE.schema).options


@pytest.mark.parametrize(
    ("codec", "level", "wanted"), [("ZSTD", 7, 7), ("zstd", 22, 22), ("zstd", 23, None), ("zstd", 99999, None), ("gzip", 5, None)]
)
def test_a_level_that_duckdb_cannot_write_is_ignored(codec: str, level: int, wanted: int | None, tmp_path: Path) -> None:
    options = WriteOptions(compression=codec, compression_level=level, encrypted=True)
    assert ("COMPRESSION_LEVEL" in chosen(options)) == (wanted is not None)
    assert wanted is None or f"COMPRESSION_LEVEL {wanted}" in chosen(options)
    assert write_table(TABLE, COLUMNS, f"{tmp_path}/file.parquet", options).record_count == 100


def test_an_unknown_codec_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="parquet_compression is 'lzo': set it to one of"):
        chosen(WriteOptions(compression="lzo"))


def test_workers_need_no_dbt_ducklake(file: WrittenFile, tmp_path: Path) -> None:
    from pyspark import cloudpickle

    send_code()
    found = duckdb_files.FileToRead(duckdb_files.FileLocation(file.path), base64.b64decode(file.encryption_key or ""), '"id"', ("f",))
    read = worker_tasks.reader([[found]], pa.schema([("id", pa.int64())]), pa.schema([("name", pa.string())]), "mark: ")
    (tmp_path / "read").write_bytes(cloudpickle.dumps(read))
    (tmp_path / "tasks").write_bytes(pickle.dumps([pa.RecordBatch.from_pydict({"id": [0]})]))
    program = (
        "import pickle, sys; sys.modules['dbt'] = None; read, tasks = (pickle.load(open(f'{sys.argv[1]}/{n}', 'rb')) for n in ('read', 'tasks')); "
        "rows = [row for batch in read(iter(tasks)) for row in batch.to_pylist()]; print(len(rows), rows[99])"
    )
    result = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False)
    assert result.stdout == "100 {'id': 99, 'position': 99, 'name': 'f'}\n", result.stderr


def test_the_versions_of_duckdb_and_its_extension_must_be_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    require_packages()
    monkeypatch.setattr("importlib.metadata.version", {"duckdb": "2.0.1", "duckdb-extension-httpfs": "1.0.3"}.__getitem__)
    with pytest.raises(ConfigurationError, match=r"duckdb 2\.0\.1 and duckdb-extension-httpfs 1\.0\.3: pip install 'duckdb<2' 'duckdb-ext"):
        require_packages()


def test_a_worker_with_another_version_of_the_extension_says_how_to_mend_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import duckdb_extension_httpfs

    monkeypatch.setattr(duckdb_extension_httpfs, "__path__", [str(tmp_path)])
    with pytest.raises(
        duckdb_files.EncryptedFileError, match=r"has DuckDB v\S+ with another version .*: pip install 'duckdb<2' 'duckdb-ext"
    ):
        duckdb_files.connect()
