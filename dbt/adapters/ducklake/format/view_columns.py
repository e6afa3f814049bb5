"""What the tags of a view hold beside its query: the text for Spark, and the columns as Spark names their types."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from .objects import View

SPARK_SQL_TAG = "dbt_ducklake.spark_sql"
COLUMNS_TAG = "dbt_ducklake.columns"


@dataclass(frozen=True)
class ViewColumn:
    """A column of a view: its name, its type as Spark names it, its comment."""

    name: str
    type: str
    comment: str | None = None


def view_columns(view: View) -> list[ViewColumn]:
    """The columns that were recorded when the view was created; empty for a view that DuckDB created."""
    recorded = view.tags.get(COLUMNS_TAG)
    if recorded is None:
        return []
    return [ViewColumn(name, kind, comment) for name, kind, comment in json.loads(recorded)]


def columns_text(columns: Iterable[ViewColumn]) -> str:
    """The text of the tag `COLUMNS_TAG`."""
    return json.dumps([[column.name, column.type, column.comment] for column in columns], ensure_ascii=False)
