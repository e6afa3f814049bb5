"""OpenLineage events, the names of datasets, and the checks of the profile's `openlineage`."""

from __future__ import annotations

import builtins
import threading
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any, cast

import pytest
from dbt_common.exceptions import DbtRuntimeError
from openlineage.client import OpenLineageClient
from openlineage.client.serde import Serde

from dbt.adapters.ducklake import lineage
from dbt.adapters.ducklake.catalog.store.location import parse_location
from dbt.adapters.ducklake.credentials import DuckLakeCredentials
from dbt.adapters.ducklake.cursor import LakeHandle
from dbt.adapters.ducklake.errors import CancelledError, ConfigurationError
from dbt.adapters.ducklake.lineage_events import Dataset, Event, Run, Written, client_event, lake_namespace
from dbt.adapters.ducklake.lineage_sender import LineageSettings, Sender, error_types

COMMAND = Run("01890000-0000-7000-8000-000000000001", "team", "dbt-run-shop")
NODE = Run("01890000-0000-7000-8000-000000000002", "team", "model.shop.orders", "MODEL", COMMAND, "select 1", "All orders")
TIME = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
SECRET = "hunter2"


def credentials(openlineage: Any) -> DuckLakeCredentials:
    data = {"path": "ducklake:sqlite:lake.sqlite", "openlineage": openlineage}
    DuckLakeCredentials.validate(data)
    return DuckLakeCredentials.from_dict(data)


def test_an_event_with_all_facets() -> None:
    read = Dataset("ducklake:///lake", "main.raw", 3)
    written = Dataset("ducklake:///lake", "main.orders", 4, (("id", "bigint", "The key"),), "Orders", Written(2, 500, 1))
    found = Serde.to_dict(client_event(Event("FAIL", NODE, (read,), (written,), "it failed", TIME)))

    assert (found["eventType"], found["eventTime"]) == ("FAIL", "2026-01-02T03:04:05.000+00:00")
    assert found["run"]["runId"] == NODE.run_id
    parent = found["run"]["facets"]["parent"]
    assert (parent["run"]["runId"], parent["job"]["name"]) == (COMMAND.run_id, "dbt-run-shop")
    assert found["run"]["facets"]["errorMessage"]["message"] == "it failed"
    job = found["job"]
    assert (job["namespace"], job["name"], job["facets"]["sql"]["query"]) == ("team", "model.shop.orders", "select 1")
    assert (job["facets"]["jobType"]["jobType"], job["facets"]["documentation"]["description"]) == ("MODEL", "All orders")
    (source,), (target,) = found["inputs"], found["outputs"]
    assert (source["name"], source["facets"]["version"]["datasetVersion"]) == ("main.raw", "3")
    assert target["facets"]["schema"]["fields"] == [
        {"name": "id", "type": "bigint", "description": "The key", "ordinal_position": 1, "fields": []}
    ]
    statistics = target["outputFacets"]["outputStatistics"]
    assert (statistics["rowCount"], statistics["size"], statistics["fileCount"]) == (2, 500, 1)
    facets = [*found["run"]["facets"].values(), *job["facets"].values(), *target["facets"].values(), statistics]
    assert {facet["_producer"] for facet in facets} == {found["producer"]}


def test_the_start_of_a_command_has_no_facets_of_nodes() -> None:
    found = Serde.to_dict(client_event(Event("START", COMMAND)))

    assert found["run"]["facets"].keys() == {"processing_engine"}
    assert found["job"]["facets"].keys() == {"jobType"}
    assert found["inputs"] == found["outputs"] == []


@pytest.mark.parametrize(
    ("path", "schema", "expected"),
    [
        ("sqlite:////data/lake.sqlite", None, "ducklake:///data/lake.sqlite"),
        ("ducklake:/data/lake.ducklake", None, "ducklake:///data/lake.ducklake"),
        (f"postgresql://me:{SECRET}@DB.example/shop?sslmode=require", None, "ducklake://db.example:5432/shop"),
        (f"ducklake:postgres:dbname=shop host=db port=6000 user=me password={SECRET}", "meta", "ducklake://db:6000/shop/meta"),
        ("ducklake:postgres:dbname=shop host=/var/run", None, "ducklake:///shop"),
        (f"postgresql://me:{SECRET}?{SECRET}@db/shop", None, "ducklake://db:5432/shop"),
        (f"mysql://me:{SECRET}@[::1]/shop", None, "ducklake://[::1]:3306/shop"),
        (f"postgresql://me:{SECRET}@db/shop&sslmode=require", None, "ducklake://lake"),
    ],
)
def test_the_namespace_of_a_lake_is_its_address_without_secrets(path: str, schema: str | None, expected: str) -> None:
    assert lake_namespace(parse_location(path, metadata_schema=schema), "lake") == expected


@pytest.mark.parametrize("given", [None, False])
def test_no_events_without_the_field(given: bool | None) -> None:
    assert credentials(given).lineage_settings() is None


def test_true_leaves_the_configuration_to_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT", '{"type": "noop"}')
    settings = credentials(True).lineage_settings()

    assert settings == LineageSettings()
    assert settings.client().transport.kind == "noop"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("http", "`openlineage` must be true or false or a map"),
        ({"transport": "http"}, "`openlineage.transport` must be a map of names and values, not a string"),
        ({"transport": {"url": "http://x"}}, "`openlineage.transport` needs a `type`"),
        ({"transports": {}}, "unknown field `transports`: did you mean `transport`"),
        ({"transport": {"type": "file"}, "namespace": 7}, "`openlineage.namespace` must be a string, not a whole number"),
    ],
)
def test_an_invalid_value_is_an_error_that_names_the_field(given: Any, message: str) -> None:
    with pytest.raises(DbtRuntimeError, match=message):
        credentials(given)


