"""dbt.tests.adapter.aliases."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.aliases.fixtures import MACROS__CAST_SQL, MACROS__EXPECT_VALUE_SQL
from dbt.tests.adapter.aliases.test_aliases import (
    BaseAliasErrors,
    BaseAliases,
    BaseSameAliasDifferentDatabases,
    BaseSameAliasDifferentSchemas,
)

from tests.functional.adapter.dialect import in_spark


class OurMacros:
    @pytest.fixture(scope="class")
    def macros(self):
        """The suite's macro casts to `text`."""
        return {"cast.sql": in_spark(MACROS__CAST_SQL), "expect_value.sql": MACROS__EXPECT_VALUE_SQL}


class TestAliases(OurMacros, BaseAliases):
    pass


class TestAliasErrors(OurMacros, BaseAliasErrors):
    pass


class TestSameAliasDifferentSchemas(OurMacros, BaseSameAliasDifferentSchemas):
    pass


class TestSameAliasDifferentDatabases(OurMacros, BaseSameAliasDifferentDatabases):
    pass
