"""Parse columns, constraints, defaults, partition keys, sort keys and properties of CREATE TABLE and ALTER TABLE."""

from __future__ import annotations

from ..errors import StatementError
from ..format.constraints import CHECK, FOREIGN_KEY, PRIMARY_KEY, UNIQUE, Constraint
from ..format.objects import Default
from ..format.types import parse_type
from .tokens import Cursor, Kind, Source, syntax_error, words
from .values import ColumnDefinition, PartitionKey, SortKey

AFTER_TYPE = words(
    "NOT NULL DEFAULT COMMENT GENERATED PRIMARY UNIQUE CHECK REFERENCES CONSTRAINT FOREIGN FIRST AFTER COLLATE MASK",
    "AUTO_INCREMENT",
)
_CONSTRAINT_STARTS = ("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "REFERENCES")
_AFTER_CONSTRAINT = (("NOT", "ENFORCED"), ("ENFORCED",), ("NORELY",), ("RELY",), ("NOT", "DEFERRABLE"), ("INITIALLY", "DEFERRED"))
_REFUSED = {
    "GENERATED": ("generated or identity column", "compute the value in the query that fills the table"),
    "AUTO_INCREMENT": ("AUTO_INCREMENT", "compute the value in the query that fills the table"),
    "COLLATE": ("collation", "compare with collate() in queries"),
    "MASK": ("column mask", "mask the column in a view"),
}
_TRANSFORMS = {
    **dict.fromkeys(("year", "years"), "year"),
    **dict.fromkeys(("month", "months"), "month"),
    **dict.fromkeys(("day", "days"), "day"),
    **dict.fromkeys(("hour", "hours"), "hour"),
    "identity": "identity",
}
_DATED = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "TIME"})


def refuse_constraint(cursor: Cursor) -> None:
    """Raise StatementError if a constraint comes next: only CREATE TABLE can set constraints."""
    if cursor.at_any(_CONSTRAINT_STARTS):
        raise StatementError(
            f"{cursor.peek().text.upper()} is not supported here: CREATE [OR REPLACE] TABLE sets the constraints of a table, "
            "and ALTER COLUMN … SET NOT NULL sets NOT NULL"
        )
    refused = _REFUSED.get(cursor.peek().word)
    if refused is not None:
        raise StatementError(f"DuckLake has no {refused[0]}: leave it out and {refused[1]}")


def column_definitions(group: Cursor) -> tuple[tuple[ColumnDefinition, ...], tuple[Constraint, ...]]:
    """Parse `name type [NOT NULL] [DEFAULT …] [COMMENT '…'] [constraint …], constraint, …`, the list of CREATE TABLE."""
    columns = []
    constraints: list[Constraint] = []
    for item in group.items():
        if _starts_table_constraint(item):
            constraints.append(_constraint(item))
            item.finish()
        else:
            columns.append(column_definition(item, constraints=constraints))
    if not columns:
        raise group.error("a column was expected")
    return tuple(columns), tuple(constraints)


def column_definition(item: Cursor, name: str | None = None, constraints: list[Constraint] | None = None) -> ColumnDefinition:
    """Parse one column.

    Args:
        item: the text of the column.
        name: the column's name, if it has already been read from `item`.
        constraints: a list to which the column's constraints are appended. Without it, constraints are refused.
    """
    start = item.peek()
    if name is None:
        name = item.identifier()
        item.accept(":")
    type_text = item.upto(AFTER_TYPE).text
    if not type_text:
        raise syntax_error(item.source.text, start.start, f"the type of column {name} is missing")
    data_type = parse_type(type_text)
    nullable, default, comment = True, None, None
    while not item.done:
        if item.accept("NOT", "NULL"):
            nullable = False
        elif item.accept("NULL"):
            nullable = True
        elif item.accept("COMMENT"):
            comment = item.string()
        elif item.accept("DEFAULT"):
            default = default_value(_default_text(item))
        elif constraints is not None and item.at_any(_CONSTRAINT_STARTS):
            constraints.append(_constraint(item, name))
        else:
            refuse_constraint(item)
            refuse_position(item)
            raise item.error(f"this cannot follow the type of column {name}")
    return ColumnDefinition(name, data_type, nullable, default, comment)


