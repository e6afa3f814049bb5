"""Views that are translated between DuckDB and Spark return equal values in both, also for edge values, or they are refused.

Every construct of the translation occurs in the samples. One view contains all expressions of a list, so that each engine runs few queries.
If they are not all read, the list is halved until each expression that is refused has a view of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from dbt.adapters.ducklake.errors import LakeError
from tests.interop import view_samples as samples
from tests.interop.conftest import Both, comparable

CATALOGS = ["sqlite"]


@pytest.fixture
def filled(both: Both) -> Both:
    for statement in samples.TABLES:
        both.duckdb(statement)
    return both


def alike(ours: Any, theirs: Any) -> bool:
    """Return whether two values are equal and of the same type. Floating-point numbers may differ in the last bits."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(alike, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=1e-13)
    return type(ours) is type(theirs) and ours == theirs


def rows(read: Callable[[str], Any]) -> list[tuple[Any, ...]]:
    found = [tuple(comparable(value) for value in row) for row in read("SELECT * FROM v")]
    return sorted(found, key=repr)


class ViewChecker:
    """Creates views on one side with `create`, reads them on both sides, and classifies the outcomes."""

    def __init__(self, both: Both, create: Callable[[str], None]) -> None:
        self.both = both
        self.create = create

    def query(self, query: str) -> tuple[str, Any, Any]:
        """Return (`read`, our rows, DuckDB's rows) for a query as a view. If a side cannot read it: the outcome, its reason and None."""
        try:
            self.create(f"CREATE OR REPLACE VIEW v AS {query}")
        except Exception as error:
            return "invalid", str(error), None
        try:
            ours = rows(lambda text: self.both.session.execute(text).fetch())
        except LakeError as error:
            return "refused", str(error), None
        except Exception as error:
            return "failed on our side", str(error), None
        if not self.stored_for_duckdb():
            return "refused", "not stored in DuckDB's dialect", None
        try:
            return "read", ours, rows(lambda text: self.both.duck.execute(text).fetchall())
        except Exception as error:
            return "failed in DuckDB", str(error), None

    def stored_for_duckdb(self) -> bool:
        """Return whether the view is stored in DuckDB's dialect."""
        dialect = "SELECT dialect FROM __ducklake_metadata_lake.ducklake_view WHERE view_name = 'v' AND end_snapshot IS NULL"
        return self.both.duck.execute(dialect).fetchone() == ("duckdb",)

    def translations(self, queries: Sequence[str]) -> dict[str, str]:
        """Return for each query whether its view is `translated` for DuckDB or `refused`, or why it is `invalid`."""
        found = {}
        for query in queries:
            try:
                self.create(f"CREATE OR REPLACE VIEW v AS {query}")
                found[query] = "translated" if self.stored_for_duckdb() else "refused"
            except Exception as error:
                found[query] = f"invalid: {error}"
        return found

    def queries(self, queries: Sequence[str]) -> dict[str, str]:
        """Return `equal` or the problem for each query, which has a view of its own."""
        found = {}
        for query in queries:
            outcome, ours, theirs = self.query(query)
            if outcome == "read" and (
                len(ours) != len(theirs) or not all(alike(list(a), list(b)) for a, b in zip(ours, theirs, strict=True))
            ):
                outcome, ours = "differs", f"{ours} {theirs}"
            found[query] = "equal" if outcome == "read" else f"{outcome}: {str(ours)[:400]}"
        return found

    def expressions(self, expressions: Sequence[str], key: str, tail: str) -> dict[str, str]:
        """Return `equal` or the problem for each expression. `key` identifies a row, and `tail` is the FROM clause and what follows."""
        listed = ", ".join(f"{expression} AS c{i}" for i, expression in enumerate(expressions))
        outcome, ours, theirs = self.query(f"SELECT {key}, {listed} {tail}")
        if outcome != "read" or len(ours) != len(theirs):
            if len(expressions) == 1:
                return {expressions[0]: f"{outcome}: {str(ours)[:400]}"}
            half = len(expressions) // 2
            return self.expressions(expressions[:half], key, tail) | self.expressions(expressions[half:], key, tail)
        found = {}
        for i, expression in enumerate(expressions, 1):
            wrong = [(our[0], our[i], their[i]) for our, their in zip(ours, theirs, strict=True) if not alike(our[i], their[i])]
            found[expression] = f"differs: (key, ours, theirs) {wrong[:5]}" if wrong else "equal"
        return found


def each(text: str) -> list[str]:
    return [line for line in text.split("\n") if line]


def unexpected(outcomes: dict[str, str], *expected: str) -> dict[str, str]:
    """Return the outcomes that do not start with an expected one."""
    return {query: outcome for query, outcome in outcomes.items() if not outcome.startswith(expected)}


