"""Group the files of a scan so that one Parquet scan can read each group, with the same requested columns and the same conversions.

The files of a table without schema changes are one group, and their footers are not read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...format.files import DataFile, MappedField, ScanPlan
from ..files.physical import FileField, physical_schemas
from .reading import ColumnLookup, Reading, needs_footer, read_column, signature

NameMapping: TypeAlias = "tuple[MappedField, ...] | None"
"""The name mapping of a file; None if its fields match columns by field id."""
FileSchema: TypeAlias = "tuple[FileField, ...] | None"
"""The fields of a file; None if its footer is not needed."""
_DUCKLAKE_NAME = re.compile(r"(?:^|/)ducklake-[0-9a-f]{8}-[0-9a-f]{4}-")
"""Matches the path of a file that a DuckLake writer created. Such a file has field ids.

For any other file, only the footer shows whether it has them.
"""


@dataclass(frozen=True)
class FileGroup:
    """Files that are read in the same way."""

    files: tuple[DataFile, ...]
    readings: tuple[Reading, ...]
    """How each column of the table is read."""
    partition_keys: tuple[tuple[int, str], ...]
    """(index of the column, key in the directory name) of columns whose values come from the path."""
    by_name: bool
    """Whether columns match fields by name. Then the files have no field ids, and so no embedded row ids or snapshot ids."""

    @property
    def is_restricted(self) -> bool:
        """Whether the scan must leave out rows of some of the files."""
        return any(file.is_restricted for file in self.files)

    def split(self) -> list[FileGroup]:
        """Separate files that are read completely from restricted ones, encrypted ones, and files with the same path from each other.

        If most rows are in restricted files, the others are read with them: a second scan takes longer than to check their rows too.
        In DuckDB a file can be added several times, and each time its rows are rows of the table. But a Spark scan reads each path once.
        """
        restricted = sum(file.record_count for file in self.files if file.is_restricted)
        mostly_restricted = 2 * restricted >= sum(file.record_count for file in self.files)
        parts: dict[tuple[bool, bool, int], list[DataFile]] = {}
        seen: Counter[str] = Counter()
        for file in self.files:
            parts.setdefault((mostly_restricted or file.is_restricted, file.is_encrypted, seen[file.path]), []).append(file)
            seen[file.path] += 1
        return [FileGroup(tuple(parts[key]), self.readings, self.partition_keys, self.by_name) for key in sorted(parts)]


def group_files(plan: ScanPlan) -> list[FileGroup]:
    """Return the groups of the files of a scan, in the order of their first files.

    Raises:
        LakeError: a file is missing or not a Parquet file, or the key of an encrypted file is wrong.
    """
    by_schema: dict[tuple[NameMapping, FileSchema], list[DataFile]] = {}
    for file, schema in zip(plan.files, _file_schemas(plan), strict=True):
        by_schema.setdefault((_name_mapping(plan, file, schema), schema), []).append(file)
    groups: dict[object, FileGroup] = {}
    for (mapping, schema), members in by_schema.items():
        group = _group(plan, mapping, schema, members)
        key = (signature(group.readings), group.partition_keys, group.by_name)
        known = groups.get(key)
        files = group.files if known is None else (*known.files, *group.files)
        groups[key] = FileGroup(files, group.readings, group.partition_keys, group.by_name)
    return list(groups.values())


def _file_schemas(plan: ScanPlan) -> list[FileSchema]:
    """Return the fields of each file whose footer is needed, and None for the others."""
    needs_all = needs_footer(plan)
    wanted = [
        index
        for index, file in enumerate(plan.files)
        if needs_all or file.is_encrypted or file.mapping is not None or not _DUCKLAKE_NAME.search(file.path)
    ]
    schemas: list[FileSchema] = [None] * len(plan.files)
    if wanted:
        for index, schema in zip(wanted, physical_schemas(plan.name, [plan.files[index] for index in wanted]), strict=True):
            schemas[index] = schema
    return schemas


def _name_mapping(plan: ScanPlan, file: DataFile, schema: FileSchema) -> NameMapping:
    """Return the name mapping of a file; for a file without one in which a field has no field id, a mapping by position.

    DuckDB also reads such a file by position, regardless of its names; the fields of its structs do not match any column.
    """
    if file.mapping is not None or schema is None or all(field.field_id is not None for field in schema):
        return file.mapping
    return tuple(MappedField(field.name, column.column_id) for field, column in zip(schema, plan.columns, strict=False))


def _group(plan: ScanPlan, mapping: NameMapping, schema: FileSchema, files: Sequence[DataFile]) -> FileGroup:
    """Return the group of files that have the same name mapping and the same schema."""
    keys = {node.column_id: node.source_name for node in mapping or () if node.is_partition}
    lookup = ColumnLookup(plan.name, plan.reused_names, schema, mapping)
    readings = tuple(read_column(column, lookup) for column in plan.columns)
    partition_keys = tuple((index, keys[column.column_id]) for index, column in enumerate(plan.columns) if column.column_id in keys)
    return FileGroup(tuple(files), readings, partition_keys, mapping is not None)
