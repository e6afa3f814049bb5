"""Writers that are killed at random times, and many writers at once: each transaction is in the lake as a whole, once, or not at all.

The writers without Spark are killed KILLS times on each catalog database, those with Spark SPARK_KILLS times, and `dbt build` DBT_KILLS times.
Then WRITERS processes, each fourth of them DuckDB where it can use the database, commit COMMITS times each;
fewer on a DuckDB file, which one process at a time can open. KILLS_SEED repeats the choices, but not the times.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbt.adapters.ducklake.catalog.store.retries import RetrySettings
from dbt.adapters.ducklake.session import LakeSession
from dbt.adapters.ducklake.spark.session.settings import SparkSettings
from tests.catalog_objects import table_of
from tests.catalogs import session_on
from tests.functional.dbt_process import LAKE, SPARK, start_dbt, write_project
from tests.interop import oracle
from tests.interop.differential.invariants import Invariants
from tests.places import EVERY_DATABASE, REFERENCE_DATABASES, CatalogPlace, empty_place

KILLS = int(os.environ.get("KILLS", "60"))
SPARK_KILLS = int(os.environ.get("SPARK_KILLS", "10"))
DBT_KILLS = int(os.environ.get("DBT_KILLS", "5"))
WRITERS = int(os.environ.get("WRITERS", "16"))
COMMITS = int(os.environ.get("COMMITS", "50"))
SEED = int(os.environ.get("KILLS_SEED", "0")) or random.SystemRandom().randrange(1 << 30)
BEGUN, COMMITTED = "begun", "committed"
"""What a writer reports of a transaction; a third text is the traceback with which it ends."""
TIMEOUT_SECONDS = 600
"""Seconds for a process."""
TABLES = {"log": "number int, kind string", "debit": "number int, amount int", "credit": "number int, amount int", "made_0": "number int"}
STATE = """
SELECT (SELECT count(*) FROM lake.main.log), (SELECT coalesce(max(number), 0) FROM lake.main.log),
       (SELECT coalesce(sum(amount), 0) FROM lake.main.debit), (SELECT coalesce(sum(amount), 0) FROM lake.main.credit),
       (SELECT coalesce(min(number), 0) FROM lake.main.rebuilt), (SELECT coalesce(max(number), 0) FROM lake.main.rebuilt)