@pytest.mark.nightly
def test_views_of_duckdb_are_read_with_its_values(filled: Both) -> None:
    checker = ViewChecker(filled, filled.duckdb)
    assert unexpected(checker.expressions(each(samples.EXPRESSIONS), "k", "FROM t"), "equal") == {}
    assert unexpected(checker.expressions(each(samples.AGGREGATES), "o", "FROM t GROUP BY o"), "equal") == {}


@pytest.mark.nightly
@pytest.mark.local_rows  # Spark would need several jobs for each query
def test_queries_of_duckdb_are_read_with_its_rows(filled: Both) -> None:
    assert unexpected(ViewChecker(filled, filled.duckdb).queries(each(samples.QUERIES)), "equal") == {}


def test_our_views_have_our_values_in_duckdb(filled: Both) -> None:
    checker = ViewChecker(filled, filled.spark)
    assert unexpected(checker.expressions(each(samples.EXPRESSIONS_OF_SPARK), "k", "FROM t"), "equal") == {}
    assert unexpected(checker.expressions(each(samples.AGGREGATES_OF_SPARK), "o", "FROM t GROUP BY o"), "equal") == {}


@pytest.mark.nightly
def test_our_queries_have_our_rows_in_duckdb(filled: Both) -> None:
    assert unexpected(ViewChecker(filled, filled.spark).queries(each(samples.QUERIES_OF_SPARK)), "equal") == {}


def test_expressions_that_differ_by_type_are_refused(filled: Both) -> None:
    checker = ViewChecker(filled, filled.duckdb)
    queries = [f"SELECT {text} AS z FROM t" for text in each(samples.REFUSED_FOR_TYPES)] + each(samples.QUERIES_REFUSED_FOR_TYPES)
    assert unexpected(checker.queries(queries), "refused") == {}
    message = checker.query("SELECT x::VARCHAR AS z FROM t")[1]
    assert "CAST(t.x AS STRING)" in message


def test_expressions_that_differ_by_type_are_not_translated_for_duckdb(filled: Both) -> None:
    checker = ViewChecker(filled, filled.spark)
    queries = [f"SELECT {text} AS z FROM t" for text in each(samples.REFUSED_FOR_TYPES_OF_SPARK)]
    assert unexpected(checker.translations(queries), "refused", "invalid") == {}


def test_casts_that_duckdb_does_not_have_are_not_translated_for_it(both: Both) -> None:
    both.duckdb("CREATE TABLE t (tm TIME, nt TIMESTAMP, z TIMESTAMPTZ, d DATE)")
    both.duckdb("INSERT INTO t VALUES ('10:00:00', '2020-06-01 01:00:00', '2020-06-01 02:00:00+00', '2020-06-01')")
    checker = ViewChecker(both, both.spark)
    casts = [f"CAST(tm AS {target})" for target in ("BIGINT", "INT", "DECIMAL(20,6)", "TIMESTAMP", "TIMESTAMP_NTZ")]
    assert unexpected(checker.translations([f"SELECT {cast} AS a FROM t" for cast in (*casts, "CAST(z AS TINYINT)")]), "refused") == {}
    both.spark("SET spark.sql.ansi.enabled = false")
    casts += [f"CAST({column} AS {target})" for column in ("z", "d") for target in ("BOOLEAN", "INT", "DOUBLE", "DECIMAL(20,6)")]
    assert unexpected(checker.translations([f"SELECT {cast} AS a FROM t" for cast in casts]), "refused") == {}
    same = "SELECT tm, CAST(d AS TIMESTAMP) AS a, CAST(d AS TIMESTAMP_NTZ) AS b, CAST(nt AS DATE) AS c, CAST(z AS DATE) AS e FROM t"
    assert checker.queries([same]) == {same: "equal"}


CLOCK_CHANGES = """('2024-10-26 22:30:00+00'), ('2024-10-27 00:30:12.5+00'), ('2024-10-27 01:30:00+00'), ('2024-10-27 12:30:00+00'),
    ('2024-03-30 00:30:00+00'), ('2024-03-31 00:30:00+00'), ('2024-03-31 12:30:00+00'), ('1880-01-01 12:00:00+00'), (NULL)"""


@pytest.fixture
def in_berlin(both: Both) -> Both:
    """Both sides in a time zone with daylight saving time, and a table of timestamps around its clock changes."""
    both.spark("SET spark.sql.session.timeZone = Europe/Berlin")
    both.duckdb("SET TimeZone = 'Europe/Berlin'")
    both.duckdb("CREATE TABLE t (z TIMESTAMPTZ)")
    both.duckdb(f"INSERT INTO t VALUES {CLOCK_CHANGES}")
    return both


