"""How to reach S3 or an S3-compatible store: one description for Spark, PyArrow and botocore, with DuckDB's names."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from ...errors import ConfigurationError
from .settings import SparkSettings

_HADOOP = "spark.hadoop.fs.s3a."
_AMAZON = "s3.amazonaws.com"
"""The endpoint with which the connector finds the region of a bucket at Amazon itself."""
_AMAZON_REGION = "us-east-2"
"""The region that the connector asks first for that of a bucket."""
_PROVIDERS = {
    "simple": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    "temporary": "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider",
    "chain": "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",
}
_SCOPE = re.compile(r"(?:s3|s3a|s3n)://([^/@:\s]+)/?")
_ENDPOINT = re.compile(r"[^/@\s]+")
STYLES = ("vhost", "path")
SECRET_PROVIDERS = ("config", "credential_chain")


@dataclass(frozen=True)
class S3Secret:
    """How to reach a store, with the names and defaults of DuckDB's `CREATE SECRET (TYPE s3, …)`.

    Args:
        key_id: the access key; None: found in the environment, configuration files or the machine's role.
        secret: the secret key.
        session_token: the token of temporary keys.
        region: the region; None: found for Amazon, `us-east-1` for other servers.
        endpoint: host and port of the server; None: Amazon, also if the environment names one. `http://` before it means `use_ssl=False`.
        url_style: `vhost` (the bucket is in the host name) or `path`.
        use_ssl: whether to use HTTPS.
        scope: the bucket, `s3://bucket`; None: all buckets that have no secret of their own.
        provider: `config` for the keys given here, `credential_chain` for keys that are found; by default it depends on `key_id`.

    Raises:
        ConfigurationError: a field is wrong, or two contradict each other; the message contains no key.
    """

    key_id: str | None = field(default=None, repr=False)
    secret: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    region: str | None = None
    endpoint: str | None = None
    url_style: str = "vhost"
    use_ssl: bool = True
    scope: str | None = None
    provider: str | None = None

    def __post_init__(self) -> None:
        if self.url_style not in STYLES:
            raise ConfigurationError(f"`url_style` must be one of {', '.join(STYLES)}")
        if self.scope is not None and not _SCOPE.fullmatch(self.scope):
            raise ConfigurationError("`scope` must be a bucket, such as s3://bucket: Spark knows one set of keys for each bucket")
        self._check_keys()
        if self.endpoint is not None:
            scheme, separator, host = self.endpoint.rpartition("://")
            host = host.rstrip("/")
            if not _ENDPOINT.fullmatch(host) or (separator and scheme.lower() not in ("http", "https")):
                raise ConfigurationError("`endpoint` must be a host and perhaps a port, such as minio:9000, without keys or a path")
            object.__setattr__(self, "endpoint", host)
            if scheme.lower() == "http":
                object.__setattr__(self, "use_ssl", False)

    def _check_keys(self) -> None:
        if self.provider is not None and self.provider not in SECRET_PROVIDERS:
            raise ConfigurationError(f"`provider` must be one of {', '.join(SECRET_PROVIDERS)}")
        if (self.key_id is None) != (self.secret is None):
            raise ConfigurationError("give both `key_id` and `secret`, or neither to use the environment or the machine's role")
        if self.session_token is not None and self.key_id is None:
            raise ConfigurationError("`session_token` needs `key_id` and `secret`")
        if self.provider == "config" and self.key_id is None:
            raise ConfigurationError("`provider: config` needs `key_id` and `secret`; `provider: credential_chain` finds the keys")
        if self.provider == "credential_chain" and self.key_id is not None:
            raise ConfigurationError("`provider: credential_chain` finds the keys: remove `key_id` and `secret`, or the provider")

    @property
    def bucket(self) -> str | None:
        """The bucket of the scope; None for all buckets."""
        found = _SCOPE.fullmatch(self.scope) if self.scope is not None else None
        return found[1] if found else None

    @property
    def endpoint_url(self) -> str | None:
        """The URL of the server; None for Amazon."""
        return None if self.endpoint is None else f"{'https' if self.use_ssl else 'http'}://{self.endpoint}"

    @property
    def signing_region(self) -> str | None:
        """The region to sign requests for; None: found for Amazon. Other servers expect `us-east-1` unless configured otherwise."""
        return self.region or (None if self.endpoint is None else "us-east-1")

    def hadoop_settings(self, config: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
        """Return the settings of Spark's connector.

        Args:
            config: the profile's own settings of Spark. Those for all buckets replace what this secret does not give itself.
        """
        path_style = self.url_style == "path"
        if self.endpoint is None:
            found = self._amazon(path_style, os.environ, config)
        else:
            found = _server(self.endpoint_url, self.signing_region, path_style)
        if self.key_id is None or self.secret is None:
            found["aws.credentials.provider"] = _PROVIDERS["chain"]
        else:
            kind = "simple" if self.session_token is None else "temporary"
            found |= {"access.key": self.key_id, "secret.key": self.secret, "aws.credentials.provider": _PROVIDERS[kind]}
            if self.session_token is not None:
                found["session.token"] = self.session_token
        prefix = _HADOOP if self.bucket is None else f"{_HADOOP}bucket.{self.bucket}."
        return {prefix + key: value for key, value in found.items()}

    def _amazon(self, path_style: bool, environment: Mapping[str, str], config: Mapping[str, str]) -> dict[str, str]:
        """Return the connector's settings for Amazon, without their prefix.

        A bucket would inherit the server and region of all other buckets, and Amazon's SDK reads the server of the environment itself.
        Only those of the profile's own settings are inherited.
        """
        named = environment_endpoint(environment) is not None
        if f"{_HADOOP}endpoint" in config or (self.bucket is None and not named):
            found = _server(None, self.region, path_style)
            return {**found, "path.style.access": "true"} if path_style else found
        inherited = config.get(f"{_HADOOP}endpoint.region") or (None if named else _environment_region(environment))
        region = self.region or inherited or _AMAZON_REGION
        found = _server(f"https://{amazon_host(region)}" if named else _AMAZON, region, path_style)
        own = {"endpoint.region": self.region is not None, "path.style.access": path_style}
        return {key: value for key, value in found.items() if own.get(key) or _HADOOP + key not in config}


def amazon_host(region: str) -> str:
    """Return the host of S3 in a region of Amazon."""
    return f"s3.{region}.amazonaws.com" + (".cn" if region.startswith("cn-") else "")


def _server(endpoint: str | None, region: str | None, path_style: bool) -> dict[str, str]:
    """Return the connector's settings for a server, without their prefix. `endpoint` is a URL, and None for Amazon."""
    found: dict[str, str] = {}
    if endpoint is not None:
        found["endpoint"] = endpoint
        found["path.style.access"] = str(path_style).lower()
        found["connection.ssl.enabled"] = str(not endpoint.startswith("http://")).lower()
    if region is not None:
        found["endpoint.region"] = region
    return found


