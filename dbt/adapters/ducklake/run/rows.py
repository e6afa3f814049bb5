"""Run INSERT, UPDATE, DELETE and TRUNCATE."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from functools import cache
from typing import TYPE_CHECKING

from ..errors import StatementError
from ..format.evolution import find_column
from ..format.files import LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID, Condition
from ..format.identifiers import backquoted, fold, spark_literal
from ..format.objects import Column, PartitionField, Table
from ..format.types import data_type_of, spark_name
from ..lake.context import RowCounts
from ..lake.delete import delete, truncate
from ..lake.insert import insert, insert_values
from ..lake.overwrite import overwrite, overwrite_partitions
from ..lake.target import TargetScan
from ..lake.update import update
from ..plan.defaults import default_sql
from ..plan.filters import filters_for_condition
from ..plan.literals import Clock, NeedsSparkError, can_store, column_values
from ..plan.resolve import virtual_columns
from ..spark.values.conform import is_changed_when_stored, stored_text
from ..sql.constants import constant, constant_rows
from ..sql.rows import fill_defaults
from ..sql.values import Constant, Delete, Insert, PartitionKey, Sql, Truncate, Update
from .environment import Environment
from .registry import asks_for_files
from .result import Result, changed
from .targets import Target, assigned_values, target_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LINEAGE = (LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID)


def run_insert(env: Environment, statement: Insert) -> Result:
    """Run INSERT INTO, INSERT OVERWRITE and INSERT … REPLACE WHERE."""
    target = target_of(env, statement.name)
    named = _named_partition_fields(target.table, statement)
    query = _with_defaults(target.table, statement)
    inserted = insert_constants(target, statement, query)
    if inserted is not None:
        return changed("INSERT", RowCounts(inserted=inserted))
    rows = _in_table_columns(target.table, statement, env.query(query))
    if statement.replace_where is not None:
        return changed("INSERT", _replace_where(target, statement.replace_where, rows))
    if not statement.overwrite:
        return changed("INSERT", RowCounts(inserted=insert(target.context, target.table, rows)))
    return changed("INSERT OVERWRITE", _overwrite(target, statement, rows, named))


def _overwrite(target: Target, statement: Insert, rows: DataFrame, named: tuple[PartitionField, ...]) -> RowCounts:
    """Replace rows of a table.

    Replaces the partition with the values in PARTITION, even if there are no new rows; without values the partitions that occur in
    `rows`, by the keys that PARTITION names; otherwise all rows.
    """
    env, table, values = target.env, target.table, statement.static_values
    dynamic = _dynamic_overwrite(env, table)
    if values and not (dynamic and len(values) < len(table.partition_fields)):
        columns = [column for column in table.columns if fold(column.name) in values]
        condition = " AND ".join(f"{backquoted(column.name)} <=> {_assigned(env, values[fold(column.name)], column)}" for column in columns)
        return _replace_where(target, Sql(condition), rows)
    if statement.partition or dynamic:
        return overwrite_partitions(target.context, table, rows, table.partition_fields if dynamic else named, target.note_scan)
    return overwrite(target.context, table, rows)


def _assigned(env: Environment, value: str, column: Column) -> str:
    """Return SQL that casts the SQL of a value to a column's type, with an error if it does not fit; it equals the stored value."""
    kind = spark_name(data_type_of(column))
    if is_changed_when_stored(column):
        text = stored_text(env.spark, value, column)
        value = "NULL" if text is None else spark_literal(text)
    if env.planning.settings().ansi:
        return f"CAST({value} AS {kind})"
    error = f"CAST(raise_error({spark_literal(f'column {column.name}: the value does not fit the type {kind}')}) AS {kind})"
    return f"IF(({value}) IS NOT NULL AND try_cast({value} AS {kind}) IS NULL, {error}, try_cast({value} AS {kind}))"


