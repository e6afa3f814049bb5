"""The tags of a view: its query for Spark, and its columns with Spark's type names."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from .objects import View

SPARK_SQL_TAG = "dbt_ducklake.spark_sql"
COLUMNS_TAG = "dbt_ducklake.columns"


@dataclass(frozen=True)
class ViewColumn:
    """A column of a view: its name, Spark's name of its type, its comment."""

    name: str
    type: str
    comment: str | None = None


def view_columns(view: View) -> list[ViewColumn]:
    """Return the columns that were recorded when the view was created; empty for a view that DuckDB created."""
    recorded = view.tags.get(COLUMNS_TAG)
    if recorded is None:
        return []
    return [ViewColumn(name, kind, comment) for name, kind, comment in json.loads(recorded)]


def columns_text(columns: Iterable[ViewColumn]) -> str:
    """Return the text of the tag `COLUMNS_TAG`."""
    return json.dumps([[column.name, column.type, column.comment] for column in columns], ensure_ascii=False)
