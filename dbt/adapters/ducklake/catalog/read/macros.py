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
from ..store.visibility import visible


def read_macros(connection: Connection, snapshot_id: int, schemas: Mapping[int, str]) -> list[Macro]:
    """Return the macros visible at a snapshot, ordered by schema and name; `schemas` maps visible schema ids to names.

    Raises:
        LakeError: a row is damaged.
    """
    live = connection.execute(select(t.macro).where(visible(t.macro, snapshot_id))).all()
    rows = [row for row in checked(t.macro, live) if row.schema_id in schemas]
    if not rows:
        return []
    parameters: dict[tuple[int, int], list[MacroParameter]] = defaultdict(list)
    own, columns = t.macro_parameters, t.macro_parameters.c
    known = connection.execute(select(own).order_by(columns.macro_id, columns.impl_id, columns.column_id)).all()
    for row in checked(own, known):
        parameters[row.macro_id, row.impl_id].append(_parameter(row))
    bodies: dict[int, list[MacroBody]] = defaultdict(list)
    kinds: dict[int, str] = {}
    for row in checked(
        t.macro_impl, connection.execute(select(t.macro_impl).order_by(t.macro_impl.c.macro_id, t.macro_impl.c.impl_id)).all()
    ):
        bodies[row.macro_id].append(MacroBody(row.sql, tuple(parameters[row.macro_id, row.impl_id])))
        kinds[row.macro_id] = row.type
    found = [
        Macro(row.macro_id, schemas[row.schema_id], row.macro_name, kinds.get(row.macro_id) == "table", tuple(bodies[row.macro_id]))
        for row in rows
    ]
    return sorted(found, key=lambda macro: (macro.schema_name, macro.name, macro.is_table))


def _parameter(row: Any) -> MacroParameter:
    kind = None if row.parameter_type in (None, "", "unknown") else row.parameter_type
    absent = row.default_value_type in (None, "", "unknown")
    default = None if absent else Default(row.default_value, row.default_value_type)
    return MacroParameter(row.parameter_name, kind, default)
