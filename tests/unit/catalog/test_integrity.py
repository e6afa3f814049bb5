"""The check of a lake finds what makes DuckDB fail or answer wrongly, and following its advice repairs it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.format.default_texts import readable_default
from dbt.adapters.ducklake.session import LakeSession, connect
from tests.duckdb_instances import open_duckdb
from tests.unit.catalog.conftest import change, create, file_of, insert

ADVICE = re.compile(r"run in the catalog database: ((?:DELETE|UPDATE) .*?)(?=, and let|$)")
OWN_ADVICE = re.compile(r"run: (ALTER TABLE .* DROP DEFAULT),")


@pytest.fixture
def session(tmp_path: Path) -> Iterator[LakeSession]:
    """A lake with tables of which DuckDB has written every row, in two files."""
    with duck(tmp_path) as writer:
        writer.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
        writer.execute("CREATE TABLE t (a INTEGER, s VARCHAR, d DECIMAL(30, 2), f FLOAT, ts TIMESTAMP, tz TIMESTAMPTZ, u UUID, b BLOB)")
        writer.execute("CREATE TABLE n (l INTEGER[], s STRUCT(x INTEGER, y VARCHAR[]), m MAP(VARCHAR, INTEGER), v BOOLEAN)")
        writer.execute(
            "INSERT INTO n VALUES ([1, NULL], {'x': 1, 'y': ['a']}, MAP {'k': 1}, true), ([], NULL, MAP {}, false), (NULL, NULL, NULL, NULL)"
        )
        for number in (9, 10):
            writer.execute(
                f"INSERT INTO t SELECT i, i::VARCHAR, i / 3, i / 3, TIMESTAMP '2020-01-01' + INTERVAL (i) DAY, TIMESTAMP '2020-01-01', "
                f"uuid(), i::VARCHAR::BLOB FROM range({number}, {number + 10}) r(i)"
            )
            writer.execute("INSERT INTO n VALUES ([5], {'x': NULL, 'y': []}, MAP {'j': NULL}, NULL)")
        writer.execute("ALTER TABLE t ADD COLUMN c BOOLEAN DEFAULT 'true'")
        writer.execute("ALTER TABLE t ADD COLUMN e DATE DEFAULT 'epoch'")
        writer.execute("ALTER TABLE t ALTER COLUMN a TYPE BIGINT")
        writer.execute("ALTER TABLE t ALTER COLUMN f TYPE DOUBLE")
        writer.execute("INSERT INTO t (a, f) VALUES (-5, 1e300)")
    with connect(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/") as opened:
        yield opened
        assert not opened.runtime.started


def duck(folder: Path) -> Any:
    """Return a new DuckDB that has the lake attached."""
    opened = open_duckdb("ducklake", "sqlite_scanner")
    opened.execute(f"ATTACH 'ducklake:sqlite:{folder}/lake.sqlite' AS lake (DATA_PATH '{folder}/files/')")
    opened.execute("USE lake")
    return opened


def execute(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "lake.sqlite")) as catalog:
        assert catalog.execute(statement).rowcount > 0
        catalog.commit()


def answers(folder: Path) -> list[Any]:
    """Return what DuckDB answers from statistics."""
    with duck(folder) as reader:
        queries = ("min(a), max(a)", "count(*) FILTER (s IS NULL)", "min(ts), max(ts)")
        found = [reader.execute(f"SELECT {each} FROM t").fetchall() for each in queries]
        return [*found, reader.execute("SELECT count(*) FROM t WHERE s IS NULL").fetchall()]


def test_a_lake_in_order_has_no_faults(session: LakeSession) -> None:
    assert session.catalog.faults() == []


@pytest.mark.parametrize(
    ("column", "wrong"),
    [
        ("a", "min_value = '9'"),
        ("a", "max_value = '9'"),
        ("d", "max_value = '4.00'"),
        ("f", "max_value = '4.0'"),
        ("s", "contains_null = 0"),
        ("ts", "max_value = '2020-01-03 00:00:00'"),
        ("tz", "min_value = '2020-01-02 00:00:00+00'"),
        ("a", "min_value = NULL, max_value = NULL"),
    ],
)
def test_statistics_that_do_not_cover_the_files_are_found_and_removed(
    session: LakeSession, tmp_path: Path, column: str, wrong: str
) -> None:
    right = answers(tmp_path)
    where = f"column_id = (SELECT max(column_id) FROM ducklake_column WHERE column_name = '{column}' AND table_id = 1) AND table_id = 1"
    execute(tmp_path, f"UPDATE ducklake_table_column_stats SET {wrong} WHERE {where}")
    (fault,) = session.catalog.faults()
    assert f"the statistics of main.t do not cover all its files, so that DuckDB answers queries of {column} wrongly" in fault
    ((statement,),) = [ADVICE.findall(fault)]
    execute(tmp_path, statement)
    assert session.catalog.faults() == []
    assert answers(tmp_path) == right


def test_bounds_that_duckdb_does_not_use_because_of_nan_are_no_fault(tmp_path: Path) -> None:
    with duck(tmp_path) as writer:
        writer.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
        writer.execute("CREATE TABLE t (x DOUBLE)")
        for value in ("1.5", "'nan'", "7"):
            writer.execute(f"INSERT INTO t VALUES ({value})")
            assert fresh_faults(tmp_path) == []
    with duck(tmp_path) as reader:
        assert reader.execute("SELECT min(x), count(*) FILTER (x < 2) FROM t").fetchall() == [(1.5, 1)]


@pytest.mark.parametrize(("stored", "repaired"), [(" true ", True), ("on", True)])
@pytest.mark.usefixtures("session")
def test_an_initial_default_that_duckdb_cannot_read_is_found_and_replaced(tmp_path: Path, stored: str, repaired: bool) -> None:
    execute(tmp_path, f"UPDATE ducklake_column SET initial_default = '{stored}' WHERE column_name = 'c'")
    with pytest.raises(Exception, match="Failed to cast value"):
        duck(tmp_path)
    (fault,) = fresh_faults(tmp_path)
    ((statement,),) = [ADVICE.findall(fault)]
    execute(tmp_path, statement)
    assert fresh_faults(tmp_path) == []
    with duck(tmp_path) as reader:
        assert reader.execute("SELECT DISTINCT c FROM t WHERE a > 0").fetchall() == [(repaired,)]


@pytest.mark.usefixtures("session")
def test_an_initial_default_without_a_known_value_is_found_and_costs_no_column(tmp_path: Path) -> None:
    execute(tmp_path, "UPDATE ducklake_column SET initial_default = 'maybe' WHERE column_name = 'c'")
    (fault,) = fresh_faults(tmp_path)
    assert "in the catalog database set ducklake_column.initial_default where table_id = 1" in fault
    assert "to a text that DuckDB casts to boolean" in fault
    assert "drop" not in fault


@pytest.mark.parametrize(
    "wrong",
    [
        "default_value = ' true '",
        "default_value = 'array(1)[0] RLIKE (', default_value_type = 'expression', default_value_dialect = 'spark'",
    ],
)
@pytest.mark.usefixtures("session")
def test_a_default_that_duckdb_cannot_evaluate_is_found_and_dropped(tmp_path: Path, wrong: str) -> None:
    execute(tmp_path, f"UPDATE ducklake_column SET {wrong} WHERE column_name = 'c'")
    with connect(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/") as opened:
        (fault,) = opened.catalog.faults()
        ((statement,),) = [OWN_ADVICE.findall(fault)]
        opened.execute(statement)
        assert opened.catalog.faults() == []
    with duck(tmp_path) as writer:
        writer.execute("INSERT INTO t (a) VALUES (1)")


def fresh_faults(folder: Path) -> list[str]:
    with connect(f"ducklake:sqlite:{folder}/lake.sqlite", f"{folder}/files/") as opened:
        return opened.catalog.faults()


@pytest.mark.parametrize(
    ("type_", "text", "readable"),
    [
        ("int32", "yes", "1"),
        ("int32", "abc", None),
        ("int32", "1e3", "1e3"),
        ("int32", "0x1F", "0x1F"),
        ("uint8", "0b11", "0b11"),
        ("int32", "0xG", None),
        ("int32", "0x1_F", "0x1_F"),
        ("int32", "0x1__F", None),
        ("int32", " 0x1F", " 0x1F"),
        ("uint8", "\t\n\v\f\r0b11", "\t\n\v\f\r0b11"),
        ("int32", "\xa00x1F", "31"),
        ("int32", " 0x1F ", "31"),
        ("int128", " 0x1F", "31"),
        ("int32", "0xFFFFFFFF", None),
        ("uint8", "0x1FF", None),
        ("int128", "0x1F", "31"),
        ("int128", "0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", str(2**127 - 1)),
        ("uint128", "0b11", "3"),
        ("date", "2020-01-01 10:00:00", "2020-01-01 10:00:00"),
        ("date", "2020-01-01T10:00:00Z", "2020-01-01T10:00:00Z"),
        ("date", "infinity", "infinity"),
        ("date", "-infinity", "-infinity"),
        ("decimal(10,2)", "NaN", None),
        ("float64", "NaN", "NaN"),
        ("boolean", "maybe", None),
        ("boolean", "T", "T"),
        ("blob", "é", r"\xC3\xA9"),
        ("blob", r"a\xAB", r"a\xAB"),
        ("timestamp_ns", "0044-03-15 (BC)", None),
        ("date", "epoch", "epoch"),
        ("varchar", "é", "é"),
        ("struct", "NULL", "NULL"),
    ],
)
def test_which_defaults_duckdb_reads(type_: str, text: str, readable: str | None) -> None:
    assert readable_default(type_, text) == readable


@pytest.mark.parametrize(
    ("type_", "duckdb", "text", "readable"),
    [
        ("int8", "TINYINT", "300", None),
        ("int8", "TINYINT", "-128.4", "-128.4"),
        ("int8", "TINYINT", "-128.5", None),
        ("int8", "TINYINT", "1.274e2", "1.274e2"),
        ("int8", "TINYINT", "1.275e2", None),
        ("int32", "INTEGER", "4294967295", None),
        ("int32", "INTEGER", "1_000", "1_000"),
        ("int32", "INTEGER", "1e0_1", "1e0_1"),
        ("int32", "INTEGER", "1e999999999", None),
        ("uint32", "UINTEGER", "4294967295", "4294967295"),
        ("uint32", "UINTEGER", "-1", None),
        ("uint32", "UINTEGER", " -0", " -0"),
        ("uint32", "UINTEGER", "-0 ", "0"),
        ("uint32", "UINTEGER", "-0.0", "0"),
        ("uint32", "UINTEGER", "-0.4", None),
        ("uint64", "UBIGINT", "18446744073709551615.4", "18446744073709551615.4"),
        ("uint64", "UBIGINT", "18446744073709551615.5", None),
        ("int128", "HUGEINT", str(-(2**127)), str(-(2**127))),
        ("int128", "HUGEINT", str(2**127), None),
        ("uint128", "UHUGEINT", str(2**128 - 1), str(2**128 - 1)),
        ("uint128", "UHUGEINT", str(2**128), None),
        ("int32", "INTEGER", "٣", "3"),
        ("int32", "INTEGER", "\xa01.0", "1"),
        ("int32", "INTEGER", "\xa01.5", None),
        ("int32", "INTEGER", "\t1\f", "\t1\f"),
        ("int32", "INTEGER", "\x1c1", "1"),
        ("float64", "DOUBLE", "１", "1.0"),
        ("float64", "DOUBLE", "\xa0-inf", "-inf"),
        ("float64", "DOUBLE", "1e400", "1e400"),
        ("decimal(5,2)", "DECIMAL(5,2)", "１", "1"),
        ("decimal(5,2)", "DECIMAL(5,2)", "-999.994", "-999.994"),
        ("decimal(5,2)", "DECIMAL(5,2)", "999.995", None),
        ("decimal(5,2)", "DECIMAL(5,2)", "1e3", None),
        ("decimal(38,2)", "DECIMAL(38,2)", f"{'9' * 36}.99", f"{'9' * 36}.99"),
        ("decimal(38,38)", "DECIMAL(38,38)", f"0.{'9' * 39}", None),
    ],
)
def test_a_number_is_readable_if_duckdb_casts_it(type_: str, duckdb: str, text: str, readable: str | None) -> None:
    assert readable_default(type_, text) == readable
    with open_duckdb() as duck:
        query = f"SELECT TRY_CAST(? AS {duckdb}) IS NOT NULL, TRY_CAST(? AS {duckdb}) IS NOT NULL"
        assert duck.execute(query, [text, readable]).fetchall() == [(readable == text, readable is not None)]


def test_every_database_is_checked(lake: LakeCatalog) -> None:
    table = create(lake)
    insert(lake, file_of(table, 5, 7), file_of(table, 8, 11))
    assert lake.faults() == []
    change(lake, "UPDATE ducklake_table_column_stats SET max_value = '9' WHERE column_id = 1")
    found = lake.faults()
    if lake.database_kind in ("mysql", "mariadb"):
        assert found == []
    else:
        ((statement,),) = [ADVICE.findall(each) for each in found]
        change(lake, statement)
        assert lake.faults() == []
