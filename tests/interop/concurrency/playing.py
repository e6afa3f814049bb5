"""Runs a script on a new lake, one statement after the other in one thread, and records all answers."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

from dbt.adapters.ducklake.catalog.store.retries import RetrySettings
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from tests.catalogs import CatalogUnderTest
from tests.fast_files import fast_folder
from tests.postgres import fresh_database

from .actors import AbortedError, CrashError, DuckDB, Ours, Work, read_by_us
from .history import Actor, Answer, Done, History, Kind, Script, State, Statement, Step, Transaction
from .scripts import EXPIRE, REWRITE

Place = Callable[[], AbstractContextManager[CatalogUnderTest]]
"""Creates an empty location for a lake, and removes it at the end."""
LATER = 2
"""How many of the last snapshots we read, too."""
LOCK_SECONDS = 20


def places_on(database: str, server: Any = None) -> Place:
    """Return a function that creates locations on a catalog database, with files in memory if possible."""
    numbers = itertools.count()

    @contextmanager
    def place() -> Iterator[CatalogUnderTest]:
        folder = Path(fast_folder(f"h{next(numbers)}-"))
        try:
            if database == "sqlite":
                yield CatalogUnderTest(database, f"ducklake:sqlite:{folder}/lake.sqlite", f"{folder}/files/")
            else:
                with fresh_database(server) as url:
                    _limit_lock_waits(url)
                    yield CatalogUnderTest(database, url, f"{folder}/files/")
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    return place


def _limit_lock_waits(url: str) -> None:
    """Make a long wait for a lock an error, which the report shows. All actors share one thread, so the wait would never end."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        (name,) = connection.execute("SELECT current_database()").fetchone() or ("",)
        connection.execute(f"ALTER DATABASE {name} SET lock_timeout = '{LOCK_SECONDS}s'")


class Player:
    """Runs scripts. Spark and the two DuckDB connections are shared by all of them.

    Args:
        place: Creates locations for lakes.
        runtime: Spark.
        settings: Further fields of `LakeSettings` for our sessions.
    """

    def __init__(self, place: Place, runtime: SparkRuntime, **settings: object) -> None:
        self._place, self._runtime, self._settings = place, runtime, settings
        self._duck, self._observer = DuckDB(), DuckDB()

    def play(self, script: Script) -> History:
        """Return the history of a script."""
        with ExitStack() as stack:
            place = stack.enter_context(self._place())
            for duck in (self._duck, self._observer):
                duck.attach(place, script.inlining)
                stack.callback(duck.detach)
            for text in script.setup:
                self._duck.connection.execute(text)
            for duck in (self._duck, self._observer):
                duck.refresh()
            retry = RetrySettings(wait_ms=1, backoff=1)
            lake = place.open(self._runtime, data_inlining_row_limit=script.inlining, retry=retry, **self._settings)
            stack.callback(lake.catalog.close)
            actors: dict[Actor, Ours | DuckDB] = {"A": Ours(lake.session()), "B": Ours(lake.session()), "duckdb": self._duck}
            for ours in (each for each in actors.values() if isinstance(each, Ours)):
                stack.callback(ours.session.close)
            return _Play(script, actors, self._observer).history()

    def close(self) -> None:
        """Close the connections."""
        self._duck.connection.close()
        self._observer.connection.close()


