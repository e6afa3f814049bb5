"""Writing rows with Spark: DuckDB reads the files, statistics equal those of DuckDB, files are few, and none are left over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from dbt.adapters.ducklake.errors import ConfigurationError, DataError
from dbt.adapters.ducklake.format.files import WriteOptions, WrittenFile
from dbt.adapters.ducklake.format.float_literals import prunable_bounds
from dbt.adapters.ducklake.format.objects import PartitionField, SortField
from dbt.adapters.ducklake.spark.write.write import write_rows
from tests.lake.written import OPTIONS, WrittenLake, columns_of
from tests.places import nightly

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> WrittenLake:
    """One lake for the tables of all types."""
    return WrittenLake(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="module")
def shared_duckdb(shared: WrittenLake) -> Iterator[DuckDBPyConnection]:
    """One connection to it."""
    with shared.duckdb() as connection:
        yield connection


# type for us, type for DuckDB, values for Spark, values for DuckDB (None: the same values)
SAME: list[tuple[str, str, list[str], list[str] | None]] = [
    ("boolean", "boolean", ["true", "false"], None),
    ("tinyint", "tinyint", ["-128Y", "127Y"], ["-128", "127"]),
    ("int", "integer", ["-2147483648", "2147483647"], None),
    ("bigint", "bigint", ["-9223372036854775808L", "9223372036854775807L"], ["-9223372036854775808", "9223372036854775807"]),
    ("utinyint", "utinyint", ["0", "255"], None),
    ("uint32", "uinteger", ["4294967295", "1"], None),
    ("uint64", "ubigint", ["18446744073709551615BD", "3"], ["18446744073709551615", "3"]),
    ("hugeint", "hugeint", ["12", "-13"], None),
    ("float", "float", ["1e8", "123456789", "0.1", "-1e-5"], None),
    ("float", "float", ["float('inf')", "float('-inf')"], ["'inf'::float", "'-inf'::float"]),
    ("double", "double", ["1e15", "1e16", "0.30000000000000004D"], ["1e15", "1e16", "0.30000000000000004::double"]),
    ("double", "double", ["double('nan')"], ["'nan'::double"]),
    ("double", "double", ["5e-324D", "1.7976931348623157E308D"], ["'5e-324'::double", "'1.7976931348623157E308'::double"]),
    ("decimal(4,1)", "decimal(4,1)", ["-1", "123.4"], None),
    ("decimal(18,9)", "decimal(18,9)", ["-1", "123.45"], None),
    ("decimal(38,10)", "decimal(38,10)", ["0.0000000001", "-12345678901234567890.5"], None),
    ("decimal(5,5)", "decimal(5,5)", ["0.00001", "-0.5"], None),
    ("date", "date", ["date'2020-01-02'", "date'0001-01-01'", "date'1582-10-10'"], None),
    (
        "timestamp_ntz",
        "timestamp",
        ["timestamp_ntz'2020-01-02 03:04:05.600'", "timestamp_ntz'1500-01-01 00:00:00'"],
        ["timestamp'2020-01-02 03:04:05.600'", "timestamp'1500-01-01 00:00:00'"],
    ),
    (
        "timestamp",
        "timestamptz",
        ["timestamp'2020-01-02 03:04:05.600001Z'", "timestamp'1500-01-01 00:00:00Z'"],
        ["timestamptz'2020-01-02 03:04:05.600001+00'", "timestamptz'1500-01-01 00:00:00+00'"],
    ),
    ("timestamp_s", "timestamp_s", ["timestamp_ntz'2020-01-02 03:04:05.6'"], ["timestamp'2020-01-02 03:04:06'"]),
    ("timestamp_ms", "timestamp_ms", ["timestamp_ntz'1920-01-02 03:04:05.1234'"], ["timestamp'1920-01-02 03:04:05.123'"]),
    ("timestamp_ns", "timestamp_ns", ["'2020-01-02 03:04:05.123456789'"], ["timestamp_ns'2020-01-02 03:04:05.123456789'"]),
    ("time", "time", ["time'23:59:59.5'", "time'00:00:00'"], None),
    ("string", "varchar", ["'a'", "'ä'", "''"], None),
    ("string", "varchar", ["repeat('a',300)", "repeat('b',300)"], None),
    ("string", "varchar", ["repeat('x',6000)", "'y'"], None),
    ("string", "varchar", ["concat('x',char(0),'y')", "'z'"], ["'x'||chr(0)||'y'", "'z'"]),
    ("json", "json", ["'{\"a\":1}'", "'[1]'"], None),
    ("blob", "blob", ["x'AA0062'", "x'616263'"], ["unhex('AA0062')", "unhex('616263')"]),
    ("blob", "blob", ["unhex(repeat('ff',300))"], ["unhex(repeat('ff',300))"]),
    ("uuid", "uuid", ["'F79C3E09-677c-4bbd-a479-3f349cb785e7'", "'80000000-677c-4bbd-a479-3f349cb785e7'"], None),
    ("array<int>", "int[]", ["array(1,null,3)", "array()"], ["[1,null,3]", "[]"]),
    ("array<array<string>>", "varchar[][]", ["array(array('q',null),array(),null)"], ["[['q',null],[],null]"]),
    (
        "map<string,array<decimal(5,2)>>",
        "map(varchar,decimal(5,2)[])",
        ["map('k',array(1.5,null),'l',null)", "map()"],
        ["map{'k':[1.5,null],'l':null}", "map{}"],
    ),
    (
        "struct<x: int, y: struct<z: timestamp_ntz, l: array<struct<u uint8>>>>",
        "struct(x int, y struct(z timestamp, l struct(u utinyint)[]))",
        [
            "named_struct('x',1,'y',named_struct('z',timestamp_ntz'2020-01-01 00:00:00','l',array(named_struct('u',7),named_struct('u',null))))"
        ],
        ["{'x':1,'y':{'z':timestamp'2020-01-01 00:00:00','l':[{'u':7},{'u':null}]}}"],
    ),
]


def union(values: list[str], type_: str | None = None) -> str:
    rows = [f"SELECT ({value})::{type_} AS a" if type_ else f"SELECT {value} AS a" for value in values]
    return " UNION ALL ".join([*rows, "SELECT NULL"])


REPEATED = {"tinyint", "bigint", "uint32", "decimal(4,1)", "decimal(38,10)", "array<int>"}
"""Types that the code writes as it writes another type in the list: nightly only. The type matrix has all types."""


@pytest.mark.parametrize(
    "number",
    [pytest.param(i, marks=pytest.mark.nightly) if case[0] in REPEATED else i for i, case in enumerate(SAME)],
    ids=[f"{case[0]}-{i}" for i, case in enumerate(SAME)],
)
def test_rows_and_statistics_are_those_that_duckdb_writes(
    spark: SparkSession, shared: WrittenLake, shared_duckdb: DuckDBPyConnection, number: int
) -> None:
    type_, duckdb_type, spark_values, duckdb_values = SAME[number]
    columns = columns_of(f"a {type_}")
    rows = spark.sql(union(spark_values))
    shared.add(f"ours_{number}", columns, lambda table: write_rows(rows, columns, table.path, OPTIONS))
    shared_duckdb.execute(f"CREATE TABLE lake.theirs_{number} (a {duckdb_type})")
    shared_duckdb.execute(f"INSERT INTO lake.theirs_{number} {union(duckdb_values or spark_values, duckdb_type)}")
    ours = shared_duckdb.execute(f"SELECT a FROM lake.ours_{number}").fetchall()
    theirs = shared_duckdb.execute(f"SELECT a FROM lake.theirs_{number}").fetchall()
    assert sorted(map(repr, ours)) == sorted(map(repr, theirs))
    stats, wanted = shared.column_stats(f"ours_{number}"), shared.column_stats(f"theirs_{number}")
    if type_ == "float":  # we omit bounds by which DuckDB would skip files with matching rows (format/float_literals.py)
        wanted = [(*row[:3], *prunable_bounds("float32", row[3:5]), *row[5:]) for row in wanted]
    assert stats == wanted


def test_a_nan_leaves_the_bounds_open_and_sets_contains_nan(spark: SparkSession, written: WrittenLake) -> None:
    columns = columns_of("f float", "d double")
    written.add("t", columns, lambda table: write_rows(spark.sql("VALUES (float('nan'), 1D), (1F, 2D)"), columns, table.path, OPTIONS))
    assert written.column_stats("t") == [(1, 2, 0, None, None, 1), (2, 2, 0, "1.0", "2.0", 0)]
    assert written.query("SELECT count(*) FROM t WHERE f > 100") == [(1,)]
    assert written.query("SELECT count(*) FROM t WHERE f = 1") == [(1,)]


def test_bounds_enclose_long_strings(spark: SparkSession, written: WrittenLake) -> None:
    columns = columns_of("s string")
    long = spark.sql("SELECT repeat('ä', 200) AS s UNION ALL SELECT repeat('ö', 200)")
    written.add("t", columns, lambda table: write_rows(long, columns, table.path, OPTIONS))
    ((_, _, _, least, greatest, _),) = written.column_stats("t")
    assert least <= "ä" * 200 < "ö" * 200 <= greatest
    assert len(greatest.encode()) <= 256
    assert written.query("SELECT count(*) FROM t WHERE s = repeat('ö', 200)") == [(1,)]


def test_duckdb_reads_variants_intervals_times_with_zones_and_uint128(spark: SparkSession, written: WrittenLake) -> None:
    columns = columns_of("v variant", "i interval", "z time with time zone", "n uint128")
    query = "SELECT parse_json('{\"a\": [1, \"x\"]}'), '1 month 2 days 03:04:05.6', '01:02:03+02', 5"
    written.add("t", columns, lambda table: write_rows(spark.sql(query), columns, table.path, OPTIONS))
    rows = written.query("SELECT v::json::varchar, i::varchar, z::varchar, n FROM t")
    assert rows == [('{"a":[1,"x"]}', "1 month 2 days 03:04:05.6", "01:02:03+02", 5)]


def test_no_rows_create_no_file(spark: SparkSession, tmp_path: Path) -> None:
    columns = columns_of("a int")
    assert write_rows(spark.sql("SELECT 1 AS a WHERE false"), columns, f"{tmp_path}/t/", OPTIONS) == []
    keys = (PartitionField(1),)
    assert write_rows(spark.sql("SELECT 1 AS a WHERE false"), columns, f"{tmp_path}/t/", OPTIONS, partition_fields=keys) == []
    assert files_below(tmp_path) == []


def test_a_file_is_placed_directly_in_the_directory_of_its_table(spark: SparkSession, tmp_path: Path) -> None:
    columns = columns_of("a int")
    home = tmp_path / "a b%20ü"
    (file,) = write_rows(spark.sql("SELECT 1"), columns, f"{home}/", OPTIONS)
    assert file.path.startswith(f"{home}/ducklake-")
    assert file.path.endswith(".parquet")
    assert files_below(tmp_path) == [file.path]
    assert [entry.name for entry in home.iterdir()] == [Path(file.path).name]
    assert file.size_bytes == Path(file.path).stat().st_size
    assert pq.read_table(file.path, partitioning=None).to_pylist() == [{"a": 1}]


def test_a_path_relative_to_the_working_directory_stays_relative(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (file,) = write_rows(spark.sql("SELECT 1"), columns_of("a int"), "files/t/", OPTIONS)
    assert file.path.startswith("files/t/ducklake-")
    assert (tmp_path / file.path).exists()


FAILURES: list[tuple[str, str, str]] = [
    ("a int NOT NULL", "SELECT NULL", "column a is NOT NULL"),
    ("a array<int> NOT NULL", "SELECT cast(NULL AS array<int>)", "column a is NOT NULL"),
    ("a utinyint", "SELECT 256", "column a: the value 256 does not fit"),
    ("a array<uint32>", "SELECT array(-1)", "column a: the value -1 does not fit"),
    ("a uint128", "SELECT -1", "column a: a negative number does not fit"),
    ("a uuid", "SELECT 'x'", "column a: 'x' is not of the type uuid"),
    ("a array<struct<j json>>", "SELECT array(named_struct('j', '{'))", "column a.element.j: '{' is not of the type json"),
    ("a map<string, uuid>", "SELECT map('k', 'q')", "column a.value: 'q' is not of the type uuid"),
    ("a interval", "SELECT 'INTERVAL \\'1\\' DAY'", "is not of the type interval"),
]


@pytest.mark.parametrize(("definition", "query", "text"), FAILURES, ids=[case[0] for case in FAILURES])
def test_rows_that_fail_a_check_of_their_type_or_column_leave_no_file(
    spark: SparkSession, tmp_path: Path, definition: str, query: str, text: str
) -> None:
    with pytest.raises(DataError) as raised:
        write_rows(spark.sql(query), columns_of(definition), f"{tmp_path}/t", OPTIONS)
    assert text in str(raised.value)
    assert files_below(tmp_path) == []


def test_a_value_that_does_not_fit_its_type_is_an_error_and_leaves_no_file(spark: SparkSession, tmp_path: Path) -> None:
    for definition, query in [("a int", "SELECT '5x'"), ("a tinyint", "SELECT 128"), ("a decimal(3,1)", "SELECT 100")]:
        with pytest.raises(DataError, match=r"column a: .* does not fit the type"):
            write_rows(spark.sql(query), columns_of(definition), f"{tmp_path}/t", OPTIONS)
    assert files_below(tmp_path) == []


def test_bytes_that_are_not_a_geometry_are_refused_and_leave_no_file(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"column g: .* a geometry"):
        write_rows(spark.sql("SELECT x'0101000000'"), columns_of("g geometry"), f"{tmp_path}/t", OPTIONS)
    assert files_below(tmp_path) == []


def test_columns_are_matched_by_position_not_by_name(spark: SparkSession, written: WrittenLake) -> None:
    columns = columns_of("a int", "b.c string")
    rows = spark.sql("SELECT 1 AS x, 'q' AS X")
    written.add("t", columns, lambda table: write_rows(rows, columns, table.path, OPTIONS))
    assert written.query('SELECT a, "b.c" FROM t') == [(1, "q")]
    with pytest.raises(DataError, match="2 columns, the table has 1"):
        write_rows(rows, columns[:1], f"{written.home}/x", OPTIONS)


def test_options_of_the_table_are_applied(spark: SparkSession, tmp_path: Path) -> None:
    columns = columns_of("a bigint", "s string")
    rows = spark.sql("SELECT id, cast(id AS string) FROM range(0, 3000, 1, 1)")
    for compression, codec in {"zstd": "ZSTD", "uncompressed": "UNCOMPRESSED", "gzip": "GZIP", "lz4": "LZ4", "snappy": "SNAPPY"}.items():
        options = WriteOptions(compression=compression, compression_level=3, row_group_size=1000, parquet_version=2)
        (file,) = write_rows(rows, columns, f"{tmp_path}/t", options)
        metadata = pq.read_metadata(file.path)
        assert metadata.num_row_groups == 3
        assert metadata.row_group(0).column(0).compression == codec
        assert "DELTA_BINARY_PACKED" in metadata.row_group(0).column(0).encodings
        assert (file.column_stats[0].min_value, file.column_stats[0].max_value) == ("0", "2999")
    with pytest.raises(ConfigurationError, match="parquet_compression"):
        write_rows(rows, columns, f"{tmp_path}/t", WriteOptions(compression="lzo"))


def test_a_small_result_is_one_file_for_any_number_of_partitions(spark: SparkSession, tmp_path: Path) -> None:
    columns = columns_of("a bigint")
    many = spark.range(0, 1000, 1, 16)
    assert len(write_rows(many.toDF("a"), columns, f"{tmp_path}/t", OPTIONS)) == 1
    grouped = many.toDF("a").union(many.toDF("a")).groupBy("a").count().select("a")
    assert len(write_rows(grouped, columns, f"{tmp_path}/t", OPTIONS)) == 1


def test_a_large_result_is_written_by_all_tasks_without_a_shuffle(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.range(0, 3_000_000, 1, 2).toDF("a")
    files = write_rows(rows, columns_of("a bigint"), f"{tmp_path}/t", OPTIONS)
    assert [file.record_count for file in files] == [1_500_000, 1_500_000]


def test_files_are_not_much_larger_than_the_target(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.range(0, 200_000, 1, 1).toDF("a")
    files = write_rows(rows, columns_of("a bigint"), f"{tmp_path}/t", WriteOptions(target_file_size=100_000))
    assert len(files) > 4
    assert max(file.size_bytes for file in files) < 200_000
    assert sum(file.record_count for file in files) == 200_000


def test_files_are_sorted_by_the_order_of_the_table(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.sql("SELECT id % 3 AS k, (id * 7919) % 1000 AS v FROM range(300)")
    columns = columns_of("k bigint", "v bigint")
    order = [SortField("v", "DESC"), SortField("no_such_column")]  # a sort key without a column is ignored
    files = write_rows(rows, columns, f"{tmp_path}/t", OPTIONS, order=order, partition_fields=(PartitionField(1),))
    assert len(files) == 3
    for file in files:
        values = pq.read_table(file.path, partitioning=None).column("v").to_pylist()
        assert values == sorted(values, reverse=True)


# Type for us, type for DuckDB, transform, values for Spark, values for DuckDB (None: the same values).
PARTITIONED: list[tuple[str, str, str, list[str], list[str] | None]] = [
    ("int", "integer", "identity", ["1", "-2"], None),
    ("boolean", "boolean", "identity", ["true"], None),
    ("double", "double", "identity", ["1e-7D", "double('nan')"], ["1e-7", "'nan'"]),
    ("decimal(30,10)", "decimal(30,10)", "identity", ["1.5", "0.0000000001"], None),
    ("date", "date", "identity", ["date'0999-01-01'"], None),
    ("timestamp", "timestamptz", "identity", ["timestamp'2020-01-02 03:04:05.6Z'"], ["'2020-01-02 03:04:05.6+00'"]),
    ("timestamp_ntz", "timestamp", "identity", ["timestamp_ntz'1500-01-01 00:00:00.5'"], ["'1500-01-01 00:00:00.5'"]),
    ("time", "time", "identity", ["time'23:59:59.5'"], None),
    ("string", "varchar", "identity", ["'a b'", "''", "'ä/=%:x'", "'V'", "'__HIVE_DEFAULT_PARTITION__'"], None),
    ("date", "date", "year", ["date'1969-12-31'"], None),
    ("timestamp_ntz", "timestamp", "month", ["timestamp_ntz'1969-12-31 23:00:00'"], ["'1969-12-31 23:00:00'"]),
    ("timestamp", "timestamptz", "day", ["timestamp'2020-11-12 03:04:05.6Z'"], ["'2020-11-12 03:04:05.6+00'"]),
    ("timestamp", "timestamptz", "hour", ["timestamp'2020-11-12 03:04:05.6Z'"], ["'2020-11-12 03:04:05.6+00'"]),
    ("int", "integer", "bucket(1000)", ["1", "-2"], None),
    ("float", "float", "bucket(1000)", ["1.5", "float('nan')"], ["1.5", "'nan'"]),
    ("decimal(18,4)", "decimal(18,4)", "bucket(1000)", ["1.5", "-7"], None),
    ("decimal(30,10)", "decimal(30,10)", "bucket(1000)", ["1.5", "-7"], None),
    ("date", "date", "bucket(1000)", ["date'0999-01-01'"], None),
    ("timestamp_ntz", "timestamp", "bucket(1000)", ["timestamp_ntz'1500-01-01 00:00:00.5'"], ["'1500-01-01 00:00:00.5'"]),
    ("timestamp_ms", "timestamp_ms", "bucket(1000)", ["timestamp_ntz'1920-11-12 03:04:05.123'"], ["'1920-11-12 03:04:05.123'"]),
    ("time", "time", "bucket(1000)", ["time'23:59:59.5'"], None),
    ("string", "varchar", "bucket(1000)", ["''", "'a'", "'ab'", "'abc'", "'abcd'", "'abcde'", "'äöü'", "repeat('xyz',100)"], None),
    ("uuid", "uuid", "bucket(1000)", ["'F79C3E09-677c-4bbd-a479-3f349cb785e7'"], None),
    ("blob", "blob", "bucket(1000)", ["x'AA0062'", "x''"], ["unhex('AA0062')", "''"]),
    ("uint64", "ubigint", "bucket(1000)", ["18446744073709551615BD"], ["18446744073709551615"]),
]


BUCKETS = {"int", "decimal(30,10)", "string"}
"""Types whose buckets run for each change; those of the others wait for the night."""


@pytest.mark.parametrize(
    "number",
    [i if case[2] != "bucket(1000)" or case[0] in BUCKETS else nightly(i)[0] for i, case in enumerate(PARTITIONED)],
    ids=[f"{case[2]}-{case[0]}" for case in PARTITIONED],
)
def test_partitions_equal_those_that_duckdb_writes(
    spark: SparkSession, shared: WrittenLake, shared_duckdb: DuckDBPyConnection, number: int
) -> None:
    type_, duckdb_type, transform, spark_values, duckdb_values = PARTITIONED[number]
    columns = columns_of(f"a {type_}")
    fields = (PartitionField(1, transform),)
    rows = spark.sql(union(spark_values))
    ours, theirs = f"ours_p{number}", f"theirs_p{number}"

    def write(table: Any) -> list[WrittenFile]:
        return write_rows(rows, columns, table.path, OPTIONS, partition_fields=fields)

    shared.add(ours, columns, write, partitioning=fields)
    key = "a" if transform == "identity" else f"{transform}(a)".replace("bucket(1000)(a)", "bucket(1000, a)")
    shared_duckdb.execute(f"CREATE TABLE lake.{theirs} (a {duckdb_type}); ALTER TABLE lake.{theirs} SET PARTITIONED BY ({key})")
    shared_duckdb.execute(f"INSERT INTO lake.{theirs} {union(duckdb_values or spark_values, duckdb_type)}")
    assert sorted(map(repr, shared_duckdb.execute(f"SELECT a FROM lake.{ours}").fetchall())) == sorted(
        map(repr, shared_duckdb.execute(f"SELECT a FROM lake.{theirs}").fetchall())
    )
    assert partitions(shared, ours) == partitions(shared, theirs)


def test_a_table_with_two_partition_keys_has_a_file_per_pair(spark: SparkSession, written: WrittenLake) -> None:
    columns = columns_of("k string", "d date", "v bigint")
    fields = (PartitionField(1), PartitionField(2, "year"))
    rows = spark.sql("SELECT concat('k', id % 2), make_date(2020 + cast(id % 3 AS int), 1, 1), id FROM range(600)")
    files = written.add(
        "t", columns, lambda table: write_rows(rows, columns, table.path, OPTIONS, partition_fields=fields), partitioning=fields
    )
    assert sorted(file.partition_values for file in files) == [(k, y) for k in ("k0", "k1") for y in ("2020", "2021", "2022")]
    assert {file.record_count for file in files} == {100}
    assert written.query("SELECT k, year(d), count(*), sum(v) FROM t GROUP BY ALL ORDER BY ALL")[0] == ("k0", 2020, 100, 29700)


def test_without_the_hive_pattern_partitions_share_a_directory(spark: SparkSession, tmp_path: Path) -> None:
    options = WriteOptions(hive_file_pattern=False)
    files = write_rows(spark.sql("VALUES (1), (2)"), columns_of("a int"), f"{tmp_path}/t", options, partition_fields=(PartitionField(1),))
    assert {str(Path(file.path).parent) for file in files} == {f"{tmp_path}/t"}
    assert len(files) == 2


def partitions(lake: WrittenLake, table: str) -> list[tuple[Any, ...]]:
    """Return (partition value, row count, directory) of each file."""
    return sorted(
        lake.catalog(
            "SELECT coalesce(v.partition_value, '<NULL>'), f.record_count, substr(f.path, 1, instr(f.path, 'ducklake-') - 1) "
            "FROM ducklake_file_partition_value v JOIN ducklake_data_file f USING (data_file_id) "
            f"JOIN ducklake_table t ON t.table_id = f.table_id WHERE t.table_name = '{table}'"
        )
    )


def files_below(directory: Path) -> list[str]:
    return sorted(str(path) for path in directory.rglob("*") if path.is_file())
