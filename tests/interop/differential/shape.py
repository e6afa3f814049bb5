"""The definitions of the lake as the side whose turn it is sees them: its tables, their columns and types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import duckdb

from dbt.adapters.ducklake.format.objects import Table, View
from dbt.adapters.ducklake.format.types import DataType, Field, data_type_of
from dbt.adapters.ducklake.session import LakeSession

from .values import parse_duckdb_type


@dataclass(frozen=True)
class ColumnShape:
    name: str
    type: DataType
    nullable: bool = True


@dataclass(frozen=True)
class TableShape:
    schema: str
    name: str
    columns: tuple[ColumnShape, ...]

    @property
    def key(self) -> str:
        """Return `schema.name` in lower case."""
        return f"{self.schema}.{self.name}".casefold()


@dataclass(frozen=True)
class Shape:
    """The tables and views of the lake; `views` are (schema, name), `comments` (table, column or None, text)."""

    schemas: tuple[str, ...]
    tables: tuple[TableShape, ...]
    views: tuple[tuple[str, str], ...]
    comments: frozenset[tuple[str, str | None, str]] = frozenset()

    def table(self, key: str) -> TableShape | None:
        return next((table for table in self.tables if table.key == key), None)


def of_ours(session: LakeSession) -> Shape:
    """Return the shape that our session sees, in its open transaction if there is one."""
    with session.reading() as reader:
        schemas = tuple(sorted(schema.name for schema in reader.schemas()))
        relations = reader.relations()
    tables = tuple(
        TableShape(r.schema_name, r.name, tuple(ColumnShape(c.name, _plain(data_type_of(c)), c.nullable) for c in r.columns))
        for r in relations
        if isinstance(r, Table)
    )
    comments = {
        (f"{r.schema_name}.{r.name}".casefold(), name, comment)
        for r in relations
        if isinstance(r, Table)
        for name, comment in ((None, r.comment), *((column.name, column.comment) for column in r.columns))
        if comment is not None
    }
    views = tuple(sorted((r.schema_name, r.name) for r in relations if isinstance(r, View)))
    return Shape(schemas, _ordered(tables), views, frozenset(comments))


def of_duckdb_side(duck: duckdb.DuckDBPyConnection) -> Shape:
    """Return the shape that DuckDB sees, in its open transaction if there is one."""
    schemas = duck.execute("SELECT schema_name FROM duckdb_schemas() WHERE database_name = 'lake' ORDER BY 1").fetchall()
    columns: dict[tuple[str, str], list[ColumnShape]] = {}
    for schema, table, column, kind, nullable in duck.execute(
        "SELECT c.schema_name, c.table_name, column_name, data_type, is_nullable FROM duckdb_columns() c "
        "JOIN duckdb_tables() t ON t.database_name = c.database_name AND t.schema_name = c.schema_name AND t.table_name = c.table_name "
        "WHERE c.database_name = 'lake' ORDER BY column_index"
    ).fetchall():
        columns.setdefault((schema, table), []).append(ColumnShape(column, _plain(parse_duckdb_type(kind)), nullable))
    views = duck.execute(
        "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'lake' AND NOT internal ORDER BY ALL"
    ).fetchall()
    tables = (TableShape(schema, name, tuple(found)) for (schema, name), found in columns.items())
    comments = duck.execute(
        "SELECT lower(schema_name || '.' || table_name), NULL, comment FROM duckdb_tables() WHERE database_name = 'lake' AND comment IS NOT NULL "
        "UNION ALL SELECT lower(schema_name || '.' || table_name), column_name, comment FROM duckdb_columns() "
        "WHERE database_name = 'lake' AND comment IS NOT NULL"
    ).fetchall()
    return Shape(tuple(name for (name,) in schemas), _ordered(tables), tuple(views), frozenset(comments))


def _ordered(tables: Iterable[TableShape]) -> tuple[TableShape, ...]:
    return tuple(sorted(tables, key=lambda table: table.key))


def _plain(kind: DataType) -> DataType:
    """Return a type without the nullability and comments of its fields, which DuckDB does not show."""
    return DataType(kind.name, tuple(Field(field.name, _plain(field.type)) for field in kind.fields))
