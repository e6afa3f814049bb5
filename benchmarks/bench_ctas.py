"""CREATE TABLE AS: the lake compared with a plain Parquet write and with the statement that dbt-spark sends, on one Spark.

python benchmarks/bench_ctas.py --rows 1000000 --rounds 3
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from timing import in_turn, report, require_equal

from dbt.adapters.ducklake.session import connect

QUERY = """
    SELECT id, id % 1000 AS customer, cast(id % 97 AS int) AS store,
           date_add(date'2025-01-01', cast(id % 365 AS int)) AS day,
           timestamp_micros(1700000000000000 + id * 1000000) AS at,
           cast(id * 7 % 100000 / 100.0 AS decimal(12, 2)) AS amount,
           sha1(cast(id AS string)) AS hash, concat('name ', id % 5000) AS name
    FROM range({rows})
"""
NESTED = """
    SELECT id, array(id, id + 1, id + 2) AS numbers, map('a', id, 'b', id % 7) AS facts,
           named_struct('x', id, 'y', sha1(cast(id AS string))) AS point
    FROM range({rows})
"""
SUMMARY = "SELECT count(*), sum(cast(xxhash64(to_json(struct(*))) AS decimal(38, 0))) FROM {table}"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-ctas-"))
    config = {"spark.sql.warehouse.dir": str(folder / "warehouse")}
    try:
        with connect(f"sqlite:///{folder}/lake.sqlite", f"{folder}/data/", spark_config=config) as lake:
            spark = lake.spark()
            for title, text in {"8 flat columns": QUERY, "list, map and struct": NESTED}.items():
                query = text.format(rows=options.rows)

                def raw(_: int, query: str = query) -> None:
                    spark.sql(query).write.mode("overwrite").parquet(str(folder / "raw"))

                def spark_table(_: int, query: str = query) -> None:
                    spark.sql("DROP TABLE IF EXISTS spark_catalog.default.plain")
                    spark.sql(f"CREATE TABLE spark_catalog.default.plain USING parquet AS {query}")

                def ours(_: int, query: str = query) -> None:
                    lake.execute(f"CREATE OR REPLACE TABLE t AS {query}")

                ways = {
                    "Spark, write.parquet": raw,
                    "Spark, CTAS as dbt-spark sends it": spark_table,
                    "dbt-ducklake, CTAS": ours,
                }
                times = in_turn(ways, options.rounds)
                report(f"CTAS of {options.rows:,} rows, {title}", times, baseline="Spark, write.parquet")
                tables = {
                    "Spark, write.parquet": f"parquet.`{folder}/raw`",
                    "Spark, CTAS as dbt-spark sends it": "spark_catalog.default.plain",
                }
                rows = {way: spark.sql(SUMMARY.format(table=table)).collect() for way, table in tables.items()}
                require_equal(title, rows | {"dbt-ducklake, CTAS": lake.execute(SUMMARY.format(table="t")).fetch()})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
