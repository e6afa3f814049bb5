"""How to read a column from a group of similar files: what to request from Spark's Parquet reader, and how to convert the value.

Columns match by field id (DuckLake's column id). They are requested under their own names, unless a file may have another column of that
name, because Spark pushes filters down by name. Files with a name mapping match by the file's own names. Types that all writers store the
same way are requested directly; for other types the file's footer decides the type to request and the conversion.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from pyspark.sql.types import ArrayType, DataType, LongType, MapType, StructField, StructType

from ...errors import LakeError
from ...format.files import LIST_ELEMENT_NAMES, MappedField, ScanPlan
from ...format.initial_defaults import initial_literal
from ...format.leaf_types import leaf_type
from ...format.objects import Column
from ...format.types import data_type_of, decimal_parameters, from_stored, spark_name
from ..files.physical import FileField, field_by_id, field_by_name
from ..values.conversions import Constant, Conversion, Elements, Entries, Fields, Refuse, same_type
from ..values.types import FIELD_ID, spark_type
from .leaf_reading import leaf_reading, variant_kind

_HIDDEN = "__c"
RESERVED = ("_metadata", "_ducklake", "__ducklake", _HIDDEN)
"""Prefixes of names that a scan uses itself; a column with such a name is read under its hidden name."""
_FILLED_IN = frozenset(
    ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp_ntz", "timestamp", "string")
)
"""Spark types for which Spark's Parquet reader handles EXISTS_DEFAULT correctly."""


@dataclass(frozen=True)
class Reading:
    """How to read a top-level column: request `field`, then convert with `conversion` to the type `final`."""

    field: StructField
    conversion: Conversion
    final: DataType

    @property
    def is_plain(self) -> bool:
        """Whether the value needs no conversion."""
        return self.conversion is None and same_type(self.field.dataType, self.final)

    @property
    def is_read_whole(self) -> bool:
        """Whether the column is nested and has a part that only its field id identifies, so that Spark must not prune its fields.

        Spark's nested schema pruning rebuilds the column from the fields that are used and loses the column's field id.
        """
        nested = isinstance(self.field.dataType, (ArrayType, MapType, StructType))
        return nested and _has_hidden_name(StructType([self.field]))


@dataclass(frozen=True)
class ColumnLookup:
    """Finds columns in a group of similar files, at one level of nesting.

    Args:
        table: the table's name, for error messages.
        reused: `ScanPlan.reused_names`.
        schema: the fields of the file at this level; None if no footer was read.
        mapping: the name mapping at this level; None if columns match by field id.
        parent: the id of the column that contains this level.
    """

    table: str
    reused: Collection[tuple[int | None, str]]
    schema: tuple[FileField, ...] | None = None
    mapping: tuple[MappedField, ...] | None = None
    parent: int | None = None

    def find(self, column: Column) -> FileField | None:
        """Return the file's field for the column; None if there is none."""
        assert self.schema is not None
        if self.mapping is None:
            return field_by_id(self.schema, column.column_id)
        node = self.node(column)
        return None if node is None else field_by_name(self.schema, node.source_name)

    def node(self, column: Column) -> MappedField | None:
        """Return the column's node of the name mapping; None if there is none."""
        return next((node for node in self.mapping or () if node.column_id == column.column_id), None)


def hidden_name(column_id: int) -> str:
    """Return a name that no file has, so that the column matches by id only and Spark pushes no filter down for it."""
    return f"{_HIDDEN}{column_id}"


def _has_hidden_name(type_: DataType) -> bool:
    match type_:
        case ArrayType():
            return _has_hidden_name(type_.elementType)
        case MapType():
            return _has_hidden_name(type_.keyType) or _has_hidden_name(type_.valueType)
        case StructType():
            return any(_is_found_by_id_alone(field) or _has_hidden_name(field.dataType) for field in type_.fields)
    return False


def _is_found_by_id_alone(field: StructField) -> bool:
    return field.name.startswith(_HIDDEN) and FIELD_ID in field.metadata


def needs_footer(plan: ScanPlan) -> bool:
    """Whether only the footer shows how files store some column. Files with a name mapping always need the footer."""
    nodes = [(depth, node) for column in plan.columns for depth, node in enumerate(column.walk())]
    return any(
        node.column_id in plan.retyped
        or leaf_type(node.type.lower()).variously_stored
        or (node.initial_default is not None and (depth > 0 or not _reader_fills_in(node)))
        for depth, node in nodes
    )


def _reader_fills_in(column: Column) -> bool:
    """Whether Spark's Parquet reader handles the column's EXISTS_DEFAULT correctly: it truncates decimals to 64 bits."""
    parameters = decimal_parameters(column.type)
    supported = parameters[0] <= 18 if parameters is not None else spark_name(data_type_of(column)) in _FILLED_IN
    return supported and not isinstance(initial_value(column), Refuse)


def initial_value(column: Column) -> Constant | Refuse:
    """Return a column's value in files without the column; a default that Spark cannot represent is an error only when it is read."""
    try:
        return Constant(initial_literal(column))
    except LakeError as error:
        return Refuse(str(error))


def read_column(column: Column, lookup: ColumnLookup) -> Reading:
    """Return how to read a top-level column, also if the files do not have it."""
    final = spark_type(column)
    field, conversion = _request(column, lookup, final)
    return Reading(field, conversion, final)


def signature(readings: Sequence[Reading]) -> str:
    """Return a string that is equal for files that can share one scan."""
    return json.dumps([[r.field.jsonValue(), repr(r.conversion)] for r in readings], sort_keys=True)


