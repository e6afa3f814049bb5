"""A catalog that another client has locked, or that is read-only for a while or partly restored: an error within a limited time, and nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url, text

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store.dialects import postgres
from dbt.adapters.ducklake.catalog.store.retries import RetrySettings
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.errors import ConfigurationError, ConflictError, EngineError
from tests.places import empty_place
from tests.unit.catalog.conftest import catalog_writer, create, metadata


@pytest.mark.postgres
def test_a_commit_does_not_wait_for_ever_for_a_lock(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "BUSY_TIMEOUT_SECONDS", 0.05)
    place = empty_place("postgres", request, tmp_path)
    settings = CatalogSettings(place.path, place.data_path)
    with LakeCatalog.open(settings, RetrySettings(max_retry_count=2, wait_ms=1, backoff=1)) as lake:
        with catalog_writer(lake) as other:
            other.execute(text("LOCK TABLE ducklake_snapshot IN SHARE MODE"))  # as CREATE INDEX does
            with pytest.raises(ConflictError, match="busy for 3 attempts"):
                create(lake)
        create(lake)
        assert len(lake.snapshots()) == 2


@pytest.mark.postgres
def test_a_server_is_written_again_after_it_was_read_only(postgres_server: Any, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = empty_place("postgres", request, tmp_path)
    database = make_url(place.path).database

    def set_read_only(value: str) -> None:
        postgres_server.psql(f"ALTER DATABASE {database} SET default_transaction_read_only = {value}")

    with place.open() as lake:
        set_read_only("on")
        create(lake)  # on an older connection, which still writes
        postgres_server.psql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")
        for _ in range(2):
            with pytest.raises(EngineError, match=r"is read-only \(.*\); nothing was written\. Make it writable and run this again"):
                create(lake, "other")
            with lake._database.reading(), lake._database.reading():
                assert len(lake.snapshots()) == 2
        with pytest.raises(EngineError, match=r"is read-only \(.*\); nothing was written\. Make it writable"):
            lake.try_writing()  # the check of `dbt debug`
        set_read_only("off")
        create(lake, "other")
        assert len(lake.snapshots()) == 3


@pytest.mark.mysql
def test_a_catalog_that_is_being_restored_is_not_replaced(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = empty_place("mysql", request, tmp_path)
    with place.open() as lake:
        create(lake)
        with catalog_writer(lake) as other:
            other.execute(text("DELETE FROM ducklake_metadata"))
        with pytest.raises(ConfigurationError, match="has rows, but ducklake_metadata does not describe a lake; restore"):
            place.open()
        assert metadata(lake, "SELECT count(*) FROM ducklake_table") == [(1,)]
