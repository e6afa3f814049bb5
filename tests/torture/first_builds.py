"""Several dbt processes that build the same new project at once: a first build creates its tables, and never replaces what another has created.

Each process builds an `append` and a `merge` model, a table and a snapshot, all of which are new, ROUNDS times on each catalog database.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.functional.dbt_process import SPARK, start_dbt, write_project
from tests.interop.oracle import connect
from tests.places import REFERENCE_DATABASES, CatalogPlace, empty_place

PROCESSES = 4
ROUNDS = int(os.environ.get("ROUNDS", "3"))
MODELS = {
    "appended.sql": "{{ config(materialized='incremental', incremental_strategy='append') }} select {{ var('number') }} as number from range(100)",
    "merged.sql": (
        "{{ config(materialized='incremental', unique_key='id') }} "
        "select id, {{ var('number') }} as number from range(100) union all select 1000 + {{ var('number') }}, {{ var('number') }}"
    ),
    "rebuilt.sql": "{{ config(materialized='table') }} select {{ var('number') }} as number from range(100)",
}
REFUSED = ("was created by another process while this node ran for the first time", "concurrent")
"""Parts of the errors that tell the user to build the node again."""
SNAPSHOT = """
{% snapshot history %}
{{ config(unique_key='id', strategy='check', check_cols=['number'], target_schema='main') }}
select id, {{ var('number') }} as number from range(10)
{% endsnapshot %}
"""


@pytest.fixture(params=REFERENCE_DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> CatalogPlace:
    return empty_place(request.param, request, tmp_path)


def new_project(folder: Path, place: CatalogPlace) -> Path:
    folder.mkdir()
    target = {"type": "ducklake", "path": place.path, "data_path": place.data_path, "schema": "main", "threads": 2}
    write_project(folder, MODELS, {"here": {**target, "spark": {**SPARK, "master": "local[1]"}}})
    (folder / "snapshots").mkdir()
    (folder / "snapshots" / "history.sql").write_text(SNAPSHOT)
    return folder


def outcomes(folder: Path) -> dict[str, tuple[str, str]]:
    """Return the status and the message of each node."""
    results: list[dict[str, Any]] = json.loads((folder / "target" / "run_results.json").read_text())["results"]
    return {result["unique_id"].rsplit(".", 1)[1]: (result["status"], result["message"] or "") for result in results}


@pytest.mark.parametrize("first", range(1, ROUNDS * PROCESSES, PROCESSES))
def test_builds_at_once_lose_no_rows(first: int, place: CatalogPlace, tmp_path: Path) -> None:
    place.open().close()  # the race of this test is about tables, not about the creation of the lake
    numbers = range(first, first + PROCESSES)
    folders = {number: new_project(tmp_path / f"project_{number}", place) for number in numbers}
    running = {number: start_dbt(folder, "build", "--vars", json.dumps({"number": number})) for number, folder in folders.items()}
    outputs = {number: process.communicate(timeout=600)[0] for number, process in running.items()}
    results = {number: outcomes(folder) for number, folder in folders.items()}
    built = {
        node: {number for number, result in results.items() if result.get(node, ("missing", ""))[0] == "success"}
        for node in ("appended", "merged", "rebuilt", "history")
    }
    assert all(built.values()), outputs
    for result in results.values():
        for status, message in result.values():
            assert status == "success" or any(reason in message for reason in REFUSED), message

    with connect(place) as duckdb:

        def read(query: str) -> list[Any]:
            return duckdb.execute(query).fetchall()

        assert dict(read("SELECT number, count(*) FROM lake.appended GROUP BY 1")) == dict.fromkeys(built["appended"], 100)
        merged = dict(read("SELECT id, number FROM lake.merged"))
        assert {id_ - 1000 for id_ in merged if id_ >= 1000} == built["merged"], "each build inserted its own row"
        assert len({merged[id_] for id_ in range(100)}) == 1, "the last merge updated all rows"
        ((number, count),) = read("SELECT number, count(*) FROM lake.rebuilt GROUP BY 1")
        assert number in built["rebuilt"]
        assert count == 100
        versions = read("SELECT id, count(*), count(*) FILTER (dbt_valid_to IS NULL), count(DISTINCT number) FROM lake.history GROUP BY 1")
        assert sorted(versions) == [(id_, len(built["history"]), 1, len(built["history"])) for id_ in range(10)]
