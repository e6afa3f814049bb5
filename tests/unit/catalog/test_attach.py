"""Opening lakes: the content of a new lake, and what is refused with which advice."""

from __future__ import annotations

import os
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store.dialects import sqlite as sqlite_dialect
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.errors import ConfigurationError, EngineError, LakeError
from dbt.adapters.ducklake.format.files import ColumnStats
from dbt.adapters.ducklake.session import Lake, LakeSettings
from tests.catalog_objects import COLUMNS, committed, table_of
from tests.places import CatalogPlace, empty_place
from tests.unit.catalog.conftest import create, metadata


def test_a_fresh_catalog_equals_that_of_duckdb(lake: LakeCatalog, place: CatalogPlace) -> None:
    assert metadata(lake, "SELECT snapshot_id, schema_version, next_catalog_id, next_file_id FROM ducklake_snapshot") == [(0, 0, 1, 0)]
    assert metadata(lake, "SELECT * FROM ducklake_snapshot_changes") == [(0, 'created_schema:"main"', None, None, None)]
    main = metadata(lake, "SELECT schema_id, begin_snapshot, end_snapshot, schema_name, path, path_is_relative FROM ducklake_schema")
    assert main == [(0, 0, None, "main", "main/", 1)]
    entries = dict(metadata(lake, 'SELECT "key", value FROM ducklake_metadata WHERE scope IS NULL AND scope_id IS NULL'))
    assert entries == {"version": "1.0", "created_by": "dbt-ducklake", "data_path": place.data_path, "encrypted": "false"}


def test_an_existing_lake_needs_no_data_path_and_refuses_another(lake: LakeCatalog, place: CatalogPlace) -> None:
    with replace(place, data_path=None).open() as again:  # type: ignore[arg-type]
        assert again.data_path == place.data_path
    with replace(place, data_path=place.data_path.rstrip("/")).open():
        pass
    create(lake)
    with pytest.raises(ConfigurationError, match="data_path"):
        replace(place, data_path="/elsewhere/").open()


@pytest.mark.usefixtures("lake")
def test_a_lake_without_tables_gets_the_given_data_path(place: CatalogPlace, tmp_path: Path) -> None:
    elsewhere = replace(place, data_path=f"{tmp_path}/elsewhere")
    for options in ({"read_only": True}, {"create_if_not_exists": False}):
        with pytest.raises(ConfigurationError, match="data_path"):
            elsewhere.open(**options)
    with pytest.raises(ConfigurationError, match="not there"):
        LakeCatalog.open(CatalogSettings(elsewhere.path, elsewhere.data_path, metadata_schema=elsewhere.metadata_schema), None, refuse)
    with replace(place, data_path=None).open() as again:  # type: ignore[arg-type]
        assert again.data_path == place.data_path, "a refused data path is not stored"
    with elsewhere.open() as corrected:
        assert (corrected.data_path, corrected.earlier_data_path) == (f"{tmp_path}/elsewhere/", place.data_path)
    with elsewhere.open() as again:
        assert (again.data_path, again.earlier_data_path) == (f"{tmp_path}/elsewhere/", None)
    with ThreadPoolExecutor(2) as threads:
        for found in threads.map(lambda _: place.open(), range(2)):
            assert found.data_path == place.data_path
            found.close()


def test_the_data_path_of_a_locked_catalog_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "lake.sqlite"
    LakeCatalog.open(CatalogSettings(f"ducklake:sqlite:{file}", f"{tmp_path}/files/")).close()
    monkeypatch.setattr(sqlite_dialect, "BUSY_TIMEOUT_SECONDS", 0.02)
    locked = sqlite3.connect(file, isolation_level=None)
    locked.execute("BEGIN IMMEDIATE")
    with pytest.raises(EngineError, match=r"other writers keep the catalog database .* busy"):
        LakeCatalog.open(CatalogSettings(f"ducklake:sqlite:{file}", f"{tmp_path}/elsewhere/"))
    locked.close()


