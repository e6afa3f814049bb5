"""Expressions over the columns of a DataFrame, as SQL where that is possible: each step of a `Column` is several calls to the JVM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Expression = SparkColumn | str
"""A column, or SQL."""


def select(frame: DataFrame, expressions: Sequence[Expression]) -> DataFrame:
    """Select columns and SQL."""
    strings = [each for each in expressions if isinstance(each, str)]
    if len(strings) == len(expressions):
        return frame.selectExpr(*strings)
    return frame.select(*[F.expr(each) if isinstance(each, str) else each for each in expressions])


def can_be_sql(*names: str) -> bool:
    """Whether SQL can contain these names: Spark would substitute ${name}, in back quotes too."""
    return not any("${" in name for name in names)
