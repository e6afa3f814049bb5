"""The `information_schema` of a lake: relations, columns and constraints, for dbt packages and tests that query them.

Neither the format nor Spark has such a schema. Each of these relations is a view whose text contains the catalog's data at the
snapshot that is read, so that it can be queried, joined and pinned like any other view.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..format.constraints import Constraint, constraints_of
from ..format.identifiers import INFORMATION_SCHEMA, backquoted, fold, spark_literal
from ..format.objects import Relation, Table, View
from ..format.types import data_type_of, decimal_parameters, spark_name
from ..format.view_columns import COLUMNS_TAG, SPARK_SQL_TAG, view_columns
from ..translate.dialects import PLACEHOLDER
from .view import LakeView

_INTEGERS = ("ordinal_position", "numeric_precision", "numeric_scale")
"""The columns with numbers; the others have strings."""
_PLACE = ("table_catalog", "table_schema", "table_name")
_COLUMN = ("ordinal_position", "column_default", "is_nullable", "data_type", "numeric_precision", "numeric_scale", "column_comment")
_CONSTRAINT = ("constraint_catalog", "constraint_schema", "constraint_name")


def information_view(name: str, database: str, reader: LakeView) -> View | None:
    """Return the relation with this name in the information schema; None if there is none.

    Args:
        name: the relation's name without its schema.
        database: the name of the lake.
        reader: the lake at the snapshot to describe.
    """
    found = _RELATIONS.get(fold(name))
    if found is None:
        return None
    names, rows = found
    columns = [(name, "int" if name in _INTEGERS else "string") for name in names]
    text = json.dumps([dict(zip(names, row, strict=True)) for row in rows(database, reader)], ensure_ascii=False)
    fields = ", ".join(f"{column}: {kind}" for column, kind in columns)
    query = f"SELECT item.* FROM (SELECT explode(from_json({spark_literal(text)}, 'array<struct<{fields}>>')) AS item)"
    recorded = json.dumps([[column, kind, None] for column, kind in columns])
    return View(0, "", INFORMATION_SCHEMA, fold(name), query, dialect="spark", tags={SPARK_SQL_TAG: query, COLUMNS_TAG: recorded})


def _tables(database: str, reader: LakeView) -> Iterator[tuple[Any, ...]]:
    for relation in _relations(reader):
        kind = "BASE TABLE" if isinstance(relation, Table) else "VIEW"
        yield database, relation.schema_name, relation.name, kind, relation.comment


def _columns(database: str, reader: LakeView) -> Iterator[tuple[Any, ...]]:
    for relation in _relations(reader):
        for position, column in enumerate(_columns_of(relation), start=1):
            yield (database, relation.schema_name, relation.name, column[0], position, *column[1:])


def _columns_of(relation: Relation) -> Iterator[tuple[Any, ...]]:
    """Yield (name, default, nullable, type, precision, scale, comment) of each column; nothing for a view that DuckDB created."""
    if isinstance(relation, Table):
        for column in relation.columns:
            kind = spark_name(data_type_of(column))
            default = None if column.default is None else column.default.text
            yield column.name, default, "YES" if column.nullable else "NO", kind, *_digits(kind), column.comment
    else:
        for recorded in view_columns(relation):
            yield recorded.name, None, "YES", recorded.type, *_digits(recorded.type), recorded.comment


def _digits(kind: str) -> tuple[int | None, int | None]:
    return decimal_parameters(kind) or (None, None)


def _schemata(database: str, reader: LakeView) -> Iterator[tuple[Any, ...]]:
    for schema in reader.schemas():
        yield database, schema.name, None


def _views(database: str, reader: LakeView) -> Iterator[tuple[Any, ...]]:
    for relation in _relations(reader):
        if isinstance(relation, View):
            text = relation.tags.get(SPARK_SQL_TAG, relation.sql)
            yield database, relation.schema_name, relation.name, text.replace(PLACEHOLDER, backquoted(database))


def _table_constraints(database: str, reader: LakeView) -> Iterator[tuple[Any, ...]]:
    for table, constraint in _constraints(reader):
        place = (database, table.schema_name)
        yield *place, constraint.name, *place, table.name, constraint.kind, "YES" if constraint.is_enforced else "NO"


def _key_columns(database: str, reader: LakeView) -> Iterator[tuple[Any, ...]]:
    for table, constraint in _constraints(reader):
        place = (database, table.schema_name)
        for position, column in enumerate(constraint.columns, start=1):
            yield *place, constraint.name, *place, table.name, column, position


def _checks(database: str, reader: LakeView) -> Iterator[tuple[Any, ...]]:
    for table, constraint in _constraints(reader):
        if constraint.expression is not None:
            yield database, table.schema_name, constraint.name, constraint.expression


def _constraints(reader: LakeView) -> Iterator[tuple[Table, Constraint]]:
    for relation in _relations(reader):
        if isinstance(relation, Table):
            for constraint in constraints_of(relation.tags):
                yield relation, constraint


def _relations(reader: LakeView) -> list[Relation]:
    return sorted(reader.relations(), key=lambda relation: (relation.schema_name, relation.name))


_RELATIONS: dict[str, tuple[tuple[str, ...], Callable[[str, LakeView], Iterable[tuple[Any, ...]]]]] = {
    "tables": ((*_PLACE, "table_type", "table_comment"), _tables),
    "columns": ((*_PLACE, "column_name", *_COLUMN), _columns),
    "schemata": (("catalog_name", "schema_name", "schema_owner"), _schemata),
    "views": ((*_PLACE, "view_definition"), _views),
    "table_constraints": ((*_CONSTRAINT, *_PLACE, "constraint_type", "enforced"), _table_constraints),
    "key_column_usage": ((*_CONSTRAINT, *_PLACE, "column_name", "ordinal_position"), _key_columns),
    "check_constraints": ((*_CONSTRAINT, "check_clause"), _checks),
}
"""Name → columns, and the function that yields the rows, given the name of the lake and the lake."""
