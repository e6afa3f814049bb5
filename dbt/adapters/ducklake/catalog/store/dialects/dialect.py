"""The differences between catalog databases: each difference is an attribute.

Do not write `if dialect ==` elsewhere: add an attribute to this class and its value to each dialect's module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timezone
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnElement, Table
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.schema import CreateTable, DropTable
from sqlalchemy.types import BOOLEAN, VARCHAR, TypeEngine, UserDefinedType

from ....format.inlined_cells import text_cell
from ....format.leaf_types import STORED_NAMES, Cell
from ....format.objects import Column
from ....format.types import NESTED


def inlined_types_for(numbers: TypeEngine[Any], strings: TypeEngine[Any], blobs: TypeEngine[Any]) -> Mapping[str, TypeEngine[Any]]:
    """Return `inlined_types` for a database that stores only numbers, strings and blobs; nested values are strings."""
    types = {Cell.NUMBER: numbers, Cell.TEXT: strings, Cell.BLOB: blobs}
    leaves = {name: types[leaf.cell] for name, leaf in STORED_NAMES.items() if leaf.cell is not None}
    return MappingProxyType(leaves | dict.fromkeys(NESTED, strings))


class NamedType(UserDefinedType[Any]):
    """A column type that SQLAlchemy does not have, by its name in the database."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        """Return the type's name for CREATE TABLE."""
        return self.name


class BusyError(Exception):
    """Other writers hold a lock for too long; a retry may succeed."""


class ReadOnlyError(Exception):
    """The transaction cannot write, as its connection was opened while the database was read-only, or the database still is."""


def create_table(connection: Connection, table: Table) -> None:
    """Create a table in the transaction."""
    connection.execute(CreateTable(table))


def drop_table(connection: Connection, table: Table) -> None:
    """Drop a table in the transaction."""
    connection.execute(DropTable(table))


def unchanged(value: Any, *_: Any) -> Any:
    """Return a value, an expression or a type as it is."""
    return value


def in_utc(value: datetime) -> datetime:
    """Convert a timestamp to UTC; one without a zone is taken to be in UTC."""
    return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)


def nothing(*_: Any) -> None:
    """Do nothing."""


def never(_error: BaseException) -> bool:
    """Return false for every error."""
    return False


def any_names(_names: Sequence[str]) -> bool:
    """Accept all names, because the database does."""
    return True


def no_bytes(_column: Column) -> int:
    """Count nothing, because the size of a row is not limited."""
    return 0


def no_lock(_connection: Connection) -> AbstractContextManager[None]:
    """Take no lock, because the database's own locks are enough."""
    return nullcontext()


