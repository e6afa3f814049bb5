"""Real processes on one catalog: no change is lost, and none happens twice."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.errors import ConflictError
from tests.catalog_objects import table_of
from tests.places import EVERY_DATABASE, CatalogPlace, empty_place
from tests.unit.catalog.conftest import create, file_of, metadata

ROUNDS = 10


def increment(place: CatalogPlace, rounds: int) -> int:
    """Read a counter from the table's comment and increment it; try again after a conflict."""
    refused = 0
    with place.open() as lake:
        for _ in range(rounds):
            while True:
                transaction = lake.begin()
                table = table_of(transaction)
                transaction.objects.put_table(replace(table, comment=str(int(table.comment or 0) + 1)))
                try:
                    transaction.commit()
                    break
                except ConflictError:
                    refused += 1
    return refused


def append(place: CatalogPlace, rounds: int) -> None:
    with place.open() as lake:
        for _ in range(rounds):
            transaction = lake.begin()
            table = table_of(transaction)
            transaction.rows.add_files(table, [file_of(table)])
            transaction.commit()


@pytest.fixture(params=EVERY_DATABASE)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> CatalogPlace:
    """An empty place on each database."""
    return empty_place(request.param, request, tmp_path)


@pytest.fixture(scope="module")
def processes() -> Iterator[list[ProcessPoolExecutor]]:
    """Two concurrent processes, started once for all databases."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as one, ProcessPoolExecutor(1, context) as other:
        yield [one, other]


def run(work: Any, place: CatalogPlace, processes: list[ProcessPoolExecutor]) -> None:
    for future in [process.submit(work, place, ROUNDS) for process in processes]:
        future.result(120)


def test_two_processes_increment_a_counter(lake: LakeCatalog, place: CatalogPlace, processes: list[ProcessPoolExecutor]) -> None:
    create(lake)
    run(increment, place, processes)
    assert table_of(lake.reader()).comment == str(2 * ROUNDS)


def test_two_processes_append_concurrently(lake: LakeCatalog, place: CatalogPlace, processes: list[ProcessPoolExecutor]) -> None:
    create(lake)
    run(append, place, processes)
    rows = metadata(lake, "SELECT data_file_id, row_id_start, begin_snapshot FROM ducklake_data_file ORDER BY 1")
    assert rows == [(i, 10 * i, i + 2) for i in range(2 * ROUNDS)]
    assert metadata(lake, "SELECT record_count, next_row_id FROM ducklake_table_stats") == [(200, 200)]


def test_eight_threads_of_one_process(lake: LakeCatalog) -> None:
    for number in range(8):
        create(lake, f"t{number}")

    def work(number: int) -> None:
        for _ in range(5):
            transaction = lake.begin()
            table = table_of(transaction, f"t{number}")
            transaction.rows.truncate(table)
            transaction.rows.add_files(table, [file_of(table)])
            transaction.commit()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert lake.latest().snapshot_id == 8 + 40
    assert metadata(lake, "SELECT count(*) FROM ducklake_data_file WHERE end_snapshot IS NULL") == [(8,)]
