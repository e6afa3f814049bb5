"""Encrypted files that this process reads and writes, and the statistics of all new encrypted files.

Specification: "ducklake_file_column_stats". DuckDB returns the statistics of a file that it has written, as the reference implementation
stores them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from typing import Any

import pyarrow as pa

from ...errors import LakeError
from ...format.files import EMBEDDED_IDS, ROW_ID_FIELD_ID, ColumnStats, WriteOptions, WrittenFile
from ...format.geometry import Extent
from ...format.identifiers import double_quoted
from ...format.leaf_types import leaf_type
from ...format.objects import Column
from ..encrypted import duckdb_files
from ..encrypted.duckdb_files import FileLocation
from ..encrypted.keys import key_of
from . import storage
from .encrypted_format import format_of
from .field_ids import match_columns, read_schema
from .footer_bytes import parse_footer, read_footer
from .s3 import hint
from .variant_statistics import variant_stats

_PART = re.compile(r'"((?:[^"]|"")*)"')
"""A part of the quoted path with which DuckDB names a nested column in its statistics: `"a"."b"`."""


@lru_cache(maxsize=1)
def _instance(_process: int) -> Any:
    """Return the DuckDB instance of this process. Its id is the key of the cache, so that a forked process opens another instance."""
    return duckdb_files.connect()


@contextmanager
def _connection() -> Iterator[Any]:
    """Connect to DuckDB for the block, and raise its errors about files as `LakeError`."""
    try:
        with closing(_instance(os.getpid()).cursor()) as connection:
            yield connection
    except duckdb_files.EncryptedFileError as error:
        raise LakeError(f"{error}{hint(str(error))}") from None


def location_of(path: str) -> FileLocation:
    """Return the location of a file or directory of a lake, for this process and for Spark's workers."""
    files, inner = storage.filesystem(path)
    return FileLocation(inner, None if storage.is_local(path) else files)


def read_columns(path: str, encryption_key: str, types: Mapping[str, pa.DataType]) -> pa.Table:
    """Read some columns of a small encrypted file.

    Args:
        path: the file.
        encryption_key: its key in the catalog.
        types: name → type of each column.

    Raises:
        FileNotFoundError: the file does not exist.
        LakeError: the key is wrong, or the file is damaged.
    """
    select = ", ".join(map(double_quoted, types))
    file = duckdb_files.FileToRead(location_of(path), key_of(path, encryption_key), select)
    schema = pa.schema(list(types.items()))
    with _connection() as connection:
        return pa.Table.from_batches(duckdb_files.read_batches(connection, file, schema), schema)


def write_table(table: pa.Table, columns: tuple[Column, ...], path: str, options: WriteOptions) -> WrittenFile:
    """Write a table, which must not be empty, as one encrypted file.

    Args:
        table: the rows, with the columns by position.
        columns: the fields of the file, including embedded ids.
        path: the full path of the file, which may be in an object store.
        options: the lake's options.

    Raises:
        LakeError: DuckDB cannot write a value.
    """
    format_ = format_of(columns, options, table.schema)
    with storage.removed_after_error(path), _connection() as connection, duckdb_files.written_to(location_of(path)) as local:
        batches = iter(table.to_batches(max_chunksize=format_.row_group_size))
        found = duckdb_files.write_batches(connection, batches, local, format_)
    return written_file(found._replace(path=path), columns)


def written_file(file: duckdb_files.NewFile, columns: tuple[Column, ...]) -> WrittenFile:
    """Describe a new file, without its partition values.

    Args:
        file: what DuckDB returned about it.
        columns: its fields, including embedded ids, which get no statistics.
    """
    return WrittenFile(
        path=file.path,
        record_count=file.record_count,
        size_bytes=file.size_bytes,
        footer_size=file.footer_size,
        column_stats=tuple(_column_stats(file, columns)),
        embedded_row_ids=any(column.column_id == ROW_ID_FIELD_ID for column in columns),
        encryption_key=file.encryption_key,
    )


def _column_stats(file: duckdb_files.NewFile, columns: Sequence[Column]) -> Iterator[ColumnStats]:
    by_name = {tuple(part.replace('""', '"') for part in _PART.findall(name)): found for name, found in file.stats.items()}
    for column in columns:
        if column.column_id not in EMBEDDED_IDS:
            for path, leaf in _leaves(column, (column.name,)):
                if path in by_name:
                    yield _leaf_stats(leaf, by_name[path])
    if any(node.type == "variant" for column in columns for node in column.walk()):
        yield from _variants(file, columns)


def _leaves(column: Column, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Column]]:
    if not column.children:
        yield path, column
    for child in column.children:
        yield from _leaves(child, (*path, child.name))


def _leaf_stats(column: Column, found: Mapping[str, str]) -> ColumnStats:
    leaf = leaf_type(column.type)
    num_values, nulls = int(found["num_values"]), int(found["null_count"])
    bounds = (found.get("min"), found.get("max")) if leaf.has_bounds else (None, None)
    # the table's statistics cannot contain a NUL character
    least, greatest = (None if bound is None or "\0" in bound else bound for bound in bounds)
    return ColumnStats(
        column_id=column.column_id,
        size_bytes=int(found["column_size_bytes"]),
        value_count=num_values - nulls,
        null_count=nulls,
        min_value=least,
        max_value=greatest,
        contains_nan=found.get("has_nan") == "true" if leaf.is_float else None,
        extra_stats=_extent(found) if column.type == "geometry" else None,
    )


def _extent(found: Mapping[str, str]) -> str | None:
    axes = tuple(
        (float(found[f"bbox_{axis}min"]), float(found[f"bbox_{axis}max"])) if f"bbox_{axis}min" in found else None for axis in "xyzm"
    )
    types = (name.strip() for name in found.get("geo_types", "[]").strip("[]").split(","))
    return Extent(axes, frozenset(name for name in types if name)).to_json()


def _variants(file: duckdb_files.NewFile, columns: Sequence[Column]) -> Iterator[ColumnStats]:
    """Read the statistics of variants from the footer, because they depend on how DuckDB has shredded the values."""
    footer = read_footer(file.path, file.size_bytes, file.encryption_key)
    metadata, schema = parse_footer(footer), read_schema(footer)
    leaf_numbers = {node.index: number for number, node in enumerate(schema.leaves())}
    for node, column in match_columns(schema, tuple(columns)).values():
        if column.type == "variant":
            yield variant_stats(metadata, node, leaf_numbers, column.column_id)
