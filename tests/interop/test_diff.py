"""`CALL lake.diff`: what changed between two snapshots of a table or between two relations, with DuckDB's joins as the oracle of every count."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.errors import ConfigurationError, DuckLakeError, NotFoundError, StatementError
from dbt.adapters.ducklake.session import LakeSession, LakeSettings, connect
from tests.interop.conftest import Both
from tests.places import nightly

Found = dict[str, Any]


def diff(session: LakeSession, table: str = "t", **given: Any) -> Found:
    arguments = ", ".join(f"{name} => {value!r}" for name, value in {**given, "format": "json"}.items())
    ((text,),) = session.execute(f"CALL lake.diff('{table}', {arguments})").fetch()
    found: Found = json.loads(text)
    return found


def counts(found: Found) -> tuple[int, int, int]:
    rows = found["rows"]
    return rows["added"], rows["removed"], rows["changed"]


def columns(found: Found) -> dict[str, Any]:
    return {change.pop("column"): change for change in found["columns"]}


def oracle(both: Both, before: str, after: str, compared: list[str], key: str = "id") -> tuple[tuple[int, int, int], dict[str, int]]:
    """Count by DuckDB what a diff by a unique key must find; `before` and `after` are tables of FROM."""
    differs = {name: f"o.{name} IS DISTINCT FROM n.{name}" for name in compared}
    paired = "o.side IS NOT NULL AND n.side IS NOT NULL"
    numbers = [f"count(*) FILTER ({paired} AND {condition})" for condition in differs.values()]
    query = (
        f"SELECT count(*) FILTER (o.side IS NULL), count(*) FILTER (n.side IS NULL), "
        f"count(*) FILTER ({paired} AND ({' OR '.join(differs.values()) or 'false'})), {', '.join(numbers)} "
        f"FROM (SELECT *, {key} AS k, 1 AS side FROM {before}) o FULL JOIN (SELECT *, {key} AS k, 1 AS side FROM {after}) n ON o.k = n.k"
    )
    row = both.duck.execute(query).fetchone()
    assert row is not None
    return row[:3], {name: number for name, number in zip(compared, row[3:], strict=True) if number}


def check(both: Both, start: int, end: int | None, compared: list[str], key: str | None) -> Found:
    """Compare a diff of two snapshots of `t` with DuckDB's answer."""
    given: dict[str, Any] = {"from": start, **({} if end is None else {"to": end}), **({} if key is None else {"key": key})}
    found = diff(both.session, **given)
    later = "t" if end is None else f"t AT (VERSION => {end})"
    expected, by_column = oracle(both, f"t AT (VERSION => {start})", later, [c for c in compared if c != key], key or "rowid")
    assert (counts(found), found["rows"]["changed_by_column"]) == (expected, by_column)
    return found


@pytest.fixture
def table(both: Both) -> Both:
    """A table `t` of twenty rows in a file, in a lake that inlines two rows."""
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 2)")
    both.duckdb("CREATE TABLE t (id INTEGER, v VARCHAR, n DOUBLE)")
    both.duckdb("INSERT INTO t SELECT i, 'a' || i, i / 2 FROM range(1, 21) r(i)")
    return both


def latest(both: Both) -> int:
    return int(both.duck.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetchone()[0])  # type: ignore[index]


