"""Damaged files, a full disk, a removed folder and a database server that restarts: an error that says what is wrong, nothing is lost, and work goes on."""

from __future__ import annotations

import random
import resource
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.catalog.store.retries import RetrySettings
from dbt.adapters.ducklake.errors import DuckLakeError, EngineError, LakeError
from dbt.adapters.ducklake.session import LakeSession
from dbt.adapters.ducklake.spark.read import local
from dbt.adapters.ducklake.spark.session.launch import running_jvm
from dbt.adapters.ducklake.spark.session.runtime import SCRATCH
from tests import mysql, postgres
from tests.catalogs import CatalogUnderTest
from tests.places import ENCRYPTED, nightly

MEBIBYTE = 1 << 20
DOWN_SECONDS = 1.5


@pytest.fixture
def tables(lake: LakeSession) -> LakeSession:
    """A lake with two tables, each with a file."""
    lake.execute("CREATE TABLE t AS SELECT id, cast(id * 7 AS STRING) AS name FROM range(5000)")
    lake.execute("CREATE TABLE other AS SELECT cast(id AS STRING) AS word, id + 0.5BD AS amount FROM range(3000)")
    return lake


def only_file(session: LakeSession, name: str) -> Path:
    with session.reading() as now:
        (file,) = now.scan_plan(now.find("main", name)).files  # type: ignore[arg-type]
    return Path(file.path)


def count(session: LakeSession, name: str) -> int:
    return int(session.execute(f"SELECT count(*) FROM {name}").fetch()[0][0])


