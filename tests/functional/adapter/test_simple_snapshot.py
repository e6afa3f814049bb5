"""dbt.tests.adapter.simple_snapshot."""

from __future__ import annotations

from datetime import datetime

import pytest
from dbt.tests.adapter.simple_snapshot.fixtures import (
    create_seed_sql,
    create_snapshot_expected_sql,
    invalidate_sql,
    populate_snapshot_expected_valid_to_current_sql,
    seed_insert_sql,
    update_with_current_sql,
)
from dbt.tests.adapter.simple_snapshot.new_record_check_mode import BaseSnapshotNewRecordCheckMode
from dbt.tests.adapter.simple_snapshot.new_record_dbt_valid_to_current import BaseSnapshotNewRecordDbtValidToCurrent
from dbt.tests.adapter.simple_snapshot.new_record_timestamp_mode import BaseSnapshotNewRecordTimestampMode
from dbt.tests.adapter.simple_snapshot.test_ephemeral_snapshot_hard_deletes import (
    BaseSnapshotEphemeralHardDeletes,
    BaseSnapshotNewColumnSpecificCheckCols,
    BaseSnapshotNewColumnTimestampStrategy,
    BaseSnapshotNewColumnWithDeletes,
)
from dbt.tests.adapter.simple_snapshot.test_snapshot import BaseSimpleSnapshot, BaseSnapshotCheck
from dbt.tests.adapter.simple_snapshot.test_various_configs import (
    BaseSnapshotColumnNames,
    BaseSnapshotColumnNamesFromDbtProject,
    BaseSnapshotDbtValidToCurrent,
    BaseSnapshotInvalidColumnNames,
    BaseSnapshotMultiUniqueKey,
)
from dbt.tests.util import check_relations_equal, run_dbt

FAR = datetime(2099, 12, 31)


class TestSimpleSnapshot(BaseSimpleSnapshot):
    pass


class TestSnapshotCheck(BaseSnapshotCheck):
    pass


@pytest.mark.nightly  # TestNewRecordValidToCurrent has new records
class TestNewRecordCheckMode(BaseSnapshotNewRecordCheckMode):
    pass


@pytest.mark.nightly
class TestNewRecordTimestampMode(BaseSnapshotNewRecordTimestampMode):
    pass


class TestNewRecordValidToCurrent(BaseSnapshotNewRecordDbtValidToCurrent):
    pass


class TestEphemeralHardDeletes(BaseSnapshotEphemeralHardDeletes):
    pass


class TestNewColumnTimestampStrategy(BaseSnapshotNewColumnTimestampStrategy):
    pass


class TestNewColumnSpecificCheckCols(BaseSnapshotNewColumnSpecificCheckCols):
    pass


class TestNewColumnWithDeletes(BaseSnapshotNewColumnWithDeletes):
    pass


class TestColumnNames(BaseSnapshotColumnNames):
    pass


@pytest.mark.nightly  # as from the configs of the snapshot
class TestColumnNamesFromProject(BaseSnapshotColumnNamesFromDbtProject):
    pass


class TestInvalidColumnNames(BaseSnapshotInvalidColumnNames):
    pass


class TestValidToCurrent(BaseSnapshotDbtValidToCurrent):
    def test_valid_to_current(self, project):
        """Sort the rows, because the suite relies on PostgreSQL's order."""
        for text in (create_seed_sql, create_snapshot_expected_sql, seed_insert_sql, populate_snapshot_expected_valid_to_current_sql):
            project.run_sql(text)
        valid_to = "select id, test_valid_to from {schema}.snapshot_actual order by id, test_valid_to"

        assert len(run_dbt(["snapshot"])) == 1
        assert project.run_sql(valid_to, fetch="all") == [(number, FAR) for number in range(1, 21)]

        project.run_sql(invalidate_sql)
        project.run_sql(update_with_current_sql)
        assert len(run_dbt(["snapshot"])) == 1
        after = project.run_sql(valid_to, fetch="all")
        assert len(after) == 31
        assert after[0] == (1, FAR)
        assert after[9:11] == [(10, datetime(2016, 8, 20, 16, 44, 49)), (10, FAR)]
        check_relations_equal(project.adapter, ["snapshot_actual", "snapshot_expected"])


