"""Parse ALTER TABLE and ALTER VIEW."""

from __future__ import annotations

from ..errors import StatementError
from ..format.types import parse_type
from .columns import (
    AFTER_TYPE,
    column_definition,
    default_value,
    partition_keys,
    properties,
    property_name,
    refuse_constraint,
    refuse_position,
    sort_keys,
)
from .definitions import query_after_as
from .tokens import Cursor
from .values import (
    AddColumns,
    Alteration,
    AlterTable,
    ColumnDefinition,
    CreateView,
    DropColumns,
    PartitionKey,
    RenameColumn,
    RenameRelation,
    SetComment,
    SetDefault,
    SetNullable,
    SetPartitioning,
    SetProperties,
    SetSorting,
    SetType,
    Statement,
)

Path = tuple[str, ...]


def alter(cursor: Cursor, kind: str) -> Statement:
    """Parse `[IF EXISTS] name action`, the rest of ALTER TABLE and ALTER VIEW; `kind` is "table" or "view"."""
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.name()
    if cursor.accept("RENAME", "TO"):
        if if_exists:
            raise StatementError("RENAME TO with IF EXISTS is not supported: leave IF EXISTS out")
        statement: Statement = RenameRelation(kind, name, cursor.name())
    elif cursor.at_any(("SET", "UNSET")) and cursor.peek(1).word == "TBLPROPERTIES":
        statement = SetProperties(kind, name, _properties(cursor), if_exists)
    elif kind == "table":
        statement = AlterTable(name, _action(cursor), if_exists)
    elif if_exists:
        raise StatementError("ALTER VIEW … AS with IF EXISTS is not supported: leave IF EXISTS out")
    else:
        statement = CreateView(name, query_after_as(cursor), replace=True, must_exist=True)
    cursor.finish()
    return statement


def _properties(cursor: Cursor) -> tuple[tuple[str, str | None], ...]:
    """Parse SET TBLPROPERTIES ('key' = 'value', …) and UNSET TBLPROPERTIES [IF EXISTS] ('key', …)."""
    unset = cursor.accept_any("SET", "UNSET") == "UNSET"
    cursor.expect("TBLPROPERTIES")
    pairs: tuple[tuple[str, str | None], ...]
    if unset:
        cursor.accept("IF", "EXISTS")
        pairs = tuple((_removed_property(item), None) for item in cursor.group().items())
    else:
        pairs = properties(cursor.group())
    if not pairs:
        raise cursor.error("a property was expected")
    return pairs


def _removed_property(item: Cursor) -> str:
    name = property_name(item)
    item.finish()
    return name


def _action(cursor: Cursor) -> Alteration:
    match cursor.peek().word:
        case "ADD":
            return _add(cursor)
        case "DROP":
            return _drop(cursor)
        case "RENAME":
            cursor.position += 1
            cursor.accept("COLUMN")
            column = cursor.parts()
            cursor.expect("TO")
            return RenameColumn(column, cursor.identifier())
        case "ALTER" | "CHANGE":
            cursor.position += 1
            cursor.accept("COLUMN")
            return _change(cursor, cursor.parts())
        case "SET" | "RESET" as verb if cursor.peek(1).word in ("PARTITIONED", "SORTED"):
            cursor.position += 1
            if cursor.at("PARTITIONED"):
                cursor.expect("PARTITIONED", "BY")
                return SetPartitioning(() if verb == "RESET" else _keys(cursor))
            cursor.expect("SORTED", "BY")
            return SetSorting(() if verb == "RESET" else sort_keys(cursor.group()))
    what = " ".join(cursor.peek(ahead).text for ahead in range(2)).strip()
    if not what:
        raise cursor.error("an action was expected, such as ADD COLUMN")
    raise StatementError(
        f"ALTER TABLE … {what} is not supported; the supported actions are ADD COLUMN, DROP COLUMN, RENAME COLUMN, RENAME TO, "
        "ALTER COLUMN, SET and RESET PARTITIONED BY, SET and RESET SORTED BY, SET and UNSET TBLPROPERTIES"
    )


def _keys(cursor: Cursor) -> tuple[PartitionKey, ...]:
    keys, columns = partition_keys(cursor.group())
    if columns:
        raise StatementError(f"SET PARTITIONED BY: {columns[0].name} has a type; name existing columns only")
    return keys


def _add(cursor: Cursor) -> AddColumns:
    cursor.expect("ADD")
    refuse_constraint(cursor)
    if cursor.at("PARTITION"):
        raise StatementError("ADD PARTITION is not supported: partitions of a lake follow from its rows")
    cursor.accept_any("COLUMNS", "COLUMN")
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    inside = cursor.group() if cursor.at("(") else cursor
    columns = tuple(_added(item) for item in inside.items())
    if not columns:
        raise cursor.error("a column was expected")
    return AddColumns(columns, if_not_exists)


def _added(item: Cursor) -> tuple[Path, ColumnDefinition]:
    item.accept("COLUMN")
    path = item.parts()
    return path[:-1], column_definition(item, path[-1])


def _drop(cursor: Cursor) -> DropColumns:
    cursor.expect("DROP")
    refuse_constraint(cursor)
    if cursor.at("PARTITION"):
        raise StatementError("DROP PARTITION is not supported: write DELETE FROM … WHERE")
    cursor.accept_any("COLUMNS", "COLUMN")
    if_exists = cursor.accept("IF", "EXISTS")
    inside = cursor.group() if cursor.at("(") else cursor
    columns: list[Path] = []
    for item in inside.items():
        if item.accept("DROP"):
            item.accept("COLUMN")
        columns.append(item.parts())
        item.accept_any("CASCADE", "RESTRICT")
        item.finish()
    if not columns:
        raise cursor.error("a column was expected")
    return DropColumns(tuple(columns), if_exists)


def _change(cursor: Cursor, column: Path) -> Alteration:
    """Parse the rest of ALTER COLUMN name."""
    if cursor.accept("SET", "DATA", "TYPE") or cursor.accept("SET", "TYPE") or cursor.accept("TYPE"):
        action: Alteration = SetType(column, parse_type(cursor.upto((*AFTER_TYPE, ",")).text))
    elif cursor.accept("SET", "NOT", "NULL"):
        action = SetNullable(column, False)
    elif cursor.accept("DROP", "NOT", "NULL"):
        action = SetNullable(column, True)
    elif cursor.accept("SET", "DEFAULT"):
        action = SetDefault(column, default_value(cursor.upto((",",))))
    elif cursor.accept("DROP", "DEFAULT"):
        action = SetDefault(column, None)
    elif cursor.accept("COMMENT"):
        action = SetComment(column, None if cursor.accept("NULL") else cursor.string())
    else:
        refuse_position(cursor)
        raise cursor.error("TYPE, COMMENT, SET or DROP NOT NULL, SET or DROP DEFAULT was expected")
    if not cursor.done:
        raise StatementError("ALTER COLUMN does one thing at a time: write one ALTER TABLE for each")
    return action
