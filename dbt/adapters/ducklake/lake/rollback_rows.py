"""Restore the rows of one table to an earlier snapshot, by metadata and by links or copies of files.

A live file with the same deleted rows as at that snapshot stays. Any other live file ends, and the files of that snapshot are restored
under new names: an expire may remove an ended file together with its path. Inlined deletes of files that end become delete files, as in
`delete.end_all_rows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..catalog.read.rollback_plan import EarlierFile, RollbackPlan
from ..catalog.staged import Flush, RestoredFile, RestoredRows, RowChanges, StagedRows
from ..format.files import DataFile, InlinedRows
from ..format.inlined_cells import converted, initial_value
from ..format.objects import Column, Table
from ..format.row_statistics import stats_of_rows
from ..spark.arrow.flushed import write_deletes
from ..spark.arrow.restored import Place, excluded_positions, new_place, require_file, restore_file, write_rows
from ..spark.files import storage
from ..spark.files.deletes import write_delete_file
from .context import Context
from .order import stored_order

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Difference:
    """The changes that restore the rows of a table to an earlier snapshot."""

    plan: RollbackPlan
    ended: tuple[DataFile, ...]
    files_restored: tuple[tuple[EarlierFile, pa.Array], ...]
    """Each file with the positions that were deleted at the earlier snapshot."""
    rows_before: int
    rows_after: int

    @property
    def of_dropped_table(self) -> Difference:
        """The difference if the table was dropped: no live rows end, and all earlier rows are restored."""
        return replace(self, plan=replace(self.plan, inlined_current=()), rows_before=0)

    @property
    def inlined_ended(self) -> dict[str, frozenset[int]]:
        """The row ids of the inlined rows to end, by inlined-data table."""
        earlier = _versions(self.plan.inlined_earlier)
        found = {rows.table_name: {row_id for _, row_id, _ in {*rows.versions} - earlier} for rows in self.plan.inlined_current}
        return {name: frozenset(ids) for name, ids in found.items() if ids}

    @property
    def inlined_restored(self) -> tuple[InlinedRows, ...]:
        """The inlined rows of the earlier snapshot that have ended since."""
        current = _versions(self.plan.inlined_current)
        return tuple(part for rows in self.plan.inlined_earlier if (part := rows.without(current)).row_ids)

    @property
    def is_empty(self) -> bool:
        """Whether the rows are the same as at the earlier snapshot."""
        return not (self.ended or self.files_restored or self.inlined_ended or self.inlined_restored)


def difference(plan: RollbackPlan) -> Difference:
    """Compare the two snapshots file by file; this reads delete files.

    Raises:
        LakeError: a file to restore is missing from storage.
    """
    earlier = {each.file.data_file_id: each for each in plan.earlier}
    with ThreadPoolExecutor(storage.THREADS) as pool:  # one after the other, so that a delete file of both snapshots is in the cache
        excluded_earlier = dict(zip(earlier, pool.map(excluded_positions, (each.file for each in plan.earlier)), strict=True))
        excluded_current = dict(zip(plan.current, pool.map(excluded_positions, plan.current.values()), strict=True))
    kept = {file_id for file_id in earlier.keys() & plan.current.keys() if excluded_earlier[file_id].equals(excluded_current[file_id])}
    rows_earlier = {file_id: each.file.record_count - len(excluded_earlier[file_id]) for file_id, each in earlier.items()}
    rows_current = sum(file.record_count - len(excluded_current[file_id]) for file_id, file in plan.current.items())
    restored = tuple((each, excluded_earlier[key]) for key, each in earlier.items() if key not in kept and rows_earlier[key] > 0)
    with ThreadPoolExecutor(storage.THREADS) as pool:
        list(pool.map(require_file, (each.file for each, _ in restored)))
    return Difference(
        plan,
        tuple(file for file_id, file in plan.current.items() if file_id not in kept),
        restored,
        rows_current + sum(len(rows.row_ids) for rows in plan.inlined_current),
        sum(rows_earlier.values()) + sum(len(rows.row_ids) for rows in plan.inlined_earlier),
    )


def stage_difference(context: Context, earlier: Table, found: Difference, original: Table | None = None) -> None:
    """Stage the earlier definition and rows of a table.

    Args:
        context: the catalog and the transaction.
        earlier: the earlier definition, with the name and ids that the table gets.
        found: the changes of its rows.
        original: the table that `earlier`, a new table, replaces or clones.

    Raises:
        LakeError: a file is missing from storage; the files written so far were removed.
        ConflictError: a concurrent writer has changed the table; the files written so far were removed.
    """
    if found.files_restored and earlier.table_id >= 0:  # before the files are copied, which takes longest
        context.transaction.rows.depends_on_rows(earlier)
        context.transaction.require_committable(context.transaction.staged)
    places = [new_place(each.file, earlier.path) for each, _ in found.files_restored]
    written: list[str] = []
    try:
        flush = _flush_inlined_deletes(context, earlier, found, written)
        files = _restore_files(context, earlier, found, places, written)
        if original is not None:
            files = tuple(replace(file, partition_id=_new_partition_id(file.partition_id, original, earlier)) for file in files)
        inlined, more = _restore_inlined_rows(context, earlier, found, written)
        is_unchanged = found.is_empty and original is None
        original_id = None if original is None else original.table_id
        changes = RowChanges(
            ended_files=frozenset(file.data_file_id for file in found.ended),
            ended_inlined=found.inlined_ended,
            flush=flush,
            restored=None if is_unchanged else RestoredRows((*files, *more), inlined, found.plan.columns_with_other_types, original_id),
            depends_on_rows=() if earlier.table_id < 0 else ((),),
        )
        context.transaction.restore_object(earlier, changes)
    except BaseException:
        storage.remove([*(path for path, _ in places), *written])
        raise


def _restore_files(
    context: Context, earlier: Table, found: Difference, places: Sequence[Place], written: list[str]
) -> tuple[RestoredFile, ...]:
    def restore(each: tuple[EarlierFile, pa.Array], place: Place) -> RestoredFile:
        (copied, excluded), (path, mapping) = each, place
        size, footer = restore_file(copied.file, path, has_snapshot_ids=copied.has_snapshot_ids)
        deletes = None
        if len(excluded):
            deletes = write_delete_file(path, 0, earlier.path, excluded, encrypted=context.catalog.encrypted)
            written.append(deletes.path)
        file = replace(copied.as_written_file, path=path, size_bytes=size, footer_size=footer, mapping=mapping)
        return RestoredFile(file, copied.file.row_id_start, copied.partition_id, deletes)

    with ThreadPoolExecutor(storage.THREADS) as pool:
        return tuple(pool.map(restore, found.files_restored, places))


def _new_partition_id(partition_id: int | None, original: Table, earlier: Table) -> int | None:
    """Return the id of the same partition keys in the new table; None for a file of keys older than those of `original`."""
    same = original.partitioning is not None and original.partitioning.partition_id == partition_id
    return earlier.partitioning.partition_id if same and earlier.partitioning is not None else None


def _flush_inlined_deletes(context: Context, earlier: Table, found: Difference, written: list[str]) -> Flush | None:
    """Write the inlined deletes of the table's files to delete files."""
    if not any(file.inlined_deletes for file in found.ended):
        return None
    deletes = context.transaction.rows_to_end(earlier).inlined_deletes
    files = write_deletes(deletes, earlier.path, encrypted=context.catalog.encrypted)
    written += [file.path for file in files]
    return Flush((), files, {}, sum(each.entries for each in deletes), context.transaction.snapshot.snapshot_id)