@pytest.mark.parametrize("option", ["foo=bar", "connect_timeout=soon", "ssl_ca=/nonexistent"])
def test_an_option_that_the_driver_refuses(option: str) -> None:
    pytest.importorskip("pymysql")
    with pytest.raises(ConfigurationError, match=r"rejects a connection option of mysql\+pymysql://me@127.0.0.1:1/lake\?"):
        LakeCatalog.open(CatalogSettings(f"mysql://me@127.0.0.1:1/lake?{option}"))


def test_a_process_that_opened_a_lake_with_its_earlier_data_path_creates_no_table(
    lake: LakeCatalog, place: CatalogPlace, tmp_path: Path
) -> None:
    replace(place, data_path=f"{tmp_path}/elsewhere").open().close()
    with pytest.raises(LakeError, match=r"elsewhere/? now"):
        create(lake)
    with replace(place, data_path=None).open() as again:  # type: ignore[arg-type]
        create(again)


def test_a_lake_that_once_had_a_table_keeps_its_data_path(lake: LakeCatalog, place: CatalogPlace) -> None:
    create(lake)
    committed(lake, lambda transaction: transaction.objects.drop_table(table_of(transaction, "t")))
    with pytest.raises(ConfigurationError, match="data_path"):
        replace(place, data_path="/elsewhere/").open()


def refuse(path: str) -> None:
    raise ConfigurationError(f"not there: {path}")


def test_a_new_lake_needs_a_data_path_and_stores_it_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match="data_path"):
        LakeCatalog.open(CatalogSettings("lake.sqlite"))
    with LakeCatalog.open(CatalogSettings("lake.sqlite", data_path="files")) as lake:
        assert lake.data_path == f"{tmp_path}/files/"


def test_nothing_is_created_without_create_if_not_exists(tmp_path: Path) -> None:
    for options in ({"read_only": True}, {"create_if_not_exists": False}):
        with pytest.raises(ConfigurationError, match="no catalog"):
            LakeCatalog.open(CatalogSettings(f"{tmp_path}/lake.sqlite", data_path="files", **options))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="directory"):
        LakeCatalog.open(CatalogSettings(f"{tmp_path}/nowhere/lake.sqlite", data_path="files"))
    assert os.listdir(tmp_path) == []


def test_a_database_without_a_lake_is_refused(place: CatalogPlace) -> None:
    with pytest.raises(ConfigurationError, match=r"no (DuckLake )?catalog"):
        place.open(create_if_not_exists=False)


@pytest.mark.parametrize("version", ["1.1-dev1", "0.5", "2"])
def test_newer_and_unknown_format_versions_are_refused_and_unchanged(sqlite_lake: LakeCatalog, version: str) -> None:
    file = Path(str(sqlite_lake.location.file))
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE ducklake_metadata SET value = ? WHERE key = 'version'", [version])
    before = file.read_bytes()
    for automatic_migration in (False, True):
        with pytest.raises(LakeError, match=f"{re.escape(version)}.*newer"):
            Lake.open(LakeSettings(str(file), automatic_migration=automatic_migration))
    assert file.read_bytes() == before


def test_a_new_lake_is_encrypted_if_the_settings_say_so(place: CatalogPlace) -> None:
    with place.open(encrypted=True) as lake:
        assert lake.encrypted
        assert lake.options().get("encrypted") == "true"
        assert lake.options().write_options().encrypted
        assert not lake.options().write_options().hive_file_pattern
    with place.open() as lake:
        assert lake.encrypted
    with pytest.raises(ConfigurationError, match="the lake is encrypted, but the profile has `encrypted: false`"):
        place.open(encrypted=False)