def run_update(env: Environment, statement: Update) -> Result:
    """Run UPDATE."""
    target = target_of(env, statement.name, statement.alias)
    alias = target.side.alias
    scan, within = _scan(target, statement.condition, [each.value for each in statement.assignments])
    values = assigned_values(target, statement.assignments, target.spark_text)
    condition = None if statement.condition is None else f"({target.spark_text(statement.condition)}\n)"  # a word after it is no alias
    columns = [
        f"{values.get(column.name) or f'{backquoted(alias)}.{backquoted(column.name)}'} AS {backquoted(column.name)}"
        for column in target.table.columns
    ]

    def new_rows(scanned: DataFrame) -> DataFrame:
        frame = scanned.alias(alias)
        frame = frame if condition is None else frame.where(condition)
        return frame.selectExpr(*columns, *_LINEAGE)

    return changed("UPDATE", update(target.context, target.table, scan, new_rows, values, within))


def run_delete(env: Environment, statement: Delete) -> Result:
    """Run DELETE; without a condition it is TRUNCATE."""
    target = target_of(env, statement.name, statement.alias)
    if statement.condition is None:
        truncate(target.context, target.table)
        return Result("DELETE all rows")
    return changed("DELETE", _delete_where(target, statement.condition))


def run_truncate(env: Environment, statement: Truncate) -> Result:
    """Run TRUNCATE TABLE."""
    target = target_of(env, statement.name)
    truncate(target.context, target.table)
    return Result("TRUNCATE")


def _delete_where(target: Target, condition: Sql) -> RowCounts:
    scan, within = _scan(target, condition)
    text = f"({target.spark_text(condition)}\n)"  # Spark would take a word after the condition for an alias
    return delete(target.context, target.table, scan, lambda rows: rows.alias(target.side.alias).where(text), within)


def _replace_where(target: Target, condition: Sql, rows: DataFrame) -> RowCounts:
    """Delete the rows that pass a condition, then insert `rows`."""
    removed = _delete_where(target, condition)
    return RowCounts(inserted=insert(target.context, target.table, rows), deleted=removed.deleted)


def _scan(target: Target, condition: Sql | None, values: Sequence[Sql | None] = ()) -> tuple[TargetScan, Condition]:
    """Return how to read the rows that may satisfy the condition of a DELETE or UPDATE, and the filters that such rows pass.

    Args:
        target: the table.
        condition: the condition; None: all rows.
        values: the values that the statement assigns; None for DEFAULT.
    """
    env, table = target.env, target.table

    @cache
    def within() -> Condition:
        return () if condition is None else filters_for_condition(condition.text, table, target.side.alias, env.planning.settings())

    expressions = [each for each in (condition, *values) if each is not None]
    plan = target.context.transaction.scan_plan(table, within=within)
    target.note_scan(plan)
    virtual = virtual_columns(dict.fromkeys(name for each in expressions for name in each.virtual), table)
    scan = TargetScan(target.context, plan, virtual, asks_for_files(each.text for each in expressions))
    has_rows = bool(plan.files or plan.inlined or plan.pruned_files)
    return scan, within() if has_rows or env.spark_started() else ()  # an empty table does not start Spark for the filters


def _named_partition_fields(table: Table, statement: Insert) -> tuple[PartitionField, ...]:
    """Return the partition fields that PARTITION names; a plain column names all fields of this column.

    Raises:
        StatementError: a key is not a partition key of the table, or has a value and a transform.
    """
    named: list[PartitionField] = []
    for target in statement.partition:
        column = find_column(table, (target.key.column,))
        wanted = target.key.transform
        fields = [
            field
            for field in table.partition_fields
            if field.column_id == column.column_id and (wanted == "identity" or wanted == field.transform)
        ]
        if not fields:
            raise StatementError(
                f"INSERT into {statement.name}: {target.key} is not a partition key of the table; leave it out of PARTITION"
            )
        transformed = next((PartitionKey(column.name, field.transform) for field in fields if field.transform != "identity"), None)
        if target.value is not None and transformed is not None:
            raise StatementError(
                f"INSERT into {statement.name}: its partition key is {transformed}, so {column.name} cannot have a value "
                "in PARTITION; select it, and write INSERT INTO … REPLACE WHERE for the rows to replace"
            )
        named += [field for field in fields if field not in named]
    return tuple(named)


def _dynamic_overwrite(env: Environment, table: Table) -> bool:
    mode = env.spark.conf.get("spark.sql.sources.partitionOverwriteMode", "static") or "static"
    return table.partitioning is not None and mode.lower() == "dynamic"


