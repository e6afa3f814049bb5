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


def set_options(connection: Connection, options: Iterable[StoredOption]) -> None:
    """Store options, replacing old values; an option without a value is removed."""
    table = t.metadata
    for option in options:
        is_option = (table.c.key == option.key) & table.c.scope.is_not_distinct_from(option.scope)
        is_option &= table.c.scope_id.is_not_distinct_from(option.scope_id)
        if option.value is None:
            connection.execute(table.delete().where(is_option))
        elif connection.execute(select(table.c.key).where(is_option)).first() is not None:
            connection.execute(table.update().where(is_option).values(value=option.value))
        else:
            connection.execute(table.insert().values(key=option.key, value=option.value, scope=option.scope, scope_id=option.scope_id))


def write_staged_options(state: CommitState) -> None:
    """Write the staged options, except those of dropped objects. Negative ids, of new tables and schemas, become catalog ids."""
    dropped = {key for objects in (state.staged.schemas, state.staged.tables) for key, value in objects.items() if value is None}
    known = {*state.staged.schemas, *state.staged.tables}
    kept = [
        option if option.scope_id is None or option.scope_id >= 0 else replace(option, scope_id=state.catalog_id(option.scope_id))
        for option in state.staged.options.values()
        if option.scope_id not in dropped and (option.scope_id is None or option.scope_id >= 0 or option.scope_id in known)
    ]
    set_options(state.connection, kept)
