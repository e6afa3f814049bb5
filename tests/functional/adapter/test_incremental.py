"""dbt.tests.adapter.incremental."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import BaseMergeExcludeColumns
from dbt.tests.adapter.incremental.test_incremental_microbatch import BaseMicrobatch
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import BaseIncrementalOnSchemaChange
from dbt.tests.adapter.incremental.test_incremental_predicates import BaseIncrementalPredicates
from dbt.tests.adapter.incremental.test_incremental_unique_id import BaseIncrementalUniqueKey

from tests.places import nightly_tests


class TestMergeExcludeColumns(BaseMergeExcludeColumns):
    pass


class TestMicrobatch(BaseMicrobatch):
    pass


class TestOnSchemaChange(BaseIncrementalOnSchemaChange):
    pass


@pytest.mark.nightly
class TestPredicates(BaseIncrementalPredicates):
    pass


class TestOldNameOfPredicates(BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+predicates": ["id != 2"], "+incremental_strategy": "delete+insert"}}


class TestPredicatesOfMerge(BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+incremental_predicates": ["dbt_internal_dest.id != 2"], "+incremental_strategy": "merge"}}


@nightly_tests(
    "test__empty_str_unique_key",
    "test__empty_unique_key_list",
    "test__one_unique_key",
    "test__duplicated_unary_unique_key_list",
    "test__trinary_unique_key_list_no_update",
    "test__bad_unique_key_list",
)
class TestUniqueKeyWithMerge(BaseIncrementalUniqueKey):
    pass


@nightly_tests(
    "test__no_unique_keys",
    "test__empty_str_unique_key",
    "test__unary_unique_key_list",
    "test__duplicated_unary_unique_key_list",
    "test__trinary_unique_key_list_no_update",
    "test__bad_unique_key_list",
)
class TestUniqueKeyWithDeleteInsert(BaseIncrementalUniqueKey):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+incremental_strategy": "delete+insert"}}
