"""Parse one statement: its first words determine which function parses the rest."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..errors import StatementError
from .alterations import alter
from .definitions import (
    SCHEMA,
    comment_on,
    create_function,
    create_schema,
    create_table,
    create_temporary_view,
    create_view,
    drop,
)
from .foreign import foreign
from .inspection import call, checkpoint, describe, show, transaction, use
from .merge import merge
from .references import references
from .rows import delete, insert, truncate, update
from .scripts import is_script, is_transaction_control
from .tokens import QUERY_STARTS, SKIPPED, Cursor, Source
from .values import PassThrough, Query, Sql, Statement
from .with_clause import with_clause

_VERBATIM = re.compile(rf"{SKIPPED}(?:SET(?!\s+VAR(?:IABLE)?\b)|RESET|ADD|LIST)\b", re.IGNORECASE)
"""Statements whose words are not SQL: configuration values and paths."""

_PARSERS: dict[str, Callable[[Cursor], Statement]] = {
    "SHOW": show,
    "DESCRIBE": describe,
    "DESC": describe,
    "USE": use,
    "CALL": call,
    "TRUNCATE": truncate,
    "CHECKPOINT": checkpoint,
}
_UNSUPPORTED = {
    "MATERIALIZED": "materialized views are not supported: create a table, or an incremental model",
    "MACRO": "macros are not supported, because DuckDB cannot open a lake with a macro that it fails to parse. Run CREATE MACRO in DuckDB; "
    "views that use the macro can be queried here",
    "STREAMING": "streaming tables are not supported: create a table",
}
"""The word after CREATE → the text of the error."""
_NOT_THERE = {
    "MATERIALIZED": "a lake has no materialized views: write DROP TABLE or DROP VIEW",
    "STREAMING": "a lake has no streaming tables: write DROP TABLE",
}
"""The word after DROP → the text of the error."""


def parse(text: str) -> Statement:  # noqa: C901 (a flat dispatch on the first word)
    """Parse one statement.

    Args:
        text: Spark's SQL with DuckLake's additions; comments before it and semicolons after it are allowed.

    Raises:
        StatementError: a statement that we run has a syntax error ("Syntax error in line …") or asks for something that
            a lake cannot do. Statements that Spark checks become a `Query` or `PassThrough`.
    """
    if _VERBATIM.match(text):
        return PassThrough(Sql(text.rstrip().rstrip(";")))
    source = _one_statement(text)
    cursor = Cursor(source)
    unsupported = foreign(cursor)
    if unsupported is not None:
        return unsupported
    ctes = with_clause(cursor)
    match cursor.peek().word:
        case "INSERT" if cursor.peek(2).word not in ("DIRECTORY", "LOCAL"):
            return insert(cursor, ctes)
        case "UPDATE":
            return update(cursor, ctes)
        case "DELETE":
            return delete(cursor, ctes)
        case "MERGE":
            return merge(cursor, ctes)
        case "CREATE" | "REPLACE":
            return _create(cursor)
        case "DROP":
            return _drop(cursor)
        case "ALTER":
            return _alter(cursor)
        case "COMMENT":
            cursor.expect("COMMENT", "ON")
            return comment_on(cursor)
        case word if word in _PARSERS:
            return _PARSERS[word](cursor)
        case _ if is_transaction_control(source.tokens):
            return transaction(cursor)
        case word if word in QUERY_STARTS or word in ("(", "EXPLAIN"):
            _refuse_insert_after_from(source)
            return Query(references(source))
        case _:
            return PassThrough(references(source))


def _one_statement(text: str) -> Source:
    """Return the statement without the semicolons and comments at its end.

    Raises:
        StatementError: the text is empty, or has more than one statement and is not a SQL script.
    """
    source = Source(text)
    count = len(source.tokens)
    while count and source.tokens[count - 1].word == ";":
        count -= 1
    if count == 0:
        raise StatementError("the statement is empty: write SQL")
    if source.tokens[count - 1].end < len(text):
        source = Source(text[: source.tokens[count - 1].end], source.tokens[:count])
    if not is_script(source.tokens):
        second = next((token for token in source.tokens if token.word == ";"), None)
        if second is not None:
            raise StatementError("the text has more than one statement: run each separately, without semicolons between them")
    return source


def _create(cursor: Cursor) -> Statement:
    replace = cursor.accept_any("CREATE", "REPLACE") == "REPLACE"
    replace = cursor.accept("OR", "REPLACE") or replace
    if cursor.at("EXTERNAL", "TABLE"):
        raise StatementError(
            "CREATE EXTERNAL TABLE is not supported: the lake's data_path determines where its files are. Write CREATE TABLE; "
            "CALL ducklake_add_data_files makes existing Parquet files part of it"
        )
    word = cursor.peek().word
    reason = _UNSUPPORTED.get(word)
    if reason is not None:
        raise StatementError(reason)
    if cursor.accept("TABLE"):
        return create_table(cursor, replace=replace)
    if cursor.accept("VIEW"):
        return create_view(cursor, replace=replace)
    if cursor.accept_any(*SCHEMA):
        return create_schema(cursor)
    created: Statement | None = None
    if cursor.accept_any("TEMP", "TEMPORARY") is not None:
        created = create_temporary_view(cursor, replace=replace) if cursor.accept("VIEW") else None
    elif cursor.accept("FUNCTION"):
        created = create_function(cursor, replace=replace)
    return created or PassThrough(references(cursor.source))


def _drop(cursor: Cursor) -> Statement:
    cursor.expect("DROP")
    reason = _NOT_THERE.get(cursor.peek().word)
    if reason is not None:
        raise StatementError(reason)
    if cursor.at_any((*SCHEMA, "TABLE", "VIEW", "MACRO", "FUNCTION")):
        return drop(cursor)
    return PassThrough(references(cursor.source))


def _alter(cursor: Cursor) -> Statement:
    cursor.expect("ALTER")
    if cursor.accept("TABLE"):
        return alter(cursor, "table")
    if cursor.accept("VIEW"):
        return alter(cursor, "view")
    if cursor.at_any(SCHEMA):
        raise StatementError("ALTER SCHEMA is not supported: use COMMENT ON SCHEMA … IS for a comment")
    return PassThrough(references(cursor.source))


def _refuse_insert_after_from(source: Source) -> None:
    """Refuse FROM t INSERT INTO …, Hive's multi-table insert."""
    cursor = Cursor(source)
    if cursor.at("FROM"):
        cursor.upto(("INSERT",))
        if not cursor.done and cursor.peek(1).word in ("INTO", "OVERWRITE"):
            raise StatementError("FROM … INSERT is not supported: write INSERT INTO … SELECT … FROM … for each table")
