"""Reads that would give wrong rows without a word if they were done the obvious way."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.ducklake.errors import LakeError
from dbt.adapters.ducklake.spark.errors import translate
from dbt.adapters.ducklake.spark.scan import scan
from dbt.adapters.ducklake.spec.files import LINEAGE_POSITION, DataFile, ScanPlan
from dbt.adapters.ducklake.spec.objects import Column

from .conftest import DuckLake, ordered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(params=["vectorized", "row by row"])
def reader(request: pytest.FixtureRequest, spark: SparkSession):  # type: ignore[no-untyped-def]
    """Both of Spark's Parquet readers."""
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", str(request.param == "vectorized").lower())
    yield spark
    spark.conf.unset("spark.sql.parquet.enableVectorizedReader")


def test_t1_filters_on_swapped_names(reader: SparkSession, duck_lake: DuckLake) -> None:
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


def test_t1_filters_on_a_name_that_came_back(reader: SparkSession, duck_lake: DuckLake) -> None:
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


def test_t7_files_whose_names_spark_would_skip(spark: SparkSession, duck_lake: DuckLake) -> None:
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


def test_t9_a_file_without_field_ids_is_an_error(reader: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "plain.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), path)
    plan = plan_of(path, Column(1, "a", "int64"))
    with pytest.raises(Exception) as caught:  # noqa: PT011
        scan(reader, plan).collect()
    error = translate(caught.value)
    assert isinstance(error, LakeError)
    assert "field ids" in str(error)


def test_t10_unsigned_and_decimal_files_read_as_double(reader: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "typed.parquet"
    fields = [("u", pa.uint32(), 1), ("d", pa.decimal128(9, 2), 2), ("i", pa.int64(), 3), ("w", pa.uint32(), 4)]
    schema = pa.schema([pa.field(name, type_, metadata={"PARQUET:field_id": str(i)}) for name, type_, i in fields])
    pq.write_table(pa.table([[4000000000], [Decimal("1.25")], [2**53 + 2], [4000000000]], schema=schema), path)
    columns = [Column(1, "u", "float64"), Column(2, "d", "float64"), Column(3, "i", "decimal(19,0)"), Column(4, "w", "uint64")]
    rows = scan(reader, replace(plan_of(path, *columns), retyped=frozenset({1, 2, 3, 4}))).collect()
    assert [tuple(row) for row in rows] == [(4e9, 1.25, Decimal(2**53 + 2), Decimal(4000000000))]


def test_deletes_are_bound_to_files_by_the_catalog_not_by_the_path_inside(spark: SparkSession, duck_lake: DuckLake) -> None:
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
