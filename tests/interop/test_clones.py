"""Clones: DuckDB and we read and change a clone and its original, and no maintenance of either side removes what the other needs."""

from __future__ import annotations

import os
import random
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.ducklake.errors import ConflictError, LakeError, StatementError
from dbt.adapters.ducklake.lake.clone import clone_table
from dbt.adapters.ducklake.lake.context import Context
from dbt.adapters.ducklake.session import connect
from dbt.adapters.ducklake.spark.files.storage import remove
from tests.catalogs import CatalogUnderTest
from tests.interop import oracle
from tests.interop.conftest import Both, comparable_rows
from tests.interop.oracle import connect as connect_duckdb
from tests.interop.test_rollback import HISTORIES, SPARK, make_history
from tests.places import ENCRYPTED, REFERENCE_DATABASES, CatalogPlace, nightly

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
SIDES = list(
    product(
        ("files", "merged files", "added files and deletion vectors", "flushed", "inlined"),
        ("duckdb", "spark"),
        ("t", "dev.c"),
    )
)
"""Which history a table has, which side changes and maintains the lake, and whether it changes the original or the clone."""
USUAL_SIDES = [("files", "spark", "dev.c"), ("inlined", "duckdb", "t")]
"""Each side, each table and each kind of storage once; the nightly run has all of them, and random changes."""


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


@pytest.mark.parametrize(
    "name", [nightly(name)[0] if name in ("merged files", "rewritten files", "flushed") else name for name in HISTORIES]
)
@pytest.mark.parity
def test_a_clone_has_the_rows_and_columns_of_its_original(both: Both, catalog: CatalogUnderTest, name: str, tmp_path: Path) -> None:
    if catalog.database != "sqlite" and name != "inlined":
        pytest.skip("files do not depend on the catalog database")
    then = make_history(both, name, tmp_path)
    before, newest = rows(both, "t"), last(both)

    ((schema, table, kind, action, files, count),) = clone(both, "table_name => 't', into => 'dev.c'")
    assert (schema, table, kind, action, count, last(both)) == ("dev", "c", "table", "cloned", len(before), newest + 1)
    assert files == len(both.duck.execute("SELECT * FROM ducklake_list_files('lake', 'c', schema => 'dev')").fetchall())
    clone(both, f"table_name => 't', into => 'dev.earlier', version => {then}")

    assert rows(both, "dev.c") == rows(both, "t") == before
    assert rows(both, "dev.earlier") == rows(both, "t", f" AT (VERSION => {then})")
    assert both.duck.execute("DESCRIBE dev.c").fetchall() == both.duck.execute("DESCRIBE t").fetchall()
    for query in ("SELECT min(id), max(id), count(*) FROM {}", "SELECT * FROM {} WHERE id = 12", "SELECT * FROM {} WHERE id > 500"):
        expected = comparable_rows(both.session.execute(query.format("t")).fetch())  # DuckDB has a fault with filters of altered columns
        assert comparable_rows(both.rows(query.format("dev.c"))) == expected
    feed = "SELECT rowid, * FROM ducklake_table_{kind}('lake', 'dev', 'c', 0, {last})"
    came = both.duck.execute(feed.format(kind="insertions", last=last(both))).fetchall()
    went = both.duck.execute(feed.format(kind="deletions", last=last(both))).fetchall()
    assert comparable_rows(list(set(came) - set(went))) == before

    both.duckdb("ALTER TABLE dev.c ADD COLUMN added INTEGER")  # gets an id that no file has
    assert both.rows("SELECT count(added) FROM dev.c") == [(0,)]
    both.spark("INSERT INTO dev.c (id, added) VALUES (900, 1)")
    both.duckdb("INSERT INTO dev.c (id, added) VALUES (901, 1)")
    found = rows(both, "dev.c")
    assert len({row_id for row_id, *_ in found}) == len(found) == len(before) + 2
    assert rows(both, "dev.c", f" AT (VERSION => {newest + 1})") == before
    assert comparable_rows(both.session.execute(f"SELECT rowid, * FROM dev.c VERSION AS OF {newest + 1}").fetch()) == before


@pytest.mark.parametrize(
    ("name", "engine", "changed"),
    [case if case in USUAL_SIDES else pytest.param(*case, marks=pytest.mark.nightly) for case in SIDES],
)
def test_no_change_and_no_maintenance_of_one_side_harms_the_other(
    both: Both, catalog: CatalogUnderTest, name: str, engine: str, changed: str, tmp_path: Path
) -> None:
    make_history(both, name, tmp_path)
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


