"""dbt.tests.adapter.incremental."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import BaseMergeExcludeColumns
from dbt.tests.adapter.incremental.test_incremental_microbatch import BaseMicrobatch
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import BaseIncrementalOnSchemaChange
from dbt.tests.adapter.incremental.test_incremental_predicates import BaseIncrementalPredicates
from dbt.tests.adapter.incremental.test_incremental_unique_id import BaseIncrementalUniqueKey
from dbt.tests.util import run_dbt


class TestMergeExcludeColumns(BaseMergeExcludeColumns):
    pass


class TestMicrobatch(BaseMicrobatch):
    pass


class TestOnSchemaChange(BaseIncrementalOnSchemaChange):
    pass


class TestPredicates(BaseIncrementalPredicates):
    pass


@pytest.mark.nightly
class TestOldNameOfPredicates(BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+predicates": ["id != 2"], "+incremental_strategy": "delete+insert"}}


class TestPredicatesOfMerge(BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+incremental_predicates": ["dbt_internal_dest.id != 2"], "+incremental_strategy": "merge"}}


class TestUniqueKeyWithMerge(BaseIncrementalUniqueKey):
    pass


@pytest.mark.nightly  # test_strategies.py has this strategy
class TestUniqueKeyWithDeleteInsert(BaseIncrementalUniqueKey):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+incremental_strategy": "delete+insert"}}


class TestFailOnWiderType:
    @pytest.fixture(scope="class")
    def models(self):
        config = "{{ config(materialized='incremental', on_schema_change='fail') }}"
        return {"strict.sql": f"{config} select cast(1 as {{{{ var('type', 'int') }}}}) as id"}

    def test_the_table_keeps_its_type(self, project):
        run_dbt(["run"])
        results = run_dbt(["run", "--vars", "type: bigint"], expect_pass=False)
        assert "schemas on this incremental model are out of sync" in results[0].message
        run_dbt(["run", "--vars", "type: smallint"])
        assert project.run_sql("select typeof(id), count(*) from {schema}.strict group by 1", fetch="all") == [("int", 2)]
