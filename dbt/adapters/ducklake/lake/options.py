"""Options: setting one for the lake, a schema or a table, and listing what is set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import StatementError
from ..format.identifiers import fold
from ..format.inlined import RESERVED_NAMES
from ..format.objects import Schema, Table
from ..format.option_values import description_of, stored_value
from .context import Context
from .schemas import required_schema
from .tables import required_table

_INLINING = "data_inlining_row_limit"


@dataclass(frozen=True)
class OptionEntry:
    """A row of `options()`; `entry` names the schema, or the table with its schema, that the value is for."""

    name: str
    description: str | None
    value: str
    scope: str
    entry: str | None


def set_option(context: Context, key: str, value: object, *, schema: str | None = None, table: str | None = None) -> None:
    """Stage an option at the narrowest scope that is named.

    Args:
        value: a constant of SQL.
        schema: the schema, also that of `table`.

    Raises:
        StatementError: no such option or value, or rows of a table cannot be inlined.
        NotFoundError: no such schema or table.
    """
    stored = stored_value(key, value)
    scope: Schema | Table | None = None
    if table is not None:
        scope = required_table(context, schema or "main", table)
    elif schema is not None:
        scope = required_schema(context, schema)
    if key.lower() == _INLINING and stored != "0":
        for each in _tables(context, scope):
            _require_inlinable(each)
    context.transaction.objects.set_option(key.lower(), stored, scope)


def unset_option(context: Context, key: str, table: Table) -> None:
    """Stage that a table has no value of its own for an option; one that it had not stages nothing."""
    if context.transaction.options().at(key, "table", table.table_id) is not None:
        context.transaction.objects.set_option(key.lower(), None, table)


def options(context: Context) -> list[OptionEntry]:
    """Everything that is set, by name; what belongs to others too."""
    schemas = {schema.schema_id: schema.name for schema in context.transaction.schemas()}
    found = []
    for row in context.transaction.options().rows:
        assert row.value is not None  # only what is staged has none
        scope = (row.scope or "").lower()
        entry = None
        if scope == "schema" and row.scope_id is not None:
            entry = schemas.get(row.scope_id)
        elif scope == "table" and row.scope_id is not None:
            table = context.transaction.by_id(row.scope_id)
            entry = None if table is None else f"{table.schema_name}.{table.name}"
        found.append(OptionEntry(row.key, description_of(row.key), row.value, scope.upper() or "GLOBAL", entry))
    return sorted(found, key=lambda option: option.name)


def _tables(context: Context, scope: Schema | Table | None) -> Iterator[Table]:
    """The tables that an option at this scope is for, but those with a narrower value that turns inlining off."""
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
            f"rows of {table.schema_name}.{table.name} cannot be inlined: its column {taken} has a name that the format uses itself. "
            "Rename the column, or set data_inlining_row_limit to 0 for the table first"
        )
