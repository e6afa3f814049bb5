"""Statements whose time is overhead or files: compared with bare Spark, with DuckDB, and over Spark Connect with classic Spark.

python benchmarks/bench_statements.py --rounds 5
python benchmarks/bench_statements.py --only connect
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
from timing import in_turn, report, require_equal

from dbt.adapters.ducklake.session import LakeSession, connect

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.clusters import connect_server

SMALL = "SELECT id, id % 10 AS name, current_date() AS day FROM range(100)"
MERGE = (
    "MERGE INTO {table} t USING (SELECT id * {step} + {number} % {step} AS id, {number} AS n FROM range({rows})) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n)"
)
SPARK = {"spark.ui.enabled": "false", "spark.driver.memory": "3g"}


@contextmanager
def lake_in(folder: Path, remote: str | None = None) -> Iterator[LakeSession]:
    """Open a new lake with Spark in this process, or with a Spark Connect server."""
    folder.mkdir()
    settings: dict[str, Any] = {"spark_config": SPARK}
    if remote is not None:
        from pyspark.sql import SparkSession

        settings = {"spark": SparkSession.builder.remote(remote).getOrCreate()}
    with connect(f"sqlite:///{folder}/lake.sqlite", f"{folder}/data/", **settings) as lake:
        yield lake


def compare_with_spark(folder: Path, rounds: int, files: int) -> None:
    """Compare with Spark's own reader and writer in the same session."""
    with lake_in(folder / "lake") as lake:
        spark = lake.spark()
        rows = f"SELECT id, id % {files} AS p, rand(7) AS v FROM range({20 * files})"
        clustered = f"SELECT * FROM ({rows}) DISTRIBUTE BY p"
        ways: dict[str, Callable[[int], object]] = {
            "write.partitionBy": lambda _: spark.sql(clustered).write.partitionBy("p").mode("overwrite").parquet(f"{folder}/partitions"),
            "dbt-ducklake": lambda _: lake.execute(f"CREATE OR REPLACE TABLE parts PARTITIONED BY (p) AS {clustered}"),
        }
        report(f"CTAS of {20 * files:,} rows into {files:,} partitions", in_turn(ways, max(rounds // 3, 1)), "write.partitionBy")
        summary = "SELECT count(*), sum(id), sum(p), round(sum(v), 3) FROM {}"
        theirs = spark.sql(summary.format(f"parquet.`{folder}/partitions`")).collect()
        require_equal("the partitions", {"Spark": theirs, "dbt-ducklake": lake.execute(summary.format("parts")).fetch()})
        queries: dict[str, Callable[[int], Iterable[Any]]] = {
            "read.parquet": lambda n: spark.read.parquet(f"{folder}/partitions").where(f"p = {n}").agg({"v": "sum"}).collect(),
            "dbt-ducklake": lambda n: lake.execute(f"SELECT sum(v) FROM parts WHERE p = {n}").fetch(),
        }
        report(f"select on one of {files:,} files", in_turn(queries, rounds), "read.parquet")
        require_equal("one file", {name: [[round(value, 9) for value in row] for row in query(3)] for name, query in queries.items()})
        ways = {
            "write.parquet": lambda _: spark.sql(SMALL).write.mode("overwrite").parquet(f"{folder}/small"),
            "dbt-ducklake": lambda _: lake.execute(f"CREATE OR REPLACE TABLE small AS {SMALL}"),
        }
        report("CTAS of 100 rows", in_turn(ways, 3 * rounds), "write.parquet")
        queries = {
            "read.parquet": lambda n: spark.read.parquet(f"{folder}/small").where(f"id > {n}").collect(),
            "dbt-ducklake": lambda n: lake.execute(f"SELECT * FROM small WHERE id > {n}").fetch(),
        }
        report("select from 100 rows", in_turn(queries, 3 * rounds), "read.parquet")
        require_equal("100 rows", {name: query(50) for name, query in queries.items()})
        totals = "SELECT name, count(*) AS n, max(day) AS day FROM {source} GROUP BY name"
        spark.read.parquet(f"{folder}/small").createOrReplaceTempView("files")
        ways = {
            "write.parquet": lambda _: spark.sql(totals.format(source="files")).write.mode("overwrite").parquet(f"{folder}/totals"),
            "dbt-ducklake": lambda _: lake.execute(f"CREATE OR REPLACE TABLE totals AS {totals.format(source='small')}"),
        }
        report("CTAS of an aggregate of 100 rows", in_turn(ways, 3 * rounds), "write.parquet")
        theirs = spark.read.parquet(f"{folder}/totals").collect()
        require_equal("the aggregate", {"Spark": theirs, "dbt-ducklake": lake.execute("SELECT * FROM totals").fetch()})


def compare_with_duckdb(folder: Path, rounds: int) -> None:
    """Compare constant rows, which need no Spark."""
    with lake_in(folder / "inlined") as lake, duckdb.connect() as duck:
        lake.execute("CREATE TABLE t (id BIGINT, name STRING)")
        duck.execute("INSTALL ducklake; LOAD ducklake; INSTALL sqlite; LOAD sqlite")
        duck.execute(f"ATTACH 'ducklake:sqlite:{folder}/theirs.sqlite' AS theirs (DATA_PATH '{folder}/theirs/')")
        duck.execute("CREATE TABLE theirs.t (id BIGINT, name VARCHAR)")
        ways: dict[str, Callable[[int], object]] = {
            "DuckDB": lambda n: duck.execute(f"INSERT INTO theirs.t VALUES ({n}, 'name')"),
            "dbt-ducklake": lambda n: lake.execute(f"INSERT INTO t VALUES ({n}, 'name')"),
        }
        report("INSERT of one constant row", in_turn(ways, 5 * rounds), "DuckDB")
        theirs = duck.execute("FROM theirs.t").fetchall()
        require_equal("the inserted rows", {"DuckDB": theirs, "dbt-ducklake": lake.execute("SELECT * FROM t").fetch()})


def changes(folder: Path, rounds: int, rows: int, remote: str | None) -> tuple[dict[str, list[float]], list[list[Any]]]:
    """Run some statements with classic Spark or a Spark Connect server. Return their seconds, and a summary of the tables afterwards."""
    with lake_in(folder / "lake", remote) as lake:
        for part in range(4):
            query = f"SELECT id, 0 AS n FROM range({rows * part // 4}, {rows * (part + 1) // 4}, 1, 1)"
            lake.execute(f"CREATE TABLE large AS {query}" if part == 0 else f"INSERT INTO large {query}")
        lake.execute("CREATE TABLE small AS SELECT id, 0 AS n FROM range(1000)")
        times = in_turn(
            {
                "MERGE of 10 rows into 1,000": lambda n: lake.execute(MERGE.format(table="small", step=100, rows=10, number=n)),
                f"MERGE of 10,000 rows into {rows:,}": lambda n: lake.execute(
                    MERGE.format(table="large", step=rows // 10_000, rows=10_000, number=n)
                ),
                f"UPDATE of 1 % of {rows:,}": lambda n: lake.execute(f"UPDATE large SET n = n + 1 WHERE pmod(id + {n}, 100) = 0"),
                "CTAS of 100 rows": lambda _: lake.execute(f"CREATE OR REPLACE TABLE copied AS {SMALL}"),
                "select from 1,000 rows": lambda n: lake.execute(f"SELECT * FROM small WHERE id > {n}").fetch(),
            },
            rounds,
        )
        tables = " UNION ALL ".join(f"SELECT '{name}', count(*), sum(id), sum(n), sum(id * n) FROM {name}" for name in ("small", "large"))
        return times, [list(row) for row in lake.execute(tables).fetch()]


def compare_connect(rounds: int, rows: int) -> None:
    """Compare a Spark Connect server of this machine with Spark in this process, each in its own process, because both use all cores."""

    def measured(remote: str) -> tuple[dict[str, list[float]], list[list[Any]]]:
        command = [sys.executable, __file__, "--rounds", str(rounds), "--rows", str(rows), "--changes", remote]
        times, tables = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.splitlines()[-1])
        return times, tables

    classic, expected = measured("")
    with connect_server("local[*]", None, {"spark.driver.memory": "3g"}, {"SPARK_DAEMON_MEMORY": "3g"}) as server:
        over_connect, found = measured(server.address)
    for work, seconds in classic.items():
        report(work, {"classic": seconds, "Spark Connect": over_connect[work]}, "classic")
    require_equal("the changed tables", {"classic": expected, "Spark Connect": found})


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the large table of `connect`")
    parser.add_argument("--only", choices=("spark", "duckdb", "connect"))
    parser.add_argument("--changes", help=argparse.SUPPRESS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-statements-") as name:
        folder = Path(name)
        if options.changes is not None:
            print(json.dumps(changes(folder, options.rounds, options.rows, options.changes or None)))
            return
        if options.only in (None, "duckdb"):
            compare_with_duckdb(folder, options.rounds)
        if options.only in (None, "connect"):
            compare_connect(options.rounds, options.rows)
        if options.only in (None, "spark"):
            compare_with_spark(folder, options.rounds, options.files)


if __name__ == "__main__":
    main()