def _restore_inlined_rows(
    context: Context, earlier: Table, found: Difference, written: list[str]
) -> tuple[StagedRows | None, tuple[RestoredFile, ...]]:
    """Return the inlined rows to restore, in the earlier columns; as files if the catalog database cannot store these columns."""
    parts = found.inlined_restored
    rows = [row for part in parts for row in _converted_rows(part, earlier)]
    row_ids = [row_id for part in parts for row_id in part.row_ids]
    if not rows:
        return None, ()
    if context.catalog.can_inline(earlier.columns, rows):
        return StagedRows("restored", earlier.columns, tuple(rows), tuple(row_ids), stats_of_rows(earlier.columns, rows)), ()
    options = context.transaction.write_options(earlier)
    files = write_rows(rows, row_ids, earlier, options, stored_order(earlier, options))
    written += [file.path for file in files]
    partition_id = None if earlier.partitioning is None else earlier.partitioning.partition_id
    return None, tuple(RestoredFile(file, None, partition_id, None) for file in files)


def _converted_rows(part: InlinedRows, earlier: Table) -> list[tuple[object, ...]]:
    columns = {column.column_id: (index, column) for index, column in enumerate(part.columns)}

    def value(row: tuple[object, ...], column: Column) -> object:
        if column.column_id not in columns:
            return initial_value(column)
        index, old = columns[column.column_id]
        return converted(row[index], old, column)

    return [tuple(value(row, column) for column in earlier.columns) for row in part.rows]


def _versions(parts: Sequence[InlinedRows]) -> set[tuple[str, int, int]]:
    return {version for rows in parts for version in rows.versions}
