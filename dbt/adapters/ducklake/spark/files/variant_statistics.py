"""Statistics of a variant in one file, from the footer: of the value, and of each part with its own column (a "shredded" part).

Specification: the page "ducklake_file_variant_stats", and Parquet's "Variant Shredding". As in the reference implementation, a part has
statistics only if all its values are in its column: the sibling column `value` contains only NULLs or variant nulls. A NULL instead of a
variant counts as a value, also as in DuckDB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow.parquet as pq

from ...format.files import ColumnStats
from ...format.leaf_types import LEAF_TYPES
from ...format.types import decimal_parameters
from ...format.variant_stats import ELEMENT, ROOT, Part, parts_json
from .field_ids import Node
from .footer_statistics import leaf_stats
from .physical import leaf_kind

_TYPES = {leaf.inlined_kind: leaf.name for leaf in LEAF_TYPES.values() if leaf.is_native} | {"timestamp(nanos)": "timestamp_ns"}
"""The type stored in a file → the DuckLake type that DuckDB reads."""
_NULL = b"\0"
"""The variant's null in Parquet's encoding."""


def variant_stats(metadata: pq.FileMetaData, node: Node, leaf_numbers: Mapping[int, int], column_id: int) -> ColumnStats:
    """Return the statistics of the variant `node`.

    Args:
        metadata: the footer.
        node: the group of `metadata`, `value` and, if it is shredded, `typed_value`.
        leaf_numbers: index of a schema element → number of the file's column.
        column_id: the id of the variant column.
    """
    columns = [leaf_stats(metadata, leaf_numbers[leaf.index], column_id, "variant") for leaf in node.leaves()]
    first = columns[0]
    value_count = None if first.value_count is None or first.null_count is None else first.value_count + first.null_count
    size = sum(each.size_bytes or 0 for each in columns)
    parts = _Parts(metadata, leaf_numbers, column_id)
    return ColumnStats(column_id, size, value_count, None if value_count is None else 0, extra_stats=parts_json(parts.below(node, ())))


@dataclass(frozen=True)
class _Parts:
    metadata: pq.FileMetaData
    leaf_numbers: Mapping[int, int]
    column_id: int

    def below(self, node: Node, path: tuple[str, ...]) -> Iterator[Part]:
        """Yield the parts of a node with the children `value` and `typed_value`."""
        value, typed = _child(node, "value"), _child(node, "typed_value")
        if typed is None:
            return
        if not typed.children:
            if value is not None and self._has_only_nulls(value):
                yield from self._leaf(typed, path)
            return
        element = _element(typed)
        if element is not None:
            yield from self.below(element, (*path, ELEMENT))
            return
        for field in typed.children:
            if '"' not in field.name:  # DuckDB would read its path as that of another part
                yield from self.below(field, (*path, f'"{field.name}"'))

    def _leaf(self, typed: Node, path: tuple[str, ...]) -> Iterator[Part]:
        number = self.leaf_numbers[typed.index]
        kind = leaf_kind(self.metadata.schema.column(number))
        type_name = kind if decimal_parameters(kind) is not None else _TYPES.get(kind)
        if type_name is not None:
            yield Part(".".join(path) or ROOT, type_name, leaf_stats(self.metadata, number, self.column_id, type_name))

    def _has_only_nulls(self, value: Node) -> bool:
        """Whether all values of the column are NULL or variant nulls."""
        number = self.leaf_numbers[value.index]
        chunks = (self.metadata.row_group(group).column(number) for group in range(self.metadata.num_row_groups))
        for statistics, num_values in ((chunk.statistics, chunk.num_values) for chunk in chunks):
            if statistics is None:
                return False
            all_null = statistics.has_null_count and statistics.null_count == num_values
            if not all_null and not (statistics.has_min_max and statistics.min_raw == statistics.max_raw == _NULL):
                return False
        return True


def _child(node: Node, name: str) -> Node | None:
    return next((child for child in node.children if child.name == name), None)


def _element(typed: Node) -> Node | None:
    """Return the element of an array; None for an object, whose fields never have `element` as their only child."""
    if len(typed.children) == 1 and [child.name for child in typed.children[0].children] == ["element"]:
        return typed.children[0].children[0]
    return None
