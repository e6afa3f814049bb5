"""The transactions of one piece of work: one for each lake that it looks into, begun when it does, of which one may change its lake.

Two catalogs cannot be committed together, so a second lake is refused before anything is staged or written for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..catalog.lake import LakeCatalog
from ..catalog.transaction.transaction import Savepoint, Transaction
from ..errors import ConflictError, StatementError
from ..format.objects import Snapshot, Table

CommitMessage = tuple[str | None, str | None, str | None]
"""Author, message, extra information."""
TablesByLake = Mapping[str, Sequence[Table]]


@dataclass(frozen=True)
class _Begun:
    transaction: Transaction
    empty: Savepoint


class Transactions:
    """Transactions of several lakes that end together. Not thread-safe.

    Args:
        catalog_of: the catalog of a lake by its name.
        message: what their snapshots will say.
    """

    def __init__(self, catalog_of: Callable[[str], LakeCatalog], message: CommitMessage | None) -> None:
        self._catalog_of = catalog_of
        self._message = message
        self._begun: dict[str, _Begun] = {}

    def on(self, lake: str) -> Transaction:
        """The transaction of a lake; the first call begins it at the lake's newest snapshot."""
        if lake not in self._begun:
            transaction = self._catalog_of(lake).begin(lambda: self._require_only(lake))
            if self._message is not None:
                transaction.set_commit_message(*self._message)
            self._begun[lake] = _Begun(transaction, transaction.savepoint())
        return self._begun[lake].transaction

    def set_commit_message(self, message: CommitMessage) -> None:
        """What the snapshot will say."""
        self._message = message
        for transaction in self._all():
            transaction.set_commit_message(*message)

    def savepoint(self) -> dict[str, Savepoint]:
        """The present state, for `restore`."""
        return {lake: begun.transaction.savepoint() for lake, begun in self._begun.items()}

    def restore(self, savepoint: dict[str, Savepoint]) -> None:
        """Forget everything staged since a savepoint."""
        for lake, begun in self._begun.items():
            begun.transaction.restore(savepoint.get(lake, begun.empty))

    def commit(self) -> tuple[str, Snapshot] | None:
        """Make what is staged a snapshot of its lake.

        Returns:
            The lake and the snapshot; None if nothing was changed.

        Raises:
            DuckLakeError: as of `Transaction.commit`.
        """
        made = None
        for lake, begun in self._begun.items():
            snapshot = begun.transaction.commit()
            made = made if snapshot is None else (lake, snapshot)
        return made

    def rollback(self) -> None:
        """Forget everything."""
        for transaction in self._all():
            transaction.rollback()

    def abandoned_files(self) -> list[str]:
        """Files that did not become part of a lake; see `Transaction.abandoned_files`."""
        return [path for transaction in self._all() for path in transaction.abandoned_files()]

    def written_files(self) -> dict[str, int]:
        """The files that are staged: path → bytes."""
        return {path: size for transaction in self._all() for path, size in transaction.written_files().items()}

    def changed_tables(self) -> TablesByLake:
        """The tables there were of which something is changed, as they were defined."""
        found = {lake: begun.transaction.changed_tables() for lake, begun in self._begun.items()}
        return {lake: tables for lake, tables in found.items() if tables}

    def require_same(self, tables: TablesByLake) -> None:
        """Require that tables are defined as they were.

        Raises:
            ConflictError: the text names one that is not.
        """
        for lake, before in tables.items():
            base = self.on(lake).base
            for table in before:
                if base.by_id(table.table_id) != table:
                    raise ConflictError(f"{table.schema_name}.{table.name} has another definition now")

    def _all(self) -> Iterator[Transaction]:
        return (begun.transaction for begun in self._begun.values())

    def _require_only(self, lake: str) -> None:
        other = next((name for name, begun in self._begun.items() if name != lake and begun.transaction.writes), None)
        if other is not None:
            raise StatementError(
                f"the lake {lake} cannot be changed here: this transaction has changed the lake {other}, and a transaction changes one "
                f"lake only. COMMIT first; in dbt, write to {lake} in a model of its own, with `database: {lake}`"
            )
