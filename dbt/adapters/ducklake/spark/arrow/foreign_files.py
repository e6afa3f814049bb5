"""Parquet files of other writers as data files of a table: match their fields to columns, and read their statistics.

Specification: the pages "Adding Files" and "ducklake_name_mapping". Only footers are read. A field's type is accepted if all its values are
values of the column's type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Context, Decimal

import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import DataError, LakeError, StatementError
from ...format.buckets import bucket
from ...format.files import LIST_ELEMENT_NAMES, ColumnStats, MappedField, WrittenFile
from ...format.identifiers import fold
from ...format.leaf_types import leaf_type
from ...format.objects import Column, Table
from ...format.partitioning import TIME_PARTS, bucket_count, key_columns, key_names, time_part, value_text
from ...format.row_statistics import stats_of_rows
from ...format.statistics import Value, decode
from ...format.types import decimal_parameters
from ..files.field_ids import Node, read_schema
from ..files.footer_bytes import parse_footer, read_footer
from ..files.footer_statistics import column_stats
from ..files.footers import FileToRead, in_parallel
from ..files.locations import hive_column_value, hive_key, hive_value
from ..files.physical import FileField, field_by_name, schema_of
from ..values.stats_checks import null_message
from .partitions import identity_text
from .rows import python_rows
from .values import array_of, local_time

_WITHOUT_BOUNDS = ("int96", "uuid")
"""Kinds whose footer bounds are not values of the column's type."""
_MAP_KEY_VALUE = 2
"""The `converted_type` that old writers give to a map instead of to its repeated node."""


@dataclass(frozen=True)
class Matching:
    """How strictly the fields of a file must match the columns of the table.

    Args:
        allow_missing: columns that a file lacks get their initial default, else NULL.
        ignore_extra_columns: fields without a column are ignored.
        hive_partitioning: directories `key=value` in a file's path are the values of the columns with these names. Otherwise columns are
            read from the file, whose footer must prove the partition values of its directories.
        in_zone: attaches the session's time zone to a timestamp without an offset in a directory's name; None: UTC.
    """

    allow_missing: bool = False
    ignore_extra_columns: bool = False
    hive_partitioning: bool = True
    in_zone: Callable[[datetime], datetime] | None = None


def read_foreign(files: Sequence[FileToRead], table: Table, matching: Matching) -> list[WrittenFile]:
    """Describe files of other writers as data files of a table.

    Raises:
        DataError: a field does not fit its column, or a NOT NULL column contains NULL.
        StatementError: columns are missing or extra, or a path lacks a partition key.
        LakeError: a file is not a Parquet file, or is damaged.
    """
    return in_parallel(lambda file: _read(file, table, matching), files)


def _read(found: FileToRead, table: Table, matching: Matching) -> WrittenFile:
    path, size = found.path, found.size_bytes
    footer = read_footer(path, size)
    try:
        metadata = parse_footer(footer)
        fields, nodes = schema_of(metadata.schema), read_schema(footer).children
    except (OSError, pa.ArrowException, ValueError) as error:  # PyArrow has one for each kind of damage
        raise LakeError(f"the footer of {path} cannot be read: {error}") from error
    matcher = _FieldMatcher(path, table, matching, metadata)
    mapping = matcher.fields(fields, nodes, table.columns, "")
    file = WrittenFile(path, metadata.num_rows, size, len(footer), tuple(matcher.stats), mapping=tuple(mapping))
    values = _partition_values(path, table, matching)
    if not matching.hive_partitioning and file.record_count:
        _require_values(file, table, values)
    return replace(file, partition_values=values)


