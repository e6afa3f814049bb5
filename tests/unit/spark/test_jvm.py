"""PySpark attaches to a JVM while other threads use the environment of this process."""

from __future__ import annotations

import os
import re
import shlex
import socket
import struct
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import accumulators, java_gateway

from dbt.adapters.ducklake.spark.session.given_options import LAUNCHER_OPTIONS, SUBMIT_OPTIONS
from dbt.adapters.ducklake.spark.session.jvm import (
    Jvm,
    JvmEndedError,
    command_and_environment,
    end_accumulators,
    start_jvm,
)
from tests.waiting import await_true


class AttachedError(Exception):
    """Raised in place of a connection, with its parameters."""


def test_attaching_does_not_change_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    before = dict(os.environ)

    def connect(java_parameters: Any, **_: object) -> None:
        assert dict(os.environ) == before
        raise AttachedError(java_parameters.port, java_parameters.auth_token)

    monkeypatch.setattr(java_gateway, "ClientServer", connect)
    with pytest.raises(AttachedError) as error:
        Jvm(None, 4711, "secret").attach()
    assert error.value.args == (4711, "secret")
    assert dict(os.environ) == before


class Launched:
    """In place of a JVM: it examines the files that it gets, and writes its address or ends."""

    def __init__(self, *, works: bool) -> None:
        self.works = works
        self.modes: dict[str, int] = {}
        self.start = Path()
        self.returncode = 3

    def launch(self, command: list[str], variables: Mapping[str, str], *_: object) -> Any:
        file = Path(command[command.index("--properties-file") + 1])
        assert "spark.some.key=secret" in file.read_text()
        assert "secret" not in str(command)
        self.start = file.parent
        self.modes = {path.name: path.stat().st_mode & 0o777 for path in (self.start.parent, self.start, *self.start.iterdir())}
        if self.works:
            text = b"its secret"
            Path(variables["_PYSPARK_DRIVER_CONN_INFO_PATH"]).write_bytes(struct.pack("!ii", 4711, len(text)) + text)
        return self

    def poll(self) -> int | None:
        return None if self.works else self.returncode


def test_the_settings_of_a_start_are_private_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    config = {"spark.some.key": "secret", "spark.driver.extraJavaOptions": "-Da=secret"}
    with Path(os.devnull).open("wb") as log:
        launched = Launched(works=True)
        jvm = start_jvm(Path("/java"), config, log, launch=launched.launch)
        assert (jvm.port, jvm.secret) == (4711, "its secret")
        assert launched.modes.pop("spark.properties") == 0o600
        assert launched.modes.pop("spark.driver.extraJavaOptions") == 0o600
        assert set(launched.modes.values()) == {0o700}
        assert jvm.folder is not None
        assert jvm.folder.path.exists(), "the JVM has its temporary folder there"
        assert not launched.start.exists()

        failed = Launched(works=False)
        with pytest.raises(JvmEndedError, match="the status 3"):
            start_jvm(Path("/java"), config, log, launch=failed.launch)
        assert len(failed.modes) == 4
        assert list(tmp_path.iterdir()) == [jvm.folder.path], "nothing is left of a start that failed"
        jvm.folder.remove()


def test_our_options_for_java_come_first_and_replace_no_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`spark-defaults.conf` may have options too, and a setting of ours would replace them."""
    monkeypatch.setenv(SUBMIT_OPTIONS, "-Duser=1")
    key = "spark.driver.extraJavaOptions"
    config = {key: "-Xss4m"}
    _, variables = command_and_environment(Path("/java"), config, tmp_path / "address", ["-Dour='s", "-XX:File=/a b"])
    assert shlex.split(variables[SUBMIT_OPTIONS]) == ["-Dour='s", "-XX:File=/a b", "-Duser=1"]
    assert (tmp_path / "spark.properties").read_text() == f"{key}=-Xss4m\n"


@pytest.mark.parametrize("name", ["JAVA_TOOL_OPTIONS", LAUNCHER_OPTIONS])
def test_the_java_of_the_command_line_has_one_collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "-XX:+UseG1GC")
    _, variables = command_and_environment(Path("/java"), {}, tmp_path / "address")
    assert "UseSerialGC" not in variables[LAUNCHER_OPTIONS]


def test_java_has_its_own_temporary_folder_without_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv(SUBMIT_OPTIONS, raising=False)

    def launch(command: list[str], variables: Mapping[str, str], *_: object) -> Any:
        properties = Path(command[command.index("--properties-file") + 1])
        raise AttachedError(properties.read_text(), variables[SUBMIT_OPTIONS])

    with Path(os.devnull).open("wb") as log, pytest.raises(AttachedError) as started:
        start_jvm(Path("/java"), {"spark.x": "1"}, log, launch=launch, java_options=["-Xshare:off"])
    settings, options = started.value.args
    assert settings == "spark.x=1\n"
    assert re.fullmatch(rf"-Djava\.io\.tmpdir={tmp_path}/\S+/tmp -Xshare:off", options)


def test_the_server_of_accumulators_ends(tmp_path: Path) -> None:
    server = accumulators._start_update_server("token", False)
    context = SimpleNamespace(_accumulatorServer=server)
    end_accumulators(context)
    end_accumulators(context)  # PySpark has none left to end
    await_true(lambda: server.socket.fileno() == -1)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(server.server_address)
    path = tmp_path / "accumulators"
    end_accumulators(SimpleNamespace(_accumulatorServer=accumulators._start_update_server("token", True, str(path))))
    assert not path.exists()
