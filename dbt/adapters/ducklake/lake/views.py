"""CREATE VIEW and DROP VIEW.

The catalog stores a view in DuckDB's dialect if it can be translated, so that DuckDB can query it, and its Spark SQL in a tag
(`docs/decisions/0006`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import NotFoundError, StatementError
from ..format.identifiers import named_twice
from ..format.objects import PROPERTY_TAG, Table, View
from ..format.view_columns import COLUMNS_TAG, SPARK_SQL_TAG, ViewColumn, columns_text
from .context import Context
from .schemas import required_schema
from .tables import kind_of


@dataclass(frozen=True)
class ViewRequest:
    """The clauses of CREATE VIEW.

    `spark_sql` is the query with all names of the lake qualified; `stored_sql` is the SQL for the catalog, in `dialect`.
    """

    schema: str
    name: str
    spark_sql: str
    stored_sql: str
    dialect: str
    columns: Sequence[ViewColumn]
    aliases: tuple[str, ...] = ()
    """The column names in CREATE VIEW v (…), if there are any."""
    comment: str | None = None


def create_view(context: Context, request: ViewRequest, *, replace_existing: bool = False) -> View:
    """Stage a view; with `replace_existing` it replaces a view of that name.

    A replaced view keeps its properties, and its comment unless the request has a new one.

    Raises:
        StatementError: a relation of that name exists and `replace_existing` is false, it is a table, or a column's name is empty or used
            twice.
    """
    _require_column_names(request)
    existing = context.transaction.find(request.schema, request.name)
    if existing is not None and not replace_existing:
        raise StatementError(
            f"{kind_of(existing)} {request.schema}.{request.name} already exists; "
            "write CREATE OR REPLACE VIEW to replace it, or IF NOT EXISTS to keep it"
        )
    if isinstance(existing, Table):
        raise StatementError(
            f"{request.schema}.{request.name} is a table, and a view can only replace a view; "
            f"DROP TABLE {request.schema}.{request.name} first"
        )
    kept = {key: value for key, value in existing.tags.items() if key.startswith(PROPERTY_TAG)} if existing else {}
    tags = {
        **kept,
        SPARK_SQL_TAG: request.spark_sql,
        COLUMNS_TAG: columns_text(request.columns),
    }
    comment = request.comment
    if existing is not None:
        comment = comment if comment is not None else existing.comment
        if _same(existing, request, comment, tags):
            return existing
        context.transaction.objects.drop_view(existing)
    return context.transaction.objects.new_view(
        required_schema(context, request.schema),
        request.name,
        request.stored_sql,
        dialect=request.dialect,
        column_aliases=request.aliases,
        comment=comment,
        tags=tags,
    )


def drop_view(context: Context, schema: str, name: str, *, if_exists: bool = False) -> None:
    """Stage dropping a view.

    Raises:
        NotFoundError: the view does not exist and `if_exists` is false.
        StatementError: it is a table.
    """
    existing = context.transaction.find(schema, name)
    if isinstance(existing, Table):
        raise StatementError(f"{schema}.{name} is a table; write DROP TABLE {schema}.{name}")
    if existing is None:
        if not if_exists:
            raise NotFoundError("view", f"{schema}.{name}", "Write DROP VIEW IF EXISTS if it may be missing")
        return
    context.transaction.objects.drop_view(existing)


def required_view(context: Context, schema: str, name: str) -> View:
    """Return the view of that name.

    Raises:
        NotFoundError: there is none.
    """
    existing = context.transaction.find(schema, name)
    if not isinstance(existing, View):
        raise NotFoundError("view", f"{schema}.{name}", "" if existing is None else "It is a table")
    return existing


def _require_column_names(request: ViewRequest) -> None:
    for position, column in enumerate(request.columns, 1):
        if not column.name:
            raise StatementError(f"view {request.schema}.{request.name}: column {position} has an empty name; give it one")
    repeated = named_twice(column.name for column in request.columns)
    if repeated is not None:
        raise StatementError(f"view {request.schema}.{request.name} has two columns {repeated}; give one of the two another name")


def _same(view: View, request: ViewRequest, comment: str | None, tags: dict[str, str]) -> bool:
    return (
        view.sql == request.stored_sql
        and view.comment == comment
        and dict(view.tags) == tags
        and view.column_aliases == request.aliases
        and view.name == request.name
    )
