"""Rewrite a merged file with one more column: the snapshot id of each row.

Before format 0.4 merged files had no such column; the catalog stored how many rows of a file belong to which snapshot. Format 1.0 requires
the column. The pages of the file are copied, not decoded, so no value can change. The pages of the new column follow, one chunk for each
row group, and a footer for both.
"""

from __future__ import annotations

import bisect
import io

import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import LakeError
from ...format.files import ARROW_FIELD_ID, SNAPSHOT_ID_COLUMN, SNAPSHOT_ID_FIELD_ID
from ...format.paths import data_file_name
from ...format.versions import MergedFile, RewrittenFile
from . import storage
from .footer_bytes import parse_footer, read_footer
from .thrift import (
    LIST,
    STRUCT,
    fields_of,
    read_varint,
    structs_of,
    unzigzag,
    write_list,
    write_struct,
    write_varint,
    zigzag,
)

_COPY_BYTES = 8 * 1024 * 1024
_TAIL = 8
"""Bytes after the footer: its length in four bytes, and the magic number."""

# Field ids in the structs of parquet.thrift.
_SCHEMA, _ROW_GROUPS, _COLUMN_ORDERS = 2, 4, 7
_CHILDREN = 5
_COLUMNS, _GROUP_BYTES, _GROUP_COMPRESSED = 1, 2, 6
_CHUNK_OFFSET, _CHUNK_METADATA, _INDEXES = 2, 3, (4, 5, 6, 7)
_UNCOMPRESSED, _COMPRESSED, _DATA_PAGE, _DICTIONARY_PAGE = 6, 7, 9, 11


def with_snapshot_ids(file: MergedFile) -> RewrittenFile:
    """Write the new file to the directory of the old one, which is not removed.

    Raises:
        LakeError: the file's row count differs from the catalog's.
    """
    size = storage.size(file.path)
    footer = read_footer(file.path, size)
    metadata = parse_footer(footer)
    if metadata.num_rows != file.pieces[-1][1]:
        raise LakeError(
            f"the file {file.path} has {metadata.num_rows} rows, but {file.pieces[-1][1]} in the catalog; restore it from a backup"
        )
    sizes = [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]
    pages_end = size - len(footer) - _TAIL
    content, new_footer = _extended(footer, _column_file(file, sizes), pages_end)
    path = f"{file.path.rpartition('/')[0]}/{data_file_name()}"
    _copy(file.path, path, pages_end, content + new_footer + len(new_footer).to_bytes(4, "little") + b"PAR1")
    return RewrittenFile(path, pages_end + len(content) + len(new_footer) + _TAIL, len(new_footer))


def _column_file(file: MergedFile, sizes: list[int]) -> bytes:
    """Return a Parquet file with only the column of snapshot ids, in row groups of `sizes` rows."""
    ends = [count for _, count in file.pieces]
    field = pa.field(SNAPSHOT_ID_COLUMN, pa.int64(), metadata={ARROW_FIELD_ID: str(SNAPSHOT_ID_FIELD_ID).encode()})
    schema = pa.schema([field])
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, schema, compression="snappy", store_schema=False) as writer:
        first = 0
        for size in sizes:
            ids = [file.pieces[bisect.bisect_right(ends, position)][0] for position in range(first, first + size)]
            writer.write_table(pa.table({SNAPSHOT_ID_COLUMN: pa.array(ids, pa.int64())}, schema=schema), row_group_size=max(size, 1))
            first += size
    return sink.getvalue()


def _extended(footer: bytes, addition: bytes, pages_end: int) -> tuple[bytes, bytes]:
    """Return the pages to append, and the footer of the new file.

    Args:
        footer: the footer of the old file.
        addition: a Parquet file with the new column.
        pages_end: the number of bytes before the old footer, after which the new pages start.
    """
    length = int.from_bytes(addition[-8:-4], "little")
    content = addition[4 : -(length + _TAIL)]
    shift = pages_end - 4  # in `addition` the pages start after the magic number
    metadata, added = fields_of(footer), fields_of(addition[-(length + _TAIL) : -_TAIL])
    schema, groups = structs_of(metadata[_SCHEMA][1]), structs_of(metadata[_ROW_GROUPS][1])
    root = fields_of(schema[0])
    root[_CHILDREN] = (root[_CHILDREN][0], _encode_integer(_decode_integer(root[_CHILDREN][1]) + 1))
    metadata[_SCHEMA] = (LIST, write_list(STRUCT, [write_struct(root), *schema[1:], structs_of(added[_SCHEMA][1])[1]]))
    added_groups = structs_of(added[_ROW_GROUPS][1])
    extended = [_extended_group(old, new, shift) for old, new in zip(groups, added_groups, strict=True)]
    metadata[_ROW_GROUPS] = (LIST, write_list(STRUCT, extended))
    if _COLUMN_ORDERS in metadata:
        orders = structs_of(metadata[_COLUMN_ORDERS][1])
        metadata[_COLUMN_ORDERS] = (LIST, write_list(STRUCT, [*orders, structs_of(added[_COLUMN_ORDERS][1])[0]]))
    return content, write_struct(metadata)


def _extended_group(old: bytes, new: bytes, shift: int) -> bytes:
    """Return row group `old` with the column chunk of row group `new`, whose offsets move by `shift` bytes."""
    group, (chunk_bytes,) = fields_of(old), structs_of(fields_of(new)[_COLUMNS][1])
    chunk = {field_id: value for field_id, value in fields_of(chunk_bytes).items() if field_id not in _INDEXES}
    metadata = fields_of(chunk[_CHUNK_METADATA][1])
    for field_id in (_DATA_PAGE, _DICTIONARY_PAGE):
        if field_id in metadata:
            metadata[field_id] = (metadata[field_id][0], _encode_integer(_decode_integer(metadata[field_id][1]) + shift))
    chunk[_CHUNK_METADATA] = (STRUCT, write_struct(metadata))
    if _decode_integer(chunk[_CHUNK_OFFSET][1]):
        chunk[_CHUNK_OFFSET] = (chunk[_CHUNK_OFFSET][0], _encode_integer(_decode_integer(chunk[_CHUNK_OFFSET][1]) + shift))
    group[_COLUMNS] = (LIST, write_list(STRUCT, [*structs_of(group[_COLUMNS][1]), write_struct(chunk)]))
    for total, part in ((_GROUP_BYTES, _UNCOMPRESSED), (_GROUP_COMPRESSED, _COMPRESSED)):
        if total in group:
            group[total] = (group[total][0], _encode_integer(_decode_integer(group[total][1]) + _decode_integer(metadata[part][1])))
    return write_struct(group)


def _decode_integer(value: bytes) -> int:
    """Decode a Thrift integer."""
    return unzigzag(read_varint(value, 0)[0])


def _encode_integer(value: int) -> bytes:
    """Encode a Thrift integer."""
    return write_varint(zigzag(value))


def _copy(source: str, target: str, length: int, rest: bytes) -> None:
    """Write the first `length` bytes of a file, followed by `rest`, to a new file."""
    files, old = storage.filesystem(source)
    _, new = storage.filesystem(target)
    with files.open_input_stream(old) as stream, files.open_output_stream(new) as out:
        while length:
            piece = stream.read(min(length, _COPY_BYTES))
            if not piece:
                raise LakeError(f"the file {source} ends before its footer; restore it from a backup")
            out.write(piece)
            length -= len(piece)
        out.write(rest)
