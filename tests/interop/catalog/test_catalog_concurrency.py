"""DuckDB in another process commits to the same table as we do: no row is lost, and no row id is assigned twice."""

from __future__ import annotations

import multiprocessing
from typing import Any

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.errors import ConflictError
from tests.catalog_objects import table_of
from tests.interop import oracle
from tests.interop.catalog.conftest import Connect, create
from tests.interop.parquet_files import write_file
from tests.places import CatalogPlace

ROUNDS = 8


def duckdb_inserts(place: CatalogPlace, inlined: bool, queue: Any) -> None:
    connection = oracle.connect(place, data_inlining_row_limit=10 if inlined else 0)
    connection.execute("SET ducklake_max_retry_count = 100")
    queue.put("ready")
    done = 0
    for number in range(ROUNDS):
        for _ in range(20):
            try:
                connection.execute(f"INSERT INTO lake.t VALUES ({1000 + number}, 'duck')")
                done += 1
                break
            except Exception as error:  # SQLite: DuckDB gives up if the file is locked
                if "locked" not in str(error) and "busy" not in str(error):
                    raise
    connection.close()
    queue.put(done)


@pytest.mark.parametrize("inlined", [False, True], ids=["files", "inlined"])
def test_concurrent_inserts_of_both_sides_commit(lake: LakeCatalog, place: CatalogPlace, duckdb_on: Connect, inlined: bool) -> None:
    create(lake)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=duckdb_inserts, args=(place, inlined, queue))
    process.start()
    assert queue.get(timeout=60) == "ready"
    refused = 0
    for number in range(ROUNDS):
        while True:
            transaction = lake.begin()
            table = table_of(transaction)
            transaction.rows.add_files(table, [write_file(table, [{"a": number, "b": "we"}])])
            try:
                transaction.commit()
                break
            except ConflictError:
                refused += 1
    theirs = queue.get(timeout=120)
    process.join(30)
    assert (process.exitcode, refused) == (0, 0)
    duck = duckdb_on()
    rows = duck.execute("SELECT rowid, a FROM t").fetchall()
    assert len(rows) == ROUNDS + theirs
    assert len({row[0] for row in rows}) == len(rows)
    assert {row[1] for row in rows} >= set(range(ROUNDS))
    snapshots = [record.snapshot for record in lake.snapshots()]
    assert [snapshot.snapshot_id for snapshot in snapshots] == list(range(len(snapshots)))
