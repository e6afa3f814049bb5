"""Check the arguments of the expressions in `shared_sql`: only some mean the same in DuckDB and in Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sqlglot import exp

from ..format.identifiers import fold

Rule = Callable[[exp.Expr], exp.Expr]
"""Translates an expression whose parts are already translated, or refuses it."""


class RefusedError(Exception):
    """The expression has no counterpart in the other engine."""


def refuse_unless(condition: object) -> None:
    """Raise RefusedError unless the condition is true."""
    if not condition:
        raise RefusedError


INTEGERS = frozenset({exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT})
_TYPES = INTEGERS | {
    *(exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL, exp.DType.BOOLEAN, exp.DType.TEXT, exp.DType.VARCHAR),
    *(exp.DType.DATE, exp.DType.TIMESTAMPNTZ, exp.DType.TIMESTAMPTZ),
}
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
_PLAIN_PATTERN = re.compile(
    r"\^?(?:[\w \-,;:@#%&=/<>~'\"!]|\\[.d/+*?()\[\]|{}^$-]|\[[\w ,;:@#%=/.+*-]+\]|[()|](?!\?)|(?<=[\w\])])[+*?](?![+*?]))+", re.ASCII
)


def is_text(node: object) -> bool:
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
    return is_text(node) and isinstance(node, exp.Expr) and _PLAIN_PATTERN.fullmatch(node.name) is not None


def _select(node: exp.Expr) -> exp.Expr:
    """Refuse ORDER BY or QUALIFY with a name that is both a column and another alias: each engine resolves it differently."""
    selected = {fold(each.alias): each.this for each in node.expressions if isinstance(each, exp.Alias) and each.this.name != each.alias}
    order, qualify = node.args.get("order"), node.args.get("qualify")
    keys = [key.this for key in order.expressions if not isinstance(key.this, exp.Column)] if order is not None else []
    named = {fold(column.name) for key in keys for column in key.find_all(exp.Column) if not column.table}
    refuse_unless(named.isdisjoint(selected))
    if qualify is not None:
        named = {fold(column.name) for column in qualify.find_all(exp.Column) if not column.table}
        refuse_unless(all(selected[name].find(exp.Window) is not None for name in named & set(selected)))
    return node


def _table(node: exp.Expr) -> exp.Expr:
    refuse_unless(isinstance(node.this, exp.Identifier))  # not a table function
    return node


def is_star_of_relation(node: exp.Expr) -> bool:
    """Whether an expression is `t.*`."""
    return isinstance(node, exp.Column) and isinstance(node.this, exp.Star)


def _star(node: exp.Expr) -> exp.Expr:
    """Refuse `*` and `t.*` of a join with USING, unless an early rule has put the columns in order: Spark puts the merged ones first.

    In a function, only `count(*)` is the same: Spark's `count(t.*)` counts the rows without NULLs.
    """
    place = node.parent if node.parent is not None and is_star_of_relation(node.parent) else node
    if place is node and isinstance(node.parent, exp.Count):
        refuse_unless(not node.args.get("except_"))
        return node
    refuse_unless(isinstance(place.parent, exp.Select))
    joins = place.parent.args.get("joins") or () if place.parent is not None else ()
    refuse_unless(is_marked(node) or not any(join.args.get("using") for join in joins))
    return node


def _literal(node: exp.Expr) -> exp.Expr:
    refuse_unless(node.args.get("is_string") or not node.name.isdecimal() or int(node.name) < 2**63)
    return node


def _tuple(node: exp.Expr) -> exp.Expr:
    refuse_unless(isinstance(node.parent, exp.Values | exp.GroupingSets | exp.Rollup | exp.Cube))
    return node


def _ordered(node: exp.Expr) -> exp.Expr:
    refuse_unless(not isinstance(node.this, exp.Var))
    return node


def _is(node: exp.Expr) -> exp.Expr:
    refuse_unless(isinstance(node.expression, exp.Boolean | exp.Null))
    return node


def _in(node: exp.Expr) -> exp.Expr:
    """Refuse IN with a subquery except where NULL and false are the same, since Spark returns false."""
    if node.args.get("query") is None:
        return node
    place: exp.Expr | None = node.parent
    while place is not None and isinstance(place, exp.Paren):
        place = place.parent
    negated = isinstance(place, exp.Not)
    steps = (exp.Paren, exp.And) if negated else (exp.Paren, exp.And, exp.Or)
    place = place.parent if negated and place is not None else place
    while place is not None and isinstance(place, steps):
        place = place.parent
    refuse_unless(isinstance(place, exp.Where))
    return node


def _ilike(node: exp.Expr) -> exp.Expr:
    refuse_unless(node.expression.name.isascii())
    return _like(node)


def _like(node: exp.Expr) -> exp.Expr:
    refuse_unless(is_text(node.expression) and "\\" not in node.expression.name)
    return node


def _window_spec(node: exp.Expr) -> exp.Expr:
    bounds = [node.args.get(name) for name in ("start", "end")]
    plain = all(bound is None or isinstance(bound, str) for bound in bounds)
    refuse_unless(node.args.get("kind") in ("ROWS", "RANGE") and (plain or node.args.get("kind") == "ROWS"))
    return node


def _count(node: exp.Expr) -> exp.Expr:
    refuse_unless(not isinstance(node.this, exp.Distinct) or len(node.this.expressions) == 1)
    return node


def _cast(node: exp.Expr) -> exp.Expr:
    kind = node.args["to"].this
    refuse_unless(kind in _TYPES)
    if kind in (exp.DType.TEXT, exp.DType.VARCHAR):
        refuse_unless(not node.args["to"].expressions or isinstance(node.parent, exp.Cast))
    if is_text(node.this) and kind in (exp.DType.DATE, exp.DType.TIMESTAMPNTZ, exp.DType.TIMESTAMPTZ):
        refuse_unless(_PLAIN_TIMESTAMP.fullmatch(node.this.name))
    return node


def _data_type(node: exp.Expr) -> exp.Expr:
    refuse_unless(node.this in _TYPES and (node.this is exp.DType.DECIMAL or not node.expressions))
    return node


def _substring(node: exp.Expr) -> exp.Expr:
    length = node.args.get("length")
    refuse_unless(is_whole(node.args.get("start"), 1) and (length is None or is_whole(length)))
    return node


def _left_or_right(node: exp.Expr) -> exp.Expr:
    refuse_unless(is_whole(node.expression))
    return node


def _split_part(node: exp.Expr) -> exp.Expr:
    delimiter = node.args["delimiter"]
    refuse_unless(is_text(delimiter) and delimiter.name and is_whole(node.args["part_index"], 1))
    return node


def _pad(node: exp.Expr) -> exp.Expr:
    fill = node.args.get("fill_pattern")
    refuse_unless(is_whole(node.expression) and is_text(fill) and fill.name)  # type: ignore[union-attr]
    return node


def _replace(node: exp.Expr) -> exp.Expr:
    refuse_unless(is_text(node.expression) and node.expression.name and node.args.get("replacement") is not None)
    return node


def _translate(node: exp.Expr) -> exp.Expr:
    old, new = node.args["from_"], node.args["to"]
    refuse_unless(is_text(old) and is_text(new) and (old.name + new.name).isascii() and len(set(old.name)) == len(old.name))
    return node


def _regexp_like(node: exp.Expr) -> exp.Expr:
    refuse_unless(is_plain_pattern(node.expression))
    return node


def _struct(node: exp.Expr) -> exp.Expr:
    refuse_unless(node.expressions and all(isinstance(each, exp.PropertyEQ) for each in node.expressions))
    return node


def _round(node: exp.Expr) -> exp.Expr:
    decimals = node.args.get("decimals")
    refuse_unless(decimals is None or is_whole(decimals))
    return node


def _lag(node: exp.Expr) -> exp.Expr:
    offset = node.args.get("offset")
    refuse_unless(offset is None or is_whole(offset))
    return node


def _ignore_nulls(node: exp.Expr) -> exp.Expr:
    refuse_unless(isinstance(node.this, exp.Lag | exp.Lead | exp.FirstValue | exp.LastValue))
    return node


def _dot(node: exp.Expr) -> exp.Expr:
    refuse_unless(isinstance(node.expression, exp.Identifier))
    return node


def _repeat(node: exp.Expr) -> exp.Expr:
    refuse_unless(is_whole(node.args["times"]))
    return node


CHECKS: dict[type[exp.Expr], Rule] = {
    exp.Select: _select,
    exp.Table: _table,
    exp.Star: _star,
    exp.Tuple: _tuple,
    exp.Literal: _literal,
    exp.Ordered: _ordered,
    exp.Is: _is,
    exp.In: _in,
    exp.Like: _like,
    exp.ILike: _ilike,
    exp.WindowSpec: _window_spec,
    exp.Count: _count,
    exp.Cast: _cast,
    exp.DataType: _data_type,
    exp.Substring: _substring,
    exp.Left: _left_or_right,
    exp.Right: _left_or_right,
    exp.SplitPart: _split_part,
    exp.Pad: _pad,
    exp.Replace: _replace,
    exp.Translate: _translate,
    exp.RegexpLike: _regexp_like,
    exp.Struct: _struct,
    exp.Round: _round,
    exp.Lag: _lag,
    exp.Lead: _lag,
    exp.IgnoreNulls: _ignore_nulls,
    exp.Dot: _dot,
    exp.Repeat: _repeat,
}
