"""Parentheses around operands, because the precedence of operators differs between Spark, DuckDB and sqlglot.

Both engines agree on OR, AND, NOT, comparisons, arithmetic and signs, in this order. They differ in all other operators: Spark's `&` binds
tighter than `^` and `^` tighter than `|`, DuckDB has one level for them; DuckDB's `~` binds weaker than `+`; `||` is like `+` in Spark, and
weaker in DuckDB. sqlglot takes predicates such as `IS NULL` for tighter than comparisons. It also reads some functions as operators, such
as `mod(a, b)`, and writes them without parentheses.
"""

from __future__ import annotations

from sqlglot import exp

from .shared_checks import refuse_unless

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_LEVELS: dict[type[exp.Expr], int] = {
    exp.Or: 1,
    exp.And: 2,
    exp.Not: 3,
    **dict.fromkeys(_COMPARISONS, 5),
    **dict.fromkeys((exp.Add, exp.Sub), 6),
    **dict.fromkeys((exp.Mul, exp.Div, exp.Mod), 7),
    exp.Neg: 8,
}
"""The operators on which both engines agree → how tightly they bind."""
_PREDICATES = (exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.NullSafeEQ, exp.NullSafeNEQ)
_PREDICATE_LEVEL = 4
_BITWISE = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)
_OTHERS = (*_BITWISE, exp.BitwiseNot, exp.IntDiv, exp.DPipe, exp.Concat)
_OPERATORS = (*_LEVELS, *_PREDICATES, *_OTHERS)
_ACCESSES = (exp.Bracket, exp.Dot)
MISREAD = (*_COMPARISONS, *_PREDICATES, *_BITWISE, exp.DPipe)
"""The operators whose operands sqlglot may read differently than Spark."""


def refuse_misread(node: exp.Expr) -> exp.Expr:
    """Refuse an operator of Spark's SQL with an operand that sqlglot may have read differently; in parentheses it is clear."""
    left, right = node.args.get("this"), node.args.get("expression")
    match node:
        case exp.DPipe():
            refuse_unless(not isinstance(left, _BITWISE) and not isinstance(right, exp.Add | exp.Sub))
        case exp.BitwiseAnd() | exp.BitwiseOr() | exp.BitwiseXor():
            refuse_unless(not any(isinstance(each, (*_BITWISE, exp.DPipe)) and type(each) is not type(node) for each in (left, right)))
        case _:
            refuse_unless(not any(isinstance(each, (*_PREDICATES, exp.Not)) for each in (left, right)))
            refuse_unless(not isinstance(right, _COMPARISONS))
    return node


def add_parentheses(tree: exp.Expr) -> None:
    """Put each operand in parentheses that is an operator itself, unless both engines certainly read it alike without them."""
    for node in list(tree.walk()):
        if isinstance(node, _OPERATORS) and node.parent is not None and _needs_parentheses(node, node.parent):
            parentheses = exp.Paren()
            node.replace(parentheses)
            parentheses.set("this", node)


def _needs_parentheses(node: exp.Expr, parent: exp.Expr) -> bool:
    if isinstance(parent, _ACCESSES):
        return node.arg_key == "this"
    if not isinstance(parent, _OPERATORS):
        return False
    if isinstance(parent, exp.And | exp.Or | exp.Not):
        return _level(node) < _LEVELS[type(parent)] or (isinstance(parent, exp.Not) and isinstance(node, exp.Not))
    is_left = node.arg_key == "this"
    if isinstance(parent, _OTHERS):
        return not (is_left and type(node) is type(parent) and isinstance(node, (*_BITWISE, exp.DPipe)))
    if isinstance(node, _OTHERS):
        return True
    is_chain = is_left and isinstance(parent, _ARITHMETIC)
    return _level(node) < _level(parent) or (_level(node) == _level(parent) and not is_chain)


def _level(node: exp.Expr) -> int:
    """Return how tightly an operator binds; those on which the engines disagree bind tighter than predicates in both."""
    return _PREDICATE_LEVEL if isinstance(node, _PREDICATES) else _LEVELS.get(type(node), 5)
