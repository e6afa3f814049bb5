"""Rules that rewrite DuckDB's SQL as Spark's, so that Spark can read the views that DuckDB created (see `shared_sql`).

Templates are Spark SQL. The types of columns are not known here, so some templates use `typeof`, which Spark evaluates during analysis.
"""

from __future__ import annotations

import re

from sqlglot import exp

from ..format.identifiers import fold
from .intervals_to_spark import AS_TIMESTAMP, add_interval, fill_spark, mark_interval
from .selects_to_spark import rearranged, using_as_on
from .shared_checks import (
    INTEGERS,
    PART_OF,
    UPPER_DIFFERS,
    WHOLE,
    RefusedError,
    is_plain_pattern,
    is_text,
    is_whole,
    part_and_timestamp,
    refuse_unless,
    refuse_unless_integer,
)
from .shared_sql import Rules

_SPACES = " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
"""The characters that `trim` removes in DuckDB: Unicode's space separators. Spark removes only the first of these."""

_TIMESTAMP_TEXT = r"^\\s*\\d{1,4}-\\d{1,2}-\\d{1,2}([ T]\\d{1,2}:\\d{2}:\\d{2}(\\.\\d{1,6})?)?\\s*$"
"""A regular expression, escaped for a string literal of SQL, for the strings that both engines read as the same timestamp."""

# The templates of `extract`, `date_trunc` and `date_diff`, each with its part of a timestamp or its unit.
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
_BEFORE_LOWER = "translate(x, 'İΣ', 'iσ')"
"""Replaces the letters that Spark's `lower` maps differently: `İ` (to two letters) and `Σ` (at the end of a word)."""


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
        return fill_spark(f"CASE WHEN typeof(x) IN ('double', 'float') THEN {rounded} ELSE {whole} END", x=inner)
    if kind is exp.DType.TIMESTAMPNTZ and not is_text(inner):
        return fill_spark(
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
    return fill_spark(_PART_TEMPLATES[name], x=value)


def _date_trunc(node: exp.Expr) -> exp.Expr:
    unit = node.args["unit"].name.lower()
    refuse_unless(unit in _TRUNCATION_TEMPLATES)
    return fill_spark(_TRUNCATION_TEMPLATES[unit], y=fill_spark(AS_TIMESTAMP, x=node.this))


def _date_diff(node: exp.Expr) -> exp.Expr:
    unit = node.args["unit"].name.lower()
    refuse_unless(unit in _DIFFERENCE_TEMPLATES)
    return fill_spark(_DIFFERENCE_TEMPLATES[unit], b=node.this, a=node.expression)


def _concat(node: exp.Expr) -> exp.Expr:
    """Ignore NULLs, as DuckDB does."""
    return _call("CONCAT", *(fill_spark("COALESCE(CAST(x AS STRING), '')", x=each) for each in node.expressions))


def _upper(node: exp.Expr) -> exp.Expr:
    """Map `ß` as DuckDB does, and raise an error for other letters that Spark's `upper` maps differently."""
    return fill_spark(
        f"CASE WHEN x RLIKE '{UPPER_DIFFERS}' THEN raise_error('upper() of this text is different in DuckDB') "
        "ELSE upper(translate(x, 'ß', 'ẞ')) END",
        x=node.this,
    )


def _ilike(node: exp.Expr) -> exp.Expr:
    node.set("this", fill_spark(_BEFORE_LOWER, x=node.this))
    return node


def _trim(node: exp.Expr) -> exp.Expr:
    """List the characters to remove, because the engines' defaults differ."""
    node.set("expression", node.args.get("expression") or exp.Literal.string(_SPACES))
    node.set("position", node.args.get("position") or "BOTH")
    return node


def _element(node: exp.Expr) -> exp.Expr:
    """Return an element of a list, counted from 1, or of a map; NULL if there is none, as in DuckDB."""
    index = node.expressions[0]
    return node if is_text(index) else _call("TRY_ELEMENT_AT", node.this, index)


def _full_match(node: exp.Expr) -> exp.Expr:
    """Anchor the pattern, because RLIKE also matches a part of the text."""
    refuse_unless(is_plain_pattern(node.expression))
    return fill_spark("x RLIKE p", x=node.this, p=exp.Literal.string(rf"^(?:{node.expression.name})\z"))


def _strftime(node: exp.Expr) -> exp.Expr:
    """Refuse formats with more than the year, the month and the day as numbers."""
    format_ = node.args["format"]
    refuse_unless(is_text(format_) and re.fullmatch(r"(%Y|%m|%d|[-/. ])+", format_.name))
    return node


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
    refuse_unless(node.args.get("alias"))  # DuckDB stores `VALUES (1)` in a subquery with an alias
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
        exp.Add: mark_interval,
        exp.Sub: mark_interval,
        exp.CTE: _without_materialized,
        exp.Transform: _arrow_lambda,
        exp.IgnoreNulls: lambda node: node.this if isinstance(node.this, exp.AnyValue) else node,  # sqlglot adds it to `any_value`
        exp.Count: lambda node: node if node.this is not None else exp.Count(this=exp.Star()),
    },
    late={
        exp.Select: rearranged,
        **dict.fromkeys((exp.TimestampAdd, exp.TimestampSub), add_interval),
        **dict.fromkeys((exp.Extract, *_PART_FUNCTIONS), _date_part),
        exp.Cast: _cast,
        exp.Upper: _upper,
        exp.Lower: lambda node: fill_spark(f"lower({_BEFORE_LOWER})", x=node.this),
        exp.ILike: _ilike,
        exp.TimestampTrunc: _date_trunc,
        exp.DateDiff: _date_diff,
        exp.Div: lambda node: fill_spark("CAST(a AS DOUBLE) / CAST(b AS DOUBLE)", a=node.this, b=node.expression),
        exp.Concat: _concat,
        exp.Trim: _trim,
        exp.Bracket: _element,
        exp.RegexpFullMatch: _full_match,
        exp.TimeToStr: _strftime,
        exp.AnyValue: lambda node: _call("ANY_VALUE", node.this, exp.Boolean(this=True)),  # NULLs are ignored
        exp.StructExtract: _struct_field,
        exp.Lambda: _lambda,
        exp.Values: _named_values,
    },
)
