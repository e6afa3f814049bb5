"""The DB-API of a lake session: the connection handle for dbt, and the cursors that run its statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import DbtRuntimeError

from .errors import CancelledError
from .format.identifiers import spark_literal
from .sql.scripts import controls_transaction, split
from .sql.tokens import tokenize

if TYPE_CHECKING:
    from .format.objects import Snapshot
    from .plan.bound import FilesRead
    from .provenance import Provenance
    from .python_submissions import Timeout
    from .run.result import FilesWritten, Result
    from .session import LakeSession


@dataclass(frozen=True)
class CommitOutcome:
    """The outcome of a committed transaction: its snapshot, if anything changed, and the files that it read and wrote."""

    snapshot_id: int | None
    read: tuple[FilesRead, ...]
    written: FilesWritten
    staged: bool = False
    """Whether the changes were added to a run that publishes at its end."""
    result: Result | None = None
    """The final result of the listener's statement, which is a new one if the transaction was replayed."""


class LakeHandle:
    """One dbt connection: a lake session with the transaction that dbt opened on it.

    Args:
        session: the session, which this handle closes.
        provenance: the origin that the snapshots of this connection record, until another is set.
    """

    def __init__(self, session: LakeSession, provenance: Provenance) -> None:
        self.session = session
        self.closed = False
        self._cancelled = False
        self.set_provenance(provenance)
        self._listeners: list[tuple[int, Callable[[CommitOutcome], None]]] = []
        self.last_outcome: CommitOutcome | None = None
        """The outcome of the last committed transaction; a node sets it to None before its first one."""
        self.timeout: Timeout | None = None
        """The timeout of the Python model whose transaction is open; it ends with the transaction."""
        self._runs_queries = False

    def cursor(self) -> LakeCursor:
        """Return a cursor on the session."""
        return LakeCursor(self, runs_queries=self._runs_queries)

    @contextmanager
    def running_queries(self) -> Iterator[None]:
        """Let the cursors of this block compute the rows of a query when it is executed, because nobody will fetch them."""
        before, self._runs_queries = self._runs_queries, True
        try:
            yield
        finally:
            self._runs_queries = before

    def begin(self) -> None:
        """Begin a transaction, unless SQL has already begun one.

        Raises:
            CancelledError: the handle was cancelled.
        """
        self.require_not_cancelled()
        if not self.session.in_transaction:
            self.forget_listeners()
            self.session.begin()

    def commit(self) -> Snapshot | None:
        """Commit the transaction, and call the listeners of `on_commit`.

        Returns:
            The snapshot; None if nothing changed or no transaction is open.

        Raises:
            ConflictError: a concurrent writer committed a conflicting change, and the transaction cannot be replayed; it is rolled back.
        """
        if not self.session.in_transaction:
            return None
        listeners, self._listeners = self._listeners, []
        snapshot = self.session.commit()
        self._end_timeout()
        committed = self.session.last_commit
        read = tuple(files for result in committed.results if result is not None for files in result.files)
        outcome = CommitOutcome(None if snapshot is None else snapshot.snapshot_id, read, committed.written, committed.staged)
        self.last_outcome = outcome
        for steps, listener in listeners:
            listener(replace(outcome, result=committed.results[steps - 1] if steps else None))
        return snapshot

    def on_commit(self, listener: Callable[[CommitOutcome], None]) -> None:
        """Call `listener` when the open transaction is committed, with its outcome and the result of the statement that ran last."""
        if self.session.in_transaction:
            self._listeners.append((self.session.steps, listener))

    def rollback(self) -> None:
        """Discard the staged changes of the transaction. Do nothing if no transaction is open."""
        self.forget_listeners()
        self._end_timeout()
        if self.session.in_transaction:
            self.session.rollback()

    def forget_listeners(self) -> None:
        """Forget the listeners of a transaction that is over."""
        self._listeners = []

    def _end_timeout(self) -> None:
        timeout, self.timeout = self.timeout, None
        if timeout is not None:
            timeout.end()

    def set_provenance(self, provenance: Provenance) -> None:
        """Set the origin that later snapshots record; SQL (`CALL lake.set_commit_message`) may change it."""
        self.provenance = provenance
        self.session.set_commit_message(provenance.author, provenance.message, provenance.extra_info)

    def cancel(self) -> None:
        """Stop the statement that another thread runs on this handle. The handle refuses all later statements: its node is over."""
        self._cancelled = True
        self.session.cancel()

    def require_not_cancelled(self) -> None:
        """Require that the handle was not cancelled, not even between two statements.

        Raises:
            CancelledError: it was.
        """
        if self._cancelled:
            raise CancelledError

    def close(self) -> None:
        """Roll back and close the session."""
        if not self.closed:
            self.closed = True
            self._end_timeout()
            self.session.close()


