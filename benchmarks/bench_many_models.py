"""A project of many tiny tables in chains: the seconds of dbt's commands, each in a new process, with dbt-ducklake and with dbt-duckdb.

python benchmarks/bench_many_models.py --models 200 --rounds 1
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
from timing import report, require_equal

COMMANDS = ("parse", "ls", "compile", "run", "docs generate")
CHAIN = 10
FIRST = "{{{{ config(materialized='table') }}}} select cast({k} as bigint) as id, 'name {k}' as name, {k} * 2 as amount"
NEXT = "{{{{ config(materialized='table') }}}} select id, name, amount + 1 as amount from {{{{ ref('m{before}') }}}}"
PROFILES = {
    "dbt-duckdb": {"type": "duckdb", "path": "lake.duckdb", "schema": "main", "threads": 1},
    "dbt-ducklake": {"type": "ducklake", "path": "sqlite:///lake.sqlite", "data_path": "data/", "schema": "main", "threads": 4},
}


def write_project(folder: Path, adapter: str, models: int) -> None:
    """Write the project, with the profile of one adapter. dbt-duckdb has one thread, with which it is fastest."""
    (folder / "models").mkdir(parents=True)
    (folder / "dbt_project.yml").write_text(
        "name: many\nversion: '1.0'\nprofile: many\nflags: {send_anonymous_usage_stats: false, partial_parse: false}\n"
    )
    (folder / "profiles.yml").write_text(json.dumps({"many": {"target": "dev", "outputs": {"dev": PROFILES[adapter]}}}))
    for k in range(models):
        text = FIRST.format(k=k) if k % CHAIN == 0 else NEXT.format(before=k - 1)
        (folder / "models" / f"m{k}.sql").write_text(text)


def seconds_of(folder: Path, command: str) -> float:
    """Run one of dbt's commands in a new process."""
    dbt = [sys.executable, "-c", "import sys; from dbt.cli.main import cli; sys.argv[0] = 'dbt'; cli()"]
    started = time.perf_counter()
    done = subprocess.run([*dbt, *command.split(), "--profiles-dir", "."], cwd=folder, capture_output=True, text=True)
    taken = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"{command} failed:\n{done.stdout[-3000:]}\n{done.stderr[-2000:]}")
    return taken


def rows_of(folder: Path, models: int) -> list[tuple[int, int, str, int]]:
    """Return the number of each table, and its row."""
    tables = " UNION ALL ".join(f"SELECT {k}, id, name, amount FROM main.m{k}" for k in range(models))
    if (folder / "lake.duckdb").exists():
        with duckdb.connect(str(folder / "lake.duckdb"), read_only=True) as connection:
            return connection.execute(tables).fetchall()
    with duckdb.connect() as connection:
        connection.execute("INSTALL ducklake; LOAD ducklake; INSTALL sqlite; LOAD sqlite")
        connection.execute(f"ATTACH 'ducklake:sqlite:{folder}/lake.sqlite' AS lake")
        return connection.execute(tables.replace("main.", "lake.main.")).fetchall()


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-many-models-") as name:
        times: dict[str, dict[str, list[float]]] = {command: {adapter: [] for adapter in PROFILES} for command in COMMANDS}
        for number in range(options.rounds):
            for adapter in PROFILES:
                folder = Path(name, f"{adapter}-{number}")
                write_project(folder, adapter, options.models)
                for command in COMMANDS:
                    times[command][adapter].append(seconds_of(folder, command))
            require_equal("the tables", {adapter: rows_of(Path(name, f"{adapter}-{number}"), options.models) for adapter in PROFILES})
        for command in COMMANDS:
            report(f"dbt {command} of {options.models} tables", times[command], "dbt-duckdb")


if __name__ == "__main__":
    main()
