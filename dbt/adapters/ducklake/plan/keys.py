"""Find the target columns that a MERGE condition compares with the source, to prune the target and to match small ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from ..format.identifiers import fold
from ..format.objects import Column, Table
from ..sql.tokens import tokenize
from .selects import conjuncts, parsed

_ALLOWED_NODES = (
    *(exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.Is, exp.Between),
    *(exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Cast, exp.DataType, exp.DataTypeParam),
)
"""The kinds of nodes in a condition that only compares columns and literals, perhaps cast."""
_FUNCTIONS_WITHOUT_PARENTHESES = frozenset(
    ("current_date", "current_time", "current_timestamp", "localtimestamp", "current_user", "session_user", "user", "grouping__id")
)
"""Functions of Spark that need no parentheses. Spark takes such a name for a column if there is one."""


def only_compares(condition: str) -> bool:
    """Whether a condition only compares columns and literals: it has no function, which could be random, and no subquery."""
    tree = parsed(condition)
    return tree is not None and all(isinstance(node, _ALLOWED_NODES) for node in tree.walk())


def equal_keys(condition: str, table: Table, target_alias: str, source_alias: str) -> list[tuple[Column, str]]:
    """Return (target column, SQL over the source) of each conjunct `target.column = source.column`.

    Both sides must be qualified. A condition that cannot be parsed has no keys.
    """
    found: list[tuple[Column, str]] = []
    for conjunct in conjuncts(condition):
        if not isinstance(conjunct, exp.EQ):
            continue
        for one, other in ((conjunct.left, conjunct.right), (conjunct.right, conjunct.left)):
            column = _target_column(one, table, target_alias)
            if column is not None and _only_source(other, source_alias):
                found.append((column, other.sql("spark")))
                break
    return found


def only_equal_keys(condition: str, keys: Sequence[tuple[Column, str]]) -> bool:
    """Whether a condition is the conjunction of its `equal_keys` and nothing else."""
    return 0 < len(keys) == len(conjuncts(condition))


def changes_meaning(expressions: Iterable[str], aliases: Iterable[str], columns: Iterable[str]) -> bool:
    """Whether an expression may mean something else if the columns of each side of a MERGE are fields of a struct named as its alias.

    Then an alias without a dot after it is no column of that name, and an unqualified `user` or `current_date` is a function of Spark.

    Args:
        expressions: the conditions and the assigned values.
        aliases: the aliases of the target and of the source.
        columns: the names of the columns of both.
    """
    folded = {fold(alias) for alias in aliases} | _FUNCTIONS_WITHOUT_PARENTHESES.intersection(map(fold, columns))
    for text in expressions:
        tokens = tokenize(text)
        after = [token.word for token in tokens[1:]] + [""]
        if any(token.is_identifier and fold(token.identifier) in folded and word != "." for token, word in zip(tokens, after, strict=True)):
            return True
    return False


def _target_column(node: exp.Expr, table: Table, alias: str) -> Column | None:
    if not isinstance(node, exp.Column) or fold(node.table) != fold(alias) or node.args.get("db"):
        return None
    column = table.column(node.name)
    return None if column is None or column.children else column


def _only_source(node: exp.Expr, alias: str) -> bool:
    """Whether a node is a plain column of the source; sqlglot and Spark may read other expressions differently."""
    return isinstance(node, exp.Column) and fold(node.table) == fold(alias) and not node.args.get("db")
