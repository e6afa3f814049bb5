"""Parquet files as another writer would write them with PyArrow: field ids on every node, statistics in DuckDB's encodings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dbt.adapters.ducklake.format.files import (
    DELETE_PATH_FIELD_ID,
    DELETE_POSITION_FIELD_ID,
    ROW_ID_COLUMN,
    ROW_ID_FIELD_ID,
    SNAPSHOT_ID_COLUMN,
    SNAPSHOT_ID_FIELD_ID,
    ColumnStats,
    WrittenDeleteFile,
    WrittenFile,
)
from dbt.adapters.ducklake.format.objects import Column, Table
from dbt.adapters.ducklake.format.paths import data_file_name, delete_file_name

_ARROW = {
    "int32": pa.int32(),
    "int64": pa.int64(),
    "varchar": pa.string(),
    "float64": pa.float64(),
    "boolean": pa.bool_(),
    "blob": pa.binary(),
    "date": pa.date32(),
}


def write_file(
    table: Table,
    rows: Sequence[Mapping[str, Any]],
    *,
    row_ids: Sequence[int] | None = None,
    partition_values: tuple[str | None, ...] = (),
    statistics: bool = True,
) -> WrittenFile:
    """Write a data file of a table to its directory. `row_ids` are embedded."""
    path = Path(table.path) / data_file_name()
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = [pa.array([row.get(column.name) for row in rows], type=_type(column)) for column in table.columns]
    fields = [_field(column.name, column, _type(column)) for column in table.columns]
    if row_ids is not None:
        arrays.append(pa.array(row_ids, type=pa.int64()))
        fields.append(pa.field(ROW_ID_COLUMN, pa.int64(), metadata={"PARQUET:field_id": str(ROW_ID_FIELD_ID)}))
    pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), path)
    flat = [(column, array) for column, array in zip(table.columns, arrays, strict=False) if not column.children]
    return WrittenFile(
        str(path),
        len(rows),
        path.stat().st_size,
        footer_size(path),
        tuple(_stats(column, array) for column, array in flat) if statistics else (),
        partition_values,
        row_ids is not None,
    )


def write_deletes(
    table: Table, data_file_id: int, data_path: str, positions: Sequence[int], snapshot_ids: Sequence[int] | None = None
) -> WrittenDeleteFile:
    """Write a delete file with two columns, or with a third for the snapshot that deleted each position."""
    path = Path(table.path) / delete_file_name()
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {
        "file_path": (pa.string(), DELETE_PATH_FIELD_ID, [data_path] * len(positions)),
        "pos": (pa.int64(), DELETE_POSITION_FIELD_ID, list(positions)),
    }
    if snapshot_ids is not None:
        columns[SNAPSHOT_ID_COLUMN] = (pa.int64(), SNAPSHOT_ID_FIELD_ID, list(snapshot_ids))
    schema = pa.schema([pa.field(name, kind, metadata={"PARQUET:field_id": str(fid)}) for name, (kind, fid, _) in columns.items()])
    pq.write_table(pa.Table.from_arrays([pa.array(v, type=k) for k, _, v in columns.values()], schema=schema), path)
    return WrittenDeleteFile(
        data_file_id,
        str(path),
        len(positions),
        path.stat().st_size,
        footer_size(path),
        min(snapshot_ids) if snapshot_ids else None,
        max(snapshot_ids) if snapshot_ids else None,
    )


def footer_size(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[-8:-4], "little")


def _type(column: Column) -> pa.DataType:
    match column.type:
        case "struct":
            return pa.struct([_field(child.name, child, _type(child)) for child in column.children])
        case "list":
            return pa.list_(_field("element", column.children[0], _type(column.children[0])))
        case _:
            return _ARROW[column.type]


def _field(name: str, column: Column, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(column.column_id)})


def _stats(column: Column, array: pa.Array) -> ColumnStats:
    nulls = array.null_count
    bounds: dict[str, Any] = {"min": None, "max": None}
    if len(array) > nulls and column.type not in ("blob", "boolean"):
        bounds = pc.min_max(array).as_py()
    return ColumnStats(
        column.column_id,
        100,
        len(array) - nulls,
        nulls,
        None if bounds["min"] is None else str(bounds["min"]),
        None if bounds["max"] is None else str(bounds["max"]),
        False if column.type == "float64" else None,
    )
