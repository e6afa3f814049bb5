"""What crosses between the catalog and Spark: `ScanPlan` (read these files minus these deletes, plus these rows) and `WrittenFile`
(I wrote this, here are its statistics).

Specification: the tables `ducklake_data_file`, `ducklake_delete_file`, `ducklake_file_column_stats`, `ducklake_name_mapping`,
`ducklake_inlined_data_tables`. All paths here are resolved (see `objects`); ids are negative for files that are staged but not committed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .objects import Column

ROW_ID_FIELD_ID = 2147483540
ROW_ID_COLUMN = "_ducklake_internal_row_id"
SNAPSHOT_ID_FIELD_ID = 2147483539
SNAPSHOT_ID_COLUMN = "_ducklake_internal_snapshot_id"
EMBEDDED_IDS = frozenset({ROW_ID_FIELD_ID, SNAPSHOT_ID_FIELD_ID})
ROW_ID = Column(ROW_ID_FIELD_ID, ROW_ID_COLUMN, "int64")
"""The column of files that hold row ids of their own: new versions of old rows, or rows of several files."""
SNAPSHOT_ID = Column(SNAPSHOT_ID_FIELD_ID, SNAPSHOT_ID_COLUMN, "int64")
"""The column of files that hold the snapshot that each row began with."""
DELETE_PATH_FIELD_ID = 2147483646
DELETE_POSITION_FIELD_ID = 2147483645

# Columns that a scan with lineage adds.
LINEAGE_FILE = "_ducklake_file"
"""BIGINT: the data file id; for inlined rows, the 0-based index of their table in `ScanPlan.inlined`, counted down from INLINED_BASE."""
LINEAGE_POSITION = "_ducklake_position"
"""BIGINT: the 0-based offset in the file; for inlined rows, their row id."""
LINEAGE_ROW_ID = "_ducklake_row_id"
"""BIGINT: the lineage id of the row."""
INLINED_BASE = -(2**40)
"""Rows of `ScanPlan.inlined[i]` have LINEAGE_FILE = INLINED_BASE - i, which no file id can be."""


@dataclass(frozen=True)
class ColumnStats:
    """A row of `ducklake_file_column_stats`, in the encodings of the reference (texts), for one leaf column."""

    column_id: int
    size_bytes: int | None = None
    value_count: int | None = None
    """Values that are not NULL."""
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
    """Length of the serialised footer in bytes, without the 8 bytes that follow it."""
    column_stats: tuple[ColumnStats, ...] = ()
    partition_values: tuple[str | None, ...] = ()
    """One per key of the table's partitioning, in order; empty if unpartitioned."""
    embedded_row_ids: bool = False
    """The file carries `_ducklake_internal_row_id`: its rows are new versions of old rows."""
    mapping: tuple[MappedField, ...] | None = None
    """Not None: others wrote the file. Its fields are columns by these names, and no rollback removes it."""


NO_LIMIT = 2**62
"""The snapshot limit of a delete file of which everything counts."""


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
    """A delete file that exists and is not registered yet; it holds *all* deleted positions of its data file."""

    data_file_id: int
    path: str
    delete_count: int
    size_bytes: int
    footer_size: int
    min_snapshot: int | None = None
    """Smallest and greatest embedded snapshot id; None for a file without embedded ids."""
    max_snapshot: int | None = None
    format: str = "parquet"
    """`parquet` or `puffin`."""


@dataclass(frozen=True)
class MappedField:
    """A node of a name mapping: the file's field `source_name` is the column `column_id`."""

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
    """None: row ids are embedded. Files with embedded ids may have a number here too; the embedded ids win."""
    begin_snapshot: int
    delete_file: DeleteFile | None = None
    inlined_deletes: tuple[int, ...] = ()
    """Positions deleted by rows of `ducklake_inlined_delete_<table>`; united with `delete_file`."""
    mapping: tuple[MappedField, ...] | None = None
    """None: fields match columns by field id."""
    rows_until_snapshot: int | None = None
    """Not None: only rows whose embedded snapshot id is at most this exist yet (`partial_max` is greater)."""
    rows_from_snapshot: int | None = None
    """Not None: only rows whose embedded snapshot id is at least this are of interest."""
    encryption_key: str | None = None

    @property
    def is_touched(self) -> bool:
        """Whether rows of it are deleted."""
        return self.delete_file is not None or bool(self.inlined_deletes)


