"""The rows that differ between two DataFrames, paired by a key or by their row ids: counts, and examples as text.

One grouping by key pairs the rows. Rows whose key is NULL or not unique, and rows whose row id only one side has, are compared as whole
rows: as many equal ones as both sides have are no change.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType

from ...format.diff import ADDED, CHANGED, REMOVED, ROW_ID, Example, RowChanges
from ...format.files import ScanPlan
from ...format.identifiers import backquoted
from ...format.objects import Column
from ..rows.cached import cached
from ..values.equality import groupable
from ..values.types import spark_type
from .changes import ROW
from .scan import scan

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

_UNPAIRED = "unpaired"
_KIND, _IS_NEW, _VALUES = "kind", "is_new", "value"
_OLD, _NEW, _OLD_ROWS, _NEW_ROWS, _DIFFERS = "old", "new", "old_rows", "new_rows", "differs"


@dataclass(frozen=True)
class Rows:
    """Two sets of rows.

    Args:
        before: the earlier rows, with `columns` in their order; without a key also `changes.ROW`.
        after: the later rows in the same form.
        columns: the columns to which both are cast.
        key: the indexes of the columns by which rows are paired; None: their row ids.
    """

    before: DataFrame
    after: DataFrame
    columns: tuple[Column, ...]
    key: tuple[int, ...] | None

    @property
    def keys(self) -> list[str]:
        """The names of the key's values in a form that Spark can group."""
        return [f"key{index}" for index in range(1 if self.key is None else len(self.key))]

    @property
    def compared(self) -> list[int]:
        """The indexes of the columns in which paired rows can differ."""
        return [index for index in range(len(self.columns)) if index not in (self.key or ())]

    def both(self) -> DataFrame:
        """Return the rows of both sides: the key's values, `_IS_NEW`, and the columns as the struct `_VALUES`."""
        return self._side(self.before, is_new=False).unionAll(self._side(self.after, is_new=True))

    def forms(self, values: str) -> list[SparkColumn]:
        """Return the columns of a struct in a form that Spark can group."""
        return [groupable(F.col(f"{values}.{_name(index)}"), column) for index, column in enumerate(self.columns)]

    def _side(self, frame: DataFrame, *, is_new: bool) -> DataFrame:
        row_id = [F.col(ROW)] if self.key is None else []
        cast = [F.col(backquoted(each.name)).cast(spark_type(each)).alias(_name(index)) for index, each in enumerate(self.columns)]
        values = frame.select(F.struct(*cast).alias(_VALUES), *row_id)
        keys = row_id or [self.forms(_VALUES)[index] for index in self.key or ()]
        return values.select(*(key.alias(name) for key, name in zip(keys, self.keys, strict=True)), F.lit(is_new).alias(_IS_NEW), _VALUES)


def numbered(spark: SparkSession, plan: ScanPlan) -> DataFrame:
    """Return all rows of a table with their row ids in `changes.ROW`."""
    return scan(spark, plan, virtual=("rowid",)).toDF(*(column.name for column in plan.columns), ROW)


def row_changes(rows: Rows, examples: int) -> RowChanges:
    """Return how many rows were added, removed and changed, with at most `examples` of each."""
    both = rows.both()
    with cached(_paired(both, rows)) as pairs:
        counts, old_rows, new_rows = _counts(pairs)
        names = [rows.columns[index].name for index in rows.compared]
        by_column = _by_column(pairs, names) if counts[CHANGED] else {}
        shown = _examples(pairs, rows, examples)
        if _UNPAIRED in counts:
            with cached(_without_equals(both, pairs, rows)) as others:
                counts += _counts(others)[0]
                shown += _examples(others, rows, examples)
    unpaired = (0, 0) if rows.key is None else (old_rows[_UNPAIRED], new_rows[_UNPAIRED])
    chosen = [each for kind in (ADDED, REMOVED, CHANGED) for each in [one for one in shown if one.kind == kind][:examples]]
    return RowChanges(counts[ADDED], counts[REMOVED], counts[CHANGED], by_column, tuple(chosen), unpaired)


def _paired(both: DataFrame, rows: Rows) -> DataFrame:
    """Return a row for each key whose rows differ or cannot be paired, with its old and new row, their numbers, and what differs."""
    is_new = F.col(_IS_NEW)
    sides = {_OLD: ~is_new, _NEW: is_new}
    grouped = both.groupBy(*rows.keys).agg(
        *(F.first(F.when(side, F.col(_VALUES)), ignorenulls=True).alias(name) for name, side in sides.items()),
        *(F.count_if(side).alias(name) for name, side in zip((_OLD_ROWS, _NEW_ROWS), sides.values(), strict=True)),
    )
    old, new = rows.forms(_OLD), rows.forms(_NEW)
    grouped = grouped.withColumn(_DIFFERS, F.array(*(~old[index].eqNullSafe(new[index]) for index in rows.compared)).cast("array<boolean>"))
    has_both, is_unique = (F.col(_OLD_ROWS) == 1) & (F.col(_NEW_ROWS) == 1), (F.col(_OLD_ROWS) <= 1) & (F.col(_NEW_ROWS) <= 1)
    has_key = reduce(and_, (F.col(name).isNotNull() for name in rows.keys))
    can_pair = has_key & (has_both if rows.key is None else is_unique)
    kind = (
        F.when(~can_pair, F.lit(_UNPAIRED))
        .when(F.col(_OLD_ROWS) == 0, F.lit(ADDED))
        .when(F.col(_NEW_ROWS) == 0, F.lit(REMOVED))
        .when(F.array_contains(_DIFFERS, F.lit(True)), F.lit(CHANGED))
    )
    return grouped.withColumn(_KIND, kind).where(F.col(_KIND).isNotNull())


