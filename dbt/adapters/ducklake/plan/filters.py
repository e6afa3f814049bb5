"""Derive filters for a relation from the WHERE clauses of a statement, to read only the files that can contain a needed row.

Only conjuncts of the WHERE of the SELECT whose FROM names the relation count, and only those that compare one of its columns with
constants. Rows that fail such a conjunct can be dropped before the joins:

- A conjunct that is not true for NULL (every comparison): a joined row with a failing row of the relation fails WHERE. Dropping the
  failing row can only change other joined rows by replacing it with NULLs in an outer join. Then the column is NULL, so that they
  fail WHERE as well. So the relation may be on either side of any inner or outer join.
- A conjunct that is true for NULL (IS NULL) is used only where no outer join can replace the relation's rows by NULLs.
- WHERE does not apply to the right side of a semi or anti join, and a sample, a pivot or an ASOF or NEAREST join is computed before
  WHERE: no filters for these.

A column belongs to the relation if it is qualified by its alias, or if the relation is the only one of the SELECT, or if all others
are known and have no column of that name. Text that sqlglot cannot parse, and conditions of any other form, give no filter: the query
is then slower but still right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ..format.files import ColumnFilter, ColumnRange, Condition
from ..format.identifiers import fold
from ..format.leaf_types import leaf_type
from ..format.objects import Column, Table
from ..sql.tokens import has_continued_comment
from ..sql.values import Reference, Sql
from .ranges import Constant, between, comparable, constant, prefixed
from .view import Settings

Lookup = Callable[[Reference], Table | None]
"""Returns the table of the lake that a reference means, or None."""

_EXPLAIN = re.compile(r"\s*EXPLAIN\s+(?:(?:EXTENDED|CODEGEN|COST|FORMATTED|LOGICAL)\s+)?", re.IGNORECASE)
_WHERE = re.compile(r"\bWHERE\b", re.IGNORECASE)
_INVERSE: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.EQ: exp.EQ,
    exp.NullSafeEQ: exp.NullSafeEQ,
}
_CHANGING_CLAUSES = ("pivots", "joins", "laterals", "sample", "hints", "partition", "rows_from", "changes")
_MAX_VALUES = 1000
"""A longer IN list becomes one range."""


@dataclass(frozen=True)
class _Site:
    """A relation in the FROM of a SELECT."""

    alias: str
    sources: tuple[tuple[str, int | None], ...]
    """(alias, offset of its name in the text or None) of every other relation of the SELECT."""
    nullable: bool
    """Whether an outer join may replace its rows by NULLs."""
    conjuncts: tuple[exp.Expr, ...]


def filters_for_reference(sql: Sql, reference: Reference, table: Table, lookup: Lookup, settings: Settings) -> Condition:
    """Return the filters that a row of the table must pass for the text to need it; empty if every row may be needed.

    Args:
        sql: the text.
        reference: the reference in the text that names the table.
        table: the table.
        lookup: finds the tables of the other relations of the SELECT.
        settings: the session's settings.
    """
    if not settings.can_prune or not _WHERE.search(sql.text):
        return ()
    site = _sites(sql.text).get(reference.start)
    if site is None:
        return ()
    others = {each.start: each for each in sql.references}

    def owns_unqualified(name: str) -> bool:
        for _, start in site.sources:
            found = lookup(others[start]) if start in others else None
            if found is None or found.column(name) is not None:
                return False
        return True

    found = _filters(site.conjuncts, _Columns(table, site.alias, owns_unqualified), sql.text, settings.zone_is_utc)
    return tuple(each for each in found if not (each.nulls and site.nullable))


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
    columns = _Columns(table, alias, lambda _: not only_qualified)
    return _filters(conjuncts(condition), columns, condition, settings.zone_is_utc)


@dataclass(frozen=True)
class _Columns:
    """Resolves the names in a condition to columns of the table."""

    table: Table
    alias: str
    owns_unqualified: Callable[[str], bool]

    def find(self, node: exp.Expr) -> Column | None:
        """Return the column of the table that an expression is, or None."""
        node = node.unnest()
        if not isinstance(node, exp.Column) or node.args.get("db") or node.args.get("catalog") or not isinstance(node.this, exp.Identifier):
            return None
        column = self.table.column(node.name)
        if column is None or column.children:
            return None
        if node.table:
            return column if fold(node.table) == fold(self.alias) else None
        return column if self.owns_unqualified(node.name) else None


def _filters(conditions: Iterable[exp.Expr], columns: _Columns, text: str, utc: bool) -> Condition:
    found = (_filter(condition, columns, text, utc) for condition in conditions)
    return tuple(each for each in found if each is not None)


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


# -- the text ----------------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def parsed(text: str) -> exp.Expr | None:
    """Parse a condition or query with sqlglot, cached; return None if it cannot."""
    # sqlglot rewrites pipes into other scopes, and knows no `${…}`, which Spark replaces
    if "|>" in text or "${" in text or has_continued_comment(text):
        return None
    try:
        trees = sqlglot.parse(text, dialect="spark")
    except (SqlglotError, RecursionError):
        return None
    return trees[0] if len(trees) == 1 else None


@lru_cache(maxsize=64)
def _sites(text: str) -> dict[int, _Site]:
    """Return the relations of every SELECT that has a WHERE, by the offset at which their names begin."""
    explain = _EXPLAIN.match(text)
    skipped = explain.end() if explain else 0
    tree = parsed(text[skipped:])
    found: dict[int, _Site] = {}
    for select in tree.find_all(exp.Select) if tree is not None else ():
        where = select.args.get("where")
        if where is None or any(select.args.get(key) for key in ("sample", "match", "pivots")) or _has_nearest_rows(select):
            continue
        found.update(_relations(select, tuple(_conjuncts(where.this)), skipped))
    return found


def _has_nearest_rows(select: exp.Select) -> bool:
    """Whether an ASOF join chooses the nearest rows; without a row that fails WHERE, it would choose another one."""
    return any(join.method == "ASOF" for join in select.args.get("joins") or [])


def conjuncts(condition: str) -> list[exp.Expr]:
    """Return the conditions that a condition connects with AND; none if sqlglot cannot parse it."""
    tree = parsed(condition)
    return [] if tree is None else _conjuncts(tree)


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    node = node.unnest()
    return [each for part in node.flatten() for each in _conjuncts(part)] if isinstance(node, exp.And) else [node]


def _relations(select: exp.Select, conjuncts: tuple[exp.Expr, ...], skipped: int) -> Iterable[tuple[int, _Site]]:
    clause = select.args.get("from_") or select.args.get("from")
    if clause is None:
        return
    joins: list[exp.Join] = select.args.get("joins") or []
    nodes = [clause.this, *(join.this for join in joins)]
    if any(each.args.get("pivots") for each in (*nodes, *joins)):
        return
    sources = [(fold(node.alias_or_name), _start(node, skipped)) for node in nodes]
    laterals = [(fold(each.alias_or_name), None) for each in select.args.get("laterals") or []]
    outer = [join.side for join in joins]
    for index, (alias, start) in enumerate(sources):
        join = joins[index - 1] if index else None
        others = (*sources[:index], *sources[index + 1 :], *laterals)
        if start is None or alias in {other for other, _ in others}:
            continue
        if join is not None and join.kind in ("SEMI", "ANTI"):
            continue
        nullable = any(side for side in outer) if index else any(side not in ("", "LEFT") for side in outer)
        yield start, _Site(alias, others, nullable, conjuncts)


def _start(node: exp.Expr, skipped: int) -> int | None:
    """Return the offset at which the name of a relation begins; None for anything but a name, perhaps with alias and time travel."""
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        return None
    alias = node.args.get("alias")
    if (alias is not None and alias.args.get("columns")) or any(node.args.get(key) for key in _CHANGING_CLAUSES):
        return None
    start = node.parts[0].meta.get("start")
    return None if start is None else start + skipped