@pytest.mark.parametrize("stored", ["wrong", "", "TRUE"])
def test_a_lake_is_refused_if_it_is_unclear_whether_it_is_encrypted(tmp_path: Path, stored: str) -> None:
    """DuckDB refuses these texts too. Taken for false, they would make the next file of an encrypted lake a plain one."""
    file = tmp_path / "lake.sqlite"
    LakeCatalog.open(CatalogSettings(f"ducklake:sqlite:{file}", f"{tmp_path}/files/", encrypted=True)).close()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE ducklake_metadata SET value = ? WHERE key = 'encrypted'", [stored])
    with pytest.raises(LakeError, match=f"'encrypted' = {stored!r} in ducklake_metadata. Set it to true if the lake's files are encrypted"):
        LakeCatalog.open(CatalogSettings(f"ducklake:sqlite:{file}"))


def test_a_read_only_lake_can_only_be_read(place: CatalogPlace) -> None:
    with place.open() as lake:
        create(lake)
    with place.open(read_only=True) as lake:
        transaction = lake.begin()
        assert transaction.find("main", "t") is not None
        with pytest.raises(ConfigurationError, match="read-only"):
            transaction.objects.new_table(transaction.schema("main"), "u", COLUMNS)  # type: ignore[arg-type]
        assert transaction.commit() is None


def test_a_file_that_is_not_a_database(tmp_path: Path) -> None:
    (tmp_path / "lake.sqlite").write_text("hello, this is not a database at all, but long enough to look")
    with pytest.raises(EngineError, match="not a database"):
        LakeCatalog.open(CatalogSettings(f"{tmp_path}/lake.sqlite", data_path="files"))


def test_the_error_names_a_server_that_does_not_answer_without_its_password() -> None:
    with pytest.raises(EngineError) as caught:
        LakeCatalog.open(CatalogSettings("postgresql://me:s3cret@127.0.0.1:1/lake", data_path="files"))
    assert "127.0.0.1" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_eight_threads_can_create_the_same_lake_concurrently(place: CatalogPlace) -> None:
    with ThreadPoolExecutor(8) as pool:
        opened = list(pool.map(lambda _: place.open(), range(8)))
    assert [lake.latest().snapshot_id for lake in opened] == [0] * 8
    assert len(metadata(opened[0], "SELECT * FROM ducklake_metadata")) == 4
    for lake in opened:
        lake.close()


@pytest.mark.parametrize("schema", ["my meta", "a%b :y", "pivot", 'a"b'])
@pytest.mark.parametrize("database", [pytest.param("postgres", marks=pytest.mark.postgres), "duckdb"])
def test_the_metadata_tables_can_have_their_own_schema(database: str, schema: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with replace(empty_place(database, request, tmp_path), metadata_schema=schema).open() as lake:
        create(lake)
        table = table_of(lake.reader())
        committed(lake, lambda tx: tx.rows.add_inlined(table, [(1, "x")], (ColumnStats(1), ColumnStats(2))))
        committed(lake, lambda tx: tx.objects.drop_table(table_of(tx)))
        lake.maintenance.expire(versions=range(lake.latest().snapshot_id), dry_run=False)  # drops the inlined-data table
        create(lake)
        assert lake.reader().find("main", "t") is not None
        assert lake.reader().scan_plan(lake.reader().find("main", "t")).files == ()  # type: ignore[arg-type]
        engine = create_engine(lake.location.url)
        with engine.connect() as connection:
            schemas = connection.execute(
                text("SELECT DISTINCT table_schema FROM information_schema.tables WHERE table_name LIKE 'ducklake%'")
            ).all()
        engine.dispose()
        assert schemas == [(schema,)]


def test_a_stored_data_path_with_a_secret_is_refused_without_showing_it(sqlite_lake: LakeCatalog) -> None:
    file = str(sqlite_lake.location.file)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE ducklake_metadata SET value = 's3://KEY:hunter2@bucket/' WHERE key = 'data_path'")
    with pytest.raises(LakeError, match="contains a password or a secret key") as caught:
        LakeCatalog.open(CatalogSettings(file))
    assert "hunter2" not in str(caught.value)
