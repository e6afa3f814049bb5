"""Rules for the rows of the metadata tables, and errors that name a row that breaks one.

Databases check little: SQLite stores a string in a column of numbers, and most columns may be NULL. Readers check the rows that they need,
so that a damaged row affects only what depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Table, inspect, select
from sqlalchemy.engine import Connection
from sqlalchemy.types import BIGINT

from ...errors import LakeError
from ...format.partitioning import TIME_PARTS, bucket_count
from . import tables as t
from .redaction import HIDDEN

_REQUIRED: Mapping[str, str] = {
    "ducklake_metadata": "key value",
    "ducklake_snapshot": "snapshot_id snapshot_time schema_version next_catalog_id next_file_id",
    "ducklake_snapshot_changes": "snapshot_id",
    "ducklake_schema": "schema_id begin_snapshot schema_name",
    "ducklake_table": "table_id begin_snapshot schema_id table_name",
    "ducklake_view": "view_id begin_snapshot schema_id view_name dialect sql",
    "ducklake_tag": "object_id begin_snapshot key",
    "ducklake_column_tag": "table_id column_id begin_snapshot key",
    "ducklake_column": "column_id begin_snapshot table_id column_order column_name column_type",
    "ducklake_data_file": "data_file_id table_id begin_snapshot path record_count file_size_bytes",
    "ducklake_delete_file": "delete_file_id table_id begin_snapshot data_file_id path format delete_count file_size_bytes",
    "ducklake_files_scheduled_for_deletion": "data_file_id path schedule_start",
    "ducklake_table_stats": "table_id record_count next_row_id file_size_bytes",
    "ducklake_partition_info": "partition_id table_id begin_snapshot",
    "ducklake_partition_column": "partition_id table_id partition_key_index column_id transform",
    "ducklake_sort_info": "sort_id table_id begin_snapshot",
    "ducklake_sort_expression": "sort_id table_id sort_key_index expression dialect sort_direction null_order",
    "ducklake_inlined_data_tables": "table_id table_name schema_version",
    "ducklake_name_mapping": "mapping_id column_id source_name target_field_id",
    "ducklake_schema_versions": "begin_snapshot schema_version",
    "ducklake_macro": "schema_id macro_id macro_name begin_snapshot",
    "ducklake_macro_impl": "macro_id impl_id sql type",
    "ducklake_macro_parameters": "macro_id impl_id column_id parameter_name",
}
"""The columns of each table that are never NULL."""


def _one_of(*words: str) -> Callable[[Any], bool]:
    return lambda value: value.lower() in words


def _ends_in_file_name(path: str) -> bool:
    return path.rpartition("/")[2] not in ("", ".", "..") and "\0" not in path


_ALLOWED_STRINGS: Mapping[tuple[str, str], tuple[Callable[[Any], bool], str]] = {
    ("ducklake_data_file", "path"): (_ends_in_file_name, "the path of a file"),
    ("ducklake_delete_file", "path"): (_ends_in_file_name, "the path of a file"),
    ("ducklake_data_file", "file_format"): (_one_of("parquet"), "parquet"),
    ("ducklake_delete_file", "format"): (_one_of("parquet", "puffin"), "parquet or puffin"),
    ("ducklake_sort_expression", "sort_direction"): (_one_of("asc", "desc"), "ASC or DESC"),
    ("ducklake_sort_expression", "null_order"): (_one_of("nulls_first", "nulls_last"), "NULLS_FIRST or NULLS_LAST"),
    ("ducklake_macro_impl", "type"): (_one_of("scalar", "table"), "scalar or table"),
    ("ducklake_inlined_data_tables", "table_name"): (
        lambda name: name.startswith("ducklake_inlined_data_"),
        "a name that starts with ducklake_inlined_data_",
    ),
    ("ducklake_partition_column", "transform"): (
        lambda text: text in ("identity", *TIME_PARTS) or bucket_count(text) is not None,
        "identity, year, month, day, hour or bucket(n)",
    ),
}
"""(table, column) → the function that checks a string, and a description of the strings that it accepts."""
_SECRET = "encryption_key"
"""The column whose values no error shows."""
_PYTHON_ERRORS = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors that code raises when it gets a value of an unexpected type."""


