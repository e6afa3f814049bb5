"""PostgreSQL as a catalog database: any number of writers, but only one commits at a time.

The reference implementation uses REPEATABLE READ and detects a concurrent writer by the primary key of `ducklake_snapshot`. Our commits use
READ COMMITTED and first lock that table against other inserts: they wait for other commits, including DuckDB's, and then see them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnElement, Table, and_, case, cast, delete, func, or_, text
from sqlalchemy.dialects.postgresql import BYTEA, DOUBLE_PRECISION, INTERVAL, REAL, TIME, TIMESTAMP, UUID
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import DropTable
from sqlalchemy.types import BIGINT, BOOLEAN, INTEGER, NUMERIC, SMALLINT, VARCHAR, TypeEngine

from ....format.inlined import base_type
from ....format.inlined_cells import value_text
from ....format.leaf_types import STORED_NAMES, leaf_type
from ....format.objects import Column
from ....format.types import NESTED, decimal_parameters
from .dialect import CatalogDialect, NamedType, ReadOnlyError

BUSY_TIMEOUT_SECONDS = 10.0
"""How long a commit waits for a lock before it is retried, unless the server or the connection sets `lock_timeout`."""

_LOCK_NOT_AVAILABLE = "55P03"
_UNDEFINED_TABLE = "42P01"
_RETRYABLE = frozenset({"23505", "40001", "40P01", _LOCK_NOT_AVAILABLE, "42P06", "42P07"})
"""Unique violation, serialization failure, deadlock, lock not available; schema or table exists, if two processes create a lake."""

_NUMBER = r"^-?[0-9]{1,40}([.][0-9]{1,40})?([eE][-+]?[0-9]{1,2})?$"
"""Texts that can be cast to a double without an error, which would end the query."""

_SETTINGS = text(
    "SELECT current_setting('transaction_read_only') AS read_only, "
    "CASE current_setting('lock_timeout') WHEN '0' THEN set_config('lock_timeout', :limit, true) END"
)
"""Sets a limit to the wait for a lock, and returns whether the transaction cannot write."""


def _begin_read(connection: Connection) -> None:
    connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))


def _begin_commit(connection: Connection, schema: str | None) -> None:
    quoted = connection.dialect.identifier_preparer.quote_identifier
    table = (f"{quoted(schema)}." if schema else "") + "ducklake_snapshot"
    connection.execute(text("SET TRANSACTION ISOLATION LEVEL READ COMMITTED"))
    settings = connection.execute(_SETTINGS, {"limit": f"{int(BUSY_TIMEOUT_SECONDS * 1000)}ms"}).one()
    if settings.read_only == "on":
        raise ReadOnlyError("default_transaction_read_only is on, or the server is a standby")
    connection.exec_driver_sql(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")  # text() would take `:name` as a parameter


def _drop_table(connection: Connection, table: Table) -> None:
    """Drop a table; empty it if a transaction that has read it is open, because waiting for that would stop all commits of the lake."""
    name = connection.dialect.identifier_preparer.format_table(table)
    try:
        with connection.begin_nested():
            connection.exec_driver_sql(f"LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE NOWAIT")
            connection.execute(DropTable(table))
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
            raise
        connection.execute(delete(table))


def _is_write_conflict(error: BaseException) -> bool:
    return getattr(error, "sqlstate", None) in _RETRYABLE


def _is_stale_read(error: BaseException) -> bool:
    """Recognize a dropped inlined-data table: REPEATABLE READ still shows its registration, but DROP TABLE has an effect at once."""
    return getattr(error, "sqlstate", None) == _UNDEFINED_TABLE and "ducklake_inlined_" in str(error)


def _with_parameters(type_: TypeEngine[Any], column: Column) -> TypeEngine[Any]:
    """Return NUMERIC with the precision and scale of `decimal(p,s)`; other types are unchanged."""
    parameters = decimal_parameters(column.type)
    return NUMERIC(*parameters) if isinstance(type_, NUMERIC) and parameters is not None else type_


def _cell(value: Any, column: Column) -> Any:
    """Keep numbers, booleans and bytes; encode strings as bytes; convert others to text, which the server casts to the column's type."""
    leaf = leaf_type(base_type(column.type))
    if value is None or isinstance(value, bool | float | bytes):
        return value
    if isinstance(value, int | Decimal) and not (leaf.is_integer and leaf.postgres == "varchar"):
        return value
    text = value_text(value, column)
    if leaf.is_text:
        return text.encode()
    if "\0" in text:
        raise ValueError("PostgreSQL's strings cannot contain a NUL character")
    return text


