"""Fixtures of the acceptance tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.hadoop_jars import fetched_jars
from tests.acceptance.projects import Project, Rows, in_order, same_row
from tests.object_store import S3Server
from tests.places import FULL_MATRIX


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project in an empty folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    return Project(folder)


@pytest.fixture
def same_rows() -> Callable[[str, Rows, Rows], None]:
    """A function that compares two results as rows in any order. Numbers may differ by rounding (Spark averages decimals as decimals)."""

    def check(what: str, found: Rows, expected: Rows) -> None:
        assert len(found) == len(expected), f"{what}: {len(found)} rows, expected {len(expected)}"
        for ours, theirs in zip(in_order(found), in_order(expected), strict=True):
            assert same_row(ours, theirs), f"{what}: {ours} is not {theirs}"

    return check


@pytest.fixture
def s3_keys(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The variables with the keys and the address of the S3 server, set in this process."""
    found = {
        "AWS_ACCESS_KEY_ID": s3_server.key_id,
        "AWS_SECRET_ACCESS_KEY": s3_server.secret,
        "AWS_REGION": s3_server.region,
        "AWS_ENDPOINT_URL": s3_server.url,
    }
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    return found


@pytest.fixture
def s3_endpoint(s3_server: S3Server, s3_keys: dict[str, str]) -> str:  # noqa: ARG001 (sets variables)
    """The address of the S3 server, for which this process has keys."""
    return s3_server.url


@pytest.fixture(scope="session")
def s3_jars() -> str:
    """The jars of Hadoop's connector as a Spark setting: those in the folder S3_JARS, or in the nightly run those that Spark fetches."""
    if "S3_JARS" in os.environ:
        return ",".join(str(path) for path in sorted(Path(os.environ["S3_JARS"]).glob("*.jar")))
    if not FULL_MATRIX:
        pytest.skip("NOT RUN: set S3_JARS to a folder with Hadoop's connector, or run `make test-all`")
    try:
        return ",".join(map(str, fetched_jars()))
    except OSError as error:
        pytest.skip(f"NOT RUN: {error}")
