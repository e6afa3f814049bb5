"""The transactions of a session: begun and committed by its user, or one for each statement.

When a rival's commit has overtaken a statement that is a transaction of its own, it is planned anew, a few times. So is all of a
transaction, if its caller would ask for the same again (`journal`); else the conflict is the caller's.
"""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import CancelledError, ConflictError, StatementError
from ..spark.storage import remove
from ..spec.objects import Snapshot
from ..statements.environment import Environment
from .journal import Done, Journal, Step
from .transactions import CommitMessage, TablesByLake, Transactions
from .work import SparkWork

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from .lake import Lake

T = TypeVar("T")

logger = logging.getLogger(__name__)

REPLANS = 10
"""How often a statement of its own, or a transaction, is planned anew after a conflict."""


class TransactionalWork(SparkWork):
    """At most one open transaction on the lakes of a process."""

    def __init__(self, lake: Lake, schema: str = "main") -> None:
        super().__init__(lake.runtime)
        self.lake = lake
        self.database = lake.settings.database
        """The lake that names without one mean; USE says another."""
        self.schema = schema
        self.tell: Callable[[str], None] = logger.info
        """Told what people should know of what the session does by itself."""
        self.done = Done(None)
        """The transaction that was committed last."""
        self._transactions: Transactions | None = None
        self._journal: Journal | None = None
        self._last_committed: dict[str, int] = {}
        self._message: CommitMessage | None = None
        self._held: list[DataFrame] = []

    @abstractmethod
    def _environment(self, transactions: Transactions) -> Environment:
        """The surroundings of a statement."""

    @property
    def in_transaction(self) -> bool:
        """BEGIN was said and neither COMMIT nor ROLLBACK yet."""
        return self._transactions is not None

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
        self._transactions, self._journal = begun, Journal()

    @property
    def steps(self) -> int:
        """How many steps the open transaction has taken; `done.results` will have what came of each."""
        return 0 if self._journal is None else len(self._journal.steps)

    def commit(self) -> Snapshot | None:
        """Make the changes of the open transaction one snapshot; `done` has more about it.

        Returns:
            The snapshot, or None if nothing was changed.

        Raises:
            StatementError: no transaction is open.
            ConflictError: a rival's commit stands against it, and it cannot be done again, or was too often. It is rolled back.
        """
        if self._transactions is None or self._journal is None:
            raise StatementError("no transaction is open; BEGIN opens one")
        transactions, journal = self._transactions, self._journal
        self._transactions = self._journal = None
        try:
            self.done = self._persist(transactions, journal)
            return self.done.snapshot
        finally:
            self._release()

    def rollback(self) -> None:
        """Forget the changes of the open transaction; without one, nothing happens."""
        if self._transactions is not None:
            transactions, self._transactions, self._journal = self._transactions, None, None
            self._abandon(transactions)
            self._release()

    def set_commit_message(self, author: str | None, message: str | None, extra_info: str | None = None) -> None:
        """Author, message and extra information of the snapshots to come; a transaction that is open gets them too."""
        self._message = (author, message, extra_info)
        if self._transactions is not None:
            self._transactions.set_commit_message(self._message)

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
            except ConflictError as conflict:
                if replan == REPLANS:
                    raise
                self._wait(conflict, replan)
        raise AssertionError("the loop above returns or raises")

    def _noted(self, action: Callable[[], T], answer: Callable[[Any], Any]) -> T:
        """Do a step of the open transaction, if one is open, and note it."""
        if self._journal is None:
            return action()
        place = self.database, self.schema
        try:
            result = action()
        except BaseException:
            self._prevent("a statement of it failed")
            raise
        self._journal.steps.append(Step(action, place, result, answer))
        return result

    def _prevent(self, reason: str) -> None:
        if self._journal is not None:
            self._journal.prevent(reason)

    def _persist(self, transactions: Transactions, journal: Journal) -> Done:
        """Commit, and after a conflict do all of it again at the newest snapshot.

        Those of this process that lost over the same table take turns from there on, else each would be in the way of the others.
        """
        changed = transactions.changed_tables()
        with ExitStack() as turn:
            for replan in range(REPLANS + 1):
                written = transactions.written_files()
                try:
                    return journal.done(self._commit(transactions), written)
                except ConflictError as conflict:
                    if journal.obstacle is not None:
                        raise ConflictError(f"{conflict}. It was not done again by itself, because {journal.obstacle}") from conflict
                    if replan == REPLANS:
                        raise
                    if replan == 0:
                        turn.enter_context(self.lake.turn(changed))
                    self._wait(conflict, replan)
                    transactions = self._again(journal, changed, conflict)
        raise AssertionError("the loop above returns or raises")

    def _wait(self, conflict: ConflictError, replan: int) -> None:
        reason = str(conflict).partition(";")[0]
        self.tell(f"{reason}. So this is planned anew at the newest snapshot, try {replan + 2} of at most {REPLANS + 1}")
        self._require_not_cancelled()
        time.sleep(self.lake.settings.retry.seconds(replan))

    def _again(self, journal: Journal, changed: TablesByLake, conflict: ConflictError) -> Transactions:
        """All steps of a transaction, at the newest snapshot.

        Raises:
            ConflictError: its caller would not ask for the same.
        """
        self._release()
        transactions, place = self._begin(), (self.database, self.schema)
        self._transactions = transactions
        try:
            with self._working(f"again: {self._description}"):
                try:
                    transactions.require_same(changed)
                    journal.restore_views(self.spark)
                    for step in journal.steps:
                        self.database, self.schema = step.place
                        step.again()
                except ConflictError as change:
                    raise ConflictError(f"{conflict}. It was not done again by itself, because {change}") from conflict
        except BaseException:
            self._abandon(transactions)
            raise
        finally:
            self._transactions = None
            self.database, self.schema = place
        return transactions

    def _attempt(self, transactions: Transactions, action: Callable[[Environment], T]) -> T:
        savepoint = transactions.savepoint()
        try:
            result = action(self._environment(transactions))
            self._require_not_cancelled()  # it may have come between two Spark jobs, where there was nothing to stop
            return result
        except BaseException:
            transactions.restore(savepoint)
            raise

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
