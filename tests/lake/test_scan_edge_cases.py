"""Reads that would silently give wrong rows with an obvious implementation."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.ducklake.errors import LakeError
from dbt.adapters.ducklake.format.files import LINEAGE_POSITION, DataFile, ScanPlan
from dbt.adapters.ducklake.format.objects import Column
from dbt.adapters.ducklake.spark.errors import translate
from dbt.adapters.ducklake.spark.read.scan import scan

from .conftest import DuckLake, ordered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(params=["vectorized", "row by row"])
def reader(request: pytest.FixtureRequest, spark: SparkSession):  # type: ignore[no-untyped-def]
    """Sessions with each of Spark's Parquet readers."""
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", str(request.param == "vectorized").lower())
    yield spark
    spark.conf.unset("spark.sql.parquet.enableVectorizedReader")


def test_filters_on_swapped_names(reader: SparkSession, duck_lake: DuckLake) -> None:
    duck_lake.sql(
        "CREATE TABLE t (a integer, b integer)",
        "INSERT INTO t SELECT range, range + 1000000 FROM range(100)",
        "ALTER TABLE t RENAME COLUMN a TO c",
        "ALTER TABLE t RENAME COLUMN b TO A",
        "ALTER TABLE t RENAME COLUMN c TO b",
    )
    frame = scan(reader, duck_lake.plan("t"))
    assert frame.columns == ["b", "A"]
    assert [tuple(row) for row in frame.where("a = 1000005").collect()] == [(5, 1000005)]
    assert frame.where("b = 1000005").count() == 0
    assert frame.where("b < 10").count() == 10


def test_filters_on_a_reused_name(reader: SparkSession, duck_lake: DuckLake) -> None:
    duck_lake.sql(
        "CREATE TABLE t (id integer, a integer, s struct(x integer, y integer))",
        "INSERT INTO t SELECT range, range, {'x': range, 'y': 0} FROM range(100)",
        "ALTER TABLE t DROP COLUMN a",
        "ALTER TABLE t ADD COLUMN A integer DEFAULT 7",
        "ALTER TABLE t DROP COLUMN s.x",
        "ALTER TABLE t ADD COLUMN s.x integer",
    )
    old = scan(reader, duck_lake.plan("t"))
    assert old.where("a = 7").count() == 100
    assert old.where("a = 50").count() == 0
    assert old.where("s.x IS NULL").count() == 100
    assert old.where("s.x = 5").count() == 0
    duck_lake.sql("INSERT INTO t SELECT range, {'y': 1, 'x': range}, NULL FROM range(10)")
    new = scan(reader, duck_lake.plan("t"))
    assert new.where("a IS NULL").count() == 10
    assert new.where("a = 7").count() == 100
    assert new.where("s.x = 5").count() == 1
    assert ordered(new.selectExpr("id", "s.x", "s.y", "a").collect()) == ordered(duck_lake.rows("SELECT id, s.x, s.y, a FROM t"))


NESTED = {
    "s.a": "struct(a varchar, b varchar)",
    "c[0].a": "struct(a varchar, b varchar)[]",
    "m['k'].a": "map(varchar, struct(a varchar, b varchar))",
    "s.deep.a": "struct(deep struct(a varchar, b varchar), other integer)",
}
"""Maps a field inside a column, in Spark's syntax, to the type of the column."""
_STRUCT = "{'a': 'A' || range, 'b': 'x'}"
_VALUES = {
    "s.a": _STRUCT,
    "c[0].a": f"[{_STRUCT}]",
    "m['k'].a": f"map {{'k': {_STRUCT}}}",
    "s.deep.a": f"{{'deep': {_STRUCT}, 'other': 1}}",
}


@pytest.mark.parametrize("field", NESTED)
def test_a_field_of_a_renamed_column_can_be_read_alone(reader: SparkSession, duck_lake: DuckLake, field: str) -> None:
    name = field[0]
    duck_lake.sql(
        f"CREATE TABLE t (i integer, {name} {NESTED[field]})",
        f"INSERT INTO t SELECT range, {_VALUES[field]} FROM range(10)",
        f"ALTER TABLE t RENAME COLUMN {name} TO {name}2",
        "ALTER TABLE t RENAME COLUMN i TO i2",
    )
    frame = scan(reader, duck_lake.plan("t"))
    renamed = field.replace(name, f"{name}2", 1)
    assert ordered(frame.selectExpr("i2", renamed).collect()) == [(n, f"A{n}") for n in range(10)]
    assert frame.where(f"{renamed} = 'A3'").count() == 1