def bucket_of(path: str) -> str | None:
    """Return the bucket of a path; None if the path is not of S3."""
    found = _SCOPE.match(path)
    return found[1] if found else None


def secrets_to_add(
    used: Iterable[S3Secret], used_buckets: Collection[str | None], other: Iterable[S3Secret], bucket: str | None
) -> tuple[S3Secret, ...]:
    """Return the secrets that are needed to read another lake besides those in use, each for one bucket.

    Args:
        used: the secrets in use.
        used_buckets: the buckets of the lakes in use. Their secrets stay as they are.
        other: the secrets of the other lake.
        bucket: the bucket of its data path; None if that is not on S3.

    Raises:
        ConfigurationError: the lakes need different secrets for the same bucket.
    """
    known, wanted = ({each.bucket: each for each in secrets} for secrets in (used, other))
    found = []
    for name in dict.fromkeys((bucket, *wanted)):
        secret = None if name is None else wanted.get(name, wanted.get(None))
        if name is None or secret is None:
            continue
        current = known.get(name, known.get(None))
        needed = _for_bucket(secret, name)
        if current is not None and _for_bucket(current, name) == needed:
            continue
        if name in known or name in used_buckets:
            raise ConfigurationError(
                f"its `secrets` differ from those in use for the bucket {name}, and one command can use only one entry for a bucket. Give "
                f"both targets the same entry, with keys that can read both lakes"
            )
        found.append(needed)
    return tuple(found)


def _for_bucket(secret: S3Secret, bucket: str) -> S3Secret:
    """Return a secret for one bucket, without the provider, which follows from the keys."""
    return replace(secret, scope=f"s3://{bucket}", provider=None)


def environment_endpoint(environment: Mapping[str, str]) -> str | None:
    """Return the URL of the server that the environment names; None for Amazon."""
    return environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL") or None


def _environment_region(environment: Mapping[str, str]) -> str | None:
    return environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or None


def environment_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return settings of Spark's connector for the server and the region in the environment, which PyArrow reads itself.

    Spark reads the keys there, but would sign for `us-east-2` if the name of a server contains no region.
    """
    endpoint = environment_endpoint(environment)
    region = _environment_region(environment) or ("us-east-1" if endpoint else None)
    return {_HADOOP + key: value for key, value in _server(endpoint, region, path_style=True).items()}


def with_storage(settings: SparkSettings, secrets: Iterable[S3Secret]) -> SparkSettings:
    """Return the settings of a Spark that reaches the stores as this process does; its own `config` takes precedence.

    The server of Spark Connect has its own settings, which a client cannot change.
    """
    if not settings.starts_jvm:
        return settings
    found = {} if any(each.bucket is None for each in secrets) else environment_settings(os.environ)
    for each in secrets:
        found |= each.hadoop_settings(settings.config)
    return replace(settings, config={**found, **settings.config})
