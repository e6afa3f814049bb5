"""What a transaction has read, and what of it must not change before it commits."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from ...format.files import ColumnFilter, Condition
from ...format.identifiers import fold
from ..staged import RowChanges, Staged


class ReadSet:
    """The rows that the queries of a transaction have read, and the tables and views that it has looked up by name."""

    def __init__(self) -> None:
        self._rows: dict[int | None, dict[Condition, None]] = {}
        self._names: set[tuple[str, str]] = set()

    def add_rows(self, table_id: int | None, within: Sequence[ColumnFilter] = ()) -> None:
        """Add the rows of a table that pass all filters; if the id is None, all rows of all tables."""
        self._rows.setdefault(table_id, {})[tuple(within)] = None

    def add_name(self, schema_name: str, name: str) -> None:
        """Add the table or view with a name, whether it exists or not."""
        self._names.add((fold(schema_name), fold(name)))

    def update(self, other: ReadSet) -> None:
        """Add everything that another transaction has read."""
        for table_id, conditions in other._rows.items():
            self._rows.setdefault(table_id, {}).update(conditions)
        self._names |= other._names

    def table_ids(self) -> Collection[int | None]:
        """Return the ids of the tables whose rows were read; None stands for any table."""
        return self._rows.keys()

    def of_changed_tables(self, staged: Staged) -> Staged:
        """Return staged changes with the rows that were read of the changed tables, which is what snapshot isolation requires."""
        read = {
            table_id: (*self._rows.get(table_id, ()), *self._rows.get(None, ()))
            for table_id, changes in staged.rows.items()
            if changes.depends_on_rows or changes.has_changes
        }
        return replace(staged, rows={**staged.rows, **dict(_depending(staged, read))})

    def of_all_tables(self, staged: Staged) -> Staged:
        """Return staged changes with everything that was read, which is what serializability requires."""
        read = {table_id: tuple(conditions) for table_id, conditions in self._rows.items() if table_id is not None and table_id >= 0}
        rows = {**staged.rows, **dict(_depending(staged, read))}
        return replace(self.of_changed_tables(replace(staged, rows=rows)), names_read=frozenset(self._names), lake_read=None in self._rows)


def _depending(staged: Staged, read: dict[int, tuple[Condition, ...]]) -> Iterator[tuple[int, RowChanges]]:
    for table_id, conditions in read.items():
        yield table_id, staged.rows.get(table_id, RowChanges()).depending_on(conditions)
