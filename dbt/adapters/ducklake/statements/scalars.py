"""Functions of the lake that are called in expressions: `schema.name(…)` becomes a call of a temporary function of Spark.

It is named as pinned views are, `lake.main.plus@42`: what its body reads is what the lake holds at that snapshot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import LakeError
from ..lake.functions import find_function
from ..spec.identifiers import backquoted
from ..spec.objects import Function
from .dialects import PLACEHOLDER
from .values import Name

if TYPE_CHECKING:
    from .environment import Environment, Reader

DEEPEST_CALL = 100


def scalar_function(env: Environment, name: Name, reader: Reader) -> Function | None:
    """The function of the lake that a name of two or three parts means; None if it is Spark's to judge."""
    if len(name.parts) == 3 and name.parts[0].casefold() != env.database.casefold():
        return None
    return find_function(reader, *name.parts[-2:])


def scalar_call(env: Environment, name: Name, reader: Reader, depth: int = 0) -> str | None:
    """What the name of a function is replaced by; None if it is Spark's to judge."""
    function = scalar_function(env, name, reader)
    return None if function is None else backquoted(registered(env, function, reader, depth))


def registered(env: Environment, function: Function, reader: Reader, depth: int = 0) -> str:
    """The name of a temporary function that is `function` as `reader` sees it, made if it is not there yet.

    Raises:
        LakeError: it calls itself; StatementError: Spark cannot make it.
    """
    user_name = f"{function.schema_name}.{function.name}"
    if depth > DEEPEST_CALL:
        raise LakeError(f"function {user_name} calls itself; CREATE OR REPLACE FUNCTION it with a body that does not")
    env.pins.at(env.transaction.snapshot.snapshot_id)
    pin = f"{env.database}.{user_name}@{reader.snapshot.snapshot_id}{env.pins.suffix(reader)}"
    if pin not in env.pins.scalars:
        text = function.definition.replace(PLACEHOLDER, backquoted(env.database))
        definition = env.bound_within(function.schema_name, text, reader, depth)
        env.context.spark().sql(f"CREATE OR REPLACE TEMPORARY FUNCTION {backquoted(pin)} {definition}")
        env.pins.scalars.add(pin)
    env.pins.names[pin] = user_name
    return pin
