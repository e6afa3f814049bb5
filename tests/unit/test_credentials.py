"""What a profile may say, and what is never shown of it."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.ducklake.credentials import DuckLakeCredentials, redacted

SECRET = "hunter2"


def credentials(**fields: Any) -> DuckLakeCredentials:
    data = DuckLakeCredentials.translate_aliases({"path": "ducklake:sqlite:lake.sqlite", **fields})
    DuckLakeCredentials.validate(data)
    return DuckLakeCredentials.from_dict(data)


def test_a_path_is_enough() -> None:
    found = credentials()

    assert (found.type, found.database, found.schema, found.read_only) == ("ducklake", "lake", "main", False)
    assert found.spark_settings().master == "local[*]"


def test_catalog_is_another_word_for_database() -> None:
    assert credentials(catalog="sales").database == "sales"


def test_the_whole_profile_reaches_the_lake() -> None:
    found = credentials(
        path="ducklake:postgres:dbname=x host=db",
        data_path="files/",
        database="sales",
        metadata_schema="meta",
        create_if_not_exists=False,
        retries={"count": 3, "wait_ms": 20, "backoff": 2.0},
        spark={"master": "local[2]", "app_name": "x", "config": {"spark.sql.shuffle.partitions": 4}},
    ).lake_settings()

    assert (found.path, found.data_path, found.database) == ("ducklake:postgres:dbname=x host=db", "files/", "sales")
    assert (found.metadata_schema, found.create_if_not_exists) == ("meta", False)
    assert (found.retry.max_retry_count, found.retry.wait_ms, found.retry.backoff) == (3, 20, 2.0)
    assert found.spark.config == {"spark.sql.shuffle.partitions": "4"}


def test_a_read_only_lake_is_not_created() -> None:
    assert credentials(read_only=True).lake_settings().create_if_not_exists is False
    assert credentials().lake_settings().create_if_not_exists is True


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"path": ""}, "no `path`"),
        ({"pathh": "x"}, "unknown field `pathh`: did you mean `path`"),
        ({"zzz": 1}, "unknown field `zzz`: known are author, automatic_migration, catalog"),
        ({"spark": {"mastr": "local"}}, "`spark` has the unknown field `mastr`: did you mean `master`"),
        ({"spark": {"master": "local[2]", "remote": "sc://host:15002"}}, "either a Spark `master` or a Spark Connect `remote`"),
        ({"spark": {"config": "x"}}, "`spark.config` must be a mapping"),
        ({"retries": {"counts": 1}}, "`retries` has the unknown field `counts`: did you mean `count`"),
        ({"retries": {"count": "many"}}, "`retries.count` must be a number"),
        ({"retries": {"count": -1}}, "`retries.count` must be a number that is not negative"),
        ({"read_only": True, "create_if_not_exists": True}, "contradict each other"),
        ({"metadata_schema": "meta"}, "metadata_schema cannot be used with an SQLite catalog"),
        ({"path": "ducklake:oracle:x"}, "none of the accepted forms"),
    ],
)
def test_what_is_wrong_is_refused_by_name(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(DbtRuntimeError, match=message):
        credentials(**fields)


@pytest.mark.parametrize(
    "path",
    [
        f"postgresql+psycopg://me:{SECRET}@host/db",
        f"postgresql://host/db?user=me&password={SECRET}&sslmode=require",
        f"ducklake:postgres:dbname=x host=db password={SECRET} user=me",
        f"ducklake:postgres:dbname=x password='{SECRET} more' user=me",
        f'ducklake:postgres:dbname=x PASSWORD = "{SECRET}" user=me',
        f"ducklake:postgres:dbname=x passfile={SECRET}",
        f"postgresql://me:p@{SECRET}@db/lake",
        f"postgresql://me:x:{SECRET}/y@db/lake",
        f"mysql://me:{SECRET}@db/lake?ssl_ca=/ca",
        f"ducklake:mysql:db=lake host=db user=me passwd={SECRET}",
    ],
)
def test_no_secret_of_the_path_is_shown(path: str) -> None:
    found = credentials(path=path)

    assert SECRET not in redacted(path)
    assert SECRET not in repr(found)
    assert SECRET not in str(dict(found.connection_info()))
    assert SECRET not in found.unique_field
    assert "db" in redacted(path), "what is no secret stays readable"


def test_no_secret_of_the_spark_configuration_is_shown() -> None:
    found = credentials(
        spark={"config": {"spark.hadoop.fs.s3a.secret.key": SECRET, "spark.hadoop.fs.s3a.access.key": SECRET, "spark.x": "shown"}}
    )

    assert SECRET not in str(dict(found.connection_info()))
    assert SECRET not in repr(found)
    assert "shown" in str(dict(found.connection_info()))


def test_debug_shows_what_is_set_only() -> None:
    assert list(dict(credentials().connection_info())) == ["database", "schema", "path", "read_only"]
