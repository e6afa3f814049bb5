"""Run statements whose values are constants without Spark."""

from __future__ import annotations

from datetime import datetime, timezone

from ..format.evolution import find_column
from ..format.identifiers import fold
from ..format.objects import Table
from ..lake.context import Context
from ..lake.insert import insert_values
from ..plan.defaults import default_sql
from ..plan.literals import Clock, NeedsSparkError, can_store, column_values
from ..sql.constants import constant, constant_rows
from ..sql.values import Constant, Insert, Sql
from .environment import Environment


def insert_constants(env: Environment, context: Context, table: Table, statement: Insert, query: Sql) -> int | None:
    """Run INSERT INTO … VALUES or SELECT without FROM if all values are constants whose values in the columns are certain.

    Args:
        env: the environment of the statement.
        context: the context of the table's lake.
        table: the table.
        statement: the statement.
        query: its query, with defaults for the word DEFAULT.

    Returns:
        The number of rows; None if nothing was done, because Spark must run the statement.
    """
    if statement.overwrite or statement.by_name or statement.partition or statement.replace_where is not None:
        return None
    rows = constant_rows(query.text)
    columns = None if rows is None else _by_column(table, statement, rows)
    if rows is None or columns is None or not all(map(can_store, table.columns)):
        return None
    settings = env.planning.settings()
    if not (settings.ansi and settings.timestamps_are_instants and env.planning.usual_literals()):
        return None
    clock = Clock(datetime.now(timezone.utc), settings.zone_is_utc)
    try:
        values = [column_values(each, column, clock) for each, column in zip(columns, table.columns, strict=True)]
    except NeedsSparkError:
        return None
    return insert_values(context, table, list(zip(*values, strict=True)))


def _by_column(table: Table, statement: Insert, rows: list[tuple[Constant, ...]]) -> list[list[Constant]] | None:
    """Return the constants of each column of the table; None if a row has another number of values, or a default is not a constant."""
    names = [column.name for column in table.columns] if statement.columns is None else statement.columns
    places = {fold(find_column(table, (name,)).name): place for place, name in enumerate(names)}
    if len(places) < len(names) or any(len(row) != len(names) for row in rows):
        return None
    columns = []
    for column in table.columns:
        place = places.get(fold(column.name))
        default = constant(default_sql(column)) if place is None else None
        if place is None and default is None:
            return None
        columns.append([default if default is not None else row[place or 0] for row in rows])
    return columns
