"""The differences of two relations, or of a table at two snapshots: which columns differ, and counts and examples of rows that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from .identifiers import fold
from .leaf_types import leaf_type
from .objects import Column
from .types import NESTED, can_promote, data_type_of, decimal, decimal_parameters, spark_name

ADDED, REMOVED, CHANGED = "added", "removed", "changed"
"""How a row differs: the values of `Example.kind`, and the names of the counts in `RowChanges`."""
_FLOAT_DIGITS = {32: 6, 64: 15}
"""Bits of a float → the number of decimal digits that it always keeps."""
_MAX_DECIMAL_DIGITS = 38
ROW_ID = "rowid"
"""The name of the key of rows that are paired by their row ids."""


@dataclass(frozen=True)
class ComparedRelation:
    """A relation at a snapshot: one of the two sides of a comparison."""

    name: str
    snapshot_id: int
    time: datetime
    """The time of the snapshot."""
    staged: bool = False
    """Whether changes that its transaction has not committed yet are included."""


@dataclass(frozen=True)
class ColumnChange:
    """A column that only one side has, or that differs.

    `type`, `nullable` and `renamed` are (before, after); None if they are equal or not known.
    """

    name: str
    """The name on the later side; that on the earlier side if the column was dropped."""
    kind: str
    """`added`, `dropped` or `changed`."""
    type: tuple[str | None, str | None] | None = None
    nullable: tuple[bool, bool] | None = None
    renamed: tuple[str, str] | None = None


@dataclass(frozen=True)
class ColumnPair:
    """A column of both sides."""

    before: Column
    after: Column
    common: Column | None
    """The later column with a type that has every value of both sides; None if there is no such type."""
    is_same: bool = False
    """Whether both are one column of one table, so that its old values can be read in its later form."""


@dataclass(frozen=True)
class Example:
    """A row that differs. Values are strings, and None is NULL."""

    kind: str
    key: Mapping[str, str | None]
    before: Mapping[str, str | None] | None = None
    """The old values; of a changed row only those that changed. None for an added row."""
    after: Mapping[str, str | None] | None = None
    """The new values; of a changed row only those that changed. None for a removed row."""


@dataclass(frozen=True)
class RowChanges:
    """How many rows differ, with examples."""

    added: int = 0
    removed: int = 0
    changed: int = 0
    by_column: Mapping[str, int] = field(default_factory=dict)
    """Column → the number of changed rows that have another value in it; only columns with at least one."""
    examples: tuple[Example, ...] = ()
    unpaired: tuple[int, int] = (0, 0)
    """The numbers of rows before and after whose key is NULL or not unique. They are compared as whole rows: equal ones are no changes."""

    @property
    def is_empty(self) -> bool:
        """Whether no row differs."""
        return not (self.added or self.removed or self.changed)


@dataclass(frozen=True)
class TableDiff:
    """The differences of two relations, or of one at two snapshots."""

    before: ComparedRelation
    after: ComparedRelation
    columns: tuple[ColumnChange, ...]
    key: tuple[str, ...] | None
    """The columns by which rows were paired; None: their row ids."""
    not_compared: tuple[str, ...]
    """The columns of both sides whose values cannot be compared."""
    rows: RowChanges

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return not self.columns and self.rows.is_empty


def pair_columns(before: Sequence[Column], after: Sequence[Column], *, by_id: bool) -> tuple[ColumnPair, ...]:
    """Pair the columns of two sides, in the order of the later one: with `by_id` those with equal ids, and the others by name.

    Args:
        before: the columns of the earlier side.
        after: the columns of the later side.
        by_id: both sides are the same table.
    """
    ids = {column.column_id: column for column in before} if by_id else {}
    same = {column.column_id for column in after} & ids.keys()
    names = {fold(column.name): column for column in before if column.column_id not in same}
    pairs = []
    for column in after:
        earlier = ids.get(column.column_id) or names.get(fold(column.name))
        if earlier is not None:
            is_same = column.column_id in same
            pairs.append(ColumnPair(earlier, column, column if is_same else common_column(earlier, column), is_same))
    return tuple(pairs)


def common_column(before: Column, after: Column) -> Column | None:
    """Return the later column with a type to which the values of both can be cast without loss; None if there is none."""
    one, other = data_type_of(before), data_type_of(after)
    if spark_name(one) == spark_name(other):
        return after
    if one.name in NESTED or other.name in NESTED:
        return None
    if _fits(one.name, other.name):
        return after
    if _fits(other.name, one.name):
        return replace(after, type=before.type)
    digits = [_digits(each.name) for each in (one, other)]
    if None in digits or not (decimal_parameters(one.name) or decimal_parameters(other.name)):
        return None
    whole, scale = (max(each[index] for each in digits if each) for index in (0, 1))
    return replace(after, type=decimal(whole + scale, scale).name) if whole + scale <= _MAX_DECIMAL_DIGITS else None


def column_changes(
    before: Sequence[Column], after: Sequence[Column], pairs: Sequence[ColumnPair], *, compare_nullability: bool = True
) -> tuple[ColumnChange, ...]:
    """Return the columns that differ: changed and added ones in the later order, then dropped ones.

    Args:
        before: the columns of the earlier side.
        after: the columns of the later side.
        pairs: the pairs that `pair_columns` made of them.
        compare_nullability: false if a side is a view, whose nullability is not known.
    """
    known = {pair.after.column_id: pair for pair in pairs}
    found: list[ColumnChange] = []
    for column in after:
        pair = known.get(column.column_id)
        if pair is None:
            found.append(ColumnChange(column.name, "added", (None, _type(column))))
        else:
            change = _change(pair, compare_nullability)
            if change is not None:
                found.append(change)
    paired = {pair.before.column_id for pair in pairs}
    return (*found, *(ColumnChange(each.name, "dropped", (_type(each), None)) for each in before if each.column_id not in paired))


def _change(pair: ColumnPair, compare_nullability: bool) -> ColumnChange | None:
    """Return how a column differs; None if it does not."""
    before, after = pair.before, pair.after
    types = (_type(before), _type(after))
    if types[0] == types[1] and before.type != after.type:
        types = (before.type, after.type)  # Spark has one type for both
    change = ColumnChange(
        after.name,
        "changed",
        types if types[0] != types[1] else None,
        (before.nullable, after.nullable) if compare_nullability and before.nullable != after.nullable else None,
        (before.name, after.name) if before.name != after.name else None,
    )
    return change if change.type or change.nullable or change.renamed else None


def _type(column: Column) -> str:
    """Return Spark's name of the type of a column."""
    return spark_name(data_type_of(column))


def _fits(old: str, new: str) -> bool:
    """Whether different values of one leaf type stay different in another; a float may have fewer digits than an integer or decimal."""
    after, digits = leaf_type(new), _digits(old)
    if after.spark == "string" or after.name == "variant" or (after.is_float and digits and sum(digits) > _FLOAT_DIGITS[after.bits]):
        return False
    return can_promote(old, new)


def _digits(name: str) -> tuple[int, int] | None:
    """Return the digits before and after the point of an integer or decimal type; None for every other type."""
    parameters = decimal_parameters(name)
    if parameters is not None:
        return parameters[0] - parameters[1], parameters[1]
    leaf = leaf_type(name)
    return (leaf.digits, 0) if leaf.is_integer else None