@pytest.mark.parametrize("writer", [*nightly("duckdb"), "spark"])
def test_changes_between_snapshots_are_counted_by_row_id_and_by_key(table: Both, writer: str) -> None:
    write: Callable[[str], None] = getattr(table, writer)
    start = latest(table)
    write("INSERT INTO t VALUES (30, 'new', 1), (31, 'gone', 1), (32, 'new, then changed', 1)")
    write("INSERT INTO t VALUES (33, 'inlined', NULL)")
    write("UPDATE t SET v = 'b', n = n WHERE id IN (1, 2, 32)")
    middle = latest(table)
    write("UPDATE t SET v = NULL, n = 'NaN' WHERE id IN (1, 5)")
    write("UPDATE t SET v = 'a3' WHERE id = 3")  # the value that it has
    write("DELETE FROM t WHERE id IN (4, 31, 33)")
    write("UPDATE t SET id = 66 WHERE id = 6")
    by_row_id = check(table, start, None, ["id", "v", "n"], None)
    assert counts(by_row_id) == (2, 1, 4)
    assert (by_row_id["key"], by_row_id["rows"]["without_unique_key"]) == (None, {"from": 0, "to": 0})
    by_key = check(table, start, None, ["v", "n"], "id")
    assert counts(by_key) == (3, 2, 3)
    for pair in ((start, middle), (middle, latest(table)), (latest(table), latest(table))) if writer == "duckdb" else ():
        check(table, *pair, ["id", "v", "n"], None)
        check(table, *pair, ["v", "n"], "id")
    assert diff(table.session, **{"from": latest(table)})["equal"]


@pytest.mark.nightly
def test_rows_that_are_only_written_again_are_no_changes(table: Both) -> None:
    start = latest(table)
    table.duckdb("INSERT INTO t VALUES (40, 'x', 1)")
    table.duckdb("CALL ducklake_flush_inlined_data('lake')")
    table.duckdb("DELETE FROM t WHERE id < 8")
    table.duckdb("CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)")
    table.duckdb("CALL ducklake_merge_adjacent_files('lake')")
    check(table, start, None, ["id", "v", "n"], None)
    table.spark("CREATE OR REPLACE TABLE t AS SELECT * FROM t")
    rebuilt = diff(table.session, **{"from": start})
    assert counts(rebuilt) == (1, 7, 0)
    check(table, start, None, ["v", "n"], "id")


@pytest.mark.nightly
def test_random_changes_of_both_writers(table: Both) -> None:
    chance = random.Random(13)
    snapshots = [latest(table)]
    for number in range(14):
        low = chance.randint(1, 25)
        statement = chance.choice(
            [
                f"INSERT INTO t SELECT i, 'n{number}', i FROM range({100 * number + 100}, {100 * number + 100 + chance.randint(1, 6)}) r(i)",
                f"UPDATE t SET v = 'u{number}' WHERE id BETWEEN {low} AND {low + 3}",
                f"UPDATE t SET n = NULL, v = 'x' WHERE id % 7 = {low % 7}",
                f"DELETE FROM t WHERE id BETWEEN {low} AND {low + chance.randint(0, 2)}",
                f"DELETE FROM t WHERE id % 11 = {low % 11}",
            ]
        )
        chance.choice([table.duckdb, table.spark])(statement)
        if number % 5 == 4:
            table.duckdb(chance.choice(["CALL ducklake_flush_inlined_data('lake')", "CALL ducklake_merge_adjacent_files('lake')"]))
        snapshots.append(latest(table))
    for _ in range(5):
        start, end = sorted(chance.sample(snapshots, 2))
        check(table, start, end, ["id", "v", "n"], None)
        check(table, start, end, ["v", "n"], "id")


TYPES = {
    "flag": ("BOOLEAN", "true", "false"),
    "small": ("UTINYINT", "1", "255"),
    "price": ("DECIMAL(20,4)", "1.5000", "1.5001"),
    "ratio": ("DOUBLE", "'NaN'", "0.1"),
    "single": ("FLOAT", "'-Infinity'", "'NaN'"),
    "day": ("DATE", "'2026-01-31'", "'2026-02-01'"),
    "at": ("TIMESTAMPTZ", "'2026-01-31 12:00:00+00'", "'2026-01-31 12:00:00.000001+00'"),
    "clock": ("TIMESTAMP", "'2026-01-31 12:00:00'", "NULL"),
    "bytes": ("BLOB", "'\\xAA\\x00'", "'\\xAA'"),
    "key": ("UUID", "'4f5a7b2c-0000-4000-8000-000000000001'", "'4f5a7b2c-0000-4000-8000-000000000002'"),
    "list": ("INTEGER[]", "[1, NULL]", "[1]"),
    "pair": ("STRUCT(a INTEGER, b DOUBLE)", "{'a': NULL, 'b': 'NaN'}", "{'a': 1, 'b': 'NaN'}"),
    "map": ("MAP(VARCHAR, DOUBLE)", "MAP {'x': 'NaN'}", "MAP {'x': 1}"),
    "deep": ("STRUCT(m MAP(INTEGER, VARCHAR[]))[]", "[{'m': MAP {1: ['a', NULL]}}]", "[{'m': MAP {1: ['a', 'b']}}]"),
}


