"""Derive filters for a relation from the conditions on its rows, to read only the files that can contain a needed row.

Only conditions that compare a column with constants give a filter. Text that sqlglot cannot parse, and conditions of any other form, give
none: the query is then slower but still right. `conditions` finds the conditions of a query.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ..format.files import ColumnFilter, ColumnRange, Condition
from ..format.identifiers import fold
from ..format.leaf_types import leaf_type
from ..format.objects import Column, Table
from ..format.types import data_type_of, spark_name
from .conditions import RowCondition, uncast
from .constants import Constant, constant, names_of_time
from .ranges import between, comparable, prefixed
from .selects import conjuncts
from .view import Settings

_INVERSE: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.EQ: exp.EQ,
    exp.NullSafeEQ: exp.NullSafeEQ,
}
_MAX_VALUES = 1000
"""A longer IN list becomes one range."""


def filters_for_rows(conditions: Iterable[RowCondition], table: Table, settings: Settings) -> Condition:
    """Return the filters that a row of the table passes if it satisfies conditions of a query.

    Args:
        conditions: the conditions on the table's rows.
        table: the table.
        settings: the session's settings.
    """
    if not settings.can_prune:
        return ()
    columns = _Columns(table, "", only_qualified=False)
    found = ((each, _filter(each.expression, columns, each.source, settings.zone_is_utc)) for each in conditions)
    return tuple(filter_ for each, filter_ in found if filter_ is not None and not (filter_.nulls and each.nullable))


def filters_for_condition(condition: str, table: Table, alias: str, settings: Settings, *, only_qualified: bool = False) -> Condition:
    """Return the filters that a row of `table` passes if it satisfies the condition of a DELETE or UPDATE, or matches in a MERGE.

    Args:
        condition: the condition.
        table: the table that the statement changes.
        alias: its name in the condition.
        settings: the session's settings.
        only_qualified: unqualified columns may be those of another relation, as in a MERGE.
    """
    if not settings.can_prune:
        return ()
    columns = _Columns(table, alias, only_qualified)
    found = (_filter(each, columns, condition, settings.zone_is_utc) for each in conjuncts(condition) if columns.hide_none_of(each))
    return tuple(each for each in found if each is not None)


@dataclass(frozen=True)
class _Columns:
    """Resolves the names in a condition to columns of the table."""

    table: Table
    alias: str
    only_qualified: bool

    def hide_none_of(self, node: exp.Expr) -> bool:
        """Whether no column has the name of a function for the current time in an expression."""
        names = names_of_time(node)
        return not names or not (self.only_qualified or any(self.table.column(name) for name in names))

    def find(self, node: exp.Expr) -> Column | None:
        """Return the column of the table that an expression is, perhaps cast to its own type, or None."""
        casts = [cast.to for cast in node.find_all(exp.Cast)]
        node = uncast(node)
        if not isinstance(node, exp.Column) or node.args.get("db") or node.args.get("catalog") or not isinstance(node.this, exp.Identifier):
            return None
        column = self.table.column(node.name)
        if column is None or column.children:
            return None
        if not all(_is_type_of(type_, column) for type_ in casts):
            return None
        if node.table:
            return column if fold(node.table) == fold(self.alias) else None
        return None if self.only_qualified else column


def _is_type_of(type_: exp.DataType, column: Column) -> bool:
    """Whether a type is Spark's type of a column; sqlglot takes VARCHAR(n) for STRING too, so a string is uncertain."""
    name = type_.sql("spark").replace(" ", "").lower()
    return name == spark_name(data_type_of(column)) and not type_.is_type("text")


