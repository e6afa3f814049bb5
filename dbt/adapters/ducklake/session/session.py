"""One line of work on a lake: statements, at most one open transaction, a Spark session of its own.

A statement outside BEGIN … COMMIT is a transaction of its own. Such a statement is planned anew, a few times, when a rival's commit has
overtaken it; inside a transaction the conflict is the caller's, because only the caller can repeat all of it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..catalog.lake import LakeCatalog
from ..catalog.transaction import Transaction
from ..errors import CancelledError, ConflictError, DuckLakeError, StatementError
from ..lake.context import Context
from ..lake.seed import load_rows
from ..spark.errors import translate
from ..spark.frames import local_frame
from ..spark.runtime import Scope, SparkRuntime
from ..spark.storage import remove
from ..spec.evolution import NewColumn
from ..spec.identifiers import backquoted
from ..spec.objects import Snapshot
from ..spec.types import parse_type
from ..statements.checkpoint import run_checkpoint
from ..statements.environment import Environment
from ..statements.functions import function_frame
from ..statements.parse import parse
from ..statements.pins import Pins
from ..statements.result import FilesWritten, Result
from ..statements.run import run
from ..statements.run_inspect import describe_columns, named_schema
from ..statements.sorting import spark_expression
from ..statements.values import Begin, Checkpoint, Commit, Name, Rollback, TimeTravel, Use
from .transactions import CommitMessage, Transactions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ..lake.views import ViewColumn
    from .lake import Lake

T = TypeVar("T")

REPLANS = 3
"""How often a statement of its own is planned anew after a conflict."""


class LakeSession:
    """One line of work on a lake: a current schema, at most one open transaction, a Spark session of its own.

    Not for several threads at once, except `cancel`.
    """

    _numbers = itertools.count(1)

    def __init__(self, lake: Lake, schema: str = "main") -> None:
        self.lake = lake
        self.database = lake.settings.database
        """The lake that names without one mean; USE says another."""
        self.schema = schema
        self.group = f"dbt-ducklake-{next(LakeSession._numbers)}"
        self._transactions: Transactions | None = None
        self._last_committed: dict[str, int] = {}
        self._message: CommitMessage | None = None
        self._spark: SparkSession | None = None
        self._pins = Pins()
        self._held: list[DataFrame] = []
        self._scopes: ExitStack | None = None
        self._scope: Scope | None = None
        self._description = ""
        self._cancelled = threading.Event()

    # -- what it is ------------------------------------------------------------------------------------------------------------

    @property
    def catalog(self) -> LakeCatalog:
        """The catalog of the current lake."""
        return self.lake.catalog_of(self.database)

    @property
    def runtime(self) -> SparkRuntime:
        return self.lake.runtime

    @property
    def in_transaction(self) -> bool:
        """BEGIN was said and neither COMMIT nor ROLLBACK yet."""
        return self._transactions is not None

    def spark(self) -> SparkSession:
        """This session's Spark session; the first call starts Spark if it is not running."""
        if self._spark is None:
            self._spark = self.runtime.session()
        if self._scopes is not None and self._scope is None:
            self._scope = self._scopes.enter_context(self.runtime.scope(self._spark, self.group, self.group, self._description))
        return self._spark

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
                case Use(name):
                    self.database, self.schema = self._run(lambda env: named_schema(env, name))[0]
                    return Result(f"USE {name}")
                case Checkpoint():
                    return run_checkpoint(
                        statement, self.lake.names, self.in_transaction, lambda step: self._run(lambda env: run(env, step))[0]
                    )
            result, snapshot = self._run(lambda env: run(env, statement))
            result = replace(result, snapshot=snapshot)
            return replace(result, fetcher=self._fetcher(result)) if result.frame is not None else result

    def sql(self, text: str) -> DataFrame:
        """The rows of a statement as a DataFrame of this session."""
        result = self.execute(text)
        if result.frame is not None:
            return result.frame
        if result.rows is None:
            return self.spark().createDataFrame([(result.message,)], "result string")
        return local_frame(self.spark(), [(column.name, column.type) for column in result.columns], result.rows)

    def table(self, name: str) -> DataFrame:
        """The rows of a table, view or temporary view, by its name in SQL."""
        return self.sql(f"SELECT * FROM {name}")

    # -- transactions ----------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Open a transaction: from here on every statement sees the lake as it is now, plus its own changes.

        Another lake is seen as it is when the transaction first looks into it.

        Raises:
            StatementError: one is open.
        """
        if self._transactions is not None:
            raise StatementError("a transaction is open already; COMMIT or ROLLBACK it first")
        begun = self._begin()
        begun.on(self.database)
        self._transactions = begun

    def written(self) -> FilesWritten:
        """The files that the open transaction has written for its lake so far."""
        sizes = {} if self._transactions is None else self._transactions.written_files()
        return FilesWritten(len(sizes), sum(sizes.values()))

    def commit(self) -> Snapshot | None:
        """Make the changes of the open transaction one snapshot.

        Returns:
            The snapshot, or None if nothing was changed.

        Raises:
            StatementError: no transaction is open; ConflictError: a rival's commit stands against it, and it is rolled back.
        """
        if self._transactions is None:
            raise StatementError("no transaction is open; BEGIN opens one")
        transactions, self._transactions = self._transactions, None
        try:
            return self._commit(transactions)
        finally:
            self._release()

    def rollback(self) -> None:
        """Forget the changes of the open transaction; without one, nothing happens."""
        if self._transactions is not None:
            transactions, self._transactions = self._transactions, None
            self._abandon(transactions)
            self._release()

    def set_commit_message(self, author: str | None, message: str | None, extra_info: str | None = None) -> None:
        """Author, message and extra information of the snapshots to come; a transaction that is open gets them too."""
        self._message = (author, message, extra_info)
        if self._transactions is not None:
            self._transactions.set_commit_message(self._message)

    def cancel(self) -> None:
        """From any thread: stop what the session is doing; the statement fails with CancelledError and commits nothing."""
        self._cancelled.set()
        self.runtime.cancel(self.group)

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
            return self._run(lambda env: describe_columns(env, Name(tuple(parts)), at))[0]

    def create_temp_view(self, name: str, frame: DataFrame) -> None:
        """A temporary view of this session over a DataFrame of this session."""
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
        with self._working(f"hold {name}"):
            view = backquoted(name)
            # A view of a text becomes one of a plan, and before the rows are kept: replacing a view lets go of its rows.
            self.spark().table(view).createOrReplaceTempView(view)
            frame = self.spark().table(view).persist()
            self._held.append(frame)
            return int(frame.count())

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
        with self._working(f"seed {schema}.{name}"):
            return self._run(lambda env: load_rows(env.lakes[lake](), schema, name, new, rows, rebuild=rebuild))[0]

    # -- inside ----------------------------------------------------------------------------------------------------------------

    def _run(self, action: Callable[[Environment], T]) -> tuple[T, Snapshot | None]:
        """Run an action in the open transaction, or in one of its own that is repeated when a rival overtakes it.

        Returns:
            What the action gives, and the snapshot that its own transaction became.
        """
        if self._transactions is not None:
            return self._attempt(self._transactions, action), None
        for replan in range(REPLANS + 1):
            transactions = self._begin()
            try:
                result = self._attempt(transactions, action)
            except BaseException:
                self._abandon(transactions)
                raise
            try:
                return result, self._commit(transactions)
            except ConflictError:
                if replan == REPLANS:
                    raise
        raise AssertionError("the loop above returns or raises")

    def _attempt(self, transactions: Transactions, action: Callable[[Environment], T]) -> T:
        savepoint = transactions.savepoint()
        try:
            result = action(self._environment(transactions))
            self._require_not_cancelled()  # it may have come between two Spark jobs, where there was nothing to stop
            return result
        except BaseException:
            transactions.restore(savepoint)
            raise

    def _require_not_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise CancelledError("The statement was cancelled; nothing was committed")

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

    def _begin(self) -> Transactions:
        return Transactions(self.lake.catalog_of, self._message)

    def _commit(self, transactions: Transactions) -> Snapshot | None:
        try:
            self._require_not_cancelled()
        except CancelledError:
            self._abandon(transactions)
            raise
        try:
            made = transactions.commit()
            if made is None:
                return None
            lake, snapshot = made
            self._last_committed[lake] = snapshot.snapshot_id
            return snapshot
        finally:
            self._discard(transactions)  # without a rollback: only a transaction knows which files may be part of its lake now

    def _abandon(self, transactions: Transactions) -> None:
        transactions.rollback()
        self._discard(transactions)

    def _discard(self, transactions: Transactions) -> None:
        """Remove the files that did not become part of a lake. The outcome stands: one that cannot be removed is an orphan, no error."""
        for path in transactions.abandoned_files():
            with suppress(OSError):
                remove([path])

    def _release(self) -> None:
        while self._held:
            with suppress(Exception):  # a Spark that is gone holds nothing
                self._held.pop().unpersist()

    def _fetcher(self, result: Result) -> Callable[[DataFrame, int | None], list[tuple[Any, ...]]]:
        fetch = result.fetcher
        assert fetch is not None

        def fetch_here(frame: DataFrame, limit: int | None) -> list[tuple[Any, ...]]:
            with self._working(self._description):
                self.spark()
                return fetch(frame, limit)

        return fetch_here

    @contextmanager
    def _working(self, description: str) -> Iterator[None]:
        """Everything Spark does inside belongs to this session's job group, and its errors come out as ours."""
        if self._scopes is not None:  # one working block inside another
            yield
            return
        self._cancelled.clear()
        self._description = description
        try:
            with ExitStack() as self._scopes:
                yield
        except DuckLakeError:
            raise
        except Exception as error:
            raise translate(error, self._pins.names) from error
        finally:
            self._scopes = None
            self._scope = None
