"""The differences between older format versions and the current one, except added tables and columns, which are found by comparison.

Specification: "DuckLake Schema Migrations" and the release notes of the versions. Since the first version, tables and columns were added at
the end, one table was renamed, one column was dropped, and three kinds of values changed their meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BIGINT, VARCHAR, ColumnElement, Select, Table, and_, case, cast, func, literal, null, or_, select

from ....format.versions import PARTIAL_MAX
from .. import tables as t

EARLIER_NAMES: Mapping[str, str] = {t.file_column_stats.name: "ducklake_file_column_statistics"}
"""Current name → name before format 0.3."""

DROPPED_COLUMNS: Mapping[str, str] = {t.data_file.name: "partial_file_info"}
"""Table → column that format 0.4 dropped."""

INITIAL_VALUES: Mapping[tuple[str, str], str | bool] = {
    (t.schema.name, "path"): "",  # format 0.1 put all files into the lake's directory
    (t.schema.name, "path_is_relative"): True,
    (t.table.name, "path"): "",
    (t.table.name, "path_is_relative"): True,
    (t.name_mapping.name, "is_partition"): False,
    (t.column.name, "default_value_type"): "literal",
}
"""(table, column) → the value of an added column in existing rows; NULL for all other columns."""


@dataclass(frozen=True)
class Source:
    """The tables of an older catalog by their current names, each with its existing columns."""

    version: str
    tables: Mapping[str, Table]


def partial_max(source: Source) -> ColumnElement[Any]:
    """Return `partial_max`, which before format 0.4 is part of a string in another column."""
    files = source.tables[t.data_file.name]
    known = files.c.partial_max if "partial_max" in files.c else cast(null(), BIGINT())
    if "partial_file_info" not in files.c:
        return known
    number = cast(func.substr(files.c.partial_file_info, len(PARTIAL_MAX) + 1), BIGINT())
    return func.coalesce(known, case((files.c.partial_file_info.like(PARTIAL_MAX + "%"), number)))


def partition_column_id(source: Source) -> ColumnElement[Any]:
    """Return the column id of a partition key, which in format 0.1 is a 0-based position among the top-level columns of the table.

    As in the reference implementation, the position counts the live columns; for a dropped table, the columns when it was partitioned.
    """
    keys = source.tables[t.partition_column.name]
    if source.version != "0.1":
        return keys.c.column_id
    info = source.tables[t.partition_info.name]
    begin = (
        select(info.c.begin_snapshot)
        .where(info.c.partition_id == keys.c.partition_id, info.c.table_id == keys.c.table_id)
        .correlate(keys)
        .scalar_subquery()
    )
    return func.coalesce(_at_position(source, None), _at_position(source, begin))


def _at_position(source: Source, snapshot: ColumnElement[Any] | None) -> ColumnElement[Any]:
    """Return the id of the column at a partition key's position, among the columns at a snapshot or the live columns."""
    keys, columns = source.tables[t.partition_column.name], source.tables[t.column.name]
    found, before = columns.alias("found"), columns.alias("before")

    def counts(column: Any) -> ColumnElement[bool]:
        alive = column.c.end_snapshot.is_(None)
        if snapshot is not None:
            alive = and_(column.c.begin_snapshot <= snapshot, or_(alive, column.c.end_snapshot > snapshot))
        return and_(column.c.table_id == keys.c.table_id, column.c.parent_column.is_(None), alive)

    position = (
        select(func.count())
        .select_from(before)
        .where(counts(before), before.c.column_order < found.c.column_order)
        .correlate(keys, found)
        .scalar_subquery()
    )
    return select(func.max(found.c.column_id)).where(counts(found), position == keys.c.column_id).correlate(keys).scalar_subquery()


def default_value_type(source: Source) -> ColumnElement[Any]:
    """Return `default_value_type`, which development versions of 0.4 sometimes left NULL."""
    columns, initial = source.tables[t.column.name], INITIAL_VALUES[t.column.name, "default_value_type"]
    return func.coalesce(columns.c.default_value_type, initial) if "default_value_type" in columns.c else literal(initial, VARCHAR())


VALUES: Mapping[tuple[str, str], Callable[[Source], ColumnElement[Any]]] = {
    (t.data_file.name, "partial_max"): partial_max,
    (t.partition_column.name, "column_id"): partition_column_id,
    (t.column.name, "default_value_type"): default_value_type,
}
"""(table, column) → the expression that computes a value with a changed meaning from the older tables."""


def schema_versions(source: Source) -> Select[Any]:
    """Return rows of `ducklake_schema_versions`: one per table and schema version. Older formats have one per schema version, or none."""
    snapshots, tables, known = source.tables[t.snapshot.name], source.tables[t.table.name], source.tables.get(t.schema_versions.name)
    if known is None:
        whole = select(func.min(snapshots.c.snapshot_id).label("begin_snapshot"), snapshots.c.schema_version).group_by(
            snapshots.c.schema_version
        )
    else:
        whole = select(known.c.begin_snapshot, known.c.schema_version)
    if known is not None and "table_id" in known.c:
        whole = whole.where(known.c.table_id.is_(None))
    every = whole.subquery("versions")
    lived = every.c.begin_snapshot.between(tables.c.begin_snapshot, func.coalesce(tables.c.end_snapshot, every.c.begin_snapshot))
    rows = select(every.c.begin_snapshot, every.c.schema_version, tables.c.table_id).join_from(every, tables, lived).distinct()
    if known is None or "table_id" not in known.c:
        return rows
    own = select(known.c.begin_snapshot, known.c.schema_version, known.c.table_id).where(known.c.table_id.is_not(None))
    union = own.union(rows).subquery("all_versions")
    return select(union.c.begin_snapshot, union.c.schema_version, union.c.table_id)