class _FieldMatcher:
    """Matches the fields of a file to the columns of the table, in one walk over the leaves."""

    def __init__(self, path: str, table: Table, matching: Matching, metadata: pq.FileMetaData) -> None:
        self.path, self.table, self.matching, self.metadata = path, table, matching, metadata
        self.leaf = 0
        """The index of the next leaf column in the footer."""
        self.stats: list[ColumnStats] = []

    def fields(self, fields: Sequence[FileField], nodes: Sequence[Node], columns: Sequence[Column], prefix: str) -> list[MappedField]:
        """Match the fields of one level; the result has the fields in file order, then columns from the path.

        Args:
            fields: the fields.
            nodes: their nodes in the file's schema.
            columns: the columns of this level.
            prefix: the path to this level, for error messages: "" or `column.`.
        """
        columns_left = {fold(column.name): column for column in columns}
        mapped: list[MappedField] = []
        for field, node in zip(fields, nodes, strict=True):
            column = columns_left.get(fold(field.name))
            if column is not None and field_by_name(fields, column.name) is not field:
                column = None  # another field matches the name exactly
            if column is None or self._in_path(column, prefix):
                if column is None and not self.matching.ignore_extra_columns:
                    raise StatementError(
                        f"field {prefix}{field.name} of {self.path} is not in {self._name}; ignore_extra_columns => true ignores it"
                    )
                self.leaf += field.leaves
                continue
            del columns_left[fold(column.name)]
            mapped.append(self._field(field, node, column, prefix))
        for column in columns_left.values():
            if self._in_path(column, prefix):
                mapped.append(self._column_from_path(column))
            else:
                self._missing(column, prefix)
        return mapped

    @property
    def _name(self) -> str:
        return f"{self.table.schema_name}.{self.table.name}"

    def _in_path(self, column: Column, prefix: str) -> bool:
        return not prefix and self.matching.hive_partitioning and hive_key(self.path, column.name) is not None

    def _missing(self, column: Column, prefix: str) -> None:
        if not self.matching.allow_missing:
            raise StatementError(
                f"column {prefix}{column.name} of {self._name} is missing in {self.path}; allow_missing => true uses its default"
            )
        if not column.nullable and column.initial_default is None:
            raise DataError(null_message(column))

    def _field(self, field: FileField, node: Node, column: Column, prefix: str) -> MappedField:
        where = f"{prefix}{column.name}"
        if column.children:
            return MappedField(field.name, column.column_id, tuple(self._children(field, node, column, where)))
        kinds = _kinds(column.type, field.kind)
        if field.kind not in kinds:
            takes = f"takes {' or '.join(kinds)}" if kinds else "files with such a column cannot be added: insert their rows"
            raise DataError(f"field {where} of {self.path} is {field.kind}; column {where} of {self._name} is {column.type}, and {takes}")
        stats = column_stats(self.metadata, self.leaf, column, {} if leaf_type(column.type).is_float else None)
        if _has_unusable_bounds(column.type, field.kind):
            stats = replace(stats, min_value=None, max_value=None)
        self.leaf += 1
        self.stats.append(stats)
        if not column.nullable and not prefix and stats.null_count != 0:
            if stats.null_count is None:
                raise DataError(f"column {where} is NOT NULL, and the footer of {self.path} does not count its NULLs")
            raise DataError(null_message(column))
        return MappedField(field.name, column.column_id)

    def _children(self, field: FileField, node: Node, column: Column, where: str) -> Iterator[MappedField]:
        if field.kind != column.type:
            raise DataError(f"field {where} of {self.path} is {field.kind}, and column {where} of {self._name} is a {column.type}")
        if not column.nullable:
            raise DataError(
                f"column {where} is NOT NULL and a {column.type}: the footer of {self.path} does not show whether it contains NULL"
            )
        if column.type == "struct":
            yield from self.fields(field.children, node.children, column.children, where + ".")
            return
        entries = _list_entries(node) if column.type == "list" else _map_entries(node)
        if entries is None:
            raise DataError(
                f"field {where} of {self.path} is a {field.kind} in an old form, which DuckDB reads in another way; "
                "insert the rows of the file"
            )
        for (name, inner), child, target in zip(entries, field.children, column.children, strict=True):
            yield replace(self._field(child, inner, target, where + "."), source_name=name)

    def _column_from_path(self, column: Column) -> MappedField:
        """Add a column whose value comes from the path."""
        if column.children:
            raise DataError(f"column {column.name} is a {column.type}, which cannot come from a directory of {self.path}")
        value = python_rows(_one_value(self.path, column, self.matching), [column])
        if not column.nullable and value[0][0] is None:
            raise DataError(null_message(column))
        (stats,) = stats_of_rows([column], value)
        has_value, rows = stats.value_count, self.metadata.num_rows
        self.stats.append(replace(stats, value_count=rows if has_value else 0, null_count=0 if has_value else rows))
        return MappedField(hive_key(self.path, column.name) or column.name, column.column_id, is_partition=True)


def _list_entries(node: Node) -> list[tuple[str, Node]] | None:
    """Return the name by which DuckDB finds the element of a list, that of the repeated node, and the element's node.

    None: the element is a struct with one field, and DuckDB would read that field as the element. Specification: "LogicalTypes" of Parquet,
    on lists and their backward-compatible forms.
    """
    repeated = node.children[0] if node.children and _is_annotated(node) else node
    name = "list" if repeated.name in LIST_ELEMENT_NAMES else repeated.name
    if len(repeated.children) != 1 or (_is_annotated(repeated) and repeated is not node):
        return [(name, repeated)]
    if repeated is node or repeated.name in ("array", f"{node.name}_tuple"):
        return None
    return [(name, repeated.children[0])]


def _map_entries(node: Node) -> list[tuple[str, Node]] | None:
    """Return the name by which DuckDB finds the key and the value of a map, and their nodes; None if it does not find them."""
    names = ("key", "value")
    nodes = node.children[0].children
    is_found = node.converted != _MAP_KEY_VALUE and tuple(each.name.lower() for each in nodes) == names
    return list(zip(names, nodes, strict=True)) if is_found else None


