"""The objects of a lake as values: snapshots, schemas, tables with their columns, views.

Specification: the tables `ducklake_snapshot`, `ducklake_schema`, `ducklake_table`, `ducklake_column`, `ducklake_view`, `ducklake_macro`,
`ducklake_tag`, `ducklake_partition_info` and `ducklake_sort_info`.

Ids come from the catalog. An object that a transaction created and has not committed has a negative id; the commit replaces it.
Paths in these values are resolved: absolute, or relative to the working directory if the lake's `data_path` is; directories end in `/`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from .identifiers import fold

PROPERTY_TAG = "dbt_ducklake.property."
"""The tag that keeps a property of a table or view; the property's name follows."""


@dataclass(frozen=True)
class Snapshot:
    """One row of `ducklake_snapshot`."""

    snapshot_id: int
    time: datetime
    """When it was committed, aware, UTC."""
    schema_version: int
    next_catalog_id: int
    next_file_id: int


@dataclass(frozen=True)
class Default:
    """A column's default: the text in `default_value` with its type, `literal` (plain text, unquoted) or `expression` (SQL)."""

    text: str
    kind: str = "literal"
    dialect: str = "duckdb"


@dataclass(frozen=True)
class Column:
    """A column of a table, or a field nested in one. Its id is the Parquet field id at every level, for ever."""

    column_id: int
    name: str
    type: str
    """The stored type: `int32`, `decimal(10,2)`, … or `list`, `struct`, `map` with `children`."""
    children: tuple[Column, ...] = ()
    """list: one, named `element`; map: `key`, `value`; struct: its fields; else empty."""
    nullable: bool = True
    initial_default: str | None = None
    """What a reader returns for files written before the column existed; None is NULL."""
    default: Default | None = None
    comment: str | None = None

    def walk(self) -> Iterator[Column]:
        """This column and everything nested in it, parents before children."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class PartitionField:
    """One key of a partition spec. `transform`: `identity`, `year`, `month`, `day`, `hour` or `bucket(n)`."""

    column_id: int
    transform: str = "identity"


@dataclass(frozen=True)
class Partitioning:
    """A live row of `ducklake_partition_info` with its keys, in order. `partition_id` is negative until committed."""

    partition_id: int
    fields: tuple[PartitionField, ...]


@dataclass(frozen=True)
class SortField:
    """One key of a sort order: SQL text over column names, direction `ASC`/`DESC`, nulls `NULLS_FIRST`/`NULLS_LAST`."""

    expression: str
    direction: str = "ASC"
    nulls: str = "NULLS_LAST"
    dialect: str = "duckdb"


FUNCTION_TAG = "dbt_ducklake.function."
"""The name of a function follows, as it was written."""


@dataclass(frozen=True)
class Schema:
    """A namespace."""

    schema_id: int
    uuid: str
    name: str
    path: str
    comment: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    """Tags other than `comment`; DuckDB ignores them. Ours begin with `dbt_ducklake.`"""

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions in Spark's SQL that this schema's tags hold, by name."""
        found = (key for key in sorted(self.tags) if key.startswith(FUNCTION_TAG))
        return tuple(Function(self.name, key.removeprefix(FUNCTION_TAG), self.tags[key]) for key in found)

    def function(self, name: str) -> Function | None:
        """The function of that name."""
        folded = fold(name)
        return next((function for function in self.functions if fold(function.name) == folded), None)


@dataclass(frozen=True)
class Table:
    """The definition of a table at a snapshot, or as a transaction has changed it."""

    table_id: int
    uuid: str
    schema_name: str
    name: str
    path: str
    columns: tuple[Column, ...]
    next_column_id: int
    """One more than the greatest id that any column of this table, dropped ones included, ever had."""
    partitioning: Partitioning | None = None
    """None: unpartitioned."""
    sorting: tuple[SortField, ...] = ()
    comment: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    """Tags other than `comment`; DuckDB ignores them. Ours begin with `dbt_ducklake.`"""

    def column(self, name: str) -> Column | None:
        """The top-level column of that name, compared without case, as DuckLake does."""
        folded = fold(name)
        return next((c for c in self.columns if fold(c.name) == folded), None)


@dataclass(frozen=True)
class View:
    """A view. `sql` is the stored text with `{DUCKLAKE_CATALOG}` where the lake's own name belongs."""

    view_id: int
    uuid: str
    schema_name: str
    name: str
    sql: str
    dialect: str = "duckdb"
    column_aliases: tuple[str, ...] = ()
    comment: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


Relation = Table | View


@dataclass(frozen=True)
class Function:
    """A function in Spark's SQL, which is kept in a tag of its schema because the format has a place for DuckDB's macros only.

    `definition` is what stands behind the name in CREATE FUNCTION, with `{DUCKLAKE_CATALOG}` where the lake's own name belongs.
    """

    schema_name: str
    name: str
    definition: str


@dataclass(frozen=True)
class MacroParameter:
    """A parameter of a macro: its stored type, None where any will do, and what stands for it where it is left out."""

    name: str
    type: str | None = None
    default: Default | None = None


@dataclass(frozen=True)
class MacroBody:
    """One implementation of a macro: an expression of DuckDB's SQL over its parameters, or a query for a table macro."""

    sql: str
    parameters: tuple[MacroParameter, ...] = ()


@dataclass(frozen=True)
class Macro:
    """A macro of DuckDB that is kept in the lake. A scalar and a table macro may share a name."""

    macro_id: int
    schema_name: str
    name: str
    is_table: bool
    bodies: tuple[MacroBody, ...] = ()
