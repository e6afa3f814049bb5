"""DuckDB in another process commits to the same table as we do: no row is lost, and no row id is assigned twice."""

from __future__ import annotations

import multiprocessing
from typing import Any

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from tests.catalog_objects import committed, table_of
from tests.interop import oracle
from tests.interop.catalog.conftest import A, B, Connect
from tests.interop.parquet_files import write_file
from tests.places import FULL_MATRIX, CatalogPlace

pytestmark = pytest.mark.parity
ROUNDS = 8 if FULL_MATRIX else 4
TABLES = {"in_files": 0, "inlined": 10}
"""Table name → the most rows of an insert that DuckDB inlines into the table."""


def duckdb_inserts(place: CatalogPlace, queue: Any) -> None:
    """Insert rows into each table with DuckDB. Put "ready" into the queue before a table, and the number of its new rows after it."""
    for table, limit in TABLES.items():
        connection = oracle.connect(place, data_inlining_row_limit=limit)
        connection.execute("SET ducklake_max_retry_count = 100")
        queue.put("ready")
        inserted = 0
        for number in range(ROUNDS):
            for _ in range(20):
                try:
                    connection.execute(f"INSERT INTO lake.{table} VALUES ({1000 + number}, 'duck')")
                    inserted += 1
                    break
                except Exception as error:  # DuckDB gives up if the SQLite file is locked
                    if "locked" not in str(error) and "busy" not in str(error):
                        raise
        connection.close()
        queue.put(inserted)


def test_concurrent_inserts_of_both_sides_commit(lake: LakeCatalog, place: CatalogPlace, duckdb_on: Connect) -> None:
    for name in TABLES:
        committed(lake, lambda transaction, name=name: transaction.objects.new_table(transaction.schema("main"), name, (A, B)))
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=duckdb_inserts, args=(place, queue))
    process.start()
    theirs = {}
    for name in TABLES:
        assert queue.get(timeout=60) == "ready"
        insert(lake, name)
        theirs[name] = queue.get(timeout=120)
    process.join(30)
    assert process.exitcode == 0
    duck = duckdb_on()
    for name in TABLES:
        rows = duck.execute(f"SELECT rowid, a FROM {name}").fetchall()
        assert len(rows) == ROUNDS + theirs[name], name
        assert len({row[0] for row in rows}) == len(rows), name
        assert {row[1] for row in rows} >= set(range(ROUNDS)), name
    snapshots = [record.snapshot for record in lake.snapshots()]
    assert [snapshot.snapshot_id for snapshot in snapshots] == list(range(len(snapshots)))


def insert(lake: LakeCatalog, name: str) -> None:
    """Insert one row in each round, in a transaction of its own. A commit that is refused fails the test."""
    for number in range(ROUNDS):
        transaction = lake.begin()
        table = table_of(transaction, name)
        transaction.rows.add_files(table, [write_file(table, [{"a": number, "b": "we"}])])
        transaction.commit()
