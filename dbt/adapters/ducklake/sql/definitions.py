"""Parse CREATE, DROP and COMMENT ON for schemas, tables, views and functions."""

from __future__ import annotations

from ..errors import DuckLakeError, StatementError
from ..format.constraints import Constraint
from .columns import column_definitions, partition_keys, properties, sort_keys
from .references import piece
from .tokens import Cursor
from .values import (
    AlterTable,
    ColumnDefinition,
    Comment,
    CreateFunction,
    CreateSchema,
    CreateTable,
    CreateTemporaryView,
    CreateView,
    DropFunction,
    DropMacro,
    DropRelation,
    DropSchema,
    Name,
    PartitionKey,
    SetComment,
    SortKey,
    Sql,
    Statement,
)

SCHEMA = ("SCHEMA", "DATABASE", "NAMESPACE")
_AFTER_COLUMNS = ("AS", "USING", "STORED", "COMMENT", "PARTITIONED", "SORTED", "CLUSTERED", "LOCATION", "TBLPROPERTIES", "OPTIONS")
"""Words that may follow the columns of CREATE TABLE, but not a query in parentheses."""
_CLONE = "CLONE is not supported: write CALL lake.clone(table_name => …, schema => …, into => …), or CREATE TABLE … AS SELECT * FROM …"
_REFUSED = {
    "LOCATION": "LOCATION is not supported: the lake's data_path determines where its files are",
    "CLUSTERED": "CLUSTERED BY is not supported: use PARTITIONED BY (bucket(n, column))",
    "CLUSTER": "CLUSTER BY is not supported in CREATE TABLE: use PARTITIONED BY",
    "SKEWED": "SKEWED BY is not supported: leave it out",
    "ROW": "ROW FORMAT is not supported: tables of a lake are Parquet; leave it out",
    "DEFAULT": "DEFAULT COLLATION is not supported: leave it out",
    "LIKE": "CREATE TABLE … LIKE is not supported: write CREATE TABLE … AS SELECT * FROM … LIMIT 0",
    "SHALLOW": _CLONE,
    "DEEP": _CLONE,
    "CLONE": _CLONE,
}


