"""The 28 tables of the metadata catalog, format 1.0.

Specification: "Tables". The order of the columns is part of the contract: DuckDB inserts by position, so no column may be added or moved.
There are five primary keys and no foreign keys. The reference implementation has no indexes; ours make the cost of a commit or a scan plan
independent of the number of files and tables.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Column, ColumnElement, FromClause, Index, MetaData, Table, or_
from sqlalchemy.engine import Connection, Dialect
from sqlalchemy.types import BIGINT, VARCHAR, TypeDecorator, TypeEngine

from .dialects import dialect_of

METADATA = MetaData()


class Uuid(TypeDecorator[str]):
    """A uuid; in Python always lower-case text with dashes."""

    impl = VARCHAR
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the database's type."""
        return dialect_of(dialect).uuid_type

    def process_result_value(self, value: Any, _dialect: Dialect) -> str | None:
        """Convert a result of the driver."""
        return None if value is None else str(value)


class Boolean(TypeDecorator[bool]):
    """A boolean; 0 or 1 if the database has no boolean type."""

    impl = BIGINT
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the database's type."""
        return dialect_of(dialect).boolean_type

    def process_bind_param(self, value: bool | None, dialect: Dialect) -> Any:
        """Convert a value to a parameter of the driver."""
        return None if value is None else dialect_of(dialect).write_boolean(value)

    def process_result_value(self, value: Any, _dialect: Dialect) -> bool | None:
        """Convert a result of the driver; a value that is not a boolean stays as it is, for `row_rules` to report."""
        return bool(value) if value in (0, 1) else value


class Timestamp(TypeDecorator[datetime]):
    """A timestamp; in Python aware, in UTC."""

    impl = VARCHAR
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the database's type."""
        return dialect_of(dialect).timestamp_type

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Convert a value to a parameter of the driver."""
        return None if value is None else dialect_of(dialect).write_timestamp(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Convert a result of the driver; a value that is not a timestamp stays as it is, for `row_rules` to report."""
        try:
            return None if value is None else dialect_of(dialect).read_timestamp(value)
        except ValueError:
            return value  # type: ignore[no-any-return]


class Text(TypeDecorator[str]):
    """A string of any length."""

    impl = VARCHAR
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the database's type."""
        return dialect_of(dialect).text_type


_B: TypeEngine[Any] = BIGINT()
_V: TypeEngine[Any] = Text()
_U: TypeEngine[Any] = Uuid()
_L: TypeEngine[Any] = Boolean()
_T: TypeEngine[Any] = Timestamp()


def _table(name: str, columns: list[tuple[str, TypeEngine[Any]]], key: str | None = None, required: int = 0) -> Table:
    """Define a table; `key` is its primary key, the first `required` columns are NOT NULL."""
    return Table(
        name,
        METADATA,
        *(
            Column(column, type_, primary_key=column == key, autoincrement=False, nullable=column != key and i >= required)
            for i, (column, type_) in enumerate(columns)
        ),
    )


def visible(table: FromClause, snapshot_id: int) -> ColumnElement[bool]:
    """Return the condition that a row of a table with begin and end snapshots is visible at a snapshot ("Queries")."""
    return (table.c.begin_snapshot <= snapshot_id) & or_(table.c.end_snapshot.is_(None), table.c.end_snapshot > snapshot_id)


def schema_of(connection: Connection) -> str | None:
    """Return the schema of the metadata tables, which SQLAlchemy itself sets only for tables in `METADATA`; None for the default."""
    schema: str | None = connection.get_execution_options().get("schema_translate_map", {}).get(None)
    return schema


_LIFE = [("begin_snapshot", _B), ("end_snapshot", _B)]

