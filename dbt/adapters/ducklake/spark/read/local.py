"""Read rows in this process, for statements to which a Spark scan would cost more than the rows: small tables, and rows with known keys.

Only rows that Spark would read without a conversion are read here: columns of leaf types, found by their field ids, in the type that the
scan requests. For any other table the functions return None, and Spark reads it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import types as T

from ...errors import LakeError
from ...format.files import INLINED_BASE, LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID, DataFile, ScanPlan
from ..files.storage import THREADS
from ..values.local import LocalRows, can_be_local
from ..values.types import struct_type
from .file_groups import group_files
from .inlined import InlinedColumn, inlined_columns
from .inlined_values import arrow_type
from .local_file import FileReader, Keys, SparkMustReadError

MAX_ROWS = 10_000
"""The maximum number of rows of a table that is read here, with its deleted rows."""
MAX_BYTES = 512 * 1024
"""The maximum size of the rows, because Spark sends a local relation with each task. Files are smaller than their rows."""
MAX_FILES = 16
"""The maximum number of files of a table that is read here."""
MAX_SEARCHED_FILES = 64
"""The maximum number of files that are read to find rows by their keys."""
MAX_SEARCHED_BYTES = 128 * 2**20
"""The maximum size of the columns that are read to find rows by their keys, as they are in files."""
MAX_FOUND_ROWS = 100_000
"""The maximum number of rows with the keys that are read here."""
MAX_FOUND_BYTES = 64 * 2**20
"""The maximum size of these rows in memory."""
_LINEAGE = (LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID)


def local_rows(plan: ScanPlan, *, lineage: bool = False) -> LocalRows | None:
    """Return the rows of a scan; None if they are too many, or if Spark must read them.

    Args:
        plan: the files and inlined rows to read.
        lineage: add the columns of lineage.
    """
    if len(plan.files) > MAX_FILES or plan.max_rows > MAX_ROWS or sum(file.size_bytes for file in plan.files) > MAX_BYTES:
        return None
    found = _rows(plan, {})
    if found is None or found.rows.nbytes > MAX_BYTES:
        return None
    width = len(found.schema.fields) - (0 if lineage else len(_LINEAGE))
    return LocalRows(found.rows.select(range(width)), T.StructType(found.schema.fields[:width]))


def rows_with_keys(plan: ScanPlan, keys: Keys) -> LocalRows | None:
    """Return the rows of a scan whose keys are among some values, with lineage. The result may contain other rows too.

    Args:
        plan: the files and inlined rows to read. Its columns contain the keys.
        keys: the values of each key; at least one key.

    Returns:
        The rows; None if they are too many, if they would be searched in too many files or bytes, or if Spark must read them.
    """
    if len(plan.files) > MAX_SEARCHED_FILES or sum(len(each.rows) for each in plan.inlined) > MAX_ROWS:
        return None
    if any(len(values) == 0 for values in keys.values()):  # NULL is equal to nothing
        plan = replace(plan, files=(), inlined=())
    found = _rows(plan, keys)
    return None if found is None or found.rows.nbytes > MAX_FOUND_BYTES else found


def _rows(plan: ScanPlan, keys: Keys) -> LocalRows | None:
    """Return the rows that have the keys, with lineage, or all rows without keys; None if Spark must read them."""
    fields = struct_type(plan.columns, ids=False).fields
    if any(_is_special(file) for file in plan.files) or not all(can_be_local(field.dataType) for field in fields):
        return None
    schema = T.StructType([*fields, *(T.StructField(name, T.LongType()) for name in _LINEAGE)])
    types = pa.schema([(field.name, arrow_type(field.dataType)) for field in schema.fields])
    try:
        parts = _rows_of_files(plan, types, keys)
        parts += [_rows_inlined(plan, index, types) for index in range(len(plan.inlined))]
    except (SparkMustReadError, LakeError, OSError, pa.ArrowException):  # Spark reads the rows, or reports the error
        return None
    return LocalRows(pa.concat_tables(parts) if parts else types.empty_table(), schema)


def _is_special(file: DataFile) -> bool:
    """Whether the file needs more than its columns by their field ids, so that Spark must read it."""
    return file.is_encrypted or file.has_snapshot_range or file.mapping is not None


def _rows_of_files(plan: ScanPlan, types: pa.Schema, keys: Keys) -> list[pa.Table]:
    """Read the rows of the data files.

    Raises:
        SparkMustReadError: a file needs a conversion, or too many rows or bytes would be read.
    """
    groups = group_files(plan)
    if any(group.by_name or group.partition_keys or not all(reading.is_plain for reading in group.readings) for group in groups):
        raise SparkMustReadError
    files = [(file, group) for group in groups for file in group.files]
    counts: list[int] = []

    def note_found(number: int) -> None:
        counts.append(number)
        if sum(counts) > MAX_FOUND_ROWS:
            raise SparkMustReadError

    with ExitStack() as opened, ThreadPoolExecutor(max_workers=THREADS) as pool:
        readers = list(pool.map(lambda each: opened.enter_context(FileReader(each[0], each[1], types, keys, note_found)), files))
        if keys and sum(reader.size() for reader in readers) > MAX_SEARCHED_BYTES:
            raise SparkMustReadError
        return [part for parts in pool.map(lambda reader: list(reader.parts()), readers) for part in parts]


def _rows_inlined(plan: ScanPlan, index: int, types: pa.Schema) -> pa.Table:
    rows = plan.inlined[index]
    arrays = [_inlined_values(each, field.type, len(rows.rows)) for each, field in zip(inlined_columns(plan, rows), types, strict=False)]
    row_ids = pa.array(rows.row_ids, pa.int64())
    file_ids = pa.repeat(pa.scalar(INLINED_BASE - index, pa.int64()), len(row_ids))
    return pa.Table.from_arrays([*arrays, file_ids, row_ids, row_ids], schema=types)


def _inlined_values(column: InlinedColumn, kind: pa.DataType, count: int) -> pa.Array:
    if column.reading is None or column.values is None:
        if column.column.initial_default is not None:
            raise SparkMustReadError
        return pa.nulls(count, kind)
    if not column.reading.is_plain:
        raise SparkMustReadError
    return column.values
