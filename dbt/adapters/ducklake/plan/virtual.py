"""Find the virtual columns of the target and of the source that a MERGE names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..format.identifiers import fold
from ..format.objects import Table
from ..sql.tokens import tokenize
from ..sql.values import VIRTUAL_COLUMNS, Merge, Sql


def virtual_columns(named: Iterable[str], table: Table) -> tuple[str, ...]:
    """Return those of the named virtual columns that no column of the table hides."""
    return tuple(name for name in named if table.column(name) is None)


def virtual_columns_of_target(statement: Merge, table: Table, alias: str, source_columns: Sequence[str]) -> tuple[str, ...]:
    """Return the virtual columns of the target. An unqualified name belongs to the source, if the source has such a column."""
    parts = list(expressions(statement, with_inserts=False))
    own = _qualified(parts, alias)
    in_source = {fold(name) for name in source_columns} - own
    named = {name for part in parts for name in part.virtual} - in_source
    return virtual_columns((name for name in VIRTUAL_COLUMNS if name in named), table)


def source_with_virtual(statement: Merge, alias: str) -> Sql:
    """Return the source; if it is a name, it shows the virtual columns that the statement qualifies with its alias."""
    source = statement.source
    named = _qualified(expressions(statement), alias)
    if not named or len(source.references) != 1 or source.references[0].end - source.references[0].start != len(source.text):
        return source
    shown = tuple(name for name in VIRTUAL_COLUMNS if name in named)
    return replace(source, references=(replace(source.references[0], virtual=shown),))


def expressions(statement: Merge, *, with_inserts: bool = True) -> Iterator[Sql]:
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
