"""SET and RESET are parsed as Spark parses them."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.sql.settings_text import changed_setting


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("SET spark.sql.ansi.enabled=false", "spark.sql.ansi.enabled", "false"),
        ("set spark.sql.ansi.enabled = false;", "spark.sql.ansi.enabled", "false"),
        ("  -- a comment\n/* another */ SET\n spark.a.b =\n c d ", "spark.a.b", "c d"),
        ("SET `spark.a b` = `c;d`", "spark.a b", "c;d"),
        ("SET `spark.a`=1", "spark.a", "1"),
        ("SET spark.a = `b`", "spark.a", "b"),
        ("SET spark.a = b=c", "spark.a", "b=c"),
        ("SET spark.a=", "spark.a", ""),
        ("SET spark.a = 'x'", "spark.a", "'x'"),
        ("SET spark.a = b -- c", "spark.a", "b -- c"),
        ("SET spark.hadoop:x=1", "spark.hadoop:x", "1"),
        ("SET time=1", "time", "1"),
        ("SET variable.x=1", "variable.x", "1"),
        ("SET TIME ZONE 'Asia/Tokyo'", "spark.sql.session.timeZone", "'Asia/Tokyo'"),
        ("set time /* c */ zone LOCAL;", "spark.sql.session.timeZone", "LOCAL"),
        ("SET TIME ZONE INTERVAL '08:30' HOUR TO MINUTE", "spark.sql.session.timeZone", "INTERVAL '08:30' HOUR TO MINUTE"),
        ("RESET spark.a", "spark.a", None),
        ("reset `spark.a b`;", "spark.a b", None),
        ("RESET", None, None),
        ("RESET;", None, None),
        ("/* all */ reset ", None, None),
    ],
)
def test_changes(text: str, key: str | None, value: str | None) -> None:
    assert changed_setting(text) == (key, value)


@pytest.mark.parametrize(
    "text",
    [
        "SET",
        "SET -v",
        "SET spark.sql.ansi.enabled",
        "SET `spark.sql.ansi.enabled`",
        "SET spark.a b",
        "SET VAR x = 1",
        "SET VARIABLE x = 1",
        "SET (x, y) = (SELECT 1, 2)",
        "SELECT 1 -- SET spark.a=1",
        "SETTINGS spark.a=1",
        "ALTER TABLE t SET TBLPROPERTIES (a=1)",
        "",
    ],
)
def test_statements_that_change_no_setting(text: str) -> None:
    assert changed_setting(text) is None
