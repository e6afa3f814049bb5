"""The functions for the current time in an expression become constants."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.plan.statement_time import at_time


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("current_timestamp()", "timestamp_micros(7)"),
        ("t.at < CURRENT_TIMESTAMP AND a", "t.at < timestamp_micros(7) AND a"),
        ("now ( ) + INTERVAL 1 DAY", "timestamp_micros(7) + INTERVAL 1 DAY"),
        ("coalesce(localtimestamp, curdate())", "coalesce(CAST(timestamp_micros(7) AS TIMESTAMP_NTZ), CAST(timestamp_micros(7) AS DATE))"),
        ("unix_timestamp()", "unix_seconds(timestamp_micros(7))"),
        ("unix_timestamp(at) + unix_timestamp", "unix_timestamp(at) + unix_timestamp"),
        ("current_time", "CAST(timestamp_micros(7) AS TIME)"),
        ("CURRENT_TIME() > localtime", "CAST(timestamp_micros(7) AS TIME) > CAST(timestamp_micros(7) AS TIME)"),
        ("current_time(0), a", "CAST(CAST(timestamp_micros(7) AS TIME) AS TIME(0)), a"),
        ("coalesce(localtime ( 3 ))", "coalesce(CAST(CAST(timestamp_micros(7) AS TIME) AS TIME(3)))"),
        ("current_time(1 + 2)", "current_time(1 + 2)"),
        ("now(3)", "now(3)"),
        ("now", "now"),
        ("s.current_timestamp", "s.current_timestamp"),
        ("`current_timestamp`", "`current_timestamp`"),
        ("'now()'", "'now()'"),
        ("current_date", "current_date"),
        ("(SELECT max(s.localtime) FROM (SELECT a AS localtime) s)", "(SELECT max(s.localtime) FROM (SELECT a AS localtime) s)"),
        ("(SELECT LocalTime FROM (SELECT a AS localtime))", "(SELECT LocalTime FROM (SELECT a AS localtime))"),
        ("(SELECT localtime FROM (SELECT a AS `localtime`))", "(SELECT localtime FROM (SELECT a AS `localtime`))"),
        ("(SELECT a AS localtime, localtime())", "(SELECT a AS localtime, CAST(timestamp_micros(7) AS TIME))"),
        ("current_date()", "CAST(timestamp_micros(7) AS DATE)"),
        ("(SELECT max(localtime) FROM other)", "(SELECT max(localtime) FROM other)"),
        ("(SELECT max(s.localtime) FROM (SELECT a localtime) s)", "(SELECT max(s.localtime) FROM (SELECT a localtime) s)"),
        ("(FROM other |> WHERE localtime = now())", "(FROM other |> WHERE localtime = now())"),
        ("(FROM other |> WHERE current_date = now())", "(FROM other |> WHERE current_date = timestamp_micros(7))"),
        ("(FROM other |> WHERE other.localtime = now())", "(FROM other |> WHERE other.localtime = timestamp_micros(7))"),
        ("(SELECT current_timestamp) = current_timestamp", "(SELECT current_timestamp) = current_timestamp"),
        ("now() = (SELECT current_timestamp)", "now() = (SELECT current_timestamp)"),
        ("(SELECT 1 AS localtime) < localtime", "(SELECT 1 AS localtime) < CAST(timestamp_micros(7) AS TIME)"),
        ("(SELECT a localtime FROM u) < localtime", "(SELECT a localtime FROM u) < CAST(timestamp_micros(7) AS TIME)"),
        *(
            (f"{query} < current_timestamp", f"{query} < current_timestamp")
            for query in (
                "(SELECT DISTINCT localtime)",
                "(SELECT a FROM u ORDER BY localtime LIMIT 1)",
                "(SELECT max(a) FROM u HAVING localtime)",
                "(VALUES localtime)",
                "(SELECT a FROM u JOIN v ON localtime > v.a)",
                "(SELECT 1 UNION SELECT localtime)",
            )
        ),
        ("exists(a, localtime -> localtime > 1)", "exists(a, localtime -> localtime > 1)"),
        ("extract(HOUR FROM localtime)", "extract(HOUR FROM CAST(timestamp_micros(7) AS TIME))"),
        ("transform(a, (x, localtime) -> x < localtime)", "transform(a, (x, localtime) -> x < localtime)"),
        ("exists(a, `localtime` -> localtime > 1)", "exists(a, `localtime` -> localtime > 1)"),
        ("transform(a, (x, `LocalTime`) -> x < localtime)", "transform(a, (x, `LocalTime`) -> x < localtime)"),
        ("filter(a, x -> x < current_timestamp)", "filter(a, x -> x < timestamp_micros(7))"),
        ("coalesce((SELECT max(z) FROM u), current_timestamp)", "coalesce((SELECT max(z) FROM u), timestamp_micros(7))"),
        ("((SELECT 1) > 0 AND a < current_timestamp)", "((SELECT 1) > 0 AND a < timestamp_micros(7))"),
        ("(WITH w AS (SELECT 1 AS localtime) SELECT (localtime) FROM w)", "(WITH w AS (SELECT 1 AS localtime) SELECT (localtime) FROM w)"),
        ("element_at(map('a', current_timestamp), 'a')", "element_at(map('a', timestamp_micros(7)), 'a')"),
        ("coalesce(map(1, localtimestamp)[1])", "coalesce(map(1, CAST(timestamp_micros(7) AS TIMESTAMP_NTZ))[1])"),
        ("(reduce(a, 0, (x, y) -> x) < current_timestamp)", "(reduce(a, 0, (x, y) -> x) < timestamp_micros(7))"),
        ("(map['a'] < current_timestamp)", "(map['a'] < timestamp_micros(7))"),
        *(
            (f"((SELECT 1 AS localtime UNION SELECT 2) {clause})", f"((SELECT 1 AS localtime UNION SELECT 2) {clause})")
            for clause in (
                "ORDER BY (localtime) DESC LIMIT 1",
                "SORT BY (localtime)",
                "CLUSTER BY (localtime)",
                "DISTRIBUTE BY (localtime)",
                "LIMIT (1) OFFSET (localtime)",
                "OFFSET (localtime)",
                "UNION (SELECT 3) ORDER BY (localtime)",
                "EXCEPT (SELECT 3) ORDER BY (localtime)",
                "MINUS (SELECT 3) ORDER BY (localtime)",
                "INTERSECT (SELECT 3) ORDER BY (localtime)",
            )
        ),
        ("((SELECT z AS localtime FROM u) |> WHERE localtime > 3)", "((SELECT z AS localtime FROM u) |> WHERE localtime > 3)"),
        ("(((SELECT 1 AS localtime)) ORDER BY (localtime))", "(((SELECT 1 AS localtime)) ORDER BY (localtime))"),
        ("struct((a) limit, current_timestamp)", "struct((a) limit, timestamp_micros(7))"),
        ("(((a)) offset, current_timestamp)", "(((a)) offset, timestamp_micros(7))"),
        ("CASE WHEN s.values > 0 THEN current_timestamp END", "CASE WHEN s.values > 0 THEN timestamp_micros(7) END"),
        ("struct(s.a AS localtime, 1 localtime, a[0] localtime)", "struct(s.a AS localtime, 1 localtime, a[0] localtime)"),
        (
            "overlay(a PLACING localtime FROM 1 FOR localtime)",
            "overlay(a PLACING CAST(timestamp_micros(7) AS TIME) FROM 1 FOR CAST(timestamp_micros(7) AS TIME))",
        ),
        ("trim(BOTH localtime FROM a)", "trim(BOTH CAST(timestamp_micros(7) AS TIME) FROM a)"),
        ("trim(LEADING localtime FROM a)", "trim(LEADING CAST(timestamp_micros(7) AS TIME) FROM a)"),
        ("trim(TRAILING localtime FROM a)", "trim(TRAILING CAST(timestamp_micros(7) AS TIME) FROM a)"),
        ("substring(a FROM 1 FOR localtime)", "substring(a FROM 1 FOR CAST(timestamp_micros(7) AS TIME))"),
        ("struct(localtime AS a)", "struct(CAST(timestamp_micros(7) AS TIME) AS a)"),
        ("f(localtime => localtime)", "f(localtime => CAST(timestamp_micros(7) AS TIME))"),
        ("CAST(a AS struct<localtime: int>)", "CAST(a AS struct<localtime: int>)"),
        ("CAST(a AS struct<localtime int>)", "CAST(a AS struct<localtime int>)"),
        ("CAST(a AS struct<x: int, localtime int>).localtime", "CAST(a AS struct<x: int, localtime int>).localtime"),
        (
            "CAST(a AS array<struct<x: map<int, struct<localtime int>>, localtime int>>)",
            "CAST(a AS array<struct<x: map<int, struct<localtime int>>, localtime int>>)",
        ),
        (
            "a::struct<x decimal(3, 2), localtime int> < localtime",
            "a::struct<x decimal(3, 2), localtime int> < CAST(timestamp_micros(7) AS TIME)",
        ),
        ("struct(a::array<int> localtime)", "struct(a::array<int> localtime)"),
        ("map < localtime AND a > localtime", "map < CAST(timestamp_micros(7) AS TIME) AND a > CAST(timestamp_micros(7) AS TIME)"),
        ("struct(s.st.* EXCEPT (localtime))", "struct(s.st.* EXCEPT (localtime))"),
        ("struct(* EXCEPT (a, localtime), localtime)", "struct(* EXCEPT (a, localtime), CAST(timestamp_micros(7) AS TIME))"),
        ("(SELECT * FROM u EXCEPT (SELECT localtime)) = localtime", "(SELECT * FROM u EXCEPT (SELECT localtime)) = localtime"),
        (
            "(SELECT struct(u.* EXCEPT (localtime)) FROM u) = localtime",
            "(SELECT struct(u.* EXCEPT (localtime)) FROM u) = CAST(timestamp_micros(7) AS TIME)",
        ),
    ],
)
def test_the_current_time_is_a_constant(text: str, expected: str) -> None:
    assert at_time(text, 7, ["Current_Date"]) == expected
