"""What INSERT, UPDATE, DELETE, MERGE and TRUNCATE ask for."""

from __future__ import annotations

from dataclasses import dataclass

from .text import Name, Sql


@dataclass(frozen=True)
class Insert:
    """INSERT INTO / OVERWRITE. `columns` None: not given. `by_name`: BY NAME. `replace_where`: INSERT INTO … REPLACE WHERE.

    `query` is the part that yields the rows: SELECT, VALUES, TABLE t, FROM …, with its WITH (also one written before INSERT).
    """

    name: Name
    query: Sql
    columns: tuple[str, ...] | None = None
    by_name: bool = False
    overwrite: bool = False
    partition: tuple[tuple[str, str | None], ...] = ()
    """PARTITION (a = literal SQL, b): static keys have their SQL text, dynamic ones None."""
    replace_where: Sql | None = None


@dataclass(frozen=True)
class Assignment:
    """`column` path = `value`; value None is the word DEFAULT."""

    column: tuple[str, ...]
    value: Sql | None


@dataclass(frozen=True)
class Update:
    name: Name
    alias: str | None
    assignments: tuple[Assignment, ...]
    condition: Sql | None


@dataclass(frozen=True)
class Delete:
    name: Name
    alias: str | None
    condition: Sql | None


@dataclass(frozen=True)
class Truncate:
    name: Name


@dataclass(frozen=True)
class MergeClause:
    """One WHEN. `kind`: "matched", "not_matched", "not_matched_by_source"; `action`: "update", "insert", "delete".

    `star`: all columns of the table, from the source's of the same "name" (`UPDATE SET *`, `INSERT *`, as in Spark) or "position".
    For insert, `assignments` pairs the columns with their values.
    """

    kind: str
    condition: Sql | None
    action: str
    star: str | None = None
    assignments: tuple[Assignment, ...] = ()


@dataclass(frozen=True)
class Merge:
    """MERGE INTO. `source` is what follows USING, without its alias, usable after FROM: a name or a parenthesised query."""

    name: Name
    alias: str | None
    source: Sql
    source_alias: str | None
    """The alias given, else the last part of the source's name."""
    condition: Sql
    clauses: tuple[MergeClause, ...]
    schema_evolution: bool = False
