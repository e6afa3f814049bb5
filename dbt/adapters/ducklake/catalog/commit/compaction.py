"""A compaction in a commit: new files replace old ones.

Specification: the pages "Merge Adjacent Files" and "Rewrite Heavily Deleted Files". A merged file replaces the old ones at every snapshot,
so their catalog rows are removed. A rewritten file lacks the deleted rows, so the old files only end: older snapshots still read them. If
a concurrent writer has deleted rows of the old files, in delete files or inlined, the commit fails, so that no delete is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sqlalchemy import func, select

from ...errors import ConflictError
from ...format.changes import Kind
from ...format.compaction import Candidate, Compacted, Compaction
from ...format.files import WrittenFile
from ...format.objects import Table
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
        compaction: the old files and the new ones.

    Raises:
        ConflictError: an old file has ended, or its deletes have changed.
    """
    sources = [candidate for unit in compaction.units for candidate in unit.group]
    _require_unchanged(state, table, sources)
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


def _require_unchanged(state: CommitState, table: Table, sources: Sequence[Candidate]) -> None:
    """Require that all old files are live and have the same deletes as when they were read.

    Raises:
        ConflictError: a file has ended, or its deletes have changed.
    """
    ids = [candidate.file.data_file_id for candidate in sources]
    key = t.data_file.c.data_file_id
    live_ids = {row[0] for row in rows_with_ids(state.connection, select(key).where(t.data_file.c.end_snapshot.is_(None)), key, ids)}
    inlined_counts: Counter[int] = Counter()
    entries = find_delete_table(state.connection, table.table_id)
    if entries is not None:
        query = select(entries.c.file_id, func.count(entries.c.row_id.distinct())).group_by(entries.c.file_id)
        inlined_counts.update(dict(tuple(row) for row in rows_with_ids(state.connection, query, entries.c.file_id, ids)))
    delete_files = live_delete_files(state, ids)
    for candidate in sources:
        file = candidate.file
        current = delete_files.get(file.data_file_id)
        current_id = None if current is None else current.delete_file_id
        planned_id = None if file.delete_file is None else file.delete_file.delete_file_id
        same_deletes = current_id == planned_id and inlined_counts[file.data_file_id] == len(file.inlined_deletes)
        if file.data_file_id not in live_ids or not same_deletes:
            raise ConflictError(
                f"files of {table.schema_name}.{table.name} have changed since their compaction began; nothing was written, so run it again"
            )


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
