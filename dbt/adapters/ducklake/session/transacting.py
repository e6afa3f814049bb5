"""The transactions of a session: begun and committed by its user, or one for each statement.

After a conflict with a concurrent writer, a statement that is its own transaction is planned again, a few times. A longer transaction is
replayed as a whole if its caller would send the same statements again (see `journal`); otherwise the caller gets the conflict.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..catalog.staged import CommitMessage
from ..errors import CancelledError, ConflictError, DataError, LakeError, StatementError
from ..format.objects import Snapshot
from ..lake.missing_files import removal_conflict
from ..plan.scans import ScanPlans
from ..run.environment import Environment, SessionState
from ..spark.errors import translate
from .journal import Committed, Journal, Step
from .transactions import TablesByLake, Transactions
from .work import SparkWork

if TYPE_CHECKING:
    from .lake import Lake

T = TypeVar("T")

REPLANS = 10
"""The maximum number of times that a single statement is planned again, or a transaction replayed, after conflicts."""


class TransactionalWork(SparkWork):
    """Runs statements in at most one open transaction on the lakes of a process."""

    def __init__(self, lake: Lake, schema: str) -> None:
        super().__init__(lake.runtime, SessionState(lake.settings.database, schema))
        self.lake = lake
        self.last_commit = Committed(None)
        """The last committed transaction."""
        self._transactions: Transactions | None = None
        self._journal: Journal | None = None
        self._message: CommitMessage | None = None

    @abstractmethod
    def _environment(self, transactions: Transactions) -> Environment:
        """Return the environment of a statement."""

    @property
    def database(self) -> str:
        """The current lake, in which names without a lake are looked up; USE changes it."""
        return self._state.lake

    @property
    def schema(self) -> str:
        """The current schema; USE changes it."""
        return self._state.schema

    @property
    def in_transaction(self) -> bool:
        """Whether BEGIN has opened a transaction that neither COMMIT nor ROLLBACK has ended."""
        return self._transactions is not None

    def begin(self) -> None:
        """Begin a transaction, which is pinned to the newest snapshot: its statements see this snapshot and its own changes.

        Another lake is pinned when the transaction first uses it.

        Raises:
            StatementError: a transaction is already open.
        """
        if self._transactions is not None:
            raise StatementError("a transaction is already open; COMMIT or ROLLBACK it first")
        self._cancelled.clear()
        self._state.settings_of_transaction = False
        transactions = self._begin()
        transactions.on(self.database)
        self._transactions, self._journal = transactions, Journal(self.database, self.schema, self._state.temporary)

    @property
    def steps(self) -> int:
        """The number of steps of the open transaction so far; after the commit, `last_commit.results` has the result of each."""
        return 0 if self._journal is None else len(self._journal.steps)

    def commit(self) -> Snapshot | None:
        """Commit the changes of the open transaction as one snapshot; `last_commit` has the details.

        Returns:
            The snapshot, or None if nothing changed.

        Raises:
            StatementError: no transaction is open.
            ConflictError: a concurrent writer committed a conflicting change, and the transaction cannot be replayed or was replayed
                too many times. It is rolled back.
        """
        if self._transactions is None or self._journal is None:
            raise StatementError("no transaction is open; BEGIN opens one")
        transactions, journal = self._transactions, self._journal
        self._transactions = self._journal = None
        try:
            self.last_commit = self._commit_or_replay(transactions, journal)
            return self.last_commit.snapshot
        finally:
            self._release_caches()

    def rollback(self) -> None:
        """Discard the changes of the open transaction; do nothing if none is open."""
        if self._transactions is not None:
            transactions, self._transactions, self._journal = self._transactions, None, None
            transactions.rollback()
            self._release_caches()

    def set_commit_message(self, author: str | None, message: str | None, extra_info: str | None = None) -> None:
        """Set author, message and extra information of the open transaction and of all later snapshots."""
        self._message = CommitMessage(author, message, extra_info)
        if self._transactions is not None:
            self._transactions.set_commit_message(self._message)

    def _run(self, action: Callable[[Environment], T]) -> tuple[T, Snapshot | None]:
        """Run an action in the open transaction, or in its own transaction, which is planned again after a conflict.

        Returns:
            The result of the action, and the snapshot that its own transaction created; None in an open transaction, or if nothing changed.

        Raises:
            ConflictError: the action conflicts with a concurrent writer, in its own transaction even after `REPLANS` more attempts.
        """
        if self._transactions is not None:
            return self._attempt(self._transactions, action), None
        for replan in range(REPLANS + 1):
            try:
                return self._run_once(self._begin(), action)
            except ConflictError as conflict:
                if replan == REPLANS:
                    raise
                self._announce_retry_and_wait(conflict, replan)
        raise AssertionError("the loop above returns or raises")

    def _run_once(self, transactions: Transactions, action: Callable[[Environment], T]) -> tuple[T, Snapshot | None]:
        """Run an action in a new transaction and commit it; after an error, roll it back."""
        try:
            result = self._attempt(transactions, action)
        except BaseException:
            transactions.rollback()
            raise
        return result, self._commit_once(transactions)

    def _record_step(
        self, action: Callable[[], T], received: Callable[[Any], Any], failure: str = "one of its statements failed"
    ) -> tuple[T, Step | None]:
        """Run an action, and record it as a step of the open transaction if one is open.

        Args:
            action: the action.
            received: returns the part of the action's result that the caller receives, which must be the same in a replay.
            failure: why the transaction cannot be replayed if the action fails.

        Returns:
            The result of the action, and the step; None if no transaction is open.

        Raises:
            ConflictError: the action cannot run at the transaction's snapshot, and the transaction cannot be replayed at a newer one.
        """
        if self._journal is None:
            return action(), None
        journal = self._journal
        try:
            try:
                result = action()
            except ConflictError as conflict:
                result = self._replay_and_run(action, conflict)
        except BaseException:
            self._prevent_replay(failure)
            raise
        step = Step(action, result, received)
        journal.steps.append(step)
        return result, step

    def _replay_and_run(self, action: Callable[[], T], conflict: ConflictError) -> T:
        """Replay the open transaction at the newest snapshot, then run the action that cannot run at the old snapshot.

        Raises:
            ConflictError: the transaction cannot be replayed, or was replayed too many times.
        """
        for replan in range(REPLANS):
            transactions, journal = self._transactions, self._journal
            if transactions is None or journal is None:
                raise conflict
            if journal.obstacle is not None:
                raise _not_replayed(conflict, journal.obstacle) from conflict
            changed = transactions.changed_tables()
            self._announce_retry_and_wait(conflict, replan)
            transactions.rollback()
            self._transactions = self._journal = None  # the transaction is over if it cannot be replayed
            self._transactions, self._journal = self._replay_transaction(journal, changed, conflict, check_counts=True), journal
            try:
                return action()
            except ConflictError as next_conflict:
                conflict = next_conflict
        raise conflict

    def _prevent_replay(self, reason: str) -> None:
        """Record why the open transaction, if any, cannot be replayed."""
        if self._journal is not None:
            self._journal.prevent(reason)

    def _commit_or_replay(self, transactions: Transactions, journal: Journal) -> Committed:
        """Commit, and after a conflict replay the transaction at the newest snapshot.

        Sessions of this process with conflicts over the same table then take turns, so that they do not conflict with each other again.
        """
        changed = transactions.changed_tables()
        with ExitStack() as turn:
            for replan in range(REPLANS + 1):
                written, staged = transactions.written_files(), transactions.adds_to_staged_run
                try:
                    return journal.committed(self._commit_once(transactions), written, staged=staged)
                except ConflictError as conflict:
                    if journal.obstacle is not None:
                        raise _not_replayed(conflict, journal.obstacle) from conflict
                    if replan == REPLANS:
                        raise
                    if replan == 0:
                        turn.enter_context(self.lake.turn(changed))
                    self._announce_retry_and_wait(conflict, replan)
                    transactions = self._replay_transaction(journal, changed, conflict)
        raise AssertionError("the loop above returns or raises")

    def _announce_retry_and_wait(self, conflict: ConflictError, replan: int) -> None:
        """Announce the next retry to the user, then wait. The wait grows with `replan`, the number of earlier retries."""
        reason = str(conflict).partition(";")[0]
        self.notify(f"{reason}. Trying again at the newest snapshot (attempt {replan + 2} of {REPLANS + 1})")
        self._require_not_cancelled()
        time.sleep(self.lake.settings.retry.seconds(replan))

    def _replay_transaction(
        self, journal: Journal, changed: TablesByLake, conflict: ConflictError, *, check_counts: bool = False
    ) -> Transactions:
        """Repeat all steps of a transaction in a new one at the newest snapshot, and return that.

        Args:
            journal: the steps.
            changed: the tables that the steps change.
            conflict: the reason for the replay.
            check_counts: all counts of changed rows must be the same, because the caller has results whose counts it may read later.

        Raises:
            ConflictError: a step has a different result or fails.
        """
        self._release_caches()
        state, transactions = self._state, self._begin()
        state_at_conflict = state.lake, state.schema, state.temporary
        state.lake, state.schema, state.temporary = journal.lake, journal.schema, journal.temporary
        self._transactions, self._journal = transactions, None
        try:
            with self.job_group(f"again: {self._description}"):
                try:
                    transactions.on(journal.lake)
                    transactions.require_unchanged_definitions(changed)
                    for step in journal.steps:
                        self._replay_step(step, check_counts)
                except ConflictError as difference:
                    raise _not_replayed(conflict, difference) from conflict
        except BaseException:
            state.lake, state.schema, state.temporary = state_at_conflict
            transactions.rollback()
            raise
        finally:
            self._transactions = None
        return transactions

    def _replay_step(self, step: Step, check_counts: bool) -> None:
        """Repeat a step; it is a conflict if it now fails or has a different result."""
        try:
            step.replay(counts=check_counts)
        except Exception as error:
            translated = translate(error, self._state.registry.user_names)
            if isinstance(translated, (StatementError, DataError, LakeError)):
                raise ConflictError(f"one of its statements now fails: {translated}") from error
            raise

    def _attempt(self, transactions: Transactions, action: Callable[[Environment], T]) -> T:
        """Run an action in a transaction; after an error, the transaction has the same staged changes as before."""
        self._require_not_cancelled()  # between two statements of a transaction
        savepoint = transactions.savepoint()
        if self._spark is not None:
            self._state.registry.shrink(self._spark)
        try:
            result = action(self._environment(transactions))
            self._require_not_cancelled()  # a cancellation between two Spark jobs has no job to stop
            return result
        except BaseException as error:
            transactions.restore(savepoint)
            self._raise_if_files_removed(error)
            raise

    def _raise_if_files_removed(self, error: BaseException) -> None:
        """If an error was caused by files that were removed in the meantime, drop all plans that may read them, and raise a conflict."""
        state = self._state
        names = state.registry.user_names
        conflict = removal_conflict(error, names, self.lake.open_catalogs) if isinstance(error, Exception) else None
        if conflict is not None:
            state.plans = ScanPlans()
            if self._spark is not None:
                state.registry.shrink(self._spark, keep=0)
            raise conflict from error

    def _begin(self) -> Transactions:
        return Transactions(partial(self.lake.begin, node=self.node()), self._message)

    def _commit_once(self, transactions: Transactions) -> Snapshot | None:
        """Commit a transaction and return its snapshot; None if nothing changed. If its user has cancelled it, roll it back."""
        try:
            self._require_not_cancelled()
        except CancelledError:
            transactions.rollback()
            raise
        try:
            committed = transactions.commit()
            if committed is None:
                return None
            lake, snapshot = committed
            self._state.last_committed[lake] = snapshot.snapshot_id
            return snapshot
        finally:  # no rollback: the lake may already list the files if the outcome of the commit is unknown
            transactions.remove_abandoned_files()

    def _release_caches(self) -> None:
        """Drop what was cached for the transaction; its views are resolved from their text again."""
        self._state.columns.clear()
        self._state.cached = {}
        while self._state.frames:
            frame, view = self._state.frames.pop()
            if self._spark is not None:
                with suppress(Exception):  # Spark may have ended
                    self._state.registry.forget(view, self._spark)
                    frame.unpersist()


def _not_replayed(conflict: ConflictError, reason: object) -> ConflictError:
    """Return the conflict with the reason why the transaction was not replayed."""
    return ConflictError(f"{conflict}. The transaction was not replayed, because {reason}")
