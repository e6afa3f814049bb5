"""A catalog in a DuckDB file that another process wants to open: it can while we are idle, and we wait while it has the file."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from sqlalchemy import inspect

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store.dialects import duckdb_driver
from dbt.adapters.ducklake.catalog.store.retries import RetrySettings
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.errors import EngineError
from tests.catalog_objects import table_of
from tests.places import CatalogPlace, empty_place
from tests.unit.catalog.conftest import create, file_of, insert

OTHER_PROCESS = """
import sys, duckdb
connection = None
for line in sys.stdin:
    try:
        if line == "close\\n":
            connection.close()
            print("closed", flush=True)
        else:
            connection = duckdb.connect(line.strip())
            print(connection.execute("SELECT max(snapshot_id) FROM ducklake_snapshot").fetchone()[0], flush=True)
    except Exception as error:
        print(str(error).replace("\\n", " "), flush=True)
"""


class Other:
    """A process that opens the file on request."""

    def __init__(self, process: subprocess.Popen[str], file: str) -> None:
        self._process, self._file = process, file

    def open(self) -> str:
        """Return the newest snapshot that it reads, or the reason why it could not."""
        return self._ask(self._file)

    def close(self) -> None:
        assert self._ask("close") == "closed"

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> CatalogPlace:
    return empty_place("duckdb", request, tmp_path)


@pytest.fixture
def other(lake: LakeCatalog) -> Iterator[Other]:
    command = [sys.executable, "-c", OTHER_PROCESS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Other(process, str(lake.location.file))
        assert process.stdin is not None
        process.stdin.close()


def test_another_process_can_open_the_file_while_we_are_idle(lake: LakeCatalog, other: Other) -> None:
    def handed_over(snapshot: int) -> None:
        assert other.open() == str(snapshot)
        other.close()

    handed_over(0)
    table = create(lake)
    handed_over(1)
    insert(lake, file_of(table))
    handed_over(2)
    transaction = lake.begin()
    transaction.rows.truncate(table_of(transaction))
    handed_over(2)  # in a transaction, for instance while Spark computes
    transaction.commit()
    handed_over(3)
    with lake._database.reading():
        assert "lock" in other.open()
    handed_over(3)


def test_a_commit_waits_while_another_process_has_the_file(lake: LakeCatalog, other: Other) -> None:
    table = create(lake)
    transaction = lake.begin()
    transaction.rows.add_files(table, [file_of(table)])
    assert other.open() == "1"
    done = threading.Event()
    committing = threading.Thread(target=lambda: (transaction.commit(), done.set()))
    committing.start()
    assert not done.wait(0.3)
    other.close()
    committing.join(30)
    assert done.is_set()
    assert lake.latest().snapshot_id == 2


def test_the_error_after_a_wait_says_what_to_do(
    place: CatalogPlace, lake: LakeCatalog, other: Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duckdb_driver, "BUSY_TIMEOUT_SECONDS", 0.1)
    settings = CatalogSettings(place.path, place.data_path)
    with LakeCatalog.open(settings, RetrySettings(max_retry_count=1)) as impatient:
        lake.close()
        assert other.open() == "0"
        with pytest.raises(EngineError, match="one process at a time; close it there, or DETACH the lake"):
            impatient.latest()
        other.close()
        assert impatient.latest().snapshot_id == 0


def test_two_lakes_of_one_process_share_the_file(lake: LakeCatalog, place: CatalogPlace, other: Other) -> None:
    create(lake)
    with place.open() as second, lake._database.reading(), second._database.reading():
        assert second.latest().snapshot_id == lake.latest().snapshot_id
    assert other.open() == "1"


def test_tables_are_listed_without_naming_the_schema(place: CatalogPlace) -> None:
    with place.open()._database.reading() as connection:
        assert inspect(connection).has_table("ducklake_snapshot")
        assert inspect(connection).default_schema_name == "main"


def test_a_new_file_has_the_format_of_duckdb_1_5_whatever_duckdb_creates_it(lake: LakeCatalog) -> None:
    with duckdb.connect(str(lake.location.file), read_only=True) as connection:
        (tags,) = connection.execute("SELECT tags FROM duckdb_databases() WHERE NOT internal").fetchone() or ({},)
    assert tags == {"storage_version": "v1.5.0+"}
