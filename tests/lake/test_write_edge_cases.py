"""Writes that would silently give wrong results with an obvious implementation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dbt.adapters.ducklake.format.files import LINEAGE_ROW_ID, ROW_ID_COLUMN, ROW_ID_FIELD_ID
from dbt.adapters.ducklake.format.objects import PartitionField
from dbt.adapters.ducklake.spark.files.field_ids import read_schema
from dbt.adapters.ducklake.spark.files.footer_bytes import read_footer
from dbt.adapters.ducklake.spark.write.write import write_rows
from tests.catalog_objects import table_of
from tests.lake.written import OPTIONS, WrittenLake, columns_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_field_ids_are_written_when_no_column_needs_a_cast(spark: SparkSession, tmp_path: Path) -> None:
    columns = columns_of("a bigint", "b string")
    plain = spark.sql("SELECT id AS a, cast(id AS string) AS b FROM range(10)")
    for rows in (plain, plain.orderBy("a"), plain.cache(), plain.limit(3), plain.union(plain), plain.repartition(2)):
        for file in write_rows(rows, columns, f"{tmp_path}/t", OPTIONS):
            root = read_schema(read_footer(file.path, file.size_bytes))
            assert [(node.name, node.field_id) for node in root.children] == [("a", 1), ("b", 2)]
    plain.unpersist()


def test_row_ids_have_their_field_id_and_duckdb_finds_them(spark: SparkSession, written: WrittenLake) -> None:
    columns = columns_of("a bigint", "l array<struct<x int>>")
    first = spark.sql("SELECT id, array(named_struct('x', cast(id AS int))) FROM range(5)")
    written.add("t", columns, lambda table: write_rows(first, columns, table.path, OPTIONS))
    with written.place.open() as lake:
        transaction = lake.begin()
        table = table_of(transaction)
        changed = spark.sql(f"SELECT id + 100 AS a, array(named_struct('x', -1)) AS l, id AS {LINEAGE_ROW_ID} FROM range(2)")
        files = write_rows(changed, columns, table.path, OPTIONS, row_ids=True)
        root = read_schema(read_footer(files[0].path, files[0].size_bytes))
        assert [(node.name, node.field_id) for node in root.children] == [("a", 1), ("l", 2), (ROW_ID_COLUMN, ROW_ID_FIELD_ID)]
        (plan_file,) = transaction.scan_plan(table).files
        transaction.rows.truncate(table)
        transaction.rows.add_files(table, files)
        transaction.commit()
    assert plan_file.record_count == 5
    assert written.query("SELECT a, l[1].x, rowid FROM t ORDER BY a") == [(100, -1, 0), (101, -1, 1)]
    with written.duckdb() as duckdb:
        duckdb.execute("UPDATE lake.t SET a = a + 1 WHERE rowid = 1")
        assert duckdb.execute("SELECT a, rowid FROM lake.t ORDER BY a").fetchall() == [(100, 0), (102, 1)]


def test_elements_keys_and_values_have_field_ids_at_every_depth(spark: SparkSession, written: WrittenLake) -> None:
    columns = columns_of(
        "l array<int>",
        "ls array<struct<x decimal(20,2), t timestamp_ntz>>",
        "ll array<array<timestamp>>",
        "m map<string, double>",
        "mm map<int, map<string, struct<y array<date>>>>",
        "s struct<v variant, n map<string, string>>",
    )
    query = """SELECT array(1, NULL), array(named_struct('x', 1.5, 't', timestamp_ntz'2020-01-01 00:00:00')),
      array(array(timestamp'2020-01-01 00:00:00Z')), map('k', 2D),
      map(1, map('a', named_struct('y', array(date'2020-01-01')))),
      named_struct('v', parse_json('[1]'), 'n', map('k', 'v'))"""
    (file,) = written.add("t", columns, lambda table: write_rows(spark.sql(query), columns, table.path, OPTIONS))
    expected = [node.column_id for column in columns for node in column.walk()]
    assert ids(read_schema(read_footer(file.path, file.size_bytes))) == expected
    rows = written.query(
        "SELECT l, ls[1].x, ls[1].t::varchar, ll[1][1]::varchar, m['k'], mm[1]['a'].y[1]::varchar, s.n['k'], s.v::json::varchar FROM t"
    )
    ((l_, x, t, ll, m, y, n, v),) = rows
    assert (l_, str(x), t, ll, m, y, n, v) == (
        [1, None],
        "1.50",
        "2020-01-01 00:00:00",
        "2020-01-01 00:00:00+00",
        2.0,
        "2020-01-01",
        "v",
        "[1]",
    )


def test_no_file_has_a_name_that_spark_would_skip(spark: SparkSession, tmp_path: Path) -> None:
    columns = columns_of("_a int", "`.b` int")
    files = write_rows(
        spark.sql("SELECT 1, 2"), columns_of("_a int", ".b int"), f"{tmp_path}/_t/", OPTIONS, partition_fields=(PartitionField(1),)
    )
    assert len(columns) == 2
    for file in files:
        assert not Path(file.path).name.startswith(("_", "."))
        assert Path(file.path).parent == tmp_path / "_t" / "_a=1"


def test_null_and_the_empty_string_are_two_partitions(spark: SparkSession, written: WrittenLake) -> None:
    columns = columns_of("k string", "v int")
    fields = (PartitionField(1),)
    rows = spark.sql("VALUES ('', 1), (NULL, 2), ('__HIVE_DEFAULT_PARTITION__', 3), ('v', 4)")
    files = written.add(
        "t", columns, lambda table: write_rows(rows, columns, table.path, OPTIONS, partition_fields=fields), partitioning=fields
    )
    assert {file.partition_values[0] for file in files} == {"", None, "__HIVE_DEFAULT_PARTITION__", "v"}
    assert written.query("SELECT v FROM t WHERE k IS NULL") == [(2,)]
    assert written.query("SELECT v FROM t WHERE k = ''") == [(1,)]


def test_a_hugeint_and_a_time_with_a_zone_keep_what_duckdb_would_lose(spark: SparkSession, written: WrittenLake) -> None:
    columns = columns_of("h hugeint", "z time with time zone")
    rows = spark.sql("SELECT cast('12345678901234567890123456789012345678' AS decimal(38,0)), '01:02:03+02'")
    written.add("t", columns, lambda table: write_rows(rows, columns, table.path, OPTIONS))
    assert written.query("SELECT h, z::varchar FROM t") == [(12345678901234567890123456789012345678, "01:02:03+02")]


def ids(root: object) -> list[int]:
    found = [] if root.field_id is None else [root.field_id]  # type: ignore[attr-defined]
    for child in root.children:  # type: ignore[attr-defined]
        found += ids(child)
    return found