def refuse_position(item: Cursor) -> None:
    """Raise StatementError for FIRST and AFTER."""
    if item.at_any(("FIRST", "AFTER")):
        raise StatementError("DuckLake adds columns at the end of a table: leave FIRST and AFTER out")


def _default_text(item: Cursor) -> Cursor:
    if item.at("NULL"):
        item.position += 1
        return Cursor(item.source, item.position - 1, item.position)
    return item.upto(AFTER_TYPE)


def default_value(value: Cursor) -> Default | None:
    """Return a default: the plain text of a string, or an expression in Spark's SQL; None for NULL.

    Specification: `default_value`, `default_value_type`, `default_value_dialect` of `ducklake_column`.
    """
    text = value.text
    if not text:
        raise value.error("a value was expected after DEFAULT")
    first = value.peek()
    size = value.stop - value.position
    if size == 1 and first.word == "NULL":
        return None
    if first.kind is Kind.STRING and all(value.peek(ahead).kind is Kind.STRING for ahead in range(size)):
        return Default(value.string())
    return Default(text, "expression", "spark")


def unquoted_literal(text: str) -> str | None:
    """Return the plain text of a number, such as 1.5 for `1.5BD`, or of `DATE '…'` or `TIMESTAMP '…'`; None for any other expression."""
    value = Cursor(Source(text))
    first, size = value.peek(), value.stop
    sign = "-" if first.word == "-" else ""
    number = value.peek(1) if first.word in ("-", "+") else first
    if number.kind is Kind.NUMBER and size == 1 + (number is not first):
        return sign + number.text.rstrip("BDLSYFbdlsyf")
    if first.word in _DATED and size == 2 and value.peek(1).kind is Kind.STRING:
        value.position += 1
        return value.string()
    return None


def _starts_table_constraint(item: Cursor) -> bool:
    """Whether a constraint of the table comes next and not a column, which may also be called `check` or `unique`."""
    if item.at("CONSTRAINT"):
        return item.peek(2).word in _CONSTRAINT_STARTS
    return item.at("PRIMARY", "KEY") or item.at("FOREIGN", "KEY") or item.at("UNIQUE", "(") or item.at("CHECK", "(")


def _constraint(item: Cursor, column: str | None = None) -> Constraint:
    """Parse `[CONSTRAINT name] PRIMARY KEY | UNIQUE | CHECK (…) | [FOREIGN KEY] REFERENCES table [(columns)]` after the type of a column.

    If there is no column, it is a constraint of the table: PRIMARY KEY, UNIQUE and FOREIGN KEY are followed by their columns.
    """
    name = item.identifier() if item.accept("CONSTRAINT") else ""
    own = () if column is None else (column,)
    if item.accept("CHECK"):
        found = Constraint(CHECK, name, expression=item.group().text.strip())
    elif item.accept("PRIMARY", "KEY"):
        found = Constraint(PRIMARY_KEY, name, own or _names(item))
    elif item.accept("UNIQUE"):
        found = Constraint(UNIQUE, name, own or _names(item))
    elif item.accept("FOREIGN", "KEY") or (own and item.at("REFERENCES")):
        columns = own or _names(item)
        item.expect("REFERENCES")
        table = str(item.name())
        found = Constraint(FOREIGN_KEY, name, columns, references=table, referenced=_names(item) if item.at("(") else ())
        _skip_foreign_key_actions(item)
    else:
        raise item.error("PRIMARY KEY, UNIQUE, FOREIGN KEY or CHECK (…) was expected")
    while any(item.accept(*words) for words in _AFTER_CONSTRAINT):
        pass
    return found


