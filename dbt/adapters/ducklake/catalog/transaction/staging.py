"""The staged changes and the checks that the parts of a transaction share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from ...errors import StatementError
from ...format.objects import Table
from ..staged import RowChanges, Staged


class Staging:
    """The staged changes of one transaction.

    Args:
        require_writable: raises an error if changes are not allowed.
        shared: the staging of the shared transaction to start from. Its new ids and next row ids are shared, so ids stay unique.
        ids: the source of new ids, to share with other transactions; ignored if `shared` is given.
    """

    def __init__(self, require_writable: Callable[[], None], shared: Staging | None = None, ids: Iterator[int] | None = None) -> None:
        self.require_writable = require_writable
        self.changes: Staged = Staged() if shared is None else shared.changes
        """An immutable value that is replaced, so that an earlier one is a savepoint."""
        self.files: dict[str, None] = {}
        """The paths of all files that we wrote for the transaction, including discarded ones. Files of other programs are not in it."""
        self.finished = False
        self.next_row_ids: dict[int, int] = {} if shared is None else shared.next_row_ids
        """Table id → the row id of the staged row with the offset 0, if no concurrent writer inserts."""
        self._ids: Iterator[int] = (ids or count(-1, -1)) if shared is None else shared._ids

    def require_open(self) -> None:
        """Require that the transaction can change the lake.

        Raises:
            StatementError: the transaction is over.
            ConfigurationError: the lake can only be read.
        """
        if self.finished:
            raise StatementError("the transaction is over; begin another one")
        self.require_writable()

    def new_id(self) -> int:
        """Return a new negative id for an object that is not committed."""
        return next(self._ids)

    def put(self, **parts: Any) -> None:
        """Replace parts of the staged changes."""
        self.changes = replace(self.changes, **parts)

    def rows_of(self, table: Table) -> RowChanges:
        """Return the staged changes to a table's rows."""
        return self.changes.rows.get(table.table_id, RowChanges())

    def require_unread(self, table: Table) -> None:
        """Require that no model has read the staged changes of a table as changes of its input.

        Raises:
            StatementError: a model has read them.
        """
        if table.table_id in self.changes.inputs:
            raise StatementError(
                f"{table.schema_name}.{table.name} cannot be changed again before this transaction is committed, because a model has read "
                "its changes. With publish: run, change it in a node that runs before that model, or set publish: node"
            )

    def require_readable(self, table: Table) -> None:
        """Require that the rows of a table were not restored or cloned in this transaction: only the commit writes what reading them needs.

        Raises:
            StatementError: the rows were restored or cloned.
        """
        if self.rows_of(table).restored is not None:
            raise StatementError(
                f"{table.schema_name}.{table.name} was cloned in this transaction; COMMIT before you read or change its rows or columns"
            )

    def put_rows(self, table: Table, changes: RowChanges) -> None:
        """Replace the staged changes to a table's rows.

        Raises:
            StatementError: a model has read the staged changes, or the rows were restored or cloned.
        """
        self.require_unread(table)
        self.require_readable(table)
        self.changes = self.changes.with_rows(table.table_id, changes)
