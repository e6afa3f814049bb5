"""The same project on a standalone cluster and over Spark Connect, with executors and a worker killed while they write.

`make test` has one build over Spark Connect. In most tests of `make test-all` the machines share only an object store, and run as another user
if the tests run as root: see the fixtures `s3_endpoint` and `s3_jars`.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

import duckdb
import pytest
import yaml
from pyarrow.fs import FileSelector, FileSystem, FileType, LocalFileSystem, S3FileSystem, copy_files

from dbt.adapters.ducklake.lake.data_path import MARK_FILE
from tests.acceptance.projects import Project, Rows
from tests.clusters import QUICK_JAVA, Cluster, bare_python, cluster, connect_server, other_user
from tests.duckdb_instances import open_duckdb
from tests.functional.dbt_process import start_dbt
from tests.functional.test_example_shop import BUILT, COUNTS, DAY_2, DEMO, SHOP, check
from tests.interop.other_process import OtherProcess
from tests.places import CatalogPlace

pytestmark = pytest.mark.slow
one_server = pytest.mark.parametrize(
    "s3_server", ["moto"], indirect=True
)  # these tests take minutes; test_object_storage.py has each server
FILES = {
    "seeds/prices.csv": "id,price\n" + "".join(f"{i},{i}.50\n" for i in range(20)),
    "models/events.sql": """
        {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', partitioned_by=['kind'],
                  tblproperties={'data_inlining_row_limit': 0}) }}
        select id, id % 3 as kind, array(id, id + 1) as ids, '{{ var("run") }}' as run
        from range({{ 0 if var("run") == "one" else 50 }}, {{ 100 if var("run") == "one" else 150 }})""",
    "models/totals.sql": """
        {{ config(materialized='table') }}
        select kind, count(*) as events, sum(price) as price from {{ ref('events') }} left join {{ ref('prices') }} using (id) group by kind""",
    "models/squares.py": """
from pyspark.sql.functions import udf


def model(dbt, session):
    dbt.config(materialized="table")
    square = udf(lambda number: number * number, "bigint", useArrow=False)
    return dbt.ref("events").select("id", square("id").alias("square"))
""",
    "models/slow.sql": """
        {{ config(materialized='table', enabled=var('slow', false)) }}
        select id, java_method('java.lang.Thread', 'sleep', 100L) as waited from range(0, 400, 1, 4)""",
    "snapshots/history.yml": """
snapshots:
  - name: history
    relation: ref('totals')
    config: {unique_key: kind, strategy: check, check_cols: all}
""",
    "models/tests.yml": """
models:
  - name: events
    columns: [{name: id, data_tests: [unique, not_null]}]
""",
    "dbt_project.yml": "{name: shared, profile: shared, version: '1.0', flags: {send_anonymous_usage_stats: false}}",
}
IN_STORE = """

connect_to_catalog = connect


def connect():
    connection = connect_to_catalog()
    load_extension(connection, "httpfs")
    connection.execute("{create_secret}")
    return connection
