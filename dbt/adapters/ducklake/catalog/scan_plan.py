"""What to read of a table at a snapshot: its files, their deletes, its inlined rows, in a few queries however many files there are.

Specification: "Queries", reading data. All queries of one plan see one state of the catalog, because compaction and later deletes
remove rows physically. What depends on the schema version only (the history of the columns) is read once and kept by the caller.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import and_, select
from sqlalchemy.engine import Connection

from ..spec.files import DataFile, DeleteFile, Filters, InlinedRows, MappedField
from ..spec.objects import Column, Table
from ..spec.paths import resolve
from . import tables as t
from .database import Database, batches
from .definitions import column_tree
from .inlined import InlinedTable, has_delete_table, read_deletes, read_inlined, registered
from .pruning import prune
from .visibility import visible


@dataclass(frozen=True)
class ColumnRow:
    """A row of `ducklake_column`, past or present."""

    column_id: int
    begin_snapshot: int
    end_snapshot: int | None
    table_id: int
    column_order: int
    column_name: str
    column_type: str
    initial_default: str | None
    default_value: str | None
    nulls_allowed: bool | None
    parent_column: int | None
    default_value_type: str | None
    default_value_dialect: str | None


@dataclass(frozen=True)
class TableHistory:
    """Everything that the columns of a table ever were, and when its schema versions began."""

    rows: tuple[ColumnRow, ...]
    versions: tuple[tuple[int, int], ...]
    """(schema version, begin snapshot), ascending."""
    begin: int
    """The first snapshot of the table."""

    def layout(self, schema_version: int) -> tuple[Column, ...]:
        """The columns as of the snapshot where a schema version began for this table."""
        at = max((begin for version, begin in self.versions if version <= schema_version), default=self.begin)
        live = [row for row in self.rows if row.begin_snapshot <= at and (row.end_snapshot is None or row.end_snapshot > at)]
        return column_tree(sorted(live, key=lambda row: row.column_order), {})

    def reused_names(self, columns: Iterable[Column]) -> frozenset[tuple[int | None, str]]:
        """Names that do not tell a column, see `ScanPlan.reused_names`; `columns` are the present ones."""
        ids: dict[tuple[int | None, str], set[int]] = defaultdict(set)
        names: dict[int, set[str]] = defaultdict(set)
        for row in self.rows:
            ids[row.parent_column, row.column_name.casefold()].add(row.column_id)
            names[row.column_id].add(row.column_name.casefold())
        live = list(_with_parents(columns, None))
        for parent, column in live:
            ids[parent, column.name.casefold()].add(column.column_id)
            names[column.column_id].add(column.name.casefold())
        moved = {(parent, column.name.casefold()) for parent, column in live if len(names[column.column_id]) > 1}
        return frozenset({key for key, owners in ids.items() if len(owners) > 1} | moved)

    def retyped(self, columns: Iterable[Column]) -> frozenset[int]:
        """Ids of columns that ever had another stored type."""
        types: dict[int, set[str]] = defaultdict(set)
        for row in self.rows:
            types[row.column_id].add(row.column_type.lower())
        for _, column in _with_parents(columns, None):
            types[column.column_id].add(column.type.lower())
        return frozenset(column_id for column_id, found in types.items() if len(found) > 1)


def _with_parents(columns: Iterable[Column], parent: int | None) -> Iterable[tuple[int | None, Column]]:
    for column in columns:
        yield parent, column
        yield from _with_parents(column.children, column.column_id)


EMPTY_HISTORY = TableHistory((), (), 0)
"""That of a table which is not committed yet."""


def read_history(connection: Connection, table_id: int) -> TableHistory:
    """The history of a table's columns."""
    rows = tuple(ColumnRow(*tuple[Any, ...](row)) for row in connection.execute(select(t.column).where(t.column.c.table_id == table_id)))
    versions = connection.execute(
        select(t.schema_versions.c.schema_version, t.schema_versions.c.begin_snapshot)
        .where(t.schema_versions.c.table_id == table_id)
        .order_by(t.schema_versions.c.schema_version)
    )
    begin = min((row.begin_snapshot for row in rows), default=0)
    return TableHistory(rows, tuple((row[0], row[1]) for row in versions), begin)


@dataclass(frozen=True)
class CommittedRows:
    """What the catalog holds of a table's rows at a snapshot."""

    files: tuple[DataFile, ...]
    inlined: tuple[InlinedRows, ...]
    pruned_files: int = 0


