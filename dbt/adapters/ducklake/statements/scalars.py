"""Functions of the lake that are called in expressions: `schema.name(…)` becomes a call of a temporary function of Spark.

It is named as pinned views are, `lake.main.plus@42`: what its body reads is what the lake holds at that snapshot.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import LakeError
from ..lake.functions import find_function
from ..spec.identifiers import backquoted
from ..spec.objects import Function
from .dialects import PLACEHOLDER
from .pins import ANY_TABLE
from .values import Name

if TYPE_CHECKING:
    from .environment import Environment
    from .pins import Reader

DEEPEST_CALL = 100


def scalar_function(env: Environment, name: Name) -> tuple[Environment, Function] | None:
    """The function of a lake that a name of two or three parts means, and the surroundings there; None if it is Spark's to judge."""
    return _function(env, name, None)


def scalar_call(env: Environment, name: Name, reader: Reader | None = None, depth: int = 0) -> str | None:
    """What the name of a function is replaced by; None if it is Spark's to judge.

    Args:
        reader: at what functions of this lake are seen; without it as the transaction sees them.
    """
    found = _function(env, name, reader)
    if found is None:
        return None
    there, function = found
    return backquoted(registered(there, function, _seen(env, there, reader), depth))


def _function(env: Environment, name: Name, reader: Reader | None) -> tuple[Environment, Function] | None:
    there = env.elsewhere(name.parts[0]) if len(name.parts) == 3 else env
    function = None if there is None else find_function(_seen(env, there, reader), *name.parts[-2:])
    return None if there is None or function is None else (there, function)


def _seen(env: Environment, there: Environment, reader: Reader | None) -> Reader:
    return reader if reader is not None and there is env else there.transaction


def registered(env: Environment, function: Function, reader: Reader, depth: int = 0) -> str:
    """The name of a temporary function that is `function` as `reader` sees it, made if it is not there yet.

    Raises:
        LakeError: it calls itself; StatementError: Spark cannot make it.
    """
    user_name = f"{function.schema_name}.{function.name}"
    if depth > DEEPEST_CALL:
        raise LakeError(f"function {user_name} calls itself; CREATE OR REPLACE FUNCTION it with a body that does not")
    env.touch()
    env.look(ANY_TABLE, env.transaction)
    pin = f"{env.database}.{user_name}@{reader.snapshot.snapshot_id}{env.pins.suffix(reader)}"
    if pin not in env.pins.scalars:
        text = function.definition.replace(PLACEHOLDER, backquoted(env.database))
        inside = replace(env, touched=set())
        definition = inside.bound_within(function.schema_name, text, reader, depth)
        env.context.spark().sql(f"CREATE OR REPLACE TEMPORARY FUNCTION {backquoted(pin)} {definition}")
        env.touched |= inside.touched
        if inside.touched <= {env.database}:  # another lake may be at another snapshot the next time
            env.pins.scalars.add(pin)
    env.pins.names[pin] = user_name
    return pin
