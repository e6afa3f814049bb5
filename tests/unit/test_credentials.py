"""Which profiles are accepted, and that secrets are never shown."""

from __future__ import annotations

import copy
import json
import re
from datetime import datetime, timezone
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.ducklake.catalog.store.location import redacted_path
from dbt.adapters.ducklake.credentials import DuckLakeCredentials
from dbt.adapters.ducklake.errors import ConfigurationError
from dbt.adapters.ducklake.spark.session.node_settings import node_settings

SECRET = "hunter2"


def credentials(**fields: Any) -> DuckLakeCredentials:
    data = DuckLakeCredentials.translate_aliases({"path": "ducklake:sqlite:lake.sqlite", **fields})
    DuckLakeCredentials.validate(data)
    return DuckLakeCredentials.from_dict(data)


def test_a_path_is_enough() -> None:
    found = credentials()

    assert (found.type, found.database, found.schema, found.read_only) == ("ducklake", "lake", "main", False)
    assert found.spark_settings().master == "local[*]"


def test_catalog_is_an_alias_of_database() -> None:
    assert credentials(catalog="sales").database == "sales"


def test_the_whole_profile_is_passed_to_the_lake() -> None:
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
    assert (found.metadata_schema, found.creates) == ("meta", False)
    assert (found.retry.max_retry_count, found.retry.wait_ms, found.retry.backoff) == (3, 20, 2.0)
    assert found.spark.config == {"spark.sql.shuffle.partitions": "4"}


def test_a_read_only_lake_is_not_created() -> None:
    assert credentials(read_only=True).lake_settings().creates is False
    assert credentials().lake_settings().creates is True


def test_attached_lakes_have_their_own_settings_and_the_retries_of_the_profile() -> None:
    retries = {"count": 3}
    first, second = (
        credentials(
            retries=retries,
            attach=[
                {"alias": "b", "path": "b.sqlite", "type": "ducklake", "options": {"DATA_PATH": "files/", "SNAPSHOT_TIME": "2026-01-31"}},
                {"alias": "c", "path": "c.duckdb", "is_ducklake": True, "read_only": True, "snapshot_version": None},
            ],
        )
        .lake_settings()
        .attached
    )

    assert (first.database, first.path, first.data_path, first.creates) == ("b", "b.sqlite", "files/", False)
    assert first.snapshot_time == datetime(2026, 1, 31, tzinfo=timezone.utc)
    assert first.retry.max_retry_count == 3
    assert (second.database, second.read_only, second.snapshot_version) == ("c", True, None)


@pytest.mark.parametrize(("given", "expected"), [(42, 42), ("42", 42), ("None", None), ("", None), (None, None), (0, 0)])
def test_a_snapshot_can_come_from_jinja_or_the_environment(given: object, expected: int | None) -> None:
    settings = credentials(snapshot_version=given).lake_settings()

    assert (settings.snapshot_version, settings.creates) == (expected, expected is None)


