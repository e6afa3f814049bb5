"""Options: set one for the lake, a schema or a table, and list the set options."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import StatementError
from ..format.identifiers import fold
from ..format.inlined import RESERVED_NAMES
from ..format.objects import Schema, Table
from ..format.option_values import description_of, require_table_option, stored_value
from .context import Context
from .schemas import required_schema
from .tables import option_of_table, required_table

logger = logging.getLogger(__name__)

_INLINING = "data_inlining_row_limit"
_NOT_INLINED = (
    "rows of %s.%s are not inlined, and its option data_inlining_row_limit is 0: the catalog database cannot have a table with these "
    "%d columns, because of their number or of a name"
)


@dataclass(frozen=True)
class OptionEntry:
    """A row of `options()`; `entry` names the schema, or the table with its schema, that the value applies to."""

    name: str
    description: str | None
    value: str
    scope: str
    entry: str | None


def set_option(context: Context, key: str, value: object, *, schema: str | None = None, table: str | None = None) -> None:
    """Stage an option for the table, else for the schema, else for the lake.

    If the catalog database cannot store inlined rows of a table, the table gets the limit 0, as when it is created.

    Args:
        context: the transaction.
        key: the option's name.
        value: an SQL constant.
        schema: the schema, also of `table`.
        table: the table.

    Raises:
        StatementError: the option, value or scope is invalid, or a column of a table that would be inlined has a reserved name.
        NotFoundError: the schema or table does not exist.
    """
    stored = stored_value(key, value)
    if table is not None or schema is not None:
        require_table_option(key)
    scope: Schema | Table | None = None
    if table is not None:
        scope = required_table(context, schema or "main", table)
    elif schema is not None:
        scope = required_schema(context, schema)
    tables = list(_tables(context, scope)) if key.lower() == _INLINING and stored != "0" else []
    for each in tables:
        _require_inlinable(each)
    context.transaction.objects.set_option(key.lower(), stored, scope)
    for each in tables:
        if context.catalog.only_duckdb_inlines(each.columns):
            logger.warning(_NOT_INLINED, each.schema_name, each.name, len(each.columns))
            context.transaction.objects.set_option(_INLINING, "0", each)


def unset_option(context: Context, key: str, table: Table) -> None:
    """Stage removing a table's own value for an option; an option that is not set stages nothing.

    The limit 0 of a table whose inlined rows the catalog database cannot store stays.
    """
    value = option_of_table(context, table, key, None)
    if context.transaction.options().at(key, "table", table.table_id) not in (None, value):
        context.transaction.objects.set_option(key.lower(), value, table)


def options(context: Context) -> list[OptionEntry]:
    """Return all options that are set, ordered by name, including options that we do not know.

    The entry of an option whose schema or table does not exist is None.
    """
    schemas = {schema.schema_id: schema.name for schema in context.transaction.schemas()}
    relations = {name.relation_id: f"{name.schema_name}.{name.name}" for name in context.transaction.names()}
    found = []
    for row in context.transaction.options().rows:
        assert row.value is not None  # only a staged removal has no value
        scope = (row.scope or "").lower()
        entry = None
        if scope == "schema" and row.scope_id is not None:
            entry = schemas.get(row.scope_id)
        elif scope == "table" and row.scope_id is not None:
            entry = relations.get(row.scope_id)
        found.append(OptionEntry(row.key, description_of(row.key), row.value, scope.upper() or "GLOBAL", entry))
    return sorted(found, key=lambda option: option.name)


def _tables(context: Context, scope: Schema | Table | None) -> Iterator[Table]:
    """Yield the tables that the inlining limit at this scope applies to, except those where a narrower value turns inlining off."""
    if isinstance(scope, Table):
        yield scope
        return
    stored = context.transaction.options()
    for relation in context.transaction.relations(None if scope is None else scope.name):
        if isinstance(relation, Table):
            schema = context.transaction.schema(relation.schema_name) if scope is None else None
            narrower = stored.at(_INLINING, "table", relation.table_id)
            if narrower is None and schema is not None:
                narrower = stored.at(_INLINING, "schema", schema.schema_id)
            if narrower != "0":
                yield relation


def _require_inlinable(table: Table) -> None:
    taken = next((column.name for column in table.columns if fold(column.name) in RESERVED_NAMES), None)
    if taken is not None:
        raise StatementError(
            f"rows of {table.schema_name}.{table.name} cannot be inlined: its column {taken} has a name that the format reserves. "
            "Rename the column, or set data_inlining_row_limit to 0 for the table first"
        )
