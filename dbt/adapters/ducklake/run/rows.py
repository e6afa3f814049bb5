"""Run INSERT, UPDATE, DELETE, TRUNCATE and MERGE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ..errors import StatementError
from ..format.evolution import NewColumn, find_column
from ..format.files import LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID
from ..format.identifiers import backquoted, fold, spark_literal
from ..format.objects import Column, PartitionField, Table
from ..format.types import data_type_of, spark_name
from ..lake.alter import add_columns
from ..lake.context import RowCounts
from ..lake.delete import delete, truncate
from ..lake.insert import insert
from ..lake.merge import merge
from ..lake.merge_request import MergeRequest
from ..lake.overwrite import overwrite, overwrite_partitions
from ..lake.tables import required_table
from ..lake.target import TargetScan
from ..lake.update import update
from ..plan.defaults import default_sql
from ..plan.filters import filters_for_join
from ..plan.keys import equal_keys, only_compares
from ..plan.virtual import source_with_virtual, virtual_columns, virtual_columns_of_target
from ..spark.rows.match import When
from ..spark.values.types import fields_of
from ..sql.rows import fill_defaults
from ..sql.values import Assignment, Delete, Insert, Merge, MergeClause, Name, PartitionKey, Sql, Truncate, Update
from .constant_rows import insert_constants
from .environment import Environment
from .result import Result, changed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LINEAGE = (LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID)


def run_insert(env: Environment, statement: Insert) -> Result:
    """Run INSERT INTO, INSERT OVERWRITE and INSERT … REPLACE WHERE."""
    target, table = _target(env, statement.name)
    named = _named_partition_fields(table, statement)
    query = _with_defaults(table, statement)
    inserted = insert_constants(env, target.context, table, statement, query)
    if inserted is not None:
        return changed("INSERT", RowCounts(inserted=inserted))
    rows = _arranged(table, statement, env.query(query))
    if statement.replace_where is not None:
        removed = _delete_where(env, target, table, statement.name, statement.name.parts[-1], statement.replace_where)
        return changed("INSERT", RowCounts(inserted=insert(target.context, table, rows), deleted=removed.deleted))
    if not statement.overwrite:
        return changed("INSERT", RowCounts(inserted=insert(target.context, table, rows)))
    return changed("INSERT OVERWRITE", _overwrite(env, target, table, statement, rows, named))


def _overwrite(
    env: Environment, target: Environment, table: Table, statement: Insert, rows: DataFrame, named: tuple[PartitionField, ...]
) -> RowCounts:
    """Replace rows of a table.

    Replaces the partition with the values in PARTITION, even if there are no new rows; without values the partitions that occur in
    `rows`, by the keys that PARTITION names; otherwise all rows.
    """
    values = statement.static_values
    dynamic = _dynamic_overwrite(env, table)
    if values and not (dynamic and len(values) < len(table.partition_fields)):
        columns = [column for column in table.columns if fold(column.name) in values]
        assigned = partial(_assigned, strict=env.planning.settings().ansi)
        condition = " AND ".join(f"{backquoted(column.name)} <=> {assigned(values[fold(column.name)], column)}" for column in columns)
        removed = _delete_where(env, target, table, statement.name, statement.name.parts[-1], Sql(condition))
        return RowCounts(inserted=insert(target.context, table, rows), deleted=removed.deleted)
    if statement.partition or dynamic:
        return overwrite_partitions(target.context, table, rows, table.partition_fields if dynamic else named)
    return overwrite(target.context, table, rows)


def _assigned(value: str, column: Column, *, strict: bool) -> str:
    """Return SQL that casts a value to a column's type, with an error if it does not fit.

    Args:
        value: SQL of the value.
        column: the column.
        strict: whether casts in the session already raise such an error.
    """
    kind = spark_name(data_type_of(column))
    if strict:
        return f"CAST({value} AS {kind})"
    error = f"CAST(raise_error({spark_literal(f'column {column.name}: the value does not fit the type {kind}')}) AS {kind})"
    return f"IF(({value}) IS NOT NULL AND try_cast({value} AS {kind}) IS NULL, {error}, try_cast({value} AS {kind}))"


def run_update(env: Environment, statement: Update) -> Result:
    """Run UPDATE."""
    target, table = _target(env, statement.name)
    alias = statement.alias or statement.name.parts[-1]
    plan, within = target.plan(table, statement.condition, alias)
    bind = partial(_text, env, statement.name)
    values = _values(table, statement.assignments, alias, bind)
    named = (*statement.condition.virtual,) if statement.condition else ()
    named += tuple(name for each in statement.assignments if each.value is not None for name in each.value.virtual)
    virtual = virtual_columns(dict.fromkeys(named), table)
    condition = bind(statement.condition) if statement.condition is not None else None
    columns = [
        f"{values.get(column.name) or f'{backquoted(alias)}.{backquoted(column.name)}'} AS {backquoted(column.name)}"
        for column in table.columns
    ]

    def new_rows(scanned: DataFrame) -> DataFrame:
        frame = scanned.alias(alias)
        frame = frame if condition is None else frame.where(condition)
        return frame.selectExpr(*columns, *_LINEAGE)

    return changed("UPDATE", update(target.context, table, TargetScan(target.context, plan, virtual), new_rows, within))


def run_delete(env: Environment, statement: Delete) -> Result:
    """Run DELETE; without a condition it is TRUNCATE."""
    target, table = _target(env, statement.name)
    if statement.condition is None:
        truncate(target.context, table)
        return Result("DELETE all rows")
    alias = statement.alias or statement.name.parts[-1]
    return changed("DELETE", _delete_where(env, target, table, statement.name, alias, statement.condition))


def run_truncate(env: Environment, statement: Truncate) -> Result:
    """Run TRUNCATE TABLE."""
    target, table = _target(env, statement.name)
    truncate(target.context, table)
    return Result("TRUNCATE")


def run_merge(env: Environment, statement: Merge) -> Result:
    """Run MERGE INTO."""
    target, table = _target(env, statement.name)
    target_alias = statement.alias or statement.name.parts[-1]
    source_alias = statement.source_alias or "_ducklake_source"
    source, plain = _source(env, statement, source_alias)
    if statement.schema_evolution:
        table = _evolved(target, table, plain)
    names = (statement.name, *(reference.name for reference in statement.source.references))
    condition = env.bound(statement.condition, names)
    settings = env.planning.settings()

    def clauses(kind: str) -> list[When]:
        return [
            _clause(env, table, clause, plain.columns, target_alias, source_alias, names)
            for clause in statement.clauses
            if clause.kind == kind
        ]

    request = MergeRequest(
        source,
        target_alias,
        source_alias,
        condition,
        equal_keys(condition, table, target_alias, source_alias),
        only_compares(condition),
        matched=clauses("matched"),
        not_matched=clauses("not_matched"),
        not_matched_by_source=clauses("not_matched_by_source"),
        within=filters_for_join(condition, table, target_alias, lambda: settings.zone_is_utc) if settings.can_prune else (),
        virtual=virtual_columns_of_target(statement, table, target_alias, plain.columns),
        planned=lambda plan: target.note_scan(table, plan),
    )
    return changed("MERGE", merge(target.context, table, request))


def _source(env: Environment, statement: Merge, alias: str) -> tuple[DataFrame, DataFrame]:
    """Return the rows of the source of a MERGE, and the same without the virtual columns that the statement names."""
    text = source_with_virtual(statement, alias)
    bound = env.resolve(text)
    rows = env.rows(replace(bound, pieces=("SELECT * FROM ", *bound.pieces)))
    reference = text.references[0] if text is not statement.source else None
    found = None if reference is None else env.find(reference.name, reference.at)
    if reference is None or found is None or not isinstance(found.relation, Table):
        return rows, rows
    return rows, rows.drop(*virtual_columns(reference.virtual, found.relation))


def _evolved(env: Environment, table: Table, source: DataFrame) -> Table:
    """Add the columns that only the source has, for MERGE WITH SCHEMA EVOLUTION, and return the table."""
    new = [NewColumn(f.name, f.type) for f in fields_of(source.schema) if table.column(f.name) is None]
    if not new:
        return table
    add_columns(env.context, table, [((), column) for column in new])
    return required_table(env.context, table.schema_name, table.name)


def _target(env: Environment, name: Name) -> tuple[Environment, Table]:
    """Return the table that a statement changes, and the environment in its lake; the statement's SQL still uses the names of `env`."""
    target, schema, table = env.place(name)
    return target, required_table(target.context, schema, table)