def _without_equals(both: DataFrame, pairs: DataFrame, rows: Rows) -> DataFrame:
    """Return the unpaired rows of which one side has more than the other, in the columns of `_paired`."""
    others = [f"other_{name}" for name in rows.keys]
    unpaired = pairs.where(F.col(_KIND) == _UNPAIRED).select(
        *(F.col(name).alias(other) for name, other in zip(rows.keys, others, strict=True))
    )
    matches = reduce(and_, (F.col(name).eqNullSafe(F.col(other)) for name, other in zip(rows.keys, others, strict=True)))
    found = both.join(unpaired, matches, "left_semi")
    forms = [form.alias(f"form{index}") for index, form in enumerate(rows.forms(_VALUES))]
    grouped = found.groupBy(*forms).agg(
        *(F.min(name).alias(name) for name in rows.keys),
        F.first(_VALUES).alias(_OLD),
        F.count_if(~F.col(_IS_NEW)).alias(_OLD_ROWS),
        F.count_if(F.col(_IS_NEW)).alias(_NEW_ROWS),
    )
    kind = F.when(F.col(_NEW_ROWS) > F.col(_OLD_ROWS), F.lit(ADDED)).when(F.col(_NEW_ROWS) < F.col(_OLD_ROWS), F.lit(REMOVED))
    differs = F.array().cast("array<boolean>")
    numbers = (_OLD_ROWS, _NEW_ROWS)
    shown = grouped.select(*rows.keys, _OLD, F.col(_OLD).alias(_NEW), *numbers, differs.alias(_DIFFERS), kind.alias(_KIND))
    return shown.where(F.col(_KIND).isNotNull())


def _counts(frame: DataFrame) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Return the number of differing rows of each kind, and the numbers of their rows before and after."""
    counted = frame.groupBy(_KIND).agg(F.sum(_OLD_ROWS), F.sum(_NEW_ROWS)).collect()
    old, new = (Counter({row[0]: row[index] for row in counted}) for index in (1, 2))
    return Counter({kind: abs(new[kind] - old[kind]) if kind != CHANGED else new[kind] for kind in new}), old, new


def _by_column(pairs: DataFrame, names: list[str]) -> dict[str, int]:
    differs = [F.count_if(F.col(_DIFFERS)[index]) for index in range(len(names))]
    (row,) = pairs.where(F.col(_KIND) == CHANGED).agg(*differs).collect()
    return {name: count for name, count in zip(names, row, strict=True) if count}


def _examples(frame: DataFrame, rows: Rows, limit: int) -> list[Example]:
    """Return at most `limit` examples of each kind, in the order of the key."""
    if not limit:
        return []
    kinds = [frame.where(F.col(_KIND) == kind).orderBy(*rows.keys).limit(limit) for kind in (ADDED, REMOVED, CHANGED)]
    values = [
        F.array(*(_text(F.col(f"{side}.{_name(index)}"), column) for index, column in enumerate(rows.columns))) for side in (_OLD, _NEW)
    ]
    row_id = F.col(rows.keys[0]).cast("string") if rows.key is None else F.lit(None).cast("string")
    found = reduce(lambda one, other: one.unionAll(other), kinds).select(_KIND, row_id, *values, _DIFFERS).collect()
    return [_example(rows, *row) for row in found]


def _example(rows: Rows, kind: str, row_id: str | None, old: list[str | None], new: list[str | None], differs: list[bool]) -> Example:
    names = [column.name for column in rows.columns]
    own = new if kind != REMOVED else old
    key = {ROW_ID: row_id} if rows.key is None else {names[index]: own[index] for index in rows.key}
    shown = [index for index, differ in zip(rows.compared, differs, strict=True) if differ] if kind == CHANGED else range(len(names))
    before, after = ({names[index]: side[index] for index in shown} for side in (old, new))
    return Example(kind, key, None if kind == ADDED else before, None if kind == REMOVED else after)


def _text(value: SparkColumn, column: Column) -> SparkColumn:
    """Return a value as text: binary values in hexadecimal digits, and values with variants as JSON."""
    if isinstance(spark_type(column), BinaryType):
        return F.concat(F.lit("0x"), F.hex(value))
    if any(each.type == "variant" for each in column.walk()):
        return F.to_json(value)
    return value.cast("string")


def _name(index: int) -> str:
    return f"c{index}"
