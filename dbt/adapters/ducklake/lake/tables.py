"""CREATE TABLE, CREATE OR REPLACE TABLE, DROP TABLE and RENAME.

A table that is replaced keeps its id, and therefore its comments, options, layout, history and change feed: its rows are deleted, columns
that differ are changed, and the new rows are inserted, in one snapshot (ARCHITECTURE.md, "A rebuild").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..catalog.read.reader import SnapshotReader
from ..errors import NotFoundError, StatementError
from ..format.constraints import Constraint, named, with_constraints
from ..format.evolution import NewColumn, columns_of, replace_columns
from ..format.identifiers import fold
from ..format.objects import Column, PartitionField, Partitioning, Relation, SortField, Table, View
from ..format.option_values import require_table_option
from ..format.partitioning import check_transform
from ..format.positions import with_positions
from ..format.sort_text import names_in
from .context import Context
from .delete import end_all_rows
from .insert import insert
from .schemas import required_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class TableRequest:
    """The clauses of CREATE TABLE. `partitioning`, `sorting` and `comment` are None if the statement does not have the clause."""

    schema: str
    name: str
    columns: Sequence[NewColumn]
    partitioning: Sequence[tuple[str, str]] | None = None
    """(column, transform) pairs."""
    sorting: tuple[SortField, ...] | None = None
    comment: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    """Options for the table, as stored in the catalog."""
    constraints: Sequence[Constraint] = ()
    """All constraints except NOT NULL."""


def create_table(context: Context, request: TableRequest, *, replace_existing: bool = False) -> Table:
    """Stage an empty table; with `replace_existing` a table of that name is emptied and gets these columns.

    Raises:
        StatementError: a relation of that name exists and `replace_existing` is false, it is a view, a name is used twice, or an option is
            one of the whole lake.
    """
    existing = context.transaction.find(request.schema, request.name)
    if existing is not None and not replace_existing:
        raise StatementError(
            f"{kind_of(existing)} {request.schema}.{request.name} already exists; "
            "write CREATE OR REPLACE TABLE to replace it, or IF NOT EXISTS to keep it"
        )
    if isinstance(existing, View):
        raise StatementError(
            f"{request.schema}.{request.name} is a view, and a table can only replace a table; "
            f"DROP VIEW {request.schema}.{request.name} first"
        )
    for key in request.options:
        require_table_option(key)
    table = _new_table(context, request) if existing is None else _rebuild(context, existing, request)
    for key, value in request.options.items():
        context.transaction.objects.set_option(key, option_of_table(context, table, key, value), table)
    return table


def option_of_table(context: Context, table: Table, key: str, wanted: str | None) -> str | None:
    """Return the value that an option of a table gets: the limit of inlined rows is 0 if the catalog database cannot store them."""
    is_limit = key.lower() == "data_inlining_row_limit"
    return "0" if is_limit and context.catalog.only_duckdb_inlines(table.columns) else wanted


def _new_table(context: Context, request: TableRequest) -> Table:
    columns = columns_of(request.columns)
    return context.transaction.objects.new_table(
        required_schema(context, request.schema),
        request.name,
        columns,
        partitioning=partition_fields(columns, request.partitioning or (), f"{request.schema}.{request.name}"),
        sorting=request.sorting or (),
        comment=request.comment,
        tags=with_constraints(request.tags, _constraints(request)),
    )


def _constraints(request: TableRequest) -> tuple[Constraint, ...]:
    """Return the constraints, each with a name.

    Raises:
        NotFoundError: a constraint names a column that does not exist.
    """
    known = {fold(column.name) for column in request.columns}
    for constraint in request.constraints:
        for column in constraint.columns:
            if fold(column) not in known:
                names = ", ".join(each.name for each in request.columns)
                raise NotFoundError(
                    "column", f"{column} of {request.schema}.{request.name}, for {constraint.kind}", f"The columns are: {names}"
                )
    return named(request.constraints, request.name)


def create_table_as(context: Context, request: TableRequest, rows: DataFrame, *, replace_existing: bool = False) -> tuple[Table, int]:
    """Stage a table with `rows`, which may come from the replaced table itself, because that scan was planned earlier.

    Errors are those of `create_table` and `insert`.

    Args:
        context: the catalog, the transaction and Spark.
        request: the clauses of the statement.
        rows: the columns of the request by position.
        replace_existing: see `create_table`.

    Returns:
        The table and the number of rows.
    """
    table = create_table(context, request, replace_existing=replace_existing)
    return table, insert(context, table, rows)


def drop_table(context: Context, schema: str, name: str, *, if_exists: bool = False) -> None:
    """Stage dropping a table.

    Raises:
        NotFoundError: the table does not exist and `if_exists` is false.
        StatementError: it is a view.
    """
    existing = context.transaction.find(schema, name)
    if isinstance(existing, View):
        raise StatementError(f"{schema}.{name} is a view; write DROP VIEW {schema}.{name}")
    if existing is None:
        if not if_exists:
            raise NotFoundError("table", f"{schema}.{name}", "Write DROP TABLE IF EXISTS if it may be missing")
        return
    context.transaction.objects.drop_table(existing)


def rename(context: Context, kind: str, schema: str, name: str, to_schema: str, to_name: str) -> None:
    """Stage a new name for a table or view, in the same schema only, as in the reference implementation.

    `kind` is that of ALTER, "table" or "view"; as in DuckDB, ALTER TABLE renames a view too.

    Raises:
        NotFoundError: no relation has the old name, or `kind` is "view" and it is a table.
        StatementError: the new name is taken or in another schema.
    """
    relation = required_relation(context, schema, name)
    if kind == "view" and isinstance(relation, Table):
        raise NotFoundError("view", f"{schema}.{name}", "It is a table; write ALTER TABLE")
    if fold(to_schema) != fold(schema):
        raise StatementError(f"{schema}.{name} cannot be renamed into schema {to_schema}: create it there from a query and drop this one")
    taken = context.transaction.find(to_schema, to_name)
    if taken is not None and fold(to_name) != fold(name):
        raise StatementError(f"{kind_of(taken)} {to_schema}.{to_name} already exists")
    if isinstance(relation, Table):
        context.transaction.objects.put_table(replace(relation, name=to_name))
    else:
        context.transaction.objects.put_view(replace(relation, name=to_name))


def required_relation(context: Context, schema: str, name: str) -> Relation:
    """Return the table or view of that name.

    Raises:
        NotFoundError: it does not exist.
    """
    relation = context.transaction.find(schema, name)
    if relation is None:
        raise NotFoundError("table or view", f"{schema}.{name}")
    return relation


def required_table(context: Context, schema: str, name: str, reader: SnapshotReader | None = None) -> Table:
    """Return the table of that name, as the transaction sees it or, with `reader`, at another snapshot.

    Raises:
        NotFoundError: the table does not exist.
        StatementError: it is a view.
    """
    relation = (reader or context.transaction).find(schema, name)
    if relation is None:
        raise NotFoundError("table", f"{schema}.{name}")
    if isinstance(relation, View):
        raise StatementError(f"{schema}.{name} is a view; its rows cannot be changed")
    return relation


def kind_of(relation: Relation) -> str:
    """Return "table" or "view"."""
    return "table" if isinstance(relation, Table) else "view"


def partition_fields(columns: Sequence[Column], keys: Sequence[tuple[str, str]], table: str) -> tuple[PartitionField, ...]:
    """Return partition keys with column ids instead of names.

    Args:
        columns: the columns of the table.
        keys: (column name, transform) pairs.
        table: the table's name, for the error message.

    Raises:
        NotFoundError: the table has no such column.
        StatementError: the type of the column does not support the transform.
    """
    by_name = {fold(column.name): column for column in columns}
    fields = []
    for name, transform in keys:
        column = by_name.get(fold(name))
        if column is None:
            raise NotFoundError("column", f"{name} of {table}", f"The columns are: {', '.join(c.name for c in columns)}")
        check_transform(column, transform)
        fields.append(PartitionField(column.column_id, transform))
    return tuple(fields)


def repartitioned(table: Table, fields: Sequence[PartitionField]) -> Table:
    """Return the table with these partition keys for future rows; existing files stay as they are."""
    current = table.partition_fields
    if tuple(fields) == current:
        return table
    return replace(table, partitioning=Partitioning(-1, tuple(fields)) if fields else None)  # negative: not committed


def _rebuild(context: Context, table: Table, request: TableRequest) -> Table:
    """Delete all rows and stage the new definition, which keeps the layout and comments that the request does not change."""
    changed = replace_columns(table, request.columns)
    if request.comment is not None:
        changed = replace(changed, comment=request.comment)
    changed = replace(changed, tags=with_constraints({**with_positions(table.tags, ()), **request.tags}, _constraints(request)))
    if request.partitioning is None:
        fields = _kept_keys(table, changed)
    else:
        fields = partition_fields(changed.columns, request.partitioning, f"{table.schema_name}.{table.name}")
    changed = repartitioned(changed, fields)
    dropped = {fold(column.name) for column in table.columns} - {fold(column.name) for column in changed.columns}
    if request.sorting is not None:
        changed = replace(changed, sorting=request.sorting)
    elif any(dropped & names_in(key.expression) for key in changed.sorting):
        changed = replace(changed, sorting=())
    end_all_rows(context, table)
    context.transaction.objects.put_table(changed)
    return changed


def _kept_keys(table: Table, changed: Table) -> tuple[PartitionField, ...]:
    """Return the partition keys of `table` for `changed`, or none if one of their columns is gone or its type does not allow the key."""
    names = {column.column_id: column.name for column in table.columns}
    try:
        return partition_fields(changed.columns, [(names[key.column_id], key.transform) for key in table.partition_fields], changed.name)
    except (NotFoundError, StatementError):
        return ()
