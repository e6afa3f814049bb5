"""What a statement of SQL asks for, as frozen values: the only form in which SQL travels past the door.

Pieces of the user's text that Spark will evaluate are `Sql`: the text as written and the positions of the names in it. Binding splices
replacements into that text; it is never regenerated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from ..spec.identifiers import backquoted
from ..spec.objects import Default
from ..spec.types import DataType


@dataclass(frozen=True)
class Name:
    """A name of one to three parts as the user wrote it, unquoted: (database,) (schema,) object."""

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True)
class TimeTravel:
    """`version` or `timestamp` (SQL text of a constant expression), never both."""

    version: int | None = None
    timestamp: str | None = None


@dataclass(frozen=True)
class Reference:
    """A place in a text where a relation is named: text[start:end] covers the name and its time-travel clause, not its alias."""

    start: int
    end: int
    name: Name
    at: TimeTravel | None = None
    aliased: bool = False
    """The user gave it an alias, or none may stand here. Otherwise the replacement must add one: the last part of the name."""
    enclosed: bool = False
    """The alias to add must stand in parentheses with the name, because TABLESAMPLE follows the name."""
    alias: str | None = None
    """The alias to add where it is not the last part of the name: the user's own, where it stands before the time travel (DuckDB's
    order, `t x AT (VERSION => 3)`; text[start:end] covers it then), or one that tells two relations of the same last part apart."""


@dataclass(frozen=True)
class Qualifier:
    """A place where a column is qualified by two or more parts (`lake.s.t.c`, `s.t.c`): text[start:end] covers the qualifier with all
    its parts but not the column; it is replaced by the quoted last part when `name` resolves to a lake relation."""

    start: int
    end: int
    name: Name
    alias: str | None = None
    """What the qualifier is replaced by, where it is not the last part of the name."""


@dataclass(frozen=True)
class Sql:
    """SQL text with the positions of the relations that it names; names of CTEs of the same text are not among them."""

    text: str
    references: tuple[Reference, ...] = ()
    qualifiers: tuple[Qualifier, ...] = ()

    def bind(self, resolve: Callable[[Reference], str | None], known: Iterable[Name] = ()) -> str:
        """The text with each reference replaced by `resolve(reference)` (SQL of a relation), with an alias added where the user gave none.

        A reference that resolves to None is left as it is, and so are its qualifiers. `known` are names bound outside this text, such
        as the target of the statement that this text is a condition of.
        """
        resolved: dict[tuple[str, ...], bool] = {tuple(part.casefold() for part in name.parts): True for name in known}
        edits: list[tuple[int, int, str]] = []
        for reference in self.references:
            replacement = resolve(reference)
            key = tuple(part.casefold() for part in reference.name.parts)
            resolved[key] = replacement is not None
            if replacement is None:
                continue
            if not reference.aliased:
                replacement += f" AS {backquoted(reference.alias or reference.name.parts[-1])}"
                if reference.enclosed:
                    replacement = f"({replacement})"
            edits.append((reference.start, reference.end, replacement))
        for qualifier in self.qualifiers:
            if resolved.get(tuple(part.casefold() for part in qualifier.name.parts)):
                edits.append((qualifier.start, qualifier.end, backquoted(qualifier.alias or qualifier.name.parts[-1])))
        text = self.text
        for start, end, replacement in sorted(edits, reverse=True):
            text = text[:start] + replacement + text[end:]
        return text


# -- definitions ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnDefinition:
    """A column as CREATE TABLE or ADD COLUMN names it."""

    name: str
    type: DataType
    nullable: bool = True
    default: Default | None = None
    comment: str | None = None


@dataclass(frozen=True)
class PartitionKey:
    """`column` or `transform(column)`; transform is `identity`, `year`, `month`, `day`, `hour` or `bucket(n)`."""

    column: str
    transform: str = "identity"


@dataclass(frozen=True)
class CreateSchema:
    name: Name
    if_not_exists: bool = False
    comment: str | None = None


@dataclass(frozen=True)
class DropSchema:
    name: Name
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class CreateTable:
    """CREATE TABLE, with columns or AS a query (with both, the columns rule and the query is matched by position)."""

    name: Name
    columns: tuple[ColumnDefinition, ...] = ()
    query: Sql | None = None
    replace: bool = False
    if_not_exists: bool = False
    comment: str | None = None
    partitioning: tuple[PartitionKey, ...] | None = None
    """None: not said (a replaced table keeps its own)."""
    properties: tuple[tuple[str, str], ...] = ()
    """TBLPROPERTIES and OPTIONS; USING/LOCATION are refused by the parser unless they say parquet or ducklake."""


@dataclass(frozen=True)
class CreateView:
    """CREATE VIEW (not temporary). `columns`: (name, comment) pairs, empty when not given."""

    name: Name
    query: Sql
    columns: tuple[tuple[str, str | None], ...] = ()
    replace: bool = False
    if_not_exists: bool = False
    comment: str | None = None


@dataclass(frozen=True)
class DropRelation:
    """`kind` is "table" or "view"."""

    kind: str
    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class DropMacro:
    name: Name
    is_table: bool = False
    if_exists: bool = False


@dataclass(frozen=True)
class RenameRelation:
    kind: str
    name: Name
    to: Name


# -- ALTER TABLE -------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AddColumns:
    """Each: (path to the parent struct, () at top level; the definition)."""

    columns: tuple[tuple[tuple[str, ...], ColumnDefinition], ...]
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropColumns:
    columns: tuple[tuple[str, ...], ...]
    if_exists: bool = False


@dataclass(frozen=True)
class RenameColumn:
    column: tuple[str, ...]
    to: str


@dataclass(frozen=True)
class SetType:
    column: tuple[str, ...]
    type: DataType


@dataclass(frozen=True)
class SetNullable:
    column: tuple[str, ...]
    nullable: bool


@dataclass(frozen=True)
class SetDefault:
    """`default` None is DROP DEFAULT."""

    column: tuple[str, ...]
    default: Default | None


@dataclass(frozen=True)
class SetComment:
    """COMMENT ON COLUMN / ALTER COLUMN … COMMENT."""

    column: tuple[str, ...]
    comment: str | None


@dataclass(frozen=True)
class SetPartitioning:
    """SET PARTITIONED BY (…); empty keys: RESET PARTITIONED BY."""

    keys: tuple[PartitionKey, ...]


Alteration = AddColumns | DropColumns | RenameColumn | SetType | SetNullable | SetDefault | SetComment | SetPartitioning


@dataclass(frozen=True)
class AlterTable:
    name: Name
    action: Alteration
    if_exists: bool = False


@dataclass(frozen=True)
class Comment:
    """COMMENT ON SCHEMA / TABLE / VIEW … IS; `kind` is "schema", "table" or "view". COMMENT ON COLUMN is AlterTable(SetComment)."""

    kind: str
    name: Name
    comment: str | None


# -- rows --------------------------------------------------------------------------------------------------------------------------


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

    `star`: UPDATE SET * / INSERT *. For insert, `assignments` pairs the columns with their values.
    """

    kind: str
    condition: Sql | None
    action: str
    star: bool = False
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


