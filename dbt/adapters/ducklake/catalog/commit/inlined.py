"""Inlined rows in a commit: create inlined-data tables, insert rows, end rows.

Specification: the page "Data Inlining". Rows go into the newest inlined-data table of their table, which must have the table's current
columns. If there is none, or if its columns are others, one is created and registered, and the schema version increases, because DuckDB
caches the list of these tables by schema version.

A new or altered table gets its inlined-data table even if no rows are inlined, because DuckDB inlines by default. Its first insert would
create one in a new schema version without recording that version for the table. Then DuckDB reads and flushes the rows with the columns
and the partition spec that the table had at first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import BigInteger, bindparam, func, select, update
from sqlalchemy import MetaData as SqlMetaData
from sqlalchemy import Table as SqlTable
from sqlalchemy.engine import Connection
from sqlalchemy.schema import Column as SqlColumn
from sqlalchemy.sql.elements import quoted_name

from ...errors import LakeError
from ...format.identifiers import fold
from ...format.inlined import RESERVED_NAMES, base_type
from ...format.inlined_cells import converted, initial_value
from ...format.objects import Column, Table
from ...format.options import DEFAULTS, StoredOption
from ..read.column_history import read_history
from ..staged import StagedRows, put
from ..store import tables as t
from ..store.database import change_with_ids
from ..store.dialects import CatalogDialect
from ..store.inlined import InlinedTable, data_table, data_table_name, registered, stored_names
from .columns import layout_changed
from .options import stored_options
from .state import CommitState


def can_inline(dialect: CatalogDialect, columns: Sequence[Column]) -> bool:
    """Whether an inlined-data table can have these columns and store any row of them."""
    return (
        _have_types(dialect, columns)
        and _is_storable(dialect, columns)
        and _is_at_most(sum(map(dialect.inlined_column_bytes, columns)), dialect.max_inlined_row_bytes)
    )


def only_duckdb_inlines(dialect: CatalogDialect, columns: Sequence[Column]) -> bool:
    """Whether DuckDB would inline rows with these columns although the database cannot have an inlined-data table for them.

    The option `data_inlining_row_limit` of a table with these columns must be 0.
    """
    return dialect.read_by_duckdb and _have_types(dialect, columns) and not _is_storable(dialect, columns)


def _have_types(dialect: CatalogDialect, columns: Iterable[Column]) -> bool:
    """Whether DuckDB would inline these columns: it checks the types, the reserved names, and how many bytes a name has."""
    return all(_sql_type(dialect, each) is not None for each in columns)


def _is_storable(dialect: CatalogDialect, columns: Sequence[Column]) -> bool:
    return _is_at_most(len(columns), dialect.max_inlined_columns) and dialect.storable_names([each.name for each in columns])


def _is_at_most(number: int, limit: int | None) -> bool:
    return limit is None or number <= limit


def can_inline_rows(dialect: CatalogDialect, columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> bool:
    """Whether every value of these rows can be stored so that DuckDB reads it back."""
    if not can_inline(dialect, columns):
        return False
    limit = dialect.max_inlined_bytes
    try:
        for row in rows:
            cells = [dialect.inlined_cell(value, column) for value, column in zip(row, columns, strict=True)]
            if limit is not None and sum(map(_size, cells)) > limit:
                return False
    except ValueError:
        return False
    return True


def _size(cell: Any) -> int:
    """Return the bytes of a string or blob."""
    return len(cell.encode()) if isinstance(cell, str) else len(cell) if isinstance(cell, bytes) else 0


def write_inlined(state: CommitState, table: Table, staged: Sequence[StagedRows], first_row_id: int) -> None:
    """Insert staged rows into the inlined-data table.

    Args:
        state: the attempt to commit.
        table: the table's definition, with its id in the catalog.
        staged: the rows.
        first_row_id: the row id of the row with the offset 0.

    Raises:
        LakeError: the table was altered after the insert, and its new columns cannot be inlined.
    """
    name = _table_for(state, table)
    columns = table.columns
    target = data_table(state.connection, name, stored_names(state.connection, InlinedTable(name, columns)))
    keys = [f"c{index}" for index in range(len(columns))]
    fixed: dict[str, Any] = {"row_id": bindparam("r"), "begin_snapshot": bindparam("b")}
    cells: dict[str, Any] = dict(zip([each.name for each in target.c][3:], map(bindparam, keys), strict=True))
    cell = state.database.dialect.inlined_cell
    rows = [
        {"r": first_row_id + offset, "b": state.snapshot_id, **{key: cell(v, c) for key, v, c in zip(keys, values, columns, strict=True)}}
        for part in staged
        for offset, values in zip(part.offsets, _with_current_columns(part, columns), strict=True)
    ]
    state.connection.execute(target.insert().values({**fixed, **cells}), rows)


def _with_current_columns(staged: StagedRows, columns: Sequence[Column]) -> list[tuple[Any, ...]]:
    """Convert staged rows to the table's current columns, because a statement after the insert may have altered the table."""
    if staged.columns == tuple(columns):
        return list(staged.rows)
    indexes = {column.column_id: index for index, column in enumerate(staged.columns)}
    staged_columns = {column.column_id: column for column in staged.columns}
    return [
        tuple(
            converted(row[indexes[column.column_id]], staged_columns[column.column_id], column)
            if column.column_id in indexes
            else initial_value(column)
            for column in columns
        )
        for row in staged.rows
    ]


def create_data_table(state: CommitState, table: Table) -> None:
    """Create an inlined-data table for a new table, if DuckDB would inline rows of it.

    Args:
        state: the attempt to commit.
        table: the staged definition.
    """
    if _duckdb_inlines(state, table):
        _create_for_duckdb(state, table)


