"""Inlined rows of every type, as DuckDB writes them to any catalog database: we read the values that DuckDB reads."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from dataclasses import replace
from typing import Any

import duckdb
import pytest

from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.errors import StatementError
from dbt.adapters.ducklake.format.objects import Column
from tests.catalog_objects import committed, table_of
from tests.catalogs import session_on
from tests.interop import oracle
from tests.interop.catalog.conftest import Connect, rows_of
from tests.places import CatalogPlace

pytestmark = pytest.mark.parity

SCALARS: dict[str, list[str]] = {
    "BOOLEAN": ["true", "false"],
    "TINYINT": ["-128", "127"],
    "SMALLINT": ["-32768"],
    "INTEGER": ["2147483647"],
    "BIGINT": ["-9223372036854775808"],
    "HUGEINT": ["170141183460469231731687303715884105727", "-1"],
    "UTINYINT": ["255"],
    "USMALLINT": ["65535"],
    "UINTEGER": ["4294967295"],
    "UBIGINT": ["18446744073709551615"],
    "UHUGEINT": ["340282366920938463463374607431768211455"],
    "FLOAT": ["0.1", "'nan'", "'-inf'"],
    "DOUBLE": ["0.1", "1e300", "'nan'", "'inf'", "-0.0"],
    "DECIMAL(10,2)": ["1.2", "-99999999.99"],
    "DECIMAL(38,10)": ["1234567890123456789012345678.0123456789"],
    "DATE": ["'2020-01-02'", "'0001-01-01'", "'9999-12-31'"],
    "TIME": ["'01:02:03.4'", "'23:59:59.999999'"],
    "TIMESTAMP": ["'2020-01-02 03:04:05.6'", "'1969-12-31 23:59:59.999999'"],
    "TIMESTAMP_S": ["'2020-01-02 03:04:05'"],
    "TIMESTAMP_MS": ["'2020-01-02 03:04:05.123'"],
    "TIMESTAMPTZ": ["'2020-01-02 03:04:05.6+02'"],
    "VARCHAR": ["'it''s'", "''", "'naïve \\ \"q\"'", "'a' || chr(10) || 'b'"],
    "BLOB": ["'\\xAA\\x00b'::BLOB", "''::BLOB"],
    "UUID": ["'f79c3e09-677c-4bbd-a479-3f349cb785e7'"],
    "JSON": ["'{\"a\": [1, null]}'"],
}
NESTED: dict[str, list[str]] = {
    "VARCHAR[]": ["['a', 'b c', 'o''k', 'q\"r', 'a\\b', 'a\\,b', '', NULL, 'NULL', 'null', 'x,y', '[z]', '{k}', ' lead ', 'a=b', 'a:b', '(p)', 'é', 'a''\\b']"],
    "BLOB[]": ["['\\xAA\\x00b'::BLOB, 'it''s'::BLOB, 'a,b'::BLOB, '\\x5C,'::BLOB]"],
    "DATE[]": ["[DATE '2020-01-02', NULL]"],
    "TIMESTAMPTZ[]": ["[TIMESTAMPTZ '2020-01-02 03:04:05.6+00']"],
    "DOUBLE[]": ["[1.5, 1e300, NULL]"],
    "INTEGER[][]": ["[[1, 2], NULL, []]"],
    "STRUCT(a VARCHAR, b DATE)[]": ["[{'a': 'o''k, x', 'b': DATE '2020-01-01'}, {'a': NULL, 'b': NULL}, NULL]"],
    "MAP(VARCHAR, VARCHAR)": ["MAP {'k': 'v', 'o''k': 'a=b', 'sp ace': NULL, '': '', 'q,': '\\', '{': '}'}", "MAP {}"],
    "MAP(INTEGER, STRUCT(a VARCHAR))": ["MAP {1: {'a': 'x'}}"],
    "MAP(VARCHAR, INTEGER[])[]": ["[MAP {'a': [1, 2]}, NULL]"],
    "STRUCT(a VARCHAR, b INTEGER, c BOOLEAN, d DECIMAL(5,2), e DOUBLE)": ["{'a': 'plain', 'b': 1, 'c': true, 'd': 1.5, 'e': 2.0}", "{'a': NULL, 'b': NULL, 'c': NULL, 'd': NULL, 'e': NULL}"],
    "STRUCT(l VARCHAR[], m MAP(VARCHAR, INTEGER), s STRUCT(\"y z\" VARCHAR))": ["{'l': ['o''k', 'a\\b', NULL, 'x y'], 'm': MAP {'o''k': 1}, 's': {'y z': 'v'}}"],
}  # fmt: skip


def comparable(value: Any, column: Column) -> Any:
    """Convert DuckDB's Python value to the form of `InlinedRows`."""
    match value:
        case None:
            return None
        case uuid.UUID():
            return str(value)
        case dict() if column.type == "map":
            key, item = column.children
            return [(comparable(k, key), comparable(v, item)) for k, v in value.items()]
        case dict():
            return {c.name: comparable(value[c.name], c) for c in column.children}
        case list():
            return [comparable(item, column.children[0]) for item in value]
        case dt.datetime() if value.tzinfo is not None:
            return value.astimezone(dt.timezone.utc)
        case float() if math.isnan(value):
            return "NaN"
        case float() if column.type == "float32" and math.isfinite(value):
            return round(value, 6)
        case _:
            return value


