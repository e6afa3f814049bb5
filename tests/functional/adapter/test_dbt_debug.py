"""dbt.tests.adapter.dbt_debug."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.dbt_debug.test_dbt_debug import BaseDebugInvalidProjectPostgres, BaseDebugPostgres


class TestDebug(BaseDebugPostgres):
    @pytest.fixture(scope="class")
    def profiles_config_update(self, dbt_profile_target, unique_schema, tmp_path_factory):
        """A lake has no users and passwords: what can be wrong is a missing field, or a place where no lake is and none may be made."""
        target = {**dbt_profile_target, "schema": unique_schema}
        nowhere = {**target, "path": f"ducklake:sqlite:{tmp_path_factory.mktemp('none')}/absent.sqlite", "create_if_not_exists": False}
        outputs = {
            "default": target,
            "nopass": {key: value for key, value in target.items() if key != "path"},
            "wronguser": nowhere,
            "none_target": None,
        }
        return {"test": {"outputs": outputs, "target": "default"}}


class TestDebugInvalidProject(BaseDebugInvalidProjectPostgres):
    pass
