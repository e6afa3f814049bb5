"""Parquet footers completed: which node of a file is which column, the ids and the logical types that Spark leaves out put in.

Specification: "Field Identifiers": every node of a file, at every level, carries the column's id. Spark writes ids
on struct fields only, never on the element of a list or the key and value of a map; DuckDB then reads NULLs (trap
T6). Spark has no geometries and no nanoseconds: it writes the bytes and the numbers, and the schema here says what they are. All of it is
put into the serialised footer; nothing before it moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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
_NAME, _CHILDREN, _CONVERTED, _FIELD_ID, _LOGICAL = 4, 5, 6, 9, 10
LOGICAL_TYPES = {
    "timestamp_ns": write_struct(
        {8: (STRUCT, write_struct({1: (FALSE, b""), 2: (STRUCT, write_struct({3: (STRUCT, write_struct({}))}))}))}
    ),
    "geometry": write_struct({17: (STRUCT, write_struct({}))}),
    "variant": write_struct({16: (STRUCT, write_struct({1: (BYTE, b"\x01")}))}),
}
"""Per stored type, what `SchemaElement.logicalType` must be: TIMESTAMP(NANOS, not adjusted to UTC), GEOMETRY without a CRS, VARIANT(1)."""


@dataclass(frozen=True)
class Node:
    """A node of a file's schema.

    `index`: its number among the schema elements; a leaf is a column of the file. `logical`: its logical type, as it is in the footer.
    """

    index: int
    name: str
    field_id: int | None
    children: tuple[Node, ...]
    logical: bytes | None = None

    def leaves(self) -> Iterator[Node]:
        """The leaves below this node, in the order of the file's columns."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()


def read_schema(footer: bytes) -> Node:
    """The schema of a file from its serialised footer: the root node."""
    elements: list[tuple[str, int, int | None, bytes | None]] = []
    at, count = _schema_start(footer)
    for _ in range(count):
        fields, at = read_struct(footer, at)
        slices = {field.id: footer[field.start : field.end] for field in fields}
        length, start = read_varint(slices[_NAME], 0)
        elements.append(
            (
                slices[_NAME][start : start + length].decode(),
                unzigzag(read_varint(slices[_CHILDREN], 0)[0]) if _CHILDREN in slices else 0,
                unzigzag(read_varint(slices[_FIELD_ID], 0)[0]) if _FIELD_ID in slices else None,
                slices.get(_LOGICAL),
            )
        )
    return _node(elements, 0)[0]


def expected_ids(root: Node, columns: Sequence[Column]) -> dict[int, tuple[Node, Column]]:
    """Element index → (node, column) for every node that must carry an id, the file's fields being `columns` in that
    order.

    Raises:
        LakeError: the file's schema is not that of the columns.
    """
    if len(root.children) != len(columns):
        raise LakeError(f"a file of {len(root.children)} fields was written for {len(columns)} columns")
    matched: dict[int, tuple[Node, Column]] = {}
    for node, column in zip(root.children, columns, strict=True):
        _match(node, column, matched)
    return matched


def corrected(footer: bytes, matched: Mapping[int, tuple[Node, Column]]) -> bytes:
    """The footer with the ids and logical types that the matched nodes must have; the very same bytes if they have them."""
    wrong: dict[int, tuple[int, bytes | None]] = {}
    for index, (node, column) in matched.items():
        logical = LOGICAL_TYPES.get(column.type)
        if node.field_id != column.column_id or (logical is not None and node.logical != logical):
            wrong[index] = column.column_id, logical
    return _put(footer, wrong) if wrong else footer


def renumbered(footer: bytes, field_id: int, other: int) -> bytes:
    """The footer with another id for the top-level field of an id."""
    return _put(footer, {node.index: (other, None) for node in read_schema(footer).children if node.field_id == field_id})


def _put(footer: bytes, corrections: Mapping[int, tuple[int, bytes | None]]) -> bytes:
    """The footer with `corrections` (element index → field id, logical type) in its schema; everything else is copied."""
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
    """Where the first schema element lies, and how many there are."""
    fields, _ = read_struct(footer, 0)
    schema = next((field for field in fields if field.id == _SCHEMA and field.type == LIST), None)
    if schema is None:
        raise LakeError("a Parquet footer without a schema")
    count, _, at = read_list(footer, schema.start)
    return at, count


def _node(elements: Sequence[tuple[str, int, int | None, bytes | None]], index: int) -> tuple[Node, int]:
    """The node at `index` with all below it, and the index after them."""
    name, child_count, field_id, logical = elements[index]
    after = index + 1
    children: list[Node] = []
    for _ in range(child_count):
        child, after = _node(elements, after)
        children.append(child)
    return Node(index, name, field_id, tuple(children), logical), after


def _match(node: Node, column: Column, matched: dict[int, tuple[Node, Column]]) -> None:
    """Pair a node and the nodes below it with a column and its children; below a variant there are no columns."""
    matched[node.index] = (node, column)
    inner = node.children
    if column.type in {"list", "map"}:
        inner = inner[0].children if len(inner) == 1 else ()
    elif column.type != "struct":
        return
    if len(inner) != len(column.children):
        raise LakeError(f"the file's field {node.name} is not the {column.type} that column {column.name} is")
    for child_node, child in zip(inner, column.children, strict=True):
        _match(child_node, child, matched)
