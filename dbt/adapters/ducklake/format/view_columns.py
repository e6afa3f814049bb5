"""The tags of a view that Spark needs, and the columns that one of them records."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from .objects import View

SPARK_SQL_TAG = "dbt_ducklake.spark_sql"
"""The tag with the view's query in Spark SQL. `View.sql` may be in another dialect."""
COLUMNS_TAG = "dbt_ducklake.columns"
"""The tag with the view's columns as JSON, see `columns_text`."""


@dataclass(frozen=True)
class ViewColumn:
    """A column of a view."""

    name: str
    type: str
    """Spark's name of the type."""
    comment: str | None = None


def view_columns(view: View) -> list[ViewColumn]:
    """Return the columns that were recorded when the view was created; empty for a view that DuckDB created."""
    recorded = view.tags.get(COLUMNS_TAG)
    if recorded is None:
        return []
    return [ViewColumn(name, type_name, comment) for name, type_name, comment in json.loads(recorded)]


def columns_text(columns: Iterable[ViewColumn]) -> str:
    """Return the value of the tag `COLUMNS_TAG`: a JSON list of [name, type, comment]."""
    return json.dumps([[column.name, column.type, column.comment] for column in columns], ensure_ascii=False)
