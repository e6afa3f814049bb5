"""Long use of one process: transactions in one session, or dbt commands, and what the process has after each part of them.

    python -m tests.long_use transactions 1000 100 FOLDER
    python -m tests.long_use commands 50 10 FOLDER

Each line of the output is a `Sample` as JSON. The temporary files are those of the folder in TMPDIR, so the caller names one for this
process alone, as `use` does.
"""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dbt.adapters.ducklake.errors import DuckLakeError
from dbt.adapters.ducklake.session import Lake, LakeSession, LakeSettings
from dbt.adapters.ducklake.spark.session.settings import SparkSettings
from tests.functional.dbt_process import LAKE, write_project

TIMEOUT_SECONDS = 3600
"""Seconds for a process."""
FAST_START = "LONG_USE_FAST_START" in os.environ
AT_REST = "LONG_USE_AT_REST" in os.environ
"""Whether the first sample, the one in the middle and the last are measured after Spark's pools have ended their idle threads."""
REST_SECONDS = 65
"""Spark's pools end threads that have been idle for a minute. How many there are before depends on how much a minute's work is."""
WITHOUT_ARCHIVE = {"JDK_JAVA_OPTIONS": "-Xshare:auto"}
"""An environment in which no process makes an archive of Spark's classes afterwards."""
OURS = "dbt.adapters.ducklake."
POOLS = (
    *("block-manager-", "broadcast-exchange", "shuffle-exchange", "ResultQueryStage", "QueryStageCreator", "subquery", "Executor task"),
    *("dispatcher-", "map-output-", "task-result-getter", "shuffle-", "rpc-", "files-", "Common-Cleaner", "serve-", "process reaper"),
)
"""How the names of threads begin that Spark and Java keep in pools of limited size."""
SETTLED = 3
"""The number of collections without a change after which a process is measured. Spark's cleaner works after a collection, later on a busy machine."""
MAX_COLLECTIONS = 40
EPHEMERAL = ("LakeSession", "Transactions", "Transaction", "Journal", "Step", "Environment", "Staged", "SparkRuntime", "Lake", "Scope")
"""Classes of ours whose objects live as long as a statement, a transaction, a connection or a command."""


@dataclass(frozen=True)
class Sample:
    """What a process has after a number of transactions or commands, after a garbage collection in Python and Java."""

    done: int
    views: int
    """Temporary views in Spark's sessions."""
    persistent: int
    """Results that Spark has cached, and RDDs."""
    listeners: int
    """Listeners in Spark; each session of Spark has one."""
    pools: int
    """Scheduler pools of Spark."""
    connections: int
    """Connections of Python's threads to Java."""
    java_threads: int
    """All threads in Java. Spark adds threads to its pools up to a limit for each, and removes those that are idle for a minute."""
    other_threads: int
    """Threads in Java that are not in such a pool."""
    python_threads: int
    java_objects: int
    """Objects in Java to which Python has a reference."""
    objects: int
    """Objects of the classes `EPHEMERAL`."""
    uncollected: int
    """Temporary files before the collection. Spark removes the files of shuffles after a collection in Java."""
    files: int
    """Temporary files. Folders are not counted: Spark keeps up to 64 for its blocks."""
    bytes: int
    heap: int
    """MiB in use in Java's heap."""
    metaspace: int
    """MiB of loaded classes in Java."""
    java_memory: int
    """MiB of memory (RSS) of the process of Java."""
    python_memory: int
    """MiB of memory (RSS) of this process."""

    def __str__(self) -> str:
        return "  ".join(f"{name} {value}" for name, value in asdict(self).items())


@dataclass(frozen=True)
class Use:
    """A long use, after its process has ended."""

    samples: list[Sample]
    left: list[str]
    """The temporary files and folders that are left."""

    def growth(self, name: str, start: int = 0) -> tuple[int, int]:
        """Return one of the numbers in the sample with the index `start` and in the last one."""
        return getattr(self.samples[start], name), getattr(self.samples[-1], name)

    def table(self) -> str:
        """Return the samples as lines of text."""
        return "\n".join(map(str, self.samples))


