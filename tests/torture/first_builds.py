"""Several dbt processes that build the same new project at once: a first build creates its tables, and never replaces what another has created.

Each process builds an `append` and a `merge` model, a table and a snapshot, all of which are new, ROUNDS times on each catalog database. In a
second test the definitions of the processes differ, and DuckDB creates some of the tables too.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb
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
TYPES = {"int": "INTEGER", "string": "VARCHAR", "double": "DOUBLE", "decimal(9,2)": "DECIMAL(9,2)"}
"""The types of the column `value`, one for each process, in Spark and in DuckDB."""
DIFFERENT = (
    "select id, cast({{ var('number') }} as {{ "
    + str([*TYPES])
    + "[var('number') % 4] }}) as value, {{ var('number') }} as only_{{ var('number') }} from range(100)"
)
"""Rows whose columns and types depend on the process."""
DIFFERENT_MODELS = {
    "appended.sql": "{{ config(materialized='incremental', incremental_strategy='append') }} " + DIFFERENT,
    "merged.sql": "{{ config(materialized='incremental', unique_key='id') }} " + DIFFERENT,
    "rebuilt.sql": "{{ config(materialized='table') }} " + DIFFERENT,
}
DIFFERENT_SNAPSHOT = (
    "{% snapshot history %}{{ config(unique_key='id', strategy='check', check_cols=['value'], target_schema='main') }} "
    + DIFFERENT
    + "{% endsnapshot %}"
)
THEIRS = {"theirs": "VARCHAR", "value": "DATE"}
"""The columns of the tables that DuckDB creates."""
OTHER_DEFINITION = re.compile(r"(?i)column|only_|dbt_scd_id|type|the definition of \S+ has changed")
"""What an error says of a node that began after another had created its table with a different definition."""


@pytest.fixture(params=REFERENCE_DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> CatalogPlace:
    return empty_place(request.param, request, tmp_path)


def new_project(folder: Path, place: CatalogPlace, models: Mapping[str, str] = MODELS, snapshot: str = SNAPSHOT) -> Path:
    folder.mkdir()
    target = {"type": "ducklake", "path": place.path, "data_path": place.data_path, "schema": "main", "threads": 2}
    write_project(folder, models, {"here": {**target, "spark": {**SPARK, "master": "local[1]"}}})
    (folder / "snapshots").mkdir()
    (folder / "snapshots" / "history.sql").write_text(snapshot)
    return folder


def start_builds(folders: Mapping[int, Path]) -> dict[int, subprocess.Popen[str]]:
    """Start the build of each project, with its number."""
    return {number: start_dbt(folder, "build", "--vars", json.dumps({"number": number})) for number, folder in folders.items()}


def outcomes(folder: Path) -> dict[str, tuple[str, str]]:
    """Return the status and the message of each node."""
    results: list[dict[str, Any]] = json.loads((folder / "target" / "run_results.json").read_text())["results"]
    return {result["unique_id"].rsplit(".", 1)[1]: (result["status"], result["message"] or "") for result in results}


@pytest.mark.parametrize("first", range(1, ROUNDS * PROCESSES, PROCESSES))
def test_builds_at_once_lose_no_rows(first: int, place: CatalogPlace, tmp_path: Path) -> None:
    place.open().close()  # the race of this test is about tables, not about the creation of the lake
    numbers = range(first, first + PROCESSES)
    folders = {number: new_project(tmp_path / f"project_{number}", place) for number in numbers}
    running = start_builds(folders)
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


def create_when_it_starts(
    place: CatalogPlace, nodes: Iterable[str], folders: Iterable[Path], running: Collection[subprocess.Popen[str]]
) -> set[str]:
    """Let DuckDB create the table of each node as soon as a process builds the node; return the tables that it has created."""
    waiting, created = set(nodes), set()
    logs = [folder / "logs" / "dbt.log" for folder in folders]
    while waiting and any(process.poll() is None for process in running):
        text = "".join(log.read_text() for log in logs if log.exists())
        for node in [each for each in waiting if re.search(rf"START .*\bmain\.{each}\b", text)]:
            try:
                with connect(place) as theirs:  # only for a statement, because a DuckDB file can be open in one process at a time
                    theirs.execute(f"CREATE TABLE lake.{node} AS SELECT 'duckdb' AS theirs, DATE '2026-01-01' AS value FROM range(100)")
                created.add(node)
            except duckdb.IOException:  # a process has the catalog locked
                continue
            except duckdb.Error:  # a process was first
                pass
            waiting.remove(node)
        time.sleep(0.02)
    return created


@pytest.mark.parametrize("first", range(1, ROUNDS * PROCESSES, PROCESSES))
def test_builds_of_different_definitions_never_mix_them(first: int, place: CatalogPlace, tmp_path: Path) -> None:
    place.open().close()
    numbers = range(first, first + PROCESSES)
    folders = {number: new_project(tmp_path / f"project_{number}", place, DIFFERENT_MODELS, DIFFERENT_SNAPSHOT) for number in numbers}
    running = start_builds(folders)
    contested = ("appended", "history") if first % (2 * PROCESSES) == 1 else ("merged", "rebuilt")
    created = create_when_it_starts(place, contested, folders.values(), running.values())
    outputs = {number: process.communicate(timeout=600)[0] for number, process in running.items()}
    results = {number: outcomes(folder) for number, folder in folders.items()}
    built = {
        node: {number for number, result in results.items() if result.get(node, ("missing", ""))[0] == "success"}
        for node in ("appended", "merged", "rebuilt", "history")
    }
    print(f"DuckDB created {sorted(created)}; the processes built {built}")
    for result in results.values():
        for status, message in result.values():
            assert status == "success" or any(reason in message for reason in REFUSED) or OTHER_DEFINITION.search(message), message

    def columns(number: int) -> dict[str, str]:
        return {"id": "BIGINT", "value": [*TYPES.values()][number % 4], f"only_{number}": "INTEGER"} if number else THEIRS

    with connect(place) as duckdb_connection:

        def read(query: str) -> list[Any]:
            return duckdb_connection.execute(query).fetchall()

        found = {node: {name: kind for name, kind, *_ in read(f"DESCRIBE lake.{node}")} for node in built}
        for node in ("appended", "merged", "rebuilt"):
            writer = next((number for number in {0, *built[node]} if columns(number) == found[node]), None)
            assert writer is not None, (node, found[node], outputs)
            assert writer or node in created
            (row,) = read(f"SELECT count(*), count(DISTINCT value), min(value) FROM lake.{node}")
            assert row[:2] == (100, 1), "all rows are of one writer"
            assert writer == 0 or float(row[2]) == writer, "and the definition is of the same one"
            if node != "rebuilt":
                assert built[node] | ({0} if node in created else set()) == {writer}, "what comes second changes nothing"
        if "history" in created:
            assert (found["history"], built["history"]) == (THEIRS, set())
            assert read("SELECT count(*), count(DISTINCT value) FROM lake.history") == [(100, 1)]
        else:
            own = {name: kind for name, kind in found["history"].items() if not name.startswith("dbt_")}
            assert own.keys() == {"id", "value", *(f"only_{number}" for number in built["history"])}, (
                "a snapshot that failed added no column"
            )
            for number in built["history"]:
                assert read(
                    f"SELECT count(*), count(DISTINCT id) FROM lake.history WHERE only_{number} = {number} AND value = {number}"
                ) == [(100, 100)]
            assert read("SELECT count(*) FROM lake.history") == [(100 * len(built["history"]),)]
