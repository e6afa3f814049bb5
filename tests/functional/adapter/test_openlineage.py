"""`openlineage` in the profile: the events of a command in a file or at an endpoint, and what happens without an endpoint."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from dbt.tests.fixtures.project import TestProjInfo
from dbt.tests.util import run_dbt, run_dbt_and_capture, write_file
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from tests.duckdb_instances import open_duckdb
from tests.functional.adapter.test_one_node_one_snapshot import OnALake

SEED = "id,v\n1,a\n2,b\n"
MODELS = {
    "copied.sql": "{{ config(materialized='table') }} select id, v from {{ ref('given') }}",
    "passed_on.sql": "{{ config(materialized='ephemeral') }} select * from {{ ref('copied') }}",
    "shown.sql": "{{ config(materialized='view') }} select id, upper(v) as v from {{ ref('passed_on') }}",
    "merged.sql": (
        "{{ config(materialized='incremental', unique_key='id') }} select id, v, cast(id as decimal(9, 2)) as d from {{ ref('shown') }}"
    ),
    "counted.py": "def model(dbt, session):\n    dbt.config(materialized='table')\n    return dbt.ref('copied').limit(1)\n",
    "broken.sql": "{{ config(materialized='table') }} select raise_error('not today') as x from {{ ref('copied') }}",
    "skipped.sql": "select * from {{ ref('broken') }}",
    "refused.sql": "{{ config(row_filter='f', enabled=var('refused', false)) }} select 1 as id",
    "schema.yml": "models: [{name: merged, description: One row for each id, columns: [{name: id, data_tests: [unique]}]}]",
}
SNAPSHOT = "{% snapshot history %}{{ config(unique_key='id', strategy='check', check_cols='all') }} select * from {{ ref('copied') }}{% endsnapshot %}"


class WithModels(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        return MODELS

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"given.csv": SEED}

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {"history.sql": SNAPSHOT}


def name_of(event: dict[str, Any]) -> str:
    """Return the last part of the job's name."""
    name: str = event["job"]["name"]
    return name.rsplit(".", 1)[-1]


def facet(event: dict[str, Any], side: str, table: str, name: str) -> Any:
    (dataset,) = (each for each in event[side] if each["name"].endswith(f".{table}"))
    return {**dataset["facets"], **dataset.get("outputFacets", {})}.get(name)


