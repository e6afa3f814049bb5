"""A session on a lake: statements, at most one open transaction, and its own Spark session.

A statement outside BEGIN … COMMIT is its own transaction (see `transacting`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
from ..plan.view import Settings
from ..run.changes import model_positions, position_problems
from ..run.defaults import in_session_zone
from ..run.environment import Environment, OpenLakes
from ..run.functions import bound_call, frame_of_call
from ..run.inspect import describe_columns, named_schema
from ..run.maintenance import is_maintenance, run_checkpoint
from ..run.result import Result, observed
from ..run.statement import run
from ..run.temporary_views import cache_rows, depends_on_table
from ..spark.rows.fetch import discard, fetch
from ..spark.rows.frames import local_frame, to_dataframe
from ..spark.session.temporary import TIME_ZONE, Setting, is_temporary_view, literals_are_usual, session_settings
from ..sql.parse import parse
from ..sql.references import references
from ..sql.tokens import Cursor, Source
from ..sql.values import (
    Begin,
    Checkpoint,
    Commit,
    CreateTemporaryView,
    DropRelation,
    Name,
    PassThrough,
    Query,
    Rollback,
    Statement,
    TimeTravel,
    Use,
)
from .journal import MAX_ROWS, Journal, Step, columns_and_rows, not_received, whole_result
from .transacting import TransactionalWork
from .transactions import Transactions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..format.view_columns import ViewColumn

T = TypeVar("T")


class LakeSession(TransactionalWork):
    """A session on a lake: a current schema, at most one open transaction, and its own Spark session.

    Only `cancel` may be called from another thread.
    """

    @property
    def catalog(self) -> LakeCatalog:
        """The catalog of the current lake."""
        return self.lake.catalog_of(self.database)

    # -- statements ------------------------------------------------------------------------------------------------------------

    def execute(self, text: str) -> Result:
        """Run one SQL statement. The rows of a query are computed when they are fetched.

        Raises:
            DuckLakeError: the statement failed and changed nothing; but completed steps of CHECKPOINT persist, and so do the tables that
                maintenance has completed. An open transaction stays open without the statement's changes, unless COMMIT failed or a replay
                of the transaction failed: then it was rolled back.
        """
        with self.job_group(text):
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
                    self._prevent_replay("a statement such as SET changed the Spark session")
                case CreateTemporaryView(name=name) | DropRelation(name=name):
                    if len(name.parts) == 1 and self._is_in_spark(name.parts[0]):
                        self._prevent_replay(f"it replaced or dropped the temporary view {name}, which belongs to Spark")
            deferred = self.lake.deferred_statements(self.node()) if is_maintenance(statement) else None
            if deferred is not None:
                deferred.append(text)
                return Result("DEFERRED until the changes are published")
            result, step = self._record_step(lambda: self._statement(statement), columns_and_rows)
            if result.frame is not None:
                query = _DeferredQuery(statement, self._state.meaning, result, step, self._journal)
                runner = partial(self._discard_rows, query) if _is_query(statement) else None
                return replace(result, fetcher=partial(self._fetch_rows, query), runner=runner)
            return result if step is None or result.counts is None else observed(result, step.mark_counts_read)

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
        return result if snapshot is None else replace(result, snapshot=snapshot)

    def sql(self, text: str) -> DataFrame:
        """Run a statement and return its rows as a DataFrame of this session."""
        result = self.execute(text)
        if result.frame is not None:
            self._prevent_replay("the caller received a DataFrame of its rows")
            return result.frame
        if result.rows is None:
            return self.spark().createDataFrame([(result.message,)], "result string")
        return local_frame(self.spark(), [(column.name, column.type) for column in result.columns], result.rows)

    def spark_text(self, text: str) -> str:
        """Return the text of a query for Spark, in which temporary views replace the lake's names.

        The views are valid until this session's next statement.

        Args:
            text: a query in this session's SQL.
        """
        self._prevent_replay("the caller received a query to run in Spark")
        with self.job_group(text):
            return self._run(lambda env: env.spark_text(references(text)))[0]

    def table(self, name: str) -> DataFrame:
        """Return the rows of a table, view or temporary view, by its name in SQL."""
        return self.sql(f"SELECT * FROM {name}")

    def close(self) -> None:
        """Roll back the open transaction, if any, and release cached rows."""
        self.rollback()
        self._release_caches()

    def __enter__(self) -> LakeSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # -- without SQL -----------------------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self, database: str | None = None) -> Iterator[Transaction]:
        """Yield what statements see of a lake, for reading only: the open transaction, or else a new one on the newest snapshot.

        Args:
            database: the lake; None for the current one.

        Raises:
            ConfigurationError: there is no such lake.
        """
        lake = self.lake.named(database or self.database)
        if self._transactions is not None:
            yield self._transactions.on(lake)
            return
        transaction = self.lake.begin(lake, node=self.node())
        try:
            yield transaction
        finally:
            transaction.rollback()

    def columns(self, parts: Sequence[str], version: int | None = None, timestamp: str | None = None) -> list[ViewColumn]:
        """Return the columns of a table, view or temporary view with Spark's types.

        Args:
            parts: the parts of the name.
            version: the snapshot id to read.
            timestamp: the time to read instead; with neither, the present state.
        """
        at = None if version is None and timestamp is None else TimeTravel(version, timestamp)
        return self._run_step("columns", lambda env: describe_columns(env, Name(tuple(parts)), at), whole_result)

    def record_read(self, read: Callable[[], T]) -> T:
        """Run `read` as a step of the open transaction, if any: when the transaction is replayed, `read` must return an equal result."""
        return self._record_step(read, whole_result)[0]

    def create_temp_view(self, name: str, frame: DataFrame) -> None:
        """Create a temporary view of this session on a DataFrame of this session."""
        self._prevent_replay("it used rows of a DataFrame, as Python models do")
        frame.createOrReplaceTempView(backquoted(name))
        self._state.setting_changes += 1  # Spark's analysis of a query may change
        self._state.drop_views(self._is_in_spark)  # the new view hides one with its name

    def to_dataframe(self, rows: Any) -> DataFrame:
        """Convert a PySpark, pandas, pandas-on-Spark, polars or Arrow table to a DataFrame of this session."""
        with self.job_group("rows of a Python model"):
            return to_dataframe(self.spark(), rows)

    def cache(self, name: str) -> int:
        """Compute and cache the rows of a temporary view until the transaction ends; outside one, until the next one ends or `close`.

        Returns:
            The number of rows.
        """
        return self._run_step(f"cache {name}", lambda env: cache_rows(env, name))

    def depends_on_table(self, view: str, table: Sequence[str]) -> bool:
        """Whether the rows of a temporary view depend on those of a table, also through views and functions.

        Args:
            view: the name of the temporary view.
            table: the parts of the name of the table.
        """
        name = Name(tuple(table))
        return self._run_step(f"what {view} reads", lambda env: depends_on_table(env, view, name), whole_result)

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
        """Replace the rows of a table with Python values; create the table if it does not exist. Only CHECK constraints need Spark.

        Args:
            schema: the schema of the table.
            name: the name of the table.
            columns: (name, type) pairs; types as in SQL (`parse_type`).
            rows: Python values in the order of the columns.
            rebuild: also replace the columns of an existing table; otherwise only its rows.
            database: the lake, by default the current one.

        Returns:
            The number of rows.
        """
        lake = self.lake.named(database or self.database)
        new = [NewColumn(column, parse_type(kind)) for column, kind in columns]
        kept = list(rows)

        def load(env: Environment) -> int:
            context = env.lakes.contexts[lake]()
            return load_rows(context, schema, name, new, kept, rebuild=rebuild, in_zone=in_session_zone(env.lakes, context))

        return self._run_step(f"seed {schema}.{name}", load)

    def set_positions(self, model: Sequence[str], query: str, *, rebuilt: bool) -> None:
        """Stage the positions of a model: for each input, the snapshot up to which the model has read its changes.

        Call this in the transaction that read them.

        Args:
            model: the parts of the name of the model's table.
            query: the model's query.
            rebuilt: whether the model was built from all rows of its inputs.
        """
        self._run_step("positions", lambda env: model_positions(env, Name(tuple(model)), query, rebuilt=rebuilt))

    def position_problems(self, model: Sequence[str], inputs: Collection[tuple[str, str]] | None = None) -> list[str] | None:
        """Return why a model cannot continue from its stored positions, one sentence for each input; None if it has no positions.

        Args:
            model: the parts of the name of the model's table.
            inputs: (lake, `schema.name`) of each table that the model reads now; positions of others are left out. None if not known.
        """
        with self.job_group("positions"):
            return self._run(lambda env: position_problems(env, Name(tuple(model)), inputs))[0]

    # -- internal --------------------------------------------------------------------------------------------------------------

    def _run_step(self, description: str, action: Callable[[Environment], T], received: Callable[[Any], Any] = not_received) -> T:
        """Run an action as `_run` does, described in Spark's UI, and record it as a step of the open transaction if one is open."""
        with self.job_group(description):
            return self._record_step(lambda: self._run(action)[0], received)[0]

    def _environment(self, transactions: Transactions) -> Environment:
        def context_of(lake: str) -> Context:
            return Context(self.lake.catalog_of(lake), transactions.on(lake), self.spark)

        contexts = {lake: partial(context_of, lake) for lake in self.lake.names}
        state, lakes = self._state, OpenLakes(contexts, self._time_zone, transactions.written_files)
        names = Names(state.lake, state.schema, lakes, {**state.temporary, **state.cached}, self._is_in_spark)
        settings = cache(lambda: Settings(*session_settings(self._setting()), changes=state.setting_changes))
        planning = Planning(settings, lambda: literals_are_usual(self._setting()), state.plans, bound_call, self._warn_once)
        return Environment(names, lakes, planning, state, lambda: self._spark is not None, self.in_transaction, frame_of_call, self._run)

    def _warn_once(self, message: str) -> None:
        """Log a warning only once per node, even if a statement is planned several times."""
        key = (self.node(), message)
        if key not in self._warned:
            self._warned.add(key)
            self.warn(message)

    def _is_in_spark(self, name: str) -> bool:
        return self._spark is not None and is_temporary_view(self._spark, name)

    def _time_zone(self) -> str:
        """Return the session's time zone without starting Spark."""
        if self._spark is not None:
            return self._spark.conf.get(TIME_ZONE) or "UTC"
        return self._settings.get(TIME_ZONE) or self.runtime.settings.config.get(TIME_ZONE) or "UTC"

    def _setting(self) -> Setting:
        """Return a function that reads settings of the Spark session, which is started only if they are not known otherwise."""
        if self._spark is None and self.runtime.settings_are_known:
            known = {**self.runtime.settings.session_config(), **self._settings}
            return lambda key, default: known.get(key, default)
        conf = self.spark().conf
        return lambda key, default: conf.get(key, default) or default

    def _fetch_rows(self, query: _DeferredQuery, limit: int | None) -> list[tuple[Any, ...]]:
        """Return the rows of a query, at most as many as `limit`."""
        rows = self._compute(query, lambda result: [] if result.frame is None else fetch(result.frame, limit), whole_result)
        if self._journal is not None and query.journal is self._journal and len(rows) > MAX_ROWS:
            self._prevent_replay(f"more than {MAX_ROWS} rows of a query were fetched")
        return rows

    def _discard_rows(self, query: _DeferredQuery) -> None:
        """Compute the rows of a query only to see whether that fails. A replay of the transaction does so again."""
        self._compute(query, lambda result: None if result.frame is None else discard(result.frame), not_received)

    def _compute(self, query: _DeferredQuery, action: Callable[[Result], T], received: Callable[[Any], Any]) -> T:
        """Run an action on the rows of a query, at the newest snapshot if they cannot be read at the query's snapshot any more."""
        step = query.step
        is_of_open_transaction = step is not None and query.journal is not None and query.journal is self._journal

        def latest() -> T:
            return self._apply(query.result if step is None else step.result, action)

        with self.job_group(self._description):
            self.spark()
            if is_of_open_transaction:
                return self._record_step(latest, received, "the rows of a query could not be computed")[0]
            try:
                return latest()
            except ConflictError as conflict:
                if self._journal is not None or step is not None:
                    raise
                return self._apply(self._run_again(query, conflict), action)

    def _run_again(self, query: _DeferredQuery, conflict: ConflictError) -> Result:
        """Return the result of a query at the newest snapshot; the caller has its columns.

        Raises:
            ConflictError: the query would mean something else, or has other columns.
        """
        if query.meaning != self._state.meaning:
            reason = "the current schema, a temporary view or a setting of the session has changed"
        else:
            result = self._statement(query.statement)
            if result.columns == query.result.columns:
                return result
            reason = "its columns have changed"
        raise ConflictError(f"{conflict}. The query did not run again by itself, because {reason}") from conflict

    def _apply(self, result: Result, action: Callable[[Result], T]) -> T:
        self._require_not_cancelled()
        try:
            return action(result)
        except Exception as error:
            self._raise_if_files_removed(error)
            raise


@dataclass(frozen=True)
class _DeferredQuery:
    """A query whose rows may be computed later."""

    statement: Statement
    meaning: tuple[object, ...]
    """The `SessionState.meaning` of the statement."""
    result: Result
    step: Step | None
    """Its step in the transaction that was open; a replay changes the step's result."""
    journal: Journal | None
    """The journal of that transaction."""


def _is_query(statement: Statement) -> bool:
    """Whether a statement computes its rows only when they are fetched: a query or EXECUTE IMMEDIATE. Spark runs SET and others at once."""
    if isinstance(statement, PassThrough):
        return Cursor(Source(statement.query.text)).at("EXECUTE", "IMMEDIATE")
    return isinstance(statement, Query)
