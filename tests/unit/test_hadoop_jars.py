"""The JARs of Hadoop's connector that the nightly run fetches."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance import hadoop_jars


def test_jars_that_cannot_be_fetched_in_time_are_an_os_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], *, timeout: float, **_: Any) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(hadoop_jars, "hadoop_version", lambda: "3.5.0")
    monkeypatch.setattr(hadoop_jars, "cache_directory", lambda: tmp_path)
    with pytest.raises(OSError, match=r"could not fetch org\.apache\.hadoop:hadoop-aws:3\.5\.0, .* within 15 minutes"):
        hadoop_jars.fetched_jars()
