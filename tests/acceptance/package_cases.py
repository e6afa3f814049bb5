"""The dbt packages of `test_packages.py`: how the tests of each are run and how they end, with the reasons of failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

FLOATS = {
    "dbt_utils_equality_data_test_equality_floats_a_ref_data_test_equality_floats_b___8":
        "wants two floats to differ in the seventh digit after the package has cast them to dbt's numeric(28,6)",
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """The project of a package's tests, how it is run, and how it ends.

    Attributes:
        package: the package that is tested.
        passed: how many nodes of the last command succeed.
        tests: the folder of the project below that of the package.
        needs: other packages that it uses, by name.
        failed: the nodes of the last command that fail, with the reasons.
        target_type: the profile's `target_type`.
        schema: the schema of the profile, which some packages' sources name.
        settings: changes of `dbt_project.yml`.
        macros: macros that replace some of the package's.
        commands: the commands of dbt in their order; all but the last must succeed.
        extra: further folders below `DBT_PACKAGES` that are packages, by their names.
        views: how many views of the lake DuckDB reads, if they are counted.
        unread: the views that it does not read, with the reasons.
        uncalled: the package's macros for Databricks that no command calls, or that fail, with the reasons, if they are listed.
        spark: whether dbt-spark builds the project too; the rows of all relations must be equal.
        timed: a regular expression for the columns whose values depend on when they are built, which are not compared.
    """

    package: str
    passed: int
    tests: str = "integration_tests"
    needs: Sequence[str] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    target_type: str | None = None
    schema: str = "packages"
    settings: Mapping[str, Any] = field(default_factory=dict)
    macros: str = ""
    commands: Sequence[Sequence[str]] = (("build",),)
    extra: Mapping[str, str] = field(default_factory=dict)
    views: int | None = None
    unread: Mapping[str, str] = field(default_factory=dict)
    uncalled: Mapping[str, str] | None = None
    spark: bool = False
    timed: str = "$."


RAND = "{% macro ducklake__rand() %}rand(7){% endmacro %}"
"""With other random numbers in each build, one of the package's own tests fails in 3 of 100: that one of four sums is an outlier."""
FIVETRAN = ("fivetran_utils", "dbt_utils", "spark_utils")
SEEDS_FIRST = (("seed",), ("build", "--exclude", "resource_type:seed"))
"""Their models look for the tables of a source when they are compiled, and a source does not wait for the seeds that make it."""

WITHOUT_ANSI = {"+spark_config": {"spark.sql.ansi.enabled": False}}
FOR_SPARK = {"databricks": {"+enabled": True}}
SCRATCH = {"scratch": FOR_SPARK}
SNOWPLOW_SETTINGS = {
    "models": {
        "snowplow_web": WITHOUT_ANSI | dict.fromkeys(("base", "page_views", "sessions"), SCRATCH),
        "snowplow_web_integration_tests": WITHOUT_ANSI | {"source": FOR_SPARK},
    },
    "seeds": {"snowplow_web_integration_tests": {"expected": FOR_SPARK}},
    "data_tests": {"snowplow_web": WITHOUT_ANSI, "snowplow_web_integration_tests": WITHOUT_ANSI},
    "vars": {"snowplow_web": {"snowplow__databricks_catalog": "lake"}},
}
"""docs/packages.md has them too."""
FIRST = "snowplow__allow_refresh: true, snowplow__backfill_limit_days: 243, snowplow__enable_cwv: false"
NEXT = ("run", "--vars", "{snowplow__enable_cwv: false}")
VITALS = ["snowplow_web_vital_measurements", "snowplow_web_vital_measurements_actual", "snowplow_web_vital_events_this_run"]
SNOWPLOW = (
    ("seed", "--full-refresh"),
    ("run", "--full-refresh", "--vars", f"{{{FIRST}}}"),
    NEXT,
    NEXT,
    NEXT,
    ("test", "--exclude", *VITALS),
)
"""What `.scripts/integration_test.sh` runs: four builds of parts of the events, and the comparison with what they should make."""

