"""Options in `ducklake_metadata`: reading them, and setting them.

Specification: "Configuration". They belong to the lake as it is, not to a snapshot: setting one moves no counter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.engine import Connection

from ...format.options import Options, StoredOption
from ..store import tables as t
from .state import CommitState


def read_options(connection: Connection) -> Options:
    """All stored options."""
    rows = connection.execute(select(t.metadata)).all()
    return Options.of(StoredOption(row.key, row.value, row.scope, row.scope_id) for row in rows)


def set_options(connection: Connection, options: Iterable[StoredOption]) -> None:
    """Store options, each in place of the value it had; one without a value is removed."""
    table = t.metadata
    for option in options:
        same = (table.c.key == option.key) & table.c.scope.is_not_distinct_from(option.scope)
        same &= table.c.scope_id.is_not_distinct_from(option.scope_id)
        if option.value is None:
            connection.execute(table.delete().where(same))
        elif connection.execute(select(table.c.key).where(same)).first() is not None:
            connection.execute(table.update().where(same).values(value=option.value))
        else:
            connection.execute(table.insert().values(key=option.key, value=option.value, scope=option.scope, scope_id=option.scope_id))


def write_staged_options(state: CommitState) -> None:
    """The staged options, under the ids that new tables and schemas have got; what was dropped again has none."""
    gone = {key for objects in (state.staged.schemas, state.staged.tables) for key, value in objects.items() if value is None}
    known = {*state.staged.schemas, *state.staged.tables}
    kept = [
        option if option.scope_id is None or option.scope_id >= 0 else replace(option, scope_id=state.catalog_id(option.scope_id))
        for option in state.staged.options.values()
        if option.scope_id not in gone and (option.scope_id is None or option.scope_id >= 0 or option.scope_id in known)
    ]
    set_options(state.connection, kept)