class _Play:
    """One script on one lake."""

    def __init__(self, script: Script, actors: dict[Actor, Ours | DuckDB], observer: DuckDB) -> None:
        self._script, self._actors, self._observer = script, actors, observer
        self._latest = observer.snapshots()[-1]
        self._states: dict[int, State] = {self._latest: observer.state(self._latest)}
        self._open: dict[Actor, Work] = {}
        self._views: dict[Actor, dict[str, str]] = {actor: {} for actor in actors}
        self._transactions: list[Transaction] = []
        self._lines: list[str] = [f"limit of inlining {script.inlining}", *(f"setup    {text}" for text in script.setup)]
        self._faults: list[str] = []
        self._committed = False
        """Whether the last step created a snapshot."""
        self._moved = False
        """Whether maintenance moved rows since DuckDB's caches were dropped."""

    def history(self) -> History:
        """Run all steps, and check the lake at the end."""
        for number, step in enumerate(self._script.steps):
            self._step(number, step)
        for actor in list(self._open):
            self._step(len(self._script.steps), Step(actor, Statement(Kind.ROLLBACK, "ROLLBACK")))
        self._check_earlier_snapshots()
        return History(self._script, tuple(self._lines), tuple(self._transactions), self._states, tuple(self._faults))

    def _step(self, number: int, step: Step) -> None:
        actor, statement = self._actors[step.actor], step.statement
        is_open = step.actor in self._open
        if (is_open and statement.kind is Kind.BEGIN) or (not is_open and statement.kind in (Kind.COMMIT, Kind.ROLLBACK)):
            return  # a conflict has ended the transaction, or shrinking removed its BEGIN
        if statement.kind is Kind.MAINTENANCE and not (statement := self._call(statement)).text:
            return
        work = self._open.get(step.actor) or Work(number, self._latest, statement.kind is Kind.BEGIN)
        replays, committed, ended = actor.replays, True, not work.explicit
        try:
            match statement.kind:
                case Kind.BEGIN:
                    actor.begin()
                    self._open[step.actor] = work
                    outcome = "done"
                case Kind.COMMIT:
                    ended = True
                    actor.commit()
                    outcome = "committed"
                case Kind.ROLLBACK:
                    ended, committed = True, False
                    actor.rollback()
                    outcome = "rolled back"
                case _:
                    outcome = str(self._answer(step.actor, statement, work))
        except (AbortedError, CrashError) as error:
            ended, committed, outcome = True, False, f"aborted: {error}"
            if isinstance(error, CrashError):
                self._faults.append(f"step {number}, {step.actor}: {statement.text}: {error}")
            if statement.kind is not Kind.COMMIT and work.explicit:
                actor.rollback()
        if actor.replays > replays:
            outcome += f", {'replayed' if work.explicit else 'planned again'} {actor.replays - replays} times"
        self._after(number, step.actor, work, committed, ended, actor.replays - replays, statement)
        self._lines.append(
            f"{number:2} {step.actor:6} {statement.text} → {outcome}{f' [snapshot {self._latest}]' if self._committed else ''}"
        )

    def _answer(self, name: Actor, statement: Statement, work: Work) -> Answer:
        views = tuple(self._views[name].items())
        answer = self._actors[name].run(statement)
        work.done.append(Done(statement, answer, views))
        if statement.temporary is not None and not answer.refused:
            self._views[name][statement.temporary] = statement.text
        return answer

    def _after(self, number: int, name: Actor, work: Work, committed: bool, ended: bool, replays: int, statement: Statement) -> None:
        """Record the transaction if it has ended, and the snapshots that it created."""
        before = self._latest
        if statement.kind is Kind.MAINTENANCE:
            self._moved = True
            self._observer.refresh()
        new = [snapshot for snapshot in self._observer.snapshots() if snapshot > before]
        self._committed = bool(new)
        for snapshot in new:
            self._states[snapshot] = self._state(snapshot)
            self._latest = snapshot
        if new and not (ended and committed):
            self._faults.append(f"step {number}, {name}: snapshots {new} were committed by a transaction that was not")
        if not ended:
            return
        self._open.pop(name, None)
        if self._moved and "duckdb" not in self._open:
            self._actors["duckdb"].refresh()
            self._moved = False
        self._transactions.append(
            Transaction(
                len(self._transactions),
                name,
                work.begun,
                number,
                committed,
                tuple(work.done),
                (work.seen, before),
                tuple(new),
                work.explicit,
                replays,
            )
        )

    def _call(self, statement: Statement) -> Statement:
        """Return the CALL of a maintenance step; empty if it has nothing to do."""
        kind, _, kept = statement.text.partition(" ")
        arguments = ""
        if kind == EXPIRE:
            versions = self._observer.snapshots()[: -int(kept)]
            if not versions:
                return Statement(Kind.MAINTENANCE, "")
            arguments = f", versions => {versions}"
        elif kind == REWRITE:
            arguments = ", delete_threshold => 0.1"
        return Statement(Kind.MAINTENANCE, f"CALL ducklake_{kind}('lake'{arguments})")

    def _state(self, snapshot: int) -> State:
        """Return the rows of a snapshot. A first error may be due to DuckDB's caches, so it is tried again."""
        try:
            return self._observer.state(snapshot)
        except Exception:
            self._observer.refresh()
            return self._observer.state(snapshot)

    def _check_earlier_snapshots(self) -> None:
        """Check that each snapshot reads as it did at its commit, and that we read the last ones as DuckDB does."""
        self._observer.refresh()
        alive = [snapshot for snapshot in self._observer.snapshots() if snapshot in self._states]
        for snapshot in alive:
            now = self._state(snapshot)
            if now != self._states[snapshot]:
                self._faults.append(f"snapshot {snapshot} was {self._states[snapshot]} and is {now} at the end")
        ours = self._actors["A"]
        assert isinstance(ours, Ours)
        theirs = {snapshot: self._states[snapshot] for snapshot in alive[-LATER:]}
        try:
            for snapshot, state in read_by_us(ours.session, theirs).items():
                if state != theirs[snapshot]:
                    self._faults.append(f"we read snapshot {snapshot} as {state}, DuckDB as {theirs[snapshot]}")
        except Exception as error:
            self._faults.append(f"we cannot read the lake at the end: {type(error).__name__}: {error}")
