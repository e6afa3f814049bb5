"""Python models as modules of this process, with a fake session that only records calls."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.ducklake.python_submissions import run_model

NODE: dict[str, Any] = {"name": "m", "alias": "m", "original_file_path": "models/m.py", "config": {}}


class FakeSession:
    def __init__(self) -> None:
        self.views: dict[str, Any] = {}
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True

    def job_group(self, _description: str) -> AbstractContextManager[None]:
        return nullcontext()

    def require_spark(self, _error: Exception) -> None:
        """Spark has not ended."""

    def spark(self) -> SimpleNamespace:
        return SimpleNamespace(sql=lambda text, args: (text, args), version="4", cancelled=self.cancelled)

    def sql(self, text: str) -> str:
        return f"lake rows of {text}"

    def spark_text(self, text: str) -> str:
        return f"spark {text}"

    def table(self, name: str) -> str:
        return f"lake table {name}"

    def to_dataframe(self, rows: Any) -> list[Any]:
        return [rows]

    def create_temp_view(self, name: str, frame: Any) -> None:
        self.views[name] = frame


def run(code: str, **config: Any) -> FakeSession:
    session = FakeSession()
    run_model({**NODE, "config": config}, code, session)  # type: ignore[arg-type]
    return session


def test_the_result_becomes_a_temporary_view() -> None:
    assert run('session.create_temp_view("m__dbt_tmp", session.table("a.b"))').views == {"m__dbt_tmp": ["lake table a.b"]}


def test_spark_is_a_global_that_sees_the_lake() -> None:
    code = 'def model():\n    return spark.sql("select 1"), spark.sql("select :x", args={"x": 1}), spark.version\nspark.create_temp_view("v", model())'

    assert run(code).views == {"v": [("lake rows of select 1", ("spark select :x", {"x": 1}), "4")]}


def test_modules_share_nothing() -> None:
    run("leak = 1")
    with pytest.raises(DbtRuntimeError, match="NameError: name 'leak' is not defined"):
        run("print(leak)")


def test_a_failure_shows_the_models_own_traceback() -> None:
    with pytest.raises(DbtRuntimeError) as raised:
        run("def model():\n    x = {}\n    return x['missing key']\n\nmodel()\n")

    message = str(raised.value)
    assert "Python model m failed" in message
    assert 'File "models/m.py (compiled)", line 3, in model' in message
    assert "return x['missing key']" in message
    assert "KeyError: 'missing key'" in message
    assert "python_submissions.py" not in message


@pytest.mark.parametrize(
    ("package", "problem"),
    [
        ("no_such_package_at_all>=1", "needs the package no_such_package_at_all>=1: install it"),
        ("agate<0.1", "needs the package agate<0.1, but .* is installed"),
        ("agate 1.0", "'agate 1.0', which is not a valid requirement"),
    ],
)
def test_the_error_names_a_missing_package(package: str, problem: str) -> None:
    with pytest.raises(DbtRuntimeError, match=problem):
        run("", packages=["agate", package])


def test_a_package_can_have_another_name_than_its_module() -> None:
    assert run("x = 1", packages=["dbt-core>=1.5", "DBT_Core", "pyspark[connect]"]).views == {}


def test_a_model_that_exceeds_its_timeout_is_cancelled_and_fails() -> None:
    session = FakeSession()
    code = "import time\nuntil = time.monotonic() + 20\nwhile not session.cancelled and time.monotonic() < until: time.sleep(0.01)"
    with pytest.raises(DbtRuntimeError, match=r"took longer than its timeout of 0\.05 seconds"):
        run_model({**NODE, "config": {"timeout": 0.05}}, code, session)  # type: ignore[arg-type]
    assert session.cancelled
    run("x = 1", timeout=60)
    with pytest.raises(DbtRuntimeError, match="must be a number of seconds"):
        run("", timeout="long")