def _delete_where(env: Environment, target: Environment, table: Table, name: Name, alias: str, condition: Sql) -> RowCounts:
    plan, within = target.plan(table, condition, alias)
    text = _text(env, name, condition)
    virtual = virtual_columns(condition.virtual, table)
    scanned = TargetScan(target.context, plan, virtual)
    return delete(target.context, table, scanned, lambda rows: rows.alias(alias).where(text), within)


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


def _text(env: Environment, target: Name, sql: Sql) -> str:
    return env.bound(sql, (target,))


# -- rows to columns ---------------------------------------------------------------------------------------------------------------


def _arranged(table: Table, statement: Insert, rows: DataFrame) -> DataFrame:
    """Return the rows with the table's columns in the table's order: by name, by the column list, or by position."""
    static = statement.static_values
    if statement.by_name:
        given = list(rows.columns)
    elif statement.columns is not None:
        given = list(statement.columns)
    else:
        given = [column.name for column in table.columns if fold(column.name) not in static]
    if len(given) != len(rows.columns):
        raise StatementError(
            f"INSERT into {statement.name}: {len(given)} columns are to be filled ({', '.join(given)}) "
            f"but the query returns {len(rows.columns)} ({', '.join(rows.columns)})"
        )
    positions: dict[str, int] = {}
    for index, name in enumerate(given):
        column = find_column(table, (name,))
        if fold(column.name) in positions:
            raise StatementError(f"INSERT into {statement.name}: column {name} is given twice")
        positions[fold(column.name)] = index
    numbered = rows.toDF(*[f"_c{index}" for index in range(len(given))])
    return numbered.selectExpr(*[_source_of(column, positions, static) for column in table.columns])