def test_a_clone_shares_its_files_where_the_storage_has_links(both: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_history(both, "files", tmp_path)
    both.duckdb("INSERT INTO t SELECT i, 'x' FROM range(1000) r(i)")
    clone(both, "table_name => 't', into => 'dev.linked'")
    monkeypatch.setattr(os, "link", failing)
    clone(both, "table_name => 't', into => 'dev.copied'")

    def files(schema: str, table: str) -> set[int]:
        listed = both.duck.execute(f"SELECT data_file FROM ducklake_list_files('lake', '{table}', schema => '{schema}')").fetchall()
        return {Path(path).stat().st_ino for (path,) in listed}

    assert files("dev", "linked") == files("main", "t")
    assert not files("dev", "copied") & files("main", "t")
    assert rows(both, "dev.copied") == rows(both, "dev.linked") == rows(both, "t")


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [0, 1])
def test_random_changes_of_clones_of_clones(both: Both, seed: int) -> None:
    """Each table has the rows that its own statements gave it, regardless of changes to the tables that it was cloned from or to."""
    choice = random.Random(seed)
    both.duckdb("CREATE TABLE t0 (id INTEGER, v VARCHAR)")
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 3)")
    expected: dict[str, dict[int, str]] = {"t0": {}}
    for step in range(40):
        run = choice.choice([both.duckdb, both.spark])
        name = choice.choice(sorted(expected))
        content, key = expected[name], choice.randrange(40)
        match choice.choice(["insert", "insert", "insert few", "delete", "update", "clone", "clone", "drop", "maintain", "maintain"]):
            case "insert":
                both.duckdb(
                    f"INSERT INTO {name} SELECT i, 'r{step}' FROM range({key}, {key + 10}) r(i) WHERE i NOT IN (SELECT id FROM {name})"
                )
                content |= {i: f"r{step}" for i in range(key, key + 10) if i not in content}
            case "insert few":
                run(f"INSERT INTO {name} VALUES ({1000 + step}, 'few')")
                content[1000 + step] = "few"
            case "delete":
                run(f"DELETE FROM {name} WHERE id BETWEEN {key} AND {key + 4}")
                expected[name] = {i: v for i, v in content.items() if not key <= i <= key + 4}
            case "update":
                run(f"UPDATE {name} SET v = 'u{step}' WHERE id BETWEEN {key} AND {key + 2}")
                expected[name] = {i: f"u{step}" if key <= i <= key + 2 else v for i, v in content.items()}
            case "clone":
                clone(both, f"table_name => '{name}', into => 'main.t{step + 1}'")
                expected[f"t{step + 1}"] = dict(content)
            case "drop" if len(expected) > 2:
                run(f"DROP TABLE {name}")
                del expected[name]
            case "maintain":
                for statement in choice.sample(MAINTENANCE, 3) + MAINTENANCE[-3:]:
                    run(statement.format(schema="main", name=name))
        found = {each: dict(both.duck.execute(f"SELECT id, v FROM {each}").fetchall()) for each in expected}
        assert found == expected, step
    for each, content in expected.items():
        assert dict(both.session.execute(f"SELECT id, v FROM {each}").fetch()) == content


RICH = [
    "CREATE SCHEMA prod",
    "CREATE TABLE prod.orders (id INTEGER NOT NULL, v VARCHAR DEFAULT 'none', day DATE)",
    "COMMENT ON TABLE prod.orders IS 'all orders'",
    "COMMENT ON COLUMN prod.orders.v IS 'a value'",
    "ALTER TABLE prod.orders SET PARTITIONED BY (month(day))",
    "ALTER TABLE prod.orders SET SORTED BY (id DESC)",
    "CALL lake.set_option('parquet_compression', 'zstd', schema => 'prod', table_name => 'orders')",
    "CALL lake.set_option('data_inlining_row_limit', 3, schema => 'prod')",
    "INSERT INTO prod.orders SELECT i, 'v' || i, DATE '2026-01-01' + (20 * i)::INTEGER FROM range(12) r(i)",
    "DELETE FROM prod.orders WHERE id = 3",
    "CREATE TABLE prod.small (a INTEGER)",
    "INSERT INTO prod.small VALUES (1), (2)",
    "CREATE VIEW prod.recent AS SELECT id FROM prod.orders WHERE id > 5",
    "COMMENT ON VIEW prod.recent IS 'recent ones'",
    "CREATE MACRO prod.plus(a) AS a + 1",
    SPARK + "CREATE FUNCTION prod.twice(x INT) RETURNS INT RETURN x * 2",
    SPARK + "COMMENT ON SCHEMA prod IS 'the real one'",
    SPARK + "CREATE VIEW prod.counted AS SELECT count(*) AS n FROM prod.small",
    SPARK + "ALTER TABLE prod.orders SET TBLPROPERTIES ('owner' = 'anna')",
]


