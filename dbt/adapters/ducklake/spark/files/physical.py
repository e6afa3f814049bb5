"""The schema of a Parquet file from its footer: a tree of names, field ids and physical types.

Footers are read only if the catalog does not show how a column is stored: for retyped columns, types that writers store in different ways,
and files whose columns match by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import LakeError, MissingFileError
from ...format.files import ARROW_FIELD_ID, DataFile
from ...format.identifiers import fold
from . import storage
from .footer_bytes import parse_footer, read_footer

MAX_FOOTERS = 200_000
"""The maximum number of files of which this process keeps the footer: about 400 bytes each, because equal schemas are kept once."""


@dataclass(frozen=True)
class FileField:
    """A node of a file's schema.

    `kind`: `boolean`, `int(8|16|32|64)`, `uint(…)`, `float`, `double`, `decimal(p,s)`, `date`, `time(unit)`,
    `timestamp(unit)`, `timestamptz(unit)`, `int96`, `string`, `json`, `binary`, `fixed(n)`, `uuid`, `interval`,
    `geometry`, or `list`, `map`, `struct` with `children` (list: the element; map: key, value). Units: `millis`,
    `micros`, `nanos`.
    """

    name: str
    field_id: int | None
    kind: str
    children: tuple[FileField, ...] = ()

    @property
    def leaves(self) -> int:
        """The number of Parquet columns of this node."""
        return sum(child.leaves for child in self.children) if self.children else 1


@dataclass(frozen=True, slots=True)
class PhysicalFooter:
    """What a scan needs of a file's footer."""

    fields: tuple[FileField, ...]
    group_rows: int
    """The number of rows of the largest row group."""
    row_bytes: float
    """The size of a row in bytes, not compressed: the average of the row group where it is largest."""


def field_by_name(fields: Sequence[FileField], name: str) -> FileField | None:
    """Return the field of that name; an exact match is preferred to one that differs in case."""
    exact = next((field for field in fields if field.name == name), None)
    folded = fold(name)
    return exact or next((field for field in fields if fold(field.name) == folded), None)


def field_by_id(fields: Sequence[FileField], field_id: int) -> FileField | None:
    """Return the field with that field id."""
    return next((field for field in fields if field.field_id == field_id), None)


def physical_schemas(table: str, files: Sequence[DataFile]) -> list[tuple[FileField, ...]]:
    """Return the schema of each file, in order; see `physical_footers`."""
    return [footer.fields for footer in physical_footers(table, files)]


def physical_footers(table: str, files: Sequence[DataFile]) -> list[PhysicalFooter]:
    """Return the footer of each file, in order, read in parallel and cached, because data files never change.

    Args:
        table: the table's name, for error messages.
        files: the files.

    Raises:
        LakeError: a file that the catalog lists is missing or is not a Parquet file.
    """
    with ThreadPoolExecutor(max_workers=min(storage.THREADS, max(1, len(files)))) as pool:
        return list(pool.map(lambda file: _footer(table, file), files))


def _footer(table: str, file: DataFile) -> PhysicalFooter:
    try:
        return _read_footer(file.path, file.size_bytes, file.encryption_key)
    except FileNotFoundError as error:
        raise MissingFileError(
            f"Data file {file.path} of table {table} is missing. Restore it, or roll the table back to a version without it",
            file.path,
        ) from error
    except (OSError, pa.ArrowException, ValueError) as error:
        raise LakeError(f"Data file {file.path} of table {table} cannot be read: {error}") from error


@lru_cache(maxsize=MAX_FOOTERS)
def _read_footer(path: str, size_bytes: int, encryption_key: str | None) -> PhysicalFooter:
    """Read the footer of a file. The size is a part of the cache key, so a file replaced by another program is read again."""
    if encryption_key is not None:
        return _described(parse_footer(read_footer(path, size_bytes, encryption_key)))
    files, inner = storage.filesystem(path)
    with files.open_input_file(inner) as source:
        return _described(pq.ParquetFile(source).metadata)


@lru_cache(maxsize=1000)
def _shared(fields: tuple[FileField, ...]) -> tuple[FileField, ...]:
    """Return the first of equal schemas, so that the files of a table share one."""
    return fields


def _described(metadata: pq.FileMetaData) -> PhysicalFooter:
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    rows = max((group.num_rows for group in groups), default=0)
    row_bytes = max((group.total_byte_size / max(group.num_rows, 1) for group in groups), default=0)
    return PhysicalFooter(_shared(schema_of(metadata.schema)), rows, row_bytes)


def schema_of(schema: pq.ParquetSchema) -> tuple[FileField, ...]:
    """Convert PyArrow's schema of a file."""
    leaves = iter([schema.column(index) for index in range(len(schema))])
    return tuple(_field(field, leaves) for field in schema.to_arrow_schema())


def _field(field: Any, leaves: Iterator[Any]) -> FileField:
    """Combine Arrow's field, which has the nesting and field ids, with Parquet's leaf columns, which have the exact types."""
    raw = (field.metadata or {}).get(ARROW_FIELD_ID)
    field_id = int(raw) if raw is not None and int(raw) >= 0 else None
    kind, children = _nested(field.type)
    if kind is None:
        return FileField(field.name, field_id, leaf_kind(next(leaves)))
    return FileField(field.name, field_id, kind, tuple(_field(child, leaves) for child in children))


def _nested(type_: Any) -> tuple[str | None, list[Any]]:
    while isinstance(type_, pa.BaseExtensionType):
        type_ = type_.storage_type
    if pa.types.is_map(type_):
        return "map", [type_.key_field, type_.item_field]
    if pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_):
        return "list", [type_.value_field]
    if pa.types.is_struct(type_):
        return "struct", [type_.field(index) for index in range(type_.num_fields)]
    return None, []


_PHYSICAL = {"BOOLEAN": "boolean", "FLOAT": "float", "DOUBLE": "double", "BYTE_ARRAY": "binary", "INT96": "int96"}
_LOGICAL = {
    "DATE": "date",
    "STRING": "string",
    "ENUM": "string",
    "JSON": "json",
    "UUID": "uuid",
    "GEOMETRY": "geometry",
    "GEOGRAPHY": "geometry",
}
_UNITS = {"milliseconds": "millis", "microseconds": "micros", "nanoseconds": "nanos"}


def leaf_kind(column: Any) -> str:
    """Return the `FileField.kind` of a leaf column of a file."""
    logical = column.logical_type
    text = str(logical)
    if logical.type in _LOGICAL:
        return _LOGICAL[logical.type]
    if logical.type == "DECIMAL":
        return f"decimal({column.precision},{column.scale})"
    if logical.type == "INT":
        bits = "".join(ch for ch in text.split(",")[0] if ch.isdigit())
        return f"int({bits})" if "isSigned=true" in text else f"uint({bits})"
    if logical.type in ("TIME", "TIMESTAMP"):
        unit = next(short for word, short in _UNITS.items() if word in text)
        zoned = "isAdjustedToUTC=true" in text
        return f"time({unit})" if logical.type == "TIME" else f"timestamp{'tz' if zoned else ''}({unit})"
    if column.converted_type == "INTERVAL":
        return "interval"
    if column.physical_type in ("INT32", "INT64"):
        return f"int({column.physical_type[3:]})"
    if column.physical_type == "FIXED_LEN_BYTE_ARRAY":
        return f"fixed({column.length})" if logical.type == "NONE" else text.lower()
    return _PHYSICAL.get(column.physical_type, text.lower())
