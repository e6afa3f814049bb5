"""Run MERGE."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import StatementError
from ..format.evolution import NewColumn
from ..format.identifiers import backquoted, fold
from ..format.objects import Table
from ..lake.alter import add_columns
from ..lake.context import Context
from ..lake.merge import merge
from ..lake.merge_request import MergeRequest
from ..lake.tables import required_table
from ..plan.bound import BoundTable
from ..plan.defaults import default_sql
from ..plan.filters import filters_for_condition
from ..plan.keys import changes_meaning, equal_keys, only_compares, only_equal_keys
from ..plan.resolve import virtual_columns
from ..plan.statement_time import at_time
from ..spark.rows.match import When
from ..spark.values.types import fields_of
from ..sql.tokens import tokenize
from ..sql.values import VIRTUAL_COLUMNS, Merge, MergeClause, Name, Sql
from .environment import Environment
from .registry import asks_for_files
from .result import Result, changed
from .targets import Side, Target, assigned_values, target_of, with_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class _Sides:
    """The two relations of a MERGE, as its expressions name them."""

    target: Side
    source: Side
    names: tuple[Name, ...]
    """The names that may qualify columns."""

    def of(self, kind: str) -> tuple[Side, ...]:
        """Return the sides whose columns the expressions of a clause may name."""
        match kind:
            case "not_matched":
                return (self.source,)
            case "not_matched_by_source":
                return (self.target,)
        return (self.target, self.source)


def run_merge(env: Environment, statement: Merge) -> Result:
    """Run MERGE INTO."""
    target = target_of(env, statement.name, statement.alias)
    source_alias = statement.source_alias or "_ducklake_source"
    source, plain = _source(env, statement, source_alias)
    if statement.schema_evolution:
        target = replace(target, table=_evolved(target.context, target.table, plain))
    names = (statement.name, *(reference.name for reference in statement.source.references))
    sides = _Sides(target.side, Side(source_alias, plain.columns), names)
    table, target_alias = target.table, sides.target.alias
    texts = [part.text for part in _expressions(statement)]
    names_of_columns = [*(column.name for column in table.columns), *plain.columns]
    now = time.time_ns() // 1000

    def fixed(sql: str) -> str:
        return at_time(sql, now, names_of_columns)

    def clauses(kind: str) -> list[When]:
        found = (_clause(target, clause, sides) for clause in statement.clauses if clause.kind == kind)
        return [
            When(each.condition and fixed(each.condition), each.action, {name: fixed(value) for name, value in each.values.items()})
            for each in found
        ]

    condition = fixed(env.spark_text(with_columns(statement.condition, *sides.of("matched")), names))
    keys = equal_keys(condition, table, target_alias, source_alias)
    request = MergeRequest(
        source,
        target_alias,
        source_alias,
        f"({condition}\n)",  # Spark would take a word after the condition for an alias
        keys,
        only_compares=only_compares(condition) and not changes_meaning(texts, (target_alias, source_alias), names_of_columns),
        only_keys=only_equal_keys(condition, keys),
        matched=clauses("matched"),
        not_matched=clauses("not_matched"),
        not_matched_by_source=clauses("not_matched_by_source"),
        within=filters_for_condition(condition, table, target_alias, env.planning.settings(), only_qualified=True),
        virtual=_virtual_columns_of_target(statement, table, target_alias, plain.columns),
        asks_for_files=asks_for_files(texts),
        planned=target.note_scan,
    )
    return changed("MERGE", merge(target.context, table, request))


def _source(env: Environment, statement: Merge, alias: str) -> tuple[DataFrame, DataFrame]:
    """Return the rows of the source of a MERGE, and the same without the virtual columns that the statement names."""
    text = _source_with_virtual(statement, alias)
    bound = env.resolve(text)
    rows = env.rows(replace(bound, pieces=("SELECT * FROM ", *bound.pieces)))
    if text is statement.source:
        return rows, rows
    shown = [name for each in bound.relations if isinstance(each, BoundTable) for name in each.virtual]
    return rows, rows.drop(*shown) if shown else rows


def _evolved(context: Context, table: Table, source: DataFrame) -> Table:
    """Add the columns that only the source has, for MERGE WITH SCHEMA EVOLUTION, and return the table."""
    new = [NewColumn(f.name, f.type) for f in fields_of(source.schema) if table.column(f.name) is None]
    if not new:
        return table
    add_columns(context, table, [((), column) for column in new])
    return required_table(context, table.schema_name, table.name)


def _clause(target: Target, clause: MergeClause, sides: _Sides) -> When:
    table = target.table

    def bind(sql: Sql) -> str:
        return target.env.spark_text(with_columns(sql, *sides.of(clause.kind)), sides.names)

    condition = None if clause.condition is None else bind(clause.condition)
    if clause.action == "delete":
        return When(condition, "delete")
    if clause.star:
        columns = sides.source.columns
        sources = _by_position(table, clause, columns) if clause.star == "position" else _by_name(table, clause, columns)
        values = {name: f"{backquoted(sides.source.alias)}.{backquoted(source)}" for name, source in sources.items()}
        return When(condition, clause.action, values)
    values = assigned_values(target, clause.assignments, bind)
    if clause.action == "insert":
        values = {column.name: values.get(column.name) or default_sql(column) for column in table.columns}
    return When(condition, clause.action, values)


def _by_name(table: Table, clause: MergeClause, source_columns: Sequence[str]) -> dict[str, str]:
    """Return the source's column for every column of the table, matched by name."""
    source_names = {fold(name): name for name in source_columns}
    missing = [column.name for column in table.columns if fold(column.name) not in source_names]
    if missing:
        raise StatementError(
            f"{clause.action.upper()} * of {table.schema_name}.{table.name} needs every column of the table in the source, which lacks: "
            f"{', '.join(missing)}. Name the columns to set instead"
        )
    return {column.name: source_names[fold(column.name)] for column in table.columns}


