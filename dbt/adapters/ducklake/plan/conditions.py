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
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from sqlglot import exp
from sqlglot.errors import SqlglotError

from ..format.identifiers import fold
from ..sql.tokens import has_continued_comment, tokenize
from ..sql.values import Reference, Sql
from ..translate.dialects import parse_with_unknown
from .constants import COMPUTED, names_of_time

ColumnsOf = Callable[[Reference], Collection[str] | None]
"""Returns the names of the columns of the relation that a reference means; None if they are not known."""

_EXPLAIN = re.compile(r"\s*EXPLAIN\s+(?:(?:EXTENDED|CODEGEN|COST|FORMATTED|LOGICAL)\s+)?", re.IGNORECASE)
_WHERE = re.compile(r"\bWHERE\b", re.IGNORECASE)
_CHANGING_CLAUSES = ("pivots", "joins", "laterals", "sample", "hints", "partition", "rows_from", "changes")
_ROW_BY_ROW = frozenset(("expressions", "from_", "joins", "laterals", "where", "with_", "hint", "distinct", "order", "sort"))
"""The clauses of a query that computes each row alone."""
_DEPENDENT = (
    *(exp.Window, exp.Anonymous, exp.QueryTransform, exp.Rand, exp.Randn, exp.Randstr, exp.Shuffle, exp.Uniform, exp.Uuid),
    *(exp.NextValueFor, exp.Normal, exp.Seq1, exp.Seq2, exp.Seq4, exp.Seq8, exp.Zipf),
)
"""What may have another value for a row if other rows are left out. A function that sqlglot does not know may be nondeterministic."""
_PARTS: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Select: ("from_", "joins", "with_"),
    exp.Subquery: ("this", "with_"),
    **dict.fromkeys((exp.From, exp.Join, exp.CTE), ("this",)),
    exp.With: ("expressions",),
    **dict.fromkeys((exp.Union, exp.Except, exp.Intersect), ("this", "expression", "with_")),
}
"""Where a query has other queries whose expressions cannot name its columns."""


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
        self._of_joined_rows: dict[_Select, tuple[_Condition, ...]] = {}
        self._of_result: dict[tuple[_Select, str], tuple[exp.Expr | None, ...]] = {}

    @property
    def may_exist(self) -> bool:
        """Whether there may be conditions."""
        return bool(self._outer or _WHERE.search(self._text))

    def on(self, reference: Reference) -> tuple[RowCondition, ...]:
        """Return the conditions on the rows of the relation that a reference names; none if the text is nested too deeply."""
        try:
            use = _uses(self._text, frozenset(self._references)).get(reference.start)
            return () if use is None else tuple(each.row_condition() for each in self._on_source(use))
        except RecursionError:
            return ()

    def _on_source(self, use: _Use) -> Iterator[_Condition]:
        """Yield the conditions on the rows of a source, from those on the joined rows of its SELECT."""
        if not use.source.is_filtered:
            return

        def renamed(column: exp.Column) -> exp.Expr | None:
            return exp.column(column.name, quoted=True) if self._owner(use.select, column) is use.source else None

        for condition in self._on_joined_rows(use.select):
            found = condition.with_columns(renamed)
            if found is not None:
                yield replace(found, nullable=condition.nullable or use.source.nullable)

    def _on_joined_rows(self, select: _Select) -> tuple[_Condition, ...]:
        """Return the conditions on the rows that a SELECT joins: its WHERE, and the conditions on its result."""
        if select not in self._of_joined_rows:
            self._of_joined_rows[select] = tuple(self._found_on_joined_rows(select))
        return self._of_joined_rows[select]

    def _found_on_joined_rows(self, select: _Select) -> Iterator[_Condition]:
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

    def _has_functions(self, select: _Select, names: Collection[str]) -> bool:
        """Whether these names are functions in WHERE, as no relation can have a column of the same name."""
        hidden = any(self._may_have(source, name) for source in select.visible for name in names)
        return not names or (select.is_independent and not hidden)

    def _owner(self, select: _Select, column: exp.Column) -> _Source | None:
        """Return the source of a column of the joined rows."""
        if not _is_plain(column):
            return None
        if column.table:
            found = [source for source in select.visible if source.alias == fold(column.table)]
        else:
            found = [source for source in select.visible if self._may_have(source, column.name)]
        return found[0] if len(found) == 1 else None

    def _may_have(self, source: _Source, name: str) -> bool:
        """Whether a source may have a column of this name."""
        if source.query is not None:
            return bool(self._outputs(source.query, name))
        columns = self._columns_of(self._references[source.start]) if source.start in self._references else None
        return columns is None or fold(name) in map(fold, columns)

    def _output(self, select: _Select, name: str) -> exp.Expr | None:
        """Return the plain or cast column of the joined rows that a column of the result certainly is."""
        found = self._outputs(select, name)
        return found[0] if len(found) == 1 else None

    def _outputs(self, select: _Select, name: str) -> tuple[exp.Expr | None, ...]:
        """Return what may be the column of this name in the result: columns of the joined rows, and None for any other expression."""
        key = select, fold(name)
        if key not in self._of_result:
            self._of_result[key] = tuple(self._found_outputs(*key))
        return self._of_result[key]

    def _found_outputs(self, select: _Select, name: str) -> Iterator[exp.Expr | None]:
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

    def _in_star(self, select: _Select, each: exp.Expr, star: exp.Star, name: str) -> list[exp.Expr | None]:
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


