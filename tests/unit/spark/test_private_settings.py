"""Settings reach a starting JVM in files that only the user can read."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dbt.adapters.ducklake.errors import ConfigurationError
from dbt.adapters.ducklake.spark.session import connect
from dbt.adapters.ducklake.spark.session.java import Java
from dbt.adapters.ducklake.spark.session.private_settings import SUBMIT_ARGUMENTS, private_settings, properties
from dbt.adapters.ducklake.spark.session.sensitive import REDACTED, REDACTION
from dbt.adapters.ducklake.spark.session.settings import SparkSettings
from dbt.adapters.ducklake.spark.session.temporary_folder import LOCK

JAVA_OPTIONS = "spark.driver.extraJavaOptions"


def submitted() -> list[str]:
    return shlex.split(os.environ[SUBMIT_ARGUMENTS])


def test_the_files_are_private_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SUBMIT_ARGUMENTS, raising=False)
    with private_settings({"spark.hadoop.fs.s3a.secret.key": "a b=c", JAVA_OPTIONS: "-Xss4m -Da.password='x \"y'"}):
        option, file, *others = submitted()
        folder = Path(file).parent
        assert (option, others) == ("--properties-file", ["--load-spark-defaults", "pyspark-shell"])
        assert "spark.hadoop.fs.s3a.secret.key=a\\ b\\=c" in Path(file).read_text()
        assert (folder / JAVA_OPTIONS).read_text() == '"-Da.password=x \\"y"\n'
        assert "password" not in Path(file).read_text()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {each.stat().st_mode & 0o777 for each in folder.iterdir() if each.name != LOCK} == {0o600}
    assert SUBMIT_ARGUMENTS not in os.environ
    assert not folder.exists()


@pytest.mark.parametrize("text", ["spark.x 1", "spark.x 1\\"])
def test_a_properties_file_of_the_user_is_included(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str) -> None:
    """A backslash at its end continues its last line, not one of ours."""
    own = tmp_path / "own file.conf"
    own.write_text(text)
    monkeypatch.setenv(SUBMIT_ARGUMENTS, f"--verbose --properties-file '{own}' pyspark-shell")
    with private_settings({"spark.y": "2"}):
        _, file, *others = submitted()
        assert others == ["--verbose", "pyspark-shell"]
        assert Path(file).read_text() == f"{text}\n\nspark.y=2\n"
    assert str(own) in os.environ[SUBMIT_ARGUMENTS]


def test_variables_are_set_in_the_block_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/old")
    monkeypatch.delenv("MATRIX_TEST", raising=False)
    with private_settings({}, {"JAVA_HOME": "/new", "MATRIX_TEST": "x"}):
        assert (os.environ["JAVA_HOME"], os.environ["MATRIX_TEST"]) == ("/new", "x")
    assert os.environ["JAVA_HOME"] == "/old"
    assert "MATRIX_TEST" not in os.environ


def test_properties_are_escaped_for_java() -> None:
    assert properties({"a": "x = y: #1 !", "b c": "\\d\t|\n'\"é"}) == "a=x\\ \\=\\ y\\:\\ \\#1\\ \\!\nb\\ c=\\\\d\\t|\\n'\"é\n"


def test_an_open_quotation_mark_is_an_error_without_the_options() -> None:
    with (
        pytest.raises(ConfigurationError, match="extraJavaOptions has an unclosed quotation mark"),
        private_settings({JAVA_OPTIONS: "-Da='b"}),
    ):
        pass


@pytest.mark.parametrize(("config", "pattern"), [({}, REDACTED), ({REDACTION: "own"}, "own")])
def test_a_connect_server_of_this_machine_hides_the_same_settings_as_spark(
    monkeypatch: pytest.MonkeyPatch, config: dict[str, str], pattern: str
) -> None:
    monkeypatch.setattr(connect, "find_java", lambda: Java(Path("/java"), 17, "test"))
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", lambda _builder: Path(submitted()[1]).read_text())
    started = connect.connect(SparkSettings(remote="local[1]", config=config), print)
    assert str(started) == properties({REDACTION: pattern})
