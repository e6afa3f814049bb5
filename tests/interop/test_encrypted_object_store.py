"""Encrypted lakes in an object store: both sides read and write the same files there, and no plain row and no key leaves the process."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbt.adapters.ducklake.errors import DuckLakeError, LakeError, MissingFileError
from dbt.adapters.ducklake.session import LakeSession, LakeSettings
from dbt.adapters.ducklake.session.doctor import run_checks
from dbt.adapters.ducklake.spark.encrypted import worker_tasks
from dbt.adapters.ducklake.spark.files import s3, storage
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from dbt.adapters.ducklake.spark.write import encrypted as write_encrypted
from tests.catalogs import CatalogUnderTest, session_on
from tests.interop.conftest import Both
from tests.interop.oracle import connect as connect_duckdb
from tests.object_store import ObjectStore
from tests.places import nightly

MARKER = "GEHEIMNIS"
"""A value that is in tables of these tests and must be in no file."""


@pytest.fixture
def place(tmp_path: Path, object_store: ObjectStore) -> CatalogUnderTest:
    return CatalogUnderTest("sqlite", f"ducklake:sqlite:{tmp_path}/lake.sqlite", object_store.folder)


@pytest.fixture
def lake(place: CatalogUnderTest, object_store: ObjectStore, runtime: SparkRuntime) -> Iterator[LakeSession]:
    with session_on(place.open(runtime, encrypted=True, data_inlining_row_limit=0, secrets=(object_store.secret,))) as session:
        yield session


@pytest.fixture
def both(place: CatalogUnderTest, lake: LakeSession, object_store: ObjectStore) -> Iterator[Both]:
    duck = connect_duckdb(place, encrypted=True, data_inlining_row_limit=0)
    secret = object_store.secret
    duck.execute(
        f"CREATE SECRET (TYPE s3, KEY_ID '{secret.key_id}', SECRET '{secret.secret}', REGION '{secret.region}', "
        f"ENDPOINT '{secret.endpoint}', URL_STYLE 'path', USE_SSL false)"
    )
    duck.execute("USE lake")
    yield Both(lake, duck)
    duck.close()


def objects(store: ObjectStore) -> dict[str, bytes]:
    """Return the content of all objects, and of no others than those: also of empty ones that stand for folders."""
    client = s3.client(store.bucket)
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=store.bucket)
    names = [each["Key"] for page in pages for each in page.get("Contents", [])]
    return {name: client.get_object(Bucket=store.bucket, Key=name)["Body"].read() for name in names}


def plain_objects(store: ObjectStore) -> list[str]:
    """Return the objects with a marker, or that a Parquet library could read without a key."""
    found = objects(store)
    assert any(content[-4:] == b"PARE" for content in found.values())
    return [name for name, content in found.items() if MARKER.encode() in content or b"PAR1" in (content[:4], content[-4:])]


@pytest.mark.nightly
def test_both_sides_change_one_table_in_turn(both: Both, object_store: ObjectStore) -> None:
    both.duckdb(f"CREATE TABLE t AS SELECT i::INTEGER AS id, '{MARKER}' || i AS v FROM range(100) r(i)")
    both.spark(
        "MERGE INTO t USING (SELECT CAST(id AS INT) AS id, concat('m', id) AS v FROM range(90, 110)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    )
    assert len(both.rows("SELECT rowid, * FROM t")) == 110
    both.duckdb("DELETE FROM t WHERE id % 10 = 1")
    both.spark("DELETE FROM t WHERE id % 10 = 2")
    both.duckdb("UPDATE t SET v = v || '-' WHERE id % 10 = 3")
    both.spark("INSERT INTO t VALUES (1000, 'constant')")
    both.spark("INSERT INTO t SELECT id, concat('s', id) FROM range(2000, 2010)")
    assert len(both.rows("SELECT rowid, * FROM t")) == 99
    both.check_history("t")
    assert plain_objects(object_store) == []


@pytest.mark.nightly  # test_encryption.py has it on a file system
def test_maintenance_rollback_and_clone(both: Both, object_store: ObjectStore) -> None:
    both.spark("CREATE TABLE t (id INT, p STRING, v VARIANT, l ARRAY<INT>)")
    both.spark("ALTER TABLE t SET PARTITIONED BY (p)")
    for number in range(3):
        both.spark(f"INSERT INTO t SELECT id + {number * 20}, concat('{MARKER}', id % 2), parse_json('[1]'), array(id) FROM range(20)")
        both.duckdb(f"INSERT INTO t SELECT (i + {1000 + number * 20})::INTEGER, 'p' || (i % 2), NULL, [] FROM range(20) r(i)")
    both.duckdb("DELETE FROM t WHERE id IN (3, 1003)")
    query = "SELECT rowid, id, p, v::VARCHAR, l FROM t"
    before = both.rows(query, "SELECT rowid, id, p, v::string, l FROM t")
    good = both.snapshots() - 1
    for call in ("ducklake_merge_adjacent_files('lake')", "ducklake_rewrite_data_files('lake', delete_threshold => 0)"):
        both.spark(f"CALL {call}")
        assert both.rows(query, "SELECT rowid, id, p, v::string, l FROM t") == before, call
    both.duckdb("UPDATE t SET p = 'after' WHERE id < 10")
    both.duckdb("CALL ducklake_merge_adjacent_files('lake')")
    both.duckdb("DELETE FROM t WHERE id > 30")
    both.spark(f"CALL ducklake_rollback('lake', table_name => 't', version => {good})")
    assert both.rows(query, "SELECT rowid, id, p, v::string, l FROM t") == before
    both.spark("CALL ducklake_clone('lake', table_name => 't', into => 'main.copy')")
    both.duckdb("DELETE FROM copy WHERE id < 40")
    assert len(both.rows("SELECT id FROM copy")) == len(before) - 39
    both.spark("CALL ducklake_expire_snapshots('lake', older_than => now())")
    both.spark("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    assert both.rows(query, "SELECT rowid, id, p, v::string, l FROM t") == before
    assert plain_objects(object_store) == []


@pytest.mark.parametrize("killed", [*nightly(False), True])
def test_a_failed_write_leaves_no_objects(
    lake: LakeSession, object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    """A worker that fails removes what it has stored; one that is killed cannot, so this process does."""
    real = worker_tasks.writer

    def failing(*arguments: object) -> object:
        write = real(*arguments)

        def fail_after_three_files(batches: Iterator[object]) -> Iterator[object]:
            found = write(batches)
            for _ in range(3):
                yield next(found)
            if killed:
                os._exit(1)
            found.throw(ZeroDivisionError("stop"))

        return fail_after_three_files

    lake.execute("CREATE TABLE t (id BIGINT)")
    lake.execute("CALL lake.set_option('target_file_size', '1KB')")
    before = objects(object_store)
    object_store.proxy.counted()
    with monkeypatch.context() as patch:
        patch.setattr(write_encrypted.worker_tasks, "writer", failing)
        with pytest.raises(DuckLakeError, match="." if killed else "stop"):
            lake.execute("INSERT INTO t SELECT id FROM range(0, 10000, 1, 1)")
    counted = object_store.proxy.counted()
    assert counted["PUT"] >= 3, counted
    assert objects(object_store) == before
    lake.execute("INSERT INTO t SELECT id FROM range(0, 10000, 1, 1)")
    assert lake.execute("SELECT count(*) FROM t").fetch() == [(10000,)]


def test_of_a_task_that_runs_twice_one_attempt_counts(
    lake: LakeSession, monkeypatch: pytest.MonkeyPatch, object_store: ObjectStore
) -> None:
    """The first attempt stores its file and then fails: its file is removed, and that of the second is registered."""
    real = worker_tasks.writer

    def failing(*arguments: object) -> object:
        write = real(*arguments)

        def twice(batches: Iterator[object]) -> Iterator[object]:
            kept = list(batches)
            first = write(iter(kept))
            next(first)
            with pytest.raises(ZeroDivisionError):
                first.throw(ZeroDivisionError())
            yield from write(iter(kept))

        return twice

    monkeypatch.setattr(write_encrypted.worker_tasks, "writer", failing)
    lake.execute("CREATE TABLE t AS SELECT id FROM range(0, 100, 1, 1)")
    listed = {row[0] for row in lake.execute("SELECT data_file FROM lake.list_files('t')").fetch()}
    assert {path for path, _ in storage.list_files(object_store.folder) if path.endswith(".parquet")} == listed
    assert len(listed) == 1
    assert lake.execute("SELECT count(*) FROM t").fetch() == [(100,)]


def test_a_store_that_refuses(lake: LakeSession, object_store: ObjectStore) -> None:
    lake.execute("CREATE TABLE t AS SELECT id FROM range(100)")
    assert lake.execute("SELECT count(*) FROM t").fetch() == [(100,)]
    before = objects(object_store)
    object_store.proxy.refused = {"GET"}
    with pytest.raises(LakeError, match=rf"the encrypted file s3://{object_store.bucket}/.*parquet cannot be read: .*endpoint") as read:
        lake.execute("SELECT * FROM t").fetch()
    object_store.proxy.refused = {"PUT"}
    with pytest.raises(
        LakeError, match=f"the encrypted file s3://{object_store.bucket}/.*parquet cannot be written: .*endpoint"
    ) as written:
        lake.execute("INSERT INTO t SELECT id FROM range(100)")
    with pytest.raises(DuckLakeError, match="cannot be written"):
        lake.execute("INSERT INTO t VALUES (1)")
    object_store.proxy.refused = set()
    assert objects(object_store) == before
    for error in (read.value, written.value):
        assert str(object_store.secret.secret) not in str(error) + repr(error)


def test_requests_are_few(lake: LakeSession, object_store: ObjectStore) -> None:
    object_store.proxy.counted()
    lake.execute("CREATE TABLE t AS SELECT id FROM range(0, 100, 1, 1)")
    assert object_store.proxy.counted() == {"PUT": 1}
    lake.execute("SELECT sum(id) FROM t").fetch()
    assert object_store.proxy.counted() == {"GET": 2, "HEAD": 1}  # the footer; the file and its size
    lake.execute("SELECT max(id) FROM t").fetch()
    assert object_store.proxy.counted() == {"GET": 1, "HEAD": 1}
    lake.execute("DELETE FROM t WHERE id = 3")
    assert object_store.proxy.counted() == {"GET": 1, "HEAD": 1, "PUT": 1}
    assert plain_objects(object_store) == []


def test_a_missing_object(lake: LakeSession) -> None:
    lake.execute("CREATE TABLE t AS SELECT id FROM range(100)")
    query = lake.execute("SELECT * FROM t")
    storage.remove(row[0] for row in lake.execute("SELECT data_file FROM lake.list_files('t')").fetch())
    with pytest.raises(MissingFileError, match=r"The file s3://.*parquet is missing"):
        query.fetch()


def test_secrets_are_in_no_plan_and_no_log(lake: LakeSession, caplog: pytest.LogCaptureFixture, object_store: ObjectStore) -> None:
    caplog.set_level(logging.DEBUG, "dbt")
    caplog.set_level(logging.DEBUG, "pyspark")
    lake.execute("CREATE TABLE t AS SELECT id FROM range(100)")
    lake.execute("DELETE FROM t WHERE id = 1")
    shown = [str(lake.execute(f"EXPLAIN {mode} SELECT * FROM t").fetch()) for mode in ("", "EXTENDED", "FORMATTED", "COST", "CODEGEN")]
    assert "MapInArrow" in shown[0]
    assert [text for text in (*shown, caplog.text) if str(object_store.secret.secret) in text] == []


def test_dbt_debug_tries_an_encrypted_file_without_connector_of_spark(
    place: CatalogUnderTest, lake: LakeSession, object_store: ObjectStore
) -> None:
    settings = LakeSettings(place.path, place.data_path, secrets=(object_store.secret,))
    before = objects(object_store)
    findings = list(run_checks(settings, lake.lake.runtime))
    assert [finding for finding in findings if finding.error] == []
    assert findings[-1].detail == "an executor wrote a file and read it back"
    assert objects(object_store) == before


@pytest.mark.nightly
def test_no_file_of_a_process_has_plain_rows_at_any_time(tmp_path: Path, object_store: ObjectStore) -> None:
    """The process reaches the store by its environment; its scratch files are below the folder."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "spark").mkdir()
    secret = object_store.secret
    environment = {name: value for name, value in os.environ.items() if name != "DUCKLAKE_TEST_ENCRYPTED"} | {
        "TMPDIR": str(tmp_path / "tmp"),
        "AWS_ENDPOINT_URL": object_store.proxy.endpoint,
        "AWS_REGION": str(secret.region),
        "AWS_ACCESS_KEY_ID": str(secret.key_id),
        "AWS_SECRET_ACCESS_KEY": str(secret.secret),
    }
    result = subprocess.run(
        [sys.executable, "-m", "tests.interop.encrypted_session", str(tmp_path), object_store.folder],
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert result.returncode == 0, result.stderr
    found, seen = result.stdout.splitlines()
    assert found == "[]"
    assert {".parquet", ".data"} <= set(eval(seen))  # scratch files of the workers, and files of Spark's shuffles
    assert plain_objects(object_store) == []
    assert list(tmp_path.rglob("*.parquet")) == []
