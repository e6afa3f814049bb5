"""Clients for S3 and S3-compatible stores, and the requests that PyArrow lacks.

PyArrow deletes each file with four requests, one of which creates an empty object for the directory, and it copies only whole objects.
With the extra `s3` (botocore), this module deletes up to a thousand files per request, and replaces a footer without downloading the file.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import logging
import os
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ..session.s3_secrets import S3Secret, amazon_host, environment_endpoint

logger = logging.getLogger(__name__)

SCHEMES = frozenset({"s3", "s3a", "s3n"})
MIN_PART_BYTES = 5 * 2**20
"""The minimum size in bytes of every part of a multipart upload except the last."""
MAX_PART_BYTES = 4 * 2**30
"""The maximum size in bytes of a part that the store copies; the protocol allows 5 GiB."""
MAX_KEYS = 1000
"""The maximum number of keys in one DeleteObjects request."""

_USER_INFO = re.compile(r"//[^/]*@")
_S3_ERROR = re.compile(
    r"AWS Error|software\.amazon\.awssdk|hadoop\.fs\.s3a|SdkClientException|Could not connect to the endpoint|Unable to locate credentials"
    r"|AuthorizationHeaderMalformed|SignatureDoesNotMatch|InvalidAccessKeyId|NoSuchBucket|AccessDenied|S3Exception"
)
"""Matches error messages of the S3 clients in Spark, PyArrow and botocore."""


class _Secrets:
    """The S3 secrets of this process, by bucket. They are process-wide, like Spark's configuration: the lake that was opened last wins."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._secrets: dict[str | None, S3Secret] = {}

    def use(self, secrets: Iterable[S3Secret]) -> None:
        with self._lock:
            self._secrets = self._secrets | {each.bucket: each for each in secrets}

    def of(self, bucket: str) -> S3Secret | None:
        return self._secrets.get(bucket, self._secrets.get(None))

    def all(self) -> list[S3Secret]:
        return list(self._secrets.values())


_SECRETS = _Secrets()


def use_secrets(secrets: Iterable[S3Secret]) -> None:
    """Use these secrets from now on. A secret replaces an earlier one for the same bucket, or the earlier one for all other buckets."""
    _SECRETS.use(secrets)


def arrow_file_system(bucket: str, secret: S3Secret | None) -> Any:
    """Return PyArrow's client for a bucket, which writes a small file with one request.

    Args:
        bucket: the bucket.
        secret: how to reach it; None to use the environment.
    """
    from pyarrow.fs import FileSystem, S3FileSystem, resolve_s3_region

    if secret is None:
        return FileSystem.from_uri(f"s3://{bucket}/?allow_delayed_open=true")[0]
    region = secret.signing_region or resolve_s3_region(bucket)
    # PyArrow writes the bucket into the path only for a given server
    server = amazon_host(region) if secret.endpoint is None and secret.url_style == "path" else secret.endpoint
    return S3FileSystem(
        access_key=secret.key_id,
        secret_key=secret.secret,
        session_token=secret.session_token,
        region=region,
        scheme="https" if secret.use_ssl else "http",
        endpoint_override=server,
        force_virtual_addressing=secret.endpoint is not None and secret.url_style == "vhost",
        allow_delayed_open=True,
    )


def secret_of(bucket: str) -> S3Secret | None:
    """Return the secret for a bucket; None to use the environment."""
    return _SECRETS.of(bucket)


def hint(text: str) -> str:
    """Return what to check if `text` is an error of an S3 client, as sentences with a leading space and no final period; "" if not."""
    if not _S3_ERROR.search(text):
        return ""
    found = [_shown(each.endpoint_url, each.signing_region, each.bucket) for each in _SECRETS.all()]
    if not any(each.bucket is None for each in _SECRETS.all()):
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        found.append(_shown(environment_endpoint(os.environ), region, None))
    return (
        f" The object store was addressed as {'; '.join(found)}. Check `endpoint`, `region`, `url_style`, `use_ssl` and the keys in the "
        "profile's `secrets`, or AWS_ENDPOINT_URL, AWS_REGION and the keys in the environment. See the page on object storage in the "
        "documentation"
    )


def _shown(endpoint: str | None, region: str | None, bucket: str | None) -> str:
    place = _USER_INFO.sub("//", endpoint or "Amazon S3")
    return f"{place}{'' if region is None else f' in the region {region}'}{'' if bucket is None else f' for the bucket {bucket}'}"


def split(path: str) -> tuple[str, str] | None:
    """Return (bucket, key) of an S3 path; None for any other path, or if the extra `s3` (botocore) is not installed."""
    scheme, separator, rest = path.partition("://")
    if not separator or scheme.lower() not in SCHEMES or not _has_botocore():
        return None
    bucket, _, key = rest.partition("/")
    return bucket, key


@lru_cache(maxsize=1)
def _has_botocore() -> bool:
    return importlib.util.find_spec("botocore") is not None


