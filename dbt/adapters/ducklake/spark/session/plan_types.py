"""Find operations of a query whose result differs in DuckDB because of the types of their operands.

A view's text is translated without type information (`translate/shared_sql.py`). Spark has the types in the analyzed plan of the query,
which this module walks, down to the relations that the query reads.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .clock_changes import RepeatedTimes
from .expressions import SUBQUERIES, WHOLE, Columns, Expression, each, is_decimal, is_nested, scale
from .jvm import java_class
from .opaque_values import UNSURE, depends_on_value, has_marked, has_opaque, have_equal_texts, kinds_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SAME_TEXT = frozenset({*WHOLE, "string", "boolean", "date", "timestamp_ntz", "void"})
"""Types, in addition to decimals, whose values have the same text in both engines."""

_DATE_TIMES = "org.apache.spark.sql.catalyst.util.DateTimeUtils"
_ORDERS = frozenset(
    {"LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual", "SortOrder", "Min", "Max", "Greatest", "Least"},
)
_OF_BYTES = _ORDERS | {"Alias", "EqualTo", "EqualNullSafe", "IsNull", "IsNotNull", "Count", "Coalesce", "CaseWhen", "If", "In", "Not"}
_OF_DATES = frozenset({*("Year", "Month", "Quarter", "DayOfMonth", "DayOfWeek", "WeekDay", "DayOfYear", "WeekOfYear", "Hour", "Minute")})
_OF_DATES |= {"LastDay", "TruncDate", "TruncTimestamp"}
"""Functions of dates, which DuckDB does not call with a literal string."""
_COMPLETE_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}:\d{2}|$)", re.ASCII)
_UNTYPED = ("WindowExpression", "WindowSpecDefinition", "SpecifiedWindowFrame")
_SAME_INSTANT = frozenset(
    {
        *(("date", "timestamp"), ("date", "timestamp_ntz"), ("timestamp_ntz", "timestamp")),
        *(("timestamp", "date"), ("timestamp_ntz", "date")),
    }
)
_INSTANTS = ("timestamp", "timestamp_ntz")
_MICROSECONDS_OF_DAY = 24 * 60 * 60 * 1_000_000
_ARITHMETIC = ("Add", "Subtract", "Multiply", "Divide", "Remainder", "IntegralDivide", "Average", "Round")


def first_difference(frame: DataFrame, stored_types: Collection[str], *, from_spark: bool) -> str | None:
    """Return the SQL of the first operation in a query's plan whose result differs in DuckDB; None if there is none.

    With Spark Connect, which does not show types, return a text that says so.

    Args:
        frame: the query. Tables with opaque columns, unsigned integers or coarse timestamps are those of `with_marked_types`.
        stored_types: the DuckLake types of all columns of the tables that it reads.
        from_spark: the query was written in Spark SQL and translated for DuckDB; otherwise it was translated from DuckDB's SQL.
    """
    java: Any = getattr(frame, "_jdf", None)
    if java is None:
        return "its types, which Spark Connect does not show"
    plan = java.queryExecution().analyzed()
    check = _Check(from_spark, frozenset(stored_types), frame.sparkSession)
    if has_marked(stored_types):
        check.columns.collect(plan, check.kinds)
    return check.plan(plan)


def _is_number(kind: str) -> bool:
    return kind in WHOLE or kind in ("float", "double") or is_decimal(kind)


def _is_unknown_to_duckdb(source: str, target: str) -> bool:
    """Whether DuckDB does not have a cast between two types that Spark has, some of them only without ANSI."""
    is_time = source.startswith("time(")
    is_number = target == "boolean" or _is_number(target)
    return (is_time and target in _INSTANTS) or (is_number and (is_time or source == "date" or source in _INSTANTS))


def _has_digits_before_point(kind: str) -> bool:
    """Whether a decimal type has digits before the point; without them, 0.5 is `.5` as text in DuckDB."""
    precision = int(kind.partition("(")[2].partition(",")[0])
    return precision > scale(kind) or scale(kind) == 0


def _adds_alike(interval: Expression) -> bool:
    """Whether both engines add the interval alike when clocks change: it has days, or certainly less than 24 hours.

    Spark would add 24 hours as one calendar day.
    """
    while len(interval.children) == 1:
        interval = interval.children[0]
    units = [unit.sql for unit in interval.children]
    if units[:1] != ["0"]:
        return True
    java = interval.java
    return abs(int(java.eval(None))) < _MICROSECONDS_OF_DAY if java.foldable() else units[:3] == ["0", "0", "0"]


def _arithmetic_differs(expression: Expression) -> bool:
    types = [child.type for child in expression.children]
    match expression.kind:
        case "Divide" | "Remainder":
            return is_decimal(expression.type)
        case "IntegralDivide":
            return any(each not in WHOLE for each in types)
        case "Average":
            return is_decimal(types[0])
        case "Round":
            return types[0] in ("float", "double") and expression.children[1].sql != "0"
    if not all(map(is_decimal, types)):
        return False
    scales = [scale(each) for each in types]
    return scale(expression.type) != (sum(scales) if expression.kind == "Multiply" else max(scales))


def _operands_differ(expression: Expression) -> bool:
    """Whether the result differs because an operand is nested, an array of strings to concatenate, or binary."""
    kind, children = expression.kind, expression.children
    if kind in _UNTYPED:
        return False
    if kind in _ORDERS and any(is_nested(child.type) for child in children):
        return True
    if kind == "ConcatWs" and any(child.type.startswith("array") and not child.is_cast_of("void") for child in children):
        return True
    return kind not in _OF_BYTES and any(child.type == "binary" and not child.is_cast_of("string") for child in children)


def _opaque_differs(expression: Expression) -> bool:
    """Whether the expression's result depends on opaque values."""
    kind, children = expression.kind, expression.children
    if kind == "GetStructField":  # the column that it becomes would have no metadata
        return bool(expression.opaque)
    if kind == "ScalarSubquery":
        return expression.opaque not in ("", "uuid", UNSURE)
    if expression.opaque == "uuid":  # the other operands of a choice are conditions, which are checked by themselves
        return False
    if kind == "Cast" and expression.type == "string" and children[0].opaque == "uuid":  # both engines write it alike
        return False
    if kind == "AggregateExpression" and expression.java.isDistinct():
        return not have_equal_texts(child.opaque for child in children[0].children)
    literals = [child.sql for child in children if child.kind == "Literal"]
    return depends_on_value(kind, [child.opaque for child in children if child.kind != "Literal"], literals)


