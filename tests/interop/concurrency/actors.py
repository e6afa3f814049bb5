"""The actors that work on a lake: our sessions and DuckDB. Each returns the outcome of a statement in the form that the checker expects."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import duckdb

from dbt.adapters.ducklake.errors import ConflictError, DataError, EngineError, StatementError
from dbt.adapters.ducklake.session import LakeSession
from tests.catalogs import CatalogUnderTest
from tests.duckdb_instances import open_duckdb
from tests.interop import oracle

from .history import Answer, Done, Kind, State, Statement, TableRows, ViewText, in_order
from .history import Relation as Found
from .statements import is_counted, view_number

Result = TypeVar("Result")


class AbortedError(Exception):
    """The transaction was aborted; a client would begin again."""


class CrashError(Exception):
    """An error that no client expects."""


@dataclass
class Work:
    """The statements of an actor since BEGIN, or one statement outside a transaction.

    `begun` is the number of its first step, `seen` the newest snapshot then.
    """

    begun: int
    seen: int
    explicit: bool
    done: list[Done] = field(default_factory=list)


class Ours:
    """A session of this adapter."""

    def __init__(self, session: LakeSession) -> None:
        self.session = session
        self.replays = 0
        session.notify = self._count_replay

    def _count_replay(self, message: str) -> None:
        self.replays += "Trying again" in message  # other messages report the progress of a long statement

    def begin(self) -> None:
        self._safely(self.session.begin)

    def commit(self) -> None:
        self._safely(self.session.commit)

    def rollback(self) -> None:
        self._safely(self.session.rollback)

    def run(self, statement: Statement) -> Answer:
        """Run a statement and return its answer. The rows of a query are fetched.

        Raises:
            AbortedError: on a conflict.
            CrashError: on an error that is not the user's.
        """

        def run() -> Answer:
            try:
                result = self.session.execute(statement.text)
                if statement.kind is Kind.QUERY:
                    return Answer(rows=in_order(result.fetch()))
                return Answer(
                    count=result.counts.total if result.counts is not None and is_counted(statement.kind, statement.text) else None
                )
            except (StatementError, DataError, EngineError) as error:
                if isinstance(error, EngineError) and error.condition not in _USER_ERRORS:
                    raise
                return Answer(refused=True, message=_brief(error))

        return self._safely(run)

    def _safely(self, action: Callable[[], Result]) -> Result:
        try:
            return action()
        except ConflictError as error:
            raise AbortedError(_brief(error)) from error
        except Exception as error:
            raise CrashError(_brief(error)) from error

    def refresh(self) -> None:
        """Do nothing: our session's caches stay valid after maintenance."""


_USER_ERRORS = frozenset({"TABLE_OR_VIEW_NOT_FOUND"})
"""Spark's error conditions that a statement may cause: an unknown name."""