"""
"""What `duckdb_lake.py` of the example shop needs besides for a lake in an object store."""
EVENTS = "SELECT kind, count(*), sum(id), sum(list_sum(ids)), count(DISTINCT run) FROM lake.main.events GROUP BY kind ORDER BY kind"
TABLES = ("prices", "events", "totals", "squares", "history")


JOB_FILE = re.compile(r"(/[^/]+){2}/ducklake-[0-9a-f-]{36}/.+")
"""A file below the folder of a table that a job has created."""


@dataclass(frozen=True)
class Shared:
    """A project whose lake has its files at a place that the executors can reach."""

    project: Project
    files: FileSystem
    root: str
    """The data path in `files`, without a trailing slash."""
    connection: duckdb.DuckDBPyConnection

    def read(self, query: str) -> Rows:
        """Return what DuckDB reads from the current lake."""
        self.connection.execute(f"ATTACH 'ducklake:sqlite:{self.project.folder / 'lake.sqlite'}' AS lake")
        try:
            return self.connection.execute(query).fetchall()
        finally:
            self.connection.execute("DETACH lake")

    def stored(self) -> set[str]:
        """Return the names of the files below the data path, without the mark of the lake."""
        found = self.files.get_file_info(FileSelector(self.root, recursive=True, allow_not_found=True))
        return {info.path.removeprefix(self.root) for info in found if info.type == FileType.File and info.base_name != MARK_FILE}

    def listed(self) -> set[str]:
        """Return the names of the files that the newest snapshot reads."""
        tables = [name for (name,) in self.read("SELECT table_name FROM ducklake_table_info('lake')")]
        files = " UNION ALL ".join(f"SELECT unnest([data_file, delete_file]) FROM ducklake_list_files('lake', '{name}')" for name in tables)
        return {path[path.index(self.root) + len(self.root) :] for (path,) in self.read(files) if path}


def write_project(project: Project, data_path: str, spark: dict[str, object], **more: object) -> None:
    for name, text in FILES.items():
        path = project.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    output = project.ducklake("main", threads=2) | {"data_path": data_path, "spark": spark} | more
    project.write_profiles("shared", {"test": output}, "test")


def on_cluster(url: str, config: Mapping[str, object]) -> dict[str, object]:
    """Return the block `spark` of a profile for the cluster."""
    own = {
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": QUICK_JAVA,
        "spark.driver.memory": "768m",
        "spark.driver.host": "127.0.0.1",
    }
    return {"master": url, "fast_start": True, "config": own | dict(config)}


def kill_while_writing(shared: Shared, running: Cluster, kill: Callable[[list[int]], None]) -> None:
    """Build the slow model, whose tasks take ten seconds, and call `kill` with its executors while they write files."""
    earlier = running.executors()  # those of the last command may not have ended yet
    process = start_dbt(shared.project.folder, "run", "--select", "slow", "--vars", "{run: two, slow: true}")
    try:
        deadline = time.monotonic() + 300
        while not set(running.executors()) - set(earlier):
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < deadline, "the job does not start"
            time.sleep(0.2)
        time.sleep(5)  # the tasks have begun
        kill([pid for pid in running.executors() if pid not in earlier])
        output, _ = process.communicate(timeout=600)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, output
    assert shared.read("SELECT count(*), count(DISTINCT id), sum(id) FROM lake.main.slow") == [(400, 400, sum(range(400)))]


def check_rows(shared: Shared, run: str) -> None:
    """Compare the tables with what DuckDB computes from numbers, and from the other tables."""
    last = 100 if run == "one" else 150
    expected = f"""
        SELECT id % 3, count(*), sum(id), sum(2 * id + 1), count(DISTINCT id >= {0 if run == "one" else 50}) FROM range({last}) r (id)
        GROUP BY ALL ORDER BY 1"""
    assert shared.read(EVENTS) == shared.read(expected)
    totals = """
        SELECT kind, count(*), sum(CAST(price AS DECIMAL(10, 2))) FROM lake.main.events LEFT JOIN lake.main.prices USING (id)
        GROUP BY kind ORDER BY kind"""
    assert shared.read("SELECT kind, events, CAST(price AS DECIMAL(10, 2)) FROM lake.main.totals ORDER BY kind") == shared.read(totals)
    assert shared.read("SELECT count(*), sum(square) FROM lake.main.squares") == [(last, sum(i * i for i in range(last)))]
    current = "SELECT kind, events FROM lake.main.history WHERE dbt_valid_to IS NULL ORDER BY kind"
    assert shared.read(current) == shared.read("SELECT kind, events FROM lake.main.totals ORDER BY kind")
    assert shared.read("SELECT count(*) FROM lake.main.history") == [(3 if run == "one" else 6,)]


def clean_up(shared: Shared) -> None:
    """Remove what no snapshot reads, and require that nothing else is left; killed tasks leave files in the folder of their job alone."""
    shared.project.dbt("run-operation", "ducklake_expire_snapshots", "--args", "{older_than: '2100-01-01'}")
    shared.project.dbt("run-operation", "ducklake_cleanup_old_files", "--args", "{cleanup_all: true}")
    listed = shared.listed()
    assert listed <= shared.stored()
    assert [path for path in shared.stored() - listed if not JOB_FILE.fullmatch(path)] == []
    shared.project.dbt("run-operation", "ducklake_delete_orphaned_files", "--args", "{cleanup_all: true}")
    assert shared.stored() == listed


def play(shared: Shared) -> None:
    """Build the project twice, maintain the lake and roll a table back."""
    shared.project.dbt("build", "--vars", "run: one")
    check_rows(shared, "one")
    first = shared.read(EVENTS)
    ((version,),) = shared.read("SELECT max(snapshot_id) FROM lake.snapshots()")
    shared.project.dbt("build", "--vars", "run: two")
    check_rows(shared, "two")
    second = shared.read(EVENTS)
    shared.read("DELETE FROM lake.main.events WHERE id < 40")
    fewer = shared.read(EVENTS)
    assert fewer != second
    shared.project.dbt("run-operation", "ducklake_rewrite_data_files", "--args", "{delete_threshold: 0}")
    shared.project.dbt("run-operation", "ducklake_checkpoint")
    assert shared.read(EVENTS) == fewer
    shared.project.dbt("run-operation", "ducklake_rollback", "--args", f"{{version: {version}, table_name: events}}")
    assert shared.read(EVENTS) == first


@contextmanager
def in_folder(project: Project, spark: dict[str, object], **more: object) -> Iterator[Shared]:
    """A lake in a folder of this machine; `more` are further fields of the profile."""
    write_project(project, "data/", spark, **more)
    with open_duckdb("ducklake", "sqlite_scanner") as connection:
        yield Shared(project, LocalFileSystem(), str(project.folder / "data"), connection)


def new_bucket(endpoint: str) -> tuple[S3FileSystem, str]:
    """Return PyArrow's client of a store, and the name of a new bucket in it."""
    bucket = f"lake-{uuid4().hex}"
    store = S3FileSystem(endpoint_override=endpoint, allow_bucket_creation=True)
    store.create_dir(bucket)
    return store, bucket


