"""Expire, cleanup and orphans: the catalog then equals that of DuckDB, and malicious catalog rows remove no file."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.errors import ConfigurationError, LakeError
from dbt.adapters.ducklake.lake.cleanup import cleanup_old_files
from dbt.adapters.ducklake.lake.context import Context
from dbt.adapters.ducklake.lake.data_path import MARK_FILE, owner_of, write_mark
from dbt.adapters.ducklake.lake.orphans import delete_orphaned_files
from tests.interop import oracle
from tests.interop.catalog.conftest import Connect
from tests.places import CatalogPlace

HISTORY = (
    "CREATE SCHEMA s",
    "CREATE TABLE s.gone (a INTEGER, b VARCHAR)",
    "INSERT INTO s.gone SELECT range, 'x' FROM range(100)",
    "INSERT INTO s.gone VALUES (1, 'inlined')",
    "DELETE FROM s.gone WHERE a < 20",
    "CREATE TABLE t (a INTEGER, b VARCHAR)",
    "ALTER TABLE t SET PARTITIONED BY (a)",
    "INSERT INTO t SELECT range % 3, 'x' || range FROM range(100)",
    "DELETE FROM t WHERE a = 1",
    "DELETE FROM t WHERE b > 'x5' AND a = 0",
    "DELETE FROM t WHERE b > 'x3' AND a = 0",
    "ALTER TABLE t RENAME TO u",
    "ALTER TABLE u ADD COLUMN c INTEGER DEFAULT 4",
    "COMMENT ON TABLE u IS 'one'",
    "COMMENT ON TABLE u IS 'two'",
    "CREATE VIEW v AS SELECT 1 AS x",
    "CREATE MACRO m(a) AS a + 1",
    "DROP VIEW v",
    "DROP MACRO m",
    "DROP TABLE s.gone",
    "DROP SCHEMA s",
    "INSERT INTO u SELECT range, 'z', 7 FROM range(50)",
)


def grow(duck: Any) -> None:
    for statement in HISTORY:
        duck.execute(statement)


def context(lake: LakeCatalog) -> Context:
    def no_spark() -> Any:
        raise AssertionError("maintenance of this kind starts no Spark")

    return Context(lake, lake.begin(), no_spark)


def rows(file: Path) -> dict[str, list[Any]]:
    """Return all rows of an SQLite catalog, without times."""
    with sqlite3.connect(file) as catalog:
        tables = [name for (name,) in catalog.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'ducklake%'")]
        found = {}
        for name in tables:
            columns = [row[1] for row in catalog.execute(f'PRAGMA table_info("{name}")') if row[1] != "schedule_start"]
            query = f'SELECT {", ".join(chr(34) + column + chr(34) for column in columns)} FROM "{name}"'
            found[name] = sorted(catalog.execute(query), key=repr)
        return found


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a SQLite catalog that has the history, and its files."""
    folder = tmp_path_factory.mktemp("history")
    with oracle.connect(CatalogPlace(f"ducklake:sqlite:{folder}/lake.sqlite", f"{folder}/files/"), data_inlining_row_limit=5) as duck:
        duck.execute("USE lake")
        grow(duck)
    return folder


@pytest.mark.parametrize("kept", [[], [0, 1, 2, 3, 4, 5], [9, 10, 11], [20], [21, 22]])
def test_expire_leaves_the_rows_that_duckdb_leaves(kept: list[int], history: Path, tmp_path: Path) -> None:
    ours, file = tmp_path / "ours.sqlite", tmp_path / "theirs.sqlite"
    for copy in (ours, file):
        shutil.copy(history / "lake.sqlite", copy)
    versions = [version for version in range(23) if version not in kept]
    with oracle.connect(CatalogPlace(f"ducklake:sqlite:{file}", f"{history}/files/")) as duck:
        expired = duck.execute(f"CALL ducklake_expire_snapshots('lake', versions => {versions})").fetchall()
    with CatalogPlace(f"ducklake:sqlite:{ours}", f"{history}/files/").open() as lake:
        dry = lake.maintenance.expire(versions=versions, dry_run=True)
        records = lake.maintenance.expire(versions=versions, dry_run=False)
    assert dry == records
    assert [record.snapshot.snapshot_id for record in records] == sorted(row[0] for row in expired)
    left, right = rows(ours), rows(file)
    assert {name: value for name, value in left.items() if value != right.get(name)} == {}


