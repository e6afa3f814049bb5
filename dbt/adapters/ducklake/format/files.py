"""The values that the catalog and Spark exchange, such as `ScanPlan` (files, deletes and rows to read) and `WrittenFile` (a new file).

Specification: the tables `ducklake_data_file`, `ducklake_delete_file`, `ducklake_file_column_stats`, `ducklake_name_mapping`,
`ducklake_inlined_data_tables`. All paths are resolved (see `objects`); ids are negative for files that are staged but not committed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .objects import Column

ROW_ID_FIELD_ID = 2147483540
ROW_ID_COLUMN = "_ducklake_internal_row_id"
SNAPSHOT_ID_FIELD_ID = 2147483539
SNAPSHOT_ID_COLUMN = "_ducklake_internal_snapshot_id"
EMBEDDED_IDS = frozenset({ROW_ID_FIELD_ID, SNAPSHOT_ID_FIELD_ID})
ROW_ID = Column(ROW_ID_FIELD_ID, ROW_ID_COLUMN, "int64")
"""The row id column of files whose rows are new versions of old rows or come from several files."""
SNAPSHOT_ID = Column(SNAPSHOT_ID_FIELD_ID, SNAPSHOT_ID_COLUMN, "int64")
"""The column with the snapshot that created each row."""
DELETE_PATH_FIELD_ID = 2147483646
DELETE_POSITION_FIELD_ID = 2147483645

# Columns that a scan with lineage adds.
LINEAGE_FILE = "_ducklake_file"
"""BIGINT: the data file id; for rows of `ScanPlan.inlined[i]`, INLINED_BASE - i."""
LINEAGE_POSITION = "_ducklake_position"
"""BIGINT: the position in the file; for inlined rows, the row id."""
LINEAGE_ROW_ID = "_ducklake_row_id"
"""BIGINT: the row id."""
INLINED_BASE = -(2**40)
"""The LINEAGE_FILE of rows of `ScanPlan.inlined[0]`; no file id is this small."""


@dataclass(frozen=True)
class ColumnStats:
    """A row of `ducklake_file_column_stats` for one leaf column; bounds are texts in the encoding of the reference implementation."""

    column_id: int
    size_bytes: int | None = None
    value_count: int | None = None
    """The number of values that are not NULL."""
    null_count: int | None = None
    min_value: str | None = None
    max_value: str | None = None
    contains_nan: bool | None = None
    extra_stats: str | None = None


@dataclass(frozen=True)
class WrittenFile:
    """A Parquet data file that exists and is not registered yet."""

    path: str
    record_count: int
    size_bytes: int
    footer_size: int
    """The length of the serialized footer in bytes, without the 8 bytes that follow it."""
    column_stats: tuple[ColumnStats, ...] = ()
    partition_values: tuple[str | None, ...] = ()
    """One per key of the table's partitioning, in order; empty if unpartitioned."""
    embedded_row_ids: bool = False
    """The file has the column `_ducklake_internal_row_id`: its rows are new versions of old rows."""
    mapping: tuple[MappedField, ...] | None = None
    """Not None if another program wrote the file: its fields map to columns by name, and a rollback does not remove it."""


NO_LIMIT = 2**62
"""The snapshot limit of a delete file whose entries all count."""


@dataclass(frozen=True)
class DeleteFile:
    """A delete file that a reader must apply. `snapshot_limit`: entries with a greater embedded snapshot id do not count yet."""

    delete_file_id: int
    path: str
    format: str
    delete_count: int
    size_bytes: int
    footer_size: int | None
    begin_snapshot: int
    snapshot_limit: int


@dataclass(frozen=True)
class WrittenDeleteFile:
    """A delete file that exists and is not registered yet; it contains *all* deleted positions of its data file."""

    data_file_id: int
    path: str
    delete_count: int
    size_bytes: int
    footer_size: int
    min_snapshot: int | None = None
    """The smallest embedded snapshot id; None for a file without embedded ids. `max_snapshot` is the greatest."""
    max_snapshot: int | None = None
    format: str = "parquet"
    """`parquet` or `puffin`."""


@dataclass(frozen=True)
class MappedField:
    """A node of a name mapping: the file's field `source_name` maps to the column `column_id`."""

    source_name: str
    column_id: int
    children: tuple[MappedField, ...] = ()
    is_partition: bool = False


@dataclass(frozen=True)
class DataFile:
    """A data file that a reader must read."""

    data_file_id: int
    path: str
    record_count: int
    size_bytes: int
    footer_size: int | None
    row_id_start: int | None
    """None if row ids are embedded. Files with embedded ids may also have a number; the embedded ids take precedence."""
    begin_snapshot: int
    delete_file: DeleteFile | None = None
    inlined_deletes: tuple[int, ...] = ()
    """Positions deleted by rows of `ducklake_inlined_delete_<table>`, in addition to `delete_file`."""
    mapping: tuple[MappedField, ...] | None = None
    """None if fields match columns by field id."""
    rows_until_snapshot: int | None = None
    """Not None if a reader must skip rows with a greater embedded snapshot id (`partial_max` is greater)."""
    rows_from_snapshot: int | None = None
    """Not None if a reader must skip rows with a smaller embedded snapshot id."""
    encryption_key: str | None = None

    @property
    def is_touched(self) -> bool:
        """Whether some of its rows are deleted."""
        return self.delete_file is not None or bool(self.inlined_deletes)


