"""Read the rows of one data file in this process: all of them, or those with given values in the key columns.

Columns are found by their field ids, and must have the type that a Spark scan would request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import types as T

from ...format.files import ARROW_FIELD_ID, ROW_ID_FIELD_ID, DataFile
from ..files import storage
from ..files.deletes import deleted_keys
from ..values.types import FIELD_ID
from .file_groups import FileGroup

Keys: TypeAlias = "Mapping[str, pa.Array]"
"""Column name → values of its type, without NULL."""
_BATCH_ROWS = 65_536
"""The number of rows of a row group that are decoded at a time."""
_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())


class SparkMustReadError(Exception):
    """Spark must read the rows."""


class FileReader:
    """Reads the rows of a data file that have one of the given values in each key column; without keys, all rows."""

    def __init__(self, file: DataFile, group: FileGroup, types: pa.Schema, keys: Keys, note_found: Callable[[int], None]) -> None:
        """Open a file.

        Args:
            file: the file.
            group: how its columns are read.
            types: the columns of the table, in the order of `group.readings`, then the three lineage columns.
            keys: the values to find in each key column; empty to read all rows.
            note_found: called with the number of matching rows of a batch, deleted ones included; raises SparkMustReadError if the
                total is too large.
        """
        files, inner = storage.filesystem(file.path)
        self._file, self._types, self._note_found = file, types, note_found
        self._fields = [(reading.field, field.type) for reading, field in zip(group.readings, types, strict=False)]
        self._keys = {index: keys[field.name] for index, field in enumerate(types) if field.name in keys}
        self._parquet = pq.ParquetFile(inner, filesystem=files, pre_buffer=True)
        self._names = {_field_id(field): field.name for field in self._parquet.schema_arrow}
        schema = self._parquet.schema
        self._paths = [schema.column(index).path for index in range(len(schema))]

    def __enter__(self) -> FileReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._parquet.close()

    def size(self) -> int:
        """Return the compressed size in bytes of the columns to read, over all row groups."""
        names = {*self._key_names(), *self._other_names()}
        columns = [index for index, path in enumerate(self._paths) if path in names]
        return sum(group.column(index).total_compressed_size for group in self._row_groups() for index in columns)

    def parts(self) -> Iterator[pa.Table]:
        """Yield the matching rows that are not deleted, with their lineage.

        Raises:
            SparkMustReadError: there are too many rows with the keys, or Spark must read the file.
        """
        has_column_without_id = None in self._names
        if has_column_without_id or _has_old_dates(self._parquet.metadata.metadata or {}):
            raise SparkMustReadError
        first = 0
        for index, group in enumerate(self._row_groups()):
            if not self._keys:
                rows = self._parquet.read_row_group(index, columns=self._other_names(), use_threads=False)
                yield self._with_lineage(rows, pa.array(range(first, first + group.num_rows), pa.int64()))
            elif all(self._may_contain(group, key) for key in self._keys):
                yield from self._rows_with_keys(index, first)
            first += group.num_rows

    def _rows_with_keys(self, index: int, first: int) -> Iterator[pa.Table]:
        """Yield the rows of a row group that have the keys; `first` is the position of its first row."""
        found: list[tuple[pa.Table, pa.Array]] = []
        for start, batch in self._batches(index, self._key_names()):
            chosen = self._positions_of_keys(batch)
            if len(chosen):
                self._note_found(len(chosen))
                found.append((batch.take(chosen), pc.add(chosen, start)))
        if not found:
            return
        rows, positions = pa.concat_tables([keys for keys, _ in found]), pa.concat_arrays([each for _, each in found])
        other_names = self._other_names()
        if other_names:
            others = self._rows_at(index, other_names, positions)
            rows = pa.Table.from_arrays([*rows.columns, *others.columns], schema=pa.schema([*rows.schema, *others.schema]))
        yield self._with_lineage(rows, pc.add(positions, first))

    def _rows_at(self, index: int, names: list[str], positions: pa.Array) -> pa.Table:
        """Return columns of the rows at these positions of a row group.

        They are read in batches, because decoded strings may be far larger than in the file.
        """
        parts = []
        for start, batch in self._batches(index, names):
            inside = pc.and_(pc.greater_equal(positions, start), pc.less(positions, start + batch.num_rows))
            parts.append(batch.take(pc.subtract(positions.filter(inside), start)))
        return pa.concat_tables(parts)

    def _batches(self, index: int, names: list[str]) -> Iterator[tuple[int, pa.Table]]:
        """Yield the rows of a row group in parts, each with the position of its first row in the row group."""
        start = 0
        for batch in self._parquet.iter_batches(_BATCH_ROWS, row_groups=[index], columns=names, use_threads=False):
            yield start, pa.Table.from_batches([batch])
            start += batch.num_rows

    def _may_contain(self, group: pq.RowGroupMetaData, key: int) -> bool:
        """Whether a row group may contain one of the values of a key, judging by the min/max statistics of an integer column."""
        columns = [index for index, path in enumerate(self._paths) if path == self._name(key)]
        if not pa.types.is_integer(self._fields[key][1]) or len(columns) != 1:
            return True
        stats, bounds = group.column(columns[0]).statistics, self._bounds[key]
        if stats is None or not stats.has_min_max or not isinstance(stats.min, int) or not isinstance(stats.max, int):
            return True
        return bool(stats.max >= bounds["min"] and stats.min <= bounds["max"])

    @cached_property
    def _bounds(self) -> dict[int, dict[str, int]]:
        return {key: pc.min_max(values).as_py() for key, values in self._keys.items() if pa.types.is_integer(values.type)}

    @cached_property
    def _deleted(self) -> pa.Array:
        return deleted_keys([(0, self._file)])

    def _positions_of_keys(self, rows: pa.Table) -> pa.Array:
        by_id = _by_id(rows)
        found: Any = True
        for key, values in self._keys.items():
            column = _column(by_id, *self._fields[key], rows.num_rows)
            found = pc.and_(found, pc.is_in(column, value_set=values))
        return pc.indices_nonzero(found).cast(pa.int64())

    def _with_lineage(self, rows: pa.Table, positions: pa.Array) -> pa.Table:
        """Return the columns of the table and the lineage, without the deleted rows."""
        by_id = _by_id(rows)
        arrays = [_column(by_id, field, kind, rows.num_rows) for field, kind in self._fields]
        row_ids = _row_ids(by_id.get(ROW_ID_FIELD_ID), self._file, positions)
        arrays += [pa.repeat(pa.scalar(self._file.data_file_id, pa.int64()), rows.num_rows), positions, row_ids]
        found = pa.Table.from_arrays(arrays, schema=self._types)
        return found.filter(pc.invert(pc.is_in(positions, value_set=self._deleted))) if self._file.has_deletes else found

    def _row_groups(self) -> list[pq.RowGroupMetaData]:
        metadata = self._parquet.metadata
        return [metadata.row_group(index) for index in range(metadata.num_row_groups)]

    def _name(self, index: int) -> str | None:
        """Return the name of a column in the file; None if the file does not have it."""
        return self._names.get(self._fields[index][0].metadata.get(FIELD_ID))

    def _key_names(self) -> list[str]:
        return [name for index in self._keys if (name := self._name(index)) is not None]

    def _other_names(self) -> list[str]:
        names = [self._name(index) for index in range(len(self._fields)) if index not in self._keys]
        return [name for name in (*names, self._names.get(ROW_ID_FIELD_ID)) if name is not None]


def _by_id(rows: pa.Table) -> dict[int | None, pa.ChunkedArray]:
    return {_field_id(field): column for field, column in zip(rows.schema, rows.columns, strict=True)}


def _has_old_dates(metadata: Mapping[bytes, bytes]) -> bool:
    """Whether the file was written with Spark 2's hybrid Julian/Gregorian calendar, so that Spark must rebase its dates and timestamps."""
    version = metadata.get(b"org.apache.spark.version", b"3")
    return b"org.apache.spark.legacyDateTime" in metadata or version.split(b".")[0] in (b"1", b"2")


