"""Variants whose parts DuckDB stored as separate columns ("shredded"), which it does if the rows of a file have one shape."""

from __future__ import annotations

import json

import pytest

from dbt.adapters.ducklake.errors import LakeError
from tests.interop.conftest import Both

CATALOGS = ["sqlite"]
META = "__ducklake_metadata_lake"
TEXTS = {
    "1::TINYINT": "1",
    "'-9223372036854775808'::BIGINT": "-9223372036854775808",
    "9223372036854775807::UBIGINT": "9223372036854775807",
    "1::HUGEINT": "1",
    "true": "true",
    "0.1::FLOAT": "0.1",
    "1e300::DOUBLE": "1e300",
    "123.45::DECIMAL(5, 2)": "123.45",
    "-12345678901234567890.25::DECIMAL(38, 2)": "-12345678901234567890.25",
    "DATE '1969-12-31'": '"1969-12-31"',
    "TIMESTAMP '2020-01-02 03:04:05.6'": '"2020-01-02 03:04:05.6"',
    "TIMESTAMPTZ '2020-01-02 03:04:05.6+00'": '"2020-01-02 03:04:05.6+00:00"',
    "'it''s'": '"it\'s"',
    "'ab'::BLOB": '"YWI="',
    "[1, 2]": "[1,2]",
    "{'b': {'x': 1, 'a': [DATE '2020-01-02']}, 'a': 1.5::DOUBLE}": '{"a":1.5,"b":{"a":["2020-01-02"],"x":1}}',
}
UNREADABLE = {
    "TIMESTAMP_NS '2020-01-02 03:04:05.123456789'": "nanos",
    "TIME '01:02:03'": "time",
    f"'{'f' * 8}-ffff-ffff-ffff-{'f' * 12}'::UUID": "uuid",
}
WIDE = [f"{'kK'[number % 2]}{'' if number % 3 else '😀～'}{number * 7 % 40}" for number in range(40)]
"""Names in no order. From 32 fields on, Spark assumes that the fields of an object are sorted, but DuckDB's need not be."""


@pytest.fixture
def each(both: Both) -> list[str]:
    both.duckdb("SET ducklake_default_data_inlining_row_limit = 0")
    return list(TEXTS)


def test_shredded_values_of_every_type_are_read(both: Both, each: list[str]) -> None:
    both.duckdb("CREATE TABLE t (id INTEGER, v VARIANT)")
    both.duckdb("BEGIN")
    for number, value in enumerate(each):
        both.duckdb(f"INSERT INTO t VALUES ({number}, ({value})::VARIANT)")
    both.duckdb("INSERT INTO t VALUES (100, NULL)")
    both.duckdb("COMMIT")
    assert both.duck.execute(f"SELECT count(*) > {len(each)} FROM {META}.ducklake_file_variant_stats").fetchone() == (True,)
    found = both.session.execute("SELECT to_json(v) FROM t ORDER BY id").fetch()
    assert [(text if text is None else json.loads(text)) for (text,) in found] == [*map(json.loads, TEXTS.values()), None]


def test_fetched_variants_are_json(both: Both) -> None:
    both.duckdb("CREATE TABLE t (id INTEGER, v VARIANT)")
    both.duckdb("INSERT INTO t VALUES (1, {'a': [1, NULL]}::VARIANT), (2, NULL), (3, 'x'::VARIANT)")
    assert both.session.execute("SELECT id, v, v, struct(v) AS s FROM t ORDER BY id").fetch() == [
        (1, '{"a":[1,null]}', '{"a":[1,null]}', '{"v":{"a":[1,null]}}'),
        (2, None, None, "{}"),
        (3, '"x"', '"x"', '{"v":"x"}'),
    ]
    assert both.session.execute("SELECT array(v) FROM t WHERE id = 1").fetch() == [('[{"a":[1,null]}]',)]


@pytest.mark.usefixtures("each")
def test_every_field_of_a_wide_object_is_found(both: Both) -> None:
    wide = "{" + ", ".join(f"'{name}': {number}" for number, name in enumerate(WIDE)) + "}"
    both.duckdb("CREATE TABLE t (id INTEGER, v VARIANT)")
    both.duckdb(f"INSERT INTO t VALUES (1, {wide}::VARIANT)")
    both.duckdb(f"INSERT INTO t SELECT i, i::VARIANT FROM range(10, 30) s(i) UNION ALL SELECT 2, {wide}::VARIANT")
    both.duckdb(f"INSERT INTO t SELECT i, {{'p': i}}::VARIANT FROM range(10, 30) s(i) UNION ALL SELECT 3, {{'p': {wide}}}::VARIANT")
    fields = ", ".join(f"variant_get(CASE id WHEN 3 THEN variant_get(v, '$.p') ELSE v END, '$[\"{name}\"]', 'int')" for name in WIDE)
    found = both.session.execute(f"SELECT id, {fields} FROM t WHERE id < 10 ORDER BY id").fetch()
    assert found == [(number, *range(len(WIDE))) for number in (1, 2, 3)]


