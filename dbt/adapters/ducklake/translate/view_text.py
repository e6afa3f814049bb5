"""The query of a view in Spark's words, whoever made it."""

from __future__ import annotations

from ..errors import LakeError
from ..format.identifiers import backquoted
from ..format.objects import View
from ..format.view_columns import SPARK_SQL_TAG
from .dialects import PLACEHOLDER, to_spark, without_spark_words
from .macro_calls import Find, expand_macros


def is_our_text(view: View) -> bool:
    """Whether the lake has a view's query as it was written for Spark."""
    return SPARK_SQL_TAG in view.tags or view.dialect == "spark"


def spark_text(view: View, database: str, find: Find) -> str:
    """The query of a view in Spark's dialect, with the lake's name in it and without the macros that DuckDB keeps in the lake.

    Args:
        database: the name of the lake.
        find: its macros.

    Raises:
        LakeError: it was made by DuckDB with SQL that has no translation.
    """
    if is_our_text(view):
        return view.tags.get(SPARK_SQL_TAG, view.sql).replace(PLACEHOLDER, backquoted(database))
    expanded = expand_macros(view.sql.replace(PLACEHOLDER, '"' + database.replace('"', '""') + '"'), find)
    if expanded is None:
        raise without_counterpart(view, "a macro that it calls")
    translated = to_spark(expanded)
    if translated is None:
        raise without_counterpart(view, without_spark_words(expanded))
    return translated


def without_counterpart(view: View, piece: str) -> LakeError:
    """The error for a view of DuckDB of which a piece has no counterpart in Spark."""
    return LakeError(
        f"view {view.schema_name}.{view.name} was made by DuckDB with SQL that has no exact counterpart in Spark's ({piece}): {view.sql}. "
        "Create it again from here, or as a table"
    )
