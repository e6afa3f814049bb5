"""Archives of loaded classes: when one is used, its key, and what a maker leaves in the folder."""

from __future__ import annotations

import fcntl
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.spark.session import class_archive_maker
from dbt.adapters.ducklake.spark.session.class_archive import MAKER, ClassArchive, archive_for, archive_key
from dbt.adapters.ducklake.spark.session.class_archive_maker import make, remove_outdated
from dbt.adapters.ducklake.spark.session.given_options import SERIAL_COLLECTOR, SUBMIT_OPTIONS
from dbt.adapters.ducklake.spark.session.java import Java
from dbt.adapters.ducklake.spark.session.launch import C1_ONLY, java_options

LOCAL = {"spark.master": "local[2]"}
JAVA_OPTIONS, DEFAULT_OPTIONS = "spark.driver.extraJavaOptions", "spark.driver.defaultJavaOptions"
G1 = "-XX:+UseG1GC"


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Java:
    """A Java with a base archive, and a Spark with one jar; both are empty files."""
    for name in ("java/lib/server/classes.jsa", "spark/bin/spark-submit", "spark/jars/spark.jar"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Java(tmp_path / "java", 17, "JAVA_HOME")


def archive(java: Java) -> ClassArchive:
    found = archive_for(java, LOCAL)
    assert found is not None
    found.path.parent.mkdir(parents=True, exist_ok=True)
    return found


def test_the_key_changes_with_the_jars(java: Java, tmp_path: Path) -> None:
    before = archive(java)
    assert archive(java) == before
    (tmp_path / "spark" / "jars" / "other.jar").touch()
    after = archive(java)
    assert after.path != before.path
    assert after.path.name.partition("-")[0] == before.path.name.partition("-")[0]
    assert archive_key(Java(java.home, 21, "PATH"), tmp_path / "spark") != after.key


@pytest.mark.parametrize(
    "config",
    [
        {"spark.master": "spark://host:7077"},
        {},
        {**LOCAL, JAVA_OPTIONS: "-Xshare:off"},
        {**LOCAL, JAVA_OPTIONS: "-XX:SharedArchiveFile=mine.jsa"},
        {**LOCAL, DEFAULT_OPTIONS: "-XX:SharedArchiveFile=mine.jsa"},
        {**LOCAL, "spark.driver.extraClassPath": "/opt/other.jar"},
    ],
)
def test_there_is_no_archive_for_a_cluster_or_another_class_path_or_own_options(java: Java, config: dict[str, str]) -> None:
    assert archive_for(java, config) is None


@pytest.mark.parametrize("name", [SUBMIT_OPTIONS, "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"])
def test_there_is_no_archive_if_the_environment_names_one(java: Java, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "-XX:SharedArchiveFile=mine.jsa")
    assert archive_for(java, LOCAL) is None


def test_there_is_no_archive_for_a_java_without_a_base_archive(java: Java, tmp_path: Path) -> None:
    (tmp_path / "java" / "lib" / "server" / "classes.jsa").unlink()
    assert archive_for(java, LOCAL) is None


def test_there_is_no_archive_with_files_in_the_first_folder_of_the_class_path(
    java: Java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.setenv("SPARK_CONF_DIR", str(own))
    assert archive_for(java, LOCAL) is not None
    (own / "spark-defaults.conf").touch()
    assert archive_for(java, LOCAL) is None


def test_java_gets_the_archive_and_the_options_of_a_fast_start(java: Java) -> None:
    options = java_options(LOCAL, False, archive(java))
    assert options[-1] == f"-XX:SharedArchiveFile={archive(java).path}"
    assert not set(C1_ONLY) & set(options)
    assert java_options(LOCAL, True, None) == [*C1_ONLY, SERIAL_COLLECTOR]
    assert java_options({"spark.master": "yarn"}, False, None) == []


@pytest.mark.parametrize(
    ("config", "variables", "defaults"),
    [
        ({JAVA_OPTIONS: f"-Xss4m {G1}"}, {}, ""),
        ({DEFAULT_OPTIONS: "-XX:+UseZGC"}, {}, ""),
        ({}, {SUBMIT_OPTIONS: G1}, ""),
        ({}, {"JAVA_TOOL_OPTIONS": G1}, ""),
        ({}, {"PYSPARK_SUBMIT_ARGS": f"--driver-java-options {G1} pyspark-shell"}, ""),
        ({}, {"PYSPARK_SUBMIT_ARGS": "--properties-file own.conf pyspark-shell"}, ""),
        ({}, {}, f"spark.x 1\n{JAVA_OPTIONS} -Xss4m \\\n  {G1}\n"),
        ({}, {}, f"{DEFAULT_OPTIONS}=-XX\\:+UseParallelGC"),
    ],
)
def test_a_fast_start_keeps_a_given_collector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: dict[str, str], variables: dict[str, str], defaults: str
) -> None:
    """Java does not start with two collectors."""
    monkeypatch.chdir(tmp_path)
    for name, value in {**variables, "SPARK_CONF_DIR": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "own.conf").write_text(f"{JAVA_OPTIONS} {G1}")
    (tmp_path / "spark-defaults.conf").write_text(defaults)
    assert java_options({**LOCAL, **config}, True, None) == list(C1_ONLY)


def test_collectors_of_executors_and_in_comments_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    (tmp_path / "spark-defaults.conf").write_text(f"#{JAVA_OPTIONS} {G1}\nspark.executor.extraJavaOptions {G1}\n")
    assert java_options(LOCAL, True, None) == [*C1_ONLY, SERIAL_COLLECTOR]


class UsedError(Exception):
    """Raised in place of a start, with its arguments."""


@pytest.mark.parametrize("name", ["John Smith", "O'Neill"])
def test_an_archive_is_made_in_a_folder_with_a_space_or_an_apostrophe(java: Java, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def start(*_: object, **options: Any) -> None:
        raise UsedError(options["java_options"])

    def run(_: object, *, env: dict[str, str], **__: object) -> None:
        raise UsedError(shlex.split(env[SUBMIT_OPTIONS]))

    monkeypatch.setattr(class_archive_maker, "start_jvm", start)
    monkeypatch.setattr(subprocess, "run", run)
    path = Path(name) / "x.tmp"
    with pytest.raises(UsedError) as made:
        class_archive_maker._write(archive(java), path)
    with pytest.raises(UsedError) as tested:
        class_archive_maker._require_usable(archive(java), path)
    assert f"-XX:ArchiveClassesAtExit={path}" in made.value.args[0]
    assert tested.value.args[0][:2] == ["-Xshare:on", f"-XX:SharedArchiveFile={path}"]


def test_a_maker_starts_unless_there_is_an_archive_or_one_has_failed(java: Java, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: started.append(command))
    wanted = archive(java)
    wanted.make_later()
    assert [command[1:3] for command in started] == [["-m", MAKER]]
    wanted.path.touch()
    assert wanted.use()
    wanted.make_later()
    wanted.discard()
    assert wanted.use(), "a start may fail for another reason than its archive"
    wanted.discard()
    assert not wanted.use()
    wanted.make_later()
    assert len(started) == 1


def test_a_failed_maker_leaves_a_mark_and_no_archive(java: Java, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise OSError("no Java")

    wanted = archive(java)
    monkeypatch.setattr(class_archive_maker, "_write", failing)
    with pytest.raises(OSError, match="no Java"):
        make(wanted)
    assert [path.name for path in wanted.path.parent.iterdir() if path.name != "lock"] == [wanted.path.with_suffix(".failed").name]


def test_a_second_maker_does_nothing(java: Java) -> None:
    wanted = archive(java)
    with (wanted.path.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        make(wanted)
    assert [path.name for path in wanted.path.parent.iterdir()] == ["lock"]


def test_files_of_earlier_versions_are_removed_and_those_of_other_places_stay(java: Java, tmp_path: Path) -> None:
    before = archive(java)
    (tmp_path / "spark" / "jars" / "other.jar").touch()
    after = archive(java)
    elsewhere = ClassArchive("/other/java", "/other/spark", "key")
    for each in (before.path, before.path.with_suffix(".failed"), after.path, elsewhere.path, elsewhere.path.with_suffix(".tmp")):
        each.touch()
    remove_outdated(after)
    assert set(after.path.parent.iterdir()) == {after.path, elsewhere.path}
