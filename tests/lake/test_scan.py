"""Reading what DuckDB wrote: a scan returns the same rows as DuckDB, at every snapshot."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.ducklake.errors import LakeError
from dbt.adapters.ducklake.format.files import INLINED_BASE, LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID
from dbt.adapters.ducklake.spark.errors import translate
from dbt.adapters.ducklake.spark.read.scan import scan

from .conftest import DuckLake, ordered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UTC = dt.timezone.utc
UUID = "b4b6fa2e-1111-2222-3333-444455556666"
TYPES: list[tuple[str, str, str, Any]] = [
    ("boolean", "boolean", "true", True),
    ("int8", "tinyint", "-5", -5),
    ("int16", "smallint", "-300", -300),
    ("int32", "integer", "-70000", -70000),
    ("int64", "bigint", "-5000000000", -5000000000),
    ("int128", "hugeint", "-12345678901234567", Decimal(-12345678901234568)),
    ("uint8", "utinyint", "250", 250),
    ("uint16", "usmallint", "65000", 65000),
    ("uint32", "uinteger", "4000000000", 4000000000),
    ("uint64", "ubigint", "18000000000000000000", Decimal(18000000000000000000)),
    ("uint128", "uhugeint", "77", Decimal(77)),
    ("float32", "float", "1.5", 1.5),
    ("float64", "double", "'-inf'", float("-inf")),
    ("decimal_short", "decimal(5,1)", "1.5", Decimal("1.5")),
    ("decimal", "decimal(10,2)", "-1.25", Decimal("-1.25")),
    ("decimal_long", "decimal(30,3)", "123456789012345678901.125", Decimal("123456789012345678901.125")),
    ("date", "date", "'1500-01-02'", dt.date(1500, 1, 2)),
    ("time", "time", "'01:02:03.456789'", dt.time(1, 2, 3, 456789)),
    ("timestamp", "timestamp", "'1500-01-02 03:04:05.678901'", dt.datetime(1500, 1, 2, 3, 4, 5, 678901)),
    ("timestamp_s", "timestamp_s", "'2020-01-02 03:04:05'", dt.datetime(2020, 1, 2, 3, 4, 5)),
    ("timestamp_ms", "timestamp_ms", "'2020-01-02 03:04:05.678'", dt.datetime(2020, 1, 2, 3, 4, 5, 678000)),
    ("timestamp_ns", "timestamp_ns", "'1960-01-02 03:04:05.678901'", "1960-01-02 03:04:05.678901"),
    ("timestamptz", "timestamptz", "'2020-01-02 03:04:05.6+02'", dt.datetime(2020, 1, 2, 1, 4, 5, 600000)),
    ("interval", "interval", "'14 months 3 days 04:05:06.7'", "1 year 2 months 3 days 04:05:06.7"),
    ("varchar", "varchar", "'hé ''q'' \\n'", "hé 'q' \\n"),
    ("json", "json", "'{\"a\": 1}'", '{"a": 1}'),
    ("uuid", "uuid", f"'{UUID}'", UUID),
    ("blob", "blob", "'\\xAA\\x00b'", b"\xaa\x00b"),
    ("list", "integer[]", "[1, NULL, 3]", [1, None, 3]),
    ("struct", "struct(x integer, y varchar)", "{'x': 1, 'y': 'q'}", (1, "q")),
    ("map", "map(varchar, integer)", "map {'k': 1}", {"k": 1}),
    ("list_of_uuid", "uuid[]", f"['{UUID}', NULL]", [UUID, None]),
    ("nested", "struct(l struct(h hugeint, i interval)[])", "{'l': [{'h': 5, 'i': '2 days'}, NULL]}", ([(Decimal(5), "2 days"), None],)),
    ("map_of_uuid", "map(uuid, timestamp_ns)", f"map {{'{UUID}': '2020-01-02'}}", {UUID: "2020-01-02 00:00:00"}),
]
NOT_LIKE_IN_FILES = {"int128": Decimal(-12345678901234567)}
"""Values that are exact in the catalog and rounded in the file."""


@pytest.mark.parametrize("where", ["file", "catalog"])
def test_every_type_is_read_with_its_value_and_null(where: str, spark: SparkSession, tmp_path: Path) -> None:
    lake = DuckLake(tmp_path, inlining=0 if where == "file" else 100)
    types = [t for t in TYPES if where == "file" or t[0] not in ("struct", "nested")]  # DuckDB itself cannot read these values
    lake.sql(
        "CREATE TABLE t (" + ", ".join(f"c_{name} {sql}" for name, sql, _, _ in types) + ", n integer)",
        "INSERT INTO t SELECT " + ", ".join(f"{literal}::{sql}" for _, sql, literal, _ in types) + ", 1 UNION ALL SELECT "
        + ", ".join("NULL" for _ in types) + ", 2",
    )  # fmt: skip
    plan = lake.plan("t")
    assert bool(plan.inlined and plan.inlined[0].rows) is (where == "catalog")
    full, empty = scan(spark, plan).orderBy("n").collect()
    wanted = {name: value for name, _, _, value in types} | (NOT_LIKE_IN_FILES if where == "catalog" else {})
    assert {name: full[f"c_{name}"] for name in wanted} == wanted
    assert all(empty[f"c_{name}"] is None for name in wanted)


def test_types_that_are_stored_in_another_form(spark: SparkSession, duck_lake: DuckLake) -> None:
    duck_lake.sql(
        "CREATE TABLE t (tz timetz, v variant, g geometry)",
        "INSERT INTO t VALUES ('01:02:03.5+02', {'a': 1}::variant, 'POINT(1 2)'), (NULL, NULL, NULL)",
    )
    rows = scan(spark, duck_lake.plan("t")).selectExpr("tz", "to_json(v)", "hex(g)").collect()
    assert ordered(rows) == ordered([("23:02:03.5+00", '{"a":1}', "0101000000000000000000F03F0000000000000040"), (None, None, None)])


def test_a_plain_table_is_one_scan_with_filters_pushed_down(spark: SparkSession, duck_lake: DuckLake) -> None:
    duck_lake.sql(
        "CREATE TABLE t (a integer, b varchar, c double)", "INSERT INTO t VALUES (1, 'x', 2.0)", "INSERT INTO t VALUES (2, 'y', 3.0)"
    )
    text = plan_text(scan(spark, duck_lake.plan("t")).where("a = 1 AND c > 1").select("b"))
    assert text.count("FileScan parquet") == 1
    assert "EqualTo(a,1)" in text
    assert "GreaterThan(c,1.0)" in text
    assert "ReadSchema: struct<a:int,b:string,c:double>" in text
    assert "ReadSchema: struct<b:string>" in plan_text(scan(spark, duck_lake.plan("t")).select("b"))


@pytest.mark.parametrize(("files", "scans"), [(2, 2), (4, 1)], ids=["in a few files", "in most files"])
def test_many_files_with_deletes_are_read_by_few_scans(spark: SparkSession, duck_lake: DuckLake, files: int, scans: int) -> None:
    duck_lake.sql("CREATE TABLE t (a integer)", *[f"INSERT INTO t SELECT range + {100 * n} FROM range(100)" for n in range(6)])
    duck_lake.sql(f"DELETE FROM t WHERE a % 10 = 3 AND a < {100 * files}")
    frame = scan(spark, duck_lake.plan("t"), lineage=True)
    assert plan_text(frame).count("FileScan parquet [a#") == scans
    assert frame.count() == 600 - 10 * files
    assert same_as_oracle(frame, duck_lake, "t")


def test_every_snapshot_has_the_rows_that_duckdb_reads(spark: SparkSession, inlining_lake: DuckLake) -> None:
    lake = inlining_lake
    lake.sql(
        "CREATE TABLE t (id integer, s varchar)",
        "INSERT INTO t SELECT range, 'r' || range FROM range(1000)",
        "DELETE FROM t WHERE id BETWEEN 10 AND 100",  # a delete file
        "DELETE FROM t WHERE id IN (1, 2, 500)",  # inlined deletes
        "INSERT INTO t VALUES (2000, 'inlined'), (2001, 'inlined too')",
        "UPDATE t SET s = 'changed' WHERE id IN (3, 2000)",  # inlined new versions
        "DELETE FROM t WHERE id BETWEEN 200 AND 300",  # the delete file is rewritten, with snapshot ids
        "UPDATE t SET s = 'mass' WHERE id BETWEEN 400 AND 600",  # a new file with embedded row ids
        "ALTER TABLE t ADD COLUMN k integer DEFAULT 7",
        "INSERT INTO t VALUES (3000, 'later', NULL)",
        "INSERT INTO t SELECT range + 5000, 'x', range FROM range(50)",
        "ALTER TABLE t DROP COLUMN s",
        "DELETE FROM t WHERE id = 3",
    )
    for version in lake.versions()[2:]:
        frame = scan(spark, lake.plan("t", version), lineage=True)
        assert same_as_oracle(frame, lake, "t", version), f"at version {version}"
    inlined = frame.where(f"{LINEAGE_FILE} < 0").select(LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID).collect()
    assert inlined
    assert all(row[0] <= INLINED_BASE and row[1] == row[2] for row in inlined)


def test_merged_files_show_only_rows_of_the_snapshot(spark: SparkSession, duck_lake: DuckLake) -> None:
    duck_lake.sql("CREATE TABLE t (a integer)", *[f"INSERT INTO t VALUES ({n}), ({n + 100})" for n in range(4)])
    before = duck_lake.versions()
    duck_lake.sql("CALL ducklake_merge_adjacent_files('lake')")
    assert len(duck_lake.plan("t").files) == 1
    assert duck_lake.plan("t", before[-2]).files[0].rows_until_snapshot == before[-2]
    for version in before[1:]:
        assert same_as_oracle(scan(spark, duck_lake.plan("t", version), lineage=True), duck_lake, "t", version)


def test_virtual_columns_equal_those_of_duckdb(spark: SparkSession, inlining_lake: DuckLake) -> None:
    lake = inlining_lake
    lake.sql(
        "CREATE TABLE t (a integer)",
        "INSERT INTO t SELECT range FROM range(30)",
        "UPDATE t SET a = a + 100 WHERE a > 5",
        "INSERT INTO t VALUES (1000)",
    )
    frame = scan(spark, lake.plan("t"), virtual=["rowid", "snapshot_id", "filename", "file_row_number"])
    assert frame.columns == ["a", "rowid", "snapshot_id", "filename", "file_row_number"]
    got = frame.select("a", "rowid", "snapshot_id").collect()
    assert ordered(got) == ordered(lake.rows("SELECT a, rowid, snapshot_id FROM t"))


DEFAULTS = [
    ("integer", "-3"), ("bigint", "5000000000"), ("utinyint", "200"), ("ubigint", "18000000000000000000"), ("hugeint", "5"),
    ("decimal(10,3)", "1.5"), ("double", "'nan'"), ("float", "0.1"), ("varchar", "'it''s \\ so'"), ("date", "'2020-02-03'"),
    ("time", "'01:02:03'"), ("timestamp", "'2020-02-03 04:05:06.7'"), ("timestamptz", "'2020-02-03 04:05:06+00'"),
    ("interval", "'3 days'"), ("uuid", f"'{UUID}'"), ("json", "'[1]'"), ("timestamp_ns", "'2020-02-03 04:05:06'"),
]  # fmt: skip


def test_rows_older_than_a_column_have_its_initial_default(spark: SparkSession, inlining_lake: DuckLake) -> None:
    lake = inlining_lake
    lake.sql("CREATE TABLE t (a integer)", "INSERT INTO t SELECT range FROM range(30)", "INSERT INTO t VALUES (100)")
    names = [f"b{number}" for number in range(len(DEFAULTS))]
    lake.sql(*(f"ALTER TABLE t ADD COLUMN {name} {kind} DEFAULT {text}" for name, (kind, text) in zip(names, DEFAULTS, strict=True)))
    lake.sql(f"INSERT INTO t VALUES (200, {', '.join(['NULL'] * len(DEFAULTS))})")
    plan = lake.plan("t")
    frame = scan(spark, plan)
    texts = frame.selectExpr(*(f"CAST({name} AS STRING)" for name in names)).collect()
    wanted = lake.rows(f"SELECT {', '.join(f'{name}::varchar' for name in names)} FROM t")
    for number, (name, default) in enumerate(zip(names, DEFAULTS, strict=True)):
        assert plan.columns[1 + number].initial_default is not None, default
        assert frame.where(f"{name} IS NOT NULL").count() == 31, default
        found = {row[number].lower() for row in texts if row[number] is not None}
        assert found == {row[number].removesuffix("+00") for row in wanted if row[number] is not None}, default


def test_a_boolean_or_binary_initial_default(spark: SparkSession, duck_lake: DuckLake) -> None:
    from dataclasses import replace

    duck_lake.sql(
        "CREATE TABLE t (a integer)", "INSERT INTO t VALUES (1)", "ALTER TABLE t ADD COLUMN b boolean", "ALTER TABLE t ADD COLUMN c blob"
    )
    plan = duck_lake.plan("t")
    a, b, c = plan.columns
    plan = replace(plan, columns=(a, replace(b, initial_default="true"), replace(c, initial_default="\\xAA'b")))
    assert scan(spark, plan).where("b").collect()[0].asDict() == {"a": 1, "b": True, "c": b"\xaa'b"}


def test_fields_added_to_a_struct_later(spark: SparkSession, duck_lake: DuckLake) -> None:
    duck_lake.sql(
        "CREATE TABLE t (s struct(x integer, y varchar), l struct(p integer)[])",
        "INSERT INTO t VALUES ({'x': 1, 'y': 'q'}, [{'p': 1}]), (NULL, NULL)",
        "ALTER TABLE t ADD COLUMN s.z integer",
        "ALTER TABLE t DROP COLUMN s.x",
        "ALTER TABLE t RENAME COLUMN s.y TO x",
        "INSERT INTO t VALUES ({'x': 'new', 'z': 9}, [{'p': 2}])",
    )
    rows = [(row.s.asDict() if row.s else None, row.l) for row in scan(spark, duck_lake.plan("t")).collect()]
    assert ordered(rows) == ordered([({"x": "q", "z": None}, [(1,)]), (None, None), ({"x": "new", "z": 9}, [(2,)])])


def test_files_of_an_older_type_are_read_as_the_current_type(spark: SparkSession, inlining_lake: DuckLake) -> None:
    lake = inlining_lake
    lake.sql(
        "CREATE TABLE t (a tinyint, b integer, c float, d decimal(5,1), e date, f varchar, g integer, h utinyint)",
        "INSERT INTO t SELECT range, range, range / 8, range / 2, '2020-01-01', '{}', range, 200 FROM range(30)",
        "INSERT INTO t VALUES (1, 2, 0.5, 1.5, '2020-01-02', '[]', 3, 4)",
        "ALTER TABLE t ALTER a SET TYPE integer",
        "ALTER TABLE t ALTER b SET TYPE double",
        "ALTER TABLE t ALTER c SET TYPE double",
        "ALTER TABLE t ALTER d SET TYPE decimal(12,3)",
        "ALTER TABLE t ALTER e SET TYPE timestamp",
        "ALTER TABLE t ALTER f SET TYPE json",
        "ALTER TABLE t ALTER g SET TYPE bigint",
        "ALTER TABLE t ALTER h SET TYPE uinteger",
        "INSERT INTO t SELECT 70000, 0.25, 1e300, 123456789.125, '2020-01-01 10:00:00', '1', 5000000000, 4000000000 FROM range(30)",
    )
    frame = scan(spark, lake.plan("t"))
    assert [field.dataType.simpleString() for field in frame.schema] == [
        "int", "double", "double", "decimal(12,3)", "timestamp_ntz", "string", "bigint", "bigint",
    ]  # fmt: skip
    assert ordered(frame.collect()) == ordered(lake.rows("FROM t"))
    assert frame.where("g = 5000000000 AND b < 1").count() == 30


def test_added_files_are_matched_by_name(spark: SparkSession, duck_lake: DuckLake, tmp_path: Path) -> None:
    duck_lake.sql("CREATE TABLE t (id bigint, s struct(x bigint, y varchar), l bigint[], m map(varchar, bigint), ts timestamp)")
    type_ = pa.struct([pa.field("y", pa.string()), pa.field("x", pa.int32())])
    rows = pa.table(
        {
            "ts": pa.array([dt.datetime(2020, 1, 1), None], pa.timestamp("ns")),
            "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int16())),
            "s": pa.array([{"y": "q", "x": 1}, None], type_),
            "l": pa.array([[1, None], None], pa.list_(pa.int32())),
            "id": pa.array([1, 2], pa.int32()),
        }
    )
    pq.write_table(rows, tmp_path / "added.parquet")
    duck_lake.sql(f"CALL ducklake_add_data_files('lake', 't', '{tmp_path}/added.parquet')", "ALTER TABLE t RENAME COLUMN id TO number")
    duck_lake.sql(
        "ALTER TABLE t ADD COLUMN id varchar DEFAULT 'none'", "INSERT INTO t VALUES (3, {'x': 5, 'y': 'z'}, [], MAP {}, NULL, 'some')"
    )
    frame = scan(spark, duck_lake.plan("t"), lineage=True)
    got = frame.select("number", "s", "l", "m", "ts", "id", LINEAGE_ROW_ID).orderBy("number").collect()
    assert [tuple(row) for row in got] == [
        (1, (1, "q"), [1, None], {"k": 1}, dt.datetime(2020, 1, 1), "none", 0),
        (2, None, None, None, None, "none", 1),
        (3, (5, "z"), [], {}, None, "some", 2),
    ]
    assert frame.where("number = 2").count() == 1
    assert frame.where("id = 'none'").count() == 2


def test_hive_partition_values_come_from_the_path(spark: SparkSession, duck_lake: DuckLake, tmp_path: Path) -> None:
    duck_lake.sql("CREATE TABLE t (a integer, p varchar, q date)")
    for number, part in enumerate(["p=a%20b%2Fc/q=2020-01-01", "p=__HIVE_DEFAULT_PARTITION__/q=2020-01-02", "p=/q=2020-01-03"]):
        directory = tmp_path / "hive" / part
        directory.mkdir(parents=True)
        pq.write_table(pa.table({"a": pa.array([number], pa.int32())}), directory / "f.parquet")
    duck_lake.sql(f"CALL ducklake_add_data_files('lake', 't', '{tmp_path}/hive/*/*/*.parquet', hive_partitioning => true)")
    frame = scan(spark, duck_lake.plan("t"))
    assert ordered(frame.collect()) == ordered(duck_lake.rows("FROM t"))
    assert frame.where("q = DATE'2020-01-02'").collect()[0].a == 1


def test_deletion_vectors_are_applied(spark: SparkSession, duck_lake: DuckLake) -> None:
    duck_lake.sql("CREATE TABLE t (a integer)", "INSERT INTO t SELECT range FROM range(200000)")
    duck_lake.sql("CALL lake.set_option('write_deletion_vectors', true)", "DELETE FROM t WHERE a % 3 = 0 OR a BETWEEN 70000 AND 140000")
    plan = duck_lake.plan("t")
    assert plan.files[0].delete_file is not None
    assert plan.files[0].delete_file.format == "puffin"
    assert scan(spark, plan).selectExpr("count(*)", "sum(a)").collect() == duck_lake.rows("SELECT count(*), sum(a) FROM t")


@pytest.mark.parametrize("name", ["with space", "ümlaut é", "per%20cent#?", "a[b]{c}*", "q'uote\"", "plus+and&="])
def test_special_characters_in_paths(name: str, spark: SparkSession, tmp_path: Path) -> None:
    lake = DuckLake(tmp_path, inlining=0, files=name)
    lake.sql("CREATE TABLE t (a integer)", "INSERT INTO t SELECT range FROM range(20)", "INSERT INTO t SELECT range + 100 FROM range(20)")
    lake.sql("DELETE FROM t WHERE a IN (3, 103, 105)")
    assert same_as_oracle(scan(spark, lake.plan("t"), lineage=True), lake, "t")


def test_partition_directories_with_special_characters(spark: SparkSession, duck_lake: DuckLake) -> None:
    duck_lake.sql("CREATE TABLE t (a integer, p varchar)", "ALTER TABLE t SET PARTITIONED BY (p)")
    duck_lake.sql(
        "INSERT INTO t SELECT range, ['x y', 'ü/%', '', NULL, 'a=b'][1 + range % 5] FROM range(50)", "DELETE FROM t WHERE a % 7 = 1"
    )
    assert same_as_oracle(scan(spark, duck_lake.plan("t"), lineage=True), duck_lake, "t")


def test_columns_with_special_names(spark: SparkSession, inlining_lake: DuckLake) -> None:
    lake = inlining_lake
    lake.sql(
        'CREATE TABLE t ("_metadata" integer, "a.b" integer, "q`q" integer, "__c1" integer, "" struct("x y" integer))'.replace(
            '""', '"e e"'
        )
    )
    lake.sql(
        "INSERT INTO t SELECT range, range, range, range, {'x y': range} FROM range(30)", "INSERT INTO t VALUES (1, 2, 3, 4, {'x y': 5})"
    )
    frame = scan(spark, lake.plan("t"), lineage=True)
    assert frame.columns[:5] == ["_metadata", "a.b", "q`q", "__c1", "e e"]
    assert frame.where("`a.b` = 2").count() == 2
    assert frame.select("_metadata").distinct().count() == 30


def test_an_empty_table_runs_no_job(spark: SparkSession, duck_lake: DuckLake) -> None:
    duck_lake.sql("CREATE TABLE t (a integer, s struct(x uuid))")
    frame = scan(spark, duck_lake.plan("t"), lineage=True)
    assert frame.columns == ["a", "s", LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID]
    assert frame.schema["s"].dataType.simpleString() == "struct<x:string>"
    assert "LocalTableScan <empty>" in plan_text(frame)
    assert frame.collect() == []


def test_the_error_names_a_missing_file(spark: SparkSession, duck_lake: DuckLake) -> None:
    duck_lake.sql("CREATE TABLE t (a integer, u uuid)", "INSERT INTO t VALUES (1, NULL)")
    plan = duck_lake.plan("t")
    Path(plan.files[0].path).unlink()
    with pytest.raises(LakeError, match=Path(plan.files[0].path).name):
        scan(spark, plan)
    duck_lake.sql("CREATE TABLE t2 (a integer)", "INSERT INTO t2 VALUES (1)")
    plan = duck_lake.plan("t2")
    frame = scan(spark, plan)
    Path(plan.files[0].path).unlink()
    with pytest.raises(Exception) as caught:  # noqa: PT011
        frame.collect()
    error = translate(caught.value)
    assert isinstance(error, LakeError)
    assert Path(plan.files[0].path).name in str(error)
    assert "\tat " not in str(error)


def test_only_reading_a_value_that_spark_cannot_represent_is_an_error(spark: SparkSession, duck_lake: DuckLake) -> None:
    duck_lake.sql("CREATE TABLE t (a integer)", "INSERT INTO t VALUES (1)", "ALTER TABLE t ADD COLUMN h HUGEINT DEFAULT '1e38'")
    frame = scan(spark, duck_lake.plan("t"))
    assert frame.select("a").collect() == [(1,)]
    with pytest.raises(Exception) as caught:  # noqa: PT011
        frame.collect()
    assert isinstance(translate(caught.value), LakeError)
    assert "column h" in str(translate(caught.value))


def same_as_oracle(frame: DataFrame, lake: DuckLake, table: str, version: int | None = None) -> bool:
    """Return whether columns and row ids of a scan with lineage equal those that DuckDB reads."""
    at = "" if version is None else f" AT (VERSION => {version})"
    names = [name for name in frame.columns if not name.startswith("_ducklake")]
    got = frame.select(*[f"`{name}`" for name in names], LINEAGE_ROW_ID).collect()
    wanted = lake.rows("SELECT " + ", ".join(f'"{name}"' for name in names) + f", rowid FROM {table}{at}")
    assert ordered(got) == ordered(wanted)
    return True


def plan_text(frame: DataFrame) -> str:
    return frame._jdf.queryExecution().executedPlan().toString()
