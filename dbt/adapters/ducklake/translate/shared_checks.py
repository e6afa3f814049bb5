"""Check the arguments of the expressions in `shared_sql`: only some mean the same in DuckDB and in Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeGuard

from sqlglot import exp

from ..format.identifiers import fold

Rule = Callable[[exp.Expr], exp.Expr]
"""Translates an expression, or refuses it."""

Check = Callable[[exp.Expr], object]
"""Returns whether an expression is allowed."""


class RefusedError(Exception):
    """The expression has no counterpart in the other engine."""


def refuse_unless(condition: object) -> None:
    """Raise RefusedError unless the condition is true."""
    if not condition:
        raise RefusedError


_SMALL_INTEGERS = frozenset({exp.DType.TINYINT, exp.DType.SMALLINT})
INTEGERS = _SMALL_INTEGERS | {exp.DType.INT, exp.DType.BIGINT}
_NUMBERS = INTEGERS | {exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL, exp.DType.BOOLEAN}
_TYPES = _NUMBERS | {exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.DATE, exp.DType.TIMESTAMPNTZ, exp.DType.TIMESTAMPTZ}
_DIGITS = {exp.DType.TINYINT: 3, exp.DType.SMALLINT: 5, exp.DType.INT: 10, exp.DType.BIGINT: 20}
"""The type of a whole number → its digits before the point in Spark's common type with a DECIMAL."""
_MAX_DIGITS = 38
"""The digits of the largest DECIMAL."""
PER_DAY = {"hour": 24, "minute": 24 * 60, "second": 24 * 60 * 60}
"""The unit of a time → its number in 24 hours."""
WHOLE = (exp.Predicate, exp.And, exp.Or, exp.Not, exp.Boolean, exp.Count, exp.Ceil, exp.Floor, exp.RowNumber)
"""Expressions whose value is a boolean or a whole number."""

UPPER_DIFFERS = (
    "[\u0149\u019b\u01f0\u0264\u0390\u03b0\u0587\u1c8a\u1e96-\u1e9a\u1f50-\u1f57\u1f80-\u1fff\ua7cb-\ua7dc\ufb00-\ufb17"
    "\U00010d70-\U00010d85\U00016ebb-\U00016ed3]"
)
"""Letters that `upper` maps to several letters in Spark and to one in DuckDB, except `ß`; and letters of recent Unicode versions."""

_PLAIN_TIMESTAMP = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}:\d{2}(\.\d{1,6})?)?", re.ASCII)
_PLAIN_NUMBER = re.compile(r" *([+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|-?inf(inity)?|nan) *", re.ASCII | re.IGNORECASE)
_PLAIN_PATTERN = re.compile(
    r"\^?(?:[\w \-,;:@#%&=/<>~'\"!]|\\[.d/+*?()\[\]|{}^$-]|\[[\w ,;:@#%=/.+*-]+\]|[()|](?!\?)|(?<=[\w\])])[+*?](?![+*?]))+", re.ASCII
)


def is_text(node: object) -> TypeGuard[exp.Literal]:
    """Whether a node is a literal string."""
    return isinstance(node, exp.Literal) and node.is_string


PART_OF: dict[type[exp.Expr], str] = {
    **{kind: kind.__name__.lower() for kind in (exp.Year, exp.Month, exp.Day, exp.Quarter, exp.Hour, exp.Minute)},
    exp.DayOfMonth: "day",
    exp.DayOfWeek: "dow",
    exp.DayOfYear: "doy",
    exp.WeekOfYear: "week",
}
"""The functions of both engines that return a part of a date or timestamp, with the part's name in `extract`."""


def part_and_timestamp(node: exp.Expr, part_of: Mapping[type[exp.Expr], str]) -> tuple[str, exp.Expr]:
    """Return the part and the argument of `extract(part FROM x)` or of a function in `part_of`."""
    return (node.this.name.lower(), node.expression) if isinstance(node, exp.Extract) else (part_of[type(node)], node.this)


def refuse_unless_integer(text: exp.Expr) -> None:
    """Refuse a literal string that the engines may not both read as the same integer."""
    refuse_unless(re.fullmatch(r" *[+-]?\d+ *", text.name, re.ASCII))


