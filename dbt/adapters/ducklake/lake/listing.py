"""List the files of a table and the sizes of tables, in the columns of the reference's `ducklake_list_files` and `table_info`.

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


def list_files(reader: SnapshotReader | Transaction, table: Table) -> list[tuple[Any, ...]]:
    """Return a row of `FILE_COLUMNS` for each data file, with its delete file if it has one."""
    rows = []
    for file in reader.scan_plan(table).files:
        deleted = file.delete_file
        rows.append((*_described(file), *((None,) * 4 if deleted is None else _described(deleted))))
    return rows


def _described(file: DataFile | DeleteFile) -> tuple[Any, ...]:
    key = None if file.encryption_key is None else base64.b64decode(file.encryption_key)
    return file.path, file.size_bytes, file.footer_size, key


def table_info(context: Context) -> list[tuple[Any, ...]]:
    """Return a row of `TABLE_COLUMNS` for each committed table."""
    transaction = context.transaction
    schemas = {schema.name: schema.schema_id for schema in transaction.schemas()}
    tables = [each for each in transaction.base.relations() if isinstance(each, Table)]
    facts = context.catalog.table_facts(transaction.snapshot, tables)
    rows = []
    for table in tables:
        found = facts[table.table_id]
        sizes = (found.file_count, found.size_bytes, found.delete_file_count, found.delete_size_bytes)
        rows.append((table.name, schemas[table.schema_name], table.table_id, table.uuid, *sizes))
    return rows
