"""Find operations of a query whose result differs in DuckDB because of the types of their operands.

A view's text is translated without type information (`translate/shared_sql.py`). Spark has the types in the analyzed plan of the query,
which this module walks, down to the relations that the query reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_SAME_TEXT = frozenset({*_WHOLE, "string", "boolean", "date", "timestamp_ntz", "void"})
"""Types, in addition to decimals, whose values have the same text in both engines."""

_ORDERS = frozenset(
    {"LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual", "SortOrder", "Min", "Max", "Greatest", "Least"},
)
_OF_BYTES = _ORDERS | {"Alias", "EqualTo", "EqualNullSafe", "IsNull", "IsNotNull", "Count", "Coalesce", "CaseWhen", "If", "In", "Not"}
_UNTYPED = ("WindowExpression", "WindowSpecDefinition", "SpecifiedWindowFrame")
_SAME_INSTANT = frozenset(
    {
        *(("date", "timestamp"), ("date", "timestamp_ntz"), ("timestamp_ntz", "timestamp")),
        *(("timestamp", "date"), ("timestamp_ntz", "date")),
    }
)
_MOVED_DATES = ("DateAdd", "DateAddYMInterval")
_MICROSECONDS_OF_DAY = 24 * 60 * 60 * 1_000_000
_ARITHMETIC = ("Add", "Subtract", "Multiply", "Divide", "Remainder", "IntegralDivide", "Average", "Round")


def first_difference(frame: DataFrame, *, from_spark: bool) -> str | None:
    """Return the SQL of the first operation in a query's plan whose result differs in DuckDB; None if there is none.

    Args:
        frame: the query.
        from_spark: the query was written in Spark SQL and translated for DuckDB; otherwise it was translated from DuckDB's SQL.
    """
    java: Any = getattr(frame, "_jdf", None)
    if java is None:
        return "of which Spark Connect does not show the types"
    jvm: Any = frame.sparkSession._jvm
    user_specified = jvm.org.apache.spark.sql.catalyst.expressions.Cast.USER_SPECIFIED_CAST()
    return _Check(from_spark, user_specified).plan(java.queryExecution().analyzed())


def _each(sequence: Any) -> Iterator[Any]:
    for i in range(sequence.size()):
        yield sequence.apply(i)


def _type(expression: Any) -> str:
    return str(expression.dataType().catalogString())


def _is_decimal(kind: str) -> bool:
    return kind.startswith("decimal")


def _is_nested(kind: str) -> bool:
    return kind.startswith(("array<", "struct<", "map<"))


def _scale(kind: str) -> int:
    return int(kind.rstrip(")").rpartition(",")[2])


def _is_literal(expression: Any) -> bool:
    return str(expression.getClass().getSimpleName()) == "Literal"


def _is_null(expression: Any) -> bool:
    return expression.getClass().getSimpleName() == "Cast" and _type(expression.child()) == "void"


def _is_text(expression: Any) -> bool:
    """Whether the expression is a string cast to binary."""
    return expression.getClass().getSimpleName() == "Cast" and _type(expression.child()) == "string"


def _is_days_or_less_than_one(interval: Any) -> bool:
    """Whether both engines add the interval alike when the clock changes: Spark adds 24 hours as a day of the calendar."""
    while interval.children().size() == 1:
        interval = interval.children().apply(0)
    units = [str(unit.sql()) for unit in _each(interval.children())]
    if units[:1] != ["0"]:
        return True
    return abs(int(interval.eval(None))) < _MICROSECONDS_OF_DAY if interval.foldable() else units[:3] == ["0", "0", "0"]


def _arithmetic_differs(kind: str, expression: Any, children: list[Any]) -> bool:
    types = [_type(child) for child in children]
    match kind:
        case "Divide" | "Remainder":
            return _is_decimal(_type(expression))
        case "IntegralDivide":
            return any(each not in _WHOLE for each in types)
        case "Average":
            return _is_decimal(types[0])
        case "Round":
            return types[0] in ("float", "double") and str(children[1].sql()) != "0"
    if not all(map(_is_decimal, types)):
        return False
    scales = [_scale(each) for each in types]
    return _scale(_type(expression)) != (sum(scales) if kind == "Multiply" else max(scales))


def _operands_differ(kind: str, children: list[Any]) -> bool:
    """Whether the result differs because an operand is nested, an array of strings to concatenate, or binary."""
    if kind in _UNTYPED:
        return False
    types = [_type(child) for child in children]
    if kind in _ORDERS and any(map(_is_nested, types)):
        return True
    if kind == "ConcatWs" and any(_type(child).startswith("array") and not _is_null(child) for child in children):
        return True
    return kind not in _OF_BYTES and any(_type(child) == "binary" and not _is_text(child) for child in children)


class _Check:
    def __init__(self, from_spark: bool, user_specified: Any) -> None:
        self.from_spark = from_spark
        self.user_specified = user_specified

    def plan(self, plan: Any) -> str | None:
        if plan.getClass().getSimpleName() == "View":
            return None
        for expression in _each(plan.expressions()):
            found = self.expression(expression, None, "")
            if found is not None:
                return found
        return next((found for child in _each(plan.children()) if (found := self.plan(child)) is not None), None)

    def expression(self, expression: Any, parent: Any, parent_kind: str) -> str | None:
        kind = str(expression.getClass().getSimpleName())
        children = list(_each(expression.children()))
        if children and self._differs(kind, expression, children, parent, parent_kind):
            return str(expression.sql())
        if kind in ("ScalarSubquery", "ListQuery", "Exists"):
            found = self.plan(expression.plan())
            if found is not None:
                return found
        found_below = (self.expression(child, expression, kind) for child in children)
        return next((found for found in found_below if found is not None), None)

    def _differs(self, kind: str, expression: Any, children: list[Any], parent: Any, parent_kind: str) -> bool:
        match kind:
            case "Cast":
                return self._cast_differs(expression, children[0], parent_kind)
            case "Ceil" | "Floor":
                return not (parent_kind == "Cast" and _type(parent) in _WHOLE) and not _is_decimal(_type(children[0]))
            case "SubtractDates" | "SubtractTimestamps":
                return True
            case "GetMapValue":
                return self.from_spark and _type(children[1]) != "string"
            case "DateAdd" | "DateAddYMInterval" if self.from_spark:
                plain = kind == "DateAdd" and children[1].getClass().getSimpleName() != "ExtractANSIIntervalDays"
                return not (plain or self._is_evident_date(children[0]))
            case "TimestampAddInterval" | "TimeAdd" if self.from_spark:  # TimeAdd in Spark 4.0
                left = children[0]
                return left.getClass().getSimpleName() == "Cast" and _type(left.child()) == "date" and not self._is_explicit(left)
            case "TimestampAddInterval" | "TimeAdd" if _type(children[0]) == "timestamp":
                return not (expression.zoneId().getRules().isFixedOffset() or _is_days_or_less_than_one(children[1]))
        return _arithmetic_differs(kind, expression, children) if kind in _ARITHMETIC else _operands_differ(kind, children)

    def _is_explicit(self, cast: Any) -> bool:
        """Whether the cast is in the query's text, and not added by Spark."""
        return bool(cast.getTagValue(self.user_specified).isDefined())

    def _is_evident_date(self, expression: Any) -> bool:
        """Whether the expression's text alone shows that it is a date."""
        kind = expression.getClass().getSimpleName()
        return kind in ("Literal", "CurrentDate", *_MOVED_DATES) or (kind == "Cast" and self._is_explicit(expression))

    def _cast_differs(self, cast: Any, child: Any, parent_kind: str) -> bool:
        source, target = _type(child), _type(cast)
        if source == target or source == "void":
            return False
        if target == "string":
            return not (source in _SAME_TEXT or _is_decimal(source))
        if self._is_explicit(cast):
            if source in ("float", "double") and _is_decimal(target):
                return parent_kind != "Cast" or (not self.from_spark and _scale(target) != 0)
            if source == "string" and target == "timestamp_ntz" and self.from_spark:
                return not _is_literal(child)
            return source == "float" and parent_kind == "Divide"
        if source == "string":
            if target == "binary":
                return parent_kind != "Md5"
            return not _is_literal(child) or (target == "timestamp_ntz" and _has_zone(str(child.sql())))
        if source in _WHOLE:
            return not (target in _WHOLE or target == "double" or _is_decimal(target))
        if _is_decimal(source):
            return not (_is_decimal(target) or target == "double")
        return (source, target) not in _SAME_INSTANT


def _has_zone(literal: str) -> bool:
    """Whether a timestamp literal may have a time zone: a sign after the date, or letters."""
    text = literal.strip("'").strip()
    return any(mark in text[10:] for mark in "+-") or any(letter.isalpha() and letter != "T" for letter in text)
