"""Mark the columns whose values are opaque to Spark, as text or bytes, and find operations that DuckDB does with the real values.

An interval of the lake is a string in Spark. Spark can pass it on, but only in DuckDB is `30 days = 1 month` true. The frames over which
views are analyzed have the DuckLake types of such columns as metadata, which Spark's analysis gives to the columns of subqueries and views.
They also mark columns of unsigned integers and coarse timestamps, with which DuckDB computes in types that Spark does not have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql import functions as F

from ...format.identifiers import backquoted
from ...format.leaf_types import LEAF_TYPES, leaf_type
from ...format.objects import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Opaque: TypeAlias = "str | list[Opaque]"
"""The type of a column whose values are opaque: its DuckLake type, for a struct those of its fields; empty if they are not opaque."""

UNSURE = "string or uuid"
"""The opaque type of a text that may be a uuid."""

_OPAQUE_KEY = "ducklake.opaque"
_KINDS_KEY = "ducklake.kinds"
_EQUAL_AS_TEXTS = ("", *(leaf.name for leaf in LEAF_TYPES.values() if leaf.has_one_text))
"""Types whose values are equal exactly if their texts are; the empty one stands for all that are not opaque."""
_PASSES_ON = frozenset({"Alias", "IsNull", "IsNotNull", "Count", "ScalarSubquery", "ListQuery", "Exists"})
_PASSES_ON |= {"AggregateExpression", "WindowExpression"}
"""Expressions that do not depend on the value. The children of a subquery are the outer columns that it uses."""
_EQUALITIES = ("EqualTo", "EqualNullSafe", "In", "InSubquery")
_ORDERS = ("LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual")
"""Expressions that compare, besides equalities. Uuids have the order of their texts."""
_CHOICES = ("Coalesce", "Greatest", "Least", "Max", "Min", "If", "CaseWhen")
"""Expressions whose value is one of those of their operands."""
_UUID_LITERAL = re.compile("'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'")
"""A uuid as DuckDB and this adapter write it; DuckDB accepts others too, as equal values."""


def has_opaque(types: Iterable[str]) -> bool:
    """Whether one of these DuckLake types has opaque values."""
    return any(leaf_type(each).is_opaque for each in types)


def has_marked(types: Iterable[str]) -> bool:
    """Whether one of these DuckLake types becomes metadata in `with_marked_types`."""
    return any(leaf_type(each).is_opaque or _kind_of(each) for each in types)


def kinds_of(types: Iterable[str]) -> frozenset[str]:
    """Return the kinds of these DuckLake types that Spark's types do not distinguish: `unsigned` integers and `coarse` timestamps."""
    return frozenset(filter(None, map(_kind_of, types)))


def _kind_of(stored: str) -> str:
    leaf = leaf_type(stored)
    return "unsigned" if leaf.unsigned else "coarse" if leaf.is_coarse else ""


def marked_kinds(attribute: Any) -> frozenset[str]:
    """Return the kinds (see `kinds_of`) of an attribute of Spark's plan, or of its fields and elements."""
    metadata = attribute.metadata()
    return frozenset(metadata.getString(_KINDS_KEY).split()) if metadata.contains(_KINDS_KEY) else frozenset()


def with_marked_types(frame: DataFrame, columns: Sequence[Column]) -> DataFrame:
    """Return the frame of a table with the types of opaque columns, and the kinds of others, as metadata.

    Args:
        frame: the table's columns, and virtual columns after them.
        columns: the table's columns.
    """
    marks = {column.name: found for column in columns if (found := _metadata(column))}
    if not marks:
        return frame
    marked = [
        F.col(backquoted(name)).alias(name, metadata=marks[name]) if name in marks else F.col(backquoted(name)) for name in frame.columns
    ]
    return frame.select(*marked)


def _metadata(column: Column) -> dict[str, str]:
    opaque, kinds = opaque_type_of(column), kinds_of(field.type.lower() for field in column.walk())
    return ({_OPAQUE_KEY: json.dumps(opaque)} if opaque else {}) | ({_KINDS_KEY: " ".join(sorted(kinds))} if kinds else {})


def opaque_type_of(column: Column) -> Opaque:
    """Return the opaque type of a column of a table."""
    if not column.children:
        stored = column.type.lower()
        return stored if leaf_type(stored).is_opaque else ""
    children = [opaque_type_of(child) for child in column.children]
    if not any(children):
        return ""
    return children if column.type == "struct" else column.type


def opaque_type(attribute: Any) -> Opaque:
    """Return the opaque type of an attribute of Spark's plan."""
    metadata = attribute.metadata()
    found: Opaque = json.loads(metadata.getString(_OPAQUE_KEY)) if metadata.contains(_OPAQUE_KEY) else ""
    return found


def have_equal_texts(types: Iterable[Opaque]) -> bool:
    """Whether values of each of these types can be grouped by their texts."""
    return all(each in _EQUAL_AS_TEXTS for each in types)


def opaque_of_choice(kind: str, types: Sequence[Opaque | None]) -> Opaque:
    """Return the opaque type of an expression that chooses one of its operands: a uuid if all are; empty for any other expression.

    Args:
        kind: the class of the expression in Spark.
        types: the types of its operands; None for a literal NULL.
    """
    match kind:
        case "If":
            types = types[1:]
        case "CaseWhen":  # conditions alternate with values
            types = [*types[1::2], *(types[-1:] if len(types) % 2 else ())]
        case "AggregateExpression" | "WindowExpression":  # a filter or window follows
            types = types[:1]
        case _ if kind not in _CHOICES:
            return ""
    known = [each for each in types if each is not None]
    return "uuid" if known and all(each == "uuid" for each in known) else ""


def depends_on_value(kind: str, types: Sequence[Opaque], literals: Sequence[str]) -> bool:
    """Whether the result of an expression depends on more of the opaque values than their texts.

    Args:
        kind: the class of the expression in Spark.
        types: the types of its operands that are not literals.
        literals: the SQL of its operands that are literals.
    """
    if not any(types) or kind in _PASSES_ON:
        return False
    if kind == "WindowSpecDefinition":  # the keys of PARTITION BY; those of ORDER BY are below a SortOrder
        return not have_equal_texts(types)
    if kind == "SortOrder":
        return any(each not in ("", "uuid", UNSURE) for each in types)
    if kind not in (*_EQUALITIES, *_ORDERS) or not have_equal_texts(types) or any(each != types[0] for each in types):
        return True
    if kind in _ORDERS and types[0] != "uuid":
        return True
    return any(types[0] != "uuid" or not _UUID_LITERAL.fullmatch(literal) for literal in literals)
