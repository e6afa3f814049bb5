"""Inlined rows: what we keep in the catalog is what DuckDB reads there, and the other way round; no Spark is started here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pytest
from sqlalchemy import text

from dbt.adapters.ducklake.catalog.database import Database
from dbt.adapters.ducklake.catalog.location import parse_location
from dbt.adapters.ducklake.errors import DataError
from dbt.adapters.ducklake.lake.context import Context
from dbt.adapters.ducklake.lake.seed import append_rows
from dbt.adapters.ducklake.session import Lake, LakeSession
from dbt.adapters.ducklake.spec.objects import Table
from tests.catalogs import CatalogUnderTest
from tests.interop.conftest import comparable_rows
from tests.interop.oracle import connect as connect_duckdb

Open = Callable[..., LakeSession]


@pytest.fixture
def opened(catalog: CatalogUnderTest) -> Iterator[Open]:
    """A function that opens the lake, with the limit that is given."""
    lakes: list[Lake] = []

    def open_(**more: Any) -> LakeSession:
        lakes.append(catalog.open(**more))
        return lakes[-1].session()

    yield open_
    for lake in lakes:
        lake.close()


@pytest.fixture
def session(opened: Open) -> LakeSession:
    return opened()


@pytest.fixture
def duck(catalog: CatalogUnderTest, session: LakeSession) -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB on the lake, its caches warm."""
    connection = connect_duckdb(catalog)
    connection.execute("USE lake")
    connection.execute("SHOW TABLES").fetchall()
    yield connection
    connection.close()


def meta(catalog: CatalogUnderTest, query: str) -> list[tuple[Any, ...]]:
    """Rows of the catalog database itself."""
    database = Database(parse_location(catalog.path, metadata_schema=catalog.metadata_schema))
    try:
        with database.reading() as connection:
            return [tuple(row) for row in connection.execute(text(query))]
    finally:
        database.close()


def inlined_tables(catalog: CatalogUnderTest) -> list[str]:
    return [name for (name,) in meta(catalog, "SELECT table_name FROM ducklake_inlined_data_tables ORDER BY table_id, schema_version")]


def changes(catalog: CatalogUnderTest, snapshot: int) -> str:
    return meta(catalog, f"SELECT changes_made FROM ducklake_snapshot_changes WHERE snapshot_id = {snapshot}")[0][0]


def files(catalog: CatalogUnderTest) -> int:
    return meta(catalog, "SELECT count(*) FROM ducklake_data_file WHERE end_snapshot IS NULL")[0][0]


def append(session: LakeSession, rows: list[tuple[Any, ...]], name: str = "t") -> None:
    """INSERT without Spark."""
    transaction = session.catalog.begin()
    table = transaction.find("main", name)
    assert isinstance(table, Table)
    append_rows(Context(session.catalog, transaction, session.spark), table, rows)
    transaction.commit()


# -- where rows go -------------------------------------------------------------------------------------------------------------------


