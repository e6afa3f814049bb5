"""Parquet files with lists and maps in the forms of old writers (Hive, Avro, Spark's legacy format), made from files of PyArrow."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dbt.adapters.ducklake.spark.files.field_ids import Node, read_schema
from dbt.adapters.ducklake.spark.files.thrift import (
    I32,
    LIST,
    STRUCT,
    fields_of,
    structs_of,
    write_list,
    write_struct,
    write_varint,
    zigzag,
)

_BINARY = 8
Renamed = Sequence[tuple[int, str]]
"""The elements of the new schema after the root: the number of PyArrow's element and the new name, with `*` if it becomes repeated."""
INT, INT_NOT_NULL = pa.field("element", pa.int32()), pa.field("element", pa.int32(), nullable=False)
LISTS = pa.list_(pa.field("element", pa.list_(INT)))
INNER_NOT_NULL = pa.list_(pa.field("element", pa.list_(INT_NOT_NULL), nullable=False))
PAIRS = pa.list_(pa.field("element", pa.struct([("x", pa.int32()), ("y", pa.int32())]), nullable=False))
SINGLES = pa.list_(pa.field("element", pa.struct([("x", pa.int32())]), nullable=False))
MAP = pa.map_(pa.string(), pa.int32())
FORMS: Mapping[str, tuple[pa.DataType, list[object], Renamed]] = {
    "array": (pa.list_(INT_NOT_NULL), [[1, 2], [], None], [(1, "f"), (3, "array*")]),
    "tuple": (pa.list_(INT_NOT_NULL), [[1, 2], [], None], [(1, "f"), (3, "f_tuple*")]),
    "repeated": (pa.list_(INT_NOT_NULL), [[1, 2], []], [(3, "f*")]),
    "pairs": (PAIRS, [[{"x": 1, "y": 2}], [], None], [(1, "f"), (3, "f_tuple*"), (4, "x"), (5, "y")]),
    "lists": (INNER_NOT_NULL, [[[1, 2], []], [], None], [(1, "f"), (3, "array*"), (5, "array*")]),
    "singles": (SINGLES, [[{"x": 1}], [], None], [(1, "f"), (3, "array*"), (4, "x")]),
    "repeated_singles": (SINGLES, [[{"x": 1}], []], [(3, "f*"), (4, "x")]),
    "bag": (pa.list_(INT), [[1, None], [], None], [(1, "f"), (2, "bag"), (3, "array")]),
    "bags": (LISTS, [[[1, None], None], [], None], [(1, "f"), (2, "bag"), (3, "array"), (4, "bag"), (5, "array")]),
    "map": (MAP, [[("a", 1)], [], None], [(1, "f"), (2, "map"), (3, "Key"), (4, "Value")]),
    "map_names": (MAP, [[("a", 1)], [], None], [(1, "f"), (2, "map"), (3, "k"), (4, "v")]),
    "map_key_value": (MAP, [[("a", 1)], [], None], [(1, "f"), (2, "map"), (3, "key"), (4, "value")]),
}
"""Form → type, values and schema. In the forms before `bag`, the repeated node of a list is the element."""


def write_old(path: Path, form: str) -> str:
    """Write a file with the column `f` in that form; return its path."""
    type_, values, renamed = FORMS[form]
    is_annotated = renamed[0][0] == 1  # the list's own node is kept, so that it can be NULL
    column = pa.array(values, type_)
    pq.write_table(
        pa.Table.from_arrays([column], schema=pa.schema([pa.field("f", type_, nullable=is_annotated)])), path, store_schema=False
    )
    content = path.read_bytes()
    length = struct.unpack("<I", content[-8:-4])[0]
    fields = fields_of(content[-8 - length : -8])
    old = [fields_of(element) for element in structs_of(fields[2][1])]
    new = [old[0]]
    for number, name in renamed:
        new.append(old[number] | {4: (_BINARY, _text(name.rstrip("*")))} | ({3: _integer(2)} if name.endswith("*") else {}))
    if form == "map_key_value":
        new[1] = {key: value for key, value in new[1].items() if key != 10} | {6: _integer(2)}
    fields[2] = (LIST, write_list(STRUCT, [write_struct(element) for element in new]))
    paths = list(_paths(read_schema(write_struct(fields)), ()))
    fields[4] = (LIST, write_list(STRUCT, [_with_paths(group, paths) for group in structs_of(fields[4][1])]))
    fields.pop(5, None)
    footer = write_struct(fields)
    path.write_bytes(content[: -8 - length] + footer + struct.pack("<I", len(footer)) + b"PAR1")
    return str(path)


def _paths(node: Node, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the path of each leaf below a node."""
    for child in node.children:
        path = (*above, child.name)
        yield from _paths(child, path) if child.children else [path]


def _with_paths(group: bytes, paths: Sequence[tuple[str, ...]]) -> bytes:
    """Return a row group whose column chunks have other paths in the schema."""
    fields = fields_of(group)
    chunks = []
    for chunk, path in zip(structs_of(fields[1][1]), paths, strict=True):
        parts = fields_of(chunk)
        metadata = fields_of(parts[3][1]) | {3: (LIST, write_list(_BINARY, [_text(name) for name in path]))}
        chunks.append(write_struct(parts | {3: (STRUCT, write_struct(metadata))}))
    return write_struct(fields | {1: (LIST, write_list(STRUCT, chunks))})


def _text(text: str) -> bytes:
    return write_varint(len(text.encode())) + text.encode()


def _integer(value: int) -> tuple[int, bytes]:
    return I32, write_varint(zigzag(value))
