"""The query of a view in Spark's SQL, whether Spark or DuckDB created the view."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import LakeError
from ..format.identifiers import backquoted, double_quoted, fold
from ..format.objects import View
from ..format.view_columns import SPARK_SQL_TAG
from .dialects import PLACEHOLDER, selected_texts, to_spark, untranslatable_part
from .macro_calls import Find, expand_macros


def is_our_text(view: View) -> bool:
    """Whether the lake stores the view's query as it was written for Spark."""
    return SPARK_SQL_TAG in view.tags or view.dialect == "spark"


def spark_text(view: View, database: str, find: Find) -> str:
    """Return the query of a view in Spark's SQL, with the lake's name filled in and DuckDB's macros expanded.

    Args:
        view: the view.
        database: the name of the lake.
        find: finds the lake's macros.

    Raises:
        LakeError: DuckDB created the view with SQL that has no translation.
    """
    if is_our_text(view):
        return view.tags.get(SPARK_SQL_TAG, view.sql).replace(PLACEHOLDER, backquoted(database))
    expanded = expand_macros(view.sql.replace(PLACEHOLDER, double_quoted(database)), find)
    if expanded is None:
        raise without_counterpart(view, "a macro that it calls")
    translated = to_spark(expanded, names=selected_texts(view.sql))
    if translated is None:
        raise without_counterpart(view, untranslatable_part(expanded))
    return translated


def text_for_spark_alone(query: str) -> str:
    """Return Spark's query as one that DuckDB cannot parse. DuckDB ignores the dialect of a view, and `VALUES (X'41')` is a text in it.

    Args:
        query: the query, which may end with a comment.
    """
    return f"SELECT * FROM (\n{query}\n) AS `spark`"


def column_names(view: View, columns: Sequence[str]) -> list[str]:
    """Return the names of a view's columns: the view may rename the first ones, and DuckDB numbers repeated names (`a`, `a_1`).

    Args:
        view: the view.
        columns: the names of the columns that its query returns.
    """
    if is_our_text(view):
        return list(view.column_aliases or columns)
    named = [*view.column_aliases, *columns[len(view.column_aliases) :]]
    found: list[str] = []
    used: set[str] = set()
    for name in named:
        number, new = 0, name
        while fold(new) in used:
            number += 1
            new = f"{name}_{number}"
        used.add(fold(new))
        found.append(new)
    return found


def without_counterpart(view: View, part: str) -> LakeError:
    """Return the error for a view of DuckDB with a part that has no counterpart in Spark."""
    return LakeError(
        f"view {view.schema_name}.{view.name} was created by DuckDB with SQL that has no exact counterpart in Spark ({part}): {view.sql}. "
        "Create the view again in Spark's SQL, or create a table"
    )
