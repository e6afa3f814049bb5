"""List a table's files and the sizes of all tables, with the same columns as DuckDB's `ducklake_list_files` and `ducklake_table_info`.

Specification: "List Files" and "Metadata functions".
"""

from __future__ import annotations

import base64
from typing import Any

from ..catalog.read.reader import SnapshotReader
from ..catalog.transaction.transaction import Transaction
from ..format.files import DataFile, DeleteFile
from ..format.objects import Table
from .context import Context

FILE_COLUMNS = (
    ("data_file", "string"),
    ("data_file_size_bytes", "bigint"),
    ("data_file_footer_size", "bigint"),
    ("data_file_encryption_key", "binary"),
    ("delete_file", "string"),
    ("delete_file_size_bytes", "bigint"),
    ("delete_file_footer_size", "bigint"),
    ("delete_file_encryption_key", "binary"),
)
"""(name, Spark type) of each column of `list_files`."""
TABLE_COLUMNS = (
    ("table_name", "string"),
    ("schema_id", "bigint"),
    ("table_id", "bigint"),
    ("table_uuid", "string"),
    ("file_count", "bigint"),
    ("file_size_bytes", "bigint"),
    ("delete_file_count", "bigint"),
    ("delete_file_size_bytes", "bigint"),
)
"""(name, Spark type) of each column of `table_info`."""


def list_files(reader: SnapshotReader | Transaction, table: Table) -> list[tuple[Any, ...]]:
    """Return one row for each data file, with its delete file if it has one; the values are in the order of `FILE_COLUMNS`.

    Args:
        reader: the snapshot, or a transaction with its staged files.
        table: the table.
    """
    rows = []
    for file in reader.scan_plan(table).files:
        deleted = file.delete_file
        rows.append((*_described(file), *((None,) * 4 if deleted is None else _described(deleted))))
    return rows


def _described(file: DataFile | DeleteFile) -> tuple[Any, ...]:
    key = None if file.encryption_key is None else base64.b64decode(file.encryption_key)
    return file.path, file.size_bytes, file.footer_size, key


def table_info(context: Context) -> list[tuple[Any, ...]]:
    """Return one row for each committed table, without staged changes; the values are in the order of `TABLE_COLUMNS`.

    A damaged table is left out.
    """
    transaction = context.transaction
    schemas = {schema.name: schema.schema_id for schema in transaction.base.schemas()}
    tables = [each for each in transaction.base.relations() if isinstance(each, Table)]
    summaries = context.catalog.table_summaries(transaction.snapshot, tables)
    rows = []
    for table in tables:
        found = summaries.get(table.table_id)
        if found is None:
            continue
        sizes = (found.file_count, found.size_bytes, found.delete_file_count, found.delete_size_bytes)
        rows.append((table.name, schemas[table.schema_name], table.table_id, table.uuid, *sizes))
    return rows
