"""The start of a Spark application, without Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError, Py4JJavaError

from dbt.adapters.ducklake.errors import ConfigurationError
from dbt.adapters.ducklake.spark.session.application import Application
from dbt.adapters.ducklake.spark.session.settings import SparkSettings

JAVA = SimpleNamespace(_target_id="o1", toString=lambda: "org.apache.spark.SparkException: Asked to run locally with 0 threads")


@pytest.mark.parametrize(
    ("error", "message"), [(Py4JJavaError("while calling", JAVA), JAVA.toString()), (Py4JError("network"), "network")], ids=["java", "py4j"]
)
def test_an_error_of_the_jvm_at_the_start_is_one_of_the_configuration(
    monkeypatch: pytest.MonkeyPatch, error: Py4JError, message: str
) -> None:
    def fail() -> bool:
        raise error

    application = Application(SparkSettings(master="local[0]"), "project", None, lambda: None)
    monkeypatch.setattr(application, "_start_classic", fail)
    with pytest.raises(ConfigurationError) as caught:
        application.session()
    assert str(caught.value) == f"Spark could not be started: {message}"
