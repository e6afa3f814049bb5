"""The docs catalog of dbt from the lake's metadata: columns, types, comments, sizes. It needs a few catalog queries and no Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, StatsItem, TableMetadata

from .format.objects import Relation, Table
from .format.partitioning import key_columns, key_texts
from .format.positions import positions_of
from .format.types import data_type_of, spark_name

if TYPE_CHECKING:
    from agate.table import Table as AgateTable

    from .catalog.read.definitions import RelationName
    from .catalog.read.table_summaries import TableSummary
    from .session import LakeSession

_TEXTS = frozenset(
    {
        *("table_database", "table_schema", "table_name", "table_type", "table_comment", "table_owner"),
        *("column_name", "column_type", "column_comment", "stats:partitioned_by:value", "stats:sorted_by:value"),
    }
)
"""The columns of a catalog that are always text. Otherwise agate, dbt's library for tables, would make a number of the name `007`."""


@dataclass(frozen=True)
class Described:
    """A relation with its columns and statistics from the catalog."""

    relation: Relation
    columns: tuple[tuple[str, str, str | None], ...]
    """(name, Spark type, comment) per column; empty for a view that DuckDB created, whose columns are not in the catalog."""
    stats: tuple[StatsItem, ...]

    @property
    def kind(self) -> str:
        """The kind of the relation for dbt."""
        return kind_of(self.relation)


def kind_of(relation: Relation) -> str:
    """Return the kind of a relation for dbt."""
    return "table" if isinstance(relation, Table) else "view"


def describe(session: LakeSession, lake: str, wanted: Callable[[RelationName], bool]) -> list[Described]:
    """Return the relations of a lake whose names `wanted` accepts, as the session sees them, with columns and statistics."""
    with session.reading(lake) as reader:
        relations = reader.named(name for name in reader.names() if wanted(name))
        tables = [relation for relation in relations if isinstance(relation, Table)]
        summaries = session.lake.catalog_of(lake).table_summaries(reader.snapshot, tables) if tables else {}
    return [
        Described(
            relation,
            tuple(columns_of(relation)),
            tuple(_stats(relation, summaries[relation.table_id])) if isinstance(relation, Table) and relation.table_id in summaries else (),
        )
        for relation in relations
    ]


def catalog_table(database: str, described: Described) -> CatalogTable:
    """Return one relation in the form of `get_catalog_for_single_relation`."""
    relation = described.relation
    columns = {
        name: ColumnMetadata(type=type_, index=index, name=name, comment=comment)
        for index, (name, type_, comment) in enumerate(described.columns, start=1)
    }
    metadata = TableMetadata(
        type=described.kind,
        schema=relation.schema_name,
        name=relation.name,
        database=database,
        comment=relation.comment,
    )
    return CatalogTable(metadata=metadata, columns=columns, stats={item.id: item for item in described.stats})


def catalog_rows(database: str, described: Sequence[Described]) -> AgateTable:
    """Return relations in the form of dbt's `get_catalog`: one row per column."""
    from dbt_common.clients.agate_helper import table_from_rows

    rows: list[dict[str, Any]] = []
    for item in described:
        head: dict[str, Any] = {
            "table_database": database,
            "table_schema": item.relation.schema_name,
            "table_name": item.relation.name,
            "table_type": item.kind,
            "table_comment": item.relation.comment,
            "table_owner": None,
        }
        stats = {
            f"stats:{stat.id}:{key}": getattr(stat, key) for stat in item.stats for key in ("label", "value", "description", "include")
        }
        for index, (name, type_, comment) in enumerate(item.columns, start=1):
            column = {"column_name": name, "column_index": index, "column_type": type_, "column_comment": comment}
            rows.append(head | column | stats)
    names = list(dict.fromkeys(name for row in rows for name in row))
    table: AgateTable = table_from_rows([[row.get(name) for name in names] for row in rows], names, _TEXTS.intersection(names))
    return table


def columns_of(relation: Relation) -> Iterator[tuple[str, str, str | None]]:
    """Yield name, Spark type and comment of each column; none for a view that DuckDB created, whose columns are not in the catalog."""
    if isinstance(relation, Table):
        for column in relation.columns:
            yield column.name, spark_name(data_type_of(column)), column.comment
        return
    from .format.view_columns import view_columns

    for recorded in view_columns(relation):
        yield recorded.name, recorded.type, recorded.comment


def _stats(table: Table, summary: TableSummary) -> Iterator[StatsItem]:
    """Yield the same nine statistics for every table; dbt's page leaves out empty ones."""
    yield StatsItem("row_count", "Rows", summary.record_count, True, "Rows in the table")
    yield StatsItem("bytes", "Bytes", summary.size_bytes, True, "Size of its data files")
    yield StatsItem("files", "Files", summary.file_count, True, "Number of its data files")
    deletes = f"Files that list the deleted rows of data files, {summary.delete_size_bytes} bytes in total"
    yield StatsItem("delete_files", "Delete files", summary.delete_file_count, summary.delete_file_count > 0, deletes)
    yield _optional_stat("snapshot", "Last snapshot", summary.last_snapshot_id, "The snapshot that last changed its rows")
    changed = None if summary.last_snapshot_time is None else f"{summary.last_snapshot_time:%Y-%m-%d %H:%M:%S} UTC"
    yield _optional_stat("last_modified", "Last modified", changed, "When that snapshot was committed")
    yield _optional_stat("partitioned_by", "Partitioned by", ", ".join(_partition_keys(table)), "Partition keys of new rows")
    order = ", ".join(f"{key.expression} {key.direction}" for key in table.sorting)
    yield _optional_stat("sorted_by", "Sorted by", order, "The order of rows in new files")
    positions = ", ".join(f"{position.lake}.{position.table}: {position.snapshot_id}" for position in positions_of(table.tags))
    yield _optional_stat("positions", "Changes read", positions, "The snapshot up to which it has read the changes of each input")


def _optional_stat(name: str, label: str, value: str | int | None, description: str) -> StatsItem:
    return StatsItem(name, label, "" if value is None else value, value not in (None, ""), description)


def _partition_keys(table: Table) -> list[str]:
    fields = table.partition_fields
    return key_texts(key_columns(table.columns, fields), fields)
