"""The objects of a lake as values: snapshots, schemas, tables with their columns, views, functions, macros.

Specification: the tables `ducklake_snapshot`, `ducklake_schema`, `ducklake_table`, `ducklake_column`, `ducklake_view`, `ducklake_macro`,
`ducklake_tag`, `ducklake_partition_info` and `ducklake_sort_info`.

Ids come from the catalog. An object that a transaction has created but not committed has a negative id; the commit replaces it.
Paths in these values are resolved: absolute, or relative to the working directory if the lake's `data_path` is; directories end in `/`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from .identifiers import fold

PROPERTY_TAG = "dbt_ducklake.property."
"""The prefix of a tag with a property of a table or view; the property's name follows."""


@dataclass(frozen=True)
class Snapshot:
    """One row of `ducklake_snapshot`."""

    snapshot_id: int
    time: datetime
    """The commit time, aware, in UTC."""
    schema_version: int
    next_catalog_id: int
    next_file_id: int


@dataclass(frozen=True)
class Default:
    """A column's default: the text of `default_value` and its kind, `literal` (plain text, unquoted) or `expression` (SQL)."""

    text: str
    kind: str = "literal"
    dialect: str = "duckdb"


@dataclass(frozen=True)
class Column:
    """A column of a table, or a nested field. Its id is the Parquet field id at every level and never changes."""

    column_id: int
    name: str
    type: str
    """The stored type: `int32`, `decimal(10,2)`, … or `list`, `struct`, `map` with `children`."""
    children: tuple[Column, ...] = ()
    """list: one, named `element`; map: `key` and `value`; struct: its fields; otherwise empty."""
    nullable: bool = True
    initial_default: str | None = None
    """The value in files written before the column existed; None is NULL."""
    default: Default | None = None
    comment: str | None = None

    def walk(self) -> Iterator[Column]:
        """Yield this column and all nested fields, parents before children."""
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
"""The prefix of a tag with a function; the function's name follows."""


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
        """The Spark SQL functions that are stored in this schema's tags, ordered by name."""
        found = (key for key in sorted(self.tags) if key.startswith(FUNCTION_TAG))
        return tuple(Function(self.name, key.removeprefix(FUNCTION_TAG), self.tags[key]) for key in found)

    def function(self, name: str) -> Function | None:
        """Return the function with this name, or None."""
        folded = fold(name)
        return next((function for function in self.functions if fold(function.name) == folded), None)


@dataclass(frozen=True)
class Table:
    """The definition of a table at a snapshot, or with the staged changes of a transaction."""

    table_id: int
    uuid: str
    schema_name: str
    name: str
    path: str
    columns: tuple[Column, ...]
    next_column_id: int
    """One more than the greatest id that a column of this table ever had, including dropped columns."""
    partitioning: Partitioning | None = None
    """None if unpartitioned."""
    sorting: tuple[SortField, ...] = ()
    comment: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    """Tags other than `comment`; DuckDB ignores them. Ours begin with `dbt_ducklake.`"""

    @property
    def relation_id(self) -> int:
        """The id of the table; tables and views share one sequence of ids."""
        return self.table_id

    @property
    def partition_fields(self) -> tuple[PartitionField, ...]:
        """The keys by which the table is partitioned, in order."""
        return self.partitioning.fields if self.partitioning else ()

    def column(self, name: str) -> Column | None:
        """Return the top-level column with this name, ignoring case, or None."""
        folded = fold(name)
        return next((c for c in self.columns if fold(c.name) == folded), None)


@dataclass(frozen=True)
class View:
    """A view. `sql` is the stored text, with `{DUCKLAKE_CATALOG}` as the placeholder of the lake's name."""

    view_id: int
    uuid: str
    schema_name: str
    name: str
    sql: str
    dialect: str = "duckdb"
    column_aliases: tuple[str, ...] = ()
    comment: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def relation_id(self) -> int:
        """The id of the view; tables and views share one sequence of ids."""
        return self.view_id


Relation = Table | View


@dataclass(frozen=True)
class Function:
    """A Spark SQL function. It is stored in a tag of its schema, because the format supports only DuckDB's macros.

    `definition` is the text after the name in CREATE FUNCTION, with `{DUCKLAKE_CATALOG}` as the placeholder of the lake's name.
    """

    schema_name: str
    name: str
    definition: str


@dataclass(frozen=True)
class MacroParameter:
    """A parameter of a macro: its stored type, None for any type, and its default."""

    name: str
    type: str | None = None
    default: Default | None = None


@dataclass(frozen=True)
class MacroBody:
    """One implementation of a macro: a DuckDB SQL expression over its parameters, or a query for a table macro."""

    sql: str
    parameters: tuple[MacroParameter, ...] = ()


@dataclass(frozen=True)
class Macro:
    """A DuckDB macro that is stored in the lake. A scalar and a table macro may have the same name."""

    macro_id: int
    schema_name: str
    name: str
    is_table: bool
    bodies: tuple[MacroBody, ...] = ()
