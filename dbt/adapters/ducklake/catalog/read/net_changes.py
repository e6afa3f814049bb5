"""Plan the net changes of a table: the rows that one snapshot has and an earlier one does not have, and the reverse.

Specification: "Queries", reading data. Both snapshots are compared by their files, so the snapshots between them may have expired.
Files and inlined rows that both have are left out, except for the rows that were deleted from them or added to them since.
"""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy.engine import Connection

from ...format.files import ChangePlan, DataFile, DeleteFile, InlinedRows, ScanPlan
from ...format.objects import Table
from ..store.database import Database
from .change_plan import read_changes
from .column_history import read_history
from .scan_plan import CommittedRows, read_rows


def read_net_changes(connection: Connection, database: Database, table: Table, earlier: int, later: int, after: ScanPlan) -> ChangePlan:
    """Return the plan for the rows that changed from the snapshot `earlier` to `after`.

    Args:
        connection: a connection to the catalog database.
        database: the catalog database.
        table: the table's definition, the same at both snapshots.
        earlier: the earlier snapshot.
        later: the snapshot of `after`, or the one on which its staged changes are based.
        after: the scan plan of the later rows.

    Raises:
        LakeError: a row of the catalog is damaged.
    """
    history = read_history(connection, table.table_id)
    before = read_rows(connection, database, table, history, earlier)
    feed = read_changes(connection, table, history, earlier + 1, later)
    files_before, files_after = ({file.data_file_id: file for file in rows.files} for rows in (before, after))
    ended = tuple(file for file_id, file in files_before.items() if file_id not in files_after)
    staged_deletes = {
        key: file.delete_file for key, file in files_after.items() if file.delete_file is not None and file.delete_file.delete_file_id < 0
    }
    changed = {file.data_file_id for file in feed.files_with_deletes.files} | staged_deletes.keys()
    changed_ids = sorted(changed & files_before.keys() & files_after.keys())
    plan = history.plan(table)
    return ChangePlan(
        inserted=replace(plan, files=_created(files_before, files_after, earlier), inlined=_only_in(after, before)),
        ended=replace(plan, files=ended, inlined=_with_ends(_only_in(before, after), feed.ended.inlined, later)),
        end_snapshots={file.data_file_id: feed.end_snapshots.get(file.data_file_id, later) for file in ended},
        files_with_deletes=replace(
            plan, files=tuple(replace(files_before[file_id], delete_file=None, inlined_deletes=()) for file_id in changed_ids)
        ),
        delete_files={file_id: _delete_files(files_before[file_id], feed, staged_deletes.get(file_id)) for file_id in changed_ids},
        inlined_deletes={
            file_id: feed.inlined_deletes.get(file_id) or dict.fromkeys(files_before[file_id].inlined_deletes, earlier)
            for file_id in changed_ids
        },
    )


def _delete_files(file: DataFile, feed: ChangePlan, staged: DeleteFile | None) -> tuple[DeleteFile, ...]:
    """Return the delete files of a file, oldest first: those of the feed, or its own if the feed has none; then the staged one."""
    known = feed.delete_files.get(file.data_file_id) or (file.delete_file,)
    return tuple(each for each in (*known, staged) if each is not None)


def _created(before: dict[int, DataFile], after: dict[int, DataFile], earlier: int) -> tuple[DataFile, ...]:
    """Return the files with new rows; a merged file may have old rows as well."""
    new = [file for file_id, file in after.items() if file_id not in before]
    merged = [
        replace(after[file_id], rows_from_snapshot=earlier + 1)
        for file_id, file in before.items()
        if file.rows_until_snapshot is not None and file_id in after
    ]
    return (*new, *merged)


def _only_in(these: CommittedRows | ScanPlan, others: CommittedRows | ScanPlan) -> tuple[InlinedRows, ...]:
    """Return the inlined rows of `these` that `others` does not have."""
    other_versions = {version for rows in others.inlined for version in rows.versions}
    return tuple(part for rows in these.inlined if (part := rows.without(other_versions)).rows)


def _with_ends(ended: tuple[InlinedRows, ...], feed: tuple[InlinedRows, ...], default: int) -> tuple[InlinedRows, ...]:
    """Return the ended inlined rows, each with its end snapshot in place of its begin snapshot."""
    ends: dict[tuple[str, int], int] = {}
    for rows in feed:
        for name, row_id, end in rows.versions:
            ends[name, row_id] = min(end, ends.get((name, row_id), end))
    return tuple(replace(rows, begin_snapshots=[ends.get((rows.table_name, row_id), default) for row_id in rows.row_ids]) for rows in ended)
