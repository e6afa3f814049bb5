"""The catalog rows of schemas, tables, views, macros and their tags in a commit.

Specification: the pages of those tables. When an object changes, its old row ends and a new one begins with the same id, as in the
reference implementation.
"""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import select

from ...errors import ConflictError
from ...format.changes import Kind
from ...format.objects import Macro, Schema, Table, View
from ...format.paths import relative_to
from ...format.positions import with_committed_ids
from ..read.definition_rows import format_aliases
from ..store import tables as t
from .columns import layout_changed, write_column_comments, write_columns, write_interim_columns
from .inlined import alter_data_tables, create_data_table
from .state import CommitState

_Definition = Schema | Table | View


def write_objects(state: CommitState) -> None:
    """Write drops first, so that names are free; then schemas, tables, views and restored macros."""
    _drop(state)
    for schema_id, schema in state.staged.schemas.items():
        if schema is not None:
            _write_schema(state, schema_id, schema)
    for table_id, table in state.staged.tables.items():
        before = state.base.by_id(table_id)
        if table is not None and isinstance(before, Table):
            _alter_table(state, before, table)
        elif table is not None:
            _create_table(state, table)
    _write_interim_columns(state)
    for view_id, view in state.staged.views.items():
        before = state.base.by_id(view_id)
        if view is not None:
            _write_view(state, before if isinstance(before, View) else None, view)
    for macro_id, macro in state.staged.restored_macros.items():
        _restore_macro(state, macro_id, macro)


def _drop(state: CommitState) -> None:
    tables = [table_id for table_id, table in state.staged.tables.items() if table is None]
    for table in (t.table, t.partition_info, t.column, t.column_tag, t.data_file, t.delete_file, t.sort_info):
        state.end(table, table.c.table_id, tables)
    views = [view_id for view_id, view in state.staged.views.items() if view is None]
    state.end(t.view, t.view.c.view_id, views)
    schemas = [schema_id for schema_id, schema in state.staged.schemas.items() if schema is None]
    state.end(t.schema, t.schema.c.schema_id, schemas)
    macros = state.staged.dropped_macros
    state.end(t.macro, t.macro.c.macro_id, macros)
    state.end(t.tag, t.tag.c.object_id, [*tables, *views, *schemas])
    for kind, ids in ((Kind.DROPPED_TABLE, tables), (Kind.DROPPED_VIEW, views), (Kind.DROPPED_SCHEMA, schemas)):
        for object_id in ids:
            state.log(kind, object_id)
    for macro_id, macro in macros.items():
        state.log(Kind.DROPPED_TABLE_MACRO if macro.is_table else Kind.DROPPED_SCALAR_MACRO, macro_id)


def _restore_macro(state: CommitState, macro_id: int, macro: Macro) -> None:
    """Add a row for a dropped macro, whose implementations are still in the catalog.

    Raises:
        ConflictError: the implementations are gone, because concurrent maintenance has expired the last snapshot of the macro.
    """
    implementation = select(t.macro_impl.c.macro_id).where(t.macro_impl.c.macro_id == macro_id).limit(1)
    if state.connection.execute(implementation).first() is None:
        raise ConflictError(
            f"the last snapshot of the macro {macro.schema_name}.{macro.name} has expired since the rollback was planned; nothing was "
            "written, so run it again"
        )
    state.add(
        t.macro,
        schema_id=state.catalog_id(state.schema_named(macro.schema_name).schema_id),
        macro_id=macro_id,
        macro_name=macro.name,
        begin_snapshot=state.snapshot_id,
    )
    state.log(Kind.CREATED_TABLE_MACRO if macro.is_table else Kind.CREATED_SCALAR_MACRO, schema=macro.schema_name, name=macro.name)


def _write_schema(state: CommitState, schema_id: int, schema: Schema) -> None:
    before = None
    if schema_id < 0:
        path, is_relative = relative_to(state.data_path, schema.path)
        state.add(
            t.schema,
            schema_id=state.catalog_id(schema_id),
            schema_uuid=schema.uuid,
            begin_snapshot=state.snapshot_id,
            schema_name=schema.name,
            path=path,
            path_is_relative=is_relative,
        )
        state.log(Kind.CREATED_SCHEMA, schema=schema.name)
    else:
        before = state.base.schema(schema.name)
    _write_tags(state, state.catalog_id(schema_id), before, schema, unlogged=schema_id >= 0)


def _create_table(state: CommitState, table: Table) -> None:
    create_data_table(state, table)
    table_id = state.catalog_id(table.table_id)
    table = replace(table, table_id=table_id)
    _write_table_row(state, table)
    write_columns(state, table_id, (), table.columns)
    write_column_comments(state, table_id, (), table.columns)
    if table.partitioning is not None:
        _write_partitioning(state, table)
    if table.sorting:
        _write_sorting(state, table)
    _write_tags(state, table_id, None, table)
    state.add_schema_version(table_id)
    state.log(Kind.CREATED_TABLE, schema=table.schema_name, name=table.name)


