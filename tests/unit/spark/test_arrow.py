"""Rows of the driver written as data files: values, files, ids, statistics. No JVM."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.ducklake.errors import DataError, StatementError
from dbt.adapters.ducklake.format.files import LINEAGE_ROW_ID, ROW_ID_FIELD_ID, WriteOptions
from dbt.adapters.ducklake.format.objects import Column, PartitionField, SortField
from dbt.adapters.ducklake.spark.arrow.sorting import in_order
from dbt.adapters.ducklake.spark.arrow.write import arrow_table, write_arrow
from dbt.adapters.ducklake.spark.files.field_ids import read_schema
from dbt.adapters.ducklake.spark.files.footer_bytes import read_footer
from tests.lake.written import columns_of

UTC = dt.timezone.utc


def one(type_: str, value: object) -> object:
    """Return the value after it was written to and read from a column of the type."""
    return arrow_table([(value,)], columns_of(f"a {type_}")).to_pylist()[0]["a"]


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        ("int", "42", 42),
        ("int", " 42 ", 42),
        ("int", Decimal("42.0"), 42),
        ("int", 42.0, 42),
        ("bigint", True, 1),
        ("hugeint", 10**30, Decimal(10**30)),
        ("uint8", "255", 255),
        ("double", "nan", pytest.approx(float("nan"), nan_ok=True)),
        ("double", Decimal("1.5"), 1.5),
        ("decimal(5,2)", "1.005", Decimal("1.01")),
        ("decimal(5,2)", 1.1, Decimal("1.10")),
        ("boolean", "Yes", True),
        ("boolean", 0, False),
        ("date", "2020-02-29", dt.date(2020, 2, 29)),
        ("date", dt.datetime(2020, 2, 29, 12), dt.date(2020, 2, 29)),
        ("date", "2020-02-29 12:00:00", dt.date(2020, 2, 29)),
        ("timestamp_ntz", "2020-01-02T03:04:05.6", dt.datetime(2020, 1, 2, 3, 4, 5, 600000)),
        ("timestamp_ntz", dt.date(2020, 1, 2), dt.datetime(2020, 1, 2)),
        ("timestamp", "2020-01-02 03:04:05+02:00", dt.datetime(2020, 1, 2, 1, 4, 5, tzinfo=UTC)),
        ("timestamp", "2020-01-02 03:04:05Z", dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("timestamp", dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 2, tzinfo=UTC)),
        ("timestamp_s", "2020-01-02 03:04:05.6", dt.datetime(2020, 1, 2, 3, 4, 6)),
        ("time", "03:04:05.6", dt.time(3, 4, 5, 600000)),
        ("string", 5, "5"),
        ("string", 1e20, "1e+20"),
        ("string", Decimal("1E+2"), "100"),
        ("string", False, "false"),
        ("json", {"a": [1]}, '{"a": [1]}'),
        ("uuid", "F79C3E09-677C-4BBD-A479-3F349CB785E7", "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
        ("interval", dt.timedelta(days=2, seconds=3661), "2 days 01:01:01.000000"),
        ("array<int>", "[1, null]", [1, None]),
        ("map<string, double>", {"a": 1}, [("a", 1.0)]),
        ("struct<x int, y string>", {"y": 5}, {"x": None, "y": "5"}),
        ("struct<x int, y string>", (1, "a"), {"x": 1, "y": "a"}),
        ("array<decimal(38,20)>", "[1.12345678901234567891]", [Decimal("1.12345678901234567891")]),
        ("array<uint64>", "[12345678901234567890.0]", [Decimal(12345678901234567890)]),
        ("array<json>", '[{"a": 1.5}]', ['{"a": 1.5}']),
        ("array<string>", '[{"a": 1}, [true, null, "é"]]', ['{"a": 1}', '[true, null, "é"]']),
        ("map<array<int>, int>", "[[[1], 2], [[2], 3]]", [([1], 2), ([2], 3)]),
    ],
)
def test_a_python_value_is_converted_to_the_type_of_the_column(type_: str, value: object, expected: object) -> None:
    assert one(type_, value) == expected


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("int", "4x"),
        ("int", 1.5),
        ("tinyint", 128),
        ("uint8", -1),
        ("decimal(3,2)", "10"),
        ("double", "one"),
        ("boolean", "maybe"),
        ("date", "2021-02-29"),
        ("timestamp", "yesterday"),
        ("time", "25:00:00"),
        ("uuid", "1234"),
        ("json", "{'a': 1}"),
        ("interval", "INTERVAL '1' DAY"),
        ("array<int>", "abc"),
        ("struct<x int>", {"z": 1}),
        ("float", 1e300),
        ("int", "12e45678901"),
        ("date", Decimal(20240101)),
        ("timestamp", 20240101),
        ("timestamptz", 20240101),
        ("timestamp_ns", 20240101),
        ("time", 12),
        ("array<date>", "[20240101]"),
        ("blob", 5),
        ("array<blob>", "[1000000000000]"),
        ("timestamp", "9999999-01-01 00:00:00"),
        ("timestamptz", "9999999-01-01 00:00:00"),
        ("date", "9999999-01-01"),
        ("array<date>", '["9999999-01-01"]'),
        ("string", "\ud800"),
        ("array<string>", '["\\ud800"]'),
        ("map<string, int>", "[[null, 1]]"),
        ("map<int, int>", "[[1, 2], [1, 3]]"),
        ("map<array<int>, int>", "[[[1], 2], [[1], 3]]"),
        ("map<string, int>", '{"a": 1, "a": 2}'),
    ],
)
def test_the_error_for_a_value_that_does_not_fit_names_column_and_row(type_: str, value: object) -> None:
    with pytest.raises(DataError, match=r"column a, row 2: .* is not a"):
        arrow_table([(None,), (value,)], columns_of(f"a {type_}"))


def test_rows_are_sorted_up_to_the_first_key_that_arrow_cannot_compare(caplog: pytest.LogCaptureFixture) -> None:
    """Columns without a name, such as row ids, are not found by an expression."""
    table = pa.table({"a": [3, 1, 2], "l": [[1], [2], [3]], "m": pa.array([[(1, 1)]] * 3, pa.map_(pa.int64(), pa.int64())), "": [3, 2, 1]})
    columns = [*columns_of("a int", "l array<int>", "m map<int, int>"), Column(-1, "", "int64")]
    assert in_order(table, columns, [SortField("a"), SortField("l")]).column("a").to_pylist() == [1, 2, 3]
    for expression in ("l", "m", "(a % 2)"):
        assert in_order(table, columns, [SortField(expression), SortField("a")]).column("a").to_pylist() == [3, 1, 2]
        assert f"rows are not sorted by {expression}, which needs Spark" in caplog.text


def test_rows_with_another_number_of_columns_are_refused() -> None:
    with pytest.raises(DataError, match="row 2 has 1 values, the table has 2 columns"):
        arrow_table([(1, 2), (1,)], columns_of("a int", "b int"))


def test_variants_cannot_be_loaded() -> None:
    with pytest.raises(StatementError, match="column v is a variant"):
        arrow_table([(None,), ("1",)], columns_of("v variant"))


def test_every_node_of_a_file_has_its_field_id(tmp_path: Path) -> None:
    columns = columns_of("a int", "b array<struct<x int, y map<string, array<decimal(5,2)>>>>", "c string")
    table = arrow_table([(1, [{"x": 1, "y": {"k": ["1.5"]}}], "z")], columns)
    (file,) = write_arrow(table, columns, str(tmp_path), WriteOptions())
    root = read_schema(read_footer(file.path, file.size_bytes))
    b = root.children[1].children[0].children[0]
    assert [node.field_id for node in root.children] == [1, 2, 9]
    assert b.field_id == 3
    entries = b.children[1].children[0]
    assert [node.field_id for node in entries.children] == [6, 7]
    assert entries.children[1].children[0].children[0].field_id == 8
    assert pq.read_table(file.path).to_pylist() == [{"a": 1, "b": [{"x": 1, "y": [("k", [Decimal("1.50")])]}], "c": "z"}]


def test_the_description_of_a_file_is_correct(tmp_path: Path) -> None:
    columns = columns_of("a int", "f double")
    (file,) = write_arrow(arrow_table([(1, 1.0), (None, "nan")], columns), columns, f"{tmp_path}/t/", WriteOptions())
    assert file.path.startswith(f"{tmp_path}/t/ducklake-")
    assert file.size_bytes == Path(file.path).stat().st_size
    assert file.footer_size == int.from_bytes(Path(file.path).read_bytes()[-8:-4], "little")
    a, f = file.column_stats
    assert (a.value_count, a.null_count, a.min_value, a.max_value, a.contains_nan) == (1, 1, "1", "1", None)
    assert (f.value_count, f.null_count, f.min_value, f.max_value, f.contains_nan) == (2, 0, "1.0", "1.0", True)


def test_every_chunk_of_a_column_is_searched_for_nan(tmp_path: Path) -> None:
    columns = columns_of("f double", "l array<double>", "g double")
    parts = [arrow_table([row], columns) for row in ((1.0, [2.0], 3.0), ("nan", [None, "nan"], None), (1.0, None, 4.0))]
    (file,) = write_arrow(pa.concat_tables(parts), columns, f"{tmp_path}/t/", WriteOptions())
    assert [each.contains_nan for each in file.column_stats] == [True, True, False]


def test_options_are_applied(tmp_path: Path) -> None:
    columns = columns_of("a bigint")
    options = WriteOptions(compression="zstd", compression_level=5, row_group_size=100, parquet_version=2)
    (file,) = write_arrow(arrow_table([(i,) for i in range(250)], columns), columns, str(tmp_path), options)
    metadata = pq.read_metadata(file.path)
    assert metadata.num_row_groups == 3
    assert metadata.row_group(0).column(0).compression == "ZSTD"
    assert file.column_stats[0].max_value == "249"


def test_a_large_table_is_split_into_files_of_the_target_size(tmp_path: Path) -> None:
    columns = columns_of("a bigint")
    table = arrow_table([(i,) for i in range(200_000)], columns)
    files = write_arrow(table, columns, str(tmp_path), WriteOptions(target_file_size=table.nbytes // 2))
    assert [file.record_count for file in files] == [100_000, 100_000]


def test_a_file_has_one_partition_and_null_is_not_the_empty_string(tmp_path: Path) -> None:
    columns = columns_of("k string", "d date")
    rows = [("", "2020-01-01"), (None, "2020-05-01"), ("a b", None), ("", "2020-12-31")]
    keys = (PartitionField(1), PartitionField(2, "year"))
    files = write_arrow(arrow_table(rows, columns), columns, f"{tmp_path}/", WriteOptions(), partition_fields=keys)
    found = {file.partition_values: (file.record_count, str(Path(file.path).parent.relative_to(tmp_path))) for file in files}
    assert found == {
        ("", "2020"): (2, "k=/year=2020"),
        (None, "2020"): (1, "k=__HIVE_DEFAULT_PARTITION__/year=2020"),
        ("a b", None): (1, "k=a%20b/year=__HIVE_DEFAULT_PARTITION__"),
    }
    flat = WriteOptions(hive_file_pattern=False)
    for file in write_arrow(arrow_table(rows, columns), columns, f"{tmp_path}/x/", flat, partition_fields=keys):
        assert Path(file.path).parent == tmp_path / "x"


def test_row_ids_are_written_with_their_reserved_field_id(tmp_path: Path) -> None:
    columns = columns_of("a int")
    table = arrow_table([(5,)], columns).append_column(LINEAGE_ROW_ID, pa.array([77], pa.int64()))
    (file,) = write_arrow(table, columns, str(tmp_path), WriteOptions(), row_ids=True)
    root = read_schema(read_footer(file.path, file.size_bytes))
    assert [(node.name, node.field_id) for node in root.children] == [("a", 1), ("_ducklake_internal_row_id", ROW_ID_FIELD_ID)]
    assert file.embedded_row_ids
    assert [stats.column_id for stats in file.column_stats] == [1]


def test_a_null_in_a_not_null_column_leaves_no_file(tmp_path: Path) -> None:
    columns = columns_of("a int NOT NULL")
    with pytest.raises(DataError, match="column a is NOT NULL"):
        write_arrow(arrow_table([(None,)], columns), columns, str(tmp_path), WriteOptions())
    assert list(tmp_path.iterdir()) == []


def test_no_rows_create_no_file(tmp_path: Path) -> None:
    columns = columns_of("a int")
    assert write_arrow(arrow_table([], columns), columns, str(tmp_path), WriteOptions()) == []