@pytest.mark.parametrize("types", [SCALARS, NESTED], ids=["scalars", "nested"])
def test_values_equal_those_that_duckdb_reads(place: CatalogPlace, duckdb_on: Connect, types: dict[str, list[str]]) -> None:
    duck = duckdb_on()
    names = {kind: f"c{i}" for i, kind in enumerate(types)}
    duck.execute(f"CREATE TABLE t({', '.join(f'{name} {kind}' for kind, name in names.items())})")
    for kind, values in types.items():
        for value in values:
            duck.execute(f"INSERT INTO t({names[kind]}) VALUES ({value})")
    with place.open() as lake:
        table = table_of(lake.reader())
        (inlined,) = lake.reader().scan_plan(table).inlined
    theirs = duck.execute("SELECT * FROM t ORDER BY rowid").fetchall()
    assert len(theirs) == len(inlined.rows) == sum(map(len, types.values()))
    for our_row, their_row in zip(inlined.rows, theirs, strict=True):
        for column, ours, value in zip(table.columns, our_row, their_row, strict=True):
            assert comparable(ours, column) == comparable(value, column), column


def test_structs_that_duckdb_can_no_longer_read_itself(place: CatalogPlace, duckdb_on: Connect) -> None:
    duck = duckdb_on()
    duck.execute("CREATE TABLE t(s STRUCT(a VARCHAR, d DATE, t TIMESTAMP, z TIMESTAMPTZ, u UUID, b BLOB, f DOUBLE))")
    duck.execute(
        "INSERT INTO t VALUES ({'a': 'o''k \\ x', 'd': DATE '2020-01-02', 't': TIMESTAMP '2020-01-02 03:04:05.5', "
        "'z': TIMESTAMPTZ '2020-01-02 03:04:05+00', 'u': 'f79c3e09-677c-4bbd-a479-3f349cb785e7'::UUID, 'b': '\\xAAb'::BLOB, 'f': 'inf'::DOUBLE})"
    )
    with place.open() as lake:
        (inlined,) = lake.reader().scan_plan(table_of(lake.reader())).inlined
    assert inlined.rows == (
        (
            {
                "a": "o'k \\ x",
                "d": dt.date(2020, 1, 2),
                "t": dt.datetime(2020, 1, 2, 3, 4, 5, 500000),
                "z": dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=dt.timezone.utc),
                "u": "f79c3e09-677c-4bbd-a479-3f349cb785e7",
                "b": b"\xaab",
                "f": math.inf,
            },
        ),
    )
    if oracle.is_exclusive(place):  # a DuckDB file stores structs; the others store texts
        assert duck.execute("SELECT s.a, s.b FROM t").fetchall() == [("o'k \\ x", b"\xaab")]
        return
    with pytest.raises(duckdb.Error):
        duck.execute("SELECT * FROM t").fetchall()


