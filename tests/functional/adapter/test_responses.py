"""The adapter's responses: rows, files, bytes and the snapshot of a node; and the statistics of all or selected tables in the docs."""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt

from tests.functional.adapter.test_one_node_one_snapshot import OnALake

BASE = "{{ config(materialized='table', partition_by='part', sorted_by='id desc') }} select id, id % 2 as part from range(100)"
MERGED = """
{{ config(materialized='incremental', unique_key='id') }}
select id, '{{ var("word") }}' as word from {{ ref('base') }} where id < 50 {% if is_incremental() %} and id < {{ var("below") }} {% endif %}
"""

REPLACED = """
{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by='part') }}
select id, id % 2 as part from range({{ var("below") }})
"""


class TestResponses(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        return {"base.sql": BASE, "merged.sql": MERGED, "seen.sql": "select * from {{ ref('merged') }}", "replaced.sql": REPLACED}

    @staticmethod
    def run(below: int, word: str, *selected: str):
        results = run_dbt(["run", "--vars", f"{{below: {below}, word: {word}}}", "--select", *selected])
        return {result.node.name: result for result in results}

    def test_files_bytes_and_snapshots(self, project, lake):
        first = self.run(0, "a", "base", "merged", "seen")
        base, merged, seen = (first[name].adapter_response for name in ("base", "merged", "seen"))
        assert (base["rows_affected"], base["files_read"], base["files_written"]) == (100, 0, 2), "a file for each partition"
        assert (merged["files_read"], merged["files_written"]) == (2, 1)
        assert merged["bytes_read"] == base["bytes_written"] > 100
        assert seen["files_written"] == 0

        second = self.run(10, "b", "merged")["merged"]
        read = second.adapter_response
        assert (read["rows_affected"], read["files_read"], read["files_written"]) == (10, 3, 2), (
            "two of base, one of the table; rows, deletes"
        )

        assert self.run(4, "b", "replaced")["replaced"].adapter_response["files_read"] == 0
        assert self.run(1, "b", "replaced")["replaced"].adapter_response["files_read"] == 1, "the partition that is replaced"

        before = self.newest(lake)
        third = self.run(0, "c", "merged")["merged"]
        assert third.message == "MERGE 0 rows (nothing changed, no snapshot)"
        assert "snapshot_id" not in third.adapter_response
        assert self.newest(lake) == before

        stats = self.stats(project, "merged")
        assert (stats["row_count"], stats["files"], stats["delete_files"], stats["snapshot"]) == (50, 2, 1, read["snapshot_id"])
        stats = self.stats(project, "base")
        assert (stats["partitioned_by"], stats["sorted_by"], stats["bytes"]) == ("part", "id DESC", base["bytes_written"])
        (built,) = (record.snapshot.time for record in lake.snapshots() if record.snapshot.snapshot_id == base["snapshot_id"])
        assert stats["last_modified"] == f"{built:%Y-%m-%d %H:%M:%S} UTC"
        assert "delete_files" not in stats

        catalog = run_dbt(["docs", "generate", "--select", "base", "seen", "--vars", "{below: 0, word: d}"])
        assert {key.split(".")[-1] for key in catalog.nodes} == {"base", "seen"}
        found = {stat.id: stat.value for stat in catalog.nodes["model.test.base"].stats.values() if stat.include}
        assert found == stats

    @staticmethod
    def stats(project, name: str) -> dict[str, object]:
        relation = project.adapter.Relation.create(project.database, project.test_schema, name)
        with project.adapter.connection_named("_stats"):
            found = project.adapter.get_catalog_for_single_relation(relation)
        return {stat.id: stat.value for stat in found.stats.values() if stat.include}
