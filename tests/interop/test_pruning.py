"""Scans skip files by the statement's conditions but lose no row: DuckDB's files and ours, compared with full scans."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.ducklake.plan import resolve
from dbt.adapters.ducklake.plan.conditions import ColumnsOf, Conditions, RowCondition
from dbt.adapters.ducklake.plan.constants import constant
from dbt.adapters.ducklake.plan.selects import parsed
from dbt.adapters.ducklake.plan.view import Settings
from dbt.adapters.ducklake.run.result import Result
from dbt.adapters.ducklake.spark.read import local
from dbt.adapters.ducklake.sql.values import Sql
from tests.interop.conftest import Both, comparable_rows
from tests.places import nightly

SEED = random.SystemRandom().randrange(10**9)

VALUES: dict[str, list[str]] = {
    "i INT": ["-2147483648", "2147483647", "-1", "0", "1", "7", "NULL"],
    "n BIGINT": ["-9223372036854775808", "9007199254740993", "0", "12", "NULL"],
    "d DECIMAL(10, 2)": ["-99999999.99", "0.00", "1.50", "-0.01", "NULL"],
    "f DOUBLE": ["'NaN'::DOUBLE", "'inf'::DOUBLE", "'-inf'::DOUBLE", "-0.0::DOUBLE", "0.0", "1.5", "1e300", "5e-324", "NULL"],
    "r FLOAT": ["'NaN'::FLOAT", "-0.0::FLOAT", "0.1::FLOAT", "1.4e-45::FLOAT", "3e38::FLOAT", "NULL"],
    "s VARCHAR": ["''", "'a'", "'ab'", "'B'", "'ä'", "repeat('a', 300)", "repeat('a', 299) || 'ÿ'", "'zz'", "NULL"],
    "b BOOLEAN": ["true", "false", "NULL"],
    "y DATE": ["'0001-01-01'", "'2024-02-29'", "'2024-03-01'", "'9999-12-31'", "NULL"],
    "t TIMESTAMP": ["'2024-02-29 23:59:59.999999'", "'2024-03-01'", "'1969-12-31 12:00:00'", "NULL"],
    "z TIMESTAMPTZ": ["'2024-02-29 23:59:59.999999+00'", "'2024-03-01 00:00:00+00'", "'2024-03-31 01:30:00+00'", "NULL"],
}
CONDITIONS = {
    "i": ["i = {0}", "i > 0", "i IN (1, 7)", "i <> 1", "i < 0.5", "i IS NULL", "i BETWEEN -5 AND 5", "i = 7 OR i IS NULL"],
    "n": ["n = 9007199254740993", "n >= 12", "n < 12L", "NOT n = 0"],
    "d": ["d = 1.5", "d > 0.005", "d <= -0.01", "d <> 0"],
    "f": ["f = 0.0", "f > 1.5", "f >= 1e300", "f < 0", "f <= 1.5", "f IS NOT NULL", "f = 1.5 OR f > 2"],
    "r": ["r = 0.0", "r >= 0.1", "r < 0.2", "r > 0"],
    "s": ["s = ''", "s LIKE 'a%'", "s >= 'aa'", "s < 'ab'", "s > 'zz'", "s IN ('ä', 'B')", "s IS NULL"],
    "b": ["b", "NOT b", "b = true", "b IS NULL"],
    "y": [
        "y = '2024-02-29'",
        "y < DATE'2024-03-01'",
        "y > '2024-03-01'",
        "y >= TIMESTAMP'2024-02-29 10:00:00'",
        "y <= DATE'2024-03-31' - INTERVAL 1 MONTH",
    ],
    "t": [
        "t >= '2024-03-01'",
        "t < TIMESTAMP'2024-03-01 00:00:00'",
        "t = '2024-02-29 23:59:59.999999'",
        "t > DATE'2024-02-29'",
        "t >= CAST(trunc(DATE'2024-03-09', 'MONTH') AS TIMESTAMP)",
    ],
    "z": [
        "z >= '2024-03-01'",
        "z < TIMESTAMP'2024-03-31 01:30:00'",
        "z = '2024-03-01 00:00:00+00:00'",
        "z > DATE'2024-03-01'",
        "z < CAST(DATE'2024-02-29' + INTERVAL 1 DAY AS TIMESTAMP)",
    ],
}


def files(both: Both, query: str) -> list[str]:
    """Return how many files a query reads from each table."""
    return [str(each).split(": ")[1] for each in both.session.execute(query).files]


def is_pruned(result: Result) -> bool:
    """Whether the scan of the only table leaves out files."""
    return result.files[0].read < result.files[0].total


def filled(both: Both, rng: random.Random) -> None:
    """Fill a table t with a dozen small files of both writers, some with deleted rows, and a file without values."""
    both.duckdb(f"CREATE TABLE t (id INT, {', '.join(VALUES)})")
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0, table_name => 't')")
    for number in range(6):
        rows = [[rng.choice(values) for values in VALUES.values()] for _ in range(rng.choice([1, 1, 2, 4]))]
        listed = ", ".join(f"({10 * number + index}, {', '.join(row)})" for index, row in enumerate(rows))
        both.duckdb(f"INSERT INTO t VALUES {listed}")
        both.spark(f"INSERT INTO t SELECT 1000 + id, * EXCEPT (id) FROM t WHERE id BETWEEN {10 * number} AND {10 * number + 9}")
    both.duckdb("INSERT INTO t (id) VALUES (1)")
    both.duckdb("DELETE FROM t WHERE id % 10 = 1")


@pytest.mark.parametrize("zone", ["America/St_Johns", *nightly("UTC")])
def test_every_row_is_found_in_files_of_both_writers(both: Both, zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(SEED)
    filled(both, rng)
    session = both.session
    session.execute(f"SET TIME ZONE '{zone}'")
    conditions = [text.format(rng.choice([-1, 0, 7])) for texts in CONDITIONS.values() for text in texts]
    conditions += [f"{a} AND {b}" for a, b in zip(rng.sample(conditions, 6), rng.sample(conditions, 6), strict=True)]
    pruned = {text: result for text in conditions if is_pruned(result := session.execute(f"SELECT * FROM t WHERE {text}"))}
    assert len(pruned) > 15, f"seed {SEED}"
    chosen = rng.sample(sorted(pruned), 16)
    monkeypatch.setattr(Settings, "can_prune", property(lambda _: False))
    everything = session.execute(f"SELECT *, {', '.join(f'({text}) IS TRUE' for text in chosen)} FROM t")
    assert not is_pruned(everything)
    rows = everything.fetch()
    for number, condition in enumerate(chosen, 1 + len(VALUES)):
        wanted = [row[: 1 + len(VALUES)] for row in rows if row[number]]
        assert comparable_rows(pruned[condition].fetch()) == comparable_rows(wanted), f"seed {SEED}: {condition}"


COLUMNS = "id, " + ", ".join(each.split()[0] for each in VALUES)
WRAPPERS = [
    "(SELECT * FROM {x})",
    "(SELECT * FROM {x} ORDER BY i)",
    "(SELECT DISTINCT * FROM {x})",
    "(SELECT * FROM {x} WHERE {c})",
    f"(SELECT {COLUMNS.replace('id, i,', 'i AS id, id AS i,')} FROM {{x}})",
    f"(SELECT {COLUMNS.replace(' s,', ' upper(s) AS s,')} FROM {{x}})",
    f"(SELECT {COLUMNS.replace(' y,', ' CAST(y AS DATE) AS y,').replace(' i,', ' try_cast(i AS INT) i,')} FROM {{x}})",
    "(SELECT q.* FROM {x} q LEFT JOIN (SELECT id + 1000L AS k FROM t) p ON q.id = k WHERE {c})",
    "(SELECT q.* FROM t p LEFT JOIN {x} q ON q.id = p.id + 1000L)",
    "(SELECT q.* FROM t p FULL JOIN {x} q ON q.id = p.id AND q.b)",
    "(SELECT q.* FROM {x} q LEFT SEMI JOIN (SELECT * FROM {x} WHERE {c}) p ON q.id = p.id + 1000L)",
    "(SELECT q.* FROM {x} q LEFT ANTI JOIN (SELECT * FROM {x}) p ON q.id = p.id + 1000L)",
    "(WITH q AS (SELECT * FROM {x}), p AS (SELECT * FROM q WHERE {c}) SELECT * FROM p)",
    "(WITH q AS (SELECT * FROM {x}) SELECT * FROM q WHERE {c} UNION ALL SELECT * FROM q)",
    "(WITH q AS (SELECT * FROM {x}) SELECT * FROM q WHERE {c} AND id IN (SELECT id FROM q))",
    f"(SELECT * FROM {{x}} ORDER BY {COLUMNS} LIMIT 7)",
    f"(SELECT * EXCEPT (k) FROM (SELECT *, row_number() OVER (ORDER BY {COLUMNS}) AS k FROM {{x}}) WHERE k % 3 > 0)",
    f"(SELECT {COLUMNS.replace(' i,', ' max(i) AS i,')} FROM {{x}} GROUP BY {COLUMNS.replace(' i,', '')})",
]
"""Queries with the columns of `{x}`, which they may filter."""


def test_every_row_is_found_through_queries_and_views(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(SEED)
    filled(both, rng)
    for number in range(3):
        view = rng.choice(WRAPPERS).format(x=f"v{number - 1}" if number else "t", c="n > 0")
        both.session.execute(f"CREATE VIEW v{number} AS SELECT * FROM {view}")
    conditions = ["id < 30", "id > 1020", "id BETWEEN 20 AND 1010", "id IN (10, 1030)", "id >= 40 AND i > 0", "i > 1010", *CONDITIONS["y"]]
    found: dict[str, Result] = {}
    for number in range(30):
        query = rng.choice(["t", "t", "t", "v2"])
        for _ in range(rng.choice([1, 2, 3])):
            query = WRAPPERS[number % len(WRAPPERS)].format(x=query, c=rng.choice(conditions))
            number = rng.randrange(len(WRAPPERS))
        text = f"SELECT * FROM {query} WHERE {rng.choice(conditions)}"
        found[text] = both.session.execute(text)
    pruned = [text for text, result in found.items() if any(each.read < each.total for each in result.files)]
    assert len(pruned) > 5, f"seed {SEED}"
    rows = {text: found[text].fetch() for text in pruned}
    monkeypatch.setattr(Settings, "can_prune", property(lambda _: False))
    for text in pruned:
        assert comparable_rows(rows[text]) == comparable_rows(both.session.execute(text).fetch()), f"seed {SEED}: {text}"


def test_conditions_on_queries_prune_the_files_of_their_tables(both: Both) -> None:
    both.duckdb("CREATE TABLE orders (id INT, day DATE, amount INT)")
    both.duckdb("CREATE TABLE customers (id INT, name VARCHAR)")
    both.duckdb("INSERT INTO customers SELECT i, 'c' || i FROM range(20) r (i)")
    both.duckdb("ALTER TABLE orders SET PARTITIONED BY (day)")
    both.duckdb("INSERT INTO orders SELECT i, current_date - 10 * (i % 10)::INT, i FROM range(100) r (i)")
    both.spark("CREATE VIEW staged AS SELECT id AS order_id, CAST(day AS DATE) AS order_day, amount FROM orders")
    both.spark("CREATE VIEW marts AS WITH staged AS (SELECT * FROM staged) SELECT *, amount * 2 AS twice FROM staged")
    imports = "WITH orders AS (SELECT * FROM lake.main.orders), customers AS (SELECT * FROM lake.main.customers), "
    joined = "joined AS (SELECT orders.*, name FROM orders LEFT JOIN customers ON orders.id = customers.id) "
    day = both.rows("SELECT CAST(max(day) - 20 AS VARCHAR) FROM orders", "SELECT CAST(max(day) - 20 AS STRING) FROM orders")[0][0]
    for query, read in (
        (f"{imports}{joined}SELECT id FROM joined WHERE day > '{day}'", 2),
        (f"{imports}{joined}SELECT id FROM joined WHERE day > date_add('{day}', 0)", 2),
        (f"SELECT id FROM (SELECT * FROM orders) WHERE day > DATE'{day}' + INTERVAL 1 DAY", 2),
        ("SELECT id FROM orders WHERE day >= current_date - INTERVAL 15 DAYS", 2),
        (f"SELECT order_id FROM staged WHERE order_day > to_date('{day}')", 2),
        (f"WITH m AS (SELECT * FROM marts) SELECT order_id FROM m WHERE order_day > '{day}'", 2),
    ):
        result = both.session.execute(query)
        assert (result.files[0].read, result.files[0].total, len(result.fetch())) == (read, 10, 20), query
    both.spark(f"CREATE TEMPORARY VIEW recent AS SELECT * FROM staged WHERE order_day > '{day}'")
    assert both.session.execute("SELECT count(*) FROM recent WHERE order_day <= current_date()").fetch() == [(20,)]
    assert files(both, f"SELECT * FROM recent WHERE order_day <= '{day}'") == ["0 of 10 files"]


def test_settings_without_pruning_look_for_no_conditions(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    both.spark("CREATE TABLE t (id INT)")
    both.spark("CREATE VIEW v AS SELECT * FROM t")
    monkeypatch.setattr(Settings, "can_prune", property(lambda _: False))
    monkeypatch.setattr(Conditions, "on", lambda _self, reference: pytest.fail(f"{reference} has no need of conditions"))
    assert both.session.execute("SELECT id FROM v WHERE id = 1").fetch() == []


def test_views_with_many_paths_are_not_resolved_for_each_path(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    both.spark("CREATE TABLE t (id INT, b BOOLEAN)")
    both.spark("CREATE VIEW v0 AS SELECT * FROM t")
    both.spark("CREATE VIEW w0 AS SELECT * FROM t")
    for level in range(1, 6):
        for number, name in enumerate("vw"):
            joined = f"v{level - 1} x JOIN w{level - 1} y ON x.id = y.id"
            both.spark(f"CREATE VIEW {name}{level} AS SELECT x.id, y.b FROM {joined} WHERE x.id > {number} AND y.b AND y.id > -{level}")
    resolved: list[str] = []

    def counting(self: Conditions, sql: Sql, columns_of: ColumnsOf, outer: tuple[RowCondition, ...] = ()) -> None:
        resolved.append(sql.text)
        original(self, sql, columns_of, outer)

    original = Conditions.__init__
    monkeypatch.setattr(Conditions, "__init__", counting)
    monkeypatch.setattr(resolve, "MAX_VIEWS_WITH_CONDITIONS", 4)
    both.session.execute("EXPLAIN SELECT * FROM v5 WHERE id = 3")
    assert len(resolved) < 4 + 2 * 12  # those with conditions, each view once without, and those begun before the limit


TIMES = [
    *("DATE'2024-01-31' + INTERVAL 1 MONTH", "DATE'2024-03-01' - INTERVAL 1 WEEK", "INTERVAL '2' DAYS + DATE'2024-01-31'"),
    *("DATE'2024-03-01' - 1", "DATE'2024-03-01' - INTERVAL 1 YEAR", "to_date('2024-02-28')", "DATE'1994-12-31' + INTERVAL 1 DAY"),
    *("date_sub(DATE'2024-03-01', 1)", "date_add('2024-02-28', 2)", "add_months(DATE'2024-03-31', -1)", "add_months('2024-12-31', 14)"),
    *("trunc(DATE'2024-05-16', 'QUARTER')", "trunc('2024-05-16', 'MM')", "trunc(DATE'2024-03-03', 'week')"),
    *("CAST(DATE'2024-03-01' - 1 AS TIMESTAMP)", "CAST(date_sub(DATE'2018-11-05', 1) AS TIMESTAMP_NTZ)"),
    *("current_date - INTERVAL 1 MONTH", "CAST(now() AS DATE) - 7", "current_timestamp() - INTERVAL 36 HOURS", "curdate()"),
    *("date_trunc('DAY', now())", "date_trunc('quarter', current_date)", "dateadd(DAY, -1, current_date())"),
    *("timestampadd(MONTH, cast(-1 as int), now())", "trunc(current_date, 'YEAR')", "current_date + INTERVAL 3 HOURS"),
]


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", *nightly("America/Sao_Paulo", "Etc/GMT+12")])
def test_times_computed_without_spark_are_those_of_spark(both: Both, zone: str) -> None:
    kinds = {"date": "date", "timestamp": "instant", "timestamp_ntz": "wall clock"}
    texts = ", ".join(f"typeof({each}), CAST({each} AS STRING)" for each in TIMES)
    both.session.execute(f"SET TIME ZONE '{zone}'")
    row = both.session.execute(f"SELECT {texts}").fetch()[0]
    for text, type_, expected in zip(TIMES, row[::2], row[1::2], strict=True):
        found = constant(parsed(text), text)
        assert found is not None, text
        assert found.kind == kinds[type_], text
        assert found.value <= expected if found.is_least else found.value == expected, text
        assert found.is_least == any(word in text for word in ("cur", "now")), text


def test_two_references_to_a_table_read_their_own_files(both: Both) -> None:
    both.duckdb("CREATE TABLE t (id INT, v VARCHAR)")
    for number in range(4):
        both.duckdb(f"INSERT INTO t SELECT {number}, 'v' || i FROM range(20) r (i)")
    query = "SELECT a.id, b.id FROM t a LEFT JOIN t b ON a.v = b.v WHERE a.id = 1 AND b.id IN (2, 3) AND a.v = 'v7'"
    assert files(both, query) == ["1 of 4 files", "2 of 4 files"]
    assert both.rows(query) == [(1, 2), (1, 3)]
    assert files(both, query) == ["1 of 4 files", "2 of 4 files"], "a second run reads the same files"
    assert files(both, "SELECT count(*) FROM t") == ["4 of 4 files"]
    assert files(both, "WITH c AS (SELECT * FROM t WHERE id > 1) SELECT * FROM c WHERE EXISTS (SELECT 1 FROM t WHERE t.id = 0)") == [
        "2 of 4 files",
        "1 of 4 files",
    ]
    both.spark("CREATE VIEW big AS SELECT * FROM t WHERE id >= 2")
    assert files(both, "SELECT * FROM big") == files(both, "SELECT * FROM big") == ["2 of 4 files"]
    both.spark("CREATE TEMPORARY VIEW few AS SELECT * FROM t WHERE id = 3")
    both.spark("INSERT INTO t VALUES (3, 'new')")
    assert both.session.execute("SELECT count(*) FROM few").fetch()[0][0] in (20, 21)


def test_explain_ends_with_the_files_that_are_read(both: Both) -> None:
    both.duckdb("CREATE TABLE t (id INT)")
    for number in range(3):
        both.duckdb(f"INSERT INTO t SELECT {number} FROM range(20)")
    text = both.session.execute("EXPLAIN SELECT * FROM t WHERE id = 1").fetch()[0][0]
    assert text.rstrip().endswith(f"lake.main.t@{both.snapshots() - 1}: 1 of 3 files")
    assert "Physical Plan" in text


def test_changes_read_only_files_that_they_may_change(both: Both) -> None:
    both.duckdb("CREATE TABLE t (id INT, day DATE, v INT)")
    both.duckdb("ALTER TABLE t SET PARTITIONED BY (day)")
    both.duckdb("INSERT INTO t SELECT i, DATE '2024-01-01' + (i % 5)::INT, 0 FROM range(100) r (i)")
    result = both.session.execute("DELETE FROM t WHERE day = DATE'2024-01-02' AND id < 50")
    assert (result.counts.deleted, str(result.files[0]).split(": ")[1]) == (10, "1 of 5 files")
    result = both.session.execute("UPDATE t AS x SET v = 1 WHERE x.day >= '2024-01-04'")
    assert (result.counts.updated, str(result.files[0]).split(": ")[1]) == (40, "2 of 5 files")
    result = both.session.execute("DELETE FROM t WHERE day = DATE'1999-01-01'")
    assert (result.counts.deleted, str(result.files[0]).split(": ")[1].split()[0]) == (0, "0")
    merge = (
        "MERGE INTO t USING (SELECT 3 AS id, 9 AS v) s ON t.id = s.id AND t.day = DATE'2024-01-03' "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)"
    )
    result = both.session.execute(merge)
    assert (result.counts.inserted, result.counts.updated) == (1, 0)
    assert result.files[0].read < result.files[0].total
    both.rows("SELECT * FROM t")
    both.check_history("t")
    with pytest.raises(Exception, match="nope"):
        both.session.execute("DELETE FROM t WHERE day = DATE'1999-01-01' AND nope = 1")


@pytest.mark.parametrize("transform", ["id", "bucket(4, id)", "year(w), month(w)"])
def test_partition_values_are_used_if_statistics_are_missing(both: Both, transform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    both.duckdb("CREATE TABLE t (id INT, w TIMESTAMP)")
    both.duckdb("INSERT INTO t SELECT 100, TIMESTAMP '2020-01-01' FROM range(20)")
    both.duckdb(f"ALTER TABLE t SET PARTITIONED BY ({transform})")
    both.duckdb("INSERT INTO t SELECT i % 8, TIMESTAMP '2024-01-15' + INTERVAL (i % 8) MONTH FROM range(80) r (i)")
    monkeypatch.setattr("dbt.adapters.ducklake.catalog.read.pruning.Pruning._by_statistics", lambda *_: set())
    query = "SELECT id, count(*) FROM t WHERE w >= '2024-03-01' AND w < '2024-05-01' AND id IN (2, 3) GROUP BY id"
    assert both.rows("SELECT id, count(*) FROM t WHERE id + 0 IN (2, 3) AND w >= '2024-03-01' GROUP BY id") == [(2, 10), (3, 10)]
    assert sorted(both.session.execute(query).fetch()) == [(2, 10), (3, 10)]
    found = both.session.execute(query).files[0]
    assert 2 <= found.read < found.total, "the file from before the partitioning is among them"


def test_nanoseconds_before_1970_are_found_by_timestamps_only(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB puts them into the year of the next microsecond. Spark reads them as strings."""
    both.duckdb("CREATE TABLE t (w TIMESTAMP_NS)")
    both.duckdb("ALTER TABLE t SET PARTITIONED BY (year(w))")
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0, table_name => 't')")
    both.duckdb("INSERT INTO t VALUES ('1969-12-31 23:59:59.9999999'), ('2024-02-03 00:00:00')")
    both.duckdb("INSERT INTO t SELECT make_timestamp_ns(1706918400000000000 + i * 3600000000000) FROM range(24) r (i)")
    assert both.session.execute("SELECT count(*) FROM t WHERE w = DATE'2024-02-03'").fetch() == [(25,)]
    monkeypatch.setattr("dbt.adapters.ducklake.catalog.read.pruning.Pruning._by_statistics", lambda *_: set())
    found = both.session.execute("SELECT count(*) FROM t WHERE w < TIMESTAMP_NTZ'1970-01-01 00:00:00'")
    assert found.fetch() == [(1,)]