@pytest.mark.parametrize("made_again", [False, *nightly(True)])
def test_values_of_every_type_are_compared(both: Both, made_again: bool) -> None:
    """Each column changes in as many rows as its number; the others have equal values, NaN and NULL included."""
    ddl = ", ".join(f'"{name}" {kind}' for name, (kind, _, _) in TYPES.items())
    first = ", ".join(f"CASE WHEN i % 3 = 0 THEN NULL ELSE {old}::{kind} END" for kind, old, _ in TYPES.values())
    both.duckdb(f"CREATE TABLE t (id INTEGER, {ddl})")
    both.duckdb(f"INSERT INTO t SELECT i, {first} FROM range(20) r(i)")
    start = latest(both)
    second = ", ".join(
        f'CASE WHEN id <= {number} THEN {new}::{kind} ELSE "{name}" END AS "{name}"'
        for number, (name, (kind, _, new)) in enumerate(TYPES.items())
    )
    if made_again:
        both.duckdb(f"CREATE OR REPLACE TABLE t AS SELECT id, {second} FROM t")
    else:
        both.duckdb(f"CREATE TABLE s AS SELECT id, {second} FROM t")
        both.duckdb("DELETE FROM t")
        both.duckdb("INSERT INTO t SELECT * FROM s")
    found = diff(both.session, **{"from": start, "key": "id"})
    quoted = [f'"{name}"' for name in TYPES]
    expected, by_column = oracle(both, f"t AT (VERSION => {start})", "t", quoted)
    assert (counts(found), found["columns"], found["not_compared"]) == (expected, [], [])
    assert found["rows"]["changed_by_column"] == {name.strip('"'): number for name, number in by_column.items()}
    assert len(found["examples"]) == 5
    (example,) = [each for each in found["examples"] if each["key"] == {"id": "1"}]
    assert example["before"]["price"] == "1.5000"
    assert (example["before"]["bytes"], example["after"]["bytes"]) == ("0xAA00", "0xAA")
    assert example["before"]["deep"] == "[{{1 -> [a, null]}}]"


def test_variants_and_times_are_compared(both: Both) -> None:
    """DuckDB does not compare variants, so by hand: the order of an object's keys is no change."""
    both.spark("CREATE TABLE t (id INT, x VARIANT, t TIME(6), s STRUCT<a: VARIANT>)")
    value = 'parse_json(\'{"a": 1, "b": [1, null]}\')'
    both.spark(f"INSERT INTO t SELECT id, {value}, TIME'12:00:00', named_struct('a', parse_json('1')) FROM range(5) r(id)")
    start = latest(both)
    both.spark('UPDATE t SET x = parse_json(\'{"b": [1, null], "a": 1}\') WHERE id = 0')
    both.spark("UPDATE t SET x = parse_json('{\"b\": [2, null], \"a\": 1}'), t = TIME'12:00:00.000001' WHERE id = 1")
    both.spark("UPDATE t SET s = named_struct('a', parse_json('\"1\"')) WHERE id IN (1, 2)")
    found = diff(both.session, **{"from": start, "key": "id"})
    assert (counts(found), found["rows"]["changed_by_column"]) == ((0, 0, 2), {"x": 1, "t": 1, "s": 2})
    assert found["examples"][0]["after"] == {"x": '{"a":1,"b":[2,null]}', "t": "12:00:00.000001", "s": '{"a":"1"}'}


