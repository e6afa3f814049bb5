"""Which conditions of a statement show that a file is not needed, and which do not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from sqlglot import exp

from dbt.adapters.ducklake.format.files import ColumnFilter
from dbt.adapters.ducklake.format.objects import Column, Table
from dbt.adapters.ducklake.plan.conditions import Conditions
from dbt.adapters.ducklake.plan.filters import filters_for_condition, filters_for_rows
from dbt.adapters.ducklake.plan.selects import parsed
from dbt.adapters.ducklake.plan.view import Settings
from dbt.adapters.ducklake.sql.references import references
from dbt.adapters.ducklake.sql.values import Reference

T = Table(
    1,
    "u",
    "main",
    "t",
    "/lake/t/",
    tuple(
        Column(index, *pair)
        for index, pair in enumerate(
            [
                ("id", "int32"),
                ("name", "varchar"),
                ("day", "date"),
                ("at", "timestamp"),
                ("created", "timestamptz"),
                ("price", "decimal(10,2)"),
                ("ratio", "float64"),
                ("ok", "boolean"),
                ("fine", "timestamp_ns"),
                ("key", "uuid"),
                ("raw", "blob"),
                ("big", "decimal(38,0)"),
                ("exact", "decimal(38,20)"),
                ("finer", "decimal(38,30)"),
            ],
            start=1,
        )
    ),
    12,
)
OTHER = Table(2, "v", "main", "o", "/lake/o/", (Column(1, "id", "int32"), Column(2, "note", "varchar")), 3)


def shown(filters: object) -> list[str]:
    """Return each filter as `column: low..high | … or NULL`."""
    names = {column.column_id: column.name for column in T.columns}
    texts = []
    for each in filters:  # type: ignore[attr-defined]
        assert isinstance(each, ColumnFilter)
        parts = [f"{range_.low or ''}..{range_.high or ''}" for range_ in each.ranges] + ["NULL"] * each.nulls
        texts.append(f"{names[each.column_id]}: {' | '.join(parts)}")
    return texts


def where(condition: str, *, utc: bool = False) -> list[str]:
    return shown(filters_for_condition(condition, T, "t", Settings("UTC" if utc else "Europe/Berlin")))


def columns_of(reference: Reference) -> list[str] | None:
    table = {"t": T, "o": OTHER}.get(reference.name.parts[-1])
    return None if table is None else [column.name for column in table.columns]


def query(text: str, which: int = 0) -> list[str]:
    """Return the filters for the `which`-th reference to t."""
    sql = references(text)
    found = [each for each in sql.references if each.name.parts[-1] == "t"]
    return shown(filters_for_rows(Conditions(sql, columns_of).on(found[which]), T, Settings()))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("id = 5", "id: 5..5"),
        ("t.id <=> 5", "id: 5..5"),
        ("5 < id", "id: 6.."),
        ("id <= 5.5", "id: ..5"),
        ("id < -5", "id: ..-6"),
        ("id >= 5L", "id: 5.."),
        ("id BETWEEN 2 AND 4", "id: 2..4"),
        ("id IN (1, 7)", "id: 1..1 | 7..7"),
        ("id = 1 OR (id > 5 OR id IS NULL)", "id: 1..1 | 6.. | NULL"),
        ("id IS NULL", "id: NULL"),
        ("id IS NOT NULL", "id: .."),
        ("name = 'x'", "name: x..x"),
        ("name > 'x'", "name: x.."),
        ("name = CAST('x' AS STRING)", "name: x..x"),
        ("name LIKE 'ab%c'", "name: ab..ac"),
        ("name LIKE 'a_'", "name: a..b"),
        ("name LIKE 'ab'", "name: ab..ab"),
        ("day >= '2024-02-01'", "day: 2024-02-01.."),
        ("day < DATE'2024-02-01'", "day: ..2024-01-31"),
        ("day > CAST('2024-02-01' AS DATE)", "day: 2024-02-02.."),
        ("day >= TIMESTAMP'2024-02-02 10:00:00'", "day: 2024-01-31.."),
        ("at >= '2024-02-01'", "at: 2024-02-01 00:00:00.."),
        ("at < DATE'2024-02-01'", "at: ..2024-01-31 23:59:59.999999999"),
        ("at = TIMESTAMP_NTZ'2024-02-01 01:02:03'", "at: 2024-02-01 01:02:03..2024-02-01 01:02:03.000000999"),
        ("at > TIMESTAMP'2024-02-03 00:00:00'", "at: 2024-02-01 00:00:00.."),
        ("created >= '2024-02-03 00:00:00'", "created: 2024-02-01 00:00:00+00.."),
        ("created >= '2024-02-03 01:00:00+01:00'", "created: 2024-02-03 00:00:00+00.."),
        ("fine = TIMESTAMP_NTZ'2024-02-03 00:00:00'", "fine: 2024-02-03 00:00:00..2024-02-03 00:00:00.000000999"),
        ("fine > TIMESTAMP'2024-02-03 00:00:00'", "fine: 2024-02-01 00:00:00.."),
        ("price > 1.005", "price: 1.01.."),
        ("price < 7", "price: ..6.99"),
        ("big = -12345678901234567890123456789012345678", "big: " + "..".join(["-12345678901234567890123456789012345678"] * 2)),
        ("exact > 5", "exact: 5.00000000000000000001.."),
        ("exact > -CAST(5 AS INT)", "exact: -4.99999999999999999999.."),
        ("ratio >= 1e300", "ratio: 1e+300.."),
        ("ratio < 0.1", "ratio: ..0.1"),
        ("ok", "ok: 1..1"),
        ("NOT ok", "ok: 0..0"),
        ("ok IS TRUE", "ok: 1..1"),
        ("CAST(id AS INT) = 5", "id: 5..5"),
        ("price::decimal(10, 2) < 7", "price: ..6.99"),
        ("CAST((CAST(day AS DATE)) AS DATE) >= '2024-02-01'", "day: 2024-02-01.."),
        ("CAST(created AS TIMESTAMP) >= '2024-02-03 00:00:00'", "created: 2024-02-01 00:00:00+00.."),
    ],
)
def test_a_comparison_with_a_constant_is_a_range(condition: str, expected: str) -> None:
    assert where(condition) == [expected]


@pytest.mark.parametrize(
    "condition",
    [
        "id = '5'",
        "id + 1 = 5",
        "id = 1e1",
        "id <> 5",
        "id NOT IN (1, 2)",
        "NOT id = 5",
        "id IN (1, NULL)",
        "id IN (SELECT 1)",
        "id = 1 OR name = 'x'",
        "id = 0.0000000000000000000000000000001",
        "name = 5",
        "name = 'it''s'",
        r"name = 'a\tb'",
        'name = "x"',
        """name = "x" AND lower(name) = 'x'""",
        """name IN ('x', "x")""",
        "name = '${x}'",
        "name LIKE '%a'",
        r"name LIKE 'a\_b%'",
        "name LIKE 'a%' ESCAPE '/'",
        "name NOT LIKE 'a%'",
        "name ILIKE 'a%'",
        "name RLIKE 'a'",
        "name = 'x' COLLATE UTF8_LCASE",
        "lower(name) = 'x'",
        "day = '2024'",
        "day = 20240201",
        "day = '2024-02-30'",
        "day = date_add(DATE'2024-01-01', id)",
        "day = to_date('2024-01-01', 'yyyy-MM-dd')",
        "day = to_date('2024-13-01')",
        "day = date_add('2024-01-01 10:00:00', 1)",
        "day = DATE'2024-01-01' + INTERVAL '1-2' YEAR TO MONTH",
        "day = DATE'9999-12-31' + INTERVAL 1 DAY",
        "day = now",
        "day = last_day(DATE'2024-01-01')",
        "created >= TIMESTAMP'2024-02-03 00:00:00+02:00' - INTERVAL 1 DAY",
        "fine >= current_date()",
        "at = '2024-01-01 00:00:00+01:00'",
        "at = TIMESTAMP'2024-01-01 00:00:00 Europe/Berlin'",
        "fine = '2024-02-03 00:00:00'",
        "fine = DATE'2024-02-03'",
        "fine IN (TIMESTAMP'2024-02-03 00:00:00', '2024-02-03 00:00:00')",
        "price = 1e3",
        "ratio = 'NaN'",
        "ratio = double('NaN')",
        "id = CAST(5 AS TINYINT)",
        "CAST(id AS BIGINT) = 5",
        "CAST(price AS DECIMAL(10, 1)) = 5",
        "CAST(CAST(day AS TIMESTAMP) AS DATE) = '2024-02-01'",
        "CAST(at AS DATE) = '2024-02-01'",
        "CAST(name AS VARCHAR(1)) = 'x'",
        "CAST(day + 1 AS DATE) = '2024-02-01'",
        "key = 'aaaa'",
        "raw = X'00'",
        "other.id = 5",
        "t.id.x = 5",
        "id = :x",
        "id BETWEEN SYMMETRIC 5 AND 1",
        "ok IS NOT TRUE",
        "this is no SQL (",
        "exact = CAST(5 AS BIGINT)",
        "exact = -5L",
        "exact IN (1, 3000000000)",
        "finer = CAST(5 AS INT)",
        "finer IN (5, 6.5)",
        "id = 1 AND ${more}",
        "id = 1 -- \\\n AND name = 'x'\n OR ok",
        "id = 1 -- D:\\\n AND name = 'x'",
    ],
)
def test_an_undecidable_condition_gives_no_filter(condition: str) -> None:
    assert where(condition) == []


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("day >= DATE'2024-01-31' + INTERVAL 1 MONTH", "day: 2024-02-29.."),
        ("day >= INTERVAL '2' DAYS + DATE'2024-01-31'", "day: 2024-02-02.."),
        ("day < DATE'2024-03-01' - 1", "day: ..2024-02-28"),
        ("day >= date_sub(DATE'2024-03-01', 1)", "day: 2024-02-29.."),
        ("day >= date_add('2024-02-28', 2)", "day: 2024-03-01.."),
        ("day >= add_months(DATE'2024-03-31', -1)", "day: 2024-02-29.."),
        ("day = to_date('2024-02-28')", "day: 2024-02-28..2024-02-28"),
        ("day >= trunc(DATE'2024-05-16', 'QUARTER')", "day: 2024-04-01.."),
        ("day BETWEEN DATE('2024-02-28') - INTERVAL 1 WEEK AND DATE('2024-02-28')", "day: 2024-02-21..2024-02-28"),
        ("at >= CAST(DATE'2024-03-01' - 1 AS TIMESTAMP_NTZ)", "at: 2024-02-29 00:00:00.."),
    ],
)
def test_dates_are_computed_from_constants(condition: str, expected: str) -> None:
    assert where(condition, utc=True) == [expected]


@pytest.mark.parametrize(
    "condition",
    [
        "at >= CAST('2024-01-03 23:00:00' AS DATE) + INTERVAL 2 HOURS",
        "at >= CAST(CAST('2024-01-03 23:00:00' AS DATE) AS TIMESTAMP_NTZ)",
        "day > DATE('2024-01-03 23:00:00') + 1",
        "day >= to_date('2024-01-03 23:00:00')",
        "at <= CAST(TIMESTAMP'2024-03-10 02:30:00' AS TIMESTAMP_NTZ)",
        "day = CAST(TIMESTAMP'2024-03-10 23:30:00' - INTERVAL 23 HOURS AS DATE)",
        "at <= CAST(CAST(DATE'2018-11-04' AS TIMESTAMP) AS TIMESTAMP_NTZ)",
        "created >= timestampadd(HOUR, -1, TIMESTAMP'2024-03-01 00:30:00')",
        "created >= dateadd(HOUR, 2, DATE'2024-01-03')",
        "at >= date_trunc('MONTH', TIMESTAMP'1994-12-31 10:00:00')",
        "at >= date_trunc(month, current_timestamp())",
        "day >= trunc(DATE'2024-05-15', month)",
        "day >= trunc(DATE'2024-05-15', \"month\")",
        "at >= timestamp_trunc(current_timestamp(), 'DAY')",
        "at >= ts_or_ds_add('2024-01-01', 1, 'DAY')",
        "day = DATE'2024-01-02' + INTERVAL 12 HOURS",
        "day >= '2024-01-02' + INTERVAL 1 DAY",
        "created <= CAST('2024-02-02 21:00:00+05:00' AS TIMESTAMP WITHOUT TIME ZONE)",
        "CAST(created AS timestamp without time zone) <= '2024-02-02 21:00:00+05:00'",
    ],
)
def test_times_that_time_zones_or_names_of_the_user_decide_are_not_computed(condition: str) -> None:
    assert where(condition, utc=True) == []


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("day >= current_date - INTERVAL 7 DAYS", "day: 2024-03-07.."),
        ("day > date_sub(current_date(), 7)", "day: 2024-03-08.."),
        ("day BETWEEN current_date() - 7 AND current_date()", "day: 2024-03-07.."),
        ("day = curdate()", "day: 2024-03-14.."),
        ("day < current_date()", "day: .."),
        ("day >= date_trunc('month', current_timestamp())", "day: 2024-03-01.."),
        ("day >= CAST(now() AS DATE)", "day: 2024-03-14.."),
        ("created >= current_timestamp - INTERVAL 36 HOURS", "created: 2024-03-12 12:00:00+00.."),
        ("created > dateadd(MONTH, -1, now())", "created: 2024-02-14 00:00:00.001+00.."),
    ],
)
def test_the_current_time_is_only_a_lower_bound(condition: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbt.adapters.ducklake.plan.constants._today", lambda: 19798)  # 2024-03-16
    assert where(condition, utc=True) == [expected.replace("00.001", "00.000001")]


def test_a_column_hides_a_function_without_parentheses() -> None:
    hiding = replace(T, columns=(*T.columns, Column(99, "current_date", "date")))
    assert shown(filters_for_condition("day >= current_date AND id = 1", hiding, "t", Settings())) == ["id: 1..1"]
    assert filters_for_condition("t.day >= current_date", T, "t", Settings(), only_qualified=True) == ()
    assert len(query("SELECT * FROM t JOIN o ON t.id = o.id WHERE day >= current_date")) == 1
    assert query("SELECT * FROM t, (SELECT name AS current_date FROM t) s WHERE day >= current_date") == []
    assert query("SELECT * FROM t, unknown WHERE t.day >= current_date") == []
    assert query("SELECT (SELECT max(id) FROM t WHERE day >= current_date) FROM unknown") == []
    assert query("SELECT 1 FROM unknown WHERE EXISTS (SELECT 1 FROM t WHERE day >= current_date)") == []


def test_each_conjunct_of_a_condition_is_a_filter() -> None:
    assert where("(id > 5 AND (name = 'x' AND lower(name) = 'y')) AND rand() < 1") == ["id: 6..", "name: x..x"]


def test_timestamps_are_exact_if_the_session_zone_is_utc() -> None:
    assert where("created < TIMESTAMP'2024-02-03 00:00:00'", utc=True) == ["created: ..2024-02-02 23:59:59.999999999+00"]
    assert where("day <= TIMESTAMP'2024-02-02 10:00:00'", utc=True) == ["day: ..2024-02-02"]


def test_the_window_of_a_batch_is_exact_for_every_date_and_timestamp_column() -> None:
    """The ends of the window have an offset when dbt writes them. In another zone it is wider by the maximum difference between zones."""
    window = "{0} >= timestamp '2024-02-02 00:00:00+00:00' and {0} < timestamp '2024-02-03 00:00:00+00:00'"
    assert where(window.format("created")) == ["created: 2024-02-02 00:00:00+00..", "created: ..2024-02-02 23:59:59.999999999+00"]
    assert where(window.format("at"), utc=True) == ["at: 2024-02-02 00:00:00..", "at: ..2024-02-02 23:59:59.999999999"]
    assert where(window.format("day"), utc=True) == ["day: 2024-02-02..", "day: ..2024-02-02"]
    assert where(window.format("at")) == ["at: 2024-01-31 00:00:00..", "at: ..2024-02-05 00:00:00"]
    assert where(window.format("day")) == ["day: 2024-01-31..", "day: ..2024-02-05"]
    assert where("day >= timestamp '2024-02-02 00:00:00+09:00'", utc=True) == ["day: 2024-02-02.."]
    assert where("at >= timestamp_ntz '2024-02-02 00:00:00+09:00'", utc=True) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM t WHERE id = 1", ["id: 1..1"]),
        ("EXPLAIN FORMATTED SELECT * FROM main.t AS x WHERE x.id = 1", ["id: 1..1"]),
        ("SELECT * FROM `t` VERSION AS OF 3 AS x WHERE id = 1", ["id: 1..1"]),
        ("SELECT /* é */ * FROM lake.main.t, o WHERE t.id = 1 AND price > 1", ["id: 1..1", "price: 1.01.."]),
        ("SELECT * FROM o LEFT JOIN t ON o.id = t.id WHERE t.id = 1", ["id: 1..1"]),
        ("SELECT * FROM o FULL JOIN t USING (id) WHERE t.name = 'x' AND id = 1", ["name: x..x"]),
        ("SELECT * FROM o LEFT JOIN t ON o.id = t.id WHERE t.id IS NULL", []),
        ("SELECT * FROM t LEFT JOIN o ON o.id = t.id WHERE t.id IS NULL", ["id: NULL"]),
        ("SELECT * FROM t RIGHT JOIN o ON o.id = t.id WHERE t.id IS NULL", []),
        ("SELECT * FROM o ANTI JOIN t ON o.id = t.id WHERE t.id = 1", []),
        ("SELECT * FROM o WHERE EXISTS (SELECT 1 FROM t WHERE t.id = o.id AND day = '2024-01-01')", ["day: 2024-01-01..2024-01-01"]),
        ("WITH c AS (SELECT * FROM t WHERE ok) SELECT * FROM c WHERE id = 1", ["ok: 1..1", "id: 1..1"]),
        ("SELECT * FROM t -- D:\\\nWHERE id = 1", []),
        ("SELECT * FROM t -- D:\\\r\nWHERE id = 1", ["id: 1..1"]),
        ("SELECT * FROM o, t WHERE id = 1", []),
        ("SELECT * FROM (SELECT 1 AS day) s, t WHERE day = '2024-01-01' AND t.id = 1", ["id: 1..1"]),
        ("SELECT * FROM t LATERAL VIEW explode(array(1)) x AS id WHERE id = 1 AND t.id = 2", ["id: 2..2"]),
        ("SELECT * FROM t TABLESAMPLE (10 ROWS) WHERE id = 1", []),
        ("SELECT * FROM t PIVOT (sum(price) FOR id IN (1, 2)) WHERE name = 'x'", []),
        ("SELECT * FROM o JOIN t PIVOT (sum(price) FOR id IN (1, 2)) WHERE name = 'x'", []),
        ("SELECT * FROM t AS x (id, b, c, d, e, f, g, h, i, j, k, l, m, n) WHERE x.id = 1", []),
        ("SELECT * FROM t JOIN t AS t ON true WHERE t.id = 1", []),
        ("SELECT * FROM (t JOIN o ON t.id = o.id) WHERE t.id = 1", []),
        ("SELECT * FROM o JOIN t JOIN (SELECT 1 AS price) ON true ON true WHERE price = 1", []),
        ("FROM t |> WHERE id = 1", []),
        ("SELECT * FROM o ASOF JOIN t ON o.id = t.id WHERE t.id = 1", []),
        ("SELECT * FROM t ASOF LEFT JOIN o USING (id) WHERE t.name = 'x'", []),
        ("SELECT * FROM o ASOF JOIN t MATCH_CONDITION (o.id >= t.id) WHERE t.id = 1", []),  # sqlglot cannot parse this and the following
        ("SELECT * FROM o x ASOF INNER JOIN t y MATCH_CONDITION (x.id >= y.id) ON x.note = y.name WHERE y.id = 1", []),
        ("SELECT * FROM o JOIN t APPROX NEAREST 3 BY DISTANCE abs(o.id - t.id) WHERE t.id = 1", []),
        ("SELECT * FROM o LEFT JOIN t y EXACT NEAREST 3 BY DISTANCE abs(o.id - y.id) WHERE y.id = 1", []),
        ("SELECT count(*) FROM t GROUP BY id HAVING id = 1", []),
        ("SELECT * FROM t QUALIFY row_number() OVER (ORDER BY id) = 1 ", []),
        ("SELECT * FROM o WHERE id = 1 UNION ALL SELECT id, name FROM t", []),
    ],
)
def test_only_the_select_that_contains_the_relation_counts(text: str, expected: list[str]) -> None:
    assert query(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("WITH t AS (SELECT * FROM main.t) SELECT * FROM t WHERE id = 1", ["id: 1..1"]),
        ("WITH a AS (SELECT *, date_trunc('month', day) AS m FROM t) SELECT * FROM a WHERE id = 1", ["id: 1..1"]),
        ("SELECT * FROM o WHERE EXISTS (SELECT 1 FROM (SELECT CAST(CAST(id AS INT) AS INT) FROM t) x WHERE id = 9)", []),
        (
            "WITH a AS (SELECT * FROM t), b AS (SELECT *, upper(name) AS up FROM a WHERE id > 1) SELECT * FROM b WHERE b.ok",
            ["id: 2..", "ok: 1..1"],
        ),
        ("WITH a AS (SELECT * FROM t), b AS (SELECT * FROM o) SELECT * FROM a LEFT JOIN b USING (id) WHERE name = 'x'", ["name: x..x"]),
        ("WITH a AS (SELECT id AS key FROM t), b AS (SELECT A.KEY AS name FROM a) SELECT * FROM b x WHERE x.name = 1", ["id: 1..1"]),
        ("WITH a AS (SELECT id FROM t) SELECT * FROM o WHERE EXISTS (SELECT 1 FROM a WHERE a.id = o.id AND a.id > 1)", ["id: 2.."]),
        ("WITH a AS (SELECT * FROM t), b AS (SELECT note FROM o) SELECT * FROM a, b, b c WHERE id = 1", ["id: 1..1"]),
        (
            "WITH a AS (SELECT CAST(id AS INT) AS key, day::date FROM t) SELECT * FROM a WHERE key = 1 AND day < '2024-01-01'",
            ["id: 1..1", "day: ..2023-12-31"],
        ),
        (
            "SELECT * FROM (SELECT id, upper(name) AS n, current_timestamp() AS c, explode(array(1, 2)) AS e FROM t) WHERE id = 1",
            ["id: 1..1"],
        ),
        ("WITH a AS (SELECT * FROM t) SELECT /*+ BROADCAST(a) */ * FROM a JOIN o ON a.id = o.id WHERE a.id = 1", ["id: 1..1"]),
        ("WITH a AS (SELECT * FROM t LEFT SEMI JOIN o ON t.id = o.id WHERE ok) SELECT * FROM a WHERE id = 1", ["ok: 1..1", "id: 1..1"]),
        ("SELECT * FROM (SELECT * FROM t LEFT ANTI JOIN o USING (id)) WHERE id = 1", ["id: 1..1"]),
        ("WITH a AS (WITH b AS (SELECT * FROM t) SELECT * FROM b) SELECT * FROM a WHERE id = 1", ["id: 1..1"]),
        ("SELECT * FROM (SELECT DISTINCT id, name FROM ((SELECT * FROM t)) ORDER BY id) WHERE id = 1", ["id: 1..1"]),
        ("SELECT * FROM (SELECT t.*, note FROM t JOIN o ON t.id = o.id) s WHERE s.name = 'x'", ["name: x..x"]),
        ("SELECT * FROM (SELECT * EXCEPT (id) FROM t) WHERE name = 'x'", ["name: x..x"]),
        ("SELECT * FROM o LEFT JOIN (SELECT * FROM t) s ON o.id = s.id WHERE s.name = 'x' AND s.id IS NULL", ["name: x..x"]),
        ("SELECT * FROM (SELECT t.id AS i FROM o LEFT JOIN t ON o.id = t.id) WHERE i IS NULL", []),
        ("SELECT * FROM (SELECT t.id AS i FROM t LEFT JOIN o ON o.id = t.id) WHERE i IS NULL", ["id: NULL"]),
        ("SELECT count(*) FROM (SELECT * FROM t) WHERE id = 1 GROUP BY name LIMIT 3", ["id: 1..1"]),
        ("SELECT * FROM (SELECT id FROM t WHERE ok UNION ALL SELECT id FROM o) WHERE id = 1", ["ok: 1..1"]),
    ],
)
def test_conditions_on_a_query_are_conditions_on_its_rows(text: str, expected: list[str]) -> None:
    assert query(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "WITH a AS (SELECT * FROM t) SELECT * FROM a WHERE id = 1 UNION ALL SELECT * FROM a",
        "WITH a AS (SELECT * FROM t) SELECT * FROM a WHERE id = 1 AND ratio > (SELECT avg(ratio) FROM a)",
        "WITH a AS (SELECT * FROM t), b AS (SELECT * FROM a) SELECT * FROM b WHERE id = 1 AND EXISTS (SELECT 1 FROM b)",
        "WITH a AS (SELECT * FROM t) SELECT * FROM a, count_rows(TABLE(a)) WHERE id = 1",
        "WITH a AS (SELECT * FROM t) SELECT * FROM a WHERE id = 1 UNION ALL SELECT * FROM IDENTIFIER('a')",
        "WITH a AS (SELECT * FROM t), A AS (SELECT 1 AS id) SELECT * FROM a WHERE id = 1",
        "WITH a AS (SELECT * FROM t) SELECT * FROM (WITH a AS (SELECT 1 AS id) SELECT * FROM a) WHERE id = 1",
        "WITH RECURSIVE a AS (SELECT * FROM t) SELECT * FROM a WHERE id = 1",
        "WITH a (name, id) AS (SELECT id, name FROM t) SELECT * FROM a WHERE id = 1",
        "WITH a AS (SELECT id, name FROM t) SELECT * FROM a AS x (name, id) WHERE id = 1",
        "WITH a AS (SELECT * FROM t LIMIT 3) SELECT * FROM a WHERE id = 1",
        "SELECT * FROM (SELECT * FROM t LIMIT 3) WHERE id = 1",
        "SELECT * FROM (SELECT * FROM t LIMIT 3 OFFSET 2) WHERE id = 1",
        "SELECT * FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM t) WHERE id = 1",
        "SELECT * FROM (SELECT id, count(*) FROM t GROUP BY ALL) WHERE id = 1",
        "SELECT * FROM (SELECT id, max(ratio) OVER w AS r FROM t WINDOW w AS (ORDER BY id)) WHERE id = 1",
        "SELECT * FROM (SELECT * FROM t QUALIFY rank() OVER (ORDER BY id) = 1) WHERE id = 1",
        "SELECT * FROM (SELECT * FROM t TABLESAMPLE (10 PERCENT)) WHERE id = 1",
        "SELECT * FROM (SELECT id, monotonically_increasing_id() AS n FROM t) WHERE id = 1",
        "SELECT * FROM (SELECT id, cast(1 + rand(3) AS INT) AS n FROM t) WHERE id = 1",
        "SELECT * FROM (SELECT id, of_python(name) AS n FROM t) WHERE id = 1",
        "SELECT * FROM (SELECT id, lake.main.of_lake(name) AS n FROM t) WHERE id = 1",
        "SELECT * FROM (SELECT id FROM t WHERE monotonically_increasing_id() < 3) WHERE id = 1",
        "SELECT * FROM (SELECT t.id FROM t JOIN o ON t.id = o.id AND uuid() > o.note) WHERE id = 1",
        "SELECT * FROM (SELECT id FROM t LATERAL VIEW explode(shuffle(array(1, 2))) x AS y) WHERE id = 1",
        "SELECT * FROM (SELECT abs(id) AS id FROM t) WHERE id = 1",
        "SELECT * FROM (SELECT id AS i, name AS id FROM t) WHERE id = 1 AND i = id",
        "SELECT * FROM (SELECT *, 1 AS id FROM t) WHERE id = 1",
        "SELECT * FROM (SELECT * REPLACE (1 AS id) FROM t) WHERE id = 1",
        "SELECT * FROM (SELECT * EXCEPT (id) FROM t) WHERE id = 1",
        "SELECT * FROM (SELECT name.* FROM t) WHERE id = 1",
        "SELECT * FROM (SELECT t.name.id FROM t) WHERE id = 1",
        "SELECT * FROM (SELECT * FROM t LATERAL VIEW explode(array(1)) x AS y) WHERE id = 1",
        "SELECT * FROM (SELECT * FROM t JOIN o ON t.id = o.id) WHERE id = 1",
        "SELECT * FROM o LEFT JOIN (SELECT * FROM t) s ON o.id = s.id AND s.id = 1",
        "SELECT * FROM o LEFT JOIN (SELECT * FROM t) s ON o.id = s.id WHERE s.id IS NULL",
        "SELECT * FROM o ANTI JOIN (SELECT * FROM t) s ON o.id = s.id WHERE id = 1",
        "SELECT * FROM o WHERE id IN (SELECT id FROM (SELECT * FROM t) s) AND id = 1",
        "SELECT * FROM o, LATERAL (SELECT * FROM t WHERE t.id = o.id) s WHERE s.id = 1",
        "SELECT * FROM (SELECT * FROM t ORDER BY id LIMIT 1 UNION ALL SELECT * FROM t) WHERE id = 1",
        "SELECT name FROM (SELECT name, id FROM t) GROUP BY name HAVING max(id) = 1",
    ],
)
def test_a_query_whose_rows_depend_on_each_other_hides_its_relations(text: str) -> None:
    assert query(text) == []


def test_conditions_leave_the_cached_tree_as_it_is() -> None:
    text = "WITH a AS (SELECT CAST(id AS INT) AS i FROM t WHERE price = 1) SELECT * FROM a WHERE i = 1 AND i IS NOT NULL"
    tree = parsed(text)
    assert tree is not None
    parents = {id(node): node.parent for node in tree.walk()}
    assert query(text) == ["price: 1.00..1.00", "id: 1..1", "id: .."]
    assert {id(node): node.parent for node in tree.walk()} == parents


def test_a_text_that_is_nested_too_deeply_has_no_conditions() -> None:
    steps = "".join(f", c{i} AS (SELECT * FROM c{i - 1})" for i in range(1, 1000))
    assert query(f"WITH c0 AS (SELECT * FROM t){steps} SELECT * FROM c999 WHERE id = 1") == []


def test_the_columns_of_a_query_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Counter[tuple[object, str]] = Counter()

    def counting(self: Conditions, select: object, name: str) -> object:
        found[select, name] += 1
        return original(self, select, name)  # type: ignore[arg-type]

    original = Conditions._found_outputs
    monkeypatch.setattr(Conditions, "_found_outputs", counting)
    steps = "".join(f", c{i} AS (SELECT a.*, b.n AS n{i} FROM c{i - 1} a JOIN c{i - 1} b ON a.id = b.id WHERE ok)" for i in range(1, 20))
    text = f"WITH c0 AS (SELECT id, id AS n, ok FROM t){steps} SELECT * FROM t JOIN c19 c ON t.id = c.id WHERE price = 1 AND t.id = 2"
    assert query(text, 1) == ["price: 1.00..1.00", "id: 2..2"]
    assert found
    assert max(found.values()) == 1


def test_a_condition_is_copied_once_for_each_relation(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[exp.In] = []

    def counting(self: exp.In) -> exp.In:
        copied.append(self)
        return original(self)

    original = exp.In.copy
    monkeypatch.setattr(exp.In, "copy", counting)
    joins = " ".join(f"JOIN t a{i} ON a{i}.id = a.id" for i in range(1, 20))
    steps = "".join(f", c{i} AS (SELECT * FROM c{i - 1})" for i in range(1, 10))
    text = f"WITH c0 AS (SELECT * FROM t){steps} SELECT a.* FROM c9 a {joins} WHERE a.id IN (1, 2)"
    assert [query(text, i) for i in range(20)] == [["id: 1..1 | 2..2"], *[[]] * 19]
    assert len(copied) == 1


def test_two_references_to_one_table_have_separate_filters() -> None:
    text = "SELECT * FROM t AS a JOIN t AS b ON a.id = b.id WHERE a.id = 1 AND b.name = 'x'"
    assert query(text, 0) == ["id: 1..1"]
    assert query(text, 1) == ["name: x..x"]


def test_the_condition_of_a_merge_must_name_the_target() -> None:
    condition = "t.id = s.id AND t.day >= '2024-01-01' AND id = 5"
    assert shown(filters_for_condition(condition, T, "t", Settings(), only_qualified=True)) == ["day: 2024-01-01.."]
