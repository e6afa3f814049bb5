"""Staged changes: what a transaction was asked for, as values without any id of the catalog in them.

Objects that do not exist yet, their files and their partition specs have negative ids, given by the transaction; a commit replaces
them. A `Staged` is never changed, so one kept from before a statement is a savepoint.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ..format.compaction import Compaction
from ..format.files import ColumnStats, Condition, FlushedFile, WrittenDeleteFile, WrittenFile
from ..format.objects import Column, Macro, Schema, Table, View
from ..format.options import StoredOption

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class StagedFile:
    """A data file to be registered. `row_id_offset` is where its row ids begin, counted from the table's next row id."""

    file_id: int
    file: WrittenFile
    row_id_offset: int
    partition_id: int | None = None


Redate = Callable[[WrittenDeleteFile, int, int], WrittenDeleteFile]
"""Writes a delete file again under another name: its entries of snapshots after the second argument are of the third one now."""


@dataclass(frozen=True)
class StagedDeleteFile:
    """A delete file to be registered. `redate`: for one that names the snapshot that its transaction is expected to become."""

    file_id: int
    file: WrittenDeleteFile
    redate: Redate | None = None


@dataclass(frozen=True)
class StagedRows:
    """Rows to be inlined, in the columns that the table had when they were staged. `offsets` are their row ids, counted like
    `StagedFile.row_id_offset`.
    """

    name: str
    """Takes the place of the name of an inlined-data table in scans."""
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    offsets: tuple[int, ...]
    column_stats: tuple[ColumnStats, ...]

    def without(self, offsets: Collection[int]) -> StagedRows:
        """The same without some rows; statistics stay, they are only wider than need be."""
        kept = [index for index, offset in enumerate(self.offsets) if offset not in offsets]
        return replace(self, rows=tuple(self.rows[i] for i in kept), offsets=tuple(self.offsets[i] for i in kept))


@dataclass(frozen=True)
class Flush:
    """Inlined rows and deletes of a table that have become files."""

    files: tuple[FlushedFile, ...]
    partition_id: int | None
    """The partition spec of the files that have partition values."""
    delete_files: tuple[WrittenDeleteFile, ...]
    """On committed data files: what the catalog held of deletes, with those of an earlier delete file."""
    rows: Mapping[str, int]
    """How many rows each inlined-data table loses."""
    deletes: int
    """How many rows the inlined-delete table loses."""
    until: int
    """The snapshot up to which rows and deletes were read."""

    def written(self) -> Iterator[WrittenFile | WrittenDeleteFile]:
        """The files that a commit would register."""
        yield from (flushed.file for flushed in self.files)
        yield from (flushed.delete_file for flushed in self.files if flushed.delete_file is not None)
        yield from self.delete_files


@dataclass(frozen=True)
class ReturnedFile:
    """A data file of an earlier snapshot under another name, to be registered again with its row ids and its partition spec."""

    file: WrittenFile
    row_id_start: int | None
    partition_id: int | None
    delete_file: WrittenDeleteFile | None
    """The rows that were deleted then; the data file id in it means nothing."""


@dataclass(frozen=True)
class Returned:
    """What a table had at an earlier snapshot and is to have again; what goes for it stands in its `RowChanges` as ever."""

    files: tuple[ReturnedFile, ...]
    inlined: StagedRows | None
    """Its `offsets` are row ids."""
    retyped: frozenset[int]
    """Columns that had other types too: the bounds of their files are not merged with those of the table."""
    former_id: int | None = None
    """The table had this id before it was dropped; now it is another one, which goes on from its row ids and column ids."""

    def written(self) -> Iterator[WrittenFile | WrittenDeleteFile]:
        """The files that a commit would register."""
        yield from (each.file for each in self.files)
        yield from (each.delete_file for each in self.files if each.delete_file is not None)