@pytest.mark.parametrize("kind", ["DOUBLE", "STRUCT<x: DOUBLE>", *nightly("FLOAT")])
def test_a_negative_zero_in_a_dictionary_is_found(both: Both, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Parquet's filters by dictionary and by Bloom filter take -0.0 for another value than 0.0, which it equals in SQL."""
    monkeypatch.setattr(local, "MAX_ROWS", -1)
    value, read = ("named_struct('x', {})", "f.x") if kind.startswith("STRUCT") else ("{}", "f")
    both.spark(f"CREATE TABLE t (id INT, f {kind})")
    both.spark(f"INSERT INTO t SELECT CAST(id AS INT), {value.format('IF(id % 2 = 0, 1.5D, -0.0D)')} FROM range(2000)")
    both.duckdb("INSERT INTO t SELECT 2000 + id, f FROM t")
    for condition in (f"{read} = 0.0", f"{read} IN (0.0, 7.0)", f"{read} >= 0.0 AND {read} <= 0.0"):
        query = f"SELECT count(*) FROM t WHERE {condition}"
        assert both.session.execute(query).fetch() == [(2000,)], condition  # DuckDB 1.5 loses those of its own file by its Bloom filter


NAN = ["f > 100", "f >= 100", "f <> 1.0", "f = DOUBLE('NaN')", "NOT (f <= 100)", "r > 100"]


def test_nan_is_found_in_files_whose_bounds_leave_it_out(both: Both) -> None:
    """PyArrow leaves NaN out of the bounds of a file. Spark skips parts of files by them, and NaN is its greatest value."""
    both.spark("CREATE TABLE t AS SELECT id, CAST(id % 200 AS DOUBLE) AS f, CAST(id % 200 AS FLOAT) AS r FROM range(20000)")
    counts = [both.session.execute(f"SELECT count(*) FROM t WHERE {each} AND id NOT IN (5, 6)").fetch() for each in NAN]
    expected = [count + 1 for [(count,)] in counts]
    both.spark("BEGIN")
    both.spark("UPDATE t SET f = IF(id = 5, DOUBLE('NaN'), 1.0D), r = IF(id = 5, FLOAT('NaN'), 1.0F) WHERE id IN (5, 6)")
    assert [both.session.execute(f"SELECT count(*) FROM t WHERE {each}").fetch()[0][0] for each in NAN] == expected
    both.spark("COMMIT")
    for condition, count in zip(NAN, expected, strict=True):
        query = f"SELECT count(*) FROM t WHERE {condition}"
        if "<>" in condition:  # DuckDB loses the row of its own files, too
            assert both.session.execute(query).fetch() == [(count,)]
        else:
            assert both.rows(query.replace("DOUBLE('NaN')", "'NaN'::DOUBLE"), query) == [(count,)], condition
    newest = both.snapshots() - 1
    assert both.session.execute(f"SELECT id FROM lake.table_changes('t', {newest}, {newest}) WHERE f > 1000").fetch() == [(5,)]
    assert both.session.execute("DELETE FROM t WHERE f > 100").counts.deleted == expected[0]
    assert both.rows("SELECT count(*) FROM t") == [(20000 - expected[0],)]


def test_nan_is_found_in_added_files(both: Both, tmp_path: Path) -> None:
    """DuckDB loses this row, also if it adds the file itself."""
    both.spark("CREATE TABLE t AS SELECT id, 1.0D AS f, named_struct('f', 1.0D) AS s FROM range(20000)")
    nan = float("nan")
    pq.write_table(pa.table({"id": [20000, 20001], "f": [nan, 1.0], "s": [{"f": nan}, {"f": 1.0}]}), tmp_path / "added.parquet")
    both.spark(f"CALL ducklake_add_data_files('lake', 't', '{tmp_path}/added.parquet')")
    assert both.session.execute("SELECT id FROM t WHERE f > 100").fetch() == [(20000,)]
    assert both.session.execute("SELECT id FROM t WHERE s.f > 100").fetch() == [(20000,)]


def test_conditions_on_a_float_column_without_nan_are_pushed_down(both: Both) -> None:
    both.duckdb("CREATE TABLE t AS SELECT range AS id, 1.0::DOUBLE AS f FROM range(20000)")
    both.spark("INSERT INTO t SELECT id, 2.0D FROM range(20000)")
    assert "GreaterThan(f,1.0)" in both.session.execute("EXPLAIN SELECT id FROM t WHERE f > 1").fetch()[0][0]
