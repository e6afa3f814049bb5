"""Rules that rewrite DuckDB's SQL as Spark's, so that Spark can read the views that DuckDB created (see `shared_sql`).

Templates are Spark SQL. The types of columns are not known here, so some templates use `typeof`, which Spark evaluates during analysis.
"""

from __future__ import annotations

import re

from sqlglot import exp

from ..format.identifiers import fold
from .selects_to_spark import rearranged, using_as_on
from .shared_checks import (
    INTEGERS,
    PART_OF,
    PER_DAY,
    UPPER_DIFFERS,
    WHOLE,
    RefusedError,
    is_marked,
    is_plain_pattern,
    is_text,
    is_whole,
    mark,
    part_and_timestamp,
    refuse_unless,
    refuse_unless_integer,
)
from .shared_sql import Rules, fill_template

_SPACES = " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
"""The characters that `trim` removes in DuckDB: Unicode's space separators. Spark removes only the first of these."""

_TIMESTAMP_TEXT = r"^\\s*\\d{1,4}-\\d{1,2}-\\d{1,2}([ T]\\d{1,2}:\\d{2}:\\d{2}(\\.\\d{1,6})?)?\\s*$"
"""A regular expression, escaped for a string literal of SQL, for the strings that both engines read as the same timestamp."""

# The templates of `extract`, `date_trunc`, `date_diff` and intervals, each with its part of a timestamp or its unit.
_PART_TEMPLATES = {
    **{part: f"{part}(x)" for part in ("year", "month", "day", "quarter", "hour", "minute", "second")},
    "dayofmonth": "day(x)",
    **dict.fromkeys(("dow", "dayofweek", "weekday"), "dayofweek(x) - 1"),
    "isodow": "weekday(x) + 1",
    **dict.fromkeys(("doy", "dayofyear"), "dayofyear(x)"),
    **dict.fromkeys(("week", "weekofyear"), "weekofyear(x)"),
}
_PART_FUNCTIONS = {**PART_OF, exp.Second: "second", exp.DayOfWeekIso: "isodow", exp.Week: "week"}

_TRUNCATION_TEMPLATES = {
    "day": "COALESCE(CAST(y AS DATE), y)",
    **{part: f"COALESCE(trunc(y, '{part}'), y)" for part in ("year", "quarter", "month", "week")},
    "hour": "y - make_dt_interval(0, 0, minute(y), extract(SECOND FROM y))",
    "minute": "y - make_dt_interval(0, 0, 0, extract(SECOND FROM y))",
}
_DIFFERENCE_TEMPLATES = {
    "day": "datediff(b, a)",
    "month": "(year(b) - year(a)) * 12 + month(b) - month(a)",
    "quarter": "(year(b) - year(a)) * 4 + quarter(b) - quarter(a)",
    "year": "year(b) - year(a)",
}
_INTERVAL_TEMPLATES = {
    "year": "make_ym_interval(n, 0)",
    "quarter": "make_ym_interval(0, 3 * n)",
    "month": "make_ym_interval(0, n)",
    "week": "make_dt_interval(7 * n, 0, 0, 0)",
    "day": "make_dt_interval(n, 0, 0, 0)",
    "hour": "make_dt_interval(0, n, 0, 0)",
    "minute": "make_dt_interval(0, 0, n, 0)",
    "second": "make_dt_interval(0, 0, 0, n)",
}
_INTERVAL_FUNCTIONS = {f"to_{unit}s": unit for unit in _INTERVAL_TEMPLATES}
"""DuckDB's function that makes an interval → the unit."""
_MAX_STEPS = 40
_SIMPLE_INTERVAL = re.compile(r"\s*(\d+)\s+([a-z]+?)s?\s*", re.IGNORECASE | re.ASCII)
_BEFORE_LOWER = "translate(x, 'İΣ', 'iσ')"
"""Replaces the letters that Spark's `lower` maps differently: `İ` (to two letters) and `Σ` (at the end of a word)."""
_AS_TIMESTAMP = "COALESCE(x, CAST(NULL AS TIMESTAMP_NTZ))"
"""Converts a date to a timestamp; a timestamp, with or without time zone, stays unchanged."""


def _fill(text: str, **parts: exp.Expr) -> exp.Expr:
    """Fill a template of Spark SQL."""
    return fill_template(text, "spark", **parts)


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


# -- rules for expressions whose parts are not yet translated --------------------------------------------------------------


def _equals_any(node: exp.Expr) -> exp.Expr:
    """Translate `a = ANY(SELECT …)`, which is how DuckDB stores `a IN (SELECT …)`."""
    return exp.In(this=node.this, query=node.expression.this) if isinstance(node.expression, exp.Any) else node


