"""TPC-H: its tables from DuckDB as Parquet files, its 22 queries as models, a merge and a snapshot. Every table equals DuckDB's result.

`TPCH_SCALE` sets the scale factor (default 0.01; 1 is 6 million line items and takes some minutes).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from tests.acceptance.projects import Project, Rows
from tests.duckdb_instances import open_duckdb

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

SCALE = float(os.environ.get("TPCH_SCALE", "0.01"))
TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")

DBT_PROJECT = """
name: tpch
version: "1.0"
profile: tpch
flags: {send_anonymous_usage_stats: false}
models: {tpch: {+materialized: table}}
"""
BASE = "select * from parquet.`{{{{ var('files') }}}}/{table}.parquet`\n"
QUERY = "{depends}\n{query}\n"
ORDERS_NOW = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='o_orderkey') }}
select o_orderkey, o_custkey, concat(o_orderstatus, '{{ var("day") }}') as status, o_totalprice, o_orderdate
from {{ ref('orders') }}
{% if is_incremental() %} where o_orderdate >= date '1995-07-01' {% else %} where o_orderdate < date '1996-01-01' {% endif %}
"""
ORDERS_NOW_ANSWER = """
    SELECT o_orderkey, o_custkey, o_orderstatus || CASE WHEN o_orderdate >= DATE '1995-07-01' THEN '2' ELSE '1' END, o_totalprice, o_orderdate
    FROM orders
"""
SUPPLIERS_TODAY = """
select s_suppkey, s_name, {% if var("day") == 2 %} case when s_suppkey % 10 = 0 then s_acctbal + 1 else s_acctbal end {% else %} s_acctbal {% endif %} as s_acctbal
from {{ ref('supplier') }}
{% if var("day") == 2 %} where s_suppkey % 50 <> 7 {% endif %}
"""
SUPPLIER_HISTORY = """
snapshots:
  - name: supplier_history
    relation: ref('suppliers_today')
    config: {unique_key: s_suppkey, strategy: check, check_cols: [s_acctbal], hard_deletes: invalidate}
"""
SUPPLIER_HISTORY_ANSWER = """
    SELECT s_suppkey, s_name, s_acctbal, s_suppkey % 10 <> 0 AND s_suppkey % 50 <> 7 FROM supplier
    UNION ALL
    SELECT s_suppkey, s_name, s_acctbal + 1, true FROM supplier WHERE s_suppkey % 10 = 0
"""


@pytest.fixture
def answers(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with the tables of the scale factor in memory; `files/` contains them as Parquet, too."""
    connection = open_duckdb("tpch")
    connection.execute(f"CALL dbgen(sf = {SCALE})")
    (tmp_path / "files").mkdir()
    for table in TABLES:
        connection.execute(f"COPY {table} TO '{tmp_path}/files/{table}.parquet' (FORMAT parquet)")
    yield connection
    connection.close()


def write_project(project: Project, queries: dict[int, str]) -> None:
    """Write base tables, one model per query (whose unqualified names mean the base tables), the merge and the snapshot."""
    models, snapshots = project.folder / "models", project.folder / "snapshots"
    models.mkdir()
    snapshots.mkdir()
    (project.folder / "dbt_project.yml").write_text(DBT_PROJECT)
    project.write_profiles("tpch", {"ours": project.ducklake("tpch", threads=2)}, target="ours")
    for table in TABLES:
        (models / f"{table}.sql").write_text(BASE.format(table=table))
    for number, query in queries.items():
        depends = "\n".join(f"-- depends_on: {{{{ ref('{table}') }}}}" for table in TABLES if table in query)
        (models / f"q{number:02}.sql").write_text(QUERY.format(depends=depends, query=query.strip().rstrip(";")))
    (models / "orders_now.sql").write_text(ORDERS_NOW)
    (models / "suppliers_today.sql").write_text(SUPPLIERS_TODAY)
    (snapshots / "supplier_history.yml").write_text(SUPPLIER_HISTORY)


def test_every_table_equals_the_result_of_duckdb(
    project: Project, answers: duckdb.DuckDBPyConnection, tmp_path: Path, same_rows: Callable[[str, Rows, Rows], None]
) -> None:
    queries: dict[int, str] = dict(answers.sql("SELECT query_nr, query FROM tpch_queries()").fetchall())
    write_project(project, queries)
    for day in (1, 2):
        variables = f"{{files: '{tmp_path}/files', day: {day}}}"
        project.dbt("build", "--vars", variables)

    lake = project.attach()
    for table in TABLES:
        found, expected = lake.sql(f"SELECT * FROM lake.tpch.{table}"), answers.sql(f"SELECT * FROM {table}")
        assert found.columns == expected.columns
        assert found.types == expected.types
        same_contents(lake, table, answers)
    for number, query in queries.items():
        same_rows(f"q{number:02}", lake.sql(f"SELECT * FROM lake.tpch.q{number:02}").fetchall(), answers.sql(query).fetchall())
    same_rows("orders_now", lake.sql("SELECT * FROM lake.tpch.orders_now").fetchall(), answers.sql(ORDERS_NOW_ANSWER).fetchall())
    history = "SELECT s_suppkey, s_name, s_acctbal, dbt_valid_to IS NULL FROM lake.tpch.supplier_history"
    same_rows("supplier_history", lake.sql(history).fetchall(), answers.sql(SUPPLIER_HISTORY_ANSWER).fetchall())


def same_contents(lake: duckdb.DuckDBPyConnection, table: str, answers: duckdb.DuckDBPyConnection) -> None:
    """Compare a large table by an exact sum over the hashes of its rows, which does not depend on their order."""
    digest = "SELECT count(*), sum(hash(t)::HUGEINT) FROM {} AS t"
    found = lake.sql(digest.format(f"lake.tpch.{table}")).fetchall()
    assert found == answers.sql(digest.format(table)).fetchall(), table
