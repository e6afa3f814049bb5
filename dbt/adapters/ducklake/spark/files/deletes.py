"""Delete files: the positions of deleted rows of one data file, read and written by the driver, without Spark.

Specification: "ducklake_delete_file". A file has the columns `file_path` and `pos`, and `_ducklake_internal_snapshot_id` if it contains the
deletes of several snapshots. Positions are strictly ascending. A deletion vector has no snapshot ids, so it is written only for the first
delete of a data file (`docs/decisions/0010`). It is never encrypted, so an encrypted lake gets delete files.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...errors import DamagedFileError, LakeError, MissingFileError
from ...format.deletion_vectors import encode_deletion_vector, read_deletion_vector
from ...format.files import (
    ARROW_FIELD_ID,
    DELETE_PATH_FIELD_ID,
    DELETE_POSITION_FIELD_ID,
    SNAPSHOT_ID,
    SNAPSHOT_ID_COLUMN,
    SNAPSHOT_ID_FIELD_ID,
    DataFile,
    DeleteFile,
    WriteOptions,
    WrittenDeleteFile,
)
from ...format.objects import Column
from ...format.paths import delete_file_name, with_separator
from . import storage
from .cache import FileCache
from .encrypted_files import read_columns, write_table
from .footer_bytes import footer_length, parse_footer, read_footer

MAX_CACHED_BYTES = 64 * 1024 * 1024
"""The maximum size of the positions that this process keeps, which most statements and all snapshots read again."""
POSITION_BITS = 40
"""The bits of a position in a key; no file has 2^40 rows."""
_FILE = (Column(DELETE_PATH_FIELD_ID, "file_path", "varchar"), Column(DELETE_POSITION_FIELD_ID, "pos", "int64"), SNAPSHOT_ID)
_COLUMNS = tuple(zip(_FILE, (pa.string(), pa.int64(), pa.int64()), strict=True))

_TABLE_BYTES = 2048
"""About the size of an Arrow table without its values."""
_READ = FileCache[pa.Table](MAX_CACHED_BYTES, lambda table: int(table.nbytes) + _TABLE_BYTES)


def deleted_keys(files: Iterable[tuple[int, DataFile]]) -> pa.Array:
    """Return a key for each deleted row of data files, by their delete files and inlined deletes: `number << POSITION_BITS | position`.

    Args:
        files: a number for each data file, and the file.
    """
    with ThreadPoolExecutor(max_workers=storage.THREADS) as pool:
        return pa.concat_arrays([pa.array([], pa.int64()), *pool.map(lambda each: _keys_of(*each), files)])


def _keys_of(number: int, file: DataFile) -> pa.Array:
    found = [pa.array(file.inlined_deletes, pa.int64())]
    if file.delete_file is not None:
        found += positions_table(file.delete_file).column("pos").chunks
    return pc.add(pa.concat_arrays(found), number << POSITION_BITS)


def positions_table(file: DeleteFile) -> pa.Table:
    """Return the entries of a delete file: ascending `pos`, and the snapshot ids if the file has them, both int64.

    Entries with a snapshot id greater than `file.snapshot_limit` are left out. With `file.others`, a position has its earliest snapshot.

    Raises:
        LakeError: the file is missing or is not a delete file.
    """
    if not file.others:
        return _positions_of_one(file)
    found = []
    for each in (file, *file.others):
        table = _positions_of_one(each)
        if SNAPSHOT_ID_COLUMN not in table.column_names:
            table = table.append_column(SNAPSHOT_ID_COLUMN, pa.array([each.begin_snapshot] * len(table), pa.int64()))
        found.append(table.set_column(1, SNAPSHOT_ID_COLUMN, pc.fill_null(table.column(1), each.begin_snapshot)))
    earliest = pa.concat_tables(found).group_by("pos").aggregate([(SNAPSHOT_ID_COLUMN, "min")]).sort_by("pos")
    return earliest.select(["pos", f"{SNAPSHOT_ID_COLUMN}_min"]).rename_columns(["pos", SNAPSHOT_ID_COLUMN])


def _positions_of_one(file: DeleteFile) -> pa.Table:
    try:
        table = _READ.get(file.path, (file.format.lower(), file.encryption_key), lambda: _read(file))
    except FileNotFoundError as error:
        raise MissingFileError(f"the delete file {file.path} does not exist: the lake has lost a file", file.path) from error
    except (LakeError, pa.ArrowException, ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the file system failed
            raise
        raise DamagedFileError(file.path, str(error)) from error
    if table.num_columns == 2:
        since = table.column(1)  # NULL: the snapshot that began the file
        counts = pc.or_kleene(pc.is_null(since), pc.less_equal(since, file.snapshot_limit))
        if not pc.all(counts).as_py():  # without a filter, no entry is copied
            table = table.filter(counts)
    return table


def _read(file: DeleteFile) -> pa.Table:
    """Return all entries of one delete file."""
    files, inner = storage.filesystem(file.path)
    if file.format.lower() == "puffin":
        with files.open_input_file(inner) as source:
            found = read_deletion_vector(source.read())
            return pa.table({"pos": pa.Array.from_buffers(pa.int64(), len(found), [None, pa.py_buffer(found)])})
    if file.encryption_key is not None:
        footer = parse_footer(read_footer(file.path, storage.size(file.path), file.encryption_key))
        wanted = _wanted(footer.schema.to_arrow_schema().names)
        table = read_columns(file.path, file.encryption_key, dict.fromkeys(wanted, pa.int64()))
    else:
        with pq.ParquetFile(inner, filesystem=files) as parquet:
            wanted = _wanted(parquet.schema_arrow.names)
            table = parquet.read(columns=wanted).select(wanted)
            if any(not pa.types.is_int64(kind) for kind in table.schema.types):
                raise LakeError("it is not a delete file, because its positions or snapshot ids are not numbers of 64 bits")
    return table.rename_columns(["pos", *wanted[1:]])


def _wanted(names: Sequence[str]) -> list[str]:
    """Return the names of the columns with the positions and, if the file has them, the snapshot ids.

    As in DuckDB, the positions are the second column, which may have any name. A third column may also be that of Iceberg's delete
    files, which has the deleted rows.

    Raises:
        LakeError: it is not a delete file.
    """
    if len(names) not in (2, 3):
        raise LakeError(
            f"it is not a delete file: its columns are {', '.join(names)}, and not file_path, pos and perhaps {SNAPSHOT_ID_COLUMN}"
        )
    return [name for name in names[1:] if name in (names[1], SNAPSHOT_ID_COLUMN)]


def write_delete_file(
    data_path: str,
    data_file_id: int,
    directory: str,
    positions: Sequence[int] | pa.Array,
    snapshot_ids: Sequence[int] | pa.Array | None = None,
    *,
    encrypted: bool = False,
) -> WrittenDeleteFile:
    """Write a delete file with all deleted positions of a data file.

    Args:
        data_path: the data file's full path; readers ignore it.
        data_file_id: the data file's id, for the catalog.
        directory: the directory of the new file: the table's path.
        positions: at least one position, strictly ascending.
        snapshot_ids: for each position, the snapshot that deleted it; None for the first delete of a data file.
        encrypted: whether the lake is encrypted.

    Raises:
        ValueError: the positions are empty or not strictly ascending.
    """
    offsets = _checked(positions)
    number = len(offsets)
    ids = None if snapshot_ids is None else _integers(snapshot_ids)
    path = with_separator(directory) + delete_file_name()
    table = _entries(data_path, offsets, ids)
    bounds = (None, None) if ids is None else (pc.min(ids).as_py(), pc.max(ids).as_py())
    if encrypted:
        width = table.num_columns
        plain = table.cast(pa.schema([(column.name, kind) for column, kind in _COLUMNS[:width]]))
        file = write_table(plain, _FILE[:width], path, WriteOptions())
        sizes = (file.size_bytes, file.footer_size)
        return WrittenDeleteFile(data_file_id, path, number, *sizes, bounds[0], bounds[1], encryption_key=file.encryption_key)
    repeating = [name for name in table.column_names if name != "pos"]
    with storage.written_locally(path) as local:
        pq.write_table(table, local, store_schema=False, use_dictionary=repeating)
        size = storage.size(local)
        footer_size = footer_length(local, size)
    return WrittenDeleteFile(
        data_file_id=data_file_id,
        path=path,
        delete_count=number,
        size_bytes=size,
        footer_size=footer_size,
        min_snapshot=bounds[0],
        max_snapshot=bounds[1],
    )


def _entries(data_path: str, positions: pa.Array, snapshot_ids: pa.Array | None) -> pa.Table:
    """Return the rows of a delete file, with the path of the data file as a dictionary of one value."""
    indices = pa.Array.from_buffers(pa.int8(), len(positions), [None, pa.py_buffer(bytes(len(positions)))])
    columns = [pa.DictionaryArray.from_arrays(indices, pa.array([data_path])), positions]
    fields = [
        _field("file_path", columns[0].type, DELETE_PATH_FIELD_ID),
        _field("pos", pa.int64(), DELETE_POSITION_FIELD_ID),
    ]
    if snapshot_ids is not None:
        columns.append(snapshot_ids)
        fields.append(_field(SNAPSHOT_ID_COLUMN, pa.int64(), SNAPSHOT_ID_FIELD_ID))
    return pa.table(columns, schema=pa.schema(fields))


def write_deletion_vector(data_file_id: int, directory: str, positions: Sequence[int] | pa.Array) -> WrittenDeleteFile:
    """Write the first delete of a data file as a deletion vector; the arguments are those of `write_delete_file`.

    Raises:
        ValueError: the positions are empty or not strictly ascending.
    """
    offsets = _checked(positions)
    content = encode_deletion_vector(array("Q", memoryview(offsets.buffers()[1])[8 * offsets.offset :][: 8 * len(offsets)].tobytes()))
    path = (with_separator(directory) + delete_file_name()).removesuffix(".parquet") + ".puffin"
    with storage.written_locally(path) as local:
        Path(local).write_bytes(content)
    return WrittenDeleteFile(data_file_id, path, len(offsets), len(content), footer_size=0, format="puffin")


def with_snapshot(file: WrittenDeleteFile, after: int, snapshot_id: int) -> WrittenDeleteFile:
    """Write a delete file with snapshot ids again, under a new name in the same directory; the old file is not removed.

    Args:
        file: the delete file.
        after: entries with a later snapshot than this get `snapshot_id`.
        snapshot_id: the new snapshot id.
    """
    if file.encryption_key is not None:
        entries = read_columns(file.path, file.encryption_key, {column.name: kind for column, kind in _COLUMNS}).combine_chunks()
    else:
        files, inner = storage.filesystem(file.path)
        with pq.ParquetFile(inner, filesystem=files) as parquet:
            entries = parquet.read(columns=["file_path", "pos", SNAPSHOT_ID_COLUMN]).combine_chunks()
    since = entries.column(SNAPSHOT_ID_COLUMN).combine_chunks()
    since = pc.if_else(pc.greater(since, after), pa.scalar(snapshot_id, pa.int64()), since)
    data_path = entries.column("file_path")[0].as_py()
    directory = file.path.rpartition("/")[0]
    positions = entries.column("pos").combine_chunks()
    return write_delete_file(data_path, file.data_file_id, directory, positions, since, encrypted=file.encryption_key is not None)


def _checked(positions: Sequence[int] | pa.Array) -> pa.Array:
    offsets = _integers(positions)
    if len(offsets) == 0 or pc.any(pc.less_equal(offsets.slice(1), offsets.slice(0, len(offsets) - 1))).as_py():
        raise ValueError("a delete file needs at least one position, and positions must ascend strictly")
    return offsets


def _integers(values: Sequence[int] | pa.Array) -> pa.Array:
    return values if isinstance(values, pa.Array) else pa.array(values, pa.int64())


def _field(name: str, type_: pa.DataType, field_id: int) -> pa.Field:
    return pa.field(name, type_, nullable=True, metadata={ARROW_FIELD_ID: str(field_id).encode()})
