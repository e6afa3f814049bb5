"""The history and details of a table, in our own columns and in those of Delta Lake's DESCRIBE HISTORY and DESCRIBE DETAIL."""

from __future__ import annotations

from typing import Any

from ..catalog.read.table_log import TableLogEntry
from ..errors import StatementError
from ..format.changes import Kind
from ..format.objects import Table, View
from ..format.origin import origin
from ..format.partitioning import key_columns, key_texts
from .context import Context
from .properties import shown_properties
from .tables import required_relation

COLUMNS = (
    ("snapshot_id", "bigint"),
    ("snapshot_time", "timestamp"),
    ("author", "string"),
    ("commit_message", "string"),
    ("node_id", "string"),
    ("invocation_id", "string"),
    ("changes", "array<string>"),
    ("rows_inserted", "bigint"),
    ("rows_deleted", "bigint"),
    ("files_added", "bigint"),
    ("files_removed", "bigint"),
    ("bytes_added", "bigint"),
)
DELTA_COLUMNS = (
    ("version", "bigint"),
    ("timestamp", "timestamp"),
    ("userName", "string"),
    ("operation", "string"),
    ("operationParameters", "map<string,string>"),
    ("operationMetrics", "map<string,string>"),
    ("userMetadata", "string"),
    ("engineInfo", "string"),
)
"""The columns of Delta Lake's DESCRIBE HISTORY that apply to a lake."""
DETAIL_COLUMNS = (
    ("format", "string"),
    ("id", "string"),
    ("name", "string"),
    ("description", "string"),
    ("location", "string"),
    ("createdAt", "timestamp"),
    ("lastModified", "timestamp"),
    ("partitionColumns", "array<string>"),
    ("clusteringColumns", "array<string>"),
    ("numFiles", "bigint"),
    ("sizeInBytes", "bigint"),
    ("properties", "map<string,string>"),
    ("numRows", "bigint"),
    ("numDeleteFiles", "bigint"),
    ("deleteSizeInBytes", "bigint"),
)
"""The columns of Delta Lake's DESCRIBE DETAIL except those of Delta's protocol, followed by our own."""
_OPERATIONS = {
    Kind.CREATED_TABLE: "create",
    Kind.INSERTED_INTO_TABLE: "insert",
    Kind.INLINED_INSERT: "insert",
    Kind.DELETED_FROM_TABLE: "delete",
    Kind.INLINED_DELETE: "delete",
    Kind.ALTERED_TABLE: "alter",
    Kind.INLINE_FLUSH: "flush",
    Kind.MERGE_ADJACENT: "merge files",
    Kind.REWRITE_DELETE: "rewrite files",
}


def logged_table(context: Context, schema: str, name: str) -> Table:
    """Return a table whose history and details were requested.

    Raises:
        NotFoundError: there is no such table or view.
        StatementError: it is a view.
    """
    found = required_relation(context, schema, name)
    if isinstance(found, View):
        raise StatementError(f"{schema}.{name} is a view, and only tables have history and details; lake.snapshots() lists all snapshots")
    return found


def history(context: Context, table: Table, limit: int | None = None) -> list[tuple[Any, ...]]:
    """Return a row of `COLUMNS` for each snapshot that changed a table, newest first."""
    return [_row(entry, f"{table.schema_name}.{table.name}") for entry in _log(context, table, limit)]


def delta_history(context: Context, table: Table, limit: int | None = None) -> list[tuple[Any, ...]]:
    """Return a row of `DELTA_COLUMNS` for each snapshot that changed a table, newest first."""
    return [_delta_row(entry, f"{table.schema_name}.{table.name}") for entry in _log(context, table, limit)]


def details(context: Context, lake: str, table: Table) -> tuple[Any, ...]:
    """Return the row of `DETAIL_COLUMNS` of a table, whose metrics are those of its committed state."""
    summary = context.catalog.table_summary(context.transaction.snapshot, table)
    fields = table.partition_fields
    return (
        "ducklake",
        table.uuid,
        f"{lake}.{table.schema_name}.{table.name}",
        table.comment,
        table.path,
        context.catalog.creation_time(table),
        summary.last_snapshot_time if summary else None,
        key_texts(key_columns(table.columns, fields), fields),
        [key.expression if key.direction == "ASC" else f"{key.expression} {key.direction}" for key in table.sorting],
        summary.file_count if summary else 0,
        summary.size_bytes if summary else 0,
        shown_properties(context, table),
        summary.record_count if summary else 0,
        summary.delete_file_count if summary else 0,
        summary.delete_size_bytes if summary else 0,
    )


def operations(entry: TableLogEntry) -> list[str]:
    """Return what a snapshot did to a table, such as `insert` and `delete`."""
    found = dict.fromkeys(_OPERATIONS[kind] for kind in entry.kinds if kind in _OPERATIONS)
    return [name if name != "create" or entry.is_first else "rename" for name in found]  # the catalog logs a rename as a creation


def _log(context: Context, table: Table, limit: int | None) -> list[TableLogEntry]:
    return context.catalog.table_log(table, context.transaction.snapshot, limit)


def _row(entry: TableLogEntry, name: str) -> tuple[Any, ...]:
    record = entry.record
    made_by = origin(record.extra_info, name)
    metrics = (entry.rows_inserted, entry.rows_deleted, entry.files_added, entry.files_removed, entry.bytes_added)
    who = (record.author, record.message, made_by.node_id, made_by.invocation_id)
    return (record.snapshot.snapshot_id, record.snapshot.time, *who, operations(entry), *metrics)


def _delta_row(entry: TableLogEntry, name: str) -> tuple[Any, ...]:
    record = entry.record
    made_by = origin(record.extra_info, name)
    metrics = {
        "numOutputRows": entry.rows_inserted,
        "numDeletedRows": entry.rows_deleted,
        "numAddedFiles": entry.files_added,
        "numRemovedFiles": entry.files_removed,
        "numOutputBytes": entry.bytes_added,
    }
    return (
        record.snapshot.snapshot_id,
        record.snapshot.time,
        record.author,
        ", ".join(operations(entry)).upper(),
        dict(made_by.entries or {}),
        {name: str(value) for name, value in metrics.items() if value is not None},
        record.message,
        made_by.versions,
    )