@pytest.fixture
def grown(lake: LakeCatalog, duckdb_on: Connect) -> Iterator[LakeCatalog]:
    """A lake with files that only expired snapshots need; they are scheduled for deletion."""
    with duckdb_on(data_inlining_row_limit=0) as duck:
        grow(duck)
        yield lake


@pytest.mark.parity
def test_scheduled_files_are_removed_after_the_grace_period(grown: LakeCatalog, duckdb_on: Connect) -> None:
    newest = grown.latest().snapshot_id
    grown.maintenance.expire(older_than=datetime.now(timezone.utc) + timedelta(hours=1), dry_run=False)
    assert [record.snapshot.snapshot_id for record in grown.snapshots()] == [newest]
    before = files_below(grown)
    yesterday = datetime.now(timezone.utc) - timedelta(days=1)
    assert cleanup_old_files(context(grown), older_than=yesterday) == []
    planned = cleanup_old_files(context(grown), older_than=None, dry_run=True)
    assert files_below(grown) == before
    done = cleanup_old_files(context(grown), older_than=None)
    assert done == planned
    assert {outcome.path for outcome in done} == before - files_below(grown)
    assert all(outcome.kept_because is None for outcome in done)
    assert cleanup_old_files(context(grown), older_than=None) == []
    with duckdb_on() as duck:
        assert duck.execute("SELECT count(*) > 50, count(c) = count(*) FROM u").fetchone() == (True, True)
        listed = {
            row[0] for row in duck.execute("SELECT unnest([data_file, delete_file]) FROM ducklake_list_files('lake', 'u')").fetchall()
        }
    assert files_below(grown) == {path for path in listed if path}


def files_below(lake: LakeCatalog) -> set[str]:
    return {str(path) for path in Path(lake.data_path).rglob("*.parquet")}


def test_the_next_run_finishes_a_cleanup_that_crashed(grown: LakeCatalog) -> None:
    grown.maintenance.expire(older_than=datetime.now(timezone.utc), dry_run=False)
    first = grown.maintenance.scheduled(None)[0]
    os.remove(first.path)
    assert {outcome.path for outcome in cleanup_old_files(context(grown), older_than=None)} >= {first.path}
    assert grown.maintenance.scheduled(None) == []


def schedule(lake: LakeCatalog, path: str, is_relative: bool) -> None:
    from dbt.adapters.ducklake.catalog.store import tables as t
    from dbt.adapters.ducklake.catalog.store.database import insert_rows

    row = {"data_file_id": 1, "path": path, "path_is_relative": is_relative, "schedule_start": datetime(2020, 1, 1, tzinfo=timezone.utc)}
    with lake.maintenance.database.writing() as connection:
        insert_rows(connection, t.files_scheduled_for_deletion, [row])


