"""Parsed INSERT, UPDATE, DELETE, MERGE and TRUNCATE statements."""

from __future__ import annotations

from dataclasses import dataclass

from ...format.identifiers import fold
from .definitions import PartitionKey
from .text import Name, Sql


@dataclass(frozen=True)
class PartitionTarget:
    """`key [= value]` in the PARTITION clause of INSERT."""

    key: PartitionKey
    value: str | None = None
    """SQL text; None if each row has its own value."""


@dataclass(frozen=True)
class Insert:
    """INSERT INTO or INSERT OVERWRITE."""

    name: Name
    query: Sql
    """The query that returns the rows: SELECT, VALUES, TABLE t or FROM …. It includes a WITH clause that was written before INSERT."""
    columns: tuple[str, ...] | None = None
    """The list of columns; None if the statement has none."""
    by_name: bool = False
    """Whether the statement has BY NAME."""
    overwrite: bool = False
    """Whether it is INSERT OVERWRITE."""
    partition: tuple[PartitionTarget, ...] = ()
    """The keys of the PARTITION clause; empty if the statement has none."""
    replace_where: Sql | None = None
    """The condition of INSERT INTO … REPLACE WHERE."""

    @property
    def static_values(self) -> dict[str, str]:
        """The SQL text of the values in PARTITION, by the folded names of their columns."""
        return {fold(target.key.column): target.value for target in self.partition if target.value is not None}


@dataclass(frozen=True)
class Assignment:
    """`column = value` in UPDATE, or a column and its value in the INSERT of MERGE."""

    column: tuple[str, ...]
    """The name of the column, and the names of the fields below it."""
    value: Sql | None
    """None for the keyword DEFAULT."""


@dataclass(frozen=True)
class Update:
    """An UPDATE statement."""

    name: Name
    alias: str | None
    assignments: tuple[Assignment, ...]
    condition: Sql | None
    """None if the statement updates all rows."""


@dataclass(frozen=True)
class Delete:
    """A DELETE statement."""

    name: Name
    alias: str | None
    condition: Sql | None
    """None if the statement deletes all rows."""


@dataclass(frozen=True)
class Truncate:
    """A TRUNCATE TABLE statement."""

    name: Name


@dataclass(frozen=True)
class MergeClause:
    """One WHEN clause of MERGE."""

    kind: str
    """One of "matched", "not_matched" and "not_matched_by_source"."""
    condition: Sql | None
    """The condition after AND; None if the clause has none."""
    action: str
    """One of "update", "insert" and "delete"."""
    star: str | None = None
    """How a clause for all columns matches the table's columns with the source's: by "name", as `UPDATE SET *` and `INSERT *` in Spark, or
    by "position". None if the clause has `assignments`."""
    assignments: tuple[Assignment, ...] = ()
    """The assignments of an update, or the columns of an insert with their values."""


@dataclass(frozen=True)
class Merge:
    """A MERGE INTO statement."""

    name: Name
    alias: str | None
    source: Sql
    """A name or a parenthesized query, without its alias."""
    source_alias: str | None
    """The user's alias, else the last part of the source's name."""
    condition: Sql
    """The condition after ON."""
    clauses: tuple[MergeClause, ...]
    schema_evolution: bool = False
    """Whether the statement has WITH SCHEMA EVOLUTION."""