"""
"""Committed transactions, the last one, two sums that are always equal, and one number that all rows of a table have."""
DEFINITIONS = "SELECT number FROM lake.main.log WHERE kind = 'change_definitions'"
LAST_REBUILD = "SELECT coalesce(max(number), 0) FROM lake.main.log WHERE kind IN ('load_seed', 'build_table')"


# -- the writers, in their own processes ---------------------------------------------------------------------------------------


def insert_constants(session: LakeSession, number: int, chance: random.Random) -> None:
    rows = ", ".join(f"({number}, {chance.randint(1, 9)})" for _ in range(chance.choice([1, 3, 40])))
    session.execute(f"INSERT INTO debit VALUES {rows}")
    session.execute(f"INSERT INTO credit VALUES {rows}")


def load_seed(session: LakeSession, number: int, chance: random.Random) -> None:
    session.load_seed("main", "rebuilt", [("number", "int")], [(number,)] * chance.choice([2, 100]))


def change_definitions(session: LakeSession, number: int, _: random.Random) -> None:
    session.execute(f"CREATE TABLE made_{number} (number INT)")
    session.execute("ALTER TABLE debit ADD COLUMN more INT DEFAULT 1")
    session.execute("ALTER TABLE debit DROP COLUMN more")
    session.execute(f"ALTER TABLE credit SET TBLPROPERTIES ('last' = '{number}')")


def build_table(session: LakeSession, number: int, chance: random.Random) -> None:
    session.execute(f"CREATE OR REPLACE TABLE rebuilt AS SELECT {number} AS number FROM range({chance.choice([5, 3000])})")


def insert_query(session: LakeSession, number: int, _: random.Random) -> None:
    for name in ("debit", "credit"):
        session.execute(f"INSERT INTO {name} SELECT {number}, id % 7 FROM range({1000 + number})")


def merge(session: LakeSession, number: int, chance: random.Random) -> None:
    matched = chance.randint(0, number)
    for name in ("debit", "credit"):
        session.execute(
            f"MERGE INTO {name} t USING (SELECT {matched} AS number) s ON t.number = s.number "
            "WHEN MATCHED AND t.amount > 5 THEN DELETE WHEN MATCHED THEN UPDATE SET amount = t.amount + 1"
        )
    for name in ("debit", "credit"):
        session.execute(f"DELETE FROM {name} WHERE number = {number - 7}")


Writer = Callable[[LakeSession, int, random.Random], None]
WITHOUT_SPARK: tuple[Writer, ...] = (insert_constants, load_seed, change_definitions)
WITH_SPARK: tuple[Writer, ...] = (*WITHOUT_SPARK, build_table, insert_query, merge)


def write(place: CatalogPlace, kinds: Sequence[Writer], seed: int, pipe: Connection) -> None:
    """Receive the number of the first transaction, commit one after the other, and report each before it begins and after its commit."""
    os.setsid()  # a group of its own, with its Java
    chance = random.Random(seed)
    spark = SparkSettings(master="local[2]", fast_start=True)
    try:
        with place.lake(spark=spark, retry=RetrySettings(max_retry_count=50, backoff=1)) as lake, lake.session() as session:
            if len(kinds) > len(WITHOUT_SPARK):
                session.execute("SELECT count(*) FROM log").fetch()
            number = pipe.recv()
            while True:
                kind = chance.choice(kinds)
                pipe.send(BEGUN)
                session.begin()
                session.execute(f"INSERT INTO log VALUES ({number}, '{kind.__name__}')")
                kind(session, number, random.Random(seed + number))
                session.commit()
                pipe.send(COMMITTED)
                number += 1
    except BaseException:
        pipe.send(traceback.format_exc())
        raise


def append_with_duckdb(place: CatalogPlace, writer: int, stays: bool) -> None:
    """Commit rows (writer, 0), (writer, 1), … one by one, with a connection that stays, or a new one for each."""
    kept = oracle.connect(place) if stays else None
    for i in range(COMMITS):
        while True:
            try:
                with nullcontext(kept) if kept is not None else oracle.connect(place) as connection:
                    connection.execute(f"INSERT INTO lake.main.log VALUES ({i}, '{writer}')")
                break
            except duckdb.Error:  # it gives up after a number of conflicts, or the file is in use, and then has not committed
                time.sleep(0.2)


def append(place: CatalogPlace, writer: int) -> None:
    """Commit rows (writer, 0), (writer, 1), … one by one."""
    with place.lake(retry=RetrySettings(max_retry_count=200, backoff=1)) as lake, lake.session() as session:
        for i in range(COMMITS):
            session.execute(f"INSERT INTO log VALUES ({i}, '{writer}')")


# -- the tests -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def place(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> CatalogPlace:
    """An empty lake with the tables of the writers."""
    print(f"KILLS_SEED={SEED}")
    found = empty_place(database, request, tmp_path)
    with found.lake() as lake, lake.session() as session:
        for name, columns in TABLES.items():
            session.execute(f"CREATE TABLE {name} ({columns})")
        session.load_seed("main", "rebuilt", [("number", "int")], [(0,)])
    return found


PROCESSES = multiprocessing.get_context("forkserver")
"""Forks each process from one that has imported this module, which takes longer than most transactions."""
PROCESSES.set_forkserver_preload([__name__])


def kill(pid: int, everything: bool) -> None:
    """Kill a process, alone or with its Java."""
    os.killpg(pid, signal.SIGKILL) if everything else os.kill(pid, signal.SIGKILL)


Read = Callable[..., tuple[set[str], list[list[Any]]]]
"""Returns the names of the tables, and the rows of queries."""


@pytest.fixture
def read(database: str, place: CatalogPlace, request: pytest.FixtureRequest) -> Read:
    """Reads with DuckDB, or with a session of ours if DuckDB cannot use the catalog database."""

    def with_duckdb(*queries: str) -> tuple[set[str], list[list[Any]]]:
        with oracle.connect(place) as connection:
            names = connection.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'lake'").fetchall()
            return {name for (name,) in names}, [connection.execute(query).fetchall() for query in queries]

    def with_ours(*queries: str) -> tuple[set[str], list[list[Any]]]:
        lake = place.lake()
        lake.runtime = request.getfixturevalue("runtime")
        with session_on(lake) as session:
            names = {str(name) for _, name, _ in session.execute("SHOW TABLES").fetch()}
            return names, [session.execute(query).fetch() for query in queries]

    return with_duckdb if database in REFERENCE_DATABASES else with_ours


def state(place: CatalogPlace, read: Read) -> tuple[int, ...]:
    """Return the state of the lake that both DuckDB and we read, after checks of the catalog and of all files."""
    names, (((*numbers,),), logged, ((last_seed,),)) = read(STATE, DEFINITIONS, LAST_REBUILD)
    found = tuple(map(int, numbers))
    assert {int(name[5:]) for name in names if name.startswith("made_")} == {int(number) for (number,) in logged} | {0}
    assert (last_seed, last_seed) == found[4:], "the last rebuild that is logged is the one that is there"
    with place.open() as catalog, duckdb.connect() as plain:
        assert Invariants(catalog, plain).violations() == []
        reader = catalog.reader()
        plan = reader.scan_plan(table_of(reader, "log"))
        ours = sum(file.record_count for file in plan.files) + sum(len(each.rows) for each in plan.inlined)
        assert ours == found[0]
    return found


class Started:
    """A writer that has started, with its Spark if it has one, and waits for the number of its first transaction."""

    def __init__(self, place: CatalogPlace, kinds: Sequence[Writer], chance: random.Random) -> None:
        self.pipe, theirs = PROCESSES.Pipe()
        self.process = PROCESSES.Process(target=write, args=(place, kinds, chance.randrange(1 << 30), theirs))
        self.process.start()
        theirs.close()

    def kill(self, everything: bool) -> None:
        """Kill it, alone or with its Java."""
        assert self.process.pid is not None
        kill(self.process.pid, everything)
        self.process.join(TIMEOUT_SECONDS)


def one_kill(
    writer: Started, place: CatalogPlace, read: Read, committed: int, seconds: deque[float], chance: random.Random
) -> tuple[int, str]:
    """Have a writer work for a random time, kill it, and return the number of transactions that are in the lake, and what happened.

    Args:
        writer: the writer.
        place: the lake.
        read: reads it.
        committed: the number of transactions in the lake.
        seconds: how long transactions took lately; the writer's are added. It is killed within about that time.
        chance: random choices.
    """
    writer.pipe.send(committed + 1)
    reports, begun_at = [], time.monotonic()
    for _ in range(2 * chance.randint(0, 3) + 1):
        assert writer.pipe.poll(TIMEOUT_SECONDS)
        reports.append(writer.pipe.recv())
        if reports[-1] == COMMITTED:
            seconds.append(time.monotonic() - begun_at)
        begun_at = time.monotonic()
    time.sleep(chance.random() * 1.3 * chance.choice(seconds))
    writer.kill(chance.random() < 0.5)
    with suppress(EOFError, OSError):  # it may have been killed within a report
        while True:
            reports.append(writer.pipe.recv())
    assert set(reports) <= {BEGUN, COMMITTED}, reports[-1]
    acknowledged = committed + reports.count(COMMITTED)
    begun = committed + reports.count(BEGUN)
    count, last, debit, credit, *_ = state(place, read)
    assert count == last
    assert debit == credit
    assert acknowledged <= count <= begun, "a commit that was reported is there, and nothing that was not begun"
    return count, "between commits" if begun == acknowledged else "committed" if count == begun else "not committed"


@pytest.mark.parametrize("database", EVERY_DATABASE)
@pytest.mark.parametrize("kinds", ["without", "with"])
def test_a_killed_writer_leaves_whole_transactions(place: CatalogPlace, read: Read, database: str, kinds: str) -> None:
    chance, outcomes, committed = random.Random(SEED), Counter[str](), 0
    kills, writers, first = (KILLS, WITHOUT_SPARK, 0.05) if kinds == "without" else (SPARK_KILLS, WITH_SPARK, 1.5)
    seconds = deque([first], maxlen=20)
    started = Started(place, writers, chance)
    for number in range(1, kills + 1):
        writer, started = started, Started(place, writers, chance)  # the next one starts its Spark while this one works
        committed, outcome = one_kill(writer, place, read, committed, seconds, chance)
        outcomes[outcome] += 1
        if number % 50 == 0:
            print(f"{database}, {kinds} Spark: {number} of {kills} kills", flush=True)
    started.kill(everything=False)  # its Java ends with it
    _, (orphans,) = read("CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)")
    state(place, read)
    print(f"{database}, {kinds} Spark: {committed} transactions, {len(orphans)} files of transactions that did not end, {dict(outcomes)}")
    assert committed


MODELS = {
    "first.sql": "{{ config(materialized='table') }} select {{ var('number') }} as number from range(2000)",
    "second.sql": "{{ config(materialized='incremental') }} select {{ var('number') }} as number, count(*) as n from {{ ref('first') }}",
    "third.sql": "{{ config(materialized='incremental', unique_key='n') }} select max(number) as number, n from {{ ref('second') }} group by n",
}


@pytest.mark.parametrize("database", REFERENCE_DATABASES)
def test_a_killed_dbt_build_leaves_whole_nodes(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = empty_place(database, request, tmp_path)
    (tmp_path / "project").mkdir()
    lake = {**LAKE, "path": place.path, "data_path": place.data_path, "threads": 2, "spark": SPARK}
    project, chance = write_project(tmp_path / "project", MODELS, {"here": lake}), random.Random(SEED)

    def build(number: int) -> subprocess.Popen[str]:
        return start_dbt(project, "build", "--vars", f"number: {number}")

    first = build(1)
    output, _ = first.communicate(timeout=TIMEOUT_SECONDS)
    assert first.returncode == 0, output
    for number in range(2, DBT_KILLS + 2):
        process = build(number)
        assert process.stdout is not None
        for line in process.stdout:
            if "START" in line and f"{chance.choice(list(MODELS))[:-4]} " in line:
                break
        time.sleep(chance.random() * 2)
        kill(process.pid, chance.random() < 0.5)
        process.communicate(timeout=TIMEOUT_SECONDS)
        with oracle.connect(place) as connection:
            rows, kinds = connection.execute("SELECT count(*), count(DISTINCT number) FROM lake.main.first").fetchall()[0]
            (runs, distinct) = connection.execute("SELECT count(*), count(DISTINCT number) FROM lake.main.second").fetchall()[0]
            assert connection.execute("SELECT count(*) FROM lake.main.third").fetchall() == [(1,)]
        assert (rows, kinds) == (2000, 1)
        assert runs == distinct <= number
        with place.open() as catalog, duckdb.connect() as plain:
            assert Invariants(catalog, plain).violations() == []
    last = build(DBT_KILLS + 2)
    output, _ = last.communicate(timeout=TIMEOUT_SECONDS)
    assert last.returncode == 0, output


@pytest.mark.parametrize("database", EVERY_DATABASE)
def test_no_commit_of_many_writers_is_lost_or_doubled(database: str, place: CatalogPlace, read: Read) -> None:
    with (
        place.lake() as lake,
        lake.session() as session,
    ):  # if DuckDB makes the table of inlined rows, it adds no row for its schema version
        session.execute("INSERT INTO log VALUES (0, 'first')")
    # A process that has a DuckDB file open keeps out all others, and each waits ten seconds at most. DuckDB cannot use MySQL.
    writers = WRITERS // 4 if database == "duckdb" else WRITERS
    by_duckdb = partial(append_with_duckdb, stays=database != "duckdb")
    duckdb_writers = range(0, writers, 4) if database in REFERENCE_DATABASES else ()
    processes = [
        PROCESSES.Process(target=by_duckdb if writer in duckdb_writers else append, args=(place, writer), daemon=True)
        for writer in range(writers)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(TIMEOUT_SECONDS)
        assert process.exitcode == 0
    _, (rows,) = read("SELECT kind, number FROM lake.main.log")
    expected = [(str(writer), number) for writer in range(writers) for number in range(COMMITS)]
    assert sorted(rows) == sorted([("first", 0), *expected])
    with place.open() as catalog, duckdb.connect() as plain:
        assert Invariants(catalog, plain).violations() == []
    print(f"{len(rows)} commits of {writers} processes")