@dataclass(frozen=True)
class RowChanges:
    """What happens to the rows of one table."""

    files: tuple[StagedFile, ...] = ()
    inlined: tuple[StagedRows, ...] = ()
    delete_files: Mapping[int, StagedDeleteFile] = field(default_factory=dict)
    """By data file id, committed or staged."""
    ended_files: frozenset[int] = frozenset()
    """Committed data files."""
    ended_inlined: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Row ids by inlined-data table."""
    truncated: bool = False
    """Everything that is committed ends."""
    ends_something: bool = False
    """With `truncated`: there was something to end."""
    depends_on_rows: tuple[Condition, ...] = ()
    """The result depends on the rows that pass any of these."""
    reserved_row_ids: int = 0
    flush: Flush | None = None
    """The only change of its transaction to the table's rows, as is `compaction`. With `truncated`, the delete files alone."""
    compaction: Compaction | None = None
    returned: Returned | None = None
    """With `flush`: the delete files alone."""

    @property
    def adds_rows(self) -> bool:
        """Whether there are new rows, in files or inlined."""
        return bool(self.files or self.inlined)

    @property
    def has_changes(self) -> bool:
        """Whether a commit would record anything."""
        return bool(
            self.adds_rows
            or self.delete_files
            or self.ended_files
            or any(self.ended_inlined.values())
            or (self.truncated and self.ends_something)
            or self.flush is not None
            or self.compaction is not None
            or self.returned is not None
        )

    def written(self) -> Iterator[WrittenFile | WrittenDeleteFile]:
        """The files that a commit would register."""
        yield from (staged.file for staged in self.files)
        yield from (staged.file for staged in self.delete_files.values())
        if self.flush is not None:
            yield from self.flush.written()
        if self.compaction is not None:
            yield from self.compaction.written()
        if self.returned is not None:
            yield from self.returned.written()

    def staged_ids(self) -> frozenset[int]:
        """Ids of the staged data files."""
        return frozenset(staged.file_id for staged in self.files)

    def with_files(self, files: Sequence[WrittenFile], partition_id: int | None, new_id: Callable[[], int]) -> RowChanges:
        """The same and some data files, written under a partition spec; empty ones are never registered."""
        added, offset = [], self.reserved_row_ids
        for file in files:
            if file.record_count == 0:
                continue
            added.append(StagedFile(new_id(), file, offset, partition_id if file.partition_values else None))
            offset += file.record_count
        return replace(self, files=(*self.files, *added), reserved_row_ids=offset)

    def with_inlined(
        self, columns: tuple[Column, ...], rows: Sequence[tuple[Any, ...]], stats: tuple[ColumnStats, ...], number: int
    ) -> RowChanges:
        """The same and some rows to be inlined; `number` is one that no other staged thing has."""
        end = self.reserved_row_ids + len(rows)
        added = StagedRows(f"staged {-number}", columns, tuple(rows), tuple(range(self.reserved_row_ids, end)), stats)
        return replace(self, inlined=(*self.inlined, added), reserved_row_ids=end)

    def with_deletes(
        self,
        delete_files: Sequence[WrittenDeleteFile],
        ended_files: Collection[int],
        inlined: Mapping[str, Collection[int]],
        new_id: Callable[[], int],
        first_row_id: int,
        redate: Redate | None = None,
    ) -> RowChanges:
        """The same and some deletes; a later delete file of a data file takes the place of the earlier one, and staged rows just vanish.

        Args:
            first_row_id: the row id that scans gave the row of offset 0.
        """
        deletes, rows, ended = dict(self.delete_files), dict(self.ended_inlined), frozenset(ended_files)
        gone = {name: {row_id - first_row_id for row_id in row_ids} for name, row_ids in inlined.items()}
        left = [staged.without(gone.get(staged.name, ())) for staged in self.inlined]
        inlined = {name: row_ids for name, row_ids in inlined.items() if name not in {staged.name for staged in self.inlined}}
        for file in delete_files:
            deletes[file.data_file_id] = StagedDeleteFile(new_id(), file, redate)
        for name, row_ids in inlined.items():
            rows[name] = rows.get(name, frozenset()) | frozenset(row_ids)
        committed = self.ended_files | frozenset(file_id for file_id in ended if file_id >= 0)
        kept = tuple(staged for staged in left if staged.rows)
        return replace(self, inlined=kept, delete_files=deletes, ended_files=committed, ended_inlined=rows).without_files(ended)

    def depending_on(self, conditions: Iterable[Condition]) -> RowChanges:
        """The same with further rows that the result depends on."""
        return replace(self, depends_on_rows=tuple(dict.fromkeys((*self.depends_on_rows, *conditions))))

    def without_files(self, ids: frozenset[int]) -> RowChanges:
        """The same without some staged data files and the deletes on them."""
        return replace(
            self,
            files=tuple(staged for staged in self.files if staged.file_id not in ids),
            delete_files={key: value for key, value in self.delete_files.items() if key not in ids},
        )


@dataclass(frozen=True)
class CommitMessage:
    """What `set_commit_message` was called with."""

    author: str | None = None
    message: str | None = None
    extra_info: str | None = None


@dataclass(frozen=True)
class Staged:
    """All staged changes of a transaction. Objects by id: the new definition, or None for one that is dropped."""

    schemas: Mapping[int, Schema | None] = field(default_factory=dict)
    tables: Mapping[int, Table | None] = field(default_factory=dict)
    views: Mapping[int, View | None] = field(default_factory=dict)
    dropped_macros: Mapping[int, Macro] = field(default_factory=dict)
    returned_macros: Mapping[int, Macro] = field(default_factory=dict)
    """Dropped by an earlier snapshot; what DuckDB has written of them is still there."""
    rows: Mapping[int, RowChanges] = field(default_factory=dict)
    options: Mapping[tuple[str, str | None, int | None], StoredOption] = field(default_factory=dict)
    """By key, scope and id of the scope's object. They make no snapshot: options have no versions."""
    rolled_back: frozenset[str | None] = frozenset()
    """The schemas of which everything is rolled back; None: the lake."""
    commit_message: CommitMessage | None = None
    revision: object = field(default_factory=object, init=False, compare=False, repr=False)
    """Another one for each value made, so that what was read of one state of the staged changes is not taken for another."""

    @property
    def has_schema_changes(self) -> bool:
        """Whether the schema version must move."""
        return bool(self.schemas or self.tables or self.views or self.dropped_macros or self.returned_macros)

    @property
    def has_changes(self) -> bool:
        """Whether a commit would make a snapshot."""
        return self.has_schema_changes or any(changes.has_changes for changes in self.rows.values())

    def written(self) -> dict[str, int]:
        """The files that a commit would register: path → bytes."""
        return {file.path: file.size_bytes for changes in self.rows.values() for file in changes.written()}

    def with_rows(self, table_id: int, changes: RowChanges) -> Staged:
        """The same with other changes to the rows of a table."""
        return replace(self, rows=put(self.rows, table_id, changes))


def put(mapping: Mapping[K, V], key: K, value: V) -> dict[K, V]:
    """A mapping with one entry set."""
    return {**mapping, key: value}


def without(mapping: Mapping[K, V], key: K) -> dict[K, V]:
    """A mapping without one entry."""
    return {other: value for other, value in mapping.items() if other != key}