FEW = [each for each in RICH if not each.startswith((SPARK, "COMMENT", "CREATE VIEW", "CREATE MACRO"))]


def write(both: Both, statements: list[str]) -> Both:
    """Run the statements on their sides, and return these."""
    for statement in statements:
        if statement.startswith(SPARK):
            both.spark(statement.removeprefix(SPARK))
        else:
            both.duckdb(statement)
    return both


@pytest.fixture
def prod(both: Both) -> Both:
    """A lake with a schema `prod` that has objects of every kind."""
    return write(both, RICH)


@pytest.fixture
def few(both: Both) -> Both:
    """A lake with the tables of `prod` alone."""
    return write(both, FEW)


def definitions(both: Both, schema: str) -> dict[str, Any]:
    """Return what DuckDB and we say about the objects of a schema."""

    def theirs(what: str, source: str) -> list[Any]:
        query = f"SELECT {what} FROM {source}() WHERE database_name = 'lake' AND schema_name = '{schema}' ORDER BY ALL"
        return both.duck.execute(query).fetchall()

    options = both.duck.execute("SELECT option_name, value, scope, scope_entry FROM lake.options()").fetchall()
    return {
        "tables": theirs("table_name, comment", "duckdb_tables"),
        "views": theirs("view_name, comment", "duckdb_views"),
        "columns": theirs("table_name, column_name, data_type, is_nullable, column_default, comment", "duckdb_columns"),
        "properties": both.session.execute(f"SHOW TBLPROPERTIES {schema}.orders").fetch(),
        "function": both.session.execute(f"SELECT {schema}.twice(4)").fetch(),
        "comment": [each.comment for each in both.session.catalog.reader().schemas() if each.name == schema],
        "options": sorted((key, value, scope) for key, value, scope, entry in options if str(entry).split(".")[0] == schema),
    }


def snapshot_count(both: Both) -> int:
    return both.duck.execute("SELECT count(*) FROM lake.snapshots()").fetchone()[0]


def test_a_schema_is_cloned_in_one_snapshot(prod: Both, catalog: CatalogUnderTest) -> None:
    newest = last(prod)
    outcomes = clone(prod, "schema => 'PROD', into => 'dev'")
    assert [(name, kind, action, count) for _, name, kind, action, _, count in outcomes] == [
        ("counted", "view", "cloned", None),
        ("orders", "table", "cloned", 11),
        ("recent", "view", "cloned", None),
        ("small", "table", "cloned", 2),
        ("twice", "function", "cloned", None),
        ("plus", "macro", "left out", None),
    ]
    assert last(prod) == newest + 1
    for table in ("orders", "small"):
        assert rows(prod, f"dev.{table}") == rows(prod, f"prod.{table}")
    with connect_duckdb(catalog) as fresh:
        fresh.execute("USE lake")
        found = Both(prod.session, fresh)
        expected = definitions(found, "prod")
        assert expected["comment"] == ["the real one"]
        assert len(expected["options"]) == 2
        assert definitions(found, "dev") == expected

    prod.duckdb("INSERT INTO dev.small VALUES (3)")
    assert prod.rows("SELECT n FROM dev.counted") == [(2,)]  # the text of a view is not changed
    prod.duckdb("INSERT INTO dev.orders SELECT i, 'new', DATE '2027-06-01' + i::INTEGER FROM range(100, 106) r(i)")
    prod.spark("INSERT INTO dev.orders (id, day) VALUES (200, DATE '2027-07-01')")
    assert prod.rows("SELECT count(*), max(v) FROM dev.orders WHERE day >= DATE '2027-06-01'") == [(7, "none")]
    for condition in ("day < DATE '2026-03-01'", "month(day) = 2", "id = 7", "id = 3", "v = 'v9'"):
        query = "SELECT id, v, day FROM {}.orders WHERE {} AND day < DATE '2027-06-01'"
        assert prod.rows(query.format("dev", condition)) == prod.rows(query.format("prod", condition))
    query = "SELECT count(*) FROM {}.orders WHERE day = DATE '2026-01-01'"
    (read,), (of_original,) = (prod.session.execute(query.format(schema)).files for schema in ("dev", "prod"))
    assert read.read == of_original.read < of_original.total
    values = prod.duck.execute(
        "SELECT count(*) FROM ducklake_list_files('lake', 'orders', schema => 'dev') WHERE data_file LIKE '%month=%'"
    )
    (shown,) = values.fetchone()
    assert shown == 0 if ENCRYPTED else shown >= 8  # paths in an encrypted lake show no values
    with pytest.raises(Exception, match="NULL"):
        prod.spark("INSERT INTO dev.orders (id) VALUES (NULL)")

    clone(prod, "schema => 'dev', into => 'dev-2'")  # a clone of a clone
    prod.spark("DROP SCHEMA dev CASCADE")
    for statement in MAINTENANCE[2:]:
        prod.duckdb(statement)
    assert prod.duck.execute('SELECT count(*) FROM "dev-2".orders').fetchone() == (18,)
    assert prod.session.execute("SELECT count(*) FROM `dev-2`.orders").fetch() == [(18,)]
    assert prod.rows("SELECT count(*) FROM prod.orders") == [(11,)]
    clone(prod, f"schema => 'prod', into => 'dev', version => {last(prod)}")
    assert prod.rows("SELECT count(*) FROM dev.orders") == [(11,)]