def _unknown_function(node: exp.Expr) -> exp.Expr:
    """Translate a function that sqlglot does not know by this name."""
    name, given = fold(node.name), node.expressions
    match name, len(given):
        case "count_star", 0:
            return exp.Count(this=exp.Star())
        case (("now" | "get_current_timestamp" | "transaction_timestamp"), 0):
            return exp.CurrentTimestamp()
        case (("date_part" | "datepart"), 2):
            refuse_unless(is_text(given[0]))
            return exp.Extract(this=exp.var(given[0].name), expression=given[1])
        case (("list_apply" | "array_apply" | "apply" | "array_transform"), 2):
            return _arrow_lambda(exp.Transform(this=given[0], expression=given[1]))
        case "prefix", 2:
            return exp.StartsWith(this=given[0], expression=given[1])
        case (("suffix" | "ends_with"), 2):
            return exp.EndsWith(this=given[0], expression=given[1])
        case "isodow", 1:
            return exp.Extract(this=exp.var("isodow"), expression=given[0])
    raise RefusedError


def _average(node: exp.Expr) -> exp.Expr:
    """Replace `avg` by the sum divided by the count, because Spark rounds the average of decimals to a decimal."""
    inner = node
    while isinstance(inner, exp.Window | exp.Filter):
        inner = inner.this
    if not isinstance(inner, exp.Avg):
        return node

    def with_aggregate(kind: type[exp.Expr]) -> exp.Expr:
        copy = node.copy()
        average = copy.find(exp.Avg)
        assert average is not None
        if average is copy:
            return kind(this=average.this)
        average.replace(kind(this=average.this))
        return copy

    return exp.SafeDivide(this=exp.cast(with_aggregate(exp.Sum), "double"), expression=with_aggregate(exp.Count))


def _unit_and_number(node: exp.Expr) -> tuple[str, exp.Expr] | None:
    """Return the unit and the number of an interval; None for any other expression.

    Intervals are `to_days(CAST(trunc(CAST(n AS DOUBLE)) AS INTEGER))`, `CAST('1 day' AS INTERVAL)` and `INTERVAL '1' DAY`.
    """
    if isinstance(node, exp.Cast) and node.args["to"].this is exp.DType.INTERVAL:
        found = _SIMPLE_INTERVAL.fullmatch(node.this.name) if is_text(node.this) else None
        if found is None:
            raise RefusedError
        return found[2].lower(), exp.Literal.number(found[1])
    if isinstance(node, exp.Interval):
        refuse_unless(isinstance(node.args.get("unit"), exp.Var) and node.this is not None)
        return node.args["unit"].name.lower().removesuffix("s"), node.this
    name = node.name if isinstance(node, exp.Anonymous) else node.sql_name() if isinstance(node, exp.Func) else ""
    unit = _INTERVAL_FUNCTIONS.get(name.lower())
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


def _add_interval(node: exp.Expr) -> exp.Expr:
    """Replace a timestamp plus or minus an interval by a marked expression, which `_timestamp_add` translates."""
    found = _unit_and_number(node.expression)
    timestamp = node.this
    if found is None and isinstance(node, exp.Add):
        found, timestamp = _unit_and_number(node.this), node.expression
    if found is None:
        return node
    unit, number = found
    refuse_unless(unit in _INTERVAL_TEMPLATES)
    if is_text(number):
        refuse_unless(number.name.isdecimal())
        number = exp.Literal.number(number.name)
    refuse_unless(unit != "second" or is_whole(number))
    kind = exp.TimestampAdd if isinstance(node, exp.Add) else exp.TimestampSub
    return mark(kind(this=timestamp, expression=number, unit=exp.var(unit)))


def _arrow_lambda(node: exp.Expr) -> exp.Expr:
    """Read `(x -> f(x))` as a lambda; sqlglot reads the arrow in parentheses, as DuckDB stores it, as an access to JSON."""
    arrow = node.expression.unnest()
    if isinstance(arrow, exp.JSONExtract) and isinstance(arrow.this, exp.Column) and not arrow.this.table:
        node.set("expression", exp.Lambda(this=arrow.expression, expressions=[arrow.this.this]))
    return node


def _without_materialized(node: exp.Expr) -> exp.Expr:
    """Remove MATERIALIZED from a CTE, because Spark does not have it."""
    node.set("materialized", None)
    return node


# -- rules for expressions whose parts are already translated --------------------------------------------------------------


