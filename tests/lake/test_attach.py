"""Two lakes in one session: the first part of a name selects the lake, a transaction changes only one of them, and DuckDB reads both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.errors import ConfigurationError, DuckLakeError, NotFoundError, StatementError
from dbt.adapters.ducklake.session import Lake, LakeSession, LakeSettings
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from tests.duckdb_instances import open_duckdb


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> LakeSettings:
    """The lake `here` in SQLite, with `There` in a DuckDB file attached."""
    folder = tmp_path_factory.mktemp("lakes")
    there = LakeSettings(f"ducklake:{folder}/there.duckdb", f"{folder}/there/", database="There", data_inlining_row_limit=0)
    return LakeSettings(
        f"ducklake:sqlite:{folder}/here.sqlite", f"{folder}/here/", database="here", data_inlining_row_limit=0, attached=(there,)
    )


@pytest.fixture(scope="module")
def both(settings: LakeSettings, runtime: SparkRuntime) -> Iterator[LakeSession]:
    """A session in which `there.main.orders` and `here.main.customers` have rows."""
    opened = Lake.open(settings)
    opened.runtime = runtime
    with opened.session() as session:
        session.execute("CREATE TABLE customers AS SELECT * FROM VALUES (1, 'Ann'), (2, 'Bob') AS t(id, name)")
        session.execute("CREATE TABLE there.main.orders AS SELECT * FROM VALUES (1, 10), (1, 20), (2, 5) AS t(customer, amount)")
        yield session
    opened.close_catalogs()


def rows(session: LakeSession, query: str) -> list[tuple[Any, ...]]:
    return sorted(session.execute(query).fetch())


def opened(settings: LakeSettings, runtime: SparkRuntime, **attached: Any) -> Lake:
    lake = Lake.open(replace(settings, attached=(replace(settings.attached[0], **attached),)))
    lake.runtime = runtime
    return lake


def test_the_database_name_selects_the_lake(both: LakeSession) -> None:
    joined = "SELECT name, sum(amount) FROM customers JOIN `there`.main.orders o ON o.customer = id GROUP BY name"
    assert rows(both, joined) == [("Ann", 30), ("Bob", 5)]
    assert rows(both, "SELECT There.main.orders.amount FROM THERE.main.orders WHERE amount > 5") == [(10,), (20,)]
    assert rows(both, "SELECT count(*) FROM there.orders") == [(3,)]
    with pytest.raises(NotFoundError, match=r"there\.main\.customers"):
        both.execute("SELECT * FROM there.main.customers")
    with pytest.raises(StatementError, match="the lakes are here, There"):
        both.execute("CREATE TABLE nowhere.main.t (a INT)")


def test_statements_change_one_lake_with_rows_of_another(both: LakeSession) -> None:
    both.execute("CREATE SCHEMA there.s")
    both.execute("CREATE TABLE there.s.t AS SELECT * FROM customers")
    both.execute("INSERT INTO there.s.t SELECT customer + 10, 'new' FROM there.main.orders WHERE amount = 5")
    both.execute("UPDATE there.s.t SET name = (SELECT max(name) FROM customers) WHERE id = 12")
    both.execute("DELETE FROM There.s.t WHERE id IN (SELECT id FROM here.main.customers WHERE name = 'Ann')")
    merge = "MERGE INTO there.s.t USING customers c ON t.id = c.id WHEN MATCHED THEN UPDATE SET name = upper(c.name) WHEN NOT MATCHED THEN INSERT *"
    both.execute(merge)
    assert rows(both, "SELECT * FROM there.s.t") == [(1, "Ann"), (2, "BOB"), (12, "Bob")]
    both.execute("ALTER TABLE there.s.t ADD COLUMN more INT")
    both.execute("COMMENT ON TABLE there.s.t IS 'theirs'")
    assert [row[0] for row in rows(both, "DESCRIBE there.s.t")] == ["id", "more", "name"]
    assert rows(both, "SELECT table_name, table_comment FROM there.information_schema.tables WHERE table_schema = 's'") == [("t", "theirs")]
    assert rows(both, "SELECT table_catalog, table_name FROM information_schema.tables WHERE table_name <> 'v'") == [("here", "customers")]
    assert rows(both, "SHOW TABLES IN there.s") == [("s", "t", False)]
    assert rows(both, "SHOW SCHEMAS IN there") == [("main",), ("s",)]
    assert rows(both, "SHOW SCHEMAS") == [("main",)]
    both.execute("ALTER TABLE there.s.t RENAME TO there.s.u")
    both.execute("DROP TABLE there.s.u")
    both.execute("DROP SCHEMA there.s")


def test_functions_and_procedures_use_the_named_lake(both: LakeSession) -> None:
    ours, theirs = (both.lake.catalog_of(name).latest().snapshot_id for name in ("here", "There"))
    assert rows(both, "SELECT max(snapshot_id) FROM there.snapshots()") == [(theirs,)]
    assert rows(both, "SELECT * FROM here.current_snapshot() CROSS JOIN there.current_snapshot()") == [(ours, theirs)]
    assert len(rows(both, "SELECT * FROM ducklake_list_files('there', 'orders')")) == 1
    assert rows(both, "SELECT count(*) FROM ducklake_table_insertions('There', 'main', 'orders', 0, 1)") == [(3,)]
    both.execute("CALL there.set_option('parquet_compression', 'zstd')")
    both.execute("CALL ducklake_set_option('there', 'target_file_size', '1MB')")
    assert {row[0] for row in rows(both, "SELECT option_name FROM there.options()")} >= {"parquet_compression", "target_file_size"}
    assert not rows(both, "SELECT * FROM here.options() WHERE option_name = 'parquet_compression'")
    assert len(rows(both, "CHECKPOINT there")) == 6
    with pytest.raises(StatementError, match="the first argument must be the lake's name, 'here' or 'There'"):
        both.execute("CALL ducklake_flush_inlined_data('elsewhere')")


def test_use_changes_the_current_lake(both: LakeSession) -> None:
    both.execute("USE there")
    assert (both.database, both.schema) == ("There", "main")
    assert rows(both, "SELECT count(*) FROM orders CROSS JOIN here.main.customers") == [(6,)]
    both.execute("USE here.main")
    assert rows(both, "SELECT count(*) FROM customers") == [(2,)]


def test_a_view_reads_the_newest_rows_of_another_lake(both: LakeSession) -> None:
    both.execute("CREATE VIEW v AS SELECT sum(amount) AS total FROM there.main.orders")
    both.execute("CREATE FUNCTION main.total () RETURNS BIGINT RETURN SELECT sum(amount) FROM there.main.orders")
    assert rows(both, "SELECT total, main.total() FROM v") == [(35, 35)]
    both.execute("INSERT INTO there.main.orders VALUES (2, 100)")
    assert rows(both, "SELECT total, here.main.total() FROM here.main.v") == [(135, 135)]
    both.begin()
    both.execute("DELETE FROM there.main.orders WHERE amount = 100")
    assert rows(both, "SELECT total, main.total() FROM v") == [(35, 35)]
    assert both.commit() is not None
    both.execute("DROP FUNCTION main.total")
    both.execute("DROP VIEW v")


def test_a_transaction_changes_only_one_lake(both: LakeSession, settings: LakeSettings) -> None:
    data_path = Path(str(settings.attached[0].data_path))
    files, snapshot_id = sorted(data_path.rglob("*")), both.lake.catalog_of("There").latest().snapshot_id
    both.begin()
    both.execute("INSERT INTO customers VALUES (3, 'Cid')")
    for statement in (
        "INSERT INTO there.main.orders VALUES (3, 1)",
        "DELETE FROM there.main.orders WHERE amount = 5",
        "CREATE TABLE there.main.t AS SELECT 1 AS a",
        "CALL there.set_option('parquet_compression', 'snappy')",
    ):
        with pytest.raises(StatementError, match=r"the lake There cannot be changed here: this transaction has changed the lake here"):
            both.execute(statement)
    assert rows(both, "SELECT count(*) FROM customers JOIN there.main.orders ON true") == [(9,)]
    both.rollback()
    assert (sorted(data_path.rglob("*")), both.lake.catalog_of("There").latest().snapshot_id) == (files, snapshot_id)

    both.begin()
    both.execute("CREATE TABLE there.main.t AS SELECT * FROM customers")
    snapshot = both.commit()
    assert snapshot is not None
    assert snapshot.snapshot_id == both.lake.catalog_of("There").latest().snapshot_id
    assert rows(both, "SELECT * FROM there.last_committed_snapshot()") == [(snapshot.snapshot_id,)]
    both.execute("DROP TABLE there.main.t")


def test_time_travel_uses_the_snapshots_of_the_named_lake(both: LakeSession, settings: LakeSettings, runtime: SparkRuntime) -> None:
    both.execute("INSERT INTO there.main.orders VALUES (9, 9)")
    before = both.lake.catalog_of("There").latest().snapshot_id - 1
    count = "SELECT count(*) FROM there.main.orders"
    assert rows(both, f"{count} VERSION AS OF {before}") == [(3,)]
    assert rows(both, f"{count} AT (VERSION => {before})") == [(3,)]
    timestamp = both.lake.catalog_of("There").resolve(version=before).time
    for pinned in ({"snapshot_version": before}, {"snapshot_time": timestamp}):
        lake = opened(settings, runtime, create_if_not_exists=False, **pinned)
        with lake.session() as past:
            assert rows(past, count) == [(3,)]
            assert rows(past, f"{count} VERSION AS OF {before + 1}") == [(4,)]
            assert rows(past, "SELECT * FROM there.current_snapshot()") == [(before,)]
            for statement in ("DELETE FROM there.main.orders", "CALL ducklake_expire_snapshots('there', versions => [1])"):
                with pytest.raises(ConfigurationError, match=f"the lake There is open at snapshot {before}"):
                    past.execute(statement)
        lake.close_catalogs()
    both.execute("DELETE FROM there.main.orders WHERE customer = 9")


@pytest.mark.usefixtures("both")
def test_the_error_names_the_read_only_lake(settings: LakeSettings, runtime: SparkRuntime) -> None:
    lake = opened(settings, runtime, read_only=True)
    with lake.session() as session:
        session.execute("CREATE TABLE copy AS SELECT * FROM there.main.orders")
        for statement in ("INSERT INTO there.main.orders VALUES (1, 1)", "CREATE SCHEMA there.s", "CHECKPOINT there"):
            with pytest.raises(ConfigurationError, match="the lake There is open read-only"):
                session.execute(statement)
        session.execute("DROP TABLE copy")
    lake.close_catalogs()


@pytest.mark.usefixtures("both")
def test_a_lake_is_opened_on_first_use_and_a_failure_names_it(settings: LakeSettings, runtime: SparkRuntime) -> None:
    path = "postgresql://me:hunter2@localhost:1/db"
    lake = opened(settings, runtime, path=path, data_path=None, create_if_not_exists=False)
    with lake.session() as session:
        assert rows(session, "SELECT count(*) FROM here.main.customers") == [(2,)]
        with pytest.raises(DuckLakeError, match="the attached lake There cannot be opened") as raised:
            session.execute("SELECT * FROM there.main.orders")
        assert "hunter2" not in str(raised.value)
        with pytest.raises(ConfigurationError, match="there is no lake elsewhere; the lakes are here, There"), session.reading("elsewhere"):
            pass
    lake.close_catalogs()


def test_duckdb_reads_both_lakes_while_the_session_is_idle(both: LakeSession, settings: LakeSettings) -> None:
    both.execute("CREATE OR REPLACE VIEW theirs AS SELECT customer FROM there.main.orders WHERE amount > 5")
    theirs = open_duckdb("ducklake", "sqlite_scanner")
    for lake in (settings, *settings.attached):
        theirs.execute(f"ATTACH '{lake.path}' AS {lake.database}")
    try:
        joined = "SELECT name, sum(amount) FROM here.customers JOIN There.orders ON customer = id GROUP BY name ORDER BY name"
        assert theirs.execute(joined).fetchall() == [("Ann", 30), ("Bob", 5)]
        assert theirs.execute("SELECT count(*) FROM here.theirs").fetchall() == [(2,)]
    finally:
        theirs.close()