@pytest.mark.usefixtures("each")
def test_duckdb_reads_what_spark_shreds(both: Both) -> None:
    rows = (
        'SELECT CAST(id AS INT) AS id, parse_json(\'{"b": "x\' || id || \'", "a": \' || id || \', "l": [1.5, null]}\') AS v FROM range(5)'
    )
    both.spark(f"CREATE TABLE t AS {rows} UNION ALL SELECT 5, NULL")
    (file,) = both.duck.execute("SELECT data_file FROM ducklake_list_files('lake', 't')").fetchone()
    assert both.duck.execute(f"SELECT count(*) > 1 FROM parquet_schema('{file}') WHERE name = 'typed_value'").fetchone() == (True,)
    found = both.duck.execute("SELECT v.a::INTEGER, v.b::VARCHAR, nullif(v.l::JSON::VARCHAR, 'null') FROM t ORDER BY id").fetchall()
    assert found == [*((number, f"x{number}", "[1.5,null]") for number in range(5)), (None, None, None)]
    assert both.duck.execute("SELECT id FROM t WHERE v.a::INTEGER = 3").fetchall() == [(3,)]


@pytest.mark.usefixtures("each")
def test_the_error_for_parts_that_spark_cannot_combine_names_the_column(both: Both) -> None:
    for number, (value, kind) in enumerate(UNREADABLE.items()):
        both.duckdb(f"CREATE TABLE bad{number} AS SELECT 1 AS id, {{'k': {value}}}::VARIANT AS v")
        with pytest.raises(LakeError, match=f"column v of table main.bad{number} has type variant, and a file stores it as .*{kind}"):
            both.session.execute(f"SELECT v FROM bad{number}").fetch()
        assert both.session.execute(f"SELECT id FROM bad{number}").fetch() == [(1,)]


@pytest.mark.nightly
@pytest.mark.usefixtures("each")
def test_shredded_rows_are_changed_and_compacted(both: Both) -> None:
    both.duckdb("CREATE TABLE t (id INTEGER, v VARIANT)")
    for start in (0, 10, 20):
        both.duckdb(f"INSERT INTO t SELECT i, {{'a': i, 'b': 'x' || i}}::VARIANT FROM range({start}, {start + 10}) s(i)")
    both.spark("UPDATE t SET v = parse_json('{\"c\": [1]}') WHERE id = 3")
    both.spark("UPDATE t SET id = 104 WHERE variant_get(v, '$.a', 'int') = 4")
    both.duckdb("DELETE FROM t WHERE v.b = 'x5'")
    both.spark("DELETE FROM t WHERE id BETWEEN 20 AND 28")
    both.duckdb("INSERT INTO t SELECT 200, {'a': 7::BIGINT, 'b': 'y'}::VARIANT")

    def history() -> list[list[tuple[object, ...]]]:
        shown = []
        for version in range(2, last + 1):
            theirs = both.duck.execute(f"SELECT id, rowid, v::JSON::VARCHAR FROM t AT (VERSION => {version}) ORDER BY id").fetchall()
            ours = both.session.execute(f"SELECT id, to_json(v) FROM t VERSION AS OF {version} ORDER BY id").fetch()
            assert [(key, json.loads(text)) for key, text in ours] == [(key, json.loads(text)) for key, _, text in theirs], version
            shown.append([(key, row, json.loads(text)) for key, row, text in theirs])
        return shown

    last = both.snapshots() - 1
    before = history()
    both.spark("CALL rewrite_data_files(table_name => 't', delete_threshold => 0.1)")
    both.spark("CALL merge_adjacent_files(table_name => 't')")
    assert both.snapshots() - 1 > last
    assert history() == before
    last_rows = "SELECT id, rowid, v.a::INTEGER FROM t WHERE v.a::INTEGER = 7 ORDER BY id"  # DuckDB prunes by the remaining statistics
    assert both.duck.execute(last_rows).fetchall() == [(7, 7, 7), (200, before[-1][-1][1], 7)]
