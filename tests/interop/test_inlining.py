"""Inlined rows: DuckDB reads what we store in the catalog, and we read what DuckDB stores there. No test here starts Spark."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pytest
from sqlalchemy import text

from dbt.adapters.ducklake.catalog.store.database import Database
from dbt.adapters.ducklake.catalog.store.location import parse_location
from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.errors import CatalogBusyError, ConflictError, DataError, NotFoundError, StatementError
from dbt.adapters.ducklake.format.objects import Table
from dbt.adapters.ducklake.lake import flush
from dbt.adapters.ducklake.lake.context import Context
from dbt.adapters.ducklake.lake.flush import Flushed, flush_inlined_data
from dbt.adapters.ducklake.lake.flush import flushed as flushed_of
from dbt.adapters.ducklake.lake.seed import append_rows
from dbt.adapters.ducklake.session import Lake, LakeSession
from tests.catalog_objects import table_of
from tests.catalogs import CatalogUnderTest
from tests.interop.conftest import comparable_rows
from tests.interop.oracle import connect as connect_duckdb
from tests.places import REFERENCE_DATABASES

CATALOGS = REFERENCE_DATABASES

Open = Callable[..., LakeSession]


@pytest.fixture
def opened(catalog: CatalogUnderTest) -> Iterator[Open]:
    """A function that opens the lake with a given limit."""
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
def duck(catalog: CatalogUnderTest, session: LakeSession) -> Iterator[duckdb.DuckDBPyConnection]:  # noqa: ARG001 (creates the lake)
    """DuckDB on the lake, with warm caches."""
    connection = connect_duckdb(catalog)
    connection.execute("USE lake")
    connection.execute("SHOW TABLES").fetchall()
    yield connection
    connection.close()


def meta(catalog: CatalogUnderTest, query: str) -> list[tuple[Any, ...]]:
    """Return rows of the catalog database itself."""
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
    """Insert rows without Spark."""
    transaction = session.catalog.begin()
    append_rows(Context(session.catalog, transaction, session.spark), table_of(transaction, name), rows)
    transaction.commit()


# -- what is inlined -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parity
def test_a_small_seed_is_inlined(catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    session.load_seed("main", "t", [("a", "int"), ("b", "string")], [(1, "it's"), (2, None)])
    assert duck.execute("SELECT *, rowid, snapshot_id FROM t ORDER BY a").fetchall() == [(1, "it's", 0, 1), (2, None, 1, 1)]
    assert (files(catalog), changes(catalog, 1)) == (0, 'created_table:"main"."t",inlined_insert:1')
    assert inlined_tables(catalog) == ["ducklake_inlined_data_1_1"]
    assert meta(catalog, "SELECT record_count, next_row_id, file_size_bytes FROM ducklake_table_stats") == [(2, 2, 0)]


@pytest.mark.parity
def test_a_duckdb_with_warm_caches_sees_the_first_inlined_rows_of_a_table(catalog: CatalogUnderTest, session: LakeSession) -> None:
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
@pytest.mark.parity
def test_the_limit_applies_to_the_rows_of_a_statement(
    catalog: CatalogUnderTest, opened: Open, limit: int | None, rows: int, kept: bool
) -> None:
    opened(data_inlining_row_limit=limit).load_seed("main", "t", [("a", "int")], [(number,) for number in range(rows)])
    assert (files(catalog) == 0) is kept


def test_options_override_the_profile_and_narrow_scopes_override_wide_ones(opened: Open, duck: duckdb.DuckDBPyConnection) -> None:
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
@pytest.mark.parity
def test_values_that_cannot_be_inlined_go_to_files(
    catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection, columns: list[tuple[str, str]]
) -> None:
    rows = [tuple('["1"]' if "json" in kind else '{"a": "b"}' if "struct" in kind else 1 for _, kind in columns)]
    session.load_seed("main", "t", columns, rows)
    assert files(catalog) == 1
    assert not [name for name in inlined_tables(catalog) if meta(catalog, f"SELECT 1 FROM {name}")]
    assert len(duck.execute("SELECT * FROM t").fetchall()) == 1


@pytest.mark.parity
def test_long_identifiers_go_to_files_on_postgresql(catalog: CatalogUnderTest, session: LakeSession) -> None:
    session.load_seed("main", "t", [("n" * 64, "int")], [(1,)])
    assert files(catalog) == (1 if catalog.database == "postgres" else 0)


def test_a_null_in_a_not_null_column_is_refused(session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    duck.execute("CREATE TABLE t(a INTEGER NOT NULL, l INTEGER[] NOT NULL)")
    for row in [(None, "[1]"), (1, None)]:
        with pytest.raises(DataError, match="NOT NULL"):
            session.load_seed("main", "t", [], [row], rebuild=False)


@pytest.mark.parity
def test_rows_of_partitioned_tables_are_inlined(catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
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


def stored_as(catalog: CatalogUnderTest, value: Any) -> Any:
    """Return a value as the catalog database stores it: a DuckDB file loses the sign of a zero, so such rows are never inlined there."""
    return "0.25" if catalog.database == "duckdb" and value == "-0.0" else value


@pytest.mark.parity
def test_duckdb_reads_the_same_values_as_from_a_file(catalog: CatalogUnderTest, opened: Open, duck: duckdb.DuckDBPyConnection) -> None:
    columns = [("n", "int"), *((f"c{index}", kind) for index, kind in enumerate(VALUES))]
    numbers = range(max(map(len, VALUES.values())) + 1)
    rows = [(n, *(stored_as(catalog, values[n]) if n < len(values) else None for values in VALUES.values())) for n in numbers]
    for name, limit in (("filed", 0), ("kept", 1000)):
        opened(data_inlining_row_limit=limit).load_seed("main", name, columns, rows)
    assert files(catalog) == 1
    for name, kind in columns:
        query = f"SELECT n, {name}, {name}::VARCHAR FROM {{}} ORDER BY n"
        filed, kept = (comparable_rows(duck.execute(query.format(table)).fetchall()) for table in ("filed", "kept"))
        assert kept == filed, kind
    bounds = (
        "SELECT t.table_name, s.column_id, s.contains_null, c.column_type, s.min_value, s.max_value FROM ducklake_table_column_stats s "
    )
    bounds += "JOIN ducklake_table t USING (table_id) JOIN ducklake_column c ON c.table_id = s.table_id AND c.column_id = s.column_id"
    stats = sorted(meta(catalog, bounds), key=lambda row: row[:2])
    # The footer of a file does not tell a minimum of 0.0 from one of -0.0, which are equal.
    rows_of_stats = [tuple("0.0" if value == "-0.0" else value for value in row) for row in stats]
    kept, filed = ([row[1:] for row in rows_of_stats if row[0] == table] for table in ("kept", "filed"))
    # A file has no float bounds where DuckDB would miss rows by them (format/float_literals.py), and inlined tables have no such rows.
    known = {row[0] for row in filed}
    assert [row for row in kept if row[0] in known or not row[2].startswith("float")] == filed


@pytest.mark.parity
def test_structs_with_backslashes_go_to_files(catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    session.load_seed("main", "t", [("s", "struct<a: string>")], [({"a": "a\\b"},)])
    assert files(catalog) == 1
    assert duck.execute("SELECT s.a FROM t").fetchall() == [("a\\b",)]


@pytest.mark.parity
def test_closing_brackets_two_levels_deep_go_to_files(
    catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection
) -> None:
    session.execute("CREATE TABLE t (a ARRAY<ARRAY<STRING>>, b ARRAY<STRUCT<x: STRING>>, c ARRAY<STRING>)")
    session.execute("INSERT INTO t VALUES (array(array('[')), array(named_struct('x', '{')), array('a]}'))")
    assert files(catalog) == 0
    session.execute("INSERT INTO t VALUES (array(array('a]')), array(named_struct('x', 'a}')), NULL)")
    assert files(catalog) == 1
    found = duck.execute("SELECT * FROM t").fetchall()
    assert sorted(found, key=str) == [([["["]], [{"x": "{"}], ["a]}"]), ([["a]"]], [{"x": "a}"}], None)]


@pytest.mark.parity
def test_nested_strings_that_duckdb_inlined(catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    duck.execute("CREATE TABLE t (l VARCHAR[], s STRUCT(p VARCHAR, n INTEGER), m MAP(VARCHAR, VARCHAR))")
    strings = ["\xa0x\u3000", "\u3000", "null\xa0", "C:\\dir", "a\\\\b, c", "it's"]
    for each in strings:
        duck.execute("INSERT INTO t VALUES ([?], {'p': ?, 'n': 1}, MAP {?: ?})", [each] * 4)
    assert files(catalog) == 0
    found = session.execute("SELECT l[0], s.p, map_keys(m)[0], map_values(m)[0] FROM t").fetch()
    assert sorted(found) == sorted((each,) * 4 for each in strings)


@pytest.mark.parity
def test_values_from_spark_are_inlined_as_duckdb_reads_them(
    catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection
) -> None:
    session.execute("CREATE TABLE t (id INT, n TIMESTAMP_NS, l ARRAY<TIMESTAMP_NS>, j JSON)")
    first = "'2020-01-02 03:04:05.123456789'"
    session.execute(f"INSERT INTO t SELECT 1, {first}, array({first}), '{{\"a\": [1]}}'")
    session.execute("INSERT INTO t VALUES (2, 'infinity', NULL, '[1, 2]')")
    assert files(catalog) == 0
    found = duck.execute("SELECT id, n::VARCHAR, l::VARCHAR, j FROM t ORDER BY id").fetchall()
    assert found == [
        (1, "2020-01-02 03:04:05.123456789", "['2020-01-02 03:04:05.123456789']", '{"a": [1]}'),
        (2, "infinity", None, "[1, 2]"),
    ]


@pytest.mark.nightly
def test_texts_that_are_not_json_are_refused(session: LakeSession) -> None:
    session.execute("CREATE TABLE t (id INT, n TIMESTAMP_NS, l ARRAY<TIMESTAMP_NS>, j JSON)")
    for wrong in ('{"a":1} xyz', "1 2", "1,2", '{"a":1}}', "[1],", "1],[2", "", '{"a":1,"a":2} x'):
        with pytest.raises(DataError, match="not of the type json"):
            session.execute(f"INSERT INTO t SELECT 3, NULL, NULL, '{wrong}' FROM range(1)")
    session.execute('INSERT INTO t SELECT 4, NULL, NULL, \'{"a":1,"a":2}\' FROM range(1)')


LAX_JSON = ["[1,]", '{"a":1,}', "NaN", "[nan]", "-Infinity", '{"a":1,"a":2}', " 1 "]
"""Texts that DuckDB takes as JSON; some of them we refuse in new rows."""


@pytest.mark.parity
def test_json_that_duckdb_inlined_is_flushed_as_it_is(
    catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection
) -> None:
    duck.execute("CREATE TABLE t (id INTEGER, j JSON)")
    for number, each in enumerate(LAX_JSON):
        duck.execute("INSERT INTO t VALUES (?, ?)", [number, each])
    assert files(catalog) == 0
    before = duck.execute("SELECT id, j::VARCHAR FROM t ORDER BY id").fetchall()
    session.execute("CALL ducklake_flush_inlined_data('lake')")
    assert files(catalog) == 1
    assert duck.execute("SELECT id, j::VARCHAR FROM t ORDER BY id").fetchall() == before


def test_json_that_duckdb_stored_is_compacted_as_it_is(
    catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection
) -> None:
    duck.execute("CREATE TABLE t (id INTEGER, j JSON)")
    for number, each in enumerate(LAX_JSON):
        duck.execute("INSERT INTO t VALUES (?, ?)", [number, each])
        duck.execute("CALL ducklake_flush_inlined_data('lake')")
    assert files(catalog) == len(LAX_JSON)
    before = duck.execute("SELECT id, j::VARCHAR FROM t ORDER BY id").fetchall()
    session.execute("CALL ducklake_merge_adjacent_files('lake')")
    assert files(catalog) == 1
    assert duck.execute("SELECT id, j::VARCHAR FROM t ORDER BY id").fetchall() == before


def test_an_overwritten_partition_of_a_uuid_in_upper_case(session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    uuid = "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"
    session.execute("CREATE TABLE t (u UUID, a INT) PARTITIONED BY (u)")
    session.execute(f"INSERT INTO t VALUES ('{uuid}', 1)")
    session.execute(f"INSERT OVERWRITE t PARTITION (u = '{uuid}') SELECT 2")
    assert duck.execute("SELECT a FROM t").fetchall() == [(2,)]


# -- both writers in turn ------------------------------------------------------------------------------------------------------------


@pytest.mark.parity
def test_both_sides_continue_with_each_others_rows(
    catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection
) -> None:
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


@pytest.mark.parity
def test_a_new_layout_gets_its_own_inlined_table(catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    session.load_seed("main", "t", [("a", "int")], [(1,)])
    duck.execute("CALL lake.set_option('data_inlining_row_limit', 0, table_name => 't')")
    duck.execute("ALTER TABLE t ADD COLUMN b VARCHAR DEFAULT 'd'")  # DuckDB creates no inlined table now
    duck.execute("CALL lake.set_option('data_inlining_row_limit', 5, table_name => 't')")
    append(session, [(2, "two")])
    assert inlined_tables(catalog) == ["ducklake_inlined_data_1_1", "ducklake_inlined_data_1_3"]
    assert duck.execute("SELECT * FROM t ORDER BY a").fetchall() == [(1, "d"), (2, "two")]
    assert duck.execute("SELECT * FROM t AT (VERSION => 1)").fetchall() == [(1,)]


CHANGES = ["ADD COLUMN c INT", "RENAME TO renamed", "SET PARTITIONED BY (id)", "ALTER COLUMN id TYPE BIGINT"]
EARLIER_CHANGES = [["DROP COLUMN a", "ADD COLUMN a INT"], ["RENAME COLUMN a TO b"], []]


def test_rows_that_duckdb_inlined_keep_their_columns_after_our_next_change(session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    cases = list(enumerate(itertools.product(EARLIER_CHANGES, CHANGES)))  # all statements of one side, then all of the other
    for number, (before, _) in cases:
        session.execute(f"CREATE TABLE t{number} (id INT, a INT)")
        for each in before:
            session.execute(f"ALTER TABLE t{number} {each}")
    for number, _ in cases:
        duck.execute(f"INSERT INTO t{number} VALUES (1, 5), (2, 6)")
    for number, (_, change) in cases:
        session.execute(f"ALTER TABLE t{number} {change.replace('renamed', f'renamed{number}')}")

    def assert_kept() -> None:
        for number, (before, change) in cases:
            name = f"renamed{number}" if change == "RENAME TO renamed" else f"t{number}"
            column = "b" if before == ["RENAME COLUMN a TO b"] else "a"
            assert duck.execute(f"SELECT id, {column} FROM {name} ORDER BY ALL").fetchall() == [(1, 5), (2, 6)], (before, change)

    assert_kept()
    duck.execute("CALL ducklake_flush_inlined_data('lake')")
    assert_kept()


def test_a_table_without_inlined_rows_can_be_altered_after_the_first_insert_that_duckdb_inlines(
    catalog: CatalogUnderTest, session: LakeSession
) -> None:
    files_only = connect_duckdb(catalog, data_inlining_row_limit=0)
    files_only.execute("CREATE TABLE lake.t(a INTEGER)")
    files_only.close()
    duck = connect_duckdb(catalog)
    duck.execute("INSERT INTO lake.t VALUES (1)")  # in a schema version that DuckDB does not record for the table
    session.execute("ALTER TABLE t ADD COLUMN b INT")
    assert duck.execute("SELECT * FROM lake.t").fetchall() == [(1, None)]
    duck.close()


# -- flush ---------------------------------------------------------------------------------------------------------------------------


class Witness:
    """Everything that DuckDB reads from a table, at every snapshot so far."""

    def __init__(self, duck: duckdb.DuckDBPyConnection, last: int, name: str = "t") -> None:
        self.seen: dict[Any, Any] = {}
        for snapshot in range(1, last + 1):
            at = f"FROM {name} AT (VERSION => {snapshot})"
            try:
                shown = duck.execute(f"SELECT *, rowid, snapshot_id {at}").fetchall()
                self.seen["rows", snapshot] = comparable_rows([*shown])
                self.seen["count", snapshot] = duck.execute(f"SELECT count(*) {at}").fetchall()
            except (duckdb.CatalogException, duckdb.InvalidInputException):  # it has no such table, or has expired
                continue
            for first in range(1, snapshot + 1) if snapshot == last else (snapshot,):
                feed = f"SELECT * FROM ducklake_table_changes('lake', 'main', '{name}', {first}, {snapshot})"
                try:
                    self.seen["feed", first, snapshot] = comparable_rows(duck.execute(feed).fetchall())
                except duckdb.Error as error:
                    self.seen["feed", first, snapshot] = str(error)


def last_snapshot(catalog: CatalogUnderTest) -> int:
    return meta(catalog, "SELECT max(snapshot_id) FROM ducklake_snapshot")[0][0]


def fresh(catalog: CatalogUnderTest, snapshots: int, name: str = "t") -> dict[Any, Any]:
    """Return what a new DuckDB connection reads."""
    connection = connect_duckdb(catalog)
    connection.execute("USE lake")
    seen = Witness(connection, snapshots, name).seen
    connection.close()
    return seen


def flushed(session: LakeSession, arguments: str = "") -> list[tuple[Any, ...]]:
    return [tuple(row) for row in session.execute(f"CALL lake.flush_inlined_data({arguments})").fetch()]


def busy_table(duck: duckdb.DuckDBPyConnection) -> None:
    """Create rows of two layouts, updated and deleted, and a file with inlined deletes and a delete file."""
    duck.execute("CREATE TABLE t(a INTEGER, b VARCHAR)")
    duck.execute("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, NULL)")
    duck.execute("UPDATE t SET b = 'uno' WHERE a = 1")
    duck.execute("DELETE FROM t WHERE a = 2")
    duck.execute("INSERT INTO t SELECT range + 100, 'file' FROM range(40)")
    duck.execute("DELETE FROM t WHERE a IN (100, 139)")
    duck.execute("DELETE FROM t WHERE a BETWEEN 110 AND 125")
    duck.execute("DELETE FROM t WHERE a = 101")
    duck.execute("UPDATE t SET b = 'changed' WHERE a = 102")
    duck.execute("ALTER TABLE t ADD COLUMN c DOUBLE DEFAULT 0.5")
    duck.execute("INSERT INTO t VALUES (4, 'four', 'nan'), (5, 'five', NULL)")
    duck.execute("UPDATE t SET c = 1.5 WHERE a IN (1, 4)")


def test_a_flush_changes_nothing_that_duckdb_reads(
    catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection
) -> None:
    busy_table(duck)
    last = last_snapshot(catalog)
    before = Witness(duck, last).seen
    assert flushed(session) == [("main", "t", 9)]
    assert changes(catalog, last + 1) == "deleted_from_table:1,inline_flush:1,inserted_into_table:1", "see format.changes"
    assert fresh(catalog, last) == before
    assert Witness(duck, last).seen == before  # a DuckDB connection that has cached the lake
    assert flushed(session) == []
    assert last_snapshot(catalog) == last + 1
    for name in (*inlined_tables(catalog), "ducklake_inlined_delete_1"):
        assert meta(catalog, f"SELECT count(*) FROM {name}") == [(0,)]
    duck.execute("INSERT INTO t VALUES (6, 'six', 6)")
    duck.execute("UPDATE t SET b = 'after' WHERE a IN (1, 3, 5, 103)")
    duck.execute("DELETE FROM t WHERE a IN (4, 104)")
    assert duck.execute("SELECT a, b, c FROM t WHERE a < 10 OR b = 'after' ORDER BY a").fetchall() == [
        (1, "after", 1.5), (3, "after", 0.5), (5, "after", None), (6, "six", 6.0), (103, "after", 0.5)]  # fmt: skip
    ids = [row_id for (row_id,) in duck.execute("SELECT rowid FROM t").fetchall()]
    assert len(ids) == len(set(ids))
    again = last_snapshot(catalog)
    before = Witness(duck, again).seen
    flushed(session, "table_name => 't'")
    assert fresh(catalog, again) == before
    assert inlined_tables(catalog) == ["ducklake_inlined_data_1_2"]
    duck.execute("INSERT INTO t VALUES (7, 'seven', 7)")
    assert duck.execute("SELECT count(*) FROM t WHERE a IN (6, 7)").fetchall() == [(2,)]


@pytest.mark.parametrize("expired", [0, 3, 9])
def test_a_flush_writes_no_version_that_nothing_can_show(
    catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection, expired: int
) -> None:
    duck.execute("CREATE TABLE t(a INTEGER, b INTEGER)")
    duck.execute("INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)")
    for number in range(1, 7):
        duck.execute(f"UPDATE t SET b = {number} WHERE a = 1")
    duck.execute("DELETE FROM t WHERE a = 2")
    last = last_snapshot(catalog)
    if expired:
        duck.execute(f"CALL ducklake_expire_snapshots('lake', versions => {list(range(expired))})")
    before = existing(catalog, fresh(catalog, last))
    versions = {0: 9, 3: 9, 9: 3}[expired]  # an update in the oldest snapshot still needs the version before it
    assert flushed(session) == [("main", "t", versions)]
    assert existing(catalog, fresh(catalog, last)) == before
    assert files(catalog) == {0: 6, 3: 6, 9: 1}[expired]
    assert meta(catalog, "SELECT count(*) FROM ducklake_inlined_data_1_1") == [(0,)]
    assert duck.execute("SELECT a, b, rowid FROM t ORDER BY a").fetchall() == [(1, 6, 0), (3, 0, 2)]


def test_rows_that_nothing_can_show_are_removed_without_a_file(
    catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection
) -> None:
    duck.execute("CREATE TABLE t(a INTEGER)")
    duck.execute("INSERT INTO t VALUES (1)")
    duck.execute("DELETE FROM t")
    duck.execute("CREATE TABLE u(a INTEGER)")
    duck.execute("CALL ducklake_expire_snapshots('lake', versions => [0, 1, 2, 3])")
    assert flushed(session) == []
    assert (files(catalog), meta(catalog, "SELECT count(*) FROM ducklake_inlined_data_1_1")) == (0, [(0,)])
    duck.execute("INSERT INTO t VALUES (2)")
    assert duck.execute("SELECT a, rowid FROM t").fetchall() == [(2, 1)]


def existing(catalog: CatalogUnderTest, seen: dict[Any, Any]) -> dict[Any, Any]:
    """Return what was read at snapshots that exist."""
    known = {snapshot for (snapshot,) in meta(catalog, "SELECT snapshot_id FROM ducklake_snapshot")}
    return {key: value for key, value in seen.items() if set(key[1:]) <= known}


def test_an_error_of_one_table_does_not_keep_the_others_from_their_flush(
    session: LakeSession, duck: duckdb.DuckDBPyConnection, catalog: CatalogUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("t", "u"):
        session.load_seed("main", name, [("a", "int")], [(1,), (2,)])
    before, write = last_snapshot(catalog), flush.write_flushed

    def write_or_fail(versions: Any, table: Table, options: Any) -> Any:
        if table.name == "t":
            raise DataError("bad value")
        return write(versions, table, options)

    monkeypatch.setattr(flush, "write_flushed", write_or_fail)
    with pytest.raises(DataError, match="bad value"):
        session.execute("CALL flush_inlined_data()")
    assert last_snapshot(catalog) == before + 1
    assert session.execute("CALL flush_inlined_data(table_name => 'u')").fetch() == []
    assert duck.execute("SELECT a FROM t UNION ALL SELECT a FROM u ORDER BY ALL").fetchall() == [(1,), (1,), (2,), (2,)]


def test_a_catalog_that_stays_busy_stops_the_flush(session: LakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("t", "u"):
        session.load_seed("main", name, [("a", "int")], [(1,), (2,)])
    tried = []

    def busy(transaction: Transaction) -> None:
        tried.append(transaction)
        raise CatalogBusyError("other writers kept the catalog busy")

    monkeypatch.setattr(Transaction, "commit", busy)
    monkeypatch.setattr("dbt.adapters.ducklake.session.transacting.REPLANS", 0)
    with pytest.raises(CatalogBusyError):
        session.execute("CALL flush_inlined_data()")
    assert len(tried) == 1


def test_a_delete_of_one_table_does_not_undo_the_flush_of_another(
    session: LakeSession, duck: duckdb.DuckDBPyConnection, catalog: CatalogUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("t", "u"):
        session.load_seed("main", name, [("a", "int")], [(1,), (2,)])
    before, write, written = last_snapshot(catalog), flush.write_flushed, []

    def delete_then_write(versions: Any, table: Table, options: Any) -> Any:
        if table.name == "u" and table.name not in written:
            duck.execute("DELETE FROM u WHERE a = 1")
        written.append(table.name)
        return write(versions, table, options)

    monkeypatch.setattr(flush, "write_flushed", delete_then_write)
    result = session.execute("CALL flush_inlined_data()")
    assert (result.fetch(), written) == ([("main", "t", 2), ("main", "u", 2)], ["t", "u", "u"])
    assert last_snapshot(catalog) == before + 3
    assert duck.execute("SELECT a FROM t UNION ALL SELECT a FROM u ORDER BY ALL").fetchall() == [(1,), (2,), (2,)]


@pytest.mark.parity
def test_rows_that_are_inlined_during_a_flush_are_kept(session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    session.load_seed("main", "t", [("a", "int")], [(1,), (2,)])
    transaction = session.catalog.begin()
    table = transaction.find("main", "t")
    flush_inlined_data(Context(session.catalog, transaction, session.spark), table)
    duck.execute("INSERT INTO t VALUES (3)")
    transaction.commit()
    assert flushed_of(Context(session.catalog, transaction, session.spark), table).results == [Flushed("main", "t", 2)]
    assert duck.execute("SELECT a, rowid, snapshot_id FROM t ORDER BY a").fetchall() == [(1, 0, 1), (2, 1, 1), (3, 2, 2)]
    transaction = session.catalog.begin()
    flush_inlined_data(Context(session.catalog, transaction, session.spark), table)
    duck.execute("DELETE FROM t WHERE a = 3")
    with pytest.raises(ConflictError, match="deleted rows"):
        transaction.commit()
    assert duck.execute("SELECT a FROM t ORDER BY a").fetchall() == [(1,), (2,)]
    assert flushed(session) == [("main", "t", 1)]
    assert duck.execute("SELECT a FROM t AT (VERSION => 2) ORDER BY a").fetchall() == [(1,), (2,), (3,)]


@pytest.mark.parity
def test_a_flush_of_a_partitioned_table_writes_a_file_per_partition(
    catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection
) -> None:
    duck.execute("CREATE TABLE t(v VARCHAR)")
    duck.execute("INSERT INTO t VALUES ('old')")
    duck.execute("ALTER TABLE t ADD COLUMN k INTEGER DEFAULT 2")
    duck.execute("ALTER TABLE t SET PARTITIONED BY (k)")
    duck.execute("INSERT INTO t VALUES ('x', 1), ('y', 2), ('z', NULL)")
    duck.execute("DELETE FROM t WHERE k = 1")
    last = last_snapshot(catalog)
    before = Witness(duck, last).seen
    assert flushed(session, "schema_name => 'main'") == [("main", "t", 4)]
    assert fresh(catalog, last) == before
    values = "SELECT partition_value, record_count FROM ducklake_file_partition_value JOIN ducklake_data_file USING (data_file_id)"
    assert sorted(meta(catalog, values), key=repr) == [("1", 1), ("2", 1), ("2", 1), (None, 1)]
    assert duck.execute("SELECT v FROM t WHERE k = 2 ORDER BY v").fetchall() == [("old",), ("y",)]


def test_a_flush_sorts_the_rows_of_a_sorted_table(catalog: CatalogUnderTest, session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    duck.execute("CREATE TABLE t(a INTEGER, b VARCHAR)")
    duck.execute("INSERT INTO t VALUES (1, 'x'), (3, 'y'), (2, 'z'), (5, 'w')")
    duck.execute("UPDATE t SET b = 'yy' WHERE a = 3")
    duck.execute("DELETE FROM t WHERE a = 1")
    duck.execute("ALTER TABLE t RENAME COLUMN a TO k")
    duck.execute("ALTER TABLE t SET SORTED BY (k DESC)")
    last = last_snapshot(catalog)
    before = Witness(duck, last).seen
    flushed(session)
    assert fresh(catalog, last) == before
    order = duck.execute("SELECT k FROM t ORDER BY file_row_number").fetchall()
    assert order == [(5,), (3,), (2,)]


def test_rows_that_are_not_flushed(session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    for name in ("t", "u"):
        session.load_seed("main", name, [("a", "int")], [(1,)])
    duck.execute("CALL lake.set_option('auto_compact', false, table_name => 't')")
    assert flushed(session, "table_name => 't'") == []
    assert session.execute("CALL ducklake_flush_inlined_data('lake')").fetch() == [("main", "u", 1)]
    with session.reading() as reader:
        assert reader.find("main", "t") is not None
    session.begin()
    with pytest.raises(StatementError, match="runs in its own transaction"):
        flushed(session)
    session.rollback()
    with pytest.raises(NotFoundError):
        flushed(session, "table_name => 'missing'")


@pytest.mark.parity
def test_a_flush_changes_no_value(catalog: CatalogUnderTest, opened: Open, duck: duckdb.DuckDBPyConnection) -> None:
    columns = [("n", "int"), *((f"c{index}", kind) for index, kind in enumerate(VALUES))]
    numbers = range(max(map(len, VALUES.values())))
    rows = [(n, *(stored_as(catalog, values[n]) if n < len(values) else None for values in VALUES.values())) for n in numbers]
    session = opened()
    session.load_seed("main", "t", columns, rows)
    query = "SELECT COLUMNS(*)::VARCHAR FROM t ORDER BY n"
    before = duck.execute(query).fetchall()
    assert files(catalog) == 0
    flushed(session)
    assert files(catalog) == 1
    assert duck.execute(query).fetchall() == before


@pytest.mark.parity
def test_a_flush_changes_no_value_that_duckdb_inlined(session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    duck.execute(
        "CREATE TABLE t(i INTERVAL, z TIMETZ, h HUGEINT, g UHUGEINT, u UBIGINT, s TIMESTAMP_S, m TIMESTAMP_MS, j JSON, k UUID, c TIME)"
    )
    duck.execute(
        "INSERT INTO t VALUES (INTERVAL '1 year 2 months -3 days 04:05:06.7', '01:02:03+02', -17, 18, 18446744073709551615, "
        "'2020-01-02 03:04:05', '2020-01-02 03:04:05.123', '{\"a\": [1, null]}', 'f79c3e09-677c-4bbd-a479-3f349cb785e7', '23:59:59.999999'), "
        "(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    query = "SELECT COLUMNS(*)::VARCHAR FROM t ORDER BY rowid"
    before = duck.execute(query).fetchall()
    assert flushed(session) == [("main", "t", 2)]
    assert duck.execute(query).fetchall() == before