class TestFile(WithModels):
    @pytest.fixture(scope="class")
    def file(self, tmp_path_factory) -> Path:
        return tmp_path_factory.mktemp("lineage") / "events.jsonl"

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target, file):
        return {
            **dbt_profile_target,
            "openlineage": {"transport": {"type": "file", "log_file_path": str(file), "append": True}, "namespace": "team"},
        }

    def events(self, file: Path, *arguments: str, expect_pass: bool = True) -> list[dict[str, Any]]:
        """Run a command and return its events, after checks that hold for every command."""
        file.write_text("")
        run_dbt([*arguments], expect_pass=expect_pass)
        events = [json.loads(line) for line in file.read_text().splitlines()]
        command = events[0]
        assert command["job"]["name"] == "dbt-run-test"
        assert (events[-1]["run"]["runId"], events[-1]["job"]["name"]) == (command["run"]["runId"], "dbt-run-test")
        assert events[-1]["eventType"] == ("COMPLETE" if expect_pass else "FAIL")
        ended: dict[str, list[str]] = {}
        for event in events:
            assert event["producer"].startswith("https://pypi.org/project/dbt-ducklake/")
            assert event["schemaURL"].startswith("https://openlineage.io/spec/")
            assert event["schemaURL"].endswith("#/$defs/RunEvent")
            assert event["job"]["namespace"] == "team"
            UUID(event["run"]["runId"])
            ended.setdefault(event["run"]["runId"], []).append(event["eventType"])
            if event["run"]["runId"] != command["run"]["runId"]:
                parent = event["run"]["facets"]["parent"]
                assert parent["run"]["runId"] == parent["root"]["run"]["runId"] == command["run"]["runId"]
                assert parent["job"]["name"] == "dbt-run-test"
        for states in ended.values():
            assert states in (["START", "COMPLETE"], ["START", "FAIL"])
        return events

    @staticmethod
    def ends(events: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        return {name_of(event): event for event in events if event["eventType"] != "START"}

    def test_inputs_and_outputs_of_a_build(self, project: TestProjInfo, file: Path):
        path, schema = project.adapter.config.credentials.path, project.test_schema
        ends = self.ends(self.events(file, "build", "--exclude", "broken+"))
        assert ends.keys() == {"given", "copied", "shown", "merged", "counted", "history", "dbt-run-test"}, "no ephemeral models, no tests"
        assert {event["job"]["facets"]["jobType"]["jobType"] for event in ends.values()} == {"SEED", "MODEL", "SNAPSHOT", "JOB"}
        with open_duckdb("ducklake", "sqlite_scanner") as duckdb:
            duckdb.execute(f"ATTACH '{path}' AS lake")

            def count(table: str, event: dict[str, Any], side: str) -> int:
                version = facet(event, side, table, "version")["datasetVersion"]
                (found,) = duckdb.execute(f"SELECT count(*) FROM lake.{schema}.{table} AT (VERSION => {version})").fetchone()
                return int(found)

            for name in ("given", "copied", "merged", "history"):
                assert count(name, ends[name], "outputs") == 2
                assert facet(ends[name], "outputs", name, "outputStatistics")["rowCount"] == 2
            assert count("given", ends["copied"], "inputs") == count("copied", ends["merged"], "inputs") == 2
            created = duckdb.execute("SELECT snapshot_id, changes FROM ducklake_snapshots('lake')").fetchall()
        version = int(facet(ends["merged"], "outputs", "merged", "version")["datasetVersion"])
        assert "merged" in str(dict(created)[version]), "the snapshot that created the table"

        names = {name: {each["name"] for each in event["inputs"]} for name, event in ends.items()}
        assert names == {
            "given": set(),
            "copied": {f"{schema}.given"},
            "shown": {f"{schema}.copied"},
            "merged": {f"{schema}.shown", f"{schema}.copied"},
            "counted": {f"{schema}.copied"},
            "history": {f"{schema}.copied"},
            "dbt-run-test": set(),
        }
        assert facet(ends["merged"], "inputs", "shown", "version") is None, "a view has no version"
        assert facet(ends["shown"], "inputs", "copied", "version") is None, "its rows were not read"
        fields = facet(ends["merged"], "outputs", "merged", "schema")["fields"]
        assert [(each["name"], each["type"], each["ordinal_position"]) for each in fields] == [
            ("id", "bigint", 1),
            ("v", "string", 2),
            ("d", "decimal(9,2)", 3),
        ]
        assert [each["name"] for each in facet(ends["shown"], "outputs", "shown", "schema")["fields"]] == ["id", "v"]
        assert facet(ends["merged"], "outputs", "merged", "dataSource")["uri"] == "ducklake://" + path.removeprefix("ducklake:sqlite:")
        assert f"{schema}`.`shown`" in ends["merged"]["job"]["facets"]["sql"]["query"]
        assert ends["merged"]["job"]["facets"]["documentation"]["description"] == "One row for each id"

    def test_an_increment(self, project: TestProjInfo, file: Path):
        run_dbt(["build", "--exclude", "broken+"])
        write_file("id,v\n1,a\n2,c\n3,d\n", project.project_root, "seeds", "given.csv")
        ends = self.ends(self.events(file, "build", "--exclude", "broken+"))
        statistics = facet(ends["merged"], "outputs", "merged", "outputStatistics")
        with sqlite3.connect(project.adapter.config.credentials.path.removeprefix("ducklake:sqlite:")) as catalog:
            query = "select count(*), sum(file_size_bytes), sum(record_count) from ducklake_data_file where begin_snapshot = ?"
            written = catalog.execute(query, [facet(ends["merged"], "outputs", "merged", "version")["datasetVersion"]]).fetchone()
        assert written == (statistics["fileCount"], statistics["size"], statistics["rowCount"])
        assert statistics["rowCount"] == 3
        assert not [each for each in ends["merged"]["inputs"] if each["name"].endswith(".merged")], "not the table itself"
        # Each node reads the snapshot at which it begins, and another node may have committed since `copied` did.
        written, read, own = (
            int(facet(ends[node], side, table, "version")["datasetVersion"])
            for node, side, table in (("copied", "outputs", "copied"), ("merged", "inputs", "copied"), ("merged", "outputs", "merged"))
        )
        assert written <= read < own
        with open_duckdb("ducklake", "sqlite_scanner") as duckdb:
            duckdb.execute(f"ATTACH '{project.adapter.config.credentials.path}' AS lake")
            rows = f"FROM lake.{project.test_schema}.copied AT (VERSION => %s) ORDER BY id"
            assert duckdb.execute(rows % read).fetchall() == duckdb.execute(rows % written).fetchall() == [(1, "a"), (2, "c"), (3, "d")]
            since = f"SELECT count(*) FROM ducklake_table_changes('lake', '{project.test_schema}', 'copied', {written + 1}, {read})"
            assert read == written or duckdb.execute(since).fetchall() == [(0,)], "the version of the table is the one that was written"

        unchanged = self.ends(self.events(file, "snapshot"))["history"]
        assert facet(unchanged, "outputs", "history", "version") is None, "it wrote nothing"
        assert facet(unchanged, "outputs", "history", "schema") is not None

    @pytest.mark.usefixtures("project")
    def test_a_failing_model(self, file: Path):
        events = self.events(
            file, "build", "--select", "given", "copied", "broken+", "refused", "--vars", "refused: true", expect_pass=False
        )
        ends = self.ends(events)
        assert {name: event["eventType"] for name, event in ends.items()} == {
            "given": "COMPLETE",
            "copied": "COMPLETE",
            "broken": "FAIL",
            "refused": "FAIL",
            "dbt-run-test": "FAIL",
        }
        assert "cannot enforce row_filter" in ends["refused"]["run"]["facets"]["errorMessage"]["message"]
        error = ends["broken"]["run"]["facets"]["errorMessage"]
        assert "not today" in error["message"]
        assert error["programmingLanguage"] == "SQL"
        again = self.ends(self.events(file, "retry", expect_pass=False))
        assert {name: event["eventType"] for name, event in again.items()} == {"broken": "FAIL", "refused": "FAIL", "dbt-run-test": "FAIL"}

    def test_with_publish_tested_only_nodes_that_wait_have_no_version(self, project: TestProjInfo, file: Path):
        write_file(SEED + "8,y\n", project.project_root, "seeds", "given.csv")
        ends = self.ends(self.events(file, "build", "--exclude", "broken+", "--vars", "{ducklake_publish: tested}"))
        assert facet(ends["copied"], "outputs", "copied", "version") is not None
        assert facet(ends["merged"], "outputs", "merged", "version") is None, "its test has not run yet"
        assert facet(ends["merged"], "outputs", "merged", "schema") is not None

    def test_nodes_that_are_published_later_have_no_version(self, project: TestProjInfo, file: Path):
        write_file(SEED + "9,z\n", project.project_root, "seeds", "given.csv")
        ends = self.ends(self.events(file, "build", "--exclude", "broken+", "--vars", "{ducklake_publish: run}"))
        assert {name_of(event) for event in ends.values()} >= {"given", "copied", "merged", "history"}
        assert facet(ends["copied"], "outputs", "copied", "schema") is not None
        for event in ends.values():
            assert not [each for each in (*event["inputs"], *event["outputs"]) if "version" in each["facets"]]

    @pytest.mark.usefixtures("project")
    def test_commands_without_nodes_send_nothing(self, file: Path):
        file.write_text("")
        run_dbt(["test", "--select", "merged"])
        run_dbt(["debug"])
        run_dbt(["compile", "--select", "copied"])
        assert file.read_text() == ""


class TestBatches(OnALake):
    @pytest.fixture(scope="class")
    def file(self, tmp_path_factory) -> Path:
        return tmp_path_factory.mktemp("lineage") / "events.jsonl"

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target, file):
        return {**dbt_profile_target, "openlineage": {"transport": {"type": "file", "log_file_path": str(file), "append": True}}}

    @pytest.fixture(scope="class")
    def models(self):
        batched = (
            "{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at', batch_size='day', begin='2026-01-01') }} "
            "select id, at, if(id = 2, raise_error('second day'), 0) as x from {{ ref('days') }}"
        )
        days = "{{ config(event_time='at') }} select id, timestamp'2025-12-31 12:00:00' + make_interval(0, 0, 0, id) as at from range(1, 4)"
        return {"batched.sql": batched, "days.sql": days}

    @pytest.mark.usefixtures("project")
    def test_each_batch_is_a_run(self, file: Path):
        run_dbt(["run", "--event-time-start", "2026-01-01", "--event-time-end", "2026-01-04"], expect_pass=False)
        events = [json.loads(line) for line in file.read_text().splitlines()]
        batches = [event["eventType"] for event in events if name_of(event) == "batched"]
        assert sorted(batches) == ["COMPLETE", "COMPLETE", "FAIL", "START", "START", "START"]
        assert {event["job"]["namespace"] for event in events} == {"test"}, "the project"


