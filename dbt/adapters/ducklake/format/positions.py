"""The positions of a model: the snapshot up to which it has read the changes of each of its inputs.

They are a tag of the model's table, so they are committed with its rows, and a rollback of the table restores them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace

from .objects import Column

POSITIONS_TAG = "dbt_ducklake.positions"


@dataclass(frozen=True)
class Position:
    """The snapshot up to which a model has read the changes of one input."""

    lake: str
    table: str
    """`schema.name` of the input when the position was committed."""
    table_id: int
    """Negative if the same transaction has created the input."""
    uuid: str
    """The input's uuid: another lake may have a table with the same id."""
    snapshot_id: int | None
    """None if the transaction that reads the changes has made some of them itself: then it is the snapshot that it commits."""


def positions_of(tags: Mapping[str, str]) -> tuple[Position, ...]:
    """Return the positions in the tags of a table."""
    return tuple(Position(**entry) for entry in json.loads(tags.get(POSITIONS_TAG, "[]")))


def with_positions(tags: Mapping[str, str], positions: Iterable[Position]) -> dict[str, str]:
    """Return the tags of a table with other positions."""
    others = {key: value for key, value in tags.items() if key != POSITIONS_TAG}
    ordered = sorted(positions, key=lambda position: (position.lake, position.table_id))
    return {**others, POSITIONS_TAG: json.dumps([asdict(position) for position in ordered])} if ordered else others


def with_committed_ids(tags: Mapping[str, str], snapshot_id: int, catalog_id: Callable[[int], int]) -> Mapping[str, str]:
    """Return the tags of a table with the ids that a commit assigns."""
    positions = positions_of(tags)
    if all(each.snapshot_id is not None for each in positions):
        return tags
    known = (
        each if each.snapshot_id is not None else replace(each, snapshot_id=snapshot_id, table_id=catalog_id(each.table_id))
        for each in positions
    )
    return with_positions(tags, known)


def layout(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Return columns with what their values depend on: ids, names, types and order."""
    return tuple(
        replace(column, children=layout(column.children), nullable=True, initial_default=None, default=None, comment=None)
        for column in columns
    )
