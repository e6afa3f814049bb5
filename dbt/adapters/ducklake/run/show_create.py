"""Run SHOW CREATE TABLE: the statement that creates a table or a view again, as this lake has it now, without rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..format.constraints import Constraint, constraints_of
from ..format.identifiers import backquoted, spark_literal
from ..format.objects import Column, Table, View
from ..format.partitioning import quoted_key_texts
from ..format.types import data_type_of, ddl_name
from ..format.view_columns import view_columns
from ..lake.properties import shown_properties
from ..lake.tables import required_relation
from ..plan.defaults import default_ddl
from ..plan.resolve import text_of_view
from ..plan.sorting import sort_text
from ..sql.references import references
from ..sql.values import Name, ShowCreate
from ..translate.dialects import PLACEHOLDER
from .definitions import qualified_text
from .environment import Environment
from .inspect import describe_columns
from .result import Result, local


def run_show_create(env: Environment, statement: ShowCreate) -> Result:
    """Return one row with the statement, in the column of Spark.

    Raises:
        NotFoundError: there is no such table or view.
        LakeError: DuckDB created the view with SQL that has no counterpart in Spark.
        StatementError: the same of a default.
    """
    target, schema, name = env.place(statement.name)
    relation = required_relation(target.context, schema, name)
    full = ".".join(map(backquoted, (target.lake, relation.schema_name, relation.name)))
    lines = _table_lines(target, relation, full) if isinstance(relation, Table) else _view_lines(target, relation, full)
    return local("SHOW CREATE TABLE", [("createtab_stmt", "string")], [("\n".join(lines),)])


def _table_lines(env: Environment, table: Table, name: str) -> list[str]:
    definitions = [*map(_column, table.columns), *map(_constraint, constraints_of(table.tags))]
    lines = [f"CREATE TABLE {name} (", *_listed(definitions)]
    if table.partition_fields:
        lines.append(f"PARTITIONED BY ({', '.join(quoted_key_texts(table.columns, table.partition_fields))})")
    if table.sorting:
        lines.append(f"SORTED BY ({', '.join(map(sort_text, table.sorting))})")
    lines += _comment(table.comment)
    properties = shown_properties(env.context, table)
    if properties:
        pairs = [f"{spark_literal(key)} = {spark_literal(value)}" for key, value in properties.items()]
        lines += ["TBLPROPERTIES (", *_listed(pairs)]
    return lines


def _view_lines(env: Environment, view: View, name: str) -> list[str]:
    lines = [f"CREATE VIEW {name}"]
    recorded = view_columns(view)
    if view.column_aliases or any(column.comment is not None for column in recorded):
        columns = recorded or describe_columns(env, Name((view.schema_name, view.name)))
        lines = [f"{lines[0]} (", *_listed([" ".join((backquoted(column.name), *_comment(column.comment))) for column in columns])]
    return [*lines, *_comment(view.comment), f"AS {_query(env, view)}"]


def _query(env: Environment, view: View) -> str:
    """Return the query of a view with its names in full, because DuckDB stores them as they were written in the view's schema."""
    inside = env.with_names(env.names.in_view(view.schema_name, env.transaction))
    text = references(text_of_view(view, env.lake, env.transaction))
    return qualified_text(inside, text, "view", Name((view.schema_name, view.name))).replace(PLACEHOLDER, backquoted(env.lake))


def _column(column: Column) -> str:
    parts = [backquoted(column.name), ddl_name(data_type_of(column))]
    if not column.nullable:
        parts.append("NOT NULL")
    if column.default is not None:
        parts.append(f"DEFAULT {default_ddl(column, column.default)}")
    return " ".join((*parts, *_comment(column.comment)))


def _constraint(constraint: Constraint) -> str:
    quoted = replace(constraint, columns=_quoted(constraint.columns), referenced=_quoted(constraint.referenced))
    return f"CONSTRAINT {backquoted(constraint.name)} {quoted}"


def _quoted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(backquoted, names))


def _comment(text: str | None) -> list[str]:
    return [] if text is None else [f"COMMENT {spark_literal(text)}"]


def _listed(items: list[str]) -> list[str]:
    """Return the items as the lines of a list, with the parenthesis that ends it."""
    return [f"  {item}{',' if number < len(items) else ')'}" for number, item in enumerate(items, start=1)]
