"""The rows of one table back to what they were at an earlier snapshot, by metadata and second names of files.

A file that is live with the deletes of then is left alone; any other live one ends, and those of then come back under new names: the row of
a file that has ended may be removed by anybody's expiry, and its path with it. What the catalog holds of deletes on files that end becomes
delete files, as in `delete.end_all_rows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..catalog.read.rollback_plan import FormerFile, RollbackPlan
from ..catalog.staged import Flush, Returned, ReturnedFile, RowChanges, StagedRows
from ..format.files import DataFile, InlinedRows
from ..format.inlined_cells import conformed, initial_value
from ..format.objects import Table
from ..format.row_statistics import stats_of_rows
from ..spark.arrow.flushed import write_deletes
from ..spark.arrow.returned import absent_rows, bring_back, new_name, require_file, write_rows
from ..spark.files import storage
from ..spark.files.deletes import write_delete_file
from .context import Context
from .order import stored_order

if TYPE_CHECKING:
    import pyarrow as pa

_THREADS = 8
"""Copies at a time, where a storage makes them."""


@dataclass(frozen=True)
class Difference:
    """What the rows of a table need to be those of an earlier snapshot again."""

    plan: RollbackPlan
    ended: tuple[DataFile, ...]
    returned: tuple[tuple[FormerFile, pa.Array], ...]
    """With the positions that were deleted then."""
    rows_before: int
    rows_after: int

    @property
    def restored(self) -> Difference:
        """The same for a table that was dropped: nothing of it is left to end, and all comes back."""
        return replace(self, plan=replace(self.plan, inlined_now=()), rows_before=0)

    @property
    def inlined_ended(self) -> dict[str, frozenset[int]]:
        """Row ids by inlined-data table."""
        then = _keys(self.plan.inlined_then)
        found = {rows.table_name: {key[1] for key in _keys([rows]) - then} for rows in self.plan.inlined_now}
        return {name: frozenset(ids) for name, ids in found.items() if ids}

    @property
    def inlined_returned(self) -> tuple[InlinedRows, ...]:
        """Rows of then that have ended."""
        now = _keys(self.plan.inlined_now)
        return tuple(part for rows in self.plan.inlined_then if (part := _without(rows, now)).row_ids)

    @property
    def is_empty(self) -> bool:
        """The rows are those of then."""
        return not (self.ended or self.returned or self.inlined_ended or self.inlined_returned)


def difference(plan: RollbackPlan) -> Difference:
    """Compare file by file; delete files are read where there are any.

    Raises:
        LakeError: storage has lost a file that would come back.
    """
    then = {former.file.data_file_id: former for former in plan.then}
    absent_then = {file_id: absent_rows(former.file) for file_id, former in then.items()}
    absent_now = {file_id: absent_rows(file) for file_id, file in plan.now.items()}
    kept = {file_id for file_id in then.keys() & plan.now.keys() if absent_then[file_id].equals(absent_now[file_id])}
    rows_then = {file_id: former.file.record_count - len(absent_then[file_id]) for file_id, former in then.items()}
    rows_now = sum(file.record_count - len(absent_now[file_id]) for file_id, file in plan.now.items())
    returned = tuple((former, absent_then[key]) for key, former in then.items() if key not in kept and rows_then[key] > 0)
    for former, _ in returned:
        require_file(former.file)
    return Difference(
        plan,
        tuple(file for file_id, file in plan.now.items() if file_id not in kept),
        returned,
        rows_now + sum(len(rows.row_ids) for rows in plan.inlined_now),
        sum(rows_then.values()) + sum(len(rows.row_ids) for rows in plan.inlined_then),
    )


def stage(context: Context, then: Table, found: Difference, former: Table | None = None) -> None:
    """Stage the table's definition of then and its rows.

    Args:
        then: with the name and the ids that it is to have.
        former: the table that was dropped, where `then` is staged as a new one.

    Raises:
        LakeError: storage has lost a file. No file is left behind.
    """
    names = [new_name(former.file.path, then.path) for former, _ in found.returned]
    written: list[str] = []
    try:
        flush = _flush(context, then, found, written)
        files = _files(then, found, names, written)
        if former is not None:
            files = tuple(replace(file, partition_id=_renewed(file.partition_id, former, then)) for file in files)
        inlined, more = _inlined(context, then, found, written)
        nothing = found.is_empty and former is None
        former_id = None if former is None else former.table_id
        changes = RowChanges(
            ended_files=frozenset(file.data_file_id for file in found.ended),
            ended_inlined=found.inlined_ended,
            flush=flush,
            returned=None if nothing else Returned((*files, *more), inlined, found.plan.retyped, former_id),
        )
        context.transaction.return_to(then, changes)
        context.transaction.rows.depends_on_rows(then)
    except BaseException:
        storage.remove([*names, *written])
        raise


def _files(then: Table, found: Difference, names: Sequence[str], written: list[str]) -> tuple[ReturnedFile, ...]:
    def returned(former: FormerFile, name: str) -> tuple[int, int]:
        return bring_back(former.file, name, has_snapshot_ids=former.has_snapshot_ids)

    with ThreadPoolExecutor(_THREADS) as pool:
        sizes = list(pool.map(returned, (former for former, _ in found.returned), names))
    files = []
    for (former, absent), name, (size, footer) in zip(found.returned, names, sizes, strict=True):
        deletes = write_delete_file(name, 0, then.path, absent) if len(absent) else None
        if deletes is not None:
            written.append(deletes.path)
        file = replace(former.written, path=name, size_bytes=size, footer_size=footer)
        files.append(ReturnedFile(file, former.file.row_id_start, former.partition_id, deletes))
    return tuple(files)


def _renewed(partition_id: int | None, former: Table, then: Table) -> int | None:
    """The id of the keys in the new table; files of keys before those of then are without."""
    same = former.partitioning is not None and former.partitioning.partition_id == partition_id
    return then.partitioning.partition_id if same and then.partitioning is not None else None


def _flush(context: Context, then: Table, found: Difference, written: list[str]) -> Flush | None:
    """What the catalog holds of deletes on the table's files, as delete files."""
    if not any(file.inlined_deletes for file in found.ended):
        return None
    deletes = context.transaction.inlined_deletes(then)
    files = write_deletes(deletes, then.path)
    written += [file.path for file in files]
    return Flush((), None, files, {}, sum(each.entries for each in deletes), context.transaction.snapshot.snapshot_id)


