"""The catalog compared with DuckDB, without Spark: PyArrow writes the files, DuckDB reads the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import duckdb
import pytest
from sqlalchemy import update

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store import tables
from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.format.objects import Column, Default, PartitionField, Partitioning, Table
from tests.catalog_objects import committed, table_of, view_of
from tests.interop.catalog.conftest import A, B, Connect, create, insert, rows_of
from tests.interop.parquet_files import write_deletes, write_file
from tests.places import CatalogPlace


def test_duckdb_reads_what_we_create(lake: LakeCatalog, duckdb_on: Connect) -> None:
    create(lake, rows=[{"a": 1, "b": "x"}, {"a": 2, "b": None}], comment="hello")
    duck = duckdb_on()
    assert duck.execute("SELECT rowid, a, b FROM t ORDER BY a").fetchall() == [(0, 1, "x"), (1, 2, None)]
    assert duck.execute("SELECT comment FROM duckdb_tables() WHERE table_name = 't'").fetchone() == ("hello",)


@pytest.mark.parity
def test_duckdb_continues_with_our_tables(lake: LakeCatalog, duckdb_on: Connect) -> None:
    create(lake, rows=[{"a": i, "b": "x"} for i in range(100)])
    duck = duckdb_on()
    duck.execute("INSERT INTO t VALUES (100, 'duck')")
    duck.execute("DELETE FROM t WHERE a = 5")
    duck.execute("UPDATE t SET b = 'y' WHERE a < 3")
    insert(lake, [{"a": 101, "b": "we"}])
    duck.execute("ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 7")
    duck.execute("INSERT INTO t VALUES (102, 'duck', 8)")
    rows = duck.execute("SELECT rowid, a, b, c FROM t ORDER BY a").fetchall()
    assert len(rows) == 102
    assert len({row[0] for row in rows}) == 102
    assert rows[-2:] == [(101, 101, "we", 7), (102, 102, "duck", 8)]


@pytest.mark.parity
def test_we_read_definitions_that_duckdb_created(place: CatalogPlace, duckdb_on: Connect) -> None:
    duck = duckdb_on()
    duck.execute(
        "CREATE TABLE t(a INTEGER NOT NULL, s STRUCT(x INT, l VARCHAR[]), m MAP(VARCHAR, INT), d DECIMAL(10,2) DEFAULT 1.5, b BOOLEAN DEFAULT true)"
    )
    duck.execute("COMMENT ON TABLE t IS 'hi'")
    duck.execute("COMMENT ON COLUMN t.a IS 'key'")
    duck.execute("ALTER TABLE t SET PARTITIONED BY (a)")
    duck.execute("ALTER TABLE t SET SORTED BY (a DESC)")
    duck.execute('CREATE VIEW v("x", "y z") AS SELECT a, d FROM t')
    duck.execute("COMMENT ON VIEW v IS 'seen'")
    duck.execute("CREATE SCHEMA other")
    with place.open() as lake:
        reader = lake.reader()
        table, view = table_of(reader), view_of(reader, "V", "MAIN")
        assert [c.name for c in table.columns] == ["a", "s", "m", "d", "b"]
        assert table.columns[0] == Column(1, "a", "int32", nullable=False, comment="key")
        assert [(c.column_id, c.name, c.type) for c in table.columns[1].walk()] == [
            (2, "s", "struct"),
            (3, "x", "int32"),
            (4, "l", "list"),
            (5, "element", "varchar"),
        ]
        assert table.columns[3].default == Default("1.5")
        assert table.columns[3].initial_default == "1.50"
        assert table.columns[4].default.kind == "expression"
        assert table.comment == "hi"
        assert table.partitioning.fields == (PartitionField(1),)
        assert [(s.expression, s.direction, s.nulls) for s in table.sorting] == [("a", "DESC", "NULLS_LAST")]
        assert (view.column_aliases, view.comment) == (("x", "y z"), "seen")
        assert [s.name for s in reader.schemas()] == ["main", "other"]


@pytest.mark.parity
def test_the_scan_plan_contains_inlined_rows_and_deletes(place: CatalogPlace, duckdb_on: Connect) -> None:
    duck = duckdb_on()
    duck.execute("CREATE TABLE t(a INTEGER, b VARCHAR, s STRUCT(x VARCHAR), l VARCHAR[])")
    duck.execute("INSERT INTO t VALUES (1, 'it''s', {'x': 'o''k'}, ['a', NULL])")
    duck.execute("INSERT INTO t SELECT i, 'v', {'x': 'y'}, [] FROM range(100) r(i)")
    duck.execute("DELETE FROM t WHERE a IN (7, 9)")
    duck.execute("ALTER TABLE t RENAME COLUMN b TO c")
    duck.execute("INSERT INTO t VALUES (2, 'two', NULL, NULL)")
    with place.open() as lake:
        table = table_of(lake.reader())
        plan = lake.reader().scan_plan(table)
        assert [len(inlined.rows) for inlined in plan.inlined] == [1, 1]
        assert plan.inlined[0].rows == ((1, "it's", {"x": "o'k"}, ["a", None]),)
        assert [c.name for c in plan.inlined[0].columns] == ["a", "b", "s", "l"]
        assert plan.inlined[1].rows == ((2, "two", None, None),)
        assert plan.files[0].inlined_deletes == (7, 9)
        assert plan.reused_names == {(None, "c")}
        earlier = lake.reader(lake.resolve(version=3))
        assert earlier.scan_plan(table_of(earlier)).files[0].inlined_deletes == ()


@pytest.mark.parity
def test_successive_delete_files_of_one_data_file(lake: LakeCatalog, duckdb_on: Connect) -> None:
    create(lake, rows=[{"a": i, "b": "x"} for i in range(50)])
    duck = duckdb_on()

    def delete(positions: list[int]) -> None:
        transaction = lake.begin()
        table = table_of(transaction)
        file = transaction.scan_plan(table).files[0]
        before = [] if file.delete_file is None else deleted
        ids = [next_id for _, next_id in before] + [transaction.snapshot.snapshot_id + 1] * len(positions)
        every = sorted(zip([p for p, _ in before] + positions, ids, strict=True))
        written = write_deletes(table, file.data_file_id, file.path, [p for p, _ in every], [s for _, s in every] if before else None)
        transaction.rows.delete_rows(table, delete_files=[written])
        snapshot = transaction.commit()
        deleted.extend((p, snapshot.snapshot_id) for p in positions)

    deleted: list[tuple[int, int]] = []
    delete([1, 2, 3])
    delete([10, 11])
    assert duck.execute("SELECT count(*) FROM t").fetchone() == (45,)
    assert duck.execute("SELECT count(*) FROM t AT (VERSION => 2)").fetchone() == (47,)
    assert duck.execute("SELECT count(*) FROM t AT (VERSION => 1)").fetchone() == (50,)
    assert len(duck.execute("SELECT * FROM ducklake_table_deletions('lake', 'main', 't', 3, 3)").fetchall()) == 2
    duck.execute("DELETE FROM t WHERE a > 20 AND a < 40")
    assert duck.execute("SELECT count(*) FROM t").fetchone() == (26,)
    scheduled = rows_of(duck, "SELECT path, path_is_relative FROM {meta}.ducklake_files_scheduled_for_deletion")
    assert all(path.startswith("main/t/") and relative for path, relative in scheduled)
    assert duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)").fetchall()
    assert duck.execute("SELECT count(*) FROM t").fetchone() == (26,)


@pytest.mark.parity
def test_whole_files_end_and_tables_are_truncated(lake: LakeCatalog, duckdb_on: Connect) -> None:
    create(lake, rows=[{"a": 1, "b": "x"}] * 20)
    insert(lake, [{"a": 2, "b": "y"}] * 20)
    duck = duckdb_on()
    duck.execute("INSERT INTO t VALUES (3, 'inlined')")

    def end_first(transaction: Transaction) -> None:
        table = table_of(transaction)
        transaction.rows.delete_rows(table, ended_files=[transaction.scan_plan(table).files[0].data_file_id])

    committed(lake, end_first)
    assert duck.execute("SELECT a, count(*) FROM t GROUP BY a ORDER BY a").fetchall() == [(2, 20), (3, 1)]
    committed(lake, lambda transaction: transaction.rows.truncate(table_of(transaction)))
    assert duck.execute("SELECT count(*) FROM t").fetchone() == (0,)
    log = duck.execute("SELECT changes FROM ducklake_snapshots('lake') ORDER BY snapshot_id DESC LIMIT 1").fetchone()[0]
    assert log == {"tables_deleted_from": ["1"], "inlined_delete": ["1"], "tables_inserted_into": ["1"]}, "see format.changes"
    assert duck.execute("SELECT count(*) FROM t AT (VERSION => 3)").fetchone() == (41,)
    assert not lake.begin().has_changes


@pytest.mark.parity
def test_inlined_rows_end(lake: LakeCatalog, duckdb_on: Connect) -> None:
    create(lake)
    duck = duckdb_on()
    duck.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')")

    def work(transaction: Transaction) -> None:
        table = table_of(transaction)
        inlined = transaction.scan_plan(table).inlined[0]
        transaction.rows.delete_rows(table, inlined={inlined.table_name: [inlined.row_ids[0]]})
        assert [rows.rows for rows in transaction.scan_plan(table).inlined] == [((2, "y"),)]

    committed(lake, work)
    assert duck.execute("SELECT a FROM t").fetchall() == [(2,)]


@pytest.mark.parity
def test_table_changes_are_visible_and_duckdb_inlines_into_the_new_layout(lake: LakeCatalog, duckdb_on: Connect) -> None:
    create(lake, rows=[{"a": i, "b": "x"} for i in range(20)])
    duck = duckdb_on()
    duck.execute("INSERT INTO t VALUES (100, 'inlined')")

    def alter(change: Callable[[Table], Table]) -> None:
        committed(lake, lambda transaction: transaction.objects.put_table(change(table_of(transaction))))

    alter(lambda t: replace(t, columns=(*t.columns, Column(3, "c", "int64", initial_default="5", default=Default("5"))), next_column_id=4))
    duck.execute("INSERT INTO t VALUES (101, 'inlined', 6)")
    alter(lambda t: replace(t, columns=tuple(replace(c, name="bb") if c.name == "b" else c for c in t.columns)))
    alter(lambda t: replace(t, columns=(t.columns[2], t.columns[0], t.columns[1])))
    duck.execute("INSERT INTO t VALUES (7, 102, 'inlined')")
    assert duck.execute("SELECT * FROM t WHERE a >= 100 ORDER BY a").fetchall() == [
        (5, 100, "inlined"),
        (6, 101, "inlined"),
        (7, 102, "inlined"),
    ]
    alter(lambda t: replace(t, columns=tuple(c for c in t.columns if c.name != "bb")))
    alter(lambda t: replace(t, columns=tuple(replace(c, type="int64", nullable=False) if c.name == "a" else c for c in t.columns)))
    alter(lambda t: replace(t, name="u", comment="renamed"))
    assert duck.execute("SELECT count(*), max(a), sum(c) FROM u").fetchone() == (23, 102, 5 * 21 + 13)
    duck.execute("INSERT INTO u VALUES (1, 5000000000)")
    assert duck.execute("SELECT max(a) FROM u").fetchone() == (5000000000,)
    with pytest.raises(duckdb.ConstraintException):
        duck.execute("INSERT INTO u VALUES (1, NULL)")
    table = table_of(lake.reader(), "u")
    assert len(lake.reader().scan_plan(table).inlined) == 4


def test_a_replaced_table_keeps_its_id(lake: LakeCatalog, duckdb_on: Connect) -> None:
    create(lake, rows=[{"a": i, "b": "x"} for i in range(20)], comment="kept")
    duck = duckdb_on()
    duck.execute("INSERT INTO t VALUES (100, 'inlined')")

    def rebuild(transaction: Transaction) -> None:
        table = table_of(transaction)
        transaction.rows.truncate(table)
        table = replace(table, columns=(Column(3, "c", "varchar"), A), next_column_id=4)
        transaction.objects.put_table(table)
        transaction.rows.add_files(table, [write_file(table, [{"a": 7, "c": "new"}])])
        assert len(transaction.scan_plan(table).files) == 1

    committed(lake, rebuild)
    assert duck.execute("SELECT * FROM t").fetchall() == [("new", 7)]
    assert duck.execute("SELECT min(a), max(a), min(c) FROM t").fetchone() == (7, 7, "new")
    assert duck.execute("SELECT count(*) FROM t AT (VERSION => 2)").fetchone() == (21,)
    assert duck.execute("SELECT comment FROM duckdb_tables() WHERE table_name = 't'").fetchone() == ("kept",)
    duck.execute("INSERT INTO t VALUES ('duck', 8)")
    assert duck.execute("SELECT rowid, * FROM t ORDER BY a").fetchall() == [(21, "new", 7), (22, "duck", 8)]


def test_statistics_never_hide_rows(lake: LakeCatalog, duckdb_on: Connect) -> None:
    create(lake, A, B, Column(3, "x", "blob"), rows=[{"a": None, "b": "m", "x": b"1"}])
    insert(lake, [{"a": 500, "b": "z", "x": b"2"}])
    duck = duckdb_on()
    rows = [(i, "k", b"3") for i in range(20)]
    duck.executemany("INSERT INTO t VALUES (?, ?, ?)", rows[:1])
    duck.execute("INSERT INTO t SELECT i, 'k', 'abc'::BLOB FROM range(50) r(i)")
    insert(lake, [{"a": 1000, "b": "a", "x": b"9"}], statistics=False)
    duck.execute("INSERT INTO t SELECT i, 'k', 'abc'::BLOB FROM range(50) r(i)")
    assert duck.execute("SELECT max(a), min(b), max(b), max(x) FROM t").fetchone() == (1000, "a", "z", b"abc")
    assert duck.execute("SELECT count(*) FROM t WHERE a >= 500").fetchone() == (2,)
    assert duck.execute("SELECT count(*) FROM t WHERE a IS NULL").fetchone() == (1,)
    assert duck.execute("SELECT count(*) FROM t WHERE b = 'a'").fetchone() == (1,)
    assert duck.execute("SELECT count(*) FROM t WHERE x > '8'::BLOB").fetchone() == (101,)


def test_updated_rows_keep_their_ids(lake: LakeCatalog, duckdb_on: Connect) -> None:
    create(lake, rows=[{"a": i, "b": "x"} for i in range(20)])

    def update(transaction: Transaction) -> None:
        table = table_of(transaction)
        file = transaction.scan_plan(table).files[0]
        transaction.rows.delete_rows(table, delete_files=[write_deletes(table, file.data_file_id, file.path, [3])])
        transaction.rows.add_files(table, [write_file(table, [{"a": 3, "b": "new"}], row_ids=[3])])

    committed(lake, update)
    insert(lake, [{"a": 50, "b": "x"}])
    duck = duckdb_on()
    assert duck.execute("SELECT rowid, b FROM t WHERE a IN (3, 50) ORDER BY a").fetchall() == [(3, "new"), (21, "x")]
    changes = duck.execute("SELECT change_type, rowid, b FROM ducklake_table_changes('lake', 'main', 't', 2, 2) ORDER BY 1").fetchall()
    assert changes == [("update_postimage", 3, "new"), ("update_preimage", 3, "x")]


def test_deletes_in_files_of_the_same_transaction(lake: LakeCatalog, duckdb_on: Connect) -> None:
    def work(transaction: Transaction) -> None:
        table = transaction.objects.new_table(transaction.schema("main"), "t", (A, B))
        transaction.rows.add_files(table, [write_file(table, [{"a": i, "b": "x"} for i in range(10)])])
        file = transaction.scan_plan(table).files[0]
        assert (file.data_file_id < 0, file.row_id_start) == (True, 0)
        transaction.rows.delete_rows(table, delete_files=[write_deletes(table, file.data_file_id, file.path, [0, 1])])
        again = transaction.scan_plan(table).files[0]
        assert again.delete_file.delete_count == 2
        transaction.rows.delete_rows(table, delete_files=[write_deletes(table, file.data_file_id, file.path, [0, 1, 2])])
        assert len(transaction.abandoned_files()) == 1

    committed(lake, work)
    duck = duckdb_on()
    assert duck.execute("SELECT count(*), min(a) FROM t").fetchone() == (7, 3)
    log = duck.execute("SELECT changes FROM ducklake_snapshots('lake') ORDER BY snapshot_id DESC LIMIT 1").fetchone()[0]
    assert log == {"tables_created": ["main.t"], "tables_inserted_into": ["1"]}


def test_views_schemas_and_their_comments(lake: LakeCatalog, duckdb_on: Connect) -> None:
    create(lake, rows=[{"a": 1, "b": "x"}])

    def work(transaction: Transaction) -> None:
        schema = transaction.objects.new_schema("out put")
        transaction.objects.new_view(
            schema, "v", "SELECT a FROM {DUCKLAKE_CATALOG}.main.t", column_aliases=['x"y'], comment="seen", tags={"dbt_ducklake.k": "1"}
        )
        transaction.objects.put_schema(replace(transaction.schema("main"), comment="home"))

    committed(lake, work)
    duck = duckdb_on()
    assert duck.execute('SELECT * FROM lake."out put".v').fetchall() == [(1,)]
    assert duck.execute('DESCRIBE lake."out put".v').fetchall()[0][0] == 'x"y'
    assert duck.execute("SELECT comment FROM duckdb_views() WHERE view_name = 'v'").fetchone() == ("seen",)

    def change(transaction: Transaction) -> None:
        view = view_of(transaction, "v", "out put")
        assert view.tags == {"dbt_ducklake.k": "1"}
        transaction.objects.put_view(
            replace(view, sql="SELECT b FROM {DUCKLAKE_CATALOG}.main.t", column_aliases=(), name="w", comment=None)
        )

    committed(lake, change)
    assert duck.execute('SELECT * FROM lake."out put".w').fetchall() == [("x",)]
    committed(lake, lambda tx: tx.objects.put_schema(replace(tx.schema("main"), comment=None)))  # a snapshot without logged changes
    assert duck.execute("SELECT count(*) FROM ducklake_snapshots('lake')").fetchone() == (5,)

    def drop(transaction: Transaction) -> None:
        transaction.objects.drop_view(transaction.find("out put", "w"))
        transaction.objects.drop_schema(transaction.schema("out put"))

    committed(lake, drop)
    assert duck.execute("SELECT schema_name FROM duckdb_schemas() WHERE database_name = 'lake'").fetchall() == [("main",)]


@pytest.mark.parity
def test_drop_and_create_in_one_transaction(lake: LakeCatalog, duckdb_on: Connect) -> None:
    create(lake, rows=[{"a": 1, "b": "x"}])
    duck = duckdb_on()

    def work(transaction: Transaction) -> None:
        transaction.objects.drop_table(table_of(transaction))
        assert transaction.find("main", "t") is None
        table = transaction.objects.new_table(transaction.schema("main"), "t", (Column(1, "z", "varchar"),))
        transaction.rows.add_files(table, [write_file(table, [{"z": "new"}])])

    committed(lake, work)
    assert duck.execute("SELECT * FROM t").fetchall() == [("new",)]
    assert duck.execute("SELECT * FROM t AT (VERSION => 1)").fetchall() == [(1, "x")]
    committed(lake, lambda transaction: transaction.objects.drop_table(table_of(transaction)))
    duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now() + INTERVAL 1 day)")
    assert rows_of(duck, "SELECT count(*) FROM {meta}.ducklake_table") == [(0,)]
    duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    create(lake)
    duck.execute("INSERT INTO t VALUES (1, 'x')")
    assert duck.execute("SELECT * FROM t").fetchall() == [(1, "x")]


def test_partitioned_files(lake: LakeCatalog, duckdb_on: Connect) -> None:
    create(lake, partitioning=(PartitionField(2),))

    def work(transaction: Transaction) -> None:
        table = table_of(transaction)
        transaction.rows.add_files(
            table,
            [
                write_file(table, [{"a": 1, "b": "x"}], partition_values=("x",)),
                write_file(table, [{"a": 2, "b": None}], partition_values=(None,)),
            ],
        )

    committed(lake, work)
    duck = duckdb_on()
    duck.execute("INSERT INTO t SELECT i, 'x' FROM range(20) r(i)")
    duck.execute("CALL ducklake_merge_adjacent_files('lake')")
    assert duck.execute("SELECT count(*) FROM t WHERE b = 'x'").fetchone() == (21,)
    assert duck.execute("SELECT a FROM t WHERE b IS NULL").fetchall() == [(2,)]

    def repartition(transaction: Transaction) -> None:
        table = table_of(transaction)
        transaction.objects.put_table(replace(table, partitioning=Partitioning(0, (PartitionField(1, "bucket(4)"),))))

    committed(lake, lambda tx: tx.objects.put_table(replace(table_of(tx), partitioning=None)))
    duck.execute("INSERT INTO t SELECT i, 'y' FROM range(20) r(i)")
    assert duck.execute("SELECT count(*) FROM t WHERE b = 'y'").fetchone() == (20,)


def test_duckdb_maintains_our_files(lake: LakeCatalog, duckdb_on: Connect) -> None:
    create(lake, rows=[{"a": i, "b": "x"} for i in range(20)])
    insert(lake, [{"a": 20, "b": "x"}])
    duck = duckdb_on()
    duck.execute("INSERT INTO t VALUES (21, 'x')")
    duck.execute("DELETE FROM t WHERE a = 3")
    duck.execute("CALL ducklake_flush_inlined_data('lake')")
    duck.execute("CALL ducklake_merge_adjacent_files('lake')")
    duck.execute("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)")
    reader = lake.reader()
    plan = reader.scan_plan(table_of(reader))
    assert not plan.inlined
    assert sum(f.record_count - (f.delete_file.delete_count if f.delete_file else 0) for f in plan.files) == 21
    summary = lake.table_summaries(reader.snapshot)[1]
    assert (summary.record_count, summary.file_count) == (21, len(plan.files))
    insert(lake, [{"a": 99, "b": "x"}])
    assert duck.execute("SELECT count(*), max(rowid) FROM t").fetchone() == (22, 22)


@pytest.mark.parity
def test_row_counts_equal_those_of_a_query(lake: LakeCatalog, duckdb_on: Connect) -> None:
    create(lake, rows=[{"a": i, "b": "x"} for i in range(30)])
    duck = duckdb_on()
    duck.execute("DELETE FROM t WHERE a > 10 AND a < 25")
    duck.execute("DELETE FROM t WHERE a = 1")
    duck.execute("INSERT INTO t VALUES (100, 'x'), (101, 'y')")
    duck.execute("DELETE FROM t WHERE a = 100")
    for version in range(1, 6):
        snapshot = lake.resolve(version=version)
        expected = duck.execute(f"SELECT count(*) FROM t AT (VERSION => {version})").fetchone()[0]
        summary = lake.table_summaries(snapshot)[1]
        assert (summary.record_count, summary.last_snapshot_id) == (expected, version)
        assert summary.last_snapshot_time == snapshot.time
    for maintenance in ("ducklake_flush_inlined_data('lake')", "ducklake_rewrite_data_files('lake', delete_threshold => 0)"):
        duck.execute(f"CALL {maintenance}")
        summary = lake.table_summaries(lake.latest())[1]
        assert (lake.latest().snapshot_id > version, summary.last_snapshot_id) == (True, version), maintenance
    log = tables.snapshot_changes
    with lake._database.writing() as connection:  # as older versions of the extension log a rewrite
        connection.execute(update(log).where(log.c.changes_made.contains("rewrite_")).values(changes_made="compacted_table:1"))
    assert lake.table_summaries(lake.latest())[1].last_snapshot_id == version


@pytest.mark.parity
def test_timestamps_resolve_to_the_snapshots_that_duckdb_finds(lake: LakeCatalog, duckdb_on: Connect) -> None:
    create(lake, rows=[{"a": 1, "b": "x"}])
    insert(lake, [{"a": 2, "b": "x"}])
    duck = duckdb_on()
    for record in lake.snapshots()[1:]:
        assert lake.resolve(timestamp=record.snapshot.time).snapshot_id == record.snapshot.snapshot_id
        timestamp = record.snapshot.time.isoformat()
        theirs = duck.execute(f"SELECT count(*) FROM t AT (TIMESTAMP => '{timestamp}')").fetchone()
        assert theirs == (record.snapshot.snapshot_id,)
