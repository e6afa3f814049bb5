"""Compaction: merge small files, and rewrite files with many deleted rows.

Specification: the pages "Merge Adjacent Files" and "Rewrite Heavily Deleted Files". Time travel, row ids and the change feed stay the same,
except that a rewrite appears in the change feed as updates, as with DuckDB.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..format.compaction import Candidate, Compacted, Compaction, Group, to_merge, to_rewrite
from ..format.objects import Table
from ..spark.files.storage import remove
from ..spark.write.compaction import Job, write_compacted
from .context import Context
from .maintained import Maintained
from .order import spark_order
from .schemas import required_schema

logger = logging.getLogger(__name__)

COLUMNS = (("schema_name", "string"), ("table_name", "string"), ("files_processed", "bigint"), ("files_created", "bigint"))


@dataclass(frozen=True)
class CompactionResult:
    """The result for a group of files."""

    schema_name: str
    table_name: str
    files_processed: int
    files_created: int


def merge_adjacent_files(
    context: Context,
    table: Table,
    *,
    min_file_size: int | None = None,
    max_file_size: int | None = None,
    max_compacted_files: int | None = None,
) -> None:
    """Stage merging small adjacent files of a table.

    Args:
        context: the transaction and Spark.
        table: the table.
        min_file_size: smaller files are not merged; in bytes, None for 0.
        max_file_size: files of this size or larger are not merged; in bytes, None for the target file size.
        max_compacted_files: the maximum number of new files.

    Raises:
        LakeError: Spark cannot represent a value; nothing was changed.
    """
    target = context.transaction.write_options(table).target_file_size
    groups = partial(to_merge, target=target, at_least=min_file_size or 0, below=max_file_size)
    _compact(context, table, lambda candidates: groups(candidates)[:max_compacted_files], rewrites=False)


def rewrite_data_files(context: Context, table: Table, *, delete_threshold: float | None = None) -> None:
    """Stage rewriting the files of a table of which at least a given share of the rows is deleted.

    Args:
        context: the transaction and Spark.
        table: the table.
        delete_threshold: the share, from 0 to 1; None for the option `rewrite_delete_threshold`.

    Raises:
        LakeError: Spark cannot represent a value; nothing was changed.
    """
    options = context.transaction.options()
    schema_id = required_schema(context, table.schema_name).schema_id
    stored = options.rewrite_threshold(schema_id=schema_id, table_id=table.table_id)
    target = context.transaction.write_options(table).target_file_size
    threshold = stored if delete_threshold is None else delete_threshold
    _compact(context, table, partial(to_rewrite, target=target, threshold=threshold), rewrites=True)


def compacted(context: Context, table: Table) -> Maintained[CompactionResult]:
    """Return what a transaction has merged or rewritten of a table, after its commit: an entry for each group of files.

    `files_created` of an entry is 0 if no row was left.
    """
    changes = context.transaction.staged.rows.get(table.table_id)
    if changes is None or changes.compaction is None:
        return Maintained()
    units = changes.compaction.units
    results = [CompactionResult(table.schema_name, table.name, len(each.group), 0 if each.file is None else 1) for each in units]
    return Maintained(results, changes.compaction.left)


def _compact(context: Context, table: Table, choose: Callable[[Sequence[Candidate]], list[Group]], *, rewrites: bool) -> None:
    plan = context.transaction.base.compaction_plan(table)
    groups = choose(plan.candidates)
    if not groups:
        return
    options = context.transaction.write_options(table)
    order = spark_order(table, replace(options, sort_on_insert=True))
    total, processed = sum(len(group) for group in groups), 0
    units: list[Compacted] = []
    try:
        for version, layout in plan.layouts.items():
            same_version = [group for group in groups if group[0].schema_version == version]
            if same_version:
                # a merged file serves older snapshots too, so its rows keep their snapshot ids
                job = Job(table, layout, options, order, snapshot_ids=not rewrites)
                units += write_compacted(context.spark(), same_version, job)
                processed += sum(len(group) for group in same_version)
                done = "rewritten" if rewrites else "merged"
                logger.info("%s.%s: %d of %d files %s", table.schema_name, table.name, processed, total, done)
        context.transaction.rows.compact(table, Compaction(tuple(units), rewrites))
    except BaseException:
        remove(unit.file.path for unit in units if unit.file is not None)
        raise
