"""What a checkpoint would do now, from the catalog alone and without changing anything.

The steps are planned as by `lake/flush.py`, `lake/compaction.py` and `run/maintenance.py`. Each step of a checkpoint starts from what
the one before it left, so it may do more than this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..catalog.lake import LakeCatalog
from ..catalog.read.reader import SnapshotReader
from ..catalog.read.table_summaries import TableSummary
from ..format.compaction import Group, to_merge, to_rewrite
from ..format.objects import Table
from ..format.option_values import limit_of_age
from ..format.options import Options, truth
from .formatting import counted, number


@dataclass(frozen=True)
class Step:
    """A step of a checkpoint: its name, whether it has something to do (None if that is unknown), and what, in words."""

    name: str
    is_needed: bool | None
    outcome: str


def forecast(
    catalog: LakeCatalog, reader: SnapshotReader, tables: Sequence[Table], summaries: Mapping[int, TableSummary], now: datetime
) -> list[Step]:
    """Return the steps of a checkpoint in their order.

    Args:
        catalog: the lake.
        reader: reads the newest snapshot, or the one at which the lake was opened.
        tables: the tables of this snapshot that have a summary, including those without maintenance.
        summaries: table id → summaries of these tables at this snapshot.
        now: the time to which the ages in the options are relative.
    """
    options = catalog.options()
    schemas = {schema.name: schema.schema_id for schema in reader.schemas()}
    maintained = [each for each in tables if truth(options.get("auto_compact", **_scope(each, schemas)))]
    merges, rewrites = _compactions(reader, maintained, schemas, options, summaries)
    merged, rewritten = sum(map(len, merges)), sum(map(len, rewrites))
    return [
        _flush([summaries[each.table_id] for each in maintained]),
        _expiry(catalog, options, now),
        Step(
            "merge_adjacent_files",
            merged > 0,
            f"{counted(merged, 'file')} to merge into {number(len(merges))}" if merged else "no files to merge",
        ),
        Step(
            "rewrite_data_files",
            rewritten > 0,
            f"{counted(rewritten, 'file')} to rewrite, which lost most of their rows" if rewritten else "no files to rewrite",
        ),
        _cleanup(catalog, options, now),
        Step("delete_orphaned_files", None, "only the storage knows the files that the catalog does not name"),
    ]


def _scope(table: Table, schemas: Mapping[str, int]) -> dict[str, int]:
    return {"schema_id": schemas[table.schema_name], "table_id": table.table_id}


def _flush(summaries: Sequence[TableSummary]) -> Step:
    """Return the flush, which also writes the deleted rows and the deletes of files that only older snapshots read."""
    found = [each for each in summaries if each.rows_to_flush or each.deletes_to_flush]
    rows, deletes = sum(each.rows_to_flush for each in found), sum(each.deletes_to_flush for each in found)
    what = [counted(count, noun) for count, noun in ((rows, "inlined row"), (deletes, "inlined delete")) if count]
    outcome = f"{' and '.join(what)} in {counted(len(found), 'table')} to write to files" if found else "no inlined rows"
    return Step("flush_inlined_data", bool(found), outcome)


def _compactions(
    reader: SnapshotReader, tables: Sequence[Table], schemas: Mapping[str, int], options: Options, summaries: Mapping[int, TableSummary]
) -> tuple[list[Group], list[Group]]:
    merges: list[Group] = []
    rewrites: list[Group] = []
    for table in tables:
        found = summaries[table.table_id]
        if found.file_count < 2 and not found.deleted_rows:
            continue
        scope = _scope(table, schemas)
        target = options.write_options(**scope).target_file_size
        candidates = reader.compaction_plan(table).candidates
        merges += to_merge(candidates, target)
        rewrites += to_rewrite(candidates, target, options.rewrite_threshold(**scope))
    return merges, rewrites


def _expiry(catalog: LakeCatalog, options: Options, now: datetime) -> Step:
    interval = options.get("expire_older_than")
    if not interval:
        return Step("expire_snapshots", False, "none: the option expire_older_than is not set, so all snapshots are kept")
    count = len(catalog.maintenance.expire(older_than=limit_of_age("expire_older_than", interval, now), dry_run=True))
    return Step(
        "expire_snapshots",
        count > 0,
        f"{counted(count, 'snapshot')} older than {interval}" if count else f"no snapshots older than {interval}",
    )


def _cleanup(catalog: LakeCatalog, options: Options, now: datetime) -> Step:
    interval = options.get("delete_older_than") or "2 days"
    waiting = len(catalog.maintenance.scheduled(None))
    due = len(catalog.maintenance.scheduled(limit_of_age("delete_older_than", interval, now)))
    outcome = f"{counted(due, 'file')} to remove, which nothing reads" if due else "no files to remove"
    return Step(
        "cleanup_old_files", due > 0, f"{outcome}, {number(waiting - due)} not before {interval} have passed" if waiting > due else outcome
    )
