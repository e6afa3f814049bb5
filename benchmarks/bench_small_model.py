"""A project of small models, where almost all time is overhead: dbt-ducklake compared with dbt-spark (session) and bare Spark.

Both adapters build the same project (a seed, a view, tables, an incremental model with append), each in a separate process,
once cold and then warm. Bare Spark runs the tables' queries with `write.parquet`. dbt-ducklake also builds it with a kept Spark, each
build in a new process. The tables must be equal.

    python benchmarks/bench_small_model.py --models 8 --rounds 2
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench_projects import dbt
from timing import report, require_equal

SEED = "id,name,amount\n" + "".join(f"{i},name {i % 7},{i * 3 % 101}.50\n" for i in range(200))
MODEL = (
    "select s.name, count(*) as number, sum(s.amount) as amount, max(v.id) as last_id "
    "from {relation} as s join {view} as v on v.id = s.id where s.id % {k} <> 0 group by s.name"
)
SUMMARY = "select '{0}', count(*), sum(number), cast(sum(amount) as double), sum(last_id) from small.{0}"
ADAPTERS: dict[str, dict[str, Any]] = {
    "dbt-spark": {
        "type": "spark",
        "method": "session",
        "schema": "small",
        "host": "localhost",
        "threads": 1,
        "server_side_parameters": {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
        },
    },
    "dbt-ducklake": {
        "type": "ducklake",
        "path": "sqlite:///lake.sqlite",
        "data_path": "data/",
        "schema": "small",
        "threads": 1,
    },
}


KEPT = "dbt-ducklake, kept Spark"
ADAPTERS[KEPT] = {**ADAPTERS["dbt-ducklake"], "spark": {"keep_alive": "5m"}}


def write_project(folder: Path, adapter: str, models: int) -> None:
    """Write the project, with the profile of one adapter."""
    for name in ("models", "seeds"):
        (folder / name).mkdir(parents=True)
    (folder / "dbt_project.yml").write_text(
        "name: small\nversion: '1.0'\nprofile: small\nflags: {send_anonymous_usage_stats: false}\n"
        "models: {small: {+file_format: parquet}}\nseeds: {small: {+file_format: parquet}}\n"
        if adapter == "dbt-spark"
        else "name: small\nversion: '1.0'\nprofile: small\nflags: {send_anonymous_usage_stats: false}\n"
    )
    profile = {"small": {"target": "dev", "outputs": {"dev": ADAPTERS[adapter]}}}
    (folder / "profiles.yml").write_text(json.dumps(profile))  # JSON is YAML
    (folder / "seeds" / "numbers.csv").write_text(SEED)
    (folder / "models" / "v.sql").write_text("{{ config(materialized='view') }} select id, name from {{ ref('numbers') }}")
    for k in range(models):
        text = MODEL.format(relation="{{ ref('numbers') }}", view="{{ ref('v') }}", k=k + 2)
        (folder / "models" / f"t{k}.sql").write_text("{{ config(materialized='table') }} " + text)
    (folder / "models" / "growing.sql").write_text(
        "{{ config(materialized='incremental', incremental_strategy='append') }} select id, name, amount from {{ ref('numbers') }}"
    )


def build(adapter: str, folder: Path, rounds: int) -> dict[str, Any]:
    """Build the project in this process, once cold and `rounds` times warm.

    Returns:
        The seconds of the builds (`cold`, `warm`), those of the nodes by materialization (`nodes`), and a summary of the tables (`rows`).
    """
    from dbt.cli.main import dbtRunner

    os.chdir(folder)
    walls: list[float] = []
    nodes: dict[str, list[float]] = {"seed": [], "view": [], "table": [], "incremental": []}
    for number in range(rounds + 1):
        started = time.perf_counter()
        with open(os.devnull, "w") as sink, contextlib.redirect_stdout(sink):
            done = dbtRunner().invoke(["build", "--profiles-dir", ".", "--project-dir", ".", "--log-level", "none"])
        walls.append(time.perf_counter() - started)
        if not done.success:
            raise SystemExit(f"{adapter} failed: {done.exception or [r.message for r in done.result if r.message]}")
        for result in done.result if number else []:
            nodes[result.node.config.materialized].append(result.execution_time)
    tables = [name for name in os.listdir("models") if name.startswith("t")]
    summary = " union all ".join(SUMMARY.format(Path(name).stem) for name in tables)
    return {"cold": walls[:1], "warm": walls[1:], "nodes": nodes, "rows": query_tables(adapter, summary)}


def query_tables(adapter: str, query: str) -> list[list[Any]]:
    """Return the rows of a query, using the Spark that ran the builds."""
    if adapter == "dbt-spark":
        from pyspark.sql import SparkSession

        return [list(row) for row in SparkSession.active().sql(query).collect()]
    from dbt.adapters.ducklake.session import connect

    with connect("sqlite:///lake.sqlite") as lake:
        return [list(row) for row in lake.execute(query).fetch()]


def build_in_new_processes(folder: Path, rounds: int) -> dict[str, Any]:
    """Build the project with a kept Spark, each time in a new process.

    Returns:
        The seconds of the first build, which starts Spark (`cold`), and of the others (`warm`).
    """
    walls: list[float] = []
    try:
        for _ in range(rounds + 1):
            started = time.perf_counter()
            dbt(folder, "build")
            walls.append(time.perf_counter() - started)
    finally:
        dbt(folder, "run-operation", "ducklake_stop_spark")
    return {"cold": walls[:1], "warm": walls[1:]}


def bare_spark(folder: Path, models: int, rounds: int) -> list[float]:
    """Return the seconds that a warm Spark takes for each of the tables' queries with `write.parquet`."""
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", str(os.cpu_count() or 2))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    csv = folder / "numbers.csv"
    csv.write_text(SEED)
    spark.read.csv(str(csv), header=True, inferSchema=True).write.parquet(f"{folder}/numbers")
    spark.read.parquet(f"{folder}/numbers").createOrReplaceTempView("numbers")
    seconds: list[float] = []
    for number in range(rounds + 1):
        for k in range(models):
            started = time.perf_counter()
            query = MODEL.format(relation="numbers", view="numbers", k=k + 2)
            spark.sql(query).write.mode("overwrite").parquet(f"{folder}/t{k}")
            if number:
                seconds.append(time.perf_counter() - started)
    return seconds


