"""Sort keys of a sorted table as Spark columns."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from ...format.objects import SortField

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

logger = logging.getLogger(__name__)


def sort_columns(rows: DataFrame, keys: Sequence[SortField]) -> list[SparkColumn]:
    """Return the sort keys, which are Spark SQL, as columns over `rows`. The first key that Spark refuses ends the list."""
    order: list[SparkColumn] = []
    for key in keys:
        try:
            column = _directed(F.expr(key.expression), key)
            rows.sort(column).schema  # noqa: B018 - Spark Connect analyzes only when the schema is read
        except AnalysisException as error:
            logger.warning("rows are not sorted by %s, which Spark refuses: %s", key.expression, error.getCondition())
            break
        order.append(column)
    return order


def _directed(value: SparkColumn, key: SortField) -> SparkColumn:
    match key.direction.upper() == "DESC", key.nulls.upper() == "NULLS_FIRST":
        case False, False:
            return value.asc_nulls_last()
        case False, True:
            return value.asc_nulls_first()
        case True, False:
            return value.desc_nulls_last()
        case _:
            return value.desc_nulls_first()
