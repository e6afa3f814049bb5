"""Running one statement: each of its kinds finds its action here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..spark.rows import column_types, fetch, with_line
from .environment import Environment
from .procedures import run_call
from .result import FilesWritten, Result, ResultColumn
from .run_definitions import (
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
from .run_inspect import run_describe, run_show
from .run_rows import run_delete, run_insert, run_merge, run_truncate, run_update
from .values import (
    AlterTable,
    Call,
    Comment,
    CreateFunction,
    CreateSchema,
    CreateTable,
    CreateView,
    Delete,
    Describe,
    DropFunction,
    DropMacro,
    DropRelation,
    DropSchema,
    Insert,
    Merge,
    PassThrough,
    Query,
    RenameRelation,
    SetProperties,
    Show,
    Sql,
    Statement,
    Truncate,
    Update,
)

_RUNNERS: dict[type, Callable[[Environment, Any], Result]] = {
    CreateSchema: run_create_schema,
    DropSchema: run_drop_schema,
    CreateTable: run_create_table,
    CreateView: run_create_view,
    DropRelation: run_drop_relation,
    CreateFunction: run_create_function,
    DropFunction: run_drop_function,
    DropMacro: run_drop_macro,
    RenameRelation: run_rename,
    AlterTable: run_alter,
    SetProperties: run_set_properties,
    Comment: run_comment,
    Insert: run_insert,
    Update: run_update,
    Delete: run_delete,
    Truncate: run_truncate,
    Merge: run_merge,
    Show: run_show,
    Describe: run_describe,
    Call: run_call,
}


def run(env: Environment, statement: Statement) -> Result:
    """Run a statement in its surroundings: stage its changes, or give the rows of its query, which Spark has analysed but not run.

    BEGIN, COMMIT, ROLLBACK and USE are the session's.
    """
    before = env.transaction.written_files()
    match statement:
        case Query(query) | PassThrough(query):
            result = _rows(env, query)
        case _:
            result = _RUNNERS[type(statement)](env, statement)
    sizes = [size for path, size in env.transaction.written_files().items() if path not in before]
    return replace(result, files=tuple(env.reads), written=FilesWritten(len(sizes), sum(sizes)))


def _rows(env: Environment, query: Sql) -> Result:
    frame = env.query(query)
    if env.reads and query.text.split(None, 1)[0].upper() == "EXPLAIN" and frame.columns == ["plan"]:
        lines = "\n".join(["== Files ==", *map(str, env.reads)])
        frame = with_line(frame, lines)
    columns = tuple(ResultColumn(*column) for column in column_types(frame))
    return Result("OK", columns=columns, frame=frame, fetcher=fetch)