def create_secret(endpoint: str) -> str:
    """Return the statement with which DuckDB reaches a store."""
    return (
        f"CREATE SECRET (TYPE s3, KEY_ID '{os.environ['AWS_ACCESS_KEY_ID']}', SECRET '{os.environ['AWS_SECRET_ACCESS_KEY']}', "
        f"REGION '{os.environ['AWS_REGION']}', ENDPOINT '{endpoint.partition('://')[2]}', URL_STYLE 'path', USE_SSL {endpoint.startswith('https')})"
    )


@contextmanager
def in_store(project: Project, endpoint: str, spark: Callable[[str], dict[str, object]]) -> Iterator[Shared]:
    """A lake in a new bucket."""
    store, bucket = new_bucket(endpoint)
    write_project(project, f"s3://{bucket}/lake/", spark(bucket))
    with open_duckdb("ducklake", "sqlite_scanner", "httpfs") as connection:
        connection.execute(create_secret(endpoint))
        yield Shared(project, store, f"{bucket}/lake", connection)


@pytest.fixture
def python_of_executors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Executors run Python functions with a Python that has no packages; dbt's Python may be of a user whose files they cannot read."""
    monkeypatch.setenv("PYSPARK_PYTHON", bare_python())


def kill_one(executors: list[int]) -> None:
    assert len(executors) == 2
    os.kill(executors[0], signal.SIGKILL)


@pytest.mark.nightly
@pytest.mark.usefixtures("python_of_executors")
def test_a_cluster_in_short(project: Project) -> None:
    """With one executor; the other tests have two."""
    with cluster(user=None, workers=1) as running, in_folder(project, on_cluster(running.url, {})) as shared:
        shared.project.dbt("build", "--vars", "run: one")
        check_rows(shared, "one")


@pytest.mark.nightly
@pytest.mark.usefixtures("python_of_executors")
def test_an_executor_is_killed_while_it_writes_to_a_shared_folder(project: Project) -> None:
    with cluster(user=None) as running, in_folder(project, on_cluster(running.url, {})) as shared:
        shared.project.dbt("build", "--vars", "run: one")
        kill_while_writing(shared, running, kill_one)
        clean_up(shared)


@pytest.mark.usefixtures("python_of_executors")
def test_connect_in_short(project: Project) -> None:
    pytest.importorskip("grpc")
    with (
        connect_server("local[2]", None, {}, {"PYSPARK_PYTHON": bare_python()}) as server,
        in_folder(project, {"remote": server.address}) as shared,
    ):
        shared.project.dbt("build", "--vars", "run: one")
        check_rows(shared, "one")


