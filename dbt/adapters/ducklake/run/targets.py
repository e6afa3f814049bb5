"""The table that a statement changes: the values that it assigns, and the columns that a star in an expression means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..errors import StatementError
from ..format.evolution import find_column
from ..format.files import ScanPlan
from ..format.identifiers import backquoted, fold, spark_literal
from ..format.objects import Column, Table
from ..lake.context import Context
from ..lake.tables import required_table
from ..plan.defaults import default_sql
from ..sql.values import Assignment, Name, OuterStar, Sql
from .environment import Environment


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


@dataclass(frozen=True)
class Target:
    """The table that a statement changes."""

    env: Environment
    """The environment of the statement, whose names its SQL uses."""
    owner: Environment
    """The environment in the lake of the table."""
    table: Table
    name: Name
    alias: str | None

    @property
    def context(self) -> Context:
        """The context of the lake of the table."""
        return self.owner.context

    @property
    def side(self) -> Side:
        """The table, as the SQL names it."""
        return Side(self.alias or self.name.parts[-1], [column.name for column in self.table.columns], None if self.alias else self.name)

    def note_scan(self, plan: ScanPlan) -> None:
        """Record the files of the table that the statement reads."""
        self.owner.note_scan(self.table, plan)

    def spark_text(self, sql: Sql) -> str:
        """Return an expression over the table for Spark."""
        return self.env.spark_text(with_columns(sql, self.side), (self.name,))


def target_of(env: Environment, name: Name, alias: str | None = None) -> Target:
    """Return the table that a statement changes.

    Raises:
        NotFoundError: there is no such table.
        StatementError: the name belongs to no lake.
    """
    owner, schema, table = env.place(name)
    return Target(env, owner, required_table(owner.context, schema, table), name, alias)


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


def assigned_values(target: Target, assignments: Sequence[Assignment], bind: Callable[[Sql], str]) -> dict[str, str]:
    """Return the SQL of each column's new value by name. Fields of one struct that are assigned separately become one new struct.

    Args:
        target: the table.
        assignments: the assignments.
        bind: returns SQL for Spark.

    Raises:
        StatementError: a column or field is assigned twice, or as a whole and by field, or a field of something other than a struct is.
    """
    table = target.table
    values: dict[str, str] = {}
    nested: dict[str, dict[tuple[str, ...], str]] = {}
    for assignment in assignments:
        parts = _without_qualifier(target, assignment.column)
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
        values[name] = _struct(column, (), f"{backquoted(target.side.alias)}.{backquoted(name)}", fields)
    return values


def _without_qualifier(target: Target, path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the path of a column without a qualifier that has more parts than the table's name; parsing has removed any other."""
    for length in (3, 2):
        is_column = len(path) > length and target.alias is None and target.table.column(path[length]) is not None
        if is_column and target.env.names.are_same(target.name, Name(path[:length])):
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