CASES = {
    "dbt_utils": Case(
        "dbt_utils",
        235,
        failed=FLOATS | {"test_groupby": "SELECT *, count(*) … GROUP BY 1, 2: Spark allows no * beside positions ([STAR_GROUP_BY_POS])"},
    ),
    "dbt_date": Case("dbt_date", 73),
    "dbt_expectations": Case(
        "dbt_expectations",
        169,
        needs=["dbt_date"],
        settings={
            "dispatch": [
                {"macro_namespace": "dbt_expectations", "search_order": ["dbt_expectations_integration_tests", "dbt", "dbt_expectations"]}
            ]
        },
        macros=RAND,
    ),
    "spark_utils": Case(
        "spark_utils",
        231,
        tests="integration_tests/dbt_utils",
        needs=["dbt_utils"],
        extra={"dbt_utils_integration_tests": "dbt-utils/integration_tests"},
        failed=FLOATS | {"test_recency": "calls dbt_utils.current_timestamp, which dbt_utils 1.0 has removed"},
    ),
    "audit_helper": Case(
        "audit_helper",
        95,
        needs=["dbt_utils"],
        target_type="databricks",
        failed={
            "unit tests of unit_quick_are_queries_identical": "the package has this macro for BigQuery and Snowflake only",
            "unit tests of unit_compare_classify_struct": "the package skips it on Databricks: a struct has its fields in order",
        },
    ),
    "codegen": Case(
        "codegen",
        28,
        needs=["dbt_utils"],
        commands=[("run-operation", "create_source_table"), ("build",)],
        failed=dict.fromkeys(
            ["test_generate_model_repeated_yaml", "test_generate_model_yaml", "test_generate_source_all_args"],
            "expects PostgreSQL's names of types, integer and text",
        ),
    ),
    "dbt_artifacts": Case("dbt_artifacts", 49, tests="integration_test_project", target_type="spark"),
    "dbt_profiler": Case("dbt_profiler", 57, needs=["dbt_utils", "dbt_expectations", "dbt_date"], target_type="databricks"),
    "github": Case(
        "github",
        54,
        needs=FIVETRAN,
        target_type="spark",
        schema="github_integration_tests_1",
        commands=SEEDS_FIRST,
        views=14,
        spark=True,
        timed="days_(issue|pr)_open|hours_request",
    ),
    "hubspot": Case(
        "hubspot",
        186,
        needs=FIVETRAN,
        target_type="spark",
        schema="hubspot_integration_tests",
        commands=SEEDS_FIRST,
        views=45,
        spark=True,
    ),
    "stripe": Case(
        "stripe",
        78,
        needs=FIVETRAN,
        target_type="spark",
        schema="stripe_integrations_tests",
        commands=SEEDS_FIRST,
        views=23,
        spark=True,
    ),
    "snowplow_web": Case(
        "snowplow_web",
        137,
        needs=["snowplow_utils", "dbt_utils"],
        target_type="databricks",
        settings=SNOWPLOW_SETTINGS,
        commands=SNOWPLOW,
        views=17,
        unread={
            "snowplow_web_events_stg": "from_json of Spark",
            "snowplow_web_page_views_actual": "mixes texts and timestamps in a CASE, which Spark allows without ANSI mode",
            "snowplow_web_sessions_actual": "is in Spark's SQL",
            "snowplow_web_sessions_expected_stg": "from_json of Spark, and filters with lambda functions",
        },
    ),
    "dbt_unit_testing": Case(
        "dbt_unit_testing",
        29,
        tests="integration-tests",
        schema="dbt_unit_testing",
        extra={"dbt_unit_testing_sub_package": "dbt-unit-testing/integration-tests-sub-package"},
        needs=["dbt_utils"],
        commands=[
            ("seed",),
            ("run", "--select", "tag:add-to-database"),
            ("test", "--select", "tag:unit-test,tag:postgres", "--exclude", "tag:versioned"),
        ],
        views=1,
        failed=dict.fromkeys(
            ["model_with_quoted_columns_2", "reserved_column_names", "reserved_column_names_mocking", "upper_column_names_mocking"],
            "names columns in double quotes, as PostgreSQL does",
        ),
    ),
    "dbt_project_evaluator": Case(
        "dbt_project_evaluator",
        154,
        needs=["dbt_utils"],
        target_type="databricks",
        extra={"exclude_package": "dbt-project-evaluator/integration_tests/exclude_package"},
    ),
}
