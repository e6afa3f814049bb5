"""The keeper of a JVM, with `cat` in place of the JVM: it too ends when its standard input is closed."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dbt.adapters.ducklake.errors import ConfigurationError
from dbt.adapters.ducklake.spark.session import kept
from dbt.adapters.ducklake.spark.session.java import Java
from dbt.adapters.ducklake.spark.session.jvm import Jvm
from dbt.adapters.ducklake.spark.session.kept import Keeping, Lease, Place, folder, place_of, states, stop_all
from dbt.adapters.ducklake.spark.session.settings import SparkSettings
from dbt.adapters.ducklake.spark.session.temporary_folder import TemporaryFolder, remove_unused
from tests.waiting import await_true

JAVA = Java(Path("/java"), 17, "JAVA_HOME")
PLACE = Place("settings", 600)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder of sockets, whose path is short enough."""
    path = Path(f"/tmp/kept-unit-{os.getpid()}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(kept, "spark_home", lambda: Path("/spark"))
    yield path
    await_true(lambda: all(each["stopped"] for each in stop_all()))
    await_true(lambda: not list(states()))
    shutil.rmtree(path, ignore_errors=True)


def has_ended(pid: int) -> bool:
    """Whether a process has ended, also if nobody has asked for its status."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def start(place: Place = PLACE) -> tuple[subprocess.Popen[bytes], Jvm]:
    keeping, temporary = Keeping(place), TemporaryFolder()
    with Path(os.devnull).open("a+b") as log:
        process = keeping.spawn(["cat"], os.environ, log, temporary)
    return process, keeping.kept(Jvm(process, 4711, "secret", temporary))


def lease(jvm: Jvm | None) -> Lease:
    assert jvm is not None
    assert isinstance(jvm.process, Lease)
    return jvm.process


def test_commands_use_a_kept_jvm_one_after_another() -> None:
    _, first = start()
    (state,) = states()
    assert (state["commands"], state["idle_seconds"]) == (1, None)
    assert PLACE.lease() is None, "leased although it is in use"
    assert Place("other", 600).lease() is None
    lease(first).end()
    for number in (2, 3):
        again = PLACE.lease()
        assert again is not None
        assert (again.port, again.secret, again.has_context) == (4711, "secret", True)
        assert lease(again).poll() is None
        assert [each["commands"] for each in states()] == [number]
        lease(again).end()
    (state,) = states()
    assert state["idle_seconds"] == 0


def test_a_jvm_is_stopped_only_when_no_command_uses_it() -> None:
    process, first = start()
    (state,) = stop_all()
    assert not state["stopped"]
    assert lease(first).poll() is None
    lease(first).end()
    (state,) = stop_all()
    assert state["stopped"]
    process.wait(30)
    assert has_ended(state["pid"])
    assert PLACE.lease() is None
    assert not list(folder().glob("*.socket"))


def test_it_ends_with_a_command_that_was_killed() -> None:
    process, first = start()
    lease(first).kill()
    assert process.wait(30) == 0
    _, first = start()
    lease(first).end()
    again = lease(PLACE.lease())
    (state,) = states()
    again.kill()
    await_true(lambda: has_ended(state["pid"]))


def test_the_temporary_folder_is_removed_with_the_jvm(tmp_path: Path) -> None:
    process, first = start()
    lease(first).end()
    remove_unused()
    assert list(tmp_path.glob("dbt-ducklake-*")), "removed although the JVM holds the lock"
    stop_all()
    process.wait(30)
    assert not list(tmp_path.glob("dbt-ducklake-*"))


def test_a_killed_keeper_leaves_nothing_that_disturbs(tmp_path: Path) -> None:
    process, first = start()
    (state,) = states()
    process.kill()
    await_true(lambda: has_ended(state["pid"]))
    assert list(tmp_path.glob("dbt-ducklake-*")), "the killed keeper left no folder to remove"
    remove_unused()
    assert not list(tmp_path.glob("dbt-ducklake-*"))
    assert lease(first).poll() is not None
    assert not list(states())
    assert PLACE.lease() is None
    assert list(folder().glob("*.socket")), "the killed keeper left no socket"
    _, first = start()
    assert len(list(states())) == 1
    lease(first).end()


def test_a_lease_says_that_the_jvm_has_ended() -> None:
    process, first = start()
    (state,) = states()
    os.kill(state["pid"], signal.SIGKILL)
    await_true(lambda: lease(first).poll() is not None)
    assert process.wait(30) in (256 - signal.SIGKILL, -signal.SIGKILL)


@pytest.mark.parametrize(("idle", "commands"), [(0.1, 100), (600, 1)])
def test_a_jvm_ends_after_its_idle_time_and_after_many_commands(idle: float, commands: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MAX_COMMANDS", commands)
    process, first = start(replace(PLACE, idle_seconds=idle))
    lease(first).end()
    process.wait(30)
    assert not list(states())


def test_of_two_jvms_that_start_at_once_only_the_first_is_kept() -> None:
    _, first = start()
    process, second = start()
    assert second.process is process, "the second JVM was kept too"
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(30) == 0
    lease(first).end()


def test_a_second_try_without_a_keeper_does_not_use_the_first_one() -> None:
    """A start that fails with a class archive is tried again without."""
    keeping = Keeping(PLACE)
    with Path(os.devnull).open("wb") as log:
        keeping.spawn(["false"], os.environ, log, TemporaryFolder()).wait(30)
        _, first = start()
        process = keeping.spawn(["true"], os.environ, log, TemporaryFolder())
    process.wait(30)
    found = keeping.kept(Jvm(process, 1, "secret"))
    lease(first).end()
    assert found.process is process


def test_a_client_that_sends_nonsense_disturbs_nobody() -> None:
    _, first = start()
    for text in (b"nonsense\n", b"[]\n", b'{"want": "money"}\n', b""):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(PLACE.socket))
            connection.sendall(text)
    assert [each["commands"] for each in states()] == [1]
    lease(first).end()
    assert [each["stopped"] for each in stop_all()] == [True]


def test_settings_share_a_place_only_if_all_are_equal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = {"spark.master": "local[2]"}

    def key(owner: str = "shop", java: Java = JAVA, other: object = None, **more: str) -> str:
        return place_of(java, {**config, **more}, owner, 1, other).key

    keys = [key(), key("other"), key(java=replace(JAVA, version=21)), key(other="log"), key(secret="s3cret")]
    monkeypatch.setenv("AWS_PROFILE", "team")
    keys.append(key())
    monkeypatch.setenv("TERM_SESSION_ID", "another terminal")
    assert key() == keys[-1]
    monkeypatch.chdir(tmp_path)
    keys.append(key())
    assert len(set(keys)) == len(keys)
    assert place_of(JAVA, config, "shop", 1, None).key == place_of(JAVA, config, "shop", 999, None).key


@pytest.mark.parametrize("keep_alive", ["soon", "-5s", "15 minutes", "1d"])
def test_an_unknown_duration_is_refused(keep_alive: str) -> None:
    with pytest.raises(ConfigurationError, match="must be a duration such as 90s, 15m or 2h"):
        SparkSettings(keep_alive=keep_alive)


def test_durations() -> None:
    assert [SparkSettings(keep_alive=each).keep_seconds for each in (None, 0, "0", 90, "90s", "15m", "2h")] == [
        None,
        None,
        None,
        90,
        90,
        900,
        7200,
    ]


@pytest.mark.parametrize("settings", [{"master": "spark://host:7077"}, {"remote": "sc://host"}])
def test_a_cluster_cannot_be_kept(settings: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="is for a local Spark"):
        SparkSettings(keep_alive="15m", **settings)


def test_a_folder_that_others_can_open_is_refused() -> None:
    path = folder()
    path.chmod(0o755)
    with pytest.raises(ConfigurationError, match="chmod 700"):
        folder()
    assert not list(states())
    path.chmod(0o700)


def test_a_path_that_is_too_long_for_a_socket_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path / ("long" * 25)))
        with pytest.raises(ConfigurationError, match="XDG_CACHE_HOME"):
            folder()
