"""dbt.tests.adapter.unit_testing."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.unit_testing.test_case_insensitivity import BaseUnitTestCaseInsensivity
from dbt.tests.adapter.unit_testing.test_invalid_input import BaseUnitTestInvalidInput
from dbt.tests.adapter.unit_testing.test_quoted_reserved_word_column_names import (
    BaseUnitTestQuotedReservedWordColumnNames,
    my_model_sql,
    my_upstream_model_with_reserved_word_column_name_sql,
    test_my_model_csv_fixtures_yml,
)
from dbt.tests.adapter.unit_testing.test_types import BaseUnitTestingTypes, BaseUnitTestingVarcharFixtureNoTruncation

from tests.functional.adapter.dialect import in_spark


class TestCaseInsensitivity(BaseUnitTestCaseInsensivity):
    pass


class TestInvalidInput(BaseUnitTestInvalidInput):
    pass


class TestQuotedReservedWords(BaseUnitTestQuotedReservedWordColumnNames):
    @pytest.fixture(scope="class")
    def models(self):
        """Quote names with back-quotes."""
        return {
            "my_model.sql": my_model_sql,
            "my_upstream_model.sql": in_spark(my_upstream_model_with_reserved_word_column_name_sql),
            "unit_tests.yml": test_my_model_csv_fixtures_yml,
        }


class TestTypes(BaseUnitTestingTypes):
    @pytest.fixture
    def data_types(self):
        """Use Spark's types and casts. JSON is text in Spark."""
        return [
            ["1", "1"],
            ["'1'", "1"],
            ["true", "true"],
            ["DATE '2020-01-02'", "2020-01-02"],
            ["TIMESTAMP '2013-11-03 00:00:00-0'", "2013-11-03 00:00:00-0"],
            ["TIMESTAMP_NTZ '2013-11-03 00:00:00'", "2013-11-03 00:00:00"],
            ["cast('1' as decimal(10,2))", "1"],
        ]


class TestVarcharFixtureNoTruncation(BaseUnitTestingVarcharFixtureNoTruncation):
    pass
