"""The staged changes of a transaction, as immutable values.

New objects, their files and their partition specs have negative ids, which the transaction assigns and the commit replaces. A `Staged`
never changes, so the value from before a statement is a savepoint.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ..format.compaction import Compaction
from ..format.files import ColumnStats, Condition, FlushedFile, WrittenDeleteFile, WrittenFile
from ..format.objects import Column, Macro, Schema, Table, View
from ..format.options import StoredOption
from ..format.row_statistics import stats_of_rows

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class StagedFile:
    """A data file to be registered. `row_id_offset` is its first row id minus the table's next row id."""

    file_id: int
    file: WrittenFile
    row_id_offset: int
    partition_id: int | None = None
    columns: tuple[Column, ...] = ()
    """The columns that the table had when the file was written; the transaction may change them afterwards."""


RewriteWithId = Callable[[WrittenDeleteFile, int, int], WrittenDeleteFile]
"""(delete file, after, snapshot id) → a copy with another name, in which all entries later than `after` have the snapshot id."""


@dataclass(frozen=True)
class StagedDeleteFile:
    """A delete file to be registered. `rewrite_with_id` rewrites a file that contains the expected snapshot id of its transaction."""

    file_id: int
    file: WrittenDeleteFile
    rewrite_with_id: RewriteWithId | None = None

    def contains_expected_id(self, start: int) -> bool:
        """Whether the file contains the expected snapshot id of its transaction: only that one is greater than the pinned `start`."""
        return self.file.max_snapshot is not None and self.file.max_snapshot > start


@dataclass(frozen=True)
class StagedRows:
    """Rows to be inlined, with the columns that the table had when they were staged.

    `offsets` are their row ids minus the table's next row id.
    """

    name: str
    """The name that scans use instead of that of an inlined-data table."""
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    offsets: tuple[int, ...]
    column_stats: tuple[ColumnStats, ...]

    def without(self, offsets: Collection[int]) -> StagedRows:
        """Return a copy without some rows, and with the statistics of the others: no reader could see that a bound is of a removed row.

        The `extra_stats` stay and may be wider than necessary.
        """
        kept = [index for index, offset in enumerate(self.offsets) if offset not in offsets]
        if len(kept) == len(self.offsets):
            return self
        rows = tuple(self.rows[i] for i in kept)
        extra = {each.column_id: each.extra_stats for each in self.column_stats}
        stats = tuple(replace(each, extra_stats=extra.get(each.column_id)) for each in stats_of_rows(self.columns, rows))
        return replace(self, rows=rows, offsets=tuple(self.offsets[i] for i in kept), column_stats=stats)


@dataclass(frozen=True)
class Flush:
    """The files that replace inlined rows and deletes of a table."""

    files: tuple[FlushedFile, ...]
    delete_files: tuple[WrittenDeleteFile, ...]
    """Delete files of committed data files, with their inlined deletes and those of an earlier delete file."""
    rows: Mapping[str, int]
    """The number of rows to remove from each inlined-data table."""
    deletes: int
    """The number of rows to remove from the inlined-delete table."""
    until: int
    """The snapshot up to which rows and deletes were read."""

    def written(self) -> Iterator[WrittenFile | WrittenDeleteFile]:
        """Yield the files that a commit registers."""
        yield from (flushed.file for flushed in self.files)
        yield from (flushed.delete_file for flushed in self.files if flushed.delete_file is not None)
        yield from self.delete_files


@dataclass(frozen=True)
class RestoredFile:
    """A data file of an earlier snapshot, copied to a new name, to be registered with its row ids and its partition spec."""

    file: WrittenFile
    row_id_start: int | None
    partition_id: int | None
    delete_file: WrittenDeleteFile | None
    """The rows that were deleted at the earlier snapshot; its data file id is not used."""


@dataclass(frozen=True)
class RestoredRows:
    """The restored rows of a table. The rows that they replace are deleted by other fields of the same `RowChanges`."""

    files: tuple[RestoredFile, ...]
    inlined: StagedRows | None
    """Its `offsets` are row ids."""
    retyped: frozenset[int]
    """Ids of columns that had other types: the bounds in these files are not merged with the table's."""
    original_id: int | None = None
    """The id of the dropped or cloned table. The new table has another id and continues its row ids and column ids."""

    def written(self) -> Iterator[WrittenFile | WrittenDeleteFile]:
        """Yield the files that a commit registers."""
        yield from (each.file for each in self.files)
        yield from (each.delete_file for each in self.files if each.delete_file is not None)