def test_texts_of_types_without_a_python_value(place: CatalogPlace, duckdb_on: Connect) -> None:
    duck = duckdb_on()
    duck.execute("CREATE TABLE t(i INTERVAL, z TIMETZ, n TIMESTAMP_NS, d DATE, t TIMESTAMP)")
    duck.execute(
        "INSERT INTO t VALUES (INTERVAL '1 year 2 months 3 days 04:05:06.7', '01:02:03+02', '2020-01-02 03:04:05.123456789', 'infinity', '-infinity')"
    )
    with place.open() as lake:
        (inlined,) = lake.reader().scan_plan(table_of(lake.reader())).inlined
    interval, zone, nanos, day, timestamp = inlined.rows[0]
    assert duck.execute("SELECT ?::INTERVAL = i, ?::TIMETZ = z, ?::TIMESTAMP_NS = n, ?::DATE = d, ?::TIMESTAMP = t FROM t", [interval, zone, nanos, day, timestamp]).fetchall() == [(True,) * 5]  # fmt: skip


def test_layouts_follow_the_schema_versions(place: CatalogPlace, duckdb_on: Connect) -> None:
    duck = duckdb_on()
    duck.execute("CREATE TABLE t(a INTEGER, s STRUCT(x INTEGER))")
    duck.execute("INSERT INTO t VALUES (1, {'x': 1})")
    duck.execute("ALTER TABLE t ADD COLUMN s.y VARCHAR")
    duck.execute("INSERT INTO t VALUES (2, {'x': 2, 'y': 'two'})")
    duck.execute("ALTER TABLE t DROP COLUMN a")
    duck.execute("ALTER TABLE t ADD COLUMN a VARCHAR DEFAULT 'new'")
    duck.execute("INSERT INTO t VALUES ({'x': 3, 'y': 'three'}, 'three')")
    duck.execute("UPDATE t SET a = 'changed' WHERE s.x = 1")
    duck.execute("ALTER TABLE t RENAME TO u")
    with place.open() as lake:
        reader = lake.reader()
        plan = reader.scan_plan(table_of(reader, "u"))
        layouts = {tuple(c.column_id for column in rows.columns for c in column.walk()): rows for rows in plan.inlined}
        assert set(layouts) == {(1, 2, 3, 4), (2, 3, 4, 5)}
        assert layouts[1, 2, 3, 4].rows == ((2, {"x": 2, "y": "two"}),)
        assert sorted(row[1] for row in layouts[2, 3, 4, 5].rows) == ["changed", "three"]
        assert (None, "a") in plan.reused_names
        earlier = lake.reader(lake.resolve(version=4))
        assert [rows.rows for rows in earlier.scan_plan(table_of(earlier)).inlined] == [((1, {"x": 1}),), ((2, {"x": 2, "y": "two"}),)]


def test_an_alter_records_the_layout_of_a_schema_version_whose_snapshots_have_expired(place: CatalogPlace, duckdb_on: Connect) -> None:
    duckdb_on(data_inlining_row_limit=0).execute("CREATE TABLE t(i INTEGER, k INTEGER)")
    duck = duckdb_on(data_inlining_row_limit=10)
    duck.execute("INSERT INTO t VALUES (1, 100)")  # DuckDB does not record this schema version for the table
    duck.execute("ALTER TABLE t DROP COLUMN k")
    duck.execute("ALTER TABLE t ADD COLUMN k INTEGER")
    duck.execute("INSERT INTO t VALUES (2, 3)")
    duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now() + INTERVAL 1 DAY)")
    duck.close()

    def alter(transaction: Transaction) -> None:
        table = table_of(transaction)
        added = Column(table.next_column_id, "j", "int32")
        transaction.objects.put_table(replace(table, columns=(*table.columns, added), next_column_id=table.next_column_id + 1))

    with place.open() as lake:
        committed(lake, alter)
        plan = lake.reader().scan_plan(table_of(lake.reader()))
        assert [([column.column_id for column in rows.columns], rows.rows) for rows in plan.inlined] == [
            ([1, 2], ((1, 100),)),
            ([1, 3], ((2, 3),)),
        ]
    assert duckdb_on().execute("SELECT * FROM t ORDER BY i").fetchall() == [(1, None, None), (2, 3, None)]