@dataclass(frozen=True)
class InlinedRows:
    """The visible rows of one inlined-data table, decoded to Python values of the columns' types.

    Values: bool, int, float, Decimal, str, bytes, date, time, datetime (aware for timestamptz), list, dict (struct: by name), and for
    map a list of (key, value) pairs, for a variant its value and its metadata in Parquet's encoding; types that Python has no value for
    (interval, timetz, timestamp_ns, infinities) are text.
    """

    table_name: str
    columns: tuple[Column, ...]
    """The layout of this table: the columns as of its schema version. Match to the current ones by `column_id`."""
    row_ids: Sequence[int] = ()
    begin_snapshots: Sequence[int] = ()
    rows: Sequence[tuple[Any, ...]] = ()


@dataclass(frozen=True)
class InlinedVersions:
    """All versions of the rows of one inlined-data table that a snapshot or an earlier one began, by row id and begin."""

    table_name: str
    columns: tuple[Column, ...]
    row_ids: tuple[int, ...]
    begin_snapshots: tuple[int, ...]
    end_snapshots: tuple[int | None, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class InlinedDeletes:
    """What the catalog holds of the deletes on one data file, which a later snapshot may have ended."""

    data_file_id: int
    path: str
    snapshots: Mapping[int, int]
    """By position, the snapshot that deleted it."""
    delete_file: DeleteFile | None
    """The file that holds other deletes on it."""
    entries: int
    """Rows in the catalog; more than positions where one was deleted twice."""


@dataclass(frozen=True)
class FlushedFile:
    """A data file made of inlined rows, with their row ids and snapshot ids in it."""

    file: WrittenFile
    begin_snapshot: int
    """The smallest snapshot id in the file."""
    partial_max: int
    """The greatest."""
    first_row_id: int
    delete_file: WrittenDeleteFile | None = None
    """Its rows that ended; the data file id in it means nothing."""


@dataclass(frozen=True)
class ScanPlan:
    """Everything needed to read a table at a snapshot, without asking the file system what exists."""

    name: str
    """The table's name for messages, `schema.table`."""
    columns: tuple[Column, ...]
    files: tuple[DataFile, ...] = ()
    inlined: tuple[InlinedRows, ...] = ()
    pruned_files: int = 0
    """Files that the catalog's statistics showed to hold no row of interest."""
    reused_names: frozenset[tuple[int | None, str]] = frozenset()
    """(parent column id or None, lower-case name) of every name that more than one column id ever had or that a live column did not
    always have: such a column must not be read by its own name (trap T1)."""
    retyped: frozenset[int] = frozenset()
    """Ids of columns whose stored type has changed: files may hold them in an older type."""


@dataclass(frozen=True)
class ChangePlan:
    """The changes of a table from one snapshot to another, both included."""

    inserted: ScanPlan
    """Rows that began in the range."""
    ended: ScanPlan
    """Rows whose file or inlined row ended in the range, without those that were deleted before. Of inlined rows `begin_snapshots` are
    those that ended them."""
    ends: Mapping[int, int]
    """Data file of `ended` → the snapshot that ended it."""
    touched: ScanPlan
    """Files of which single rows may have been deleted in the range; all their rows."""
    delete_files: Mapping[int, tuple[DeleteFile, ...]]
    """Data file of `touched` → all its delete files up to the end of the range, oldest first, each with its entries up to there."""
    inlined_deletes: Mapping[int, Mapping[int, int]]
    """Data file of `touched` → position → the snapshot that deleted it, as the catalog holds it, up to the end of the range."""


@dataclass(frozen=True)
class ColumnRange:
    """Rows of interest have `low <= column <= high` (texts in the encoding of column statistics); a bound of None is open."""

    column_id: int
    low: str | None = None
    high: str | None = None


@dataclass(frozen=True)
class ColumnFilter:
    """Rows of interest have a value of the column in one of the ranges, or NULL if `nulls`. An open range holds every value."""

    column_id: int
    ranges: tuple[ColumnRange, ...] = ()
    nulls: bool = False

    @classmethod
    def between(cls, column_id: int, low: str | None, high: str | None) -> ColumnFilter:
        """One range."""
        return cls(column_id, (ColumnRange(column_id, low, high),))


Condition = tuple[ColumnFilter, ...]
"""What a row must pass, all of it; the empty one is passed by every row."""

Filters = Sequence[ColumnFilter] | Callable[[], Sequence[ColumnFilter]]
"""Filters that rows of interest pass, all of them; a function is only asked if there is more than one file to choose from."""


@dataclass(frozen=True)
class WriteOptions:
    """How data files are written; from `ducklake_metadata`, narrowest scope first (the specification's configuration page)."""

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
