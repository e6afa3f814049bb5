"""Sessions with concurrent writers: names are resolved when they are used, and a commit is refused if a result has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.errors import ConflictError, StatementError
from dbt.adapters.ducklake.session import LakeSession
from tests.interop.conftest import Both


@pytest.fixture
def other(both: Both) -> Iterator[LakeSession]:
    """A second session of this adapter."""
    with both.session.lake.session() as session:
        yield session


@pytest.fixture(params=["our session", "DuckDB"])
def writer(request: pytest.FixtureRequest, both: Both, other: LakeSession) -> Callable[[str], object]:
    """A function that runs a statement of a concurrent writer."""
    return both.duckdb if request.param == "DuckDB" else other.execute


def rows(session: LakeSession, text: str) -> list[Any]:
    return sorted(tuple(row) for row in session.execute(text).fetch())


class TestTemporaryViews:
    @pytest.mark.parity
    def test_a_replay_resolves_a_view_created_before_the_transaction_again(self, both: Both, writer: Callable[[str], object]) -> None:
        session = both.session
        both.duckdb("CREATE TABLE t (id INT, day INT)")
        both.duckdb("INSERT INTO t VALUES (1, 1), (2, 2)")
        session.execute("CREATE TEMPORARY VIEW today AS SELECT id, day FROM t WHERE day = 1")
        session.begin()
        session.execute("CREATE TEMPORARY VIEW kept AS SELECT * FROM today")
        session.cache("kept")
        session.execute("DELETE FROM t WHERE day = 1")
        session.execute("INSERT INTO t SELECT * FROM kept")
        writer("INSERT INTO t VALUES (3, 1)")
        session.commit()
        assert both.rows("SELECT * FROM t") == [(1, 1), (2, 2), (3, 1)]

    def test_a_view_reads_the_current_state_of_the_transaction(self, both: Both) -> None:
        session = both.session
        both.duckdb("CREATE TABLE t (id INT)")
        session.execute("CREATE TEMPORARY VIEW all_of_t AS SELECT * FROM t")
        assert rows(session, "SELECT * FROM all_of_t") == []
        session.execute("INSERT INTO t VALUES (1)")
        assert rows(session, "SELECT * FROM all_of_t") == [(1,)]
        both.duckdb("INSERT INTO t VALUES (2)")
        assert rows(session, "SELECT * FROM all_of_t") == [(1,), (2,)]
        session.begin()
        session.execute("INSERT INTO t SELECT CAST(id AS INT) FROM range(3, 1000)")
        session.execute("CREATE TEMPORARY VIEW count_of_t AS SELECT count(*) AS n FROM all_of_t")
        assert rows(session, "SELECT * FROM count_of_t") == [(999,)]
        session.rollback()
        assert rows(session, "SELECT * FROM count_of_t") == [(2,)]
        assert rows(session, "SELECT * FROM all_of_t") == [(1,), (2,)]

    def test_a_view_follows_a_table_that_is_replaced(self, both: Both) -> None:
        session = both.session
        both.duckdb("CREATE TABLE t (id INT)")
        session.execute("CREATE TEMPORARY VIEW v (n) AS SELECT max(id) FROM t")
        session.execute("CREATE OR REPLACE TABLE t AS SELECT 7 AS id, 'a' AS name")
        assert rows(session, "SELECT n FROM v") == [(7,)]
        assert [column.name for column in session.columns(["v"])] == ["n"]
        both.duckdb("DROP TABLE t")
        with pytest.raises(Exception, match="view v is broken"):
            session.execute("SELECT * FROM v")

    def test_a_view_cannot_read_itself(self, both: Both) -> None:
        session = both.session
        session.execute("CREATE TEMPORARY VIEW v AS SELECT 1 AS a")
        with pytest.raises(Exception, match="refers to itself"):
            session.execute("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT * FROM v")
        assert rows(session, "SELECT * FROM v") == [(1,)]

    def test_names_are_resolved_in_the_schema_where_the_view_was_created(self, both: Both) -> None:
        session = both.session
        for schema in ("main", "other"):
            session.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            session.execute(f"CREATE TABLE {schema}.t AS SELECT '{schema}' AS place")
        session.execute("CREATE TEMPORARY VIEW v AS SELECT * FROM t")
        session.execute("USE other")
        assert rows(session, "SELECT * FROM v, t") == [("main", "other")]

    def test_a_view_follows_views_and_files_that_only_spark_knows(self, both: Both, tmp_path: Path) -> None:
        session = both.session
        for number in (1, 2):
            session.create_temp_view("frame", session.spark().createDataFrame([(number,)], "n int"))
            session.execute("CREATE OR REPLACE TEMPORARY VIEW over_frame AS SELECT * FROM frame")
            assert rows(session, "SELECT * FROM over_frame") == [(number,)]
        session.create_temp_view("frame", session.spark().createDataFrame([(3,)], "n int"))
        assert rows(session, "SELECT * FROM over_frame") == [(3,)]
        both.duckdb("CREATE TABLE t (id INT)")
        (tmp_path / "in").mkdir()
        both.duckdb(f"COPY (SELECT 1 AS a) TO '{tmp_path}/in/1.parquet'")
        session.execute(f"CREATE VIEW of_files AS SELECT count(*) AS n FROM parquet.`{tmp_path}/in` f, (SELECT count(*) FROM t) c")
        for number in (1, 2):
            both.duckdb(f"COPY (SELECT 1 AS a) TO '{tmp_path}/in/{number}.parquet'")
            assert rows(session, "SELECT n FROM of_files") == [(number,)]

    def test_a_view_computes_random_values_each_time(self, both: Both) -> None:
        session = both.session
        session.execute("CREATE TEMPORARY VIEW ids AS SELECT uuid() AS id FROM range(3)")
        assert not set(rows(session, "SELECT id FROM ids")) & set(rows(session, "SELECT id FROM ids"))

    def test_a_view_that_spark_creates_replaces_ours_of_the_same_name(self, both: Both, tmp_path: Path) -> None:
        session = both.session
        (tmp_path / "f.csv").write_text("7\n")
        session.execute("CREATE TEMPORARY VIEW v AS SELECT 1 AS a")
        session.execute(f"CREATE OR REPLACE TEMPORARY VIEW v USING csv OPTIONS (path '{tmp_path}/f.csv', inferSchema 'true')")
        assert rows(session, "SELECT * FROM v") == [(7,)]
        session.execute("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 2 AS a")
        assert rows(session, "SELECT * FROM v") == [(2,)]
        session.create_temp_view("v", session.spark().range(1))
        assert rows(session, "SELECT * FROM v") == [(0,)]

    def test_a_view_can_have_the_name_of_the_table_that_it_reads(self, both: Both) -> None:
        session = both.session
        both.duckdb("CREATE TABLE t (id INT)")
        both.duckdb("INSERT INTO t VALUES (1), (2)")
        session.execute("CREATE TEMPORARY VIEW older AS SELECT count(*) AS n FROM t")
        session.execute("CREATE TEMPORARY VIEW t AS SELECT * FROM t WHERE id = 1")
        assert rows(session, "SELECT * FROM t") == [(1,)]
        assert rows(session, "SELECT * FROM older") == [(2,)]

    @pytest.mark.nightly
    def test_many_views_and_functions_in_one_session(self, both: Both) -> None:
        session = both.session
        both.duckdb("CREATE TABLE t (id INT)")
        for low in range(0, 30, 10):
            both.duckdb(f"INSERT INTO t SELECT range FROM range({low}, {low + 10})")
        session.execute("CREATE FUNCTION main.newest() RETURNS INT RETURN (SELECT max(id) FROM t)")
        for number in range(80):
            assert rows(session, f"SELECT id FROM t WHERE id = {number % 30}") == [(number % 30,)]
            if number % 10 == 0:
                assert rows(session, "SELECT main.newest()") == [(29,)]
        assert session.spark().sql("SHOW VIEWS").count() < 100

    def test_an_insert_that_reads_its_table_through_a_view_is_planned_again(self, both: Both, writer: Callable[[str], object]) -> None:
        session = both.session
        both.duckdb("CREATE TABLE t (id INT)")
        both.duckdb("INSERT INTO t VALUES (1)")
        session.execute("CREATE TEMPORARY VIEW fresh AS SELECT 2 AS id WHERE 2 > (SELECT max(id) FROM t)")
        session.execute("CREATE VIEW also_fresh AS SELECT CAST(3 AS INT) AS id WHERE 3 > (SELECT max(id) FROM t)")
        for view, expected in (("fresh", 2), ("also_fresh", 3)):
            session.begin()
            session.execute(f"INSERT INTO t SELECT * FROM {view}")
            writer(f"INSERT INTO t VALUES ({expected})")
            session.commit()
            assert both.rows(f"SELECT count(*) FROM t WHERE id = {expected}") == [(1,)]


@pytest.mark.parity
class TestReplay:
    def test_a_transaction_that_read_a_row_count_depends_on_it(self, both: Both, other: LakeSession) -> None:
        both.duckdb("CREATE TABLE t (id INT, n INT)")
        session = both.session
        session.begin()
        if session.execute("UPDATE t SET n = 1 WHERE id = 7").rowcount == 0:
            session.execute("INSERT INTO t VALUES (7, 1)")
        other.begin()
        if other.execute("UPDATE t SET n = 2 WHERE id = 7").rowcount == 0:
            other.execute("INSERT INTO t VALUES (7, 2)")
        other.commit()
        with pytest.raises(ConflictError, match="a result that the caller received"):
            session.commit()
        assert both.rows("SELECT * FROM t") == [(7, 2)]

    def test_a_transaction_that_ignores_a_row_count_does_not_depend_on_it(self, both: Both, other: LakeSession) -> None:
        both.duckdb("CREATE TABLE t (id INT)")
        both.duckdb("INSERT INTO t VALUES (1)")
        both.session.begin()
        both.session.execute("UPDATE t SET id = id + 10")
        other.execute("INSERT INTO t VALUES (2)")
        both.session.commit()
        assert both.rows("SELECT * FROM t") == [(11,), (12,)]

    def test_rows_that_are_fetched_late_are_those_of_the_statement(self, both: Both, other: LakeSession) -> None:
        both.duckdb("CREATE TABLE t (id INT)")
        both.duckdb("CREATE TABLE u (id INT)")
        both.session.begin()
        result = both.session.execute("SELECT count(*) FROM t")
        both.session.execute("DELETE FROM u WHERE id = 1")
        both.session.execute("INSERT INTO t VALUES (5)")
        assert result.fetch() == [(0,)]
        other.execute("INSERT INTO u VALUES (1)")
        both.session.commit()
        assert both.rows("SELECT count(*) FROM u") == [(0,)]

    def test_a_transaction_that_read_its_table_first_depends_on_it(self, both: Both, writer: Callable[[str], object]) -> None:
        both.duckdb("CREATE TABLE t (id INT)")
        session = both.session
        session.begin()
        assert rows(session, "SELECT coalesce(max(id), 0) + 1 FROM t") == [(1,)]
        session.execute("INSERT INTO t VALUES (1)")
        writer("INSERT INTO t VALUES (1)")
        with pytest.raises(ConflictError, match="a result that the caller received"):
            session.commit()
        assert both.rows("SELECT * FROM t") == [(1,)]


class TestNamesAndSettings:
    @pytest.mark.parity
    def test_dots_in_names_do_not_confuse_two_tables(self, both: Both) -> None:
        session = both.session
        session.execute("CREATE SCHEMA `a.b`")
        session.execute("CREATE SCHEMA a")
        session.begin()
        session.execute("CREATE TABLE `a.b`.c AS SELECT 'c of a.b' AS place")
        session.execute("CREATE TABLE a.`b.c` AS SELECT 'b.c of a' AS place")
        session.commit()
        assert rows(session, "SELECT x.place, y.place FROM `a.b`.c x, a.`b.c` y") == [("c of a.b", "b.c of a")]
        assert rows(session, "SELECT * FROM a.`b.c`") == [("b.c of a",)]
        assert rows(session, "SELECT * FROM `a.b`.c") == [("c of a.b",)]

    def test_a_view_uses_the_current_time_zone(self, both: Both) -> None:
        session = both.session
        session.execute("CREATE TABLE t AS SELECT timestamp '2026-01-01 23:30:00+00:00' AS at")
        session.execute("CREATE VIEW days AS SELECT CAST(at AS DATE) AS day FROM t")
        assert [str(row[0]) for row in rows(session, "SELECT day FROM days")] == ["2026-01-01"]
        session.execute("SET TIME ZONE 'Asia/Tokyo'")
        assert [str(row[0]) for row in rows(session, "SELECT day FROM days")] == ["2026-01-02"]
        both.duckdb("SET TimeZone = 'Asia/Tokyo'")
        assert [str(row[0]) for row in both.duck.execute("SELECT day FROM days").fetchall()] == ["2026-01-02"]

    @pytest.mark.parity
    def test_a_timestamp_without_a_zone_is_in_the_sessions_zone(self, both: Both) -> None:
        session = both.session
        both.duckdb("CREATE TABLE t (id INT)")
        both.duckdb("INSERT INTO t VALUES (1)")
        zone = "Pacific/Kiritimati"  # 14 hours ahead of UTC
        both.duckdb(f"SET TimeZone = '{zone}'")
        session.execute(f"SET TIME ZONE '{zone}'")
        now = both.duck.execute("SELECT CAST(now() AS TIMESTAMP) + INTERVAL 1 SECOND").fetchone()[0]
        assert both.rows(f"SELECT * FROM t AT (TIMESTAMP => '{now}')", f"SELECT * FROM t TIMESTAMP AS OF '{now}'") == [(1,)]
        for text in (
            f"SELECT * FROM ducklake_list_files('lake', 't', snapshot_time => TIMESTAMP '{now}')",
            f"SELECT * FROM lake.table_changes('t', TIMESTAMP '2000-01-01 00:00:00', TIMESTAMP '{now}')",
        ):
            assert session.execute(text).columns

    def test_settings_of_a_node_do_not_affect_views(self, both: Both) -> None:
        session = both.session
        both.duckdb("CREATE TABLE t (id INT)")
        for low in (0, 1000):
            both.duckdb(f"INSERT INTO t SELECT range FROM range({low}, {low + 10})")
        session.execute("CREATE TEMPORARY VIEW few AS SELECT * FROM t WHERE id < 5")
        assert len(rows(session, "SELECT * FROM few")) == 5
        session.use_settings({"spark.sql.shuffle.partitions": 3})
        assert rows(session, "SELECT min(id), count(*) FROM t WHERE id >= 1000") == [(1000, 10)]
        assert len(rows(session, "SELECT * FROM few")) == 5

    def test_a_temporary_function_over_a_lake_is_refused(self, both: Both) -> None:
        both.duckdb("CREATE TABLE t (id INT)")
        with pytest.raises(StatementError, match=r"CREATE FUNCTION schema\.name"):
            both.session.execute("CREATE TEMPORARY FUNCTION newest() RETURNS INT RETURN (SELECT max(id) FROM t)")