def test_the_order_of_a_map_is_no_change(both: Both) -> None:
    both.spark("CREATE TABLE t AS SELECT 1 AS id, map('a', 1, 'b', 2) AS m")
    both.spark("CREATE TABLE u AS SELECT 1 AS id, map('b', 2, 'a', 1) AS m")
    assert diff(both.session, other="u", key="id")["equal"]


def test_columns_are_followed_by_their_ids(table: Both) -> None:
    start = latest(table)
    table.duckdb("ALTER TABLE t ADD COLUMN note VARCHAR DEFAULT 'none'")
    table.duckdb("ALTER TABLE t RENAME COLUMN v TO text")
    table.duckdb("ALTER TABLE t ALTER id SET DATA TYPE BIGINT")
    table.duckdb("ALTER TABLE t ALTER id SET NOT NULL")
    table.duckdb("ALTER TABLE t DROP COLUMN n")
    table.duckdb("UPDATE t SET text = 'b' WHERE id < 4")
    found = diff(table.session, **{"from": start})
    assert (counts(found), found["rows"]["changed_by_column"]) == ((0, 0, 3), {"text": 3})
    assert found["not_compared"] == []
    assert columns(found) == {
        "id": {"change": "changed", "type": {"from": "int", "to": "bigint"}, "nullable": {"from": True, "to": False}},
        "text": {"change": "changed", "name": {"from": "v", "to": "text"}},
        "n": {"change": "dropped", "type": {"from": "double", "to": None}},
        "note": {"change": "added", "type": {"from": None, "to": "string"}},
    }
    assert {change["before"]["text"] for change in found["examples"]} == {"a1", "a2", "a3"}


@pytest.mark.parametrize("key", [None, "id"])
def test_a_column_that_another_one_replaced_is_compared_in_every_row(table: Both, key: str | None) -> None:
    start = latest(table)
    table.duckdb("ALTER TABLE t DROP COLUMN n")
    table.duckdb("ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 5")
    table.duckdb("INSERT INTO t VALUES (90, 'new', 1)")
    found = diff(table.session, **{"from": start}, **({} if key is None else {"key": key}))
    assert (counts(found), found["rows"]["changed_by_column"]) == ((1, 0, 19), {"n": 19})
    assert columns(found) == {"n": {"change": "changed", "type": {"from": "double", "to": "int"}}}


def test_a_rebuild_with_other_types_is_compared_where_a_type_fits_both(table: Both) -> None:
    """A column whose type a rebuild changes is another column; its old values are still read in their own type."""
    start = latest(table)
    table.spark("CREATE OR REPLACE TABLE t AS SELECT CAST(id AS BIGINT) AS id, CAST(id AS INT) AS v, CAST(n AS DECIMAL(9,2)) AS n FROM t")
    found = diff(table.session, **{"from": start, "key": "id"})
    assert counts(found) == (0, 0, 0)
    assert found["not_compared"] == ["v"]
    again = latest(table)
    table.spark("CREATE OR REPLACE TABLE t AS SELECT id, v, CAST(CASE WHEN id < 3 THEN 9 ELSE n END AS DECIMAL(12,4)) AS n FROM t")
    found = diff(table.session, **{"from": again, "key": "id"})
    assert (counts(found), found["rows"]["changed_by_column"]) == ((0, 0, 2), {"n": 2})
    assert columns(found) == {"n": {"change": "changed", "type": {"from": "decimal(9,2)", "to": "decimal(12,4)"}}}
    assert found["examples"][0]["before"] == {"n": "0.5000"}


def test_a_struct_that_got_a_field_is_compared_with_its_other_fields(both: Both) -> None:
    both.duckdb("CREATE TABLE t (id INTEGER, s STRUCT(a INTEGER))")
    both.duckdb("INSERT INTO t SELECT i, {'a': i} FROM range(9) r(i)")
    start = latest(both)
    both.duckdb("ALTER TABLE t ADD COLUMN s.b VARCHAR")
    both.duckdb("UPDATE t SET s = {'a': id, 'b': NULL} WHERE id < 4")
    both.duckdb("UPDATE t SET s = {'a': id, 'b': 'x'} WHERE id = 8")
    found = diff(both.session, **{"from": start, "key": "id"})
    assert (counts(found), columns(found)["s"]["type"]["to"]) == ((0, 0, 1), "struct<a:int,b:string>")


