"""An S3 server for tests: the one that S3_ENDPOINT names, else moto in this process; requests to it are counted."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import pytest

from dbt.adapters.ducklake.spark.files import s3
from dbt.adapters.ducklake.spark.session.s3_secrets import S3Secret
from tests.counted_requests import CountingProxy


@dataclass(frozen=True)
class ObjectStore:
    """A new bucket on a server.

    Args:
        bucket: its name.
        proxy: the server as the clients know it.
        secret: how to reach it.
    """

    bucket: str
    proxy: CountingProxy
    secret: S3Secret

    @property
    def folder(self) -> str:
        """The URL of a folder in the bucket."""
        return f"s3://{self.bucket}/lake/"


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The URL of an S3 server."""
    given = os.environ.get("S3_ENDPOINT")
    if given:
        yield given
        return
    moto = pytest.importorskip("moto.server", reason="NOT RUN: set S3_ENDPOINT, or install moto[s3], flask and flask-cors")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def object_store(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """A new bucket, which this process reaches by a secret and not by its environment."""
    with CountingProxy(s3_server) as proxy:
        bucket = f"lake-{uuid4().hex}"
        secret = S3Secret(
            key_id=os.environ.get("AWS_ACCESS_KEY_ID", "lake"),
            secret=os.environ.get("AWS_SECRET_ACCESS_KEY", "lake-secret"),
            region=os.environ.get("AWS_REGION", "us-east-1"),
            endpoint=proxy.endpoint,
            url_style="path",
            scope=f"s3://{bucket}",
        )
        for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
            monkeypatch.delenv(name, raising=False)
        s3.use_secrets([secret])
        s3.client(bucket).create_bucket(Bucket=bucket, **_place(secret.region))
        proxy.counted()
        yield ObjectStore(bucket, proxy, secret)


def _place(region: str | None) -> dict[str, object]:
    return {} if region in (None, "us-east-1") else {"CreateBucketConfiguration": {"LocationConstraint": region}}
