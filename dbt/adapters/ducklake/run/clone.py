"""The procedure `clone`: its arguments and its result."""

from __future__ import annotations

import re
from dataclasses import astuple

from ..errors import StatementError
from ..format.identifiers import fold
from ..lake.clone import COLUMNS, clone_schema, clone_table
from .arguments import Parameter, boolean, identifier, integer, parts, text, timestamp
from .environment import Environment
from .procedure import Arguments, Procedure
from .result import Result, local

_PART = re.compile(r'`((?:[^`]|``)+)`|"((?:[^"]|"")+)"|([^.`"\s][^.`"]*)')


def _path(value: object) -> tuple[str, ...]:
    """Return the parts of a name: of a list, or of a dotted string in which parts may be quoted."""
    if isinstance(value, list):
        return parts(value)
    found, position, written = [], 0, text(value)
    while match := _PART.match(written, position):
        backquoted, quoted, plain = match.groups()
        found.append(backquoted.replace("``", "`") if backquoted else quoted.replace('""', '"') if quoted else plain)
        position = match.end() + 1
        if written[match.end() : position] != ".":
            break
    if position != len(written) + 1 or len(found) > 3:
        raise ValueError("the name of a schema or table, such as 'dev' or 'dev.orders'")
    return tuple(found)


def _clone(env: Environment, given: Arguments) -> Result:
    table, into = given["table_name"], given["into"]
    if not into or not (table or given["schema"]):
        raise StatementError("clone needs into, and table_name or schema: clone(schema => 'prod', into => 'dev')")
    if given["version"] is not None and given["timestamp"] is not None:
        raise StatementError("clone takes version or timestamp, not both")
    lake = into[0] if len(into) == (3 if table else 2) else env.lake
    if fold(lake) != fold(env.lake):
        raise StatementError(
            f"{'.'.join(into)} is not in the lake {env.lake}, and files cannot be shared between lakes: write CREATE TABLE … AS SELECT"
        )
    if not table and len(into) == 3:
        raise StatementError(f"clone: a schema is cloned into a schema, and {'.'.join(into)} is the name of a table")
    if not table and given["replace"]:
        raise StatementError("clone replaces only a table: DROP SCHEMA … CASCADE, then clone the schema")
    if given["version"] is None and given["timestamp"] is None:
        source = env.transaction.base
    else:
        source = env.context.catalog.reader(env.context.catalog.resolve(version=given["version"], timestamp=given["timestamp"]))
    if not table:
        outcomes = clone_schema(env.context, source, given["schema"], into[-1])
    else:
        place = (into[0], table) if len(into) == 1 else (into[-2], into[-1])
        outcomes = [clone_table(env.context, source, given["schema"] or env.schema, table, place, replace_existing=bool(given["replace"]))]
    done = sum(outcome.action == "cloned" for outcome in outcomes)
    message = f"CLONE of snapshot {source.snapshot.snapshot_id}: {done} cloned, {len(outcomes) - done} left out"
    return local(message, COLUMNS, [astuple(outcome) for outcome in outcomes])


CLONE: dict[str, Procedure] = {
    "clone": Procedure(
        _clone,
        (
            Parameter("table_name", identifier, only_named=True),
            Parameter("schema", identifier, only_named=True),
            Parameter("into", _path, only_named=True),
            Parameter("version", integer, only_named=True),
            Parameter("timestamp", timestamp, only_named=True),
            Parameter("replace", boolean, only_named=True),
        ),
    )
}