def test_a_table_that_was_made_again_is_joined_by_a_key(table: Both) -> None:
    start = latest(table)
    table.duckdb("CREATE OR REPLACE TABLE t AS SELECT id, CASE WHEN id = 2 THEN 'x' ELSE v END AS v, n FROM t WHERE id <> 5")
    table.duckdb("INSERT INTO t VALUES (77, 'new', 0)")
    check(table, start, None, ["v", "n"], "id")
    with pytest.raises(StatementError, match="no stored primary key: give `key`"):
        diff(table.session, **{"from": start})
    table.spark("CREATE OR REPLACE TABLE t (id INT, v STRING, n DOUBLE, PRIMARY KEY (id))")
    table.duckdb(f"INSERT INTO t SELECT id, v, n + 1 FROM t AT (VERSION => {start}) WHERE id < 20")
    for snapshot in (start, latest(table) - 2):
        found = diff(table.session, **{"from": snapshot})
        assert (found["key"], counts(found)[2] > 0) == (["id"], True)
        assert counts(found) == oracle(table, f"t AT (VERSION => {snapshot})", "t", ["v", "n"])[0]


def test_rows_without_a_unique_key_are_compared_as_a_whole(table: Both) -> None:
    """By hand, because a join would pair these rows with several others."""
    table.duckdb("INSERT INTO t VALUES (1, 'second', 0), (NULL, 'null', 0), (NULL, 'null', 0)")
    start = latest(table)
    table.duckdb("CREATE OR REPLACE TABLE t AS SELECT * FROM t")
    table.duckdb("UPDATE t SET v = 'changed' WHERE v IN ('second', 'a2')")
    table.duckdb("INSERT INTO t VALUES (NULL, 'null', 0), (NULL, 'other', 0), (3, 'a3', 1.5)")
    found = diff(table.session, **{"from": start, "key": ["id"]})
    # removed: (1, second); added: (1, changed), (NULL, null), (NULL, other), (3, a3, 1.5); changed: 2
    assert (counts(found), found["rows"]["changed_by_column"]) == ((4, 1, 1), {"v": 1})
    assert found["rows"]["without_unique_key"] == {"from": 5, "to": 8}
    now, before = "SELECT * FROM t", f"SELECT * FROM t AT (VERSION => {start})"
    for one, other, number in ((now, before, 4 + 1), (before, now, 1 + 1)):
        assert table.duck.execute(f"SELECT count(*) FROM ({one} EXCEPT ALL {other})").fetchone() == (number,)
    text = table.session.execute(f"CALL lake.diff('t', from => {start}, key => 'id')").fetch()[0][0]
    assert "the key is NULL or not unique in 5 rows before and 8 after" in text


@pytest.mark.nightly
def test_an_unchanged_file_is_not_read(table: Both) -> None:
    """Two snapshots are compared from the change feed: the diff works although a file without changes is gone."""
    (path,) = [row[0] for row in table.session.execute("SELECT data_file FROM lake.list_files('t')").fetch()]
    start = latest(table)
    table.duckdb("INSERT INTO t SELECT i, 'new', i FROM range(100, 110) r(i)")
    Path(path).unlink()
    assert counts(diff(table.session, **{"from": start})) == (10, 0, 0)
    with pytest.raises(DuckLakeError):
        table.session.execute("SELECT sum(n) FROM t").fetch()


@pytest.mark.nightly
def test_staged_changes_are_the_later_side(table: Both) -> None:
    table.session.begin()
    table.spark("UPDATE t SET v = 'staged' WHERE id < 4")
    found = diff(table.session, **{"from": latest(table)})
    assert (counts(found), found["to"]["staged_changes"]) == ((0, 0, 3), True)
    assert diff(table.session, other="t")["equal"]
    table.spark("CREATE TABLE staged AS SELECT id, v FROM t WHERE id < 20")
    assert diff(table.session, "staged", other="staged")["equal"]
    assert counts(diff(table.session, "staged", other="t", key="id")) == (0, 1, 0)
    table.session.rollback()


