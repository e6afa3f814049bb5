"""Rules that rewrite Spark's SQL for DuckDB, which reads the text of our views (see `shared_sql`).

Templates are DuckDB's SQL. The types of columns are not known, so some templates use `typeof`, which DuckDB evaluates when it binds.
"""

from __future__ import annotations

import re

from sqlglot import exp

from ..format.identifiers import fold
from .precedence import MISREAD, refuse_misread
from .shared_checks import (
    INTEGERS,
    PART_OF,
    PER_DAY,
    UPPER_DIFFERS,
    WHOLE,
    RefusedError,
    is_marked,
    is_star_of_relation,
    is_text,
    is_whole,
    mark,
    part_and_timestamp,
    refuse_unless,
    refuse_unless_integer,
)
from .shared_sql import Rules, fill_template

_PARTS = {
    **{part: f"{part}(x)" for part in ("year", "month", "day", "quarter", "hour", "minute")},
    "dayofmonth": "day(x)",
    **dict.fromkeys(("dow", "dayofweek"), "dayofweek(x) + 1"),
    "weekday": "isodow(x) - 1",
    "doy": "dayofyear(x)",
    "week": "weekofyear(x)",
}
_UNITS = {
    **{name: name for name in ("year", "quarter", "month", "week", "day", "hour", "minute")},
    "yyyy": "year",
    "yy": "year",
    "mon": "month",
    "mm": "month",
    "dd": "day",
}
_INTERVAL_UNITS = ("year", "month", "week", "day", "hour", "minute", "second")
_DATE_UNITS = ("year", "month", "week", "day")


def _duckdb(text: str, **parts: exp.Expr) -> exp.Expr:
    return fill_template(text, "duckdb", **parts)


# -- rules before the operands are translated -------------------------------------------------------------------------------------


def _unknown_function(node: exp.Expr) -> exp.Expr:
    """Translate a function that sqlglot does not know by this name."""
    name, given = fold(node.name), node.expressions
    match name, len(given):
        case (("date_part" | "datepart"), 2):
            refuse_unless(is_text(given[0]))
            return exp.Extract(this=exp.var(given[0].name), expression=given[1])
        case "date_format", 2:
            return _date_format(given[0], given[1])
        case "date_trunc", 2:
            return exp.TimestampTrunc(this=given[1], unit=_unit(given[0]))
        case "trunc", 2:
            kind: type[exp.Expr] = exp.DateTrunc
            return kind(this=given[0], unit=_unit(given[1]))
        case "weekday", 1:
            return exp.Extract(this=exp.var("weekday"), expression=given[0])
        case "isnull", 1:
            return exp.Is(this=given[0], expression=exp.Null())
        case "isnotnull", 1:
            return exp.Not(this=exp.Is(this=given[0], expression=exp.Null()))
    raise RefusedError


def _unit(text: exp.Expr) -> exp.Var:
    """Return the unit of `date_trunc` or `trunc`. Other units are refused: Spark returns NULL for them, such as `Y`."""
    refuse_unless(is_text(text) and text.name.lower() in _UNITS)
    return exp.var(_UNITS[text.name.lower()])


def _date_format(value: exp.Expr, pattern: exp.Expr) -> exp.Expr:
    """Translate `date_format` with a pattern of years, months and days as numbers of a fixed length."""
    refuse_unless(is_text(pattern) and re.fullmatch(r"(yyyy(?!y)|MM(?!M)|dd(?!d)|[-/. ])+", pattern.name))
    written = pattern.name.replace("yyyy", "%Y").replace("MM", "%m").replace("dd", "%d")
    return mark(exp.TimeToStr(this=value, format=exp.Literal.string(written)))


def _without_conversion(node: exp.Expr) -> exp.Expr:
    """Remove the conversion that sqlglot adds around the argument."""
    if isinstance(node.this, exp.TsOrDsToDate | exp.TimeStrToTime):
        node.set("this", node.this.this)
    return node


def _to_date(node: exp.Expr) -> exp.Expr:
    refuse_unless(not node.args.get("format"))
    return exp.cast(node.this, "date")


def _add_interval(node: exp.Expr) -> exp.Expr:
    """Replace a timestamp plus or minus an interval by a marked TimestampAdd or TimestampSub, which `_timestamp_add` translates."""
    interval = node.expression
    if not isinstance(interval, exp.Interval):
        return node
    unit = interval.args["unit"].name.lower().removesuffix("s") if isinstance(interval.args.get("unit"), exp.Var) else ""
    refuse_unless(unit in _INTERVAL_UNITS and interval.this is not None and interval.this.name.isdecimal())
    kind = exp.TimestampAdd if isinstance(node, exp.Add) else exp.TimestampSub
    return mark(kind(this=node.this, expression=exp.Literal.number(interval.this.name), unit=exp.var(unit)))


