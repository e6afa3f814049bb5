"""Rollback: DuckDB reads the rows of the restored snapshot and continues from it, and all earlier snapshots stay unchanged."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.errors import ConflictError, EngineError, LakeError, NotFoundError, StatementError
from dbt.adapters.ducklake.lake import rollback, rollback_rows
from dbt.adapters.ducklake.lake.context import Context
from dbt.adapters.ducklake.lake.rollback import roll_back
from dbt.adapters.ducklake.spark.files import deletes
from dbt.adapters.ducklake.spark.files.storage import remove
from tests.catalogs import CatalogUnderTest
from tests.interop.conftest import Both, comparable_rows
from tests.interop.oracle import connect as connect_duckdb
from tests.places import ENCRYPTED, REFERENCE_DATABASES, nightly

CATALOGS = REFERENCE_DATABASES


def last(both: Both) -> int:
    return both.duck.execute("SELECT max(snapshot_id) FROM lake.snapshots()").fetchone()[0]


def ours(both: Both, query: str) -> list[tuple[Any, ...]]:
    """Return what we read."""
    return comparable_rows(both.session.execute(query).fetch())


def rows(both: Both, table: str = "t", version: int | None = None) -> list[tuple[Any, ...]]:
    """Return row ids and values as DuckDB reads them."""
    at = "" if version is None else f" AT (VERSION => {version})"
    return comparable_rows(both.duck.execute(f"SELECT rowid, * FROM {table}{at}").fetchall())


def duckdb_reads(both: Both, first: int, newest: int) -> dict[Any, Any]:
    """Return what DuckDB reads of each snapshot, and all changes."""
    found: dict[Any, Any] = {version: rows(both, version=version) for version in range(first, newest + 1)}
    found["feed"] = comparable_rows(both.duck.execute(f"SELECT * FROM lake.table_changes('t', {first}, {newest})").fetchall())
    return found


def roll_back_table(both: Both, version: int) -> tuple[Any, ...]:
    """Roll the table back and assert that DuckDB reads the old rows. Return (result row, rows before, rows after)."""
    before, wanted = rows(both), rows(both, version=version)
    outcome = both.session.execute(f"CALL ducklake_rollback('lake', version => {version}, table_name => 't')").fetch()
    assert rows(both) == wanted
    return outcome[0], before, wanted


def net_changes(both: Both) -> dict[Any, int]:
    """Return the insertions of the newest snapshot minus its deletions, which both sides must report."""
    net: Counter[Any] = Counter()
    for function, sign in (("table_insertions", 1), ("table_deletions", -1)):
        query = f"SELECT rowid, * FROM ducklake_{function}('lake', 'main', 't', {last(both)}, {last(both)})"
        reported = comparable_rows(both.duck.execute(query).fetchall())
        assert ours(both, query.replace("*", "* EXCEPT (snapshot_id, rowid)")) == reported
        for row in reported:
            net[row] += sign
    return {row: number for row, number in net.items() if number}


def difference(before: list[tuple[Any, ...]], after: list[tuple[Any, ...]]) -> dict[Any, int]:
    came, went = set(after), set(before)
    return {**dict.fromkeys(came - went, 1), **dict.fromkeys(went - came, -1)}


FILES = ["CALL lake.set_option('data_inlining_row_limit', 0)", "CREATE TABLE t (id INTEGER, v VARCHAR)"]
INLINED = ["CREATE TABLE t (id INTEGER, v VARCHAR)"]
TARGET = "-- the snapshot to go back to"
SPARK = "-- Spark: "
HISTORIES = {
    "files": [
        *FILES,
        "INSERT INTO t SELECT i, 'a' || i FROM range(6) r(i)",
        "INSERT INTO t SELECT 10 + i, 'b' || i FROM range(6) r(i)",
        "DELETE FROM t WHERE id IN (1, 11)",
        TARGET,
        "DELETE FROM t WHERE id IN (2, 12, 13)",
        SPARK + "UPDATE t SET v = 'c' WHERE id IN (3, 14)",
        "INSERT INTO t SELECT 20 + i, 'c' || i FROM range(3) r(i)",
        "DELETE FROM t WHERE id < 10",
    ],
    "merged files": [
        *FILES,
        *(f"INSERT INTO t SELECT {10 * n} + i, 'a' FROM range(4) r(i)" for n in range(2)),
        SPARK + "UPDATE t SET v = 'b' WHERE id IN (1, 11)",
        "DELETE FROM t WHERE id = 2",
        TARGET,
        *(f"INSERT INTO t SELECT {10 * n} + i, 'c' FROM range(4) r(i)" for n in range(2, 4)),
        "CALL ducklake_merge_adjacent_files('lake')",
        "DELETE FROM t WHERE id IN (0, 20)",
        SPARK + "UPDATE t SET v = 'd' WHERE id IN (1, 3, 21)",
    ],
    "rewritten files": [
        *FILES,
        "ALTER TABLE t SET PARTITIONED BY (v)",
        "INSERT INTO t SELECT i, 'a' || i % 2 FROM range(8) r(i)",
        "DELETE FROM t WHERE id = 1",
        TARGET,
        "DELETE FROM t WHERE id < 6",
        "CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)",
        "ALTER TABLE t RESET PARTITIONED BY",
        "INSERT INTO t VALUES (100, 'new')",
    ],
    "added files and deletion vectors": [
        *FILES,
        "CALL lake.set_option('write_deletion_vectors', true)",
        "COPY (SELECT i::INTEGER AS id, 'v' || i % 2 AS v FROM range(6) r(i)) TO '{place}/added' (FORMAT parquet, PARTITION_BY (v))",
        "CALL ducklake_add_data_files('lake', 't', '{place}/added/*/*.parquet', hive_partitioning => true)",
        "INSERT INTO t SELECT 10 + i, 'w' FROM range(6) r(i)",
        "DELETE FROM t WHERE id IN (1, 11)",
        TARGET,
        "DELETE FROM t WHERE id IN (2, 3, 12)",
        "DELETE FROM t WHERE v = 'v1'",
    ],
    "inlined": [
        *INLINED,
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL)",
        "UPDATE t SET v = 'c' WHERE id = 2",
        "INSERT INTO t SELECT 10 + i, 'x' FROM range(20) r(i)",
        "DELETE FROM t WHERE id IN (10, 11)",
        TARGET,
        "UPDATE t SET v = 'd' WHERE id IN (1, 2)",
        "DELETE FROM t WHERE id IN (3, 12)",
        "INSERT INTO t VALUES (4, 'e')",
        "UPDATE t SET v = 'd2' WHERE id IN (1, 4)",
    ],
    "flushed": [
        *INLINED,
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL)",
        "INSERT INTO t SELECT 10 + i, 'x' FROM range(20) r(i)",
        "DELETE FROM t WHERE id IN (2, 10)",
        TARGET,
        "INSERT INTO t VALUES (4, 'd')",
        "UPDATE t SET v = 'd' WHERE id IN (1, 11)",
        "CALL ducklake_flush_inlined_data('lake')",
        "DELETE FROM t WHERE id IN (3, 12)",
        "INSERT INTO t VALUES (5, 'e')",
    ],
    "columns": [
        *INLINED,
        "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
        "ALTER TABLE t ADD COLUMN k INTEGER DEFAULT 7",
        "INSERT INTO t SELECT 10 + i, 'x', i FROM range(20) r(i)",
        "INSERT INTO t VALUES (3, 'c', 1), (4, 'c', 2)",
        "COMMENT ON COLUMN t.k IS 'a key'",
        "ALTER TABLE t ALTER COLUMN id SET NOT NULL",
        TARGET,
        "DELETE FROM t WHERE id = 3",
        "ALTER TABLE t ALTER COLUMN id TYPE BIGINT",
        "ALTER TABLE t DROP COLUMN v",
        "ALTER TABLE t RENAME COLUMN k TO key",
        "ALTER TABLE t ADD COLUMN v INTEGER",
        "INSERT INTO t VALUES (500, 9, 9)",
        "INSERT INTO t SELECT 600 + i, i, i FROM range(20) r(i)",
        "ALTER TABLE t ALTER COLUMN id DROP NOT NULL",
        "COMMENT ON COLUMN t.key IS NULL",
        "DELETE FROM t WHERE id = 10",
    ],
}


def make_history(both: Both, name: str, place: Path) -> int:
    """Run the statements of a history, which create the table t, and return the snapshot at its TARGET."""
    if ENCRYPTED and "ducklake_add_data_files" in "".join(HISTORIES[name]):
        pytest.skip("files that are added are plain, and both sides refuse to read a plain file of an encrypted lake")
    then = 0
    for statement in (each.replace("{place}", str(place)) for each in HISTORIES[name]):
        if statement == TARGET:
            then = last(both)
        elif statement.startswith(SPARK):
            both.spark(statement.removeprefix(SPARK))
        else:
            both.duckdb(statement)
    return then


@pytest.mark.parametrize(
    "name", ["files", "added files and deletion vectors", "inlined", "columns", *nightly("merged files", "rewritten files", "flushed")]
)
@pytest.mark.parity
def test_a_table_is_usable_after_a_rollback(both: Both, catalog: CatalogUnderTest, name: str, tmp_path: Path) -> None:
    if catalog.database != "sqlite" and name != "inlined":
        pytest.skip("files do not depend on the catalog database")
    then = make_history(both, name, tmp_path)
    first = both.duck.execute("SELECT min(snapshot_id) FROM lake.snapshots() WHERE list_contains(changes['tables_created'], 'main.t')")
    first = first.fetchone()[0]
    newest = last(both)
    before = duckdb_reads(both, first, newest)
    dry = both.session.execute(f"CALL ducklake_rollback('lake', version => {then}, table_name => 't', dry_run => true)").fetch()
    assert (last(both), len(dry)) == (newest, 1)

    outcome, old, wanted = roll_back_table(both, then)
    assert ours(both, "SELECT rowid, * FROM t") == wanted
    reported = net_changes(both)
    assert outcome == dry[0]
    assert outcome[-2:] == (len(old), len(wanted))
    if name != "columns":  # for that history, old rows are reported with the current columns
        assert reported == difference(old, wanted)
    assert duckdb_reads(both, first, newest) == before
    nothing = both.session.execute(f"CALL lake.rollback(version => {newest + 1}, schema => 'main')").fetch()
    assert nothing == [("main", "t", "table", "kept", 0, 0, None, None)]
    assert last(both) == newest + 1  # a rollback that changes nothing creates no snapshot

    roll_back_table(both, newest)
    assert both.duck.execute("DESCRIBE t").fetchall() == both.duck.execute(f"DESCRIBE SELECT * FROM t AT (VERSION => {newest})").fetchall()
    roll_back_table(both, then)

    both.duckdb("INSERT INTO t (id, v) VALUES (200, 'n'), (201, 'n')")
    both.duckdb("DELETE FROM t WHERE id IN (200, 13, 0)")
    both.duckdb("UPDATE t SET v = 'u' WHERE id IN (1, 14, 15)")
    both.spark("DELETE FROM t WHERE id IN (2, 16)")
    assert both.rows("SELECT min(id), max(id), count(*) FROM t")
    for statement in (
        "flush_inlined_data('lake')",
        "merge_adjacent_files('lake')",
        "rewrite_data_files('lake', 't', delete_threshold => 0)",
    ):
        now = rows(both)
        both.duckdb(f"CALL ducklake_{statement}")
        assert rows(both) == now, statement
    both.duckdb("CALL ducklake_expire_snapshots('lake', older_than => now() + INTERVAL 1 DAY)")
    both.duckdb("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    assert rows(both) == now
    assert ours(both, "SELECT rowid, * FROM t") == now
    named = {row[0] for row in both.duck.execute("SELECT data_file FROM ducklake_list_files('lake', 't')").fetchall()}
    data_files = {str(path) for path in (tmp_path / "lake_files").rglob("*.parquet") if "-delete" not in path.name}
    assert data_files == named


BEFORE = [
    "CREATE SCHEMA s",
    "CREATE SCHEMA gone",
    "CREATE TABLE t (id INTEGER, v VARCHAR)",
    "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
    "COMMENT ON TABLE t IS 'then'",
    "CREATE TABLE s.u AS SELECT i AS id, 'x' || i AS v FROM range(30) r(i)",
    "DELETE FROM s.u WHERE id = 3",
    "CREATE TABLE gone.g (id INTEGER, k INTEGER, n INTEGER)",
    "INSERT INTO gone.g SELECT i, i, i FROM range(100, 140) r(i)",
    "ALTER TABLE gone.g DROP COLUMN n",
    "ALTER TABLE gone.g RENAME COLUMN k TO m",
    "INSERT INTO gone.g VALUES (7, 7)",
    "CREATE TABLE part (id INTEGER, v VARCHAR)",
    "ALTER TABLE part SET PARTITIONED BY (bucket(3, v))",
    "INSERT INTO part SELECT i, 'v' || i FROM range(20) r(i)",
    "INSERT INTO part VALUES (50, 'v50')",
    "CREATE VIEW s.w AS SELECT id FROM lake.t",
    "CREATE VIEW x AS SELECT 1 AS a",
    "CREATE MACRO plus(a) AS a + 1",
    "CREATE MACRO s.tm() AS TABLE SELECT 1 AS one",
]
SINCE = [
    "ALTER TABLE t RENAME TO t2",
    "CREATE TABLE t (z INTEGER)",
    "INSERT INTO t VALUES (0)",
    "COMMENT ON TABLE t2 IS 'now'",
    "INSERT INTO t2 VALUES (3, 'c')",
    "DROP TABLE s.u",
    "CREATE TABLE s.u (other INTEGER)",
    "INSERT INTO gone.g VALUES (8, 8)",
    "DELETE FROM gone.g WHERE id = 7",
    "DROP SCHEMA gone CASCADE",
    "ALTER TABLE part RESET PARTITIONED BY",
    "INSERT INTO part VALUES (60, 'v60')",
    "ALTER TABLE part ADD COLUMN n INTEGER",
    "CREATE OR REPLACE VIEW s.w AS SELECT 5 AS five",
    "DROP VIEW x",
    "CREATE TABLE x (a INTEGER)",
    "DROP MACRO plus",
    "DROP MACRO TABLE s.tm",
    "CREATE MACRO fresh(a) AS a",
    "CREATE SCHEMA fresh",
    "CREATE TABLE fresh.f (a INTEGER)",
]
TABLES = ["t", "s.u", "gone.g", "part"]
VIEWS = ["s.w", "x"]


def everything(both: Both, names: list[str], *, row_ids: bool = True) -> dict[str, Any]:
    head = "rowid, " if row_ids else ""
    return {name: comparable_rows(both.duck.execute(f"SELECT {head}* FROM {name}").fetchall()) for name in names}


def relations(both: Both) -> set[tuple[Any, ...]]:
    found = both.duck.execute("SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE table_catalog = 'lake'")
    return set(found.fetchall())


def test_a_lake_is_usable_after_a_rollback(both: Both, catalog: CatalogUnderTest) -> None:
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 10)")
    for statement in BEFORE:
        both.duckdb(statement)
    then, tables, views, relations_then = last(both), everything(both, TABLES), everything(both, VIEWS, row_ids=False), relations(both)
    for statement in SINCE:
        both.duckdb(statement)
    newest, now = last(both), everything(both, ["t", "t2", "s.u", "part", "x", "fresh.f"])
    outcomes = both.session.execute(f"CALL ducklake_rollback('lake', version => {then})").fetch()
    done = {(name or schema, kind): action for schema, name, kind, action, *_ in outcomes}
    assert [
        done[each]
        for each in (("t2", "table"), ("t", "table"), ("g", "table"), ("x", "view"), ("plus", "macro"), ("fresh", "schema"))
        if each in done
    ] == ["altered", "restored", "restored", "restored", "dropped"]

    def assert_restored() -> None:
        assert (everything(both, TABLES), everything(both, VIEWS, row_ids=False), relations(both)) == (tables, views, relations_then)
        assert both.duck.execute("SELECT plus(1), one FROM s.tm()").fetchall() == [(2, 1)]
        assert both.duck.execute("SELECT * FROM part WHERE v = 'v50'").fetchall() == [(50, "v50")]
        comment = "SELECT comment FROM duckdb_tables() WHERE table_name = 't' AND database_name = 'lake'"
        assert both.duck.execute(comment).fetchall() == [("then",)]

    assert_restored()
    both.session.execute(f"CALL ducklake_rollback('lake', version => {newest})")
    assert everything(both, list(now)) == now
    both.session.execute(f"CALL lake.rollback(version => {then})")
    assert_restored()
    for name in TABLES:
        assert ours(both, f"SELECT rowid, * FROM {name}") == tables[name]
    assert ours(both, "SELECT * FROM s.w") == views["s.w"]

    both.duckdb("ALTER TABLE gone.g ADD COLUMN k INTEGER")  # a column that the old files do not have
    both.duckdb("INSERT INTO gone.g VALUES (9, 9, 9)")
    both.duckdb("INSERT INTO part VALUES (70, 'v70')")
    both.spark("INSERT INTO t VALUES (9, 'z')")
    assert both.rows("SELECT count(*), count(m), count(k) FROM gone.g") == [(42, 42, 1)]
    on = everything(both, TABLES)
    assert len({row_id for row_id, *_ in on["gone.g"]}) == 42
    for statement in ("flush_inlined_data('lake')", "merge_adjacent_files('lake')"):
        both.duckdb(f"CALL ducklake_{statement}")
    both.duckdb("CALL ducklake_expire_snapshots('lake', older_than => now() + INTERVAL 1 DAY)")
    both.duckdb("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    with connect_duckdb(catalog) as fresh:
        fresh.execute("USE lake")
        assert everything(Both(both.session, fresh), TABLES) == on
    assert ours(both, "SELECT rowid, * FROM gone.g") == on["gone.g"]


def test_a_schema_is_rolled_back_alone(both: Both) -> None:
    for statement in BEFORE[:8]:
        both.duckdb(statement)
    then, tables = last(both), everything(both, TABLES[:3])
    for statement in ("INSERT INTO t VALUES (5, 'e')", "DROP TABLE s.u", "CREATE TABLE s.more (a INTEGER)", "DROP SCHEMA gone CASCADE"):
        both.duckdb(statement)
    both.session.execute(f"CALL ducklake_rollback('lake', version => {then}, schema => 'S')")
    both.session.execute(f"CALL ducklake_rollback('lake', version => {then}, schema => 'gone')")
    assert everything(both, TABLES[1:3]) == {name: tables[name] for name in TABLES[1:3]}
    assert len(rows(both)) == 3
    assert relations(both) == {(s, n, "BASE TABLE") for s, n in (("main", "t"), ("s", "u"), ("gone", "g"))}


def test_a_delete_file_of_both_snapshots_is_read_once(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    for statement in (*FILES, "INSERT INTO t SELECT range, 'v' FROM range(20)", "DELETE FROM t WHERE id < 3", "DELETE FROM t WHERE id = 5"):
        both.duckdb(statement)
    version, read, read_file = last(both), [], deletes._read
    both.duckdb("DELETE FROM t WHERE id = 6")
    both.duckdb("INSERT INTO t SELECT range, 'w' FROM range(20)")
    monkeypatch.setattr(deletes, "_read", lambda file: read.append(file.path) or read_file(file))
    outcome, before, after = roll_back_table(both, version)
    assert len(read) == 1
    assert outcome[4:] == (2, 1, len(before), len(after))


@pytest.mark.parametrize("name", ["t", None])
def test_a_conflict_is_found_before_files_are_copied(both: Both, name: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for statement in (*FILES, "INSERT INTO t SELECT range, 'v' FROM range(20)", "DELETE FROM t"):
        both.duckdb(statement)
    copied, restore, compare, compared = [], rollback_rows.restore_file, rollback.difference, []

    def insert_then_compare(plan: Any) -> Any:
        if not compared:
            both.duckdb("INSERT INTO t VALUES (100, 'new')")
        compared.append(plan)
        return compare(plan)

    monkeypatch.setattr(rollback, "difference", insert_then_compare)
    monkeypatch.setattr(rollback_rows, "restore_file", lambda *args, **options: copied.append(args) or restore(*args, **options))
    table = "" if name is None else f", table_name => '{name}'"
    both.spark(f"CALL ducklake_rollback('lake', version => {last(both) - 1}{table})")
    assert (len(compared), len(copied)) == (2, 1)
    assert len(both.rows("SELECT * FROM t")) == 20


def test_rows_that_can_no_longer_be_inlined_are_restored_in_files(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    for statement in INLINED:
        both.duckdb(statement)
    both.duckdb("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    both.duckdb("UPDATE t SET v = 'c' WHERE id = 1")
    both.duckdb("ALTER TABLE t SET PARTITIONED BY (v)")
    then = last(both)
    both.duckdb("DELETE FROM t")
    monkeypatch.setattr(type(both.session.catalog), "can_inline", lambda *_: False)
    _, before, wanted = roll_back_table(both, then)
    assert net_changes(both) == difference(before, wanted)
    both.duckdb("UPDATE t SET v = 'd' WHERE id = 1")
    both.duckdb("INSERT INTO t VALUES (3, 'e')")
    assert rows(both) == [(0, 1, "d"), (1, 2, "b"), (2, 3, "e")]


def test_a_damaged_earlier_definition_is_an_error_and_drops_nothing(both: Both) -> None:
    both.duckdb("CREATE TABLE t (a INTEGER, c INTEGER)")
    both.duckdb("CREATE VIEW v AS SELECT 1 AS one")
    then = last(both)
    both.duckdb("ALTER TABLE t RENAME COLUMN a TO b")
    with both.session.catalog._database.writing() as connection:
        connection.exec_driver_sql("UPDATE ducklake_column SET column_type = NULL WHERE end_snapshot IS NOT NULL")
    newest = last(both)
    for arguments in (f"version => {then}", f"version => {then}, schema => 'main'", f"version => {then}, table_name => 't'"):
        with pytest.raises(LakeError, match="the catalog is damaged"):
            both.session.execute(f"CALL ducklake_rollback('lake', {arguments})")
    assert last(both) == newest
    assert {row[1] for row in both.session.execute("SHOW TABLES").fetch()} == {"t", "v"}


def test_a_refused_rollback_names_the_reason_and_changes_nothing(both: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0)")
    empty = last(both)
    both.duckdb("CREATE TABLE t AS SELECT i AS id FROM range(5) r(i)")
    both.duckdb("INSERT INTO t VALUES (5)")
    both.duckdb("DELETE FROM t WHERE id = 1")
    then = last(both)
    both.duckdb("DELETE FROM t")
    newest = last(both)

    def assert_refused(arguments: str, text: str, kind: type[Exception] = StatementError) -> None:
        with pytest.raises(kind, match=text):
            both.session.execute(f"CALL ducklake_rollback('lake', {arguments})")
        assert (last(both), rows(both)) == (newest, [])

    def files() -> list[str]:
        return sorted(str(path) for path in (tmp_path / "lake_files").rglob("*.parquet"))

    kept = files()
    assert_refused("table_name => 't'", "as either version")
    assert_refused(f"version => {then}, timestamp => '2026-01-01'", "as either version")
    assert_refused("version => 99", "snapshot 99", NotFoundError)
    assert_refused("timestamp => '2001-01-01'", "later", NotFoundError)
    assert_refused(f"version => {empty}, table_name => 't'", f"did not exist at snapshot {empty}; DROP TABLE removes it", NotFoundError)
    assert_refused(f"version => {empty}, table_name => 'other'", "did not exist", NotFoundError)
    assert_refused(
        f"version => {then}, schema => 'other'", f"schema other does not exist. It did not exist at snapshot {then}$", NotFoundError
    )
    with both.transaction():
        assert_refused(f"version => {then}", "runs in its own transaction")
    session = both.session
    for fault in ("write_delete_file", "RestoredRows"):
        with monkeypatch.context() as broken:
            broken.setattr(f"dbt.adapters.ducklake.lake.rollback_rows.{fault}", failing)
            assert_refused(f"version => {then}", "the storage is full", EngineError)
        assert files() == kept

    transaction = session.catalog.begin()
    context = Context(session.catalog, transaction, session.spark)
    roll_back(context, session.catalog.resolve(version=then), "main", "t")
    assert len(files()) == len(kept) + 3
    both.duckdb("INSERT INTO t VALUES (77)")
    with pytest.raises(ConflictError, match=r"main\.t.*inserted rows"):
        transaction.commit()
    remove(transaction.abandoned_files())
    assert [row[1] for row in rows(both)] == [77]
    both.duckdb("ALTER TABLE t RENAME TO renamed")
    both.duckdb("CREATE TABLE t (other INTEGER)")
    newest = last(both)
    assert_refused(f"version => {then}, table_name => 't'", r"is called main\.renamed now; roll that one back")

    (lost,) = [path for path in files() if both.duck.execute(f"SELECT count(*) FROM '{path}'").fetchone() == (5,)]
    Path(lost).rename(lost + ".away")
    for dry_run in ("true", "false"):
        assert_refused(f"version => {then}, table_name => 'renamed', dry_run => {dry_run}", "the lake has lost it", LakeError)
    Path(lost + ".away").rename(lost)
    session.execute(f"CALL ducklake_rollback('lake', version => {then}, table_name => 'renamed')")
    assert [row[1] for row in rows(both, "renamed")] == [0, 2, 3, 4, 5]


def failing(*_: Any, **__: Any) -> Any:
    raise OSError("the storage is full")
