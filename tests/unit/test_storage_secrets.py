"""The block `secrets` of a profile: its checks, and what Spark's connector gets of it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.ducklake.credentials import DuckLakeCredentials
from dbt.adapters.ducklake.errors import ConfigurationError
from dbt.adapters.ducklake.session import Lake, LakeSettings
from dbt.adapters.ducklake.spark.files import s3
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from dbt.adapters.ducklake.spark.session.s3_secrets import S3Secret, environment_settings, secrets_to_add, with_storage
from dbt.adapters.ducklake.spark.session.sensitive import REDACTION
from dbt.adapters.ducklake.spark.session.settings import SparkSettings
from dbt.adapters.ducklake.storage_secrets import storage_secrets

KEYS = {"type": "s3", "key_id": "AKIA-MARK", "secret": "SECRET-MARK"}
PREFIX = "spark.hadoop.fs.s3a."


@pytest.fixture(autouse=True)
def without_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


def test_a_server_with_keys_is_given_to_spark() -> None:
    (secret,) = storage_secrets([{**KEYS, "region": "eu-1", "endpoint": "minio:9000", "url_style": "path", "use_ssl": False}])
    assert secret.hadoop_settings() == {
        f"{PREFIX}endpoint": "http://minio:9000",
        f"{PREFIX}endpoint.region": "eu-1",
        f"{PREFIX}path.style.access": "true",
        f"{PREFIX}connection.ssl.enabled": "false",
        f"{PREFIX}access.key": "AKIA-MARK",
        f"{PREFIX}secret.key": "SECRET-MARK",
        f"{PREFIX}aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    }


def test_a_scope_is_one_bucket_and_a_token_needs_its_provider() -> None:
    secret = S3Secret(key_id="a", secret="b", session_token="c", scope="s3://raw/")
    assert secret.hadoop_settings() == {
        f"{PREFIX}bucket.raw.endpoint": "s3.amazonaws.com",
        f"{PREFIX}bucket.raw.endpoint.region": "us-east-2",
        f"{PREFIX}bucket.raw.path.style.access": "false",
        f"{PREFIX}bucket.raw.connection.ssl.enabled": "true",
        f"{PREFIX}bucket.raw.access.key": "a",
        f"{PREFIX}bucket.raw.secret.key": "b",
        f"{PREFIX}bucket.raw.session.token": "c",
        f"{PREFIX}bucket.raw.aws.credentials.provider": "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider",
    }


def test_the_provider_credential_chain_becomes_the_default_chain_of_the_sdk() -> None:
    (secret,) = storage_secrets({"type": "S3", "PROVIDER": "credential_chain", "region": "eu-central-1"})
    assert secret.hadoop_settings() == {
        f"{PREFIX}endpoint.region": "eu-central-1",
        f"{PREFIX}aws.credentials.provider": "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",
    }


def test_the_scheme_of_an_endpoint_says_whether_it_has_https() -> None:
    assert S3Secret(endpoint="http://minio:9000/") == S3Secret(endpoint="minio:9000", use_ssl=False)
    assert S3Secret(endpoint="https://minio").endpoint_url == "https://minio"
    assert S3Secret(endpoint="minio").signing_region == "us-east-1"
    assert S3Secret().signing_region is None


def test_the_environment_is_enough_and_a_secret_for_all_buckets_replaces_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment_settings({}) == {}
    assert environment_settings({"AWS_DEFAULT_REGION": "eu-1"}) == {f"{PREFIX}endpoint.region": "eu-1"}
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://minio:9000")
    found = with_storage(SparkSettings(), ()).config
    assert found == {
        f"{PREFIX}endpoint": "http://minio:9000",
        f"{PREFIX}endpoint.region": "us-east-1",
        f"{PREFIX}path.style.access": "true",
        f"{PREFIX}connection.ssl.enabled": "false",
    }
    assert with_storage(SparkSettings(), [S3Secret(scope="s3://raw")]).config.items() > found.items()
    assert with_storage(SparkSettings(), [S3Secret(region="eu-1")]).config[f"{PREFIX}endpoint"] == "https://s3.eu-1.amazonaws.com"


def spark_endpoint(secret: S3Secret) -> tuple[str | None, ...]:
    """Return endpoint, region and path style of Spark's connector for the buckets of a secret."""
    prefix = PREFIX if secret.bucket is None else f"{PREFIX}bucket.{secret.bucket}."
    return tuple(secret.hadoop_settings().get(prefix + key) for key in ("endpoint", "endpoint.region", "path.style.access"))


