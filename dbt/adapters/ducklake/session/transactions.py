"""Transactions on several lakes that end together: one for each lake, begun when the lake is first used.

Only one of the lakes may be changed. Two catalogs cannot be committed together, so changes of a second lake are refused before anything
is staged or written for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..catalog.staged import CommitMessage
from ..catalog.transaction.transaction import Savepoint, Transaction
from ..errors import ConflictError, StatementError
from ..format.objects import Snapshot, Table
from ..format.positions import with_positions
from ..spark.files.storage import remove_each

TablesByLake = Mapping[str, Sequence[Table]]
"""Lake name → tables."""


@dataclass(frozen=True)
class _Begun:
    """A transaction, and its savepoint before any change."""

    transaction: Transaction
    empty: Savepoint


class Transactions:
    """Transactions of several lakes that end together. Not thread-safe.

    Args:
        begin: begins a transaction of a lake, given its name and a function that is called before every change.
        message: the commit message of their snapshots.
    """

    def __init__(self, begin: Callable[[str, Callable[[], None]], Transaction], message: CommitMessage | None) -> None:
        self._begin = begin
        self._message = message
        self._begun: dict[str, _Begun] = {}

    def on(self, lake: str) -> Transaction:
        """Return the transaction of a lake; the first call begins it at the lake's newest snapshot."""
        if lake not in self._begun:
            transaction = self._begin(lake, lambda: self._require_single_changed_lake(lake))
            if self._message is not None:
                _set_message(transaction, self._message)
            self._begun[lake] = _Begun(transaction, transaction.savepoint())
        return self._begun[lake].transaction

    def set_commit_message(self, message: CommitMessage) -> None:
        """Set the commit message of the snapshot."""
        self._message = message
        for transaction in self._all():
            _set_message(transaction, message)

    def savepoint(self) -> dict[str, Savepoint]:
        """Return the current state, for `restore`."""
        return {lake: begun.transaction.savepoint() for lake, begun in self._begun.items()}

    def restore(self, savepoint: dict[str, Savepoint]) -> None:
        """Discard everything staged since a savepoint."""
        for lake, begun in self._begun.items():
            begun.transaction.restore(savepoint.get(lake, begun.empty))

    def commit(self) -> tuple[str, Snapshot] | None:
        """Commit the staged changes as a snapshot of their lake.

        Returns:
            The lake and the snapshot; None if nothing changed.

        Raises:
            DuckLakeError: see `Transaction.commit`.
        """
        committed = None
        for lake, begun in self._begun.items():
            snapshot = begun.transaction.commit()
            committed = committed if snapshot is None else (lake, snapshot)
        return committed

    def rollback(self) -> None:
        """Discard everything staged, and remove its files."""
        for transaction in self._all():
            transaction.rollback()
        self.remove_abandoned_files()

    def remove_abandoned_files(self) -> None:
        """Remove the files that did not become part of a lake."""
        for transaction in self._all():
            remove_abandoned_files(transaction)

    @property
    def adds_to_staged_run(self) -> bool:
        """Whether a commit adds changes to a staged run."""
        return any(transaction.is_shared and transaction.changes_catalog for transaction in self._all())

    def written_files(self) -> dict[str, int]:
        """Return the size in bytes of each staged file by its path."""
        return {path: size for transaction in self._all() for path, size in transaction.written_files().items()}

    def changed_tables(self) -> TablesByLake:
        """Return the existing tables that are changed, with their definitions before the change."""
        found = {lake: begun.transaction.changed_tables() for lake, begun in self._begun.items()}
        return {lake: tables for lake, tables in found.items() if tables}

    def require_unchanged_definitions(self, tables: TablesByLake) -> None:
        """Require that the definitions of tables are unchanged, except for positions, which a replay reads again.

        Raises:
            ConflictError: a definition has changed; the message names the table.
        """
        for lake, expected in tables.items():
            base = self.on(lake).base
            for table in expected:
                found = base.by_id(table.table_id)
                if not isinstance(found, Table) or _without_positions(found) != _without_positions(table):
                    raise ConflictError(f"the definition of {table.schema_name}.{table.name} has changed")

    def _all(self) -> Iterator[Transaction]:
        return (begun.transaction for begun in self._begun.values())

    def _require_single_changed_lake(self, lake: str) -> None:
        other = next((name for name, begun in self._begun.items() if name != lake and begun.transaction.changes_catalog), None)
        if other is not None:
            raise StatementError(
                f"the lake {lake} cannot be changed here: this transaction has changed the lake {other}, and a transaction can change only "
                f"one lake. COMMIT first; in dbt, write to {lake} in a separate model, with `database: {lake}`"
            )


def remove_abandoned_files(transaction: Transaction) -> None:
    """Remove the files of an ended transaction that did not become part of a lake. One that cannot be removed is left as an orphan."""
    remove_each(transaction.abandoned_files())


def _set_message(transaction: Transaction, message: CommitMessage) -> None:
    transaction.set_commit_message(message.author, message.message, message.extra_info)


def _without_positions(table: Table) -> Table:
    return replace(table, tags=with_positions(table.tags, ()))