def test_duckdb_finds_inlined_rows_by_their_bucket_after_its_flush(place: CatalogPlace, duckdb_on: Connect) -> None:
    with session_on(place.lake()) as session:
        session.execute("CREATE TABLE t (a INT, b INT)")
        session.execute("ALTER TABLE t SET PARTITIONED BY (bucket(4, a))")
        duckdb_on().execute("INSERT INTO t SELECT i, i FROM range(8) r(i)")
        with pytest.raises(StatementError, match=r"main[.]t has rows, and DuckDB would not find them"):
            session.execute("ALTER TABLE t SET PARTITIONED BY (bucket(8, a))")
        session.execute("CREATE TABLE another (a INT)")
    duck = duckdb_on()
    duck.execute("CALL ducklake_flush_inlined_data('lake')")
    assert [duck.execute(f"SELECT b FROM t WHERE a = {i}").fetchall() for i in range(8)] == [[(i,)] for i in range(8)]


@pytest.mark.parametrize(
    ("alter", "row"),
    [
        ("ADD COLUMN c INT", (1, 2, 3)),
        ("RENAME COLUMN a TO aa", (1, 2)),
        ("ALTER COLUMN a TYPE BIGINT", (3_000_000_000, 2)),
        ("RENAME TO u", (1, 2)),
    ],
)
def test_duckdb_reads_and_flushes_what_it_inlines_into_an_altered_table(
    place: CatalogPlace, duckdb_on: Connect, alter: str, row: tuple[int, ...]
) -> None:
    name = "u" if alter == "RENAME TO u" else "t"
    with session_on(place.lake(data_inlining_row_limit=0)) as session:  # the limit of our profile is not DuckDB's
        session.execute("CREATE TABLE t (a INT, b INT)")
        session.execute("CREATE TABLE z (a INT)")
        session.execute(f"ALTER TABLE t {alter}")
        then = session.catalog.latest().snapshot_id
        duckdb_on().execute(f"INSERT INTO {name} VALUES {row}")
        session.execute("CREATE TABLE another (a INT)")
    duck = duckdb_on()
    assert duck.execute(f"FROM {name}").fetchall() == [row]
    assert duck.execute(f"FROM z AT (VERSION => {then})").fetchall() == []
    duck.execute("CALL ducklake_flush_inlined_data('lake')")
    assert duckdb_on().execute(f"FROM {name}").fetchall() == [row]


def test_a_flush_that_only_moves_inlined_rows_logs_no_delete(place: CatalogPlace, duckdb_on: Connect) -> None:
    """DuckDB would refuse an insert that it began before the flush."""
    duck = duckdb_on()
    duck.execute("CREATE TABLE t (a INTEGER)")
    duck.execute("INSERT INTO t VALUES (1), (2), (3)")
    duck.execute("DELETE FROM t WHERE a = 2")
    with session_on(place.lake()) as session:
        session.execute("CALL flush_inlined_data()")
    logged = rows_of(duck, "SELECT changes_made FROM {meta}.ducklake_snapshot_changes ORDER BY snapshot_id DESC LIMIT 1")
    assert logged == [("inline_flush:1",)]
    assert duckdb_on().execute("FROM t ORDER BY a").fetchall() == [(1,), (3,)]


@pytest.mark.parametrize("columns", [[f"c{number}" for number in range(350)], ["c0", "xmin"]], ids=["wide", "system column"])
def test_duckdb_inserts_into_the_right_columns_of_an_altered_table(place: CatalogPlace, duckdb_on: Connect, columns: list[str]) -> None:
    with session_on(place.lake()) as session:
        session.execute(f"CREATE TABLE t ({', '.join(f'{name} STRING' for name in [*columns[:1], 'dropped', 'a'])})")
        duckdb_on().execute("INSERT INTO t VALUES ('x', 'y', 'z')")
        session.execute(f"ALTER TABLE t ADD COLUMNS ({', '.join(f'{name} STRING' for name in columns[1:])})")
        session.execute("ALTER TABLE t DROP COLUMN dropped")
        last = columns[-1]
        duck = duckdb_on()  # DuckDB reads the options when it attaches a lake
        duck.execute(f"INSERT INTO t (c0, a, {last}) VALUES ('x2', 'z2', 'last')")
        assert duck.execute(f"SELECT c0, a, {last} FROM t ORDER BY c0").fetchall() == [("x", "z", None), ("x2", "z2", "last")]
        if place.path.startswith("postgres") and last == "xmin":
            session.execute("CALL set_option('data_inlining_row_limit', 5, table_name => 't')")
            duckdb_on().execute("INSERT INTO t (c0) VALUES ('x3')")
