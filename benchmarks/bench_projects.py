"""One dbt project built by four adapters: dbt-ducklake, dbt-spark on Iceberg and on Delta Lake, and dbt-duckdb.

The project has two large tables, a join, an aggregate, an ephemeral model (dbt-spark cannot replace views on Iceberg), an incremental
model with a merge, a snapshot, tests, and chains of small tables. Each adapter builds it in a new process: the first time, and again
after a hundredth of the orders changed. The adapters take turns, and at the end their models must have the same rows. dbt-duckdb writes
to a file of DuckDB, without Spark.

    make bench-peers BENCH=projects ARGS='--rows 1000000 --rounds 3'
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench_peers import DELTA, ICEBERG, SPARK
from timing import report

ADAPTERS = ("dbt-ducklake", "dbt-spark, Iceberg", "dbt-spark, Delta Lake", "dbt-duckdb")
FORMATS = {"dbt-spark, Parquet": "parquet", "dbt-spark, Iceberg": "iceberg", "dbt-spark, Delta Lake": "delta"}
HERE = "spark.sql.catalog.spark_catalog"
SETTINGS: dict[str, dict[str, str]] = {
    "parquet": {},
    "iceberg": {
        "spark.jars.packages": ICEBERG,
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        HERE: "org.apache.iceberg.spark.SparkSessionCatalog",
        f"{HERE}.type": "hadoop",
        f"{HERE}.warehouse": "spark-warehouse",
    },
    "delta": {
        "spark.jars.packages": DELTA,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        HERE: "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": SPARK["spark.sql.shuffle.partitions"],
    },
}
"""Table format → Spark's settings for it."""
CUSTOMERS = (
    "{{ config(materialized='table') }} select id as customer_id, concat('name ', cast(id % 5000 as varchar(20))) as name, "
    "id % 50 as region from range(%d) r(id)"
)
MODELS = {
    "orders": "{{ config(materialized='table') }} select id as order_id, id * 7919 %% %d as customer_id, id %% 365 as day, "
    "cast(id * 7 %% 100000 as decimal(12, 2)) + case when id %% 100 = {{ var('day') }} then 1 else 0 end as amount, "
    "case when id %% 100 = {{ var('day') }} then {{ var('day') }} else 0 end as version from range(%d) r(id)",
    "customers": "",
    "order_facts": "{{ config(materialized='table') }} select o.order_id, o.day, o.amount, c.name, c.region "
    "from {{ ref('orders') }} o join {{ ref('customers') }} c on c.customer_id = o.customer_id",
    "by_region": "{{ config(materialized='table') }} select region, day, count(*) as orders, sum(amount) as amount "
    "from {{ ref('order_facts') }} group by region, day",
    "best_regions": "{{ config(materialized='ephemeral') }} "
    "select region, sum(amount) as amount from {{ ref('by_region') }} group by region",
    "latest_orders": "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='order_id') }} "
    "select order_id, customer_id, amount, version from {{ ref('orders') }} "
    "{% if is_incremental() %} where version = {{ var('day') }} {% endif %}",
}
SNAPSHOT = (
    "{% snapshot regions %}{{ config(unique_key='region', strategy='check', check_cols=['amount'], target_schema='bench'{}) }} "
    "select region, cast(amount as decimal(20, 2)) as amount from {{ ref('best_regions') }}{% endsnapshot %}"
)
TESTS = """
models:
  - name: latest_orders
    columns: [{name: order_id, data_tests: [unique, not_null]}]
  - name: by_region
    columns: [{name: region, data_tests: [not_null]}]
"""
SMALL = "{{{{ config(materialized='table') }}}} select region, amount + {number} as amount from {{{{ ref('{parent}') }}}}"
COMPARED = {
    "order_facts": "count(*), sum(amount), sum(region)",
    "latest_orders": "count(*), sum(amount), sum(version)",
    "by_region": "count(*), sum(amount), sum(orders)",
    "regions": "count(*), sum(amount), count(dbt_valid_to)",
}

BUILT_AGAIN = {"latest_orders", "regions"}
"""The models whose rows depend on earlier builds."""


def profile(adapter: str) -> dict[str, Any]:
    """Return the target of an adapter."""
    if adapter == "dbt-ducklake":
        return {"type": "ducklake", "path": "sqlite:///lake.sqlite", "data_path": "data/", "schema": "bench", "threads": 4}
    if adapter == "dbt-duckdb":
        return {"type": "duckdb", "path": "bench.duckdb", "schema": "bench", "threads": 4}
    # Views and the list of Delta's tables must outlive the process, so Spark needs a metastore.
    settings = SPARK | SETTINGS[FORMATS[adapter]] | {"spark.sql.catalogImplementation": "hive"}
    target = {"type": "spark", "method": "session", "schema": "bench", "host": "localhost", "threads": 4}
    return target | {"server_side_parameters": settings}


