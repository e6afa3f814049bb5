"""Opening the lake of a profile: retries, settings, closing after errors, staging, and the modules of Python models."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.exceptions.connection import FailedToConnectError
from dbt.mp_context import get_mp_context

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.connections import DuckLakeConnectionManager
from dbt.adapters.ducklake.credentials import DuckLakeCredentials
from dbt.adapters.ducklake.errors import ConfigurationError, EngineError
from dbt.adapters.ducklake.session import Lake, LakeSettings, connect, lake


def manager(tmp_path: Path, **profile: Any) -> DuckLakeConnectionManager:
    given = {"path": f"ducklake:sqlite:{tmp_path}/lake.sqlite", "data_path": f"{tmp_path}/files/", **profile}
    return DuckLakeConnectionManager(SimpleNamespace(credentials=DuckLakeCredentials(**given)), get_mp_context())  # type: ignore[arg-type]


@pytest.mark.parametrize(("attempts", "opens"), [(1, False), (2, False), (3, True)])
def test_a_database_that_is_starting_up_is_tried_again(attempts: int, opens: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = LakeCatalog.open

    def late(*arguments: Any, **options: Any) -> LakeCatalog:
        calls.append(arguments)
        if len(calls) < 3:
            raise EngineError("the server does not answer")
        return real(*arguments, **options)

    monkeypatch.setattr(LakeCatalog, "open", late)
    connections = manager(tmp_path, retries={"connect_attempts": attempts, "wait_ms": 1})
    if opens:
        connections.lake().close_catalogs()
    else:
        with pytest.raises(FailedToConnectError, match="the server does not answer"):
            connections.lake()
    assert len(calls) == attempts


def test_a_permanent_error_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def wrong(*arguments: Any, **_: Any) -> LakeCatalog:
        calls.append(arguments)
        raise ConfigurationError("no such lake")

    monkeypatch.setattr(LakeCatalog, "open", wrong)
    with pytest.raises(FailedToConnectError, match="no such lake"):
        manager(tmp_path, retries={"connect_attempts": 5}).lake()
    assert len(calls) == 1


def test_a_catalog_is_closed_if_its_data_path_cannot_be_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []
    monkeypatch.setattr(lake, "write_mark", lambda _catalog: (_ for _ in ()).throw(OSError("the disk is full")))
    monkeypatch.setattr(LakeCatalog, "close", lambda catalog: closed.append(catalog.data_path))
    with pytest.raises(OSError, match="the disk is full"):
        Lake.open(LakeSettings(f"sqlite:{tmp_path}/lake.sqlite", data_path=f"{tmp_path}/files/"))
    assert closed == [f"{tmp_path}/files/"]


def test_connect_takes_every_setting_of_a_lake(tmp_path: Path) -> None:
    with connect(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/", database="sales", data_inlining_row_limit=3) as session:
        assert session.lake.names == ("sales",)
        assert session.catalog.inlining_row_limit == 3
    with pytest.raises(ConfigurationError, match="`read_only: true` and `automatic_migration: true` contradict each other"):
        LakeSettings(f"{tmp_path}/lake.sqlite", read_only=True, automatic_migration=True)


def test_modules_in_the_folders_of_the_profile_can_be_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "of_the_project_alone.py").write_text("answer = 42")
    manager(tmp_path, module_paths=[f"{tmp_path}/lib"]).lake().close_catalogs()
    import of_the_project_alone  # type: ignore[import-not-found]

    assert of_the_project_alone.answer == 42


@pytest.mark.parametrize("publish", ["run", "tested"])
@pytest.mark.parametrize("hooks", [(), ("operation.shop.shop-on-run-end-0", "operation.dbt_ducklake.dbt_ducklake-on-run-end-0")])
def test_a_command_that_stages_needs_a_manifest_with_the_hook_that_publishes(tmp_path: Path, publish: str, hooks: tuple[str, ...]) -> None:
    """A manifest that the caller passes to dbt may have been parsed with another value of `publish`."""
    connections = manager(tmp_path, publish=publish)
    connections.profile.args = SimpleNamespace(which="build")  # type: ignore[attr-defined]
    connections.manifest = SimpleNamespace(nodes={"model.shop.orders": None, **dict.fromkeys(hooks)})
    if hooks:
        opened = connections.lake()
        assert (opened.run is None, opened.nodes is None) == (publish != "run", publish != "tested")
        opened.close_catalogs()
        return
    for _ in range(2):  # no statement of the command is run without staging
        with pytest.raises(FailedToConnectError, match="Parse the project again with the target and the vars of this command"):
            connections.lake()
    assert not (tmp_path / "lake.sqlite").exists()


def test_if_staging_cannot_begin_the_lake_is_closed_and_the_next_connection_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    errors = [RuntimeError("no plan")]

    def plans_once_wrong(*_: Any) -> dict[str, Any]:
        if errors:
            raise errors.pop()
        return {}

    monkeypatch.setattr("dbt.adapters.ducklake.connections.require_hook", lambda _: None)
    monkeypatch.setattr("dbt.adapters.ducklake.connections.plans", plans_once_wrong)
    connections = manager(tmp_path, publish="tested")
    closed: list[LakeCatalog] = []
    close = LakeCatalog.close
    monkeypatch.setattr(LakeCatalog, "close", lambda catalog: (closed.append(catalog), close(catalog)))
    connections.profile.args = SimpleNamespace(which="build", vars={})  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="no plan"):
        connections.lake()
    assert len(closed) == 1
    opened = connections.lake()
    assert opened.nodes is not None, "the nodes of a later connection must be staged"
    opened.close_catalogs()


def test_a_lake_that_takes_long_to_open_does_not_block_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, slow, quick = (
        LakeSettings(f"{tmp_path}/{name}.sqlite", f"{tmp_path}/{name}/", database=name) for name in ("one", "slow", "quick")
    )
    started, released = threading.Event(), threading.Event()
    real = LakeCatalog.open

    def late(settings: LakeSettings, *arguments: Any) -> LakeCatalog:
        if settings.database == "slow":
            started.set()
            assert released.wait(60)
        return real(settings, *arguments)

    with Lake.open(replace(one, attached=(slow, quick))) as opened, ThreadPoolExecutor(2) as pool:
        monkeypatch.setattr(LakeCatalog, "open", late)
        waiting = [pool.submit(opened.catalog_of, "slow") for _ in range(2)]
        try:
            assert started.wait(60)
            assert opened.catalog_of("quick") in opened.open_catalogs
            with opened.turn({}):
                assert len(opened.open_catalogs) == 2
        finally:
            released.set()
        assert waiting[0].result(60) is waiting[1].result(60), "it is opened once"


def test_all_catalogs_are_closed_although_one_or_spark_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (LakeSettings(f"{tmp_path}/{name}.sqlite", f"{tmp_path}/{name}/", database=name) for name in ("one", "other"))
    opened = Lake.open(replace(one, attached=(other,)))
    opened.catalog_of("other")
    closed = []
    real = LakeCatalog.close

    def failing(catalog: LakeCatalog) -> None:
        real(catalog)
        closed.append(catalog)
        raise OSError("the disk is full")

    monkeypatch.setattr(LakeCatalog, "close", failing)
    monkeypatch.setattr(opened.runtime, "stop", lambda: (_ for _ in ()).throw(RuntimeError("Spark does not end")))
    with pytest.raises(OSError, match="the disk is full"):
        opened.close()
    assert len(closed) == 2