def use(kind: str, count: int, every: int, folder: Path, **variables: str) -> Use:
    """Run transactions or commands in a new process, with temporary files in a folder of its own.

    Args:
        kind: `transactions` or `commands`.
        count: how many.
        every: how many come before each sample.
        folder: an empty folder.
        variables: further environment variables.
    """
    temporary = folder / "tmp"
    temporary.mkdir()
    (folder / "work").mkdir()
    arguments = [sys.executable, "-m", "tests.long_use", kind, str(count), str(every), str(folder / "work")]
    own = {"TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(sys.path), **WITHOUT_ARCHIVE}
    environment = {**os.environ, **variables, **own}
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    samples = [Sample(**json.loads(line)) for line in done.stdout.splitlines() if line.startswith("{")]
    return Use(samples, sorted(str(path.relative_to(temporary)) for path in temporary.rglob("*")))


# -- measuring -----------------------------------------------------------------------------------------------------------------


def measure(done: int, every: int, count: int) -> Sample:
    """Return what this process has after `done` of `count` transactions or commands, of which each `every`-th is measured."""
    from py4j.finalizer import ThreadSafeFinalizer
    from pyspark import SparkContext

    uncollected = len(_files())
    jvm: Any = SparkContext._jvm
    context = SparkContext._active_spark_context
    assert context is not None
    client: Any = context._gateway._gateway_client  # type: ignore[union-attr]
    counts: list[tuple[int, ...]] = []
    while len(counts) < MAX_COLLECTIONS and not _has_settled(counts):
        gc.collect()
        while client.finalizer_deque:  # a thread of py4j releases, once a second, the Java objects to which Python no longer refers
            time.sleep(0.05)
        jvm.java.lang.System.gc()
        jvm.java.lang.Thread.sleep(300)
        listeners = int(context._jsc.sc().listenerBus().listeners().size())
        counts.append((int(context._jsc.getPersistentRDDs().size()), listeners, len(client.deque), len(_threads(jvm)), len(_files())))
    if AT_REST and done in (every, count // 2, count):
        time.sleep(REST_SECONDS)  # after the collections, for which Spark uses pools too
        jvm.java.lang.System.gc()
    beans = jvm.java.lang.management.ManagementFactory
    scala = context._jsc.sc()
    found = [each for each in gc.get_objects() if _is_ours(each)]
    sessions = [each._spark for each in found if isinstance(each, LakeSession) and each._spark is not None]
    paths = _files()
    java = int(beans.getRuntimeMXBean().getPid())
    shared = next((each._jsparkSession.sharedState() for each in sessions), None)
    return Sample(
        done,
        views=sum(int(each._jsparkSession.sessionState().catalog().listLocalTempViews("*").size()) for each in sessions),
        persistent=int(context._jsc.getPersistentRDDs().size()) + (0 if shared is None else int(shared.cacheManager().numCachedEntries())),
        listeners=int(scala.listenerBus().listeners().size()),
        pools=int(scala.getAllPools().size()),
        connections=len(client.deque),
        java_threads=int(beans.getThreadMXBean().getThreadCount()),
        other_threads=len(_threads(jvm)),
        python_threads=threading.active_count(),
        java_objects=len(ThreadSafeFinalizer.finalizers),
        objects=len(found),
        uncollected=uncollected,
        files=len(paths),
        bytes=sum(_size(path) for path in paths),
        heap=int(beans.getMemoryMXBean().getHeapMemoryUsage().getUsed()) >> 20,
        metaspace=int(beans.getMemoryMXBean().getNonHeapMemoryUsage().getUsed()) >> 20,
        java_memory=_memory(java),
        python_memory=_memory(os.getpid()),
    )


def _is_ours(found: object) -> bool:
    kind = type(found)
    return str(kind.__module__).startswith(OURS) and kind.__name__ in EPHEMERAL


def _threads(jvm: Any) -> list[str]:
    """Return the names of the threads in Java that are not in one of the pools of Spark with a limit."""
    names = re.findall(r"Thread\[(?:#\d+,)?([^,\]]*)", jvm.java.lang.Thread.getAllStackTraces().keySet().toString())
    return [name for name in names if not name.startswith(POOLS)]


def _memory(process: int) -> int:
    """Return the MiB of memory of a process."""
    found = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True, check=True)
    return int(found.stdout) >> 10


def _has_settled(counts: list[tuple[int, ...]]) -> bool:
    """Return whether the last collections changed nothing, and no cached rows are left."""
    return len(counts) >= SETTLED and len(set(counts[-SETTLED:])) == 1 and counts[-1][0] == 0


def _files() -> list[Path]:
    """Return the temporary files."""
    return [path for path in Path(tempfile.gettempdir()).rglob("*") if path.is_file()]


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


# -- transactions --------------------------------------------------------------------------------------------------------------


def transactions(count: int, every: int, folder: Path) -> Iterator[Sample]:
    """Run transactions of all kinds in one session, and a few in sessions of their own."""
    settings = LakeSettings(
        f"ducklake:sqlite:{folder}/lake.sqlite", f"{folder}/files/", spark=SparkSettings(master="local[2]", fast_start=FAST_START)
    )
    with Lake.open(settings) as lake, lake.session() as session:
        session.execute("CREATE TABLE base AS SELECT id, id % 7 AS part, cast(id AS STRING) AS name FROM range(1000)")
        session.execute("CREATE TABLE kept (id BIGINT, name STRING)")
        for i in range(count):
            KINDS[i % len(KINDS)](session, i)
            if (i + 1) % every == 0:
                yield measure(i + 1, every, count)


def rebuild(session: LakeSession, i: int) -> None:
    session.execute(f"CREATE OR REPLACE TABLE base AS SELECT id, id % 7 AS part, cast(id + {i} AS STRING) AS name FROM range(1000)")


def insert(session: LakeSession, i: int) -> None:
    session.execute("TRUNCATE TABLE kept")
    session.execute(f"INSERT INTO kept VALUES ({i}, 'constant'), ({i + 1}, NULL)")
    session.execute(f"INSERT INTO kept SELECT id, name FROM base WHERE part = {i % 7}")


def merge(session: LakeSession, i: int) -> None:
    session.begin()
    session.execute(f"CREATE TEMPORARY VIEW incoming AS SELECT id + {i % 50} AS id, name FROM base WHERE part < 3")
    session.cache("incoming")
    session.execute(
        "MERGE INTO kept USING incoming ON kept.id = incoming.id "
        "WHEN MATCHED THEN UPDATE SET name = incoming.name WHEN NOT MATCHED THEN INSERT (id, name) VALUES (incoming.id, incoming.name)"
    )
    session.execute("DROP VIEW incoming")
    session.commit()


def delete(session: LakeSession, i: int) -> None:
    session.execute(f"DELETE FROM kept WHERE id % 10 = {i % 10}")
    session.execute(f"UPDATE kept SET name = 'changed' WHERE id = {i % 100}")


def query(session: LakeSession, i: int) -> None:
    text = "SELECT b.part, count(*), max(k.name) FROM base b JOIN kept k ON k.id = b.id GROUP BY b.part ORDER BY 1"
    assert session.execute(text).fetch() is not None
    session.execute(f"SELECT id FROM base VERSION AS OF {session.catalog.latest().snapshot_id - 1} WHERE id = {i}").fetch()


def define(session: LakeSession, _: int) -> None:
    session.execute("CREATE VIEW seen AS SELECT part, count(*) AS n FROM base GROUP BY part")
    assert len(session.execute("SELECT * FROM seen").fetch()) == 7
    session.execute("ALTER TABLE kept ADD COLUMN more INT DEFAULT 3")
    session.execute("SELECT sum(more) FROM kept").fetch()
    session.execute("ALTER TABLE kept DROP COLUMN more")
    session.execute("DROP VIEW seen")


def fail(session: LakeSession, _: int) -> None:
    for text in ("SELECT nothing FROM base", "INSERT INTO kept SELECT raise_error('no'), name FROM base", "SELEC 1"):
        with suppress(DuckLakeError):
            session.execute(text).fetch()
            raise AssertionError(text)


def roll_back(session: LakeSession, i: int) -> None:
    session.begin()
    session.execute(f"INSERT INTO kept SELECT id, name FROM base WHERE part = {i % 7}")
    session.execute("CREATE TEMPORARY VIEW few AS SELECT * FROM kept WHERE id < 10")
    session.cache("few")
    session.execute("SELECT count(*) FROM few").fetch()
    session.execute("DROP VIEW few")
    session.rollback()


def set_and_read(session: LakeSession, i: int) -> None:
    session.execute(f"SET spark.sql.session.timeZone = {'UTC' if i % 20 < 10 else 'Asia/Tokyo'}")
    session.execute("SELECT count(*), min(id) FROM base").fetch()
    session.execute("CREATE FUNCTION IF NOT EXISTS main.twice(a BIGINT) RETURN a * 2")
    session.execute("SELECT sum(main.twice(id)) FROM base").fetch()


def other_session(session: LakeSession, _: int) -> None:
    with session.lake.session() as other:
        other.execute("SELECT count(*) FROM base JOIN kept USING (id)").fetch()
        other.execute("CREATE OR REPLACE TEMPORARY VIEW its_own AS SELECT * FROM base")
        other.cache("its_own")


KINDS: tuple[Callable[[LakeSession, int], None], ...] = (
    *(rebuild, insert, merge, delete, query),
    *(define, fail, roll_back, set_and_read, other_session),
)


# -- commands of dbt -----------------------------------------------------------------------------------------------------------

MODELS = {
    "orders.sql": "{{ config(materialized='table') }} select id, id % 10 as customer, id * 1.5 as amount from range(500)",
    "latest.sql": "{{ config(materialized='incremental', unique_key='id') }} select id, amount from {{ ref('orders') }} where id < 50",
    "totals.sql": "{{ config(materialized='view') }} select customer, sum(amount) as total from {{ ref('orders') }} group by customer",
    "from_python.py": "def model(dbt, session):\n    return dbt.ref('totals').limit(3)\n",
    "schema.yml": json.dumps(
        {"models": [{"name": "orders", "columns": [{"name": "id", "data_tests": ["unique", "not_null"]}]}, {"name": "totals"}]}
    ),
}
SNAPSHOT = """{% snapshot history %}{{ config(unique_key='id', strategy='check', check_cols=['amount']) }}
select id, amount from {{ ref('latest') }}{% endsnapshot %}"""


def commands(count: int, every: int, folder: Path) -> Iterator[Sample]:
    """Run `dbt build` again and again."""
    from dbt.cli.main import dbtRunner

    lake = {**LAKE, "path": f"ducklake:sqlite:{folder}/lake.sqlite", "data_path": f"{folder}/files/", "threads": 3}
    write_project(folder, MODELS, {"here": {**lake, "spark": {"master": "local[2]", "fast_start": FAST_START}}})
    for name, text in (("seeds/names.csv", "id,name\n1,a\n2,b\n"), ("snapshots/history.sql", SNAPSHOT)):
        path = folder / name
        path.parent.mkdir()
        path.write_text(text)
    where = ["--project-dir", str(folder), "--profiles-dir", str(folder)]
    for i in range(count):
        result = dbtRunner().invoke(["--quiet", "build", *where])
        assert result.success, result.exception
        del result
        if (i + 1) % every == 0:
            yield measure(i + 1, every, count)


if __name__ == "__main__":
    kind, count, every, place = sys.argv[1:]
    os.chdir(place)
    for sample in {"transactions": transactions, "commands": commands}[kind](int(count), int(every), Path(place)):
        print(json.dumps(asdict(sample)), flush=True)
