"""Lakes of every released format version: read without changes, and migrated. The DuckDB release of their time and today's are right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store.migrations import migrate as migrations
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.errors import ConfigurationError, ConflictError, DuckLakeError, LakeError
from dbt.adapters.ducklake.format.versions import CURRENT
from dbt.adapters.ducklake.lake.migrate import migrate
from dbt.adapters.ducklake.session import Lake, LakeSettings
from tests.catalog_objects import table_of
from tests.frozen import OLDER, FrozenLake, thaw
from tests.interop.oracle import connect
from tests.interop.version_places import in_duckdb, in_postgres, tables_of
from tests.lakes.make import ordered
from tests.places import nightly

KINDS = ["sqlite"]


@pytest.fixture(params=[(version, kind) for kind in KINDS for version in (*OLDER, CURRENT)], ids="-".join)
def any_version(request: pytest.FixtureRequest, tmp_path: Path) -> FrozenLake:
    return thaw(*request.param, tmp_path / "lake")


ENDS = pytest.mark.parametrize(
    "older",
    [
        (version, "sqlite") if version in (OLDER[0], OLDER[-1]) else pytest.param((version, "sqlite"), marks=pytest.mark.nightly)
        for version in OLDER
    ],
    indirect=True,
)
"""The oldest and the newest of the older versions; the nightly run has those between, whose migrations are part of that of the oldest."""


@pytest.fixture(params=[(version, kind) for kind in KINDS for version in OLDER], ids="-".join)
def older(request: pytest.FixtureRequest, tmp_path: Path) -> FrozenLake:
    return thaw(*request.param, tmp_path / "lake")


def opened(lake: FrozenLake, **options: Any) -> LakeCatalog:
    return LakeCatalog.open(CatalogSettings(lake.path, metadata_schema=lake.metadata_schema, **options))


def duckdb_reads(lake: FrozenLake) -> dict[int, dict[str, Any]]:
    """Return every table at every snapshot, as today's DuckDB reads it. It resolves views only at the newest snapshot."""
    found: dict[int, dict[str, Any]] = {}
    with connect(lake) as connection:
        for snapshot, relations in lake.snapshots.items():
            found[snapshot] = {}
            for name in relations:
                schema, _, relation = name.partition(".")
                at = "" if relation == "cheap" else f" AT (VERSION => {snapshot})"
                if at or snapshot == max(lake.snapshots):
                    result = connection.execute(f'SELECT * FROM lake."{schema}"."{relation}"{at}')
                    columns = [column[0] for column in result.description]
                    found[snapshot][name] = {"columns": columns, "rows": json.loads(json.dumps(ordered(result.fetchall())))}
    return found


def assert_as_expected(lake: FrozenLake, found: dict[int, dict[str, Any]]) -> None:
    for snapshot, relations in found.items():
        for name, content in relations.items():
            assert content == lake.snapshots[snapshot][name], f"{name} at {snapshot}"


def test_every_definition_is_read_at_every_snapshot_and_the_catalog_is_unchanged(any_version: FrozenLake) -> None:
    before = any_version.content()
    with opened(any_version) as catalog:
        assert catalog.format_version == any_version.version
        for snapshot, relations in any_version.snapshots.items():
            reader = catalog.reader(catalog.resolve(version=snapshot))
            found = {f"{each.schema_name}.{each.name}": each for each in reader.relations()}
            assert set(found) == set(relations), snapshot
            for name, relation in found.items():
                if hasattr(relation, "columns"):
                    assert [column.name for column in relation.columns] == relations[name]["columns"], (snapshot, name)
        assert len(catalog.snapshots()) == len(any_version.snapshots)
        assert catalog.table_summaries(catalog.latest())
        assert catalog.options().rows
    assert any_version.content() == before


@ENDS
def test_duckdb_reads_a_lake_that_we_migrated_as_its_own_release_did(older: FrozenLake) -> None:
    with opened(older) as catalog:
        assert migrate(catalog) == older.version
        assert catalog.format_version == CURRENT
        assert migrate(catalog) == CURRENT  # nothing remains to be migrated
    assert_as_expected(older, duckdb_reads(older))


