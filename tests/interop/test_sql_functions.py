"""SQL functions that we store in a lake: DuckDB opens the lake, changes it, and keeps the functions."""

from __future__ import annotations

from tests.catalogs import CatalogUnderTest
from tests.interop.conftest import Both
from tests.interop.oracle import connect


def test_duckdb_works_on_a_lake_with_functions(both: Both, catalog: CatalogUnderTest) -> None:
    both.spark("CREATE SCHEMA s")
    both.spark("CREATE FUNCTION s.plus (x INT) RETURNS INT RETURN x + 1")
    both.duckdb("CREATE TABLE s.t AS SELECT 7 AS c")
    both.duckdb("CREATE MACRO s.twice(a) AS a * 2")
    both.spark("CREATE VIEW s.v AS SELECT s.plus(c) AS d FROM s.t")
    assert both.session.execute("SELECT d FROM s.v").fetch() == [(8,)]
    with connect(catalog) as connection:
        assert connection.execute("SELECT lake.s.twice(c) FROM lake.s.t").fetchall() == [(14,)]
        changes = connection.execute("SELECT changes FROM ducklake_snapshots('lake') WHERE snapshot_id = 2").fetchall()
        assert changes == [({},)]
    both.duckdb("DROP SCHEMA s CASCADE")
    both.spark("CREATE SCHEMA s")
    both.spark("CREATE FUNCTION s.plus (x INT) RETURNS INT RETURN x + 2")
    assert both.session.execute("SELECT s.plus(1)").fetch() == [(3,)]
