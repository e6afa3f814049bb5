"""Locations of files in the syntax of Spark's SQL."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.external_location import file_relation, formatted

CSV = "header = 'true', inferSchema = 'true', mode = 'FAILFAST'"


@pytest.mark.parametrize(
    ("location", "relation"),
    [
        ("/data/a.parquet", "parquet.`/data/a.parquet`"),
        ("'/data/a b.orc'", "orc.`/data/a b.orc`"),
        ("/data/it`s.PARQUET", "parquet.`/data/it``s.PARQUET`"),
        ("s3://bucket/a.csv.gz", f"csv.`s3a://bucket/a.csv.gz` with ({CSV})"),
        ("a.tsv", rf"csv.`a.tsv` with ({CSV}, sep = '\\t')"),
        ("/data/*.ndjson", "json.`/data/*.ndjson` with (mode = 'FAILFAST')"),
        ("/data/day=*/*.parquet", "parquet.`/data/day=*/*.parquet` with (basePath = '/data/')"),
        ("/data/day=1/a.parquet", "parquet.`/data/day=1/a.parquet` with (basePath = '/data/')"),
        ("csv.`/data/a.csv` with (sep = ';')", "csv.`/data/a.csv` with (sep = ';')"),
        (" parquet.`/data/orders` ", "parquet.`/data/orders`"),
    ],
)
def test_files(location: str, relation: str) -> None:
    assert file_relation(location) == relation


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("read_parquet('/data/*.parquet', union_by_name = true)", "is DuckDB's SQL"),
        ("['/a.parquet', '/b.parquet']", "is DuckDB's SQL"),
        ("https://host/a.parquet", "cannot read files over https"),
        ("/data/**/*.parquet", r"parquet\.`/data` with \(recursiveFileLookup"),
        ("/data/orders/", r"write Spark's SQL for files: parquet\.`/data/orders`"),
        ("/data/a.xlsx", "does not have the extension of parquet, orc, avro, csv"),
    ],
)
def test_unsupported_locations_are_refused(location: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        file_relation(location)


@pytest.mark.parametrize(("template", "formatter"), [("{a}/{b}", "newstyle"), ("%(a)s/%(b)s", "oldstyle"), ("$a/${b}", "template")])
def test_formatters(template: str, formatter: str) -> None:
    assert formatted(template, formatter, {"a": "x", "b": 1}) == "x/1"


@pytest.mark.parametrize(("template", "formatter"), [("{c}", "newstyle"), ("%(c)s", "oldstyle"), ("$c", "template"), ("{", "newstyle")])
def test_the_error_for_a_template_lists_the_available_names(template: str, formatter: str) -> None:
    with pytest.raises(ValueError, match="the names are: a, b"):
        formatted(template, formatter, {"a": "x", "b": 1})


@pytest.mark.parametrize("location", ["s3://KEY:hunter2@bucket/a.csv", "parquet.`s3a://KEY:hunter2@bucket/a`"])
def test_a_location_with_a_secret_is_refused(location: str) -> None:
    with pytest.raises(ValueError, match="contains a password or a secret key; write the URL without it") as caught:
        file_relation(location)
    assert "hunter2" not in str(caught.value)
