"""Field ids in Parquet footers: which node of a file is which column, and the ids that Spark leaves out put in.

Specification: "Field Identifiers": every node of a file, at every level, carries the column's id. Spark writes ids
on struct fields only, never on the element of a list or the key and value of a map; DuckDB then reads NULLs (trap
T6). The ids are put into the serialised footer; nothing before it moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..errors import LakeError
from ..spec.objects import Column
from .thrift import I32, LIST, read_list, read_struct, read_varint, unzigzag, write_struct, write_varint, zigzag

_SCHEMA = 2
_NAME, _CHILDREN, _FIELD_ID = 4, 5, 9


@dataclass(frozen=True)
class Node:
    """A node of a file's schema. `index`: its number among the schema elements; a leaf is a column of the file."""

    index: int
    name: str
    field_id: int | None
    children: tuple[Node, ...]

    def leaves(self) -> Iterator[Node]:
        """The leaves below this node, in the order of the file's columns."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()


def read_schema(footer: bytes) -> Node:
    """The schema of a file from its serialised footer: the root node."""
    elements: list[tuple[str, int, int | None]] = []
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


def put_ids(footer: bytes, ids: dict[int, int]) -> bytes:
    """The footer with `ids` (element index → field id) in its schema; everything else is copied."""
    at, count = _schema_start(footer)
    start = at
    out = bytearray()
    for index in range(count):
        fields, end = read_struct(footer, at)
        if index in ids:
            values = {field.id: (field.type, footer[field.start : field.end]) for field in fields}
            values[_FIELD_ID] = (I32, write_varint(zigzag(ids[index])))
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


def _node(elements: Sequence[tuple[str, int, int | None]], index: int) -> tuple[Node, int]:
    """The node at `index` with all below it, and the index after them."""
    name, child_count, field_id = elements[index]
    after = index + 1
    children: list[Node] = []
    for _ in range(child_count):
        child, after = _node(elements, after)
        children.append(child)
    return Node(index, name, field_id, tuple(children)), after


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
