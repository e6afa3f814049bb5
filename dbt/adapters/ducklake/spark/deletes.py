"""Delete files: the positions of deleted rows of one data file, read and written by the driver, never by Spark.

Specification: "ducklake_delete_file". A file has the columns `file_path` and `pos`, and
`_ducklake_internal_snapshot_id` once it unites the deletes of more than one snapshot. Positions ascend strictly.
Deletion vectors are read, never written.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..errors import LakeError
from ..spec.deletion_vectors import read_deletion_vector
from ..spec.files import (
    DELETE_PATH_FIELD_ID,
    DELETE_POSITION_FIELD_ID,
    SNAPSHOT_ID_COLUMN,
    SNAPSHOT_ID_FIELD_ID,
    DeleteFile,
    WrittenDeleteFile,
)
from ..spec.paths import delete_file_name, with_separator
from . import storage
from .footers import footer_length

_ID = b"PARQUET:field_id"


def read_positions(file: DeleteFile) -> list[tuple[int, int | None]]:
    """(position, embedded snapshot id or None) of every entry of a delete file that counts, ascending.

    Entries with a snapshot id greater than `file.snapshot_limit` do not count yet.

    Raises:
        LakeError: the file is missing or is no delete file.
    """
    table = positions_table(file)
    positions = table.column(0).to_pylist()
    if table.num_columns == 1:
        return [(position, None) for position in positions]
    return list(zip(positions, table.column(1).to_pylist(), strict=True))


def positions_table(file: DeleteFile) -> pa.Table:
    """As `read_positions`, as an Arrow table: `pos`, and the snapshot ids if the file has them, both int64.

    Raises:
        LakeError: the file is missing or is no delete file.
    """
    files, inner = storage.filesystem(file.path)
    try:
        if file.format.lower() == "puffin":
            with files.open_input_file(inner) as source:
                return pa.table({"pos": pa.array(read_deletion_vector(source.read()), pa.int64())})
        with pq.ParquetFile(inner, filesystem=files) as parquet:
            names = parquet.schema_arrow.names
            wanted = [name for name in ("pos", SNAPSHOT_ID_COLUMN) if name in names]
            if "pos" not in wanted:
                raise LakeError(f"{file.path} is not a delete file: it has no column pos")
            table = parquet.read(columns=wanted).select(wanted)
    except FileNotFoundError as error:
        raise LakeError(f"the delete file {file.path} does not exist: the lake has lost a file") from error
    if len(wanted) == 2:
        table = table.filter(pc.less_equal(table.column(1), file.snapshot_limit))
    return table


def write_delete_file(
    data_path: str,
    data_file_id: int,
    directory: str,
    positions: Sequence[int],
    snapshot_ids: Sequence[int] | None = None,
) -> WrittenDeleteFile:
    """Write the file of all deleted positions of a data file.

    Args:
        data_path: the data file's full path; readers ignore it.
        data_file_id: its id, for the catalog.
        directory: where the file goes: the table's path.
        positions: strictly ascending, at least one.
        snapshot_ids: per position, the snapshot that deleted it; None for the first delete of a data file.

    Raises:
        ValueError: positions that are empty or do not ascend.
    """
    if not positions or any(a >= b for a, b in pairwise(positions)):
        raise ValueError("positions of a delete file are at least one and ascend strictly")
    count = len(positions)
    paths = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array([data_path]))
    columns = [paths.cast(pa.string()), pa.array(positions, pa.int64())]
    fields = [
        _field("file_path", pa.string(), DELETE_PATH_FIELD_ID),
        _field("pos", pa.int64(), DELETE_POSITION_FIELD_ID),
    ]
    if snapshot_ids is not None:
        columns.append(pa.array(snapshot_ids, pa.int64()))
        fields.append(_field(SNAPSHOT_ID_COLUMN, pa.int64(), SNAPSHOT_ID_FIELD_ID))
    path = with_separator(directory) + delete_file_name()
    files, inner = storage.filesystem(path)
    if storage.is_local(path):
        storage.make_directory(directory)
    pq.write_table(pa.table(columns, schema=pa.schema(fields)), inner, filesystem=files, store_schema=False)
    size = storage.size(path)
    return WrittenDeleteFile(
        data_file_id=data_file_id,
        path=path,
        delete_count=count,
        size_bytes=size,
        footer_size=footer_length(path, size),
        min_snapshot=min(snapshot_ids) if snapshot_ids is not None else None,
        max_snapshot=max(snapshot_ids) if snapshot_ids is not None else None,
    )


def _field(name: str, type_: pa.DataType, field_id: int) -> pa.Field:
    return pa.field(name, type_, nullable=True, metadata={_ID: str(field_id).encode()})