def _with_defaults(table: Table, statement: Insert) -> Sql:
    """Return the query with each DEFAULT in its VALUES replaced by the default of its column."""
    if statement.columns is not None:
        targets = [find_column(table, (name,)) for name in statement.columns]
    else:
        targets = [column for column in table.columns if fold(column.name) not in statement.static_values]

    def default(index: int) -> str:
        return default_sql(targets[index]) if index < len(targets) else "NULL"

    return fill_defaults(statement.query, default)


def _source_of(column: Column, positions: dict[str, int], static: dict[str, str]) -> str:
    name = fold(column.name)
    if name in positions:
        text = f"_c{positions[name]}"
    else:
        text = static.get(name) or default_sql(column)
    return f"{text} AS {backquoted(column.name)}"


# -- assignments -------------------------------------------------------------------------------------------------------------------


def _values(table: Table, assignments: Sequence[Assignment], alias: str, bind: partial[str]) -> dict[str, str]:
    """Return the SQL of each column's new value by name. Fields of one struct that are assigned separately become one new struct.

    Raises:
        StatementError: a column or field is assigned twice.
    """
    values: dict[str, str] = {}
    nested: dict[str, dict[tuple[str, ...], str]] = {}
    for assignment in assignments:
        column = find_column(table, assignment.column)
        top = find_column(table, assignment.column[:1])
        text = default_sql(column) if assignment.value is None else bind(assignment.value)
        for length in range(1, len(assignment.column)):
            if find_column(table, assignment.column[:length]).type != "struct":
                whole, outer = ".".join(assignment.column), ".".join(assignment.column[:length])
                raise StatementError(f"{whole} of {table.name} cannot be assigned: {outer} is not a struct. Assign the whole of {outer}")
        path = tuple(fold(part) for part in assignment.column[1:])
        if top.name in values or path in nested.get(top.name, {}):
            raise StatementError(f"column {'.'.join(assignment.column)} of {table.name} is assigned twice")
        if path:
            nested.setdefault(top.name, {})[path] = text
        else:
            values[top.name] = text
    for name, fields in nested.items():
        if name in values:
            raise StatementError(f"column {name} of {table.name} is assigned as a whole and by field")
        column = find_column(table, (name,))
        values[name] = _struct(column, (), f"{backquoted(alias)}.{backquoted(name)}", fields)
    return values


def _struct(column: Column, path: tuple[str, ...], old: str, fields: dict[tuple[str, ...], str]) -> str:
    """Return SQL of a struct with some new fields."""
    parts = []
    for child in column.children:
        child_path = (*path, fold(child.name))
        value = fields.get(child_path)
        if value is None:
            value = f"{old}.{backquoted(child.name)}"
            if any(key[: len(child_path)] == child_path for key in fields):
                value = _struct(child, child_path, value, fields)
        parts.append(f"{spark_literal(child.name)}, {value}")
    return f"named_struct({', '.join(parts)})"


def _clause(
    env: Environment,
    table: Table,
    clause: MergeClause,
    source_columns: Sequence[str],
    target_alias: str,
    source_alias: str,
    names: tuple[Name, ...],
) -> When:
    def bind(sql: Sql) -> str:
        return env.bound(sql, names)

    condition = None if clause.condition is None else bind(clause.condition)
    if clause.action == "delete":
        return When(condition, "delete")
    if clause.star:
        sources = _by_position(table, clause, source_columns) if clause.star == "position" else _by_name(table, clause, source_columns)
        values = {name: f"{backquoted(source_alias)}.{backquoted(source)}" for name, source in sources.items()}
        return When(condition, clause.action, values)
    values = _values(table, clause.assignments, target_alias, partial(bind))
    if clause.action == "insert":
        values = {column.name: values.get(column.name) or default_sql(column) for column in table.columns}
    return When(condition, clause.action, values)


def _by_name(table: Table, clause: MergeClause, source_columns: Sequence[str]) -> dict[str, str]:
    """Return the source's column for every column of the table, matched by name."""
    source_names = {fold(name): name for name in source_columns}
    missing = [column.name for column in table.columns if fold(column.name) not in source_names]
    if missing:
        raise StatementError(
            f"{clause.action.upper()} * of {table.schema_name}.{table.name} needs every column of the table in the source, which lacks: "
            f"{', '.join(missing)}. Name the columns to set instead"
        )
    return {column.name: source_names[fold(column.name)] for column in table.columns}


def _by_position(table: Table, clause: MergeClause, source_columns: Sequence[str]) -> dict[str, str]:
    if len(source_columns) != len(table.columns):
        raise StatementError(
            f"{clause.action.upper()} by position of {table.schema_name}.{table.name} needs {len(table.columns)} columns in the source, "
            f"which has {len(source_columns)}. Name the columns to set instead"
        )
    return {column.name: source for column, source in zip(table.columns, source_columns, strict=True)}
