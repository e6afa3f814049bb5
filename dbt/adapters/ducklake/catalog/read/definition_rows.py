"""Read the rows of definitions: schemas, the names of tables and views, their definitions, and macros, in a fixed number of queries.

Specification: the tables `ducklake_schema`, `ducklake_table`, `ducklake_column`, `ducklake_view`, `ducklake_tag`,
`ducklake_column_tag`, `ducklake_partition_info`, `ducklake_sort_info`, `ducklake_macro`, `ducklake_macro_impl` and
`ducklake_macro_parameters`. We accept oddities of the reference implementation: a live table row without live columns is not a table (left
by a concurrent rename and drop), a partition row without keys means unpartitioned, and the default `NULL` means no default.

DuckDB parses every macro when it opens a lake, and fails to open the lake if one cannot be parsed. So we never write macro bodies; only
DuckDB creates macros.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy import Table as MetadataTable
from sqlalchemy.engine import Connection

from ...errors import LakeError
from ...format.identifiers import fold
from ...format.objects import (
    Column,
    Default,
    Macro,
    MacroBody,
    MacroParameter,
    PartitionField,
    Partitioning,
    Relation,
    Schema,
    SortField,
    Table,
    View,
)
from ...format.paths import resolve
from ..store import tables as t
from ..store.row_rules import checked, damaged_row, rule_violations

LOAD_ALL_THRESHOLD = 20
"""The number of ids up to which rows are read by id. For more, all rows are read, because one full read is cheaper than many ids.

For relations, the limit is a third of those of the lake, if that is more.
"""

_NO_TYPE = (None, "", "unknown")
"""The stored types of a macro's parameters that mean: no type."""


@dataclass(frozen=True)
class NamedRow:
    """A relation in the list of names, whose definition may not be loaded yet."""

    relation_id: int
    schema_id: int
    name: str
    row: Any
    is_table: bool
    error: LakeError | None = None
    """Why the definition cannot be read, if its row is damaged."""


Definition = Relation | LakeError | None
"""A definition, or why it cannot be read."""


