"""Statistics of the parts of variants that a file holds in columns of their own ("shredded").

Specification: the page "ducklake_file_variant_stats"; `extra_stats` of "ducklake_file_column_stats" and "ducklake_table_column_stats" has
them all as one JSON text. A part is there only if no file holds any of its values elsewhere, for DuckDB skips whole tables by them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .files import ColumnStats

ROOT = "root"
"""The path of the value itself."""
ELEMENT = "element"
"""In a path, what is in an array."""

Merge = Callable[[str, ColumnStats, ColumnStats], ColumnStats]


@dataclass(frozen=True)
class Part:
    """A row of `ducklake_file_variant_stats`. `type`: the DuckLake type of the part's column; `stats`: of that column."""

    path: str
    type: str
    stats: ColumnStats


def parts_json(parts: Iterable[Part]) -> str | None:
    """The text of `extra_stats`; None if there are no parts."""
    listed = [_to_object(part) for part in parts]
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":")) if listed else None


def parts_of(extra_stats: str | None, column_id: int) -> tuple[Part, ...]:
    """The parts of a text of `extra_stats`; none of those of a geometry, or of what is not understood."""
    try:
        listed = json.loads(extra_stats or "[]")
        return tuple(_of_object(each, column_id) for each in listed) if isinstance(listed, list) else ()
    except (ValueError, KeyError, TypeError):
        return ()


def united(left: ColumnStats, right: ColumnStats, merge: Merge) -> str | None:
    """The parts that two sets of variants have both, with one type; a set without slots is as if it were not there."""
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


def _of_object(fields: Any, column_id: int) -> Part:
    nulls, slots = fields.get("null_count"), fields.get("num_values")
    stats = ColumnStats(
        column_id,
        fields.get("column_size_bytes"),
        None if nulls is None or slots is None else slots - nulls,
        nulls,
        _bound(fields.get("min")),
        _bound(fields.get("max")),
        fields.get("contains_nan"),
    )
    return Part(fields["field_name"], fields["shredded_type"], stats)


def _bound(text: str | None) -> str | None:
    """DuckDB keeps a NUL in this text, and no bound in the table's row."""
    return None if text is None or "\0" in text else text