def is_whole(node: object, least: int = 0) -> bool:
    """Whether a node is a literal whole number that is at least `least`."""
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal() and int(node.name) >= least


def mark(node: exp.Expr) -> exp.Expr:
    """Mark an expression as created by an early rule, not parsed."""
    node.meta["dbt_ducklake"] = True
    return node


def is_marked(node: exp.Expr) -> bool:
    """Whether an early rule created the expression."""
    return bool(node.meta.get("dbt_ducklake"))


def is_plain_pattern(node: object) -> bool:
    """Whether a node is a literal regular expression that both engines match alike: no dot, `$` or class of letters."""
    return is_text(node) and _PLAIN_PATTERN.fullmatch(node.name) is not None


def is_star_of_relation(node: exp.Expr) -> bool:
    """Whether an expression is `t.*`."""
    return isinstance(node, exp.Column) and isinstance(node.this, exp.Star)


def _select(node: exp.Expr) -> bool:
    """Refuse ORDER BY or QUALIFY with a name that is both a column and another alias: each engine resolves it differently."""
    selected = {fold(each.alias): each.this for each in node.expressions if isinstance(each, exp.Alias) and each.this.name != each.alias}
    order, qualify = node.args.get("order"), node.args.get("qualify")
    keys = [key.this for key in order.expressions if not isinstance(key.this, exp.Column)] if order is not None else []
    conditions = [] if qualify is None else [qualify]
    return _unqualified(keys).isdisjoint(selected) and all(
        selected[name].find(exp.Window) is not None for name in _unqualified(conditions) & set(selected)
    )


def _unqualified(nodes: Iterable[exp.Expr]) -> set[str]:
    """Return the folded names of the columns without a qualifier."""
    return {fold(column.name) for node in nodes for column in node.find_all(exp.Column) if not column.table}


def _star(node: exp.Expr) -> bool:
    """Refuse `*` and `t.*` of a join with USING, unless an early rule has put the columns in order: Spark puts the merged ones first.

    In a function, only `count(*)` is the same: Spark's `count(t.*)` counts the rows without NULLs.
    """
    place = node.parent if node.parent is not None and is_star_of_relation(node.parent) else node
    if place is node and isinstance(node.parent, exp.Count):
        return not node.args.get("except_")
    select = place.parent
    return isinstance(select, exp.Select) and (
        is_marked(node) or not any(join.args.get("using") for join in select.args.get("joins") or ())
    )


def _in(node: exp.Expr) -> bool:
    """Refuse IN with a subquery except where NULL and false are the same, since Spark returns false."""
    if node.args.get("query") is None:
        return True
    place: exp.Expr | None = node.parent
    while place is not None and isinstance(place, exp.Paren):
        place = place.parent
    negated = isinstance(place, exp.Not)
    steps = (exp.Paren, exp.And) if negated else (exp.Paren, exp.And, exp.Or)
    place = place.parent if negated and place is not None else place
    while place is not None and isinstance(place, steps):
        place = place.parent
    return isinstance(place, exp.Where)


def _literal(node: exp.Expr) -> bool:
    """Refuse a DECIMAL with so many digits, and zeros in front, that DuckDB reads it as a DOUBLE; and whole numbers beyond BIGINT."""
    if node.is_string or "e" in node.name.lower():
        return True
    if node.name.isdecimal():
        return int(node.name) < 2**63
    return sum(map(str.isdecimal, node.name)) <= _MAX_DIGITS


def _is_like(node: exp.Expr) -> bool:
    return is_text(node.expression) and "\\" not in node.expression.name


def _window_spec(node: exp.Expr) -> bool:
    bounds = [node.args.get(name) for name in ("start", "end")]
    plain = all(bound is None or isinstance(bound, str) for bound in bounds)
    return node.args.get("kind") == "ROWS" or (node.args.get("kind") == "RANGE" and plain)


