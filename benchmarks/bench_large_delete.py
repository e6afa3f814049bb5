"""DELETE of 20 of 25 million rows in one statement, with little memory for Spark's driver; then Spark and DuckDB read the other rows.

python benchmarks/bench_large_delete.py --rows 25000000 --kept 5 --memory 1g
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time

import duckdb
from timing import require_equal

from dbt.adapters.ducklake.session import connect


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=25_000_000)
    parser.add_argument("--kept", type=int, default=5, help="one of how many rows is not deleted")
    parser.add_argument("--memory", default="1g", help="spark.driver.memory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-large-delete-") as folder:
        path = f"{folder}/lake.sqlite"
        query = "SELECT count(*), sum(id), min(id), max(id) FROM {}"
        with connect(f"sqlite:///{path}", f"{folder}/data/", spark_config={"spark.driver.memory": options.memory}) as lake:
            lake.execute(f"CREATE TABLE t AS SELECT id, id * 2 AS n FROM range({options.rows})")
            times = {}
            for name, statement in {"DELETE": f"DELETE FROM t WHERE id % {options.kept} > 0", "query": query.format("t")}.items():
                started = time.perf_counter()
                found = lake.execute(statement)
                rows = found.fetch() if name == "query" else []
                times[name] = time.perf_counter() - started
        with duckdb.connect() as connection:
            connection.execute("INSTALL ducklake; LOAD ducklake; INSTALL sqlite; LOAD sqlite")
            connection.execute(f"ATTACH 'ducklake:sqlite:{path}' AS lake")
            theirs = connection.execute(query.format("lake.main.t")).fetchall()
    kept = range(0, options.rows, options.kept)
    require_equal("the rows that are left", {"expected": [(len(kept), sum(kept), 0, kept[-1])], "dbt-ducklake": rows, "DuckDB": theirs})
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{options.rows - len(kept):,} rows deleted in {times['DELETE']:.1f} s, the others read in {times['query']:.1f} s")
    print(f"dbt's process had at most {megabytes} MB, Spark's driver {options.memory}")


if __name__ == "__main__":
    main()
