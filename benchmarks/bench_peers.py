"""Statements on one large table: dbt-ducklake compared with Iceberg and Delta Lake on the same version of Spark.

Each format has a process with a Spark of its own. The processes take turns, so that noise affects all equally, and at the end the rows
of all tables must be equal. Neither Iceberg nor Delta Lake has a release for the newest Spark, so `make bench-peers` makes an
environment with the newest one that both support. Spark fetches their jars from Maven Central.

    make bench-peers ARGS='--rows 10000000 --rounds 5'
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from timing import in_turn, report

ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
DELTA = "io.delta:delta-spark_4.1_2.13:4.3.0"
TABLES = ("orders", "near", "small", "copied")
PARTS = 8
"""The number of files of the large table."""
CORES = os.cpu_count() or 2
SPARK = {"spark.driver.memory": "3g", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": str(CORES)}
ROW = """
    SELECT id, id % 1000 AS customer, date_add(date'2025-01-01', cast(id % 365 AS int)) AS day,
           cast(id * {factor} % 100000 / 100.0 AS decimal(12, 2)) AS amount, sha1(cast(id AS string)) AS hash,
           concat('name ', id % 5000) AS name, {version} AS version
    FROM {ids}
"""
MERGE = """
    MERGE INTO {table} AS t USING source AS s ON t.id = s.id
    WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