def create_schema(cursor: Cursor) -> CreateSchema:
    """Parse `[IF NOT EXISTS] name [COMMENT 'text']`, the rest of CREATE SCHEMA."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.name()
    comment = None
    while not cursor.done:
        if cursor.accept("COMMENT"):
            comment = cursor.string()
        elif cursor.at_any(("LOCATION", "MANAGED")):
            raise StatementError("CREATE SCHEMA … LOCATION is not supported: the lake's data_path determines where its files are")
        elif cursor.at("WITH"):
            raise StatementError("CREATE SCHEMA … WITH PROPERTIES is not supported: leave it out")
        else:
            raise cursor.error("this cannot follow CREATE SCHEMA name")
    return CreateSchema(name, if_not_exists, comment)


def create_table(cursor: Cursor, *, replace: bool) -> CreateTable:
    """Parse `[IF NOT EXISTS] name [(columns)] clauses [[AS] query]`, the rest of CREATE TABLE."""
    if_not_exists = _if_not_exists(cursor, "TABLE", replace)
    name = cursor.name()
    columns: tuple[ColumnDefinition, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    if cursor.at("(") and _is_column_list(cursor):
        columns, constraints = column_definitions(cursor.group())
    comment: str | None = None
    keys: tuple[PartitionKey, ...] | None = None
    options: tuple[tuple[str, str], ...] = ()
    sorting: tuple[SortKey, ...] | None = None
    while not cursor.done and not (cursor.at("AS") or cursor.at_query()):
        if cursor.accept("USING"):
            _check_format("USING", cursor.identifier())
        elif cursor.accept("STORED", "AS"):
            _check_format("STORED AS", cursor.identifier())
        elif cursor.accept("COMMENT"):
            comment = cursor.string()
        elif cursor.accept_any("TBLPROPERTIES", "OPTIONS"):
            options += properties(cursor.group())
        elif cursor.accept("PARTITIONED", "BY"):
            keys, more = partition_keys(cursor.group())
            columns += more
        elif cursor.accept("SORTED", "BY"):
            sorting = sort_keys(cursor.group())
        else:
            reason = _REFUSED.get(cursor.peek().word)
            raise StatementError(reason) if reason is not None else cursor.error("this cannot follow CREATE TABLE name")
    query = query_after_as(cursor) if not cursor.done else None
    if query is None and not columns:
        raise cursor.error(f"table {name} needs columns, or AS and a query")
    return CreateTable(name, columns, query, replace, if_not_exists, comment, keys, options, sorting, constraints)


def _if_not_exists(cursor: Cursor, what: str, replace: bool) -> bool:
    """Parse `[IF NOT EXISTS]`."""
    found = cursor.accept("IF", "NOT", "EXISTS")
    if replace and found:
        raise StatementError(f"CREATE OR REPLACE {what} and IF NOT EXISTS cannot be used together: leave one out")
    return found


def _is_column_list(cursor: Cursor) -> bool:
    """Whether the parentheses that come next contain columns and not a query. Both can begin with a word such as `map`."""
    if not cursor.at_query():
        return True
    ahead = cursor.copy()
    group = ahead.group()
    if group.at_any(("(", "SELECT")) or not (ahead.done or ahead.at_any(_AFTER_COLUMNS)):
        return False
    try:
        column_definitions(group)
    except DuckLakeError:
        return False
    return True


def query_after_as(cursor: Cursor) -> Sql:
    """Parse `[AS] query`, to the end."""
    cursor.accept("AS")
    if not cursor.at_query():
        raise cursor.error("a query was expected")
    return piece(cursor)


def _check_format(clause: str, name: str) -> None:
    if name.lower() not in ("parquet", "ducklake"):
        raise StatementError(f"{clause} {name} is not supported: tables of a lake are Parquet; leave {clause} out")


def create_view(cursor: Cursor, *, replace: bool) -> CreateView:
    """Parse `[IF NOT EXISTS] name [(column [COMMENT 'text'], …)] [COMMENT 'text'] AS query`, the rest of CREATE VIEW."""
    if_not_exists = _if_not_exists(cursor, "VIEW", replace)
    name = cursor.name()
    columns = _view_columns(cursor)
    comment = None
    while not cursor.at("AS"):
        if cursor.accept("COMMENT"):
            comment = cursor.string()
        elif cursor.accept("WITH", "SCHEMA", "COMPENSATION") or cursor.accept("WITH", "SCHEMA", "EVOLUTION"):
            pass
        elif cursor.at("TBLPROPERTIES"):
            raise StatementError("CREATE VIEW … TBLPROPERTIES is not supported: leave it out; COMMENT is kept")
        elif cursor.at("WITH"):
            raise StatementError("CREATE VIEW … WITH is not supported: leave it out; a view's columns follow its query")
        else:
            raise cursor.error("AS and a query were expected")
    return CreateView(name, query_after_as(cursor), columns, replace, if_not_exists, comment)


def create_temporary_view(cursor: Cursor, *, replace: bool) -> CreateTemporaryView | None:
    """Parse `[IF NOT EXISTS] name [(column [COMMENT 'text'], …)] [COMMENT 'text'] [TBLPROPERTIES (…)] AS query` after VIEW.

    Returns:
        None for a view on a data source (`USING …`), which Spark creates.
    """
    if_not_exists = _if_not_exists(cursor, "TEMPORARY VIEW", replace)
    name = cursor.name()
    if len(name.parts) > 1:
        raise StatementError(f"the temporary view {name} must have a name of one part, since it belongs to no schema")
    columns = _view_columns(cursor)
    while not cursor.at("AS"):
        if cursor.at("USING"):
            return None
        if cursor.accept("COMMENT"):
            cursor.string()
        elif cursor.accept("TBLPROPERTIES"):
            cursor.group()
        else:
            raise cursor.error("AS and a query were expected")
    return CreateTemporaryView(name, query_after_as(cursor), tuple(column for column, _ in columns), replace, if_not_exists)


def _view_columns(cursor: Cursor) -> tuple[tuple[str, str | None], ...]:
    """Parse `(column [COMMENT 'text'], …)`, or nothing."""
    columns: list[tuple[str, str | None]] = []
    if cursor.at("("):
        for item in cursor.group().items():
            column = item.identifier()
            columns.append((column, item.string() if item.accept("COMMENT") else None))
            item.finish()
    return tuple(columns)


def create_function(cursor: Cursor, *, replace: bool) -> CreateFunction | None:
    """Parse `[IF NOT EXISTS] name (parameter type [DEFAULT expression], …) RETURNS type … RETURN body` after FUNCTION.

    Returns:
        None for a function that a Java class implements (`name AS 'class'`), which Spark creates.
    """
    if_not_exists = _if_not_exists(cursor, "FUNCTION", replace)
    name = cursor.name()
    if not cursor.at("("):
        return None
    after = cursor.copy()
    after.skip()
    if after.at("RETURNS", "TABLE"):
        raise StatementError(f"function {name} RETURNS TABLE, which is not supported: create a view")
    return CreateFunction(name, piece(cursor), replace, if_not_exists)


def drop(cursor: Cursor) -> Statement:
    """Parse `SCHEMA | TABLE | VIEW | FUNCTION | MACRO [TABLE] [IF EXISTS] name [CASCADE | RESTRICT | PURGE]`, the rest of DROP."""
    what = cursor.accept_any(*SCHEMA, "TABLE", "VIEW", "FUNCTION", "MACRO")
    assert what is not None
    is_table_macro = what == "MACRO" and cursor.accept("TABLE")
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.name()
    cascade = cursor.accept_any("CASCADE", "RESTRICT", "PURGE") == "CASCADE"
    cursor.finish()
    if what in SCHEMA:
        return DropSchema(name, if_exists, cascade)
    if what == "FUNCTION":
        return DropFunction(name, if_exists)
    if what == "MACRO":
        return DropMacro(name, is_table_macro, if_exists)
    return DropRelation(what.lower(), name, if_exists)


def comment_on(cursor: Cursor) -> Statement:
    """Parse `SCHEMA | TABLE | VIEW | COLUMN name IS 'text' | NULL`, the rest of COMMENT ON."""
    what = cursor.accept_any(*SCHEMA, "TABLE", "VIEW", "COLUMN")
    if what is None:
        raise cursor.error("SCHEMA, TABLE, VIEW or COLUMN was expected")
    parts = cursor.parts() if what == "COLUMN" else cursor.name().parts
    cursor.expect("IS")
    comment = None if cursor.accept("NULL") else cursor.string()
    cursor.finish()
    if what == "COLUMN":
        if not 2 <= len(parts) <= 4:
            raise StatementError("COMMENT ON COLUMN needs the table and the column: schema.table.column")
        return AlterTable(Name(parts[:-1]), SetComment(parts[-1:], comment))
    return Comment("schema" if what in SCHEMA else what.lower(), Name(parts), comment)