@dataclass(frozen=True)
class _Rule:
    """What one column may contain."""

    column: str
    kind: type
    required: bool
    """Whether the column is never NULL."""
    expected: str
    """The description of the allowed values, for errors."""
    is_allowed: Callable[[Any], bool] | None = None
    """Checks a string, if not all strings are allowed."""

    def allows_all(self, values: Sequence[Any]) -> bool:
        """Whether all values are allowed. Fast for many values, because each type and each different string is checked once."""
        kinds = set(map(type, values))
        if type(None) in kinds:
            if self.required:
                return False
            kinds.discard(type(None))
            values = [value for value in values if value is not None] if kinds else ()
        if not all(issubclass(kind, self.kind) for kind in kinds):
            return False
        return not values or (
            (self.kind is not int or min(values) >= 0) and (self.is_allowed is None or all(map(self.is_allowed, set(values))))
        )


def _rule(table: Table, column: Any) -> _Rule:
    kind: type
    required = column.name in _REQUIRED.get(table.name, "").split()
    is_allowed, description = _ALLOWED_STRINGS.get((table.name, column.name), (None, ""))
    match column.type:
        case t.Boolean():
            kind, expected = bool, "true or false"
        case t.Timestamp():
            kind, expected = datetime, "a timestamp"
        case BIGINT():
            kind, expected = int, "a number, 0 or more"
        case _:
            kind, expected = str, description or "text"
    return _Rule(column.name, kind, required, expected if required else f"{expected}, or NULL", is_allowed)


_RULES: Mapping[str, tuple[_Rule, ...]] = {
    table.name: tuple(_rule(table, column) for column in table.columns) for table in t.METADATA.tables.values() if table.name in _REQUIRED
}


def rule_violations(table: Table, rows: Sequence[Any], labels: Mapping[str, str] | None = None) -> dict[int, LakeError]:
    """Return the errors of the rows that break a rule, by their index in `rows`.

    Args:
        table: the metadata table.
        rows: the rows of a query with some or all columns of the table; other columns are ignored.
        labels: column of the table → its name in `rows`; columns without an entry are not checked. None if all names are the same.
    """
    found: dict[int, LakeError] = {}
    if not rows:
        return found
    columns = dict(zip(rows[0]._fields, zip(*rows, strict=True), strict=True))
    names = {rule.column: rule.column if labels is None else labels.get(rule.column, "") for rule in _RULES[table.name]}
    for rule in _RULES[table.name]:
        values = columns.get(names[rule.column], ())
        if rule.allows_all(values):
            continue
        for index, value in enumerate(values):
            if not rule.allows_all([value]):
                row = {key: columns[name][index] for key, name in names.items() if name in columns}
                found.setdefault(index, _error(table, row, rule, value))
    return found


def checked(table: Table, rows: Sequence[Any], labels: Mapping[str, str] | None = None) -> Sequence[Any]:
    """Check rows and return them. The arguments are those of `rule_violations`.

    Raises:
        LakeError: a row breaks a rule; the message names the row.
    """
    for error in rule_violations(table, rows, labels).values():
        raise error
    return rows


def damaged_row(table: str, row: str, reason: str) -> LakeError:
    """Return the error for a damaged row.

    Args:
        table: the name of the metadata table.
        row: the values that identify the row.
        reason: what is wrong, as the predicate of a sentence.
    """
    return LakeError(f"the catalog is damaged: {table} ({row}) {reason}. Correct the row, or restore a backup of the catalog")


@contextmanager
def naming_damaged_rows(connection: Connection) -> Iterator[None]:
    """Turn an error of a reader that does not check its rows into one that names the damaged row.

    Raises:
        LakeError: the block raised a Python error, and some metadata table has a row that breaks a rule.
    """
    try:
        yield
    except _PYTHON_ERRORS as error:
        names = set(inspect(connection).get_table_names(schema=t.schema_of(connection)))
        for table in t.METADATA.tables.values():
            if table.name in _RULES and table.name in names:
                for violation in rule_violations(table, connection.execute(select(table)).all()).values():
                    raise violation from error
        raise


def _error(table: Table, row: Mapping[str, Any], rule: _Rule, value: Any) -> LakeError:
    others = {name: each for name, each in row.items() if name not in (rule.column, _SECRET) and each is not None}
    keys = [name for name in others if name.endswith(("_id", "_name", "key"))] or list(others)
    shown = "NULL" if value is None else HIDDEN if rule.column == _SECRET else repr(value)
    reason = f"has {rule.column} = {shown}, which must be {rule.expected}"
    return damaged_row(table.name, ", ".join(f"{name}={others[name]!r}" for name in keys[:3]), reason)
