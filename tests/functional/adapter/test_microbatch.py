"""Microbatch models: types of the event time, and `dbt retry` of a full refresh."""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt, write_file

from tests.functional.adapter.test_one_node_one_snapshot import OnALake

MODEL = """
{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at', batch_size='__SIZE__', begin='2026-01-01') }}
select id, __AT__ as at from {{ ref('events') }}
"""
EVENTS = """
{{ config(materialized='table', event_time='happened') }}
select * from (values (1, timestamp'2026-01-01 03:00:00'), (2, timestamp'2026-01-01 23:00:00'), (3, timestamp'2026-01-02 00:30:00')) as v(id, happened)
"""
BROKEN = "if(id = 3 and {{ env_var('BROKEN_BATCH', 'false') }}, cast(raise_error('broken') as timestamp), happened)"
TWO_DAYS = ("--event-time-start", "2026-01-01", "--event-time-end", "2026-01-03")


def model(size: str, at: str) -> str:
    return MODEL.replace("__SIZE__", size).replace("__AT__", at)


class TestEventTimes(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "events.sql": EVENTS,
            "dates.sql": model("day", "cast(happened as date)"),
            "hours.sql": model("hour", "happened"),
            "hours_of_dates.sql": model("hour", "cast(happened as date)"),
            "texts.sql": model("day", "cast(happened as string)"),
        }

    def test_batches_are_found_by_a_time_or_refused(self, project):
        run_dbt(["run", "--select", "events"])
        for _ in range(2):
            run_dbt(["run", "--select", "dates", *TWO_DAYS])
            run_dbt(["run", "--select", "hours", "--event-time-start", "2026-01-01 22:00:00", "--event-time-end", "2026-01-02 01:00:00"])
        assert [row[0] for row in self.rows(project, "dates")] == [1, 2, 3]
        assert [row[0] for row in self.rows(project, "hours")] == [2, 3]

    @pytest.mark.parametrize(
        ("name", "message"),
        [("hours_of_dates", "event_time at is a date, and batch_size is hour"), ("texts", "event_time at is a column of type string")],
    )
    @pytest.mark.usefixtures("project")
    def test_other_times_are_refused(self, name, message, capsys):
        run_dbt(["run", "--select", "events"])
        run_dbt(["run", "--select", name, *TWO_DAYS], expect_pass=False)
        assert message in capsys.readouterr().out


class TestRetry(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        return {"events.sql": EVENTS, "days.sql": model("day", BROKEN)}

    def test_a_full_refresh_keeps_the_batches_that_succeeded(self, project, monkeypatch):
        run_dbt(["run", *TWO_DAYS])
        write_file(EVENTS.replace("(1,", "(10,"), "models", "events.sql")
        monkeypatch.setenv("BROKEN_BATCH", "true")
        run_dbt(["run", "--full-refresh", *TWO_DAYS], expect_pass=False)
        assert [row[0] for row in self.rows(project, "days")] == [2, 10]
        monkeypatch.setenv("BROKEN_BATCH", "false")
        run_dbt(["retry"])
        assert [row[0] for row in self.rows(project, "days")] == [2, 3, 10]
