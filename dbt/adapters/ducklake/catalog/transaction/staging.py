"""What the parts of a transaction share: the staged changes, and what every change asks first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...errors import StatementError
from ...format.objects import Table
from ..staged import RowChanges, Staged


class Staging:
    """The staged changes of one transaction.

    Args:
        require_writable: raises what stands against any change.
    """

    def __init__(self, require_writable: Callable[[], None]) -> None:
        self.require_writable = require_writable
        self.changes = Staged()
        """A value that is replaced, never changed, so that an earlier one is a savepoint."""
        self.files: dict[str, None] = {}
        """The path of every file that was ever staged."""
        self.finished = False
        self._last_id = 0

    def require_open(self) -> None:
        """Require that the transaction can change the lake.

        Raises:
            StatementError: it is over, or the lake can only be read.
        """
        if self.finished:
            raise StatementError("the transaction is over; begin another one")
        self.require_writable()

    def new_id(self) -> int:
        """An id for something that the catalog does not have yet; it is negative."""
        self._last_id -= 1
        return self._last_id

    def put(self, **parts: Any) -> None:
        """Replace parts of the staged changes."""
        self.changes = replace(self.changes, **parts)

    def rows_of(self, table: Table) -> RowChanges:
        """The staged changes to a table's rows."""
        return self.changes.rows.get(table.table_id, RowChanges())

    def put_rows(self, table: Table, changes: RowChanges) -> None:
        """Replace the staged changes to a table's rows."""
        self.changes = self.changes.with_rows(table.table_id, changes)
