"""The log of a table: metrics of each snapshot that changed it, on every catalog database."""

from __future__ import annotations

from pathlib import Path

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.read.table_log import TableLogEntry
from dbt.adapters.ducklake.catalog.read.table_metrics import Ranges
from dbt.adapters.ducklake.format.changes import Kind
from dbt.adapters.ducklake.format.objects import Snapshot
from dbt.adapters.ducklake.session import LakeSession
from tests.catalog_objects import table_of
from tests.interop import oracle
from tests.places import CatalogPlace
from tests.unit.catalog.conftest import create, file_of, insert

COLUMNS = [("a", "int")]


def log(lake: LakeCatalog, name: str = "t", limit: int | None = None) -> list[TableLogEntry]:
    return lake.table_log(table_of(lake.reader(), name), lake.latest(), limit)


def load(session: LakeSession, count: int, *, rebuild: bool = False) -> None:
    session.load_seed("main", "t", COLUMNS, [(number,) for number in range(count)], rebuild=rebuild)


def test_metrics_are_those_of_files_and_inlined_rows(place: CatalogPlace) -> None:
    with place.lake() as lake, lake.session() as session:
        load(session, 100, rebuild=True)
        load(session, 50, rebuild=True)
        load(session, 3)
        session.execute("CALL flush_inlined_data()")
        session.load_seed("main", "other", COLUMNS, [(1,)])
        load(session, 4)
        session.execute("ALTER TABLE t RENAME TO renamed")
        session.execute("ALTER TABLE renamed ADD COLUMN b STRING")
        found = log(lake.catalog, "renamed")
        newest = log(lake.catalog, "renamed", 2)
    assert newest == found[:2]
    metrics = [(entry.rows_inserted, entry.rows_deleted, entry.files_added, entry.files_removed) for entry in reversed(found)]
    assert metrics == [(100, 0, 1, 0), (50, 100, 1, 1), (3, 50, 1, 1), (0, 0, None, None), (4, 3, 0, 1), (0, 0, 0, 0), (0, 0, 0, 0)]
    assert [entry.is_first for entry in reversed(found)] == [True] + [False] * 6
    assert [Kind.CREATED_TABLE in entry.kinds for entry in reversed(found)] == [True, False, False, False, False, True, False]


def test_metrics_that_the_catalog_lost_are_unknown(place: CatalogPlace) -> None:
    with place.lake() as lake, lake.session() as session:
        for count in (100, 50, 3, 4):
            load(session, count, rebuild=count == 100)
        session.execute("CALL flush_inlined_data()")
        metrics = [(entry.rows_inserted, entry.rows_deleted) for entry in log(lake.catalog)]
        lake.catalog.maintenance.expire(versions=[2], dry_run=False)
        after_expiry = [(entry.rows_inserted, entry.rows_deleted) for entry in log(lake.catalog)]
    assert metrics == [(0, 0), (None, 3), (None, 50), (50, 100), (100, 0)]
    assert after_expiry == [(0, 0), (None, 3), (None, None), (100, 0)]


def test_deletes_that_a_flush_joins_in_one_file_are_unknown(tmp_path: Path) -> None:
    place = CatalogPlace(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/")
    with oracle.connect(place) as duck, place.open() as lake:
        duck.execute("USE lake; CREATE TABLE t AS SELECT i AS a FROM range(100) r(i)")
        for row in (3, 5, 6):
            duck.execute(f"DELETE FROM t WHERE a = {row}")
        assert [entry.rows_deleted for entry in log(lake)] == [1, 1, 1, 0]
        duck.execute("CALL ducklake_flush_inlined_data('lake')")
        assert [entry.rows_deleted for entry in log(lake)] == [0, None, None, None, 0]


def test_deletes_in_the_snapshot_that_adds_the_rows_are_counted(tmp_path: Path) -> None:
    place = CatalogPlace(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/")
    with oracle.connect(place) as duck, place.lake() as lake, lake.session() as session:
        duck.execute("USE lake; CREATE TABLE t (a INTEGER)")
        duck.execute("BEGIN; INSERT INTO t SELECT i FROM range(100) r(i); DELETE FROM t WHERE a < 30; COMMIT")
        session.execute("CALL clone(table_name => 't', into => 'main.c')")
        for name in ("t", "c"):
            newest = log(lake.catalog, name)[0]
            assert (newest.rows_inserted, newest.rows_deleted) == (100, 30), name


def test_a_table_whose_id_begins_another_id_has_its_own_log(sqlite_lake: LakeCatalog) -> None:
    tables = [create(sqlite_lake, f"t{number}") for number in range(12)]
    insert(sqlite_lake, file_of(tables[-1]), name="t11")
    assert str(tables[-1].table_id).startswith(str(tables[0].table_id))
    assert [entry.kinds for entry in log(sqlite_lake, "t0")] == [(Kind.CREATED_TABLE,)]
    assert [entry.rows_inserted for entry in log(sqlite_lake, "t11")] == [10, 0]


def test_the_log_at_an_earlier_snapshot_has_no_later_entries(sqlite_lake: LakeCatalog) -> None:
    table = create(sqlite_lake)
    before: Snapshot = sqlite_lake.latest()
    insert(sqlite_lake, file_of(table))
    assert [entry.record.snapshot.snapshot_id for entry in sqlite_lake.table_log(table, before)] == [before.snapshot_id]


def test_overlapping_ranges_contain_each_of_their_ids() -> None:
    ranges = Ranges([(8, 9), (1, 3), (2, 5), (5, 6)])
    assert [number for number in range(11) if number in ranges] == [1, 2, 3, 4, 5, 6, 8, 9]
