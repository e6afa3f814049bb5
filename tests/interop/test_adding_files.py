"""`ducklake_add_data_files`: adds files of other writers to a table as DuckDB's procedure does, and DuckDB can read and change the table."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.ducklake.errors import DataError, DuckLakeError, LakeError, StatementError
from tests.interop.conftest import Both, comparable_rows
from tests.old_nesting import write_old
from tests.places import nightly_rows

TYPES = (
    *("b BOOLEAN", "i8 TINYINT", "i16 SMALLINT", "i32 INTEGER", "i64 BIGINT", "u8 UTINYINT", "u16 USMALLINT", "u32 UINTEGER"),
    *("u64 UBIGINT", "f FLOAT", "d DOUBLE", "n DECIMAL(9, 2)", "n38 DECIMAL(38, 4)", "dt DATE", "t TIME", "ts TIMESTAMP"),
    *("tss TIMESTAMP_S", "tsm TIMESTAMP_MS", "tsn TIMESTAMP_NS", "tz TIMESTAMPTZ", "v VARCHAR", "bin BLOB", "j JSON", "u UUID"),
    *("l INTEGER[]", "st STRUCT(x INTEGER, y VARCHAR)", "m MAP(VARCHAR, INTEGER)", "deep STRUCT(l STRUCT(a INTEGER)[])[]"),
)
VALUES = (
    *("true", "-8", "-1600", "3", "64", "200", "60000", "4000000000", "18446744073709551615", "1.5", "2.5", "12.34", "1234.5678"),
    *("DATE '2024-02-29'", "TIME '12:34:56'", *["TIMESTAMP '2024-02-29 01:02:03'"] * 4, "TIMESTAMPTZ '2024-02-29 01:02:03+00'"),
    *("'text'", "'\\xAB'::BLOB", """'{"a": 1}'""", "'6fa459ea-ee8a-3ca4-894e-db77e160355e'", "[1, NULL, 3]", "{'x': 1, 'y': 'z'}"),
    *("MAP {'k': 1}", "[{'l': [{'a': 1}]}]"),
)


def write(path: Path, **columns: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return str(path)


def add_on_both_sides(both: Both, tmp_path: Path, columns: str, files: str, arguments: str = "", layout: str = "") -> None:
    """Add the same files to two tables, one by each side. Both sides must read equal rows from both, and the statistics must agree."""
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0)")
    for name in ("theirs", "ours"):
        both.duckdb(f"CREATE TABLE {name} ({columns})")
        if layout:
            both.duckdb(f"ALTER TABLE {name} SET PARTITIONED BY ({layout})")
    # A file may belong to only one table, so each side gets its own copy.
    both.duckdb(f"CALL ducklake_add_data_files('lake', 'theirs', '{tmp_path}/theirs/{files}'{arguments})")
    both.spark(f"CALL ducklake_add_data_files('lake', 'ours', '{tmp_path}/ours/{files}'{arguments})")
    assert_equal_rows(both)


def assert_equal_rows(both: Both) -> None:
    """Assert that each side reads equal rows from both tables."""
    for read in (lambda query: both.duck.execute(query).fetchall(), lambda query: both.session.execute(query).fetch()):
        assert comparable_rows(read("SELECT * FROM ours")) == comparable_rows(read("SELECT * FROM theirs"))


def copies(both: Both, tmp_path: Path, query: str, name: str = "f.parquet") -> None:
    for side in ("theirs", "ours"):
        (tmp_path / side / name).parent.mkdir(parents=True, exist_ok=True)
        both.duckdb(f"COPY ({query}) TO '{tmp_path}/{side}/{name}' (FORMAT parquet)")


def catalog_rows(both: Both, table: str) -> dict[str, list[Any]]:
    """Return what the catalog stores about the files of a table, except ids and paths."""
    table_id = f"(SELECT table_id FROM __ducklake_metadata_lake.ducklake_table WHERE table_name = '{table}')"
    meta = "__ducklake_metadata_lake."
    stats = (
        f"SELECT c.column_name, s.value_count, s.null_count, s.min_value, s.max_value, s.contains_nan FROM {meta}ducklake_file_column_stats s "
        f"JOIN {meta}ducklake_column c USING (column_id, table_id) WHERE s.table_id = {table_id} ORDER BY ALL"
    )
    mapping = (
        f"SELECT n.column_id, source_name, target_field_id, parent_column, is_partition FROM {meta}ducklake_name_mapping n "
        f"JOIN {meta}ducklake_column_mapping USING (mapping_id) WHERE table_id = {table_id} ORDER BY ALL"
    )
    files = (
        f"SELECT record_count, file_size_bytes, footer_size, partition_id IS NULL FROM {meta}ducklake_data_file WHERE table_id = {table_id}"
    )
    values = (
        f"SELECT partition_key_index, partition_value FROM {meta}ducklake_file_partition_value WHERE table_id = {table_id} ORDER BY ALL"
    )
    queries = {"stats": stats, "mapping": mapping, "files": files + " ORDER BY ALL", "values": values}
    return {name: both.duck.execute(query).fetchall() for name, query in queries.items()}


def test_files_of_every_type_are_added_as_duckdb_adds_them(both: Both, tmp_path: Path) -> None:
    names = [column.split()[0] for column in TYPES]
    row = ", ".join(f"({value})::{column.split(maxsplit=1)[1]} AS {name}" for value, column, name in zip(VALUES, TYPES, names, strict=True))
    copies(both, tmp_path, f"SELECT {row} UNION ALL SELECT {', '.join(['NULL'] * len(names))}")
    add_on_both_sides(both, tmp_path, ", ".join(TYPES), "f.parquet")
    theirs, ours = catalog_rows(both, "theirs"), catalog_rows(both, "ours")
    assert ours["files"] == theirs["files"]
    assert ours["mapping"] == theirs["mapping"]
    spelled = {
        "true": "1",
        "false": "0",
        "\\xAB": "AB",
    }  # DuckDB writes bounds of added files in another form than those of its own files; we always write the latter form
    known = {row[0]: (row[1:3], tuple(spelled.get(bound, bound) for bound in row[3:5])) for row in theirs["stats"]}
    found = {row[0]: (row[1:3], row[3:5]) for row in ours["stats"]}
    assert {name: counts for name, (counts, _) in found.items()} == {name: counts for name, (counts, _) in known.items()}
    bounds = {name: bounds for name, (_, bounds) in found.items() if bounds[0] is not None}  # without statistics, nothing is pruned
    assert bounds == {name: known[name][1] for name in bounds}
    for table in ("ours", "theirs"):
        both.spark(f"UPDATE {table} SET v = 'new' WHERE i32 = 3")
        both.duckdb(f"DELETE FROM {table} WHERE v IS NULL")
    assert_equal_rows(both)


def test_conditions_finer_than_milliseconds_lose_no_row_group(both: Both, tmp_path: Path) -> None:
    at = [dt.datetime(2024, 1, 1) + dt.timedelta(milliseconds=10 * (i // 10)) for i in range(30)]
    milliseconds = pa.array(at, pa.timestamp("ms", "UTC"))
    path = tmp_path / "f.parquet"
    nested = pa.StructArray.from_arrays([milliseconds], ["at"])
    pq.write_table(pa.table({"at": milliseconds, "st": nested}), path, row_group_size=10)
    both.duckdb('CREATE TABLE t ("at" TIMESTAMPTZ, st STRUCT("at" TIMESTAMPTZ))')
    both.spark(f"CALL ducklake_add_data_files('lake', 't', '{path}')")
    for name in ("at", "st.at"):
        for micros in (9999, 10000, 10001, 10500):
            literal = f"TIMESTAMP '2024-01-01 00:00:00.{micros:06d}+00:00'"
            conditions = [f"t.{name} {operator} {literal}" for operator in ("<", "<=", "=", ">=", ">", "<>")]
            counts = " UNION ALL ".join(
                f"SELECT {number}, count(*) FROM t WHERE {condition}"
                for number, condition in enumerate((*conditions, f"t.{name} NOT IN ({literal})"))
            )
            both.rows(counts.replace("TIMESTAMP", "TIMESTAMPTZ"), counts)


@pytest.mark.parametrize(
    ("stored", "kind"),
    [
        ("us", "TIMESTAMP_S"),
        ("ms", "TIMESTAMP_S"),
        ("int96", "TIMESTAMP_MS"),
        *nightly_rows(("us", "TIMESTAMP_MS"), ("ms", "TIMESTAMP_MS"), ("int96", "TIMESTAMP_S")),
    ],
)
def test_finer_timestamps_are_rounded_as_duckdb_rounds_them(both: Both, tmp_path: Path, kind: str, stored: str) -> None:
    micros = [0, 400, 500, 400_600, 499_999, 500_000, 999_999, 1_000_500, 61_500_000, None]
    values = pa.array([*micros, *(None if each is None else -each for each in micros)], pa.timestamp("us"))
    if stored == "ms":
        values = values.cast(pa.timestamp("ms"), safe=False)
    path = tmp_path / "f.parquet"
    table = pa.table({"at": values, "l": pa.array([[each] for each in values.to_pylist()], pa.list_(values.type))})
    pq.write_table(table, path, use_deprecated_int96_timestamps=stored == "int96")
    both.duckdb(f'CREATE TABLE t ("at" {kind}, l {kind}[])')
    both.spark(f"CALL ducklake_add_data_files('lake', 't', '{path}')")
    assert len(both.rows("SELECT * FROM t")) == 20
    literals = ("1970-01-01 00:00:00", "1970-01-01 00:00:01", "1969-12-31 23:59:59", "1970-01-01 00:00:00.401")
    counts = " UNION ALL ".join(
        f"SELECT '{operator} {literal}', count(*) FROM t WHERE t.at {operator} TIMESTAMP '{literal}'"
        for literal in literals
        for operator in ("<", "=", ">")
    )
    both.rows(counts, counts.replace("TIMESTAMP", "TIMESTAMP_NTZ"))


@pytest.mark.parametrize(
    ("kind", "micros", "literal"),
    [("TIMESTAMP_S", 700_000, "1970-01-01 00:00:01"), *nightly_rows(("TIMESTAMP_MS", 400_700, "1970-01-01 00:00:00.401"))],
)
def test_a_file_that_duckdb_added_is_not_pruned_for_the_rounded_value(
    both: Both, tmp_path: Path, kind: str, micros: int, literal: str
) -> None:
    path = write(tmp_path / "f.parquet", x=pa.array([micros], pa.timestamp("us")))
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0)")
    both.duckdb(f"CREATE TABLE t (x {kind})")
    both.duckdb(f"CALL ducklake_add_data_files('lake', 't', '{path}')")
    both.duckdb("INSERT INTO t VALUES ('2020-01-01 00:00:00')")  # the only file of a table is never pruned
    assert len(both.rows(f"SELECT * FROM t WHERE x = TIMESTAMP '{literal}'", f"SELECT * FROM t WHERE x = TIMESTAMP_NTZ'{literal}'")) == 1
    both.spark(f"DELETE FROM t WHERE x = TIMESTAMP_NTZ'{literal}'")
    assert len(both.rows("SELECT * FROM t")) == 1


def test_narrower_types_and_other_column_orders_and_cases(both: Both, tmp_path: Path) -> None:
    copies(both, tmp_path, "SELECT 7::UTINYINT AS B, 1.5::DECIMAL(5, 1) AS n, 2::TINYINT AS a, 0.5::FLOAT AS d, 1 AS extra")
    arguments = ", allow_missing => true, ignore_extra_columns => true"
    add_on_both_sides(both, tmp_path, "a BIGINT, b SMALLINT, n DECIMAL(10, 2), d DOUBLE, later VARCHAR", "*.parquet", arguments)
    for query in ("SELECT * FROM ours WHERE n = 1.5", "SELECT * FROM ours WHERE a = 2 AND b = 7 AND d < 1"):
        assert len(both.rows(query)) == 1
    both.duckdb("INSERT INTO ours VALUES (1, 2, 3, 4, 'x')")
    both.check_history("ours")


def test_hive_directories_are_partitions(both: Both, tmp_path: Path) -> None:
    for year, region in ((2023, "a%20b"), (2024, "__HIVE_DEFAULT_PARTITION__")):
        query = f"SELECT DATE '{year}-05-01' + i::INTEGER AS d, i FROM range(3) r(i)"
        copies(both, tmp_path, query, f"year={year}/region={region}/f.parquet")
    add_on_both_sides(both, tmp_path, "d DATE, region VARCHAR, i BIGINT", "*/*/*.parquet", layout="year(d), region")
    theirs, ours = catalog_rows(both, "theirs"), catalog_rows(both, "ours")
    assert ours["values"] == theirs["values"]
    assert ours["files"] == theirs["files"]
    assert sorted(ours["mapping"]) == sorted(theirs["mapping"])
    assert len(both.rows("SELECT * FROM ours WHERE region = 'a b'")) == 3
    assert len(both.rows("SELECT * FROM ours WHERE d >= DATE '2024-01-01' AND region IS NULL")) == 3
    both.spark("CALL ducklake_merge_adjacent_files('lake', 'ours')")
    both.duckdb("INSERT INTO ours VALUES (DATE '2024-06-01', 'c', 9)")
    both.check_history("ours")


@pytest.mark.parametrize(
    ("directory", "value"),
    [
        ("k=NULL", None),
        ("k=Null", None),
        ("k=%4eULL", "NULL"),
        ("k=__hive_default_partition__", "__hive_default_partition__"),
        ("k=1/k=2", "1"),
        ("K=1/k=2", "2"),
        ("k= é#&[x]*", " é#&[x]*"),
    ],
)
def test_a_directory_has_the_value_that_duckdb_reads(both: Both, tmp_path: Path, directory: str, value: str | None) -> None:
    copies(both, tmp_path, "SELECT 1::BIGINT AS i", f"{directory}/f.parquet")
    add_on_both_sides(both, tmp_path, "i BIGINT, k VARCHAR", f"{directory}/f.parquet", layout="k")
    theirs, ours = catalog_rows(both, "theirs"), catalog_rows(both, "ours")
    assert ours == theirs
    assert both.rows("SELECT * FROM ours") == [(1, value)]
    condition = "k IS NULL" if value is None else f"k = '{value}'"
    assert both.rows(f"SELECT i FROM ours WHERE {condition}") == [(1,)]


@pytest.mark.parametrize("directory", ["k=7", "%4b=7", "%6b=7"])
def test_duckdb_reads_a_directory_that_is_spelled_in_another_way(both: Both, tmp_path: Path, directory: str) -> None:
    both.duckdb("CREATE TABLE t (i BIGINT, K BIGINT)")
    path = write(tmp_path / directory / "f.parquet", i=[1, 2])
    both.spark(f"CALL ducklake_add_data_files('lake', 't', '{path}')")
    assert both.rows("SELECT * FROM t WHERE k = 7") == [(1, 7), (2, 7)]
    both.spark("ALTER TABLE t RENAME COLUMN K TO other")
    both.duckdb("DELETE FROM t WHERE i = 1")
    assert both.rows("SELECT * FROM t") == [(2, 7)]


@pytest.mark.parametrize("directory", ["k=x=y", "k=a?b", "k=a\nb", "=k=7"])
def test_a_directory_that_duckdb_does_not_read_as_a_partition_is_ignored(both: Both, tmp_path: Path, directory: str) -> None:
    both.duckdb("CREATE TABLE t (i BIGINT, k VARCHAR)")
    path = write(tmp_path / directory / "f.parquet", i=[1])
    with pytest.raises(StatementError, match=r"column k of main\.t is missing"):
        both.spark(f"CALL ducklake_add_data_files('lake', 't', '{path}')")
    assert both.rows("SELECT * FROM t") == []


@pytest.mark.parametrize(
    ("kind", "text", "condition"),
    [
        ("BLOB", "a%5Cx00%5CxfF", None),
        ("BLOB", "abc", None),
        ("BLOB", "", "k IS NULL"),
        ("BIGINT", "", "k IS NULL"),
        ("DATE", "", "k IS NULL"),
        ("DATE", "__HIVE_DEFAULT_PARTITION__", "k IS NULL"),
        ("VARCHAR", "", "k = ''"),
        ("UUID", "6FA459EA-EE8A-3CA4-894E-DB77E160355E", "k = '6fa459ea-ee8a-3ca4-894e-db77e160355e'"),
    ],
)
def test_the_text_of_a_directory_is_converted_as_duckdb_converts_it(
    both: Both, tmp_path: Path, kind: str, text: str, condition: str | None
) -> None:
    copies(both, tmp_path, "SELECT 1::BIGINT AS i", f"k={text}/f.parquet")
    add_on_both_sides(both, tmp_path, f"i BIGINT, k {kind}", "*/f.parquet")
    theirs, ours = catalog_rows(both, "theirs"), catalog_rows(both, "ours")
    assert (ours["mapping"], len(ours["stats"])) == (theirs["mapping"], len(theirs["stats"]))
    both.rows("SELECT i, k::VARCHAR FROM ours" if kind == "UUID" else "SELECT * FROM ours", "SELECT * FROM ours")
    if condition is not None:
        assert both.rows(f"SELECT i FROM ours WHERE {condition}") == both.rows(f"SELECT i FROM theirs WHERE {condition}") == [(1,)]
    both.spark("CALL ducklake_merge_adjacent_files('lake', 'ours')")


def test_timestamps_in_directory_names_are_in_the_time_zone_of_the_session(both: Both, tmp_path: Path) -> None:
    both.duckdb("SET TimeZone = 'America/New_York'")
    both.spark("SET spark.sql.session.timeZone = America/New_York")
    for number, text in enumerate(("2024-01-01 00%3A00%3A00", "2024-07-01", "2024-07-01 05%3A00%3A00%2B00")):
        copies(both, tmp_path, f"SELECT {number}::BIGINT AS i", f"at={text}/f.parquet")
    add_on_both_sides(both, tmp_path, 'i BIGINT, "at" TIMESTAMPTZ', "*/f.parquet", layout='"at"')
    theirs, ours = catalog_rows(both, "theirs"), catalog_rows(both, "ours")
    assert (ours["stats"], ours["values"]) == (theirs["stats"], theirs["values"])
    found = both.rows(
        "SELECT i FROM ours WHERE ours.at = TIMESTAMPTZ '2024-01-01 05:00:00+00'",
        "SELECT i FROM ours WHERE ours.at = TIMESTAMP '2024-01-01 05:00:00+00:00'",
    )
    assert found == [(0,)]


@pytest.mark.parametrize(
    ("kind", "key", "directory", "values", "fits"),
    [
        ("BIGINT", "k", "k=7", "7, 7", True),
        ("BIGINT", "k", "k=7", "8, 8", False),
        ("BIGINT", "k", "k=7", "7, 8", False),
        ("BIGINT", "k", "k=7", "7, NULL", False),
        ("BIGINT", "k", "k=__HIVE_DEFAULT_PARTITION__", "NULL, NULL", True),
        ("BIGINT", "k", "k=__HIVE_DEFAULT_PARTITION__", "NULL, 7", False),
        ("DECIMAL(5,2)", "k", "k=1.5", "1.50, 1.5", True),
        ("VARCHAR", "k", "k=a%20b", "'a b', 'a b'", True),
        ("BOOLEAN", "k", "k=true", "true, true", True),
        ("DATE", "year(k)", "year=2024", "'2024-01-01', '2024-12-31'", True),
        ("DATE", "year(k)", "year=2024", "'2024-01-01', '2025-01-01'", False),
        ("TIMESTAMPTZ", "month(k)", "month=5", "'2024-05-01 00:00:00+00', '2024-05-31 23:59:59+00'", True),
        ("TIMESTAMP", "month(k)", "month=5", "'2023-05-01', '2024-05-31'", False),
    ],
)
def test_statistics_must_prove_the_partition_if_columns_are_read_from_the_file(
    both: Both, tmp_path: Path, kind: str, key: str, directory: str, values: str, fits: bool
) -> None:
    both.duckdb(f"CREATE TABLE t (k {kind}, i BIGINT)")
    both.duckdb(f"ALTER TABLE t SET PARTITIONED BY ({key})")
    add_to_partition(both, tmp_path / directory / "f.parquet", f"SELECT unnest([{values}])::{kind} AS k, 1 AS i", fits=fits)
    condition = "k IS NULL" if "NULL" in values else f"k <= {values.split(', ')[1]}"
    assert len(both.rows(f"SELECT * FROM t WHERE {condition}")) == (2 if fits else 0)


def test_a_file_with_one_value_can_be_added_only_to_the_bucket_of_this_value(both: Both, tmp_path: Path) -> None:
    both.duckdb("CREATE TABLE t (k BIGINT, i BIGINT)")
    both.duckdb("ALTER TABLE t SET PARTITIONED BY (bucket(4, k))")
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0, table_name => 't')")
    both.duckdb("INSERT INTO t VALUES (1, 0)")
    ((own,),) = both.duck.execute("SELECT partition_value FROM __ducklake_metadata_lake.ducklake_file_partition_value").fetchall()
    for bucket in range(4):
        path = tmp_path / f"bucket={bucket}" / "f.parquet"
        add_to_partition(both, path, f"SELECT 1::BIGINT AS k, {bucket} AS i FROM range(2)", fits=str(bucket) == own)
    assert len(both.rows("SELECT * FROM t WHERE k = 1")) == 3


def add_to_partition(both: Both, path: Path, query: str, *, fits: bool) -> None:
    """Write a file and add it to the table t, reading all columns from the file. Unless `fits`, it must be refused."""
    path.parent.mkdir(parents=True)
    both.duckdb(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
    call = f"CALL ducklake_add_data_files('lake', 't', '{path}', hive_partitioning => false)"
    if fits:
        both.spark(call)
    else:
        with pytest.raises(DataError, match="does not prove that all its values of k are in the partition of the directory"):
            both.spark(call)


def test_two_added_files_share_a_mapping_that_the_transaction_can_read(both: Both, tmp_path: Path) -> None:
    both.spark("CREATE TABLE t (a BIGINT, s STRING)")
    both.session.begin()
    for number in range(3):
        path = write(tmp_path / f"{number}.parquet", a=[number], s=["x"])
        both.spark(f"CALL lake.add_data_files('t', '{path}')")
    assert both.session.execute("SELECT sum(a) FROM t").fetch() == [(3,)]
    both.session.commit()
    more = [write(tmp_path / f"m{number}.parquet", a=[number], s=["x"]) for number in (10, 11)]
    both.duckdb(f"CALL ducklake_add_data_files('lake', 't', '{more[0]}')")
    both.spark(f"CALL lake.add_data_files('t', ['{more[1]}'])")
    assert both.duck.execute("SELECT count(*) FROM __ducklake_metadata_lake.ducklake_column_mapping").fetchone() == (1,)
    assert both.rows("SELECT sum(a) FROM t") == [(24,)]
    both.check_history("t")


def test_a_rollback_does_not_remove_the_added_files(both: Both, tmp_path: Path) -> None:
    path = Path(write(tmp_path / "f.parquet", a=[1]))
    both.spark("CREATE TABLE t (a BIGINT)")
    both.session.begin()
    both.spark(f"CALL ducklake_add_data_files('lake', 't', '{path}')")
    both.session.rollback()
    assert path.exists()
    assert both.rows("SELECT * FROM t") == []


@pytest.mark.parametrize(
    ("forms", "kind"),
    [
        (("array", "tuple", "repeated", "bag"), "INTEGER[]"),
        (("pairs",), "STRUCT(x INTEGER, y INTEGER)[]"),
        (("lists", "bags"), "INTEGER[][]"),
        (("map",), "MAP(VARCHAR, INTEGER)"),
    ],
)
def test_lists_and_maps_of_old_writers_are_read_by_both_sides(both: Both, tmp_path: Path, forms: tuple[str, ...], kind: str) -> None:
    for form in forms:
        path = write_old(tmp_path / f"{form}.parquet", form)
        both.duckdb(f"CREATE OR REPLACE TABLE t (f {kind})")
        both.spark(f"CALL ducklake_add_data_files('lake', 't', '{path}')")
        stored = [(value,) for value in pq.read_table(path).column("f").to_pylist()]
        assert comparable_rows(both.rows("SELECT * FROM t")) == comparable_rows(stored), form


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        ("singles", "STRUCT(x INTEGER)[]"),
        ("repeated_singles", "STRUCT(x INTEGER)[]"),
        ("map_names", "MAP(VARCHAR, INTEGER)"),
        ("map_key_value", "MAP(VARCHAR, INTEGER)"),
    ],
)
def test_lists_and_maps_that_duckdb_reads_in_another_way_are_refused(both: Both, tmp_path: Path, form: str, kind: str) -> None:
    both.duckdb(f"CREATE TABLE t (f {kind})")
    path = write_old(tmp_path / "f.parquet", form)
    with pytest.raises(DataError, match="in an old form, which DuckDB reads in another way"):
        both.spark(f"CALL ducklake_add_data_files('lake', 't', '{path}')")
    assert both.rows("SELECT * FROM t") == []


@pytest.mark.parametrize(
    ("columns", "arguments", "error", "text"),
    [
        ({"b": [1]}, "", StatementError, "ignore_extra_columns => true"),
        ({"s": ["x"]}, "", StatementError, "column a of main.t is missing"),
        ({"a": ["x"], "s": ["x"]}, "", DataError, "field a of .* is string; column a of main.t is int32"),
        ({"a": pa.array([1], pa.int64()), "s": ["x"]}, "", DataError, "is int.64.; column a of main.t is int32"),
        ({"a": pa.array([None], pa.int32()), "s": ["x"]}, "", DataError, "column a is NOT NULL"),
        ({"s": ["x"]}, ", allow_missing => true", DataError, "column a is NOT NULL"),
        ({"t": pa.array([1], pa.time32("ms"))}, ", allow_missing => true", DataError, r"is time\(millis\); column t of main.t is time"),
    ],
)
def test_the_error_names_what_does_not_fit(
    both: Both, tmp_path: Path, columns: dict[str, Any], arguments: str, error: type[DuckLakeError], text: str
) -> None:
    both.spark("CREATE TABLE t (a INT NOT NULL, s STRING, t TIME)" if "t" in columns else "CREATE TABLE t (a INT NOT NULL, s STRING)")
    path = write(tmp_path / "f.parquet", **columns)
    with pytest.raises(error, match=text):
        both.spark(f"CALL ducklake_add_data_files('lake', 't', '{path}'{arguments})")
    assert both.rows("SELECT * FROM t") == []


def test_a_file_can_be_added_to_only_one_table(both: Both, tmp_path: Path) -> None:
    both.spark("CREATE TABLE t (a BIGINT)")
    path = write(tmp_path / "f.parquet", a=[1])
    both.spark(f"CALL ducklake_add_data_files('lake', 't', '{path}')")
    with pytest.raises(LakeError, match="is already a file of this lake"):
        both.spark(f"CALL ducklake_add_data_files('lake', 't', '{tmp_path}/*.parquet')")
    with pytest.raises(LakeError, match="no file is called"):
        both.spark(f"CALL ducklake_add_data_files('lake', 't', '{tmp_path}/none/*.parquet')")
    both.spark("CREATE TABLE p (a BIGINT, k INT) PARTITIONED BY (k)")
    path = write(tmp_path / "g" / "g.parquet", a=[1], k=pa.array([1], pa.int32()))
    with pytest.raises(StatementError, match=r"is in no directory k="):
        both.spark(f"CALL ducklake_add_data_files('lake', 'p', '{path}')")
    assert both.rows("SELECT * FROM t") == [(1,)]
