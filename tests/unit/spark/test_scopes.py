"""The scope of a statement's jobs, without Spark."""

from __future__ import annotations

from importlib.util import find_spec, module_from_spec
from typing import Any


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
