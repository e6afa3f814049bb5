"""The table that a statement changes: the values that it assigns, and the columns that a star in an expression means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..errors import StatementError
from ..format.evolution import find_column
from ..format.identifiers import backquoted, fold, spark_literal
from ..format.objects import Column, Table
from ..lake.tables import required_table
from ..plan.defaults import default_sql
from ..plan.names import Names
from ..sql.values import Assignment, Name, OuterStar, Sql
from .environment import Environment


def changed_table(env: Environment, name: Name) -> tuple[Environment, Table]:
    """Return the table that a statement changes, and the environment in its lake; the statement's SQL still uses the names of `env`."""
    target, schema, table = env.place(name)
    return target, required_table(target.context, schema, table)


@dataclass(frozen=True)
class Side:
    """A relation whose columns an expression of UPDATE, DELETE or MERGE may name.

    Spark's rows also have internal columns, such as row positions, which `*` must not include.
    """

    alias: str
    columns: Sequence[str]
    name: Name | None = None
    """Its name, which qualifies columns if the user gave no alias."""

    def is_called(self, qualifier: tuple[str, ...]) -> bool:
        """Whether a folded qualifier means this relation."""
        parts = () if self.name is None else tuple(fold(part) for part in self.name.parts)
        return qualifier == (fold(self.alias),) or (bool(qualifier) and parts[-len(qualifier) :] == qualifier)


def with_columns(sql: Sql, *sides: Side) -> Sql:
    """Return an expression with the columns of the relations in place of its stars.

    Raises:
        StatementError: EXCEPT names a column that does not exist.
    """

    def columns(star: OuterStar) -> list[str] | None:
        shown = [side for side in sides if not star.qualifier or side.is_called(star.qualifier)]
        if not shown:
            return None  # the fields of a struct
        found = [(side.alias, column) for side in shown for column in side.columns]
        unknown = set(star.excepts) - {fold(column) for _, column in found}
        if unknown:
            raise StatementError(f"EXCEPT names columns that do not exist: {', '.join(sorted(unknown))}. Remove them")
        return [f"{backquoted(alias)}.{backquoted(column)}" for alias, column in found if fold(column) not in star.excepts]

    return sql.with_columns(columns)


def side_of(table: Table, alias: str | None, name: Name) -> Side:
    """Return the side of the table that a statement changes."""
    return Side(alias or name.parts[-1], [column.name for column in table.columns], None if alias else name)


def assigned_values(
    names: Names, table: Table, assignments: Sequence[Assignment], side: Side, bind: Callable[[Sql], str]
) -> dict[str, str]:
    """Return the SQL of each column's new value by name. Fields of one struct that are assigned separately become one new struct.

    Args:
        names: the names that the statement uses.
        table: the table.
        assignments: the assignments.
        side: the table, as the SQL names it.
        bind: returns SQL for Spark.

    Raises:
        StatementError: a column or field is assigned twice, or as a whole and by field, or a field of something other than a struct is.
    """
    values: dict[str, str] = {}
    nested: dict[str, dict[tuple[str, ...], str]] = {}
    for assignment in assignments:
        parts = _without_qualifier(names, table, side, assignment.column)
        column, top = find_column(table, parts), find_column(table, parts[:1])
        text = default_sql(column) if assignment.value is None else bind(assignment.value)
        for length in range(1, len(parts)):
            if find_column(table, parts[:length]).type != "struct":
                whole, outer = ".".join(parts), ".".join(parts[:length])
                raise StatementError(f"{whole} of {table.name} cannot be assigned: {outer} is not a struct. Assign the whole of {outer}")
        path = tuple(fold(part) for part in parts[1:])
        if top.name in values or path in nested.get(top.name, {}):
            raise StatementError(f"column {'.'.join(parts)} of {table.name} is assigned twice")
        if path:
            nested.setdefault(top.name, {})[path] = text
        else:
            values[top.name] = text
    for name, fields in nested.items():
        if name in values:
            raise StatementError(f"column {name} of {table.name} is assigned as a whole and by field")
        column = find_column(table, (name,))
        values[name] = _struct(column, (), f"{backquoted(side.alias)}.{backquoted(name)}", fields)
    return values


def _without_qualifier(names: Names, table: Table, side: Side, path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the path of a column without a qualifier that has more parts than the table's name; parsing has removed any other."""
    for length in (3, 2):
        owner = Name(path[:length])
        if len(path) > length and side.name is not None and table.column(path[length]) is not None and names.are_same(side.name, owner):
            return path[length:]
    return path


def _struct(column: Column, path: tuple[str, ...], old: str, fields: dict[tuple[str, ...], str]) -> str:
    """Return SQL of a struct with some new fields."""
    parts = []
    for child in column.children:
        child_path = (*path, fold(child.name))
        value = fields.get(child_path)
        if value is None:
            value = f"{old}.{backquoted(child.name)}"
            if any(key[: len(child_path)] == child_path for key in fields):
                value = _struct(child, child_path, value, fields)
        parts.append(f"{spark_literal(child.name)}, {value}")
    return f"named_struct({', '.join(parts)})"
