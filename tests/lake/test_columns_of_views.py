"""The columns of temporary views: Spark analyzes a view once in a transaction, and again when its columns may have changed."""

from __future__ import annotations

from typing import NoReturn

import pytest

from dbt.adapters.ducklake.errors import LakeError
from dbt.adapters.ducklake.run.environment import Environment
from dbt.adapters.ducklake.session import LakeSession


def described(lake: LakeSession, name: str) -> list[tuple[str, str]]:
    return [(str(column), str(kind)) for column, kind, _ in lake.execute(f"DESCRIBE {name}").fetch()]


def not_again(*_: object) -> NoReturn:
    raise AssertionError("Spark analyzes the view again")


@pytest.fixture
def begun(lake: LakeSession) -> LakeSession:
    lake.execute("CREATE TABLE t AS SELECT 1 AS id, 'a' AS name")
    lake.execute("BEGIN")
    return lake


def test_a_new_view_is_described_without_spark(begun: LakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    begun.execute("CREATE TEMPORARY VIEW v AS SELECT * FROM t, range(2) AS r (number)")
    begun.execute("CREATE TEMPORARY VIEW renamed (a, b, c) AS SELECT * FROM v")
    monkeypatch.setattr(Environment, "frame", not_again)
    assert described(begun, "v") == [("id", "int"), ("name", "string"), ("number", "bigint")]
    assert described(begun, "renamed") == [("a", "int"), ("b", "string"), ("c", "bigint")]


def test_changes_of_what_a_view_reads_are_seen(begun: LakeSession) -> None:
    begun.execute("CREATE TEMPORARY VIEW v AS SELECT * FROM t")
    begun.execute("CREATE TEMPORARY VIEW outer_view AS SELECT * FROM v")
    begun.execute("ALTER TABLE t ADD COLUMN more DATE")
    assert described(begun, "outer_view") == [("id", "int"), ("name", "string"), ("more", "date")]
    begun.execute("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT id + 0.5 AS half FROM t")
    assert described(begun, "v") == [("half", "decimal(12,1)")]
    begun.execute("ROLLBACK")
    assert described(begun, "outer_view") == [("half", "decimal(12,1)")]


def test_changes_of_a_view_of_spark_are_seen(begun: LakeSession) -> None:
    spark = begun.spark()
    spark.sql("SELECT 1 AS one").createOrReplaceTempView("of_spark")
    begun.execute("CREATE TEMPORARY VIEW v AS SELECT * FROM of_spark")
    begun.execute("CREATE TEMPORARY VIEW w AS SELECT * FROM v")
    spark.sql("SELECT 'two' AS two").createOrReplaceTempView("of_spark")
    assert described(begun, "w") == [("two", "string")]


def test_changes_of_settings_are_seen(begun: LakeSession) -> None:
    begun.execute("CREATE TEMPORARY VIEW v AS SELECT 1 / 2 AS half, 2BD * 3BD AS product")
    assert described(begun, "v")[0] == ("half", "double")
    begun.execute("SET spark.sql.timestampType = TIMESTAMP_NTZ")
    begun.execute("CREATE TEMPORARY VIEW times AS SELECT TIMESTAMP '2020-01-01 00:00:00' AS time")
    assert described(begun, "times") == [("time", "timestamp_ntz")]
    begun.execute("SET spark.sql.timestampType = TIMESTAMP_LTZ")
    assert described(begun, "times") == [("time", "timestamp")]


def test_a_view_that_reads_itself_is_refused(begun: LakeSession) -> None:
    begun.execute("CREATE TEMPORARY VIEW v AS SELECT id FROM t")
    with pytest.raises(LakeError, match="refers to itself"):
        begun.execute("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT * FROM v")
    assert described(begun, "v") == [("id", "int")]
