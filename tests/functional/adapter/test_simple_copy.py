"""dbt.tests.adapter.simple_copy."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.simple_copy.test_copy_uppercase import BaseSimpleCopyUppercase
from dbt.tests.adapter.simple_copy.test_simple_copy import EmptyModelsArentRunBase, SimpleCopyBase


class TestSimpleCopy(SimpleCopyBase):
    test_simple_copy_with_materialized_views = None  # a lake has no materialized views


class TestEmptyModelsArentRun(EmptyModelsArentRunBase):
    pass


class TestUppercase(BaseSimpleCopyUppercase):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, tmp_path_factory):
        """The database in the suite's profile has a name in mixed case, too."""
        folder = tmp_path_factory.mktemp("lake")
        return {
            "type": "ducklake",
            "path": f"ducklake:sqlite:{folder}/lake.sqlite",
            "data_path": f"{folder}/files/",
            "database": "lakeMixedCase",
            "threads": 4,
            "spark": {"master": "local[2]"},
        }