def test_attached_lakes_are_shown_without_their_secrets() -> None:
    entry = {"alias": "b", "path": f"postgresql://me:{SECRET}@host/db", "options": {"metadata_schema": "meta"}}
    shown = str(dict(credentials(attach=[entry]).connection_info()))

    assert "'alias': 'b'" in shown
    assert SECRET not in shown + repr(credentials(attach=[entry]))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"path": ""}, "no `path`"),
        ({"pathh": "x"}, "unknown field `pathh`: did you mean `path`"),
        ({"zzz": 1}, "unknown field `zzz`: known are attach, author, automatic_migration, catalog"),
        ({"spark": {"mastr": "local"}}, "`spark` has the unknown field `mastr`: did you mean `master`"),
        ({"spark": {"master": "local[2]", "remote": "sc://host:15002"}}, "either a Spark `master` or a Spark Connect `remote`"),
        ({"spark": {"config": "x"}}, "`spark.config` must be a map of names"),
        ({"retries": {"counts": 1}}, "`retries` has the unknown field `counts`: did you mean `count`"),
        ({"retries": {"count": "many"}}, "`retries.count` must be a number"),
        ({"retries": {"connect_attempts": 0}}, "`retries.connect_attempts` must be a whole number, 1 or more"),
        ({"retries": {"count": -1}}, "`retries.count` must be a number that is not negative"),
        ({"read_only": True, "create_if_not_exists": True}, "`read_only: true` and `create_if_not_exists: true` contradict each other"),
        (
            {"snapshot_version": 3, "create_if_not_exists": True},
            "`snapshot_version` or `snapshot_time` and `create_if_not_exists: true` contradict",
        ),
        ({"snapshot_version": 3, "snapshot_time": "2026-01-31"}, "`snapshot_version` and `snapshot_time` cannot be used together"),
        ({"snapshot_time": "yesterday"}, "`snapshot_time` must be a timestamp"),
        ({"attach": [{"path": "x.sqlite"}]}, "`attach`: entry 1: `alias` is missing"),
        ({"attach": [{"alias": "system", "path": "x.sqlite"}]}, "choose another `alias`"),
        ({"attach": [{"alias": "b"}]}, "`attach`: b: `path` is missing"),
        ({"attach": [{"alias": "LAKE", "path": "x.sqlite"}]}, "two lakes are named LAKE"),
        ({"attach": [{"alias": "b", "path": "x.sqlite", "pth": 1}]}, "`attach`: b has the unknown field `pth`: did you mean `path`"),
        (
            {"attach": [{"alias": "b", "path": "x.sqlite", "secrets": []}]},
            "`attach`: b: `secrets` cannot be set here: they apply to all lakes",
        ),
        ({"attach": [{"alias": "b", "path": "x.sqlite", "secret": "s"}]}, "`attach`: b: `secret` cannot be set here: put the credentials"),
        ({"attach": [{"alias": "b", "path": "x.sqlite", "type": "postgres"}]}, "`type: postgres`: only lakes can be attached"),
        ({"attach": [{"alias": "b", "path": "x.sqlite", "is_ducklake": False}]}, "`is_ducklake: False`: only lakes"),
        ({"attach": [{"alias": "b", "path": "x.sqlite", "read_only": "yes"}]}, "`read_only` must be true or false"),
        ({"attach": [{"alias": "b", "path": "x.sqlite", "data_path": "a", "options": {"DATA_PATH": "b"}}]}, "`data_path` is set twice"),
        ({"attach": [{"alias": "b", "path": "oracle://x"}]}, "`attach`: b: `path`: .*none of the accepted forms"),
        (
            {"attach": [{"alias": "b", "path": "x.sqlite", "snapshot_version": "three"}]},
            "`attach`: b: `snapshot_version` must be the number",
        ),
        ({"metadata_schema": "meta"}, "metadata_schema cannot be used with an SQLite catalog"),
        ({"path": "ducklake:oracle:x"}, "none of the accepted forms"),
    ],
)
def test_the_error_names_the_field_that_is_wrong_missing_or_contradictory(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(DbtRuntimeError, match=message):
        credentials(**fields)


@pytest.mark.parametrize(
    "path",
    [
        f"postgresql+psycopg://me:{SECRET}@host/db",
        f"postgresql://host/db?user=me&password={SECRET}&sslmode=require",
        f"ducklake:postgres:dbname=x host=db password={SECRET} user=me",
        f"ducklake:postgres:dbname=x password='{SECRET} more' user=me",
        f"ducklake:postgres:dbname=x password=a\\ {SECRET} user=me",
        f"ducklake:postgres:dbname=x password='a\\\n{SECRET}' user=me",
        f'ducklake:postgres:dbname=x PASSWORD = "{SECRET}" user=me',
        f"ducklake:postgres:dbname=x passfile={SECRET}",
        f"postgresql://me:p@{SECRET}@db/lake",
        f"postgresql://me:x:{SECRET}/y@db/lake",
        f"mysql://me:{SECRET}@db/lake?ssl_ca=/ca",
        f"ducklake:mysql:db=lake host=db user=me passwd={SECRET}",
        f"postgresql://me:a?{SECRET}@db/lake",
        f"postgresql://me:a/{SECRET}@db/lake",
        f"postgresql://me:a#{SECRET}@db/lake",
        f"postgresql://me:a {SECRET} b@db/lake",
        f"ducklake:postgres:postgresql://me:a ?{SECRET}@db/lake",
        f"mysql://me:a?@{SECRET}@db/lake",
        f"postgresql://db/lake?password=a&{SECRET}&sslmode=require",
        f"postgresql://me@db/lake?pasword={SECRET}",
        f"ducklake:postgres:dbname=x host=db pasword={SECRET} user=me",
        f"ducklake:postgres:dbname=x host=db Pasword='a {SECRET}' user=me",
        f"ducklake:postgres:dbname=x host=db options='-c a={SECRET}'",
        f"postgresql://me@db/lake?password=a@{SECRET}",
        f"postgresql://db/lake?sslpassword={SECRET}&user=me@tenant",
        f"postgresql://db/lake?host=postgresql://me:{SECRET}@h/x",
        f"postgresql://db/lake?application_name=password%3D{SECRET}",
        f"ducklake:postgres:dbname=db host=me:{SECRET}@h",
        f"ducklake:postgres:dbname=db application_name='x pw={SECRET}'",
        f"ducklake:mysql:db=x host=db unix_socket=mysql://me:{SECRET}@h/x",
    ],
)
def test_no_secret_of_the_path_is_shown(path: str) -> None:
    found = credentials(path=path)

    entry = {"alias": "b", "path": path}
    assert SECRET not in repr(found) + found.unique_field + str(found.catalog_settings().location)
    assert SECRET not in str(dict(credentials(attach=[entry, {"alias": "c", "options": {"PATH": path}}]).connection_info()))
    shown = dict(found.connection_info())["path"]
    assert SECRET not in shown
    assert "db" in shown, "what is not secret stays readable"


@pytest.mark.parametrize(
    ("path", "scheme"),
    [
        (f"postgress://me:{SECRET}@db/lake", "postgress:"),
        (f"postgresql://me:{SECRET}/lake", "postgresql:"),
        (f"postgresql:/me:{SECRET}@db/lake", "postgresql:"),
        (f"ducklake:postgres:dbname=x password=a {SECRET}", "ducklake:postgres:"),
        (f'ducklake:postgres:dbname=x password="{SECRET} b"', "ducklake:postgres:"),
        (f"ducklake:mysql:db=x pasword={SECRET}", "ducklake:mysql:"),
        (f"ducklake:dbname=x password={SECRET}", "ducklake:"),
        (f"ducklake:sqlite:host=x password={SECRET}.sqlite", "ducklake:sqlite:"),
        (f"//me:{SECRET}@db/lake", ""),
        (f"ducklake:postgres:dbname='postgresql://me:{SECRET}@db/lake'", "ducklake:postgres:"),
        (f"ducklake:postgres:dbname=me:{SECRET}@db host=h", "ducklake:postgres:"),
        (f"ducklake:postgres:dbname='x password={SECRET}'", "ducklake:postgres:"),
        (f"ducklake:postgres:dbname=password={SECRET}", "ducklake:postgres:"),
        (f"ducklake:postgres:dbname=db user=postgresql://me:{SECRET}@h/x", "ducklake:postgres:"),
        (f"postgresql://h/postgresql%3A%2F%2Fme%3A{SECRET}@db/lake", "postgresql:"),
        (f"ducklake:mysql:db=mysql://me:{SECRET}@db/lake", "ducklake:mysql:"),
        (f"postgresql:///me:a/{SECRET}@db/lake", "postgresql:"),
        (f"postgresql://h/postgresql://me:{SECRET}@db/lake", "postgresql:"),
        (f"postgresql://h:1/x%20password%3D{SECRET}", "postgresql:"),
        (f"ducklake:sqlite:postgresql://me:{SECRET}@db/lake", "ducklake:sqlite:"),
        (f"ducklake:duckdb:mysql://me:{SECRET}@db/lake", "ducklake:duckdb:"),
    ],
)
def test_only_the_scheme_is_shown_of_a_path_that_cannot_be_parsed(path: str, scheme: str) -> None:
    assert redacted_path(path) == scheme + "********"
    with pytest.raises(DbtRuntimeError) as caught:
        credentials(path=path)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "path",
    ["lake.sqlite", "sqlite:///a=b/lake.sqlite", "ducklake:postgres:dbname=x host=db user=me sslmode=require", "mysql://me@db:3306/lake"],
)
def test_a_path_without_secrets_is_shown_as_it_is(path: str) -> None:
    assert redacted_path(path) == path


