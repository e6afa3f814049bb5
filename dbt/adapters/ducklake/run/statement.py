"""Run one statement with the action for its kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import StatementError
from ..spark.errors import require_plan
from ..spark.rows.fetch import with_line
from ..spark.session.node_settings import require_protected, restore_protected
from ..spark.session.settings import require_allowed_setting
from ..sql import values as v
from ..sql.settings_text import changed_setting
from ..sql.tokens import Cursor, Source
from .call import run_call
from .definitions import (
    run_alter,
    run_comment,
    run_create_function,
    run_create_schema,
    run_create_table,
    run_create_view,
    run_drop_function,
    run_drop_macro,
    run_drop_relation,
    run_drop_schema,
    run_rename,
    run_set_properties,
)
from .environment import Environment
from .inspect import run_describe, run_describe_detail, run_describe_history, run_show, run_show_properties
from .merge import run_merge
from .result import FilesWritten, Result, queried
from .rows import run_delete, run_insert, run_truncate, run_update
from .show_create import run_show_create
from .temporary_views import run_create_temporary_view

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_RUNNERS: dict[type, Callable[[Environment, Any], Result]] = {
    v.CreateSchema: run_create_schema,
    v.DropSchema: run_drop_schema,
    v.CreateTable: run_create_table,
    v.CreateView: run_create_view,
    v.CreateTemporaryView: run_create_temporary_view,
    v.DropRelation: run_drop_relation,
    v.CreateFunction: run_create_function,
    v.DropFunction: run_drop_function,
    v.DropMacro: run_drop_macro,
    v.RenameRelation: run_rename,
    v.AlterTable: run_alter,
    v.SetProperties: run_set_properties,
    v.Comment: run_comment,
    v.Insert: run_insert,
    v.Update: run_update,
    v.Delete: run_delete,
    v.Truncate: run_truncate,
    v.Merge: run_merge,
    v.Show: run_show,
    v.ShowCreate: run_show_create,
    v.ShowProperties: run_show_properties,
    v.Describe: run_describe,
    v.DescribeHistory: run_describe_history,
    v.DescribeDetail: run_describe_detail,
    v.Call: run_call,
}


def run(env: Environment, statement: v.Statement) -> Result:
    """Run a statement: stage its changes, or return the rows of its query, which is analyzed but not run yet.

    The session runs BEGIN, COMMIT, ROLLBACK and USE itself.

    Raises:
        StatementError: the statement cannot run on a table of a lake.
    """
    before = env.lakes.written_files()
    match statement:
        case v.Query(query):
            result = _rows(env, env.query(query), query)
        case v.PassThrough(query):
            result = _passed_through(env, query)
        case v.Foreign(name, instead, query):
            if env.names.find(name) is not None:
                raise StatementError(instead)
            result = _passed_through(env, query)
        case _:
            result = _RUNNERS[type(statement)](env, statement)
    sizes = [size for path, size in env.lakes.written_files().items() if path not in before]
    return replace(result, files=tuple(env.reads), written=FilesWritten(len(sizes), sum(sizes)))


def _rows(env: Environment, frame: DataFrame, query: v.Sql) -> Result:
    """Return the result of a query. For EXPLAIN, the files that the query reads are added to the plan.

    Args:
        env: the environment of the statement.
        frame: the query as a DataFrame.
        query: the text of the query.

    Raises:
        StatementError: EXPLAIN shows an error instead of a plan.
    """
    if Cursor(Source(query.text)).at("EXPLAIN") and frame.columns == ["plan"]:
        require_plan([row[0] for row in frame.collect()], env.state.registry.user_names)
        if env.reads:
            frame = with_line(frame, "\n".join(["== Files ==", *map(str, env.reads)]))
    return queried(frame)


def _passed_through(env: Environment, query: v.Sql) -> Result:
    """Let Spark run a statement. It may change any setting of the Spark session, and store the names of relations that it reads."""
    change = changed_setting(query.text)
    if change is not None and change.key is not None:
        require_allowed_setting(change.key, change.value)
    env.state.setting_changes += 1
    env.state.settings_of_transaction = True
    words = query.text.upper().split(None, 6)
    stores_names = words[:1] == ["CREATE"] and ("FUNCTION" in words or "GLOBAL" in words)
    if stores_names and env.resolve(query, only_columns=True).reads_lake:
        raise StatementError(
            "a temporary function or global temporary view cannot read tables of a lake, because it would always show their current rows: "
            "use CREATE FUNCTION schema.name or CREATE VIEW schema.name, which store it in the lake"
        )
    result = _rows(env, env.query(query), query)
    env.state.registry.keep()
    env.state.drop_views(env.names.in_spark)  # a view of Spark now hides those with its name
    if change is not None and change.key is None:
        restore_protected(env.spark)
    require_protected(env.spark)  # the text of EXECUTE IMMEDIATE, or with variables, does not show which settings it changes
    return result