def _is_annotated(node: Node) -> bool:
    return node.logical is not None or node.converted is not None


def _kinds(type_name: str, kind: str) -> tuple[str, ...]:
    """Return the kinds of fields that a column of this type accepts; `kind` is the field's kind."""
    if type_name == "blob":
        return (kind,) if kind == "binary" or kind.startswith("fixed(") else ("binary",)
    decimals = decimal_parameters(type_name)
    if decimals is None:
        return leaf_type(type_name).accepted_kinds
    stored = decimal_parameters(kind)
    fits = stored is not None and stored[1] <= decimals[1] and stored[0] - stored[1] <= decimals[0] - decimals[1]
    return (kind,) if fits else (f"decimals up to {type_name}",)


def _has_unusable_bounds(type_name: str, kind: str) -> bool:
    """Whether the bounds in the footer are not values of the column's type."""
    stored, wanted = decimal_parameters(kind), decimal_parameters(type_name)
    return kind in _WITHOUT_BOUNDS or (stored is not None and wanted is not None and stored[1] != wanted[1])


def _one_value(path: str, column: Column, matching: Matching) -> pa.Table:
    text = hive_column_value(path, column.name, column.type)
    if text is not None and column.type == "blob":
        return pa.table({"value": array_of([bytes.fromhex(text)], column)})
    local = local_time(text) if column.type == "timestamptz" else None
    value = text if local is None or matching.in_zone is None else matching.in_zone(local)
    return pa.table({"value": array_of([value], column)})


def _partition_values(path: str, table: Table, matching: Matching) -> tuple[str | None, ...]:
    """Return the value of each partition key, which must come from the path so that it is valid for all rows.

    Raises:
        StatementError: the path lacks a key.
        DataError: the value of a bucket or time key is not a number.
    """
    fields = table.partition_fields
    columns = key_columns(table.columns, fields)
    values: list[str | None] = []
    for column, field, name in zip(columns, fields, key_names(columns, fields), strict=True):
        if hive_key(path, name) is None:
            raise StatementError(
                f"{table.schema_name}.{table.name} is partitioned by {name}, and {path} is in no directory {name}=…; move it into one, "
                "or insert its rows"
            )
        text = hive_value(path, name)
        if field.transform == "identity":
            values.append(identity_text(_one_value(path, column, matching).column(0), column))
        elif text is not None and not re.fullmatch(r"-?\d+", text):
            raise DataError(f"{path}: {name}={text} is not a {'bucket number' if bucket_count(field.transform) else 'number'}")
        else:
            values.append(None if text is None else str(int(text)))
    return tuple(values)


def _require_values(file: WrittenFile, table: Table, values: Sequence[str | None]) -> None:
    """Require that the statistics of a file prove the partition values in its path, because its columns are read from the file.

    Raises:
        DataError: a value is not proved.
    """
    fields = table.partition_fields
    columns = key_columns(table.columns, fields)
    stats = {each.column_id: each for each in file.column_stats}
    for column, field, name, value in zip(columns, fields, key_names(columns, fields), values, strict=True):
        found = stats.get(column.column_id)
        if found is None or not _proves(found, column.type, field.transform, value):
            raise DataError(
                f"the footer of {file.path} does not prove that all its values of {column.name} are in the partition of the directory "
                f"{name}=…, and hive_partitioning => false reads them from the file. Use hive_partitioning => true to use the values of "
                "the directories, or insert the rows of the file"
            )


def _proves(stats: ColumnStats, type_name: str, transform: str, text: str | None) -> bool:
    """Whether statistics prove that all values of a column are in this partition; `text` is its value."""
    if stats.null_count != 0:
        return text is None and stats.null_count is not None and stats.value_count == 0
    if leaf_type(type_name).is_float and stats.contains_nan is not False:
        return False
    least, greatest = _value(type_name, stats.min_value), _value(type_name, stats.max_value)
    if least is None or greatest is None:
        return False
    if transform in TIME_PARTS:
        counted = "timestamp" if type_name == "timestamptz" else type_name  # `time_part` counts its BC years backwards
        parts = TIME_PARTS[: TIME_PARTS.index(transform) + 1]
        is_one = all(time_part(counted, part, least) == time_part(counted, part, greatest) is not None for part in parts)
        return is_one and time_part(type_name, transform, least) == text
    count = bucket_count(transform)
    return least == greatest and text == (value_text(type_name, least) if count is None else str(bucket(least, type_name, count)))


def _value(type_name: str, bound: str | None) -> Value | None:
    """Return the value of a bound, None if it is not known; a decimal is unscaled."""
    value = None if bound is None else decode(type_name, bound)
    if isinstance(value, Decimal):
        _, scale = decimal_parameters(type_name) or (38, 0)
        return int(value.scaleb(scale, Context(prec=80)))
    return value
