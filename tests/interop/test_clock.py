"""The clock goes back between commits: the newest snapshot is the one that was committed last, and both sides agree on times and expiry."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

import pytest

from dbt.adapters.ducklake.catalog.commit import state
from tests.interop.conftest import Both

pytestmark = pytest.mark.parity

Clock = Callable[[datetime], None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Sets the clock of our commits."""

    def set_clock(now: datetime) -> None:
        class Fixed(datetime):
            @classmethod
            def now(cls, _tz: object = None) -> datetime:  # type: ignore[override]
                return now

        monkeypatch.setattr(state, "datetime", Fixed)

    return set_clock


def at(hour: int, year: int = 2031) -> datetime:
    return datetime(year, 5, 1, hour, tzinfo=timezone.utc)


@pytest.fixture
def history(both: Both, clock: Clock) -> Both:
    """Four rows: the second was committed after the clock had gone back, and DuckDB committed the last one years before the others."""
    clock(at(8))
    both.spark("CREATE TABLE t (id INT)")
    for number, hour in ((1, 12), (2, 10), (3, 11)):
        clock(at(hour))
        both.spark(f"INSERT INTO t VALUES ({number})")
    both.duckdb("INSERT INTO t VALUES (4)")
    return both


def test_the_last_commit_is_the_newest_snapshot(history: Both) -> None:
    assert history.rows("SELECT id FROM t") == [(1,), (2,), (3,), (4,)]
    history.spark("INSERT INTO t SELECT 5")
    history.spark("DELETE FROM t WHERE id = 2")
    assert history.rows("SELECT id FROM t") == [(1,), (3,), (4,), (5,)]
    history.check_history("t")


def test_a_time_means_the_same_snapshot_on_both_sides(history: Both) -> None:
    for hour in (9, 10, 11, 12, 13):
        when = f"2031-05-01 {hour:02}:30:00"
        history.rows(f"SELECT id FROM t AT (TIMESTAMP => TIMESTAMPTZ '{when}+00')", f"SELECT id FROM t TIMESTAMP AS OF '{when}'")


def test_expiry_by_age_leaves_what_the_remaining_snapshots_read(history: Both) -> None:
    limit = "TIMESTAMP '2031-05-01 11:30:00'"
    found = history.session.execute(f"CALL ducklake_expire_snapshots('lake', dry_run => true, older_than => {limit})").fetch()
    assert {row[0] for row in found} == {0, 1, 3, 4}  # DuckDB would expire snapshot 2 too, which is later than the limit
    history.spark(f"CALL ducklake_expire_snapshots('lake', older_than => {limit})")
    history.spark("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    assert history.rows("SELECT id FROM t") == [(1,), (2,), (3,), (4,)]
    for version in {row[0] for row in history.duck.execute("SELECT snapshot_id FROM lake.snapshots()").fetchall()}:
        exists = history.duck.execute(
            f"SELECT count(*) FROM lake.snapshots() WHERE snapshot_id <= {version} AND list_contains(changes['tables_created'], 'main.t')"
        ).fetchall()
        if exists != [(0,)]:
            history.rows(f"SELECT id FROM t AT (VERSION => {version})", f"SELECT id FROM t VERSION AS OF {version}")
    history.spark("INSERT INTO t SELECT 5")
    assert history.rows("SELECT count(*) FROM t") == [(5,)]
