"""The procedure `diff`: what changed in a table from one snapshot to another, or between two relations, as text, JSON or Markdown."""

from __future__ import annotations

from datetime import datetime
from functools import cache, partial

from ..errors import NotFoundError, StatementError
from ..format.diff_text import FORMATS, render
from ..format.identifiers import fold
from ..format.objects import Snapshot, Table
from ..lake.diff import Side, diff
from ..sql.references import rows_of
from ..sql.tokens import parse_name
from ..sql.values import Name, TimeTravel
from .arguments import Parameter, identifier, integer, named, snapshot_or_timestamp, strings, text
from .environment import Environment
from .procedure import Arguments, Procedure
from .result import Result, local

EXAMPLES = 5
"""How many examples of each kind of change are shown by default."""


def _diff(env: Environment, given: Arguments) -> Result:
    form = fold(given["format"] or FORMATS[0])
    if form not in FORMATS:
        raise StatementError(f"the format of diff must be one of {', '.join(FORMATS)}, not {given['format']}")
    examples = EXAMPLES if given["examples"] is None else given["examples"]
    if examples < 0:
        raise StatementError(f"the examples of diff must be a number of rows, 0 or more, not {examples}")
    name = Name((env.lake, given["schema"] or env.schema, given["table_name"]))
    after = _side(env, name, given["to"])
    if given["other"] is not None:
        before = _side(env, _other(env, given["other"]), given["from"])
    elif given["from"] is not None:
        before = _earlier(env, name, after, given["from"])
    else:
        raise StatementError(f"diff of {name} needs `from`, a snapshot or timestamp, or `other`, another relation")
    if given["other"] is None or before.is_same_table(after):
        _require_order(before, after)
    found = diff(before, after, given["key"] or (), examples)
    return local("DIFF: no differences" if found.is_empty else "DIFF", [("diff", "string")], [(render(found, form),)])


def _other(env: Environment, text: str) -> Name:
    """Parse the name of the other relation. A name without a schema means a relation in the current schema, never a temporary view."""
    name = parse_name(text)
    return Name((env.schema, *name.parts)) if len(name.parts) == 1 else name


def _earlier(env: Environment, name: Name, after: Side, at: int | datetime) -> Side:
    """Return the table of the later side at an earlier snapshot, under the name that it had then.

    If that table did not exist, return the relation that had the current name.
    """
    reader = env.context.catalog.reader(_resolved(env, at))
    table = reader.by_id(after.relation.table_id) if isinstance(after.relation, Table) else None
    return _side(env, name if table is None else Name((env.lake, table.schema_name, table.name)), at)


def _require_order(before: Side, after: Side) -> None:
    first, last = before.view.snapshot.snapshot_id, after.view.snapshot.snapshot_id
    if first > last:
        raise StatementError(f"diff of {after.name} goes from snapshot {first} to {last}, an earlier one; swap `from` and `to`")


def _side(env: Environment, name: Name, at: int | datetime | None) -> Side:
    """Return the relation with a name, at the snapshot `at`, or as the transaction sees it if `at` is None.

    Raises:
        NotFoundError: the lake has no such relation, or no such snapshot.
        StatementError: the name does not belong to a lake.
    """
    owner = env.in_lake(name.parts[0]) if len(name.parts) == 3 else env.place(name)[0]
    if owner is None:
        raise StatementError(f"{name} does not name a lake of this session; {env.names.known}")
    snapshot = None if at is None else _resolved(owner, at)
    travel = None if snapshot is None else TimeTravel(version=snapshot.snapshot_id)
    try:
        found = env.names.find(name, travel)
    except NotFoundError as error:
        if snapshot is None:
            raise
        raise NotFoundError(
            "table or view", f"{name} at snapshot {snapshot.snapshot_id}", "Choose a snapshot in which it exists"
        ) from error
    if found is None:
        raise NotFoundError("table or view", str(name))
    view = owner.transaction if snapshot is None else owner.context.catalog.reader(snapshot)
    title = f"{owner.lake}.{found.relation.schema_name}.{found.relation.name}"
    return Side(title, owner.lake, owner.context, view, found.relation, cache(partial(env.query, rows_of(name, travel))))


def _resolved(env: Environment, at: int | datetime) -> Snapshot:
    catalog = env.context.catalog
    return catalog.resolve(timestamp=at) if isinstance(at, datetime) else catalog.resolve(version=at)


DIFF = Procedure(
    _diff,
    (
        Parameter("table_name", identifier, required=True),
        *named(schema=identifier, **{"from": snapshot_or_timestamp}, to=snapshot_or_timestamp),
        *named(other=text, key=strings, examples=integer, format=text),
    ),
)
