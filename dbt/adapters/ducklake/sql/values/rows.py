"""Parsed INSERT, UPDATE, DELETE, MERGE and TRUNCATE statements."""

from __future__ import annotations

from dataclasses import dataclass

from .text import Name, Sql


@dataclass(frozen=True)
class Insert:
    """INSERT INTO / OVERWRITE. `columns` None: not given. `by_name`: BY NAME. `replace_where`: INSERT INTO … REPLACE WHERE.

    `query` returns the rows: SELECT, VALUES, TABLE t, FROM …, with its WITH clause (also one before INSERT).
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
    """UPDATE; `condition` None: all rows."""

    name: Name
    alias: str | None
    assignments: tuple[Assignment, ...]
    condition: Sql | None


@dataclass(frozen=True)
class Delete:
    """DELETE; `condition` None: all rows."""

    name: Name
    alias: str | None
    condition: Sql | None


@dataclass(frozen=True)
class Truncate:
    """TRUNCATE TABLE."""

    name: Name


@dataclass(frozen=True)
class MergeClause:
    """One WHEN clause of MERGE. `kind`: "matched", "not_matched", "not_matched_by_source"; `action`: "update", "insert", "delete".

    `star`: all columns of the table, matched with the source's columns by "name" (`UPDATE SET *`, `INSERT *`, as in Spark) or "position".
    For insert, `assignments` pairs the columns with their values.
    """

    kind: str
    condition: Sql | None
    action: str
    star: str | None = None
    assignments: tuple[Assignment, ...] = ()


@dataclass(frozen=True)
class Merge:
    """MERGE INTO. `source` is a name or a parenthesized query, without its alias."""

    name: Name
    alias: str | None
    source: Sql
    source_alias: str | None
    """The user's alias, else the last part of the source's name."""
    condition: Sql
    clauses: tuple[MergeClause, ...]
    schema_evolution: bool = False
