"""The procedures of a lake: `CALL lake.name(…)`, or as in DuckDB `CALL ducklake_name('lake', …)`."""

from __future__ import annotations

from ..errors import StatementError
from ..format.versions import CURRENT
from ..lake.add_files import add_data_files
from ..lake.migrate import migrate
from ..lake.options import set_option
from ..lake.tables import required_table
from ..spark.arrow.foreign_files import Matching
from ..sql.values import Call
from .arguments import Parameter, boolean, constant, identifier, named, strings, text
from .clone import CLONE
from .diff import DIFF
from .environment import Environment
from .functions import FUNCTIONS
from .maintenance import MAINTENANCE
from .procedure import OWN_TRANSACTION, Arguments, Procedure, procedure_key, resolve_call, schema_and_table
from .result import Result, local


def run_call(env: Environment, statement: Call) -> Result:
    """Run CALL of a procedure of the lake.

    Raises:
        StatementError: there is no such procedure, its arguments are wrong, or it cannot run in the open transaction.
    """
    key = procedure_key(statement.name.parts[-1], PROCEDURES, f"CALL {statement.name}: no such procedure")
    procedure = PROCEDURES[key]
    found = resolve_call(env.names, statement, procedure)
    if found is None:
        raise StatementError(f"CALL {statement.name}: what is before the last dot is no lake or schema here; {env.names.known}")
    names, given = found
    if procedure.refused_because is not None and env.in_user_transaction:
        raise StatementError(f"{key} {procedure.refused_because}")
    return procedure.run(env.with_names(names), env.localized(given))


def _set_commit_message(env: Environment, given: Arguments) -> Result:
    if not env.in_user_transaction:
        raise StatementError("set_commit_message needs an open transaction; BEGIN first")
    env.transaction.set_commit_message(given["author"], given["message"], given["extra_info"])
    return Result("SET COMMIT MESSAGE")


def _set_option(env: Environment, given: Arguments) -> Result:
    schema, table = schema_and_table(env, given)
    set_option(env.context, given["key"], given["value"], schema=schema, table=table)
    return Result("SET OPTION")


def _add_data_files(env: Environment, given: Arguments) -> Result:
    if not given["table_name"] or not given["files"]:
        raise StatementError("add_data_files needs a table_name, and files: a path of Parquet files, or a list of such paths")
    table = required_table(env.context, given["schema"] or env.schema, given["table_name"])
    hive = given["hive_partitioning"]
    in_zone = env.lakes.in_zone(env.context)
    matching = Matching(bool(given["allow_missing"]), bool(given["ignore_extra_columns"]), hive is None or hive, in_zone)
    added = add_data_files(env.context, table, given["files"], matching)
    return local(f"ADD DATA FILES: {len(added)} added", [("filename", "string")], [(path,) for path in added])


def _migrate(env: Environment, _given: Arguments) -> Result:
    before = migrate(env.context.catalog)
    return local("MIGRATE", [("from_version", "string"), ("to_version", "string")], [(before, CURRENT)])


PROCEDURES: dict[str, Procedure] = {
    "set_commit_message": Procedure(
        _set_commit_message,
        (Parameter("author", text, required=True), Parameter("message", text, required=True), Parameter("extra_info", text)),
    ),
    "set_option": Procedure(
        _set_option,
        (
            Parameter("key", text, required=True),
            Parameter("value", constant, required=True),
            *named(schema=identifier, table_name=identifier),
        ),
    ),
    "add_data_files": Procedure(
        _add_data_files,
        (
            Parameter("table_name", identifier, required=True),
            Parameter("files", strings, required=True),
            *named(schema=identifier, allow_missing=boolean, ignore_extra_columns=boolean, hive_partitioning=boolean),
        ),
    ),
    **FUNCTIONS,
    "clone": CLONE,
    "diff": DIFF,
    **MAINTENANCE,
    "migrate": Procedure(_migrate, refused_because=OWN_TRANSACTION),
}
"""The procedures by name. Each can also be called with the prefix `ducklake_`."""
