"""One line of work on a lake: statements, at most one open transaction, a Spark session of its own.

A statement outside BEGIN … COMMIT is a transaction of its own (`transacting`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..catalog.lake import LakeCatalog
from ..catalog.transaction import Transaction
from ..lake.context import Context
from ..lake.seed import load_rows
from ..spark.frames import local_frame
from ..spec.evolution import NewColumn
from ..spec.identifiers import backquoted
from ..spec.types import parse_type
from ..statements.checkpoint import run_checkpoint
from ..statements.environment import Environment
from ..statements.functions import function_frame
from ..statements.parse import parse
from ..statements.result import Result
from ..statements.run import run
from ..statements.run_inspect import describe_columns, named_schema
from ..statements.sorting import spark_expression
from ..statements.values import Begin, Checkpoint, Commit, Name, Rollback, Statement, TimeTravel, Use
from .journal import MOST_ROWS, Step, itself, nothing, of_statement
from .transacting import TransactionalWork
from .transactions import Transactions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..lake.views import ViewColumn

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
            if self._journal is not None:
                self._journal.expect(statement, lambda: self._spark)
            return self._noted(lambda: self._statement(statement), of_statement)

    def _statement(self, statement: Statement) -> Result:
        match statement:
            case Use(name):
                self.database, self.schema = self._run(lambda env: named_schema(env, name))[0]
                return Result(f"USE {name}")
            case Checkpoint():
                return run_checkpoint(
                    statement, self.lake.names, self.in_transaction, lambda step: self._run(lambda env: run(env, step))[0]
                )
        result, snapshot = self._run(lambda env: run(env, statement))
        result = replace(result, snapshot=snapshot)
        return replace(result, fetcher=self._fetcher(statement, result)) if result.frame is not None else result

    def sql(self, text: str) -> DataFrame:
        """The rows of a statement as a DataFrame of this session."""
        result = self.execute(text)
        if result.frame is not None:
            self._prevent("a DataFrame of its rows was given out")
            return result.frame
        if result.rows is None:
            return self.spark().createDataFrame([(result.message,)], "result string")
        return local_frame(self.spark(), [(column.name, column.type) for column in result.columns], result.rows)

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
        """The columns of a table, view or temporary view with Spark's types, now or as of a snapshot or moment."""
        at = None if version is None and timestamp is None else TimeTravel(version, timestamp)
        with self._working("columns"):
            return self.asked(lambda: self._run(lambda env: describe_columns(env, Name(tuple(parts)), at))[0])

    def asked(self, question: Callable[[], T]) -> T:
        """Answer a question about the lake. If the open transaction has to be done again, it is only if the answer is the same then."""
        return self._noted(question, itself)

    def create_temp_view(self, name: str, frame: DataFrame) -> None:
        """A temporary view of this session over a DataFrame of this session."""
        self._prevent("it has rows of a DataFrame, as Python models make them")
        frame.createOrReplaceTempView(backquoted(name))

    def to_dataframe(self, rows: Any) -> DataFrame:
        """A PySpark, pandas, pandas-on-Spark, polars or Arrow table as a DataFrame of this session."""
        from ..spark.frames import to_dataframe

        with self._working("rows of a Python model"):
            return to_dataframe(self.spark(), rows)

    def hold(self, name: str) -> int:
        """Compute a temporary view once and keep its rows until the transaction ends (or the session, outside one).

        Returns:
            The number of rows.
        """

        def keep() -> int:
            view = backquoted(name)
            # A view of a text becomes one of a plan, and before the rows are kept: replacing a view lets go of its rows.
            self.spark().table(view).createOrReplaceTempView(view)
            frame = self.spark().table(view).persist()
            self._held.append(frame)
            return int(frame.count())

        with self._working(f"hold {name}"):
            return self._noted(keep, nothing)

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
            return self._run(lambda env: load_rows(env.lakes[lake](), schema, name, new, kept, rebuild=rebuild))[0]

        with self._working(f"seed {schema}.{name}"):
            return self._noted(load, nothing)

    # -- inside ----------------------------------------------------------------------------------------------------------------

    def _environment(self, transactions: Transactions) -> Environment:
        def context_of(lake: str) -> Context:
            return Context(self.lake.catalog_of(lake), transactions.on(lake), self.spark, spark_expression)

        return Environment(
            self.database,
            self.schema,
            {lake: partial(context_of, lake) for lake in self.lake.names},
            self._pins,
            lambda: self._spark is not None,
            self.in_transaction,
            function_frame,
            self._last_committed,
        )

    def _fetcher(self, statement: Statement, result: Result) -> Callable[[DataFrame, int | None], list[tuple[Any, ...]]]:
        fetch = result.fetcher
        assert fetch is not None

        def fetch_again(limit: int | None) -> list[tuple[Any, ...]]:
            frame = self._statement(statement).frame
            return [] if frame is None else fetch(frame, limit)

        def fetch_here(frame: DataFrame, limit: int | None) -> list[tuple[Any, ...]]:
            with self._working(self._description):
                self.spark()
                rows = fetch(frame, limit)
            if self._journal is not None:
                if len(rows) > MOST_ROWS:
                    self._prevent(f"more than {MOST_ROWS} rows of a query were fetched in it")
                self._journal.steps.append(Step(partial(fetch_again, limit), (self.database, self.schema), rows, itself))
            return rows

        return fetch_here
