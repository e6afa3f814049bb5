"""Addresses of catalog databases: every form people write, no secret shown."""

from __future__ import annotations

import os

import pytest

from dbt.adapters.ducklake.catalog.location import parse_location
from dbt.adapters.ducklake.errors import ConfigurationError


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("ducklake:sqlite:lake.sqlite", "lake.sqlite"),
        ("sqlite:lake.sqlite", "lake.sqlite"),
        ("sqlite:///lake.sqlite", "lake.sqlite"),
        ("sqlite:////srv/lake.sqlite", "/srv/lake.sqlite"),
        ("ducklake:sqlite:/srv/my lake.db", "/srv/my lake.db"),
        ("lake.sqlite", "lake.sqlite"),
        ("some/lake.db", "some/lake.db"),
        ("ducklake:lake.sqlite", "lake.sqlite"),
    ],
)
def test_sqlite_files(text: str, file: str) -> None:
    location = parse_location(text)
    assert location.file == os.path.abspath(file)
    assert location.url == "sqlite:///" + os.path.abspath(file)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("ducklake:postgres:dbname=lake host=db user=me", "postgresql+psycopg://me@db/lake"),
        ("ducklake:postgres:dbname=lake host=db port=5433", "postgresql+psycopg://db:5433/lake"),
        ("ducklake:postgres:dbname=lake host=/tmp/pg user=me", "postgresql+psycopg://me@/lake?host=/tmp/pg"),
        ("postgres:dbname=lake", "postgresql+psycopg:///lake"),
        ("ducklake:postgres:dbname=lake sslmode=require host=db", "postgresql+psycopg://db/lake?sslmode=require"),
        ("ducklake:postgres:dbname=lake host=db user='me too' password='a b\\'c'", "postgresql+psycopg://me%20too:a%20b%27c@db/lake"),
        ("postgresql://me@db:5432/lake", "postgresql+psycopg://me@db:5432/lake"),
        ("postgres://me@db/lake", "postgresql+psycopg://me@db/lake"),
        ("postgresql+psycopg://me@db/lake?sslmode=require", "postgresql+psycopg://me@db/lake?sslmode=require"),
        ("ducklake:postgres:postgresql://me@db/lake", "postgresql+psycopg://me@db/lake"),
    ],
)
def test_postgres_addresses(text: str, url: str) -> None:
    location = parse_location(text, metadata_schema="meta")
    assert location.url == url
    assert location.metadata_schema == "meta"


@pytest.mark.parametrize(
    "text",
    [
        "ducklake:postgres:dbname=lake host=db user=me password=s3cret",
        "postgresql://me:s3cret@db/lake",
        "ducklake:postgres:dbname=lake host=/tmp/pg password=s3cret",
        "postgresql://db/lake?user=me&password=s3cret",
    ],
)
def test_passwords_are_kept_and_never_shown(text: str) -> None:
    location = parse_location(text)
    assert "s3cret" in location.url
    assert "s3cret" not in repr(location) + str(location) + f"{location}" + location.display


@pytest.mark.parametrize(
    "text",
    [
        *("", "lake", "sqlite::memory:", "sqlite://", "sqlite://lake.sqlite", "duckdb:lake.duckdb", "ducklake:lake.duckdb"),
        *("mysql://me:s3cret@db/lake", "ducklake:postgres:host", "postgresql://me:s3cret@db:port/lake", "oracle://x"),
    ],
)
def test_other_texts_are_refused_with_the_accepted_forms(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_location(text)
    assert "s3cret" not in str(caught.value)


def test_sqlite_has_no_schemas() -> None:
    with pytest.raises(ConfigurationError, match="metadata_schema"):
        parse_location("lake.sqlite", metadata_schema="meta")
