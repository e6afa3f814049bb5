"""Views and defaults are translated to DuckDB's dialect where possible, and from it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlglot
from sqlglot import exp

from dbt.adapters.ducklake.sql.references import references
from dbt.adapters.ducklake.sql.values import Name, Reference
from dbt.adapters.ducklake.translate.dialects import qualify, selected_texts, to_duckdb, to_spark, untranslatable_part
from tests.duckdb_instances import open_duckdb


def full_name(reference: Reference) -> Name | None:
    """Return schema and name in this lake; three parts in the lake `Other`; None for `elsewhere`, which is no lake."""
    parts = reference.name.parts
    if parts[0] == "other":
        return Name(("Other", *parts[1:]))
    return None if parts[0] == "elsewhere" else Name(("main", *parts)[-2:])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select * from t", "select * from {DUCKLAKE_CATALOG}.`main`.`t`"),
        ("select t.a from s.t, `a b` x", "select t.a from {DUCKLAKE_CATALOG}.`s`.`t`, {DUCKLAKE_CATALOG}.`main`.`a b` x"),
        ("select lake.s.t.a from lake.s.t", "select lake.s.t.a from {DUCKLAKE_CATALOG}.`s`.`t`"),
        ("with t as (select * from u) select * from t", "with t as (select * from {DUCKLAKE_CATALOG}.`main`.`u`) select * from t"),
        ("select * from t version as of 3 x", "select * from {DUCKLAKE_CATALOG}.`main`.`t` version as of 3 x"),
        ("select * from elsewhere.t", "select * from elsewhere.t"),
        ("select * from other.s.t, t", "select * from `Other`.`s`.`t`, {DUCKLAKE_CATALOG}.`main`.`t` AS `t`"),
        (
            "select 'ü😀' from /* t */ t -- t\n, u",
            "select 'ü😀' from /* t */ {DUCKLAKE_CATALOG}.`main`.`t` -- t\n, {DUCKLAKE_CATALOG}.`main`.`u`",
        ),
    ],
)
def test_names_are_written_in_full(text: str, expected: str) -> None:
    assert qualify(references(text), full_name) == expected


def test_the_placeholder_of_the_lake_is_parsed_as_a_name() -> None:
    found = references("select {DUCKLAKE_CATALOG}.main.t.a from {DUCKLAKE_CATALOG}.main.t")
    assert [r.name for r in found.references] == [Name(("{DUCKLAKE_CATALOG}", "main", "t"))]
    assert len(found.qualifiers) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('select `a b`, "c" from {DUCKLAKE_CATALOG}.`s`.`t`', 'SELECT "a b", \'c\' FROM {DUCKLAKE_CATALOG}."s"."t"'),
        ("select cast(a as double), count(*) > 1 from t", "SELECT CAST(a AS DOUBLE), COUNT(*) > 1 FROM t"),
        ("select try_cast(b as int) from t", None),
        ("select * from t version as of 3 x", "SELECT * FROM t AS x AT (VERSION => 3)"),
        ("select x.i from t as x at (version => 3)", 'SELECT x.i FROM t AS "x" AT (VERSION => 3)'),
        ("select * from t timestamp as of '2026-01-01'", "SELECT * FROM t AT (TIMESTAMP => '2026-01-01')"),
        ("select collect_list(a) from t", "SELECT (COALESCE(ARRAY_AGG(a) FILTER(WHERE NOT a IS NULL), [])) FROM t"),
        ("select z - interval 30 hours from t", "SELECT (z - INTERVAL '1' DAY - INTERVAL '6' HOUR) FROM t"),
        (
            "select o.*, c.* except (a) from o left join c using (id, k)",
            "SELECT o.id, o.k, o.* EXCLUDE (id, k), c.id, c.k, c.* EXCLUDE (a, id, k) FROM o LEFT JOIN c USING (id, k)",
        ),
        ("select s.o.* except (ID) from s.o join c using (id)", "SELECT s.o.* EXCLUDE (ID) FROM s.o JOIN c USING (id)"),
        ("select m.* from o join c using (id) join m on m.a = c.a", "SELECT m.* FROM o JOIN c USING (id) JOIN m ON m.a = c.a"),
        ("select o.* from a.o join b.o using (id)", None),
        ("select my_function(a) from t", None),
        ("select a from t order by a", "SELECT a FROM t ORDER BY a NULLS FIRST"),
        ("select '''a''''b''', \"c\"\"d\", '', 'é\\''''", "SELECT '''a''''b''', 'c\"d', '', 'é'''''"),
        ("select 'a' 'b'", "SELECT 'a' || 'b'"),
        ("select r'a''b'", None),
        ("select ~k + 5, o = isnull(q)", "SELECT (-1 - k) + 5, o = (q IS NULL)"),
        ("select date_format(d, 'yyyy-MM'), trunc(d, 'mon')", "SELECT (STRFTIME(d, '%Y-%m')), (CAST(DATE_TRUNC('MONTH', d) AS DATE))"),
        ("select 1; select 2", None),
        ("select from where", None),
        ("select 'a", None),
    ],
)
def test_spark_sql_is_translated_to_duckdb_only_if_the_meaning_is_the_same(text: str, expected: str | None) -> None:
    assert to_duckdb(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'SELECT "a b", i::DOUBLE AS k FROM {DUCKLAKE_CATALOG}.main.t',
            "SELECT `a b`, CAST(i AS DOUBLE) AS k FROM {DUCKLAKE_CATALOG}.main.t",
        ),
        ("(1 + 2)", "(1 + 2)"),
        ("CAST('t' AS BOOLEAN)", "CAST('t' AS BOOLEAN)"),
        ("now()", "CURRENT_TIMESTAMP()"),
        ("uuid()", "UUID()"),
        ("SELECT main.list_value(a, 1) AS l, main.\"position\"(s, 'x') AS p", "SELECT ARRAY(a, 1) AS l, LOCATE('x', s) AS p"),
        ('SELECT CAST(a AS "DATE") AS "DATE"', "SELECT CAST(a AS DATE) AS `DATE`"),
        ("SELECT l[2], l[-1], m['k'] FROM t", "SELECT TRY_ELEMENT_AT(l, 2), TRY_ELEMENT_AT(l, -1), m['k'] FROM t"),
        ("SELECT a FROM t ORDER BY a", "SELECT a FROM t ORDER BY a NULLS LAST"),
        (
            "SELECT o.*, id + 1 AS n FROM o LEFT JOIN c AS d USING (id, k) WHERE k > 1 ORDER BY id DESC",
            "SELECT o.*, `o`.id + 1 AS n FROM o LEFT JOIN c AS d ON `o`.id = `d`.id AND `o`.k = `d`.k WHERE `o`.k > 1 ORDER BY `o`.id DESC",
        ),
        (
            "SELECT *, o.a FROM o JOIN c USING (id) LEFT JOIN d USING (k)",
            "SELECT * EXCEPT (`d`.k), _joined.a FROM (SELECT * EXCEPT (`c`.id) FROM o JOIN c ON `o`.id = `c`.id) AS _joined LEFT JOIN d ON `_joined`.k = `d`.k",
        ),
        ("SELECT o.* FROM o JOIN (SELECT id FROM c) USING (id)", None),
        ("SELECT o.*, id.a FROM o JOIN c USING (id)", None),
        (
            "SELECT z - INTERVAL 24 HOUR FROM t",
            "SELECT (COALESCE(z, CAST(NULL AS TIMESTAMP_NTZ)) - MAKE_DT_INTERVAL(0, 23, 0, 0) - MAKE_DT_INTERVAL(0, 1, 0, 0)) FROM t",
        ),
        (
            "SELECT z + to_minutes(2878) FROM t",
            "SELECT (COALESCE(z, CAST(NULL AS TIMESTAMP_NTZ)) + MAKE_DT_INTERVAL(0, 0, 1439, 0) + MAKE_DT_INTERVAL(0, 0, 1439, 0)) FROM t",
        ),
        (
            "SELECT z + INTERVAL 921 HOUR FROM t",
            "SELECT (COALESCE(z, CAST(NULL AS TIMESTAMP_NTZ)) + MAKE_DT_INTERVAL(0, 921, 0, 0)) FROM t",
        ),
        ("SELECT some_macro(a) FROM t", None),
        ("SELECT * FROM", None),
    ],
)
def test_duckdb_sql_is_translated_to_spark_only_if_the_meaning_is_the_same(text: str, expected: str | None) -> None:
    assert to_spark(text) == expected


def test_the_untranslatable_part_is_named() -> None:
    assert untranslatable_part("SELECT a, median(b + 1) AS m FROM t") == "MEDIAN(b + 1)"
    assert untranslatable_part("SELECT list_sum(a) FROM t") == "LIST_SUM(a)"


def test_a_text_that_would_grow_too_long_is_not_translated() -> None:
    text = "a"
    for _ in range(12):
        text = f"CAST({text} + 1.5 AS INTEGER)"
    assert to_spark(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 'x, FROM', a, (a + 1) AS n FROM t", ("'x, FROM'", "a", "(a + 1) AS n")),
        ("SELECT main.list_value(1, a), s['x'] FROM t", ("main.list_value(1, a)", "s['x']")),
        ("SELECT (a IN (SELECT b FROM u)), count() OVER ()", ("(a IN (SELECT b FROM u))", "count() OVER ()")),
        ("SELECT DISTINCT (a % 2) FROM t ORDER BY 1 LIMIT 1", ("(a % 2)",)),
        ("(SELECT (a + 1) FROM t) UNION ALL (SELECT 5)", ("(a + 1)",)),
        ("WITH c(x) AS (SELECT 1)SELECT *, max(a) FROM c , t", ("*", "max(a)")),
        ("WITH c AS (SELECT 1)(SELECT (a + 1) FROM t) UNION (SELECT 2)", ("(a + 1)",)),
        ("VALUES (1)", ()),
        ("SELECT 'unclosed", ()),
    ],
)
def test_selected_texts_are_the_names_of_duckdb(text: str, expected: tuple[str, ...]) -> None:
    assert selected_texts(text) == expected


def test_a_comment_that_goes_on_in_the_next_line_has_no_counterpart() -> None:
    assert to_duckdb("SELECT a FROM t WHERE a < 9 -- D:\\x\\\n AND a > 1\n AND a < 8") is None


def test_expressions_keep_the_names_of_the_other_engine() -> None:
    assert to_spark("SELECT count_star(), 'a', 1 FROM t", names=("count_star()", "'a'", "1")) == (
        "SELECT COUNT(*) AS `count_star()`, 'a' AS `'a'`, 1 FROM t"
    )
    assert to_duckdb("SELECT count(*), 'a', 1e10D, 1, a FROM t", names=("count(1)", "a", "1.0E10", "1", "a")) == (
        'SELECT COUNT(*) AS "count(1)", \'a\' AS "a", CAST(1e10 AS DOUBLE) AS "1.0E10", 1, a FROM t'
    )


@pytest.mark.parametrize(
    "value",
    [
        "CAST(CAST('1e10' AS DOUBLE) AS STRING)",
        "ceil(2.5D)",
        "CAST(CAST('2020-11-01' AS DATE) AS TIMESTAMP)",
        "CAST(1700000000 AS TIMESTAMP)",
        "CAST(1 AS DATE)",
        "CAST(0.285e0 AS DECIMAL(3,2))",
        "CAST(-0.285e0 AS DECIMAL(3,2))",
        "CAST(0.285D AS DECIMAL(3,2))",
        "CAST(CAST(0.285 AS DOUBLE) AS DECIMAL(3,2))",
        "CAST((CAST('0.285' AS DOUBLE)) AS DECIMAL(3,2))",
        "CAST(CAST('1d' AS STRING) AS DOUBLE)",
        "CAST('1d' AS DOUBLE)",
        "X'41'",
    ],
)
def test_expressions_in_values_have_no_counterpart(value: str) -> None:
    assert to_duckdb(f"SELECT a FROM VALUES ({value}) AS v(a)") is None


@pytest.mark.parametrize(
    "value",
    [
        *("CAST(1 AS BIGINT)", "-1", "-1.5e0", "2.5D", "true", "'x'", "NULL", "CAST(NULL AS DATE)", "CAST('2020-11-01' AS DATE)"),
        *("CAST('0.285' AS DECIMAL(3,2))", "CAST(0.285 AS DECIMAL(3,2))", "CAST(CAST(1 AS BIGINT) AS DECIMAL(3,1))", "CAST(-1 AS DOUBLE)"),
        *("TIMESTAMP '2024-01-01 00:00:00'", "CAST(1.5 AS FLOAT)", "CAST(1.5D AS FLOAT)", "CAST(true AS INT)", "CAST('1.5' AS DOUBLE)"),
    ],
)
def test_constants_in_values_have_a_counterpart(value: str) -> None:
    assert to_duckdb(f"SELECT a FROM VALUES ({value}), (NULL) AS v(a)") is not None


@pytest.mark.parametrize(
    "rows",
    [
        *("(1.5F), (0.285)", "(CAST(1 AS FLOAT)), (NULL), (2), (-2.5)", "('x'), (1)", "('2020-01-01'), (DATE '2020-01-01')"),
        *("(DATE '2020-01-01'), (TIMESTAMP '2020-01-01 00:00:00')", "(true), (1)", "(1, 2), (1, 'x')"),
        *(f"(CAST(1 AS BIGINT)), (0.{'1' * 19})", f"(1), (-0.{'1' * 29})", f"(2147483648), (NULL), (0.{'1' * 19})"),
        *("(CAST(1 AS BIGINT)), (CAST(0.5 AS DECIMAL(38,19)))", "(CAST(1 AS SMALLINT)), (CAST('0.5' AS DECIMAL(38,34)))"),
        *("(CAST(100 AS TINYINT)), (1)", "(-1), (NULL), (CAST('100' AS SMALLINT))", "((2)), (CAST(1 AS TINYINT))"),
        *("(-0.1), (CAST('0.5' AS DECIMAL(38,38)))", "(CAST('0.5' AS DECIMAL(37,37))), (NULL), (00.5)"),
    ],
)
def test_values_of_different_types_have_no_counterpart(rows: str) -> None:
    names = "a, b" if "," in rows.partition(")")[0] else "a"
    assert to_duckdb(f"SELECT a FROM VALUES {rows} AS v({names})") is None
    assert to_spark(f"SELECT a FROM (VALUES {rows.replace('1.5F', 'CAST(1.5 AS FLOAT)')}) AS v({names})") is None


@pytest.mark.parametrize(
    "rows",
    [
        *("(1), (2.5), (3e0), (NULL)", "('x'), (CAST('y' AS STRING))", "(1.5F), (2)", "(CAST(1 AS BIGINT)), (-1)"),
        *(f"(CAST(1 AS BIGINT)), (0.{'1' * 18})", f"(1), (-0.{'1' * 28})", "(CAST(1 AS SMALLINT)), (CAST('0.5' AS DECIMAL(38,33)))"),
        *("(2147483648), (1), (0.5)", "(1e0), (CAST(0.5 AS DECIMAL(38,38)))"),
        *("(CAST(100 AS TINYINT)), (CAST(1 AS SMALLINT)), (CAST(1 AS INT))", "(CAST(1 AS TINYINT)), (0.5)"),
        *("(-0.1), (CAST('0.5' AS DECIMAL(37,37)))", "(CAST(1 AS DECIMAL(38,0))), (CAST('0.5' AS DECIMAL(38,38)))"),
    ],
)
def test_values_with_the_same_common_type_in_both_engines_have_a_counterpart(rows: str) -> None:
    assert to_duckdb(f"SELECT a FROM VALUES {rows} AS v(a)") is not None


@pytest.mark.parametrize(
    "number", [f"0.{'1' * 38}", f"0.{'0' * 38}", f".{'1' * 38}", f"00.{'1' * 37}", f"1234.{'1' * 35}", f"{'1' * 38}.0", f"{'1' * 39}."]
)
def test_decimals_that_are_floating_point_numbers_in_duckdb_have_no_counterpart(number: str) -> None:
    for query in (f"SELECT {number} AS a", f"SELECT a FROM (VALUES (-{number})) AS v(a)", f"SELECT CAST({number} AS DECIMAL(38,38)) AS a"):
        assert to_duckdb(query) is None
        assert to_spark(query) is None


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        *((f"0.{'1' * 37}", "DECIMAL(38,37)"), (f".{'1' * 37}", "DECIMAL(38,37)"), (f"00.{'1' * 36}", "DECIMAL(38,36)")),
        *((f"1234.{'1' * 34}", "DECIMAL(38,34)"), (f"{'1' * 38}.", "DECIMAL(38,0)"), (f"{'0' * 40}5", "INTEGER")),
        *((f"0.{'1' * 38}e0", "DOUBLE"), ("1e-40", "DOUBLE")),
    ],
)
def test_longest_numbers_with_a_counterpart(number: str, kind: str) -> None:
    text = to_duckdb(f"SELECT {number} AS a")
    assert text is not None
    assert to_spark(f"SELECT {number} AS a") is not None
    with open_duckdb() as duck:
        assert duck.execute(f"SELECT typeof(a), a = {number} FROM ({text})").fetchall() == [(kind, True)]


def test_only_plain_texts_are_cast_to_floating_point_numbers() -> None:
    for text in ("1", "-1.5", "+.5", "1.", "1e5", " 2.5E-3 ", "NaN", "-Infinity", "inf"):
        assert to_duckdb(f"SELECT CAST('{text}' AS DOUBLE) AS a") is not None, text
    for text in ("1d", "1F", "1_0", "0x1p3", "", "1,5", "+inf"):
        assert to_duckdb(f"SELECT CAST('{text}' AS DOUBLE) AS a") is None, text
        assert to_duckdb(f"SELECT CAST(('{text}') AS DOUBLE) AS a") is None, text
        assert to_spark(f"SELECT CAST('{text}' AS FLOAT) AS a") is None, text


def test_values_without_an_alias_have_no_counterpart() -> None:
    assert to_spark("VALUES (1)") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("with trunc(a) as (select i from t) select x.a from trunc x", "WITH trunc(a) AS (SELECT i FROM t) SELECT x.a FROM trunc AS x"),
        ("select date_trunc.a from (select i from t) date_trunc(a)", "SELECT date_trunc.a FROM (SELECT i FROM t) AS date_trunc(a)"),
        ("select trunc(d, 'Y') from t", None),
        ("select `DATE_FORMAT`(d, 'Y') from t", None),
        ("select 'a\ue000' as a from t", "SELECT 'a\ue000' AS a FROM t"),
        ("select 'trunc\ue000' as a from t", "SELECT 'trunc\ue000' AS a FROM t"),
    ],
)
def test_a_name_that_sqlglot_must_not_know_as_a_function_stays_as_it_is(text: str, expected: str | None) -> None:
    assert to_duckdb(text) == expected


def test_no_class_of_sqlglot_that_may_be_compiled_is_subclassed() -> None:
    def subclasses(parent: type) -> Iterator[type]:
        for each in type.__subclasses__(parent):
            yield each
            yield from subclasses(each)

    compiled = (sqlglot.Parser, sqlglot.Generator, sqlglot.Tokenizer, exp.Expr)
    assert [each for parent in compiled for each in subclasses(parent) if each.__module__.startswith("dbt.")] == []