def alter_data_tables(state: CommitState, table: Table, *, needs_new: bool) -> None:
    """Keep the inlined-data tables of an altered table readable for DuckDB.

    DuckDB may create an inlined-data table in a new schema version without recording that version for its table. After a later change of
    the table it would read the rows with the columns of an earlier version, so the version is recorded here. It also inserts by position
    into the newest table without checking its columns, and flushes it with the spec that the table had in the inlined-data table's schema
    version. So new columns and keys get a new one, if they can be inlined.

    Args:
        state: the attempt to commit.
        table: the new definition.
        needs_new: whether the newest inlined-data table must not get more rows: the columns by position or the partition keys changed, or
            the table was renamed, as in the reference implementation.
    """
    if not state.database.dialect.read_by_duckdb:
        return
    found = registered(state.connection, table.table_id)
    versions = t.schema_versions.c
    stored = select(versions.schema_version, versions.begin_snapshot).where(versions.table_id == table.table_id)
    begins = {row.schema_version: row.begin_snapshot for row in state.connection.execute(stored)}
    for version in {version for _, version in found} - begins.keys():
        first = select(func.min(t.snapshot.c.snapshot_id)).where(t.snapshot.c.schema_version >= version)
        # If the version's snapshots have expired, the first one that remains may be of a later version with other columns.
        later = (begin - 1 for known, begin in begins.items() if known > version)
        begin_snapshot = min((state.connection.execute(first).scalar_one(), *later))
        state.add(t.schema_versions, begin_snapshot=begin_snapshot, schema_version=version, table_id=table.table_id)
    if needs_new if found else _duckdb_inlines(state, table):
        _create_for_duckdb(state, table)


def _duckdb_inlines(state: CommitState, table: Table) -> bool:
    """Whether the limit lets DuckDB with its default settings inline rows of a table. The limit of our own profile is not DuckDB's."""
    options = stored_options(state).with_rows(state.staged.options.values())
    schema_id = state.schema_named(table.schema_name).schema_id
    default = int(DEFAULTS["data_inlining_row_limit"])
    return options.inlining_row_limit(default, schema_id=schema_id, table_id=table.table_id) > 0


def _create_for_duckdb(state: CommitState, table: Table) -> None:
    """Create the inlined-data table for DuckDB's next insert, or turn inlining off for the table if the database cannot create it."""
    dialect = state.database.dialect
    if only_duckdb_inlines(dialect, table.columns):
        option = StoredOption("data_inlining_row_limit", "0", "table", table.table_id)
        staged = put(state.staged.options, (option.key, option.scope, option.scope_id), option)
        state.staged = replace(state.staged, options=staged)
    elif dialect.read_by_duckdb and _have_types(dialect, table.columns):
        _create(state, state.catalog_id(table.table_id), table.columns)


def end_rows(connection: Connection, name: str, snapshot_id: int, row_ids: Collection[int] | None = None) -> int:
    """End live rows of an inlined-data table, and return how many rows were ended.

    Args:
        connection: a writing transaction.
        name: the inlined-data table.
        snapshot_id: the snapshot that ends the rows.
        row_ids: the rows to end; None for all.
    """
    source = data_table(connection, name)
    statement = update(source).where(source.c.end_snapshot.is_(None)).values(end_snapshot=snapshot_id)
    if row_ids is None:
        return connection.execute(statement).rowcount
    return change_with_ids(connection, statement, source.c.row_id, row_ids)


def _table_for(state: CommitState, table: Table) -> str:
    """Return the inlined-data table with the table's current columns, creating it if necessary."""
    table_id = table.table_id
    if not can_inline(state.database.dialect, table.columns):
        raise LakeError(
            f"rows that this transaction inserted into {table.schema_name}.{table.name} would be inlined in the catalog, "
            "which cannot store the altered columns: commit before you alter the table, or set data_inlining_row_limit to 0"
        )
    if table_id in state.inlined_tables:
        return state.inlined_tables[table_id]
    found = registered(state.connection, table_id)
    if found:
        name, version = found[-1]
        if not layout_changed(read_history(state.connection, table_id).layout(version), table.columns):
            return name
    state.increase_schema_version()
    # Without this row, readers would use the columns of the table's first snapshot. DuckDB does not write it.
    state.add_schema_version(table_id)
    return _create(state, table_id, table.columns)


def _create(state: CommitState, table_id: int, columns: Sequence[Column]) -> str:
    dialect, schema = state.database.dialect, state.database.schema
    name = data_table_name(table_id, state.schema_version)
    fixed = [SqlColumn(each, BigInteger()) for each in ("row_id", "begin_snapshot", "end_snapshot")]
    types = [SqlColumn(quoted_name(each.name, True), _sql_type(dialect, each)) for each in columns]
    dialect.create_table(state.connection, SqlTable(quoted_name(name, True), SqlMetaData(), *fixed, *types, schema=schema))
    state.add(t.inlined_data_tables, table_id=table_id, table_name=name, schema_version=state.schema_version)
    state.inlined_tables[table_id] = name
    return name


def _sql_type(dialect: CatalogDialect, column: Column) -> Any:
    """Return the type of a column in an inlined-data table; None if its type, its name or its children prevent that it is inlined."""
    found = dialect.inlined_types.get(base_type(column.type))
    longest = dialect.max_identifier_bytes
    too_long = longest is not None and len(column.name.encode()) > longest
    if found is None or too_long or fold(column.name) in RESERVED_NAMES or not _children_fit(dialect, column):
        return None
    return dialect.inlined_type(found, column)


def _children_fit(dialect: CatalogDialect, column: Column) -> bool:
    return all(base_type(child.type) in dialect.inlined_types and _children_fit(dialect, child) for child in column.children)