def test_timestamps_are_equal_when_the_clock_changes(in_berlin: Both) -> None:
    """Spark adds 24 hours as a calendar day, so the translation treats intervals of a day or more differently from shorter ones."""
    truncation_units = ("year", "quarter", "month", "week", "day", "minute")
    moved = ("z + INTERVAL 23 HOUR", "z - INTERVAL 90 MINUTE", "z - INTERVAL 3 DAY", "z + INTERVAL 1 MONTH", "z + INTERVAL 40 SECOND")
    by_days = (
        "z + INTERVAL 24 HOUR",
        "z - INTERVAL 48 HOUR",
        "z - INTERVAL 1500 MINUTE",
        "z + INTERVAL 90000 SECOND",
        "z - INTERVAL 920 HOUR",
    )
    checker = ViewChecker(in_berlin, in_berlin.duckdb)
    expressions = [*(f"date_trunc('{unit}', z)" for unit in truncation_units), *moved, *by_days, "z + INTERVAL (year(z)) DAY"]
    assert unexpected(checker.expressions(expressions, "z", "FROM t"), "equal") == {}
    checker = ViewChecker(in_berlin, in_berlin.spark)
    expressions = [*(f"date_trunc('{unit}', z)" for unit in (*truncation_units, "hour")), *moved]
    assert unexpected(checker.expressions([*expressions, *by_days], "z", "FROM t"), "equal") == {}


def test_local_times_that_occur_twice_are_refused(in_berlin: Both) -> None:
    """When the clock is put back, Spark takes the first of the two instants and DuckDB the second one."""
    in_berlin.duckdb("CREATE TABLE l (a TIMESTAMP, s VARCHAR, d DATE)")
    in_berlin.duckdb("INSERT INTO l VALUES ('2020-10-25 02:30:00', '2020-10-25 02:30:00', '2020-10-25')")
    repeated = ("CAST(a AS TIMESTAMPTZ)", "CAST(s AS TIMESTAMPTZ)", "CAST('2020-10-25 02:30:00' AS TIMESTAMPTZ)")
    single = ("CAST(d AS TIMESTAMPTZ)", "CAST('2020-10-25 03:30:00' AS TIMESTAMPTZ)", "CAST('2020-03-29 02:30:00' AS TIMESTAMPTZ)")
    of_duckdb, of_spark = ViewChecker(in_berlin, in_berlin.duckdb), ViewChecker(in_berlin, in_berlin.spark)

    assert unexpected(of_duckdb.queries([f"SELECT {each} AS z FROM l" for each in repeated]), "refused") == {}
    assert unexpected(of_duckdb.queries([f"SELECT {each} AS z FROM l" for each in single]), "equal") == {}
    in_spark = [each.replace("TIMESTAMPTZ", "TIMESTAMP") for each in repeated]
    queries = [f"SELECT {each} AS z FROM l" for each in (*in_spark, "TIMESTAMP '2020-10-25 02:30:00'")]
    assert unexpected(of_spark.queries(queries), "refused") == {}
    in_spark = [each.replace("TIMESTAMPTZ", "TIMESTAMP") for each in single]
    queries = [f"SELECT {each} AS z FROM l" for each in (*in_spark, "TIMESTAMP '2020-10-25 03:30:00'")]
    assert unexpected(of_spark.queries(queries), "equal") == {}


def test_timestamps_in_values_are_refused_when_the_clock_changes(in_berlin: Both) -> None:
    """Spark has computed them before their plan can be checked."""
    of_duckdb, of_spark = ViewChecker(in_berlin, in_berlin.duckdb), ViewChecker(in_berlin, in_berlin.spark)
    theirs = ["SELECT a FROM (VALUES (CAST('2020-10-25 02:30:00' AS TIMESTAMPTZ)), (NULL)) AS v(a)"]
    ours = ["SELECT a FROM VALUES (TIMESTAMP '2020-10-25 02:30:00'), (NULL) AS v(a)"]
    assert unexpected({**of_duckdb.queries(theirs), **of_spark.queries(ours)}, "refused") == {}
    in_berlin.spark("SET spark.sql.session.timeZone = UTC")
    in_berlin.duckdb("SET TimeZone = 'UTC'")
    assert unexpected({**of_duckdb.queries(theirs), **of_spark.queries(ours)}, "equal") == {}


def test_hours_that_may_be_a_day_are_refused_when_the_clock_changes(in_berlin: Both) -> None:
    """Spark adds 24 hours as a calendar day, so longer intervals become shorter steps. What would need too many is refused."""
    moved = ("z + INTERVAL 921 HOUR", "z - INTERVAL 60000 MINUTE", "z + INTERVAL (year(z)) HOUR", "date_trunc('hour', z)")
    queries = [f"SELECT {expression} AS a FROM t" for expression in moved]
    assert unexpected(ViewChecker(in_berlin, in_berlin.duckdb).queries(queries), "refused") == {}
    in_berlin.spark("SET spark.sql.session.timeZone = UTC")
    in_berlin.duckdb("SET TimeZone = 'UTC'")
    assert unexpected(ViewChecker(in_berlin, in_berlin.duckdb).queries(queries), "equal") == {}
