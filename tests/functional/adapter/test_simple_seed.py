"""dbt.tests.adapter.simple_seed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from dbt.tests.adapter.simple_seed import fixtures, seeds
from dbt.tests.adapter.simple_seed.test_seed import (
    BaseBasicSeedTests,
    BaseSeedConfigFullRefreshOff,
    BaseSeedConfigFullRefreshOn,
    BaseSeedCustomSchema,
    BaseSeedParsing,
    BaseSeedSpecificFormats,
    BaseSeedWithEmptyDelimiter,
    BaseSeedWithUniqueDelimiter,
    BaseSeedWithWrongDelimiter,
    BaseSimpleSeedEnabledViaConfig,
    BaseSimpleSeedWithBOM,
    BaseTestEmptySeed,
)
from dbt.tests.adapter.simple_seed.test_seed_type_override import BaseSimpleSeedColumnOverride
from dbt.tests.util import run_dbt

from tests.functional.adapter.dialect import in_spark


class TestBasicSeeds(BaseBasicSeedTests):
    def test_simple_seed_full_refresh_flag(self, project):
        """A full refresh replaces the table in place: a view on it is kept, while PostgreSQL drops it by CASCADE."""
        self._build_relations_for_test(project)
        self._check_relation_end_state(run_result=run_dbt(["seed", "--full-refresh"]), project=project, exists=True)


class TestFullRefreshOn(BaseSeedConfigFullRefreshOn):
    def test_simple_seed_full_refresh_config(self, project):
        """A full refresh replaces the table in place: a view on it is kept, while PostgreSQL drops it by CASCADE."""
        self._build_relations_for_test(project)
        self._check_relation_end_state(run_result=run_dbt(["seed"]), project=project, exists=True)


class TestFullRefreshOff(BaseSeedConfigFullRefreshOff):
    pass


class TestCustomSchema(BaseSeedCustomSchema):
    pass


class TestUniqueDelimiter(BaseSeedWithUniqueDelimiter):
    pass


class TestWrongDelimiter(BaseSeedWithWrongDelimiter):
    pass


class TestEmptyDelimiter(BaseSeedWithEmptyDelimiter):
    pass


class TestEnabledViaConfig(BaseSimpleSeedEnabledViaConfig):
    pass


class TestSeedParsing(BaseSeedParsing):
    pass


class TestSeedWithBOM(BaseSimpleSeedWithBOM):
    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project):
        """Read the suite's file from its folder."""
        project.run_sql(seeds.seeds__expected_sql)
        shutil.copy(Path(seeds.__file__).with_name("seed_bom.csv"), Path(project.project_root) / "seeds" / "seed_bom.csv")


class TestSpecificFormats(BaseSeedSpecificFormats):
    pass


class TestEmptySeed(BaseTestEmptySeed):
    pass


class TestColumnOverride(BaseSimpleSeedColumnOverride):
    @pytest.fixture(scope="class")
    def models(self):
        """Types have Spark's names: integers are bigint, timestamps have a time zone; `column_types` keeps PostgreSQL's names."""
        ours = in_spark(fixtures.properties__schema_yml).replace("type: integer", "type: bigint").replace("timestamp_ntz", "timestamp")
        return {"schema.yml": ours}