def _filter(node: exp.Expr, columns: _Columns, text: str, utc: bool) -> ColumnFilter | None:
    """Return the filter of one condition; an OR has one only if all its parts are about the same column."""
    node = node.unnest()
    if isinstance(node, exp.Or):
        parts = [_filter(each, columns, text, utc) for each in node.flatten()]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts) or len({part.column_id for part in known}) != 1:
            return None
        ranges = tuple(range_ for part in known for range_ in part.ranges)
        return ColumnFilter(known[0].column_id, ranges, any(part.nulls for part in known))
    negated = isinstance(node, exp.Not)
    if negated:
        node = node.this.unnest()
    if isinstance(node, exp.Is):
        return _is(node, columns, negated)
    if isinstance(node, exp.Column):
        column = columns.find(node)
        if column is None or column.type != "boolean":
            return None
        return _single(column, between(column, *(Constant("boolean", not negated),) * 2, utc))
    return None if negated else _comparison(node, columns, text, utc)


def _comparison(node: exp.Expr, columns: _Columns, text: str, utc: bool) -> ColumnFilter | None:
    column = columns.find(node.this) if isinstance(node.this, exp.Expr) else None
    match node:
        case exp.In() if column is not None and not any(node.args.get(key) for key in ("query", "unnest", "field", "is_global")):
            return _in(column, [constant(each, text) for each in node.expressions], utc)
        case exp.Between() if column is not None and not node.args.get("symmetric"):
            ends = constant(node.args["low"], text), constant(node.args["high"], text)
            if None in ends or not all(comparable(column, [end]) for end in ends if end is not None):
                return None
            return _single(column, between(column, *ends, utc))
        case exp.Like() if column is not None and isinstance(node.expression, exp.Literal) and not node.args.get("negate"):
            pattern = constant(node.expression, text)
            return None if pattern is None or pattern.kind != "text" else _like(column, str(pattern.value), utc)
    kind = type(node)
    if kind not in _INVERSE:
        return None
    other = node.expression
    if column is None:
        column, other, kind = columns.find(node.expression), node.this, _INVERSE[kind]
    value = constant(other, text)
    if column is None or value is None or not comparable(column, [value]):
        return None
    if kind in (exp.EQ, exp.NullSafeEQ):
        return _single(column, between(column, value, value, utc))
    low, high = (value, None) if kind in (exp.GT, exp.GTE) else (None, value)
    return _single(column, between(column, low, high, utc, strict=kind in (exp.GT, exp.LT)))


def _single(column: Column, range_: ColumnRange | None) -> ColumnFilter | None:
    return None if range_ is None else ColumnFilter(column.column_id, (range_,))


def _is(node: exp.Is, columns: _Columns, negated: bool) -> ColumnFilter | None:
    column = columns.find(node.this)
    if column is None:
        return None
    if isinstance(node.expression, exp.Null):
        ranges = (ColumnRange(column.column_id),) if negated else ()
        return ColumnFilter(column.column_id, ranges, nulls=not negated)
    if isinstance(node.expression, exp.Boolean) and column.type == "boolean" and not negated:
        value = Constant("boolean", bool(node.expression.this))
        return _single(column, between(column, value, value, utc=False))
    return None


def _in(column: Column, values: Sequence[Constant | None], utc: bool) -> ColumnFilter | None:
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values) or not comparable(column, known):
        return None
    if len(known) > _MAX_VALUES:
        if known[0].kind not in ("number", "double"):
            return None
        ordered = sorted(known, key=lambda each: each.value)
        return _single(column, between(column, ordered[0], ordered[-1], utc))
    ranges = [between(column, value, value, utc) for value in known]
    certain = tuple(range_ for range_ in ranges if range_ is not None)
    return ColumnFilter(column.column_id, certain) if len(certain) == len(ranges) else None


def _like(column: Column, pattern: str, utc: bool) -> ColumnFilter | None:
    if not leaf_type(column.type).is_text:
        return None
    prefix = re.split("[%_]", pattern, maxsplit=1)[0]
    if prefix != pattern:
        return _single(column, prefixed(column, prefix))
    value = Constant("text", pattern)
    return _single(column, between(column, value, value, utc))