def test_a_table_is_replaced_and_names_may_be_quoted(few: Both) -> None:
    newest = last(few)
    clone(few, "table => 'small', schema => 'prod', into => '`my dev`.\"a.b\"'")
    assert few.duck.execute('SELECT a FROM "my dev"."a.b"').fetchall() == [(1,), (2,)]
    clone(few, "table_name => 'orders', schema => 'prod', into => ['lake', 'my dev', 'a.b'], replace => true")
    assert few.duck.execute('SELECT count(*) FROM "my dev"."a.b"').fetchall() == [(11,)]
    clone(few, "table_name => 'small', schema => 'prod', into => 'my dev', timestamp => '2100-01-01'")
    assert few.duck.execute('SELECT count(*) FROM "my dev".small').fetchall() == [(2,)]
    assert last(few) == newest + 3


REFUSED = {
    "into => 'dev'": "needs into, and table_name or schema",
    "schema => 'prod'": "needs into, and table_name or schema",
    "schema => 'prod', into => 'dev..x'": "into must be the name of a schema or table, such as 'dev' or 'dev.orders', not 'dev..x'",
    "schema => 'prod', into => 'a.b.c.d'": "into must be the name of a schema",
    "schema => 'prod', into => 'lake.dev.t'": r"lake\.dev\.t is the name of a table",
    "schema => 'prod', into => 'prod'": "prod cannot be cloned into itself",
    "schema => 'prod', into => 'other.dev'": r"other\.dev is not in the lake lake.*CREATE TABLE … AS SELECT",
    "table_name => 'small', schema => 'prod', into => 'other.dev.t'": r"other\.dev\.t is not in the lake lake",
    "schema => 'prod', into => 'full'": r"schema full is not empty \(t\).*DROP SCHEMA full CASCADE",
    "schema => 'prod', into => 'functions'": r"schema functions is not empty \(one\)",
    "schema => 'prod', into => 'dev', replace => true": "clone replaces only a table",
    "schema => 'none', into => 'dev'": "schema none does not exist",
    "schema => 'prod', into => 'dev', version => 99": "snapshot 99",
    "schema => 'prod', into => 'dev', version => 0": "schema prod does not exist. There was none at snapshot 0",
    "schema => 'prod', into => 'dev', version => 1, timestamp => '2026-01-01'": "version or timestamp, not both",
    "table_name => 'none', schema => 'prod', into => 'dev'": r"table prod\.none does not exist",
    "table_name => 'recent', schema => 'prod', into => 'dev'": r"prod\.recent is a view, which has no files to share",
    "table_name => 'small', schema => 'prod', into => 'full.t'": r"table full\.t already exists: DROP TABLE it first",
    "table_name => 'small', schema => 'prod', into => 'prod'": r"table prod\.small already exists",
    "table_name => 'small', schema => 'prod', into => 'prod.small', replace => true": "cannot be replaced by a clone of itself",
    "table_name => 'small', schema => 'prod', into => 'prod.recent', replace => true": r"view prod\.recent already exists: DROP VIEW",
}