def test_a_renamed_field_can_be_read_alone(reader: SparkSession, duck_lake: DuckLake) -> None:
    duck_lake.sql(
        "CREATE TABLE t (s struct(deep struct(a varchar, b varchar), other integer))",
        f"INSERT INTO t SELECT {_VALUES['s.deep.a']} FROM range(10)",
        "ALTER TABLE t RENAME COLUMN s.deep.a TO a2",
        "ALTER TABLE t RENAME COLUMN s.deep TO deep2",
    )
    frame = scan(reader, duck_lake.plan("t"))
    assert frame.where("s.deep2.a2 = 'A3'").select("s.deep2.b", "s.other").collect() == [("x", 1)]


def test_a_field_of_a_column_with_a_reused_name_can_be_read_alone(reader: SparkSession, duck_lake: DuckLake) -> None:
    duck_lake.sql(
        "CREATE TABLE t (i integer, c struct(a integer)[])",
        "INSERT INTO t SELECT range, [{'a': 0}] FROM range(10)",
        "ALTER TABLE t DROP COLUMN c",
        "ALTER TABLE t ADD COLUMN c struct(a varchar, b varchar)[]",
        f"INSERT INTO t SELECT 10 + range, [{_STRUCT}] FROM range(10)",
    )
    frame = scan(reader, duck_lake.plan("t"))
    assert frame.where("c[0].a LIKE 'A%'").count() == 10
    assert frame.where("c[0].a IS NULL").count() == 10


def test_nested_fields_are_pruned_if_the_column_was_never_renamed(reader: SparkSession, duck_lake: DuckLake) -> None:
    duck_lake.sql("CREATE TABLE t (s struct(a varchar, b varchar), i integer)", "ALTER TABLE t RENAME COLUMN i TO i2")
    duck_lake.sql(f"INSERT INTO t SELECT {_STRUCT}, range FROM range(10)")
    frame = scan(reader, duck_lake.plan("t")).select("s.a", "i2")
    assert "struct<s:struct<a:string>" in frame._jdf.queryExecution().toString()
    assert frame.where("a = 'A3'").collect() == [("A3", 3)]


def test_files_whose_names_spark_would_skip(spark: SparkSession, duck_lake: DuckLake) -> None:
    duck_lake.sql("CREATE TABLE t (a integer)", "INSERT INTO t SELECT range FROM range(10)", "DELETE FROM t WHERE a = 3")
    plan = duck_lake.plan("t")
    (file,) = plan.files
    assert file.delete_file is not None
    for prefix in ("_", "."):
        data, delete = (Path(path).with_name(prefix + Path(path).name) for path in (file.path, file.delete_file.path))
        data.write_bytes(Path(file.path).read_bytes())
        delete.write_bytes(Path(file.delete_file.path).read_bytes())
        hidden = replace(file, path=str(data), delete_file=replace(file.delete_file, path=str(delete)))
        frame = scan(spark, replace(plan, files=(hidden, replace(file, data_file_id=99))), lineage=True)
        assert frame.count() == 18
        assert scan(spark, replace(plan, files=(hidden,))).count() == 9


def registered_by_hand(lake: DuckLake, definition: str, data: pa.Table, *changes: str, name: str = "by hand.parquet") -> None:
    """Create a table t of one file that is registered in the catalog without a name mapping."""
    lake.sql(f"CREATE TABLE t ({definition})", f"INSERT INTO t ({definition.split()[0]}) VALUES (NULL)")
    file = next(Path(row[0]) for row in lake.rows("SELECT data_file FROM ducklake_list_files('lake', 't')"))
    path = file.with_name(name)
    pq.write_table(data, path)
    footer = int.from_bytes(path.read_bytes()[-8:-4], "little")
    with closing(sqlite3.connect(lake.catalog)) as catalog, catalog:
        catalog.execute(
            "UPDATE ducklake_data_file SET path = ?, record_count = ?, file_size_bytes = ?, footer_size = ?",
            (name, data.num_rows, path.stat().st_size, footer),
        )
        catalog.execute("DELETE FROM ducklake_file_column_stats")
    lake.sql(*changes)


def with_ids(data: pa.Table, **ids: int) -> pa.Table:
    fields = [field.with_metadata({"PARQUET:field_id": str(ids[field.name])}) if field.name in ids else field for field in data.schema]
    return data.cast(pa.schema(fields))


