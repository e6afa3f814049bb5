"""Stage changes to schemas, tables, views, macros and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...errors import StatementError
from ...format.objects import Column, Macro, PartitionField, Partitioning, Schema, SortField, Table, View
from ...format.options import StoredOption
from ...format.paths import directory_name, new_uuid
from ...format.positions import layout
from ..read.view import CatalogView
from ..staged import put, without
from .staging import Staging


class ObjectStaging:
    """Stages the changes of a transaction to definitions.

    Args:
        view: the lake with the staged changes.
        base: the lake without the staged changes.
        staging: the staged changes.
        data_path: the directory of the lake's files.
    """

    def __init__(self, view: CatalogView, base: CatalogView, staging: Staging, data_path: str) -> None:
        self._view = view
        self._base = base
        self._staging = staging
        self._data_path = data_path

    def new_schema(self, name: str) -> Schema:
        """Stage a new schema.

        Raises:
            StatementError: a schema with this name exists.
        """
        self._staging.require_open()
        _require_name("schema", name)
        if self._view.schema(name) is not None:
            raise StatementError(f"schema {name} already exists")
        identifier = new_uuid()
        path = self._data_path + directory_name(name, identifier)
        schema = Schema(self._staging.new_id(), identifier, name, path)
        self._staging.put(schemas=put(self._staging.changes.schemas, schema.schema_id, schema))
        return schema

    def put_schema(self, schema: Schema) -> None:
        """Stage the new definition of a schema; only its comment and tags may change.

        Raises:
            StatementError: the name has changed, which format 1.0 does not support.
        """
        self._staging.require_open()
        base = next((each for each in self._base.schemas() if each.schema_id == schema.schema_id), None)
        before = self._staging.changes.schemas.get(schema.schema_id) or base
        if before is not None and before.name != schema.name:
            raise StatementError(
                f"schema {before.name} cannot be renamed: DuckLake 1.0 cannot rename schemas. Clone it into a schema with the new name, "
                "and drop it"
            )
        staged = self._staging.changes.schemas
        self._staging.put(schemas=put(staged, schema.schema_id, schema) if schema != base else without(staged, schema.schema_id))

    def drop_schema(self, schema: Schema) -> None:
        """Stage the drop of an empty schema.

        Raises:
            StatementError: the schema has tables, views or macros.
        """
        self._staging.require_open()
        if self._view.names(schema.name) or self._view.macros(schema.name):
            raise StatementError(f"schema {schema.name} is not empty; drop its tables, views and macros first, or write CASCADE")
        rest = without(self._staging.changes.schemas, schema.schema_id)
        self._staging.put(schemas=rest if schema.schema_id < 0 else put(rest, schema.schema_id, None))

    def new_table(
        self,
        schema: Schema,
        name: str,
        columns: tuple[Column, ...],
        *,
        partitioning: tuple[PartitionField, ...] = (),
        sorting: tuple[SortField, ...] = (),
        comment: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Table:
        """Stage a new table without rows; its id is negative until it is committed.

        Args:
            schema: the table's schema.
            name: the table's name.
            columns: the columns, with their ids.
            partitioning: the partition keys; empty for an unpartitioned table.
            sorting: the sort keys.
            comment: the table's comment.
            tags: the table's other tags.

        Raises:
            StatementError: a table or view with this name exists, or there are no columns.
        """
        self._staging.require_open()
        self._require_free(schema.name, name, None)
        identifier = new_uuid()
        max_column_id = max((each.column_id for column in columns for each in column.walk()), default=0)
        table = Table(
            self._staging.new_id(),
            identifier,
            schema.name,
            name,
            schema.path + directory_name(name, identifier),
            columns,
            max_column_id + 1,
            Partitioning(self._staging.new_id(), partitioning) if partitioning else None,
            sorting,
            comment,
            dict(tags or {}),
        )
        self._require_columns(table)
        self._staging.put(tables=put(self._staging.changes.tables, table.table_id, table))
        return table

    def put_table(self, table: Table) -> None:
        """Stage the new definition of a table; another name is a rename. The committed definition stages nothing.

        Raises:
            StatementError: the new name is taken; no column is left; or the columns change although a model has read the table's staged
                changes, or the table was cloned in this transaction.
        """
        self._staging.require_open()
        self._require_free(table.schema_name, table.name, table.table_id)
        self._require_columns(table)
        current = self._view.by_id(table.table_id)
        if isinstance(current, Table) and layout(current.columns) != layout(table.columns):  # then reading the rows gives something else
            self._staging.require_unread(table)
            self._staging.require_readable(table)
        base = self._base.by_id(table.table_id) if table.table_id >= 0 else None
        table = replace(table, partitioning=self._with_known_id(table, base if isinstance(base, Table) else None))
        tables = without(self._staging.changes.tables, table.table_id)
        self._staging.put(tables=tables if table == base else put(tables, table.table_id, table))

    def drop_table(self, table: Table) -> None:
        """Stage the drop of a table and all its rows; its staged files will not become part of the lake."""
        self._staging.require_open()
        tables = without(self._staging.changes.tables, table.table_id)
        self._staging.put(
            tables=tables if table.table_id < 0 else put(tables, table.table_id, None),
            rows=without(self._staging.changes.rows, table.table_id),
        )

    def new_view(
        self,
        schema: Schema,
        name: str,
        sql: str,
        dialect: str = "duckdb",
        column_aliases: Sequence[str] = (),
        comment: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> View:
        """Stage a new view; its id is negative until it is committed.

        Args:
            schema: the view's schema.
            name: the view's name.
            sql: the query, in `dialect`.
            dialect: the SQL dialect of the query.
            column_aliases: other names for the columns of the query, from the first one on.
            comment: the view's comment.
            tags: the view's other tags.

        Raises:
            StatementError: a table or view with this name exists.
        """
        self._staging.require_open()
        self._require_free(schema.name, name, None)
        identifier, aliases = new_uuid(), tuple(column_aliases)
        view = View(self._staging.new_id(), identifier, schema.name, name, sql, dialect, aliases, comment, dict(tags or {}))
        self._staging.put(views=put(self._staging.changes.views, view.view_id, view))
        return view

    def put_view(self, view: View) -> None:
        """Stage the new definition of a view, which keeps its id; another name is a rename.

        Raises:
            StatementError: the new name is taken.
        """
        self._staging.require_open()
        self._require_free(view.schema_name, view.name, view.view_id)
        views = without(self._staging.changes.views, view.view_id)
        unchanged = view.view_id >= 0 and view == self._base.by_id(view.view_id)
        self._staging.put(views=views if unchanged else put(views, view.view_id, view))

    def drop_view(self, view: View) -> None:
        """Stage the drop of a view."""
        self._staging.require_open()
        views = without(self._staging.changes.views, view.view_id)
        self._staging.put(views=views if view.view_id < 0 else put(views, view.view_id, None))

    def drop_macro(self, macro: Macro) -> None:
        """Stage the drop of a macro."""
        self._staging.require_open()
        self._staging.put(dropped_macros=put(self._staging.changes.dropped_macros, macro.macro_id, macro))

    def set_option(self, key: str, value: str | None, scope: Table | Schema | None = None) -> None:
        """Stage an option of the lake, a schema or a table; an option alone creates no snapshot.

        Args:
            key: the option's name.
            value: the value in its stored form; None removes it, so that the value of the wider scope applies.
            scope: the table or schema; None for the lake.
        """
        self._staging.require_open()
        match scope:
            case None:
                option = StoredOption(key, value)
            case Schema():
                option = StoredOption(key, value, "schema", scope.schema_id)
            case Table():
                option = StoredOption(key, value, "table", scope.table_id)
        options = put(self._staging.changes.options, (option.key, option.scope, option.scope_id), option)
        self._staging.put(options=options)

    def _with_known_id(self, table: Table, base: Table | None) -> Partitioning | None:
        """Return the table's partitioning with its existing id, or with a new id if its keys are new."""
        wanted = table.partitioning
        if wanted is None or not wanted.fields:
            return None
        staged = self._staging.changes.tables.get(table.table_id)
        for known in (base, staged):
            if known is not None and known.partitioning is not None and known.partitioning.fields == wanted.fields:
                return known.partitioning
        return Partitioning(self._staging.new_id(), wanted.fields)

    def _require_free(self, schema_name: str, name: str, own_id: int | None) -> None:
        """Require that no other relation has the name; `own_id` is the id of the one that gets or keeps it, None for a new one."""
        _require_name("table or view", name)
        taken = self._view.find(schema_name, name)
        if taken is not None and own_id != taken.relation_id:
            kind = "table" if isinstance(taken, Table) else "view"
            raise StatementError(f"{kind} {taken.schema_name}.{taken.name} already exists")

    @staticmethod
    def _require_columns(table: Table) -> None:
        if not table.columns:
            raise StatementError(
                f"table {table.schema_name}.{table.name} must have at least one column; drop the table instead, or add another column first"
            )


def _require_name(kind: str, name: str) -> None:
    if not name:
        raise StatementError(f"the name of a {kind} cannot be empty; give it one")
