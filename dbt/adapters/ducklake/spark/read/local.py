"""Read the rows of a small table in this process, for statements to which a Spark scan would cost more than its rows.

Only rows that Spark would read without a conversion are read here: columns of leaf types, found by their field ids, in the type that the
scan requests. For any other table there are none, and Spark reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import types as T

from ...errors import LakeError
from ...format.files import (
    ARROW_FIELD_ID,
    INLINED_BASE,
    LINEAGE_FILE,
    LINEAGE_POSITION,
    LINEAGE_ROW_ID,
    ROW_ID_FIELD_ID,
    DataFile,
    ScanPlan,
)
from ..files import storage
from ..files.deletes import deleted_keys
from ..files.physical import THREADS
from ..values.local import LocalRows, can_be_local
from ..values.types import FIELD_ID, struct_type
from .file_groups import FileGroup, group_files
from .inlined import InlinedColumn, inlined_columns
from .inlined_values import arrow_type

MAX_ROWS = 10_000
"""The maximum number of rows of a table that is read here, with its deleted rows."""
MAX_BYTES = 512 * 1024
"""The maximum size of the rows, because Spark sends a local relation with each task. Files are smaller than their rows."""
MAX_FILES = 16
_LINEAGE = (LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID)
_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())


class _SparkMustReadError(Exception):
    """Spark must read the rows."""


def local_rows(plan: ScanPlan, *, lineage: bool = False) -> LocalRows | None:
    """Return the rows of a scan; None if they are too many, or if Spark must read them.

    Args:
        plan: the files and inlined rows to read.
        lineage: add the columns of lineage.
    """
    if len(plan.files) > MAX_FILES or plan.max_rows > MAX_ROWS or sum(file.size_bytes for file in plan.files) > MAX_BYTES:
        return None
    fields = struct_type(plan.columns, ids=False).fields
    if any(_is_special(file) for file in plan.files) or not all(can_be_local(field.dataType) for field in fields):
        return None
    schema = T.StructType([*fields, *(T.StructField(name, T.LongType()) for name in _LINEAGE)])
    types = pa.schema([(field.name, arrow_type(field.dataType)) for field in schema.fields])
    try:
        parts = [part for group in group_files(plan) for part in _rows_of_files(group, types)]
        parts += [_rows_inlined(plan, index, types) for index in range(len(plan.inlined))]
    except (_SparkMustReadError, LakeError, OSError, pa.ArrowException):  # Spark reads the rows, or reports the error
        return None
    rows = pa.concat_tables(parts) if parts else types.empty_table()
    if rows.nbytes > MAX_BYTES:
        return None
    return LocalRows(rows, schema) if lineage else LocalRows(rows.select([field.name for field in fields]), T.StructType(fields))


def _is_special(file: DataFile) -> bool:
    return file.is_encrypted or file.has_snapshot_range or file.mapping is not None


def _rows_of_files(group: FileGroup, types: pa.Schema) -> list[pa.Table]:
    if group.by_name or group.partition_keys or not all(reading.is_plain for reading in group.readings):
        raise _SparkMustReadError
    with ThreadPoolExecutor(max_workers=THREADS) as pool:
        return list(pool.map(lambda file: _rows_of_file(file, group, types), group.files))


def _rows_of_file(file: DataFile, group: FileGroup, types: pa.Schema) -> pa.Table:
    files, inner = storage.filesystem(file.path)
    with pq.ParquetFile(inner, filesystem=files) as parquet:
        if _has_old_dates(parquet.metadata.metadata or {}):
            raise _SparkMustReadError
        found = parquet.read(use_threads=False)
    by_id = {_field_id(field): column for field, column in zip(found.schema, found.columns, strict=True)}
    if None in by_id:
        raise _SparkMustReadError
    arrays = [_column(by_id, reading.field, field.type, found.num_rows) for reading, field in zip(group.readings, types, strict=False)]
    positions = pa.array(range(found.num_rows), pa.int64())
    row_ids = _row_ids(by_id.get(ROW_ID_FIELD_ID), file, positions)
    arrays += [pa.repeat(pa.scalar(file.data_file_id, pa.int64()), found.num_rows), positions, row_ids]
    rows = pa.Table.from_arrays(arrays, schema=types)
    if not file.has_deletes:
        return rows
    return rows.filter(pc.invert(pc.is_in(positions, value_set=deleted_keys([(0, file)]))))


def _has_old_dates(metadata: Mapping[bytes, bytes]) -> bool:
    """Whether Spark wrote the file with the calendar that it had before version 3, so that it converts dates when it reads them."""
    version = metadata.get(b"org.apache.spark.version", b"3")
    return b"org.apache.spark.legacyDateTime" in metadata or version.split(b".")[0] in (b"1", b"2")


def _row_ids(embedded: pa.ChunkedArray | None, file: DataFile, positions: pa.Array) -> pa.Array | pa.ChunkedArray:
    """Return the row ids of a file: embedded ones have priority."""
    computed = None if file.row_id_start is None else pc.add(positions, file.row_id_start)
    if embedded is None or embedded.null_count:
        if computed is None:
            raise _SparkMustReadError
        return computed if embedded is None else pc.coalesce(embedded, computed)
    return embedded


def _field_id(field: pa.Field) -> int | None:
    found = (field.metadata or {}).get(ARROW_FIELD_ID)
    return None if found is None else int(found)


def _column(by_id: dict[int | None, pa.ChunkedArray], field: T.StructField, kind: pa.DataType, count: int) -> pa.Array | pa.ChunkedArray:
    """Return a column of a file in the type that Spark would read.

    Raises:
        _SparkMustReadError: Spark must convert it, or fill in a default.
    """
    found = by_id.get(field.metadata.get(FIELD_ID))
    if found is None:
        if "EXISTS_DEFAULT" in field.metadata:
            raise _SparkMustReadError
        return pa.nulls(count, kind)
    if found.type == kind:
        return found
    if found.type in _INTEGERS and kind in _INTEGERS and found.type.bit_width < kind.bit_width:
        return found.cast(kind)
    raise _SparkMustReadError


def _rows_inlined(plan: ScanPlan, index: int, types: pa.Schema) -> pa.Table:
    rows = plan.inlined[index]
    arrays = [_inlined_values(each, field.type, len(rows.rows)) for each, field in zip(inlined_columns(plan, rows), types, strict=False)]
    row_ids = pa.array(rows.row_ids, pa.int64())
    file_ids = pa.repeat(pa.scalar(INLINED_BASE - index, pa.int64()), len(row_ids))
    return pa.Table.from_arrays([*arrays, file_ids, row_ids, row_ids], schema=types)


def _inlined_values(column: InlinedColumn, kind: pa.DataType, count: int) -> pa.Array:
    if column.reading is None or column.values is None:
        if column.column.initial_default is not None:
            raise _SparkMustReadError
        return pa.nulls(count, kind)
    if not column.reading.is_plain:
        raise _SparkMustReadError
    return column.values
