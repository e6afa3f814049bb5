"""A SQLite catalog that was locked or write-protected for a while: the same open lake works again."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store.dialects import sqlite as dialect
from dbt.adapters.ducklake.catalog.store.retries import RetrySettings
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.errors import EngineError
from tests.catalog_objects import committed

NOBODY = 65534


def test_a_read_waits_for_a_lock_that_a_commit_would_not_wait_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lake.sqlite"
    with LakeCatalog.open(CatalogSettings(f"ducklake:sqlite:{path}", f"{tmp_path}/files/")) as lake:
        monkeypatch.setattr(dialect, "BUSY_TIMEOUT_SECONDS", 0.05)
        locked = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        locked.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(dialect, "READ_TIMEOUT_SECONDS", 0.05)
        with pytest.raises(EngineError, match=r"other writers keep the catalog database .* busy"):
            lake.options()
        monkeypatch.setattr(dialect, "READ_TIMEOUT_SECONDS", 20)
        released = threading.Timer(0.5, locked.rollback)
        released.start()
        assert lake.options().get("data_path") == f"{tmp_path}/files/"
        released.join()
        locked.close()


@pytest.mark.parametrize(("retries", "begins"), [(0, False), (200, True)])
def test_the_start_of_a_transaction_is_retried_like_a_commit(
    retries: int, begins: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lake.sqlite"
    settings = CatalogSettings(f"ducklake:sqlite:{path}", f"{tmp_path}/files/")
    with LakeCatalog.open(settings, RetrySettings(max_retry_count=retries, wait_ms=20, backoff=1)) as lake:
        monkeypatch.setattr(dialect, "BUSY_TIMEOUT_SECONDS", 0.02)
        monkeypatch.setattr(dialect, "READ_TIMEOUT_SECONDS", 0.02)
        locked = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        locked.execute("BEGIN EXCLUSIVE")
        released = threading.Timer(0.5, locked.rollback)
        released.start()
        if begins:
            assert lake.begin().snapshot.snapshot_id == 0
        else:
            with pytest.raises(EngineError, match="busy"):
                lake.begin()
        released.join()
        locked.close()


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder of a user who is not root, as whom the test runs: for root, no file is write-protected."""
    folder = Path(tempfile.mkdtemp())
    user = os.geteuid()
    if user == 0:
        os.chown(folder, NOBODY, -1)
        os.seteuid(NOBODY)
    yield folder
    os.seteuid(user)
    shutil.rmtree(folder)


def test_a_catalog_can_be_written_again_after_it_was_write_protected(shared_folder: Path) -> None:
    path = shared_folder / "lake.sqlite"
    settings = CatalogSettings(f"ducklake:sqlite:{path}", f"{shared_folder}/files/")
    LakeCatalog.open(settings).close()
    path.chmod(0o444)
    with LakeCatalog.open(settings) as lake:
        with pytest.raises(EngineError, match=r"is read-only \(the file is write-protected\); nothing was written\. Make it"):
            committed(lake, lambda transaction: transaction.objects.new_schema("s"))
        path.chmod(0o644)
        committed(lake, lambda transaction: transaction.objects.new_schema("s"))
        assert lake.latest().snapshot_id == 1


def test_a_catalog_file_that_is_replaced_is_opened_again(tmp_path: Path) -> None:
    path, backup = tmp_path / "lake.sqlite", tmp_path / "backup.sqlite"
    with LakeCatalog.open(CatalogSettings(f"ducklake:sqlite:{path}", f"{tmp_path}/files/")) as lake:
        shutil.copy(path, backup)
        committed(lake, lambda transaction: transaction.objects.new_schema("s"))
        backup.replace(path)
        assert lake.latest().snapshot_id == 0
        committed(lake, lambda transaction: transaction.objects.new_schema("s"))
    with LakeCatalog.open(CatalogSettings(f"ducklake:sqlite:{path}")) as again:
        assert again.latest().snapshot_id == 1
