"""The procedures and functions of a lake, and how their calls are resolved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import StatementError
from ..format.identifiers import fold
from ..plan.names import Names
from ..sql.inspection import call_arguments
from ..sql.tokens import Cursor, Source
from ..sql.values import Call, Reference
from .arguments import Parameter, arguments, identifier, split_lake
from .environment import Environment
from .result import Result

Arguments = Mapping[str, Any]
PREFIX = "ducklake_"
"""The prefix of DuckDB's functions, which get the lake's name as an argument."""
_SCHEMA = Parameter("schema_name", identifier, required=True)


OWN_TRANSACTION = "runs in its own transaction; COMMIT or ROLLBACK the open one first"
IRREVERSIBLE = "cannot run inside a transaction, because it cannot be rolled back; COMMIT first"


@dataclass(frozen=True)
class Procedure:
    """A procedure or function of a lake, with its `parameters` in the order of their positions.

    One that is `in_schema` is called as `lake.schema.name(…)` or `ducklake_name('lake', 'schema', …)`, and gets `schema_name` as well.
    `refused_because` is why it cannot run in an open transaction: `OWN_TRANSACTION` or `IRREVERSIBLE`; None if it can.
    """

    run: Callable[[Environment, Arguments], Result]
    parameters: tuple[Parameter, ...] = ()
    in_schema: bool = False
    refused_because: str | None = None


def call_of(reference: Reference) -> Call:
    """Return a function call in FROM as a CALL."""
    return Call(reference.name, call_arguments(Cursor(Source(reference.arguments or ""))))


def resolve_call(names: Names, call: Call, procedure: Procedure) -> tuple[Names, Arguments] | None:
    """Return the names of the call's lake, and its arguments; None if the qualifier is not a lake or schema.

    Raises:
        StatementError: the arguments are wrong.
    """
    *qualifiers, name = call.name.parts
    owner = None if not qualifiers else names if fold(qualifiers[0]) == "system" else names.in_lake(qualifiers[0])
    if owner is not None:
        del qualifiers[0]
    owner = owner or names
    prefixed = fold(name).startswith(PREFIX)
    if prefixed:
        lake, call = split_lake(call, names.lakes.names)
        owner = owner.in_lake(lake) or owner
    if len(qualifiers) > procedure.in_schema or (qualifiers and owner.view.schema(qualifiers[0]) is None):
        return None
    if not procedure.in_schema:
        return owner, arguments(call, procedure.parameters)
    if prefixed:
        return owner, arguments(call, (_SCHEMA, *procedure.parameters))
    return owner, {**arguments(call, procedure.parameters), _SCHEMA.name: qualifiers[0] if qualifiers else owner.schema}


def schema_and_table(env: Environment, given: Arguments) -> tuple[str | None, str | None]:
    """Return the schema and the table that the arguments name, None for all; a table without a schema is in the current one."""
    schema, table = given.get("schema") or given.get("schema_name"), given["table_name"]
    return schema or (env.schema if table else None), table


def procedure_key(name: str, known: Mapping[str, Procedure], error: str) -> str:
    """Return the key in `known` of the procedure with a name; a key with the prefix takes precedence.

    Args:
        name: the name, with or without the prefix.
        known: the procedures.
        error: the beginning of the message if no procedure has the name.

    Raises:
        StatementError: no procedure has the name.
    """
    for key in (fold(name), fold(name).removeprefix(PREFIX)):
        if key in known:
            return key
    raise StatementError(f"{error}. There are: {', '.join(sorted({each.removeprefix(PREFIX) for each in known}))}")