def _cast(node: exp.Expr) -> bool:
    value, to = node.this.unnest(), node.args["to"]
    is_timestamp = to.this in (exp.DType.DATE, exp.DType.TIMESTAMPNTZ, exp.DType.TIMESTAMPTZ)
    if to.this in (exp.DType.TEXT, exp.DType.VARCHAR) and to.expressions and not isinstance(node.parent, exp.Cast):
        return False
    if to.this in (exp.DType.FLOAT, exp.DType.DOUBLE) and is_text(value) and not _PLAIN_NUMBER.fullmatch(value.name):
        return False
    return to.this in _TYPES and not (is_timestamp and is_text(value) and not _PLAIN_TIMESTAMP.fullmatch(value.name))


def _translate(node: exp.Expr) -> bool:
    old, new = node.args["from_"], node.args["to"]
    return is_text(old) and is_text(new) and (old.name + new.name).isascii() and len(set(old.name)) == len(old.name)


def _tuple(node: exp.Expr) -> bool:
    """Refuse expressions in VALUES: Spark computes them before `spark/session/plan_types.py` sees their types."""
    if isinstance(node.parent, exp.Values):
        return all(map(_is_evident_value, node.expressions))
    return isinstance(node.parent, exp.GroupingSets | exp.Rollup | exp.Cube)


def _values(node: exp.Expr) -> bool:
    """Refuse VALUES whose rows have different types in a column, if the engines may choose different common types."""
    rows = [each.expressions for each in node.expressions if isinstance(each, exp.Tuple)]
    return all(map(_have_common_type, zip(*rows, strict=False)))


def _have_common_type(values: Sequence[exp.Expr]) -> bool:
    types = set(filter(None, map(_evident_type, values)))
    if len(types) <= 1:
        return not any(map(_digits_before_point, values)) or _keep_decimals(types, values)
    is_rounded = {exp.DType.FLOAT, exp.DType.DECIMAL} <= types  # Spark computes a DOUBLE, DuckDB a FLOAT
    is_narrowed = not types.isdisjoint(_SMALL_INTEGERS) and any(map(_is_bare_integer, values))  # Spark computes an INT, DuckDB a TINYINT
    differs = is_rounded or is_narrowed or exp.DType.BOOLEAN in types
    return types <= _NUMBERS and not differs and _keep_decimals(types, values)


def _is_bare_integer(node: exp.Expr) -> bool:
    """Whether an evident value is a whole number without a cast, which DuckDB fits into a smaller type beside it."""
    return not isinstance(node.unnest(), exp.Cast) and _evident_type(node) in INTEGERS


def _keep_decimals(types: Collection[exp.DType], values: Sequence[exp.Expr]) -> bool:
    """Whether the common type has all digits after the point. Otherwise the engines drop different ones: each counts others before it.

    Spark counts more of a whole number, and DuckDB more of a literal: the zeros of `00.5`.
    """
    before = [*(_DIGITS.get(each, 0) for each in types), *map(_digits_before_point, values)]
    return max(before) + max(map(_scale, values)) <= _MAX_DIGITS


def _digits_before_point(node: exp.Expr) -> int:
    """Return the number of digits before the point of a literal of type DECIMAL, as written; 0 for other values."""
    node = node.unnest()
    is_literal = not isinstance(node, exp.Cast) and _evident_type(node) is exp.DType.DECIMAL
    return len(_without_sign(node).name.partition(".")[0]) if is_literal else 0


def _scale(node: exp.Expr) -> int:
    """Return the number of digits after the point of an evident value of type DECIMAL; 0 for other types."""
    node = node.unnest()
    if _evident_type(node) is not exp.DType.DECIMAL:
        return 0
    if isinstance(node, exp.Cast):
        return sum(int(scale.name) for scale in node.args["to"].expressions[1:])
    return len(_without_sign(node).name.partition(".")[2])


def _without_sign(node: exp.Expr) -> exp.Expr:
    return node.this.unnest() if isinstance(node, exp.Neg) else node


def _evident_type(node: exp.Expr) -> exp.DType | None:
    """Return the type of an evident value, which is Spark's for a literal; None for NULL. Refuse other constants."""
    node = node.unnest()
    if isinstance(node, exp.Cast):
        to: exp.DType = node.args["to"].this
        return exp.DType.TEXT if to is exp.DType.VARCHAR else to
    if isinstance(node, exp.Null):
        return None
    if is_text(node):
        return exp.DType.TEXT
    number = _without_sign(node)
    if isinstance(number, exp.Boolean):
        return exp.DType.BOOLEAN
    refuse_unless(isinstance(number, exp.Literal) and not number.is_string)
    if number.name.isdecimal():
        return exp.DType.INT if int(number.name) < 2**31 else exp.DType.BIGINT
    return exp.DType.DOUBLE if "e" in number.name.lower() else exp.DType.DECIMAL


