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
from dbt.tests.util import run_dbt

from tests.functional.adapter.test_one_node_one_snapshot import OnALake


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


GUARD = "select raise_error('negative amount'), amount from {{ this }} where amount < 0"
GUARDED = "{{ config(materialized='table', post_hook=\"%s\") }} select 1 as id, %s as amount"
HEADED = """
{%% call set_sql_header(config) %%}
select assert_true(%s, 'the header says no');
{%% endcall %%}
{{ config(materialized='table') }}
select 1 as id
"""


class TestQueriesInHooks(OnALake):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"on-run-end": ["{{ var('at_end', 'select 1') }}", "select 1; select 2"]}

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "good.sql": GUARDED % (GUARD, 5),
            "bad.sql": GUARDED % (GUARD, -5),
            "bad_outside.sql": "{{ config(pre_hook={'sql': \"select raise_error('outside')\", 'transaction': false}) }} select 1 as id",
            "headed.sql": HEADED % "true",
            "badly_headed.sql": HEADED % "1 > 2",
        }

    def test_a_query_that_fails_is_an_error(self, project, lake):
        results = run_dbt(["run"], expect_pass=False)
        found = {result.node.name: (str(result.status), result.message) for result in results if result.node.resource_type == "model"}
        assert {name for name, (status, _) in found.items() if status == "success"} == {"good", "headed"}
        for name, message in {"bad": "negative amount", "bad_outside": "outside", "badly_headed": "the header says no"}.items():
            assert message in found[name][1]
        assert {table.name for table in lake.reader().relations(project.test_schema)} == {"good", "headed"}

        guard = "select assert_true(count(*) = 0) from {{ target.schema }}.good; select 1"
        results = run_dbt(["run", "--select", "good", "--vars", str({"at_end": guard})], expect_pass=False)
        assert [(str(result.status), "is not true" in str(result.message)) for result in results][:2] == [
            ("success", False),
            ("error", True),
        ]

    def test_the_last_query_of_a_text_returns_its_rows(self, project):
        run_dbt(["run", "--select", "good"])
        good = f"{project.test_schema}.good"
        text = f"insert into {good} values (2, 7); select raise_error('bad') from {good} where id > 2; select sum(amount) from {good}"
        assert project.run_sql(text, fetch="one") == (12,)