def _row_ids(embedded: pa.ChunkedArray | None, file: DataFile, positions: pa.Array) -> pa.Array | pa.ChunkedArray:
    """Return the row ids of rows at these positions: those stored in the file, and computed ones where it has none.

    Raises:
        SparkMustReadError: an id is neither stored nor computable.
    """
    computed = None if file.row_id_start is None else pc.add(positions, file.row_id_start)
    if embedded is None or embedded.null_count:
        if computed is None:
            raise SparkMustReadError
        return computed if embedded is None else pc.coalesce(embedded, computed)
    return embedded


def _field_id(field: pa.Field) -> int | None:
    found = (field.metadata or {}).get(ARROW_FIELD_ID)
    return None if found is None else int(found)


def _column(by_id: dict[int | None, pa.ChunkedArray], field: T.StructField, kind: pa.DataType, count: int) -> pa.Array | pa.ChunkedArray:
    """Return a column of a file in the type that Spark would read.

    Raises:
        SparkMustReadError: Spark must convert it, or fill in a default.
    """
    found = by_id.get(field.metadata.get(FIELD_ID))
    if found is None:
        if "EXISTS_DEFAULT" in field.metadata:
            raise SparkMustReadError
        return pa.nulls(count, kind)
    if found.type == kind:
        return found
    if found.type in _INTEGERS and kind in _INTEGERS and found.type.bit_width < kind.bit_width:
        return found.cast(kind)
    raise SparkMustReadError
