"""Parse SHOW, DESCRIBE, USE, CALL and the statements of transactions."""

from __future__ import annotations

import re
from datetime import datetime, timezone

from ..errors import StatementError
from ..format.intervals import before
from ..format.timestamps import python_datetime
from .columns import property_name
from .definitions import SCHEMA
from .references import references
from .timetravel import time_travel
from .tokens import Cursor, Kind
from .values import (
    Argument,
    Begin,
    Call,
    Checkpoint,
    Commit,
    Describe,
    DescribeDetail,
    DescribeHistory,
    Name,
    Query,
    Rollback,
    Show,
    ShowCreate,
    ShowProperties,
    Sql,
    Statement,
    Use,
)

_LISTS = {
    **dict.fromkeys(("SCHEMAS", "DATABASES", "NAMESPACES"), "schemas"),
    **{word: word.lower() for word in ("TABLES", "VIEWS", "COLUMNS")},
}
"""What SHOW lists."""
_CONSTANTS = {"TRUE": True, "FALSE": False, "NULL": None}
_SPARK_OBJECTS = (*SCHEMA, "FUNCTION", "PROCEDURE", "CATALOG")
_TIMES = ("TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TIMESTAMPTZ", "DATE")


def show(cursor: Cursor) -> Statement:
    """Parse SHOW SCHEMAS | DATABASES | TABLES | TABLE EXTENDED | VIEWS | COLUMNS | TBLPROPERTIES | CREATE TABLE | CURRENT SCHEMA.

    Any other SHOW is a query for Spark.
    """
    cursor.expect("SHOW")
    if cursor.accept("CREATE", "TABLE"):
        statement: Statement = ShowCreate(cursor.name())
    elif cursor.at("CURRENT") and cursor.peek(1).word in SCHEMA:
        cursor.position += 2
        statement = Show("current namespace")
    elif cursor.accept("TBLPROPERTIES"):
        statement = _show_properties(cursor)
    elif cursor.accept("TABLE", "EXTENDED"):
        statement = _show_list(cursor, "table extended")
    elif (word := cursor.accept_any(*_LISTS)) is not None:
        statement = _show_list(cursor, _LISTS[word])
    else:
        return Query(Sql(cursor.source.text))
    cursor.finish()
    return statement


def _show_list(cursor: Cursor, what: str) -> Show:
    """Parse the rest of SHOW of names, `[FROM | IN name] [LIKE 'pattern']`."""
    name = None
    if cursor.accept_any("FROM", "IN"):
        name = cursor.name()
        if what == "columns" and cursor.accept_any("FROM", "IN"):
            schema = cursor.name()
            name = Name((*schema.parts, name.parts[-1]))
    like = None
    if cursor.accept("LIKE") or cursor.peek().kind is Kind.STRING:
        like = cursor.string()
    cursor.finish()
    if what == "table extended" and like is None:
        raise cursor.error("SHOW TABLE EXTENDED needs LIKE and a pattern such as '*'")
    if what == "columns" and name is None:
        raise cursor.error("SHOW COLUMNS needs IN and the name of a table")
    return Show(what, name, like)


def _show_properties(cursor: Cursor) -> ShowProperties:
    """Parse the rest of SHOW TBLPROPERTIES, `name [(key)]`."""
    name, key = cursor.name(), None
    if not cursor.done:
        inside = cursor.group()
        key = property_name(inside)
        inside.finish()
    return ShowProperties(name, key)


def describe(cursor: Cursor) -> Statement:
    """Parse DESCRIBE [TABLE] [EXTENDED | FORMATTED] name, DESCRIBE HISTORY and DESCRIBE DETAIL.

    DESCRIBE of a query, function or schema is a query for Spark.
    """
    source = cursor.source
    cursor.position += 1
    table = Cursor(source, cursor.position + 1)
    if cursor.at_any(("HISTORY", "DETAIL")) and table.peek().is_identifier and time_travel(table) is None:
        return _describe_table(cursor)
    if cursor.accept("QUERY") or (cursor.at_query() and not cursor.at("TABLE")):
        return Query(references(source))
    if cursor.at_any(_SPARK_OBJECTS) and cursor.peek(1).is_identifier:
        return Query(Sql(source.text))
    if cursor.peek(1).is_identifier:
        cursor.accept("TABLE")
    extended = cursor.peek(1).is_identifier and cursor.accept_any("EXTENDED", "FORMATTED") is not None
    name = cursor.name()
    at = time_travel(cursor)
    if not cursor.done:
        raise StatementError("DESCRIBE of one column or partition is not supported: describe the table")
    return Describe(name, extended, at)


def _describe_table(cursor: Cursor) -> DescribeHistory | DescribeDetail:
    """Parse HISTORY name [LIMIT n] or DETAIL name."""
    word = cursor.accept_any("HISTORY", "DETAIL")
    name = cursor.name()
    limit = _limit(cursor) if word == "HISTORY" and cursor.accept("LIMIT") else None
    cursor.finish()
    return DescribeDetail(name) if word == "DETAIL" else DescribeHistory(name, limit)


