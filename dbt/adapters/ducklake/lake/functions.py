"""CREATE FUNCTION and DROP FUNCTION.

A function is Spark's SQL and stands in a tag of its schema: the format has a place for DuckDB's macros only, and DuckDB cannot open a lake
that holds a macro which it fails to parse (`catalog/read/macros.py`). Sessions make a temporary function of it when a statement calls it.
"""

from __future__ import annotations

from dataclasses import replace

from ..errors import NotFoundError, StatementError
from ..format.objects import FUNCTION_TAG, Function
from .context import Context
from .schemas import required_schema


def find_function(context: Context, schema_name: str, name: str) -> Function | None:
    """The function of that name; None if there is none."""
    schema = context.transaction.schema(schema_name)
    return None if schema is None else schema.function(name)


def create_function(context: Context, function: Function, *, replace_existing: bool = False) -> None:
    """Stage a function.

    Raises:
        StatementError: one of that name exists and `replace_existing` is false; NotFoundError: there is no such schema.
    """
    schema = required_schema(context, function.schema_name)
    existing = find_function(context, schema.name, function.name)
    if existing is not None and not replace_existing:
        raise StatementError(
            f"function {schema.name}.{function.name} exists already; "
            "write CREATE OR REPLACE FUNCTION to replace it, or IF NOT EXISTS to keep it"
        )
    tags = {key: text for key, text in schema.tags.items() if existing is None or key != FUNCTION_TAG + existing.name}
    context.transaction.objects.put_schema(replace(schema, tags={**tags, FUNCTION_TAG + function.name: function.definition}))


def drop_function(context: Context, schema_name: str, name: str, *, if_exists: bool = False) -> None:
    """Stage the end of a function.

    Raises:
        NotFoundError: there is none.
    """
    existing = find_function(context, schema_name, name)
    if existing is None:
        if not if_exists:
            raise NotFoundError("function", f"{schema_name}.{name}", "Write DROP FUNCTION IF EXISTS to accept that")
        return
    schema = required_schema(context, schema_name)
    tags = {key: text for key, text in schema.tags.items() if key != FUNCTION_TAG + existing.name}
    context.transaction.objects.put_schema(replace(schema, tags=tags))