def client(bucket: str) -> Any:
    """Return botocore's client for a bucket. Threads can share it."""
    return _client(_SECRETS.of(bucket))


@lru_cache(maxsize=16)
def _client(secret: S3Secret | None) -> Any:
    botocore_session: Any = importlib.import_module("botocore.session")
    config: Any = importlib.import_module("botocore.config").Config
    session = botocore_session.get_session()
    plain = {"request_checksum_calculation": "when_required", "response_checksum_validation": "when_required"}
    if secret is None:
        style = "path" if environment_endpoint(os.environ) else "auto"
        region = os.environ.get("AWS_REGION")  # botocore itself only reads AWS_DEFAULT_REGION
        return session.create_client("s3", region_name=region, config=config(s3={"addressing_style": style}, **plain))
    style = "path" if secret.url_style == "path" else "auto" if secret.endpoint is None else "virtual"
    return session.create_client(
        "s3",
        region_name=secret.signing_region,
        endpoint_url=secret.endpoint_url,
        aws_access_key_id=secret.key_id,
        aws_secret_access_key=secret.secret,
        aws_session_token=secret.session_token,
        config=config(s3={"addressing_style": style}, ignore_configured_endpoint_urls=True, **plain),
    )


def delete(bucket: str, keys: Sequence[str]) -> dict[str, str]:
    """Delete objects, up to a thousand with one request; missing ones are ignored.

    Returns:
        key → the store's message, for the objects that it did not delete.

    Raises:
        OSError: the store refused a request.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    failed: dict[str, str] = {}
    for start in range(0, len(keys), MAX_KEYS):
        objects = [{"Key": key} for key in keys[start : start + MAX_KEYS]]
        try:
            answer = client(bucket).delete_objects(Bucket=bucket, Delete={"Objects": objects, "Quiet": True})
        except (BotoCoreError, ClientError) as error:
            raise OSError(str(error)) from error
        failed |= {each["Key"]: each.get("Message") or each["Code"] for each in answer.get("Errors", []) if each["Code"] != "NoSuchKey"}
    return failed


def read_range(bucket: str, key: str, start: int, length: int) -> bytes:
    """Read a part of an object, with one request.

    Raises:
        FileNotFoundError: the object does not exist.
        OSError: the store refused the request.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        answer = client(bucket).get_object(Bucket=bucket, Key=key, Range=f"bytes={start}-{start + length - 1}")
        return bytes(answer["Body"].read())
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") in ("NoSuchKey", "404"):
            raise FileNotFoundError(f"s3://{bucket}/{key}") from error
        raise OSError(str(error)) from error
    except BotoCoreError as error:
        raise OSError(str(error)) from error


def replace_end(bucket: str, key: str, kept: int, end: bytes) -> bool:
    """Keep the first `kept` bytes of an object and replace the rest with `end`. The store copies the kept bytes itself.

    Args:
        bucket: the bucket.
        key: the key of the object.
        kept: the number of bytes to keep, at least `MIN_PART_BYTES`.
        end: the new bytes after them.

    Returns:
        Whether the object was replaced. False after any error of the store, for example if it cannot copy parts.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    store, place = client(bucket), {"Bucket": bucket, "Key": key}
    upload = None
    try:
        upload = store.create_multipart_upload(**place)["UploadId"]
        parts = []
        for number, (first, last) in enumerate(_ranges(kept), 1):
            copied = store.upload_part_copy(
                **place, UploadId=upload, PartNumber=number, CopySource=place, CopySourceRange=f"bytes={first}-{last}"
            )
            parts.append({"PartNumber": number, "ETag": copied["CopyPartResult"]["ETag"]})
        number = len(parts) + 1
        parts.append({"PartNumber": number, "ETag": store.upload_part(**place, UploadId=upload, PartNumber=number, Body=end)["ETag"]})
        store.complete_multipart_upload(**place, UploadId=upload, MultipartUpload={"Parts": parts})
        return True
    except (BotoCoreError, ClientError) as error:
        logger.info("could not replace the end of s3://%s/%s within the store, so the whole file is rewritten: %s", bucket, key, error)
        if upload is not None:
            _abort(store, place, upload)
        return False


def _abort(store: Any, place: Mapping[str, str], upload: str) -> None:
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        store.abort_multipart_upload(**place, UploadId=upload)
    except (BotoCoreError, ClientError) as error:
        logger.warning("a multipart upload to s3://%s/%s could not be aborted: %s", place["Bucket"], place["Key"], error)


def _ranges(length: int) -> list[tuple[int, int]]:
    """Split `length` bytes into parts of about equal size, each as (first, last byte)."""
    count = -(-length // MAX_PART_BYTES)
    bounds = [length * index // count for index in range(count + 1)]
    return [(first, after - 1) for first, after in itertools.pairwise(bounds)]
