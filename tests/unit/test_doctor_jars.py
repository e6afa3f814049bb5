"""The doctor requires only the JARs that are files of this machine, and counts the faults that it does not show."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbt.adapters.ducklake.errors import ConfigurationError
from dbt.adapters.ducklake.session.doctor import MAX_FAULTS, _jars, _no_faults


@pytest.mark.parametrize("missing", ["/nowhere/a.jar", "file:/nowhere/a.jar", "file:///nowhere/a.jar", "nowhere/*.jar"])
def test_a_missing_local_jar_is_refused(missing: str) -> None:
    with pytest.raises(ConfigurationError, match="these JARs do not exist"):
        _jars(f"local:/on/each/executor.jar, {missing}")


def test_jars_elsewhere_are_not_required(tmp_path: Path) -> None:
    (tmp_path / "a.jar").touch()
    elsewhere = "local:/on/each/executor.jar,local:///other.jar,s3a://bucket/b.jar,hdfs:/c.jar"
    assert _jars(f"{elsewhere}, {tmp_path}/a.jar,file:{tmp_path}/*.jar") == "2 local files"


@pytest.mark.parametrize(
    ("more", "end"), [(0, "fault"), (1, "fault. 1 more fault is not shown"), (3, "fault. 3 more faults are not shown")]
)
def test_the_faults_that_are_not_shown_are_counted(more: int, end: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        _no_faults(["fault"] * (MAX_FAULTS + more))
    assert str(error.value) == "fault. " * (MAX_FAULTS - 1) + end
