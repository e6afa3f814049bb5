"""PySpark attaches to a JVM while other threads use the environment of this process."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import accumulators, java_gateway

from dbt.adapters.ducklake.spark.session.jvm import Jvm, end_accumulators


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


def test_the_server_of_accumulators_ends(tmp_path: Path) -> None:
    server = accumulators._start_update_server("token", False)
    context = SimpleNamespace(_accumulatorServer=server)
    end_accumulators(context)
    end_accumulators(context)  # PySpark has none left to end
    deadline = time.monotonic() + 30
    while server.socket.fileno() != -1 and time.monotonic() < deadline:
        time.sleep(0.05)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(server.server_address)
    path = tmp_path / "accumulators"
    end_accumulators(SimpleNamespace(_accumulatorServer=accumulators._start_update_server("token", True, str(path))))
    assert not path.exists()