class DefinitionLoader:
    """Reads the definitions visible at a snapshot. Methods with a parameter `ids` read only these objects, or all if it is None."""

    def __init__(self, connection: Connection, snapshot_id: int) -> None:
        self._connection = connection
        self._snapshot_id = snapshot_id
        self._errors: dict[Any, LakeError] = {}
        """Id of a relation or schema → the error of its first damaged row."""

    def schemas(self, data_path: str) -> tuple[dict[int, Schema], list[tuple[str | None, LakeError]]]:
        """Return the schemas by id, and the damaged ones as (name, error)."""
        all_rows = self._rows(select(t.schema).where(t.visible(t.schema, self._snapshot_id)))
        errors = rule_violations(t.schema, all_rows)
        rows = [row for index, row in enumerate(all_rows) if index not in errors]
        tags = self._tags([row.schema_id for row in rows] if len(rows) <= LOAD_ALL_THRESHOLD else None)
        schemas = {
            row.schema_id: Schema(
                row.schema_id,
                row.schema_uuid,
                row.schema_name,
                resolve(data_path, row.path, row.path_is_relative),
                tags.get(row.schema_id, {}).get("comment"),
                other_tags(tags.get(row.schema_id, {})),
            )
            for row in rows
        }
        return schemas, [(all_rows[index].schema_name, error) for index, error in errors.items()]

    def names(self, schemas: dict[int, Schema], ids: list[int] | None = None) -> dict[tuple[int, str], NamedRow]:
        """Return (schema id, folded name) → the row of a table or view, including damaged rows whose names can be read."""
        tables = self._visible(t.table, t.table.c.table_id, ids)
        views = self._visible(t.view, t.view.c.view_id, ids)
        columns = select(t.column.c.table_id).where(t.visible(t.column, self._snapshot_id)).distinct()
        live: set[int] = set(self._connection.scalars(_restricted(columns, t.column.c.table_id, ids)))
        table_errors, view_errors = rule_violations(t.table, tables), rule_violations(t.view, views)
        entries = [
            NamedRow(row.table_id, row.schema_id, row.table_name, row, True, table_errors.get(index))
            for index, row in enumerate(tables)
            if row.table_id in live
        ]
        entries += [
            NamedRow(row.view_id, row.schema_id, row.view_name, row, False, view_errors.get(index)) for index, row in enumerate(views)
        ]
        named = (entry for entry in entries if entry.schema_id in schemas and isinstance(entry.name, str))
        return {(entry.schema_id, fold(entry.name)): entry for entry in named}

    def relations(self, entries: Iterable[NamedRow], schemas: dict[int, Schema], ids: list[int] | None) -> dict[int, Definition]:
        """Return relation id → its definition, or why it cannot be read."""
        tags = self._tags(ids)
        tables = any(entry.is_table for entry in entries)
        columns = self._columns(ids) if tables else {}
        greatest = self._greatest_column_ids(ids) if tables else {}
        partitionings = self._partitionings(ids) if tables else {}
        sortings = self._sortings(ids) if tables else {}
        definitions: dict[int, Definition] = {}
        for entry in entries:
            error = entry.error or self._errors.get(entry.relation_id)
            if error is not None:
                definitions[entry.relation_id] = error
                continue
            schema, own_tags = schemas[entry.schema_id], tags.get(entry.relation_id, {})
            if not entry.is_table:
                definitions[entry.relation_id] = _view(entry.row, schema, own_tags)
                continue
            table_id = entry.relation_id
            layout = partitionings.get(table_id), sortings.get(table_id, ())
            definitions[table_id] = _table(entry.row, schema, columns[table_id], greatest[table_id] + 1, layout, own_tags)
        return definitions

    def _columns(self, ids: list[int] | None) -> dict[int, tuple[Column, ...]]:
        query = select(t.column).where(t.visible(t.column, self._snapshot_id)).order_by(t.column.c.column_order)
        comments: dict[tuple[int, int], str] = {
            (row.table_id, row.column_id): row.value
            for row in self._undamaged(t.column_tag, self._visible(t.column_tag, t.column_tag.c.table_id, ids))
            if row.key == "comment"
        }
        rows: dict[int, list[Any]] = defaultdict(list)
        for row in self._undamaged(t.column, self._rows(_restricted(query, t.column.c.table_id, ids))):
            rows[row.table_id].append(row)
        trees = {table_id: column_tree(own, comments) for table_id, own in rows.items()}
        for table_id, tree in trees.items():
            if len(tree) == len(rows[table_id]):
                continue
            orphans = {row.column_id for row in rows[table_id]} - {each.column_id for column in tree for each in column.walk()}
            if orphans:
                reason = "has a parent_column that is not a column of the table"
                self._errors.setdefault(table_id, damaged_row(t.column.name, f"table_id={table_id}, column_id={min(orphans)}", reason))
        return trees

    def _greatest_column_ids(self, ids: list[int] | None) -> dict[int, int]:
        query: Select[Any] = select(t.column.c.table_id, func.max(t.column.c.column_id).label("column_id")).group_by(t.column.c.table_id)
        rows = self._rows(_restricted(query, t.column.c.table_id, ids))
        return dict(tuple(row) for row in self._undamaged(t.column, rows))

    def _partitionings(self, ids: list[int] | None) -> dict[int, Partitioning]:
        info, keys = t.partition_info, t.partition_column
        query = (
            select(info.c.table_id, info.c.partition_id, keys.c.partition_key_index, keys.c.column_id, keys.c.transform)
            .join(keys, (keys.c.partition_id == info.c.partition_id) & (keys.c.table_id == info.c.table_id))
            .where(t.visible(info, self._snapshot_id))
            .order_by(info.c.partition_id, keys.c.partition_key_index)
        )
        found: dict[int, Partitioning] = {}
        for row in self._undamaged(keys, self._rows(_restricted(query, info.c.table_id, ids))):
            field = PartitionField(row.column_id, row.transform)
            earlier = found.get(row.table_id)
            fields = earlier.fields if earlier is not None and earlier.partition_id == row.partition_id else ()
            found[row.table_id] = Partitioning(row.partition_id, (*fields, field))
        return found

    def _sortings(self, ids: list[int] | None) -> dict[int, tuple[SortField, ...]]:
        info, keys = t.sort_info, t.sort_expression
        query = (
            select(keys)
            .join(info, (keys.c.sort_id == info.c.sort_id) & (keys.c.table_id == info.c.table_id))
            .where(t.visible(info, self._snapshot_id))
            .order_by(keys.c.sort_id, keys.c.sort_key_index)
        )
        found: dict[int, tuple[SortField, ...]] = defaultdict(tuple)
        for row in self._undamaged(keys, self._rows(_restricted(query, info.c.table_id, ids))):
            found[row.table_id] += (SortField(row.expression, row.sort_direction, row.null_order, row.dialect),)
        return found

    def _tags(self, ids: list[int] | None) -> dict[int, dict[str, str]]:
        found: dict[int, dict[str, str]] = defaultdict(dict)
        for row in self._undamaged(t.tag, self._visible(t.tag, t.tag.c.object_id, ids)):
            if row.value is not None:
                found[row.object_id][row.key] = row.value
        return found

    def _undamaged(self, table: MetadataTable, rows: list[Any]) -> list[Any]:
        """Return the rows that are not damaged, and record the errors of the others by the id of their relation."""
        errors = rule_violations(table, rows)
        for index, error in errors.items():
            self._errors.setdefault(rows[index].object_id if table is t.tag else rows[index].table_id, error)
        return [row for index, row in enumerate(rows) if index not in errors] if errors else rows

    def _visible(self, table: MetadataTable, key: ColumnElement[Any], ids: list[int] | None) -> list[Any]:
        return self._rows(_restricted(select(table).where(t.visible(table, self._snapshot_id)), key, ids))

    def _rows(self, query: Select[Any]) -> list[Any]:
        return list(self._connection.execute(query).all())


