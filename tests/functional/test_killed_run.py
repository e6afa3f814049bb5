"""`publish: run` in a process that is killed: the lake is the old one, and the next run works."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.duckdb_instances import open_duckdb
from tests.functional.dbt_process import LAKE, SPARK, start_dbt, write_project

MODELS = {
    "first.sql": "{{ config(materialized='table') }} select {{ var('number') }} as number from range(1000)",
    "second.sql": "{{ config(materialized='incremental') }} select {{ var('number') }} as number, count(*) as n from {{ ref('first') }}",
    "last.sql": (
        "{{ config(materialized='table') }} select number, {{ \"java_method('java.lang.Thread', 'sleep', 600000L)\" if var('wait', false) "
        "else '0' }} as waited from {{ ref('second') }}"
    ),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path, MODELS, {"here": {**LAKE, "threads": 2, "spark": SPARK}}, vars={"ducklake_publish": "run"})


def build(folder: Path, number: int) -> None:
    process = start_dbt(folder, "build", "--vars", f"number: {number}")
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output


def read(folder: Path) -> list[list[tuple[object, ...]]]:
    with open_duckdb("ducklake", "sqlite_scanner") as duckdb:
        duckdb.execute(f"ATTACH 'ducklake:sqlite:{folder}/lake.sqlite' AS lake (DATA_PATH '{folder}/data/', OVERRIDE_DATA_PATH true)")
        queries = (
            "SELECT number, count(*) FROM lake.first GROUP BY 1",
            "SELECT number, n FROM lake.second",
            "SELECT number FROM lake.last",
        )
        return [sorted(duckdb.execute(query).fetchall()) for query in queries]


@pytest.mark.slow
@pytest.mark.nightly
def test_a_killed_run_leaves_the_old_lake(project: Path) -> None:
    build(project, 1)
    old = [[(1, 1000)], [(1, 1000)], [(1,)]]
    assert read(project) == old
    files = set(project.glob("data/**/*.parquet"))

    process = start_dbt(project, "build", "--vars", "{number: 2, wait: true}")
    output = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            output.append(line)
            if "START sql table model main.last" in line:
                break
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # dbt and its Spark
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, "".join(output)
    assert set(project.glob("data/**/*.parquet")) > files, "the killed run wrote no files"
    assert read(project) == old

    build(project, 3)
    assert read(project) == [[(3, 1000)], [(1, 1000), (3, 1000)], [(1,), (3,)]]