@ENDS
def test_the_migrated_catalog_equals_that_of_duckdbs_migration(older: FrozenLake, tmp_path: Path) -> None:
    theirs = in_duckdb(thaw(older.version, "sqlite", tmp_path / "theirs"))
    with connect(theirs, automatic_migration=True):
        pass
    with opened(older) as catalog:
        rewritten = merged_in_the_old_way(catalog)
        migrate(catalog)
    ours, reference = tables_of(older), tables_of(theirs)
    for tables in (ours, reference):
        for row in tables["ducklake_data_file"]:
            if row["data_file_id"] in rewritten:  # DuckDB's migration loses which of these rows belong to which snapshot
                for column in ("path", "file_size_bytes", "footer_size", "partial_max"):
                    del row[column]
        for row in tables["ducklake_metadata"]:
            row["value"] = str(row["value"]).replace("/theirs/", "/lake/")
    scheduled = {row["data_file_id"] for row in ours["ducklake_files_scheduled_for_deletion"]}
    assert rewritten <= scheduled
    ours["ducklake_files_scheduled_for_deletion"] = [
        row for row in ours["ducklake_files_scheduled_for_deletion"] if row["data_file_id"] not in rewritten
    ]
    for key in ours["ducklake_partition_column"], reference["ducklake_partition_column"]:
        if older.version == "0.1":  # DuckDB's migration loses the column of a table that was dropped
            key[:] = [row for row in key if row["table_id"] not in dropped_tables(older)]
    assert list(ours) == list(reference)
    for name in ours:
        assert sorted(map(repr, ours[name])) == sorted(map(repr, distinct(reference[name]))), name


