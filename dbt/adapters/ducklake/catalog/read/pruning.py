"""Find the files of a table that a scan can leave out: read their statistics and partition values and apply `format/pruning.py`.

Specification: "Queries", and the tables `ducklake_file_column_stats`, `ducklake_partition_column`, `ducklake_file_partition_value`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Select, bindparam, select
from sqlalchemy import Table as MetadataTable
from sqlalchemy.engine import Connection
from sqlalchemy.sql.expression import CompoundSelect

from ...format.files import ColumnFilter
from ...format.objects import Table
from ...format.pruning import KeyValue, excluded, excluded_by_partition
from ..store import tables as t
from ..store.dialects import CatalogDialect
from .file_rows import column_stats
from .prefilter import Prefilter, ScanFilters

_MAX_IDS = 5000
"""Up to this number of files, a query lists their ids, which is faster than finding them again.

They are literals, because SQLite before 3.32 takes only 999 parameters.
"""

Ids: TypeAlias = Select[Any] | CompoundSelect[Any] | list[int]
"""Ids of data files, or a query of them."""


class Pruning(ScanFilters):
    """Finds the files that the filters of a scan leave out."""

    @classmethod
    def of(cls, connection: Connection, table: Table, retyped: Collection[int], within: Sequence[ColumnFilter]) -> Pruning | None:
        """Return the filters of `within` that apply to columns of the table; None if there are none.

        Args:
            connection: the connection to the catalog database.
            table: the table.
            retyped: ids of columns whose type has changed.
            within: the filters of a scan; every row must pass all.
        """
        columns = {leaf.column_id for column in table.columns for leaf in column.walk()}
        filters: dict[int, list[ColumnFilter]] = defaultdict(list)
        for each in within:
            if each.column_id in columns:
                filters[each.column_id].append(each)
        return cls(table, retyped, filters, _specs(connection, table.table_id)) if filters else None

    def candidates(self, dialect: CatalogDialect, visible: ColumnElement[bool]) -> CompoundSelect[Any] | None:
        """Return a query of the ids of the visible files without most that can be left out; None if SQL cannot exclude any."""
        return Prefilter(dialect, self).candidates(visible)

    def kept(self, connection: Connection, files: Sequence[Any], ids: Ids) -> list[Any]:
        """Return the files that may have a row that passes every filter.

        Args:
            connection: the connection to the catalog database.
            files: the rows of `ducklake_data_file` to choose from.
            ids: a query of the ids of these files, and perhaps of others.
        """
        if not files:
            return []
        if len(files) <= _MAX_IDS:
            ids = [row.data_file_id for row in files]
        pruned = self._by_statistics(connection, ids)
        pruned |= self._by_partition(connection, files, ids)
        return [row for row in files if row.data_file_id not in pruned]

    def _by_statistics(self, connection: Connection, ids: Ids) -> set[int]:
        source = t.file_column_stats
        query = self._of_files(source, ids).where(source.c.column_id.in_(self.filters))
        return {
            row.data_file_id
            for row in connection.execute(query)
            if any(excluded(each, column_stats(row), self.columns[row.column_id].type) for each in self.filters[row.column_id])
        }

    def _by_partition(self, connection: Connection, files: Sequence[Any], ids: Ids) -> set[int]:
        spec_of = {row.data_file_id: self.specs[row.partition_id] for row in files if row.partition_id in self.specs}
        if not any(column_id in self.filters for spec in spec_of.values() for column_id, _ in spec.values()):
            return set()
        source = t.file_partition_value
        keys: dict[int, list[KeyValue]] = defaultdict(list)
        for row in connection.execute(self._of_files(source, ids)):
            key = spec_of.get(row.data_file_id, {}).get(row.partition_key_index)
            if key is not None:
                keys[row.data_file_id].append(KeyValue(*key, row.partition_value))
        return {
            file_id
            for file_id, values in keys.items()
            if any(
                excluded_by_partition(each, values, self.columns[column_id].type, retyped=column_id in self.retyped)
                for column_id, wanted in self.filters.items()
                for each in wanted
            )
        }

    def _of_files(self, source: MetadataTable, ids: Ids) -> Select[Any]:
        listed: Any = bindparam("ids", ids, expanding=True, literal_execute=True) if isinstance(ids, list) else ids
        return select(source).where(source.c.table_id == self.table.table_id, source.c.data_file_id.in_(listed))


def prune(
    connection: Connection,
    table: Table,
    files: Sequence[Any],
    which: ColumnElement[bool],
    retyped: Collection[int],
    within: Sequence[ColumnFilter],
) -> list[Any]:
    """Return the files that may have a row that passes every filter of `within`.

    Args:
        connection: the connection to the catalog database.
        table: the table.
        files: the rows of `ducklake_data_file` to choose from.
        which: the condition that selects exactly these rows.
        retyped: ids of columns whose type has changed.
        within: the filters.
    """
    pruning = Pruning.of(connection, table, retyped, within) if files else None
    return list(files) if pruning is None else pruning.kept(connection, files, file_ids(table, which))


def file_ids(table: Table, which: ColumnElement[bool]) -> Select[Any]:
    """Return a query of the ids of a table's files that a condition on `ducklake_data_file` selects."""
    return select(t.data_file.c.data_file_id).where(t.data_file.c.table_id == table.table_id, which)


def _specs(connection: Connection, table_id: int) -> dict[int, dict[int, tuple[int, str]]]:
    """Return every partition spec that the table ever had: partition id → key index → (column id, transform)."""
    source = t.partition_column
    specs: dict[int, dict[int, tuple[int, str]]] = defaultdict(dict)
    for row in connection.execute(select(source).where(source.c.table_id == table_id)):
        specs[row.partition_id][row.partition_key_index] = row.column_id, row.transform
    return dict(specs)