def test_the_secrets_of_a_transport_are_not_shown() -> None:
    auth = {"type": "api_key", "apiKey": SECRET}
    transport = {"type": "http", "url": f"https://me:{SECRET}@x/?token={SECRET}", "auth": auth, "custom_headers": {"X-A": SECRET}}
    found = credentials({"transport": transport, "namespace": "team"})
    shown = dict(found.connection_info())["openlineage"]

    assert (shown["namespace"], shown["transport"]["type"]) == ("team", "http")
    assert shown["transport"]["url"].startswith("https://me:")
    assert SECRET not in repr(shown) + repr(found)


def test_an_error_of_the_client_names_the_field_and_hides_values() -> None:
    transport = {"type": f"http.{SECRET}", "auth": {"apiKey": SECRET}}

    with pytest.raises(ConfigurationError, match=r"`openlineage\.transport` is refused by the OpenLineage client") as caught:
        LineageSettings(transport).client()
    assert SECRET not in str(caught.value)


def test_a_missing_client_is_an_error_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without_client(name: str, *arguments: Any) -> Any:
        if name.startswith("openlineage"):
            raise ModuleNotFoundError(name)
        return imported(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without_client)
    with pytest.raises(ConfigurationError, match=r"pip install 'dbt-ducklake\[openlineage\]'"):
        LineageSettings().client()


def cancelled() -> DbtRuntimeError:
    error = DbtRuntimeError("it was cancelled")
    error.__cause__ = CancelledError("it was cancelled")
    return error


@pytest.mark.parametrize(
    ("error", "state", "message"),
    [
        (
            DbtRuntimeError(f"cannot read postgresql://me:{SECRET}@db/x"),
            "FAIL",
            "Runtime Error\n  cannot read postgresql://me:********@db/x",
        ),
        (AssertionError(), "FAIL", "AssertionError"),
        (cancelled(), "ABORT", "Runtime Error\n  it was cancelled"),
        (KeyboardInterrupt(), "ABORT", "KeyboardInterrupt"),
    ],
)
def test_the_end_of_a_node_that_did_not_succeed(error: BaseException, state: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Event] = []
    monkeypatch.setattr(lineage, "Sender", lambda _: SimpleNamespace(send=sent.append, close=lambda: None))
    monkeypatch.setattr(lineage, "add_callback_to_manager", lambda _: None)
    config = SimpleNamespace(credentials=credentials(None), project_name="shop")
    names = {"unique_id": "model.shop.orders", "database": "LAKE", "schema": "main", "alias": "orders"}
    node = SimpleNamespace(**names, resource_type="model", compiled_code="select 1", description="")
    command = lineage.CommandLineage(config, LineageSettings({"type": "noop"}, "team"), pytest.fail)
    run = command.start(node)
    assert run is not None
    command.end(run, node, cast(LakeHandle, None), None, error)
    command.finish(success=False)

    assert [(event.state, event.run.name) for event in sent] == [
        ("START", "dbt-run-shop"),
        ("START", "model.shop.orders"),
        (state, "model.shop.orders"),
        ("FAIL", "dbt-run-shop"),
    ]
    (output,) = sent[2].outputs
    assert output.namespace.endswith("/lake.sqlite")
    assert (output.name, sent[2].error) == ("main.orders", message)


class Client:
    """A client that records events, waits before each, or fails."""

    def __init__(self, error: Exception | None = None, gate: threading.Event | None = None) -> None:
        self.events: list[Any] = []
        self.attempts = 0
        self._error = error
        self._gate = gate

    def emit(self, event: Any) -> None:
        self.attempts += 1
        if self._gate is not None:
            self._gate.wait(10)
        if self._error is not None:
            raise self._error
        self.events.append(event)

    def close(self, _timeout: float) -> bool:
        return True

    def sender(self) -> Sender:
        return Sender(cast(OpenLineageClient, self))


def test_events_are_sent_in_order() -> None:
    client = Client()
    sender = client.sender()
    for state in ("START", "COMPLETE"):
        sender.send(Event(state, COMMAND))

    assert sender.close() is None
    assert [event.eventType.value for event in client.events] == ["START", "COMPLETE"]


def test_after_a_failure_nothing_more_is_sent() -> None:
    client = Client(OSError(13, SECRET))
    sender = client.sender()
    for _ in range(3):
        sender.send(Event("START", COMMAND))

    failure = sender.close()
    assert failure is not None
    assert failure.startswith("PermissionError (")
    assert SECRET not in failure
    assert client.attempts == 1


def test_an_invalid_id_does_not_end_the_thread() -> None:
    sender = Client().sender()
    sender.send(Event("START", Run("no UUID", "team", "x")))

    assert sender.close() == "ValueError"


def test_a_slow_endpoint_delays_neither_a_node_nor_the_end() -> None:
    gate = threading.Event()
    sender = Client(gate=gate).sender()
    sender.send(Event("START", COMMAND))

    assert sender.close(0.05) == "the endpoint did not accept them within 0.05 seconds"
    gate.set()


def test_error_types_do_not_contain_the_messages_of_errors() -> None:
    error = RuntimeError(SECRET)
    error.__cause__ = FileNotFoundError(2, SECRET)

    assert error_types(error) == "RuntimeError, caused by FileNotFoundError (No such file or directory)"
