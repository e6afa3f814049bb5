"""Find the files of a table that a scan can leave out: read their statistics and partition values and apply `format/pruning.py`.

Specification: "Queries", and the tables `ducklake_file_column_stats`, `ducklake_partition_column`, `ducklake_file_partition_value`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, select
from sqlalchemy import Table as MetadataTable
from sqlalchemy.engine import Connection
from sqlalchemy.sql.expression import CompoundSelect

from ...format.files import ColumnFilter
from ...format.objects import Column, Table
from ...format.pruning import KeyValue, excluded, excluded_by_partition
from ..store import tables as t
from ..store.dialects import CatalogDialect
from .file_rows import column_stats
from .prefilter import Prefilter

_MOST_IDS = 500
"""Up to this number of files are named by their ids in a query."""


@dataclass(frozen=True)
class Pruning:
    """The filters of a scan of one table that are about its columns.

    Args:
        table: the table.
        retyped: ids of columns whose type has changed.
        filters: the filters of each column; every row must pass all.
        specs: every partition spec that the table ever had: partition id → key index → (column id, transform).
    """

    table: Table
    retyped: Collection[int]
    filters: Mapping[int, Sequence[ColumnFilter]]
    specs: Mapping[int, Mapping[int, tuple[int, str]]]

    @classmethod
    def of(cls, connection: Connection, table: Table, retyped: Collection[int], within: Sequence[ColumnFilter]) -> Pruning | None:
        """Return the filters of `within` that are about the table's columns; None if there are none."""
        columns = {leaf.column_id for column in table.columns for leaf in column.walk()}
        filters: dict[int, list[ColumnFilter]] = defaultdict(list)
        for each in within:
            if each.column_id in columns:
                filters[each.column_id].append(each)
        return cls(table, retyped, filters, _specs(connection, table.table_id)) if filters else None

    @property
    def columns(self) -> dict[int, Column]:
        """The columns and their fields by id."""
        return {leaf.column_id: leaf for column in self.table.columns for leaf in column.walk()}

    def candidates(self, dialect: CatalogDialect, visible: ColumnElement[bool]) -> CompoundSelect[Any] | None:
        """Return a query of the ids of the visible files without most that can be left out; None if SQL can leave out none."""
        return Prefilter(dialect, self.table.table_id, self.columns, self.filters, self.specs, self.retyped).candidates(visible)

    def kept(self, connection: Connection, files: Sequence[Any], which: ColumnElement[bool]) -> list[Any]:
        """Return the files that may have a row that passes every filter.

        Args:
            connection: the connection to the catalog database.
            files: the rows of `ducklake_data_file` to choose from.
            which: a condition that selects these rows, and perhaps others.
        """
        if not files:
            return []
        if len(files) <= _MOST_IDS:
            which = t.data_file.c.data_file_id.in_([row.data_file_id for row in files])
        pruned = self._by_statistics(connection, which)
        pruned |= self._by_partition(connection, files, which)
        return [row for row in files if row.data_file_id not in pruned]

    def _by_statistics(self, connection: Connection, which: ColumnElement[bool]) -> set[int]:
        columns, source = self.columns, t.file_column_stats
        query = _of_files(select(source), source, self.table.table_id, which).where(source.c.column_id.in_(self.filters))
        return {
            row.data_file_id
            for row in connection.execute(query)
            if any(excluded(each, column_stats(row), columns[row.column_id].type) for each in self.filters[row.column_id])
        }

    def _by_partition(self, connection: Connection, files: Sequence[Any], which: ColumnElement[bool]) -> set[int]:
        columns = self.columns
        spec_of = {row.data_file_id: self.specs[row.partition_id] for row in files if row.partition_id in self.specs}
        if not any(column_id in self.filters for spec in spec_of.values() for column_id, _ in spec.values()):
            return set()
        source = t.file_partition_value
        keys: dict[int, list[KeyValue]] = defaultdict(list)
        for row in connection.execute(_of_files(select(source), source, self.table.table_id, which)):
            key = spec_of.get(row.data_file_id, {}).get(row.partition_key_index)
            if key is not None:
                keys[row.data_file_id].append(KeyValue(*key, row.partition_value))
        return {
            file_id
            for file_id, values in keys.items()
            if any(
                excluded_by_partition(each, values, columns[column_id].type, retyped=column_id in self.retyped)
                for column_id, wanted in self.filters.items()
                for each in wanted
            )
        }


def prune(
    connection: Connection,
    table: Table,
    files: Sequence[Any],
    which: ColumnElement[bool],
    retyped: Collection[int],
    within: Sequence[ColumnFilter],
) -> list[Any]:
    """Return the files that may have a row that passes every filter of `within`; the other arguments are those of `Pruning`."""
    pruning = Pruning.of(connection, table, retyped, within) if files else None
    return list(files) if pruning is None else pruning.kept(connection, files, which)


def _of_files(query: Select[Any], source: MetadataTable, table_id: int, which: ColumnElement[bool]) -> Select[Any]:
    """Return the query of a table's rows about files, restricted to the files that a condition on `ducklake_data_file` selects."""
    data = t.data_file
    wanted = and_(data.c.data_file_id == source.c.data_file_id, data.c.table_id == table_id, which)
    return query.select_from(source.join(data, wanted)).where(source.c.table_id == table_id)


def _specs(connection: Connection, table_id: int) -> dict[int, dict[int, tuple[int, str]]]:
    """Return every partition spec that the table ever had: partition id → key index → (column id, transform)."""
    source = t.partition_column
    specs: dict[int, dict[int, tuple[int, str]]] = defaultdict(dict)
    for row in connection.execute(select(source).where(source.c.table_id == table_id)):
        specs[row.partition_id][row.partition_key_index] = row.column_id, row.transform
    return dict(specs)
