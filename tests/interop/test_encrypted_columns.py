"""Queries leave columns that they do not need out of encrypted files, and give the rows that they give without this."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from dbt.adapters.ducklake.run import environment
from dbt.adapters.ducklake.session import LakeSession
from dbt.adapters.ducklake.spark.read.unneeded import unneeded_columns
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from tests.catalogs import CatalogUnderTest, session_on
from tests.places import FULL_MATRIX, USUAL_DATABASES, selected_databases

SETUP = (
    "CREATE TABLE t (id INT, old STRING, st STRUCT<p: INT, q: STRING>, l ARRAY<INT>, v STRING) ",
    "INSERT INTO t SELECT id, concat('o', id), named_struct('p', id, 'q', 'q'), array(id, 7), concat('v', id % 3) FROM range(40)",
    "ALTER TABLE t RENAME COLUMN old TO `new name`",
    "ALTER TABLE t DROP COLUMN v",
    "ALTER TABLE t ADD COLUMN v STRING DEFAULT 'later'",
    "ALTER TABLE t ADD COLUMN flag BOOLEAN",
    "INSERT INTO t SELECT id, 'n', NULL, array(), IF(id % 2 = 0, NULL, 'w'), id % 3 = 0 FROM range(40, 60)",
    "DELETE FROM t WHERE id IN (3, 44)",
    "CREATE TABLE u AS SELECT id, id % 5 AS v, id * 2 AS double FROM range(30)",
    "CREATE VIEW w (first, second) AS SELECT id, v FROM t WHERE flag IS NULL",
    "CREATE VIEW twice AS SELECT a.first, b.second FROM w a JOIN w b ON a.first = b.first",
    "CREATE FUNCTION greatest_double() RETURN (SELECT max(double) FROM u)",
    "CREATE TEMPORARY VIEW tmp AS SELECT * FROM t",
)
QUERIES = {
    "SELECT sum(id) FROM t": {"t": {"id"}},
    "SELECT count(*) FROM t": {"t": set()},
    "SELECT count(*), max(v) FROM (SELECT * FROM t WHERE id > 5)": {"t": {"id", "v"}},
    "WITH a AS (SELECT * FROM t), b AS (SELECT id, v FROM a) SELECT v FROM b ORDER BY id": {"t": {"id", "v"}},
    "SELECT v FROM t WHERE v IS NOT NULL": {"t": {"v"}},
    "SELECT count(*) FROM t WHERE flag": {"t": {"flag"}},
    "SELECT `new name` FROM t": {"t": {"new name"}},
    "SELECT st.p FROM t WHERE array_contains(l, 7)": {"t": {"st", "l"}},
    "SELECT first FROM twice": {"t": {"id", "flag"}},
    "SELECT second, count(*) FROM w GROUP BY ALL": {"t": {"flag"}},
    "SELECT t.id, u.v FROM t JOIN u ON t.id = u.double": {"t": {"id"}, "u": {"v", "double"}},
    "SELECT id FROM t NATURAL JOIN (SELECT id, 'later' AS v FROM u)": {"t": {"id", "v"}, "u": {"id"}},
    "SELECT a.id, b.v FROM t a LEFT JOIN t b ON a.id = b.id + 1": {"t": {"id", "v"}},
    "SELECT id FROM t WHERE id = (SELECT max(id) FROM u WHERE u.v = 1)": {"t": {"id"}, "u": {"id", "v"}},
    "SELECT id FROM t WHERE EXISTS (SELECT * FROM u WHERE u.id = t.id)": {"t": {"id"}, "u": {"id"}},
    "SELECT id FROM t WHERE id NOT IN (SELECT double FROM u)": {"t": {"id"}, "u": {"double"}},
    "SELECT id, (SELECT max(t.id) FROM t WHERE t.id = u.id) FROM u": {"t": {"id"}, "u": {"id"}},
    "SELECT id FROM t UNION ALL SELECT v FROM u": {"t": {"id"}, "u": {"v"}},
    "SELECT id FROM t INTERSECT SELECT double FROM u": {"t": {"id"}, "u": {"double"}},
    "SELECT e FROM t LATERAL VIEW explode(l) AS e": {"t": {"l"}},
    "SELECT id, row_number() OVER (PARTITION BY v ORDER BY id) FROM t": {"t": {"id", "v"}},
    "SELECT * FROM (SELECT v, double FROM u) PIVOT (sum(double) FOR v IN (1, 2))": {"u": {"v", "double"}},
    "SELECT main.greatest_double(), count(*) FROM t": {"t": set(), "u": {"double"}},
    "SELECT rowid, v FROM t WHERE id > 50": {"t": {"id", "v"}},
    "SELECT filename IS NULL, snapshot_id FROM t": {"t": set()},
    "SELECT v FROM tmp": {"t": {"v"}},
    "FROM t |> WHERE id > 3 |> SELECT v": {"t": {"id", "v"}},
    "SELECT a.v, b.v FROM t VERSION AS OF 3 a JOIN t b ON a.id = b.id": {"t": {"id", "v"}},
    "SELECT assert_true(id >= 0), v FROM t": {"t": {"id", "v"}},
    "SELECT id FROM t WHERE rand() >= 0 LIMIT 100": {"t": {"id"}},
    "SELECT DISTINCT v FROM t": {"t": {"v"}},
    "SELECT * FROM t": {},
    "SELECT id, v FROM u WHERE double > 3": {},
}
"""Query → the columns that are read of each table, without those tables of which all are. Old files have no `v`: it is 'later'."""


COLUMNS = {"main.t": {"id", "new name", "st", "l", "v", "flag"}, "main.u": {"id", "v", "double"}}
HIDDEN = {"__c2": "new name", "__c9": "v", "__c10": "flag"}
"""Names under which a column is read from files that may have another column of its name."""


@pytest.fixture(scope="module", params=selected_databases(USUAL_DATABASES))
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, runtime: SparkRuntime) -> Iterator[LakeSession]:
    """A session on a lake that all tests share; only the last one changes its tables."""
    folder = tmp_path_factory.mktemp("columns")
    path = f"ducklake:sqlite:{folder}/lake.sqlite" if request.param == "sqlite" else request.getfixturevalue("new_postgres_url")()
    place = CatalogUnderTest(request.param, path, f"{folder}/files/")
    with session_on(place.open(runtime, encrypted=True, data_inlining_row_limit=0)) as session:
        for statement in SETUP:
            session.execute(statement)
        yield session


@pytest.fixture
def unneeded(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, frozenset[str]]]:
    """What was left out of each query."""
    found: list[Mapping[str, frozenset[str]]] = []

    def recorded(frame: Any) -> Mapping[str, frozenset[str]]:
        found.append(unneeded_columns(frame))
        return found[-1]

    monkeypatch.setattr(environment, "unneeded_columns", recorded)
    return found


def rows(session: LakeSession, query: str) -> list[str]:
    return sorted(map(repr, session.execute(query).fetch()))


def columns_read(unneeded: Mapping[str, frozenset[str]]) -> dict[str, set[str]]:
    return {table[5:]: COLUMNS[table] - {HIDDEN.get(name, name) for name in names} for table, names in unneeded.items()}


@pytest.mark.nightly  # the next tests have queries and changes that need few columns
def test_a_query_has_the_same_rows_with_fewer_columns(
    session: LakeSession, unneeded: list[Mapping[str, frozenset[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = list(QUERIES)[:: 1 if FULL_MATRIX else 4]
    results = {query: rows(session, query) for query in queries}
    found = {query: columns_read(each) for query, each in zip(queries, unneeded, strict=True)}
    monkeypatch.setattr(environment, "unneeded_columns", lambda _frame: {})
    assert results == {query: rows(session, query) for query in queries}
    assert [query for query, result in results.items() if not result] == []
    assert {query: columns for query, columns in found.items() if columns != QUERIES[query]} == {}


def test_a_query_of_which_spark_has_cached_a_part(session: LakeSession, unneeded: list[Mapping[str, frozenset[str]]]) -> None:
    """The cached rows hide that the query needs a column."""
    query = "SELECT a.v, b.double FROM u a JOIN (SELECT id, v, double FROM u) b ON a.id = b.id"
    before = rows(session, query)
    session.execute("CREATE TEMPORARY VIEW part AS SELECT id, v, double FROM u")
    session.cache("part")
    assert rows(session, query) == before
    assert unneeded[-1] == {}
    session.execute("DROP VIEW part")


def test_changes_read_only_the_columns_that_they_need(session: LakeSession, unneeded: list[Mapping[str, frozenset[str]]]) -> None:
    session.execute("MERGE INTO u USING (SELECT id, 9 AS v FROM t WHERE id < 5) s ON u.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v")
    session.execute("INSERT INTO u SELECT id, 8, 0 FROM t WHERE id > 55")
    session.execute("CREATE TABLE copy AS SELECT v, count(*) AS n FROM u GROUP BY v")
    assert [columns_read(each) for each in unneeded] == [{"t": {"id"}}, {"t": {"id"}}, {"u": {"v"}}]
    assert session.execute("SELECT n FROM copy WHERE v >= 8 ORDER BY v").fetch() == [(4,), (4,)]
