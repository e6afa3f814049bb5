"""The procedure `diff`: what changed in a table from one snapshot to another, or between two relations, as text, JSON or Markdown."""

from __future__ import annotations

from datetime import datetime
from functools import cache, partial

from ..errors import NotFoundError, StatementError
from ..format.diff_text import FORMATS, rendered
from ..format.identifiers import fold
from ..format.objects import Relation, Snapshot, Table
from ..lake.diff import Side, diff
from ..sql.references import rows_of
from ..sql.tokens import Cursor, Source
from ..sql.values import Name, TimeTravel
from .arguments import Parameter, bound, integer, text, texts
from .environment import Environment
from .procedure import Arguments, Procedure
from .result import Result, local

EXAMPLES = 5
"""How many examples of each kind of change are shown by default."""


def _diff(env: Environment, given: Arguments) -> Result:
    form = fold(given["format"] or FORMATS[0])
    if form not in FORMATS:
        raise StatementError(f"the format of diff is one of {', '.join(FORMATS)}, not {given['format']}")
    examples = EXAMPLES if given["examples"] is None else given["examples"]
    if examples < 0:
        raise StatementError(f"the examples of diff are a number of rows, 0 or more, not {examples}")
    name = Name((env.lake, given["schema"] or env.schema, given["table_name"]))
    after = _side(env, name, _snapshot(env, given["to"]))
    if given["other"] is None:
        if given["from"] is None:
            raise StatementError(f"diff of {name} needs `from`, a snapshot or timestamp, or `other`, another relation")
        before = _earlier(env, name, after, given["from"])
    else:
        other = _other(env, given["other"])
        owner, _, _ = env.place(other)
        before = _side(env, other, _snapshot(owner, given["from"]))
    found = diff(before, after, given["key"] or (), examples)
    return local("DIFF: no differences" if found.is_empty else "DIFF", [("diff", "string")], [(rendered(found, form),)])


def _other(env: Environment, text: str) -> Name:
    cursor = Cursor(Source(text))
    name = cursor.name()
    cursor.finish()
    return Name((env.schema, *name.parts)) if len(name.parts) == 1 else name


def _earlier(env: Environment, name: Name, after: Side, bound: int | datetime) -> Side:
    """Return the table of a side at an earlier snapshot, under the name that it had there."""
    snapshot = _resolved(env, bound)
    latest = after.view.snapshot
    if snapshot.snapshot_id > latest.snapshot_id:
        raise StatementError(
            f"diff of {name} goes from snapshot {snapshot.snapshot_id} to {latest.snapshot_id}, which is earlier; swap `from` and `to`"
        )
    reader = env.context.catalog.reader(snapshot)
    table = reader.by_id(after.relation.table_id) if isinstance(after.relation, Table) else None
    if table is None or not isinstance(table, Table):
        return _side(env, name, snapshot)
    return _of(env, table, Name((env.lake, table.schema_name, table.name)), snapshot)


def _side(env: Environment, name: Name, snapshot: Snapshot | None) -> Side:
    """Return the relation with a name, at a snapshot or as the transaction sees it.

    Raises:
        NotFoundError: there is none.
    """
    at = None if snapshot is None else TimeTravel(version=snapshot.snapshot_id)
    try:
        found = env.find(name, at)
    except NotFoundError as error:
        if snapshot is None:
            raise
        raise NotFoundError(
            "table or view", f"{name} at snapshot {snapshot.snapshot_id}", "Choose a snapshot in which it exists"
        ) from error
    if found is None:
        raise NotFoundError("table or view", str(name), env.names.known)
    return _of(env.with_names(found.names), found.relation, name, snapshot)


def _of(env: Environment, relation: Relation, name: Name, snapshot: Snapshot | None) -> Side:
    view = env.transaction if snapshot is None else env.context.catalog.reader(snapshot)
    at = None if snapshot is None else TimeTravel(version=snapshot.snapshot_id)
    title = f"{env.lake}.{relation.schema_name}.{relation.name}"
    return Side(title, env.lake, env.context, view, relation, cache(partial(env.query, rows_of(name, at))))


def _snapshot(env: Environment, bound: int | datetime | None) -> Snapshot | None:
    return None if bound is None else _resolved(env, bound)


def _resolved(env: Environment, bound: int | datetime) -> Snapshot:
    catalog = env.context.catalog
    return catalog.resolve(timestamp=bound) if isinstance(bound, datetime) else catalog.resolve(version=bound)


DIFF = Procedure(
    _diff,
    (
        Parameter("table_name", text, required=True),
        Parameter("schema", text, only_named=True),
        Parameter("from", bound, only_named=True),
        Parameter("to", bound, only_named=True),
        Parameter("other", text, only_named=True),
        Parameter("key", texts, only_named=True),
        Parameter("examples", integer, only_named=True),
        Parameter("format", text, only_named=True),
    ),
)
