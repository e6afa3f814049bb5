"""Run fifty days of the shop and then `dbt run-operation ducklake_checkpoint`, and print files and seconds before and after.

    python fifty_runs.py            # deletes the lake first; takes some minutes
    python fifty_runs.py 10         # ten days

All days run in one process, like in a scheduler that keeps running.
"""

from __future__ import annotations

import shutil
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

import duckdb_lake
import make_data
from dbt.cli.main import dbtRunner

HERE = Path(__file__).parent
LARGE_TABLES = ("landing.orders", "landing.order_items", "shop.orders")


def dbt(*arguments: str) -> float:
    """Run a dbt command and return the seconds that it took."""
    started = time.perf_counter()
    result = dbtRunner().invoke(["--quiet", "--no-print", *arguments, "--project-dir", str(HERE), "--profiles-dir", str(HERE)])
    if not result.success:
        sys.exit(f"dbt {' '.join(arguments)} failed: {result.exception or 'see the log'}")
    return time.perf_counter() - started


def measure(title: str) -> None:
    """Print the snapshots, the files on disk, the live files of the growing tables, and how long DuckDB reads the largest table."""
    files = [path for path in (HERE / "lake" / "data").rglob("*.parquet") if path.is_file()]
    lake = duckdb_lake.connect()
    (snapshots,) = lake.execute("SELECT count(*) FROM lake.snapshots()").fetchone() or (0,)
    live = [
        lake.execute(f"SELECT count(*) FROM ducklake_list_files('lake', '{name}', schema => '{schema}')").fetchone()
        for schema, name in (table.split(".") for table in LARGE_TABLES)
    ]
    started = time.perf_counter()
    totals = lake.execute("SELECT count(*), sum(amount) FROM shop.orders").fetchone()
    seconds = time.perf_counter() - started
    lake.close()
    counted = ", ".join(f"{table} {found[0] if found else 0}" for table, found in zip(LARGE_TABLES, live, strict=True))
    size = sum(path.stat().st_size for path in files) / 1024
    print(f"{title}: {snapshots} snapshots, {len(files)} files of {size:.0f} KiB; live files: {counted}")
    print(f"  shop.orders has {totals}, which DuckDB reads in {seconds * 1000:.0f} ms", flush=True)


def main(days: int) -> None:
    """Delete the lake, run the days, and measure before and after maintenance."""
    for folder in ("lake", "landing", "target"):
        shutil.rmtree(HERE / folder, ignore_errors=True)
    (HERE / "lake").mkdir()
    seconds = []
    for day in range(1, days + 1):
        make_data.main(day)
        dbt("run-operation", "load_landing", "--args", f"{{day: {day}}}")
        seconds.append(dbt("build"))
    print(f"dbt build: {seconds[0]:.1f} s on day 1, {seconds[1]:.1f} s on day 2, {seconds[-1]:.1f} s on day {days}")
    measure("before")
    print(f"checkpoint: {dbt('run-operation', 'ducklake_checkpoint'):.1f} s")
    measure("after a checkpoint, all snapshots kept")
    now = datetime.now(timezone.utc).isoformat(sep=" ")
    expired = dbt("run-operation", "ducklake_expire_snapshots", "--args", f"{{older_than: '{now}'}}")
    removed = dbt("run-operation", "ducklake_cleanup_old_files", "--args", "{cleanup_all: true}")
    print(f"expiry: {expired:.1f} s, removal of files: {removed:.1f} s")
    measure("after the expiry of all snapshots but the last")
    print(f"dbt build then: {dbt('build'):.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