def embedded_column(name: str, field_id: int) -> StructField:
    """Return the request for an embedded DuckLake column, which is NULL in files without it."""
    return StructField(name, LongType(), True, _by_id(field_id))


def _by_id(field_id: int) -> dict[str, object]:
    return {FIELD_ID: field_id}


def _existence_default(literal: str | None) -> dict[str, object]:
    """Return the default that Spark's Parquet reader fills in for files without the column."""
    return {} if literal is None else {"EXISTS_DEFAULT": literal, "CURRENT_DEFAULT": literal}


def _absent(column: Column, final: DataType) -> StructField:
    return StructField(hidden_name(column.column_id), final)


def _request(column: Column, lookup: ColumnLookup, final: DataType) -> tuple[StructField, Conversion]:
    """Return the field to request for a column or a field of a struct, and its conversion, also if the files do not have it."""
    if lookup.schema is not None and lookup.find(column) is None:
        value = initial_value(column)
        return _absent(column, final), None if value == Constant(None) else value
    name, requested, conversion = _read(column, lookup, final)
    metadata = {} if lookup.mapping is not None else _by_id(column.column_id)
    if lookup.schema is None and lookup.parent is None:  # Spark's reader fills in defaults of top-level columns only
        metadata |= _existence_default(initial_literal(column))
    if requested is None:
        return _absent(column, final), conversion
    return StructField(name, requested, True, metadata), conversion


def _read(column: Column, lookup: ColumnLookup, final: DataType) -> tuple[str, DataType | None, Conversion]:
    """Return (name to request, type to request or None if it cannot be read, conversion)."""
    found = lookup.find(column) if lookup.schema is not None else None
    name = _name(column, lookup, found)
    kind = from_stored(column.type).name
    if kind not in ("list", "map", "struct"):
        stored = None if found is None else variant_kind(found) if kind == "variant" else found.kind
        requested, conversion = leaf_reading(kind, stored, final, is_added=lookup.mapping is not None)
        if isinstance(conversion, Refuse):
            conversion = Refuse(
                f"column {column.name} of table {lookup.table} has type {column.type}, and a file stores it as {conversion.message}, "
                "which cannot be read as that. Read it with DuckDB"
            )
        return name, requested, conversion
    if found is not None and found.kind != kind:
        text = f"column {column.name} of table {lookup.table} is a {kind}, and a file stores it as {found.kind}"
        return name, None, Refuse(text)
    inner = replace(
        lookup,
        parent=column.column_id,
        schema=None if found is None else found.children,
        mapping=None if lookup.mapping is None else _children(lookup, column),
    )
    if kind == "struct":
        requested, conversion = _read_struct(column, inner, final)
    else:
        requested, conversion = _read_entries(column, inner, final)
    return name, requested, conversion


def _children(lookup: ColumnLookup, column: Column) -> tuple[MappedField, ...]:
    node = lookup.node(column)
    return () if node is None else node.children


def _name(column: Column, lookup: ColumnLookup, found: FileField | None) -> str:
    if lookup.mapping is not None and found is not None:
        return found.name
    reused = (lookup.parent, column.name.lower()) in lookup.reused
    reserved = lookup.parent is None and column.name.lower().startswith(RESERVED)
    return hidden_name(column.column_id) if reused or reserved else column.name


def _read_struct(column: Column, inner: ColumnLookup, final: DataType) -> tuple[DataType | None, Conversion]:
    assert isinstance(final, StructType)
    fields: list[StructField] = []
    conversions: list[Conversion] = []
    for child, target in zip(column.children, final.fields, strict=True):
        field, conversion = _request(child, inner, target.dataType)
        fields.append(field)
        conversions.append(conversion)
    return StructType(fields), Fields(tuple(conversions)) if any(conversion is not None for conversion in conversions) else None


def _read_entries(column: Column, inner: ColumnLookup, final: DataType) -> tuple[DataType | None, Conversion]:
    """Match elements, keys and values by their position in the list or map, not by their ids and names."""
    if isinstance(final, ArrayType):
        targets = [final.elementType]
    else:
        assert isinstance(final, MapType)
        targets = [final.keyType, final.valueType]
    requests: list[DataType] = []
    conversions: list[Conversion] = []
    for index, (child, target) in enumerate(zip(column.children, targets, strict=True)):
        entry = inner
        if inner.schema is not None:
            field = replace(inner.schema[index], name=child.name, field_id=child.column_id)
            entry = replace(inner, schema=(field,))
        if inner.mapping is not None:
            entry = replace(entry, mapping=_entry_node(inner.mapping, index, len(targets), child))
        _, requested, conversion = _read(child, entry, target)
        if requested is None:
            return None, conversion
        requests.append(requested)
        conversions.append(conversion)
    if len(requests) == 1:
        return ArrayType(requests[0]), None if conversions[0] is None else Elements(conversions[0])
    return MapType(requests[0], requests[1]), None if conversions == [None, None] else Entries(conversions[0], conversions[1])


def _entry_node(nodes: Sequence[MappedField], index: int, count: int, child: Column) -> tuple[MappedField, ...]:
    """Return the mapping of an element, key or value, under the column's own name."""
    names = LIST_ELEMENT_NAMES if count == 1 else (("key",), ("value",))[index]
    node = next((node for node in nodes if node.column_id == child.column_id or node.source_name.lower() in names), None)
    children = () if node is None else node.children
    return (MappedField(child.name, child.column_id, children),)
