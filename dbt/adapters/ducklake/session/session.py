"""One line of work on a lake: statements, at most one open transaction, a Spark session of its own.

A statement outside BEGIN … COMMIT is a transaction of its own (`transacting`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..catalog.lake import LakeCatalog
from ..catalog.transaction.transaction import Transaction
from ..errors import ConflictError
from ..format.evolution import NewColumn
from ..format.identifiers import backquoted
from ..format.types import parse_type
from ..lake.context import Context
from ..lake.seed import load_rows
from ..plan.names import Names
from ..plan.resolve import Planning
from ..run.checkpoint import run_checkpoint
from ..run.environment import Environment, OpenLakes, settings_of
from ..run.functions import bound_call, frame_of_call
from ..run.inspect import describe_columns, named_schema
from ..run.result import Result, watched
from ..run.statement import run
from ..run.temporary_views import cache_rows
from ..spark.rows.frames import local_frame
from ..spark.session.temporary import TIME_ZONE, is_temporary_view
from ..sql.parse import parse
from ..sql.references import references
from ..sql.values import (
    Begin,
    Checkpoint,
    Commit,
    CreateTemporaryView,
    DropRelation,
    Name,
    PassThrough,
    Rollback,
    Statement,
    TimeTravel,
    Use,
)
from .journal import MOST_ROWS, Step, itself, nothing, of_statement
from .transacting import TransactionalWork
from .transactions import Transactions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..format.view_columns import ViewColumn

T = TypeVar("T")


class LakeSession(TransactionalWork):
    """One line of work on a lake: a current schema, at most one open transaction, a Spark session of its own.

    Not for several threads at once, except `cancel`.
    """

    # -- what it is ------------------------------------------------------------------------------------------------------------

    @property
    def catalog(self) -> LakeCatalog:
        """The catalog of the current lake."""
        return self.lake.catalog_of(self.database)

    # -- statements ------------------------------------------------------------------------------------------------------------

    def execute(self, text: str) -> Result:
        """Run one statement of SQL. Rows of a query are computed when they are fetched.

        Raises:
            DuckLakeError: the lake, and the open transaction, are as they were before the statement.
        """
        with self._working(text):
            statement = parse(text)
            match statement:
                case Begin():
                    self.begin()
                    return Result("BEGIN")
                case Commit():
                    return Result("COMMIT", snapshot=self.commit())
                case Rollback():
                    self.rollback()
                    return Result("ROLLBACK")
                case PassThrough():
                    self._prevent("a statement such as SET changed the Spark session in it")
                case CreateTemporaryView(name=name) | DropRelation(name=name) if len(name.parts) == 1 and self._is_in_spark(name.parts[0]):
                    self._prevent(f"it replaced or dropped the temporary view {name}, which is Spark's own")
            result, step = self._noted(lambda: self._statement(statement), of_statement)
            if result.frame is not None:
                return replace(result, fetcher=self._fetcher(statement, result, step))
            return result if step is None or result.counts is None else watched(result, step.give_counts)

    def _statement(self, statement: Statement) -> Result:
        match statement:
            case Use(name):
                self._state.lake, self._state.schema = self._run(lambda env: named_schema(env, name))[0]
                return Result(f"USE {name}")
            case Checkpoint():
                return run_checkpoint(
                    statement, self.lake.names, self.in_transaction, lambda step: self._run(lambda env: run(env, step))[0]
                )
        result, snapshot = self._run(lambda env: run(env, statement))
        return replace(result, snapshot=snapshot)

    def sql(self, text: str) -> DataFrame:
        """The rows of a statement as a DataFrame of this session."""
        result = self.execute(text)
        if result.frame is not None:
            self._prevent("a DataFrame of its rows was given out")
            return result.frame
        if result.rows is None:
            return self.spark().createDataFrame([(result.message,)], "result string")
        return local_frame(self.spark(), [(column.name, column.type) for column in result.columns], result.rows)

    def bound(self, text: str) -> str:
        """A query as Spark can run it in this session, with views in the place of the lake's names. They last until the next statement."""
        self._prevent("a query of it was given to Spark")
        with self._working(text):
            return self._run(lambda env: env.bound(references(text)))[0]

    def table(self, name: str) -> DataFrame:
        """The rows of a table, view or temporary view, by its name in SQL."""
        return self.sql(f"SELECT * FROM {name}")

    def close(self) -> None:
        """Roll back what is open and let go of what is held."""
        self.rollback()
        self._release()

    def __enter__(self) -> LakeSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # -- without SQL -----------------------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self, database: str | None = None) -> Iterator[Transaction]:
        """What statements see now of a lake, by default the current one: the open transaction, or the newest snapshot.

        Raises:
            ConfigurationError: there is no such lake.
        """
        lake = self.lake.named(database or self.database)
        if self._transactions is not None:
            yield self._transactions.on(lake)
            return
        transaction = self.lake.catalog_of(lake).begin()
        try:
            yield transaction
        finally:
            transaction.rollback()

    def columns(self, parts: Sequence[str], version: int | None = None, timestamp: str | None = None) -> list[ViewColumn]:
        """The columns of a table, view or temporary view with Spark's types, now or as of a snapshot or timestamp."""
        at = None if version is None and timestamp is None else TimeTravel(version, timestamp)
        with self._working("columns"):
            return self.asked(lambda: self._run(lambda env: describe_columns(env, Name(tuple(parts)), at))[0])

    def asked(self, question: Callable[[], T]) -> T:
        """Answer a question about the lake. If the open transaction is replayed, the answer must be the same then."""
        return self._noted(question, itself)[0]

    def create_temp_view(self, name: str, frame: DataFrame) -> None:
        """A temporary view of this session over a DataFrame of this session."""
        self._prevent("it has rows of a DataFrame, as Python models make them")
        frame.createOrReplaceTempView(backquoted(name))
        self._state.forget_hidden(self._is_in_spark)

    def to_dataframe(self, rows: Any) -> DataFrame:
        """A PySpark, pandas, pandas-on-Spark, polars or Arrow table as a DataFrame of this session."""
        from ..spark.rows.frames import to_dataframe

        with self._working("rows of a Python model"):
            return to_dataframe(self.spark(), rows)

    def cache(self, name: str) -> int:
        """Compute a temporary view once and keep its rows until the transaction ends (or the session, outside one).

        Returns:
            The number of rows.
        """
        with self._working(f"cache {name}"):
            return self._noted(lambda: self._run(lambda env: cache_rows(env, name))[0], nothing)[0]

    def load_seed(
        self,
        schema: str,
        name: str,
        columns: Sequence[tuple[str, str]],
        rows: Iterable[Sequence[Any]],
        *,
        rebuild: bool = True,
        database: str | None = None,
    ) -> int:
        """Fill a table with rows that are in this process, without Spark.

        Args:
            columns: (name, type) pairs; types as people write them (`parse_type`).
            rows: Python values in the order of the columns.
            rebuild: give the table these columns; otherwise only its rows are replaced.
            database: the lake, by default the current one.

        Returns:
            The number of rows.
        """
        lake = self.lake.named(database or self.database)
        new = [NewColumn(column, parse_type(kind)) for column, kind in columns]
        kept = list(rows)

        def load() -> int:
            return self._run(lambda env: load_rows(env.lakes.contexts[lake](), schema, name, new, kept, rebuild=rebuild))[0]

        with self._working(f"seed {schema}.{name}"):
            return self._noted(load, nothing)[0]

    # -- inside ----------------------------------------------------------------------------------------------------------------

    def _environment(self, transactions: Transactions) -> Environment:
        def context_of(lake: str) -> Context:
            return Context(self.lake.catalog_of(lake), transactions.on(lake), self.spark)

        state, lakes = self._state, OpenLakes({lake: partial(context_of, lake) for lake in self.lake.names}, self._time_zone)
        names = Names(state.lake, state.schema, lakes, {**state.temporary, **state.cached}, self._is_in_spark)
        planning = Planning(cache(lambda: settings_of(self.spark(), state.setting_changes)), state.plans, bound_call)
        return Environment(names, lakes, planning, state, self._has_spark, self.in_transaction, frame_of_call)

    def _has_spark(self) -> bool:
        return self._spark is not None

    def _is_in_spark(self, name: str) -> bool:
        return self._spark is not None and is_temporary_view(self._spark, name)

    def _time_zone(self) -> str:
        """The session's time zone; Spark is not started to tell it."""
        if self._spark is not None:
            return self._spark.conf.get(TIME_ZONE) or "UTC"
        return self._settings.get(TIME_ZONE) or self.runtime.settings.config.get(TIME_ZONE) or "UTC"

    def _fetcher(self, statement: Statement, result: Result, step: Step | None) -> Callable[[DataFrame, int | None], list[tuple[Any, ...]]]:
        fetch, journal = result.fetcher, self._journal
        assert fetch is not None

        def fetch_again(limit: int | None) -> list[tuple[Any, ...]]:
            again = self._statement(statement) if step is None else step.result
            return [] if again.frame is None else self._fetched(fetch, again.frame, limit)

        def fetch_here(frame: DataFrame, limit: int | None) -> list[tuple[Any, ...]]:
            own = step is not None and journal is self._journal
            with self._working(self._description):
                self.spark()
                try:
                    rows = fetch_again(limit) if own else self._fetched(fetch, frame, limit)
                except ConflictError as conflict:
                    if self._journal is not None and not own:
                        raise
                    again = partial(fetch_again, limit)
                    rows = self._overtaken(again, conflict) if own else again()
            if journal is not None and journal is self._journal and step is not None:
                if len(rows) > MOST_ROWS:
                    self._prevent(f"more than {MOST_ROWS} rows of a query were fetched in it")
                journal.steps.append(Step(partial(fetch_again, limit), rows, itself))
            return rows

        return fetch_here

    def _fetched(
        self, fetch: Callable[[DataFrame, int | None], list[tuple[Any, ...]]], frame: DataFrame, limit: int | None
    ) -> list[tuple[Any, ...]]:
        try:
            return fetch(frame, limit)
        except Exception as error:
            self._require_files(error)
            raise
