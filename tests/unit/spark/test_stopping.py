"""How a runtime ends Spark, without one."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

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


class Process:
    """The process of a JVM, which does not end by itself."""

    def __init__(self) -> None:
        self.killed = False

    def poll(self) -> int | None:
        return -9 if self.killed else None

    def kill(self) -> None:
        self.killed = True

    def wait(self) -> None:
        pass


STOPPED = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: True))


@pytest.mark.parametrize(("started_here", "context", "killed"), [(False, None, False), (False, STOPPED, True), (True, None, True)])
def test_a_jvm_that_was_not_started_here_survives_other_code_that_stops_its_context(
    monkeypatch: pytest.MonkeyPatch, started_here: bool, context: Any, killed: bool
) -> None:
    """That code may have a new SparkContext in it. PySpark forgets the Java object of a context that Python stops."""
    monkeypatch.setattr("dbt.adapters.ducklake.spark.session.application.STOP_SECONDS", 0)
    runtime, process = SparkRuntime(SparkSettings()), Process()
    application: Any = runtime.application
    session: Any = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=context))
    application.base, application.started_here, application.process = session, started_here, process
    assert runtime.has_stopped(session, Exception())
    assert process.killed is application.has_ended is killed


def test_releasing_the_scratch_folder_does_not_wait_for_a_start_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that ends early must not wait for a Spark that it does not need."""
    runtime, starts, ends = SparkRuntime(SparkSettings()), threading.Event(), threading.Event()

    def start() -> None:
        starts.set()
        ends.wait(30)
        raise RuntimeError

    monkeypatch.setattr(runtime.application, "session", start)
    runtime.start_early()
    assert starts.wait(30)
    release = threading.Thread(target=runtime.release, daemon=True)
    release.start()
    release.join(3)
    is_released = not release.is_alive()
    ends.set()
    assert is_released
