"""CREATE FUNCTION and DROP FUNCTION.

A function is Spark SQL, stored in a tag of its schema: the format stores DuckDB macros only, and DuckDB cannot open a lake with a macro
that it cannot parse (`catalog/read/definition_rows.py`). A session creates a temporary function from it when a statement calls it.
"""

from __future__ import annotations

from dataclasses import replace

from ..errors import NotFoundError, StatementError
from ..format.objects import FUNCTION_TAG, Function
from .context import Context
from .schemas import required_schema


def find_function(context: Context, schema_name: str, name: str) -> Function | None:
    """Return the function of that name; None if it does not exist."""
    schema = context.transaction.schema(schema_name)
    return None if schema is None else schema.function(name)


def create_function(context: Context, function: Function, *, replace_existing: bool = False) -> None:
    """Stage a function.

    Raises:
        StatementError: a function of that name exists and `replace_existing` is false.
        NotFoundError: the schema does not exist.
    """
    schema = required_schema(context, function.schema_name)
    existing = find_function(context, schema.name, function.name)
    if existing is not None and not replace_existing:
        raise StatementError(
            f"function {schema.name}.{function.name} already exists; "
            "write CREATE OR REPLACE FUNCTION to replace it, or IF NOT EXISTS to keep it"
        )
    tags = {key: text for key, text in schema.tags.items() if existing is None or key != FUNCTION_TAG + existing.name}
    context.transaction.objects.put_schema(replace(schema, tags={**tags, FUNCTION_TAG + function.name: function.definition}))


def drop_function(context: Context, schema_name: str, name: str, *, if_exists: bool = False) -> None:
    """Stage dropping a function.

    Raises:
        NotFoundError: the function does not exist and `if_exists` is false.
    """
    existing = find_function(context, schema_name, name)
    if existing is None:
        if not if_exists:
            raise NotFoundError("function", f"{schema_name}.{name}", "Write DROP FUNCTION IF EXISTS if it may be missing")
        return
    schema = required_schema(context, schema_name)
    tags = {key: text for key, text in schema.tags.items() if key != FUNCTION_TAG + existing.name}
    context.transaction.objects.put_schema(replace(schema, tags=tags))