# -- session and transaction -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Begin:
    pass


@dataclass(frozen=True)
class Commit:
    pass


@dataclass(frozen=True)
class Rollback:
    pass


@dataclass(frozen=True)
class Use:
    """USE [SCHEMA|DATABASE|CATALOG] name."""

    name: Name


@dataclass(frozen=True)
class Argument:
    """An argument of CALL: its name (None: positional) and its value as a Python constant (str, int, float, bool, None, datetime, list)."""

    name: str | None
    value: str | int | float | bool | datetime | list[object] | None


@dataclass(frozen=True)
class Call:
    """CALL name(arguments)."""

    name: Name
    arguments: tuple[Argument, ...] = ()


@dataclass(frozen=True)
class Show:
    """SHOW SCHEMAS / TABLES / VIEWS / COLUMNS. `name`: IN/FROM …; `like`: a pattern of Spark (`*`, `|`)."""

    what: str
    name: Name | None = None
    like: str | None = None


@dataclass(frozen=True)
class Describe:
    """DESCRIBE [TABLE] [EXTENDED] name."""

    name: Name
    extended: bool = False
    at: TimeTravel | None = None


@dataclass(frozen=True)
class Query:
    """Rows come back: SELECT, VALUES, TABLE, FROM, EXPLAIN …"""

    query: Sql


@dataclass(frozen=True)
class PassThrough:
    """Spark's own statement (SET, CREATE TEMPORARY VIEW, CREATE FUNCTION, CACHE TABLE, …), run at once with its names bound."""

    query: Sql


Statement = (
    CreateSchema
    | DropSchema
    | CreateTable
    | CreateView
    | DropRelation
    | DropMacro
    | RenameRelation
    | AlterTable
    | Comment
    | Insert
    | Update
    | Delete
    | Truncate
    | Merge
    | Begin
    | Commit
    | Rollback
    | Use
    | Call
    | Show
    | Describe
    | Query
    | PassThrough
)
