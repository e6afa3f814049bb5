"""Match the rows of a target with those of a source for MERGE: the clause that applies to each row, and its new values.

A match uses inner and anti joins, never an outer join: so the smaller side can be broadcast, and only the columns that a condition or an
assignment names are read from the target (`docs/decisions/0004`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from ...format.files import LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID
from ...format.identifiers import backquoted
from ...format.objects import Column
from ...format.types import with_unassigned_json_as_text
from ..values.assignment import assigned
from ..values.conversions import same_type
from ..values.expressions import Expression, can_be_sql, select
from ..values.types import struct_type
from .positions import Positions, are_many, fetch_bitmaps, has_duplicates, has_repeated, positions_by_file, positions_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

ACTION = "_ducklake_action"
SOURCE_ROW = "_ducklake_source_row"
BROADCAST_VALUES = 4_000_000
"""The maximum number of values (rows times columns) of a source that is broadcast."""
BROADCAST_BYTES = 256 * 2**20
"""The maximum size of the strings and binary values of a source that is broadcast: the driver builds a hash table of the source."""


@dataclass(frozen=True)
class When:
    """A WHEN clause with bound names: SQL over the two aliases.

    `values`: column name → SQL of its new value. An update keeps the values of other columns; an insert has all columns.
    """

    condition: str | None
    action: str
    values: Mapping[str, str] = field(default_factory=dict)


def updated_columns(columns: Sequence[Column], clauses: Iterable[When]) -> tuple[Column, ...]:
    """Return the columns of the new versions of rows that the UPDATE clauses write; none if all clauses delete."""
    updates = [clause for clause in clauses if clause.action == "update"]
    return with_unassigned_json_as_text(columns, {name for clause in updates for name in clause.values}) if updates else ()


@dataclass(frozen=True)
class Match:
    """The two sides of a MERGE with their aliases, and the condition over them.

    `target` is a scan with lineage; `source` has SOURCE_ROW and is cached, so that it is computed once.
    """

    target: DataFrame
    source: DataFrame
    target_alias: str
    source_alias: str
    condition: str
    columns: tuple[Column, ...]
    broadcast: bool

    def pairs(self, clauses: Sequence[When]) -> DataFrame:
        """Return the pairs that match: ACTION (index of the clause, NULL if none applies), lineage, SOURCE_ROW, the new values."""
        joined = self.target.alias(self.target_alias).join(self._source(), F.expr(self.condition), "inner")
        return pairs_in(joined, clauses, self.columns, self.target_alias)

    def target_only(self, clauses: Sequence[When]) -> DataFrame:
        """Return the target rows without a match that a clause applies to, in the shape of `pairs` without SOURCE_ROW."""
        joined = self.target.alias(self.target_alias).join(self._source(), F.expr(self.condition), "left_anti")
        return _with_values(joined, clauses, self.columns, self.target_alias).where(f"{ACTION} IS NOT NULL")

    def source_only(self, pairs: DataFrame, clauses: Sequence[When]) -> DataFrame:
        """Return the rows to insert: source rows without a match that a clause applies to."""
        matched = pairs.select(F.col(SOURCE_ROW).alias("_ducklake_matched")).distinct()
        source = self.source.alias(self.source_alias)
        alone = source.join(matched, F.col(SOURCE_ROW) == F.col("_ducklake_matched"), "left_anti")
        chosen = _with_action(alone, clauses).where(f"{ACTION} IS NOT NULL")
        return select(chosen, _values(self.columns, chosen, clauses))

    def _source(self) -> DataFrame:
        source = F.broadcast(self.source) if self.broadcast else self.source
        return source.alias(self.source_alias)


def pairs_in(joined: DataFrame, clauses: Sequence[When], columns: Sequence[Column], target: str) -> DataFrame:
    """Return matching pairs of a target and a source in the shape of `Match.pairs`.

    Args:
        joined: the pairs, with the columns of the target under its alias, those of the source under its alias, and SOURCE_ROW.
        clauses: the WHEN clauses.
        columns: the columns of the target.
        target: the alias of the target.
    """
    return _with_values(joined, clauses, columns, target, SOURCE_ROW)


def _with_values(joined: DataFrame, clauses: Sequence[When], columns: Sequence[Column], target: str, *extra: str) -> DataFrame:
    chosen = _with_action(joined, clauses)
    alias = backquoted(target)
    lineage = [f"{alias}.{name}" for name in (LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID)]
    return select(chosen, [ACTION, *lineage, *extra, *_values(columns, chosen, clauses, target)])


def _values(columns: Sequence[Column], rows: DataFrame, clauses: Sequence[When], target: str | None = None) -> list[Expression]:
    """Return the new value of each column in rows with ACTION; none if all clauses delete.

    Args:
        columns: the columns of the table.
        rows: the rows.
        clauses: the WHEN clauses.
        target: the alias of the target, whose value a column keeps that a clause does not assign; None: such a column is NULL.
    """
    writing = {index: clause for index, clause in enumerate(clauses) if clause.action != "delete"}
    if not writing:
        return []
    given = _types(rows, dict.fromkeys(text for clause in writing.values() for text in clause.values.values()))
    values = []
    for column, kind in zip(columns, struct_type(columns, ids=False).fields, strict=True):
        kept = None if target is None else f"{backquoted(target)}.{backquoted(column.name)}"
        new = {index: clause.values.get(column.name, kept) for index, clause in writing.items()}
        values.append(_value(column.name, kind.dataType, {index: text for index, text in new.items() if text is not None}, given))
    return values


def _value(name: str, kind: DataType, new: Mapping[int, str], given: Mapping[str, DataType]) -> Expression:
    """Return a column's value: that of the clause that ACTION names, cast if its type in `given` is another one; otherwise NULL."""
    if new and can_be_sql(name, *new.values()) and all(same_type(given.get(text, kind), kind) for text in new.values()):
        cases = " ".join(f"WHEN {index} THEN ({text}\n)" for index, text in new.items())  # the text may end with a comment
        return f"CASE {ACTION} {cases} END AS {backquoted(name)}"
    value = F.lit(None).cast(kind)
    for index, text in new.items():
        value = F.when(F.col(ACTION) == index, assigned(F.expr(text), given.get(text, kind), kind, name)).otherwise(value)
    return value.alias(name)