def _parse_number(stored: ColumnElement[Any]) -> ColumnElement[Any]:
    """Convert a string to a double if it is a number, else to NULL. Most are recognized without the regular expression, which is slow."""
    is_plain = and_(func.translate(stored, "0123456789", "").in_(("", ".")), func.length(stored).between(2, 40))
    return case((or_(is_plain, stored.regexp_match(_NUMBER)), cast(stored, DOUBLE_PRECISION)))


def _ordered_text(stored: ColumnElement[Any]) -> ColumnElement[Any]:
    return func.convert_to(stored, "UTF8")


_TYPES: Mapping[str, TypeEngine[Any]] = {
    "boolean": BOOLEAN(),
    "smallint": SMALLINT(),
    "integer": INTEGER(),
    "bigint": BIGINT(),
    "real": REAL(),
    "double precision": DOUBLE_PRECISION(),
    "numeric": NUMERIC(),
    "time": TIME(),
    "time with time zone": TIME(timezone=True),
    "interval": INTERVAL(),
    "varchar": VARCHAR(),
    "bytea": BYTEA(),
    "uuid": UUID(as_uuid=False),
}
"""PostgreSQL's name of a type → SQLAlchemy's type, which converts values. Values of other types are sent and read as text."""

_IN_PAGE = MappingProxyType({"varchar": 24, "bytea": 24, "numeric": 24, "uuid": 16, "interval": 16, "time with time zone": 16})
"""PostgreSQL's name of a type → how many bytes of a value are always in the row's page; others have up to 8. TOAST moves no value of up to
24 bytes out of it."""

_SYSTEM_COLUMNS = frozenset({"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"})

_CHANGED_BY_DRIVER = ("time", "time with time zone", "interval", "uuid")
_INLINED = {name: leaf.postgres for name, leaf in STORED_NAMES.items() if leaf.postgres is not None} | dict.fromkeys(NESTED, "varchar")


def _column_bytes(column: Column) -> int:
    return _IN_PAGE.get(_INLINED[base_type(column.type)], 8)


def _storable_names(names: Sequence[str]) -> bool:
    """Refuse the system columns, also in upper case: DuckDB does not quote them, so PostgreSQL folds them."""
    return _SYSTEM_COLUMNS.isdisjoint(name.lower() for name in names)


POSTGRES = CatalogDialect(
    name="postgresql",
    folds_case=True,
    default_schema="public",
    uuid_type=UUID(as_uuid=False),
    timestamp_type=TIMESTAMP(timezone=True),
    engine_options=MappingProxyType({"pool_pre_ping": True, "pool_size": 16, "max_overflow": 32}),
    begin_read=_begin_read,
    begin_commit=_begin_commit,
    drop_table=_drop_table,
    is_write_conflict=_is_write_conflict,
    is_stale_read=_is_stale_read,
    inlined_type=_with_parameters,
    inlined_cell=_cell,
    inlined_types=MappingProxyType({name: _TYPES.get(type_) or NamedType(type_) for name, type_ in _INLINED.items()}),
    read_as_text=frozenset(name for name, type_ in _INLINED.items() if type_ in _CHANGED_BY_DRIVER or type_ not in _TYPES),
    parse_number=_parse_number,
    ordered_text=_ordered_text,
    max_identifier_bytes=63,
    storable_names=_storable_names,
    max_inlined_columns=1597,  # a table has up to 1600, and an inlined-data table has 3 columns of its own
    # A row has 8160 bytes, of which up to 250 are the header with its null bitmap and the 3 columns of an inlined-data table.
    max_inlined_row_bytes=7900,
    inlined_column_bytes=_column_bytes,
    clock=func.clock_timestamp(),
    extra="postgres",
)