def _alter_table(state: CommitState, before: Table, table: Table) -> None:
    table_id = table.table_id
    renamed = (before.schema_name, before.name) != (table.schema_name, table.name)
    if renamed:
        state.end(t.table, t.table.c.table_id, [table_id])
        _write_table_row(state, table)
        state.log(Kind.CREATED_TABLE, schema=table.schema_name, name=table.name)
    structural = write_columns(state, table_id, before.columns, table.columns)
    repartitioned = before.partitioning != table.partitioning
    if repartitioned:
        state.end(t.partition_info, t.partition_info.c.table_id, [table_id])
        _write_partitioning(state, table)
    if before.sorting != table.sorting:
        state.end(t.sort_info, t.sort_info.c.table_id, [table_id])
        if table.sorting:
            _write_sorting(state, table)
    write_column_comments(state, table_id, before.columns, table.columns)
    _write_tags(state, table_id, before, table)
    if renamed or structural or repartitioned:
        alter_data_tables(state, table, needs_new=renamed or repartitioned or layout_changed(before.columns, table.columns))
        state.add_schema_version(table_id)
    if replace(table, schema_name=before.schema_name, name=before.name) != before:
        state.log(Kind.ALTERED_TABLE, table_id)


def _write_interim_columns(state: CommitState) -> None:
    """Write the interim columns of all tables that get files: columns of staged files that the transaction later changed or dropped.

    A table with an unchanged definition can have them too: the transaction may have renamed a column and renamed it back.
    """
    for table_id, rows in state.staged.rows.items():
        before = state.base.by_id(table_id) if rows.files else None
        after = state.staged.tables.get(table_id, before)
        if rows.files and isinstance(after, Table):
            known = (*(before.columns if isinstance(before, Table) else ()), *after.columns)
            write_interim_columns(state, state.catalog_id(table_id), rows.layouts(), known)


def _write_table_row(state: CommitState, table: Table) -> None:
    schema = state.schema_named(table.schema_name)
    path, is_relative = relative_to(schema.path, table.path)
    state.add(
        t.table,
        table_id=table.table_id,
        table_uuid=table.uuid,
        begin_snapshot=state.snapshot_id,
        schema_id=state.catalog_id(schema.schema_id),
        table_name=table.name,
        path=path,
        path_is_relative=is_relative,
    )


def _write_partitioning(state: CommitState, table: Table) -> None:
    """Write a partition spec; a row without keys means unpartitioned. The keys of a spec that is used again are still there."""
    partitioning = table.partitioning
    partition_id = state.new_catalog_id() if partitioning is None else state.catalog_id(partitioning.partition_id)
    state.add(t.partition_info, partition_id=partition_id, table_id=table.table_id, begin_snapshot=state.snapshot_id)
    if partitioning is not None and partitioning.partition_id >= 0:
        return
    for index, key in enumerate(() if partitioning is None else partitioning.fields):
        state.add(
            t.partition_column,
            partition_id=partition_id,
            table_id=table.table_id,
            partition_key_index=index,
            column_id=key.column_id,
            transform=key.transform,
        )


def _write_sorting(state: CommitState, table: Table) -> None:
    sort_id = state.new_catalog_id()
    state.add(t.sort_info, sort_id=sort_id, table_id=table.table_id, begin_snapshot=state.snapshot_id)
    for index, key in enumerate(table.sorting):
        state.add(
            t.sort_expression,
            sort_id=sort_id,
            table_id=table.table_id,
            sort_key_index=index,
            expression=key.expression,
            dialect=key.dialect,
            sort_direction=key.direction,
            null_order=key.nulls,
        )


def _write_view(state: CommitState, before: View | None, view: View) -> None:
    view_id = state.catalog_id(view.view_id)
    unchanged = before is not None and replace(before, comment=view.comment, tags=view.tags) == view
    if not unchanged:
        if before is not None:
            state.end(t.view, t.view.c.view_id, [view_id])
        state.add(
            t.view,
            view_id=view_id,
            view_uuid=view.uuid,
            begin_snapshot=state.snapshot_id,
            schema_id=state.catalog_id(state.schema_named(view.schema_name).schema_id),
            view_name=view.name,
            dialect=view.dialect,
            sql=view.sql,
            column_aliases=format_aliases(view.column_aliases),
        )
    if before is None or (before.schema_name, before.name) != (view.schema_name, view.name):
        state.log(Kind.CREATED_VIEW, schema=view.schema_name, name=view.name)
    else:
        state.log(Kind.ALTERED_VIEW, view_id)
    _write_tags(state, view_id, before, view)


def _tags(definition: _Definition | None) -> dict[str, str]:
    """Return the rows of `ducklake_tag` of an object: key → value; none for one that does not exist."""
    if definition is None:
        return {}
    return dict(definition.tags) if definition.comment is None else {**definition.tags, "comment": definition.comment}


def _write_tags(state: CommitState, object_id: int, before: _Definition | None, after: _Definition, *, unlogged: bool = False) -> None:
    """Write the changed tags of an object; a removed comment leaves a row with NULL, as in the reference implementation.

    With `unlogged`, also end rows that a concurrent writer may have added: changes of a schema's tags are not logged, so they never
    conflict.
    """
    old, new = _tags(before), with_committed_ids(_tags(after), state.snapshot_id, state.catalog_id)
    for key in sorted(key for key in {*old, *new} if old.get(key) != new.get(key)):
        if key in old or unlogged:
            state.end(t.tag, t.tag.c.object_id, [object_id], t.tag.c.key == key)
        if key in new or key == "comment":
            state.add(t.tag, object_id=object_id, begin_snapshot=state.snapshot_id, key=key, value=new.get(key))