def _limit(cursor: Cursor) -> int:
    limit = _argument(cursor)
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise StatementError("the LIMIT of DESCRIBE HISTORY must be a whole number: how many of the newest snapshots to list")
    return limit


def use(cursor: Cursor) -> Use:
    """Parse USE [SCHEMA | DATABASE | CATALOG] name."""
    cursor.expect("USE")
    if cursor.peek(1).is_identifier:
        cursor.accept_any(*SCHEMA, "CATALOG")
    name = cursor.name()
    cursor.finish()
    return Use(name)


def checkpoint(cursor: Cursor) -> Checkpoint:
    """Parse CHECKPOINT [name]."""
    cursor.expect("CHECKPOINT")
    name = None if cursor.done else cursor.name()
    cursor.finish()
    return Checkpoint(name)


def transaction(cursor: Cursor) -> Statement:
    """Parse BEGIN, START TRANSACTION, COMMIT and ROLLBACK, optionally with TRANSACTION or WORK."""
    word = cursor.accept_any("BEGIN", "START", "COMMIT", "ROLLBACK", "ABORT")
    cursor.accept_any("TRANSACTION", "WORK")
    cursor.finish()
    match word:
        case "BEGIN" | "START":
            return Begin()
        case "COMMIT":
            return Commit()
        case _:
            return Rollback()


def call(cursor: Cursor) -> Call:
    """Parse CALL name(argument, name => argument, …) with constants; `=` and `:=` are the same as `=>`, as in DuckDB."""
    cursor.expect("CALL")
    name = cursor.name()
    arguments = call_arguments(cursor.group())
    cursor.finish()
    return Call(name, arguments)


def call_arguments(cursor: Cursor) -> tuple[Argument, ...]:
    """Parse the arguments of a call, without the parentheses."""
    arguments = []
    for item in cursor.items():
        keyword = None
        if item.peek().is_identifier and (item.peek(1).word in ("=>", "=") or (item.peek(1).word == ":" and item.peek(2).word == "=")):
            keyword = item.identifier()
            item.position += 1 + (item.peek().word == ":")
        arguments.append(Argument(keyword, _argument(item)))
        item.finish()
    return tuple(arguments)


def _argument(cursor: Cursor) -> str | int | float | bool | datetime | list[object] | None:
    """Parse a string, number, boolean, NULL, timestamp, interval (returned as its text), or list of these.

    Raises:
        StatementError: the value is an expression, not a constant.
    """
    token = cursor.peek()
    sign = -1 if cursor.accept("-") else 1
    if cursor.peek().kind is Kind.NUMBER:
        text = cursor.peek().text
        cursor.position += 1
        digits = re.sub(r"[BDLSYF]+$", "", text, flags=re.IGNORECASE)
        return sign * (int(digits) if digits.isdecimal() else float(digits))
    if token.kind is Kind.STRING:
        return cursor.string()
    if token.word in _CONSTANTS:
        cursor.position += 1
        return _CONSTANTS[token.word]
    if token.word in _TIMES and cursor.peek(1).kind is Kind.STRING:
        cursor.position += 1
        return _timestamp(cursor)
    if token.word == "INTERVAL":
        cursor.position += 1
        return _interval(cursor)
    if token.word in ("NOW", "CURRENT_TIMESTAMP"):
        return _now(cursor)
    if cursor.at("ARRAY", "(") or cursor.at("["):
        cursor.accept("ARRAY")
        return [_argument(item) for item in cursor.group(cursor.peek().word).items()]
    raise cursor.error("a constant was expected: a string, number, boolean, NULL, TIMESTAMP '…', INTERVAL '…' or a list of these")


def _interval(cursor: Cursor) -> str:
    """Return the text of INTERVAL '1 week', INTERVAL 1 WEEK or INTERVAL '1' WEEK."""
    amount = cursor.string() if cursor.peek().kind is Kind.STRING else str(_argument(cursor))
    return amount if cursor.done else f"{amount} {cursor.identifier().lower()}"


def _now(cursor: Cursor) -> datetime:
    """Evaluate `now()` or `current_timestamp`, minus the intervals that follow."""
    cursor.position += 1
    if cursor.accept("("):
        cursor.expect(")")
    timestamp = datetime.now(timezone.utc)
    while cursor.accept("-"):
        cursor.expect("INTERVAL")
        try:
            timestamp = before(timestamp, _interval(cursor))
        except ValueError as error:
            raise StatementError(str(error)) from None
    return timestamp


def _timestamp(cursor: Cursor) -> datetime:
    start = cursor.position
    try:
        return python_datetime(cursor.string())
    except ValueError:
        cursor.position = start
        raise cursor.error("this is not a timestamp; write it like 2026-01-31 12:00:00+00:00") from None