@dataclass(frozen=True)
class RowChanges:
    """The staged changes to the rows of one table."""

    files: tuple[StagedFile, ...] = ()
    inlined: tuple[StagedRows, ...] = ()
    delete_files: Mapping[int, StagedDeleteFile] = field(default_factory=dict)
    """Data file id, committed or staged → its delete file."""
    ended_files: frozenset[int] = frozenset()
    """Ids of committed data files that end."""
    ended_inlined: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Inlined-data table → ids of its rows that end."""
    truncated: bool = False
    """Whether all committed rows end."""
    ends_something: bool = False
    """With `truncated`: whether there were rows to end."""
    depends_on_rows: tuple[Condition, ...] = ()
    """The read set: the result depends on the rows that pass any of these conditions."""
    reserved_row_ids: int = 0
    """How many row ids the staged rows use, from the table's next row id on. Rows that were removed again keep theirs."""
    flush: Flush | None = None
    """A flush of inlined rows: the only row change of its transaction to the table.

    With `truncated` or `restored`, it only turns the inlined deletes of the data files that end into delete files.
    """
    compaction: Compaction | None = None
    """The only row change of its transaction to the table."""
    restored: RestoredRows | None = None
    """The rows that a rollback restores or a clone gets. They can be read only after the commit."""

    @property
    def adds_rows(self) -> bool:
        """Whether rows are added, in files or inlined."""
        return bool(self.files or self.inlined)

    @property
    def has_changes(self) -> bool:
        """Whether a commit records anything."""
        return bool(
            self.adds_rows
            or self.delete_files
            or self.ended_files
            or any(self.ended_inlined.values())
            or (self.truncated and self.ends_something)
            or self.flush is not None
            or self.compaction is not None
            or self.restored is not None
        )

    def written(self) -> Iterator[WrittenFile | WrittenDeleteFile]:
        """Yield the files that a commit registers."""
        yield from (staged.file for staged in self.files)
        yield from (staged.file for staged in self.delete_files.values())
        if self.flush is not None:
            yield from self.flush.written()
        if self.compaction is not None:
            yield from self.compaction.written()
        if self.restored is not None:
            yield from self.restored.written()

    def layouts(self) -> list[tuple[Column, ...]]:
        """Return the columns with which the staged files were written, each once."""
        return list(dict.fromkeys(staged.columns for staged in self.files))

    def with_files(
        self, columns: tuple[Column, ...], files: Sequence[WrittenFile], partition_id: int | None, new_id: Callable[[], int]
    ) -> RowChanges:
        """Return a copy with more data files of a partition spec, written with these columns; empty files are left out.

        Args:
            columns: the columns that the table had when the files were written.
            files: the new files, in the order of their row ids.
            partition_id: the partition spec of the files that have partition values, which may be a staged one.
            new_id: returns a new staged id.
        """
        added, offset = [], self.reserved_row_ids
        for file in files:
            if file.record_count == 0:
                continue
            added.append(StagedFile(new_id(), file, offset, partition_id if file.partition_values else None, columns))
            offset += file.record_count
        return replace(self, files=(*self.files, *added), reserved_row_ids=offset)

    def with_inlined(
        self, columns: tuple[Column, ...], rows: Sequence[tuple[Any, ...]], stats: tuple[ColumnStats, ...], number: int
    ) -> RowChanges:
        """Return a copy with more rows to be inlined.

        Args:
            columns: the columns of the table.
            rows: values as in `files.InlinedRows`, in the order of `columns`.
            stats: the statistics of these rows.
            number: a new staged id, which makes the name of these rows unique.
        """
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
        rewrite_with_id: RewriteWithId | None = None,
    ) -> RowChanges:
        """Return a copy with more deletes; a later delete file of a data file replaces the earlier one, and staged rows are removed.

        Args:
            delete_files: the new delete files.
            ended_files: ids of committed or staged data files whose rows all end.
            inlined: name of an inlined-data table or of staged rows → ids of the rows to delete.
            new_id: returns a new staged id.
            first_row_id: the row id that scans use for the staged row with the offset 0.
            rewrite_with_id: rewrites delete files that contain the expected snapshot id.
        """
        offsets = {name: {row_id - first_row_id for row_id in row_ids} for name, row_ids in inlined.items()}
        remaining = [staged.without(offsets.get(staged.name, ())) for staged in self.inlined]
        staged_names = {staged.name for staged in self.inlined}
        ended_inlined = dict(self.ended_inlined)
        for name, row_ids in inlined.items():
            if name not in staged_names:
                ended_inlined[name] = ended_inlined.get(name, frozenset()) | frozenset(row_ids)
        all_delete_files = dict(self.delete_files)
        for file in delete_files:
            replaced = all_delete_files.get(file.data_file_id)
            written = file if replaced is None else replace(file, earlier=replaced.file.earlier)
            all_delete_files[file.data_file_id] = StagedDeleteFile(new_id(), written, rewrite_with_id)
        changed = replace(
            self,
            inlined=tuple(staged for staged in remaining if staged.rows),
            delete_files=all_delete_files,
            ended_files=self.ended_files | frozenset(file_id for file_id in ended_files if file_id >= 0),
            ended_inlined=ended_inlined,
        )
        return changed.without_files(frozenset(ended_files))

    def depending_on(self, conditions: Iterable[Condition]) -> RowChanges:
        """Return a copy with more conditions in the read set."""
        return replace(self, depends_on_rows=tuple(dict.fromkeys((*self.depends_on_rows, *conditions))))

    def without_files(self, ids: frozenset[int]) -> RowChanges:
        """Return a copy without some staged data files and their delete files."""
        return replace(
            self,
            files=tuple(staged for staged in self.files if staged.file_id not in ids),
            delete_files={key: value for key, value in self.delete_files.items() if key not in ids},
        )


