"""Sources that are files, written by any program: read by SQL and Python models, tests, freshness and `--empty`."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from dbt.tests.util import run_dbt

from tests.functional.adapter.test_one_node_one_snapshot import OnALake

EXPORT = """
{{ config(post_hook={'transaction': false, 'sql': "insert overwrite directory '%s' using csv options (header true) "
    ~ "select /*+ coalesce(1) */ id, upper(name) as name from " ~ this}) }}
select * from values (1, 'a'), (2, 'b, c') as t(id, name)
"""
SOURCES = """
sources:
  - name: raw
    meta: {external_location: "%s/{name}.parquet"}
    tables:
      - name: orders
        loaded_at_field: ordered_at
        config: {freshness: {warn_after: {count: 1, period: day}}}
        columns: [{name: id, data_tests: [unique]}]
      - name: customers
        config: {meta: {external_location: "%s/$identifier.csv", formatter: template}}
      - name: events
        config: {meta: {external_location: "%s/events/*/*.parquet"}, freshness: {warn_after: {count: 1, period: day}}}
      - name: notes
        config: {meta: {external_location: "json.`%s/notes` with (recursiveFileLookup = 'true')"}}
"""
MODELS = {
    "joined.sql": """
        {{ config(materialized='table') }}
        select o.id, c.name, c.since, e.region, n.note
        from {{ source('raw', 'orders') }} as o
        join {{ source('raw', 'customers') }} c on c.id = o.id
        join {{ source('raw', 'events') }} e using (id)
        left join {{ source('raw', 'notes') }} n on n.id = o.id
    """,
    "seen.sql": "select count(*) as n from {{ source('raw', 'customers') }}",
    "columns.sql": "{{ config(materialized='table') }} select '{{ adapter.get_columns_in_relation(source('raw', 'events')) "
    "| map(attribute='name') | join(' ') }}' as names",
    "in_python.py": """
def model(dbt, session):
    dbt.config(materialized="table")
    return dbt.source("raw", "customers").select("id", "since").join(dbt.source("raw", "orders").select("id"), "id")
""",
}


class TestExternalSources(OnALake):
    @pytest.fixture(scope="class")
    def folder(self, tmp_path_factory) -> Path:
        folder = tmp_path_factory.mktemp("landing zone")
        (folder / "notes" / "deep").mkdir(parents=True)
        (folder / "notes" / "deep" / "a.json").write_text(json.dumps({"id": 1, "note": "first"}))
        with duckdb.connect() as duck:
            duck.execute("create table o as select range + 1 as id, timestamptz '2026-01-31 12:00:00+00' as ordered_at from range(2)")
            duck.execute(f"copy o to '{folder}/orders.parquet'")
            duck.execute("create table c as select id, 'n' || id as name, date '2026-01-01' + id::int as since from o")
            duck.execute(f"copy c to '{folder}/customers.csv'")
            duck.execute("create table e as select id, case id when 1 then 'north' else 'south' end as region from o")
            duck.execute(f"copy e to '{folder}/events' (format parquet, partition_by (region))")
        return folder

    @pytest.fixture(scope="class")
    def models(self, folder):
        return {**MODELS, "exported.sql": EXPORT % (folder / "exported"), "sources.yml": SOURCES % (folder, folder, folder, folder)}

    def test_sql_and_python_models_read_files_written_by_duckdb(self, project, folder):
        run_dbt(["build"])
        with duckdb.connect() as duck:
            files = (
                f"'{folder}/orders.parquet' o join '{folder}/customers.csv' c using (id) join '{folder}/events/*/*.parquet' e using (id)"
            )
            expected = duck.execute(f"select o.id, c.name, c.since, e.region from {files} order by 1").fetchall()
            names = [column[0] for column in duck.execute(f"from '{folder}/events/*/*.parquet'").description or ()]
        found = self.rows(project, "joined")
        assert [row[:4] for row in found] == expected
        assert [row[4] for row in found] == ["first", None]
        assert self.rows(project, "in_python") == [(row[0], row[2]) for row in expected]
        assert self.rows(project, "seen") == [(2,)]
        assert self.rows(project, "columns") == [(" ".join(names),)]
        run_dbt(["run", "--empty", "--select", "joined"])
        assert self.rows(project, "joined") == []

    @pytest.mark.usefixtures("project")
    def test_a_hook_exports_files(self, folder):
        for _ in range(2):  # the second run replaces the files of the first
            run_dbt(["run", "--select", "exported"])
            with duckdb.connect() as duck:
                found = duck.execute(f"from read_csv('{folder}/exported/*.csv', header = true) order by id").fetchall()
            assert found == [(1, "A"), (2, "B, C")]

    @pytest.mark.usefixtures("project")
    def test_freshness_is_computed_from_the_rows(self):
        results = run_dbt(["source", "freshness"], expect_pass=False).results
        found = {result.node.name: result for result in results}
        assert found["orders"].max_loaded_at.isoformat() == "2026-01-31T12:00:00+00:00"
        assert "consists of files" in found["events"].message
        assert "loaded_at_field" in found["events"].message
