"""SQL functions that a lake stores: created, called in queries, views and row changes of any session, and dropped."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import DuckLakeError, NotFoundError, StatementError
from dbt.adapters.ducklake.session import LakeSession
from tests.catalogs import CatalogUnderTest


def value(lake: LakeSession, query: str) -> object:
    [(found,)] = lake.execute(query).fetch()
    return found


@pytest.fixture
def lake_with_function(lake: LakeSession) -> LakeSession:
    lake.execute("CREATE SCHEMA s")
    lake.execute("CREATE FUNCTION s.Twice (x INT DEFAULT 4) RETURNS INT DETERMINISTIC RETURN x * 2")
    return lake


def test_a_function_is_called_by_its_name_in_any_case(lake_with_function: LakeSession) -> None:
    assert value(lake_with_function, "SELECT s.twice(3) + `lake`.`S`.`TWICE`(1)") == 8
    assert value(lake_with_function, "SELECT lake.s.twice()") == 8
    assert value(lake_with_function, "SELECT count(*) FROM range(10) WHERE s.twice(id) > 10") == 4


def test_a_call_without_an_alias_names_its_column_alike_each_time(lake_with_function: LakeSession) -> None:
    lake_with_function.execute("CREATE VIEW v AS SELECT s.twice(3), 1 AS one")
    lake_with_function.execute("CREATE TABLE t AS SELECT s.twice(4), v.* FROM v WHERE s.twice(one) = 2")
    assert [row[0] for row in lake_with_function.execute("DESCRIBE t").fetch()] == ["s.Twice(4)", "s.Twice(3)", "one"]
    for query in ("SELECT * FROM v", "SELECT * FROM (SELECT s.twice(3), 1 AS one)", "SELECT * EXCEPT (one), one FROM v"):
        assert [column.name for column in lake_with_function.execute(query).columns] == ["s.Twice(3)", "one"]
    assert [row[0] for row in lake_with_function.execute("DESCRIBE v").fetch()] == ["s.Twice(3)", "one"]
    assert lake_with_function.execute("SELECT `s.Twice(3)` FROM v").fetch() == [(6,)]


def test_another_session_can_call_a_function(catalog: CatalogUnderTest) -> None:
    with catalog.open().session() as first:
        first.execute("CREATE FUNCTION main.plus_one (x BIGINT) RETURNS BIGINT RETURN SELECT x + 1")
        first.execute("CREATE VIEW v AS SELECT lake.main.plus_one(1) AS two")
        first.execute("CREATE TABLE t AS SELECT main.plus_one(2) AS three")
    with catalog.open().session() as second:
        assert value(second, "SELECT two FROM v") == 2
        assert value(second, "SELECT main.plus_one(three) FROM t") == 4


def test_a_function_reads_the_tables_at_the_time_of_the_call(lake_with_function: LakeSession) -> None:
    lake = lake_with_function
    lake.execute("CREATE TABLE s.t (a INT)")
    lake.execute("CREATE FUNCTION s.total () RETURNS BIGINT RETURN SELECT s.twice(CAST(sum(a) AS INT)) FROM s.t")
    lake.execute("INSERT INTO s.t VALUES (1), (2)")
    assert value(lake, "SELECT s.total()") == 6
    lake.execute("UPDATE s.t SET a = s.twice(a)")
    assert value(lake, "SELECT s.total()") == 12


def test_a_function_can_have_the_name_of_a_table_that_it_reads(lake: LakeSession) -> None:
    lake.execute("CREATE TABLE t AS SELECT 1 AS a")
    lake.execute("CREATE FUNCTION t () RETURNS BIGINT RETURN SELECT count(*) FROM t")
    assert value(lake, "SELECT main.t() FROM t") == 1


def test_functions_can_be_replaced_dropped_and_rolled_back(lake_with_function: LakeSession) -> None:
    lake = lake_with_function
    with pytest.raises(StatementError, match="already exists; write CREATE OR REPLACE FUNCTION"):
        lake.execute("CREATE FUNCTION s.twice (x INT) RETURNS INT RETURN x")
    lake.begin()
    lake.execute("CREATE OR REPLACE FUNCTION s.twice (x INT) RETURNS INT RETURN x * 3")
    assert value(lake, "SELECT s.twice(1)") == 3
    lake.rollback()
    assert value(lake, "SELECT s.twice(1)") == 2
    with pytest.raises(StatementError, match=r"not empty .*Twice"):
        lake.execute("DROP SCHEMA s")
    lake.execute("DROP FUNCTION s.TWICE")
    lake.execute("DROP FUNCTION IF EXISTS s.twice")
    with pytest.raises(NotFoundError, match=r"s\.twice"):
        lake.execute("DROP FUNCTION s.twice")
    with pytest.raises(DuckLakeError):
        lake.execute("SELECT s.twice(1)")
    lake.execute("DROP SCHEMA s")


def test_a_function_that_cannot_work_is_refused_at_creation(lake: LakeSession) -> None:
    with pytest.raises(DuckLakeError, match="no_such"):
        lake.execute("CREATE FUNCTION f (x INT) RETURNS INT RETURN no_such(x)")
    with pytest.raises(StatementError, match="RETURNS TABLE"):
        lake.execute("CREATE FUNCTION f (x INT) RETURNS TABLE (y INT) RETURN SELECT x")
    assert lake.execute("CREATE TEMPORARY FUNCTION g (x INT) RETURNS INT RETURN x").fetch() == []
    assert value(lake, "SELECT g(7)") == 7


@pytest.mark.parity
def test_the_later_of_two_transactions_that_create_a_function_wins(catalog: CatalogUnderTest) -> None:
    with catalog.open().session() as first, catalog.open().session() as second:
        first.begin()
        second.begin()
        first.execute("CREATE FUNCTION main.f () RETURNS INT RETURN 1")
        second.execute("CREATE FUNCTION main.f () RETURNS INT RETURN 2")
        second.execute("CREATE FUNCTION main.g () RETURNS INT RETURN 3")
        first.commit()
        second.commit()
        assert value(first, "SELECT main.f() * 10 + main.g()") == 23
        first.execute("DROP FUNCTION main.f")
        with pytest.raises(DuckLakeError):
            second.execute("SELECT main.f()")