def test_a_spark_setting_is_shown_if_its_name_is_harmless() -> None:
    secret = {
        "spark.hadoop.fs.s3a.secret.key": SECRET,
        "spark.hadoop.fs.s3a.session.token": SECRET,
        "spark.hadoop.fs.s3a.encryption.key": SECRET,
        "spark.hadoop.fs.azure.account.key.me.dfs.core.windows.net": SECRET,
        "spark.hadoop.fs.azure.sas.box.me.blob.core.windows.net": SECRET,
        "spark.driver.extraJavaOptions": f"-Djavax.net.ssl.trustStorePassword={SECRET}",
        "spark.sql.catalog.other.url": f"jdbc:postgresql://h/x?user=me&pw={SECRET}",
        "spark.jars": f"https://me:{SECRET}@host/a.jar",
        "spark.unknown": SECRET,
        "spark.redaction.regex": "(?i)secret|dir$",  # hides spark.local.dir
        "spark.local.dir": f"/{SECRET}",
        "spark.hadoop.hadoop.security.sensitive-config-keys": "memory$,other$",  # hides spark.executor.memory
        "spark.executor.memory": SECRET,
    }
    harmless = {"spark.sql.shuffle.partitions": 7341, "spark.hadoop.fs.s3a.endpoint": "http://minio:9000"}
    found = credentials(spark={"config": {**secret, **harmless}})
    shown = dict(found.connection_info())["spark"]["config"]

    assert SECRET not in str(shown) + repr(found) + repr(found.lake_settings())
    assert {key: shown[key] for key in harmless} == harmless
    assert shown.keys() == {*secret, *harmless}


