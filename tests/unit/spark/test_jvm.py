"""PySpark attaches to a JVM while other threads use the environment of this process."""

from __future__ import annotations

import os
from typing import Any

import pytest
from pyspark import java_gateway

from dbt.adapters.ducklake.spark.session.jvm import Jvm


class AttachedError(Exception):
    """Raised in place of a connection, with its parameters."""


def test_attaching_does_not_change_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    before = dict(os.environ)

    def connect(java_parameters: Any, **_: object) -> None:
        assert dict(os.environ) == before
        raise AttachedError(java_parameters.port, java_parameters.auth_token)

    monkeypatch.setattr(java_gateway, "ClientServer", connect)
    with pytest.raises(AttachedError) as error:
        Jvm(None, 4711, "secret").attach()
    assert error.value.args == (4711, "secret")
    assert dict(os.environ) == before
