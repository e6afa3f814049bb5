"""Run dbt commands in separate processes, each with its own Spark, and interrupt them with Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.lake.data_path import MARK_FILE
from tests.waiting import await_true

PROJECT = {"name": "p", "version": "1.0", "profile": "p", "flags": {"send_anonymous_usage_stats": False}}
LAKE = {"type": "ducklake", "path": "ducklake:sqlite:lake.sqlite", "data_path": "data/", "schema": "main"}
SPARK = {"fast_start": True, "master": "local[2]"}
LONG = """
{{ config(materialized='table', pre_hook="create table {{ this.schema }}.beside as select 1 as id") }}
select id, java_method('java.lang.Thread', 'sleep', 50L) as waited from range(0, 2000, 1, 200)
"""
"""A model whose job takes 50 seconds or more on two cores, after another table was made in its transaction."""
END_SECONDS = float(os.environ.get("DUCKLAKE_TEST_END_SECONDS", "5"))
"""How long dbt may take to exit after Ctrl-C; a busy machine needs more."""


def write_project(folder: Path, models: Mapping[str, str], targets: Mapping[str, Any], **config: object) -> Path:
    """Write a dbt project.

    Args:
        folder: an empty folder.
        models: the text of each model by the name of its file.
        targets: the targets of the profile by name; the first one is the default.
        config: further entries of dbt_project.yml.

    Returns:
        The folder.
    """
    (folder / "models").mkdir()
    (folder / "dbt_project.yml").write_text(json.dumps({**PROJECT, **config}))
    for name, text in models.items():
        (folder / "models" / name).write_text(text)
    (folder / "profiles.yml").write_text(json.dumps({"p": {"target": next(iter(targets)), "outputs": targets}}))
    return folder


def start_dbt(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a dbt command in a session of its own, with its output and errors in one pipe."""
    command = [str(Path(sys.executable).with_name("dbt")), "--no-use-colors", *arguments, "--profiles-dir", "."]
    return subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=_obey_interrupts,
    )


def _obey_interrupts() -> None:
    """Accept Ctrl-C again: processes that a shell starts in the background ignore it, and their children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run_dbt(folder: Path, *arguments: str) -> str:
    """Run a dbt command that passes, and return its output."""
    process = start_dbt(folder, *arguments)
    output, _ = process.communicate(timeout=200)
    assert process.returncode == 0, output
    return output


@contextmanager
def unchanged(project: Path, tables: set[str]) -> Iterator[None]:
    """Require that the block commits nothing to the lake of a project, and leaves no unregistered file; `tables` are those of the lake."""
    with closing(LakeCatalog.open(CatalogSettings(f"ducklake:sqlite:{project}/lake.sqlite"))) as lake:
        newest = lake.latest().snapshot_id
        yield
        assert lake.latest().snapshot_id == newest
        reader = lake.reader()
        assert {name.name for name in reader.names()} == tables
        known = {file.path for name in tables for file in reader.scan_plan(reader.find("main", name)).files}  # type: ignore[arg-type]
    left = {str(path) for path in (project / "data").rglob("*") if path.is_file() and path.name != MARK_FILE}
    assert left == known, "no unregistered file is left"


def interrupt_while_writing(process: subprocess.Popen[str], project: Path, running: Callable[[], object]) -> None:
    """Press Ctrl-C as soon as Spark writes files, and require that dbt, and the Spark or jobs that it started, end soon.

    Args:
        process: a dbt command that builds `LONG`.
        project: its project.
        running: whether the Spark that dbt has started, or its jobs, still run.
    """
    try:
        await_true(lambda: any((project / "data").rglob("*/_temporary/*")) or process.poll() is not None, 120)
        assert process.poll() is None, process.communicate()[0]
        assert running()
        interrupted = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=90)
        took = time.monotonic() - interrupted
    finally:
        process.kill()
    assert took < END_SECONDS, f"{took:.1f} s: {output}"
    assert process.returncode != 0
    await_true(lambda: not running(), END_SECONDS - took)


def spark_ui() -> tuple[dict[str, str], Callable[[], list[str]]]:
    """Return the settings of a Spark whose UI has a free port, and a function that asks it for the names of its running jobs."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def get(path: str) -> list[dict[str, Any]]:
        with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            connection.request("GET", f"/api/v1/applications{path}")
            found: list[dict[str, Any]] = json.load(connection.getresponse())
            return found

    def running_jobs() -> list[str]:
        (application,) = get("")
        return [job["name"] for job in get(f"/{application['id']}/jobs?status=running")]

    return {"spark.ui.enabled": "true", "spark.ui.port": str(port)}, running_jobs