def read_macros(connection: Connection, snapshot_id: int, schemas: Mapping[int, str]) -> list[Macro]:
    """Return the macros visible at a snapshot, ordered by schema and name.

    Args:
        connection: a connection to the catalog database.
        snapshot_id: the snapshot.
        schemas: id → name of the schemas visible at the snapshot.

    Raises:
        LakeError: a row is damaged.
    """
    macro_rows = connection.execute(select(t.macro).where(t.visible(t.macro, snapshot_id))).all()
    rows = [row for row in checked(t.macro, macro_rows) if row.schema_id in schemas]
    if not rows:
        return []
    parameters: dict[tuple[int, int], list[MacroParameter]] = defaultdict(list)
    columns = t.macro_parameters.c
    parameter_rows = connection.execute(select(t.macro_parameters).order_by(columns.macro_id, columns.impl_id, columns.column_id)).all()
    for row in checked(t.macro_parameters, parameter_rows):
        parameters[row.macro_id, row.impl_id].append(_parameter(row))
    bodies: dict[int, list[MacroBody]] = defaultdict(list)
    kinds: dict[int, str] = {}
    body_rows = connection.execute(select(t.macro_impl).order_by(t.macro_impl.c.macro_id, t.macro_impl.c.impl_id)).all()
    for row in checked(t.macro_impl, body_rows):
        bodies[row.macro_id].append(MacroBody(row.sql, tuple(parameters[row.macro_id, row.impl_id])))
        kinds[row.macro_id] = row.type
    found = [
        Macro(row.macro_id, schemas[row.schema_id], row.macro_name, kinds.get(row.macro_id) == "table", tuple(bodies[row.macro_id]))
        for row in rows
    ]
    return sorted(found, key=lambda macro: (macro.schema_name, macro.name, macro.is_table))


def _parameter(row: Any) -> MacroParameter:
    """Convert a row of `ducklake_macro_parameters`."""
    type_name = None if row.parameter_type in _NO_TYPE else row.parameter_type
    default = None if row.default_value_type in _NO_TYPE else Default(row.default_value, row.default_value_type)
    return MacroParameter(row.parameter_name, type_name, default)


def column_tree(rows: Iterable[Any], comments: dict[tuple[int, int], str]) -> tuple[Column, ...]:
    """Return columns with their nested fields, from rows of `ducklake_column` ordered by `column_order`."""
    children: dict[int | None, list[Any]] = defaultdict(list)
    for row in rows:
        children[row.parent_column].append(row)

    def build(parent: int | None) -> tuple[Column, ...]:
        return tuple(
            Column(
                row.column_id,
                row.column_name,
                row.column_type,
                build(row.column_id) if row.column_id in children else (),
                row.nulls_allowed is not False or parent is not None,  # nested fields are always nullable
                row.initial_default,
                _default(row),
                comments.get((row.table_id, row.column_id)) if comments else None,
            )
            for row in children.get(parent, ())
        )

    return build(None)


def other_tags(tags: dict[str, str]) -> dict[str, str]:
    """Return the tags without the comment, which a definition has in a field of its own."""
    return {key: value for key, value in tags.items() if key != "comment"}


def _default(row: Any) -> Default | None:
    value = row.default_value
    if value is None or value == "NULL":
        return None
    return Default(value, row.default_value_type or "literal", row.default_value_dialect or "duckdb")


def _table(
    row: Any,
    schema: Schema,
    columns: tuple[Column, ...],
    next_column_id: int,
    layout: tuple[Partitioning | None, tuple[SortField, ...]],
    tags: dict[str, str],
) -> Table:
    return Table(
        row.table_id,
        row.table_uuid,
        schema.name,
        row.table_name,
        resolve(schema.path, row.path, row.path_is_relative),
        columns,
        next_column_id,
        *layout,
        tags.get("comment"),
        other_tags(tags),
    )


def _view(row: Any, schema: Schema, tags: dict[str, str]) -> View:
    return View(
        row.view_id,
        row.view_uuid,
        schema.name,
        row.view_name,
        row.sql,
        row.dialect,
        parse_aliases(row.column_aliases),
        tags.get("comment"),
        other_tags(tags),
    )


def parse_aliases(text: str | None) -> tuple[str, ...]:
    """Return a view's column names from their stored list: `"x","y z"`, in which quotes inside a name are doubled."""
    return tuple(next(csv.reader([text], skipinitialspace=True))) if text else ()


def format_aliases(names: Iterable[str]) -> str:
    """Return a view's column names as they are stored: without names an empty string, because DuckDB cannot open a lake with NULL here."""
    return ",".join('"' + name.replace('"', '""') + '"' for name in names)


def _restricted(query: Select[Any], key: ColumnElement[Any], ids: list[int] | None) -> Select[Any]:
    return query if ids is None else query.where(key.in_(ids))
