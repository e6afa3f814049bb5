"""What changed in a table between two of its snapshots, and between two relations.

Two snapshots are compared by the table's net changes where possible, two relations by a join on a key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..catalog.read.reader import SnapshotReader
from ..catalog.transaction.transaction import Transaction
from ..errors import NotFoundError, StatementError
from ..format.constraints import PRIMARY_KEY, constraints_of
from ..format.diff import ColumnPair, ComparedRelation, RowChanges, TableDiff, column_changes, pair_columns
from ..format.identifiers import backquoted, fold
from ..format.objects import Column, Relation, Table
from ..format.types import assign_ids
from ..spark.read.changes import ROW, deletions, insertions
from ..spark.read.diff import Rows, numbered, row_changes
from ..spark.values.types import fields_of
from .context import Context

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Side:
    """A relation that is compared.

    Args:
        name: `lake.schema.name`.
        lake: the name of its lake.
        context: the context of its lake.
        view: the catalog as it was read, at a snapshot or with staged changes (not an SQL view).
        relation: the table or view.
        rows: returns all its rows.
    """

    name: str
    lake: str
    context: Context
    view: SnapshotReader | Transaction
    relation: Relation
    rows: Callable[[], DataFrame]

    @property
    def compared(self) -> ComparedRelation:
        """Its name, snapshot and time, for the result."""
        snapshot = self.view.snapshot
        return ComparedRelation(self.name, snapshot.snapshot_id, snapshot.time, self.view.revision is not None)

    def is_same_table(self, other: Side) -> bool:
        """Whether both sides are one table, perhaps at two snapshots."""
        one, two = self.relation, other.relation
        return self.lake == other.lake and isinstance(one, Table) and isinstance(two, Table) and one.table_id == two.table_id

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns of its stored primary key; empty if it has none."""
        constraints = constraints_of(self.relation.tags) if isinstance(self.relation, Table) else ()
        return next((each.columns for each in constraints if each.kind == PRIMARY_KEY), ())


def diff(before: Side, after: Side, key: Sequence[str], examples: int) -> TableDiff:
    """Return the differences of two relations, or of one table at two snapshots.

    Args:
        before: the earlier side.
        after: the later side.
        key: the columns by which rows are paired; empty: the stored primary key, or the row ids of one table at two snapshots.
        examples: the maximum number of examples of each kind.

    Raises:
        NotFoundError: a side has no such column.
        StatementError: the sides have no common column, there is no key, or its values cannot be compared.
    """
    if isinstance(before.relation, Table) and isinstance(after.relation, Table):
        if before.is_same_table(after):
            return _of_snapshots(before, before.relation, after, after.relation, key, examples)
        columns_before, columns_after, have_nullability = before.relation.columns, after.relation.columns, True
    else:
        columns_before, columns_after, have_nullability = _columns(before), _columns(after), False
    pairs = pair_columns(columns_before, columns_after, by_id=False)
    found = _key(before, after, pairs, key)
    if not found:
        raise StatementError(f"{before.name} and {after.name} have no stored primary key: give `key`, the columns that identify a row")
    columns = _compared(pairs, before, after)
    sides = Rows(_renamed(before.rows(), columns), after.rows(), _common(columns), _indexes(found, columns))
    rows = row_changes(sides, examples)
    changes = column_changes(columns_before, columns_after, pairs, compare_nullability=have_nullability)
    return TableDiff(before.compared, after.compared, changes, found, _not_compared(pairs), rows)


def _of_snapshots(before: Side, table_before: Table, after: Side, table_after: Table, key: Sequence[str], examples: int) -> TableDiff:
    """Compare two snapshots of one table: its changes, with the old rows in the later names and types of their columns."""
    pairs = pair_columns(table_before.columns, table_after.columns, by_id=True)
    found = _key(before, after, pairs, key)
    columns = _compared(pairs, before, after)
    indexes = _indexes(found, columns) if found else None
    earlier = before.view.snapshot.snapshot_id
    if before.view.revision is None and all(pair.is_same for pair in columns):
        reader = after.context.catalog.reader(after.view.snapshot)
        plan = reader.net_changes(table_after, earlier, after.view.scan_plan(table_after))
        rows = RowChanges()
        if not plan.is_empty:
            spark = after.context.spark()
            sides = Rows(deletions(spark, plan, earlier + 1), insertions(spark, plan), _common(columns), indexes)
            rows = row_changes(sides, examples)
    else:
        # Staged changes have no snapshot to compare with. If another column has the name now, rows that were not written again differ too.
        spark = after.context.spark()
        old, new = numbered(spark, before.view.scan_plan(table_before)), numbered(spark, after.view.scan_plan(table_after))
        rows = row_changes(Rows(_renamed(old, columns, ROW), new, _common(columns), indexes), examples)
    changes = column_changes(table_before.columns, table_after.columns, pairs)
    return TableDiff(before.compared, after.compared, changes, found or None, _not_compared(pairs), rows)


def _columns(side: Side) -> tuple[Column, ...]:
    """Return the columns of a side as Spark reads them: those of a view are known only from its query."""
    return assign_ids(fields_of(side.rows().schema), 1)


def _compared(pairs: Sequence[ColumnPair], before: Side, after: Side) -> list[ColumnPair]:
    found = [pair for pair in pairs if pair.common is not None]
    if not found:
        raise StatementError(
            f"{before.name} and {after.name} have no common column whose values can be compared. Compare views that cast them"
        )
    return found


def _common(pairs: Sequence[ColumnPair]) -> tuple[Column, ...]:
    return tuple(pair.common for pair in pairs if pair.common is not None)


def _not_compared(pairs: Sequence[ColumnPair]) -> tuple[str, ...]:
    return tuple(pair.after.name for pair in pairs if pair.common is None)


def _key(before: Side, after: Side, pairs: Sequence[ColumnPair], key: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the key's columns on the later side; empty if none is given or stored."""
    known = {fold(pair.after.name): pair for pair in pairs}
    for name in key:
        pair = known.get(fold(name))
        if pair is None:
            side = after if not isinstance(after.relation, Table) or after.relation.column(name) is None else before
            common = ", ".join(pair.after.name for pair in pairs)
            raise NotFoundError("column", f"{name} of {side.name}, for the key", f"The columns of both are: {common}")
        if pair.common is None:
            raise StatementError(
                f"the column {name} cannot be a key, because its types in {before.name} and {after.name} cannot be compared. "
                "Choose another key, or compare views that cast it"
            )
    if key:
        return tuple(dict.fromkeys(known[fold(name)].after.name for name in key))
    for columns in (after.primary_key, before.primary_key):
        found = [known.get(fold(name)) for name in columns]
        if columns and all(pair is not None and pair.common is not None for pair in found):
            return tuple(pair.after.name for pair in found if pair is not None)
    return ()


def _indexes(key: Sequence[str], pairs: Sequence[ColumnPair]) -> tuple[int, ...]:
    names = [pair.after.name for pair in pairs]
    return tuple(names.index(name) for name in key)


def _renamed(frame: DataFrame, pairs: Sequence[ColumnPair], *others: str) -> DataFrame:
    """Return the earlier rows with the later names of these columns, and other columns unchanged."""
    return frame.select(*(frame[backquoted(pair.before.name)].alias(pair.after.name) for pair in pairs), *others)
