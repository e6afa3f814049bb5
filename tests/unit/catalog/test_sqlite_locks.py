"""A read of a SQLite catalog waits longer for a lock than a commit, which is retried."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store.dialects import sqlite as dialect
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.errors import EngineError


def test_a_read_waits_for_a_lock_that_a_commit_would_not_wait_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lake.sqlite"
    with LakeCatalog.open(CatalogSettings(f"ducklake:sqlite:{path}", f"{tmp_path}/files/")) as lake:
        monkeypatch.setattr(dialect, "BUSY_TIMEOUT_SECONDS", 0.05)
        locked = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        locked.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(dialect, "READ_TIMEOUT_SECONDS", 0.05)
        with pytest.raises(EngineError, match=r"other writers keep the catalog database .* busy"):
            lake.latest()
        monkeypatch.setattr(dialect, "READ_TIMEOUT_SECONDS", 20)
        released = threading.Timer(0.5, locked.rollback)
        released.start()
        assert lake.latest().snapshot_id == 0
        released.join()
        locked.close()
