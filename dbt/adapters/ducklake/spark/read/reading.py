"""How one column is read from files of one kind: what to ask of Spark's Parquet reader, and what to do with the value.

Columns match by field id (DuckLake's column id), under their own names unless a file may hold something else under
that name (trap T1): Spark pushes filters down by name. Files with a name mapping match by the file's own names. Types
that every writer stores alike are asked for as what they are; for the others the file's footer says how it stores
them, and a conversion follows.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from pyspark.sql.types import ArrayType, DataType, LongType, MapType, StructField, StructType

from ...errors import LakeError
from ...format.files import MappedField, ScanPlan
from ...format.objects import Column
from ...format.types import decimal_parameters, from_stored
from ..files.physical import FileField, named, with_id
from ..values.conversions import Constant, Elements, Entries, Fields, How, Refuse, same_type
from ..values.defaults import initial_literal
from ..values.types import spark_type
from .leaf_reading import VARIOUSLY_STORED, leaf_reading, variant_kind

LIST_ELEMENT_NAMES = ("list", "element", "array")
"""What a name mapping may call the element of a list (DuckDB writes `list`)."""

_HIDDEN = "__c"
RESERVED = ("_metadata", "_ducklake", "__ducklake", _HIDDEN)
"""How names begin that a scan uses itself; a column of such a name is read under its hidden name."""
_FILLED_IN = frozenset(
    {"boolean", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float32", "float64", "varchar", "json", "date"}
    | {"timestamp", "timestamp_us", "timestamp_s", "timestamp_ms", "timestamptz"}
)


@dataclass(frozen=True)
class Reading:
    """One top-level column: ask for `field`, then apply `how` to get `final`."""

    field: StructField
    how: How
    final: DataType

    @property
    def is_plain(self) -> bool:
        """The value is right as it comes."""
        return self.how is None and same_type(self.field.dataType, self.final)

    @property
    def is_read_whole(self) -> bool:
        """A nested column of which something is found by field id alone, so that Spark must not prune its fields.

        Spark's nested schema pruning makes the column again from the fields that are used, without the column's field id.
        """
        nested = isinstance(self.field.dataType, (ArrayType, MapType, StructType))
        return nested and _has_hidden_name(StructType([self.field]))


@dataclass(frozen=True)
class Place:
    """Where a column is looked for in files of one kind.

    Args:
        table: for messages.
        reused: `ScanPlan.reused_names`.
        schema: the fields of the file at this level; None if no footer was read.
        mapping: the name mapping at this level; None if field ids match.
        parent: id of the column that this one is nested in.
    """

    table: str
    reused: Collection[tuple[int | None, str]]
    schema: tuple[FileField, ...] | None = None
    mapping: tuple[MappedField, ...] | None = None
    parent: int | None = None

    def find(self, column: Column) -> FileField | None:
        """The file's field for the column; None if it has none."""
        assert self.schema is not None
        if self.mapping is None:
            return with_id(self.schema, column.column_id)
        node = self.node(column)
        return None if node is None else named(self.schema, node.source_name)

    def node(self, column: Column) -> MappedField | None:
        """The column's node of the name mapping."""
        return next((node for node in self.mapping or () if node.column_id == column.column_id), None)


def hidden_name(column_id: int) -> str:
    """A name that no file has, so that nothing is pushed down for it and only its id counts."""
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
    return field.name.startswith(_HIDDEN) and "parquet.field.id" in field.metadata


def needs_footer(plan: ScanPlan) -> bool:
    """The catalog alone cannot tell how files store some column (files with a name mapping apart, which always need it)."""
    nodes = [(depth, node) for column in plan.columns for depth, node in enumerate(column.walk())]
    return any(
        node.column_id in plan.retyped
        or node.type.lower() in VARIOUSLY_STORED
        or (node.initial_default is not None and (depth > 0 or not _reader_fills_in(node)))
        for depth, node in nodes
    )


def _reader_fills_in(column: Column) -> bool:
    """Whether Spark's Parquet reader gets the column's EXISTS_DEFAULT right: of long decimals it takes 64 bits only."""
    parameters = decimal_parameters(column.type)
    right = parameters[0] <= 18 if parameters is not None else column.type.lower() in _FILLED_IN
    return right and not isinstance(initial_value(column), Refuse)


def initial_value(column: Column) -> Constant | Refuse:
    """What a column is in files that do not have it; a default that Spark has no value for is refused where it is asked for."""
    try:
        return Constant(initial_literal(column))
    except LakeError as error:
        return Refuse(str(error))


def read_column(column: Column, place: Place) -> Reading:
    """How to read a top-level column that the files may or may not have."""
    final = spark_type(column)
    if place.schema is not None and place.find(column) is None:
        value = initial_value(column)
        return Reading(_absent(column, final), None if value == Constant(None) else value, final)
    name, requested, how = _read(column, place, final)
    metadata = {} if place.mapping is not None else _by_id(column.column_id)
    if place.schema is None:
        metadata |= _existence_default(initial_literal(column))
    if requested is None:
        return Reading(_absent(column, final), how, final)
    return Reading(StructField(name, requested, True, metadata), how, final)