def test_a_refused_clone_names_the_reason_and_changes_nothing(prod: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prod.duckdb('CREATE SCHEMA "full"')
    prod.duckdb('CREATE TABLE "full".t (a INTEGER)')
    prod.spark("CREATE SCHEMA functions")
    prod.spark("CREATE FUNCTION functions.one() RETURNS INT RETURN 1")
    newest = last(prod)

    def files() -> list[str]:
        return sorted(str(path) for path in (tmp_path / "lake_files").rglob("*.parquet"))

    kept = files()
    for arguments, text in REFUSED.items():
        with pytest.raises(StatementError, match=text):
            clone(prod, arguments)
        assert (last(prod), files()) == (newest, kept), arguments

    with monkeypatch.context() as broken:
        broken.setattr("dbt.adapters.ducklake.lake.rollback_rows.write_delete_file", failing)
        with pytest.raises(Exception, match="the storage is full"):
            clone(prod, "schema => 'prod', into => 'dev'")
    lost = next(path for path in kept if "-delete" not in path)
    Path(lost).rename(lost + ".away")
    with pytest.raises(LakeError, match="the lake has lost it"):
        clone(prod, "schema => 'prod', into => 'dev'")
    Path(lost + ".away").rename(lost)
    assert (last(prod), files()) == (newest, kept)
    clone(prod, "schema => 'prod', into => 'dev'")


def failing(*_: Any, **__: Any) -> Any:
    raise OSError("the storage is full")


def test_a_clone_in_a_transaction_is_of_what_was_committed_and_is_read_when_it_is_committed(few: Both) -> None:
    newest, expected = last(few), rows(few, "prod.orders")
    session = few.session
    with few.transaction():
        few.spark("INSERT INTO prod.small VALUES (3)")
        for arguments in ("table_name => 'small', schema => 'prod', into => 'dev'", "schema => 'prod', into => 'dev'"):
            with pytest.raises(StatementError, match=r"prod\.small changed in this transaction; COMMIT before you clone"):
                clone(few, arguments)
        clone(few, "table_name => 'orders', schema => 'prod', into => 'dev.c'")
        for statement in ("SELECT count(*) FROM dev.c", "INSERT INTO dev.c (id) VALUES (1)", "ALTER TABLE dev.c ADD COLUMN n INT"):
            with pytest.raises(StatementError, match=r"dev\.c was cloned in this transaction; COMMIT before you read or change"):
                session.execute(statement).fetch()
        few.spark("COMMENT ON TABLE dev.c IS 'a clone'")
        few.spark("ALTER TABLE dev.c ALTER COLUMN v COMMENT 'a comment'")
    assert last(few) == newest + 1
    assert rows(few, "dev.c") == expected
    comments = few.duck.execute("SELECT comment FROM duckdb_tables() WHERE schema_name = 'dev' AND table_name = 'c'").fetchall()
    assert comments == [("a clone",)]
    with few.transaction():
        clone(few, "table_name => 'orders', schema => 'prod', into => 'dev.d'")
        few.spark("DROP TABLE dev.d")
    few.duckdb("CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)")
    assert rows(few, "dev.c") == expected


def test_a_concurrent_change_of_the_original_does_not_matter(few: Both) -> None:
    expected = rows(few, "prod.orders")
    few.session.begin()
    clone(few, "table_name => 'orders', schema => 'prod', into => 'dev.c'")
    for statement in ("DELETE FROM prod.orders WHERE id < 6", "INSERT INTO prod.orders VALUES (50, 'x', NULL)", "DROP TABLE prod.orders"):
        few.duckdb(statement)
    few.session.commit()
    assert rows(few, "dev.c") == expected
    for statement in MAINTENANCE[2:]:
        few.duckdb(statement)
    assert rows(few, "dev.c") == expected


def test_a_file_that_cleanup_removes_before_it_has_its_second_name_is_a_conflict(few: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clone is planned again at the newest snapshot."""
    from dbt.adapters.ducklake.lake import clone as module

    planned = []

    def and_then_removed(plan: Any) -> Any:
        found = real(plan)
        if not planned:
            few.duckdb("CALL ducklake_rewrite_data_files('lake', 'orders', schema => 'prod', delete_threshold => 0)")
            few.duckdb("CALL ducklake_expire_snapshots('lake', older_than => TIMESTAMP '2100-01-01 00:00:00')")
            few.duckdb("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
        planned.append(plan)
        return found

    real = module.difference
    few.duckdb("DELETE FROM prod.orders WHERE id IN (0, 1, 2, 4, 5)")
    monkeypatch.setattr(module, "difference", and_then_removed)
    clone(few, "table_name => 'orders', schema => 'prod', into => 'dev.c'")
    assert len(planned) == 2
    assert rows(few, "dev.c") == rows(few, "prod.orders")


@pytest.mark.parity
def test_a_dropped_table_whose_last_snapshot_expires_during_its_clone_is_a_conflict(few: Both) -> None:
    then = last(few)
    few.duckdb("DROP TABLE prod.orders")
    catalog = few.session.catalog
    transaction = catalog.begin()
    context = Context(catalog, transaction, few.session.spark)
    clone_table(context, catalog.reader(catalog.resolve(version=then)), "prod", "orders", ("dev", "c"))
    few.duckdb("CALL ducklake_expire_snapshots('lake', older_than => TIMESTAMP '2100-01-01 00:00:00')")
    with pytest.raises(ConflictError, match=r"dev\.c gets was dropped, and its last snapshot has expired"):
        transaction.commit()
    remove(transaction.abandoned_files())
    assert few.rows("SELECT count(*) FROM information_schema.tables WHERE table_schema = 'dev'") == [(0,)]


@pytest.mark.parity
def test_a_schema_that_a_concurrent_writer_fills_is_a_conflict(few: Both) -> None:
    few.session.begin()
    clone(few, "schema => 'prod', into => 'dev'")
    few.duckdb("CREATE SCHEMA dev")
    few.session.commit()  # replayed, into the empty schema
    assert rows(few, "dev.orders") == rows(few, "prod.orders")
    few.session.begin()
    clone(few, "schema => 'prod', into => 'dev2'")
    few.duckdb("CREATE SCHEMA dev2")
    few.duckdb("CREATE TABLE dev2.taken (a INTEGER)")
    with pytest.raises(ConflictError, match=r"schema dev2 is not empty \(taken\)"):
        few.session.commit()
    assert few.rows("SELECT table_name FROM information_schema.tables WHERE table_schema = 'dev2'") == [("taken",)]


def test_a_damaged_table_is_an_error_and_is_not_left_out(few: Both) -> None:
    catalog = few.session.catalog
    with catalog._database.writing() as connection:
        connection.exec_driver_sql("UPDATE ducklake_column SET column_type = NULL WHERE column_name = 'a'")
    newest = catalog.latest()
    with pytest.raises(LakeError, match="the catalog is damaged"):
        clone(few, "schema => 'prod', into => 'dev'")
    assert catalog.latest() == newest


def test_the_directory_of_an_added_file_is_kept_although_the_data_path_has_its_key(both: Both, tmp_path: Path) -> None:
    (tmp_path / "raw" / "region=us").mkdir(parents=True)
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int32())}), tmp_path / "raw" / "region=us" / "x.parquet")
    place = CatalogPlace(f"ducklake:sqlite:{tmp_path}/region.sqlite", f"{tmp_path}/region=eu/files/")
    with connect(place.path, place.data_path, spark=both.session.spark()) as session:
        session.execute("CREATE TABLE t (a INT, region STRING)")
        session.execute(f"CALL add_data_files('t', ['{tmp_path}/raw/*/*.parquet'])")
        session.execute("CALL clone(table_name => 't', into => 'main.cloned')")
        session.execute("CREATE TABLE rolled (a INT, region STRING)")
        session.execute("CALL clone(table_name => 'cloned', into => 'main.again')")
        then = session.catalog.latest().snapshot_id
        session.execute("TRUNCATE TABLE t")
        session.execute(f"CALL rollback(table_name => 't', version => {then})")
        for name in ("t", "cloned", "again"):
            query = f"SELECT a, region FROM {name} WHERE region = 'us' ORDER BY a"
            assert session.execute(query).fetch() == [(1, "us"), (2, "us")], name
            with oracle.connect(place) as duck:
                assert duck.execute(f"USE lake; {query}").fetchall() == [(1, "us"), (2, "us")], name
