"""A catalog that another client has locked, or that is only partly restored: an error within a limited time, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store.dialects import postgres
from dbt.adapters.ducklake.catalog.store.retries import RetrySettings
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.errors import ConfigurationError, ConflictError
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
