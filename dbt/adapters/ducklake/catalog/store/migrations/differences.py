"""What the older format versions have otherwise than the current one, as data; what is not mentioned here is found by comparing columns.

Specification: "DuckLake Schema Migrations" and the release notes of the versions. All that ever happened to the metadata tables: tables and
columns were added at the end, one table was renamed, one column was dropped, and three kinds of values got another meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BIGINT, VARCHAR, ColumnElement, Select, Table, and_, case, cast, func, literal, null, or_, select

from ....format.versions import PARTIAL_MAX
from .. import tables as t

FORMER_NAMES: Mapping[str, str] = {t.file_column_stats.name: "ducklake_file_column_statistics"}
"""Tables that had another name, before format 0.3."""

DROPPED_COLUMNS: Mapping[str, str] = {t.data_file.name: "partial_file_info"}
"""Columns that are gone, since format 0.4."""

INITIAL_VALUES: Mapping[tuple[str, str], str | bool] = {
    (t.schema.name, "path"): "",  # format 0.1 put all files into the lake's directory
    (t.schema.name, "path_is_relative"): True,
    (t.table.name, "path"): "",
    (t.table.name, "path_is_relative"): True,
    (t.name_mapping.name, "is_partition"): False,
    (t.column.name, "default_value_type"): "literal",
}
"""What an added column holds in the rows that are there; NULL where nothing is said."""


@dataclass(frozen=True)
class Source:
    """The tables of an older catalog under their present names, each with the columns that it has."""

    version: str
    tables: Mapping[str, Table]


def partial_max(source: Source) -> ColumnElement[Any]:
    """Format 0.4 took the number out of a text in another column."""
    files = source.tables[t.data_file.name]
    known = files.c.partial_max if "partial_max" in files.c else cast(null(), BIGINT())
    if "partial_file_info" not in files.c:
        return known
    number = cast(func.substr(files.c.partial_file_info, len(PARTIAL_MAX) + 1), BIGINT())
    return func.coalesce(known, case((files.c.partial_file_info.like(PARTIAL_MAX + "%"), number)))


def partition_column_id(source: Source) -> ColumnElement[Any]:
    """Format 0.1 stored the position of the column among the top-level columns of the table, counted from 0.

    Like the reference, the columns that the table has now are counted; those of a table that was dropped when it was partitioned.
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
    """The id of the column at the position that a partition key holds, of the columns at a snapshot or of those that live on."""
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
    """Development versions of 0.4 left it NULL in places."""
    columns, initial = source.tables[t.column.name], INITIAL_VALUES[t.column.name, "default_value_type"]
    return func.coalesce(columns.c.default_value_type, initial) if "default_value_type" in columns.c else literal(initial, VARCHAR())


VALUES: Mapping[tuple[str, str], Callable[[Source], ColumnElement[Any]]] = {
    (t.data_file.name, "partial_max"): partial_max,
    (t.partition_column.name, "column_id"): partition_column_id,
    (t.column.name, "default_value_type"): default_value_type,
}
"""Values that mean something else now, computed from the older tables."""


def schema_versions(source: Source) -> Select[Any]:
    """Rows of `ducklake_schema_versions`: one per table and schema version, where there was one per schema version, or no such table."""
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
