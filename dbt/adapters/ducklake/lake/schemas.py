"""CREATE SCHEMA and DROP SCHEMA."""

from __future__ import annotations

from ..errors import NotFoundError, StatementError
from ..format.identifiers import INFORMATION_SCHEMA, fold
from ..format.objects import Schema, Table
from .context import Context


def create_schema(context: Context, name: str, *, if_not_exists: bool = False) -> Schema:
    """Stage a new schema, or return the existing one.

    Raises:
        StatementError: the schema exists and `if_not_exists` is false, or the name is reserved.
    """
    _require_not_reserved(name)
    existing = context.transaction.schema(name)
    if existing is None:
        return context.transaction.objects.new_schema(name)
    if not if_not_exists:
        raise StatementError(f"schema {name} already exists; write CREATE SCHEMA IF NOT EXISTS to keep it")
    return existing


def drop_schema(context: Context, name: str, *, if_exists: bool = False, cascade: bool = False) -> None:
    """Stage dropping a schema, with `cascade` also everything in it.

    Raises:
        NotFoundError: the schema does not exist and `if_exists` is false.
        StatementError: the schema is not empty and `cascade` is false.
    """
    schema = context.transaction.schema(name)
    if schema is None:
        if if_exists:
            return
        raise NotFoundError("schema", name, "Write DROP SCHEMA IF EXISTS if it may be missing")
    members = context.transaction.relations(schema.name)
    macros = context.transaction.macros(schema.name)
    names = [member.name for member in (*members, *macros, *schema.functions)]
    if names and not cascade:
        some = ", ".join(names[:5])
        raise StatementError(f"schema {name} is not empty ({some}{', …' if len(names) > 5 else ''}); write DROP SCHEMA … CASCADE")
    for member in members:
        if isinstance(member, Table):
            context.transaction.objects.drop_table(member)
        else:
            context.transaction.objects.drop_view(member)
    for macro in macros:
        context.transaction.objects.drop_macro(macro)
    context.transaction.objects.drop_schema(schema)


def required_schema(context: Context, name: str) -> Schema:
    """Return the schema of that name.

    Raises:
        NotFoundError: the schema does not exist.
        StatementError: the schema does not exist, and its name is reserved.
    """
    schema = context.transaction.schema(name)
    if schema is None:
        _require_not_reserved(name)
        raise NotFoundError("schema", name, f"CREATE SCHEMA {name} makes it")
    return schema


def _require_not_reserved(name: str) -> None:
    if fold(name) == INFORMATION_SCHEMA:
        raise StatementError(f"schema {name} describes the lake and cannot be created; choose another name")
