"""Tables whose columns change while rows of all generations remain: one side creates the history, both read it at every snapshot.

Promotions are generated: every pair of types that DuckDB allows, which is every pair that we allow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pytest

from dbt.adapters.ducklake.format.types import can_promote
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from tests.catalogs import CatalogUnderTest
from tests.interop import oracle
from tests.interop.conftest import Both
from tests.interop.types.cases import CASES, Case, canonical, duck_leaf, duck_value, our_type, spark_leaf
from tests.interop.types.operations import each
from tests.places import nightly

SHAPES = ("column", "struct")
PROMOTED = [case for case in CASES if case.in_duckdb_files and case.stored not in ("geometry", "variant")]
OURS = [(old, new) for old in PROMOTED for new in PROMOTED if old is not new and can_promote(old.stored, new.stored)]
ROUNDED = [(old, new) for old in PROMOTED for new in PROMOTED if old.stored.startswith("decimal") and (old, new) not in OURS]
ROUNDED = [(old, new) for old, new in ROUNDED if new.stored == "decimal(38,0)" and old is not new]
ROUNDED += [(old, new) for old in PROMOTED for new in PROMOTED if old.stored in ("int128", "uint128") and new.stored == "decimal(38,10)"]
"""Promotions that lose digits: only DuckDB performs them."""
PAIRS = [*OURS, *ROUNDED]
IDS = [f"{old.stored}->{new.stored}" for old, new in PAIRS]
NOT_INLINED = ("boolean",)
"""DuckDB cannot commit to a table whose inlined booleans it promoted, because their statistics are not numbers."""
SHAPES_OF = {"files": SHAPES, "inlined": ("column",)}
"""DuckDB cannot read inlined structs whose fields it promoted, because it reads the text as the new type."""
BY_DUCKDB = {
    "files": list(range(len(PAIRS))),
    "inlined": [number for number, (old, _) in enumerate(PAIRS) if old.stored not in NOT_INLINED],
}


def _values(duck: duckdb.DuckDBPyConnection, old: Case, new: Case) -> list[str]:
    """Return values of the old type that the new type can represent and that files of both can store."""

    def accepted(values: Sequence[str]) -> list[str]:
        casts = ", ".join(f"TRY_CAST({duck_value(old, value)} AS {new.duck}) IS NOT NULL" for value in values)
        try:
            (found,) = duck.execute(f"SELECT {casts}").fetchall()
        except duckdb.Error:  # TRY_CAST does not catch what ICU raises
            return [] if len(values) == 1 else [value for each_one in values for value in accepted([each_one])]
        return [value for value, is_cached in zip(values, found, strict=True) if is_cached]

    if new.stored in (
        "timestamp_s",
        "timestamp_ms",
    ):  # DuckDB cannot write an infinite timestamp_s to a file, and Spark cannot read an infinite timestamp_ms
        return accepted([value for value in old.in_files if "inf" not in value])
    return accepted(old.in_files)


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory, runtime: SparkRuntime) -> Iterator[Both]:
    directory = tmp_path_factory.mktemp("histories")
    place = CatalogUnderTest("sqlite", f"ducklake:sqlite:{directory}/lake.sqlite", f"{directory}/files/")
    opened = place.open(runtime)
    duck = oracle.connect(place)
    duck.execute("USE lake")
    with opened.session() as session:
        yield Both(session, duck)
    duck.close()
    opened.catalog.close()


def _name(number: int, shape: str) -> str:
    return f"{shape[0]}{number}"


def _shaped(case: Case, shape: str) -> str:
    return case.duck if shape == "column" else f"STRUCT(f {case.duck}, g INTEGER)"


@pytest.fixture(scope="module")
def promoted(sides: Both) -> dict[str, tuple[Any, Any]]:
    """What both sides read from columns of every pair, filled, promoted by DuckDB and filled again, in files and inlined."""
    return {storage: _promoted(sides, storage, numbers) for storage, numbers in BY_DUCKDB.items()}


def _promoted(sides: Both, storage: str, numbers: Sequence[int]) -> tuple[Any, Any]:
    duck, table = sides.duck, f"promoted_{storage}"
    columns = [(number, shape) for number in numbers for shape in SHAPES_OF[storage]]
    duck.execute(
        f"CREATE TABLE {table} (id INTEGER, {', '.join(f'{_name(n, shape)} {_shaped(PAIRS[n][0], shape)}' for n, shape in columns)})"
    )
    duck.execute(f"CALL lake.set_option('data_inlining_row_limit', {0 if storage == 'files' else 1000}, table_name => '{table}')")
    values = {number: _values(duck, *PAIRS[number]) for number in numbers}
    _fill(duck, table, columns, values, 0)
    duck.execute("BEGIN")
    for number, shape in columns:
        duck.execute(f"ALTER TABLE {table} ALTER {_name(number, shape)} SET DATA TYPE {_shaped(PAIRS[number][1], shape)}")
    duck.execute("COMMIT")
    _fill(duck, table, columns, values, 100)
    return _read_both(sides, table, columns)


def _fill(duck: duckdb.DuckDBPyConnection, table: str, columns: Sequence[tuple[int, str]], values: Any, first: int) -> None:
    """Insert a row for every value. DuckDB casts the values to the current column types."""
    rows = []
    for row in range(max(len(known) for known in values.values())):
        leaves = [(duck_value(PAIRS[n][0], values[n][row] if row < len(values[n]) else None), n, shape) for n, shape in columns]
        if first:
            leaves = [(f"CAST({leaf} AS {PAIRS[n][1].duck})", n, shape) for leaf, n, shape in leaves]
        cells = [leaf if shape == "column" else f"{{'f': {leaf}, 'g': 1}}" for leaf, _, shape in leaves]
        rows.append(f"({', '.join([str(first + row), *cells])})")
    duck.execute(f"INSERT INTO {table} VALUES {', '.join(rows)}")


def test_duckdb_allows_the_promotions_that_we_allow(sides: Both) -> None:
    duck = sides.duck
    pairs = [(old, new) for old in PROMOTED for new in PROMOTED if old is not new]
    duck.execute(f"CREATE TABLE allowed ({', '.join(f'c{i} {old.duck}' for i, (old, _) in enumerate(pairs))})")
    allowed = set()
    duck.execute("BEGIN")
    for number, (old, new) in enumerate(pairs):
        try:
            duck.execute(f"ALTER TABLE allowed ALTER c{number} SET DATA TYPE {new.duck}")
            allowed.add((old.stored, new.stored))
        except duckdb.CatalogException:
            continue
    duck.execute("ROLLBACK")
    texts = {(old.stored, "json") for old in PROMOTED}
    assert allowed - texts == {(old.stored, new.stored) for old, new in PAIRS} - texts


def _read_both(sides: Both, table: str, columns: Sequence[tuple[int, str]]) -> tuple[Any, Any]:
    def read(leaf: Any, rows: Any) -> Any:
        def some(part: Sequence[Any]) -> Any:
            texts = ", ".join(f"{leaf(PAIRS[n][1], shape, _name(n, shape))} AS v{i}" for i, (n, shape) in enumerate(part))
            found = rows(f"SELECT id, {texts} FROM {table} ORDER BY id")
            return {key: [canonical(PAIRS[key[0]][1], row[i]) for row in found] for i, key in enumerate(part, 1)}

        return each(columns, some, lambda column: column)

    theirs = read(duck_leaf, lambda query: sides.duck.execute(query).fetchall())
    return theirs, read(spark_leaf, lambda query: sides.session.execute(query).fetch())


@pytest.mark.parametrize(
    ("storage", "number"),
    [(storage, number) for storage, numbers in BY_DUCKDB.items() for number in numbers],
    ids=[f"{storage}-{IDS[number]}" for storage, numbers in BY_DUCKDB.items() for number in numbers],
)
def test_rows_from_before_a_promotion_by_duckdb_read_the_same(promoted: Any, storage: str, number: int) -> None:
    theirs, ours = promoted[storage]
    for shape in SHAPES_OF[storage]:
        assert not isinstance(theirs[number, shape], Exception), theirs[number, shape]
        assert ours[number, shape] == theirs[number, shape], shape


@pytest.fixture(scope="module")
def promoted_by_us(sides: Both) -> tuple[Any, Any, Any]:
    """The same with our own statements: the errors, and what both sides read."""
    session, table = sides.session, "promoted_by_us"
    columns = [(number, shape) for number in range(len(OURS)) for shape in SHAPES]
    session.execute(
        f"CREATE TABLE {table} (id INT, {', '.join(f'{_name(n, shape)} {our_type(PAIRS[n][0], shape)}' for n, shape in columns)})"
    )
    sides.duck.execute(f"CREATE TABLE {table}_source AS FROM {table}")
    _fill(sides.duck, f"{table}_source", columns, {number: _values(sides.duck, *PAIRS[number]) for number, _ in columns}, 0)
    session.execute(f"CALL lake.set_option('data_inlining_row_limit', 0, table_name => '{table}')")
    session.execute(f"INSERT INTO {table} SELECT * FROM {table}_source")
    errors: dict[Any, Exception] = {}
    session.begin()
    for n, shape in columns:
        path = _name(n, shape) + ("" if shape == "column" else ".f")
        try:
            session.execute(f"ALTER TABLE {table} ALTER COLUMN {path} TYPE {PAIRS[n][1].written}")
        except Exception as error:
            errors[n, shape] = error
    session.commit()
    return errors, *_read_both(sides, table, columns)


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(len(OURS)), ids=IDS[: len(OURS)])
def test_rows_from_before_a_promotion_by_us_read_the_same(promoted_by_us: Any, number: int) -> None:
    errors, theirs, ours = promoted_by_us
    for shape in SHAPES:
        assert errors.get((number, shape)) is None, shape
        assert not isinstance(theirs[number, shape], Exception), theirs[number, shape]
        assert ours[number, shape] == theirs[number, shape], shape


HISTORY = (
    ("INSERT INTO t SELECT i, i, {start_struct} FROM {range}", None),
    ("ALTER TABLE t ADD COLUMN b {text} DEFAULT 'it''s'", "ALTER TABLE t ADD COLUMN b STRING DEFAULT 'it\\'s'"),
    ("INSERT INTO t SELECT i, i, {start_struct}, 'new' FROM {range}", None),
    ("ALTER TABLE t ADD COLUMN s.z INTEGER DEFAULT 5", None),
    ("ALTER TABLE t DROP COLUMN a", None),
    ("ALTER TABLE t ADD COLUMN a {text} DEFAULT 'again'", None),
    ("UPDATE t SET b = 'updated' WHERE id % 3 = 0", None),
    ("ALTER TABLE t ALTER s SET DATA TYPE STRUCT(x BIGINT, y VARCHAR, z INTEGER)", "ALTER TABLE t ALTER COLUMN s.x TYPE BIGINT"),
    ("ALTER TABLE t DROP COLUMN s.y", None),
    ("ALTER TABLE t ADD COLUMN s.y {text}", None),
    ("ALTER TABLE t RENAME COLUMN b TO c", None),
    ("ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 7", None),
    ("ALTER TABLE t RENAME s.z TO w", "ALTER TABLE t RENAME COLUMN s.z TO w"),
    ("ALTER TABLE t ALTER b SET DATA TYPE BIGINT", "ALTER TABLE t ALTER COLUMN b TYPE BIGINT"),
    ("DELETE FROM t WHERE id % 5 = 0", None),
    ("UPDATE t SET a = 'last' WHERE id % 4 = 0", None),
)


@pytest.mark.parametrize("side", [*nightly("duckdb"), "ours"])
def test_every_generation_of_files_is_read_at_every_snapshot(sides: Both, side: str) -> None:
    _make_history(sides, side, f"files_{side}", 0)
    _check_history(sides, f"files_{side}")


@pytest.mark.parametrize("side", ["duckdb", *nightly("ours")])
def test_every_generation_of_inlined_rows_is_read_at_every_snapshot(both: Both, side: str) -> None:
    _make_history(both, side, "t", 1000)
    _check_history(both, "t")


def _make_history(both: Both, side: str, table: str, limit: int) -> None:
    both.duckdb(f"CREATE TABLE {table} (id INTEGER, a INTEGER, s STRUCT(x INTEGER, y VARCHAR))")
    both.duckdb(f"CALL lake.set_option('data_inlining_row_limit', {limit}, table_name => '{table}')")
    for step, (theirs, ours) in enumerate(HISTORY):
        statement = theirs if side == "duckdb" or ours is None else ours
        names = {"text": "VARCHAR", "start_struct": "{'x': i, 'y': 'y'}", "range": f"range({step * 10}, {step * 10 + 6}) r(i)"}
        if side == "ours":
            names |= {"text": "STRING", "start_struct": "named_struct('x', i, 'y', 'y')"}
        for name, text in names.items():
            statement = statement.replace("{" + name + "}", text)
        statement = re.sub(r"\b(TABLE|INTO|UPDATE|FROM) t\b", rf"\1 {table}", statement)
        (both.duckdb if side == "duckdb" else both.spark)(statement)


def _check_history(both: Both, table: str) -> None:
    """Assert that the table has equal rows on both sides at every snapshot, with one statement each."""
    (first, last) = both.duck.execute(
        f"SELECT min(snapshot_id) FILTER (list_contains(changes['tables_created'], 'main.{table}')), max(snapshot_id) FROM ducklake_snapshots('lake')"
    ).fetchone() or (0, 0)
    versions = range(first, last + 1)
    theirs = " UNION ALL ".join(f"SELECT {v} AS v, to_json(x) AS j FROM (FROM {table} AT (VERSION => {v})) x" for v in versions)
    ours = " UNION ALL ".join(
        f"SELECT {v} AS v, to_json(struct(*), map('ignoreNullFields', 'false')) AS j FROM {table} VERSION AS OF {v}" for v in versions
    )
    read = [
        [(version, json.loads(text)) for version, text in rows]
        for rows in (both.duck.execute(theirs).fetchall(), both.session.execute(ours).fetch())
    ]
    assert len(read[0]) > 6
    for version in versions:
        of_theirs, of_ours = (sorted((row for each, row in rows if each == version), key=lambda row: int(row["id"])) for rows in read)
        assert of_ours == of_theirs, f"snapshot {version}"