class DuckDB:
    """DuckDB with its extension, in one connection for all lakes because loading the extension takes longer than a history."""

    replays = 0

    def __init__(self) -> None:
        self.connection = open_duckdb(*oracle.EXTENSIONS, threads=1)
        self.connection.execute("SET TimeZone = 'UTC'")

    def attach(self, place: CatalogUnderTest, inlining: int) -> None:
        """Attach a lake with this `data_inlining_row_limit`."""
        self._place, self._inlining = place, inlining
        oracle.attach(self.connection, place, data_inlining_row_limit=inlining)
        self.connection.execute("USE lake")

    def detach(self) -> None:
        """Detach the lake and end any open transaction."""
        with contextlib.suppress(duckdb.Error):
            self.connection.execute("ROLLBACK")
        with contextlib.suppress(duckdb.Error):
            self.connection.execute("USE memory")
            self.connection.execute("DETACH lake")

    def refresh(self) -> None:
        """Drop the caches, which are wrong after compactions and flushes; see `test_found_faults`."""
        self.detach()
        self.attach(self._place, self._inlining)

    def begin(self) -> None:
        self.connection.execute("BEGIN")

    def commit(self) -> None:
        try:
            self.connection.execute("COMMIT")
        except duckdb.Error as error:
            with contextlib.suppress(duckdb.Error):
                self.connection.execute("ROLLBACK")
            if not isinstance(error, duckdb.TransactionException):
                raise CrashError(_brief(error)) from error
            raise AbortedError(_brief(error)) from error

    def rollback(self) -> None:
        with contextlib.suppress(duckdb.TransactionException):  # an error has already ended it
            self.connection.execute("ROLLBACK")

    def run(self, statement: Statement) -> Answer:
        """As `Ours.run`."""
        try:
            rows = self.connection.execute(statement.text).fetchall()
        except (duckdb.CatalogException, duckdb.BinderException) as error:
            return Answer(refused=True, message=_brief(error))
        except duckdb.TransactionException as error:
            with contextlib.suppress(duckdb.Error):
                self.connection.execute("ROLLBACK")
            raise AbortedError(_brief(error)) from error
        except duckdb.Error as error:
            raise CrashError(_brief(error)) from error
        if statement.kind is Kind.QUERY:
            return Answer(rows=in_order(rows))
        return Answer(count=rows[0][0] if is_counted(statement.kind, statement.text) else None)

    # -- as the observer --------------------------------------------------------------------------------------------------------

    def snapshots(self) -> list[int]:
        """Return the ids of snapshots that have not expired, in order."""
        query = "SELECT snapshot_id FROM __ducklake_metadata_lake.ducklake_snapshot ORDER BY ALL"
        return [row[0] for row in self.connection.execute(query).fetchall()]

    def state(self, snapshot: int) -> State:
        """Return the rows of all tables, and the views, at a snapshot."""
        relations: dict[str, Found] = {}
        visible = f"begin_snapshot <= {snapshot} AND (end_snapshot IS NULL OR end_snapshot > {snapshot})"
        metadata = "__ducklake_metadata_lake"
        names = self.connection.execute(f"SELECT table_name FROM {metadata}.ducklake_table WHERE {visible}").fetchall()
        for (name,) in names:
            found = self.connection.execute(f"SELECT * FROM lake.main.{name} AT (VERSION => {snapshot})")
            columns = [column[0] for column in found.description or ()]
            relations[name] = TableRows.of(columns, found.fetchall())
        for name, text in self.connection.execute(f"SELECT view_name, sql FROM {metadata}.ducklake_view WHERE {visible}").fetchall():
            relations[name] = ViewText(view_number(text))
        return State.of(relations)


def read_by_us(session: LakeSession, states: dict[int, State]) -> dict[int, State]:
    """Read the tables at these snapshots in our session, in one query. Views are copied from `states`."""
    found: dict[int, dict[str, Found]] = {}
    queries, columns = [], {}
    for snapshot, state in states.items():
        found[snapshot] = {name: each for name, each in state.relations if isinstance(each, ViewText)}
        for name, each in state.relations:
            if isinstance(each, TableRows):
                columns[snapshot, name] = each.columns
                third = "c" if "c" in each.columns else "CAST(NULL AS INT)"
                queries.append(f"SELECT '{snapshot} {name}' AS place, id, n, {third} AS c FROM {name} VERSION AS OF {snapshot}")
    rows: dict[tuple[int, str], list[tuple[Any, ...]]] = {place: [] for place in columns}
    for place, *values in session.execute(" UNION ALL ".join(queries)).fetch():
        snapshot, name = place.split()
        rows[int(snapshot), name].append(tuple(values))
    for (snapshot, name), listed in rows.items():
        width = len(columns[snapshot, name])
        found[snapshot][name] = TableRows.of(columns[snapshot, name], [row[:width] for row in listed])
    return {snapshot: State.of(relations) for snapshot, relations in found.items()}


def _brief(error: BaseException) -> str:
    text = str(error).split("Stack Trace")[0].strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}"[:300]
