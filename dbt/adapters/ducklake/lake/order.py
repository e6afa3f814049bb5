"""The order in which rows are written into a sorted table.

Specification: "Sorted Tables". The order is a hint that makes files hold narrow ranges; no reader relies on it, so a key that cannot be
followed here is left out rather than an error.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from ..format.files import WriteOptions
from ..format.objects import SortField, Table
from ..translate.dialects import sort_expression_for_spark

logger = logging.getLogger(__name__)


def stored_order(table: Table, options: WriteOptions) -> tuple[SortField, ...]:
    """The sort keys in DuckDB's words; none if the lake says that inserts are not sorted. Those of other dialects do not count."""
    return tuple(key for key in table.sorting if key.dialect == "duckdb") if options.sort_on_insert else ()


def spark_order(table: Table, options: WriteOptions) -> tuple[SortField, ...]:
    """The sort keys in Spark's words, up to the first that has none."""
    keys: list[SortField] = []
    for key in stored_order(table, options):
        expression = sort_expression_for_spark(key.expression)
        if expression is None:
            name = f"{table.schema_name}.{table.name}"
            logger.warning("%s is sorted by %s, which Spark has no words for: its rows are not", name, key.expression)
            break
        keys.append(replace(key, expression=expression, dialect="spark"))
    return tuple(keys)
