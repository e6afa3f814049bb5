"""How DuckDB writes the columns of a table: the types, field ids and options that the reference implementation would choose."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ...errors import StatementError
from ...format.files import ROW_GROUP_BYTES, ROW_GROUP_ROWS, WriteOptions
from ...format.identifiers import double_quoted, duckdb_literal
from ...format.leaf_types import leaf_type
from ...format.objects import Column
from ...format.types import decimal_parameters
from ..encrypted.duckdb_files import Format
from .write_options import duckdb_options


def format_of(columns: Sequence[Column], options: WriteOptions, schema: pa.Schema) -> Format:
    """Return how DuckDB writes files with these columns.

    Args:
        columns: the fields of the files, including embedded ids.
        options: the lake's options.
        schema: the Arrow schema of the rows.

    Raises:
        StatementError: DuckDB cannot write a column's type.
        ConfigurationError: the codec is unknown.
    """
    for column in columns:
        if any(node.type == "variant" for child in column.children for node in child.walk()):
            raise StatementError(
                f"column {column.name} contains a variant in a {column.type}, which DuckDB cannot write to an encrypted file"
            )
    select = ", ".join(f"{_value(column, f'c{number}', 0)} AS {double_quoted(column.name)}" for number, column in enumerate(columns))
    ids = ", ".join(f"{duckdb_literal(column.name)}: {_ids(column)}" for column in columns)
    rows = options.row_group_size or ROW_GROUP_ROWS
    size = options.row_group_size_bytes or ROW_GROUP_BYTES  # a row group is in memory until it is complete
    return Format(select, f"{{{ids}}}", duckdb_options(options), rows, size, schema)


def _ids(column: Column) -> str:
    if not column.children:
        return str(column.column_id)
    children = ", ".join(f"{duckdb_literal(child.name)}: {_ids(child)}" for child in column.children)
    return f"{{'__duckdb_field_id': {column.column_id}, {children}}}"


def _value(column: Column, sql: str, depth: int) -> str:
    """Return SQL for a value, which arrives with the Arrow type of `arrow_schema`, in the type of the file."""
    if column.type == "geometry":
        return f"ST_GeomFromWKB({sql})"
    if column.type == "variant":
        return f"variant_bytes_to_variant(struct_extract({sql}, 'metadata') || struct_extract({sql}, 'value'))"
    if not any(node.type == "geometry" for node in column.walk()):
        return f"CAST({sql} AS {_type(column)})"
    item = f"e{depth}"
    match column.type, column.children:
        case "list", (element,):
            return f"list_transform({sql}, lambda {item}: {_value(element, item, depth + 1)})"
        case "map", (key, value):
            pair = (
                f"struct_pack(k := {_value(key, _field(item, 'key'), depth + 1)}, v := {_value(value, _field(item, 'value'), depth + 1)})"
            )
            return f"CASE WHEN {sql} IS NOT NULL THEN map_from_entries(list_transform(map_entries({sql}), lambda {item}: {pair})) END"
    parts = [f"{double_quoted(child.name)} := {_value(child, _field(sql, child.name), depth)}" for child in column.children]
    return f"CASE WHEN {sql} IS NOT NULL THEN struct_pack({', '.join(parts)}) END"


def _field(sql: str, name: str) -> str:
    return f"struct_extract({sql}, {duckdb_literal(name)})"


def _type(column: Column) -> str:
    """Return the type that DuckDB writes."""
    match column.type, column.children:
        case "list", (element,):
            return f"{_type(element)}[]"
        case "map", (key, value):
            return f"MAP({_type(key)}, {_type(value)})"
        case "struct", children:
            return f"STRUCT({', '.join(f'{double_quoted(child.name)} {_type(child)}' for child in children)})"
    parameters = decimal_parameters(column.type)
    if parameters is not None:
        return f"DECIMAL({parameters[0]}, {parameters[1]})"
    leaf = leaf_type(column.type)
    found = leaf.duckdb_file or leaf.duckdb
    if found is None:
        raise StatementError(f"column {column.name} is a {column.type}, which DuckDB cannot write to an encrypted file")
    return found
