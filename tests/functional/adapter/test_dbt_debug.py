"""dbt.tests.adapter.dbt_debug."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.dbt_debug.test_dbt_debug import BaseDebugInvalidProjectPostgres, BaseDebugPostgres
from dbt.tests.util import run_dbt, run_dbt_and_capture


class TestDebug(BaseDebugPostgres):
    @pytest.fixture(scope="class")
    def profiles_config_update(self, dbt_profile_target, unique_schema, tmp_path_factory):
        """Use profiles with a missing field or a missing lake that may not be created, because a lake has no users and passwords."""
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


class TestDebugOfTheDataPath:
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target, tmp_path_factory):
        file = tmp_path_factory.mktemp("not") / "a_folder"
        file.write_text("a file")
        return {**dbt_profile_target, "data_path": f"{file}/files/"}

    @pytest.mark.usefixtures("project")
    def test_the_error_names_a_path_that_cannot_be_written(self, dbt_profile_target):
        _, output = run_dbt_and_capture(["debug"], expect_pass=False)
        assert f"the data path {dbt_profile_target['data_path']} cannot be written to" in output


class TestDebugLeavesNothing:
    @pytest.fixture(scope="class")
    def fresh(self, tmp_path_factory):
        return tmp_path_factory.mktemp("fresh")

    @pytest.fixture(scope="class")
    def profiles_config_update(self, dbt_profile_target, unique_schema, fresh):
        target = {**dbt_profile_target, "schema": unique_schema}  # its lake exists: dbt's fixture creates the schema
        new = {**target, "path": f"ducklake:sqlite:{fresh}/lake.sqlite", "data_path": f"{fresh}/files/"}
        return {"test": {"outputs": {"default": target, "new": new}, "target": "default"}}

    @pytest.mark.usefixtures("project")
    def test_debug_creates_no_lake_and_leaves_no_file(self, fresh):
        _, output = run_dbt_and_capture(["debug", "--target", "new"])
        for line in ("the catalog of lake can be read and written: ok (there is no lake in", "Spark can use the data path of lake: ok"):
            assert line in output
        assert list(fresh.iterdir()) == []
        run_dbt(["run-operation", "ducklake_snapshots", "--target", "new"])
        before = set(fresh.rglob("*"))
        _, output = run_dbt_and_capture(["debug", "--target", "new"])
        assert "the catalog of lake can be read and written: ok (sqlite, format 1.0, snapshot 0)" in output
        assert set(fresh.rglob("*")) == before


class TestDebugNamesAllFailures:
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target, tmp_path_factory):
        folder = tmp_path_factory.mktemp("broken")
        (folder / "a_file").write_text("")
        other = {"path": f"ducklake:sqlite:{folder}/absent/other.sqlite", "alias": "other"}
        return {**dbt_profile_target, "data_path": f"{folder}/a_file/files/", "attach": [other]}

    @pytest.mark.usefixtures("project")
    def test_each_failed_check_has_its_remedy(self):
        _, output = run_dbt_and_capture(["debug"], expect_pass=False)
        assert "the data path of lake can be used: failed, because the data path" in output
        assert "the catalog of other can be read and written: failed, because" in output
        assert "/absent of the catalog does not exist; create it or correct 'path'" in output
