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
        """The suite's macro casts to `text`, which Spark does not have."""
        return {"cast.sql": in_spark(MACROS__CAST_SQL), "expect_value.sql": MACROS__EXPECT_VALUE_SQL}


class TestAliases(OurMacros, BaseAliases):
    pass


class TestAliasErrors(OurMacros, BaseAliasErrors):
    pass


class TestSameAliasDifferentSchemas(OurMacros, BaseSameAliasDifferentSchemas):
    pass


class TestSameAliasDifferentDatabases(OurMacros, BaseSameAliasDifferentDatabases):
    """The suite's project has one database and two schemas; this one has two lakes."""

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target, tmp_path_factory):
        folder = tmp_path_factory.mktemp("other")
        return {**dbt_profile_target, "attach": [{"alias": "other", "path": f"{folder}/other.sqlite", "data_path": f"{folder}/files/"}]}

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"macro-paths": ["macros"], "models": {"test": {"alias": "duped_alias", "model_b": {"database": "other"}}}}

    def test_alias_model_name_diff_database(self, project):
        super().test_alias_model_name_diff_database(project)
        query = f"select table_catalog from {{}}.information_schema.tables where table_schema = '{project.test_schema}'"
        assert project.run_sql(query.format("lake"), fetch="all") == [("lake",)]
        assert project.run_sql(query.format("other"), fetch="all") == [("other",)]