def read_rows(
    connection: Connection,
    database: Database,
    table: Table,
    history: TableHistory,
    snapshot_id: int,
    within: Filters = (),
) -> CommittedRows:
    """The files and inlined rows of a committed table; files that provably hold nothing `within` are left out."""
    rows = _file_rows(connection, table.table_id, snapshot_id)
    kept = prune(connection, table, rows, snapshot_id, history.retyped(table.columns), within) if within else rows
    mappings = read_mappings(connection, database, {row.mapping_id for row in kept if row.mapping_id is not None})
    deletes: Mapping[int, list[int]] = {}
    if kept and has_delete_table(connection, database.schema, table.table_id):
        deletes = read_deletes(connection, table.table_id, snapshot_id)
    if kept and database.older is not None:
        hidden = database.older.hidden_rows(connection, table.table_id, snapshot_id)
        deletes = {**deletes, **{file_id: sorted({*deletes.get(file_id, ()), *rows}) for file_id, rows in hidden.items()}}
    files = tuple(_data_file(row, table, snapshot_id, mappings, deletes) for row in kept)
    names = registered(connection, [table.table_id]).get(table.table_id, [])
    inlined = [InlinedTable(name, version, history.layout(version)) for name, version in names]
    return CommittedRows(files, tuple(read_inlined(connection, database.dialect, inlined, snapshot_id)), len(rows) - len(kept))


def _file_rows(connection: Connection, table_id: int, snapshot_id: int) -> list[Any]:
    data, delete = t.data_file, t.delete_file
    joined = data.outerjoin(
        delete,
        and_(delete.c.data_file_id == data.c.data_file_id, delete.c.table_id == table_id, visible(delete, snapshot_id)),
    )
    query = (
        select(
            data,
            delete.c.delete_file_id,
            delete.c.path.label("delete_path"),
            delete.c.path_is_relative.label("delete_path_is_relative"),
            delete.c.format.label("delete_format"),
            delete.c.delete_count,
            delete.c.file_size_bytes.label("delete_size_bytes"),
            delete.c.footer_size.label("delete_footer_size"),
            delete.c.begin_snapshot.label("delete_begin_snapshot"),
        )
        .select_from(joined)
        .where(data.c.table_id == table_id, visible(data, snapshot_id))
        .order_by(data.c.data_file_id, delete.c.delete_file_id)
    )
    rows = {row.data_file_id: row for row in connection.execute(query)}  # of two delete files, the newer
    return list(rows.values())


def _data_file(
    row: Any,
    table: Table,
    snapshot_id: int,
    mappings: Mapping[int, tuple[MappedField, ...]],
    deletes: Mapping[int, list[int]],
) -> DataFile:
    delete_file = None
    if row.delete_file_id is not None:
        delete_file = DeleteFile(
            row.delete_file_id,
            resolve(table.path, row.delete_path, row.delete_path_is_relative),
            row.delete_format,
            row.delete_count,
            row.delete_size_bytes,
            row.delete_footer_size,
            row.delete_begin_snapshot,
            snapshot_id,
        )
    partial = row.partial_max is not None and row.partial_max > snapshot_id
    return replace(
        data_file(row, table, mappings),
        delete_file=delete_file,
        inlined_deletes=tuple(deletes.get(row.data_file_id, ())),
        rows_until_snapshot=snapshot_id if partial else None,
    )


def data_file(row: Any, table: Table, mappings: Mapping[int, tuple[MappedField, ...]]) -> DataFile:
    """A row of `ducklake_data_file` as a file of which every row counts."""
    return DataFile(
        row.data_file_id,
        resolve(table.path, row.path, row.path_is_relative),
        row.record_count,
        row.file_size_bytes,
        row.footer_size,
        row.row_id_start,
        row.begin_snapshot,
        mapping=mappings.get(row.mapping_id) if row.mapping_id is not None else None,
        encryption_key=row.encryption_key,
    )


def read_mappings(connection: Connection, database: Database, ids: Collection[int]) -> dict[int, tuple[MappedField, ...]]:
    """The name mappings of some ids."""
    if not ids:
        return {}
    source = t.name_mapping
    children: dict[tuple[int, int | None], list[Any]] = defaultdict(list)
    for batch in batches(ids, database.dialect.batch_size):
        for row in connection.execute(select(source).where(source.c.mapping_id.in_(batch)).order_by(source.c.column_id)):
            children[row.mapping_id, row.parent_column].append(row)

    def fields(mapping_id: int, parent: int | None) -> tuple[MappedField, ...]:
        return tuple(
            MappedField(row.source_name, row.target_field_id, fields(mapping_id, row.column_id), bool(row.is_partition))
            for row in children.get((mapping_id, parent), ())
        )

    return {mapping_id: fields(mapping_id, None) for mapping_id in ids}