def _types(rows: DataFrame, expressions: Iterable[str]) -> dict[str, DataType]:
    """Return the type of each expression over `rows`."""
    named = list(expressions)
    fields = rows.selectExpr(*[f"({text}\n) AS _{i}" for i, text in enumerate(named)]).schema.fields if named else []
    return {text: field.dataType for text, field in zip(named, fields, strict=True)}


def numbered(source: DataFrame) -> DataFrame:
    """Number the rows of the source in SOURCE_ROW; cache the result before using it twice."""
    return source.withColumn(SOURCE_ROW, F.monotonically_increasing_id())


def candidates(source: DataFrame, alias: str, columns: Sequence[Column], clauses: Sequence[When], also: Sequence[str]) -> DataFrame:
    """Return all rows of a numbered source, with what happens to each if no row of the target matches it.

    Args:
        source: the source, with SOURCE_ROW.
        alias: the alias of the source in `clauses` and `also`.
        columns: the columns of the target.
        clauses: the clauses for rows without a match.
        also: SQL of further columns.

    Returns:
        SOURCE_ROW, ACTION, `also`, and the values to insert.
    """
    chosen = _with_action(source.alias(alias), clauses)
    return select(chosen, [SOURCE_ROW, ACTION, *also, *(_values(columns, chosen, clauses) if clauses else ())])


@dataclass(frozen=True)
class MatchOutcome:
    """The positions of the rows that clauses apply to. `actions`: ACTION → positions."""

    actions: Mapping[int, Positions]
    repeated: bool
    """Whether a target row is in more than one pair, even if no clause applies to it."""


def outcome(frame: DataFrame, at_most: int) -> MatchOutcome:
    """Compute the outcome of a frame in the shape of `pairs` or `target_only`, in one Spark job that returns only positions.

    Args:
        frame: the pairs or rows.
        at_most: about the maximum number of rows, which decides how the positions are fetched: a row of the target may be in many pairs.
    """
    if are_many(at_most):
        bitmaps = fetch_bitmaps(frame, ACTION)
        actions = _by_action(bitmaps, positions_in)
        unchanged = positions_in(bitmaps.filter(pc.is_null(bitmaps.column(ACTION))))
        return MatchOutcome(actions, repeated=has_repeated(bitmaps, [unchanged, *actions.values()]))
    return outcome_of(frame.select(ACTION, LINEAGE_FILE, LINEAGE_POSITION).toArrow())


def outcome_of(rows: pa.Table) -> MatchOutcome:
    """Return the outcome of fetched rows with the columns ACTION, LINEAGE_FILE and LINEAGE_POSITION."""
    return MatchOutcome(_by_action(rows, positions_by_file), repeated=has_duplicates(rows))


def _by_action(rows: pa.Table, positions: Callable[[pa.Table], Positions]) -> dict[int, Positions]:
    """Return the positions in fetched rows by their ACTION."""
    chosen = pc.unique(rows.column(ACTION)).drop_null().to_pylist()
    return {action: positions(rows.filter(pc.equal(rows.column(ACTION), action))) for action in sorted(chosen)}


def rows_of_clauses(pairs: pa.Table, clauses: Sequence[int]) -> pa.Table:
    """Return the fetched pairs to which one of the clauses applies."""
    return pairs.filter(pc.is_in(pairs.column(ACTION), pa.array(clauses, pa.int32())))


def rows_to_insert(source: pa.Table, pairs: pa.Table) -> pa.Table:
    """Return the fetched rows of `candidates` that are in none of the fetched pairs and to which a clause applies."""
    is_matched = pc.is_in(source.column(SOURCE_ROW), pairs.column(SOURCE_ROW).combine_chunks())
    return source.filter(pc.and_(pc.invert(is_matched), pc.is_valid(source.column(ACTION))))


def _with_action(rows: DataFrame, clauses: Sequence[When]) -> DataFrame:
    """Add ACTION: the index of the first clause whose condition is true, else NULL."""
    cases = [f"WHEN {clause.condition or 'true'}\n THEN {index}" for index, clause in enumerate(clauses)]
    chosen = f"CASE {' '.join(cases)} ELSE CAST(NULL AS INT) END" if cases else "CAST(NULL AS INT)"
    return rows.selectExpr("*", f"{chosen} AS {ACTION}")
