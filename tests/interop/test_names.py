"""Names as in DuckDB: only A to Z are case-insensitive, columns may be fully qualified, and views keep their tables' schemas."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import NotFoundError, StatementError
from tests.interop.conftest import Both

PAIRS = [("straße", "strasse"), ("Ä", "ä"), ("İ", "i̇"), ("ſ", "s")]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_tables_and_schemas_equal_only_by_unicode_case_folding_are_distinct(both: Both, one: str, other: str) -> None:
    for number, (side, name) in enumerate(((both.duckdb, one), (both.spark, other)), 1):
        quote = '"' if side == both.duckdb else "`"
        side(f"CREATE TABLE {quote}{name}{quote} (a INT)")
        side(f"CREATE SCHEMA {quote}{name}{quote}")
        side(f"CREATE TABLE {quote}{name}{quote}.t (a INT)")
        side(f"INSERT INTO {quote}{name}{quote} VALUES ({number}), ({number} + 10)")
        side(f"INSERT INTO {quote}{name}{quote}.t VALUES ({number} + 20)")
    for number, name in ((1, one), (2, other)):
        assert both.rows(f'SELECT a FROM "{name}"', f"SELECT a FROM `{name}`") == [(number,), (number + 10,)]
        assert both.rows(f'SELECT a FROM "{name}".t', f"SELECT a FROM `{name}`.t") == [(number + 20,)]
    both.spark(f"UPDATE `{one}` SET a = 0")
    both.spark(f"DELETE FROM `{other}` WHERE a > 10")
    assert both.rows(f'SELECT a FROM "{one}"', f"SELECT a FROM `{one}`") == [(0,), (0,)]
    assert both.rows(f'SELECT a FROM "{other}"', f"SELECT a FROM `{other}`") == [(2,)]
    both.spark(f"DROP TABLE `{one}`")
    both.spark(f"DROP SCHEMA `{one}` CASCADE")
    assert both.rows(f'SELECT a FROM "{other}"', f"SELECT a FROM `{other}`") == [(2,)]
    assert both.rows(f'SELECT a FROM "{other}".t', f"SELECT a FROM `{other}`.t") == [(22,)]


def test_columns_equal_only_by_unicode_case_folding_are_distinct(both: Both) -> None:
    both.duckdb('CREATE TABLE t ("straße" INT, strasse INT)')
    both.duckdb("INSERT INTO t SELECT range, 100 + range FROM range(50)")
    both.duckdb("INSERT INTO t SELECT 1000 + range, 2000 + range FROM range(50)")
    assert both.rows("SELECT strasse FROM t WHERE strasse = 105") == [(105,)]
    assert both.rows('SELECT count(*) FROM t WHERE "straße" < 10', "SELECT count(*) FROM t WHERE `straße` < 10") == [(10,)]
    both.spark("UPDATE t SET strasse = -1 WHERE `straße` = 7")
    assert both.rows('SELECT "straße", strasse FROM t WHERE strasse < 0', "SELECT `straße`, strasse FROM t WHERE strasse < 0") == [(7, -1)]


def test_columns_that_spark_cannot_tell_apart_are_read_and_refused_by_name(both: Both) -> None:
    both.duckdb('CREATE TABLE t ("Ä" INT, "ä" INT, b INT)')
    both.duckdb("INSERT INTO t SELECT range, 100 + range, range % 3 FROM range(50)")
    both.duckdb("DELETE FROM t WHERE b = 1")
    assert len(both.rows("SELECT * FROM t WHERE b = 2")) == 16
    with pytest.raises(StatementError, match="RENAME COLUMN gives one of them another name"):
        both.spark("SELECT `ä` FROM t")
    for statement in ("CREATE TABLE u AS SELECT * FROM t", "CREATE VIEW v AS SELECT * FROM t"):
        with pytest.raises(StatementError, match=r"ä \(Spark cannot tell it from Ä\)"):
            both.spark(statement)
    both.spark("ALTER TABLE t RENAME COLUMN `Ä` TO a")
    assert both.rows('SELECT a, "ä" FROM t WHERE "ä" = 105', "SELECT a, `ä` FROM t WHERE `ä` = 105") == [(5, 105)]
    evolving = "MERGE WITH SCHEMA EVOLUTION INTO t USING (SELECT 5 AS a, 7 AS `Ä`) AS s ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = `Ä`"
    with pytest.raises(StatementError, match="column Ä already exists in t as ä, which Spark cannot tell from it: write ä"):
        both.spark(evolving)


def test_ascii_letters_are_case_insensitive(both: Both) -> None:
    both.duckdb("CREATE TABLE Orders (Id INT)")
    both.spark("INSERT INTO ORDERS (iD) VALUES (1)")
    assert both.rows("SELECT ID FROM orders") == [(1,)]
    with pytest.raises(Exception, match="already exists"):
        both.spark("CREATE TABLE oRDERS (a INT)")


def test_a_view_joins_tables_with_the_same_name_in_two_schemas(both: Both) -> None:
    """The view's columns are found in its stored text, which qualifies every table name with its schema."""
    for schema, value in (("a", 1), ("b", 2)):
        both.spark(f"CREATE SCHEMA {schema}")
        both.spark(f"CREATE TABLE {schema}.t AS SELECT {value} AS {schema}_value, 7 AS id")
    both.spark("USE a")
    both.spark("CREATE VIEW v AS SELECT t.a_value, b.t.b_value, t.id FROM t JOIN b.t ON t.id = b.t.id")
    both.spark("CREATE VIEW own AS SELECT a_value, b_value FROM t JOIN b.t USING (id)")
    both.spark("USE main")
    assert both.session.execute("SELECT * FROM a.v").fetch() == [(1, 2, 7)]  # `t.id` is ambiguous in DuckDB
    assert both.rows("SELECT * FROM a.own") == [(1, 2)]


