"""The SQL that means the same in DuckDB and in Spark: a list of sqlglot's expressions, each with the arguments it may have.

Expressions that are not listed are refused: an error is better than a view that returns wrong values. This list has the expressions
that both engines write alike; `rules_to_spark` and `rules_to_duckdb` add those that must be rewritten. Where the meaning depends on
the types of the operands, `spark/session/plan_types.py` checks the plan that Spark makes of the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import DialectType

from .shared_checks import CHECKS, RefusedError, Rule, refuse_unless


class NoCounterpartError(Exception):
    """An expression has no counterpart in the other engine."""

    def __init__(self, node: exp.Expr, dialect: DialectType) -> None:
        text = node.sql(dialect=dialect, comments=False)
        super().__init__(text if len(text) <= 80 else text[:79] + "…")


_BINARY = "this expression"
SHARED: dict[type[exp.Expr], str] = {
    # queries
    exp.Select: "with_ expressions distinct from_ joins where group having qualify windows order limit offset",
    exp.With: "expressions",
    exp.CTE: "this alias",
    exp.Subquery: "this alias with_ order limit offset",
    exp.From: "this",
    exp.Table: "this db catalog alias when",
    exp.HistoricalData: "this kind expression",
    exp.TableAlias: "this columns",
    exp.Join: "this side kind on using",
    exp.Where: "this",
    exp.Group: "expressions all grouping_sets rollup cube",
    exp.GroupingSets: "expressions",
    exp.Rollup: "expressions",
    exp.Cube: "expressions",
    exp.Tuple: "expressions",
    exp.Having: "this",
    exp.Qualify: "this",
    exp.Order: "expressions",
    exp.Ordered: "this desc nulls_first",
    exp.Limit: "expression",
    exp.Offset: "expression",
    exp.Distinct: "expressions",
    exp.Union: "this expression distinct with_ order limit offset",
    exp.Except: "this expression distinct with_ order limit offset",
    exp.Intersect: "this expression distinct with_ order limit offset",
    exp.Values: "expressions alias",
    # names and literals
    exp.Identifier: "this quoted",
    exp.Column: "this table db catalog",
    exp.Dot: "this expression",
    exp.Star: "except_",
    exp.Alias: "this alias",
    exp.Paren: "this",
    exp.Literal: "this is_string",
    exp.Boolean: "this",
    exp.Null: "",
    exp.PropertyEQ: _BINARY,
    exp.Var: "this",
    # operators
    **dict.fromkeys((exp.And, exp.Or, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ), _BINARY),
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.IntDiv), _BINARY),
    **dict.fromkeys((exp.Not, exp.Neg, exp.BitwiseNot), "this"),
    exp.Div: "this expression typed safe",
    exp.DPipe: "this expression safe",
    exp.Is: _BINARY,
    exp.Between: "this low high",
    exp.In: "this expressions query",
    exp.Exists: "this",
    exp.Like: "this expression negate",
    exp.ILike: "this expression negate",
    exp.Case: "this ifs default",
    exp.If: "this true false",
    exp.Coalesce: "this expressions",
    exp.Nullif: _BINARY,
    exp.Greatest: "this expressions ignore_nulls",
    exp.Least: "this expressions ignore_nulls",
    exp.Cast: "this to",
    exp.DataType: "this expressions nested",
    exp.DataTypeParam: "this",
    # aggregates and windows
    exp.Count: "this big_int",
    **dict.fromkeys((exp.Sum, exp.Min, exp.Max, exp.Avg, exp.LogicalAnd, exp.LogicalOr), "this"),
    exp.Filter: _BINARY,
    exp.Grouping: "expressions",
    exp.Window: "this partition_by order spec alias over",
    exp.WindowSpec: "kind start start_side end end_side",
    **dict.fromkeys((exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist), ""),
    exp.Ntile: "this",
    exp.Lag: "this offset default",
    exp.Lead: "this offset default",
    exp.FirstValue: "this",
    exp.LastValue: "this",
    exp.IgnoreNulls: "this",
    # functions
    **dict.fromkeys((exp.Length, exp.MD5, exp.Abs, exp.Sqrt, exp.Ceil, exp.Floor, exp.ArraySize, exp.Lower, exp.Upper), "this"),
    exp.Ln: "this",
    exp.Round: "this decimals",
    exp.Pow: _BINARY,
    exp.Substring: "this start length",
    exp.Left: _BINARY,
    exp.Right: _BINARY,
    exp.Replace: "this expression replacement",
    exp.StrPosition: "this substr",
    exp.StartsWith: _BINARY,
    exp.EndsWith: _BINARY,
    exp.Contains: _BINARY,
    exp.SplitPart: "this delimiter part_index",
    exp.Pad: "this expression fill_pattern is_left",
    exp.Repeat: "this times",
    exp.Translate: "this from_ to",
    exp.Trim: "this expression position",
    exp.Concat: "expressions safe coalesce",
    exp.ConcatWs: "expressions safe coalesce flatten",
    exp.RegexpLike: _BINARY,
    exp.Struct: "expressions",
    exp.Array: "expressions value_constructor",
    exp.Bracket: "this expressions offset safe",
    # dates
    **dict.fromkeys((exp.Year, exp.Month, exp.Day, exp.DayOfMonth, exp.Quarter, exp.Hour, exp.Minute, exp.Second), "this"),
    **dict.fromkeys((exp.DayOfWeek, exp.DayOfYear, exp.WeekOfYear, exp.LastDay), "this"),
    exp.Extract: _BINARY,
    exp.TimestampTrunc: "this unit",
    exp.DateDiff: "this expression unit date_part_boundary",
    exp.TimeToStr: "this format",
    exp.CurrentDate: "",
    exp.Localtimestamp: "",
    exp.Uuid: "is_string",
    exp.Rand: "",
    exp.CurrentTimestamp: "",
}
"""The arguments that each expression may have, besides comments."""

_IGNORED_ARGUMENTS = frozenset({"_type", "comments"})

MAX_NODES = 3000
"""The maximum number of nodes in a template's parts. Templates can repeat a part, so nested templates grow exponentially."""


