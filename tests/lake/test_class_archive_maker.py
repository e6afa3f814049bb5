"""The maker of class archives leaves nothing in the folder of archives, so that a later maker can work there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from dbt.adapters.ducklake.spark.session.class_archive import MAKER, ClassArchive
from dbt.adapters.ducklake.spark.session.class_archive_maker import _require_usable
from dbt.adapters.ducklake.spark.session.java import find_java
from dbt.adapters.ducklake.spark.session.jvm import spark_home


def test_an_unusable_archive_is_refused_each_time(tmp_path: Path) -> None:
    archive = ClassArchive(str(find_java().home), str(spark_home()), "key")
    for _ in range(2):
        with pytest.raises(OSError, match="the archive cannot be used"):
            _require_usable(archive, tmp_path / "missing.jsa")
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_project_may_be_removed_meanwhile(tmp_path: Path) -> None:
    java, project = tmp_path / "java" / "bin" / "java", tmp_path / "project"
    java.parent.mkdir(parents=True)
    project.mkdir()
    java.write_text(f"#!/bin/sh\npwd > {tmp_path}/folder\nexit 1\n")
    java.chmod(0o755)
    archive = ClassArchive(str(java.parent.parent), str(spark_home()), "key")
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", MAKER, json.dumps(asdict(archive))],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "the JVM ended" in done.stderr
    assert (tmp_path / "folder").read_text() == "/\n"