def _inlined(context: Context, then: Table, found: Difference, written: list[str]) -> tuple[StagedRows | None, tuple[ReturnedFile, ...]]:
    """The inlined rows that come back, in the columns of then; as files where the catalog cannot hold them in these columns."""
    parts = found.inlined_returned
    rows = [row for part in parts for row in _in_columns(part, then)]
    row_ids = [row_id for part in parts for row_id in part.row_ids]
    if not rows:
        return None, ()
    if context.catalog.can_inline(then.columns, rows):
        return StagedRows("returned", then.columns, tuple(rows), tuple(row_ids), stats_of_rows(then.columns, rows)), ()
    options = context.transaction.write_options(then)
    files = write_rows(rows, row_ids, then, options, stored_order(then, options))
    written += [file.path for file in files]
    partition_id = None if then.partitioning is None else then.partitioning.partition_id
    return None, tuple(ReturnedFile(file, None, partition_id, None) for file in files)


def _in_columns(part: InlinedRows, then: Table) -> list[tuple[object, ...]]:
    former = {column.column_id: (place, column) for place, column in enumerate(part.columns)}

    def value(row: tuple[object, ...], column_id: int, place: int) -> object:
        column = then.columns[place]
        if column_id not in former:
            return initial_value(column)
        index, old = former[column_id]
        return conformed(row[index], old, column)

    return [tuple(value(row, column.column_id, place) for place, column in enumerate(then.columns)) for row in part.rows]


def _keys(parts: Sequence[InlinedRows]) -> set[tuple[str, int, int]]:
    return {(rows.table_name, *key) for rows in parts for key in zip(rows.row_ids, rows.begin_snapshots, strict=True)}


def _without(rows: InlinedRows, keys: set[tuple[str, int, int]]) -> InlinedRows:
    lives = zip(rows.row_ids, rows.begin_snapshots, strict=True)
    places = [place for place, life in enumerate(lives) if (rows.table_name, *life) not in keys]
    return replace(
        rows,
        row_ids=[rows.row_ids[place] for place in places],
        begin_snapshots=[rows.begin_snapshots[place] for place in places],
        rows=[rows.rows[place] for place in places],
    )
