"""Find the conditions that a row of a relation must satisfy for a text to need it, from the WHERE clauses of its SELECTs.

A WHERE applies to the relations in the FROM of its SELECT, and to what a subquery, common table expression or view there reads. Rows that
fail one of its conjuncts can be dropped before the joins:

- A conjunct that is not true for NULL (every comparison): a joined row with a failing row of the relation fails WHERE. Dropping the
  failing row can only change other joined rows by replacing it with NULLs in an outer join. Then the column is NULL, so that they
  fail WHERE as well. So the relation may be on either side of any inner or outer join.
- A conjunct that is true for NULL (IS NULL) counts only where no outer join can replace the relation's rows by NULLs.
- WHERE does not apply to the right side of a semi or anti join, and a sample, a pivot or an ASOF or NEAREST join is computed before
  WHERE: no conditions for these.

A condition on the columns of a query is one on its rows before SELECT, if these columns are plain or cast columns, also under other
names, and the query computes each row alone: without GROUP BY, LIMIT or a window, and without functions such as rand, whose results for a
row may depend on the rows before it. A common table expression that is used several times needs all rows that one of its uses needs, so
it has no conditions of its users.

A column belongs to a relation if it is qualified by its alias, or if the relation is the only one of the SELECT, or if all others
are known and have no column of that name. Text that sqlglot cannot parse, and conditions on other columns, are left out: the query is
then slower but still right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from ..format.identifiers import fold
from ..sql.values import Reference, Sql
from .constants import names_of_time
from .selects import Select, Source, Use, uses_of

ColumnsOf = Callable[[Reference], Collection[str] | None]
"""Returns the names of the columns of the relation that a reference means; None if they are not known."""

_WHERE = re.compile(r"\bWHERE\b", re.IGNORECASE)


@dataclass(frozen=True)
class RowCondition:
    """A condition that every needed row of a relation satisfies. Its columns are those of the relation, without qualifiers."""

    expression: exp.Expr
    source: str
    """The SQL in which the condition is written."""
    nullable: bool = False
    """Whether an outer join may replace the relation's rows by NULLs, so that a condition that is true for NULL does not count."""


@dataclass(frozen=True)
class _Condition:
    """A condition on other rows of the text than those for which it was written."""

    written: RowCondition
    columns: tuple[exp.Expr, ...]
    """The plain or cast columns of the rows that its columns are."""
    nullable: bool

    @classmethod
    def of(cls, condition: RowCondition) -> _Condition:
        """Return a condition on the rows for which it was written."""
        return cls(condition, tuple(condition.expression.find_all(exp.Column)), condition.nullable)

    def with_columns(self, column_of: Callable[[exp.Column], exp.Expr | None]) -> _Condition | None:
        """Return the condition with other columns; None if it has no column, or one for which the function returns None."""
        columns: list[exp.Expr] = []
        for each in self.columns:
            column = uncast(each)
            found = column_of(column) if isinstance(column, exp.Column) else None
            if found is None:
                return None
            changed = each.copy()
            columns.append(_replaced(changed, uncast(changed), found))
        return replace(self, columns=tuple(columns)) if columns else None

    def row_condition(self) -> RowCondition:
        """Return the condition, written with the columns of the rows."""
        expression = self.written.expression.copy()
        for column, value in zip(list(expression.find_all(exp.Column)), self.columns, strict=True):
            expression = _replaced(expression, column, value)
        return RowCondition(expression, self.written.source, self.nullable)


