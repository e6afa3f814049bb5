"""The values that the catalog and Spark exchange, such as `ScanPlan` (files, deletes and rows to read) and `WrittenFile` (a new file).

Specification: the tables `ducklake_data_file`, `ducklake_delete_file`, `ducklake_file_column_stats`, `ducklake_name_mapping`,
`ducklake_inlined_data_tables`. All paths are resolved (see `objects`). Ids are negative for files that are staged but not committed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any

from .objects import Column, Partitioning

ROW_ID_FIELD_ID = 2147483540
ROW_ID_COLUMN = "_ducklake_internal_row_id"
SNAPSHOT_ID_FIELD_ID = 2147483539
SNAPSHOT_ID_COLUMN = "_ducklake_internal_snapshot_id"
ARROW_FIELD_ID = b"PARQUET:field_id"
"""The key in the metadata of an Arrow field where PyArrow reads and writes the field id."""
EMBEDDED_IDS = frozenset({ROW_ID_FIELD_ID, SNAPSHOT_ID_FIELD_ID})
ROW_ID = Column(ROW_ID_FIELD_ID, ROW_ID_COLUMN, "int64")
"""The column of row ids in files whose rows do not have consecutive new row ids: new versions of rows, and rows of several files."""
SNAPSHOT_ID = Column(SNAPSHOT_ID_FIELD_ID, SNAPSHOT_ID_COLUMN, "int64")
"""The column with the snapshot that inserted each row."""
DELETE_PATH_FIELD_ID = 2147483646
DELETE_POSITION_FIELD_ID = 2147483645

# Columns that a scan with lineage adds.
LINEAGE_FILE = "_ducklake_file"
"""BIGINT: the data file id; INLINED_BASE - i for the rows of `ScanPlan.inlined[i]`."""
LINEAGE_POSITION = "_ducklake_position"
"""BIGINT: the position in the file; the row id for inlined rows."""
LINEAGE_ROW_ID = "_ducklake_row_id"
"""BIGINT: the row id."""
INLINED_BASE = -(2**40)
"""The value of LINEAGE_FILE for the rows of `ScanPlan.inlined[0]`; no file id is this small."""


@dataclass(frozen=True)
class ColumnStats:
    """A row of `ducklake_file_column_stats` for one leaf column; bounds are strings in the encoding of the reference implementation."""

    column_id: int
    size_bytes: int | None = None
    value_count: int | None = None
    """The number of values that are not NULL."""
    null_count: int | None = None
    min_value: str | None = None
    max_value: str | None = None
    contains_nan: bool | None = None
    extra_stats: str | None = None
    is_rounded: bool = False
    """Whether a bound was rounded outward, so that it need not be a value of the column. The catalog does not store it."""


@dataclass(frozen=True)
class WrittenFile:
    """A Parquet data file that exists but is not yet registered in the catalog."""

    path: str
    record_count: int
    size_bytes: int
    footer_size: int
    """The length of the serialized footer in bytes, without the 8 bytes that follow it."""
    column_stats: tuple[ColumnStats, ...] = ()
    partition_values: tuple[str | None, ...] = ()
    """One per partition key of the table, in order; empty if the table is not partitioned."""
    embedded_row_ids: bool = False
    """Whether the file has the column `_ducklake_internal_row_id`, because its rows keep the row ids that they had."""
    mapping: tuple[MappedField, ...] | None = None
    """Not None for a file that another program wrote: its fields map to columns by name. A ROLLBACK does not remove such a file."""
    encryption_key: str | None = field(default=None, repr=False)
    """The key of an encrypted file, in base64. It is a secret, as in the other classes here, so it is not part of any text."""


NO_LIMIT = 2**62
"""The `DeleteFile.snapshot_limit` of a delete file whose entries all apply."""


@dataclass(frozen=True)
class DeleteFile:
    """A delete file that a reader must apply."""

    delete_file_id: int
    path: str
    format: str
    delete_count: int
    size_bytes: int
    footer_size: int | None
    begin_snapshot: int
    snapshot_limit: int
    """Entries with a greater embedded snapshot id do not apply, because the scan reads an earlier snapshot."""
    others: tuple[DeleteFile, ...] = ()
    """Older live delete files of the same data file. DuckDB leaves them if it flushes deletes of a data file that it has rewritten."""
    encryption_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class EarlierDeletes:
    """The committed deletes of a data file."""

    delete_file_id: int | None
    """The id of its delete file; None if it has none."""
    inlined: tuple[int, ...]
    """The positions that are deleted inline."""


@dataclass(frozen=True)
class WrittenDeleteFile:
    """A delete file that exists but is not yet registered in the catalog.

    It contains *all* deleted positions of its data file, except the inlined ones.
    """

    data_file_id: int
    path: str
    delete_count: int
    size_bytes: int
    footer_size: int
    min_snapshot: int | None = None
    """The smallest embedded snapshot id; None for a file without embedded ids."""
    max_snapshot: int | None = None
    """The greatest embedded snapshot id; None for a file without embedded ids."""
    format: str = "parquet"
    """`parquet` or `puffin`."""
    encryption_key: str | None = field(default=None, repr=False)
    earlier: EarlierDeletes | None = None
    """The deletes that the data file had when this file was written; None if they do not matter."""


LIST_ELEMENT_NAMES = ("list", "element", "array")
"""The names of a list's element in a name mapping that mean the same (DuckDB writes `list`); any other is that of the repeated node."""


