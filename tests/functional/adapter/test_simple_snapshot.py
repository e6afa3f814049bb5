"""dbt.tests.adapter.simple_snapshot."""

from __future__ import annotations

from datetime import datetime

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


class TestNewRecordCheckMode(BaseSnapshotNewRecordCheckMode):
    pass


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
