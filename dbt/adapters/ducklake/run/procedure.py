"""What a procedure or function of a lake is, and how a call of one is understood."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import StatementError
from ..format.identifiers import fold
from ..plan.names import Names
from ..sql.values import Call
from .arguments import Parameter, arguments, of_lake, text
from .environment import Environment
from .result import Result

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


def understood(names: Names, call: Call, procedure: Procedure) -> tuple[Names, Arguments] | None:
    """The names of the lake that a call is about, and its arguments; None if what stands before the name is no lake or schema.

    Raises:
        StatementError: the arguments are off.
    """
    *qualifiers, name = call.name.parts
    there = None if not qualifiers else names if fold(qualifiers[0]) == "system" else names.elsewhere(qualifiers[0])
    if there is not None:
        del qualifiers[0]
    there = there or names
    prefixed = fold(name).startswith(PREFIX)
    if prefixed:
        lake, call = of_lake(call, names.lakes.names)
        there = there.elsewhere(lake) or there
    if len(qualifiers) > procedure.in_schema or (qualifiers and there.view.schema(qualifiers[0]) is None):
        return None
    if not procedure.in_schema:
        return there, arguments(call, procedure.parameters)
    if prefixed:
        return there, arguments(call, (_SCHEMA, *procedure.parameters))
    return there, {**arguments(call, procedure.parameters), _SCHEMA.name: qualifiers[0] if qualifiers else there.schema}


def key_of(name: str, known: Mapping[str, Procedure], what: str) -> str:
    """The key of the procedure of a name; one that is known by the name with the prefix goes before one without.

    Raises:
        StatementError: there is none.
    """
    for key in (fold(name), fold(name).removeprefix(PREFIX)):
        if key in known:
            return key
    raise StatementError(f"{what}. There are: {', '.join(sorted({each.removeprefix(PREFIX) for each in known}))}")
