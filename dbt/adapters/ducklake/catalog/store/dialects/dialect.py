"""What differs between catalog databases: each difference is a named attribute with its reason.

An `if dialect ==` anywhere else is a mistake: add an attribute here and a value in each file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Table
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.schema import CreateTable, DropTable
from sqlalchemy.types import VARCHAR, TypeEngine

from ....format.inlined_cells import text_cell
from ....format.objects import Column


class BusyError(Exception):
    """Other writers keep a lock for too long; trying again makes sense."""


def create_table(connection: Connection, table: Table) -> None:
    """Create a table as a part of the transaction."""
    connection.execute(CreateTable(table))


def drop_table(connection: Connection, table: Table) -> None:
    """Drop a table as a part of the transaction."""
    connection.execute(DropTable(table))


def as_it_is(cell: ColumnElement[Any], _column: Column) -> ColumnElement[Any]:
    """The column itself."""
    return cell


def no_turn(_connection: Connection) -> AbstractContextManager[None]:
    """The database's own locks are enough."""
    return nullcontext()


@dataclass(frozen=True)
class CatalogDialect:
    """What differs between catalog databases."""

    name: str
    """SQLAlchemy's name of the dialect."""

    default_schema: str | None
    """The schema of the metadata tables when none was asked for."""

    uuid_type: TypeEngine[Any]
    boolean_type: TypeEngine[Any]
    timestamp_type: TypeEngine[Any]
    """How the reference declares these three; DuckDB checks values against the declared type, so they must be the same."""

    write_boolean: Callable[[bool], Any]
    write_timestamp: Callable[[Any], Any]
    read_timestamp: Callable[[Any], Any]

    comparable_timestamp: Callable[[ColumnElement[Any]], ColumnElement[Any]]
    """A stored timestamp so that it compares by time."""

    engine_options: Mapping[str, Any]
    """Keyword arguments of `create_engine`."""

    prepare_engine: Callable[[Engine, bool], None]
    """Install what every connection needs; the flag says that nothing will be written."""

    begin_read: Callable[[Connection], None]
    """First statement of a transaction that only reads: all its queries see one state of the catalog."""

    begin_commit: Callable[[Connection, str | None], None]
    """First statement of a transaction that writes: wait for the other writers, then see everything they committed.
    The text is the schema of the metadata tables."""

    is_write_conflict: Callable[[BaseException], bool]
    """Whether a driver's error means that another writer was faster, so that trying again makes sense."""

    inlined_types: Mapping[str, TypeEngine[Any]]
    """Column types of inlined-data tables by DuckLake type (without parameters)."""

    inlined_type: Callable[[TypeEngine[Any], Column], TypeEngine[Any]]
    """One of `inlined_types` with the parameters of the column's type, where the database keeps them."""

    text_type: TypeEngine[Any] = field(default_factory=VARCHAR)
    """A text of any length."""

    writers_turn: Callable[[Connection], AbstractContextManager[None]] = no_turn
    """Held around a whole transaction that writes, where a lock inside it would not be enough.

    Raises:
        BusyError: the turn did not come.
    """

    create_table: Callable[[Connection, Table], None] = create_table
    """Create a table that certainly does not belong to the lake yet, in a transaction that writes. An attempt that fails later may leave
    it behind, empty."""

    drop_table: Callable[[Connection, Table], None] = drop_table
    """Drop a table that nothing in the lake names any more, or empty it where that is all a transaction can do."""

    indexes: bool = True
    """Whether a new lake gets indexes of ours."""

    package: str | None = None
    """The extra of dbt-ducklake that brings the driver."""

    inlined_cell: Callable[[Any, Column], Any] = text_cell
    """A value of a column (see `files.InlinedRows`) as the parameter that stores it; raises ValueError if it cannot be stored."""

    read_as_text: frozenset[str] = field(default_factory=frozenset)
    """DuckLake types whose inlined values the driver would change; they are cast to text in the query."""

    inlined_readable: Callable[[ColumnElement[Any], Column], ColumnElement[Any]] = as_it_is
    """An inlined column, before that cast, as an expression whose values the driver can give."""

    largest_identifier: int | None = None
    """Longest column name in bytes that an inlined-data table can have."""

    folds_case: bool = False
    """Names in statements that do not quote them lose their case, as DuckDB's names of columns do that need no quotes there."""

    batch_size: int = 500
    """Ids in one IN list, below every driver's limit of parameters."""
