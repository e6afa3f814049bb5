"""The order in which rows are written to a sorted table.

Specification: "Sorted Tables". The order is a hint that narrows the value range of each file; no reader relies on it, so an unsupported key
is left out and is not an error.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from ..format.files import WriteOptions
from ..format.objects import SortField, Table
from ..translate.dialects import to_spark

logger = logging.getLogger(__name__)


def stored_order(table: Table, options: WriteOptions) -> tuple[SortField, ...]:
    """Return the sort keys in DuckDB's dialect, without keys of other dialects; none if the option `sort_on_insert` is false."""
    return tuple(key for key in table.sorting if key.dialect == "duckdb") if options.sort_on_insert else ()


def spark_order(table: Table, options: WriteOptions) -> tuple[SortField, ...]:
    """Return the sort keys translated to Spark SQL, those before the first that cannot be translated."""
    keys: list[SortField] = []
    for key in stored_order(table, options):
        expression = to_spark(key.expression, approximate=True)
        if expression is None:
            name = f"{table.schema_name}.{table.name}"
            logger.warning("%s is sorted by %s, which Spark SQL cannot express: its rows are not sorted by it", name, key.expression)
            break
        keys.append(replace(key, expression=expression, dialect="spark"))
    return tuple(keys)
