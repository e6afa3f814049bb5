"""The functions of a lake, `FROM lake.snapshots()` or `FROM ducklake_snapshots('lake')`: relations made of what the catalog says.

Specification: "Metadata functions", "Snapshots", "List Files". They can be called, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import StatementError
from ..lake.listing import FILE_COLUMNS, TABLE_COLUMNS, list_files, table_info
from ..lake.options import options
from ..lake.snapshots import COLUMNS as SNAPSHOT_COLUMNS
from ..lake.snapshots import snapshot_rows
from ..lake.tables import required_table
from ..spark.frames import local_frame
from .arguments import Parameter, arguments, integer, moment, text, without_lake
from .environment import Environment
from .inspection import call_arguments
from .procedure import Arguments, Procedure
from .result import Result, local
from .tokens import Cursor, Source
from .values import Call, Reference

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PREFIX = "ducklake_"


def function_frame(env: Environment, reference: Reference) -> DataFrame | None:
    """The rows of a call in FROM; None if it is none of the lake's functions.

    Raises:
        StatementError: the lake has no such function, or its arguments are off.
    """
    parts = tuple(part.casefold() for part in reference.name.parts)
    prefixed = len(parts) == 1
    if not prefixed and parts[-2] != env.database.casefold():
        return None
    function = FUNCTIONS.get(parts[-1].removeprefix(PREFIX) if prefixed else parts[-1])
    if function is None:
        if prefixed:
            return None
        raise StatementError(f"{reference.name} is no function of the lake. There are: {', '.join(sorted(FUNCTIONS))}")
    call = Call(reference.name, call_arguments(Cursor(Source(reference.arguments or ""))))
    given = arguments(without_lake(call, env.database) if prefixed else call, function.parameters)
    result = function.run(env, given)
    if result.frame is not None:
        return result.frame
    return local_frame(env.context.spark(), [(column.name, column.type) for column in result.columns], result.rows or ())


def _snapshots(env: Environment, _given: Arguments) -> Result:
    return local("SNAPSHOTS", SNAPSHOT_COLUMNS, snapshot_rows(env.context.catalog.snapshots()))


def _current_snapshot(env: Environment, _given: Arguments) -> Result:
    return local("CURRENT SNAPSHOT", [("id", "bigint")], [(env.transaction.snapshot.snapshot_id,)])


def _last_committed_snapshot(env: Environment, _given: Arguments) -> Result:
    return local("LAST COMMITTED SNAPSHOT", [("id", "bigint")], [(env.last_committed,)])


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
    from ..__version__ import version

    catalog = env.context.catalog
    columns = [(name, "string") for name in ("catalog_type", "extension_version", "data_path")]
    return local("SETTINGS", columns, [(catalog.database_kind, f"dbt-ducklake {version}", catalog.data_path)])


FUNCTIONS: dict[str, Procedure] = {
    "snapshots": Procedure(_snapshots),
    "current_snapshot": Procedure(_current_snapshot),
    "last_committed_snapshot": Procedure(_last_committed_snapshot),
    "table_info": Procedure(_table_info),
    "list_files": Procedure(
        _list_files,
        (
            Parameter("table_name", text, required=True),
            Parameter("schema", text, only_named=True),
            Parameter("snapshot_version", integer, only_named=True),
            Parameter("snapshot_time", moment, only_named=True),
        ),
    ),
    "options": Procedure(_options),
    "settings": Procedure(_settings),
}