@dataclass(frozen=True)
class CatalogDialect:
    """The properties of a kind of catalog database."""

    name: str
    """SQLAlchemy's name of the dialect."""

    default_schema: str | None
    """The default schema of the metadata tables."""

    uuid_type: TypeEngine[Any]
    timestamp_type: TypeEngine[Any]
    """The declared types of the reference implementation; ours must be the same, because DuckDB checks values against them. So must
    `boolean_type`."""

    engine_options: Mapping[str, Any]
    """Keyword arguments of `create_engine`."""

    is_write_conflict: Callable[[BaseException], bool]
    """Whether a driver's error means that a concurrent writer committed first, so that a retry may succeed."""

    inlined_types: Mapping[str, TypeEngine[Any]]
    """DuckLake type without parameters → column type in inlined-data tables."""

    is_stale_read: Callable[[BaseException], bool] = never
    """Whether a driver's error means that an inlined-data table was dropped while a reading transaction was open, so that a new transaction
    may succeed. Not needed if a transaction sees the tables of the state that it reads."""

    read_by_duckdb: bool = True
    """Whether DuckDB can use the catalog too."""

    inlined_type: Callable[[TypeEngine[Any], Column], TypeEngine[Any]] = unchanged
    """Adds the parameters of the column's type to one of `inlined_types`, if the database supports them."""

    boolean_type: TypeEngine[Any] = field(default_factory=BOOLEAN)
    write_boolean: Callable[[bool], Any] = bool
    """Converts a boolean to the query parameter for a column of `boolean_type`."""
    write_timestamp: Callable[[datetime], Any] = unchanged
    """Converts a timestamp with a time zone to the query parameter for a column of `timestamp_type`."""
    read_timestamp: Callable[[Any], datetime] = in_utc
    """Converts a stored timestamp to one in UTC."""

    comparable_timestamp: Callable[[ColumnElement[Any]], ColumnElement[Any]] = unchanged
    """Converts a stored timestamp to an expression that compares by time."""

    prepare_engine: Callable[[Engine, bool], None] = nothing
    """Prepares the engine's connections, if its options are not enough; the flag is true if the engine only reads."""

    begin_read: Callable[[Connection], None] = nothing
    """Begins a reading transaction whose queries all see one state of the catalog. Not needed if every transaction does so."""

    begin_commit: Callable[[Connection, str | None], None] = nothing
    """Begins a writing transaction: waits for other writers, then sees everything that they committed; not necessary if `write_lock` or
    `prepare_engine` does it. The second argument is the schema of the metadata tables, if any.

    Raises:
        ReadOnlyError: the transaction cannot write.
    """

    text_type: TypeEngine[Any] = field(default_factory=VARCHAR)
    """The type of a string of any length."""

    write_lock: Callable[[Connection], AbstractContextManager[None]] = no_lock
    """Takes a lock around a writing transaction, for databases where a lock inside the transaction is not enough.

    Raises:
        BusyError: another writer held the lock for too long.
    """

    create_table: Callable[[Connection, Table], None] = create_table
    """Creates a table that is not yet part of the lake, in a writing transaction. If the transaction fails, the empty table may remain."""

    drop_table: Callable[[Connection, Table], None] = drop_table
    """Drops a table that is no longer part of the lake, or empties it if the database cannot drop it now in a transaction."""

    indexes: bool = True
    """Whether a new lake gets our indexes."""

    rolls_back_tables: bool = True
    """Whether the rollback of a transaction removes the tables that it created."""

    clock: ColumnElement[Any] | None = None
    """The current time on the server's clock, in UTC if it has no zone. None if the database runs in this process."""

    extra: str | None = None
    """The extra of dbt-ducklake that installs the driver."""

    inlined_cell: Callable[[Any, Column], Any] = text_cell
    """Converts a value of a column (see `files.InlinedRows`) to a query parameter; raises ValueError if it cannot be stored."""

    read_as_text: frozenset[str] = field(default_factory=frozenset)
    """DuckLake types whose inlined values the driver would change; queries cast them to text."""

    sql_structs: bool = True
    """Whether DuckDB stores the structs of inlined rows as SQL text; otherwise they have a type of the database."""

    readable_inlined: Callable[[ColumnElement[Any], Column], ColumnElement[Any]] = unchanged
    """Converts an inlined column to an expression that the driver can read, before the cast of `read_as_text`."""

    parse_number: Callable[[ColumnElement[Any]], ColumnElement[Any]] | None = None
    """Converts a string to a double, and a string that is not a finite number to NULL. None if scans are not planned in SQL."""

    ordered_text: Callable[[ColumnElement[Any]], ColumnElement[Any]] = unchanged
    """Converts a string to an expression that is compared byte by byte in UTF-8, if the database compares strings in another way."""

    max_identifier_bytes: int | None = None
    """The maximum length of a column name in an inlined-data table, in bytes."""

    storable_names: Callable[[Sequence[str]], bool] = any_names
    """Whether an inlined-data table can have columns with these names, beside its own. Some databases reserve names, or compare them in
    another way than DuckLake."""

    max_inlined_columns: int | None = None
    """The maximum number of a table's columns in an inlined-data table; None if there is no limit, or another limit is reached first."""

    max_inlined_row_bytes: int | None = None
    """The maximum of the sum of `inlined_column_bytes`, if the database limits the part of a row that is in one page. DuckDB does not know
    it: PostgreSQL creates a table with more, and only rows that are too large are errors."""

    inlined_column_bytes: Callable[[Column], int] = no_bytes
    """The largest number of bytes of a column's values that cannot be stored outside a row's page."""

    max_inlined_bytes: int | None = None
    """The maximum size of the strings and blobs in one row, in bytes; None if no usual value is too large."""

    folds_case: bool = False
    """Whether unquoted names in statements lose their case. DuckDB quotes only the column names that need quotes in DuckDB."""