def signature(readings: Sequence[Reading]) -> str:
    """Equal for files that can share one scan."""
    return json.dumps([[r.field.jsonValue(), repr(r.how)] for r in readings], sort_keys=True)


def extra_long(name: str, field_id: int) -> StructField:
    """The request for an embedded column of DuckLake's own; NULL where a file has none."""
    return StructField(name, LongType(), True, _by_id(field_id))


def _by_id(field_id: int) -> dict[str, object]:
    return {"parquet.field.id": field_id}


def _existence_default(literal: str | None) -> dict[str, object]:
    """Spark's Parquet reader fills this in, file by file, where the column is absent."""
    return {} if literal is None else {"EXISTS_DEFAULT": literal, "CURRENT_DEFAULT": literal}


def _absent(column: Column, final: DataType) -> StructField:
    return StructField(hidden_name(column.column_id), final)


def _read(column: Column, place: Place, final: DataType) -> tuple[str, DataType | None, How]:
    """(name to ask for, type to ask for or None if it cannot be read, conversion)."""
    found = place.find(column) if place.schema is not None else None
    name = _name(column, place, found)
    kind = from_stored(column.type).name
    if kind not in ("list", "map", "struct"):
        stored = None if found is None else variant_kind(found) if kind == "variant" else found.kind
        requested, how = leaf_reading(kind, stored, final)
        if isinstance(how, Refuse):
            how = Refuse(
                f"column {column.name} of table {place.table} has type {column.type}, and a file stores it as {how.text}, "
                "which cannot be read as that. Read it with DuckDB"
            )
        return name, requested, how
    if found is not None and found.kind != kind:
        text = f"column {column.name} of table {place.table} is a {kind}, and a file stores it as {found.kind}"
        return name, None, Refuse(text)
    inner = replace(
        place,
        parent=column.column_id,
        schema=None if found is None else found.children,
        mapping=None if place.mapping is None else _children(place, column),
    )
    if kind == "struct":
        requested, how = _read_struct(column, inner, final)
    else:
        requested, how = _read_entries(column, inner, final)
    return name, requested, how


def _children(place: Place, column: Column) -> tuple[MappedField, ...]:
    node = place.node(column)
    return () if node is None else node.children


def _name(column: Column, place: Place, found: FileField | None) -> str:
    if place.mapping is not None and found is not None:
        return found.name
    reused = (place.parent, column.name.lower()) in place.reused
    reserved = place.parent is None and column.name.lower().startswith(RESERVED)
    return hidden_name(column.column_id) if reused or reserved else column.name


def _read_struct(column: Column, inner: Place, final: DataType) -> tuple[DataType | None, How]:
    assert isinstance(final, StructType)
    fields: list[StructField] = []
    hows: list[How] = []
    for child, target in zip(column.children, final.fields, strict=True):
        if inner.schema is not None and inner.find(child) is None:
            fields.append(_absent(child, target.dataType))
            value = initial_value(child)
            hows.append(None if value == Constant(None) else value)
            continue
        name, requested, how = _read(child, inner, target.dataType)
        metadata = {} if inner.mapping is not None else _by_id(child.column_id)
        if requested is None:
            fields.append(_absent(child, target.dataType))
        else:
            fields.append(StructField(name, requested, True, metadata))
        hows.append(how)
    return StructType(fields), Fields(tuple(hows)) if any(how is not None for how in hows) else None


def _read_entries(column: Column, inner: Place, final: DataType) -> tuple[DataType | None, How]:
    """Elements, keys and values stand where the structure says, whatever their ids and names."""
    if isinstance(final, ArrayType):
        targets = [final.elementType]
    else:
        assert isinstance(final, MapType)
        targets = [final.keyType, final.valueType]
    requests: list[DataType] = []
    hows: list[How] = []
    for index, (child, target) in enumerate(zip(column.children, targets, strict=True)):
        at = inner
        if inner.schema is not None:
            field = replace(inner.schema[index], name=child.name, field_id=child.column_id)
            at = replace(inner, schema=(field,))
        if inner.mapping is not None:
            at = replace(at, mapping=_entry_node(inner.mapping, index, len(targets), child))
        _, requested, how = _read(child, at, target)
        if requested is None:
            return None, how
        requests.append(requested)
        hows.append(how)
    if len(requests) == 1:
        return ArrayType(requests[0]), None if hows[0] is None else Elements(hows[0])
    return MapType(requests[0], requests[1]), None if hows == [None, None] else Entries(hows[0], hows[1])


def _entry_node(nodes: Sequence[MappedField], index: int, count: int, child: Column) -> tuple[MappedField, ...]:
    """The mapping of an element, key or value, under the name that its place has here."""
    names = LIST_ELEMENT_NAMES if count == 1 else (("key",), ("value",))[index]
    node = next((node for node in nodes if node.column_id == child.column_id or node.source_name.lower() in names), None)
    children = () if node is None else node.children
    return (MappedField(child.name, child.column_id, children),)
