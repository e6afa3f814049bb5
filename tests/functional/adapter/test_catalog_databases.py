"""A small dbt project on the catalog databases that the suite's classes do not use. DuckDB reads the DuckDB file afterwards."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from dbt.tests.util import run_dbt

from tests.interop.oracle import EXTENSIONS
from tests.mysql import fresh_database

READ = f"""
import json, sys, duckdb
from duckdb_extensions import import_extension
with duckdb.connect() as connection:
    for extension in {EXTENSIONS!r}:
        import_extension(extension, con=connection)
        connection.execute("LOAD " + extension)
    connection.execute(f"ATTACH '{{sys.argv[1]}}' AS lake")
    connection.execute(f"USE lake.{{sys.argv[2]}}")
    print(json.dumps([connection.execute(query).fetchall() for query in sys.argv[3:]], default=str))
"""

SEED = "id,name,amount\n1,a,1.5\n2,b,2.5\n3,c,\n"
TOTALS = "{{ config(materialized='table') }} select count(*) as n, sum(amount) as amount from {{ ref('orders') }}"
ORDERS = """
{{ config(materialized='incremental', unique_key='id', incremental_strategy='merge') }}
select id, name, {% if is_incremental() %} amount + 10 {% else %} amount {% endif %} as amount from {{ ref('raw') }}
{% if is_incremental() %} where id < 3 union all select 4, 'd', 4.5 {% endif %}
"""
WANTED = [[1, "a"], [2, "b"], [3, "c"], [4, "d"]]


class Builds:
    @pytest.fixture(scope="class")
    def seeds(self):
        return {"raw.csv": SEED}

    @pytest.fixture(scope="class")
    def models(self):
        names = "select id, upper(name) as name from {{ ref('orders') }}"
        tests = "{version: 2, models: [{name: orders, columns: [{name: id, data_tests: [unique, not_null]}]}]}"
        return {"orders.sql": ORDERS, "totals.sql": TOTALS, "names.sql": names, "tests.yml": tests}

    @pytest.fixture(scope="class")
    def built(self, project):
        """Build the project twice: the second time the incremental model merges."""
        for _ in range(2):
            assert all(result.status in ("success", "pass") for result in run_dbt(["build"]))
        return project

    def test_the_rows_are_built(self, built):
        rows = built.run_sql("select id, name, amount from {schema}.orders order by id", fetch="all")
        assert [[row[0], row[1], None if row[2] is None else float(row[2])] for row in rows] == [
            [1, "a", 11.5],
            [2, "b", 12.5],
            [3, "c", None],
            [4, "d", 4.5],
        ]
        assert [int(row[0]) for row in built.run_sql("select n from {schema}.totals", fetch="all")] == [4]

    @pytest.mark.usefixtures("built")
    def test_docs_are_generated(self):
        run_dbt(["docs", "generate"])


class TestDuckDBFile(Builds):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, tmp_path_factory):
        file = tmp_path_factory.mktemp("lake") / "lake.ducklake"
        return {"type": "ducklake", "path": f"ducklake:{file}", "threads": 4, "spark": {"master": "local[2]"}}

    def test_duckdb_reads_the_file_while_this_process_lives(self, built, dbt_profile_target):
        queries = ["FROM orders SELECT id, name ORDER BY id", "SELECT n FROM totals", "FROM names SELECT name ORDER BY id"]
        command = [sys.executable, "-c", READ, dbt_profile_target["path"], built.test_schema, *queries]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == [WANTED, [[4]], [["A"], ["B"], ["C"], ["D"]]]


@pytest.mark.nightly
class TestAPublishedRunInADuckDBFile:
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, tmp_path_factory):
        file = tmp_path_factory.mktemp("lake") / "lake.ducklake"
        return {"type": "ducklake", "path": f"ducklake:{file}", "threads": 4, "publish": "run", "spark": {"master": "local[2]"}}

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"raw.csv": SEED}

    @pytest.fixture(scope="class")
    def models(self):
        few = "{{ config(materialized='table') }} select id from {{ ref('orders') }} where id < {{ var('most', 9) }}"
        tests = (
            "models: [{name: few, columns: [{name: id, data_tests: [accepted_values: {arguments: {values: [1, 2, 3], quote: false}}]}]}]"
        )
        return {"orders.sql": ORDERS, "few.sql": few, "tests.yml": tests}

    def read(self, project, dbt_profile_target) -> list[list[list[object]]]:
        """Return the messages of the snapshots, except that of the suite's own schema, and the rows of both models, read by DuckDB in another process."""
        queries = [
            "SELECT commit_message FROM lake.snapshots() WHERE commit_message IS DISTINCT FROM 'dbt _test' AND snapshot_id > 0 ORDER BY snapshot_id"
        ]
        queries += ["FROM orders SELECT id, name ORDER BY id", "FROM few ORDER BY id"]
        command = [sys.executable, "-c", READ, dbt_profile_target["path"], project.test_schema, *queries]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        found: list[list[list[object]]] = json.loads(done.stdout)
        return found

    def test_a_failed_test_publishes_nothing(self, project, dbt_profile_target):
        run_dbt(["build"])
        first = [[["dbt build"]], [[1, "a"], [2, "b"], [3, "c"]], [[1], [2], [3]]]
        assert self.read(project, dbt_profile_target) == first
        run_dbt(["build"], expect_pass=False)  # the order 4 is new
        assert self.read(project, dbt_profile_target) == first
        run_dbt(["build", "--vars", "most: 3"])
        assert self.read(project, dbt_profile_target) == [[["dbt build"], ["dbt build"]], WANTED, [[1], [2]]]


@pytest.mark.mysql
class TestMySQL(Builds):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, mysql_server, tmp_path_factory):
        with fresh_database(mysql_server) as url:
            files = tmp_path_factory.mktemp("lake")
            yield {"type": "ducklake", "path": url, "data_path": f"{files}/", "threads": 4, "spark": {"master": "local[2]"}}
