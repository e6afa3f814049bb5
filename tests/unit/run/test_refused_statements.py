"""Statements that are accepted nowhere: each is refused before anything is changed, without Spark, with an error that says what to do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dbt.adapters.ducklake.errors import ConfigurationError, DuckLakeError, NotFoundError, StatementError
from dbt.adapters.ducklake.session import LakeSession, connect
from dbt.adapters.ducklake.spark.session.settings import PROTECTED
from tests.duckdb_instances import open_duckdb


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LakeSession]:
    """A lake with a table t, a table with two changes, and a view v."""
    directory = tmp_path_factory.mktemp("refused")
    with connect(f"ducklake:sqlite:{directory}/lake.sqlite", f"{directory}/files/") as opened:
        for statement in ("CREATE TABLE t (a INT, name STRING)", "INSERT INTO t VALUES (1, 'x')", "INSERT INTO t VALUES (2, 'y')"):
            opened.execute(statement)
        with open_duckdb("ducklake", "sqlite_scanner") as duck:
            duck.execute(f"ATTACH 'ducklake:sqlite:{directory}/lake.sqlite' AS lake")
            duck.execute("CREATE VIEW lake.v AS SELECT a FROM lake.t")
        yield opened
        assert not opened.runtime.started


@pytest.mark.parametrize(
    ("statement", "kind", "message"),
    [
        ("CREATE TABLE `` (a INT)", StatementError, "a name cannot be empty"),
        ("CREATE TABLE new (`` INT)", StatementError, "a name cannot be empty"),
        ("CREATE TABLE new (s STRUCT<``: INT>)", StatementError, r"column 1 \(s\) has an empty name"),
        ("CREATE SCHEMA ``", StatementError, "a name cannot be empty"),
        ("ALTER TABLE t RENAME COLUMN a TO ``", StatementError, "a name cannot be empty"),
        ("CREATE TABLE new (a INT) TBLPROPERTIES ('parquet_compresion' = 'zstd')", StatementError, "write parquet_compression"),
        ("ALTER TABLE t SET TBLPROPERTIES (Target_File_Sizes = '1MB')", StatementError, "write target_file_size"),
        ("CREATE TABLE new (a INT DEFAULT 'abc')", StatementError, "default of column a, 'abc', is not a int"),
        ("CREATE TABLE new (a TINYINT DEFAULT 1000)", StatementError, "'1000', is not a tinyint"),
        ("CREATE TABLE new (a DATE DEFAULT 5)", StatementError, "'5', is not a date"),
        ("CREATE TABLE new (a ARRAY<INT> DEFAULT 'x')", StatementError, "'x', is not a array<int>"),
        ("ALTER TABLE t ADD COLUMN b BOOLEAN DEFAULT 'maybe'", StatementError, "'maybe', is not a boolean"),
        ("ALTER TABLE t ALTER COLUMN a SET DEFAULT 'x'", StatementError, "'x', is not a int"),
        ("CREATE TABLE new (a STRING) PARTITIONED BY (year(a))", StatementError, r"year\(a\) needs a date or timestamp"),
        ("ALTER TABLE t SET PARTITIONED BY (day(name))", StatementError, r"day\(name\) needs a date or timestamp"),
        ("CREATE OR REPLACE TABLE v (a INT)", StatementError, "main.v is a view, and a table can only replace a table; DROP VIEW main.v"),
        ("ALTER VIEW nope AS SELECT 1", NotFoundError, "view main.nope does not exist"),
        ("ALTER VIEW t AS SELECT 1", NotFoundError, "It is a table"),
        ("ALTER VIEW IF EXISTS nope AS SELECT 1", StatementError, "leave IF EXISTS out"),
        ("ALTER VIEW t RENAME TO u", NotFoundError, "It is a table; write ALTER TABLE"),
        ("CREATE EXTERNAL TABLE new (a INT)", StatementError, "Write CREATE TABLE; CALL ducklake_add_data_files"),
        ("CREATE DATABASE IF NOT EXISTS Information_Schema", StatementError, "choose another name"),
        ("OPTIMIZE t", StatementError, r"OPTIMIZE is not supported: CALL lake.merge_adjacent_files\('t'\)"),
        ("OPTIMIZE lake.main.t WHERE a = 1 ZORDER BY (a)", StatementError, "CHECKPOINT does both"),
        ("VACUUM main.t RETAIN 0 HOURS", StatementError, r"CALL lake.expire_snapshots\(older_than => …\)"),
        ("RESTORE TABLE t TO VERSION AS OF 1", StatementError, r"CALL lake.rollback\(version => …, table_name => 't'\)"),
        ("RESTORE t VERSION AS OF 1", StatementError, "RESTORE is not supported"),
        ("REORG TABLE t APPLY (PURGE)", StatementError, "rewrites files that lost many rows"),
        ("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS", StatementError, "leave it out: each commit stores the statistics"),
        ("refresh table `t`", StatementError, "leave it out: each statement reads the newest snapshot"),
        ("MSCK REPAIR TABLE t", StatementError, "the catalog lists all files of a table"),
        ("SHOW PARTITIONS t", StatementError, "SHOW CREATE TABLE t shows the partition keys"),
        ("SHOW PARTITIONS main.nope", NotFoundError, "main.nope does not exist"),
        ("EXPLAIN INSERT INTO t SELECT 1, 'a'", StatementError, "EXPLAIN INSERT is not supported: EXPLAIN shows the plan of a query"),
        ("EXPLAIN EXTENDED INSERT OVERWRITE TABLE lake.main.t SELECT 1, 'a'", StatementError, "EXPLAIN the query from which"),
        ("explain update t set a = 1", StatementError, "EXPLAIN UPDATE is not supported"),
        ("EXPLAIN FORMATTED DELETE FROM t", StatementError, "EXPLAIN DELETE is not supported"),
        ("EXPLAIN MERGE INTO t USING v ON t.a = v.a WHEN MATCHED THEN DELETE", StatementError, "EXPLAIN MERGE is not supported"),
        ("EXPLAIN WITH c AS (SELECT 1) INSERT INTO t SELECT *, 'a' FROM c", StatementError, "EXPLAIN INSERT is not supported"),
        ("EXPLAIN COST WITH c (x) AS (SELECT 1), d AS (TABLE v) UPDATE t SET a = 1", StatementError, "EXPLAIN UPDATE is not supported"),
        ("EXPLAIN WITH c AS (SELECT 1) DELETE FROM t WHERE a IN (TABLE c)", StatementError, "EXPLAIN DELETE is not supported"),
        ("CALL set_option('expire_older_than', '1 day', table_name => 't')", StatementError, "expire_older_than applies to the whole lake"),
        ("CALL set_option('delete_older_than', '1 day', schema => 'main')", StatementError, "delete_older_than applies to the whole"),
        ("ALTER TABLE t SET TBLPROPERTIES ('Expire_Older_Than' = '1 day')", StatementError, "expire_older_than applies to the whole"),
        ("CREATE TABLE n (a INT) TBLPROPERTIES ('require_commit_message' = true)", StatementError, "require_commit_message applies to the"),
        ("CALL lake.expire_snapshots()", StatementError, "needs versions .* or older_than"),
        ("CALL lake.expire_snapshots(dry_run => true)", StatementError, "the option expire_older_than is not set"),
        ("CALL lake.add_data_files('t', [])", StatementError, "needs a table_name, and files"),
        ("CALL lake.add_data_files('t')", StatementError, "needs files"),
        ("CALL lake.table_changes('t', 3, 2)", StatementError, "from 3 to 2, which is before it; swap"),
        ("CALL lake.table_changes('t', TIMESTAMP '2030-01-01', TIMESTAMP '2020-01-01')", StatementError, "swap the two bounds"),
    ],
)
def test_a_wrong_statement_is_refused(session: LakeSession, statement: str, kind: type[DuckLakeError], message: str) -> None:
    before = session.execute("CALL lake.current_snapshot()").fetch()
    with pytest.raises(kind, match=message):
        session.execute(statement)
    assert session.execute("CALL lake.current_snapshot()").fetch() == before


@pytest.mark.parametrize("key", sorted(PROTECTED))
@pytest.mark.parametrize("statement", ["SET {}=no", "set `{}` = 7", "RESET {}"])
def test_a_setting_that_a_profile_cannot_have_is_refused_in_sql_too(session: LakeSession, key: str, statement: str) -> None:
    with pytest.raises(ConfigurationError, match="Leave it out"):
        session.execute(statement.format(key))


def test_a_checkpoint_expires_nothing_without_an_age(session: LakeSession) -> None:
    outcomes = {row[0]: row[2] for row in session.execute("CHECKPOINT").fetch()}
    assert outcomes["expire_snapshots"] == "EXPIRE SNAPSHOTS: the option expire_older_than is not set"
    session.execute("CALL lake.set_option('expire_older_than', '100 days')")
    assert "EXPIRE SNAPSHOTS: 0 expired" in {row[2] for row in session.execute("CHECKPOINT").fetch()}


def test_a_seed_needs_names(session: LakeSession) -> None:
    with pytest.raises(StatementError, match=r"column 2 \(without a name\) has an empty name"):
        session.load_seed("main", "new", [("a", "int"), ("", "int")], [(1, 2)])
    with pytest.raises(StatementError, match=r"column 1 \(without a name\) has an empty name"):
        session.load_seed("main", "new", [("", "int"), ("", "int")], [(1, 2)])
    with pytest.raises(StatementError, match="the name of a table or view cannot be empty"):
        session.load_seed("main", "", [("a", "int")], [(1,)])


def test_defaults_that_fit_and_properties_of_ones_own_are_kept(session: LakeSession) -> None:
    session.execute(
        "CREATE TABLE fitting (a INT DEFAULT '5', b DECIMAL(10, 1) DEFAULT 1.25, c STRING DEFAULT 5, d TIMESTAMP DEFAULT current_timestamp(), "
        "e BOOLEAN DEFAULT true, f INT DEFAULT NULL, g INT DEFAULT 7) TBLPROPERTIES ('team' = 'blue', 'version' = '3')"
    )
    session.execute("INSERT INTO fitting (g) VALUES (1)")
    shown = {row[0]: row[1] for row in session.execute("SHOW TBLPROPERTIES fitting").fetch()}
    assert shown == {"team": "blue", "version": "3"}
