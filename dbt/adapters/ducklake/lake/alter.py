"""ALTER TABLE and COMMENT ON: change a definition by metadata alone.

A path is the name of a column, followed by the names of nested fields down to the one that is meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import DataError, NotFoundError, StatementError
from ..format import evolution
from ..format.constraints import with_renamed_column, without_column
from ..format.evolution import NewColumn
from ..format.identifiers import backquoted
from ..format.leaf_types import Encoding, leaf_type
from ..format.objects import Default, SortField, Table
from ..format.partitioning import bucket_count, check_transform, key_texts
from ..format.types import DataType, decimal_parameters, spark_name
from ..spark.read.scan import scan
from .context import Context
from .tables import kind_of, partition_fields, repartitioned, required_relation, required_table

_MAX_INTEGER_DIGITS = 18
"""Decimals with more digits are hashed as their text."""


def add_columns(
    context: Context,
    table: Table,
    columns: Sequence[tuple[tuple[str, ...], NewColumn]],
    *,
    if_not_exists: bool = False,
) -> None:
    """Stage new columns, each (path to the struct that gets it, definition); the path is empty for a column of the table itself."""
    for parent, definition in columns:
        if if_not_exists and _exists(table, (*parent, definition.name)):
            continue
        table = evolution.add_column(table, parent, definition)
    context.transaction.objects.put_table(table)


def drop_columns(context: Context, table: Table, columns: Sequence[tuple[str, ...]], *, if_exists: bool = False) -> None:
    """Stage dropping columns, each given by its path."""
    for path in columns:
        if if_exists and not _exists(table, path):
            continue
        table = replace(evolution.drop_column(table, path), tags=_tags_after(table, path))
    context.transaction.objects.put_table(table)


def rename_column(context: Context, table: Table, path: tuple[str, ...], to: str) -> None:
    """Stage a new name for a column."""
    context.transaction.objects.put_table(replace(evolution.rename_column(table, path, to), tags=_tags_after(table, path, to)))


def _tags_after(table: Table, path: tuple[str, ...], to: str | None = None) -> dict[str, str]:
    """Return the table's tags after a column is renamed to `to`, or dropped if that is None: its constraints change too."""
    column = path[0]
    try:
        if len(path) > 1:  # the column keeps its name, but a CHECK may use the nested field
            return with_renamed_column(table.tags, column, column)
        return without_column(table.tags, column) if to is None else with_renamed_column(table.tags, column, to)
    except ValueError as error:
        raise StatementError(
            f"column {'.'.join(path)} of {table.schema_name}.{table.name} is part of the constraint {error}. "
            "CREATE OR REPLACE TABLE without it first"
        ) from None


def set_type(context: Context, table: Table, path: tuple[str, ...], to: DataType) -> None:
    """Stage a wider type for a column.

    Raises:
        StatementError: the column is a partition key, and a table cannot be partitioned by the new type; or it is a bucket key, the table
            has rows, and values of the new type would be in other buckets.
    """
    changed = evolution.set_type(table, path, to)
    before, after = evolution.find_column(table, path), evolution.find_column(changed, path)
    own_keys = [each for each in table.partition_fields if each.column_id == before.column_id]
    for field in own_keys:
        check_transform(after, field.transform)
    keys = [each for each in own_keys if bucket_count(each.transform) is not None]
    if keys and _hashed_form(before.type) != _hashed_form(after.type):
        plan = context.transaction.scan_plan(table)
        if plan.files or plan.inlined:
            (key, *_) = key_texts([before], keys[:1])
            raise StatementError(
                f"{table.schema_name}.{table.name} has rows and the partition key {key}, and values of the new type are in other buckets: "
                "DuckDB would miss rows when it filters by the column. CREATE OR REPLACE TABLE … PARTITIONED BY (…) AS "
                f"SELECT … with CAST({before.name} AS {spark_name(to)}) rewrites all rows"
            )
    context.transaction.objects.put_table(changed)