def test_a_renamed_table_is_followed(table: Both) -> None:
    start = latest(table)
    table.duckdb("ALTER TABLE t RENAME TO renamed")
    table.duckdb("DELETE FROM renamed WHERE id = 1")
    found = diff(table.session, "renamed", **{"from": start})
    assert (counts(found), found["from"]["relation"]) == ((0, 1, 0), "lake.main.t")


def test_a_table_of_keys_alone_has_no_changed_rows(both: Both) -> None:
    both.duckdb("CREATE TABLE t AS SELECT i AS a, i + 1 AS b FROM range(9) r(i)")
    start = latest(both)
    both.duckdb("UPDATE t SET b = 77 WHERE a = 3")
    assert counts(diff(both.session, **{"from": start, "key": ["b", "A"]})) == (1, 1, 0)
    assert counts(diff(both.session, **{"from": start})) == (0, 0, 1)


class TestTwoRelations:
    def test_they_are_joined_by_key_and_columns_by_name(self, table: Both) -> None:
        table.duckdb("CREATE SCHEMA dev")
        table.duckdb(
            "CREATE TABLE dev.u AS SELECT n::FLOAT AS N, id::BIGINT AS id, CASE WHEN id = 3 THEN 'x' ELSE v END AS v, 1 AS extra FROM t WHERE id > 2"
        )
        found = diff(table.session, other="dev.u", key="id")
        expected, by_column = oracle(table, "dev.u", "t", ["v", "n"])
        assert (counts(found), found["rows"]["changed_by_column"]) == (expected, by_column) == ((2, 0, 1), {"v": 1})
        assert columns(found) == {
            "id": {"change": "changed", "type": {"from": "bigint", "to": "int"}},
            "n": {"change": "changed", "type": {"from": "float", "to": "double"}, "name": {"from": "N", "to": "n"}},
            "extra": {"change": "dropped", "type": {"from": "int", "to": None}},
        }

    def test_each_side_can_be_at_a_snapshot(self, table: Both) -> None:
        table.duckdb("CREATE TABLE u AS FROM t")
        start = latest(table)
        table.duckdb("DELETE FROM t WHERE id = 1")
        table.duckdb("DELETE FROM u WHERE id > 1")
        assert counts(diff(table.session, **{"other": "u", "from": start, "to": start, "key": "id"})) == (0, 0, 0)
        assert counts(diff(table.session, **{"other": "u", "from": start, "key": "id"})) == (0, 1, 0)
        assert counts(diff(table.session, other="u", key="id")) == (19, 1, 0)
        assert counts(diff(table.session, **{"other": "t", "from": start})) == (0, 1, 0)

    def test_views_are_compared_by_their_rows(self, table: Both) -> None:
        table.duckdb("CREATE VIEW w AS SELECT id, upper(v) AS v FROM t WHERE id < 10")
        found = diff(table.session, "w", other="t", key="id")
        assert (counts(found), columns(found)) == ((0, 11, 9), {"n": {"change": "dropped", "type": {"from": "double", "to": None}}})
        start = latest(table)
        table.duckdb("DELETE FROM t WHERE id = 1")
        assert counts(diff(table.session, "w", **{"from": start, "key": "id"})) == (0, 1, 0)

    def test_another_lake(self, table: Both, tmp_path: Path) -> None:
        settings = LakeSettings(f"ducklake:sqlite:{tmp_path}/other.sqlite", f"{tmp_path}/other_files/", "lake2")
        with connect(settings.path, settings.data_path, spark=table.session.spark()) as second:
            second.execute("CREATE SCHEMA prod")
            second.execute("CREATE TABLE prod.t AS SELECT CAST(id AS INT) AS id, 'a1' AS v, 0.5D AS n FROM range(1, 3) r(id)")
        assert table.session.lake.attach(settings) == "lake2"
        assert table.session.lake.attach(replace(settings, database="again")) == "lake2"
        with pytest.raises(ConfigurationError, match="the name lake2 is already used by another lake; the lakes are lake, lake2"):
            table.session.lake.attach(replace(settings, path=f"{tmp_path}/third.sqlite"))
        found = diff(table.session, other="lake2.prod.t", key="id")
        assert (counts(found), found["from"]["relation"]) == ((18, 0, 1), "lake2.prod.t")


