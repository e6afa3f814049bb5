"""dbt.tests.adapter.python_model, and the other kinds of results."""

from __future__ import annotations

import time

import pytest
from dbt.tests.adapter.python_model.test_python_model import (
    BasePythonEmptyTests,
    BasePythonIncrementalTests,
    BasePythonMetaGetTests,
    BasePythonModelTests,
    BasePythonSampleTests,
)
from dbt.tests.adapter.python_model.test_spark import PANDAS_MODEL, PANDAS_ON_SPARK_MODEL, PYSPARK_MODEL, BasePySparkTests
from dbt.tests.util import run_dbt

ARROW_MODEL = """
import pyarrow as pa

def model(dbt, session):
    dbt.config(materialized="table")
    return pa.table({"City": ["Quito"], "Latitude": [-0.2]})
"""
POLARS_MODEL = """
import polars as pl

def model(dbt, session):
    dbt.config(materialized="table")
    return pl.DataFrame({"City": ["Lima"], "Latitude": [-12.0]})
"""
SLOW_ROWS_MODEL = """
import time

def slow(batches):
    for batch in batches:
        time.sleep(120)
        yield batch

def model(dbt, session):
    dbt.config(materialized="table", timeout=5)
    return session.sql("select id from range(3)").mapInPandas(slow, "id bigint")
"""


class TestPythonModel(BasePythonModelTests):
    pass


class TestPythonIncremental(BasePythonIncrementalTests):
    pass


class TestPythonMetaGet(BasePythonMetaGetTests):
    pass


class TestPythonEmpty(BasePythonEmptyTests):
    pass


class TestPythonSample(BasePythonSampleTests):
    pass


class TestDataFrames(BasePySparkTests):
    @pytest.fixture(scope="class")
    def models(self):
        """Replace Koalas, which is discontinued, with Arrow, so that there are four kinds again."""
        return {
            "pandas_df.py": PANDAS_MODEL,
            "pyspark_df.py": PYSPARK_MODEL,
            "pandas_on_spark_df.py": PANDAS_ON_SPARK_MODEL,
            "arrow_df.py": ARROW_MODEL,
        }


class TestPolars:
    @pytest.fixture(scope="class")
    def models(self):
        return {"polars_df.py": POLARS_MODEL}

    def test_a_polars_frame_becomes_a_table(self, project):
        assert len(run_dbt(["run"])) == 1
        assert project.run_sql(f"select * from {project.test_schema}.polars_df", fetch="all") == [("Lima", -12.0)]


ANNOTATED = """
from __future__ import annotations
from dataclasses import dataclass, asdict
from typing import get_type_hints
from pyspark.sql.functions import udf

@dataclass
class Row:
    id: int
    word: str

def longer(text: str) -> str:
    return Row(1, text).word + "!"

def model(dbt, session):
    rows = [asdict(Row(1, ",".join(get_type_hints(Row))))]
    frame = session.createDataFrame(rows)
    return frame.withColumn("word", udf(longer, "string")("word"))
"""


class TestAnnotations:
    @pytest.fixture(scope="class")
    def models(self):
        return {"annotated.py": ANNOTATED}

    def test_classes_and_functions_of_a_model_are_found(self, project):
        run_dbt(["run"])
        assert project.run_sql("select id, word from {schema}.annotated", fetch="all") == [(1, "id,word!")]


@pytest.mark.nightly
class TestTimeout:
    @pytest.fixture(scope="class")
    def models(self):
        return {"polars_df.py": POLARS_MODEL.replace('"table"', '"table", timeout=60'), "slow.py": SLOW_ROWS_MODEL}

    @pytest.mark.usefixtures("project")
    def test_the_timeout_counts_the_rows_that_are_computed_when_they_are_written(self):
        run_dbt(["run", "--select", "polars_df"])
        started = time.monotonic()
        (result,) = run_dbt(["run", "--select", "slow"], expect_pass=False)
        assert "Python model slow took longer than its timeout of 5 seconds" in result.message
        assert time.monotonic() - started < 60
        assert run_dbt(["run", "--select", "polars_df"])[0].status == "success"
