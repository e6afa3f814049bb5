"""Snapshots whose new version of a row has the `dbt_scd_id` of the version that it replaces: the old one ends, and the new one is inserted."""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt

from tests.functional.adapter.test_one_node_one_snapshot import OnALake

SNAPSHOT = """
{{% snapshot {name} %}}
{{{{ config({config}, updated_at='at') }}}}
select {key} as id, 1 as part, '{{{{ var("v", "a") }}}}' as v, timestamp '2026-01-01 00:00:00' as at
{{% endsnapshot %}}
"""
CHECK, TIME = "strategy='check', check_cols=['v']", "strategy='timestamp'"
SNAPSHOTS = {
    "same_time": ("1", f"unique_key='id', {CHECK}"),
    "null_ignored": ("cast(null as int)", f"unique_key=['id', 'part'], {TIME}"),
    "null_invalidated": ("cast(null as int)", f"unique_key=['id', 'part'], hard_deletes='invalidate', {TIME}"),
    "null_recorded": ("cast(null as int)", f"unique_key=['id', 'part'], hard_deletes='new_record', {TIME}"),
}


class Versions(OnALake):
    @pytest.fixture(scope="class")
    def snapshots(self):
        return {f"{name}.sql": SNAPSHOT.format(name=name, key=key, config=config) for name, (key, config) in SNAPSHOTS.items()}

    def versions(self, project, *arguments: str) -> dict[str, tuple[int, int]]:
        """Run the snapshots; return the number of versions, and of current ones, of the row of each."""
        run_dbt(["snapshot", *arguments])
        counts = "select count(*), count_if(dbt_valid_to is null) from {schema}."
        return {name: project.run_sql(counts + name, fetch="one") for name in SNAPSHOTS}


class TestVersions(Versions):
    def test_a_changed_row_and_a_row_without_a_key(self, project):
        assert self.versions(project) == dict.fromkeys(SNAPSHOTS, (1, 1))
        # as in dbt, a row whose key is NULL is not found in its snapshot: it is deleted and new
        expected = {"same_time": (1, 1), "null_ignored": (1, 1), "null_invalidated": (2, 1), "null_recorded": (3, 2)}
        assert self.versions(project) == expected
        assert self.versions(project, "--vars", "v: b")["same_time"] == (2, 1)
        assert self.versions(project, "--vars", "v: a")["same_time"] == (3, 1)
        assert project.run_sql("select v from {schema}.same_time where dbt_valid_to is null", fetch="all") == [("a",)]


class TestVersionsWithNullKeys(Versions):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"flags": {"enable_truthy_nulls_equals_macro": True}}

    def test_null_keys_are_equal(self, project):
        assert self.versions(project) == dict.fromkeys(SNAPSHOTS, (1, 1))
        assert self.versions(project) == dict.fromkeys(SNAPSHOTS, (1, 1))