WRONG = [
    ("'nothing', from => 1", "lake.main.nothing does not exist"),
    ("'t', schema => 'nowhere', from => 1", "schema nowhere does not exist"),
    ("'t'", "needs `from`, a snapshot or timestamp, or `other`, another relation"),
    ("'t', from => 0", "t at snapshot 0 does not exist. Choose a snapshot"),
    ("'t', from => 99", "snapshot 99 does not exist"),
    ("'t', from => 'yesterday'", "from must be the number of a snapshot or a timestamp"),
    (
        "'t', from => '1999-01-01'",
        "snapshot at or before 1999-01-01T00:00:00+00:00 does not exist. Every snapshot of the lake is later",
    ),
    ("'t', from => 3, to => 2", "goes from snapshot 3 to 2, an earlier one; swap `from` and `to`"),
    ("'t', other => 't', from => 3, to => 2", "goes from snapshot 3 to 2, an earlier one; swap `from` and `to`"),
    ("'w', from => 4, to => 3, key => 'id'", "goes from snapshot 4 to 3, an earlier one; swap `from` and `to`"),
    ("'t', other => 'u'", "lake.main.u and lake.main.t have no stored primary key: give `key`"),
    ("'t', other => 'nix', key => 'id'", "main.nix does not exist"),
    ("'t', other => 'nowhere.main.t', key => 'id'", "nowhere.main.t does not name a lake of this session; this lake's name is lake"),
    ("'t', other => 'a b', key => 'id'", "was not expected here"),
    ("'t', other => 'u', key => ['id', 'x']", "column x of lake.main.t, for the key does not exist. The columns of both are: id, v"),
    ("'t', other => 'u', key => 'n'", "column n of lake.main.u, for the key does not exist"),
    (
        "'t', other => 'u', key => 'v'",
        "the column v cannot be a key, because its types in lake.main.u and lake.main.t cannot be compared",
    ),
    ("'t', other => 'apart', key => 'id'", "column id of lake.main.apart, for the key does not exist"),
    ("'t', from => 2, format => 'xml'", "the format of diff must be one of text, json, markdown, not xml"),
    ("'t', from => 2, examples => -1", "the examples of diff must be a number of rows, 0 or more, not -1"),
    ("'w', from => 3", "lake.main.w and lake.main.w have no stored primary key: give `key`"),
]


def test_errors_name_what_is_wrong(wrong: Both) -> None:
    for arguments, message in WRONG:
        with pytest.raises(StatementError) as error:
            wrong.session.execute(f"CALL lake.diff({arguments})")
        assert message in str(error.value), arguments


@pytest.fixture
def wrong(both: Both) -> Both:
    """The table `t` of snapshot 1, and others."""
    both.duckdb("CREATE TABLE t (id INTEGER, v VARCHAR, n INTEGER)")
    both.duckdb("CREATE TABLE u (id INTEGER, v INTEGER[])")
    both.duckdb("CREATE VIEW w AS SELECT 1 AS id")
    both.duckdb("CREATE TABLE apart (x INTEGER)")
    return both


def test_an_expired_snapshot_is_named(table: Both) -> None:
    start = latest(table)
    table.duckdb("DELETE FROM t WHERE id = 1")
    table.duckdb(f"CALL ducklake_expire_snapshots('lake', versions => [{start}])")
    with pytest.raises(NotFoundError, match=f"snapshot {start} does not exist"):
        diff(table.session, **{"from": start})
