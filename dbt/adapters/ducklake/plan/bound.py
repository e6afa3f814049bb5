"""SQL in which every name of a lake is replaced by a value. Equal values have equal rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

from ..format.files import ColumnFilter, ScanPlan
from ..format.objects import Column, Table, View
from .view import Version

_ANY_VERSION = Version(-1, -1)
"""The version of a table of which only the columns matter."""


@dataclass(frozen=True)
class TableAt:
    """A table at a snapshot, by its names."""

    lake: str
    schema: str
    name: str
    snapshot_id: int

    def __str__(self) -> str:
        return f"{self.lake}.{self.schema}.{self.name}@{self.snapshot_id}"


@dataclass(frozen=True)
class FilesRead:
    """How many files of a table a statement reads at a snapshot; the other files cannot contain a row that it needs."""

    table: TableAt
    read: int
    total: int
    size_bytes: int = 0
    """The total size of the files that are read."""

    @classmethod
    def from_plan(cls, lake: str, table: Table, snapshot_id: int, plan: ScanPlan) -> FilesRead:
        """Return the files that a scan plan reads.

        Args:
            lake: the name of the table's lake.
            table: the table.
            snapshot_id: the snapshot at which it is read.
            plan: the scan plan of the table.
        """
        read = TableAt(lake, table.schema_name, table.name, snapshot_id)
        return cls(read, len(plan.files), len(plan.files) + plan.pruned_files, sum(file.size_bytes for file in plan.files))

    def __str__(self) -> str:
        return f"{self.table}: {self.read} of {self.total} files"


@dataclass(frozen=True)
class RowsRead:
    """Rows that a statement's outcome depends on: those of a table, or of any table if `table_id` is None, that pass all filters."""

    lake: str
    table_id: int | None
    filters: tuple[ColumnFilter, ...] = ()


@dataclass(frozen=True)
class BoundTable:
    """The rows of a table with some virtual columns, without the files in which no row passes `filters`."""

    lake: str
    table_id: int
    version: Version
    filters: tuple[ColumnFilter, ...]
    virtual: tuple[str, ...]
    table: Table = field(compare=False, repr=False)
    plan: ScanPlan = field(compare=False, repr=False)
    user_name: str = field(compare=False)
    depends_on: tuple[RowsRead, ...] = field(compare=False)
    """Empty if rows of an earlier snapshot are read, which never change."""
    unneeded: frozenset[str] = frozenset()
    """The names of columns that are NULL in rows of encrypted files, because no one needs their values; see `Bound.without`."""
    columns: tuple[Column, ...] | None = None
    """The columns of the table, if only they matter; then it has no rows and no version. See `without_rows`."""

    @classmethod
    def without_rows(
        cls, lake: str, table: Table, virtual: tuple[str, ...], user_name: str, depends_on: tuple[RowsRead, ...]
    ) -> BoundTable:
        """Return a table of which only the columns matter."""
        plan = ScanPlan(f"{table.schema_name}.{table.name}", table.columns)
        return cls(lake, table.table_id, _ANY_VERSION, (), virtual, table, plan, user_name, depends_on, columns=table.columns)

    @property
    def reads(self) -> tuple[FilesRead, ...]:
        """The files that are read."""
        return (FilesRead.from_plan(self.lake, self.table, self.version.snapshot_id, self.plan),)


@dataclass(frozen=True)
class BoundQuery:
    """A view of a lake, or a temporary view: its query, and the names of its columns if it renames them."""

    body: Bound
    columns: tuple[str, ...]
    user_name: str = field(compare=False)
    view: View | None = field(default=None, compare=False, repr=False)
    """The view of the lake; None for a temporary view."""


