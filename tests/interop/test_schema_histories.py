"""Tables whose columns change while rows of all generations stay: one side makes the history, both read it, at every snapshot.

Promotions are generated: every pair of types for which the reference's rule (the common type of both is the new one) allows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbt.adapters.ducklake.spark.runtime import SparkRuntime
from dbt.adapters.ducklake.spec.types import can_promote
from tests.catalogs import CatalogUnderTest
from tests.interop import oracle
from tests.interop.conftest import Both
from tests.interop.types.cases import CASES, Case, canonical, duck_leaf, duck_value, our_type, spark_leaf
from tests.interop.types.operations import each

SHAPES = ("column", "struct")
Pair = tuple[Case, Case]


def _pairs() -> list[Pair]:
    """(old, new) for which DuckDB's common type is the new one."""
    cases = [case for case in CASES if case.in_duckdb_files and case.stored not in ("geometry", "variant")]
    with duckdb.connect() as duck:
        found = []
        for old in cases:
            for new in cases:
                query = f"SELECT typeof(CAST(NULL AS {new.duck})) = any_value(typeof(x)) FROM (SELECT CAST(NULL AS {old.duck}) x UNION ALL SELECT CAST(NULL AS {new.duck}))"
                if old is not new and duck.execute(query).fetchone() == (True,):
                    found.append((old, new))
    return found


PAIRS = _pairs()


def _values(duck: duckdb.DuckDBPyConnection, old: Case, new: Case) -> list[str]:
    """Values of the old type that the new one has too, and that can be in files of both."""
    return [
        value
        for value in old.in_files
        if duck.execute(f"SELECT TRY_CAST({duck_value(old, value)} AS {new.duck}) IS NOT NULL").fetchone() == (True,)
    ]


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


@pytest.fixture(scope="module", params=[0, 1000], ids=["files", "inlined"])
def promoted(sides: Both, request: pytest.FixtureRequest) -> tuple[set[tuple[int, str]], Any, Any]:
    """Columns of every pair, filled, promoted by DuckDB and filled again: which DuckDB promoted, and what both sides read."""
    duck, table = sides.duck, f"promoted_{request.param}"
    columns = [(number, shape) for number in range(len(PAIRS)) for shape in SHAPES]
    defined = ", ".join(f"{_name(number, shape)} {_shaped(PAIRS[number][0], shape)}" for number, shape in columns)
    duck.execute(f"CREATE TABLE {table} (id INTEGER, {defined})")
    duck.execute(f"CALL lake.set_option('data_inlining_row_limit', {request.param}, table_name => '{table}')")
    values = [_values(duck, *pair) for pair in PAIRS]

    def fill(start: int, side: int) -> None:
        rows = []
        for row in range(max(len(known) for known in values)):
            cells = [str(start + row)]
            for number, shape in columns:
                value = values[number][row] if row < len(values[number]) else None
                leaf = duck_value(PAIRS[number][0], value)
                if side == 1:
                    leaf = f"CAST({leaf} AS {PAIRS[number][1].duck})"
                cells.append(leaf if shape == "column" else f"{{'f': {leaf}, 'g': 1}}")
            rows.append(f"({', '.join(cells)})")
        duck.execute(f"INSERT INTO {table} VALUES {', '.join(rows)}")

    fill(0, 0)
    done = set()
    for number, shape in columns:
        try:
            duck.execute(f"ALTER TABLE {table} ALTER {_name(number, shape)} SET DATA TYPE {_shaped(PAIRS[number][1], shape)}")
            done.add((number, shape))
        except duckdb.Error:
            continue
    fill(100, 1)
    return done, *_read_both(sides, table, sorted(done))


def _read_both(sides: Both, table: str, columns: Sequence[tuple[int, str]]) -> tuple[Any, Any]:
    def read(leaf: Any, rows: Any) -> Any:
        def some(part: Sequence[Any]) -> Any:
            texts = ", ".join(f"{leaf(PAIRS[n][1], shape, _name(n, shape))} AS v{i}" for i, (n, shape) in enumerate(part))
            found = rows(f"SELECT id, {texts} FROM {table} ORDER BY id")
            return {key: [canonical(PAIRS[key[0]][1], row[i]) for row in found] for i, key in enumerate(part, 1)}

        return each(columns, some)

    theirs = read(duck_leaf, lambda query: sides.duck.execute(query).fetchall())
    return theirs, read(spark_leaf, lambda query: sides.session.execute(query).fetch())


