"""Clones: DuckDB and we read and change a clone and its original, and no maintenance of either side removes what the other needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.errors import ConflictError, LakeError, NotFoundError, StatementError
from dbt.adapters.ducklake.lake.clone import clone_table
from dbt.adapters.ducklake.lake.context import Context
from dbt.adapters.ducklake.spark.files.storage import remove
from tests.catalogs import CatalogUnderTest
from tests.interop.conftest import Both, comparable_rows
from tests.interop.oracle import connect as connect_duckdb
from tests.interop.test_rollback import HISTORIES, SPARK, TARGET
from tests.places import REFERENCE_DATABASES

CATALOGS = REFERENCE_DATABASES
CHANGES = [
    "DELETE FROM {t} WHERE id IN (5, 13)",
    "UPDATE {t} SET v = 'u' WHERE id IN (4, 15, 20)",
    "MERGE INTO {t} USING (SELECT 14 AS id, 'm' AS v) s ON {t}.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v",
    "INSERT INTO {t} (id, v) VALUES (300, 'n'), (301, 'n')",
]
MAINTENANCE = [
    "CALL ducklake_flush_inlined_data('lake')",
    "CALL ducklake_rewrite_data_files('lake', '{name}', schema => '{schema}', delete_threshold => 0)",
    "CALL ducklake_merge_adjacent_files('lake')",
    "CALL ducklake_expire_snapshots('lake', older_than => TIMESTAMP '2100-01-01 00:00:00')",
    "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
    "CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)",
]


def last(both: Both) -> int:
    return both.duck.execute("SELECT max(snapshot_id) FROM lake.snapshots()").fetchone()[0]


def rows(both: Both, table: str, at: str = "") -> list[tuple[Any, ...]]:
    """Return row ids and values, which both sides must read."""
    theirs = comparable_rows(both.duck.execute(f"SELECT rowid, * FROM {table}{at}").fetchall())
    if not at:
        assert comparable_rows(both.session.execute(f"SELECT rowid, * FROM {table}").fetch()) == theirs
    return theirs


def clone(both: Both, arguments: str) -> list[tuple[Any, ...]]:
    return both.session.execute(f"CALL lake.clone({arguments})").fetch()


def make(both: Both, name: str, place: Path) -> int:
    """Make the table t of a history of the rollback's tests, and return the snapshot in its middle."""
    then = 0
    for statement in (each.replace("{place}", str(place)) for each in HISTORIES[name]):
        if statement == TARGET:
            then = last(both)
        elif statement.startswith(SPARK):
            both.spark(statement.removeprefix(SPARK))
        else:
            both.duckdb(statement)
    return then


@pytest.mark.parametrize("name", HISTORIES)
@pytest.mark.parity
def test_a_clone_has_the_rows_and_columns_of_its_original(both: Both, catalog: CatalogUnderTest, name: str, tmp_path: Path) -> None:
    if catalog.database != "sqlite" and name != "inlined":
        pytest.skip("files do not depend on the catalog database")
    then = make(both, name, tmp_path)
    before, newest = rows(both, "t"), last(both)

    ((schema, table, kind, action, files, count),) = clone(both, "table_name => 't', into => 'dev.c'")
    assert (schema, table, kind, action, count, last(both)) == ("dev", "c", "table", "cloned", len(before), newest + 1)
    assert files == len(both.duck.execute("SELECT * FROM ducklake_list_files('lake', 'c', schema => 'dev')").fetchall())
    clone(both, f"table_name => 't', into => 'dev.earlier', version => {then}")

    assert rows(both, "dev.c") == rows(both, "t") == before
    assert rows(both, "dev.earlier") == rows(both, "t", f" AT (VERSION => {then})")
    assert both.duck.execute("DESCRIBE dev.c").fetchall() == both.duck.execute("DESCRIBE t").fetchall()
    for query in ("SELECT min(id), max(id), count(*), count(v) FROM {t}", "SELECT * FROM {t} WHERE id = 12", "SELECT * FROM {t} WHERE v = 'x'"):
        if "v" in [row[0] for row in both.duck.execute("DESCRIBE t").fetchall()]:
            assert both.rows(query.format(t="dev.c")) == both.rows(query.format(t="t"))
    feed = "SELECT rowid, * EXCLUDE (snapshot_id, rowid, change_type) FROM ducklake_table_{kind}('lake', 'dev', 'c', 0, {last})"
    came = both.duck.execute(feed.format(kind="insertions", last=last(both))).fetchall()
    went = both.duck.execute(feed.format(kind="deletions", last=last(both))).fetchall()
    assert comparable_rows(list(set(came) - set(went))) == before

    both.duckdb("ALTER TABLE dev.c ADD COLUMN added INTEGER")  # gets an id that no file has
    assert both.rows("SELECT count(added) FROM dev.c") == [(0,)]
    both.spark("INSERT INTO dev.c (id, added) VALUES (900, 1)")
    both.duckdb("INSERT INTO dev.c (id, added) VALUES (901, 1)")
    found = rows(both, "dev.c")
    assert len({row_id for row_id, *_ in found}) == len(found) == len(before) + 2


