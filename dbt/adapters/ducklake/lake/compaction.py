"""Compaction: small files become one, and files that have lost most of their rows are written again.

Specification: the pages "Merge Adjacent Files" and "Rewrite Heavily Deleted Files". Time travel, row ids and the change feed stay as they
are, except that a rewrite shows up in the change feed as updates, as the reference's does.
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
class United:
    """What became of a group of files."""

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
) -> list[United]:
    """Stage the union of small neighbouring files of a table, of the tables of a schema, or of all.

    Args:
        min_file_size: smaller files are left alone; in bytes.
        max_file_size: files of this size and larger ones are left alone; in bytes.
        max_compacted_files: how many files are made at most, in all tables together.

    Returns:
        An entry for each file that was made.

    Raises:
        NotFoundError: no such schema or table; ConfigurationError: the lake can only be read.
        LakeError: a value that Spark cannot hold; nothing is changed.
    """
    if max_compacted_files is not None and max_compacted_files < 1:
        raise StatementError("max_compacted_files must be at least 1")
    left = max_compacted_files
    united: list[United] = []
    for each in maintained_tables(context, schema, table):
        target = context.transaction.write_options(each).target_file_size

        def chosen(candidates: Sequence[Candidate], target: int = target, left: int | None = left) -> list[Group]:
            return to_merge(candidates, target, min_file_size or 0, max_file_size)[:left]

        united += _compact(context, each, chosen, rewrites=False)
        left = None if max_compacted_files is None else max_compacted_files - len(united)
        if left == 0:
            break
    return united


def rewrite_data_files(
    context: Context, schema: str | None = None, table: str | None = None, *, delete_threshold: float | None = None
) -> list[United]:
    """Stage new files in the place of those of which at least `delete_threshold` (0 to 1) of the rows is deleted.

    Without a threshold the option `rewrite_delete_threshold` counts. Results and errors are those of `merge_adjacent_files`.
    """
    if delete_threshold is not None and not 0 <= delete_threshold <= 1:
        raise StatementError(f"delete_threshold is a share of rows, from 0 to 1, not {delete_threshold}")
    united: list[United] = []
    for each in maintained_tables(context, schema, table):
        schema_id = required_schema(context, each.schema_name).schema_id
        option = context.transaction.options().get("rewrite_delete_threshold", schema_id=schema_id, table_id=each.table_id)
        threshold = float(option or 0.95) if delete_threshold is None else delete_threshold
        target = context.transaction.write_options(each).target_file_size

        def chosen(candidates: Sequence[Candidate], target: int = target, threshold: float = threshold) -> list[Group]:
            return to_rewrite(candidates, target, threshold)

        united += _compact(context, each, chosen, rewrites=True)
    return united


def _compact(context: Context, table: Table, chosen: Callable[[Sequence[Candidate]], list[Group]], *, rewrites: bool) -> list[United]:
    plan = context.transaction.base.compaction_plan(table)
    groups = chosen(plan.candidates)
    if not groups:
        return []
    options = context.transaction.write_options(table)
    order = spark_order(table, replace(options, sort_on_insert=True))
    total, done = sum(len(group) for group in groups), 0
    units: list[Compacted] = []
    try:
        for version, layout in plan.layouts.items():
            alike = [group for group in groups if group[0].schema_version == version]
            if alike:
                job = Job(table, layout, options, order, snapshot_ids=not rewrites)
                units += write_compacted(context.spark(), alike, job)
                done += sum(len(group) for group in alike)
                logger.info("%s.%s: %d of %d files done", table.schema_name, table.name, done, total)
        context.transaction.rows.compact(table, Compaction(tuple(units), rewrites))
    except BaseException:
        remove(unit.file.path for unit in units if unit.file is not None)
        raise
    return [United(table.schema_name, table.name, len(unit.group), 0 if unit.file is None else 1) for unit in units]