def test_a_bucket_at_amazon_inherits_neither_server_nor_region(monkeypatch: pytest.MonkeyPatch) -> None:
    raw, eu = S3Secret(scope="s3://raw"), S3Secret(scope="s3://raw", region="eu-1")
    assert spark_endpoint(raw) == ("s3.amazonaws.com", "us-east-2", "false")
    assert spark_endpoint(eu) == ("s3.amazonaws.com", "eu-1", "false")
    assert spark_endpoint(S3Secret(region="eu-1")) == (None, "eu-1", None)
    monkeypatch.setenv("AWS_REGION", "cn-north-1")
    assert spark_endpoint(raw) == ("s3.amazonaws.com", "cn-north-1", "false")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://minio:9000")
    assert spark_endpoint(raw) == ("https://s3.us-east-2.amazonaws.com", "us-east-2", "false")
    assert spark_endpoint(eu) == ("https://s3.eu-1.amazonaws.com", "eu-1", "false")
    assert spark_endpoint(S3Secret(region="cn-north-1")) == ("https://s3.cn-north-1.amazonaws.com.cn", "cn-north-1", "false")


@pytest.mark.parametrize("variables", [{}, {"AWS_REGION": "eu-1"}, {"AWS_ENDPOINT_URL": "http://minio:9000"}])
def test_a_bucket_at_amazon_inherits_the_own_settings_of_the_profile(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    own = {f"{PREFIX}endpoint": "https://s3.private", f"{PREFIX}endpoint.region": "eu-gov-1", f"{PREFIX}connection.ssl.enabled": "true"}
    raw = S3Secret(scope="s3://raw")

    def of_bucket(secret: S3Secret, config: dict[str, str]) -> dict[str, str]:
        found = with_storage(SparkSettings(config=config), [secret]).config
        assert found.items() >= config.items()
        bucket = f"{PREFIX}bucket.raw."
        return {key.removeprefix(bucket): value for key, value in found.items() if key.startswith(bucket) and "aws." not in key}

    assert of_bucket(raw, own) == {}
    assert of_bucket(replace(raw, region="eu-1", url_style="path"), own) == {"endpoint.region": "eu-1", "path.style.access": "true"}
    del own[f"{PREFIX}endpoint"]
    host = "https://s3.eu-gov-1.amazonaws.com" if "AWS_ENDPOINT_URL" in variables else "s3.amazonaws.com"
    assert of_bucket(raw, own) == {"endpoint": host, "path.style.access": "false"}
    assert of_bucket(replace(raw, region="eu-1"), own)["endpoint.region"] == "eu-1"


def test_a_bucket_at_amazon_inherits_no_server_of_other_secrets() -> None:
    found = with_storage(SparkSettings(), [GENERAL, S3Secret(scope="s3://raw")])
    again = with_storage(found, [GENERAL, S3Secret(scope="s3://raw")])
    assert found == again
    assert found.config[f"{PREFIX}bucket.raw.endpoint"] == "s3.amazonaws.com"


def test_botocore_and_pyarrow_reach_amazon_too(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("botocore")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://minio:9000")
    secret = S3Secret(key_id="a", secret="b", region="eu-west-1", scope="s3://raw")
    assert s3._client.__wrapped__(secret).meta.endpoint_url == "https://s3.eu-west-1.amazonaws.com"
    assert arrow_options(secret)["endpoint_override"] == ""


def test_all_clients_write_the_bucket_into_the_path_at_amazon() -> None:
    pytest.importorskip("botocore")
    secret = S3Secret(key_id="a", secret="b", region="eu-west-1", url_style="path")
    assert spark_endpoint(secret) == (None, "eu-west-1", "true")
    assert spark_endpoint(replace(secret, scope="s3://raw")) == ("s3.amazonaws.com", "eu-west-1", "true")
    assert s3._client.__wrapped__(secret).meta.config.s3["addressing_style"] == "path"
    assert s3._client.__wrapped__(replace(secret, url_style="vhost")).meta.config.s3["addressing_style"] == "auto"
    found = arrow_options(secret)
    assert (found["endpoint_override"], found["force_virtual_addressing"]) == ("s3.eu-west-1.amazonaws.com", False)


def arrow_options(secret: S3Secret) -> dict[str, Any]:
    """Return the options of PyArrow's client."""
    options: dict[str, Any] = s3.arrow_file_system("raw", secret).__reduce__()[1][0]
    return options


def test_settings_of_spark_have_precedence_and_a_connect_server_has_its_own() -> None:
    secret = S3Secret(endpoint="minio")
    assert with_storage(SparkSettings(config={f"{PREFIX}endpoint": "other"}), [secret]).config[f"{PREFIX}endpoint"] == "other"
    assert with_storage(SparkSettings(remote="sc://host"), [secret]).config == {}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("s3", "`secrets` must be a list of maps"),
        ([1], "`secrets` must be a list of maps"),
        ([{"type": "gcs"}], "entry 1: `type` must be s3"),
        ([{"key_id": "AKIA-MARK"}], "entry 1: `type` must be s3"),
        ([{**KEYS, "endpiont": "x"}], "entry 1 has the unknown field `endpiont`: did you mean `endpoint`"),
        ([{**KEYS, "use_ssl": "no"}], "`secrets.use_ssl` must be true or false"),
        ([{**KEYS, "secret": 12}], "`secrets.secret` must be a string"),
        ([{"type": "s3", "key_id": "AKIA-MARK"}], "give both `key_id` and `secret`"),
        ([{"type": "s3", "session_token": "SECRET-MARK"}], "`session_token` needs"),
        ([{"type": "s3", "provider": "config"}], "needs `key_id` and `secret`"),
        ([{**KEYS, "provider": "credential_chain"}], "remove `key_id`"),
        ([{**KEYS, "provider": "vault"}], "`provider` must be one of"),
        ([{**KEYS, "url_style": "virtual"}], "`url_style` must be one of vhost, path"),
        ([{**KEYS, "scope": "s3://bucket/folder"}], "`scope` must be a bucket"),
        ([{**KEYS, "endpoint": "SECRET-MARK@minio"}], "`endpoint` must be a host"),
        ([{**KEYS, "endpoint": "ftp://minio"}], "`endpoint` must be a host"),
        ([{**KEYS, "endpoint": "minio/lake"}], "`endpoint` must be a host"),
        ([KEYS, KEYS], "two entries are for all buckets"),
        ([{**KEYS, "scope": "s3://a"}, {**KEYS, "scope": "s3://a/"}], "two entries are for a"),
    ],
)
def test_a_wrong_entry_is_refused_without_showing_a_key(given: Any, message: str) -> None:
    with pytest.raises(DbtRuntimeError) as refused:
        DuckLakeCredentials(path="ducklake:sqlite:lake.sqlite", secrets=given)
    assert message in str(refused.value)
    assert "MARK" not in str(refused.value)


