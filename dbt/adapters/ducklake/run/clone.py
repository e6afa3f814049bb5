"""The procedure `clone`: its arguments and its result."""

from __future__ import annotations

import re
from dataclasses import astuple

from ..errors import StatementError
from ..format.identifiers import fold
from ..lake.clone import COLUMNS, clone_schema, clone_table
from .arguments import boolean, identifier, integer, named, parts, text, timestamp
from .environment import Environment
from .procedure import Arguments, Procedure
from .result import Result, local

_NAME_PART = re.compile(r'`((?:[^`]|``)+)`|"((?:[^"]|"")+)"|([^.`"\s][^.`"]*)')


def _name_parts(value: object) -> tuple[str, ...]:
    """Return the parts of a name, given as a list or as a dotted string whose parts may be quoted; for `Parameter.read`."""
    if isinstance(value, list):
        return parts(value)
    found, position, dotted = [], 0, text(value)
    while match := _NAME_PART.match(dotted, position):
        backquoted, quoted, plain = match.groups()
        found.append(backquoted.replace("``", "`") if backquoted else quoted.replace('""', '"') if quoted else plain)
        position = match.end() + 1
        if dotted[match.end() : position] != ".":
            break
    if position != len(dotted) + 1 or len(found) > 3:  # not all of the text was read, or it ends with a dot
        raise ValueError("the name of a schema or table, such as 'dev' or 'dev.orders'")
    return tuple(found)


def _check_arguments(env: Environment, given: Arguments) -> None:
    """Check the arguments that depend on each other, and that the clone is in the same lake.

    Raises:
        StatementError: arguments are missing or contradict each other, or `into` is in another lake.
    """
    table, into = given["table_name"], given["into"]
    if not into or not (table or given["schema"]):
        raise StatementError("clone needs into, and table_name or schema: clone(schema => 'prod', into => 'dev')")
    if given["version"] is not None and given["timestamp"] is not None:
        raise StatementError("clone takes version or timestamp, not both")
    names_lake = len(into) == (3 if table else 2)
    if names_lake and fold(into[0]) != fold(env.lake):
        raise StatementError(
            f"{'.'.join(into)} is not in the lake {env.lake}, and files cannot be shared between lakes: write CREATE TABLE … AS SELECT"
        )
    if not table and len(into) == 3:
        raise StatementError(
            f"clone: a schema is cloned into a schema, and {'.'.join(into)} is the name of a table; write into => '{into[1]}'"
        )
    if not table and given["replace"]:
        raise StatementError("clone replaces only a table: DROP SCHEMA … CASCADE, then clone the schema")


def _clone(env: Environment, given: Arguments) -> Result:
    _check_arguments(env, given)
    table, into = given["table_name"], given["into"]
    if given["version"] is None and given["timestamp"] is None:
        source = env.transaction.base
    else:
        source = env.context.catalog.reader(env.context.catalog.resolve(version=given["version"], timestamp=given["timestamp"]))
    if not table:
        outcomes = clone_schema(env.context, source, given["schema"], into[-1])
    else:
        target = (into[0], table) if len(into) == 1 else (into[-2], into[-1])
        outcomes = [clone_table(env.context, source, given["schema"] or env.schema, table, target, replace_existing=bool(given["replace"]))]
    cloned = sum(outcome.action == "cloned" for outcome in outcomes)
    message = f"CLONE of snapshot {source.snapshot.snapshot_id}: {cloned} cloned, {len(outcomes) - cloned} left out"
    return local(message, COLUMNS, [astuple(outcome) for outcome in outcomes])


CLONE = Procedure(
    _clone, named(table_name=identifier, schema=identifier, into=_name_parts, version=integer, timestamp=timestamp, replace=boolean)
)