class Conditions:
    """The conditions on the rows of the relations of one text.

    Args:
        sql: the text.
        columns_of: finds the columns of its relations.
        outer: conditions on the rows of the text itself, if it is the query of a view.
    """

    def __init__(self, sql: Sql, columns_of: ColumnsOf, outer: tuple[RowCondition, ...] = ()) -> None:
        self._text = sql.text
        self._columns_of = columns_of
        self._outer = outer
        self._references = {each.start: each for each in sql.references}
        self._of_joined_rows: dict[Select, tuple[_Condition, ...]] = {}
        self._of_result: dict[tuple[Select, str], tuple[exp.Expr | None, ...]] = {}

    @property
    def may_exist(self) -> bool:
        """Whether there may be conditions."""
        return bool(self._outer or _WHERE.search(self._text))

    def on(self, reference: Reference) -> tuple[RowCondition, ...]:
        """Return the conditions on the rows of the relation that a reference names; none if the text is nested too deeply."""
        try:
            use = uses_of(self._text, frozenset(self._references)).get(reference.start)
            return () if use is None else tuple(each.row_condition() for each in self._on_source(use))
        except RecursionError:
            return ()

    def _on_source(self, use: Use) -> Iterator[_Condition]:
        """Yield the conditions on the rows of a source, from those on the joined rows of its SELECT."""
        if not use.source.is_filtered:
            return

        def renamed(column: exp.Column) -> exp.Expr | None:
            return exp.column(column.name, quoted=True) if self._owner(use.select, column) is use.source else None

        for condition in self._on_joined_rows(use.select):
            found = condition.with_columns(renamed)
            if found is not None:
                yield replace(found, nullable=condition.nullable or use.source.nullable)

    def _on_joined_rows(self, select: Select) -> tuple[_Condition, ...]:
        """Return the conditions on the rows that a SELECT joins: its WHERE, and the conditions on its result."""
        if select not in self._of_joined_rows:
            self._of_joined_rows[select] = tuple(self._found_on_joined_rows(select))
        return self._of_joined_rows[select]

    def _found_on_joined_rows(self, select: Select) -> Iterator[_Condition]:
        for conjunct in select.conjuncts:
            if self._has_functions(select, names_of_time(conjunct)):
                yield _Condition.of(RowCondition(conjunct, self._text))
        if not select.is_row_by_row:
            return
        of_result = map(_Condition.of, self._outer) if select.is_whole else () if select.used is None else self._on_source(select.used)
        for condition in of_result:
            found = condition.with_columns(lambda column: self._output(select, column.name))
            if found is not None:
                yield found

    def _has_functions(self, select: Select, names: Collection[str]) -> bool:
        """Whether these names are functions in WHERE, as no relation can have a column of the same name."""
        hidden = any(self._may_have(source, name) for source in select.visible for name in names)
        return not names or (select.is_independent and not hidden)

    def _owner(self, select: Select, column: exp.Column) -> Source | None:
        """Return the source of a column of the joined rows."""
        if not _is_plain(column):
            return None
        if column.table:
            found = [source for source in select.visible if source.alias == fold(column.table)]
        else:
            found = [source for source in select.visible if self._may_have(source, column.name)]
        return found[0] if len(found) == 1 else None

    def _may_have(self, source: Source, name: str) -> bool:
        """Whether a source may have a column of this name."""
        if source.query is not None:
            return bool(self._outputs(source.query, name))
        columns = self._columns_of(self._references[source.start]) if source.start in self._references else None
        return columns is None or fold(name) in map(fold, columns)

    def _output(self, select: Select, name: str) -> exp.Expr | None:
        """Return the plain or cast column of the joined rows that a column of the result certainly is."""
        found = self._outputs(select, name)
        return found[0] if len(found) == 1 else None

    def _outputs(self, select: Select, name: str) -> tuple[exp.Expr | None, ...]:
        """Return what may be the column of this name in the result: columns of the joined rows, and None for any other expression."""
        key = select, fold(name)
        if key not in self._of_result:
            self._of_result[key] = tuple(self._found_outputs(*key))
        return self._of_result[key]

    def _found_outputs(self, select: Select, name: str) -> Iterator[exp.Expr | None]:
        for each in select.node.expressions:
            star = each.this if isinstance(each, exp.Column) else each
            if isinstance(star, exp.Star):
                yield from self._in_star(select, each, star, name)
            elif isinstance(each, exp.Aliases):
                yield None
            elif fold(each.alias_or_name) == name:
                value = each.unalias().unnest()
                column = uncast(value) if isinstance(each, exp.Alias) or _has_name_of_column(value) else value
                yield value if isinstance(column, exp.Column) else None

    def _in_star(self, select: Select, each: exp.Expr, star: exp.Star, name: str) -> list[exp.Expr | None]:
        """Return what may be the column of this name in a star."""
        qualifier = fold(each.table) if isinstance(each, exp.Column) else None
        sources = [source for source in select.visible if qualifier in (None, source.alias)]
        excluded = star.args.get("except_") or []
        changed = any(value for key, value in star.args.items() if key != "except_")
        if not sources or changed or not all(isinstance(column, exp.Column) for column in excluded):
            return [None]
        if name in {fold(column.name) for column in excluded}:
            return []
        return [exp.column(name, source.alias, quoted=True) for source in sources if self._may_have(source, name)]


def _has_name_of_column(node: exp.Expr) -> bool:
    """Whether Spark names a cast by its column: only a cast of the column itself, and no `to_timestamp`, a cast to sqlglot."""
    return (
        isinstance(node, exp.Cast)
        and isinstance(node.this.unnest(), exp.Column)
        and not node.is_type(*exp.DataType.TEMPORAL_TYPES - {exp.DType.DATE})
    )


def uncast(node: exp.Expr) -> exp.Expr:
    """Return the expression in casts and parentheses."""
    while isinstance(node, exp.Cast | exp.Paren):
        node = node.this
    return node


def _is_plain(column: exp.Column) -> bool:
    return isinstance(column.this, exp.Identifier) and not column.args.get("db") and not column.args.get("catalog")


def _replaced(tree: exp.Expr, column: exp.Expr, value: exp.Expr) -> exp.Expr:
    """Put a copy of a value in the place of a column of a tree, and return the tree."""
    value = value.copy()
    column.replace(value)
    return value if column is tree else tree