PAIR = pa.table({"b": pa.array([2, 20], pa.int32()), "A": pa.array([1, None], pa.int32())})
POSITIONS = {
    "names of the table": ("a integer, b integer", pa.table({"a": pa.array([1], pa.int32()), "b": pa.array([2], pa.int32())}), ()),
    "names in another order": ("a integer, b integer", PAIR, ()),
    "other names": ("p integer, q integer", PAIR, ()),
    "one id of two": ("a integer, b integer", with_ids(PAIR, b=2), ()),
    "more columns than the table": ("a integer", PAIR, ()),
    "fewer columns than the table": ("a integer, b integer, c integer DEFAULT 5", PAIR, ()),
    "a column added since": ("a integer, b integer", PAIR, ("ALTER TABLE t ADD COLUMN c integer DEFAULT 7",)),
    "a column renamed since": ("a integer, b integer", PAIR, ("ALTER TABLE t RENAME COLUMN a TO b2",)),
    "a column dropped since": ("a integer, b integer, c integer", PAIR, ("ALTER TABLE t DROP COLUMN a",)),
    "another type": ("a varchar, b bigint", PAIR, ()),
    "fields of a struct": ("a integer, s struct(x integer)", pa.table({"a": pa.array([1], pa.int32()), "s": [{"x": 1}]}), ()),
}
"""Columns of the table, the columns of its file, and the changes to the table since."""


@pytest.mark.parametrize("case", list(POSITIONS))
def test_a_file_without_field_ids_is_read_by_position_as_duckdb_reads_it(reader: SparkSession, duck_lake: DuckLake, case: str) -> None:
    registered_by_hand(duck_lake, *POSITIONS[case][:2], *POSITIONS[case][2])
    frame = scan(reader, duck_lake.plan("t"), virtual=("rowid",))
    found = [tuple(value.asDict() if hasattr(value, "asDict") else value for value in row) for row in frame.collect()]
    assert ordered(found) == ordered(duck_lake.rows("SELECT *, rowid FROM t"))


def test_filters_on_a_file_without_field_ids_use_the_right_column(reader: SparkSession, duck_lake: DuckLake) -> None:
    registered_by_hand(duck_lake, "a integer, b integer", PAIR)
    frame = scan(reader, duck_lake.plan("t"))
    assert [tuple(row) for row in frame.where("a = 2").collect()] == [(2, 1)]
    assert frame.where("b = 2 OR a = 1").count() == 0
    assert frame.where("b IS NULL").count() == 1


def test_a_file_without_field_ids_that_has_a_name_of_the_lake_is_an_error(reader: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "ducklake-01a202de-3540-7f4a-b84c-e159b5f7c408.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), path)
    plan = plan_of(path, Column(1, "a", "int64"))
    with pytest.raises(Exception) as caught:  # noqa: PT011
        scan(reader, plan).collect()
    error = translate(caught.value)
    assert isinstance(error, LakeError)
    assert "field ids" in str(error)


def test_unsigned_and_decimal_files_are_read_as_double(reader: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "typed.parquet"
    fields = [("u", pa.uint32(), 1), ("d", pa.decimal128(9, 2), 2), ("i", pa.int64(), 3), ("w", pa.uint32(), 4)]
    schema = pa.schema([pa.field(name, type_, metadata={"PARQUET:field_id": str(i)}) for name, type_, i in fields])
    pq.write_table(pa.table([[4000000000], [Decimal("1.25")], [2**53 + 2], [4000000000]], schema=schema), path)
    columns = [Column(1, "u", "float64"), Column(2, "d", "float64"), Column(3, "i", "decimal(19,0)"), Column(4, "w", "uint64")]
    rows = scan(reader, replace(plan_of(path, *columns), retyped=frozenset({1, 2, 3, 4}))).collect()
    assert [tuple(row) for row in rows] == [(4e9, 1.25, Decimal(2**53 + 2), Decimal(4000000000))]


def test_the_catalog_binds_deletes_to_files_not_the_path_inside(spark: SparkSession, duck_lake: DuckLake) -> None:
    duck_lake.sql("CREATE TABLE t (a integer)", *[f"INSERT INTO t SELECT range + {100 * n} FROM range(10)" for n in range(3)])
    duck_lake.sql("DELETE FROM t WHERE a IN (101, 202)")
    plan = duck_lake.plan("t")
    moved = []
    for file in plan.files:
        target = Path(file.path).with_name("moved-" + Path(file.path).name)
        Path(file.path).rename(target)
        moved.append(replace(file, path=str(target)))
    frame = scan(spark, replace(plan, files=tuple(moved)), lineage=True)
    assert frame.count() == 28
    assert frame.where("a IN (101, 202)").count() == 0
    assert frame.where(f"{LINEAGE_POSITION} = 1").count() == 2


def plan_of(path: Path, *columns: Column) -> ScanPlan:
    size = path.stat().st_size
    file = DataFile(1, str(path), pq.read_metadata(path).num_rows, size, None, 0, 1)
    return ScanPlan("main.t", columns, (file,))