def test_a_wrong_field_is_named_without_its_value() -> None:
    for wrong in (
        {"spark": [{"config": {"a.key": SECRET}}]},
        {"spark": {"remote": f"host:15002/;token={SECRET}"}},
        {"attach": [{"alias": "b", "path": "x.sqlite", "data_path": [SECRET]}]},
        {"retries": SECRET},
    ):
        with pytest.raises(DbtRuntimeError) as caught:
            credentials(**wrong)
        assert SECRET not in str(caught.value)
        assert next(iter(wrong)) in str(caught.value)
    with pytest.raises(ConfigurationError, match=r"spark_config .*; `a\.key` has no single value") as refused:
        node_settings({"a.key": [SECRET], "b.key": SECRET})
    assert SECRET not in str(refused.value)


def test_values_of_secret_environment_variables_are_hidden_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBT_ENV_SECRET_ANY", "p/w ?x")
    found = credentials(
        path="postgresql://me@db/p%2Fw%20%3Fx",
        author="p/w ?x",
        data_path="s3://b/p/w%20%3Fx/",
        spark={"app_name": "p/w ?x", "master": "local"},
    )
    shown = str(dict(found.connection_info()))

    assert "p%2Fw" not in shown
    assert "p/w" not in shown
    assert shown.count("*****") == 4


def test_spark_hides_settings_with_values_of_secret_environment_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBT_ENV_SECRET_ANY", "a+b ?")
    monkeypatch.setenv("DBT_ENV_SECRET_OTHER", "local")
    found = credentials(spark={"config": {"spark.plain.name": "xa+b ?y"}}).spark_settings().launch_config()
    hides = re.compile(found["spark.redaction.regex"]).search

    assert hides(found["spark.plain.name"])
    assert hides("spark.redaction.regex")
    assert hides("spark.a.password")
    assert not hides("spark.sql.shuffle.partitions")
    assert not hides("local[2]"), "only values that the settings contain"
    own = credentials(spark={"config": {"spark.plain.name": "a+b ?", "spark.redaction.regex": "own"}}).spark_settings()
    assert own.config["spark.redaction.regex"].startswith("own|")
    remote = credentials(spark={"remote": "sc://host", "config": {"spark.plain.name": "a+b ?"}}).spark_settings()
    assert "spark.redaction.regex" not in remote.config, "it cannot be set in a session"


