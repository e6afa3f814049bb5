"""Random commands with `publish: run` and `publish: tested`, with faults: readers see the old or the new lake, never a mix.

Each command builds a random graph of replaced tables, increments and views, with tests. Nodes and tests fail, DuckDB writes to the same tables,
and some commands are killed. The number of commands is PUBLISHING_RUNS, the seed is PUBLISHING_SEED.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.errors import ConflictError, DuckLakeError
from dbt.adapters.ducklake.format.objects import Table, View
from dbt.adapters.ducklake.session import Lake
from dbt.adapters.ducklake.session.staged_nodes import NodePlan
from tests.interop.other_process import OtherProcess
from tests.places import CatalogPlace

RUNS = int(os.environ.get("PUBLISHING_RUNS", "200"))
SEED = int(os.environ.get("PUBLISHING_SEED", "0")) or random.SystemRandom().randrange(1 << 30)
KINDS = {"a": "replaced", "b": "increment", "c": "replaced", "d": "view", "e": "replaced", "f": "increment"}
NAMES = tuple(KINDS)
STATE = " UNION ALL ".join(
    f"SELECT '{name}', CASE WHEN '{kind}' = 'replaced' AND count(DISTINCT run) FILTER (run > 0) > 1 THEN -1 ELSE max(run) END "
    f"FROM lake.main.{name}"
    for name, kind in KINDS.items()
)
"""The command that last changed each relation, -1 for a mix; rows of the concurrent writer have negative numbers."""
TIMEOUT_SECONDS = 60
"""Seconds for a command in its own process."""


@dataclass(frozen=True)
class DataTest:
    """A test, declared at its owner, which reads others too."""

    owner: str
    others: tuple[str, ...] = ()

    @property
    def parents(self) -> set[str]:
        return {self.owner, *self.others}


@dataclass(frozen=True)
class Command:
    """A graph and its faults."""

    number: int
    together: bool
    """`publish: run`; otherwise `publish: tested`."""
    reads: Mapping[str, tuple[str, ...]]
    tests: Mapping[str, DataTest]
    failing: tuple[str, ...]
    """Nodes and tests."""
    written: tuple[str, ...]
    """Tables that DuckDB writes to, one after each step."""
    logged: tuple[str, ...]
    """Nodes that also append a row to a table that all of them share."""
    seed: int

    @classmethod
    def random(cls, number: int, seed: int) -> Command:
        chance = random.Random(seed)
        order = chance.sample(NAMES, len(NAMES))
        reads = {name: tuple(chance.sample(order[:i], chance.randint(0, min(i, 2)))) for i, name in enumerate(order)}
        tests = {}
        for i in range(chance.randint(0, 8)):
            owner, *others = chance.sample(NAMES, chance.choice([1, 2, 2]))
            tests[f"t{i}"] = DataTest(owner, tuple(others))
        failing = tuple(each for each in (*NAMES, *tests) if chance.random() < 0.05)
        written = tuple(chance.choices([name for name in NAMES if KINDS[name] != "view"], k=3)) if chance.random() < 0.4 else ()
        return cls(
            number, chance.random() < 0.5, reads, tests, failing, written, tuple(name for name in NAMES if chance.random() < 0.5), seed
        )

    def ancestors(self, name: str) -> set[str]:
        return set().union(*({each} | self.ancestors(each) for each in self.reads[name]))

    def blockers(self, item: str) -> set[str]:
        """Return what dbt runs before an item, and skips it for: what it reads, and the tests of only that."""
        if item in self.tests:
            return self.tests[item].parents
        before = self.ancestors(item)
        return {*self.reads[item], *(name for name, test in self.tests.items() if test.parents <= before)}

    def plans(self) -> dict[str, NodePlan]:
        nodes = {
            name: NodePlan(frozenset(self.ancestors(name)), frozenset(key for key, test in self.tests.items() if test.owner == name))
            for name in NAMES
        }
        tests = {
            key: NodePlan(frozenset(set().union(*({each} | self.ancestors(each) for each in test.parents))), is_test=True)
            for key, test in self.tests.items()
        }
        return nodes | tests

    def needs(self, name: str) -> set[str]:
        """Return the nodes that a node or one of its tests reads."""
        return self.ancestors(name).union(*(test.others for test in self.tests.values() if test.owner == name))

    def all_needs(self, name: str) -> set[str]:
        """Return the nodes that a node needs, directly or through others."""
        found, left = set[str](), [name]
        while left:
            new = self.needs(left.pop()) - found
            found |= new
            left += new
        return found


def replace_view(transaction: Transaction, name: str, number: int) -> None:
    schema, old = transaction.schema("main"), transaction.find("main", name)
    assert schema is not None
    if isinstance(old, View):
        transaction.objects.drop_view(old)
    transaction.objects.new_view(schema, name, f"SELECT {number} AS run")


def build(lake: Lake, command: Command, name: str) -> None:
    """Build a node in its own session, as dbt does: begin, change, commit or roll back."""
    with lake.session() as session:
        session.node = lambda: name
        session.set_commit_message(None, name)
        session.begin()
        count = random.Random(command.seed).randint(1, 30)
        match KINDS[name]:
            case "replaced":
                session.load_seed("main", name, [("run", "int")], [(command.number,)] * count)
            case "increment":
                session.execute(f"INSERT INTO {name} VALUES {', '.join([f'({command.number})'] * count)}")
            case "view":
                with session.reading() as transaction:
                    replace_view(transaction, name, command.number)
        if name in command.logged:
            session.execute(f"INSERT INTO log VALUES ({command.number})")
        if name in command.failing:
            raise ConflictError("the node fails")
        session.commit()


def check(lake: Lake, command: Command, name: str) -> None:
    """Run a test: it sees what the nodes have staged that it reads."""
    with lake.session() as session:
        session.node = lambda: name
        with session.reading() as transaction:
            for parent in command.tests[name].parents:
                assert is_new(transaction, parent, command.number)
    failure = "it fails" if name in command.failing else None
    if lake.nodes is not None:
        lake.nodes.record_test(name, failure)
    if failure is not None:
        raise ConflictError(failure)


def is_new(transaction: Transaction, name: str, number: int) -> bool:
    """Whether a relation is as the command has made it."""
    found = transaction.find("main", name)
    if isinstance(found, View):
        return str(number) in found.sql
    assert isinstance(found, Table)
    plan = transaction.scan_plan(found)
    return bool(plan.files or plan.inlined)


def execute(place: CatalogPlace, command: Command, step: Callable[[set[str]], None]) -> dict[str, bool]:
    """Run a command.

    Args:
        place: the lake.
        command: the command.
        step: called after each step with the nodes that were built so far.

    Returns:
        Whether each node and test succeeded.
    """
    chance, done = random.Random(command.seed), dict[str, bool]()
    with place.lake() as lake, ThreadPoolExecutor(3) as threads:
        lake.stage_run() if command.together else lake.stage_nodes(command.plans())

        def succeeds(item: str) -> bool:
            try:
                check(lake, command, item) if item in command.tests else build(lake, command, item)
            except DuckLakeError:
                return False
            return True

        while left := [item for item in (*NAMES, *command.tests) if item not in done]:
            ready = [item for item in left if command.blockers(item) <= done.keys()]
            if chance.random() < 0.5:  # tests that run late leave more nodes staged
                ready = [item for item in ready if item in NAMES] or ready
            chosen = chance.sample(ready, min(len(ready), 1 if command.written else chance.randint(1, 3)))
            runs = [item for item in chosen if all(done[each] for each in command.blockers(item))]
            done |= dict.fromkeys(chosen, False) | dict(zip(runs, threads.map(succeeds, runs), strict=True))
            step({item for item in done if done[item] and item in NAMES})
        try:
            if lake.run is not None and all(done.values()):
                lake.run.publish(None, "all", "{}")
            elif lake.nodes is not None:
                lake.nodes.finish({item for item in done if done[item]})
        except ConflictError as error:
            print(error)  # what must be published is compared afterwards
        finally:
            lake.end_run()
    return done


class Readers(OtherProcess):
    """DuckDB, which reads all relations in one query, and writes to some tables."""

    states = 0
    """How often it has read the relations while commands ran."""

    def state(self) -> dict[str, int]:
        return dict(self.query(STATE))

    def logged(self, number: int) -> int:
        return int(self.query(f"SELECT count(*) FROM lake.main.log WHERE run = {number}")[0][0])

    def write(self, name: str) -> None:
        self.query(f"INSERT INTO lake.main.{name} VALUES (-5)")

    def orphans(self, *, remove: bool) -> int:
        return len(self.query(f"CALL ducklake_delete_orphaned_files('lake', cleanup_all => true, dry_run => {not remove})"))


def expected(command: Command, done: Mapping[str, bool], hit: set[str]) -> set[str]:
    """Return the nodes that must be published.

    Args:
        command: the command that ran.
        done: whether each node and test succeeded.
        hit: the replaced tables that DuckDB changed after they were read and before they could be published.
    """
    if command.together:
        return set(NAMES) if all(done.values()) and not hit else set()
    kept = {name for name in NAMES if done[name] and name not in hit}
    for key, test in command.tests.items():
        if not (done[key] or (key not in command.failing and ran(command, done, key))):
            kept.discard(test.owner)
    while unfit := {name for name in kept if not (command.needs(name) - {name}) <= kept}:
        kept -= unfit
    return kept


def ran(command: Command, done: Mapping[str, bool], test: str) -> bool:
    """Whether a test ran; if it failed then, although it should pass, a node could not be published."""
    return all(done[each] for each in command.tests[test].parents)


def is_consistent(command: Command, old: Mapping[str, int], seen: Mapping[str, int]) -> bool:
    """Whether a reader may see a state: all or nothing of a run; else a node not before what it needs, unless that needs the node, too."""
    new = {name for name in NAMES if seen[name] == command.number}
    if any(seen[name] not in (old[name], command.number) for name in NAMES):
        return False
    return (
        new in (set(), set(NAMES))
        if command.together
        else all(
            each in new or (each not in command.ancestors(name) and name in command.all_needs(each))
            for name in new
            for each in command.needs(name)
        )
    )


def prepare(place: CatalogPlace) -> None:
    """Create the relations, each with the number 0."""
    with place.lake() as lake, lake.session() as session:
        for name, kind in {**KINDS, "log": "increment"}.items():
            if kind == "view":
                with session.reading() as transaction:
                    replace_view(transaction, name, 0)
                    transaction.commit()
            else:
                session.load_seed("main", name, [("run", "int")], [(0,)])


def one_command(place: CatalogPlace, readers: Readers, command: Command) -> str:
    """Run a command in this process, compare what readers see with what they may see, and return what happened."""
    old, hit, writes = readers.state(), set[str](), list(command.written)

    def step(built: set[str]) -> None:
        if writes:
            name = writes.pop()
            staged = command.together or (name in built and readers.state()[name] != command.number)
            if staged and KINDS[name] == "replaced":
                hit.add(name)
            readers.write(name)

    with readers.watching(STATE) as seen:
        done = execute(place, command, step)
    new = readers.state()
    assert seen, "nobody has read while the command ran"
    readers.states += len(seen)
    published = expected(command, done, hit)
    assert {name for name in NAMES if new[name] == command.number} == published, (command, done, hit)
    assert readers.logged(command.number) == len(published & {*command.logged}), (command, done, hit)
    assert all(is_consistent(command, old, each) for each in (*map(dict, seen), new)), (command, done, hit)
    assert readers.orphans(remove=False) == 0, (command, done, hit)
    return f"{'run' if command.together else 'tested'}: {len(published)} published"


def one_killed_command(place: CatalogPlace, readers: Readers, command: Command) -> str:
    """Kill a command in its own process at a random step, and return what happened."""
    old = readers.state()
    arguments = [sys.executable, "-m", "tests.torture.publishing", place.path, place.data_path, str(command.number), str(command.seed)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(random.Random(command.seed).randint(1, len(NAMES))):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=TIMEOUT_SECONDS)
    assert is_consistent(command, old, readers.state()), command
    removed = readers.orphans(remove=True)
    assert is_consistent(command, old, readers.state()), command
    return "killed with orphans" if removed else "killed"


def random_commands(place: CatalogPlace, count: int, seed: int, *, killed: float) -> Counter[str]:
    """Run random commands, one after the other, on one lake, and count what happened; `killed` is the share of them that are killed."""
    chance, outcomes = random.Random(seed), Counter[str]()
    prepare(place)
    with Readers(place) as readers:
        for number in range(1, count + 1):
            command = Command.random(number, chance.randrange(1 << 30))
            outcomes[(one_killed_command if chance.random() < killed else one_command)(place, readers, command)] += 1
        assert readers.states > count / 2, "the commands ran almost unwatched"
    return outcomes


def test_readers_see_the_old_or_the_new_lake(tmp_path: Path) -> None:
    print(f"PUBLISHING_SEED={SEED}")
    place = CatalogPlace(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/")
    print(*sorted(random_commands(place, RUNS, SEED, killed=0.1).items()), sep="\n")


if __name__ == "__main__":
    path, data_path, number, seed = sys.argv[1:]
    execute(CatalogPlace(path, data_path), Command.random(int(number), int(seed)), lambda built: print(len(built), flush=True))