def write_project(folder: Path, adapter: str, models: Mapping[str, str], **more: Any) -> None:
    """Write a project with the profile of an adapter.

    Args:
        folder: the folder of the project, which does not exist.
        adapter: one of `ADAPTERS`.
        models: name → SQL.
        more: fields of `dbt_project.yml`.
    """
    (folder / "models").mkdir(parents=True)
    project = {"name": "bench", "version": "1.0", "profile": "bench", "flags": {"send_anonymous_usage_stats": False}, **more}
    if adapter in FORMATS:
        project["models"] = {"bench": {"+file_format": FORMATS[adapter]}}
    (folder / "dbt_project.yml").write_text(json.dumps(project))  # JSON is YAML
    (folder / "profiles.yml").write_text(json.dumps({"bench": {"target": "dev", "outputs": {"dev": profile(adapter)}}}))
    for name, text in models.items():
        (folder / "models" / f"{name}.sql").write_text(text)


def write_shop(folder: Path, adapter: str, rows: int, small: int) -> None:
    """Write the project of orders with the profile of an adapter."""
    customers = rows // 100
    texts = MODELS | {"orders": MODELS["orders"] % (customers, rows), "customers": CUSTOMERS.replace("%d", str(customers))}
    for number in range(small):
        parent = f"small_{number - 1}" if number % 5 else "by_region"
        texts[f"small_{number}"] = SMALL.format(number=number, parent=parent)
    write_project(folder, adapter, texts)
    (folder / "models" / "tests.yml").write_text(TESTS)
    (folder / "snapshots").mkdir()
    form = f", file_format='{FORMATS[adapter]}'" if adapter in FORMATS else ""
    (folder / "snapshots" / "regions.sql").write_text(SNAPSHOT.replace("{}", form))


def dbt(folder: Path, *arguments: str) -> str:
    """Run dbt in a new process, and return its output."""
    command = [str(Path(sys.executable).with_name("dbt")), *arguments, "--profiles-dir", ".", "--project-dir", "."]
    environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": "--driver-memory 3g pyspark-shell"} if "spark" in folder.name else None
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{folder.name} failed:\n{done.stdout[-3000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def summary(folder: Path, compared: Mapping[str, str]) -> dict[str, list[str]]:
    """Return numbers of each compared model.

    Args:
        folder: the folder of the project.
        compared: model → aggregates, separated by a comma and a space.
    """
    found = {}
    for model, columns in compared.items():
        names = ", ".join(f"{each} as c{i}" for i, each in enumerate(columns.split(", ")))
        query = f"select {names} from {{{{ ref('{model}') }}}}"
        output = dbt(folder, "show", "--inline", query, "--output", "json", "--quiet", "--vars", "day: 1")
        row = json.loads(output[output.index("{") :])["show"][0]
        found[model] = [f"{float(row[f'c{i}']):.2f}" for i in range(len(row))]
    return found


def measured(folders: Mapping[str, Path], rounds: int, day: Callable[[int], int]) -> dict[str, list[float]]:
    """Build the project with each adapter in turn, and return the seconds.

    Args:
        folders: adapter → its project.
        rounds: how often.
        day: the number of a round → the day of its orders.
    """
    times: dict[str, list[float]] = {name: [] for name in folders}
    for number in range(rounds):
        for name, folder in folders.items():
            if number == 0 and day(0) == 0:
                dbt(folder, "parse", "--vars", "day: 0")  # fetches the jars
            begun = time.perf_counter()
            dbt(folder, "build", "--vars", f"day: {day(number)}")
            times[name].append(time.perf_counter() - begun)
    return times


@contextmanager
def projects(adapters: Sequence[str]) -> Iterator[dict[str, Path]]:
    """Return the folder of a project for each adapter. The folders do not exist, and are removed at the end."""
    base = Path(tempfile.mkdtemp(prefix="bench-projects-"))
    try:
        yield {name: base / name.replace(", ", "-").replace(" ", "-") for name in adapters}
    finally:
        shutil.rmtree(base, ignore_errors=True)


def compare(folders: Mapping[str, Path], compared: Mapping[str, str]) -> None:
    """Compare the models of the adapters.

    With dbt-spark on Iceberg in Spark 4.1, each build leaves in incremental models and snapshots what a first build would. These rows
    differ, and are printed.

    Raises:
        SystemExit: they differ.
    """
    found = {name: summary(folder, compared) for name, folder in folders.items()}
    expected = next(iter(found.values()))
    for name, models in found.items():
        differing = {model: rows for model, rows in models.items() if rows != expected[model]}
        if not differing.keys() <= (BUILT_AGAIN if "Iceberg" in name else set()):
            raise SystemExit(f"the models differ: {json.dumps(found, indent=1)}")
        print(f"{name}: the rows are equal" + (f", except those of models that were built as new ones: {differing}" if differing else ""))


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--small", type=int, default=20, help="small tables, in chains of five")
    parser.add_argument("--rounds", type=int, default=3, help="builds after the first one")
    options = parser.parse_args()
    with projects(ADAPTERS) as folders:
        for name, folder in folders.items():
            write_shop(folder, name, options.rows, options.small)
        first = measured(folders, 1, lambda _: 0)
        report(f"first dbt build, {options.rows:,} orders and {options.small} small tables", first, baseline=ADAPTERS[0])
        again = measured(folders, options.rounds, lambda number: number + 1)
        report("dbt build after 1 % of the orders changed", again, baseline=ADAPTERS[0])
        compare(folders, COMPARED)


if __name__ == "__main__":
    main()
