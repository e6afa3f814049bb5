"""The snapshots of a lake, in the columns of DuckDB's function `snapshots()`.

Specification: "Snapshots", and the table `ducklake_snapshot_changes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ..catalog.read.history import SnapshotRecord
from ..format.changes import CREATIONS, Change, Kind, parse_entries

COLUMNS = (
    ("snapshot_id", "bigint"),
    ("snapshot_time", "timestamp"),
    ("schema_version", "bigint"),
    ("changes", "map<string,array<string>>"),
    ("author", "string"),
    ("commit_message", "string"),
    ("commit_extra_info", "string"),
)
_KEYS = {
    Kind.DROPPED_SCHEMA: "schemas_dropped",
    Kind.DROPPED_TABLE: "tables_dropped",
    Kind.DROPPED_VIEW: "views_dropped",
    Kind.CREATED_SCHEMA: "schemas_created",
    Kind.CREATED_TABLE: "tables_created",
    Kind.CREATED_VIEW: "views_created",
    Kind.CREATED_SCALAR_MACRO: "scalar_macros_created",
    Kind.CREATED_TABLE_MACRO: "table_macros_created",
    Kind.DROPPED_SCALAR_MACRO: "scalar_macros_dropped",
    Kind.DROPPED_TABLE_MACRO: "table_macros_dropped",
    Kind.INSERTED_INTO_TABLE: "tables_inserted_into",
    Kind.DELETED_FROM_TABLE: "tables_deleted_from",
    Kind.ALTERED_TABLE: "tables_altered",
    Kind.ALTERED_VIEW: "views_altered",
    Kind.INLINED_INSERT: "inlined_insert",
    Kind.INLINED_DELETE: "inlined_delete",
    Kind.INLINE_FLUSH: "flushed_inlined",
    Kind.MERGE_ADJACENT: "merge_adjacent",
    Kind.REWRITE_DELETE: "rewrite_delete",
    Kind.UNKNOWN: "unknown",
}
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


def snapshot_rows(records: Iterable[SnapshotRecord]) -> list[tuple[Any, ...]]:
    """Return a row of `COLUMNS` for each snapshot."""
    return [
        (
            record.snapshot.snapshot_id,
            record.snapshot.time,
            record.snapshot.schema_version,
            changes_map(parse_entries(record.changes_made)),
            record.author,
            record.message,
            record.extra_info,
        )
        for record in records
    ]


def changes_map(changes: Iterable[Change]) -> dict[str, list[str]]:
    """Return the logged changes of a snapshot by kind; ids as text, names quoted only where necessary."""
    found: dict[str, list[str]] = {}
    for change in changes:
        found.setdefault(_KEYS[change.kind], []).append(_value(change))
    return found


def _value(change: Change) -> str:
    if change.kind not in CREATIONS:
        return str(change.object_id) if change.object_id is not None else change.name or ""
    if change.name is None:
        return change.schema or ""
    return ".".join(part if _PLAIN.fullmatch(part) else '"' + part.replace('"', '""') + '"' for part in (change.schema or "", change.name))
