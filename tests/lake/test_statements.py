"""The statements that `LakeSession.execute` supports, on every catalog database."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from pyspark import SparkContext

from dbt.adapters.ducklake.errors import (
    ConfigurationError,
    ConflictError,
    DataError,
    DuckLakeError,
    LakeError,
    NotFoundError,
    StatementError,
)
from dbt.adapters.ducklake.format.objects import Table
from dbt.adapters.ducklake.session import LakeSession
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from tests.catalogs import CatalogUnderTest
from tests.places import EVERY_DATABASE

CATALOGS = EVERY_DATABASE


def rows(lake: LakeSession, query: str) -> list[tuple[object, ...]]:
    return sorted(lake.execute(query).fetch(), key=repr)


@pytest.fixture
def t(lake: LakeSession) -> LakeSession:
    """A lake with a table t of three rows, created by snapshots 1 and 2."""
    lake.execute("CREATE TABLE t (id INT, name STRING)")
    lake.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    return lake


class TestQueries:
    def test_lake_tables_ctes_temporary_views_and_files_mix(self, t: LakeSession, tmp_path: Path) -> None:
        t.sql("SELECT 3 AS id, 'file' AS f").write.parquet(f"{tmp_path}/file")
        t.execute("CREATE TEMPORARY VIEW tmp AS SELECT id + 1 AS id FROM t")
        found = rows(
            t,
            f"WITH t2 AS (SELECT * FROM lake.main.t) SELECT t2.name, f.f FROM t2 JOIN tmp ON t2.id = tmp.id "
            f"JOIN parquet.`{tmp_path}/file` f ON f.id = tmp.id WHERE t2.id IN (SELECT id FROM main.t)",
        )
        assert found == [("c", "file")]

    def test_qualify_may_order_by_a_column_that_it_does_not_return(self, t: LakeSession) -> None:
        """Spark alone does not find the columns if the table is a temporary view that the query reads twice."""
        t.execute("CREATE VIEW v AS SELECT id, name, id AS at FROM t")
        t.execute("CREATE TEMPORARY VIEW tmp AS SELECT id, name, id AS at FROM t")
        for table in ("(SELECT *, id AS at FROM t)", "v", "tmp"):
            found = rows(
                t,
                f"WITH new AS (SELECT * FROM VALUES (4, 'c'), (5, 'e') AS n(at, name) WHERE at > (SELECT max(at) FROM {table})), "
                f"last AS (SELECT id, name FROM {table} QUALIFY row_number() OVER (PARTITION BY id ORDER BY at DESC) = 1) "
                "SELECT * FROM new WHERE NOT EXISTS (SELECT 1 FROM last WHERE last.name = new.name)",
            )
            assert found == [(5, "e")], table

    def test_ctes_and_temporary_views_hide_tables(self, t: LakeSession) -> None:
        assert rows(t, "WITH t AS (SELECT 9 AS x) SELECT * FROM t") == [(9,)]
        t.execute("CREATE TEMPORARY VIEW t AS SELECT 8 AS x")
        assert rows(t, "SELECT * FROM t") == [(8,)]
        assert rows(t, "SELECT count(*) FROM main.t") == [(3,)]

    @pytest.mark.parametrize(
        "clause",
        ["VERSION AS OF 1", "FOR VERSION AS OF 1", "AT (VERSION => 1)", "AT (VERSION => 1) AS old", "VERSION AS OF 1 old"],
    )
    def test_time_travel_by_version(self, t: LakeSession, clause: str) -> None:
        assert rows(t, f"SELECT count(*) FROM t {clause}") == [(0,)]

    @pytest.mark.parity
    def test_time_travel_by_timestamp(self, t: LakeSession) -> None:
        timestamp = t.catalog.latest().time.isoformat(sep=" ")
        t.execute("DELETE FROM t")
        assert rows(t, f"SELECT count(*) FROM t TIMESTAMP AS OF '{timestamp}'") == [(3,)]
        assert rows(t, f"SELECT count(*) FROM t AT (TIMESTAMP => TIMESTAMP '{timestamp}')") == [(3,)]
        with pytest.raises(NotFoundError, match="snapshot"):
            t.execute("SELECT * FROM t TIMESTAMP AS OF '1999-01-01'")

    def test_columns_can_be_qualified_by_the_full_name(self, t: LakeSession) -> None:
        assert rows(t, "SELECT lake.main.t.id FROM lake.main.t WHERE main.t.name = 'a' OR t.id = 2") == [(1,), (2,)]

    def test_views_read_the_snapshot_of_the_statement(self, t: LakeSession) -> None:
        t.execute("CREATE VIEW v (n, c) AS SELECT name, count(*) FROM t GROUP BY name")
        t.execute("CREATE VIEW w AS SELECT n FROM v WHERE c = 1")
        t.execute("INSERT INTO t VALUES (4, 'a')")
        assert rows(t, "SELECT * FROM w") == [("b",), ("c",)]
        assert rows(t, "SELECT n FROM v WHERE c = 2") == [("a",)]


class TestDefinitions:
    def test_create_table_forms(self, lake: LakeSession) -> None:
        lake.execute("CREATE TABLE a (x INT NOT NULL COMMENT 'the x', y DECIMAL(10,2) DEFAULT 1.5, z STRING) COMMENT 'the a'")
        lake.execute("CREATE TABLE IF NOT EXISTS a (q INT)")
        with pytest.raises(StatementError, match="already exists"):
            lake.execute("CREATE TABLE a (q INT)")
        lake.execute("INSERT INTO a (x) VALUES (1)")
        assert [tuple(map(str, row)) for row in rows(lake, "SELECT * FROM a")] == [("1", "1.50", "None")]
        with pytest.raises(DataError, match="x"):
            lake.execute("INSERT INTO a VALUES (NULL, 1, 'z')")
        lake.execute("CREATE OR REPLACE TABLE a (x INT)")
        assert rows(lake, "SELECT * FROM a") == []

    def test_each_file_of_a_partitioned_table_has_one_partition(self, lake: LakeSession) -> None:
        lake.execute(
            "CREATE TABLE p PARTITIONED BY (k, year(d)) AS SELECT id % 2 AS k, DATE'2020-06-01' + INTERVAL 1 YEAR * (id % 3) AS d, id FROM range(12)"
        )
        with lake.reading() as now:
            table = now.find("main", "p")
            assert len(now.scan_plan(table).files) == 6
        assert rows(lake, "SELECT count(*), sum(id) FROM p") == [(12, 66)]

    def test_drop_forms(self, t: LakeSession) -> None:
        t.execute("CREATE VIEW v AS SELECT * FROM t")
        with pytest.raises(StatementError, match="DROP VIEW"):
            t.execute("DROP TABLE v")
        t.execute("DROP VIEW v")
        t.execute("DROP VIEW IF EXISTS v")
        t.execute("DROP TABLE t")
        with pytest.raises(NotFoundError):
            t.execute("DROP TABLE t")

    def test_schemas(self, lake: LakeSession) -> None:
        lake.execute("CREATE SCHEMA s COMMENT 'the s'")
        lake.execute("CREATE SCHEMA IF NOT EXISTS lake.s")
        lake.execute("USE s")
        lake.execute("CREATE TABLE t AS SELECT 1 AS a")
        assert rows(lake, "SELECT * FROM lake.s.t") == [(1,)]
        with pytest.raises(StatementError, match="CASCADE"):
            lake.execute("DROP SCHEMA s")
        lake.execute("DROP SCHEMA s CASCADE")
        assert rows(lake, "SHOW SCHEMAS") == [("main",)]

    def test_alter_table(self, t: LakeSession) -> None:
        for statement in (
            "ALTER TABLE t ADD COLUMN d DOUBLE COMMENT 'd'",
            "ALTER TABLE t ADD COLUMNS (s STRUCT<a: INT>, e INT DEFAULT 5)",
            "ALTER TABLE t ADD COLUMN s.b STRING",
            "ALTER TABLE t ALTER COLUMN id TYPE BIGINT",
            "ALTER TABLE t RENAME COLUMN name TO nom",
            "ALTER TABLE t DROP COLUMN d",
            "ALTER TABLE t ALTER COLUMN id SET NOT NULL",
            "ALTER TABLE t ALTER COLUMN nom SET DEFAULT 'x'",
            "INSERT INTO t (id) VALUES (4)",
            "ALTER TABLE t ALTER COLUMN id DROP NOT NULL",
            "ALTER TABLE t RENAME TO u",
        ):
            t.execute(statement)
        assert rows(t, "SELECT id, nom, e, s.b FROM u") == [(1, "a", 5, None), (2, "b", 5, None), (3, "c", 5, None), (4, "x", 5, None)]
        assert rows(t, "DESCRIBE u") == [
            ("e", "int", None),
            ("id", "bigint", None),
            ("nom", "string", None),
            ("s", "struct<a:int,b:string>", None),
        ]

    def test_set_not_null_is_refused_if_there_are_nulls(self, t: LakeSession) -> None:
        t.execute("INSERT INTO t VALUES (4, NULL)")
        with pytest.raises(DataError, match="name"):
            t.execute("ALTER TABLE t ALTER COLUMN name SET NOT NULL")

    @pytest.mark.parity
    def test_comments(self, t: LakeSession) -> None:
        t.execute("COMMENT ON TABLE t IS 'the t'")
        t.execute("COMMENT ON COLUMN t.id IS 'the id'")
        t.execute("COMMENT ON SCHEMA main IS 'the main'")
        with t.reading() as now:
            table = now.find("main", "t")
            assert (table.comment, table.columns[0].comment, now.schema("main").comment) == ("the t", "the id", "the main")

    def test_show(self, t: LakeSession) -> None:
        t.execute("CREATE VIEW v AS SELECT 1 AS one")
        assert rows(t, "SHOW TABLES") == [("main", "t", False), ("main", "v", False)]
        assert rows(t, "SHOW TABLES IN lake.main LIKE 't*'") == [("main", "t", False)]
        assert rows(t, "SHOW VIEWS") == [("main", "v", False)]
        assert rows(t, "SHOW COLUMNS IN t") == [("id",), ("name",)]

    def test_show_table_extended_as_spark_packages_use_it(self, t: LakeSession) -> None:
        t.execute("CREATE VIEW v AS SELECT 1 AS one")
        table, view = rows(t, "SHOW TABLE EXTENDED IN main LIKE '*'")
        assert (table[:3], view[:3]) == (("main", "t", False), ("main", "v", False))
        assert "Type: TABLE\n" in table[3]
        assert "Provider: ducklake\n" in table[3]
        assert table[3].endswith("Schema: root\n |-- id: int (nullable = true)\n |-- name: string (nullable = true)")
        assert "Type: VIEW\n" in view[3]
        assert view[3].endswith(" |-- one: int (nullable = true)")
        assert rows(t, "SHOW TABLE EXTENDED LIKE 'x*'") == []


class TestInsert:
    def test_by_position_by_list_by_name(self, t: LakeSession) -> None:
        t.execute("TRUNCATE TABLE t")
        t.execute("INSERT INTO t SELECT 1, 'position'")
        t.execute("INSERT INTO t (name, id) VALUES ('list', 2)")
        t.execute("INSERT INTO t BY NAME SELECT 'name' AS name, 3 AS id")
        t.execute("INSERT INTO t (name) VALUES ('no id')")
        assert rows(t, "SELECT * FROM t") == [(1, "position"), (2, "list"), (3, "name"), (None, "no id")]

    def test_a_wrong_number_of_columns_is_refused(self, t: LakeSession) -> None:
        with pytest.raises(StatementError, match="2 columns"):
            t.execute("INSERT INTO t VALUES (1)")

    def test_a_value_that_does_not_fit_is_refused_and_no_row_is_written(self, t: LakeSession) -> None:
        with pytest.raises(DataError, match="column id: 99999999999 does not fit the type int"):
            t.execute("INSERT INTO t VALUES (99999999999, 'x')")
        assert rows(t, "SELECT count(*) FROM t") == [(3,)]

    def test_overwrite_the_table_and_its_partitions(self, lake: LakeSession) -> None:
        lake.execute("CREATE TABLE p PARTITIONED BY (k) AS SELECT id % 3 AS k, id FROM range(9)")
        lake.execute("INSERT OVERWRITE p PARTITION (k) SELECT 1, 100L UNION ALL SELECT NULL, 7L")
        assert rows(lake, "SELECT k, count(*) FROM p GROUP BY k") == [(0, 3), (1, 1), (2, 3), (None, 1)]
        lake.execute("INSERT OVERWRITE p PARTITION (k) SELECT CAST(NULL AS INT), 8L")
        assert rows(lake, "SELECT id FROM p WHERE k IS NULL") == [(8,)]
        lake.execute("INSERT OVERWRITE p SELECT 5, 5L")
        assert rows(lake, "SELECT * FROM p") == [(5, 5)]

    def test_replace_where(self, t: LakeSession) -> None:
        t.execute("INSERT INTO t REPLACE WHERE id >= 2 SELECT 20, 'z'")
        assert rows(t, "SELECT id FROM t") == [(1,), (20,)]


class TestUpdateAndDelete:
    def test_update_with_alias_expression_default_and_subquery(self, t: LakeSession) -> None:
        t.execute("ALTER TABLE t ALTER COLUMN name SET DEFAULT 'dflt'")
        t.execute("UPDATE t AS x SET x.name = DEFAULT, id = x.id + 10 WHERE x.id = (SELECT max(id) FROM t)")
        assert rows(t, "SELECT * FROM t") == [(1, "a"), (13, "dflt"), (2, "b")]

    def test_an_update_of_a_field_keeps_the_others(self, lake: LakeSession) -> None:
        lake.execute("CREATE TABLE s AS SELECT named_struct('a', 1, 'n', named_struct('x', 2, 'y', 3)) AS st, 1 AS id")
        lake.execute("UPDATE s SET st.n.y = 30, st.a = id + 1")
        assert rows(lake, "SELECT st.a, st.n.x, st.n.y FROM s") == [(2, 2, 30)]

    def test_delete_with_a_correlated_subquery(self, t: LakeSession) -> None:
        t.execute("CREATE TABLE gone AS SELECT 2 AS id")
        result = t.execute("DELETE FROM t WHERE EXISTS (SELECT 1 FROM gone WHERE gone.id = t.id)")
        assert (result.counts.deleted, rows(t, "SELECT id FROM t")) == (1, [(1,), (3,)])

    def test_a_statement_that_changes_no_row_creates_no_snapshot(self, t: LakeSession) -> None:
        before = t.catalog.latest().snapshot_id
        for statement in (
            "DELETE FROM t WHERE id > 100", "UPDATE t SET name = 'x' WHERE id > 100", "INSERT INTO t SELECT * FROM t WHERE false",
            "MERGE INTO t USING t s ON false WHEN MATCHED THEN DELETE", "CREATE SCHEMA IF NOT EXISTS main",
        ):  # fmt: skip
            assert t.execute(statement).snapshot is None
        assert t.catalog.latest().snapshot_id == before


class TestMerge:
    @pytest.mark.parity
    def test_every_clause(self, t: LakeSession) -> None:
        t.execute("INSERT INTO t VALUES (4, 'd'), (5, 'e')")
        result = t.execute(
            "MERGE INTO lake.main.t AS d USING (SELECT * FROM VALUES (1, 'del'), (2, 'upd'), (3, 'skip'), (8, 'ins'), (9, 'not') AS v(id, what)) AS s "
            "ON d.id = s.id "
            "WHEN MATCHED AND s.what = 'del' THEN DELETE "
            "WHEN MATCHED AND s.what = 'upd' THEN UPDATE SET d.name = concat(d.name, s.what) "
            "WHEN NOT MATCHED AND s.what = 'ins' THEN INSERT (id, name) VALUES (s.id, upper(s.what)) "
            "WHEN NOT MATCHED BY SOURCE AND d.id = 4 THEN UPDATE SET name = 'orphan' "
            "WHEN NOT MATCHED BY SOURCE AND d.id = 5 THEN DELETE"
        )
        assert (result.counts.inserted, result.counts.updated, result.counts.deleted) == (1, 2, 2)
        assert rows(t, "SELECT * FROM t") == [(2, "bupd"), (3, "c"), (4, "orphan"), (8, "INS")]

    def test_stars_match_columns_by_name(self, t: LakeSession) -> None:
        t.execute(
            "MERGE INTO t USING (SELECT 'new' AS name, 'more' AS extra, id FROM range(3, 5)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        assert rows(t, "SELECT * FROM t") == [(1, "a"), (2, "b"), (3, "new"), (4, "new")]

    def test_schema_evolution_adds_the_columns_of_the_source(self, t: LakeSession) -> None:
        t.execute(
            "MERGE WITH SCHEMA EVOLUTION INTO t USING (SELECT 3 AS id, 'x' AS name, 1.5D AS extra) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
        )
        assert rows(t, "SELECT * FROM t") == [(1, "a", None), (2, "b", None), (3, "x", 1.5)]

    def test_a_key_that_matches_twice_is_an_error(self, t: LakeSession) -> None:
        with pytest.raises(DataError, match="more than one row of the source"):
            t.execute("MERGE INTO t USING (SELECT 1 AS id UNION ALL SELECT 1) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = 'x'")
        assert rows(t, "SELECT name FROM t WHERE id = 1") == [("a",)]

    def test_the_source_is_computed_once(self, t: LakeSession) -> None:
        t.execute("CREATE TABLE u (id INT, r DOUBLE, again DOUBLE)")
        t.execute("INSERT INTO u VALUES (0, 0, 0), (1, 0, 0)")
        t.execute(
            "MERGE INTO u USING (SELECT CAST(id AS INT) AS id, rand() AS r FROM range(0, 100)) s ON u.id = s.id "
            "WHEN MATCHED THEN UPDATE SET r = s.r, again = s.r WHEN NOT MATCHED THEN INSERT (id, r, again) VALUES (s.id, s.r, s.r)"
        )
        assert rows(t, "SELECT count(*), count(DISTINCT id), count_if(r <> again) FROM u") == [(100, 100, 0)]

    def test_null_keys_do_not_match(self, t: LakeSession) -> None:
        t.execute("INSERT INTO t VALUES (NULL, 'null')")
        t.execute(
            "MERGE INTO t USING (SELECT CAST(NULL AS INT) AS id, 'n' AS name) s ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"
        )
        assert rows(t, "SELECT name FROM t WHERE id IS NULL") == [("n",), ("null",)]


class TestTransactions:
    @pytest.mark.parity
    def test_a_transaction_is_all_or_nothing(self, t: LakeSession) -> None:
        before = t.catalog.latest().snapshot_id
        t.execute("BEGIN")
        t.execute("INSERT INTO t VALUES (4, 'd')")
        t.execute("CREATE TABLE u AS SELECT * FROM t")
        assert rows(t, "SELECT count(*) FROM u") == [(4,)]
        t.execute("ROLLBACK")
        assert t.catalog.latest().snapshot_id == before
        assert rows(t, "SHOW TABLES") == [("main", "t", False)]

    def test_a_failed_statement_leaves_the_transaction_unchanged(self, t: LakeSession) -> None:
        t.execute("BEGIN TRANSACTION")
        t.execute("INSERT INTO t VALUES (4, 'd')")
        with pytest.raises(DuckLakeError):
            t.execute("CREATE OR REPLACE TABLE t AS SELECT 1 / 0 AS a")
        assert rows(t, "SELECT count(*) FROM t") == [(4,)]
        t.execute("COMMIT")
        assert rows(t, "SELECT count(*) FROM t") == [(4,)]

    @pytest.mark.parity
    def test_two_upserts_of_one_key_do_not_duplicate_it(self, t: LakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
        upsert = "MERGE INTO t USING (SELECT 7 AS id, '{}' AS name) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        other = t.lake.session()
        t.begin()
        t.execute(upsert.format("mine"))
        other.execute(upsert.format("theirs"))
        monkeypatch.setattr("dbt.adapters.ducklake.session.transacting.REPLANS", 0)
        with pytest.raises(ConflictError):
            t.commit()
        t.execute(upsert.format("mine"))
        assert rows(t, "SELECT * FROM t WHERE id = 7") == [(7, "mine")]

    @pytest.mark.parity
    def test_inserts_of_two_sessions_do_not_conflict(self, t: LakeSession) -> None:
        other = t.lake.session()
        t.begin()
        t.execute("INSERT INTO t VALUES (10, 'mine')")
        other.execute("INSERT INTO t VALUES (11, 'theirs')")
        t.commit()
        assert rows(t, "SELECT id FROM t WHERE id >= 10") == [(10,), (11,)]

    def test_a_commit_message_needs_a_transaction(self, t: LakeSession) -> None:
        with pytest.raises(StatementError, match="BEGIN first"):
            t.execute("CALL lake.set_commit_message('me', 'why')")

    @pytest.mark.parity
    def test_the_commit_message_is_stored(self, t: LakeSession) -> None:
        t.begin()
        t.execute("CALL lake.set_commit_message('me', 'why', extra_info => '{\"a\": 1}')")
        t.execute("DELETE FROM t WHERE id = 1")
        t.commit()
        last = t.catalog.snapshots()[-1]
        assert (last.author, last.message, last.extra_info) == ("me", "why", '{"a": 1}')


class TestErrors:
    def test_messages_use_the_names_of_the_statement(self, t: LakeSession) -> None:
        with pytest.raises(NotFoundError, match=r"lake.main.nope"):
            t.execute("SELECT * FROM lake.main.nope")
        with pytest.raises(DuckLakeError) as caught:
            t.execute("SELECT nope FROM lake.main.t")
        assert "nope" in str(caught.value)
        assert "@" not in str(caught.value)
        with pytest.raises(DuckLakeError, match=r"(?i)nope"):
            t.execute("SELECT * FROM nope")

    def test_the_error_names_a_broken_view_and_listings_still_work(self, t: LakeSession) -> None:
        t.execute("CREATE VIEW v AS SELECT * FROM t")
        t.execute("DROP TABLE t")
        with pytest.raises(LakeError, match="view v is broken"):
            t.execute("SELECT * FROM v")
        assert rows(t, "SHOW TABLES") == [("main", "v", False)]

    def test_the_error_names_a_missing_data_file(self, t: LakeSession) -> None:
        with t.reading() as now:
            path = now.scan_plan(now.find("main", "t")).files[0].path
        Path(path).unlink()
        with pytest.raises(LakeError, match=Path(path).name):
            t.execute("SELECT * FROM t").fetch()

    def test_a_syntax_error_is_reported_as_such(self, lake: LakeSession) -> None:
        with pytest.raises(StatementError, match=r"(?i)syntax error"):
            lake.execute("SELECT 1 LIMIT 1 LIMIT 2")
        with pytest.raises(StatementError, match=r"(?i)syntax error"):
            lake.execute("MERGE INTO t USING")


@pytest.mark.parity
def test_ddl_needs_no_jvm(catalog: CatalogUnderTest) -> None:
    with catalog.open() as lake, lake.session() as session:
        session.execute("CREATE SCHEMA s")
        session.execute("CREATE TABLE s.t (a INT, b ARRAY<STRING>) PARTITIONED BY (a)")
        session.execute("ALTER TABLE s.t ADD COLUMN c TIMESTAMP")
        session.execute("COMMENT ON TABLE s.t IS 'x'")
        assert len(session.execute("DESCRIBE s.t").fetch()) == 3
        session.execute("TRUNCATE TABLE s.t")
        session.load_seed("s", "seed", [("a", "int"), ("b", "text")], [(1, "x"), (2, None)])
        session.execute("DROP TABLE s.t")
        assert not lake.runtime.started


@pytest.mark.parity
def test_inserts_of_constants_need_no_jvm(catalog: CatalogUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", None)  # as in a process without Spark, whose settings would be unknown
    insert = "INSERT INTO t (n, s, at) VALUES ({}, 'it''s', current_timestamp()), (NULL, DEFAULT, TIMESTAMP '2020-01-02 03:04:05')"
    with catalog.open() as lake, lake.session() as session, lake.session() as other:
        session.execute("CREATE TABLE t (n INT, s STRING DEFAULT 'x', at TIMESTAMP NOT NULL, d DECIMAL(5, 2) DEFAULT 1.5)")
        assert session.execute(insert.format(1)).message == "INSERT 2 inserted"
        with pytest.raises(DataError, match="column at is NOT NULL"):
            session.execute("INSERT INTO t (n) VALUES (1)")
        session.begin()
        session.execute(insert.format(2))
        session.execute("TRUNCATE TABLE t")
        session.execute(insert.format(3))
        other.execute(insert.format(4))
        session.commit()  # is replayed, because TRUNCATE depends on the other row
        many = ", ".join(f"({number}, 's', current_timestamp())" for number in range(100))
        assert session.execute(f"INSERT INTO t (n, s, at) VALUES {many}").rowcount == 100
        with session.reading() as now:
            table = now.find("main", "t")
            assert isinstance(table, Table)
            plan = now.scan_plan(table)
        assert not lake.runtime.started
    assert [row[:2] + row[3:] for inlined in plan.inlined for row in inlined.rows] == [
        (3, "it's", Decimal("1.50")),
        (None, "x", Decimal("1.50")),
    ]
    assert [file.record_count for file in plan.files] == [100]


@pytest.mark.parity
def test_a_read_only_lake_can_be_queried_but_not_changed(catalog: CatalogUnderTest, runtime: SparkRuntime) -> None:
    with catalog.open().session() as writer:
        writer.execute("CREATE TABLE t (a INT)")
        writer.load_seed("main", "seed", [("a", "int")], [(1,)])
    lake = catalog.open(runtime, read_only=True)
    with lake.session() as reader:
        assert rows(reader, "SELECT * FROM seed") == [(1,)]
        assert rows(reader, "SHOW TABLES") == [("main", "seed", False), ("main", "t", False)]
        for statement in ("INSERT INTO t VALUES (1)", "DROP TABLE t", "CREATE SCHEMA s", "DELETE FROM seed", "COMMENT ON TABLE t IS 'x'"):
            with pytest.raises(ConfigurationError, match="read_only"):
                reader.execute(statement)
    lake.catalog.close()
