"""Match fetched rows of a source with rows of the target that this process has read, so that Spark evaluates a small MERGE without a join.

The pairs with equal keys are one local relation of two structs, named as the aliases of the MERGE: `t.id` is then a field of a struct, so
the same SQL that is written for a join gives the same values. Spark evaluates its filters and projections without a job.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import AnalysisException
from pyspark.sql import types as T

from ...format.files import LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID
from ...format.identifiers import backquoted, fold
from ...format.objects import Column
from ..values.local import LocalRows, can_be_local
from .match import ACTION, SOURCE_ROW, When, pairs_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SOURCE_COLUMNS = "_ducklake_source_columns"
"""A struct of all columns of a row of the source."""
MAX_PAIRS = 50_000
"""The maximum number of pairs with equal keys."""
MAX_PAIR_BYTES = 64 * 2**20
"""The maximum size of the pairs that Spark gets as a local relation."""


def source_columns(source: DataFrame, alias: str) -> tuple[str, T.StructType] | None:
    """Return SQL for SOURCE_COLUMNS over a source with SOURCE_ROW, and its type.

    Returns:
        The SQL and the type; None if two columns have equal names, ignoring case, or if Arrow cannot represent a column exactly.
    """
    fields = [field for field in source.schema.fields if field.name != SOURCE_ROW]
    names = {fold(field.name) for field in fields}
    if len(names) < len(fields) or not all(can_be_local(field.dataType) for field in fields):
        return None
    values = ", ".join(f"{backquoted(alias)}.{backquoted(field.name)}" for field in fields)
    return f"struct({values}) AS {SOURCE_COLUMNS}", T.StructType(fields)


@dataclass(frozen=True)
class LocalSource:
    """The fetched rows of a source: SOURCE_ROW, SOURCE_COLUMNS and the keys."""

    rows: pa.Table
    columns: T.StructType
    """The type of SOURCE_COLUMNS."""
    keys: Sequence[tuple[str, str]]
    """(column of the target, column of `rows`) pairs of the same type, at least one, whose values are equal in rows that match."""

    def values_of_keys(self) -> dict[str, pa.Array]:
        """Return column of the target → the distinct values that the source has for it, without NULL, which equals nothing."""
        return {column: pc.unique(self.rows.column(name)).drop_null() for column, name in self.keys}


def local_pairs(
    spark: SparkSession,
    target: LocalRows,
    source: LocalSource,
    aliases: tuple[str, str],
    condition: str,
    clauses: Sequence[When],
    columns: Sequence[Column],
) -> DataFrame | None:
    """Return the pairs of a row of the target and a row of the source that match, in the shape of `Match.pairs`.

    Args:
        spark: the session of the result.
        target: the rows of the target, with lineage.
        source: the rows of the source.
        aliases: the aliases of the target and of the source.
        condition: the SQL of the condition after ON.
        clauses: the WHEN MATCHED clauses.
        columns: the columns of the target.

    Returns:
        The pairs; None if there are too many with equal keys or they are too large, or if Arrow or Spark cannot process them.
    """
    try:
        pairs = _pairs_of_keys(spark, target, source, aliases)
        return None if pairs is None else pairs_in(pairs.where(condition), clauses, columns, aliases[0])
    except (AnalysisException, pa.ArrowException):
        return None


def kept_columns(
    source_alias: str, matched: Sequence[When], not_matched: Sequence[When], columns: Sequence[Column]
) -> frozenset[str] | None:
    """Return the names of the target's columns whose old values a MERGE keeps in updated rows; None if it does more than copy columns.

    A MERGE that only copies has at most one WHEN MATCHED clause, without a condition. The clause assigns columns of the source, and WHEN
    NOT MATCHED inserts each of them into the same column. The values to insert are already fetched, so they serve as the new values.
    The result is empty if the MERGE updates no rows.
    """
    if len(matched) > 1 or any(clause.condition is not None for clause in (*matched, *not_matched)):
        return None
    assigned = matched[0].values if matched else {}
    inserted = not_matched[0].values if not_matched else {}
    copies = {name: _column_of(source_alias, value) for name, value in assigned.items()}
    if any(column is None or column != _column_of(source_alias, inserted.get(name, "")) for name, column in copies.items()):
        return None
    return frozenset(column.name for column in columns if column.name not in assigned) if _updates(matched) else frozenset()


def copied_pairs(
    target: LocalRows, source: LocalSource, matched: Sequence[When], kept: Collection[str], columns: Sequence[Column]
) -> pa.Table | None:
    """Return the matching pairs in the shape of `Match.pairs`, without Spark, for a MERGE that only copies columns and has only keys in ON.

    Args:
        target: the rows of the target, with lineage and the columns that the MERGE keeps.
        source: the rows of the source, with the values to insert; rows with equal keys match.
        matched: the WHEN MATCHED clauses.
        kept: see `kept_columns`.
        columns: the columns of the target.

    Returns:
        The pairs; None if too many have equal keys, if they are too large for Arrow, or if Arrow cannot compare the keys.
    """
    found = _equal_keys(target, source)
    if found is None:
        return None
    try:
        source_rows, target_rows = source.rows.take(found.column("s")), target.rows.take(found.column("t"))
    except pa.ArrowException:  # more bytes than a column can have
        return None
    pairs = {ACTION: pa.array([0 if matched else None] * found.num_rows, pa.int32())}
    pairs |= {name: target_rows.column(name) for name in (LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID)}
    pairs[SOURCE_ROW] = source_rows.column(SOURCE_ROW)
    if _updates(matched):
        pairs |= {each.name: (target_rows if each.name in kept else source_rows).column(each.name) for each in columns}
    return pa.table(pairs)


def _updates(matched: Sequence[When]) -> bool:
    return bool(matched) and matched[0].action == "update"


def _column_of(alias: str, value: str) -> str | None:
    """Return the folded name of a column that is qualified by an alias; None for other SQL."""
    found = re.fullmatch(rf"\s*(`?){re.escape(alias)}\1\s*\.\s*(`[^`]+`|\w+)\s*", value, re.IGNORECASE)
    return None if found is None else fold(found[2].strip("`"))


def _equal_keys(target: LocalRows, source: LocalSource) -> pa.Table | None:
    """Return the pairs with equal keys as the numbers of a source row, `s`, and a target row, `t`.

    Returns:
        The pairs; None if there are too many, or if Arrow cannot compare the keys.
    """
    names = [f"k{number}" for number in range(len(source.keys))]
    left = source.rows.select([key for _, key in source.keys]).rename_columns(names).append_column("s", _numbers(source.rows))
    right = target.rows.select([column for column, _ in source.keys]).rename_columns(names).append_column("t", _numbers(target.rows))
    try:
        if left.num_rows * right.num_rows > MAX_PAIRS and _number_of_pairs(left, right, names) > MAX_PAIRS:
            return None
        return left.join(right, names, join_type="inner", use_threads=False)
    except pa.ArrowException:
        return None


def _number_of_pairs(left: pa.Table, right: pa.Table, names: list[str]) -> int:
    """Return the number of rows of an inner join."""
    counts = [side.group_by(names, use_threads=False).aggregate([([], "count_all")]) for side in (left, right)]
    joined = counts[0].join(counts[1], names, join_type="inner", right_suffix="_right", use_threads=False)
    return pc.sum(pc.multiply(joined.column("count_all"), joined.column("count_all_right"))).as_py() or 0


def _pairs_of_keys(spark: SparkSession, target: LocalRows, source: LocalSource, aliases: tuple[str, str]) -> DataFrame | None:
    """Return the pairs with equal keys: a struct for each alias, and SOURCE_ROW; None if they are too many, too large or not comparable."""
    found = _equal_keys(target, source)
    if found is None:
        return None
    chosen = source.rows.select([SOURCE_COLUMNS, SOURCE_ROW]).take(found.column("s"))
    columns = [target.rows.take(found.column("t")).to_struct_array(), chosen.column(0), chosen.column(1)]
    schema = T.StructType(
        [T.StructField(aliases[0], target.schema), T.StructField(aliases[1], source.columns), T.StructField(SOURCE_ROW, T.LongType())]
    )
    pairs = pa.table(columns, names=schema.names)
    return None if pairs.nbytes > MAX_PAIR_BYTES else spark.createDataFrame(pairs, schema)


def _numbers(rows: pa.Table) -> pa.Array:
    return pa.array(range(rows.num_rows), pa.int64())
