"""The SELECTs of a text: the relations in their FROM, their conditions, and where the rows of each are used.

sqlglot parses the text. Offsets are those in the text, and with them a relation in the tree is one of the text's references.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from sqlglot import exp
from sqlglot.errors import SqlglotError

from ..format.identifiers import fold
from ..sql.tokens import has_continued_comment, tokenize
from ..translate.dialects import parse_with_unknown
from .constants import COMPUTED

_EXPLAIN = re.compile(r"\s*EXPLAIN\s+(?:(?:EXTENDED|CODEGEN|COST|FORMATTED|LOGICAL)\s+)?", re.IGNORECASE)
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


@dataclass(eq=False)
class Source:
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
    query: Select | None = None
    """The query whose rows it has, if it is a subquery or a common table expression."""


@dataclass(eq=False)
class Select:
    """A SELECT of the text."""

    node: exp.Select
    sources: list[Source]
    conjuncts: tuple[exp.Expr, ...]
    """The conditions that its WHERE connects with AND."""
    is_row_by_row: bool
    """Whether a condition on its result can be applied to the joined rows."""
    is_whole: bool
    """Whether it is the whole text."""
    is_independent: bool
    """Whether its expressions cannot name columns of an enclosing query."""
    used: Use | None = None
    """Where its rows are used, if that is one place."""

    @property
    def visible(self) -> list[Source]:
        """The sources whose columns WHERE and SELECT can name."""
        return [source for source in self.sources if source.is_visible]


@dataclass(frozen=True)
class Use:
    """A source, and the SELECT in whose FROM it is."""

    select: Select
    source: Source


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
def uses_of(text: str, references: frozenset[int]) -> dict[int, Use]:
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
    found: dict[int, Use] = {}
    for select in selects.values():
        for node, source in zip(_relations(select.node), select.sources, strict=False):
            use = Use(select, source)
            if source.start in references:
                found[source.start] = use
            cte = ctes.get(_one_part_name(node)) if source.start is not None and source.start not in references else None
            source.query = selects.get(id(_subquery(node) if cte is None else cte.query))
            is_only = cte is None or (cte.uses == 1 and not named_without_from)
            if source.query is not None and is_only:
                source.query.used = use
    return found


def _select(node: exp.Select, tree: exp.Expr, skipped: int) -> Select:
    where = node.args.get("where")
    clauses = {key for key, value in node.args.items() if value}
    computed = (*node.expressions, *(node.args.get("laterals") or []), where, *(join.args.get("on") for join in _joins(node)))
    dependent = any(each is not None and any(map(_is_dependent, each.find_all(*_DEPENDENT))) for each in computed)
    row_by_row = clauses <= _ROW_BY_ROW and not dependent and not (node.args.get("distinct") and node.args["distinct"].args.get("on"))
    return Select(
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


def _sources(select: exp.Select, skipped: int) -> list[Source]:
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
    found: list[Source] = []
    for index, (node, alias) in enumerate(zip((*nodes, *laterals), aliases, strict=True)):
        join = joins[index - 1] if 0 < index < len(nodes) else None
        is_visible = join is None or join.kind not in ("SEMI", "ANTI")
        is_filtered = not unfiltered and aliases.count(alias) == 1
        nullable = any(each.side not in (("",) if index else ("", "LEFT")) for each in joins)
        found.append(Source(alias, _start(node, skipped), nullable, is_visible, is_filtered))
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
