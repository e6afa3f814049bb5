"""`publish: run` in a process that is killed: the lake is the old one, and the next run works."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.duckdb_instances import open_duckdb

PROJECT = "name: p\nversion: '1.0'\nprofile: p\nflags: {send_anonymous_usage_stats: false}\nvars: {publish: run}\n"
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
    (tmp_path / "models").mkdir()
    (tmp_path / "dbt_project.yml").write_text(PROJECT)
    for name, text in MODELS.items():
        (tmp_path / "models" / name).write_text(text)
    lake = {"type": "ducklake", "path": "ducklake:sqlite:lake.sqlite", "data_path": "data/", "schema": "main", "threads": 2}
    outputs = {"here": {**lake, "spark": {"fast_start": True, "master": "local[2]"}}}
    (tmp_path / "profiles.yml").write_text(json.dumps({"p": {"target": "here", "outputs": outputs}}))
    return tmp_path


def start(folder: Path, variables: str) -> subprocess.Popen[str]:
    command = [str(Path(sys.executable).with_name("dbt")), "--no-use-colors", "build", "--profiles-dir", ".", "--vars", variables]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)


def build(folder: Path, number: int) -> None:
    process = start(folder, f"number: {number}")
    output, _ = process.communicate(timeout=180)
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
def test_a_killed_run_leaves_the_old_lake(project: Path) -> None:
    build(project, 1)
    old = [[(1, 1000)], [(1, 1000)], [(1,)]]
    assert read(project) == old
    files = set(project.glob("data/**/*.parquet"))

    process = start(project, "{number: 2, wait: true}")
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "START sql table model main.last" in line:
                break
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # dbt and its Spark
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert set(project.glob("data/**/*.parquet")) > files, "the run had written files"
    assert read(project) == old

    build(project, 3)
    assert read(project) == [[(3, 1000)], [(1, 1000), (3, 1000)], [(1,), (3,)]]