class LakeCursor:
    """A DB-API cursor: a query is checked when it is executed and computed when its rows are fetched.

    Args:
        handle: the connection.
        runs_queries: compute a query when it is executed, and keep no rows. A query before the last statement of a text always is.
    """

    arraysize = 1

    def __init__(self, handle: LakeHandle, *, runs_queries: bool = False) -> None:
        self._handle = handle
        self._runs_queries = runs_queries
        self._rows: list[tuple[Any, ...]] | None = None
        self._first: list[tuple[Any, ...]] = []
        """The rows that the first `fetchmany` returned, without computing the others."""
        self._position = 0
        self.result: Result | None = None

    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, None]] | None:
        """(name, Spark type, …) per column; None if the last statement returned no rows."""
        if self.result is None or not self.result.columns:
            return None
        return [(column.name, column.type, None, None, None, None, None) for column in self.result.columns]

    @property
    def rowcount(self) -> int:
        """The number of rows that the last statement wrote; -1 if it wrote none or the number is unknown."""
        return -1 if self.result is None else self.result.rowcount

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        """Run a statement, or several with semicolons between them, which then succeed or fail together.

        Args:
            sql: the text; the result is that of its last statement.
            bindings: values for the placeholders `%s` or `?` in the text.

        Raises:
            DbtRuntimeError: the numbers of placeholders and values differ.
            DuckLakeError: a statement failed.
        """
        self._handle.require_not_cancelled()
        statements = split(with_values(sql, bindings) if bindings else sql)
        self.result, self._rows, self._first, self._position = None, None, [], 0
        session = self._handle.session
        if len(statements) > 1 and not session.in_transaction and not any(map(controls_transaction, statements)):
            self._execute_group(statements)
            return
        self._execute_all(statements)

    def _execute_all(self, statements: Sequence[str]) -> int:
        """Run statements, and return the number of the last one's step in the open transaction; 0 if it is not a step."""
        session, step = self._handle.session, 0
        for number, statement in enumerate(statements, 1):
            before = session.steps
            self.result = session.execute(statement)
            if not session.in_transaction:
                self._handle.forget_listeners()  # SQL may have ended the transaction
            step = session.steps if session.steps > before else 0
            if self._runs_queries or number < len(statements):
                self.result.run()
        return step

    def _execute_group(self, statements: Sequence[str]) -> None:
        """Run statements in a transaction of their own."""
        self._handle.begin()
        try:
            step = self._execute_all(statements)
            self._handle.commit()
        except BaseException:
            self._handle.rollback()
            raise
        if step and self.result is not None and self.result.frame is None:  # a query fetches the rows of its final step itself
            self.result = self._handle.session.last_commit.results[step - 1]

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row; None if no rows are left."""
        rows = self._take(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """Return the next `size` rows. The first call computes only these; the next one computes all rows.

        Raises:
            DbtRuntimeError: the query returned other rows when it was run for the others, as one with `rand()` or without ORDER BY may do.
        """
        size = self.arraysize if size is None else size
        if self._rows is None and self._position == 0:
            self._first = self._query_result().fetch(size)
            self._position = len(self._first)
            if self._position < size:  # these are all rows
                self._rows = self._first
            return list(self._first)
        return self._take(size)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows that are not yet fetched."""
        return self._take(None)

    def close(self) -> None:
        """Release the rows."""
        self.result, self._rows, self._first = None, None, []

    def _take(self, size: int | None) -> list[tuple[Any, ...]]:
        if self._rows is None:
            self._rows = self._query_result().fetch(None)
            if repr(self._rows[: self._position]) != repr(self._first):  # NaN does not equal itself
                raise DbtRuntimeError(
                    "The query returned other rows when it was run again for the rows after the first ones. Fetch all rows at once"
                )
        end = None if size is None else self._position + size
        rows = self._rows[self._position : end]
        self._position += len(rows)
        return rows

    def _query_result(self) -> Result:
        if self.result is None or not self.result.columns:
            raise DbtRuntimeError("The last statement returned no rows to fetch")
        return self.result


def with_values(text: str, values: Sequence[Any]) -> str:
    """Return the text with each `%s` or `?` outside quotes and comments replaced by SQL for the next value.

    Raises:
        DbtRuntimeError: the numbers of placeholders and values differ.
    """
    remaining = iter(values)
    pieces: list[str] = []
    placeholders = end = 0
    tokens = tokenize(text)
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        is_percent_s = token.word == "%" and after is not None and after.text == "s" and after.start == token.end
        if is_percent_s or token.word == "?":
            placeholders += 1
            pieces += [text[end : token.start], literal(next(remaining, None))]
            end = token.end + (1 if is_percent_s else 0)
    if placeholders != len(values):
        raise DbtRuntimeError(f"The statement has {placeholders} placeholders and got {len(values)} values")
    return "".join([*pieces, text[end:]])


def literal(value: Any) -> str:
    """Return a Python value as Spark SQL."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case float():
            return f"CAST('{value!r}' AS DOUBLE)"
        case Decimal():
            return f"{value:f}BD"
        case datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'" if value.tzinfo else f"TIMESTAMP_NTZ '{value.isoformat(sep=' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case time():
            return f"TIME '{value.isoformat()}'"
        case bytes():
            return f"X'{value.hex()}'"
        case _:
            return spark_literal(str(value))