def _select(node: exp.Expr) -> exp.Expr:
    """Write `q.*` of a join with USING in Spark's column order: the join keys first. A star that is not rewritten here is refused later."""
    first, *others = node.args.get("joins") or [exp.Join()]
    if not first.args.get("using") or any(join.args.get("using") for join in others):
        return node
    names = [fold(clause.this.alias_or_name) for clause in (node.args["from_"], first, *others)]
    selected: list[exp.Expr] = []
    for each in node.expressions:
        name = fold(each.table) if is_star_of_relation(each) else ""
        if not name or names.count(name) != 1:
            selected.append(each)
        else:
            selected += _keys_first(each, first.args["using"] if name in names[:2] else [])
    node.set("expressions", selected)
    return node


def _keys_first(star: exp.Expr, keys: list[exp.Expr]) -> list[exp.Expr]:
    """Return the columns of `q.*`: each key, and `q.*` without the keys."""
    excluded = star.this.args.get("except_") or []
    refuse_unless(all(isinstance(each, exp.Column) and not each.table for each in excluded))
    names = {fold(each.name) for each in excluded}
    keys = [key for key in keys if fold(key.name) not in names]
    rest = star.copy()
    rest.set("this", mark(exp.Star(except_=[*excluded, *(exp.column(key.copy()) for key in keys)])))
    qualifier = {name: star.args.get(name) for name in ("table", "db", "catalog")}
    return [*(exp.column(key.copy(), **qualifier, copy=True) for key in keys), rest]


# -- rules after the operands are translated --------------------------------------------------------------------------------------


def _is_date(node: exp.Expr) -> bool:
    node = node.unnest()
    return isinstance(node, exp.CurrentDate) or (isinstance(node, exp.Cast) and node.args["to"].this is exp.DType.DATE)


def _timestamp_add(node: exp.Expr) -> exp.Expr:
    """Translate adding or subtracting an interval, with a cast to a date where Spark returns one.

    `spark/session/plan_types.py` refuses dates that cannot be recognized in the text.
    """
    refuse_unless(is_marked(node))
    unit, number = node.args["unit"].name.lower(), int(node.expression.name)
    sign = "+" if isinstance(node, exp.TimestampAdd) else "-"
    text = f"x {sign} INTERVAL {number} {unit}"
    per_day = PER_DAY.get(unit)
    if per_day and number >= per_day:  # Spark adds each full 24 hours as one calendar day
        text = f"x {sign} INTERVAL {number // per_day} day {sign} INTERVAL {number % per_day} {unit}"
    return _duckdb(f"CAST({text} AS DATE)" if unit in _DATE_UNITS and _is_date(node.this) else text, x=node.this)


def _cast(node: exp.Expr) -> exp.Expr:
    """Truncate a number cast to an integer: Spark truncates, DuckDB rounds."""
    kind, inner = node.args["to"].this, node.this.unnest()
    refuse_unless(kind is not exp.DType.DECIMAL or node.args["to"].expressions)
    if kind in INTEGERS and is_text(inner):
        refuse_unless_integer(inner)
        return node
    if kind in INTEGERS and not is_whole(inner) and not isinstance(inner, WHOLE):
        return _duckdb(
            f"CASE WHEN typeof(x) IN ('FLOAT', 'DOUBLE') THEN CAST(trunc(TRY_CAST(x AS DOUBLE)) AS {kind.value}) "
            f"WHEN typeof(x) LIKE 'DECIMAL%' THEN CAST(split_part(CAST(x AS TEXT), '.', 1) || '.0' AS {kind.value}) "
            f"ELSE CAST(x AS {kind.value}) END",
            x=inner,
        )
    return node


def _part(node: exp.Expr) -> exp.Expr:
    name, value = part_and_timestamp(node, PART_OF)
    refuse_unless(name in _PARTS)
    return _duckdb(_PARTS[name], x=value)


def _truncated(node: exp.Expr) -> exp.Expr:
    unit = _UNITS.get(node.args["unit"].name.lower())
    refuse_unless(unit is not None)
    timestamp = exp.cast(node.this, exp.DType.TIMESTAMPTZ)
    if unit == "hour":  # when clocks go back, DuckDB's date_trunc returns the second of the two hours
        return _duckdb("x - to_minutes(minute(x)) - to_microseconds(microsecond(x))", x=timestamp)
    return _duckdb(f"CAST(date_trunc('{unit}', x) AS TIMESTAMPTZ)", x=node.this)


def _date_truncated(node: exp.Expr) -> exp.Expr:
    unit = _UNITS.get(node.args["unit"].name.lower())
    refuse_unless(unit in ("year", "quarter", "month", "week"))
    return _duckdb(f"CAST(date_trunc('{unit}', x) AS DATE)", x=node.this)


def _difference(node: exp.Expr) -> exp.Expr:
    refuse_unless(node.args["unit"].name.lower() == "day")
    return _duckdb("date_diff('day', CAST(a AS DATE), CAST(b AS DATE))", b=node.this, a=node.expression)