def test_a_view_reads_an_earlier_version_of_a_dropped_table(both: Both) -> None:
    both.spark("CREATE TABLE t AS SELECT 1 AS a")
    snapshot = both.session.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetch()[0][0]
    both.spark("DROP TABLE t")
    both.spark(f"CREATE VIEW v AS SELECT * FROM t VERSION AS OF {snapshot}")
    assert both.rows("SELECT * FROM v") == [(1,)]


def test_columns_may_be_qualified_with_more_parts_than_their_table_has_in_from(both: Both) -> None:
    both.duckdb("CREATE SCHEMA s2")
    both.duckdb("CREATE TABLE t (id BIGINT, st STRUCT(a BIGINT))")
    both.duckdb("INSERT INTO t VALUES (1, {'a': 10}), (2, {'a': 20})")
    both.duckdb("CREATE TABLE u AS SELECT range AS id FROM range(1, 4)")
    both.duckdb("CREATE TABLE s2.t AS SELECT unnest([2, 7])::BIGINT AS id")
    for query in (
        "SELECT main.t.id, lake.main.t.st.a FROM t WHERE main.t.id = 1",
        "SELECT id FROM t ORDER BY lake.main.t.id DESC LIMIT 1",
        "SELECT lake.main.t.id, count(*) FROM main.t GROUP BY lake.main.t.id",
        "SELECT main.t.id, s2.t.id FROM t JOIN s2.t ON main.t.id = lake.s2.t.id",
        "SELECT id FROM u WHERE EXISTS (SELECT 1 FROM t WHERE main.t.id = main.u.id)",
        "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM s2.t WHERE main.t.id = s2.t.id)",
    ):
        assert both.rows(query)
    for query in ("SELECT s2.t.id FROM t", "SELECT main.t.id FROM t AS t", "WITH t AS (SELECT 5 AS id) SELECT main.t.id FROM t"):
        with pytest.raises(StatementError, match="cannot be resolved"):
            both.spark(query)
    both.spark("UPDATE t SET id = main.t.id + 10 WHERE lake.main.t.id = 1")
    both.spark("MERGE INTO t USING u ON main.t.id = main.u.id + 8 WHEN MATCHED THEN UPDATE SET id = lake.main.u.id + main.t.id")
    assert both.rows("SELECT id FROM t") == [(2,), (14,)]
    both.spark("DELETE FROM t WHERE main.t.id = 14")
    assert both.rows("SELECT id FROM t") == [(2,)]


def test_assigned_columns_may_be_qualified_with_more_parts_than_their_table(both: Both) -> None:
    both.duckdb("CREATE SCHEMA s2")
    both.duckdb("CREATE TABLE t (id BIGINT, st STRUCT(a BIGINT, b BIGINT))")
    both.duckdb("INSERT INTO t VALUES (1, {'a': 10, 'b': 1}), (2, {'a': 20, 'b': 2})")
    both.duckdb("CREATE TABLE s2.t AS SELECT 7::BIGINT AS id")
    both.spark("UPDATE t SET main.t.id = id + 2, lake.main.t.st.a = 11 WHERE id = 1")
    both.spark("UPDATE main.t SET lake.main.t.st = NULL WHERE id = 2")
    both.spark(
        "MERGE INTO t USING s2.t AS s ON s.id = main.t.id + 4 WHEN MATCHED THEN UPDATE SET main.t.st.b = 5 "
        "WHEN NOT MATCHED THEN INSERT (main.t.id) VALUES (s.id)"
    )
    both.spark("MERGE INTO t USING s2.t AS s ON s.id = main.t.id WHEN NOT MATCHED THEN INSERT (lake.main.t.id) VALUES (s.id)")
    assert both.rows("SELECT id, st.a, st.b FROM t ORDER BY id") == both.rows("VALUES (2, NULL, NULL), (3, 11, 5), (7, NULL, NULL)")
    for statement in ("UPDATE t SET s2.t.id = 1", "UPDATE t AS x SET main.t.id = 1", "UPDATE t SET main.t.no = 1"):
        with pytest.raises(NotFoundError):
            both.spark(statement)


def test_current_schema_and_current_catalog_follow_use(both: Both) -> None:
    both.duckdb("CREATE SCHEMA s2")
    both.duckdb("CREATE TABLE places (a VARCHAR, b VARCHAR)")
    both.spark("CREATE VIEW place AS SELECT current_schema() AS a")
    both.spark("CREATE TEMPORARY VIEW here AS SELECT current_database() AS a")  # in Spark, a database is a schema
    for schema in ("main", "s2"):
        both.duckdb(f"USE lake.{schema}")
        both.spark(f"USE {schema}")
        query = "SELECT CURRENT_SCHEMA ( ) AS a, 'current_schema()' AS b, current_schema AS c FROM (SELECT 1 AS current_schema)"
        assert both.rows(query) == [(schema, "current_schema()", 1)]
        assert both.session.execute("SELECT * FROM main.place").fetch() == [(schema,)]
        assert both.session.execute("SELECT a, current_catalog() FROM here").fetch() == [(schema, "lake")]
        assert both.session.execute("SHOW CURRENT NAMESPACE").fetch() == [("lake", schema)]
        both.spark("INSERT INTO main.places VALUES (current_schema(), lower(current_catalog()))")
    both.spark("UPDATE main.places SET b = 'changed' WHERE a = current_schema()")
    assert both.rows("SELECT * FROM lake.main.places", "SELECT * FROM main.places") == [("main", "lake"), ("s2", "changed")]