def test_spark_hides_the_secrets_of_a_profile_with_its_own_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBT_ENV_SECRET_ANY", "a/b+c")
    secrets = [{"type": "s3", "key_id": "AK", "secret": "a/b+c"}]
    found = credentials(spark={"config": {"spark.redaction.regex": "own"}}, secrets=secrets).spark_settings().config
    assert found["spark.hadoop.fs.s3a.secret.key"] == "a/b+c"
    assert re.search(found["spark.redaction.regex"], "a/b+c")


def test_debug_leaves_out_optional_fields_that_are_not_set() -> None:
    assert list(dict(credentials().connection_info())) == ["database", "schema", "path", "read_only"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"path": 5}, "`path` must be a string, not a whole number"),
        ({"read_only": "yes"}, "`read_only` must be true or false, not a string"),
        ({"metadata_schema": [SECRET]}, "`metadata_schema` must be a string, not a list"),
        ({"data_inlining_row_limit": "x"}, "`data_inlining_row_limit` must be a whole number, not a string"),
        ({"retries": 5}, "`retries` must be a map of names and values, not a whole number"),
        ({"attach": SECRET}, "`attach` must be a list, not a string"),
        ({"module_paths": [1]}, "`module_paths.0` must be a string"),
        ({"spark": [SECRET]}, "`spark` must be a map of names and values, not a list"),
        ({"spark": {"master": 5}}, "`spark.master` must be a string, not a whole number"),
        ({"spark": {"fast_start": "yes"}}, "`spark.fast_start` must be true or false, not a string"),
        ({"spark": {"config": [SECRET]}}, "`spark.config` must be a map of names and values, not a list"),
    ],
)
def test_the_error_for_a_wrong_type_names_the_field_without_its_value(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(DbtRuntimeError) as caught:
        credentials(**fields)
    assert message in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("path", ["s3://KEY:{}@bucket/lake/", "s3a://KEY:a/{}@bucket/", "hdfs://user:{}@host:8020/x"])
def test_a_data_path_with_a_secret_is_refused(path: str) -> None:
    for fields in ({"data_path": path.format(SECRET)}, {"attach": [{"alias": "b", "path": "b.sqlite", "data_path": path.format(SECRET)}]}):
        with pytest.raises(DbtRuntimeError, match="`data_path` contains a password or a secret key; write the URL without it") as caught:
            credentials(**fields)
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "path", ["s3://bucket/a:b/", "hdfs://host:8020/x", "abfss://box@account.dfs.core.windows.net/x", "file:///a:b", "C:/x"]
)
def test_a_data_path_may_contain_a_colon_without_a_secret(path: str) -> None:
    assert credentials(data_path=path).data_path == path


# -- target_type ---------------------------------------------------------------------------------------------------------------------


def test_the_type_equals_both_the_target_type_and_ducklake() -> None:
    kind: Any = credentials(target_type="spark").type
    assert kind == "spark"
    assert "spark" == kind  # noqa: SIM300 -- Jinja compares in both directions
    assert kind in ("bigquery", "spark")
    assert not (kind != "spark")  # noqa: SIM202
    assert kind == "ducklake"
    assert kind not in ("databricks", "postgres")
    assert (f"{kind}", {"ducklake": 1}[kind], json.dumps([kind])) == ("ducklake", 1, '["ducklake"]')
    assert copy.deepcopy(kind) == "spark"
    assert credentials().type != "spark"


def test_only_adapters_that_use_spark_sql_are_target_types() -> None:
    with pytest.raises(DbtRuntimeError, match="`target_type` must be spark or databricks, not 'postgres'"):
        credentials(target_type="postgres")