def _timestamp_add(node: exp.Expr) -> exp.Expr:
    """Translate an expression that `_add_interval` marked; refuse a function of the same kind in the view's text.

    Spark adds 24 hours as a day of the calendar, so a longer time is added in steps that are shorter. `spark/session/plan_types.py`
    refuses what is not constant, or too long, where it may differ.
    """
    refuse_unless(is_marked(node))
    unit, sign = node.args["unit"].name.lower(), "+" if isinstance(node, exp.TimestampAdd) else "-"
    number = node.expression if is_whole(node.expression) else _fill("CAST(CAST(n AS DOUBLE) AS INT)", n=node.expression)
    added = f" {sign} {_INTERVAL_TEMPLATES[unit]}"
    longest = PER_DAY.get(unit, 0) - 1
    if longest > 0 and is_whole(node.expression, longest + 1) and int(number.name) <= _MAX_STEPS * longest:
        steps, rest = divmod(int(number.name), longest)
        text = _AS_TIMESTAMP + steps * added + (re.sub(r"\bn\b", "rest", added) if rest else "")
        return _fill(text, x=node.this, n=exp.Literal.number(longest), rest=exp.Literal.number(rest))
    return _fill(_AS_TIMESTAMP + added, x=node.this, n=number)


def _cast(node: exp.Expr) -> exp.Expr:
    """Translate casts to integers, which round in DuckDB but truncate in Spark, to timestamps, and to strings."""
    kind = node.args["to"].this
    inner = node.this.unnest()
    if kind in INTEGERS and is_text(inner):
        refuse_unless_integer(inner)
        return node
    if kind in INTEGERS and not is_whole(inner) and not isinstance(inner, WHOLE):
        whole = f"CAST(CAST(x AS DECIMAL(38, 0)) AS {kind.value})"
        rounded = f"CAST(rint(CAST(x AS DOUBLE)) AS {kind.value})"
        return _fill(f"CASE WHEN typeof(x) IN ('double', 'float') THEN {rounded} ELSE {whole} END", x=inner)
    if kind is exp.DType.TIMESTAMPNTZ and not is_text(inner):
        return _fill(
            f"CASE WHEN typeof(x) = 'string' AND x IS NOT NULL AND NOT format_string('%s', x) RLIKE '{_TIMESTAMP_TEXT}' "
            "THEN raise_error('Spark and DuckDB may read this text as different timestamps') ELSE CAST(x AS TIMESTAMP_NTZ) END",
            x=inner,
        )
    if kind is exp.DType.TIMESTAMPTZ:
        return exp.cast(node.this, exp.DType.TIMESTAMPLTZ)
    if kind in (exp.DType.TEXT, exp.DType.VARCHAR):
        return exp.cast(node.this, "text")
    return node


def _date_part(node: exp.Expr) -> exp.Expr:
    name, value = part_and_timestamp(node, _PART_FUNCTIONS)
    refuse_unless(name in _PART_TEMPLATES)
    return _fill(_PART_TEMPLATES[name], x=value)


def _date_trunc(node: exp.Expr) -> exp.Expr:
    unit = node.args["unit"].name.lower()
    refuse_unless(unit in _TRUNCATION_TEMPLATES)
    return _fill(_TRUNCATION_TEMPLATES[unit], y=_fill(_AS_TIMESTAMP, x=node.this))


def _date_diff(node: exp.Expr) -> exp.Expr:
    unit = node.args["unit"].name.lower()
    refuse_unless(unit in _DIFFERENCE_TEMPLATES)
    return _fill(_DIFFERENCE_TEMPLATES[unit], b=node.this, a=node.expression)


def _quotient(node: exp.Expr) -> exp.Expr:
    """Divide as floating-point numbers, as DuckDB's `/` does."""
    return _fill("CAST(a AS DOUBLE) / CAST(b AS DOUBLE)", a=node.this, b=node.expression)


def _concat(node: exp.Expr) -> exp.Expr:
    """Ignore NULLs, as DuckDB does."""
    return _call("CONCAT", *(_fill("COALESCE(CAST(x AS STRING), '')", x=each) for each in node.expressions))


def _upper(node: exp.Expr) -> exp.Expr:
    """Map `ß` as DuckDB does, and raise an error for other letters that Spark's `upper` maps differently."""
    return _fill(
        f"CASE WHEN x RLIKE '{UPPER_DIFFERS}' THEN raise_error('upper() of this text is different in DuckDB') "
        "ELSE upper(translate(x, 'ß', 'ẞ')) END",
        x=node.this,
    )


def _lower(node: exp.Expr) -> exp.Expr:
    """Map all letters as DuckDB does."""
    return _fill(f"lower({_BEFORE_LOWER})", x=node.this)


def _ilike(node: exp.Expr) -> exp.Expr:
    node.set("this", _fill(_BEFORE_LOWER, x=node.this))
    return node


