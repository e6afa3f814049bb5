"""The pinned views of a Spark session: which there are, and which of them still show what they shall."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..catalog.reader import SnapshotReader
from ..catalog.transaction import Transaction
from ..spec.files import ColumnFilter, Condition
from .result import FilesRead

Reader = SnapshotReader | Transaction
Looked = tuple[int | None, Condition]
"""A table whose rows are read, of any if None, and what its rows must pass to matter."""
ANY_TABLE: tuple[Looked, ...] = ((None, ()),)


@dataclass
class Pins:
    """The pinned views that a Spark session holds: view name → the user's name for it."""

    names: dict[str, str] = field(default_factory=dict)
    snapshots: dict[str, int] = field(default_factory=dict)
    """The snapshot of each lake that was seen last."""
    fresh: dict[tuple[str, tuple[ColumnFilter, ...]], str] = field(default_factory=dict)
    """(relation at a snapshot, what its rows must pass to matter) → the view to read."""
    files: dict[str, int] = field(default_factory=dict)
    """Table at a snapshot → how many files it has."""
    reads: dict[str, tuple[FilesRead, ...]] = field(default_factory=dict)
    """View → the files behind it."""
    looked: dict[str, frozenset[Looked]] = field(default_factory=dict)
    """Pinned view of a view → the tables behind it; of its own lake, as the view is kept only then."""
    scalars: set[str] = field(default_factory=set)
    """The temporary functions that are functions of the lake."""
    staged: object = None
    revision: int = 0
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def at(self, database: str, snapshot_id: int) -> None:
        """Forget which views are fresh when a lake has moved on: what lies behind an older pin may have been compacted since."""
        if self.snapshots.get(database, snapshot_id) != snapshot_id:
            self.fresh.clear()
            self.files.clear()
            self.scalars.clear()
        self.snapshots[database] = snapshot_id

    def suffix(self, reader: Reader) -> str:
        """What tells the lake with staged changes from the snapshot they are based on; another one after each change."""
        if not isinstance(reader, Transaction) or not reader.has_changes:
            return ""
        if reader.staged is not self.staged:
            self.staged = reader.staged
            self.revision += 1
        return f"+{self.revision}"
