"""MERGE of a small source into a large table: the lake compared with rewriting the table with Spark.

dbt-spark has no merge on Parquet tables, so its projects use one of the two rewrites below as a model.

    python benchmarks/bench_merge.py --rows 4000000 --source 40000 --rounds 3
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from timing import in_turn, report

from dbt.adapters.ducklake.session import connect

ROW = """
    SELECT id, id % 1000 AS customer, date_add(date'2025-01-01', cast(id % 365 AS int)) AS day,
           cast(id * {factor} % 100000 / 100.0 AS decimal(12, 2)) AS amount, sha1(cast(id AS string)) AS hash,
           concat('name ', id % 5000) AS name, {version} AS version
    FROM {ids}
"""
KEYS = """(
    SELECT pmod(hash(id, {version}), {rows}) AS id FROM range({half}) GROUP BY 1
    UNION ALL SELECT {rows} + {version} * {half} + id FROM range({half})
)"""
MERGE = """
    MERGE INTO t USING source ON t.id = source.id
    WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
"""
OUTER_JOIN = """
    SELECT coalesce(s.id, t.id) AS id, if(s.id IS NULL, t.customer, s.customer) AS customer,
           if(s.id IS NULL, t.day, s.day) AS day, if(s.id IS NULL, t.amount, s.amount) AS amount,
           if(s.id IS NULL, t.hash, s.hash) AS hash, if(s.id IS NULL, t.name, s.name) AS name,
           if(s.id IS NULL, t.version, s.version) AS version
    FROM parquet.`{old}` AS t FULL OUTER JOIN source AS s ON t.id = s.id
"""
ANTI_JOIN = """
    SELECT /*+ BROADCAST(s) */ t.* FROM parquet.`{old}` AS t LEFT ANTI JOIN source AS s ON t.id = s.id
    UNION ALL SELECT * FROM source
"""
SUMMARY = "SELECT count(*), sum(id), sum(amount), sum(version) FROM {table}"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--source", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-merge-"))
    try:
        with connect(f"sqlite:///{folder}/lake.sqlite", f"{folder}/data/") as lake:
            spark = lake.spark()
            target = ROW.format(factor=7, version=0, ids=f"range({options.rows})")
            for part in range(8):
                rows = f"SELECT * FROM ({target}) WHERE id * 8 DIV {options.rows} = {part}"
                lake.execute(f"CREATE TABLE t AS {rows}" if part == 0 else f"INSERT INTO t {rows}")
            spark.sql(target).repartitionByRange(8, "id").write.parquet(f"{folder}/outer-0")
            shutil.copytree(folder / "outer-0", folder / "anti-0")

            def use_source(number: int) -> None:
                keys = KEYS.format(rows=options.rows, half=options.source // 2, version=number + 1)
                rows = spark.sql(ROW.format(factor=9, version=number + 1, ids=keys))
                lake.create_temp_view("source", rows)

            def rewrite(kind: str, query: str, number: int) -> None:
                use_source(number)
                spark.sql(query.format(old=folder / f"{kind}-{number}")).write.parquet(f"{folder}/{kind}-{number + 1}")
                shutil.rmtree(folder / f"{kind}-{number}")

            def ours(number: int) -> None:
                use_source(number)
                lake.execute(MERGE)

            ways = {
                "Spark, rewrite by outer join": lambda number: rewrite("outer", OUTER_JOIN, number),
                "Spark, rewrite by anti join": lambda number: rewrite("anti", ANTI_JOIN, number),
                "dbt-ducklake, MERGE": ours,
            }
            times = in_turn(ways, options.rounds)
            last = folder / f"outer-{options.rounds + 1}"
            expected = spark.sql(SUMMARY.format(table=f"parquet.`{last}`")).collect()
            found = lake.sql(SUMMARY.format(table="t")).collect()
            assert expected == found, f"the results differ: {expected} and {found}"
            report(
                f"MERGE of {options.source:,} rows, half of them new, into {options.rows:,} in 8 files",
                times,
                baseline="Spark, rewrite by outer join",
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