def _trim(node: exp.Expr) -> exp.Expr:
    """List the characters to remove, because the engines' defaults differ."""
    characters = node.args.get("expression")
    refuse_unless(characters is None or is_text(characters))
    node.set("expression", characters or exp.Literal.string(_SPACES))
    node.set("position", node.args.get("position") or "BOTH")
    return node


def _element(node: exp.Expr) -> exp.Expr:
    """Return an element of a list, counted from 1, or of a map; NULL if there is none, as in DuckDB."""
    refuse_unless(len(node.expressions) == 1)
    index = node.expressions[0]
    return node if is_text(index) else _call("TRY_ELEMENT_AT", node.this, index)


def _full_match(node: exp.Expr) -> exp.Expr:
    """Anchor the pattern, because RLIKE also matches a part of the text."""
    refuse_unless(is_plain_pattern(node.expression))
    return _fill("x RLIKE p", x=node.this, p=exp.Literal.string(rf"^(?:{node.expression.name})\z"))


def _strftime(node: exp.Expr) -> exp.Expr:
    """Refuse formats with more than the year, the month and the day as numbers."""
    format_ = node.args["format"]
    refuse_unless(is_text(format_) and re.fullmatch(r"(%Y|%m|%d|[-/. ])+", format_.name))
    return node


def _any_value(node: exp.Expr) -> exp.Expr:
    """Ignore NULLs, as DuckDB does."""
    return _call("ANY_VALUE", node.this, exp.Boolean(this=True))


def _bare_any_value(node: exp.Expr) -> exp.Expr:
    """Remove the IGNORE NULLS in which sqlglot wraps DuckDB's `any_value`."""
    return node.this if isinstance(node.this, exp.AnyValue) else node


def _count(node: exp.Expr) -> exp.Expr:
    """Translate `count()` to `count(*)`."""
    return node if node.this is not None else exp.Count(this=exp.Star())


def _lambda(node: exp.Expr) -> exp.Expr:
    """Refuse an index as second parameter: it starts at 1 in DuckDB and at 0 in Spark."""
    refuse_unless(len(node.expressions) == 1)
    return node


def _struct_field(node: exp.Expr) -> exp.Expr:
    """Translate `struct_extract(x, 'name')`."""
    refuse_unless(is_text(node.expression))
    return exp.Dot(this=exp.Paren(this=node.this), expression=exp.to_identifier(node.expression.name, quoted=True))


def _named_values(node: exp.Expr) -> exp.Expr:
    """Name unnamed columns col0, col1, … as DuckDB does; Spark starts at col1."""
    alias = node.args["alias"]
    if not alias.args.get("columns"):
        alias.set("columns", [exp.to_identifier(f"col{i}") for i in range(len(node.expressions[0].expressions))])
    return node


RULES = Rules(
    additional={
        exp.SafeDivide: "this expression",
        exp.TimestampAdd: "this expression unit",
        exp.TimestampSub: "this expression unit",
        exp.AnyValue: "this",
        exp.StructExtract: "this expression",
        exp.DayOfWeekIso: "this",
        exp.Week: "this",
        exp.RegexpFullMatch: "this expression",
        exp.Map: "keys values",
        exp.Transform: "this expression",
        exp.Lambda: "this expressions",
    },
    early={
        exp.Select: using_as_on,
        exp.EQ: _equals_any,
        exp.Anonymous: _unknown_function,
        exp.Avg: _average,
        exp.Filter: _average,
        exp.Window: _average,
        exp.Add: _add_interval,
        exp.Sub: _add_interval,
        exp.CTE: _without_materialized,
        exp.Transform: _arrow_lambda,
        exp.IgnoreNulls: _bare_any_value,
        exp.Count: _count,
    },
    late={
        exp.Select: rearranged,
        **dict.fromkeys((exp.TimestampAdd, exp.TimestampSub), _timestamp_add),
        **dict.fromkeys((exp.Extract, *_PART_FUNCTIONS), _date_part),
        exp.Cast: _cast,
        exp.Upper: _upper,
        exp.Lower: _lower,
        exp.ILike: _ilike,
        exp.TimestampTrunc: _date_trunc,
        exp.DateDiff: _date_diff,
        exp.Div: _quotient,
        exp.Concat: _concat,
        exp.Trim: _trim,
        exp.Bracket: _element,
        exp.RegexpFullMatch: _full_match,
        exp.TimeToStr: _strftime,
        exp.AnyValue: _any_value,
        exp.StructExtract: _struct_field,
        exp.Lambda: _lambda,
        exp.Values: _named_values,
    },
)
