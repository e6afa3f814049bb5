"""Read the macros that are stored in a lake.

Specification: the pages "ducklake_macro", "ducklake_macro_impl" and "ducklake_macro_parameters". DuckDB parses every macro when it opens a
lake, and fails to open the lake if one cannot be parsed. So we never write macro bodies; only DuckDB creates macros.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.engine import Connection

from ...format.objects import Default, Macro, MacroBody, MacroParameter
from ..store import tables as t
from ..store.row_rules import checked

_NO_TYPE = (None, "", "unknown")
"""The stored types that mean: no type."""


def read_macros(connection: Connection, snapshot_id: int, schemas: Mapping[int, str]) -> list[Macro]:
    """Return the macros visible at a snapshot, ordered by schema and name.

    Args:
        connection: a connection to the catalog database.
        snapshot_id: the snapshot.
        schemas: id → name of the schemas visible at the snapshot.

    Raises:
        LakeError: a row is damaged.
    """
    macro_rows = connection.execute(select(t.macro).where(t.visible(t.macro, snapshot_id))).all()
    rows = [row for row in checked(t.macro, macro_rows) if row.schema_id in schemas]
    if not rows:
        return []
    parameters: dict[tuple[int, int], list[MacroParameter]] = defaultdict(list)
    columns = t.macro_parameters.c
    parameter_rows = connection.execute(select(t.macro_parameters).order_by(columns.macro_id, columns.impl_id, columns.column_id)).all()
    for row in checked(t.macro_parameters, parameter_rows):
        parameters[row.macro_id, row.impl_id].append(_parameter(row))
    bodies: dict[int, list[MacroBody]] = defaultdict(list)
    kinds: dict[int, str] = {}
    body_rows = connection.execute(select(t.macro_impl).order_by(t.macro_impl.c.macro_id, t.macro_impl.c.impl_id)).all()
    for row in checked(t.macro_impl, body_rows):
        bodies[row.macro_id].append(MacroBody(row.sql, tuple(parameters[row.macro_id, row.impl_id])))
        kinds[row.macro_id] = row.type
    found = [
        Macro(row.macro_id, schemas[row.schema_id], row.macro_name, kinds.get(row.macro_id) == "table", tuple(bodies[row.macro_id]))
        for row in rows
    ]
    return sorted(found, key=lambda macro: (macro.schema_name, macro.name, macro.is_table))


def _parameter(row: Any) -> MacroParameter:
    """Convert a row of `ducklake_macro_parameters`."""
    type_name = None if row.parameter_type in _NO_TYPE else row.parameter_type
    default = None if row.default_value_type in _NO_TYPE else Default(row.default_value, row.default_value_type)
    return MacroParameter(row.parameter_name, type_name, default)
