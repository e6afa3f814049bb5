"""Read the inlined-data and inlined-delete tables of a table: their names, layouts and visible rows.

Specification: the page "Data Inlining". The layout of an inlined-data table is the columns at the first snapshot of its schema version.
Deleted positions of files are in `ducklake_inlined_delete_<table id>`, which is not registered. `commit/inlined.py` and `commit/flush.py`
write these tables.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sqlalchemy import MetaData, Table, cast, column, func, inspect, or_, select, text
from sqlalchemy import table as table_clause
from sqlalchemy.engine import Connection, Row
from sqlalchemy.sql.elements import ColumnClause, ColumnElement, quoted_name
from sqlalchemy.sql.expression import TableClause
from sqlalchemy.types import VARCHAR

from ...errors import LakeError
from ...format.files import InlinedRows, InlinedVersions
from ...format.inlined import base_type, decode
from ...format.objects import Column
from . import tables as t
from .database import batches
from .dialects import CatalogDialect, dialect_of
from .row_rules import checked, damaged_row, rule_violations


@dataclass(frozen=True)
class InlinedTable:
    """An inlined-data table: its name, and the columns of its schema version."""

    name: str
    columns: tuple[Column, ...]


_VISIBLE = "begin_snapshot <= {snapshot} AND (end_snapshot IS NULL OR end_snapshot > {snapshot})"
"""The condition of `tables.visible`, for `_of_each`."""

MAX_DROPPED_TABLES = 200
"""About how many inlined-data or inlined-delete tables one transaction drops at most. PostgreSQL limits the locks of all transactions, and
each drop takes several."""

_NUMBERS = "must have whole numbers of 0 or more"


def data_table_name(table_id: int, schema_version: int) -> str:
    """Return the name of an inlined-data table."""
    return f"ducklake_inlined_data_{table_id}_{schema_version}"


def delete_table_name(table_id: int) -> str:
    """Return the name of the inlined-delete table of a table."""
    return f"ducklake_inlined_delete_{table_id}"


def data_table(connection: Connection, name: str, columns: Iterable[str] = ()) -> TableClause:
    """Return an inlined-data table as an SQL clause, without columns that the caller does not need."""
    names = ["row_id", "begin_snapshot", "end_snapshot", *columns]
    return table_clause(quoted_name(name, True), *(column(quoted_name(each, True)) for each in names), schema=t.schema_of(connection))


def read_inlined(connection: Connection, inlined: Sequence[InlinedTable], snapshot_id: int) -> list[InlinedRows]:
    """Return the visible rows of each inlined-data table that has any."""
    full = with_rows(connection, [each.name for each in inlined], snapshot_id)  # most are empty, and `_read` takes longer
    found = []
    for each in inlined:
        if each.name not in full:
            continue
        rows = _read(connection, each, lambda source: t.visible(source, snapshot_id))
        if rows:
            ids, begins = (tuple(row[index] for row in rows) for index in range(2))
            found.append(InlinedRows(each.name, each.columns, ids, begins, tuple(row[3:] for row in rows)))
    return found


def count_versions(connection: Connection, name: str, snapshot_id: int) -> int:
    """Return how many versions of rows an inlined-data table has that began up to a snapshot."""
    source = data_table(connection, name)
    return int(connection.scalar(select(func.count()).select_from(source).where(source.c.begin_snapshot <= snapshot_id)) or 0)


def read_versions(connection: Connection, inlined: InlinedTable, snapshot_id: int, oldest: int) -> InlinedVersions:
    """Return the versions of rows that began up to a snapshot and did not end before another one."""

    def is_wanted(source: TableClause) -> ColumnElement[bool]:
        return (source.c.begin_snapshot <= snapshot_id) & or_(source.c.end_snapshot.is_(None), source.c.end_snapshot >= oldest)

    rows = _read(connection, inlined, is_wanted)
    ids, begins, ends = (tuple(row[index] for row in rows) for index in range(3))
    return InlinedVersions(inlined.name, inlined.columns, ids, begins, ends, tuple(row[3:] for row in rows))


def read_changed(connection: Connection, inlined: InlinedTable, since: int) -> list[tuple[int, tuple[Any, ...]]]:
    """Return (begin, values) of the rows that began or ended after a snapshot."""
    rows = _read(connection, inlined, lambda source: or_(source.c.begin_snapshot > since, source.c.end_snapshot > since))
    return [(row[1], row[3:]) for row in rows]


def _read(connection: Connection, inlined: InlinedTable, condition: Callable[[TableClause], Any]) -> list[tuple[Any, ...]]:
    """Return (row id, begin, end, decoded values …) of the rows that match a condition, ordered by row id and begin.

    Raises:
        LakeError: a row is damaged.
    """
    dialect = dialect_of(connection)
    source = data_table(connection, inlined.name, stored_names(connection, inlined))
    fixed, cells = list(source.c)[:3], list(source.c)[3:]
    readable = [_readable(dialect, cell, each) for each, cell in zip(inlined.columns, cells, strict=True)]
    query = select(*fixed, *readable).where(condition(source)).order_by(source.c.row_id, source.c.begin_snapshot)
    return [_decoded(dialect, inlined, row) for row in connection.execute(query)]


def _decoded(dialect: CatalogDialect, inlined: InlinedTable, row: Any) -> tuple[Any, ...]:
    row_id, begin, end = row[:3]
    if not (_is_number(row_id) and _is_number(begin) and (end is None or _is_number(end))):
        raise damaged_row(inlined.name, f"row_id={row_id}, begin_snapshot={begin}, end_snapshot={end}", _NUMBERS)
    try:
        cells = (decode(cell, each, sql_structs=dialect.sql_structs) for cell, each in zip(row[3:], inlined.columns, strict=True))
        return (row_id, begin, end, *cells)
    except LakeError as error:
        raise LakeError(f"{inlined.name} (row_id={row_id}): {error}") from error


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and value >= 0


def _readable(dialect: CatalogDialect, cell: ColumnElement[Any], column: Column) -> ColumnElement[Any]:
    readable = dialect.readable_inlined(cell, column)
    return cast(readable, VARCHAR()) if base_type(column.type) in dialect.read_as_text else readable


def stored_names(connection: Connection, inlined: InlinedTable) -> list[str]:
    """Return the database's names of an inlined-data table's columns, in order; some databases store some names in lower case."""
    names = [each.name for each in inlined.columns]
    if not dialect_of(connection).folds_case or all(each == each.lower() for each in names):
        return names
    return list(connection.execute(select(text("*")).select_from(data_table(connection, inlined.name)).limit(0)).keys())[3:]


def with_rows(connection: Connection, names: Sequence[str], snapshot_id: int) -> set[str]:
    """Return the names of the inlined-data tables that have a visible row."""
    query = f"EXISTS (SELECT 1 FROM {{0}} WHERE {_VISIBLE})"
    return {name for name, (found,) in _of_each(connection, names, snapshot_id, query) if found}


def count_rows(connection: Connection, names: Sequence[str], snapshot_id: int) -> dict[str, tuple[int, int, int | None]]:
    """Return inlined-data table → (visible rows, rows with ended ones, greatest snapshot up to this one that began or ended a row)."""
    query = (
        f"(SELECT count(*) FROM {{0}} WHERE {_VISIBLE}), (SELECT count(*) FROM {{0}} WHERE begin_snapshot <= {{snapshot}}), "
        "(SELECT max(begin_snapshot) FROM {0} WHERE begin_snapshot <= {snapshot}), "
        "(SELECT max(end_snapshot) FROM {0} WHERE end_snapshot <= {snapshot})"
    )
    return {
        name: (rows, versions, max((each for each in (begin, end) if each is not None), default=None))
        for name, (rows, versions, begin, end) in _of_each(connection, names, snapshot_id, query)
    }


def _of_each(connection: Connection, names: Sequence[str], snapshot_id: int, values: str) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield each inlined-data table with values of it, by one query for 100 tables.

    The query is text: SQLAlchemy would keep a compiled query for each set of tables, which grows with every change of a schema.

    Args:
        connection: the catalog database.
        names: the tables.
        snapshot_id: the snapshot.
        values: SQL, in which `{0}` is the table and `{snapshot}` is the snapshot.
    """
    quote = connection.dialect.identifier_preparer.quote_identifier
    schema = t.schema_of(connection)
    for batch in batches(names, 100):
        tables = [".".join(quote(each) for each in (schema, name) if each is not None) for name in batch]
        parts = [f"SELECT {number}, {values.format(table, snapshot=int(snapshot_id))}" for number, table in enumerate(tables)]
        for row in connection.exec_driver_sql(" UNION ALL ".join(parts)):
            yield batch[row[0]], row[1:]