class TestTwoLakes(OnALake):
    @pytest.fixture(scope="class")
    def file(self, tmp_path_factory) -> Path:
        return tmp_path_factory.mktemp("lineage") / "events.jsonl"

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target, file, new_postgres_url, tmp_path_factory):
        other = tmp_path_factory.mktemp("other")
        return {
            **dbt_profile_target,
            "path": new_postgres_url(),
            "attach": [{"path": f"sqlite:///{other}/other.sqlite", "alias": "other", "data_path": f"{other}/files/"}],
            "openlineage": {"transport": {"type": "file", "log_file_path": str(file), "append": True}},
        }

    @pytest.fixture(scope="class")
    def models(self):
        first = "{{ config(materialized='table') }} select id from range(20)"
        return {"first.sql": first, "second.sql": "{{ config(materialized='table', database='other') }} select * from {{ ref('first') }}"}

    def test_a_dataset_is_in_the_namespace_of_its_lake(self, file: Path, lake: LakeCatalog):
        run_dbt(["run"])
        events = [json.loads(line) for line in file.read_text().splitlines()]
        first, second = (event for event in events if event["eventType"] == "COMPLETE" and event["outputs"])
        (source,), (target,) = second["inputs"], second["outputs"]
        assert source["namespace"] == first["outputs"][0]["namespace"]
        assert re.fullmatch(r"ducklake://[\w.]*(:\d+)?/\w+", source["namespace"])
        assert source["facets"]["version"] == first["outputs"][0]["facets"]["version"]
        assert int(source["facets"]["version"]["datasetVersion"]) == self.newest(lake)
        assert target["namespace"].startswith("ducklake:///")
        assert target["namespace"].endswith("/other.sqlite")
        assert target["outputFacets"]["outputStatistics"]["rowCount"] == 20


