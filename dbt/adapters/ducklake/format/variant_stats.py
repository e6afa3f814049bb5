"""Statistics of the shredded parts of variants, which a file stores in columns of their own.

Specification: the page "ducklake_file_variant_stats". The column `extra_stats` of `ducklake_file_column_stats` and
`ducklake_table_column_stats` has all of them as one JSON string. DuckDB skips whole tables by these statistics, so a part is included only
if every file stores all values of the part in its column.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .files import ColumnStats

ROOT = "root"
"""The path of the whole value."""
ELEMENT = "element"
"""The path component for the elements of an array."""

Merge = Callable[[str, ColumnStats, ColumnStats], ColumnStats]
"""Combines the statistics of two columns; the first argument is their DuckLake type."""


@dataclass(frozen=True)
class Part:
    """A shredded part of a variant, as in a row of `ducklake_file_variant_stats`."""

    path: str
    type: str
    """The DuckLake type of the part's column."""
    stats: ColumnStats
    """The statistics of the part's column."""


def parts_json(parts: Iterable[Part]) -> str | None:
    """Return the value of `extra_stats`; None if there are no parts."""
    listed = [_to_object(part) for part in parts]
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":")) if listed else None


def parts_of(extra_stats: str | None, column_id: int) -> tuple[Part, ...]:
    """Return the parts in `extra_stats`; none if it has the statistics of a geometry or an unknown form."""
    try:
        listed = json.loads(extra_stats or "[]")
        return tuple(_from_object(each, column_id) for each in listed) if isinstance(listed, list) else ()
    except (ValueError, KeyError, TypeError):
        return ()


def merged_parts(left: ColumnStats, right: ColumnStats, merge: Merge) -> str | None:
    """Return the `extra_stats` of two sets of variants together: the parts that both have with the same type. An empty set is ignored.

    Args:
        left: the statistics of one set.
        right: the statistics of the other set.
        merge: combines the statistics of a part.
    """
    for side, other in ((left, right), (right, left)):
        if side.value_count == 0 and side.null_count == 0:
            return other.extra_stats
    others = {(part.path, part.type): part for part in parts_of(right.extra_stats, right.column_id)}
    return parts_json(
        Part(part.path, part.type, merge(part.type, part.stats, others[part.path, part.type].stats))
        for part in parts_of(left.extra_stats, left.column_id)
        if (part.path, part.type) in others
    )


def _to_object(part: Part) -> dict[str, Any]:
    stats = part.stats
    counted = stats.null_count is not None and stats.value_count is not None
    fields = {
        "field_name": part.path,
        "shredded_type": part.type,
        "null_count": stats.null_count if counted else None,
        "min": stats.min_value,
        "max": stats.max_value,
        "num_values": (stats.value_count or 0) + (stats.null_count or 0) if counted else None,
        "contains_nan": stats.contains_nan,
        "column_size_bytes": stats.size_bytes,
        "any_valid": True,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _from_object(fields: Any, column_id: int) -> Part:
    nulls, num_values = fields.get("null_count"), fields.get("num_values")
    stats = ColumnStats(
        column_id,
        fields.get("column_size_bytes"),
        None if nulls is None or num_values is None else num_values - nulls,
        nulls,
        _bound(fields.get("min")),
        _bound(fields.get("max")),
        fields.get("contains_nan"),
    )
    return Part(fields["field_name"], fields["shredded_type"], stats)


def _bound(text: str | None) -> str | None:
    """Return a bound; None if it contains a NUL character, which DuckDB allows here but not in the table's statistics."""
    return None if text is None or "\0" in text else text