def test_keys_are_shown_nowhere() -> None:
    found = DuckLakeCredentials(path="ducklake:sqlite:lake.sqlite", secrets=[{**KEYS, "session_token": "TOKEN-MARK", "endpoint": "minio"}])
    settings = found.lake_settings()
    assert settings.secrets[0].secret == "SECRET-MARK"
    for text in (repr(found), str(dict(found.connection_info())), repr(settings), repr(settings.secrets), str(found.unique_field)):
        assert "MARK" not in text


def test_the_nearest_secret_applies_to_a_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "_SECRETS", s3._Secrets())
    general, raw = S3Secret(region="eu-1"), S3Secret(region="eu-2", scope="s3://raw")
    assert s3.secret_of("raw") is None
    s3.use_secrets([general, raw])
    assert (s3.secret_of("raw"), s3.secret_of("other")) == (raw, general)
    s3.use_secrets([S3Secret(region="eu-3")])
    assert (s3.secret_of("raw"), s3.secret_of("other")) == (raw, S3Secret(region="eu-3"))


GENERAL = S3Secret(key_id="general", secret="x", endpoint="minio")
PROD = S3Secret(key_id="prod", secret="y")


def scoped(secret: S3Secret, bucket: str) -> S3Secret:
    return replace(secret, scope=f"s3://{bucket}")