def _skip_foreign_key_actions(item: Cursor) -> None:
    while item.accept("ON"):
        if item.accept_any("DELETE", "UPDATE") is None:
            raise item.error("DELETE or UPDATE was expected")
        if not any(item.accept(*words) for words in (("CASCADE",), ("RESTRICT",), ("NO", "ACTION"), ("SET", "NULL"))):
            raise item.error("NO ACTION was expected")


def _names(item: Cursor) -> tuple[str, ...]:
    found = item.names()
    if not found:
        raise item.error("a column was expected")
    return found


def partition_keys(group: Cursor) -> tuple[tuple[PartitionKey, ...], tuple[ColumnDefinition, ...]]:
    """Parse the list of PARTITIONED BY (…): return its keys, and the columns that it declares with a type as in Hive."""
    keys: list[PartitionKey] = []
    columns: list[ColumnDefinition] = []
    for item in group.items():
        name = item.identifier()
        if item.at("("):
            keys.append(transform(name, item.group()))
            item.finish()
        elif item.done:
            keys.append(PartitionKey(name))
        elif item.at("."):
            raise StatementError(f"PARTITIONED BY: {name} is a nested column; DuckLake partitions by columns of the table itself")
        else:
            columns.append(column_definition(item, name))
            keys.append(PartitionKey(name))
    return tuple(keys), tuple(columns)


def transform(name: str, arguments: Cursor) -> PartitionKey:
    """Parse the arguments of the transform of a partition key, such as `c` of year(c).

    Raises:
        StatementError: DuckLake has no such transform.
    """
    known = _TRANSFORMS.get(name.lower())
    if known is not None:
        column = arguments.identifier()
        arguments.finish()
        return PartitionKey(column, known)
    if name.lower() == "bucket":
        number = arguments.peek()
        if number.kind is not Kind.NUMBER or not number.text.isdecimal() or int(number.text) == 0:
            raise arguments.error("bucket needs a number of buckets, as in bucket(16, column)")
        arguments.position += 1
        arguments.expect(",")
        column = arguments.identifier()
        arguments.finish()
        return PartitionKey(column, f"bucket({int(number.text)})")
    raise StatementError(f"{name} is not a DuckLake transform of partition keys; use year, month, day, hour or bucket(n, column)")


def sort_keys(group: Cursor) -> tuple[SortKey, ...]:
    """Parse the list of SORTED BY (…): `expression [ASC | DESC] [NULLS FIRST | NULLS LAST], …`."""
    keys = []
    for item in group.items():
        expression = item.upto(("ASC", "DESC", "NULLS")).text
        if not expression:
            raise item.error("a column or an expression to sort by was expected")
        direction = item.accept_any("ASC", "DESC") or "ASC"
        nulls = "LAST"
        if item.accept("NULLS"):
            nulls = item.accept_any("FIRST", "LAST") or ""
            if not nulls:
                raise item.error("FIRST or LAST was expected")
        item.finish()
        keys.append(SortKey(expression, direction, f"NULLS_{nulls}"))
    if not keys:
        raise group.error("a column or an expression to sort by was expected")
    return tuple(keys)


def properties(group: Cursor) -> tuple[tuple[str, str], ...]:
    """Parse the list of TBLPROPERTIES (…) or OPTIONS (…): `'key' = 'value'`, `key.part value`."""
    pairs = []
    for item in group.items():
        key = property_name(item)
        if not item.accept("="):
            item.accept("=>")
        if item.peek().kind is Kind.STRING:
            value = item.string()
        else:
            value = item.rest().text
            if not value:
                raise item.error(f"the value of {key} is missing")
        item.finish()
        pairs.append((key, value))
    return tuple(pairs)


def property_name(cursor: Cursor) -> str:
    """Read the name of a property: a string, or words separated by dots."""
    return cursor.string() if cursor.peek().kind is Kind.STRING else ".".join(cursor.parts())