@pytest.mark.parametrize("changed", ["t", "dev.c"])
@pytest.mark.parametrize("engine", ["duckdb", "spark"])
@pytest.mark.parametrize("name", ["files", "merged files", "added files and deletion vectors", "flushed", "inlined"])
def test_no_change_and_no_maintenance_of_one_side_harms_the_other(
    both: Both, catalog: CatalogUnderTest, name: str, engine: str, changed: str, tmp_path: Path
) -> None:
    make(both, name, tmp_path)
    clone(both, "table_name => 't', into => 'dev.c'")
    other = "t" if changed == "dev.c" else "dev.c"
    schema, _, table = changed.rpartition(".")
    kept = rows(both, other)
    run = both.duckdb if engine == "duckdb" else both.spark
    for statement in CHANGES:
        run(statement.format(t=changed))
        assert rows(both, other) == kept
    now = rows(both, changed)
    assert now != kept
    for statement in MAINTENANCE:
        run(statement.format(schema=schema or "main", name=table))
        assert (rows(both, other), rows(both, changed)) == (kept, now), statement
    run(f"DROP TABLE {changed}")
    for statement in MAINTENANCE[2:]:
        run(statement)
    assert rows(both, other) == kept
    with connect_duckdb(catalog) as fresh:
        fresh.execute("USE lake")
        assert comparable_rows(fresh.execute(f"SELECT rowid, * FROM {other}").fetchall()) == kept


def test_a_clone_shares_the_disk_space_of_its_original(both: Both, tmp_path: Path) -> None:
    make(both, "files", tmp_path)
    both.duckdb("INSERT INTO t SELECT i, 'x' FROM range(1000) r(i)")
    clone(both, "table_name => 't', into => 'dev.c'")
    files = {
        table: {
            Path(row[0]).stat().st_ino
            for row in both.duck.execute(f"SELECT data_file FROM ducklake_list_files('lake', '{table}', schema => '{schema}')").fetchall()
        }
        for schema, table in (("main", "t"), ("dev", "c"))
    }
    assert files["c"] == files["t"]


RICH = [
    "CREATE TABLE prod.orders (id INTEGER NOT NULL, v VARCHAR DEFAULT 'none', day DATE)",
    "COMMENT ON TABLE prod.orders IS 'all orders'",
    "COMMENT ON COLUMN prod.orders.v IS 'a value'",
    "ALTER TABLE prod.orders SET PARTITIONED BY (month(day))",
    "ALTER TABLE prod.orders SET SORTED BY (id DESC)",
    "CALL lake.set_option('parquet_compression', 'zstd', schema => 'prod', table_name => 'orders')",
    "CALL lake.set_option('data_inlining_row_limit', 0, schema => 'prod')",
    "INSERT INTO prod.orders SELECT i, 'v' || i, DATE '2026-01-01' + (20 * i)::INTEGER FROM range(12) r(i)",
    "DELETE FROM prod.orders WHERE id = 3",
    "CREATE TABLE prod.small (a INTEGER)",
    "INSERT INTO prod.small VALUES (1), (2)",
    "CREATE VIEW prod.recent AS SELECT id FROM prod.orders WHERE id > 5",
    "COMMENT ON VIEW prod.recent IS 'recent ones'",
    "CREATE MACRO prod.plus(a) AS a + 1",
    SPARK + "CREATE FUNCTION prod.twice(x INT) RETURNS INT RETURN x * 2",
    SPARK + "COMMENT ON SCHEMA prod IS 'the real one'",
    SPARK + "CREATE VIEW prod.spark_view AS SELECT count(*) AS n FROM prod.small",
]


@pytest.fixture
def prod(both: Both) -> Both:
    """A lake with a schema `prod`."""
    both.duckdb("CREATE SCHEMA prod")
    for statement in RICH:
        if statement.startswith(SPARK):
            both.spark(statement.removeprefix(SPARK))
        else:
            both.duckdb(statement)
    return both


def definitions(both: Both, schema: str) -> dict[str, Any]:
    """Return what DuckDB and we say about the objects of a schema."""

    def theirs(query: str) -> list[Any]:
        return both.duck.execute(f"SELECT {query} WHERE database_name = 'lake' AND schema_name = '{schema}' ORDER BY ALL").fetchall()

    return {
        "tables": theirs("table_name, comment FROM duckdb_tables()"),
        "views": theirs("view_name, comment, sql FROM duckdb_views()"),
        "columns": theirs("table_name, column_name, data_type, is_nullable, column_default, comment FROM duckdb_columns()"),
        "describe": both.session.execute(f"DESCRIBE TABLE EXTENDED {schema}.orders").fetch()[:6],
        "function": both.session.execute(f"SELECT {schema}.twice(4)").fetch(),
        "comment": [row[1] for row in both.session.execute(f"DESCRIBE SCHEMA {schema}").fetch() if row[0] == "Comment"],
        "options": sorted(
            row[:4] for row in both.duck.execute("SELECT option_name, value, scope, replace(scope_entry, 'dev', 'prod') FROM lake.options()").fetchall()
            if schema in str(row)
        )
        if False
        else None,
    }


@pytest.mark.parity
def test_a_schema_is_cloned_in_one_snapshot(prod: Both, catalog: CatalogUnderTest) -> None:
    newest = last(prod)
    outcomes = clone(prod, "schema => 'PROD', into => 'dev-1'")
    assert [(name, kind, action, count) for _, name, kind, action, _, count in outcomes] == [
        ("orders", "table", "cloned", 11),
        ("recent", "view", "cloned", None),
        ("small", "table", "cloned", 2),
        ("spark_view", "view", "cloned", None),
        ("twice", "function", "cloned", None),
        ("plus", "macro", "left out", None),
    ]
    assert last(prod) == newest + 1
    for table in ("orders", "small"):
        assert rows(prod, f'"dev-1".{table}') == rows(prod, f"prod.{table}")
