"""The doctor requires only the JARs that are files of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbt.adapters.ducklake.errors import ConfigurationError
from dbt.adapters.ducklake.session.doctor import _jars


@pytest.mark.parametrize("missing", ["/nowhere/a.jar", "file:/nowhere/a.jar", "file:///nowhere/a.jar", "nowhere/*.jar"])
def test_a_missing_local_jar_is_refused(missing: str) -> None:
    with pytest.raises(ConfigurationError, match="these JARs do not exist"):
        _jars(f"local:/on/each/executor.jar, {missing}")


def test_jars_elsewhere_are_not_required(tmp_path: Path) -> None:
    (tmp_path / "a.jar").touch()
    elsewhere = "local:/on/each/executor.jar,local:///other.jar,s3a://bucket/b.jar,hdfs:/c.jar"
    assert _jars(f"{elsewhere}, {tmp_path}/a.jar,file:{tmp_path}/*.jar") == "2 local files"
