"""Rules that rewrite a timestamp plus or minus an interval of DuckDB as Spark's SQL.

`mark_interval` finds the interval before its parts are translated, `add_interval` writes it afterwards.
"""

from __future__ import annotations

import re

from sqlglot import exp

from .shared_checks import PER_DAY, RefusedError, is_marked, is_text, is_whole, mark, refuse_unless
from .shared_sql import fill_template

_TEMPLATES = {
    "year": "make_ym_interval(n, 0)",
    "quarter": "make_ym_interval(0, 3 * n)",
    "month": "make_ym_interval(0, n)",
    "week": "make_dt_interval(7 * n, 0, 0, 0)",
    "day": "make_dt_interval(n, 0, 0, 0)",
    "hour": "make_dt_interval(0, n, 0, 0)",
    "minute": "make_dt_interval(0, 0, n, 0)",
    "second": "make_dt_interval(0, 0, 0, n)",
}
_FUNCTIONS = {f"to_{unit}s": unit for unit in _TEMPLATES}
"""DuckDB's function that makes an interval → the unit."""
_MAX_STEPS = 40
_SIMPLE = re.compile(r"\s*(\d+)\s+([a-z]+?)s?\s*", re.IGNORECASE | re.ASCII)
AS_TIMESTAMP = "COALESCE(x, CAST(NULL AS TIMESTAMP_NTZ))"
"""Converts a date to a timestamp; a timestamp, with or without time zone, stays unchanged."""


def fill_spark(text: str, **parts: exp.Expr) -> exp.Expr:
    """Fill a template of Spark SQL."""
    return fill_template(text, "spark", **parts)


def _unit_and_number(node: exp.Expr) -> tuple[str, exp.Expr] | None:
    """Return the unit and the number of an interval; None for any other expression.

    Intervals are `to_days(CAST(trunc(CAST(n AS DOUBLE)) AS INTEGER))`, `CAST('1 day' AS INTERVAL)` and `INTERVAL '1' DAY`.
    """
    if isinstance(node, exp.Cast) and node.args["to"].this is exp.DType.INTERVAL:
        found = _SIMPLE.fullmatch(node.this.name) if is_text(node.this) else None
        if found is None:
            raise RefusedError
        return found[2].lower(), exp.Literal.number(found[1])
    if isinstance(node, exp.Interval):
        refuse_unless(isinstance(node.args.get("unit"), exp.Var) and node.this is not None)
        return node.args["unit"].name.lower().removesuffix("s"), node.this
    name = node.name if isinstance(node, exp.Anonymous) else node.sql_name() if isinstance(node, exp.Func) else ""
    unit = _FUNCTIONS.get(name.lower())
    if unit is None:
        return None
    number = node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
    return unit, _written_number(number, (exp.Cast,) if unit == "second" else (exp.Cast, exp.Trunc, exp.Cast))


def _written_number(number: exp.Expr, layers: tuple[type[exp.Expr], ...]) -> exp.Expr:
    """Return n of `to_days(CAST(trunc(CAST(n AS DOUBLE)) AS INTEGER))`, without the layers that DuckDB adds to `INTERVAL (n) DAY`."""
    outer = inner = number
    for layer in layers:
        if not isinstance(inner, layer):
            return number
        outer, inner = inner, inner.this
    return inner.unnest() if outer.args["to"].this is exp.DType.DOUBLE else number


def mark_interval(node: exp.Expr) -> exp.Expr:
    """Replace a timestamp plus or minus an interval by a marked expression, which `add_interval` translates."""
    found = _unit_and_number(node.expression)
    timestamp = node.this
    if found is None and isinstance(node, exp.Add):
        found, timestamp = _unit_and_number(node.this), node.expression
    if found is None:
        return node
    unit, number = found
    refuse_unless(unit in _TEMPLATES)
    if is_text(number):
        refuse_unless(number.name.isdecimal())
        number = exp.Literal.number(number.name)
    refuse_unless(unit != "second" or is_whole(number))
    kind = exp.TimestampAdd if isinstance(node, exp.Add) else exp.TimestampSub
    return mark(kind(this=timestamp, expression=number, unit=exp.var(unit)))


def add_interval(node: exp.Expr) -> exp.Expr:
    """Translate an expression that `mark_interval` marked; refuse a function of the same kind in the view's text.

    Spark adds 24 hours as a day of the calendar, so a longer time is added in steps that are shorter. `spark/session/plan_types.py`
    refuses what is not constant, or too long, where it may differ.
    """
    refuse_unless(is_marked(node))
    unit, sign = node.args["unit"].name.lower(), "+" if isinstance(node, exp.TimestampAdd) else "-"
    number = node.expression if is_whole(node.expression) else fill_spark("CAST(CAST(n AS DOUBLE) AS INT)", n=node.expression)
    added = f" {sign} {_TEMPLATES[unit]}"
    longest = PER_DAY.get(unit, 0) - 1
    if longest > 0 and is_whole(node.expression, longest + 1) and int(number.name) <= _MAX_STEPS * longest:
        steps, rest = divmod(int(number.name), longest)
        text = AS_TIMESTAMP + steps * added + (re.sub(r"\bn\b", "rest", added) if rest else "")
        return fill_spark(text, x=node.this, n=exp.Literal.number(longest), rest=exp.Literal.number(rest))
    return fill_spark(AS_TIMESTAMP + added, x=node.this, n=number)