"""
SUMMARY = "SELECT count(*), sum(id), sum(amount), sum(version), count(DISTINCT id) FROM {table}"


class Peer(ABC):
    """A table format in a Spark of its own."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.spark = self.start(folder, stack)

    @abstractmethod
    def start(self, folder: Path, stack: ExitStack) -> Any:
        """Start Spark and create an empty database.

        Args:
            folder: the folder for its files.
            stack: what is closed at the end.

        Returns:
            The Spark session.
        """

    def execute(self, statement: str) -> None:
        """Run a statement."""
        self.spark.sql(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return [tuple(row) for row in self.spark.sql(query).collect()]

    def source(self, query: str) -> None:
        """Give a query the name `source`."""
        self.spark.sql(query).createOrReplaceTempView("source")

    def create(self, table: str, query: str, how: str = "CREATE") -> None:
        """Create a table with the rows of a query, with the format's settings for frequent changes."""
        self.execute(f"{how} TABLE {table} {self.clauses} AS {query}")

    clauses = ""
    """What follows the name of a new table."""


class DuckLake(Peer):
    """dbt-ducklake, as its README sets it up."""

    def start(self, folder: Path, stack: ExitStack) -> Any:
        """Open a lake."""
        from dbt.adapters.ducklake.session import connect

        self.lake = stack.enter_context(connect(f"sqlite:///{folder}/lake.sqlite", f"{folder}/data/", spark_config=SPARK))
        return self.lake.spark()

    def execute(self, statement: str) -> None:
        """Run a statement on the lake."""
        self.lake.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query on the lake."""
        return self.lake.execute(query).fetch()

    def source(self, query: str) -> None:
        """Create a temporary view of the session."""
        self.lake.create_temp_view("source", self.spark.sql(query))


class Iceberg(Peer):
    """Iceberg of format version 3 with deletion vectors (merge on read)."""

    mode = "merge-on-read"

    @property
    def clauses(self) -> str:  # type: ignore[override]  # the same for all tables of a peer, but not for all peers
        """The format version and the mode of all changes."""
        modes = ", ".join(f"'write.{kind}.mode'='{self.mode}'" for kind in ("merge", "update", "delete"))
        return f"USING iceberg TBLPROPERTIES ('format-version'='3', {modes})"

    def start(self, folder: Path, stack: ExitStack) -> Any:
        """Use a catalog in a folder, the default one."""
        catalog = "spark.sql.catalog.peer"
        config = {
            "spark.jars.packages": ICEBERG,
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            catalog: "org.apache.iceberg.spark.SparkCatalog",
            f"{catalog}.type": "hadoop",
            f"{catalog}.warehouse": str(folder),
            "spark.sql.defaultCatalog": "peer",
        }
        spark = started(config, stack)
        spark.sql("CREATE NAMESPACE peer.bench")
        spark.sql("USE peer.bench")
        return spark


class IcebergCopies(Iceberg):
    """Iceberg that writes files with changed rows again (copy on write), its default."""

    mode = "copy-on-write"


class Delta(Peer):
    """Delta Lake with deletion vectors."""

    clauses = "USING delta TBLPROPERTIES ('delta.enableDeletionVectors'='true')"

    def start(self, folder: Path, stack: ExitStack) -> Any:
        """Use Spark's own catalog."""
        config = {
            "spark.jars.packages": DELTA,
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.warehouse.dir": str(folder),
            "spark.databricks.delta.snapshotPartitions": str(CORES),  # the default of 50 tasks takes seconds on a small machine
        }
        return started(config, stack)


PEERS: dict[str, type[Peer]] = {
    "dbt-ducklake": DuckLake,
    "Iceberg, merge on read": Iceberg,
    "Iceberg, copy on write": IcebergCopies,
    "Delta Lake": Delta,
}


def started(config: dict[str, str], stack: ExitStack) -> Any:
    """Start Spark, which is stopped at the end."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{CORES}]")
    for key, value in (SPARK | config).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    stack.callback(spark.stop)
    return spark


def new_rows(ids: str, number: int) -> str:
    """Return a query for the rows that a round writes, of ids from a subquery."""
    return ROW.format(factor=9 + number, version=number + 1, ids=ids)


def works(peer: Peer, rows: int, source: int) -> dict[str, Callable[[int], None]]:
    """Return what is measured: a name → a function of the number of the round.

    Args:
        peer: the format.
        rows: rows of the large table.
        source: rows of it that a merge updates; a tenth as many rows are new.
    """

    def merge(table: str, size: int, updated: int, scattered: bool) -> Callable[[int], None]:
        def work(number: int) -> None:
            step = max(size // updated, 1) if scattered else 1
            first = (number * 7919) % step if scattered else (number * 104_729) % max(size - updated, 1)
            old = f"SELECT {first} + id * {step} AS id FROM range({updated})"
            new = f"SELECT {size} + {number * (updated // 10)} + id AS id FROM range({updated // 10})"
            peer.source(new_rows(f"({old} UNION ALL {new})", number))
            peer.execute(MERGE.format(table=table))

        return work

    return {
        f"CTAS of {rows:,} rows": lambda number: peer.create("copied", new_rows(f"range({rows})", number), "CREATE OR REPLACE"),
        f"MERGE of {source * 11 // 10:,} rows, keys anywhere": merge("orders", rows, source, True),
        f"MERGE of {source * 11 // 10:,} rows, keys near each other": merge("near", rows, source, False),
        "MERGE of 11 rows into 1,000": merge("small", 1000, 10, True),
        "UPDATE of 1 %": lambda number: peer.execute(f"UPDATE orders SET amount = amount + 1 WHERE pmod(id + {number}, 100) = 0"),
        "DELETE of 0.1 %": lambda number: peer.execute(f"DELETE FROM near WHERE pmod(id + {number}, 1000) = 0"),
        "one row by its key, after these": lambda number: found(peer.rows(f"SELECT * FROM orders WHERE id = {rows // 2 + number}")),
        "aggregate of all rows, after these": lambda _: found(
            peer.rows("SELECT customer, count(*), sum(amount) FROM orders GROUP BY customer")
        ),
    }


def found(rows: list[tuple[Any, ...]]) -> None:
    """Require that a query returned rows."""
    if not rows:
        raise SystemExit("a query returned no rows")


def fill(peer: Peer, rows: int) -> None:
    """Create the tables: two large ones, each with a range of keys in each file, and a small one."""
    for table in ("orders", "near"):
        for part in range(PARTS):
            ids = f"range({rows * part // PARTS}, {rows * (part + 1) // PARTS}, 1, 1)"
            query = ROW.format(factor=7, version=0, ids=ids)
            if part == 0:
                peer.create(table, query)
            else:
                peer.execute(f"INSERT INTO {table} {query}")
    peer.create("small", ROW.format(factor=7, version=0, ids="range(1000)"))


def serve(name: str, folder: Path, rows: int, source: int) -> None:
    """Measure one format: read the name of a work and the number of a round from standard input, and print the seconds."""
    with ExitStack() as stack:
        peer = PEERS[name](folder, stack)
        fill(peer, rows)
        known = works(peer, rows, source)
        answer(list(known))
        for line in sys.stdin:
            work, number = json.loads(line)
            if work is None:
                answer([[str(value) for value in peer.rows(SUMMARY.format(table=table))[0]] for table in TABLES])
                continue
            begun = time.perf_counter()
            known[work](number)
            answer(time.perf_counter() - begun)


def answer(value: Any) -> None:
    """Print a line for the parent process."""
    print(f"ANSWER {json.dumps(value)}", flush=True)


class Worker:
    """The process of one format."""

    def __init__(self, name: str, folder: Path, options: argparse.Namespace, stack: ExitStack) -> None:
        self.name, self.log = name, stack.enter_context((folder / "log").open("w+"))
        command = [sys.executable, __file__, "--peer", name, "--folder", str(folder)]
        command += ["--rows", str(options.rows), "--source", str(options.source)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self.log}
        self.process = stack.enter_context(subprocess.Popen(command, text=True, cwd=folder, **pipes))  # type: ignore[call-overload]
        stack.callback(self.process.stdin.close)  # the process ends

    def answer(self) -> Any:
        """Return the next answer."""
        for line in self.process.stdout:
            if line.startswith("ANSWER "):
                return json.loads(line.removeprefix("ANSWER "))
        self.log.seek(0)
        raise SystemExit(f"{self.name} ended:\n{self.log.read()[-3000:]}")

    def ask(self, work: str | None, number: int) -> Any:
        """Let the process do its work, and return its answer."""
        self.process.stdin.write(json.dumps([work, number]) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def doing(self, work: str) -> Callable[[int], Any]:
        """Return a function that does a work in a round."""
        return lambda number: self.ask(work, number)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--source", type=int, default=10_000, help="rows that a merge updates; a tenth as many rows are new")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="run the works whose names contain this text")
    parser.add_argument("--json", type=Path, help="a file for the seconds, for chart.py")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        serve(options.peer, options.folder, options.rows, options.source)
        return
    results: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-peers-") as name, ExitStack() as stack:
        workers = []
        known: list[str] = []
        for number, peer in enumerate(PEERS):
            folder = Path(name, str(number))
            folder.mkdir()
            workers.append(Worker(peer, folder, options, stack))
            known = workers[-1].answer()
            print(f"{peer}: the tables are filled", flush=True)
        for work in [each for each in known if options.only in each]:
            results[work] = in_turn({worker.name: worker.doing(work) for worker in workers}, options.rounds)
            report(f"{work} (table of {options.rows:,})", results[work], baseline="dbt-ducklake")
        if not options.only:
            summaries = {worker.name: worker.ask(None, 0) for worker in workers}
            if len({json.dumps(summary) for summary in summaries.values()}) != 1:
                raise SystemExit(f"the tables differ: {summaries}")
    if options.json:
        options.json.write_text(json.dumps({"rows": options.rows, "seconds": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
