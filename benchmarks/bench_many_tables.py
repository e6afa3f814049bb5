"""One query over many tables with delete files, as dbt_utils.union_relations writes it, compared with the same rows as plain Parquet.

Each table needs a join with its deleted positions and two with facts about its files. With little memory these joins compete for it.

    python benchmarks/bench_many_tables.py --tables 40 --memory 1g --rounds 3
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from timing import in_turn, report, require_equal

from dbt.adapters.ducklake.session import connect


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--memory", default="1g", help="spark.driver.memory")
    parser.add_argument("--page-size", default=None, help="spark.buffer.pageSize; the adapter chooses the default")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-many-tables-"))
    config = {"spark.driver.memory": options.memory}
    if options.page_size:
        config["spark.buffer.pageSize"] = options.page_size
    try:
        with connect(f"sqlite:///{folder}/lake.sqlite", f"{folder}/data/", spark_config=config) as lake:
            lake.execute("CALL set_option('data_inlining_row_limit', 0)")
            for number in range(options.tables):
                lake.execute(f"CREATE TABLE t{number} AS SELECT id, CAST(id AS string) AS name FROM range(1000)")
                lake.execute(f"DELETE FROM t{number} WHERE id % 100 = {number}")
                lake.sql(f"SELECT * FROM t{number}").write.parquet(f"{folder}/raw/t{number}")
            spark = lake.spark()

            def union(name: str) -> str:
                parts = " UNION ALL ".join(f"SELECT {n} AS n, id, name FROM {name.format(n)}" for n in range(options.tables))
                return f"SELECT count(*), count(DISTINCT name) FROM ({parts})"

            ways: dict[str, Callable[[int], Iterable[Any]]] = {
                "Spark, plain Parquet": lambda _: spark.sql(union(f"parquet.`{folder}/raw/t{{}}`")).collect(),
                "dbt-ducklake": lambda _: lake.execute(union("t{}")).fetch(),
            }
            times = in_turn(ways, options.rounds)
            require_equal("the query", {name: way(0) for name, way in ways.items()})
        report(f"{options.tables} tables with delete files in one query", times, "Spark, plain Parquet")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
