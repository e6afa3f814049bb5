"""Which columns of the target a MERGE condition requires to equal something of the source: what prunes the target."""

from __future__ import annotations

from sqlglot import exp

from ..format.identifiers import fold
from ..format.objects import Column, Table
from .filters import parsed


def equal_keys(condition: str, table: Table, target_alias: str, source_alias: str) -> list[tuple[Column, str]]:
    """(target column, SQL over the source) of each conjunct `target.column = expression of the source`.

    Only what is certain is given: both sides must be qualified, and a condition that cannot be parsed gives nothing.
    """
    tree = parsed(condition)
    if tree is None:
        return []
    conjuncts = list(tree.flatten()) if isinstance(tree, exp.And) else [tree]
    found: list[tuple[Column, str]] = []
    for conjunct in conjuncts:
        conjunct = conjunct.unnest()
        if not isinstance(conjunct, exp.EQ):
            continue
        for one, other in ((conjunct.left, conjunct.right), (conjunct.right, conjunct.left)):
            column = _target_column(one, table, target_alias)
            if column is not None and _only_source(other, source_alias):
                found.append((column, other.sql("spark")))
                break
    return found


def _target_column(node: exp.Expr, table: Table, alias: str) -> Column | None:
    if not isinstance(node, exp.Column) or fold(node.table) != fold(alias) or node.args.get("db"):
        return None
    column = table.column(node.name)
    return None if column is None or column.children else column


def _only_source(node: exp.Expr, alias: str) -> bool:
    """A plain column of the source: anything more could be one thing to sqlglot and another to Spark."""
    return isinstance(node, exp.Column) and fold(node.table) == fold(alias) and not node.args.get("db")
