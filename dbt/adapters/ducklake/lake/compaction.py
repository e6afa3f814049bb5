"""Compaction: merge small files, and rewrite files with many deleted rows.

Specification: the pages "Merge Adjacent Files" and "Rewrite Heavily Deleted Files". Time travel, row ids and the change feed stay the same,
except that a rewrite appears in the change feed as updates, as with DuckDB.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..errors import StatementError
from ..format.compaction import Candidate, Compacted, Compaction, Group, to_merge, to_rewrite
from ..format.objects import Table
from ..spark.files.storage import remove
from ..spark.write.compaction import Job, write_compacted
from .context import Context
from .maintained import maintained_tables
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
    schema: str | None = None,
    table: str | None = None,
    *,
    min_file_size: int | None = None,
    max_file_size: int | None = None,
    max_compacted_files: int | None = None,
) -> list[CompactionResult]:
    """Stage merging small adjacent files of a table, of the tables of a schema, or of all tables.

    Args:
        context: the catalog, the transaction and Spark.
        schema: only tables of this schema; None for all schemas.
        table: only this table; None for all tables.
        min_file_size: smaller files are not merged; in bytes, None for 0.
        max_file_size: files of this size or larger are not merged; in bytes, None for the target file size.
        max_compacted_files: the maximum number of new files, for all tables together.

    Returns:
        An entry for each group of files; `files_created` is 0 if no row was left.

    Raises:
        NotFoundError: the schema or table does not exist.
        ConfigurationError: the lake is read-only.
        LakeError: Spark cannot represent a value; nothing was changed.
        StatementError: `max_compacted_files` is less than 1, or a size is negative.
    """
    if max_compacted_files is not None and max_compacted_files < 1:
        raise StatementError("max_compacted_files must be at least 1")
    if min(min_file_size or 0, max_file_size or 0) < 0:
        raise StatementError("min_file_size and max_file_size must be 0 or more (bytes)")
    remaining = max_compacted_files
    results: list[CompactionResult] = []
    for each in maintained_tables(context, schema, table):
        target = context.transaction.write_options(each).target_file_size

        def choose(candidates: Sequence[Candidate], target: int = target, remaining: int | None = remaining) -> list[Group]:
            return to_merge(candidates, target, min_file_size or 0, max_file_size)[:remaining]

        results += _compact(context, each, choose, rewrites=False)
        remaining = None if max_compacted_files is None else max_compacted_files - len(results)
        if remaining == 0:
            break
    return results


def rewrite_data_files(
    context: Context, schema: str | None = None, table: str | None = None, *, delete_threshold: float | None = None
) -> list[CompactionResult]:
    """Stage rewriting the files of which at least a given share of the rows is deleted.

    Results are those of `merge_adjacent_files`, and so are errors.

    Args:
        context: the catalog, the transaction and Spark.
        schema: only tables of this schema; None for all schemas.
        table: only this table; None for all tables.
        delete_threshold: the share, from 0 to 1; None for the option `rewrite_delete_threshold`.

    Raises:
        StatementError: `delete_threshold` is not between 0 and 1.
    """
    if delete_threshold is not None and not 0 <= delete_threshold <= 1:
        raise StatementError(f"delete_threshold must be a fraction of rows, from 0 to 1, not {delete_threshold}")
    results: list[CompactionResult] = []
    for each in maintained_tables(context, schema, table):
        schema_id = required_schema(context, each.schema_name).schema_id
        stored = context.transaction.options().rewrite_threshold(schema_id=schema_id, table_id=each.table_id)
        threshold = stored if delete_threshold is None else delete_threshold
        target = context.transaction.write_options(each).target_file_size

        def choose(candidates: Sequence[Candidate], target: int = target, threshold: float = threshold) -> list[Group]:
            return to_rewrite(candidates, target, threshold)

        results += _compact(context, each, choose, rewrites=True)
    return results


def _compact(
    context: Context, table: Table, choose: Callable[[Sequence[Candidate]], list[Group]], *, rewrites: bool
) -> list[CompactionResult]:
    plan = context.transaction.base.compaction_plan(table)
    groups = choose(plan.candidates)
    if not groups:
        return []
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
    return [CompactionResult(table.schema_name, table.name, len(unit.group), 0 if unit.file is None else 1) for unit in units]