@dataclass(frozen=True, eq=False)
class Rules:
    """What one direction of the translation has in addition to `SHARED`."""

    additional: Mapping[type[exp.Expr], str]
    """More expressions that are allowed, with their arguments. An entry replaces that of `SHARED`."""
    early: Mapping[type[exp.Expr], Rule]
    """Rules that run before the parts of an expression are translated; their results are translated in turn."""
    late: Mapping[type[exp.Expr], Rule]
    """Rules for expressions whose parts are already translated."""


def translate_tree(tree: exp.Expr, dialect: DialectType, rules: Rules, without: tuple[type[exp.Expr], ...] = ()) -> exp.Expr:
    """Translate a tree to the other engine's SQL.

    Args:
        tree: the parsed SQL; it is changed.
        dialect: the dialect of the tree, for errors.
        rules: the rules of the direction.
        without: expressions whose late rules do not apply.

    Raises:
        NoCounterpartError: a part of the tree has no counterpart.
    """

    def translate(node: exp.Expr) -> exp.Expr:
        original = node
        try:
            if type(node) in rules.early:
                node = rules.early[type(node)](node)
                if node is not original and original.parent is not None:
                    original.replace(node)
            kind = type(node)
            allowed = rules.additional.get(kind, SHARED.get(kind))
            refuse_unless(allowed is not None)
            names = set((allowed or "").split())
            for name, value in list(node.args.items()):
                if name in _IGNORED_ARGUMENTS or value is None or value is False or value == []:
                    continue
                refuse_unless(name in names)
                if isinstance(value, exp.Expr):
                    node.set(name, translate(value))
                elif isinstance(value, list):
                    node.set(name, [translate(each) if isinstance(each, exp.Expr) else each for each in value])
            refuse_unless(kind not in CHECKS or CHECKS[kind](node))
            return rules.late[kind](node) if kind in rules.late and kind not in without else node
        except RefusedError:
            raise NoCounterpartError(original, dialect) from None

    return translate(tree)


@lru_cache(maxsize=256)
def _template(text: str, dialect: str) -> exp.Expr:
    return sqlglot.parse_one(text, read=dialect)


def fill_template(text: str, dialect: str, **parts: exp.Expr) -> exp.Expr:
    """Return the SQL `text` in parentheses, with each column that is named in `parts` replaced by that expression.

    Raises:
        RefusedError: the parts have more than MAX_NODES nodes.
    """
    refuse_unless(sum(1 for part in parts.values() for _ in part.walk()) <= MAX_NODES)

    def fill(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not node.table and node.name in parts:
            part = parts[node.name].copy()
            return part if isinstance(part, exp.Literal | exp.Column | exp.Paren | exp.Cast) else exp.Paren(this=part)
        return node

    return exp.Paren(this=_template(text, dialect).copy().transform(fill))
