"""The functions of a lake: relations with data of the catalog, as `FROM lake.snapshots()` or `FROM ducklake_snapshots('lake')`.

Specification: "Metadata functions", "Snapshots", "List Files", "Data Change Feed". CALL runs them as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..__version__ import version as package_version
from ..errors import StatementError
from ..format.identifiers import fold
from ..lake.changes import VIRTUAL, ChangeFeedBound, table_changes, table_deletions, table_insertions
from ..lake.context import Context
from ..lake.history import COLUMNS as HISTORY_COLUMNS
from ..lake.history import history, logged_table
from ..lake.listing import FILE_COLUMNS, TABLE_COLUMNS, list_files, table_info
from ..lake.options import options
from ..lake.snapshots import COLUMNS as SNAPSHOT_COLUMNS
from ..lake.snapshots import snapshot_rows
from ..lake.tables import required_table
from ..plan.bound import BoundCall
from ..plan.names import Names
from ..plan.resolve import version_of
from ..spark.rows.frames import local_frame
from ..sql.values import Reference
from .arguments import Parameter, identifier, integer, named, snapshot_or_timestamp, timestamp
from .changes import CHANGES, POSITIONS
from .environment import Environment
from .procedure import PREFIX, Arguments, Procedure, call_of, procedure_key, resolve_call
from .result import Result, local, queried

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def bound_call(names: Names, reference: Reference) -> BoundCall | None:
    """Resolve a call in FROM; return None if it is not one of the lake's functions.

    Raises:
        StatementError: the lake has no such function, or its arguments are wrong.
    """
    *qualifiers, name = reference.name.parts
    if not qualifiers and not fold(name).startswith(PREFIX):
        return None
    if fold(name).removeprefix(PREFIX) not in FUNCTIONS and (not qualifiers or names.in_lake(qualifiers[0]) is None):
        return None
    function = procedure_key(name, FUNCTIONS, f"{reference.name} is not a function of the lake")
    found = resolve_call(names, call_of(reference), FUNCTIONS[function])
    if found is None:
        return None
    owner, given = found
    version = version_of(owner, owner.lakes.view(owner.lake))
    return BoundCall(owner.lake, function, tuple(given.items()), owner.schema, version, str(reference.name))


def frame_of_call(env: Environment, call: BoundCall) -> DataFrame:
    """Return the rows of a function of the lake."""
    target = env.with_names(replace(env.names, lake=call.lake, schema=call.schema, pinned=None))
    result = FUNCTIONS[call.function].run(target, target.localized(dict(call.arguments)))
    if result.frame is not None:
        return result.frame
    return local_frame(env.spark, [(column.name, column.type) for column in result.columns], result.rows or ())


def _change_feed_function(
    read: Callable[[Context, str, str, ChangeFeedBound, ChangeFeedBound], DataFrame], hidden: tuple[str, ...] = ()
) -> Procedure:
    """Return a function of the change feed that leaves out the `hidden` columns."""

    def run(env: Environment, given: Arguments) -> Result:
        frame = read(env.context, given["schema_name"], given["table_name"], given["start_snapshot"], given["end_snapshot"])
        return queried(frame.drop(*hidden))

    snapshots = (Parameter(name, snapshot_or_timestamp, required=True) for name in ("start_snapshot", "end_snapshot"))
    return Procedure(run, (_TABLE, *snapshots), in_schema=True)


def _snapshots(env: Environment, given: Arguments) -> Result:
    limit = given["limit"]
    if limit is not None and limit < 1:
        raise StatementError(f"the limit of snapshots must be 1 or more, not {limit}")
    return local("SNAPSHOTS", SNAPSHOT_COLUMNS, snapshot_rows(env.context.catalog.snapshots(limit=limit)))


def _current_snapshot(env: Environment, _given: Arguments) -> Result:
    return local("CURRENT SNAPSHOT", [("id", "bigint")], [(env.transaction.snapshot.snapshot_id,)])


def _last_committed_snapshot(env: Environment, _given: Arguments) -> Result:
    return local("LAST COMMITTED SNAPSHOT", [("id", "bigint")], [(env.state.last_committed.get(env.lake),)])


def _history(env: Environment, given: Arguments) -> Result:
    limit = given["limit"]
    if limit is not None and limit < 0:
        raise StatementError(f"the limit of history must be a number of snapshots, 0 or more, not {limit}")
    table = logged_table(env.context, given["schema"] or env.schema, given["table_name"])
    return local("HISTORY", HISTORY_COLUMNS, history(env.context, table, limit))


def _table_info(env: Environment, _given: Arguments) -> Result:
    return local("TABLE INFO", TABLE_COLUMNS, table_info(env.context))


def _list_files(env: Environment, given: Arguments) -> Result:
    version, at = given["snapshot_version"], given["snapshot_time"]
    if version is not None and at is not None:
        raise StatementError("list_files takes snapshot_version or snapshot_time, not both")
    schema = given["schema"] or env.schema
    if version is None and at is None:
        return local("LIST FILES", FILE_COLUMNS, list_files(env.transaction, required_table(env.context, schema, given["table_name"])))
    catalog = env.context.catalog
    reader = catalog.reader(catalog.resolve(version=version, timestamp=at))
    return local("LIST FILES", FILE_COLUMNS, list_files(reader, required_table(env.context, schema, given["table_name"], reader)))


def _options(env: Environment, _given: Arguments) -> Result:
    columns = [(name, "string") for name in ("option_name", "description", "value", "scope", "scope_entry")]
    return local("OPTIONS", columns, [(row.name, row.description, row.value, row.scope, row.entry) for row in options(env.context)])


def _settings(env: Environment, _given: Arguments) -> Result:
    catalog = env.context.catalog
    columns = [(name, "string") for name in ("catalog_type", "extension_version", "data_path")]
    return local("SETTINGS", columns, [(catalog.database_kind, f"dbt-ducklake {package_version}", catalog.data_path)])


_TABLE = Parameter("table_name", identifier, required=True)
FUNCTIONS: dict[str, Procedure] = {
    "snapshots": Procedure(_snapshots, named(limit=integer)),
    "current_snapshot": Procedure(_current_snapshot),
    "last_committed_snapshot": Procedure(_last_committed_snapshot),
    "table_info": Procedure(_table_info),
    "history": Procedure(_history, (_TABLE, *named(schema=identifier, limit=integer))),
    "list_files": Procedure(_list_files, (_TABLE, *named(schema=identifier, snapshot_version=integer, snapshot_time=timestamp))),
    "options": Procedure(_options),
    "settings": Procedure(_settings),
    "table_changes": _change_feed_function(table_changes),
    "table_insertions": _change_feed_function(table_insertions, hidden=VIRTUAL),
    "table_deletions": _change_feed_function(table_deletions, hidden=VIRTUAL),
    "changes": CHANGES,
    "positions": POSITIONS,
    "ducklake_table_insertions": _change_feed_function(table_insertions),
    "ducklake_table_deletions": _change_feed_function(table_deletions),
}
