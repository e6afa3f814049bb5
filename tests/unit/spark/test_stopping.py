"""How a runtime ends the sessions of Spark Connect, without a server."""

from __future__ import annotations

from typing import Any

from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from dbt.adapters.ducklake.spark.session.settings import SparkSettings


class Session:
    """A session of Spark Connect, which records what is called."""

    __module__ = "pyspark.sql.connect.session"

    def __init__(self, name: str, calls: list[str]) -> None:
        self.name, self.calls, self.client = name, calls, self

    def release_session(self) -> None:
        self.calls.append(f"release {self.name}")

    def close(self) -> None:
        self.calls.append(f"close {self.name}")

    def stop(self) -> None:
        """Also end the server, as PySpark does if it has started it."""
        self.calls.append(f"stop {self.name}")


def test_only_the_last_session_ends_the_server_that_pyspark_has_started() -> None:
    calls: list[str] = []
    base, other = Session("base", calls), Session("other", calls)
    runtime = SparkRuntime(SparkSettings(remote="local[1]"))
    application: Any = runtime.application
    application.base, application.started_here = base, True
    clients: Any = runtime._clients
    clients.add(other)
    runtime.stop()
    assert calls == ["release other", "close other", "stop base"]