@dataclass(frozen=True)
class InlinedRows:
    """The visible rows of one inlined-data table, decoded to Python values of the columns' types.

    Values are bool, int, float, Decimal, str, bytes, date, time, datetime (aware for timestamptz), list, dict (a struct, by name), a list
    of (key, value) pairs for a map, and (value, metadata) in Parquet's encoding for a variant. Values that Python cannot represent
    (interval, timetz, timestamp_ns, infinities) are text.
    """

    table_name: str
    columns: tuple[Column, ...]
    """The columns as of this table's schema version; they match the current ones by `column_id`."""
    row_ids: Sequence[int] = ()
    begin_snapshots: Sequence[int] = ()
    rows: Sequence[tuple[Any, ...]] = ()

    @property
    def versions(self) -> list[tuple[str, int, int]]:
        """The name of the table, the row id and the begin of each row, which together identify the version of a row."""
        return [(self.table_name, *key) for key in zip(self.row_ids, self.begin_snapshots, strict=True)]

    def without(self, versions: Collection[tuple[str, int, int]]) -> InlinedRows:
        """Return the same without some versions of rows."""
        kept = [index for index, version in enumerate(self.versions) if version not in versions]
        return replace(
            self,
            row_ids=[self.row_ids[index] for index in kept],
            begin_snapshots=[self.begin_snapshots[index] for index in kept],
            rows=[self.rows[index] for index in kept],
        )


@dataclass(frozen=True)
class InlinedVersions:
    """All versions of the rows of one inlined-data table that began up to a snapshot, ordered by row id and begin."""

    table_name: str
    columns: tuple[Column, ...]
    row_ids: tuple[int, ...]
    begin_snapshots: tuple[int, ...]
    end_snapshots: tuple[int | None, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class InlinedDeletes:
    """The inlined deletes of one data file, which may have been ended by a later snapshot."""

    data_file_id: int
    path: str
    snapshots: Mapping[int, int]
    """Position → the snapshot that deleted it."""
    delete_file: DeleteFile | None
    """The file with the other deletes of this data file."""
    entries: int
    """The number of rows in the catalog; more than the positions if one was deleted twice."""


@dataclass(frozen=True)
class FlushedFile:
    """A data file made of inlined rows, with embedded row ids and snapshot ids."""

    file: WrittenFile
    begin_snapshot: int
    """The smallest snapshot id in the file."""
    partial_max: int
    """The greatest snapshot id in the file."""
    first_row_id: int
    delete_file: WrittenDeleteFile | None = None
    """The rows of the file that have ended; its data file id is not used."""


@dataclass(frozen=True)
class ScanPlan:
    """Everything needed to read a table at a snapshot without listing files."""

    name: str
    """The table's name for messages, `schema.table`."""
    columns: tuple[Column, ...]
    files: tuple[DataFile, ...] = ()
    inlined: tuple[InlinedRows, ...] = ()
    pruned_files: int = 0
    """The number of files left out by pruning."""
    reused_names: frozenset[tuple[int | None, str]] = frozenset()
    """(parent column id or None, lower-case name) of every name that more than one column id ever had or that a live column did not
    always have. Such a column must not be read by name, because in older files the name may belong to another column."""
    retyped: frozenset[int] = frozenset()
    """Ids of columns whose stored type has changed: files may have them in an older type."""


@dataclass(frozen=True)
class ChangePlan:
    """The changes of a table from one snapshot to another, both included."""

    inserted: ScanPlan
    """Rows that were created in the range."""
    ended: ScanPlan
    """Rows whose file or inlined row ended in the range, without those that were deleted before. For inlined rows, `begin_snapshots` has
    the snapshots that ended them."""
    ends: Mapping[int, int]
    """Data file of `ended` → the snapshot that ended it."""
    touched: ScanPlan
    """Files from which single rows may have been deleted in the range, with all their rows."""
    delete_files: Mapping[int, tuple[DeleteFile, ...]]
    """Data file of `touched` → its delete files up to the end of the range, oldest first, each with its entries up to that end."""
    inlined_deletes: Mapping[int, Mapping[int, int]]
    """Data file of `touched` → position → the snapshot that deleted it; inlined deletes up to the end of the range."""

    @property
    def is_empty(self) -> bool:
        """Whether no file and no inlined row changed in the range."""
        parts = (self.inserted, self.ended, self.touched)
        return not any(part.files or part.inlined for part in parts)


@dataclass(frozen=True)
class ColumnRange:
    """The condition `low <= column <= high`, with texts in the encoding of column statistics; a bound of None is open."""

    column_id: int
    low: str | None = None
    high: str | None = None


@dataclass(frozen=True)
class ColumnFilter:
    """The condition that a column's value is in one of the ranges, or is NULL if `nulls`. A range without bounds contains every value."""

    column_id: int
    ranges: tuple[ColumnRange, ...] = ()
    nulls: bool = False

    @classmethod
    def between(cls, column_id: int, low: str | None, high: str | None) -> ColumnFilter:
        """Return a filter with one range."""
        return cls(column_id, (ColumnRange(column_id, low, high),))


Condition = tuple[ColumnFilter, ...]
"""Filters that a row must all pass; every row passes the empty condition."""

Filters = Sequence[ColumnFilter] | Callable[[], Sequence[ColumnFilter]]
"""Filters that a row must all pass; a function is called only if there is more than one file to choose from."""


@dataclass(frozen=True)
class WriteOptions:
    """The options for writing data files, from `ducklake_metadata`; the narrowest scope wins (specification: "Configuration")."""

    compression: str = "snappy"
    compression_level: int | None = None
    parquet_version: int = 1
    row_group_size: int = 122880
    row_group_size_bytes: int | None = None
    target_file_size: int = 512 * 1024 * 1024
    hive_file_pattern: bool = True
    sort_on_insert: bool = True
    per_thread_output: bool = False
    write_deletion_vectors: bool = False
    extra: Mapping[str, str] = field(default_factory=dict)