@dataclass(frozen=True)
class BoundRows:
    """Rows that the session has computed and cached, under their name in Spark."""

    view: str
    user_name: str = field(compare=False)
    reads: tuple[FilesRead, ...] = field(default=(), compare=False)
    depends_on: tuple[RowsRead, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class BoundCall:
    """A call of one of a lake's functions in FROM, such as `lake.snapshots()`."""

    lake: str
    function: str
    arguments: tuple[tuple[str, Any], ...]
    schema: str
    version: Version
    user_name: str = field(compare=False)

    @property
    def depends_on(self) -> tuple[RowsRead, ...]:
        """All rows for the functions that list tables and files; the other functions do not depend on current rows."""
        return (RowsRead(self.lake, None),) if self.function in ("table_info", "list_files") else ()


@dataclass(frozen=True)
class BoundFunction:
    """A function of the lake that is called in an expression: its parameters and body as text."""

    body: Bound
    user_name: str


BoundRelation = BoundTable | BoundQuery | BoundRows | BoundCall | BoundFunction


@dataclass(frozen=True)
class Bound:
    """Spark's SQL in pieces: the text as written, with values in place of names."""

    pieces: tuple[str | BoundRelation, ...]
    names_spark: bool = field(default=False, compare=False)
    """Whether the text names relations that only Spark knows, such as files or temporary views of Spark."""

    def __hash__(self) -> int:
        """Return a cached hash, because views can contain one another many times."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.pieces)

    @property
    def relations(self) -> Iterator[BoundRelation]:
        """The values in the order of the text."""
        return (piece for piece in self.pieces if not isinstance(piece, str))

    @property
    def all_relations(self) -> Iterator[BoundRelation]:
        """The values in the order of the text, each followed by those in its own text."""
        for relation in self.relations:
            yield relation
            if isinstance(relation, BoundQuery | BoundFunction):
                yield from relation.body.all_relations

    @property
    def has_fixed_columns(self) -> bool:
        """Whether equal values have the same columns: neither the text nor one of its views names a relation that only Spark knows."""
        return not self.names_spark and not any(each.body.names_spark for each in self.all_relations if isinstance(each, BoundQuery))

    @property
    def reads_lake(self) -> bool:
        """Whether the text or one of its views reads a table or function of a lake."""
        return any(isinstance(each, BoundTable | BoundCall) for each in self.all_relations)

    @property
    def stored_types(self) -> frozenset[str]:
        """The DuckLake types, in lower case, of all columns, and nested fields, of the tables that the text or one of its views reads."""
        tables = [each.table for each in self.all_relations if isinstance(each, BoundTable)]
        return frozenset(field.type.lower() for table in tables for column in table.columns for field in column.walk())

    @property
    def reads(self) -> Iterator[FilesRead]:
        """The files that are read; those of a table once for each place that names it."""
        return (read for each in self.all_relations if isinstance(each, BoundTable | BoundRows) for read in each.reads)

    @property
    def depends_on(self) -> Iterator[RowsRead]:
        """The rows whose change by a concurrent writer could change the result."""
        return (rows for each in self.all_relations if isinstance(each, BoundTable | BoundRows | BoundCall) for rows in each.depends_on)

    def text(self, name_of: Callable[[BoundRelation], str]) -> str:
        """Return the text with a name, quoted for Spark, for each value."""
        return "".join(piece if isinstance(piece, str) else name_of(piece) for piece in self.pieces)

    def without(self, unneeded: Mapping[str, frozenset[str]]) -> Bound:
        """Return the text with the same values, except that some columns of tables are not read.

        Args:
            unneeded: name of a table's scan plan → the names of the columns.
        """
        return self._with_tables(lambda table: replace(table, unneeded=unneeded.get(table.plan.name, frozenset())))

    def without_rows(self) -> Bound:
        """Return the text with tables that have no rows, for its columns alone; the result is the same for all versions of the rows."""

        def empty(table: BoundTable) -> BoundTable:
            return BoundTable.without_rows(table.lake, table.table, table.virtual, table.user_name, table.depends_on)

        return self._with_tables(empty)

    def _with_tables(self, changed_table: Callable[[BoundTable], BoundTable]) -> Bound:
        @cache  # views can contain one another many times
        def changed_text(bound: Bound) -> Bound:
            return Bound(tuple(map(changed, bound.pieces)), bound.names_spark)

        def changed(piece: str | BoundRelation) -> str | BoundRelation:
            match piece:
                case BoundTable():
                    return changed_table(piece)
                case BoundQuery() | BoundFunction():
                    return replace(piece, body=changed_text(piece.body))
            return piece

        return changed_text(self)