@dataclass(frozen=True)
class CommitMessage:
    """The arguments of `set_commit_message`."""

    author: str | None = None
    message: str | None = None
    extra_info: str | None = None


@dataclass(frozen=True)
class Staged:
    """All staged changes of a transaction. Objects are mapped by id to the new definition, or to None if they are dropped."""

    schemas: Mapping[int, Schema | None] = field(default_factory=dict)
    tables: Mapping[int, Table | None] = field(default_factory=dict)
    views: Mapping[int, View | None] = field(default_factory=dict)
    dropped_macros: Mapping[int, Macro] = field(default_factory=dict)
    restored_macros: Mapping[int, Macro] = field(default_factory=dict)
    """Macros that an earlier snapshot dropped; their bodies, which DuckDB wrote, are still in the catalog."""
    rows: Mapping[int, RowChanges] = field(default_factory=dict)
    options: Mapping[tuple[str, str | None, int | None], StoredOption] = field(default_factory=dict)
    """(key, scope, id of the scope's object) → option. Options have no versions, so they create no snapshot."""
    rolled_back: frozenset[str | None] = frozenset()
    """The names of schemas that are rolled back as a whole; None is the lake."""
    inputs: frozenset[int] = frozenset()
    """The ids of changed tables whose changes a model has read. The model's position becomes the snapshot of this commit, so these tables
    may not change again."""
    names_read: frozenset[tuple[str, str]] = frozenset()
    """(schema, name), folded, of the tables and views whose definitions the changes depend on, whether they exist or not."""
    lake_read: bool = False
    """Whether the changes depend on all tables of the lake."""
    seen: frozenset[int] = frozenset()
    """The ids of snapshots after the pinned one that are not concurrent: the transaction had read their changes while they were staged."""
    commit_message: CommitMessage | None = None
    revision: object = field(default_factory=object, init=False, compare=False, repr=False)
    """A unique object for each state of the staged changes, so that readers can recognize a cached state."""

    @property
    def has_schema_changes(self) -> bool:
        """Whether the schema version must increase."""
        return bool(self.schemas or self.tables or self.views or self.dropped_macros or self.restored_macros)

    @property
    def has_changes(self) -> bool:
        """Whether a commit creates a snapshot."""
        return self.has_schema_changes or any(changes.has_changes for changes in self.rows.values())

    def written(self) -> dict[str, int]:
        """Return the files that a commit registers: path → size in bytes."""
        return {file.path: file.size_bytes for changes in self.rows.values() for file in changes.written()}

    def only_tables(self, ids: Collection[int]) -> Staged:
        """Return only the changes to these tables and their rows, the drops of these views, and the new schemas that the tables are in."""
        tables = {key: table for key, table in self.tables.items() if key in ids}
        names = {table.schema_name for table in tables.values() if table is not None}
        schemas = {key: schema for key, schema in self.schemas.items() if key < 0 and schema is not None and schema.name in names}
        views = {key: view for key, view in self.views.items() if key in ids and view is None}
        return Staged(schemas=schemas, tables=tables, views=views, rows={key: rows for key, rows in self.rows.items() if key in ids})

    def with_rows(self, table_id: int, changes: RowChanges) -> Staged:
        """Return a copy with other changes to the rows of a table."""
        return replace(self, rows=put(self.rows, table_id, changes))


def put(mapping: Mapping[K, V], key: K, value: V) -> dict[K, V]:
    """Return a mapping with one entry set."""
    return {**mapping, key: value}


def without(mapping: Mapping[K, V], key: K) -> dict[K, V]:
    """Return a mapping without one entry."""
    return {other: value for other, value in mapping.items() if other != key}
