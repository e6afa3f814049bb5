"""Read and set options in `ducklake_metadata`.

Specification: "Configuration". Options have no versions: setting one creates no snapshot.
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
    """Return all stored options."""
    rows = connection.execute(select(t.metadata)).all()
    return Options.of(StoredOption(row.key, row.value, row.scope, row.scope_id) for row in rows)


def stored_options(state: CommitState) -> Options:
    """Return all committed options as this attempt to commit sees them, read once."""
    if state.options is None:
        state.options = read_options(state.connection)
    return state.options


def set_options(connection: Connection, options: Iterable[StoredOption]) -> None:
    """Store options, replacing old values; an option whose value is None is removed."""
    table = t.metadata
    for option in options:
        same_option = (table.c.key == option.key) & table.c.scope.is_not_distinct_from(option.scope)
        same_option &= table.c.scope_id.is_not_distinct_from(option.scope_id)
        if option.value is None:
            connection.execute(table.delete().where(same_option))
        elif not connection.execute(table.update().where(same_option).values(value=option.value)).rowcount:
            connection.execute(table.insert().values(key=option.key, value=option.value, scope=option.scope, scope_id=option.scope_id))


def write_staged_options(state: CommitState) -> None:
    """Write the staged options, except those of dropped schemas and tables. The negative ids of new ones become catalog ids."""
    staged = [*state.staged.schemas.items(), *state.staged.tables.items()]
    staged_ids = {scope_id for scope_id, _ in staged}
    dropped_ids = {scope_id for scope_id, definition in staged if definition is None}
    # A new schema or table that was dropped again is no longer staged, so its options are left out too.
    kept = [
        option if option.scope_id is None or option.scope_id >= 0 else replace(option, scope_id=state.catalog_id(option.scope_id))
        for option in state.staged.options.values()
        if option.scope_id not in dropped_ids and (option.scope_id is None or option.scope_id >= 0 or option.scope_id in staged_ids)
    ]
    set_options(state.connection, kept)
