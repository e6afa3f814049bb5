"""The scope of a statement's jobs, without Spark."""

from __future__ import annotations

from importlib.util import find_spec, module_from_spec
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.ducklake.errors import CancelledError
from dbt.adapters.ducklake.spark.session.scopes import Scopes


def first_group() -> str:
    """Return the first job group of a new process: a new copy of the module has its own state."""
    spec = find_spec("dbt.adapters.ducklake.spark.session.scopes")
    assert spec is not None
    assert spec.loader is not None
    module: Any = module_from_spec(spec)
    spec.loader.exec_module(module)
    group: str = module.Scope("group", None).group
    return group


def test_no_two_processes_use_the_same_job_group() -> None:
    assert first_group() != first_group()


def test_the_error_of_a_statement_is_not_replaced_if_spark_has_ended() -> None:
    ended: list[bool] = []

    def set_property(*_arguments: object, **_options: object) -> None:
        if ended:
            raise ConnectionRefusedError

    def cancelled_statement() -> None:
        ended.append(True)
        raise CancelledError

    context = SimpleNamespace(getLocalProperty=lambda _key: None, setLocalProperty=set_property, setJobGroup=set_property)
    session: Any = SimpleNamespace(sparkContext=context)
    with pytest.raises(CancelledError), Scopes().open(session, "group", ""):
        cancelled_statement()