# -- the text ----------------------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Source:
    """A relation in the FROM of a SELECT."""

    alias: str
    start: int | None
    """The offset of its name in the text; None for anything but a name."""
    nullable: bool
    """Whether an outer join may replace its rows by NULLs."""
    is_visible: bool
    """Whether WHERE and SELECT can name its columns, as they cannot for the right side of a semi or anti join."""
    is_filtered: bool
    """Whether rows that fail a conjunct of WHERE can be dropped before the joins."""
    query: _Select | None = None
    """The query whose rows it has, if it is a subquery or a common table expression."""


@dataclass(eq=False)
class _Select:
    """A SELECT of the text."""

    node: exp.Select
    sources: list[_Source]
    conjuncts: tuple[exp.Expr, ...]
    """The conditions that its WHERE connects with AND."""
    is_row_by_row: bool
    """Whether a condition on its result can be applied to the joined rows."""
    is_whole: bool
    """Whether it is the whole text."""
    is_independent: bool
    """Whether its expressions cannot name columns of an enclosing query."""
    used: _Use | None = None
    """Where its rows are used, if that is one place."""

    @property
    def visible(self) -> list[_Source]:
        """The sources whose columns WHERE and SELECT can name."""
        return [source for source in self.sources if source.is_visible]


@dataclass(frozen=True)
class _Use:
    """A source, and the SELECT in whose FROM it is."""

    select: _Select
    source: _Source


class _Cte(NamedTuple):
    """A common table expression: its query, and how often it is named."""

    query: exp.Expr
    uses: int


@lru_cache(maxsize=64)
def parsed(text: str) -> exp.Expr | None:
    """Parse a condition or query with sqlglot, cached; return None if it cannot."""
    # sqlglot rewrites pipes into other scopes, knows no `${…}`, which Spark replaces, and takes TIMESTAMP WITHOUT TIME ZONE for TIMESTAMP
    if "|>" in text or "${" in text or has_continued_comment(text) or _has_word(text, "WITHOUT"):
        return None
    try:
        trees = parse_with_unknown(text, "spark", COMPUTED)
    except (SqlglotError, RecursionError):
        return None
    return trees[0] if len(trees) == 1 else None


def _has_name_of_column(node: exp.Expr) -> bool:
    """Whether Spark names a cast by its column: only a cast of the column itself, and no `to_timestamp`, a cast to sqlglot."""
    return (
        isinstance(node, exp.Cast)
        and isinstance(node.this.unnest(), exp.Column)
        and not node.is_type(*exp.DataType.TEMPORAL_TYPES - {exp.DType.DATE})
    )


def _has_word(text: str, word: str) -> bool:
    return word in text.upper() and any(token.word == word for token in tokenize(text))


def conjuncts(condition: str) -> list[exp.Expr]:
    """Return the conditions that a condition connects with AND; none if sqlglot cannot parse it."""
    tree = parsed(condition)
    return [] if tree is None else _conjuncts(tree)


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    node = node.unnest()
    return [each for part in node.flatten() for each in _conjuncts(part)] if isinstance(node, exp.And) else [node]


@lru_cache(maxsize=64)
def _uses(text: str, references: frozenset[int]) -> dict[int, _Use]:
    """Return where the relations of a text are used, by the offset at which their names begin.

    Args:
        text: the text.
        references: the offsets of the names that do not mean common table expressions.
    """
    explain = _EXPLAIN.match(text)
    skipped = explain.end() if explain else 0
    tree = parsed(text[skipped:])
    if tree is None:
        return {}
    selects = {id(node): _select(node, tree, skipped) for node in tree.find_all(exp.Select)}
    ctes = _ctes(tree, references, skipped)
    named_without_from = any(token.word in ("TABLE", "IDENTIFIER") for token in tokenize(text))
    found: dict[int, _Use] = {}
    for select in selects.values():
        for node, source in zip(_relations(select.node), select.sources, strict=False):
            use = _Use(select, source)
            if source.start in references:
                found[source.start] = use
            cte = ctes.get(_one_part_name(node)) if source.start is not None and source.start not in references else None
            source.query = selects.get(id(_subquery(node) if cte is None else cte.query))
            is_only = cte is None or (cte.uses == 1 and not named_without_from)
            if source.query is not None and is_only:
                source.query.used = use
    return found