def _compared_opaque(plan: Any, columns: Columns) -> str | None:
    """Return the SQL of the first opaque column whose values a part of the plan compares, or combines with those of another column."""
    match plan.getClass().getSimpleName():
        case "Aggregate":
            compared = list(each(plan.groupingExpressions()))
        case "Distinct":
            compared = list(each(plan.output()))
        case "Union" | "Intersect" | "Except" as kind:
            rows = [list(each(child.output())) for child in each(plan.children())]
            for same in zip(*rows, strict=True):
                types = [columns.opaque(attribute) for attribute in same]
                if UNSURE in types or any(found != types[0] for found in types) or (kind != "Union" and not have_equal_texts(types)):
                    return str(next(a for a, t in zip(same, types, strict=True) if t).sql())
            return None
        case _:
            return None
    return next((found.sql for found in (Expression(java, columns) for java in compared) if not have_equal_texts([found.opaque])), None)


class _Check:
    def __init__(self, from_spark: bool, stored_types: frozenset[str], spark: SparkSession) -> None:
        self.from_spark = from_spark
        self.spark = spark
        self.jvm: Any = spark._jvm
        self.has_opaque = has_opaque(stored_types)
        self.kinds = kinds_of(stored_types)
        self.columns = Columns(self.jvm)

    @cached_property
    def zone(self) -> Any:
        """Java's time zone of the query's session, which need not be the active one of Java's thread."""
        return java_class(self.jvm, _DATE_TIMES).getZoneId(self.spark.conf.get("spark.sql.session.timeZone"))

    def plan(self, plan: Any) -> str | None:
        kind = plan.getClass().getSimpleName()
        if kind == "View":
            return None
        if kind == "LocalRelation" and (found := self._repeated_constants(plan)) is not None:
            return found
        for expression in each(plan.expressions()):
            found = self.expression(Expression(expression, self.columns), None)
            if found is not None:
                return found
        if self.has_opaque and (found := _compared_opaque(plan, self.columns)) is not None:
            return found
        return next((found for child in each(plan.children()) if (found := self.plan(child)) is not None), None)

    def _repeated_constants(self, values: Any) -> str | None:
        """Return the SQL of a column of VALUES that may have a local time that occurs twice."""
        columns = (Expression(column, self.columns) for column in each(values.output()))
        return next((column.sql for column in columns if column.type == "timestamp" and RepeatedTimes(self.jvm, self.zone).exist), None)

    def expression(self, expression: Expression, parent: Expression | None) -> str | None:
        if self.has_opaque and _opaque_differs(expression):
            return expression.sql
        if expression.kind == "Literal" and expression.type == "timestamp" and self._is_repeated(expression, self.zone):
            return expression.sql
        self.columns.define(expression)
        if expression.children and self._differs(expression, parent):
            return expression.sql
        if expression.kind in SUBQUERIES:
            found = self.plan(expression.java.plan())
            if found is not None:
                return found
        found_below = (self.expression(child, expression) for child in expression.children)
        return next((found for found in found_below if found is not None), None)

    def _differs(self, expression: Expression, parent: Expression | None) -> bool:
        kind, children = expression.kind, expression.children
        match kind:
            case "Cast":
                return self._cast_differs(expression, parent)
            case "Ceil" | "Floor":
                is_cast_to_whole = parent is not None and parent.kind == "Cast" and parent.type in WHOLE
                return not is_cast_to_whole and not is_decimal(children[0].type)
            case "SubtractDates" | "SubtractTimestamps":
                return True
            case "UnaryMinus" | "BitwiseNot" if "unsigned" in self.kinds and self.columns.derives(children[0], "unsigned"):
                return kind == "UnaryMinus" or not self.from_spark  # `~` is translated for DuckDB
            case "Size" if self.from_spark and children[0].type.startswith("map<"):  # not for DuckDB's array_length
                return True
            case "TimestampDiff" if self.from_spark:  # DuckDB counts the days of the calendar, Spark 24 hours
                return True
            case "GetMapValue":
                return self.from_spark and children[1].type != "string"
            case "DateAdd" | "DateAddYMInterval" if self.from_spark:
                plain = kind == "DateAdd" and children[1].kind != "ExtractANSIIntervalDays"
                return not (plain or self._is_evident_date(children[0]))
            case "TimestampAddInterval" | "TimeAdd" if self.from_spark:  # TimeAdd in Spark 4.0
                return children[0].is_cast_of("date") and not self.columns.is_explicit(children[0])
            case "TimestampAddInterval" | "TimeAdd" if children[0].type == "timestamp":
                return not (expression.java.zoneId().getRules().isFixedOffset() or _adds_alike(children[1]))
        if kind not in ("Add", "Subtract") and self._rounds_a_text(children):
            return True
        return _arithmetic_differs(expression) if kind in _ARITHMETIC else _operands_differ(expression)

    def _rounds_a_text(self, operands: list[Expression]) -> bool:
        """Whether a decimal is combined with a literal string: Spark compares doubles, DuckDB rounds the text to a decimal."""
        to_double = [each for each in operands if each.kind == "Cast" and each.type == "double" and not self.columns.is_explicit(each)]
        has_text = any(each.is_cast_of("string") and each.children[0].kind == "Literal" for each in to_double)
        return has_text and any(is_decimal(each.children[0].type) for each in to_double)

    def _is_evident_date(self, expression: Expression) -> bool:
        """Whether the expression's text alone shows that it is a date."""
        if expression.kind == "DateAdd":
            return expression.children[1].kind == "ExtractANSIIntervalDays"
        is_date = expression.kind in ("Literal", "CurrentDate", "DateAddYMInterval")
        return is_date or (expression.kind == "Cast" and self.columns.is_explicit(expression))

    def _fails_as_date(self, cast: Expression, parent_kind: str) -> bool:
        """Whether DuckDB cannot read a literal as a date or timestamp: its text is incomplete, or it is the argument of a function."""
        if not self.from_spark or cast.type not in ("date", "timestamp", "timestamp_ntz"):
            return False
        return parent_kind in _OF_DATES or not _COMPLETE_DATE.match(cast.children[0].sql.strip("'"))

    def _may_be_repeated(self, cast: Expression) -> bool:
        """Whether a cast to a timestamp may take a local time that occurs twice."""
        (child,) = cast.children
        zone = cast.java.zoneId()
        if not RepeatedTimes(self.jvm, zone).exist or child.is_cast_of("void"):
            return False
        match child.type:
            case "string" if child.kind == "Literal":
                return not _has_zone(child.sql) and self._is_repeated(cast, zone)
            case "date":
                return RepeatedTimes(self.jvm, zone).contain_a_midnight()
        return child.type in ("string", "timestamp_ntz")

    def _is_repeated(self, constant: Expression, zone: Any) -> bool:
        microseconds = constant.java.eval(None)
        return microseconds is not None and RepeatedTimes(self.jvm, zone).contain(microseconds)

    def _meets_coarse(self, operand: Expression, parent: Expression | None) -> bool:
        """Whether an operand may be combined with a coarse timestamp, to whose unit DuckDB rounds a literal."""
        if "coarse" not in self.kinds:
            return False
        if parent is None or len(parent.children) == 1:
            return True
        return any(self.columns.derives(child, "coarse") for child in parent.children if child is not operand)

    def _cast_differs(self, cast: Expression, parent: Expression | None) -> bool:
        parent_kind = "" if parent is None else parent.kind
        (child,) = cast.children
        source, target = child.type, cast.type
        is_literal = child.kind == "Literal"
        if source == target or source == "void":
            return False
        if target == "string":
            return source not in _SAME_TEXT and not (is_decimal(source) and _has_digits_before_point(source))
        if target == "timestamp" and (source == "boolean" or _is_number(source) or self._may_be_repeated(cast)):  # not in DuckDB
            return True
        if self.columns.is_explicit(cast):
            if source in ("float", "double") and is_decimal(target):
                return self.from_spark or parent_kind != "Cast" or scale(target) != 0
            if source == "string" and target == "timestamp_ntz" and self.from_spark:
                return not is_literal
            return _is_unknown_to_duckdb(source, target) or (source == "float" and parent_kind == "Divide")
        if source == "string":
            if target == "binary":
                return parent_kind != "Md5"
            if target == "timestamp_ntz" and "." in child.sql and self._meets_coarse(cast, parent):
                return True
            return not is_literal or (target == "timestamp_ntz" and _has_zone(child.sql)) or self._fails_as_date(cast, parent_kind)
        if source in WHOLE:
            return not (target in WHOLE or target == "double" or is_decimal(target))
        if is_decimal(source):
            return not (is_decimal(target) or target == "double")
        return (source, target) not in _SAME_INSTANT


def _has_zone(literal: str) -> bool:
    """Whether a timestamp literal may have a time zone: a sign after the date, or letters."""
    text = literal.strip("'").strip()
    return any(mark in text[10:] for mark in "+-") or any(letter.isalpha() and letter != "T" for letter in text)
