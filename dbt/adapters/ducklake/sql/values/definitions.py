"""Parsed CREATE, DROP, ALTER and COMMENT ON statements."""

from __future__ import annotations

from dataclasses import dataclass

from ...format.constraints import Constraint
from ...format.objects import Default
from ...format.types import DataType
from .text import Name, Sql


@dataclass(frozen=True)
class ColumnDefinition:
    """A column of CREATE TABLE or ADD COLUMN."""

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

    def __str__(self) -> str:
        if self.transform == "identity":
            return self.column
        word, _, number = self.transform.rstrip(")").partition("(")
        return f"{word}({number}, {self.column})" if number else f"{word}({self.column})"


@dataclass(frozen=True)
class SortKey:
    """`expression [ASC | DESC] [NULLS FIRST | NULLS LAST]`; the expression is what the user wrote, the rest has the catalog's form."""

    expression: str
    direction: str = "ASC"
    nulls: str = "NULLS_LAST"


@dataclass(frozen=True)
class CreateSchema:
    """CREATE SCHEMA."""

    name: Name
    if_not_exists: bool = False
    comment: str | None = None


@dataclass(frozen=True)
class DropSchema:
    """DROP SCHEMA."""

    name: Name
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class CreateTable:
    """CREATE TABLE, with columns or AS a query (with both, the columns define the table and the query is matched by position)."""

    name: Name
    columns: tuple[ColumnDefinition, ...] = ()
    query: Sql | None = None
    replace: bool = False
    if_not_exists: bool = False
    comment: str | None = None
    partitioning: tuple[PartitionKey, ...] | None = None
    """None: the statement has no such clause (a replaced table keeps its own)."""
    properties: tuple[tuple[str, str], ...] = ()
    """TBLPROPERTIES and OPTIONS. The parser refuses LOCATION, and USING other than parquet or ducklake."""
    sorting: tuple[SortKey, ...] | None = None
    """None: the statement has no such clause (a replaced table keeps its own)."""
    constraints: tuple[Constraint, ...] = ()
    """Constraints other than NOT NULL; a replaced table has these and no others."""


@dataclass(frozen=True)
class CreateView:
    """CREATE VIEW (not temporary), or ALTER VIEW … AS. `columns`: (name, comment) pairs, empty when not given."""

    name: Name
    query: Sql
    columns: tuple[tuple[str, str | None], ...] = ()
    replace: bool = False
    if_not_exists: bool = False
    comment: str | None = None
    must_exist: bool = False
    """ALTER VIEW: there is a view to replace."""


@dataclass(frozen=True)
class CreateTemporaryView:
    """CREATE TEMPORARY VIEW of a query. `columns`: new names of its columns, empty when not given."""

    name: Name
    query: Sql
    columns: tuple[str, ...] = ()
    replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropRelation:
    """DROP TABLE or DROP VIEW; `kind` is "table" or "view"."""

    kind: str
    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class CreateFunction:
    """CREATE FUNCTION; `definition` is the text after the name: `(x INT) RETURNS INT RETURN x + 1`."""

    name: Name
    definition: Sql
    replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropFunction:
    """DROP FUNCTION."""

    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class DropMacro:
    """DROP MACRO or DROP MACRO TABLE."""

    name: Name
    is_table: bool = False
    if_exists: bool = False


@dataclass(frozen=True)
class RenameRelation:
    """RENAME TO; `kind` is "table" or "view"."""

    kind: str
    name: Name
    to: Name


@dataclass(frozen=True)
class AddColumns:
    """ADD COLUMNS; each column is (path to the parent struct, () at top level; the definition)."""

    columns: tuple[tuple[tuple[str, ...], ColumnDefinition], ...]
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropColumns:
    """DROP COLUMNS; each column is a path."""

    columns: tuple[tuple[str, ...], ...]
    if_exists: bool = False


@dataclass(frozen=True)
class RenameColumn:
    """RENAME COLUMN; `column` is a path, `to` the new last part."""

    column: tuple[str, ...]
    to: str


@dataclass(frozen=True)
class SetType:
    """ALTER COLUMN … TYPE."""

    column: tuple[str, ...]
    type: DataType


@dataclass(frozen=True)
class SetNullable:
    """ALTER COLUMN … SET or DROP NOT NULL."""

    column: tuple[str, ...]
    nullable: bool


@dataclass(frozen=True)
class SetDefault:
    """ALTER COLUMN … SET DEFAULT; `default` None is DROP DEFAULT."""

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


@dataclass(frozen=True)
class SetSorting:
    """SET SORTED BY (…); no keys: RESET SORTED BY."""

    keys: tuple[SortKey, ...]


Alteration = AddColumns | DropColumns | RenameColumn | SetType | SetNullable | SetDefault | SetComment | SetPartitioning | SetSorting


@dataclass(frozen=True)
class AlterTable:
    """ALTER TABLE with one action."""

    name: Name
    action: Alteration
    if_exists: bool = False


@dataclass(frozen=True)
class Comment:
    """COMMENT ON SCHEMA / TABLE / VIEW … IS; `kind` is "schema", "table" or "view". COMMENT ON COLUMN is AlterTable(SetComment)."""

    kind: str
    name: Name
    comment: str | None


@dataclass(frozen=True)
class SetProperties:
    """ALTER TABLE / VIEW … SET and UNSET TBLPROPERTIES; `kind` is "table" or "view"."""

    kind: str
    name: Name
    properties: tuple[tuple[str, str | None], ...]
    """(name, value) pairs; None: the property is removed."""
    if_exists: bool = False
