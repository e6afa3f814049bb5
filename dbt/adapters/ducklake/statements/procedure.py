"""What a procedure or function of a lake is, and how a call of one is understood."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import StatementError
from .arguments import Parameter, arguments, text, without_lake
from .environment import Environment
from .result import Result
from .values import Call

Arguments = Mapping[str, Any]
PREFIX = "ducklake_"
"""How the reference's own names begin, which are not called on a lake but with its name."""
_SCHEMA = Parameter("schema_name", text, required=True)


@dataclass(frozen=True)
class Procedure:
    """`parameters` are in the order of their positions.

    One that is `in_schema` is called as `lake.schema.name(…)`, or `ducklake_name('lake', 'schema', …)`; it is given `schema_name`, too.
    """

    run: Callable[[Environment, Arguments], Result]
    parameters: tuple[Parameter, ...] = ()
    in_schema: bool = False


def understood(env: Environment, call: Call, procedure: Procedure) -> Arguments:
    """The arguments of a call.

    Raises:
        StatementError: they are off.
    """
    *qualifiers, name = call.name.parts
    prefixed = name.casefold().startswith(PREFIX)
    if prefixed:
        call = without_lake(call, env.database)
    if not procedure.in_schema:
        return arguments(call, procedure.parameters)
    if prefixed:
        return arguments(call, (_SCHEMA, *procedure.parameters))
    schema = qualifiers[-1] if qualifiers and qualifiers[-1].casefold() != env.database.casefold() else env.schema
    return {**arguments(call, procedure.parameters), _SCHEMA.name: schema}


def is_of_lake(env: Environment, call: Call, procedure: Procedure | None) -> bool:
    """Whether what stands before the name is this lake, and one of its schemas where the procedure belongs to one."""
    qualifiers = [part.casefold() for part in call.name.parts[:-1]]
    if qualifiers and qualifiers[0] in (env.database.casefold(), "system"):
        del qualifiers[0]
    if not qualifiers:
        return True
    return len(qualifiers) == 1 and procedure is not None and procedure.in_schema and env.transaction.schema(qualifiers[0]) is not None


def named(name: str, known: Mapping[str, Procedure], what: str) -> Procedure:
    """The procedure of a name; one that is known by the name with the prefix goes before one without.

    Raises:
        StatementError: there is none.
    """
    procedure = known.get(name.casefold()) or known.get(name.casefold().removeprefix(PREFIX))
    if procedure is None:
        raise StatementError(f"{what}. There are: {', '.join(sorted({each.removeprefix(PREFIX) for each in known}))}")
    return procedure