def test_malicious_catalog_rows_remove_no_file(grown: LakeCatalog, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    treasure = outside / "treasure.parquet"
    treasure.write_bytes(b"mine")
    for each in grown.maintenance.scheduled(None):
        grown.maintenance.remove_scheduled_rows([each])
    live = sorted(grown.maintenance.needed_files())[0]
    os.symlink(outside, Path(grown.data_path) / "main" / "link")
    os.symlink(Path(live).parent, Path(grown.data_path) / "main" / "alias")
    (outside / "deep").mkdir()
    os.symlink(outside / "deep", Path(grown.data_path) / "main" / "deep")
    forms = {
        "absolute": (str(treasure), False),
        "dots": (os.path.relpath(treasure, grown.data_path), True),
        "link": ("main/link/treasure.parquet", True),
        "live": ("main/./" + os.path.relpath(live, Path(grown.data_path) / "main"), True),
        "live through a link": (f"main/alias/{Path(live).name}", True),
        "dots after a link": ("main/deep/../treasure.parquet", True),
        "live by dots after a link": (f"main/alias/../{Path(live).parent.name}/{Path(live).name}", True),
    }
    for form, (path, is_relative) in forms.items():
        schedule(grown, path, is_relative)
        (outcome,) = cleanup_old_files(context(grown), older_than=None)
        assert outcome.kept_because is not None, form
        assert treasure.exists(), form
        assert Path(live).exists(), form
        assert len(grown.maintenance.scheduled(None)) == 1, form
        grown.maintenance.remove_scheduled_rows(grown.maintenance.scheduled(None))


def test_a_file_that_storage_refuses_to_remove_stays_scheduled(grown: LakeCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    grown.maintenance.expire(older_than=datetime.now(timezone.utc), dry_run=False)
    scheduled = grown.maintenance.scheduled(None)

    def refuse(paths: list[str]) -> dict[str, str]:
        return dict.fromkeys(paths, "Permission denied")

    monkeypatch.setattr("dbt.adapters.ducklake.lake.safe_removal.remove_each", refuse)
    outcomes = cleanup_old_files(context(grown), older_than=None)
    assert all("Permission denied" in (outcome.kept_because or "") for outcome in outcomes)
    assert grown.maintenance.scheduled(None) == scheduled


def test_orphans_are_found_only_where_the_lake_puts_files(grown: LakeCatalog, tmp_path: Path) -> None:
    home = Path(grown.data_path)
    write_mark(grown)  # DuckDB made this lake
    orphans = [home / "main/t/ducklake-left.parquet", home / "main/t/a=1/ducklake-left.parquet", home / "main/new/left-delete.puffin"]
    job = home / "main/t/ducklake-01a219a4-2486-72b9-bb27-1acb0d655225"  # of a Spark that was killed
    orphans += [job / "_temporary/0/task_1/part-0.parquet", job / "_temporary/0/_temporary/attempt_2/a=1/part-0.parquet"]
    others = [home / "other_lake/main/t/ducklake-1.parquet", home / "main/other/main/t/ducklake-1.parquet", home / "main/t/notes.txt"]
    for file in (*orphans, *others):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x")
    os.symlink(tmp_path, home / "main/loop")
    before = files_below(grown)
    assert delete_orphaned_files(context(grown), older_than=datetime.now(timezone.utc) - timedelta(days=2)) == []
    dry = delete_orphaned_files(context(grown), older_than=None, dry_run=True)
    assert {outcome.path for outcome in dry} == set(map(str, orphans))
    assert delete_orphaned_files(context(grown), older_than=None) == dry
    assert files_below(grown) == before - set(map(str, orphans))
    assert all(file.exists() for file in others)


@pytest.mark.usefixtures("grown")
def test_a_read_only_lake_is_not_changed(place: CatalogPlace) -> None:
    with place.open(read_only=True) as lake:
        with pytest.raises(ConfigurationError, match="read-only"):
            lake.maintenance.expire(versions=[1], dry_run=False)
        with pytest.raises(ConfigurationError, match="read-only"):
            cleanup_old_files(context(lake), older_than=None)
        with pytest.raises(ConfigurationError, match="read-only"):
            delete_orphaned_files(context(lake), older_than=None)
        assert len(lake.maintenance.expire(versions=[1], dry_run=True)) == 1


@pytest.mark.parametrize("registered", ["real file", "link"])
def test_a_live_file_is_no_orphan_under_another_name(registered: str, tmp_path: Path) -> None:
    """The data path is a link, and a file below it is registered by its real path, or by a link to it."""
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "linked").symlink_to(real)
    place = CatalogPlace(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/linked/")
    with place.lake() as opened, oracle.connect(place, data_inlining_row_limit=0) as duck:
        duck.execute("CREATE TABLE lake.t AS SELECT 1 AS a")
        live = real / "main" / "t" / "added.parquet"
        duck.execute(f"COPY (SELECT 2 AS a) TO '{live}' (FORMAT parquet)")
        name = live if registered == "real file" else tmp_path / "elsewhere.parquet"
        if name != live:
            name.symlink_to(live)
        duck.execute(f"CALL ducklake_add_data_files('lake', 't', '{name}')")
        assert delete_orphaned_files(context(opened.catalog), older_than=None) == []
        assert duck.execute("SELECT sum(a) FROM lake.t").fetchone() == (3,)


@pytest.mark.parametrize("orphans", [True, False], ids=["orphans", "scheduled"])
def test_marks_of_folders_are_read_at_the_same_time(lake: LakeCatalog, orphans: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    write_mark(lake)
    name, read, both = "ducklake-01a219a4-2486-72b9-bb27-1acb0d655226.parquet", [], Barrier(2, timeout=60)
    for number in range(2):
        file = Path(lake.data_path) / f"main/t/a={number}" / name
        file.parent.mkdir(parents=True)
        file.write_bytes(b"x")
        if not orphans:
            schedule(lake, f"main/t/a={number}/{name}", True)

    def wait_for_the_other(folder: str) -> str | None:
        read.append(folder[len(lake.data_path) :])
        if "=" in folder:
            both.wait()
        return owner_of(folder)

    monkeypatch.setattr("dbt.adapters.ducklake.lake.data_path.owner_of", wait_for_the_other)
    remove = delete_orphaned_files if orphans else cleanup_old_files
    assert [each.kept_because for each in remove(context(lake), older_than=None)] == [None, None]
    assert sorted(read) == ["", "main/", "main/t/", "main/t/a=0/", "main/t/a=1/"]


def test_a_message_names_only_some_of_the_files_that_are_kept(tmp_path: Path) -> None:
    place = CatalogPlace(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/")
    with place.lake() as opened, opened.session() as session:
        for number in range(8):
            schedule(opened.catalog, f"{tmp_path}/outside/{number}.parquet", False)
        message = session.execute("CALL cleanup_old_files(cleanup_all => true)").message
    assert message.startswith(f"CLEANUP OLD FILES: 0 removed, 8 kept: {tmp_path}/outside/0.parquet (it is outside the lake's data path")
    assert [number for number in range(8) if f"/{number}.parquet" in message] == [0, 1, 2, 3, 4]
    assert message.endswith("; 3 more")


def test_a_path_that_no_file_can_have_is_skipped(tmp_path: Path) -> None:
    place = CatalogPlace(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/")
    with place.lake() as opened:
        lake = opened.catalog
        old = Path(lake.data_path) / "main" / "old.parquet"
        old.parent.mkdir()
        old.write_bytes(b"x")
        schedule(lake, "main/a\0b.parquet", True)
        schedule(lake, "main/old.parquet", True)
        reasons = {each.path[-11:]: each.kept_because for each in cleanup_old_files(context(lake), older_than=None)}
        assert reasons == {"a\0b.parquet"[-11:]: "a path cannot contain a NUL character", "old.parquet": None}
        assert not old.exists()


class TestTwoLakesWithOneDataPath:
    @pytest.fixture
    def places(self, tmp_path: Path) -> list[CatalogPlace]:
        return [CatalogPlace(f"ducklake:sqlite:{tmp_path}/{name}.sqlite", f"{tmp_path}/files/") for name in ("one", "two")]

    def test_a_new_lake_refuses_the_files_of_another(self, places: list[CatalogPlace], tmp_path: Path) -> None:
        with places[0].lake():
            pass
        with pytest.raises(ConfigurationError, match="already has files of another lake"):
            places[1].lake()  # the first lake has no files yet, but its mark
        with oracle.connect(places[0], data_inlining_row_limit=0) as duck:
            duck.execute("CREATE TABLE lake.t AS SELECT 1 AS a")
        for marked in (True, False):
            if not marked:
                os.remove(tmp_path / "files" / MARK_FILE)
            with pytest.raises(ConfigurationError, match=r"files/ already has files of another lake.*Choose another data_path"):
                places[1].lake()
            assert (tmp_path / "two.sqlite").stat().st_size == 0

    def test_files_below_the_mark_of_another_lake_are_kept(self, places: list[CatalogPlace], tmp_path: Path) -> None:
        for place in places:
            with oracle.connect(place, data_inlining_row_limit=0) as duck:
                duck.execute("CREATE TABLE lake.t AS SELECT 1 AS a")
        files = sorted((tmp_path / "files").rglob("*.parquet"))
        with places[0].open() as one, places[1].open() as two:
            assert cleanup_old_files(context(one), older_than=None) == []
            orphan = files[0].with_name("orphan.parquet")
            orphan.write_bytes(b"x")
            schedule(one, "main/t/orphan.parquet", True)
            assert [each.kept_because for each in cleanup_old_files(context(one), older_than=None)] == [None]
            assert not (tmp_path / "files" / MARK_FILE).exists()
            for lake in (one, two):
                (outcome,) = delete_orphaned_files(context(lake), older_than=None)
                assert "another lake" in str(outcome.kept_because), "also in a checkpoint, which removes orphans after the cleanup"
        assert sorted((tmp_path / "files").rglob("*.parquet")) == files

    def test_a_cleanup_keeps_a_scheduled_file_below_the_mark_of_another_lake(self, places: list[CatalogPlace], tmp_path: Path) -> None:
        for place in places:
            with oracle.connect(place, data_inlining_row_limit=0) as duck:
                duck.execute("CREATE TABLE lake.t AS SELECT 1 AS a")
        old = tmp_path / "files/main/t/old.parquet"
        old.write_bytes(b"x")
        with places[0].open() as one, places[1].open() as two:
            write_mark(one)
            schedule(two, "main/t/old.parquet", True)
            for dry_run in (True, False):
                (outcome,) = cleanup_old_files(context(two), older_than=None, dry_run=dry_run)
                assert f"another lake owns it, as the file {tmp_path}/files/{MARK_FILE} says" in str(outcome.kept_because)
            assert old.exists()
            os.remove(tmp_path / "files" / MARK_FILE)
            assert [each.kept_because for each in cleanup_old_files(context(two), older_than=None)] == [None], "it stays scheduled"
        assert not old.exists()

    def test_the_first_removal_of_orphans_only_marks_a_data_path_without_a_mark(self, places: list[CatalogPlace], tmp_path: Path) -> None:
        for place in places:
            with oracle.connect(place, data_inlining_row_limit=0) as duck:
                duck.execute("CREATE TABLE lake.t AS SELECT 1 AS a")
        files = sorted((tmp_path / "files").rglob("*.parquet"))
        for dry_run in (True, False):
            with places[1].open() as two:
                (outcome,) = delete_orphaned_files(context(two), older_than=None, dry_run=dry_run)
            assert "may belong to another lake" in str(outcome.kept_because)
            assert "run it again if no other lake uses this data path" in str(outcome.kept_because)
            assert (tmp_path / "files" / MARK_FILE).exists() != dry_run
        with places[0].open() as one:
            (outcome,) = delete_orphaned_files(context(one), older_than=None)
            assert "another lake owns it" in str(outcome.kept_because)
        assert sorted((tmp_path / "files").rglob("*.parquet")) == files
        with places[1].open() as two:
            (outcome,) = delete_orphaned_files(context(two), older_than=None)
            assert outcome.kept_because is None

    def test_duckdb_leaves_the_mark(self, places: list[CatalogPlace], tmp_path: Path) -> None:
        with places[0].lake():
            pass
        with oracle.connect(places[0], data_inlining_row_limit=0) as duck:
            duck.execute("CREATE TABLE lake.t AS SELECT 1 AS a")
            (tmp_path / "files/main/t/left.parquet").write_bytes(b"x")
            assert len(duck.execute("CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)").fetchall()) == 1
            duck.execute("CHECKPOINT lake")
            assert duck.execute("FROM lake.t").fetchall() == [(1,)]
        assert (tmp_path / "files" / MARK_FILE).exists()

    def test_an_empty_data_path_is_refused(self, places: list[CatalogPlace], tmp_path: Path) -> None:
        with places[0].lake():
            pass
        with sqlite3.connect(tmp_path / "one.sqlite") as catalog:
            catalog.execute("UPDATE ducklake_metadata SET value = '' WHERE key = 'data_path'")
        with pytest.raises(LakeError, match=r"empty 'data_path'.*Set it to the directory or URL"):
            CatalogPlace(places[0].path, None).open()  # type: ignore[arg-type]