def _is_evident_value(node: exp.Expr) -> bool:
    """Whether an expression is a constant that is the same in both engines, with any type: a literal, or a cast of one."""
    node = node.unnest()
    if not isinstance(node, exp.Cast):
        return isinstance(node, exp.Null) or is_text(node) or _is_evident_number(node)
    value = node.this.unnest()
    return is_text(value) or isinstance(value, exp.Null) or _is_evident_number(node)


def _is_evident_number(node: exp.Expr) -> bool:
    """Whether a constant is the same number or boolean in both engines. They round a floating-point number to different decimals."""
    node = node.unnest()
    if isinstance(node, exp.Cast):
        value, to = node.this.unnest(), node.args["to"].this
        differs = to is exp.DType.DECIMAL and _evident_type(value) in (exp.DType.FLOAT, exp.DType.DOUBLE)
        return to in _NUMBERS and not differs and _is_evident_number(value)
    number = node.this if isinstance(node, exp.Neg) else node
    return isinstance(number, exp.Boolean) or (isinstance(number, exp.Literal) and not number.is_string)


def _is_nonempty_text(node: object) -> bool:
    return is_text(node) and node.name != ""


def _if_given_whole(name: str) -> Check:
    """Return the check that an argument is a literal whole number, or not given."""
    return lambda node: node.args.get(name) is None or is_whole(node.args[name])


CHECKS: dict[type[exp.Expr], Check] = {
    exp.Select: _select,
    exp.Table: lambda node: isinstance(node.this, exp.Identifier),  # not a table function
    exp.Star: _star,
    exp.Tuple: _tuple,
    exp.Values: _values,
    exp.Literal: _literal,
    exp.Ordered: lambda node: not isinstance(node.this, exp.Var),
    exp.Is: lambda node: isinstance(node.expression, exp.Boolean | exp.Null),
    exp.In: _in,
    exp.Like: _is_like,
    exp.ILike: lambda node: node.expression.name.isascii() and _is_like(node),
    exp.WindowSpec: _window_spec,
    exp.Count: lambda node: not isinstance(node.this, exp.Distinct) or len(node.this.expressions) == 1,
    exp.Cast: _cast,
    exp.DataType: lambda node: node.this in _TYPES and (node.this is exp.DType.DECIMAL or not node.expressions),
    exp.Substring: lambda node: is_whole(node.args.get("start"), 1) and _if_given_whole("length")(node),
    exp.Left: lambda node: is_whole(node.expression),
    exp.Right: lambda node: is_whole(node.expression),
    exp.SplitPart: lambda node: _is_nonempty_text(node.args["delimiter"]) and is_whole(node.args["part_index"], 1),
    exp.Pad: lambda node: is_whole(node.expression) and _is_nonempty_text(node.args.get("fill_pattern")),
    exp.Replace: lambda node: _is_nonempty_text(node.expression) and node.args.get("replacement") is not None,
    exp.Translate: _translate,
    exp.Trim: lambda node: node.args.get("expression") is None or is_text(node.args["expression"]),
    exp.Bracket: lambda node: len(node.expressions) == 1,
    exp.RegexpLike: lambda node: is_plain_pattern(node.expression),
    exp.Struct: lambda node: node.expressions and all(isinstance(each, exp.PropertyEQ) for each in node.expressions),
    exp.Round: _if_given_whole("decimals"),
    exp.Lag: _if_given_whole("offset"),
    exp.Lead: _if_given_whole("offset"),
    exp.IgnoreNulls: lambda node: isinstance(node.this, exp.Lag | exp.Lead | exp.FirstValue | exp.LastValue),
    exp.Dot: lambda node: isinstance(node.expression, exp.Identifier),
    exp.Repeat: lambda node: is_whole(node.args["times"]),
}
"""Whether an expression, whose parts are already translated, means the same in both engines."""