@pytest.mark.parametrize(
    ("used", "other", "added"),
    [
        ([], [], []),
        ([GENERAL], [], []),
        ([], [PROD], [scoped(PROD, "prod")]),
        ([GENERAL], [PROD], [scoped(PROD, "prod")]),
        ([GENERAL], [GENERAL], []),
        ([scoped(GENERAL, "prod/")], [GENERAL], []),
        ([GENERAL], [replace(GENERAL, provider="config")], []),
        ([GENERAL], [GENERAL, scoped(PROD, "raw")], [scoped(PROD, "raw")]),
        ([scoped(GENERAL, "ci")], [scoped(PROD, "prod"), scoped(PROD, "raw")], [scoped(PROD, "prod"), scoped(PROD, "raw")]),
    ],
)
def test_secrets_of_another_lake_are_added_by_bucket(used: list[S3Secret], other: list[S3Secret], added: list[S3Secret]) -> None:
    assert secrets_to_add(used, {"ci", None}, other, "prod") == tuple(added)


@pytest.mark.parametrize(
    ("used", "used_bucket", "other"),
    [
        ([], "prod", [PROD]),
        ([GENERAL], "prod", [PROD]),
        ([scoped(GENERAL, "prod")], "ci", [PROD]),
        ([scoped(GENERAL, "raw")], "ci", [scoped(PROD, "raw")]),
    ],
)
def test_two_secrets_for_one_bucket_are_refused(used: list[S3Secret], used_bucket: str, other: list[S3Secret]) -> None:
    with pytest.raises(
        ConfigurationError, match=r"`secrets` differ from those in use for the bucket (prod|raw).*Give both targets the same"
    ):
        secrets_to_add(used, {used_bucket}, other, "prod")


def test_an_attached_lake_is_read_with_its_own_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, other = f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"ducklake:sqlite:{tmp_path}/other.sqlite"
    for created in (path, other):
        Lake.open(LakeSettings(created, f"{tmp_path}/{Path(created).stem}/")).close_catalogs()
    monkeypatch.setattr(s3, "_SECRETS", s3._Secrets())
    with Lake.open(LakeSettings(path, secrets=(GENERAL,))) as lake:
        lake.attach(LakeSettings(other, database="prod", secrets=(scoped(PROD, "raw"),)))
        lake.attach(LakeSettings(other, database="second", secrets=(scoped(GENERAL, "raw"),), snapshot_version=0))
        assert s3.secret_of("raw") == GENERAL
        lake.catalog_of("prod")
        assert (s3.secret_of("raw"), s3.secret_of("ci")) == (scoped(PROD, "raw"), GENERAL)
        for _ in range(2):
            with pytest.raises(ConfigurationError, match="the attached lake second cannot be opened: its `secrets` differ"):
                lake.catalog_of("second")


class Session:
    """A session of Spark, which records its settings."""

    def __init__(self) -> None:
        self.conf = self
        self.settings: dict[str, str] = {}

    def set(self, key: str, value: str) -> None:
        self.settings[key] = value


def test_sessions_of_spark_get_added_secrets_unless_the_profile_sets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = replace(scoped(PROD, "raw"), endpoint="minio")
    runtime = SparkRuntime(SparkSettings(config={f"{PREFIX}bucket.raw.endpoint": "https://proxy"}))
    monkeypatch.setattr(runtime, "has_lost", lambda _: False)
    session: Any = Session()
    runtime._sessions.add(session)
    runtime.use_secrets([secret])
    assert session.settings == {
        "fs.s3a.bucket.raw.endpoint.region": "us-east-1",
        "fs.s3a.bucket.raw.path.style.access": "false",
        "fs.s3a.bucket.raw.connection.ssl.enabled": "true",
        "fs.s3a.bucket.raw.access.key": "prod",
        "fs.s3a.bucket.raw.secret.key": "y",
        "fs.s3a.bucket.raw.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    }


def test_a_pattern_of_the_profile_hides_the_keys_of_added_secrets_too(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = SparkRuntime(SparkSettings(config={REDACTION: "(?i)mine"}))
    monkeypatch.setattr(runtime, "has_lost", lambda _: False)
    session: Any = Session()
    runtime._sessions.add(session)
    runtime.use_secrets([replace(scoped(PROD, "raw"), session_token="z")])
    pattern = re.compile(session.settings["spark.sql.redaction.options.regex"])
    shown = {key.removeprefix("fs.s3a.bucket.raw.") for key in session.settings if not pattern.search(key)}
    assert not shown & {"access.key", "secret.key", "session.token"}
    assert "endpoint" in shown
    assert pattern.search("URL")
