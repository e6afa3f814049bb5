"""Complete Parquet footers: match the nodes of a file to columns, and add the ids and logical types that Spark does not write.

Specification: "Field Identifiers": every node of a file, at every level, has the column's id. Spark writes ids for struct fields only, not
for the element of a list or the key and value of a map, which DuckDB then reads as NULL. Spark also writes geometries as bytes and
nanoseconds as numbers, so their logical types are added. Only the serialized footer changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...errors import LakeError
from ...format.objects import Column
from .thrift import (
    BYTE,
    FALSE,
    I32,
    LIST,
    STRUCT,
    read_list,
    read_struct,
    read_varint,
    unzigzag,
    write_struct,
    write_varint,
    zigzag,
)

_SCHEMA = 2
"""The Thrift id of `FileMetaData.schema`."""
_NAME, _CHILDREN, _CONVERTED, _FIELD_ID, _LOGICAL = 4, 5, 6, 9, 10
"""The Thrift ids of `SchemaElement`: name, num_children, converted_type, field_id, logicalType."""
LOGICAL_TYPES = {
    "timestamp_ns": write_struct(
        {8: (STRUCT, write_struct({1: (FALSE, b""), 2: (STRUCT, write_struct({3: (STRUCT, write_struct({}))}))}))}
    ),
    "geometry": write_struct({17: (STRUCT, write_struct({}))}),
    "variant": write_struct({16: (STRUCT, write_struct({1: (BYTE, b"\x01")}))}),
}
"""DuckLake type → required `SchemaElement.logicalType`: TIMESTAMP(NANOS, not adjusted to UTC), GEOMETRY without a CRS, VARIANT(1)."""

_Element: TypeAlias = "tuple[str, int, int | None, bytes | None, int | None]"
"""A schema element: its name, number of children, field id, serialized `logicalType` and `converted_type`."""


@dataclass(frozen=True)
class Node:
    """A node of a file's schema. A node without children is a leaf, which has a column chunk in each row group.

    `index`: its index in the footer's list of schema elements. `logical`: its serialized `logicalType`. `converted`: its `converted_type`,
    the older form of a logical type.
    """

    index: int
    name: str
    field_id: int | None
    children: tuple[Node, ...]
    logical: bytes | None = None
    converted: int | None = None

    def leaves(self) -> Iterator[Node]:
        """Yield the leaves of this node, in the order of the file's columns."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()


def read_schema(footer: bytes) -> Node:
    """Return the root node of a file's schema from its serialized footer.

    Raises:
        LakeError: the footer has no schema.
    """
    elements: list[_Element] = []
    at, count = _schema_start(footer)
    for _ in range(count):
        fields, at = read_struct(footer, at)
        slices = {field.id: footer[field.start : field.end] for field in fields}
        length, start = read_varint(slices[_NAME], 0)
        elements.append(
            (
                slices[_NAME][start : start + length].decode(),
                _integer(slices, _CHILDREN) or 0,
                _integer(slices, _FIELD_ID),
                slices.get(_LOGICAL),
                _integer(slices, _CONVERTED),
            )
        )
    return _node(elements, 0)[0]


def _integer(fields: Mapping[int, bytes], field_id: int) -> int | None:
    return unzigzag(read_varint(fields[field_id], 0)[0]) if field_id in fields else None


def match_columns(root: Node, columns: Sequence[Column]) -> dict[int, tuple[Node, Column]]:
    """Match the nodes of a file's schema to columns, at every level.

    Args:
        root: the root of the file's schema.
        columns: the columns of the file's fields, in order.

    Returns:
        Schema element index → (node, column), for every node that needs a field id.

    Raises:
        LakeError: the file's schema does not match the columns.
    """
    if len(root.children) != len(columns):
        raise LakeError(f"the written file has {len(root.children)} fields, but {len(columns)} columns were expected")
    matched: dict[int, tuple[Node, Column]] = {}
    for node, column in zip(root.children, columns, strict=True):
        _match(node, column, matched)
    return matched


def corrected(footer: bytes, matched: Mapping[int, tuple[Node, Column]]) -> bytes:
    """Return the footer with the required field ids and logical types of the matched nodes; unchanged if all are right."""
    corrections: dict[int, tuple[int, bytes | None]] = {}
    for index, (node, column) in matched.items():
        logical = LOGICAL_TYPES.get(column.type)
        if node.field_id != column.column_id or (logical is not None and node.logical != logical):
            corrections[index] = column.column_id, logical
    return _patch_schema(footer, corrections) if corrections else footer


def renumbered(footer: bytes, old_id: int, new_id: int) -> bytes:
    """Return the footer with `new_id` for the top-level field that has the id `old_id`."""
    return _patch_schema(footer, {node.index: (new_id, None) for node in read_schema(footer).children if node.field_id == old_id})


def _patch_schema(footer: bytes, corrections: Mapping[int, tuple[int, bytes | None]]) -> bytes:
    """Return the footer with `corrections` (element index → field id, logical type) applied to its schema."""
    at, count = _schema_start(footer)
    start = at
    out = bytearray()
    for index in range(count):
        fields, end = read_struct(footer, at)
        if index in corrections:
            values = {field.id: (field.type, footer[field.start : field.end]) for field in fields}
            field_id, logical = corrections[index]
            values[_FIELD_ID] = (I32, write_varint(zigzag(field_id)))
            if logical is not None:
                values.pop(_CONVERTED, None)
                values[_LOGICAL] = (STRUCT, logical)
            out += write_struct(values)
        else:
            out += footer[at:end]
        at = end
    return footer[:start] + bytes(out) + footer[at:]


def _schema_start(footer: bytes) -> tuple[int, int]:
    """Return the byte offset of the first schema element in the footer, and the number of elements."""
    fields, _ = read_struct(footer, 0)
    schema = next((field for field in fields if field.id == _SCHEMA and field.type == LIST), None)
    if schema is None:
        raise LakeError("the Parquet footer has no schema")
    count, _, at = read_list(footer, schema.start)
    return at, count


def _node(elements: Sequence[_Element], index: int) -> tuple[Node, int]:
    """Return the node at `index` with all its descendants, and the index after them."""
    name, child_count, field_id, logical, converted = elements[index]
    after = index + 1
    children: list[Node] = []
    for _ in range(child_count):
        child, after = _node(elements, after)
        children.append(child)
    return Node(index, name, field_id, tuple(children), logical, converted), after


def _match(node: Node, column: Column, matched: dict[int, tuple[Node, Column]]) -> None:
    """Match a node and its descendants to a column and its children. The shredded parts of a variant are not matched."""
    matched[node.index] = (node, column)
    inner = node.children
    if column.type in {"list", "map"}:
        inner = inner[0].children if len(inner) == 1 else ()
    elif column.type != "struct":
        return
    if len(inner) != len(column.children):
        raise LakeError(f"field {node.name} of the file does not have the structure of column {column.name}, which is a {column.type}")
    for child_node, child in zip(inner, column.children, strict=True):
        _match(child_node, child, matched)