def test_a_small_seed_is_kept_in_the_catalog(catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    session.load_seed("main", "t", [("a", "int"), ("b", "string")], [(1, "it's"), (2, None)])
    assert duck.execute("SELECT *, rowid, snapshot_id FROM t ORDER BY a").fetchall() == [(1, "it's", 0, 1), (2, None, 1, 1)]
    assert (files(catalog), changes(catalog, 1)) == (0, 'created_table:"main"."t",inlined_insert:1')
    assert inlined_tables(catalog) == ["ducklake_inlined_data_1_1"]
    assert meta(catalog, "SELECT record_count, next_row_id, file_size_bytes FROM ducklake_table_stats") == [(2, 2, 0)]


def test_a_warm_duckdb_sees_the_rows_that_made_a_table_for_themselves(
    catalog: CatalogUnderTest, opened: Open, session: LakeSession
) -> None:
    files_only = connect_duckdb(catalog, data_inlining_row_limit=0)
    files_only.execute("CREATE TABLE lake.t(a INTEGER)")
    files_only.execute("SELECT * FROM lake.t").fetchall()
    session.load_seed("main", "t", [("a", "int")], [(1,)], rebuild=False)
    assert files_only.execute("SELECT * FROM lake.t").fetchall() == [(1,)]
    assert meta(catalog, "SELECT schema_version, next_file_id FROM ducklake_snapshot ORDER BY snapshot_id") == [(0, 0), (1, 0), (2, 1)]
    assert inlined_tables(catalog) == ["ducklake_inlined_data_1_2"]
    files_only.execute("INSERT INTO lake.t VALUES (2)")
    assert files_only.execute("SELECT a, rowid FROM lake.t ORDER BY a").fetchall() == [(1, 0), (2, 1)]
    assert files_only.execute("SELECT min(a), max(a), count(*) FROM lake.t").fetchall() == [(1, 2, 2)]
    files_only.close()


@pytest.mark.parametrize(("limit", "rows", "kept"), [(None, 10, True), (None, 11, False), (0, 1, False), (3, 3, True), (3, 4, False)])
def test_the_limit_counts_the_rows_of_a_statement(
    catalog: CatalogUnderTest, opened: Open, limit: int | None, rows: int, kept: bool
) -> None:
    opened(data_inlining_row_limit=limit).load_seed("main", "t", [("a", "int")], [(number,) for number in range(rows)])
    assert (files(catalog) == 0) is kept


def test_options_win_over_the_profile_and_narrow_ones_over_wide_ones(
    catalog: CatalogUnderTest, opened: Open, duck: duckdb.DuckDBPyConnection
) -> None:
    session = opened(data_inlining_row_limit=0)
    duck.execute("CREATE SCHEMA s")
    duck.execute("CREATE TABLE s.t(a INTEGER)")
    duck.execute("CREATE TABLE s.u(a INTEGER)")
    duck.execute("CREATE TABLE v(a INTEGER)")
    duck.execute("CALL lake.set_option('data_inlining_row_limit', 3)")
    duck.execute("CALL lake.set_option('data_inlining_row_limit', 2, schema => 's')")
    duck.execute("CALL lake.set_option('data_inlining_row_limit', 0, schema => 's', table_name => 't')")
    with session.reading() as reader:
        tables = [reader.find(*place) for place in (("s", "t"), ("s", "u"), ("main", "v"))]
        limits = [reader.inlining_row_limit(table, session.catalog.inlining_row_limit) for table in tables]
    assert limits == [0, 2, 3]


@pytest.mark.parametrize(
    "columns",
    [[("row_id", "int")], [("End_Snapshot", "int")], [("s", "struct<a: string>"), ("j", "array<json>")]],
    ids=["reserved", "reserved in another case", "json in a list"],
)
def test_what_no_inlined_table_can_hold_goes_to_files(
    catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection, columns: list[tuple[str, str]]
) -> None:
    rows = [tuple('["1"]' if "json" in kind else '{"a": "b"}' if "struct" in kind else 1 for _, kind in columns)]
    session.load_seed("main", "t", columns, rows)
    assert (files(catalog), inlined_tables(catalog)) == (1, [])
    assert len(duck.execute("SELECT * FROM t").fetchall()) == 1


def test_long_identifiers_go_to_files_on_postgresql(catalog: CatalogUnderTest, session: LakeSession) -> None:
    session.load_seed("main", "t", [("n" * 64, "int")], [(1,)])
    assert files(catalog) == (1 if catalog.database == "postgres" else 0)


def test_a_null_in_a_column_that_is_not_null_is_refused(session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    duck.execute("CREATE TABLE t(a INTEGER NOT NULL, l INTEGER[] NOT NULL)")
    for row in [(None, "[1]"), (1, None)]:
        with pytest.raises(DataError, match="NOT NULL"):
            session.load_seed("main", "t", [], [row], rebuild=False)


def test_partitioned_tables_are_inlined_too(catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    duck.execute("CREATE TABLE t(k INTEGER, v VARCHAR)")
    duck.execute("ALTER TABLE t SET PARTITIONED BY (k)")
    session.load_seed("main", "t", [], [(1, "x"), (2, "y")], rebuild=False)
    assert files(catalog) == 0
    assert duck.execute("SELECT * FROM t ORDER BY k").fetchall() == [(1, "x"), (2, "y")]


# -- values --------------------------------------------------------------------------------------------------------------------------

VALUES: dict[str, list[Any]] = {
    "boolean": [True, False],
    "tinyint": [-128, 127],
    "smallint": [-32768],
    "int": [-(2**31), 2**31 - 1],
    "bigint": [-(2**63), 2**63 - 1],
    "float": ["0.1", "nan", "-inf", "3.4028235e38"],
    "double": ["0.1", "1e300", "nan", "inf", "-0.0", "5e-324"],
    "decimal(10,2)": ["1.2", "-99999999.99"],
    "decimal(38,10)": ["1234567890123456789012345678.0123456789"],
    "decimal(2,2)": ["-0.05"],
    "date": ["2020-01-02", "0001-01-01", "9999-12-31", "infinity", "-infinity", "0044-03-15 (BC)", "10000-01-01"],
    "timestamp": ["2020-01-02 03:04:05.6+02", "1969-12-31 23:59:59.999999+00", "infinity", "20000-01-01 00:00:00+00"],
    "timestamp_ntz": ["2020-01-02 03:04:05.6", "1969-12-31 23:59:59.999999", "-infinity", "0044-03-15 (BC) 01:02:03"],
    "string": ["it's", "", 'naïve \\ "q"', "a\nb", "NULL", "x" * 300, "😀", "nul\0nul"],
    "binary": [b"\xaa\x00b'\\", b"", bytes(range(256))],
    "array<string>": [["a", "b c", "o'k", 'q"r', "a\\b", "a\\,b", "", None, "NULL", "null", "x,y", "[z]", " lead ", "a=b", "a:b", "é", "a'\\b", "n\nl"], []],
    "array<binary>": [[b"\xaa\x00b", b"it's", b"a,b", b"\\,", None]],
    "array<date>": [["2020-01-02", None, "infinity"]],
    "array<timestamp>": [["2020-01-02 03:04:05.6+00"]],
    "array<double>": [[1.5, 1e300, None, float("nan"), float("inf")]],
    "array<array<int>>": [[[1, 2], None, []]],
    "array<struct<a: string, b: date>>": [[{"a": "o'k, x", "b": "2020-01-01"}, {"a": None, "b": None}, None]],
    "map<string, string>": [{"k": "v", "o'k": "a=b", "sp ace": None, "": "", "q,": "\\", "{": "}"}, {}],
    "map<int, struct<a: string>>": [{1: {"a": "x"}, 2: None}],
    "struct<a: string, b: int, c: boolean, d: decimal(5,2), e: double>": [
        {"a": "plain", "b": 1, "c": True, "d": "1.5", "e": 2.0},
        {"a": "o'k", "b": None, "c": None, "d": None, "e": float("nan")},
        {"a": 'q"r', "b": None, "c": False, "d": None, "e": float("-inf")},
    ],
    "struct<d: date, t: timestamp_ntz, z: timestamp, l: array<string>, m: map<string, int>, s: struct<`y z`: string>>": [
        {"d": "2020-01-02", "t": "2020-01-02 03:04:05.5", "z": "2020-01-02 03:04:05+00", "l": ["o'k", "a\\b", None], "m": {"o'k": 1}, "s": {"y z": "it's"}},
    ],
}  # fmt: skip


def test_duckdb_reads_the_same_values_as_from_a_file(catalog: CatalogUnderTest, opened: Open, duck: duckdb.DuckDBPyConnection) -> None:
    columns = [("n", "int"), *((f"c{index}", kind) for index, kind in enumerate(VALUES))]
    rows = [(n, *(values[n] if n < len(values) else None for values in VALUES.values())) for n in range(max(map(len, VALUES.values())) + 1)]
    for name, limit in (("filed", 0), ("kept", 1000)):
        opened(data_inlining_row_limit=limit).load_seed("main", name, columns, rows)
    assert files(catalog) == 1
    for name, kind in columns:
        query = f"SELECT n, {name}, {name}::VARCHAR FROM {{}} ORDER BY n"
        filed, kept = (comparable_rows(duck.execute(query.format(table)).fetchall()) for table in ("filed", "kept"))
        assert kept == filed, kind
    bounds = "SELECT t.table_name, s.column_id, s.contains_null, s.min_value, s.max_value FROM ducklake_table_column_stats s "
    stats = sorted(meta(catalog, bounds + "JOIN ducklake_table t USING (table_id)"), key=repr)
    assert [row[1:] for row in stats if row[0] == "kept"] == [row[1:] for row in stats if row[0] == "filed"]


def test_structs_with_backslashes_go_to_files(catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    session.load_seed("main", "t", [("s", "struct<a: string>")], [({"a": "a\\b"},)])
    assert files(catalog) == 1
    assert duck.execute("SELECT s.a FROM t").fetchall() == [("a\\b",)]


# -- going on ------------------------------------------------------------------------------------------------------------------------


def test_both_sides_go_on_with_each_others_rows(catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    session.load_seed("main", "t", [("a", "int"), ("b", "string")], [(1, "ours"), (2, "ours")])
    duck.execute("INSERT INTO t VALUES (3, 'theirs')")
    duck.execute("UPDATE t SET b = 'changed' WHERE a = 1")
    duck.execute("DELETE FROM t WHERE a = 2")
    assert duck.execute("SELECT *, rowid FROM t ORDER BY a").fetchall() == [(1, "changed", 0), (3, "theirs", 2)]
    session.load_seed("main", "t", [], [(9, "again")], rebuild=False)
    assert duck.execute("SELECT *, rowid FROM t").fetchall() == [(9, "again", 3)]
    assert changes(catalog, 5) == "inlined_insert:1,inlined_delete:1"
    assert duck.execute("SELECT count(*) FROM t AT (VERSION => 1)").fetchall() == [(2,)]
    assert files(catalog) == 0


def test_a_new_layout_gets_a_table_of_its_own(catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    session.load_seed("main", "t", [("a", "int")], [(1,)])
    duck.execute("CALL lake.set_option('data_inlining_row_limit', 0, table_name => 't')")
    duck.execute("ALTER TABLE t ADD COLUMN b VARCHAR DEFAULT 'd'")  # DuckDB makes no inlined table now
    duck.execute("CALL lake.set_option('data_inlining_row_limit', 5, table_name => 't')")
    append(session, [(2, "two")])
    assert inlined_tables(catalog) == ["ducklake_inlined_data_1_1", "ducklake_inlined_data_1_3"]
    assert duck.execute("SELECT * FROM t ORDER BY a").fetchall() == [(1, "d"), (2, "two")]
    assert duck.execute("SELECT * FROM t AT (VERSION => 1)").fetchall() == [(1,)]