IDS = [f"{old.stored}->{new.stored}" for old, new in PAIRS]


@pytest.mark.parametrize("number", range(len(PAIRS)), ids=IDS)
def test_rows_from_before_a_promotion_by_duckdb_read_the_same(promoted: Any, number: int) -> None:
    done, theirs, ours = promoted
    for shape in SHAPES:
        if (number, shape) in done and not isinstance(theirs[number, shape], Exception):
            assert ours[number, shape] == theirs[number, shape], shape


@pytest.fixture(scope="module")
def promoted_by_us(sides: Both) -> tuple[Any, Any, Any]:
    """The same by our own statements: the errors, and what both sides read."""
    session, table = sides.session, "promoted_by_us"
    columns = [(n, shape) for n, (old, new) in enumerate(PAIRS) if can_promote(old.stored, new.stored) for shape in SHAPES]
    defined = ", ".join(f"{_name(n, shape)} {our_type(PAIRS[n][0], shape)}" for n, shape in columns)
    session.execute(f"CREATE TABLE {table} (id INT, {defined})")
    source = f"CREATE TABLE {table}_source (id INTEGER, {', '.join(f'{_name(n, s)} {_shaped(PAIRS[n][0], s)}' for n, s in columns)})"
    sides.duck.execute(source)
    values = {n: _values(sides.duck, *PAIRS[n]) for n, _ in columns}
    for row in range(max(len(known) for known in values.values())):
        leaves = [(duck_value(PAIRS[n][0], values[n][row] if row < len(values[n]) else None), shape) for n, shape in columns]
        cells = ", ".join(leaf if shape == "column" else f"{{'f': {leaf}, 'g': 1}}" for leaf, shape in leaves)
        sides.duck.execute(f"INSERT INTO {table}_source VALUES ({row}, {cells})")
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


@pytest.mark.parametrize("number", range(len(PAIRS)), ids=IDS)
def test_rows_from_before_a_promotion_by_us_read_the_same(promoted_by_us: Any, number: int) -> None:
    errors, theirs, ours = promoted_by_us
    for shape in SHAPES:
        if (number, shape) in theirs:
            assert (number, shape) not in errors
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
    ("ALTER TABLE t ALTER COLUMN s.x SET DATA TYPE BIGINT", "ALTER TABLE t ALTER COLUMN s.x TYPE BIGINT"),
    ("ALTER TABLE t DROP COLUMN s.y", None),
    ("ALTER TABLE t ADD COLUMN s.y {text}", None),
    ("ALTER TABLE t RENAME COLUMN b TO c", None),
    ("ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 7", None),
    ("ALTER TABLE t RENAME s.z TO w", "ALTER TABLE t RENAME COLUMN s.z TO w"),
    ("ALTER TABLE t ALTER b SET DATA TYPE BIGINT", "ALTER TABLE t ALTER COLUMN b TYPE BIGINT"),
    ("DELETE FROM t WHERE id % 5 = 0", None),
    ("UPDATE t SET a = 'last' WHERE id % 4 = 0", None),
)


@pytest.mark.parametrize("limit", [0, 1000], ids=["files", "inlined"])
@pytest.mark.parametrize("side", ["duckdb", "ours"])
def test_every_generation_is_read_at_every_snapshot(both: Both, side: str, limit: int, tmp_path: Path) -> None:
    both.duckdb("CREATE TABLE t (id INTEGER, a INTEGER, s STRUCT(x INTEGER, y VARCHAR))")
    both.duckdb(f"CALL lake.set_option('data_inlining_row_limit', {limit}, table_name => 't')")
    for step, (theirs, ours) in enumerate(HISTORY):
        statement = theirs if side == "duckdb" or ours is None else ours
        names = {"text": "VARCHAR", "start_struct": "{'x': i, 'y': 'y'}", "range": f"range({step * 10}, {step * 10 + 6}) r(i)"}
        if side == "ours":
            names |= {"text": "STRING", "start_struct": "named_struct('x', i, 'y', 'y')"}
        for name, text in names.items():
            statement = statement.replace("{" + name + "}", text)
        (both.duckdb if side == "duckdb" else both.spark)(statement)
    both.check_history("t")
