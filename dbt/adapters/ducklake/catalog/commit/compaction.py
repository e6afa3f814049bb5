"""A compaction in a commit: new files replace old ones.

Specification: the pages "Merge Adjacent Files" and "Rewrite Heavily Deleted Files". A merged file replaces the old ones at every snapshot,
so their catalog rows are removed. A rewritten file lacks the deleted rows, so the old files only end: older snapshots still read them. If
a concurrent writer has deleted rows of a file or moved them, in delete files or inlined, the group of the file is left out of the commit,
so that no delete is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import func, select

from ...errors import ConflictError
from ...format.changes import Kind
from ...format.compaction import Candidate, Compacted, Compaction
from ...format.files import WrittenFile
from ...format.objects import Table
from ..staged import Staged
from ..store import tables as t
from ..store.database import rows_with_ids
from ..store.inlined import find_delete_table
from .files import FileEntry, live_delete_files, schedule, write_data_file
from .state import CommitState
from .stats import double_columns, float_columns, without_bounds_of


def write_compaction(state: CommitState, table: Table, compaction: Compaction) -> None:
    """Register the new files, and end or remove the old ones.

    Args:
        state: the attempt to commit.
        table: the table's definition, with its id in the catalog.
        compaction: the old files and the new ones, without those that `without_changed_files` leaves out.
    """
    sources = [candidate for unit in compaction.units for candidate in unit.group]
    ids = [candidate.file.data_file_id for candidate in sources]
    if compaction.rewrites:
        state.end(t.data_file, t.data_file.c.data_file_id, ids)
        state.end(t.delete_file, t.delete_file.c.data_file_id, ids)
    else:
        for metadata_table in (t.data_file, t.file_column_stats, t.file_variant_stats, t.file_partition_value, t.delete_file):
            state.remove(metadata_table, metadata_table.c.data_file_id, ids)
        for candidate in sources:
            schedule(state, candidate.file.data_file_id, candidate.file.path)
    doubles = double_columns(state, table)
    for unit in compaction.units:
        if unit.file is not None:
            file = without_bounds_of(unit.file, doubles & float_columns(unit.columns))  # see the reason in `double_columns`
            _write_file(state, table, unit, file, compaction.rewrites)
    state.log(Kind.REWRITE_DELETE if compaction.rewrites else Kind.MERGE_ADJACENT, table.table_id)


def without_changed_files(state: CommitState) -> Staged:
    """Return the staged changes without the groups of compactions in which a file has changed since it was read.

    Raises:
        ConflictError: all groups of a table have such a file.
    """
    staged = state.staged
    for table_id, changes in staged.rows.items():
        if changes.compaction is None:
            continue
        units = changes.compaction.units
        changed = _changed_files(state, table_id, [candidate for unit in units for candidate in unit.group])
        kept = tuple(unit for unit in units if not any(candidate.file.data_file_id in changed for candidate in unit.group))
        left = sum(len(unit.group) for unit in units) - sum(len(unit.group) for unit in kept)
        if not kept:
            table = state.table(table_id)
            raise ConflictError(
                f"files of {table.schema_name}.{table.name} have changed since their compaction began; nothing was written, so run it again"
            )
        compaction = replace(changes.compaction, units=kept, left=changes.compaction.left + left)
        staged = staged.with_rows(table_id, replace(changes, compaction=compaction))
    return staged


def _changed_files(state: CommitState, table_id: int, sources: Sequence[Candidate]) -> set[int]:
    """Return the ids of the old files that have ended, or have other rows or deletes than when they were read."""
    start = state.base.snapshot.snapshot_id
    files = {candidate.file.data_file_id: candidate.file for candidate in sources}
    key = t.data_file.c.data_file_id
    live = select(key, t.data_file.c.partial_max).where(t.data_file.c.end_snapshot.is_(None))
    # a concurrent merge or flush can add rows and deletes of later snapshots to a file that existed before
    unchanged = {row[0] for row in rows_with_ids(state.connection, live, key, files) if (row.partial_max or 0) <= start}
    inlined_counts: Counter[int] = Counter()
    entries = find_delete_table(state.connection, table_id)
    if entries is not None:
        query = select(entries.c.file_id, func.count(entries.c.row_id.distinct())).group_by(entries.c.file_id)
        inlined_counts.update(dict(tuple(row) for row in rows_with_ids(state.connection, query, entries.c.file_id, files)))
    delete_files = live_delete_files(state, list(files))
    for file_id, file in files.items():
        current, planned = delete_files.get(file_id), file.delete_file
        same_file = current is None if planned is None else current is not None and current.delete_file_id == planned.delete_file_id
        later = current is not None and (current.partial_max or 0) > start
        if not same_file or later or inlined_counts[file_id] != len(file.inlined_deletes):
            unchanged.discard(file_id)
    return set(files) - unchanged


def _write_file(state: CommitState, table: Table, unit: Compacted, file: WrittenFile, rewrites: bool) -> None:
    """Register the new file of a group. A merged file begins at the oldest snapshot of the old files, a rewritten one at this commit."""
    entry = FileEntry(
        state.new_file_id(),
        begin_snapshot=state.snapshot_id if rewrites else min(candidate.file.begin_snapshot for candidate in unit.group),
        row_id_start=unit.row_id_start,
        partition_id=unit.group[0].partition_id,
        partial_max=None if rewrites else max(candidate.newest for candidate in unit.group),
    )
    write_data_file(state, table, file, entry)