# -- damaged files -------------------------------------------------------------------------------------------------------------

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda data: data[: len(data) // 2],
    "without its last byte": lambda data: data[:-1],
    "empty": lambda _: b"",
    "another format": lambda data: b"id,name\n" * (len(data) // 8),
    "zeros in the middle": lambda data: data[: len(data) // 4] + bytes(len(data) // 2) + data[len(data) // 4 + len(data) // 2 :],
}


DAMAGE_NAMES = ["zeros in the middle", *nightly("truncated", "empty", "without its last byte", "another format")]


@pytest.mark.parametrize("damage", DAMAGE_NAMES)
def test_the_error_names_a_damaged_file(tables: LakeSession, damage: str) -> None:
    path, newest = only_file(tables, "t"), tables.catalog.latest().snapshot_id
    good = path.read_bytes()
    path.write_bytes(DAMAGES[damage](good))
    for text in (
        "SELECT sum(id), max(name) FROM t",
        "DELETE FROM t WHERE id % 2 = 0 AND name > ''",
        "MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = concat(t.name, '!')",
        "CREATE TABLE copied AS SELECT * FROM t",
    ):
        with pytest.raises(LakeError, match=f"(?s){path.name}.*damaged"):
            tables.execute(text).fetch()
    assert tables.catalog.latest().snapshot_id == newest
    tables.execute("INSERT INTO other SELECT * FROM other")
    assert count(tables, "other") == 6000
    path.write_bytes(good)
    assert tables.execute("SELECT sum(id), count(name) FROM t").fetch() == [(12497500, 5000)]


def test_the_error_names_files_that_were_swapped(tables: LakeSession) -> None:
    one, other = only_file(tables, "t"), only_file(tables, "other")
    good, wrong = one.read_bytes(), other.read_bytes()
    one.write_bytes(wrong)
    other.write_bytes(good)
    for name, path in (("t", one), ("other", other)):
        with pytest.raises(LakeError, match=f"{path.name} is damaged, or is not the one"):
            tables.execute(f"SELECT * FROM {name}").fetch()
    one.write_bytes(good)
    other.write_bytes(wrong)
    assert (count(tables, "t"), count(tables, "other")) == (5000, 3000)


@pytest.mark.parametrize("vectors", ["true", "false"])
@pytest.mark.parametrize("damage", DAMAGE_NAMES)
def test_the_error_names_a_damaged_delete_file(tables: LakeSession, vectors: str, damage: str) -> None:
    tables.execute(f"ALTER TABLE t SET TBLPROPERTIES ('write_deletion_vectors' = '{vectors}')")
    tables.execute("DELETE FROM t WHERE id < 5")
    with tables.reading() as now:
        (file,) = now.scan_plan(now.find("main", "t")).files  # type: ignore[arg-type]
    assert file.delete_file is not None
    path = Path(file.delete_file.path)
    good = path.read_bytes()
    path.write_bytes(DAMAGES[damage](good))
    for text in ("SELECT count(*) FROM t", "DELETE FROM t WHERE id = 7"):
        with pytest.raises(LakeError, match=f"(?s){path.name}.*damaged"):
            tables.execute(text).fetch()
    path.write_bytes(good)
    assert count(tables, "t") == 4995


# -- a full disk ---------------------------------------------------------------------------------------------------------------


@contextmanager
def full_disk(size: int, *processes: int) -> Iterator[None]:
    """Make these processes (0: this one) fail when they write more than `size` bytes to a file, as on a full disk."""
    before = [resource.prlimit(process, resource.RLIMIT_FSIZE) for process in processes]
    for process, (_, hard) in zip(processes, before, strict=True):
        resource.prlimit(process, resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        for process, limits in zip(processes, before, strict=True):
            resource.prlimit(process, resource.RLIMIT_FSIZE, limits)


def files(folder: str) -> set[Path]:
    return {path for path in Path(folder).rglob("*") if path.is_file()}


def words(size: int) -> list[tuple[str]]:
    """Return rows of random text that have about `size` bytes even when compressed."""
    chance = random.Random(size)
    return [(chance.randbytes(500).hex(),) for _ in range(size // 500)]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can limit the files of another process")
class TestFullDisk:
    def test_a_table_is_not_written(self, tables: LakeSession, catalog: CatalogUnderTest) -> None:
        process = running_jvm()
        assert process is not None
        before = files(catalog.data_path)
        text = "CREATE TABLE large AS SELECT sha2(cast(id AS STRING), 512) AS word FROM range(200000)"
        with full_disk(MEBIBYTE, process.pid), pytest.raises(EngineError, match=r"(?i)file too large"):
            tables.execute(text)
        assert files(catalog.data_path) == before, "no file is left"
        tables.execute(text)
        assert count(tables, "large") == 200000

    def test_a_seed_is_not_written(self, tables: LakeSession, catalog: CatalogUnderTest) -> None:
        rows, before = words(4 * MEBIBYTE), files(catalog.data_path)
        with full_disk(2 * MEBIBYTE, 0), pytest.raises((DuckLakeError, OSError), match=r"(?i)file too large"):
            tables.load_seed("main", "other", [("word", "string")], rows)
        assert files(catalog.data_path) == before, "no file is left"
        assert count(tables, "other") == 3000
        tables.load_seed("main", "other", [("word", "string")], rows)
        assert count(tables, "other") == len(rows)

    def test_a_commit_is_not_written(self, tables: LakeSession, catalog: CatalogUnderTest) -> None:
        if catalog.database != "sqlite":
            pytest.skip("the server writes the catalog")
        file = Path(catalog.path.removeprefix("ducklake:sqlite:"))
        tables.begin()
        tables.execute("INSERT INTO other SELECT * FROM other")
        for i in range(300):
            tables.execute(f"CREATE TABLE made_{i} (a INT, b STRING)")
        with full_disk(file.stat().st_size, 0), pytest.raises(EngineError, match="catalog"):
            tables.commit()
        assert count(tables, "other") == 3000
        tables.execute("INSERT INTO other SELECT * FROM other")
        assert count(tables, "other") == 6000


# -- a removed folder ----------------------------------------------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.skipif(ENCRYPTED, reason="DuckDB reads the files, without a list for Spark")
def test_statements_need_no_scratch_folder_of_earlier_ones(tables: LakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that tidy up temporary folders remove it."""
    monkeypatch.setattr(local, "MAX_ROWS", -1)  # Spark reads the files
    scratch = tmp_path / "scratch"
    tables.spark().conf.set(SCRATCH, str(scratch))
    assert count(tables, "t") == 5000
    begun = tables.execute("SELECT max(id) FROM t")
    merge = (
        "MERGE INTO t USING (SELECT CAST(word AS BIGINT) + 4000 AS id FROM other) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET name = 'merged' WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, 'new')"
    )
    for text in ("SELECT * FROM other", merge, "CREATE TABLE copied AS SELECT * FROM t"):
        shutil.rmtree(scratch)
        tables.execute(text).fetch()
        assert scratch.is_dir(), "Spark must have read a list in it"
    assert begun.fetch() == [(4999,)]
    for name in ("t", "copied"):
        query = f"SELECT name IN ('merged', 'new'), count(*), min(id), max(id) FROM {name} GROUP BY 1 ORDER BY 1"
        assert tables.execute(query).fetch() == [(False, 4000, 0, 3999), (True, 3000, 4000, 6999)]


# -- a database server that restarts -------------------------------------------------------------------------------------------


@pytest.mark.postgres
def test_a_transaction_outlives_a_restart_of_the_server(postgres_server: Any, postgres_url: str, tmp_path: Path) -> None:
    place = CatalogUnderTest("postgres", postgres_url, f"{tmp_path}/files/")

    def end_all_connections() -> None:
        postgres_server.psql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname LIKE 'lake_%';"
        )

    with place.open() as lake, lake.session() as session:
        session.execute("CREATE TABLE t (id INT)")
        session.execute("INSERT INTO t VALUES (1)")
        end_all_connections()
        session.begin()
        session.execute("INSERT INTO t VALUES (2)")
        end_all_connections()
        session.execute("INSERT INTO t VALUES (3)")
        end_all_connections()
        session.commit()
        with session.reading() as now:
            (inlined,) = now.scan_plan(now.find("main", "t")).inlined  # type: ignore[arg-type]
        assert sorted(inlined.rows) == [(1,), (2,), (3,)]


@dataclass(frozen=True)
class Server:
    """A database server of a test, with an empty database."""

    database: str
    url: str
    stop: Callable[[], None]
    start: Callable[[], None]

    @contextmanager
    def down(self) -> Iterator[None]:
        """Stop it, and start it again after some seconds, in which it refuses connections; the block runs in the meantime."""
        self.stop()
        starting = threading.Timer(DOWN_SECONDS, self.start)
        starting.start()
        try:
            yield
        finally:
            starting.join()


@pytest.fixture(
    params=[pytest.param("postgres", marks=pytest.mark.postgres), pytest.param("mysql", marks=[pytest.mark.mysql, pytest.mark.nightly])]
)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server of its own, because it is stopped."""
    if request.param == "mysql":
        with mysql.own_server() as own:
            yield Server("mysql", mysql.new_database(own.url, "lake"), own.stop, own.start)
    else:
        with postgres.own_server() as own:
            yield Server("postgres", postgres.new_database(own, "lake"), own.stop, own.ensure_postgres_running)


def numbers(session: LakeSession) -> list[int]:
    """Return the inlined numbers of the table `t`."""
    with session.reading() as now:
        plan = now.scan_plan(now.find("main", "t"))  # type: ignore[arg-type]
    return sorted(number for inlined in plan.inlined for (number,) in inlined.rows)


@pytest.mark.nightly
def test_the_retries_outlast_a_server_that_is_down_for_some_seconds(server: Server, tmp_path: Path) -> None:
    place = CatalogUnderTest(server.database, server.url, f"{tmp_path}/files/")
    retry = RetrySettings(max_retry_count=40, wait_ms=300, backoff=1)
    with place.open(retry=retry) as lake, lake.session() as session:
        session.execute("CREATE TABLE t (id INT)")
        session.execute("INSERT INTO t VALUES (1)")
        with server.down():
            session.begin()
            session.execute("INSERT INTO t VALUES (2)")
        with server.down():
            session.execute("INSERT INTO t VALUES (3)")
            assert numbers(session) == [1, 2, 3]
        with server.down():
            session.commit()
        assert numbers(session) == [1, 2, 3]


def test_without_retries_a_server_that_is_down_is_an_error_and_nothing_is_written(server: Server, tmp_path: Path) -> None:
    place = CatalogUnderTest(server.database, server.url, f"{tmp_path}/files/")
    with place.open(retry=RetrySettings(max_retry_count=0)) as lake, lake.session() as session:
        session.execute("CREATE TABLE t (id INT)")
        session.execute("INSERT INTO t VALUES (1)")
        session.begin()
        session.execute("INSERT INTO t VALUES (2)")
        server.stop()
        with pytest.raises(EngineError, match=r"the catalog database .* failed") as error:
            session.commit()
        assert "not known" not in str(error.value), "it certainly did not commit"
        session.rollback()
        with pytest.raises(EngineError, match=r"the catalog database .* failed"):
            session.execute("INSERT INTO t VALUES (2)")
        server.start()
        assert numbers(session) == [1]
        session.execute("INSERT INTO t VALUES (2)")
        assert numbers(session) == [1, 2]
