"""Timestamps in the catalog, which DuckDB writes in the time zone of its process: we still find the right snapshots and files.

On SQLite, where timestamps are text, DuckDB compares the text, and so cleans up files too early or too late.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.errors import NotFoundError
from tests.interop.catalog.conftest import Connect

ZONES = ("America/New_York", "Asia/Tokyo", "UTC")


def snapshot_of(lake: LakeCatalog, timestamp: datetime) -> int | None:
    try:
        return lake.resolve(timestamp=timestamp).snapshot_id
    except NotFoundError:
        return None


def expirable(lake: LakeCatalog, limit: datetime) -> list[int]:
    return [record.snapshot.snapshot_id for record in lake.maintenance.expire(older_than=limit, dry_run=True)]


def test_a_timestamp_finds_its_snapshot_in_each_zone(lake: LakeCatalog, duckdb_on: Connect) -> None:
    for number, zone in enumerate(ZONES):
        duck = duckdb_on()
        duck.execute(f"SET GLOBAL TimeZone = '{zone}'")
        duck.execute(f"CREATE TABLE t{number} (a INTEGER)")
        duck.close()
    history = {record.snapshot.snapshot_id: record.snapshot.time for record in lake.snapshots()}
    assert list(history) == [0, 1, 2, 3]
    for snapshot_id, time in history.items():
        assert snapshot_of(lake, time) == snapshot_id
        assert snapshot_of(lake, time - timedelta(microseconds=1)) == (snapshot_id - 1 if snapshot_id else None)
        assert lake.first_snapshot_from(time).snapshot_id == snapshot_id
        assert expirable(lake, time) == list(range(snapshot_id))


def test_a_file_is_cleaned_up_after_its_time_in_each_zone(lake: LakeCatalog, duckdb_on: Connect) -> None:
    for number, zone in enumerate(ZONES):
        duck = duckdb_on(data_inlining_row_limit=0)
        duck.execute(f"SET GLOBAL TimeZone = '{zone}'")
        duck.execute(f"CREATE TABLE t{number} AS SELECT 1 AS a")
        duck.execute(f"DROP TABLE t{number}")
        duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now() + INTERVAL 1 DAY)")
        duck.close()
    now = datetime.now(timezone.utc)
    assert lake.maintenance.scheduled(now - timedelta(minutes=5)) == []
    assert len(lake.maintenance.scheduled(now)) == 3


@pytest.mark.parametrize("year", [1, 500, 999])
def test_no_snapshot_is_older_than_the_middle_ages(lake: LakeCatalog, duckdb_on: Connect, year: int) -> None:
    duckdb_on().execute("CREATE TABLE t (a INTEGER)")
    long_ago = datetime(year, 6, 1, tzinfo=timezone.utc)
    assert snapshot_of(lake, long_ago) is None
    assert expirable(lake, long_ago) == []
