"""dbt.tests.adapter.functions: scalar SQL functions, which are stored in the lake."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.functions.files import MY_UDF_SQL, MY_UDF_YML
from dbt.tests.adapter.functions.test_udfs import (
    CanFindScalarFunctionRelation,
    DeterministicUDF,
    ErrorForUnsupportedType,
    NonDeterministicUDF,
    PythonUDFEntryPointRequired,
    PythonUDFNotSupported,
    PythonUDFRuntimeVersionRequired,
    SqlUDFDefaultArgSupport,
    StableUDF,
    UDFsBasic,
)
from dbt.tests.util import run_dbt

VIEW = "{{ config(materialized=var('materialized', 'view')) }} select {{ function('price_for_xlarge') }}(cast(price as float)) as price from {{ ref('prices') }}"


class InLowerCase:
    """Looks for statements in lower case, as ours are; dbt's tests expect upper case."""

    def is_function_create_event(self, event):
        return event.data.node_info.node_name == "price_for_xlarge" and "create or replace function" in event.data.sql


class TestUdf(InLowerCase, UDFsBasic):
    pass


class TestDeterministic(InLowerCase, DeterministicUDF):
    def check_function_volatility(self, sql):
        assert "deterministic" in sql
        assert "not deterministic" not in sql


class TestStable(InLowerCase, StableUDF):
    def check_function_volatility(self, sql):
        """Spark has no equivalent of STABLE, so dbt warns and omits it."""
        assert "deterministic" not in sql


class TestNonDeterministic(InLowerCase, NonDeterministicUDF):
    def check_function_volatility(self, sql):
        assert "not deterministic" in sql


class TestUnsupportedType(ErrorForUnsupportedType):
    pass


class TestPythonNotSupported(PythonUDFNotSupported):
    pass


class TestRuntimeVersionRequired(PythonUDFRuntimeVersionRequired):
    pass


class TestEntryPointRequired(PythonUDFEntryPointRequired):
    pass


class TestDefaultArgument(InLowerCase, SqlUDFDefaultArgSupport):
    expect_default_arg_support = True


class TestFunctionIsListed(CanFindScalarFunctionRelation):
    pass


class WithPrice:
    """A project with dbt's function `price_for_xlarge`."""

    @pytest.fixture(scope="class")
    def functions(self):
        return {"price_for_xlarge.sql": MY_UDF_SQL, "price_for_xlarge.yml": MY_UDF_YML}


class TestHooks(WithPrice):
    @pytest.fixture(scope="class")
    def models(self):
        return {"taken.sql": "{{ config(alias='price_for_xlarge', materialized=var('kind', 'table')) }} select 1 as id"}

    @pytest.fixture(scope="class")
    def project_config_update(self):
        hooks = {
            f"+{kind}_hook": [{"sql": f"insert into {{{{ target.schema }}}}.audit values ('{kind} {inside}')", "transaction": inside}
                              for inside in (True, False)]
            for kind in ("pre", "post")
        }  # fmt: skip
        return {"functions": {"test": hooks}}

    def test_hooks_run_once_and_are_kept(self, project):
        project.run_sql("create table {schema}.audit (text string)")
        run_dbt(["build", "--select", "price_for_xlarge"])
        expected = [("post False",), ("post True",), ("pre False",), ("pre True",)]
        assert sorted(project.run_sql("select text from {schema}.audit", fetch="all")) == expected

    @pytest.mark.parametrize("kind", ["table", "view", "incremental"])
    def test_a_model_never_replaces_a_function(self, project, kind):
        project.run_sql("create table if not exists {schema}.audit (text string)")
        run_dbt(["build", "--select", "price_for_xlarge"])
        (result,) = run_dbt(["run", "--select", "taken", "--vars", f"kind: {kind}"], expect_pass=False)
        assert "function" in result.message
        assert project.run_sql("select {schema}.price_for_xlarge(cast(1 as float))", fetch="one") == (2.0,)


class TestSparkConfig(WithPrice):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        settings = {"spark.sql.session.timeZone": "{{ var('zone', 'Asia/Tokyo') }}"}
        hook = "create or replace table {{ target.schema }}.zones as select current_timezone() as zone"
        return {"functions": {"test": {"+spark_config": settings, "+pre_hook": hook}}}

    def test_settings_apply_to_the_hooks_of_a_function(self, project):
        run_dbt(["build"])
        assert project.run_sql("select zone from {schema}.zones", fetch="all") == [("Asia/Tokyo",)]
        (result,) = run_dbt(["build", "--vars", "zone: Atlantis"], expect_pass=False)
        assert "spark_config cannot set spark.sql.session.timeZone" in result.message


class TestModelsCallFunctions(WithPrice):
    @pytest.fixture(scope="class")
    def models(self):
        return {"prices.sql": "select 2 as price", "doubled.sql": VIEW}

    def test_models_in_separate_sessions_and_later_runs_find_the_function(self, project):
        assert len(run_dbt(["build"])) == 3
        assert len(run_dbt(["run", "--select", "doubled", "--vars", "materialized: table"])) == 1
        assert project.run_sql(f"select price from {project.test_schema}.doubled", fetch="one") == (4.0,)