def in_a_process(way: str, models: int, rounds: int) -> Any:
    """Run one way in a separate process and return its result, the last line of its output."""
    command = [sys.executable, __file__, "--models", str(models), "--rounds", str(rounds), "--way", way]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{way} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def run_way(way: str, models: int, rounds: int) -> Any:
    """Run one way in this process, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="bench-small-") as name:
        folder = Path(name)
        if way == "spark":
            return bare_spark(folder, models, rounds)
        write_project(folder / "project", way, models)
        if way == KEPT:
            return build_in_new_processes(folder / "project", rounds)
        found = build(way, folder / "project", rounds)
        os.chdir("/")
        return found


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        print(json.dumps(run_way(options.way, options.models, options.rounds)))
        return
    bare = in_a_process("spark", options.models, options.rounds)
    found = {way: in_a_process(way, options.models, options.rounds) for way in ADAPTERS}
    kept = found.pop(KEPT)
    require_equal("the tables", {way: result["rows"] for way, result in found.items()})
    report(
        f"One small table model, warm ({options.models} models, {options.rounds} rounds)",
        {"bare Spark, write.parquet": bare} | {way: result["nodes"]["table"] for way, result in found.items()},
        baseline="bare Spark, write.parquet",
    )
    for kind in ("seed", "view", "incremental"):
        report(f"One {kind}, warm", {way: result["nodes"][kind] for way, result in found.items()}, baseline="dbt-spark")
    report("dbt build of the whole project, warm", {way: result["warm"] for way, result in found.items()}, baseline="dbt-spark")
    report(
        "dbt build of the whole project, cold (with the start of Spark)",
        {way: result["cold"] for way, result in found.items()},
        baseline="dbt-spark",
    )
    report(
        "dbt build of the whole project in a new process",
        {"dbt-spark": found["dbt-spark"]["cold"], f"{KEPT}, first": kept["cold"], KEPT: kept["warm"]},
        baseline="dbt-spark",
    )
    print(f"\nmedian overhead of a table model of dbt-ducklake over bare Spark: {_overhead(bare, found['dbt-ducklake'])} ms")


def _overhead(bare: list[float], result: dict[str, Any]) -> int:
    return round(1000 * (statistics.median(result["nodes"]["table"]) - statistics.median(bare)))


if __name__ == "__main__":
    if importlib.util.find_spec("dbt.adapters.ducklake") is None:
        sys.exit("dbt-ducklake is not installed here; run `make venv` and use its Python")
    main()