def registered(connection: Connection, table_id: int) -> list[tuple[str, int]]:
    """Return (name, schema version) of the inlined-data tables of a table, ordered by schema version.

    Raises:
        LakeError: a row is damaged.
    """
    source = t.inlined_data_tables
    query = select(source).where(source.c.table_id == table_id).distinct().order_by(source.c.schema_version)
    return [(row.table_name, row.schema_version) for row in checked(source, connection.execute(query).all())]


def all_registered(connection: Connection) -> tuple[dict[str, int], set[int]]:
    """Return the name of each inlined-data table of the lake → the id of its table, and the ids of the tables with damaged rows."""
    rows = connection.execute(select(t.inlined_data_tables)).all()
    damaged = {rows[index].table_id for index in rule_violations(t.inlined_data_tables, rows)}
    return {row.table_name: row.table_id for row in rows if row.table_id not in damaged}, damaged


def emptied(connection: Connection, at_most: int) -> list[Row[Any]]:
    """Return catalog rows of inlined-data tables that have no rows and are not the newest of their table, without damaged catalog rows.

    Args:
        connection: a reading or writing transaction.
        at_most: how many inlined-data tables are examined, which takes a lock for each on PostgreSQL. If there are more, they are chosen
            at random, because those with rows must not keep the others from being found.
    """
    source = t.inlined_data_tables
    rows = connection.execute(select(source).distinct().order_by(source.c.table_id, source.c.schema_version)).all()
    damaged = set(rule_violations(source, rows))
    valid = [row for index, row in enumerate(rows) if index not in damaged]
    superseded = {row.table_name: row for row, later in pairwise(valid) if row.table_id == later.table_id}
    if not superseded:
        return []
    existing = superseded.keys() & set(inspect(connection).get_table_names(schema=t.schema_of(connection)))
    examined = random.sample(sorted(existing), min(len(existing), at_most))
    found = _of_each(connection, examined, 0, "EXISTS (SELECT 1 FROM {0})")
    return [superseded[name] for name, (has_rows,) in found if not has_rows]