@pytest.mark.nightly
def test_an_encrypted_lake_on_a_cluster_and_over_connect(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python of the executors has DuckDB; `tests/unit/spark/test_encrypted.py` shows that it needs no dbt-ducklake."""
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    with cluster(user=None) as running, in_folder(project, on_cluster(running.url, {}), encrypted=True) as shared:
        shared.project.dbt("build", "--vars", "run: one")
        check_rows(shared, "one")
    with (
        connect_server("local[2]", None, {}, {"PYSPARK_PYTHON": sys.executable}) as server,
        in_folder(project, {"remote": server.address}, encrypted=True) as shared,
    ):
        shared.project.dbt("build", "--vars", "run: two")
        check_rows(shared, "two")
    files = [path.read_bytes() for path in (project.folder / "data").rglob("*.parquet")]
    assert {content[:4] for content in files} == {b"PARE"}


def s3_config(endpoint: str, jars: str) -> dict[str, str]:
    return {"spark.jars": jars, "spark.hadoop.fs.s3a.endpoint": endpoint, "spark.hadoop.fs.s3a.path.style.access": "true"}


@pytest.mark.nightly
@one_server
@pytest.mark.usefixtures("python_of_executors")
def test_the_example_shop_on_a_cluster(project: Project, s3_endpoint: str, s3_jars: str) -> None:
    """The files of the shop's systems arrive in the object store too, and its programs with DuckDB read the lake there."""
    shutil.copytree(SHOP, project.folder, ignore=BUILT, dirs_exist_ok=True)
    store, bucket = new_bucket(s3_endpoint)
    with (project.folder / "duckdb_lake.py").open("a", encoding="utf-8") as file:
        file.write(IN_STORE.format(create_secret=create_secret(s3_endpoint)))
    (output,) = yaml.safe_load((SHOP / "profiles.yml").read_text(encoding="utf-8"))["shop"]["outputs"].values()
    with cluster(other_user()) as running:
        spark = on_cluster(running.url, s3_config(s3_endpoint, s3_jars))
        project.write_profiles("shop", {"dev": output | {"data_path": f"s3://{bucket}/lake/", "spark": spark}}, "dev")
        for program, *arguments in DEMO:
            if program == "dbt":
                project.dbt(*arguments, "--vars", f"landing: s3a://{bucket}/landing")
            else:
                subprocess.run([sys.executable, *arguments], cwd=project.folder, check=True)
                copy_files(str(project.folder / "landing"), f"{bucket}/landing", destination_filesystem=store)
    with OtherProcess(CatalogPlace(f"ducklake:sqlite:{project.folder}/lake/shop.sqlite", f"s3://{bucket}/lake/")) as duckdb:
        duckdb.query(create_secret(s3_endpoint))
        assert duckdb.query(COUNTS) == [DAY_2]
        check(duckdb)


@pytest.mark.nightly
@one_server
@pytest.mark.usefixtures("python_of_executors")
def test_a_cluster_that_shares_only_an_object_store(project: Project, s3_endpoint: str, s3_jars: str) -> None:
    with (
        cluster(other_user()) as running,
        in_store(project, s3_endpoint, lambda _: on_cluster(running.url, s3_config(s3_endpoint, s3_jars))) as shared,
    ):
        play(shared)
        kill_while_writing(shared, running, kill_one)
        kill_while_writing(shared, running, lambda _: running.workers[0].kill())
        rows = shared.read(EVENTS)
        clean_up(shared)
        assert shared.read(EVENTS) == rows


@pytest.mark.nightly
@one_server
def test_connect_to_a_cluster_that_shares_only_an_object_store(
    project: Project, s3_endpoint: str, s3_jars: str, s3_keys: dict[str, str]
) -> None:
    pytest.importorskip("grpc")
    settings = s3_config(s3_endpoint, s3_jars) | {"spark.executor.memory": "512m"}
    variables = s3_keys | {"PYSPARK_PYTHON": bare_python()}
    with (
        cluster(other_user()) as running,
        connect_server(running.url, other_user(), settings, variables) as server,
        in_store(project, s3_endpoint, lambda _: {"remote": server.address}) as shared,
    ):
        play(shared)
        rows = shared.read(EVENTS)
        clean_up(shared)
        assert shared.read(EVENTS) == rows


def test_the_python_of_the_executors_has_no_packages() -> None:
    for package in ("dbt", "pyspark", "pyarrow"):
        assert subprocess.run([bare_python(), "-I", "-c", f"import {package}"], capture_output=True, check=False).returncode != 0
