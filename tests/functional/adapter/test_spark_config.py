"""The config `spark_config`: Spark settings for one node with its hooks and tests, and for no other node."""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt, write_file

from tests.functional.adapter.test_one_node_one_snapshot import OnALake

SETTINGS = "spark_config={'spark.sql.session.timeZone': 'Asia/Tokyo', 'spark.sql.ansi.enabled': false}"
ZONE = "select current_timezone() as zone, {} as number"
NULL_WITHOUT_ANSI = "cast('x' as int)"  # an error in ANSI mode
PYTHON = """
def model(dbt, session):
    dbt.config(materialized="table", spark_config={"spark.sql.session.timeZone": "Asia/Tokyo"})
    return session.sql("select current_timezone() as zone, 1 as number")
"""
TEST = "{{ config(spark_config={'spark.sql.session.timeZone': 'Asia/Tokyo'}) }} select 1 where current_timezone() <> 'Asia/Tokyo'"
UNIT_TESTS = """
unit_tests:
  - {name: in_tokyo, model: b_other, given: [], expect: {rows: [{zone: Asia/Tokyo, number: null}]}}
  - {name: in_utc, model: c_plain, given: [], expect: {rows: [{zone: UTC, number: 1}]}}
"""
LOG = "create or replace table {{ this.schema }}.log as select current_timezone() as zone, 1"
# run_query runs while dbt compiles the model, before pre_model_hook applies spark_config.
HOOKED = f"{{{{ config(materialized='incremental', {SETTINGS}, pre_hook=\"{LOG}\") }}}} {{% set before = run_query('select 1') %}}"


class TestSparkConfig(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "b_other.sql": HOOKED + ZONE.format(NULL_WITHOUT_ANSI),
            "c_plain.sql": "{{ config(materialized='table') }}" + ZONE.format("1"),
            "d_python.py": PYTHON,
            "unit_tests.yml": UNIT_TESTS,
        }

    @pytest.fixture(scope="class")
    def tests(self):
        return {"zone.sql": TEST}

    def test_settings_apply_only_to_the_node(self, project):
        run_dbt(["run", "--threads", "1"])
        zones = {name: self.rows(project, name) for name in ("b_other", "log", "c_plain", "d_python")}
        tokyo = "Asia/Tokyo"
        assert zones == {"b_other": [(tokyo, None)], "log": [(tokyo, 1)], "c_plain": [("UTC", 1)], "d_python": [(tokyo, 1)]}
        run_dbt(["run", "--threads", "1", "--select", "b_other"])
        assert self.rows(project, "b_other") == [(tokyo, None)] * 2
        assert len(run_dbt(["test", "--threads", "1"])) == 3

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ("'spark.executor.memory': '8g'", "spark_config cannot set spark.executor.memory"),
            ("'spark.sql.warehouse.dir': '/tmp'", "spark_config cannot set spark.sql.warehouse.dir"),
            ("'spark.sql.session.timeZone': 'Atlantis'", "spark_config cannot set spark.sql.session.timeZone"),
            (
                "'spark.sql.parquet.fieldId.read.enabled': false",
                "spark.sql.parquet.fieldId.read.enabled=false is refused, because columns are matched by",
            ),
        ],
    )
    def test_the_error_names_a_setting_that_spark_config_refuses(self, lake, setting, message):
        before = self.newest(lake)
        write_file(f"{{{{ config(materialized='table', spark_config={{{setting}}}) }}}} select 1 as id", "models", "wrong.sql")
        result = run_dbt(["run", "--select", "wrong"], expect_pass=False)
        assert message in result[0].message
        assert self.newest(lake) == before