def _select(node: exp.Select, tree: exp.Expr, skipped: int) -> _Select:
    where = node.args.get("where")
    clauses = {key for key, value in node.args.items() if value}
    computed = (*node.expressions, *(node.args.get("laterals") or []), where, *(join.args.get("on") for join in _joins(node)))
    dependent = any(each is not None and any(map(_is_dependent, each.find_all(*_DEPENDENT))) for each in computed)
    row_by_row = clauses <= _ROW_BY_ROW and not dependent and not (node.args.get("distinct") and node.args["distinct"].args.get("on"))
    return _Select(
        node, _sources(node, skipped), tuple(_conjuncts(where.this)) if where else (), row_by_row, node is tree, _is_independent(node)
    )


def _is_dependent(function: exp.Expr) -> bool:
    return not isinstance(function, exp.Anonymous) or function.name.upper() not in COMPUTED


def _is_independent(node: exp.Expr) -> bool:
    """Whether a query is in no expression of another one, whose columns it could name."""
    while node.parent is not None:
        if node.arg_key not in _PARTS.get(type(node.parent), ()):
            return False
        node = node.parent
    return True


def _relations(select: exp.Select) -> list[exp.Expr]:
    clause = select.args.get("from_")
    return [] if clause is None else [clause.this, *(join.this for join in _joins(select))]


def _joins(select: exp.Select) -> list[exp.Join]:
    return select.args.get("joins") or []


def _sources(select: exp.Select, skipped: int) -> list[_Source]:
    """Return the relations in the FROM of a SELECT, and after them those of LATERAL VIEW."""
    nodes = _relations(select)
    joins = _joins(select)
    laterals = select.args.get("laterals") or []
    aliases = [fold(each.alias_or_name) for each in (*nodes, *laterals)]
    unfiltered = any(select.args.get(key) for key in ("sample", "match", "pivots")) or any(
        each.args.get("pivots") for each in (*nodes, *joins)
    )
    # without a row that fails WHERE, an ASOF join would choose another one
    unfiltered = unfiltered or any(join.method == "ASOF" for join in joins)
    found: list[_Source] = []
    for index, (node, alias) in enumerate(zip((*nodes, *laterals), aliases, strict=True)):
        join = joins[index - 1] if 0 < index < len(nodes) else None
        is_visible = join is None or join.kind not in ("SEMI", "ANTI")
        is_filtered = not unfiltered and aliases.count(alias) == 1
        nullable = any(each.side not in (("",) if index else ("", "LEFT")) for each in joins)
        found.append(_Source(alias, _start(node, skipped), nullable, is_visible, is_filtered))
    return found


def _start(node: exp.Expr, skipped: int) -> int | None:
    """Return the offset at which the name of a relation begins; None for anything but a name, perhaps with alias and time travel."""
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier) or _names_columns(node):
        return None
    start = node.parts[0].meta.get("start")
    return None if start is None or any(node.args.get(key) for key in _CHANGING_CLAUSES) else start + skipped


def _names_columns(node: exp.Expr) -> bool:
    """Whether the alias of a relation has names for its columns."""
    alias = node.args.get("alias")
    return alias is not None and bool(alias.args.get("columns"))


def _subquery(node: exp.Expr) -> exp.Expr | None:
    """Return the query of a subquery in FROM that changes nothing of it."""
    while (
        isinstance(node, exp.Subquery)
        and not _names_columns(node)
        and {key for key, value in node.args.items() if value} <= {"this", "alias"}
    ):
        node = node.this
    return node if isinstance(node, exp.Select) else None


def _ctes(tree: exp.Expr, references: Collection[int], skipped: int) -> dict[str, _Cte]:
    """Return the common table expressions by folded name, without those with the same name, column names or recursion."""
    uses = Counter(
        _one_part_name(node)
        for node in tree.find_all(exp.Table)
        if node.parts[0].meta.get("start", -1) + skipped not in references and not isinstance(node.parent, exp.JoinHint)
    )
    nodes = list(tree.find_all(exp.CTE))
    names = Counter(fold(node.alias) for node in nodes)
    return {
        name: _Cte(node.this, uses[name])
        for node in nodes
        if names[name := fold(node.alias)] == 1 and not _names_columns(node) and not _is_recursive(node)
    }


def _one_part_name(node: exp.Expr) -> str:
    """Return the folded name of a relation; empty if it has several parts or is no name."""
    return fold(node.name) if isinstance(node, exp.Table) and len(node.parts) == 1 else ""


def _is_recursive(cte: exp.CTE) -> bool:
    return cte.parent is None or bool(cte.parent.args.get("recursive"))


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