def _hashed_form(type_name: str) -> tuple[str, int, bool]:
    """Return (kind, scale, whether the text has no digit before the point) of the bytes that are hashed for a bucket.

    Equal values of two types with the same result are in the same bucket; see `format.buckets.hashed_bytes`.
    """
    leaf, (precision, scale) = leaf_type(type_name), decimal_parameters(type_name) or (0, 0)
    match leaf.encoding:
        case Encoding.FLOAT | Encoding.TEXT | Encoding.BLOB:
            return leaf.encoding.name, 0, False
        case Encoding.DECIMAL if precision > _MAX_INTEGER_DIGITS:
            return "digits", scale, precision == scale
        case Encoding.HUGE:
            return "digits", 0, False
        case Encoding.INTEGER if leaf.unsigned:
            return "digits", 0, False
        case Encoding.BOOLEAN | Encoding.INTEGER | Encoding.DECIMAL:
            return "integer", scale, False
    return type_name, 0, False


def set_nullable(context: Context, table: Table, path: tuple[str, ...], nullable: bool) -> None:
    """Stage SET NOT NULL or DROP NOT NULL.

    Raises:
        DataError: SET NOT NULL for a column that contains NULLs.
    """
    changed = evolution.set_nullable(table, path, nullable)
    if not nullable and evolution.find_column(table, path).nullable:
        context.transaction.rows.depends_on_rows(table)
        plan = context.transaction.scan_plan(table)
        if plan.files or plan.inlined:
            rows = scan(context.spark(), plan)
            if not rows.where(rows[backquoted(path[0])].isNull()).isEmpty():
                raise DataError(
                    f"column {path[0]} of {table.schema_name}.{table.name} cannot be NOT NULL: it contains NULLs. UPDATE them first"
                )
    context.transaction.objects.put_table(changed)


def set_default(context: Context, table: Table, path: tuple[str, ...], default: Default | None) -> None:
    """Stage a new default for future rows; None removes it."""
    context.transaction.objects.put_table(evolution.set_default(table, path, default))


def set_column_comment(context: Context, table: Table, path: tuple[str, ...], comment: str | None) -> None:
    """Stage a new comment on a column; None removes it."""
    context.transaction.objects.put_table(evolution.set_comment(table, path, comment))


def set_partitioning(context: Context, table: Table, keys: Sequence[tuple[str, str]]) -> None:
    """Stage new partition keys for future rows; without keys future rows are not partitioned.

    Raises:
        StatementError: the keys have buckets and the table has rows.
    """
    fields = partition_fields(table.columns, keys, f"{table.schema_name}.{table.name}")
    current = table.partition_fields
    buckets = any(bucket_count(field.transform) is not None for field in fields)
    if buckets and fields != current:
        plan = context.transaction.scan_plan(table)
        if plan.files or plan.inlined:  # DuckDB flushes rows that are inlined now without the buckets
            raise StatementError(
                f"{table.schema_name}.{table.name} has rows, and DuckDB would not find them by a bucket column: it reads only files "
                "that were written with the buckets. CREATE OR REPLACE TABLE … PARTITIONED BY (…) AS SELECT * FROM the table rewrites "
                "all rows"
            )
    context.transaction.objects.put_table(repartitioned(table, fields))


def set_sorting(context: Context, table: Table, order: tuple[SortField, ...]) -> None:
    """Stage a new sort order for future rows; without keys they are not sorted."""
    context.transaction.objects.put_table(replace(table, sorting=order))


def comment_on(context: Context, kind: str, schema: str, name: str, comment: str | None) -> None:
    """Stage a new comment on a schema (`name` is unused), table or view; None removes it.

    Raises:
        NotFoundError: no object of that kind has that name.
    """
    if kind == "schema":
        found = context.transaction.schema(schema)
        if found is None:
            raise NotFoundError("schema", schema)
        context.transaction.objects.put_schema(replace(found, comment=comment))
        return
    relation = required_relation(context, schema, name)
    if kind == "table":
        context.transaction.objects.put_table(replace(required_table(context, schema, name), comment=comment))
    elif isinstance(relation, Table):
        raise NotFoundError("view", f"{schema}.{name}", f"It is a {kind_of(relation)}")
    else:
        context.transaction.objects.put_view(replace(relation, comment=comment))


def _exists(table: Table, path: tuple[str, ...]) -> bool:
    try:
        evolution.find_column(table, path)
    except NotFoundError:
        return False
    return True
