"""A column accepts the same values for each `spark.sql.ansi.enabled`. A value that does not fit is an error that names the column."""

from __future__ import annotations

import re

import pytest

from dbt.adapters.ducklake.errors import DataError, DuckLakeError, StatementError
from dbt.adapters.ducklake.session import LakeSession
from tests.places import nightly

CATALOGS = ["sqlite"]
"""The result does not depend on the catalog database."""

LARGE = "cast(3000000000 as bigint)"
WRONG = [
    ("int", LARGE, "column a: 3000000000 does not fit the type int"),
    ("smallint", "40000", "column a: 40000"),
    ("tinyint", "cast(300.5 as double)", "column a: 300.5"),
    ("bigint", "1e30", "column a: 1.0E30"),
    ("int", "double('NaN')", "column a: NaN"),
    ("int", "'5x'", "column a: 5x"),
    ("boolean", "'perhaps'", "column a: perhaps"),
    ("double", "'1,5'", "column a: 1,5"),
    ("decimal(3,1)", "cast(100 as int)", "column a: 100"),
    ("decimal(4,2)", "99.999", "column a: 99.999"),
    ("date", "'2020-13-01'", "column a: 2020-13-01"),
    ("timestamp", "'noon'", "column a: noon"),
    ("timestamp_ntz", "'2020-02-30 00:00:00'", "column a: 2020-02-30"),
    ("int", "timestamp'9999-01-01 00:00:00'", "column a: 9999-01-01"),
    ("array<int>", f"array(1, {LARGE})", "column a.element: 3000000000"),
    ("struct<x: int, y: string>", f"named_struct('p', {LARGE}, 'q', 1)", "column a.x: 3000000000"),
    ("map<string, date>", "map('k', 'soon')", "column a.value: soon"),
    ("map<int, int>", f"map({LARGE}, 1)", "column a.key: 3000000000"),
    ("array<struct<x: array<int>>>", f"array(named_struct('x', array({LARGE})))", "column a.element.x.element: 3000000000"),
]
"""Type, value, and the start of the error message."""


@pytest.fixture(params=[*nightly("true"), "false"], ids=["ansi", "not ansi"])
def session(request: pytest.FixtureRequest, lake: LakeSession) -> LakeSession:
    lake.execute(f"SET spark.sql.ansi.enabled = {request.param}")
    return lake


def outcome(session: LakeSession, statement: str) -> str:
    """Return the message of the DataError that a statement raises."""
    try:
        session.execute(statement)
    except DataError as error:
        return str(error)
    return "no error"


def test_insert_refuses_a_value_that_does_not_fit(session: LakeSession) -> None:
    for number, (kind, value, text) in enumerate(WRONG):
        session.execute(f"CREATE TABLE t{number} (id INT, a {kind})")
        assert outcome(session, f"INSERT INTO t{number} SELECT id, {value} FROM range(2)").startswith(text), (kind, value)
    counts = " UNION ALL ".join(f"SELECT count(*) FROM t{number}" for number in range(len(WRONG)))
    assert session.execute(counts).fetch() == [(0,)] * len(WRONG)


def test_a_value_of_another_type_is_an_error_of_the_statement(session: LakeSession) -> None:
    session.execute("CREATE TABLE t (id INT, s STRUCT<x: INT, y: STRING, z: INT>)")
    session.execute("CALL set_option('data_inlining_row_limit', 10)")
    for query in ("VALUES (1, named_struct('x', NULL, 'y', 'a')), (2, named_struct('x', 1, 'y', 'b'))", "SELECT 1, named_struct('x', 'a')"):
        with pytest.raises(StatementError, match="column s has the fields x, y, z, and its new value has x"):
            session.execute(f"INSERT INTO t {query}")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("map<date, int>", "map(timestamp'2020-01-01 01:00:00', 1, timestamp'2020-01-01 02:00:00', 2)"),
        ("map<decimal(5,2), int>", "map(1.001BD, 1, 1.002BD, 2)"),
        ("array<map<int, int>>", "array(map('1', 1, '01', 2))"),
    ],
)
def test_keys_that_a_cast_makes_equal_are_an_error(session: LakeSession, kind: str, value: str) -> None:
    session.execute(f"CREATE TABLE t (a {kind})")
    with pytest.raises(DuckLakeError, match=r"(?i)duplicate"):
        session.execute(f"INSERT INTO t SELECT {value} FROM range(1)")
    assert session.execute("SELECT count(*) FROM t").fetch() == [(0,)]