metadata = _table("ducklake_metadata", [("key", _V), ("value", _V), ("scope", _V), ("scope_id", _B)], required=2)
snapshot = _table(
    "ducklake_snapshot",
    [("snapshot_id", _B), ("snapshot_time", _T), ("schema_version", _B), ("next_catalog_id", _B), ("next_file_id", _B)],
    key="snapshot_id",
)
snapshot_changes = _table(
    "ducklake_snapshot_changes",
    [("snapshot_id", _B), ("changes_made", _V), ("author", _V), ("commit_message", _V), ("commit_extra_info", _V)],
    key="snapshot_id",
)
schema = _table(
    "ducklake_schema",
    [("schema_id", _B), ("schema_uuid", _U), *_LIFE, ("schema_name", _V), ("path", _V), ("path_is_relative", _L)],
    key="schema_id",
)
table = _table(
    "ducklake_table",
    [
        *[("table_id", _B), ("table_uuid", _U), *_LIFE, ("schema_id", _B), ("table_name", _V)],
        *[("path", _V), ("path_is_relative", _L)],
    ],
)
view = _table(
    "ducklake_view",
    [
        *[("view_id", _B), ("view_uuid", _U), *_LIFE, ("schema_id", _B), ("view_name", _V)],
        *[("dialect", _V), ("sql", _V), ("column_aliases", _V)],
    ],
)
tag = _table("ducklake_tag", [("object_id", _B), *_LIFE, ("key", _V), ("value", _V)])
column_tag = _table("ducklake_column_tag", [("table_id", _B), ("column_id", _B), *_LIFE, ("key", _V), ("value", _V)])
data_file = _table(
    "ducklake_data_file",
    [
        *[("data_file_id", _B), ("table_id", _B), *_LIFE, ("file_order", _B), ("path", _V), ("path_is_relative", _L)],
        *[("file_format", _V), ("record_count", _B), ("file_size_bytes", _B), ("footer_size", _B), ("row_id_start", _B)],
        *[("partition_id", _B), ("encryption_key", _V), ("mapping_id", _B), ("partial_max", _B)],
    ],
    key="data_file_id",
)
_STATS = [("column_size_bytes", _B), ("value_count", _B), ("null_count", _B), ("min_value", _V), ("max_value", _V)]
_STATS += [("contains_nan", _L), ("extra_stats", _V)]
file_column_stats = _table("ducklake_file_column_stats", [("data_file_id", _B), ("table_id", _B), ("column_id", _B), *_STATS])
file_variant_stats = _table(
    "ducklake_file_variant_stats",
    [("data_file_id", _B), ("table_id", _B), ("column_id", _B), ("variant_path", _V), ("shredded_type", _V), *_STATS],
)
delete_file = _table(
    "ducklake_delete_file",
    [
        *[("delete_file_id", _B), ("table_id", _B), *_LIFE, ("data_file_id", _B), ("path", _V), ("path_is_relative", _L)],
        *[("format", _V), ("delete_count", _B), ("file_size_bytes", _B), ("footer_size", _B), ("encryption_key", _V)],
        ("partial_max", _B),
    ],
    key="delete_file_id",
)
column = _table(
    "ducklake_column",
    [
        *[("column_id", _B), *_LIFE, ("table_id", _B), ("column_order", _B), ("column_name", _V), ("column_type", _V)],
        *[("initial_default", _V), ("default_value", _V), ("nulls_allowed", _L), ("parent_column", _B)],
        *[("default_value_type", _V), ("default_value_dialect", _V)],
    ],
)
table_stats = _table("ducklake_table_stats", [("table_id", _B), ("record_count", _B), ("next_row_id", _B), ("file_size_bytes", _B)])
table_column_stats = _table(
    "ducklake_table_column_stats",
    [
        *[("table_id", _B), ("column_id", _B), ("contains_null", _L), ("contains_nan", _L)],
        *[("min_value", _V), ("max_value", _V), ("extra_stats", _V)],
    ],
)
partition_info = _table("ducklake_partition_info", [("partition_id", _B), ("table_id", _B), *_LIFE])
partition_column = _table(
    "ducklake_partition_column",
    [("partition_id", _B), ("table_id", _B), ("partition_key_index", _B), ("column_id", _B), ("transform", _V)],
)
file_partition_value = _table(
    "ducklake_file_partition_value",
    [("data_file_id", _B), ("table_id", _B), ("partition_key_index", _B), ("partition_value", _V)],
)
files_scheduled_for_deletion = _table(
    "ducklake_files_scheduled_for_deletion",
    [("data_file_id", _B), ("path", _V), ("path_is_relative", _L), ("schedule_start", _T)],
)
inlined_data_tables = _table("ducklake_inlined_data_tables", [("table_id", _B), ("table_name", _V), ("schema_version", _B)])
column_mapping = _table("ducklake_column_mapping", [("mapping_id", _B), ("table_id", _B), ("type", _V)])
name_mapping = _table(
    "ducklake_name_mapping",
    [
        *[("mapping_id", _B), ("column_id", _B), ("source_name", _V), ("target_field_id", _B)],
        *[("parent_column", _B), ("is_partition", _L)],
    ],
)
schema_versions = _table("ducklake_schema_versions", [("begin_snapshot", _B), ("schema_version", _B), ("table_id", _B)])
macro = _table("ducklake_macro", [("schema_id", _B), ("macro_id", _B), ("macro_name", _V), *_LIFE])
macro_impl = _table("ducklake_macro_impl", [("macro_id", _B), ("impl_id", _B), ("dialect", _V), ("sql", _V), ("type", _V)])
macro_parameters = _table(
    "ducklake_macro_parameters",
    [
        *[("macro_id", _B), ("impl_id", _B), ("column_id", _B), ("parameter_name", _V), ("parameter_type", _V)],
        *[("default_value", _V), ("default_value_type", _V)],
    ],
)
sort_info = _table("ducklake_sort_info", [("sort_id", _B), ("table_id", _B), *_LIFE])
sort_expression = _table(
    "ducklake_sort_expression",
    [
        *[("sort_id", _B), ("table_id", _B), ("sort_key_index", _B), ("expression", _V), ("dialect", _V)],
        *[("sort_direction", _V), ("null_order", _V)],
    ],
)


def _index(table: Table, *columns: str) -> Index:
    return Index(f"dbt_{table.name}", *(table.c[name] for name in columns))


INDEXES = (
    *(_index(each, "table_id") for each in (table, column, column_tag, data_file, table_stats, table_column_stats)),
    *(_index(each, "table_id") for each in (schema_versions, inlined_data_tables, partition_info, sort_info)),
    _index(view, "view_id"),
    _index(tag, "object_id"),
    _index(delete_file, "data_file_id"),
    _index(file_column_stats, "table_id", "column_id", "data_file_id"),
    _index(file_partition_value, "data_file_id"),
    _index(name_mapping, "mapping_id"),
)
"""Indexes of lakes that we create. We never add them to a lake of another program; DuckDB works with and without them."""
