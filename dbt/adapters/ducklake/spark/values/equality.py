"""Values in a form by which Spark can group them: equal values have equal forms. Spark cannot group maps and variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from ...format.objects import Column

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn


def groupable(value: SparkColumn, column: Column) -> SparkColumn:
    """Return the form of a column's value; the entries of a map are ordered by key, and a variant becomes its text and its type."""
    if all(each.type not in ("map", "variant") for each in column.walk()):
        return value
    match column.type, column.children:
        case "list", (element,):
            form = F.transform(value, lambda item: groupable(item, element))
        case "map", (_, item):
            keys = F.array_sort(F.map_keys(value))
            form = F.transform(keys, lambda key: F.struct(key, groupable(F.element_at(value, key), item)))
        case "struct", fields:
            form = F.struct(*(groupable(value.getField(field.name), field).alias(field.name) for field in fields))
        case _:
            form = F.struct(F.to_json(value), F.schema_of_variant(value))
    return F.when(value.isNotNull(), form)