class TestMultiUniqueKey(BaseSnapshotMultiUniqueKey):
    pass


@pytest.mark.nightly
class TestSpellingsOfColumns:
    """dbt compares the names of the query's columns with those of the snapshot table, which may have another case."""

    @pytest.fixture(scope="class")
    def models(self):
        return {"orders.sql": "select * from values (1, 'new'), (2, 'paid') as t(id, status)"}

    @pytest.fixture(scope="class")
    def snapshots(self):
        head = "unique_key='id', strategy='check', check_cols="
        spelled = "{{ 'ID, Status' if var('later', false) else 'id, status' }}"
        deleted = "{{ 'where id = 1' if var('deleted', false) }}"
        return {
            "snapshots.sql": f"""
                {{% snapshot listed %}}
                {{{{ config({head}['Status']) }}}}
                select id, status from {{{{ ref('orders') }}}}
                {{% endsnapshot %}}
                {{% snapshot every_column %}}
                {{{{ config({head}'all') }}}}
                select {spelled} from {{{{ ref('orders') }}}}
                {{% endsnapshot %}}
                {{% snapshot deletions %}}
                {{{{ config({head}['Status'], hard_deletes='new_record') }}}}
                select {spelled} from {{{{ ref('orders') }}}} {deleted}
                {{% endsnapshot %}}
            """,
        }

    def test_another_spelling_is_no_change_and_a_deletion_record_keeps_its_values(self, project):
        run_dbt(["run"])
        run_dbt(["snapshot"])
        run_dbt(["snapshot", "--vars", "{later: true}"])
        for name in ("listed", "every_column", "deletions"):
            assert project.run_sql(f"select count(*) from {{schema}}.{name}", fetch="one")[0] == 2, name
        run_dbt(["snapshot", "--vars", "{later: true, deleted: true}", "--select", "deletions"])
        kept = "select id, status, dbt_is_deleted from {schema}.deletions where dbt_valid_to is null order by id"
        assert project.run_sql(kept, fetch="all") == [(1, "new", "False"), (2, "paid", "True")]


class TestRestoredRow:
    """A row that was deleted is current again if it is back, although its `updated_at`, and with it its `dbt_scd_id`, is that of the closed version."""

    @pytest.fixture(scope="class")
    def snapshots(self):
        snapshot = """
            {{% snapshot {0} %}}
            {{{{ config(unique_key='id', strategy='timestamp', updated_at='at', hard_deletes='{0}'{1}) }}}}
            select id, timestamp '2020-01-01' as at from range({{{{ var('rows', 2) }}}})
            {{% endsnapshot %}}
        """
        return {
            "a.sql": snapshot.format("invalidate", ""),
            "b.sql": snapshot.format("new_record", ", dbt_valid_to_current=\"timestamp '2099-12-31'\""),
        }

    def test_it_is_current_and_no_version_ends_before_it_begins(self, project):
        for rows in (2, 1, 2, 1, 2, 2):
            run_dbt(["snapshot", "--vars", f"rows: {rows}"])
        current = "select id from {schema}.%s where coalesce(dbt_valid_to, timestamp '2099-12-31') = timestamp '2099-12-31' order by id"
        for name in ("invalidate", "new_record"):
            assert project.run_sql(current % name, fetch="all") == [(0,), (1,)], name
            assert project.run_sql(f"select id from {{schema}}.{name} where dbt_valid_to <= dbt_valid_from", fetch="all") == [], name
        deleted = "select dbt_is_deleted, count(*) from {schema}.new_record where id = 1 group by 1 order by 1"
        assert project.run_sql(deleted, fetch="all") == [("False", 3), ("True", 2)]
