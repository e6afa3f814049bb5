"""dbt.tests.adapter.dbt_clone: a clone shares no files, because a file belongs to only one table of a lake."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.dbt_clone.test_dbt_clone import (
    BaseCloneNotPossible,
    BaseClonePossible,
    BaseCloneSameSourceAndTarget,
    BaseCloneSameTargetAndState,
)

pytestmark = pytest.mark.manifest_file


class TestClonesAreViews(BaseCloneNotPossible):
    pass


class TestClonesAreTables(BaseClonePossible):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        """Copy tables, as the project configures it."""
        copied = {"+clone_as": "table"}
        return {"models": copied, "seeds": {**copied, "test": {"quote_columns": False}}, "snapshots": copied}


class TestCloneSameSourceAndTarget(BaseCloneSameSourceAndTarget):
    pass


class TestCloneSameTargetAndState(BaseCloneSameTargetAndState):
    pass
