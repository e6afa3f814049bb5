"""Group the files of a scan so that one Parquet scan can read each group: same requested names and types, same conversions.

A table without schema changes is one group, and its footers are not read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...errors import LakeError
from ...format.files import DataFile, MappedField, ScanPlan
from ..files.physical import FileField, physical_schemas
from .reading import ColumnLookup, Reading, needs_footer, read_column, signature

Mapping: TypeAlias = "tuple[MappedField, ...] | None"
Schema: TypeAlias = "tuple[FileField, ...] | None"
_OWN_NAME = re.compile(r"(?:^|/)ducklake-[0-9a-f]{8}-[0-9a-f]{4}-")
"""Matches the path of a file that a DuckLake writer created. Such a file has field ids, so its footer need not be read to find out."""


@dataclass(frozen=True)
class NumberedFile:
    """A data file with its index in the scan plan."""

    number: int
    file: DataFile

    @property
    def is_restricted(self) -> bool:
        """Whether some rows must be left out: deleted rows, or rows of other snapshots."""
        file = self.file
        return file.delete_file is not None or bool(file.inlined_deletes) or self.is_of_some_snapshots

    @property
    def is_of_some_snapshots(self) -> bool:
        """Whether only the rows of some snapshots are wanted."""
        return self.file.rows_until_snapshot is not None or self.file.rows_from_snapshot is not None


@dataclass(frozen=True)
class FileGroup:
    """Files that are read in the same way."""

    files: tuple[NumberedFile, ...]
    readings: tuple[Reading, ...]
    """One per column of the table."""
    partition_keys: tuple[tuple[int, str], ...]
    """(index of the column, key in the directory name) of columns whose values come from the path."""
    by_name: bool
    """Columns match by the file's own names: the files have no field ids, hence no embedded row ids or snapshot ids."""

    def split(self) -> list[FileGroup]:
        """Split the group into files that are read completely and the others, and so that no part has a path twice.

        DuckDB can add a file several times and then reads its rows each time. A Spark scan reads each path once.
        """
        parts: dict[tuple[bool, int], list[NumberedFile]] = {}
        seen: Counter[str] = Counter()
        for file in self.files:
            parts.setdefault((file.is_restricted, seen[file.file.path]), []).append(file)
            seen[file.file.path] += 1
        return [FileGroup(tuple(parts[key]), self.readings, self.partition_keys, self.by_name) for key in sorted(parts)]


def group_files(plan: ScanPlan) -> list[FileGroup]:
    """Return the groups, in the order of their first files.

    Raises:
        LakeError: a file is encrypted, missing or not a Parquet file.
    """
    numbered = [NumberedFile(number, file) for number, file in enumerate(plan.files)]
    for each in numbered:
        if each.file.encryption_key is not None:
            raise LakeError(
                f"table {plan.name} is encrypted, and Spark cannot read files that DuckDB encrypted. "
                "Copy the table into a lake without encryption"
            )
    schemas = _schemas(plan, numbered)
    kinds: dict[tuple[Mapping, Schema], list[NumberedFile]] = {}
    for each, schema in zip(numbered, schemas, strict=True):
        kinds.setdefault((_mapping(plan, each.file, schema), schema), []).append(each)
    groups: dict[object, FileGroup] = {}
    for (mapping, schema), members in kinds.items():
        group = _group(plan, mapping, schema, members)
        key = (signature(group.readings), group.partition_keys, group.by_name)
        known = groups.get(key)
        files = group.files if known is None else (*known.files, *group.files)
        groups[key] = FileGroup(files, group.readings, group.partition_keys, group.by_name)
    return list(groups.values())


def _schemas(plan: ScanPlan, numbered: Sequence[NumberedFile]) -> list[Schema]:
    """Return the schema of each file whose footer is needed, and None for the others."""
    every = needs_footer(plan)
    wanted = [each for each in numbered if every or each.file.mapping is not None or not _OWN_NAME.search(each.file.path)]
    if not wanted:
        return [None] * len(numbered)
    read = dict(zip([w.number for w in wanted], physical_schemas(plan.name, [w.file for w in wanted]), strict=True))
    return [read.get(each.number) for each in numbered]


def _mapping(plan: ScanPlan, file: DataFile, schema: Schema) -> Mapping:
    """Return the file's name mapping, or a mapping by position if the file has no mapping and a column without a field id.

    DuckDB reads such a file by position too, regardless of its names; fields of its structs are not found.
    """
    if file.mapping is not None or schema is None or all(field.field_id is not None for field in schema):
        return file.mapping
    return tuple(MappedField(field.name, column.column_id) for field, column in zip(schema, plan.columns, strict=False))


def _group(plan: ScanPlan, mapping: Mapping, schema: Schema, files: Sequence[NumberedFile]) -> FileGroup:
    keys = {node.column_id: node.source_name for node in mapping or () if node.is_partition}
    lookup = ColumnLookup(plan.name, plan.reused_names, schema, mapping)
    readings = tuple(read_column(column, lookup) for column in plan.columns)
    partition_keys = tuple((index, keys[column.column_id]) for index, column in enumerate(plan.columns) if column.column_id in keys)
    return FileGroup(tuple(files), readings, partition_keys, mapping is not None)