def _days_added(node: exp.Expr) -> exp.Expr:
    refuse_unless(node.args["unit"].name.lower() == "day")
    return _duckdb("CAST(x AS DATE) + CAST(n AS INTEGER)", x=node.this, n=node.expression)


def _upper(node: exp.Expr) -> exp.Expr:
    """Translate `upper`: `ß` becomes `SS`. DuckDB raises an error for other letters whose upper case differs in Spark."""
    return _duckdb(
        f"CASE WHEN regexp_matches(x, '{UPPER_DIFFERS}') THEN error('upper() of this text is different in Spark') "
        "ELSE upper(replace(x, 'ß', 'SS')) END",
        x=node.this,
    )


def _lower(node: exp.Expr) -> exp.Expr:
    """Translate `lower`. DuckDB raises an error for `Σ`, which Spark maps to another letter at the end of a word."""
    return _duckdb(
        "CASE WHEN contains(x, 'Σ') THEN error('lower() of this text is different in Spark') ELSE lower(replace(x, 'İ', 'i̇')) END",
        x=node.this,
    )


def _ilike(node: exp.Expr) -> exp.Expr:
    node.set("this", _duckdb("replace(x, 'İ', 'i̇')", x=node.this))
    return node


def _trim(node: exp.Expr) -> exp.Expr:
    node.set("expression", node.args.get("expression") or exp.Literal.string(" "))
    return node


def _element(node: exp.Expr) -> exp.Expr:
    """Refuse an index into concatenated lists: sqlglot treats them as a string, and does not make the index 1-based."""
    index = node.expressions[0]
    refuse_unless(not isinstance(node.this.unnest(), exp.DPipe | exp.Concat))
    refuse_unless(is_text(index) or is_whole(index, node.args.get("offset") or 0))
    return node


def _group(node: exp.Expr) -> exp.Expr:
    """Write `GROUP BY a WITH ROLLUP` as `GROUP BY ROLLUP (a)`."""
    for of_all in (*(node.args.get("rollup") or ()), *(node.args.get("cube") or ())):
        if not of_all.expressions:
            of_all.set("expressions", node.expressions)
            node.set("expressions", [])
    return node


def _collected(node: exp.Expr) -> exp.Expr:
    refuse_unless(node.args.get("nulls_excluded") and not isinstance(node.this, exp.Distinct | exp.Order))
    refuse_unless(not isinstance(node.parent, exp.Window | exp.Filter))
    return _duckdb("COALESCE(list(x) FILTER (WHERE x IS NOT NULL), [])", x=node.this)


def _formatted(node: exp.Expr) -> exp.Expr:
    refuse_unless(is_marked(node))
    return _duckdb("strftime(x, f)", x=node.this, f=node.args["format"])


def _values(node: exp.Expr) -> exp.Expr:
    alias = node.args.get("alias")
    refuse_unless(alias is not None and alias.args.get("columns"))
    return node


def _concat(node: exp.Expr) -> exp.Expr:
    refuse_unless(len(node.expressions) > 1)
    return node


RULES = Rules(
    additional={
        exp.TimestampAdd: "this expression unit",
        exp.TimestampSub: "this expression unit",
        exp.TsOrDsAdd: "this expression unit",
        exp.AddMonths: "this expression",
        exp.DateTrunc: "this unit",
        exp.VarMap: "keys values",
        exp.ArrayAgg: "this nulls_excluded",
        exp.RawString: "this",
    },
    early={
        **dict.fromkeys(MISREAD, refuse_misread),
        exp.Select: _select,
        exp.Anonymous: _unknown_function,
        **dict.fromkeys((*PART_OF, exp.TimeToStr, exp.DayOfWeek), _without_conversion),
        exp.TsOrDsToDate: _to_date,
        exp.Add: _add_interval,
        exp.Sub: _add_interval,
    },
    late={
        **dict.fromkeys((exp.TimestampAdd, exp.TimestampSub), _timestamp_add),
        **dict.fromkeys((exp.Extract, *PART_OF), _part),
        exp.Cast: _cast,
        exp.Upper: _upper,
        exp.Lower: _lower,
        exp.ILike: _ilike,
        exp.TimestampTrunc: _truncated,
        exp.DateTrunc: _date_truncated,
        exp.DateDiff: _difference,
        exp.TsOrDsAdd: _days_added,
        exp.AddMonths: lambda node: _duckdb(
            "CAST(CAST(x AS DATE) + to_months(CAST(n AS INTEGER)) AS DATE)", x=node.this, n=node.expression
        ),
        exp.Trim: _trim,
        exp.Bracket: _element,
        exp.Group: _group,
        exp.ArrayAgg: _collected,
        exp.TimeToStr: _formatted,
        exp.Values: _values,
        exp.Concat: _concat,
        exp.BitwiseNot: lambda node: _duckdb("-1 - x", x=node.this),  # DuckDB's `~` of an unsigned column is not negative
        exp.Uuid: lambda node: exp.cast(node, "text"),
    },
)
