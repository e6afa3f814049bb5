"""Addresses of catalog databases: every common form is accepted, and no secret is shown."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import make_url

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store.location import parse_location
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
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
        ("ducklake:sqlite:100% #1.sqlite", "100% #1.sqlite"),
    ],
)
def test_sqlite_files(text: str, file: str) -> None:
    location = parse_location(text)
    assert location.file == os.path.abspath(file)
    assert location.url == "sqlite:///" + quote(os.path.abspath(file), safe="/ ")


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("ducklake:duckdb:lake.duckdb", "lake.duckdb"),
        ("ducklake:duckdb:lake", "lake"),
        ("duckdb:///lake.duckdb", "lake.duckdb"),
        ("duckdb:////srv/my%20lake.duckdb", "/srv/my lake.duckdb"),
        ("ducklake:metadata.ducklake", "metadata.ducklake"),
        *((f"ducklake:{name}", name) for name in ("metadata.db", "a.sqlite", "a.b", "a/lake", "new file", ".hidden", "c:lake", "a=b.csv")),
        ("lake.ducklake", "lake.ducklake"),
        ("some/lake.duckdb", "some/lake.duckdb"),
        ("ducklake:duckdb:100% #1?.duckdb", "100% #1?.duckdb"),
    ],
)
def test_duckdb_files(text: str, file: str) -> None:
    location = parse_location(text)
    assert location.file == os.path.abspath(file)
    assert location.url == "duckdb+ducklake:///" + quote(os.path.abspath(file), safe="/ ")
    assert location.default_data_path == os.path.abspath(file) + ".files/"


@pytest.mark.parametrize("name", ["lake.ducklake", "lake.db", "lake.sqlite", "lake.anything"])
def test_an_existing_file_is_recognized_by_its_first_bytes(name: str, tmp_path: Path) -> None:
    import sqlite3

    import duckdb

    for kind, connect in (("sqlite", sqlite3.connect), ("duckdb", duckdb.connect)):
        file = tmp_path / kind / name
        file.parent.mkdir()
        connection = connect(str(file))
        connection.execute("CREATE TABLE t (a INTEGER)")
        connection.close()
        assert parse_location(f"ducklake:{file}").url.startswith(kind)
        if name in ("lake.ducklake", "lake.db"):
            assert parse_location(str(file)).url.startswith(kind)


@pytest.mark.parametrize("name", ["lake.sqlite", "lake.anything.at_all", "a b"])
def test_a_name_after_ducklake_is_the_same_file_for_duckdb(name: str, tmp_path: Path) -> None:
    import duckdb
    from duckdb_extensions import import_extension

    with duckdb.connect() as connection:
        import_extension("ducklake", con=connection)
        connection.execute(f"ATTACH 'ducklake:{tmp_path}/{name}' AS lake")
        connection.execute("CREATE TABLE lake.t (a INTEGER)")
    with LakeCatalog.open(CatalogSettings(f"ducklake:{tmp_path}/{name}")) as lake:
        assert lake.latest().snapshot_id == 1


@pytest.mark.parametrize("name", ["a b.x", "a?b.x", "a#b%20.x", "ä&=.x", "a'b.x"])
@pytest.mark.parametrize("database", ["sqlite", "duckdb"])
def test_any_file_name_is_accepted(name: str, database: str, tmp_path: Path) -> None:
    with LakeCatalog.open(CatalogSettings(f"ducklake:{database}:{tmp_path}/{name}", data_path="files")) as lake:
        assert lake.latest().snapshot_id == 0
        assert str(lake.location) == f"{tmp_path}/{name}"
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("ducklake:mysql:db=lake host=db user=me", "mysql+pymysql://me@db/lake"),
        ("ducklake:mysql:db=lake host=::1", "mysql+pymysql://[::1]/lake"),
        ("ducklake:mysql:database=lake host=db port=3307 passwd='a b'", "mysql+pymysql://:a%20b@db:3307/lake"),
        ("mysql:db=lake socket=/tmp/s user=me", "mysql+pymysql://me@/lake?unix_socket=/tmp/s"),
        ("mysql://me@db/lake", "mysql+pymysql://me@db/lake"),
        ("mariadb+mysqlconnector://me@db:3307/lake?ssl_ca=/ca", "mysql+pymysql://me@db:3307/lake?ssl_ca=/ca"),
        ("ducklake:mysql:mysql://me@db/lake", "mysql+pymysql://me@db/lake"),
    ],
)
def test_mysql_addresses(text: str, url: str) -> None:
    assert parse_location(text).url == url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("ducklake:postgres:dbname=lake host=db user=me", "postgresql+psycopg://me@db/lake"),
        ("ducklake:postgres:dbname=lake host=db port=5433", "postgresql+psycopg://db:5433/lake"),
        ("postgres:dbname=lake host=fe80::1 port=5433", "postgresql+psycopg://[fe80::1]:5433/lake"),
        ("ducklake:postgres:dbname=lake host=/tmp/pg user=me", "postgresql+psycopg://me@/lake?host=/tmp/pg"),
        ("postgres:dbname=lake", "postgresql+psycopg:///lake"),
        ("postgres:dbname=a=b host=db", "postgresql+psycopg://db/a%3Db"),
        ("postgres:dbname=a user=org:me host=db", "postgresql+psycopg://org%3Ame@db/a"),
        ("postgresql://org%3Ame:x@db:1/a", "postgresql+psycopg://org%3Ame:x@db:1/a"),
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


@pytest.mark.parametrize("password", [r"a\\b", r"a\b", r"a\ b", "a\\", r"\'a\'", "a'b", r"'a\\b'", r"'a b\'c'", "a\\\nb", "'a\\\nb'"])
def test_a_backslash_in_a_postgres_address_is_read_as_libpq_does(password: str) -> None:
    for text in (f"dbname=lake user=me password={password}", f"dbname=lake password={password} user=me"):
        found, expected = make_url(parse_location(f"postgres:{text}").url), conninfo_to_dict(text)
        assert (found.username or None, found.password) == (expected.get("user"), expected["password"])


def test_a_backslash_in_a_mysql_address_stays_without_quotes() -> None:
    assert make_url(parse_location(r"ducklake:mysql:db=lake user=me password=a\\b host=db").url).password == r"a\\b"


@pytest.mark.parametrize(
    "text",
    [
        "ducklake:postgres:dbname=lake host=db user=me password=s3cret",
        "postgresql://me:s3cret@db/lake",
        "ducklake:postgres:dbname=lake host=/tmp/pg password=s3cret",
        "postgresql://db/lake?user=me&password=s3cret",
        "postgresql://me:p@s3cret@db/lake",
        "postgresql://me:x:s3cret/y@db/lake",
        "ducklake:mysql:db=lake host=db user=me passwd=s3cret",
        "mysql://me:s3cret@db/lake",
    ],
)
def test_passwords_are_used_and_never_shown(text: str) -> None:
    location = parse_location(text)
    assert "s3cret" in location.url
    assert "s3cret" not in repr(location) + str(location) + f"{location}"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "lake",
            "ducklake:",
            "ducklake:lake",
            "ducklake:oracle:password=s3cret.x",
            "ducklake:x://s3cret.y",
            "lake.txt",
            "sqlite::memory:",
            "sqlite://",
            "sqlite://lake.sqlite",
            "duckdb:",
            "duckdb://lake.duckdb",
        ),
        *("mysql://me:s3cret@db", "mysql://me:s3cret@db:port/lake", "mysql:host=db password=s3cret", "mysql:db=lake pass=s3cret"),
        *("ducklake:postgres:host", "postgresql://me:s3cret@db:port/lake", "oracle://x"),
        *("postgres:dbname=postgresql://me:s3cret@db/lake", "sqlite:postgresql://me:s3cret@db/lake"),
        *("postgresql://me:s3cret@db/lake?application_name=a@b&password=s3cret", "postgresql://me@db/lake&password=s3cret"),
    ],
)
def test_other_texts_are_refused_with_the_accepted_forms(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_location(text)
    assert "s3cret" not in str(caught.value)


def test_sqlite_and_mysql_have_no_schemas() -> None:
    for text in ("lake.sqlite", "mysql://db/lake"):
        with pytest.raises(ConfigurationError, match="metadata_schema"):
            parse_location(text, metadata_schema="meta")
