"""dbt.tests.adapter.hooks."""

from __future__ import annotations

from pathlib import Path

import pytest
from dbt.tests.adapter.hooks import fixtures
from dbt.tests.adapter.hooks.test_model_hooks import (
    MODEL_POST_HOOK,
    MODEL_PRE_HOOK,
    BaseDuplicateHooksInConfigs,
    BaseHookRefs,
    BaseHooksRefsOnSeeds,
    BasePrePostModelHooks,
    BasePrePostModelHooksInConfig,
    BasePrePostModelHooksInConfigKwargs,
    BasePrePostModelHooksInConfigWithCount,
    BasePrePostModelHooksOnSeeds,
    BasePrePostModelHooksOnSeedsPlusPrefixed,
    BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace,
    BasePrePostModelHooksOnSnapshots,
    BasePrePostSnapshotHooksInConfigKwargs,
)
from dbt.tests.adapter.hooks.test_run_hooks import BaseAfterRunHooks, BasePrePostRunHooks


class OurTarget:
    """Reads the suite's files from its folder, and compares `target` with the fields of our profile."""

    @pytest.fixture(scope="class")
    def test_data_dir(self):
        return Path(fixtures.__file__).with_name("data")

    def _check(self, context, project, state):
        expected = {
            "test_state": state,
            "target_dbname": "",
            "target_host": "",
            "target_name": "default",
            "target_schema": project.test_schema,
            "target_threads": 4,
            "target_type": "ducklake",
            "target_user": "",
            "target_pass": "",
        }
        assert {key: context[key] for key in expected} == expected
        assert context["run_started_at"]
        assert context["invocation_id"]
        assert context["thread_id"].startswith("Thread-") or context["thread_id"] == "MainThread"


class ModelHooks(OurTarget):
    def check_hooks(self, state, project, host, count=1):  # noqa: ARG002 (dbt's signature)
        for context in self.get_ctx_vars(state, count=count, project=project):
            self._check(context, project, state)


def hooks(pre: str, post: str) -> dict[str, object]:
    """The suite's hooks inside and outside the transaction. The latter use VACUUM, which Spark does not have."""
    outside = {"sql": "select count(*) from {{ this.schema }}.on_model_hook", "transaction": False}
    return {"models": {"test": {pre: [MODEL_PRE_HOOK, outside], post: [outside, MODEL_POST_HOOK]}}}


class TestPrePostModelHooks(ModelHooks, BasePrePostModelHooks):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return hooks("pre-hook", "post-hook")


class TestPrePostModelHooksUnderscores(ModelHooks, BasePrePostModelHooks):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return hooks("pre_hook", "post_hook")


class TestHookRefs(ModelHooks, BaseHookRefs):
    pass


class TestPrePostModelHooksInConfig(ModelHooks, BasePrePostModelHooksInConfig):
    pass


class TestPrePostModelHooksInConfigWithCount(ModelHooks, BasePrePostModelHooksInConfigWithCount):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return hooks("pre-hook", "post-hook")


class TestPrePostModelHooksInConfigKwargs(ModelHooks, BasePrePostModelHooksInConfigKwargs):
    pass


class TestPrePostSnapshotHooksInConfigKwargs(ModelHooks, BasePrePostSnapshotHooksInConfigKwargs):
    pass


class TestPrePostModelHooksOnSeeds(BasePrePostModelHooksOnSeeds):
    pass


class TestHooksRefsOnSeeds(BaseHooksRefsOnSeeds):
    pass


class TestPrePostModelHooksOnSeedsPlusPrefixed(BasePrePostModelHooksOnSeedsPlusPrefixed):
    pass


class TestPrePostModelHooksOnSeedsPlusPrefixedWhitespace(BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace):
    pass


class TestPrePostModelHooksOnSnapshots(BasePrePostModelHooksOnSnapshots):
    pass


class TestDuplicateHooksInConfigs(BaseDuplicateHooksInConfigs):
    pass


class TestPrePostRunHooks(OurTarget, BasePrePostRunHooks):
    def check_hooks(self, state, project, host):  # noqa: ARG002 (dbt's signature)
        self._check(self.get_ctx_vars(state, project), project, state)


class TestAfterRunHooks(BaseAfterRunHooks):
    pass