# -- constants --------------------------------------------------------------------------------------------------------------------


def insert_constants(target: Target, statement: Insert, query: Sql) -> int | None:
    """Run INSERT INTO … VALUES or SELECT without FROM if all values are constants whose values in the columns are certain.

    Args:
        target: the table.
        statement: the statement.
        query: its query, with defaults for the word DEFAULT.

    Returns:
        The number of rows; None if nothing was done, because Spark must run the statement.
    """
    if statement.overwrite or statement.by_name or statement.partition or statement.replace_where is not None:
        return None
    env, table, rows = target.env, target.table, constant_rows(query.text)
    columns = None if rows is None else _constants_by_column(table, statement, rows)
    if rows is None or columns is None or not all(map(can_store, table.columns)):
        return None
    settings = env.planning.settings()
    if not (settings.ansi and settings.timestamps_are_instants and env.planning.usual_literals()):
        return None
    clock = Clock(datetime.now(timezone.utc), settings.zone_is_utc)
    try:
        values = [column_values(each, column, clock) for each, column in zip(columns, table.columns, strict=True)]
    except NeedsSparkError:
        return None
    return insert_values(target.context, table, list(zip(*values, strict=True)))


def _constants_by_column(table: Table, statement: Insert, rows: list[tuple[Constant, ...]]) -> list[list[Constant]] | None:
    """Return the constants of each column of the table; None if a row has another number of values, or a default is not a constant."""
    names = _target_columns(table, statement)
    indexes = {fold(find_column(table, (name,)).name): index for index, name in enumerate(names)}
    if len(indexes) < len(names) or any(len(row) != len(names) for row in rows):
        return None
    columns = []
    for column in table.columns:
        index = indexes.get(fold(column.name))
        if index is not None:
            columns.append([row[index] for row in rows])
        elif (default := constant(default_sql(column))) is not None:
            columns.append([default] * len(rows))
        else:
            return None
    return columns


# -- rows to columns ---------------------------------------------------------------------------------------------------------------


def _in_table_columns(table: Table, statement: Insert, rows: DataFrame) -> DataFrame:
    """Return the rows with the table's columns in the table's order: by name, by the column list, or by position."""
    static = statement.static_values
    given = rows.columns if statement.by_name else _target_columns(table, statement)
    if len(given) != len(rows.columns):
        raise StatementError(
            f"INSERT into {statement.name}: {len(given)} columns are expected ({', '.join(given)}), "
            f"but the query returns {len(rows.columns)} ({', '.join(rows.columns)})"
        )
    positions: dict[str, int] = {}
    for index, name in enumerate(given):
        column = find_column(table, (name,))
        if fold(column.name) in positions:
            raise StatementError(f"INSERT into {statement.name}: column {name} is given twice")
        if fold(column.name) in static:
            raise StatementError(
                f"INSERT into {statement.name}: column {name} has a value in PARTITION, so the query cannot also set it. "
                "Remove it from PARTITION or from the query"
            )
        positions[fold(column.name)] = index
    numbered = rows.toDF(*[f"_c{index}" for index in range(len(given))])
    return numbered.selectExpr(*[_source_of(column, positions, static) for column in table.columns])


def _target_columns(table: Table, statement: Insert) -> Sequence[str]:
    """Return the columns of the table for the values of an INSERT that are not matched by name, in their order."""
    static = statement.static_values
    if statement.columns is not None:
        return statement.columns
    return [column.name for column in table.columns if fold(column.name) not in static]


def _with_defaults(table: Table, statement: Insert) -> Sql:
    """Return the query with each DEFAULT in its VALUES replaced by the default of its column."""
    targets = [find_column(table, (name,)) for name in _target_columns(table, statement)]

    def default(index: int) -> str:
        return default_sql(targets[index]) if index < len(targets) else "NULL"

    return fill_defaults(statement.query, default)


def _source_of(column: Column, positions: dict[str, int], static: dict[str, str]) -> str:
    name = fold(column.name)
    text = f"_c{positions[name]}" if name in positions else static.get(name) or default_sql(column)
    return f"{text} AS {backquoted(column.name)}"
