"""S3 servers for tests: the one that S3_ENDPOINT names, else moto in this process; requests to it are counted.

moto accepts every region and every key. versitygw checks both. If it is on the PATH, the nightly run uses it too:
`go install github.com/versity/versitygw/cmd/versitygw@latest`
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from dbt.adapters.ducklake.spark.files import s3
from dbt.adapters.ducklake.spark.session.s3_secrets import S3Secret
from tests.counted_requests import CountingProxy
from tests.places import nightly

START_SECONDS = 60


@dataclass(frozen=True)
class S3Server:
    """A running server, and the region and keys that its clients use."""

    url: str
    region: str = "us-east-1"
    key_id: str = "lake"
    secret: str = "lake-secret"


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


@pytest.fixture(scope="session", params=["moto", *nightly("versitygw")])
def s3_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """An S3 server."""
    if request.param == "versitygw":
        if shutil.which("versitygw") is None:
            pytest.skip("NOT RUN: versitygw is not on the PATH")
        with _versitygw(tmp_path_factory.mktemp("versitygw")) as server:
            yield server
        return
    given = os.environ.get("S3_ENDPOINT")
    if given:
        names = {"region": "AWS_REGION", "key_id": "AWS_ACCESS_KEY_ID", "secret": "AWS_SECRET_ACCESS_KEY"}
        yield S3Server(given, **{field: os.environ[name] for field, name in names.items() if name in os.environ})
        return
    moto = pytest.importorskip("moto.server", reason="NOT RUN: set S3_ENDPOINT, or install moto[s3], flask and flask-cors")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield S3Server(f"http://{host}:{port}")
    server.stop()


@contextmanager
def _versitygw(folder: Path) -> Iterator[S3Server]:
    """Run versitygw on a free port, with a region that no client guesses. Its objects are files below the folder."""
    for name in ("buckets", "attributes"):
        (folder / name).mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = S3Server(f"http://127.0.0.1:{port}", region="lake-north-1", key_id="versity", secret="versity-secret")
    command = ["versitygw", "--quiet", "--port", f"127.0.0.1:{port}", "--region", server.region]
    command += ["posix", "--sidecar", str(folder / "attributes"), str(folder / "buckets")]
    keys = {"ROOT_ACCESS_KEY": server.key_id, "ROOT_SECRET_KEY": server.secret}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env={**os.environ, **keys}, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not _accepts_connections(port):
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline, "versitygw does not answer"
            time.sleep(0.05)
        yield server
    finally:
        process.kill()
        process.wait()


def _accepts_connections(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.fixture
def object_store(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """A new bucket, which this process reaches by a secret and not by its environment."""
    with CountingProxy(s3_server.url) as proxy:
        bucket = f"lake-{uuid4().hex}"
        secret = S3Secret(
            key_id=s3_server.key_id,
            secret=s3_server.secret,
            region=s3_server.region,
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