STATEMENTS = {
    "update": f"UPDATE t SET a = {LARGE} WHERE id = 1",
    "update of a field": f"UPDATE t SET s.x = {LARGE}",
    "merge, update": f"MERGE INTO t USING (SELECT 1 AS id, {LARGE} AS a) n ON t.id = n.id WHEN MATCHED THEN UPDATE SET a = n.a",
    "merge, insert": f"MERGE INTO t USING (SELECT 7 AS id, {LARGE} AS a) n ON t.id = n.id WHEN NOT MATCHED THEN INSERT (id, a) VALUES (id, a)",
    "merge, by source": f"MERGE INTO t USING (SELECT 7 AS id) n ON t.id = n.id WHEN NOT MATCHED BY SOURCE THEN UPDATE SET a = {LARGE}",
    "merge of a field": f"MERGE INTO t USING (SELECT 1 AS id) n ON t.id = n.id WHEN MATCHED THEN UPDATE SET s.x = {LARGE}",
    "overwrite": f"INSERT OVERWRITE t SELECT 1, {LARGE}, NULL",
    "replace": f"INSERT INTO t REPLACE WHERE id = 1 SELECT 1, {LARGE}, NULL",
    "values": "INSERT INTO t (id, a) VALUES (1, 3000000000L)",
}


def test_every_writing_statement_refuses_a_value_that_does_not_fit(session: LakeSession) -> None:
    session.execute("CREATE TABLE t (id INT, a INT, s STRUCT<x: INT>)")
    session.execute("INSERT INTO t VALUES (1, 5, named_struct('x', 6))")
    for name, statement in STATEMENTS.items():
        assert re.match(r"column (a|s\.x): 3000000000 does not fit the type int", outcome(session, statement)), name
    assert session.execute("SELECT id, a, s.x FROM t").fetch() == [(1, 5, 6)]


def test_a_check_does_not_see_an_overflowed_value(session: LakeSession) -> None:
    session.execute("CREATE TABLE t (a INT, CHECK (a < 0))")
    with pytest.raises(DataError, match="column a: 3000000000"):
        session.execute(f"INSERT INTO t SELECT {LARGE}")


def test_inlined_rows_follow_the_same_rules(session: LakeSession) -> None:
    session.execute("CREATE TABLE t (a INT)")
    session.execute("CALL set_option('data_inlining_row_limit', 10)")
    with pytest.raises(DataError, match="column a: 3000000000"):
        session.execute("INSERT INTO t VALUES (3000000000L)")
    with pytest.raises(DataError, match="column a: x"):
        session.execute("INSERT INTO t VALUES ('x')")


def test_expressions_of_the_query_follow_the_session(lake: LakeSession) -> None:
    lake.execute("SET spark.sql.ansi.enabled = false")
    lake.execute("CREATE TABLE t (a DOUBLE, b INT, c INT)")
    lake.execute("INSERT INTO t SELECT 1 / 0, cast('x' AS INT), cast(3000000000 AS INT)")
    assert lake.execute("SELECT * FROM t").fetch() == [(None, None, -1294967296)]
    lake.execute("MERGE INTO t USING (SELECT 1 AS x) ON false WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1 / 0, cast('y' AS INT))")
    assert lake.execute("SELECT count(*) FROM t WHERE a IS NULL AND b IS NULL").fetch() == [(2,)]


def test_values_that_fit_are_stored_in_both_modes(session: LakeSession) -> None:
    session.execute(
        "CREATE TABLE t (a INT, b DECIMAL(4,1), c DATE, d STRUCT<x: INT, y: ARRAY<SMALLINT>>, e MAP<STRING, INT>, f BOOLEAN, g INT, h STRING)"
    )
    session.execute(
        "INSERT INTO t SELECT ' 7 ', 99.95, '2020-02-03', named_struct('x', 8L, 'y', array(9L, NULL)), map('k', 10L, 'n', NULL), 'yes', "
        "parse_json('11')::variant, 12"
    )
    session.execute("INSERT INTO t SELECT NULL, NULL, NULL, NULL, NULL, NULL, parse_json('null'), NULL")
    found = session.execute("SELECT a, b, string(c), d.x, d.y, e['k'], e['n'], f, g, h FROM t ORDER BY a NULLS LAST").fetch()
    assert [*map(str, found[0])] == ["7", "100.0", "2020-02-03", "8", "[9, None]", "10", "None", "True", "11", "12"]
    assert found[1] == (None,) * 10


def test_types_without_an_ansi_cast_are_refused_in_both_modes(session: LakeSession) -> None:
    session.execute("CREATE TABLE t (a INT, b BOOLEAN)")
    for columns in ("date'2020-01-01', true", "1, timestamp'2020-01-01 00:00:00'", "array(1), true"):
        with pytest.raises(DuckLakeError, match="CAST"):
            session.execute(f"INSERT INTO t SELECT {columns}")


def test_a_partition_value_that_does_not_fit_deletes_no_rows(session: LakeSession) -> None:
    session.execute("CREATE TABLE t (a INT, k INT) PARTITIONED BY (k)")
    session.execute("INSERT INTO t VALUES (1, NULL), (2, 5)")
    with pytest.raises(DuckLakeError, match=r"(?i)cast|does not fit"):
        session.execute("INSERT OVERWRITE t PARTITION (k = 'x') SELECT 3 WHERE false")
    session.execute("INSERT OVERWRITE t PARTITION (k = '5') SELECT 4")
    assert session.execute("SELECT a, k FROM t ORDER BY a").fetch() == [(1, None), (4, 5)]
