"""A dbt project over the tables of TPC-H, built by five adapters, and a copy of its line items compared with a plain Parquet write.

The project copies the orders and the line items, joins them, computes two aggregates, and has an incremental model with a merge, which
dbt-spark rebuilds on Parquet. Each adapter builds it in a new process, twice, in turn, and at the end the models must have the same rows.

    make bench-peers BENCH=tpch ARGS='--scale 1'
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import duckdb
from bench_projects import compare, measured, projects, write_project
from timing import in_turn, report, require_equal

from dbt.adapters.ducklake.session import connect

ADAPTERS = ("dbt-ducklake", "dbt-spark, Parquet", "dbt-spark, Iceberg", "dbt-spark, Delta Lake", "dbt-duckdb")
TABLES = ("lineitem", "orders", "customer")
TABLE = "{{ config(materialized='table') }} "
LATEST = """
select o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, {{ var('day') }} as day from {{ ref('orders') }}
{% if is_incremental() %} where o_orderdate >= date '1998-06-01' {% else %} where o_orderdate < date '1998-07-01' {% endif %}
"""
REBUILT = """
select o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate,
    {% if var('day') == 0 %} 0 {% else %} case when o_orderdate >= date '1998-06-01' then {{ var('day') }} else 0 end {% endif %} as day
from {{ ref('orders') }} {% if var('day') == 0 %} where o_orderdate < date '1998-07-01' {% endif %}
"""
MODELS = {
    "lineitem": TABLE + "select * from {{ var('lineitem') }}",
    "orders": TABLE + "select * from {{ var('orders') }}",
    "order_facts": TABLE + "select l_orderkey, l_linenumber, o_custkey, o_orderdate, l_shipdate, l_quantity, "
    "cast(l_extendedprice * (1 - l_discount) as decimal(18, 2)) as revenue "
    "from {{ ref('lineitem') }} join {{ ref('orders') }} on o_orderkey = l_orderkey",
    "pricing": TABLE + "select l_returnflag, l_linestatus, sum(l_quantity) as quantity, sum(l_extendedprice) as price, count(*) as items "
    "from {{ ref('lineitem') }} where l_shipdate <= date '1998-09-02' group by l_returnflag, l_linestatus",
    "segments": TABLE + "select c_mktsegment, o_orderdate, sum(revenue) as revenue from {{ ref('order_facts') }} "
    "join {{ var('customer') }} on c_custkey = o_custkey group by c_mktsegment, o_orderdate",
}
MERGED = "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='o_orderkey') }}" + LATEST
COMPARED = {
    "lineitem": "count(*), sum(l_extendedprice)",
    "order_facts": "count(*), sum(revenue), sum(l_quantity)",
    "pricing": "count(*), sum(price), sum(items)",
    "segments": "count(*), sum(revenue)",
    "latest_orders": "count(*), sum(o_totalprice), sum(day)",
}


def make_files(folder: Path, scale: float) -> None:
    """Write the tables as Parquet files."""
    with duckdb.connect() as connection:
        connection.execute("INSTALL tpch; LOAD tpch")
        connection.execute(f"CALL dbgen(sf = {scale})")
        for table in TABLES:
            connection.execute(f"COPY {table} TO '{folder}/{table}.parquet' (FORMAT parquet)")


def source(adapter: str, path: str) -> str:
    """Return a Parquet file as a relation of an adapter's SQL."""
    return f"'{path}'" if adapter == "dbt-duckdb" else f"parquet.`{path}`"


def bench_ctas(files: Path, rounds: int) -> None:
    """Time CREATE TABLE AS of the line items."""
    with tempfile.TemporaryDirectory(prefix="bench-tpch-") as folder, connect(f"sqlite:///{folder}/lake.sqlite", f"{folder}/data/") as lake:
        spark = lake.spark()
        path = f"{files}/lineitem.parquet"

        def raw(_: int) -> None:
            spark.read.parquet(path).write.mode("overwrite").parquet(f"{folder}/raw")

        def ours(_: int) -> None:
            lake.execute(f"CREATE OR REPLACE TABLE lineitem AS SELECT * FROM parquet.`{path}`")

        report("CTAS of lineitem", in_turn({"write.parquet": raw, "dbt-ducklake": ours}, rounds), baseline="write.parquet")
        summary = "SELECT count(*), sum(cast(xxhash64(*) AS decimal(38, 0))) FROM {}"
        theirs = spark.sql(summary.format(f"parquet.`{folder}/raw`")).collect()
        require_equal("the copies", {"write.parquet": theirs, "dbt-ducklake": lake.execute(summary.format("lineitem")).fetch()})


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1, help="TPC-H's scale factor; 1 is 6 million line items")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-tpch-files-") as files, projects(ADAPTERS) as folders:
        make_files(Path(files), options.scale)
        bench_ctas(Path(files), options.rounds)
        for name, folder in folders.items():
            latest = TABLE + REBUILT if name == "dbt-spark, Parquet" else MERGED
            sources = {table: source(name, f"{files}/{table}.parquet") for table in TABLES}
            write_project(folder, name, MODELS | {"latest_orders": latest}, vars=sources)
        report("first dbt build", measured(folders, 1, lambda _: 0), baseline=ADAPTERS[0])
        report("second dbt build", measured(folders, 1, lambda _: 1), baseline=ADAPTERS[0])
        compare(folders, COMPARED)


if __name__ == "__main__":
    main()