@dataclass(frozen=True)
class MappedField:
    """A node of a name mapping: the file's field `source_name` maps to the column `column_id`."""

    source_name: str
    column_id: int
    children: tuple[MappedField, ...] = ()
    is_partition: bool = False
    """Whether the value comes from a directory `source_name=value` in the file's path instead of the file."""


@dataclass(frozen=True)
class DataFile:
    """A data file that a scan reads."""

    data_file_id: int
    path: str
    record_count: int
    size_bytes: int
    footer_size: int | None
    row_id_start: int | None
    """The row id of the first row. It may be None if the file contains a row id for each row, and is then ignored."""
    begin_snapshot: int
    delete_file: DeleteFile | None = None
    inlined_deletes: tuple[int, ...] = ()
    """Positions deleted by rows of `ducklake_inlined_delete_<table>`, in addition to `delete_file`."""
    mapping: tuple[MappedField, ...] | None = None
    """The name mapping; None if the file's fields match columns by field id."""
    rows_until_snapshot: int | None = None
    """Not None if a reader must skip rows with a greater embedded snapshot id: the file has rows of later snapshots."""
    rows_from_snapshot: int | None = None
    """Not None if a reader must skip rows with a smaller embedded snapshot id."""
    encryption_key: str | None = field(default=None, repr=False)

    @property
    def has_deletes(self) -> bool:
        """Whether some rows of the file are deleted."""
        return self.delete_file is not None or bool(self.inlined_deletes)

    @property
    def has_snapshot_range(self) -> bool:
        """Whether a scan reads only the rows that a range of snapshots inserted."""
        return self.rows_until_snapshot is not None or self.rows_from_snapshot is not None

    @property
    def is_restricted(self) -> bool:
        """Whether a scan must leave out some rows: deleted rows, or rows of other snapshots."""
        return self.has_deletes or self.has_snapshot_range

    @property
    def is_encrypted(self) -> bool:
        """Whether the file is encrypted."""
        return self.encryption_key is not None

    @property
    def deleted_count(self) -> int:
        """An upper bound of the number of deleted rows."""
        files = () if self.delete_file is None else (self.delete_file, *self.delete_file.others)
        return len(self.inlined_deletes) + sum(file.delete_count for file in files)


@dataclass(frozen=True)
class InlinedRows:
    """The visible rows of one inlined-data table, decoded to Python values of the columns' types.

    Values are bool, int, float, Decimal, str, bytes, date, time, datetime (aware for timestamptz), list, dict (a struct, by name), a list
    of (key, value) pairs for a map, and (value, metadata) in Parquet's encoding for a variant. Values that Python cannot represent
    (interval, timetz, timestamp_ns, infinities) are strings.
    """

    table_name: str
    columns: tuple[Column, ...]
    """The columns as of this table's schema version; they match the current ones by `column_id`."""
    row_ids: Sequence[int] = ()
    begin_snapshots: Sequence[int] = ()
    rows: Sequence[tuple[Any, ...]] = ()

    @property
    def versions(self) -> list[tuple[str, int, int]]:
        """(name of the inlined-data table, row id, begin snapshot) of each row, which identifies a version of a row."""
        return [(self.table_name, *key) for key in zip(self.row_ids, self.begin_snapshots, strict=True)]

    def without(self, versions: Collection[tuple[str, int, int]]) -> InlinedRows:
        """Return these rows without the given versions."""
        return self.only([version not in versions for version in self.versions])

    def only(self, kept: Sequence[bool]) -> InlinedRows:
        """Return only the rows for which `kept` is true at the same index."""
        ids, begins = tuple(compress(self.row_ids, kept)), tuple(compress(self.begin_snapshots, kept))
        return replace(self, row_ids=ids, begin_snapshots=begins, rows=tuple(compress(self.rows, kept)))


@dataclass(frozen=True)
class InlinedVersions:
    """Versions of the rows of one inlined-data table, ordered by row id and begin snapshot."""

    table_name: str
    columns: tuple[Column, ...]
    row_ids: tuple[int, ...]
    begin_snapshots: tuple[int, ...]
    end_snapshots: tuple[int | None, ...]
    """The snapshot that ended each version; None if it is live."""
    rows: tuple[tuple[Any, ...], ...]
    partitioning: Partitioning | None = None
    """The partition spec for the files of these rows."""