def _by_position(table: Table, clause: MergeClause, source_columns: Sequence[str]) -> dict[str, str]:
    if len(source_columns) != len(table.columns):
        raise StatementError(
            f"{clause.action.upper()} by position of {table.schema_name}.{table.name} needs {len(table.columns)} columns in the source, "
            f"which has {len(source_columns)}. Name the columns to set instead"
        )
    return {column.name: source for column, source in zip(table.columns, source_columns, strict=True)}


# -- virtual columns ---------------------------------------------------------------------------------------------------------------


def _virtual_columns_of_target(statement: Merge, table: Table, alias: str, source_columns: Sequence[str]) -> tuple[str, ...]:
    """Return the virtual columns of the target. An unqualified name belongs to the source, if the source has such a column."""
    parts = list(_expressions(statement, with_inserts=False))
    own = _qualified(parts, alias)
    in_source = {fold(name) for name in source_columns} - own
    named = {name for part in parts for name in part.virtual} - in_source
    return virtual_columns((name for name in VIRTUAL_COLUMNS if name in named), table)


def _source_with_virtual(statement: Merge, alias: str) -> Sql:
    """Return the source; if it is a name, it shows the virtual columns that the statement qualifies with its alias."""
    source = statement.source
    named = _qualified(_expressions(statement), alias)
    if not named or len(source.references) != 1 or source.references[0].end - source.references[0].start != len(source.text):
        return source
    shown = tuple(name for name in VIRTUAL_COLUMNS if name in named)
    return replace(source, references=(replace(source.references[0], virtual=shown),))


def _expressions(statement: Merge, *, with_inserts: bool = True) -> Iterator[Sql]:
    """Return the conditions and the assigned values of a MERGE; without `with_inserts`, not those of rows to insert."""
    yield statement.condition
    for clause in statement.clauses:
        if with_inserts or clause.kind != "not_matched":
            yield from (text for text in (clause.condition, *(each.value for each in clause.assignments)) if text is not None)


def _qualified(parts: Iterable[Sql], alias: str) -> set[str]:
    """Return the virtual columns that are named as `alias.column`."""
    found = set()
    for part in parts:
        tokens = tokenize(part.text) if part.virtual else ()
        for one, dot, column in zip(tokens, tokens[1:], tokens[2:], strict=False):
            if dot.word == "." and one.is_identifier and column.is_identifier and fold(one.identifier) == fold(alias):
                found.add(fold(column.identifier))
    return found & set(VIRTUAL_COLUMNS)
