"""Mark the columns whose values Spark has only as a text or bytes, and find operations of a query that DuckDB does with the values.

An interval of the lake is a string in Spark. Spark passes it on, but `30 days = 1 month` is true in DuckDB alone. The frames over which
views are analyzed have the DuckLake types of such columns as metadata, which Spark's analysis gives to the columns of subqueries and views.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql import functions as F

from ...format.identifiers import backquoted
from ...format.leaf_types import leaf_type
from ...format.objects import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Opaque: TypeAlias = "str | list[Opaque]"
"""The type of a column whose values are opaque: its DuckLake type, for a struct those of its fields; empty if they are not opaque."""

_KEY = "ducklake.opaque"
_EQUAL_AS_TEXTS = ("", "uuid", "timestamp_ns")
"""Types whose values are equal exactly if their texts are, besides those that are not opaque."""
_PASSES_ON = frozenset({"Alias", "IsNull", "IsNotNull", "Count", "ScalarSubquery", "ListQuery", "Exists"})
"""Expressions that do not depend on the value. The children of a subquery are the columns of the outer query that it names."""
_EQUALITIES = ("EqualTo", "EqualNullSafe", "In", "InSubquery")
_UUID_LITERAL = re.compile("'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'")
"""A uuid as DuckDB and this adapter write it; DuckDB accepts others too, as equal values."""


def has_opaque(types: Iterable[str]) -> bool:
    """Whether one of these DuckLake types has opaque values."""
    return any(leaf_type(each).is_opaque for each in types)


def with_opaque_types(frame: DataFrame, columns: Sequence[Column]) -> DataFrame:
    """Return the frame of a table with the types of opaque columns as metadata.

    Args:
        frame: the table's columns, and virtual columns after them.
        columns: the table's columns.
    """
    types = {column.name: opaque for column in columns if (opaque := opaque_type_of(column))}
    if not types:
        return frame
    marked = [
        F.col(backquoted(name)).alias(name, metadata={_KEY: json.dumps(types[name])}) if name in types else F.col(backquoted(name))
        for name in frame.columns
    ]
    return frame.select(*marked)


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
    found: Opaque = json.loads(metadata.getString(_KEY)) if metadata.contains(_KEY) else ""
    return found


def have_equal_texts(types: Iterable[Opaque]) -> bool:
    """Whether values of each of these types can be grouped by their texts."""
    return all(each in _EQUAL_AS_TEXTS for each in types)


def depends_on_value(kind: str, types: Sequence[Opaque], literals: Sequence[str]) -> bool:
    """Whether the result of an expression depends on opaque values in another way than on their texts.

    Args:
        kind: the class of the expression in Spark.
        types: the types of its operands that are not literals.
        literals: the SQL of its operands that are literals.
    """
    if not any(types) or kind in _PASSES_ON:
        return False
    if kind == "WindowSpecDefinition":  # the keys of PARTITION BY; those of ORDER BY are below a SortOrder
        return not have_equal_texts(types)
    if kind not in _EQUALITIES or not have_equal_texts(types) or any(each != types[0] for each in types):
        return True
    return any(types[0] != "uuid" or not _UUID_LITERAL.fullmatch(literal) for literal in literals)
