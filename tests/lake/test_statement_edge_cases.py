"""Statements whose parts affect each other, and what remains after a failure."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbt.adapters.ducklake.catalog.transaction.rows import RowStaging
from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.errors import (
    CancelledError,
    ConfigurationError,
    ConflictError,
    EngineError,
    LakeError,
    NotFoundError,
    StatementError,
)
from dbt.adapters.ducklake.lake import row_changes
from dbt.adapters.ducklake.session import Lake, LakeSession, LakeSettings
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from tests.catalogs import CatalogUnderTest, session_on


@pytest.fixture
def lake(tmp_path: Path, runtime: SparkRuntime) -> Iterator[LakeSession]:
    """A lake on SQLite with a table t of five rows in one file."""
    place = CatalogUnderTest("sqlite", f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/")
    with session_on(place.open(runtime, data_inlining_row_limit=0)) as session:
        session.execute("CREATE TABLE t AS SELECT CAST(id AS INT) AS id, concat('n', id) AS name FROM range(1, 6) DISTRIBUTE BY 1")
        yield session


def rows(lake: LakeSession, query: str) -> list[tuple[object, ...]]:
    return sorted(lake.execute(query).fetch(), key=repr)


def parquet_files(directory: Path) -> set[Path]:
    return set(directory.rglob("*.parquet"))


class TestMerge:
    def test_matched_and_unmatched_rows_of_one_file_change_together(self, lake: LakeSession) -> None:
        lake.execute(
            "MERGE INTO t USING (SELECT * FROM VALUES (1, 'del'), (2, 'upd') AS v(id, what)) s ON t.id = s.id "
            "WHEN MATCHED AND s.what = 'del' THEN DELETE WHEN MATCHED THEN UPDATE SET name = 'new' "
            "WHEN NOT MATCHED BY SOURCE AND t.id = 4 THEN UPDATE SET name = 'orphan' WHEN NOT MATCHED BY SOURCE AND t.id = 5 THEN DELETE"
        )
        assert rows(lake, "SELECT * FROM t") == [(2, "new"), (3, "n3"), (4, "orphan")]

    def test_timestamps_match_in_any_session_time_zone(self, lake: LakeSession) -> None:
        lake.execute("CREATE TABLE e AS SELECT TIMESTAMP'2024-06-01 12:00:00Z' AS at, 1 AS n")
        lake.execute("SET TIME ZONE 'America/New_York'")
        lake.execute(
            "MERGE INTO e USING (SELECT TIMESTAMP'2024-06-01 12:00:00Z' AS at, 2 AS n) s ON e.at = s.at "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        assert rows(lake, "SELECT n FROM e") == [(2,)]


WRONG = [
    ("CREATE OR REPLACE VIEW t AS SELECT 1 AS a", "main.t is a table, and a view can only replace a view; DROP TABLE main.t first"),
    ("CREATE VIEW v AS SELECT 1 AS a, 2 AS A", "view main.v has two columns A"),
    ("CREATE VIEW v (a, a) AS SELECT 1, 2", "view main.v has two columns a"),
    ("CREATE VIEW v AS SELECT 1 AS ``", "column 1 has an empty name"),
    ("CREATE TABLE u AS SELECT 1 AS a, 2 AS ``", r"column 2 \(without a name\) has an empty name"),
    ("CREATE TABLE u PARTITIONED BY (year(a)) AS SELECT 'x' AS a", r"year\(a\) needs a date"),
    ("CREATE TABLE u (a INT DEFAULT current_date())", r"default of column a, current_date\(\), does not fit a int"),
    ("CREATE TABLE u (a INT DEFAULT nosuch())", "UNRESOLVED_ROUTINE"),
    ("EXPLAIN SELECT * FROM nope", r"\[TABLE_OR_VIEW_NOT_FOUND\] The table or view `nope`"),
    ("/* why */ EXPLAIN EXTENDED SELECT * FROM nope", r"\[TABLE_OR_VIEW_NOT_FOUND\] The table or view `nope`"),
    ("EXPLAIN INSERT INTO nope VALUES (1)", "TABLE_OR_VIEW_NOT_FOUND"),
    ("EXPLAIN SELECT nosuch FROM t", "`nosuch` cannot be resolved"),
]
"""Statements and the start of their errors."""


class TestRefusals:
    def test_an_element_of_a_list_cannot_be_assigned(self, lake: LakeSession) -> None:
        lake.execute("CREATE TABLE l AS SELECT array('x') AS tags")
        with pytest.raises(StatementError, match="tags is not a struct"):
            lake.execute("UPDATE l SET tags.element = 'y'")

    def test_a_wrong_statement_changes_nothing(self, lake: LakeSession) -> None:
        before = rows(lake, "SELECT * FROM lake.current_snapshot()")
        for statement, message in WRONG:
            with pytest.raises(StatementError, match=message):
                lake.execute(statement)
            assert rows(lake, "SELECT * FROM lake.current_snapshot()") == before, statement

    def test_show_tables_in_a_missing_schema(self, lake: LakeSession) -> None:
        with pytest.raises(NotFoundError, match="nosuch"):
            lake.execute("SHOW TABLES IN nosuch")


class TestOverwrite:
    def test_a_named_partition_is_replaced_even_by_no_rows(self, lake: LakeSession) -> None:
        lake.execute("CREATE TABLE p PARTITIONED BY (k) AS SELECT id % 3 AS k, id FROM range(9)")
        lake.execute("INSERT OVERWRITE p PARTITION (k = 1) SELECT id FROM range(0)")
        assert rows(lake, "SELECT k, count(*) FROM p GROUP BY k") == [(0, 3), (2, 3)]
        lake.execute("INSERT OVERWRITE p PARTITION (k = 2) SELECT 77L")
        assert rows(lake, "SELECT id FROM p WHERE k = 2") == [(77,)]

    def test_a_partition_column_that_is_not_a_key_is_refused(self, lake: LakeSession) -> None:
        lake.execute("CREATE TABLE p PARTITIONED BY (k) AS SELECT id % 3 AS k, id FROM range(9)")
        with pytest.raises(StatementError, match="nosuch"):
            lake.execute("INSERT INTO p PARTITION (nosuch = 1) SELECT 1, 2")


class TestConflicts:
    @pytest.mark.parametrize(
        "mine",
        [
            ["INSERT INTO u REPLACE WHERE id = 1 SELECT 1, 'x'"],
            ["DELETE FROM u WHERE id = 1", "INSERT INTO u VALUES (1, 'x')"],
            ["INSERT INTO u SELECT 1, 'x' WHERE NOT EXISTS (SELECT 1 FROM u WHERE id = 1)"],
        ],
    )
    @pytest.mark.parity
    def test_two_writers_of_one_key_do_not_duplicate_it_in_an_empty_table(
        self, lake: LakeSession, mine: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lake.execute("CREATE TABLE u (id INT, name STRING)")
        other = lake.lake.session()
        lake.begin()
        for statement in mine:
            lake.execute(statement)
        other.execute("INSERT INTO u VALUES (1, 'theirs')")
        monkeypatch.setattr("dbt.adapters.ducklake.session.transacting.REPLANS", 0)
        with pytest.raises(ConflictError):
            lake.commit()


class TestFailures:
    def test_files_of_a_snapshot_that_may_exist_are_kept(self, lake: LakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
        commit = Transaction.commit

        def commit_and_lose_the_answer(transaction: Transaction) -> None:
            commit(transaction)
            raise EngineError("the connection was lost")

        monkeypatch.setattr(Transaction, "commit", commit_and_lose_the_answer)
        with pytest.raises(EngineError, match="lost"):
            lake.execute("INSERT INTO t VALUES (6, 'n6')")
        monkeypatch.undo()
        assert rows(lake, "SELECT count(name) FROM t") == [(6,)]

    def test_a_file_that_cannot_be_removed_does_not_undo_a_commit(self, lake: LakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
        refused = []

        def refuse(path: str) -> None:
            refused.append(path)
            raise PermissionError("read-only bucket")

        lake.begin()
        lake.execute("INSERT INTO t VALUES (6, 'n6')")
        lake.execute("CREATE OR REPLACE TABLE t AS SELECT 1 AS id, 'one' AS name")
        monkeypatch.setattr("dbt.adapters.ducklake.spark.files.storage._remove_one", refuse)
        assert lake.commit() is not None
        monkeypatch.undo()
        assert len(refused) == 1
        assert rows(lake, "SELECT * FROM t") == [(1, "one")]

    def test_delete_files_of_a_failed_delete_are_removed(self, lake: LakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        lake.execute("INSERT INTO t VALUES (6, 'n6'), (7, 'n7')")
        before, write, written, lock = parquet_files(tmp_path), row_changes.write_delete_file, [], threading.Lock()

        def full_disk(*arguments: object, **options: object) -> object:
            with lock:  # delete files are written by several threads
                if written:
                    raise OSError("no space left on device")
                written.append(write(*arguments, **options))  # type: ignore[arg-type]
                return written[0]

        monkeypatch.setattr(row_changes, "write_delete_file", full_disk)
        with pytest.raises(EngineError, match="no space"):
            lake.execute("DELETE FROM t WHERE id IN (1, 6)")
        assert (len(written), parquet_files(tmp_path)) == (1, before)

    def test_a_read_only_lake_gets_no_files(self, lake: LakeSession, tmp_path: Path) -> None:
        before = parquet_files(tmp_path)
        opened = Lake.open(LakeSettings(f"ducklake:sqlite:{tmp_path}/lake.sqlite", read_only=True))
        opened.runtime = lake.runtime
        with opened.session() as session, pytest.raises(ConfigurationError, match="read-only"):
            session.execute("INSERT INTO t VALUES (6, 'n6')")
        opened.catalog.close()
        assert parquet_files(tmp_path) == before


class TestCancel:
    def test_a_cancel_between_two_jobs_stops_the_statement_of_a_transaction(
        self, lake: LakeSession, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stage = RowStaging.add_files

        def cancelled_meanwhile(*arguments: object) -> None:
            other = threading.Thread(target=lake.cancel)
            other.start()
            other.join()
            stage(*arguments)  # type: ignore[arg-type]

        lake.begin()
        with monkeypatch.context() as patch:
            patch.setattr(RowStaging, "add_files", cancelled_meanwhile)
            with pytest.raises(CancelledError):
                lake.execute("INSERT INTO t VALUES (6, 'n6')")
        with pytest.raises(CancelledError):
            lake.execute("COMMIT")
        assert rows(lake, "SELECT count(*) FROM t") == [(5,)]


class TestCachedViews:
    def test_rows_of_a_view_are_computed_once_until_the_transaction_ends(self, lake: LakeSession) -> None:
        def kept() -> bool:
            return "InMemoryTableScan" in str(lake.execute("EXPLAIN SELECT * FROM r").fetch())

        lake.execute("CREATE TEMPORARY VIEW r AS SELECT id FROM t")
        assert lake.cache("r") == 5
        assert kept()
        lake.execute("INSERT INTO t VALUES (6, 'n6')")
        assert kept(), "a statement of its own is not the end"
        lake.begin()
        lake.commit()
        assert not kept()

    def test_a_cached_view_outlasts_the_transaction_that_creates_another_one(self, lake: LakeSession) -> None:
        lake.execute("CREATE TEMPORARY VIEW r AS SELECT id FROM t WHERE id = 1")
        lake.begin()
        lake.cache("r")
        lake.execute("CREATE TEMPORARY VIEW other AS SELECT 2 AS id")
        lake.commit()
        assert rows(lake, "SELECT * FROM r, other") == [(1, 2)]


class TestViews:
    def test_the_error_names_a_view_whose_column_was_dropped(self, lake: LakeSession) -> None:
        lake.execute("CREATE VIEW names AS SELECT name FROM t")
        lake.execute("ALTER TABLE t DROP COLUMN name")
        with pytest.raises(LakeError, match="view names is broken"):
            lake.execute("SELECT * FROM names")


class TestAlter:
    def test_a_column_with_a_dot_in_its_name_can_become_not_null(self, lake: LakeSession) -> None:
        lake.execute("CREATE TABLE d AS SELECT 1 AS `a.b`")
        lake.execute("ALTER TABLE d ALTER COLUMN `a.b` SET NOT NULL")
        with lake.reading() as now:
            assert not now.find("main", "d").columns[0].nullable


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM t WHERE id = 1 y",
        "UPDATE t SET name = 'x' WHERE id = 1 y",
        "INSERT INTO t REPLACE WHERE id = 1 y SELECT 1, 'x'",
        "MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id y WHEN MATCHED THEN DELETE",
    ],
)
def test_a_word_after_a_condition_is_a_syntax_error(lake: LakeSession, statement: str) -> None:
    with pytest.raises(StatementError, match=r"(?i)syntax"):
        lake.execute(statement)
    assert len(rows(lake, "SELECT * FROM t")) == 5


def test_a_dollar_with_braces_is_text(lake: LakeSession) -> None:
    """Spark would replace `${x}` by a setting, also in names and text literals."""
    lake.execute("SET x = 1")
    lake.execute("CREATE TABLE d AS SELECT '${x} ${env:HOME} ${spark.app.name}' AS `a${x}`")
    assert rows(lake, "SELECT `a${x}` FROM d") == [("${x} ${env:HOME} ${spark.app.name}",)]
    assert [column.name for column in lake.execute("SELECT * FROM d").columns] == ["a${x}"]
    lake.execute("SET spark.sql.variable.substitute = true")
    try:
        assert rows(lake, "SELECT ${x} + 1") == [(2,)]
    finally:
        lake.execute("SET spark.sql.variable.substitute = false")


def test_structs_that_are_null_are_fetched_though_their_fields_cannot_be(lake: LakeSession) -> None:
    struct = "CASE WHEN id > 1 THEN named_struct('a', id, 'b', named_struct('c', 1)) END"
    query = f"SELECT {struct} AS s, array({struct}) AS s, map(1, {struct}) AS m, CASE WHEN id > 1 THEN array(1) END AS l FROM range(1, 3)"
    found = {"a": 2, "b": {"c": 1}}
    assert rows(lake, query) == [(None, [None], [(1, None)], None), (found, [found], [(1, found)], [1])]
    lake.execute("CREATE TABLE parts AS SELECT CASE WHEN id > 1 THEN named_struct('a', id) END AS s FROM range(1, 3)")
    lake.execute("ALTER TABLE parts ADD COLUMN s.b INT DEFAULT 7")
    assert rows(lake, "SELECT * FROM parts") == [(None,), ({"a": 2, "b": 7},)]


def test_statements_of_spark_about_its_own_tables(lake: LakeSession) -> None:
    own = "spark_catalog.default.partitioned_table_of_spark"
    lake.spark().sql(f"CREATE TABLE {own} (a INT, b INT) USING parquet PARTITIONED BY (b)")
    try:
        lake.spark().sql(f"INSERT INTO {own} VALUES (1, 2)")
        lake.execute(f"ANALYZE TABLE {own} COMPUTE STATISTICS")
        assert rows(lake, f"SHOW PARTITIONS {own}") == [("b=2",)]
        assert "InsertIntoHadoopFsRelationCommand" in rows(lake, f"EXPLAIN INSERT INTO {own} SELECT id, 3 FROM t")[0][0]
        with pytest.raises(StatementError, match="SHOW CREATE TABLE t shows the partition keys"):
            lake.execute("SHOW PARTITIONS t")
    finally:
        lake.spark().sql(f"DROP TABLE {own}")


def test_a_result_that_python_cannot_represent(lake: LakeSession) -> None:
    with pytest.raises(StatementError, match="a struct in the result has two fields with the same name; rename one"):
        rows(lake, "SELECT named_struct('a', 1, 'a', 2) AS s, TIMESTAMP '2024-01-01 00:00:00' AS t")
    with pytest.raises(EngineError, match="YearMonthIntervalType"):
        rows(lake, "SELECT INTERVAL '1' YEAR AS y")
