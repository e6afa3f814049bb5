"""The Spark settings of a node when Spark ends between two nodes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from dbt.adapters.ducklake.run.environment import SessionState
from dbt.adapters.ducklake.session.work import SparkWork
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime

PARTITIONS = "spark.sql.shuffle.partitions"


class Conf:
    """The settings of a Spark session, which cannot be reached once its process has ended."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.has_ended = False

    def get(self, key: str, default: str | None = None) -> str | None:
        self._require_running()
        return self.values.get(key, default)

    def set(self, key: str, value: str) -> None:
        self._require_running()
        self.values[key] = value

    def unset(self, key: str) -> None:
        self._require_running()
        self.values.pop(key, None)

    def _require_running(self) -> None:
        if self.has_ended:
            raise ConnectionRefusedError


class Runtime:
    """Starts sessions that have nothing but settings."""

    def session(self) -> Any:
        return SimpleNamespace(conf=Conf())

    def has_lost(self, session: Any, _idle_seconds: float) -> bool:
        return bool(session.conf.has_ended)


class Work(SparkWork):
    in_transaction = False


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> SparkWork:
    monkeypatch.setattr("dbt.adapters.ducklake.session.work.progress_source", lambda _session: lambda _group: None)
    return Work(cast(SparkRuntime, Runtime()), SessionState("lake", "main"))


def test_the_settings_of_a_node_are_undone_before_those_of_the_next(work: SparkWork) -> None:
    work.use_settings({PARTITIONS: 3})
    conf = cast(Conf, work.spark().conf)
    work.use_settings({"spark.sql.ansi.enabled": True})
    assert PARTITIONS not in conf.values


@pytest.mark.parametrize("given", [{PARTITIONS: 5}, {}])
def test_the_settings_of_a_node_apply_to_the_spark_that_starts_after_another_has_ended(work: SparkWork, given: dict[str, int]) -> None:
    work.use_settings({PARTITIONS: 3})
    cast(Conf, work.spark().conf).has_ended = True
    work.use_settings(given)
    assert cast(Conf, work.spark().conf).values == {key: str(value) for key, value in given.items()}