class Endpoint(ThreadingHTTPServer):
    """Records the requests that it gets."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str | None, dict[str, Any]]] = []
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                requests.append((self.path, self.headers["Authorization"], body))
                self.send_response(201)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Write no log."""

        super().__init__(("127.0.0.1", 0), Handler)


@pytest.fixture(scope="class")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


ONE = {"one.sql": "{{ config(materialized='table') }} select 1 as id"}


class TestEndpoint:
    @pytest.fixture(scope="class")
    def models(self):
        return ONE

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target, endpoint):
        transport = {"type": "http", "url": f"http://127.0.0.1:{endpoint.server_port}", "auth": {"type": "api_key", "apiKey": "hunter2"}}
        return {**dbt_profile_target, "openlineage": {"transport": transport}}

    @pytest.mark.usefixtures("project")
    def test_events_are_sent_and_the_key_is_not_shown(self, endpoint, monkeypatch):
        outer = "01890000-0000-7000-8000-000000000001"
        monkeypatch.setenv("OPENLINEAGE_PARENT_ID", f"airflow/dag.task/{outer}")
        _, output = run_dbt_and_capture(["--debug", "run"])
        assert [body["eventType"] for _, _, body in endpoint.requests] == ["START", "START", "COMPLETE", "COMPLETE"]
        assert {(path, key) for path, key, _ in endpoint.requests} == {("/api/v1/lineage", "Bearer hunter2")}
        command, node = endpoint.requests[0][2], endpoint.requests[1][2]
        assert command["run"]["facets"]["parent"]["run"]["runId"] == outer
        assert node["run"]["facets"]["parent"]["run"]["runId"] == command["run"]["runId"]
        assert node["run"]["facets"]["parent"]["root"]["job"] == {"facets": {}, "namespace": "airflow", "name": "dag.task"}
        _, shown = run_dbt_and_capture(["debug"])
        assert f"http://127.0.0.1:{endpoint.server_port}" in shown
        assert "hunter2" not in output + shown


class TestWithoutEndpoint:
    @pytest.fixture(scope="class")
    def models(self):
        return ONE

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target):
        transport = {
            "type": "http",
            "url": "http://me:hunter2@127.0.0.1:9",
            "auth": {"type": "api_key", "apiKey": "hunter2"},
            "retry": {"total": 1},
        }
        return {**dbt_profile_target, "openlineage": {"transport": transport}}

    @pytest.mark.usefixtures("project")
    def test_the_run_succeeds_with_one_warning(self, capfd):
        results, output = run_dbt_and_capture(["run"])
        assert [result.status for result in results] == ["success"]
        assert output.count("Some OpenLineage events of this command were not sent: ConnectionError") == 1
        printed = capfd.readouterr()
        assert "hunter2" not in output + printed.out + printed.err
        assert "Retrying" not in printed.err


class TestRefusedTransport:
    @pytest.fixture(scope="class")
    def models(self):
        return ONE

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target):
        return {**dbt_profile_target, "openlineage": {"transport": {"type": "file", "password": "hunter2"}}}

    @pytest.mark.usefixtures("project")
    def test_a_command_fails_before_a_node_runs(self):
        with pytest.raises(
            DbtRuntimeError, match=r"is refused by the OpenLineage client\. RuntimeError: `log_file_path` key not passed"
        ) as caught:
            run_dbt(["run"])
        assert "hunter2" not in str(caught.value)

    @pytest.mark.usefixtures("project")
    def test_debug_reports_it(self):
        _, output = run_dbt_and_capture(["debug"], expect_pass=False)
        assert "`openlineage.transport` is refused by the OpenLineage client. RuntimeError: `log_file_path` key not passed" in output
        assert "hunter2" not in output
