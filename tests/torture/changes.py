"""Random runs of a chain of models that read changes, with faults: each model contains what a full build at its position would.

Before each command DuckDB changes the source at random. A command may have a node or a test that fails, a concurrent writer, another
`publish`, a rollback before it, or be killed. The number of commands is CHANGES_RUNS, the seed is CHANGES_SEED.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import pytest
from dbt.adapters.factory import reset_adapters
from dbt.cli.main import dbtRunner

from dbt.adapters.ducklake.errors import DuckLakeError
from tests.functional.change_models import CHAIN, check, create_sources, writing
from tests.functional.dbt_process import SPARK, start_dbt, write_project
from tests.interop.other_process import OtherProcess
from tests.places import CatalogPlace

RUNS = int(os.environ.get("CHANGES_RUNS", "200"))
SEED = int(os.environ.get("CHANGES_SEED", "0")) or random.SystemRandom().randrange(1 << 30)
NODES = ("open_orders", "named", "logged")
TIMEOUT_SECONDS = 120
"""Seconds for a command in its own process."""
MODELS = {
    **CHAIN,
    "models.yml": "models:\n"
    + "".join(
        f"  - name: {name}\n    data_tests: [passes]\n    config:\n"
        f"      post_hook: \"{{% if var('fails', '') == '{name}' %}}insert into no_such_table values (1){{% endif %}}\"\n"
        for name in NODES
    ),
}
TEST = "{% test passes(model) %} select * from {{ model }} where {{ 'true' if var('failing_test', '') == model.identifier else 'false' }} {% endtest %}"
OURS = "SELECT count(*) FROM ducklake_snapshots('lake') WHERE commit_extra_info LIKE '%invocation_id%'"


class Chain:
    """The project, its lake, and DuckDB in another process."""

    def __init__(self, folder: Path, place: CatalogPlace, duckdb: OtherProcess, seed: int) -> None:
        target = {"type": "ducklake", "path": place.path, "data_path": place.data_path, "schema": "main", "threads": 2, "spark": SPARK}
        self._folder = write_project(folder, MODELS, {"lake": target})
        (folder / "macros").mkdir()
        (folder / "macros" / "passes.sql").write_text(TEST)
        self._place, self._duckdb, self._chance = place, duckdb, random.Random(seed)
        self._new = 100
        create_sources(duckdb, "main")

    def dbt(self, *arguments: str) -> bool:
        """Run a command in this process, and return whether it succeeded."""
        folder = str(self._folder)
        return bool(dbtRunner().invoke(["--quiet", "--no-print", *arguments, "--project-dir", folder, "--profiles-dir", folder]).success)

    def check(self) -> None:
        """Check all models, and the counters and rows of the lake as a new session of ours reads them."""
        with self._place.lake() as lake, lake.session() as session:
            found = session.execute("SELECT table_name, snapshot_id FROM lake.positions()").fetch()
            check(self._duckdb, {table.rpartition(".")[2]: snapshot for table, snapshot in found})
            for name in ("orders", *(table.rpartition(".")[2] for table, _ in found)):
                assert session.execute(f"SELECT count(*) FROM {name}").fetch() == self._duckdb.query(f"SELECT count(*) FROM {name}")

    def change(self) -> None:
        """Change the source, or do maintenance, with DuckDB."""
        choice, some = self._chance, f"id % 7 = {self._chance.randrange(7)}"
        for _ in range(choice.randint(0, 3)):
            self._new += 1
            statements = {
                "insert": [f"INSERT INTO orders SELECT {self._new} * 100 + i, i % 3, i * 5 - 10 FROM range({choice.choice([1, 30])}) r(i)"],
                "update": [f"UPDATE orders SET amount = amount + 1 WHERE {some}"],
                "close": [f"UPDATE orders SET amount = -amount WHERE {some}"],
                "key": [f"UPDATE orders SET id = -id WHERE {some}"],
                "same": [f"UPDATE orders SET amount = amount WHERE {some}"],
                "delete": [f"DELETE FROM orders WHERE {some}"],
                "again": [
                    "CREATE OR REPLACE TABLE copied AS FROM orders",
                    f"DELETE FROM orders WHERE {some}",
                    f"INSERT INTO orders FROM copied WHERE {some}",
                ],
                "replace": ["CREATE OR REPLACE TABLE copied AS FROM orders", "CREATE OR REPLACE TABLE orders AS FROM copied"],
                "flush": ["CALL ducklake_flush_inlined_data('lake')"],
                "merge": ["CALL ducklake_merge_adjacent_files('lake')"],
            }  # no rewrite_data_files: afterwards DuckDB may repeat rows of earlier snapshots, see test_found_faults
            weights = [1 if name in ("replace", "again") else 4 for name in statements]
            for statement in choice.choices(list(statements.values()), weights)[0]:
                print(f"  {statement}", file=sys.stderr)
                self._duckdb.query(statement)

    def roll_back(self) -> str:
        """Restore a model to an earlier snapshot, which also restores its position."""
        name = self._chance.choice(NODES)
        ((newest,),) = self._duckdb.query("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')")
        version = self._chance.randint(max(newest - 12, 1), newest)
        try:
            with self._place.lake() as lake, lake.session() as session:
                session.execute(f"CALL lake.rollback(version => {version}, table_name => '{name}')")
        except DuckLakeError as error:
            return f"rollback refused ({type(error).__name__})"
        return "rollback"

    def run(self) -> str:
        """Run a command with a random fault, and return what happened."""
        choice = self._chance
        publish = choice.choice(["node", "run", "tested"])
        fault = choice.choice(["none", "none", "none", "node", "test", "writer"])
        variables = {"ducklake_publish": publish}
        if fault in ("node", "test"):
            variables["fails" if fault == "node" else "failing_test"] = choice.choice(NODES)
        more = ["--full-refresh", "--select", choice.choice(NODES)] if choice.random() < 0.08 else []
        before = self._duckdb.query(OURS)[0][0]
        with self.writer() if fault == "writer" else nullcontext():
            succeeded = self.dbt("build", *more, "--vars", str(variables))
        made = self._duckdb.query(OURS)[0][0] - before
        if publish == "run":
            assert made <= 1, "a run is one snapshot"
            assert succeeded or made == 0, "a run that failed is not visible"
        assert succeeded or fault != "none", "nothing is wrong with this command"
        if not succeeded and choice.random() < 0.5:
            assert self.dbt("retry", "--vars", f"ducklake_publish: {publish}"), "the fault is gone"
            return f"{publish}, {fault}: retried"
        return f"{publish}, {fault}: {'succeeded' if succeeded else 'failed'}"

    @contextmanager
    def writer(self) -> Iterator[None]:
        """Change the source all the time."""
        with writing(self._duckdb, self._new * 100 + 50) as written:
            yield
        self._new += 1 + len(written) // 50

    def kill(self) -> str:
        """Kill a command at a random time after it has begun to build."""
        publish = self._chance.choice(["node", "run", "tested"])
        print(f"  kill: {publish}", file=sys.stderr)
        process = start_dbt(self._folder, "build", "--vars", f"ducklake_publish: {publish}")
        assert process.stdout is not None
        for line in process.stdout:
            if "START" in line and self._chance.random() < 0.4:
                break
        with suppress(subprocess.TimeoutExpired):
            process.wait(self._chance.random())
        process.kill()  # if it has not ended
        process.communicate(timeout=TIMEOUT_SECONDS)
        return f"{publish}: killed"


@pytest.mark.parametrize("database", ["sqlite"])
def test_positions_equal_a_full_build(tmp_path: Path, database: str) -> None:
    print(f"CHANGES_SEED={SEED}")
    place = CatalogPlace(f"ducklake:{database}:{tmp_path}/lake.sqlite", f"{tmp_path}/files/")
    outcomes, chance = Counter[str](), random.Random(SEED)
    (tmp_path / "project").mkdir()
    try:
        with OtherProcess(place) as duckdb:
            chain = Chain(tmp_path / "project", place, duckdb, SEED)
            for _ in range(RUNS):
                chain.change()
                outcome = chance.choices([chain.run, chain.kill, chain.roll_back], [82, 8, 10])[0]()
                print(outcome, file=sys.stderr)
                outcomes[outcome] += 1
                chain.check()
            assert chain.dbt("build")
            chain.check()
    finally:
        reset_adapters()  # type: ignore[no-untyped-call]  # dbt has no types here
    print(*sorted(outcomes.items()), sep="\n")