def distinct(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Remove duplicates: DuckDB repeats the entry of a schema version in which a table was renamed."""
    return list({repr(row): row for row in rows}.values())


def merged_in_the_old_way(catalog: LakeCatalog) -> set[int]:
    database = catalog._database
    assert database.older_catalog is not None
    return {file.data_file_id for file in migrations._merged_files(database, catalog.data_path, database.older_catalog.source)}


def dropped_tables(lake: FrozenLake) -> set[int]:
    with opened(lake) as catalog:
        now = {relation.relation_id for relation in catalog.reader().names()}
    return {row["table_id"] for row in tables_of(lake)["ducklake_table"]} - now


@ENDS
def test_both_sides_write_to_a_migrated_lake(older: FrozenLake) -> None:
    with Lake.open(LakeSettings(older.path, automatic_migration=True)) as lake:
        assert lake.catalog.format_version == CURRENT
        with lake.session() as session:
            session.load_seed("main", "fresh", [("a", "int")], [(1,)])
            session.execute("ALTER TABLE items ADD COLUMN more int")
    with connect(older) as connection:
        connection.execute("INSERT INTO lake.main.fresh VALUES (2)")
        connection.execute("INSERT INTO lake.main.orders VALUES (9, 'west', '2026-01-01')")
        connection.execute("DELETE FROM lake.main.log WHERE n = 3")
        connection.execute("CALL ducklake_merge_adjacent_files('lake')")
        assert connection.execute("SELECT a FROM lake.main.fresh ORDER BY 1").fetchall() == [(1,), (2,)]
    assert_as_expected(older, duckdb_reads(older) | {max(older.snapshots): {}})


@ENDS
def test_a_lake_of_an_older_version_is_not_written_to(older: FrozenLake) -> None:
    before = older.content()
    with Lake.open(LakeSettings(older.path)) as lake, lake.session() as session:
        for statement in ("CREATE TABLE t (a int)", "DROP TABLE items", "CREATE VIEW v AS SELECT 1 AS a", "COMMENT ON TABLE items IS 'x'"):
            with pytest.raises(LakeError, match=f"version {older.version}.*ducklake_migrate"):
                session.execute(statement)
    assert older.content() == before


def test_call_migrates_an_open_lake(tmp_path: Path) -> None:
    lake = thaw("0.3", "sqlite", tmp_path / "lake")
    with Lake.open(LakeSettings(lake.path)) as opened_lake, opened_lake.session() as session, opened_lake.session() as other:
        with other.reading() as reader:
            session.begin()
            with pytest.raises(DuckLakeError, match="COMMIT or ROLLBACK"):
                session.execute("CALL ducklake_migrate('lake')")
            session.rollback()
            result = session.execute("CALL ducklake_migrate('lake')")
            assert result.rows is not None
            assert tuple(result.rows) == ((lake.version, CURRENT),)
            assert reader.scan_plan(table_of(reader, "log")).files
        session.execute("CREATE TABLE t (a int)")
        assert session.execute("CALL lake.migrate()").rows[0] == (CURRENT, CURRENT)  # type: ignore[index]


@ENDS
def test_a_migration_that_fails_leaves_the_lake_unchanged(older: FrozenLake, monkeypatch: pytest.MonkeyPatch) -> None:
    before, files = older.content(), sorted(Path(older.data_path).rglob("*"))

    def die(*_: object) -> None:
        raise LakeError("died")

    monkeypatch.setattr(migrations, "_require_current_tables", die)
    with opened(older) as catalog:
        with pytest.raises(LakeError, match="died"):
            migrate(catalog)
        assert catalog.format_version == older.version
        assert catalog.reader().find("main", "items") is not None
    assert older.content() == before
    assert sorted(Path(older.data_path).rglob("*")) == files


def test_only_one_of_two_concurrent_migrations_runs(tmp_path: Path) -> None:
    lake = thaw("0.3", "sqlite", tmp_path / "lake")
    with opened(lake) as first, opened(lake) as second:
        migrate(first)
        with pytest.raises(ConflictError, match="open it again"):
            migrate(second)
    with opened(lake) as again:
        assert again.format_version == CURRENT


def test_a_lake_opened_read_only_is_not_migrated(tmp_path: Path) -> None:
    lake = thaw("0.3", "sqlite", tmp_path / "lake")
    with opened(lake, read_only=True) as catalog, pytest.raises(ConfigurationError, match="read-only"):
        migrate(catalog)


@pytest.mark.parametrize("label", ["0.3-dev1", "0.4-dev1"])
def test_development_versions_are_migrated_from_any_set_of_tables(tmp_path: Path, label: str) -> None:
    import sqlite3

    lake = thaw("0.3", "sqlite", tmp_path / "lake")
    with sqlite3.connect(lake.file) as connection:
        connection.execute("UPDATE ducklake_metadata SET value = ? WHERE key = 'version'", [label])
        if label == "0.4-dev1":
            connection.execute("ALTER TABLE ducklake_column ADD COLUMN default_value_type VARCHAR")
            connection.execute("ALTER TABLE ducklake_data_file ADD COLUMN partial_max BIGINT")
            connection.execute("ALTER TABLE ducklake_schema_versions ADD COLUMN table_id BIGINT")
    connection.close()
    with opened(lake) as catalog:
        assert catalog.format_version == label
        assert migrate(catalog) == label
    assert_as_expected(lake, duckdb_reads(lake))


@pytest.mark.postgres
@pytest.mark.parametrize("version", [OLDER[0], *nightly(*OLDER[1:-1]), OLDER[-1]])
def test_migration_in_postgres(tmp_path: Path, postgres_url: str, version: str) -> None:
    lake = in_postgres(thaw(version, "sqlite", tmp_path / "lake"), postgres_url)
    with opened(lake) as catalog:
        assert catalog.format_version == version
        for snapshot, relations in lake.snapshots.items():
            reader = catalog.reader(catalog.resolve(version=snapshot))
            assert {f"{each.schema_name}.{each.name}" for each in reader.relations()} == set(relations) - {"main.notes", "main.flushed"}
        migrate(catalog)
    assert_as_expected(lake, duckdb_reads(lake))