@dataclass(frozen=True)
class InlinedDeletes:
    """The inlined deletes of one data file; the file may have ended since."""

    data_file_id: int
    path: str
    snapshots: Mapping[int, int]
    """Position → the snapshot that deleted it."""
    delete_file: DeleteFile | None
    """The delete file with the other deletes of this data file."""
    entries: int
    """The number of rows in the table of inlined deletes; greater than the number of positions if one was deleted twice."""


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
    """The positions of the rows in the new file that are already deleted; `data_file_id` is not used."""
    columns: tuple[Column, ...] = ()
    """The columns with which the file was written, which may be those of an earlier schema."""
    partition_id: int | None = None
    """The partition spec of the file's partition values."""


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
    """(id of the parent column or None, lower-case name) of each name that has belonged to two columns, or that a column has not always
    had. A column with such a name must not be read by name, because older files may use the name for another column."""
    retyped: frozenset[int] = frozenset()
    """The ids of columns whose type has changed, so that older files store them with an older type."""

    @property
    def max_rows(self) -> int:
        """An upper bound of the number of rows, which counts deleted rows of files."""
        return sum(file.record_count for file in self.files) + sum(len(inlined.rows) for inlined in self.inlined)

    @property
    def deleted_count(self) -> int:
        """An upper bound of the number of deleted rows in the files."""
        return sum(file.deleted_count for file in self.files)

    def including_deleted(self) -> ScanPlan:
        """Return the plan of a scan that also reads the deleted rows of the files."""
        files = [replace(file, delete_file=None, inlined_deletes=()) if file.has_deletes else file for file in self.files]
        return replace(self, files=tuple(files))


@dataclass(frozen=True)
class ChangePlan:
    """The files and inlined rows with the changes of a table from one snapshot to another, both included."""

    inserted: ScanPlan
    """Rows that were inserted in the range."""
    ended: ScanPlan
    """Rows that ended in the range with their whole file, or as inlined rows, without the rows deleted before that. For inlined rows,
    `begin_snapshots` contains the snapshots that ended them."""
    end_snapshots: Mapping[int, int]
    """Id of a data file of `ended` → the snapshot that ended it."""
    files_with_deletes: ScanPlan
    """Files from which some rows may have been deleted in the range; the plan reads all their rows, without applying the deletes."""
    delete_files: Mapping[int, tuple[DeleteFile, ...]]
    """Id of a data file of `files_with_deletes` → its delete files up to the end of the range, oldest first; later entries do not apply."""
    inlined_deletes: Mapping[int, Mapping[int, int]]
    """Id of a data file of `files_with_deletes` → position → the snapshot that deleted it; inlined deletes up to the end of the range."""

    @property
    def is_empty(self) -> bool:
        """Whether no file and no inlined row changed in the range."""
        parts = (self.inserted, self.ended, self.files_with_deletes)
        return not any(part.files or part.inlined for part in parts)


@dataclass(frozen=True)
class ColumnRange:
    """The condition `low <= column <= high`, with strings in the encoding of column statistics; a bound of None is open."""

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
"""A row must pass all of these filters; every row passes the empty condition."""

Filters = Sequence[ColumnFilter] | Callable[[], Sequence[ColumnFilter]]
"""A row must pass all of these filters. A function that computes them is called only if the table has more than one file."""


ROW_GROUP_ROWS = 122_880
"""DuckDB's default for the maximum number of rows in a row group."""
ROW_GROUP_BYTES = 128 * 1024 * 1024
"""Spark's default for the maximum size of a row group in bytes."""


@dataclass(frozen=True)
class WriteOptions:
    """The options for writing data files, from `ducklake_metadata`; the narrowest scope wins (specification: "Configuration")."""

    compression: str = "snappy"
    compression_level: int | None = None
    parquet_version: int = 1
    row_group_size: int | None = None
    """The maximum number of rows in a row group; None if the lake leaves it to the writer."""
    row_group_size_bytes: int | None = None
    """The maximum size of a row group in bytes; None for no limit."""
    target_file_size: int = 512 * 1024 * 1024
    """In bytes."""
    hive_file_pattern: bool = True
    """Whether files of partitioned tables are in directories `key=value`."""
    sort_on_insert: bool = True
    """Whether inserted rows are sorted by the table's sort order."""
    per_thread_output: bool = False
    """Whether each task writes a file of its own."""
    write_deletion_vectors: bool = False
    encrypted: bool = False
    """Whether the lake is encrypted: each file has a key of its own."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """Further options of Spark's Parquet writer."""
