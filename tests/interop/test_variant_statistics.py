"""Statistics of the parts of variants that are stored as separate columns: they equal those of DuckDB and cause no wrong pruning."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dbt.adapters.ducklake.errors import DataError
from tests.interop.conftest import Both

CATALOGS = ["sqlite"]
META = "__ducklake_metadata_lake"
SAME = {
    "whole": ("(i * 1000000)::BIGINT", "i * 1000000L"),
    "text": ("'it''s ' || i", "'it''s ' || i"),
    "truth": ("i > 1", "i > 1"),
    "real": ("i / 8::DOUBLE", "i / 8D"),
    "day": ("DATE '2020-01-01' + i", "date_add(DATE'2020-01-01', i)"),
    "instant": (
        "TIMESTAMPTZ '2020-01-01 00:00:00.5+00' + to_seconds(i)",
        "timestampadd(SECOND, i, TIMESTAMP'2020-01-01 00:00:00.5Z')",
    ),
    "local": (
        "TIMESTAMP '2020-01-01 00:00:00.5' + to_seconds(i)",
        "timestampadd(SECOND, i, TIMESTAMP_NTZ'2020-01-01 00:00:00.5')",
    ),
    "bytes": ("('x' || i)::BLOB", "CAST('x' || i AS BINARY)"),
    "money": ("(i + 0.25)::DECIMAL(18, 2)", "CAST(i + 0.25BD AS DECIMAL(18, 2))"),
    "list": ("['a' || i, 'b']", "array('a' || i, 'b')"),
    "object": (
        "{'n': {'m': 'x' || i}, 'l': [i / 8::DOUBLE]}",
        "to_variant_object(named_struct('n', named_struct('m', 'x' || i), 'l', array(i / 8D)))",
    ),
}


def file_rows(both: Both, table: str) -> dict[tuple[str, str], tuple[Any, ...]]:
    """Return what `ducklake_file_variant_stats` contains for a live file, by column and path."""
    rows = both.duck.execute(
        f"SELECT c.column_name, variant_path, shredded_type, value_count, null_count, min_value, max_value, contains_nan, extra_stats "
        f"FROM {META}.ducklake_file_variant_stats s JOIN {META}.ducklake_table t USING (table_id) "
        f"JOIN {META}.ducklake_column c USING (table_id, column_id) JOIN {META}.ducklake_data_file d USING (data_file_id) "
        f"WHERE table_name = '{table}' AND d.end_snapshot IS NULL"
    ).fetchall()
    return {row[:2]: row[2:] for row in rows}


def extra_stats(both: Both, table: str, source: str) -> dict[str, Any]:
    """Return the parts of the JSON text, by column, without their sizes."""
    rows = both.duck.execute(
        f"SELECT c.column_name, s.extra_stats FROM {META}.{source} s JOIN {META}.ducklake_table t USING (table_id) "
        f"JOIN {META}.ducklake_column c USING (table_id, column_id) WHERE table_name = '{table}' AND c.column_type = 'variant'"
    ).fetchall()
    return {name: None if text is None else sorted(map(_without_size, json.loads(text)), key=repr) for name, text in rows}


def _without_size(part: dict[str, Any]) -> dict[str, Any]:
    assert part.pop("column_size_bytes") > 0
    return part


@pytest.fixture
def filed(both: Both) -> Both:
    both.duckdb("SET ducklake_default_data_inlining_row_limit = 0")
    return both


def test_statistics_equal_those_of_duckdb(filed: Both) -> None:
    theirs = ", ".join(f"CASE WHEN i <> 2 THEN ({value})::VARIANT END AS {name}" for name, (value, _) in SAME.items())
    ours = ", ".join(f"CASE WHEN i <> 2 THEN CAST({value} AS VARIANT) END AS {name}" for name, (_, value) in SAME.items())
    filed.duckdb(f"CREATE TABLE theirs AS SELECT {theirs} FROM (SELECT i::INTEGER AS i FROM range(4) s(i))")
    filed.spark(f"CREATE TABLE ours AS SELECT {ours} FROM (SELECT CAST(id AS INT) AS i FROM range(4))")
    assert file_rows(filed, "ours") == file_rows(filed, "theirs")
    assert len(file_rows(filed, "ours")) == len(SAME) + 1
    for source in ("ducklake_file_column_stats", "ducklake_table_column_stats"):
        assert extra_stats(filed, "ours", source) == extra_stats(filed, "theirs", source)
    counts = (
        "SELECT DISTINCT value_count, null_count, min_value, max_value FROM {0}.ducklake_file_column_stats WHERE extra_stats IS NOT NULL"
    )
    assert filed.duck.execute(counts.format(META)).fetchall() == [(4, 0, None, None)]


CONDITIONS = [
    *(f"v.a::BIGINT {sign} {value}" for sign in ("=", "<", ">") for value in (1, 2, 50, 99, 1000)),
    *("v.a IS NULL", "v.a::BIGINT IS NULL", "v.a IS NOT NULL", "v IS NULL", "v IS NOT NULL", "v.b IS NULL", "v.c.d IS NULL"),
    *("v.b::VARCHAR = 'x1'", "v.b::VARCHAR < 'x5'", "v.b::VARCHAR > 'x5'", "v.c.d::VARCHAR >= 'x'", "v.missing IS NULL"),
    *("v::VARCHAR = '7'", "w.a::BIGINT = 3", "w.a IS NULL", "w.a::BIGINT > 3"),
]


class Checked:
    """A table that is checked after each statement."""

    def __init__(self, both: Both) -> None:
        self.both = both

    def after(self, statement: str, paths: str, *, by_duckdb: bool = False) -> None:
        """Run a statement and check the table.

        Every condition must find the rows that it finds in a copy, the table must have `paths`, and only live files have statistics.
        """
        (self.both.duckdb if by_duckdb else self.both.spark)(statement)
        duck = self.both.duck
        duck.execute("CREATE OR REPLACE TEMP TABLE copy AS FROM t")
        names = {name for name, *_ in duck.execute("DESCRIBE t").fetchall()}
        where = [each for each in CONDITIONS if each[0] in names]
        asked = [f"(SELECT list(id ORDER BY id) FROM {{0}} WHERE {each})" for each in where]
        asked += [f"(SELECT {each} FROM {{0}})" for each in ("min(v.a::BIGINT)", "max(v.a::BIGINT)", "min(v.b::VARCHAR)", "count(v.b)")]
        found, expected = (duck.execute(f"SELECT {', '.join(asked)}".format(source)).fetchone() for source in ("t", "copy"))
        assert dict(zip(asked, found, strict=True)) == dict(zip(asked, expected, strict=True)), statement
        known = extra_stats(self.both, "t", "ducklake_table_column_stats").get("v") or []
        assert " ".join(sorted(part["field_name"] for part in known)) == paths, statement
        lost = f"SELECT count(*) FROM {META}.ducklake_file_variant_stats ANTI JOIN {META}.ducklake_data_file USING (data_file_id)"
        assert duck.execute(lost).fetchone() == (0,)
        ours = self.both.session.execute("SELECT id, to_json(v) FROM t ORDER BY id").fetch()
        theirs = duck.execute("SELECT id, nullif(v::JSON::VARCHAR, 'null') FROM t ORDER BY id").fetchall()
        assert [(key, text and json.loads(text)) for key, text in ours] == [(key, text and json.loads(text)) for key, text in theirs]


@pytest.mark.nightly
def test_duckdb_finds_every_row_after_either_writer(filed: Both) -> None:
    filed.spark("CREATE TABLE t (id INT, v VARIANT)")
    t = Checked(filed)
    objects = 'parse_json(\'{{"a": \' || {0} || \', "b": "x\' || {0} || \'", "c": {{"d": "x"}}}}\')'
    everything = '"a" "b" "c"."d"'
    t.after(f"INSERT INTO t SELECT CAST(id AS INT), {objects.format('id')} FROM range(1, 4)", everything)
    t.after(
        "INSERT INTO t SELECT i::INTEGER, {'a': i, 'b': 'x' || i, 'c': {'d': 'y'}}::VARIANT FROM range(50, 52) s(i)",
        everything,
        by_duckdb=True,
    )
    rows = [f'({key}, parse_json(\'{{"b": "w", "c": {{"d": {text}}}, "a": 99}}\'))' for key, text in ((60, "null"), (61, '"q"'))]
    t.after(f"INSERT INTO t VALUES {', '.join(rows)}", everything)
    t.after('UPDATE t SET v = parse_json(\'{"a": 1000, "b": null, "c": {"d": "z"}}\') WHERE id = 2', '"a" "c"."d"')
    t.after("CALL rewrite_data_files(table_name => 't', delete_threshold => 0.1)", '"a" "c"."d"')
    t.after("CALL merge_adjacent_files(table_name => 't')", '"a" "c"."d"')
    assert {path for _, path in file_rows(filed, "t")} == {'"a"', '"b"', '"c"."d"'}  # of the one remaining file
    t.after(
        "INSERT INTO t SELECT i::INTEGER, {'a': i, 'b': 'x', 'c': {'d': 'y'}}::VARIANT FROM range(52, 54) s(i)",
        '"a" "c"."d"',
        by_duckdb=True,
    )
    t.after("CALL ducklake_merge_adjacent_files('lake')", '"a" "c"."d"', by_duckdb=True)
    t.after("ALTER TABLE t ADD COLUMN w VARIANT", '"a" "c"."d"')
    t.after('INSERT INTO t VALUES (70, parse_json(\'{"b": "x", "a": 7, "c": 1}\'), parse_json(\'{"a": 3}\'))', '"a"')
    assert "w" not in extra_stats(filed, "t", "ducklake_table_column_stats")
    before, rows_before = filed.snapshots() - 1, set(file_rows(filed, "t"))
    t.after("MERGE INTO t USING (SELECT 71 AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, v) VALUES (71, parse_json('7'))", "")
    t.after("INSERT INTO t VALUES (72, {'a': 5::BIGINT}::VARIANT, NULL)", "", by_duckdb=True)
    t.after("CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)", "", by_duckdb=True)
    t.after(f"CALL ducklake_rollback('lake', version => {before}, table_name => 't')", "")
    assert set(file_rows(filed, "t")) == rows_before
    t.after("CALL expire_snapshots(older_than => now())", "")
    t.after("DELETE FROM t", "")


def test_a_null_hides_no_rows(filed: Both) -> None:
    filed.spark("CREATE TABLE t AS SELECT 1 AS id, parse_json('{\"a\": 1}') AS v")
    t = Checked(filed)
    t.after("INSERT INTO t VALUES (2, NULL)", "")
    filed.spark("CREATE OR REPLACE TABLE t AS SELECT 1 AS id, parse_json('{\"a\": 1}') AS v")
    t.after("INSERT INTO t VALUES (3, parse_json('{\"a\": 2}')), (4, NULL)", "")


def test_a_null_in_a_not_null_column_is_refused(filed: Both) -> None:
    filed.spark("CREATE TABLE t (v VARIANT NOT NULL)")
    with pytest.raises(DataError, match="column v is NOT NULL"):
        filed.spark("INSERT INTO t VALUES (NULL)")
