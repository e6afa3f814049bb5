"""The change feed: the rows of a table that were inserted, updated and deleted between two snapshots.

Specification: the page "Data Change Feed". Both bounds are inclusive; the columns are those of the last snapshot.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from ..errors import StatementError
from ..format.files import ChangePlan, ScanPlan
from ..format.identifiers import fold
from ..format.objects import Table
from ..spark.read import changes
from .context import Context
from .tables import required_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VIRTUAL = (changes.SNAPSHOT_ID, changes.ROW_ID)
"""The columns of insertions and deletions after those of the table; `lake.table_insertions(…)` does not show them, as in DuckDB."""

ChangeFeedBound = int | datetime
"""The id of an existing snapshot, or a timestamp. As the first bound a timestamp means the next snapshot, as the last the previous one."""


def table_changes(context: Context, schema: str, table: str, first: ChangeFeedBound, last: ChangeFeedBound) -> DataFrame:
    """Return `snapshot_id`, `rowid`, `change_type` (insert, delete, update_preimage, update_postimage) and the columns of the table.

    Args:
        context: the catalog and the transaction.
        schema: the schema of the table.
        table: the name of the table.
        first: the first snapshot whose changes are returned.
        last: the last one.

    Raises:
        NotFoundError: the snapshot does not exist, or it has no such table.
        StatementError: the table has a column with a name that the change feed uses, or the last bound is before the first.
    """
    plan, start = _plan(context, schema, table, first, last)
    require_free(plan.inserted, (changes.SNAPSHOT_ID, changes.ROW_ID, changes.CHANGE_TYPE), f"{schema}.{table}")
    return changes.changes(context.spark(), plan, start)


def table_insertions(context: Context, schema: str, table: str, first: ChangeFeedBound, last: ChangeFeedBound) -> DataFrame:
    """Return the inserted rows: the columns of the table, `snapshot_id` and `rowid`. Arguments and errors are those of `table_changes`."""
    plan, _ = _plan(context, schema, table, first, last)
    require_free(plan.inserted, (changes.SNAPSHOT_ID, changes.ROW_ID), f"{schema}.{table}")
    return changes.with_public_names(changes.insertions(context.spark(), plan))


def table_deletions(context: Context, schema: str, table: str, first: ChangeFeedBound, last: ChangeFeedBound) -> DataFrame:
    """Return the deleted rows, with the columns of `table_insertions`. Arguments and errors are those of `table_changes`."""
    plan, start = _plan(context, schema, table, first, last)
    require_free(plan.inserted, (changes.SNAPSHOT_ID, changes.ROW_ID), f"{schema}.{table}")
    return changes.with_public_names(changes.deletions(context.spark(), plan, start))


def _plan(context: Context, schema: str, table: str, first: ChangeFeedBound, last: ChangeFeedBound) -> tuple[ChangePlan, int]:
    catalog = context.catalog
    if isinstance(first, datetime) != isinstance(last, datetime):
        raise StatementError("the bounds of a change feed must be two snapshot ids or two timestamps")
    if first > last:  # type: ignore[operator]
        raise StatementError(f"the change feed of {schema}.{table} goes from {first} to {last}, which is before it; swap the two bounds")
    start = catalog.first_snapshot_from(first) if isinstance(first, datetime) else catalog.resolve(version=first)
    end = catalog.resolve(timestamp=last) if isinstance(last, datetime) else catalog.resolve(version=last)
    reader = catalog.reader(end)
    return reader.change_plan(required_table(context, schema, table, reader), start.snapshot_id), start.snapshot_id


def require_free(relation: Table | ScanPlan, names: tuple[str, ...], table: str) -> None:
    """Require that no column of a table has one of these names of the change feed.

    Raises:
        StatementError: a column has one of them.
    """
    taken = {fold(column.name) for column in relation.columns} & set(names)
    if taken:
        raise StatementError(
            f"{table} has a column {min(taken)}, which is the name of a column of the change feed; rename it to use the feed"
        )