def drop_table(connection: Connection, name: str) -> None:
    """Drop an inlined-data or inlined-delete table."""
    dialect_of(connection).drop_table(connection, Table(quoted_name(name, True), MetaData(), schema=t.schema_of(connection)))


def delete_table(connection: Connection, table_id: int) -> TableClause:
    """Return the inlined-delete table of a table, which must exist, as an SQL clause."""
    return table_clause(
        quoted_name(delete_table_name(table_id), True),
        *(ColumnClause[int](name) for name in ("file_id", "row_id", "begin_snapshot")),
        schema=t.schema_of(connection),
    )


def find_delete_table(connection: Connection, table_id: int) -> TableClause | None:
    """Return the inlined-delete table of a table as an SQL clause; None if it does not exist."""
    exists = inspect(connection).has_table(delete_table_name(table_id), schema=t.schema_of(connection))
    return delete_table(connection, table_id) if exists else None


def read_deletes(connection: Connection, table_id: int, snapshot_id: int) -> dict[int, list[int]]:
    """Return a mapping from data file id to its positions in the inlined-delete table, ascending.

    Raises:
        LakeError: a row is damaged.
    """
    source = find_delete_table(connection, table_id)
    if source is None:
        return {}
    query = (
        select(source.c.file_id, source.c.row_id)
        .where(source.c.begin_snapshot <= snapshot_id)
        .order_by(source.c.file_id, source.c.row_id)
        .distinct()
    )
    found: dict[int, list[int]] = {}
    rows: list[Any] = list(connection.execute(query))
    for file_id, position in rows:
        if not (_is_number(file_id) and _is_number(position)):
            raise damaged_row(delete_table_name(table_id), f"file_id={file_id}, row_id={position}", _NUMBERS)
        found.setdefault(file_id, []).append(position)
    return found


def count_deletes(connection: Connection, table_id: int, snapshot_id: int) -> tuple[int, int, int | None]:
    """Return (number of inlined deletes of visible files, number of those of all files, greatest snapshot of one of a visible file)."""
    source = delete_table(connection, table_id)
    alive = select(t.data_file.c.data_file_id).where(t.data_file.c.table_id == table_id, t.visible(t.data_file, snapshot_id))
    until: Any = select(func.count(), func.max(source.c.begin_snapshot)).where(source.c.begin_snapshot <= snapshot_id)
    every = connection.execute(until.where(source.c.file_id.in_(select(t.data_file.c.data_file_id)))).one()
    visible = connection.execute(until.where(source.c.file_id.in_(alive))).one()
    return visible[0], every[0], visible[1]
