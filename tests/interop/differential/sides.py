"""The sides of a run: DuckDB's extension and our session on one lake, and plain DuckDB tables as a third opinion."""

from __future__ import annotations

import uuid
from typing import Any, Protocol

import duckdb

from dbt.adapters.ducklake.errors import DuckLakeError
from dbt.adapters.ducklake.session import LakeSession
from dbt.adapters.ducklake.spark.rows import fetch
from dbt.adapters.ducklake.spark.scan import scan
from dbt.adapters.ducklake.spec.objects import Table
from tests.catalogs import CatalogUnderTest
from tests.interop import oracle
from tests.interop.conftest import comparable

from .shape import Shape, TableShape, of_duckdb_side, of_ours
from .values import Dialect, duckdb_name
from .words import Statement, relation

Rows = list[tuple[Any, ...]]


class RefusedError(Exception):
    """A side did not take a statement; the lake is as it was."""


class Side(Protocol):
    """Somebody who works on the lake."""

    dialect: Dialect

    def run(self, text: str) -> None: ...

    def shape(self) -> Shape: ...


def one_form(value: Any) -> Any:
    """A value in a form that does not tell where it comes from."""
    return str(value) if isinstance(value, uuid.UUID) else comparable(value)


def in_one_form(rows: list[tuple[Any, ...]]) -> Rows:
    return sorted((tuple(one_form(v) for v in row) for row in rows), key=repr)


class Ours:
    """Our session."""

    dialect: Dialect = "spark"

    def __init__(self, session: LakeSession) -> None:
        self.session = session

    def run(self, text: str) -> None:
        try:
            self.session.execute(text)
        except DuckLakeError as error:
            raise RefusedError(f"{type(error).__name__}: {error}") from error

    def rows(self, table: TableShape, version: int | None) -> Rows:
        """The rows of a table with their ids in front."""
        catalog = self.session.catalog
        reader = catalog.reader(catalog.latest() if version is None else catalog.resolve(version=version))
        found = reader.find(table.schema, table.name)
        assert isinstance(found, Table)
        spark = self.session.spark()
        frame = scan(spark, reader.scan_plan(found), virtual=("rowid",))
        return in_one_form([(row[-1], *row[:-1]) for row in fetch(frame)])

    def selected(self, table: TableShape, version: int | None) -> Rows:
        """The rows of a table as a query of the session gives them, without ids."""
        at = "" if version is None else f" VERSION AS OF {version}"
        return in_one_form(self.session.execute(f"SELECT * FROM {relation(table.schema, table.name, 'spark')}{at}").fetch())

    def shape(self) -> Shape:
        return of_ours(self.session)


class DuckDB:
    """The reference implementation, with the lake attached as `lake`."""

    dialect: Dialect = "duckdb"

    def __init__(self, place: CatalogUnderTest) -> None:
        self.place = place
        self.connection = oracle.connect(place)
        self.connection.execute("USE lake")

    def run(self, text: str) -> None:
        try:
            self.connection.execute(text)
        except duckdb.Error as error:
            raise RefusedError(f"{type(error).__name__}: {error}") from error

    def rows(self, table: TableShape, version: int | None) -> Rows:
        """The rows of a table with their ids in front."""
        at = "" if version is None else f" AT (VERSION => {version})"
        return in_one_form(self.connection.execute(f"SELECT rowid, * FROM {relation(table.schema, table.name, 'duckdb')}{at}").fetchall())

    def shape(self) -> Shape:
        return of_duckdb_side(self.connection)

    def reattach(self, inlining: int | None) -> None:
        """Come back as another client, which inlines up to `inlining` rows."""
        self.connection.execute("USE memory")
        self.connection.execute("DETACH lake")
        options = {} if inlining is None else {"data_inlining_row_limit": inlining}
        oracle.attach(self.connection, self.place, **options)
        self.connection.execute("USE lake")


class Plain:
    """Plain DuckDB tables of the same names, which are told the same statements: a third opinion about values, not about row ids.

    What it refuses it does not judge: the tables concerned are copied from the lake anew.
    """

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.execute("SET TimeZone = 'UTC'")
        self.stale: set[str] = set()
        self.concerned: set[str] = set()
        self.in_transaction, self.lost = False, False

    def follow(self, statement: Statement) -> None:
        """Do as the lake did, inside a transaction of the lake or not."""
        self.concerned.update(statement.tables)
        if statement.no_rows:
            return
        if statement.third is None:
            self.stale.update(statement.tables)
            return
        if self.lost:
            return
        try:
            self.connection.execute(statement.third)
        except duckdb.Error:
            self.lost = True
        if not self.in_transaction:
            self.end(commit=True)

    def begin(self) -> None:
        """What follows is one transaction."""
        self.connection.execute("BEGIN")
        self.in_transaction = True

    def end(self, *, commit: bool) -> None:
        """The transaction of the lake has ended; if this side could not follow, it knows the tables no longer."""
        if self.in_transaction:
            try:
                self.connection.execute("COMMIT" if commit and not self.lost else "ROLLBACK")
            except duckdb.Error:
                self.lost = True
        if self.lost:
            self.stale.update(self.concerned)
        self.in_transaction, self.lost = False, False
        self.concerned.clear()

    def rows(self, table: TableShape) -> Rows | None:
        """The rows as this side thinks they are; None if it does not know."""
        if table.key in self.stale:
            return None
        columns = ", ".join(f'"{column.name}"' for column in table.columns)
        try:
            return in_one_form(self.connection.execute(f"SELECT {columns} FROM {relation(table.schema, table.name, 'duckdb')}").fetchall())
        except duckdb.Error:
            return None

    def copy(self, table: TableShape, duck: DuckDB) -> None:
        """Take a table over as it is in the lake."""
        self.stale.discard(table.key)
        name = relation(table.schema, table.name, "duckdb")
        rows = duck.connection.execute(f"FROM lake.{name}").to_arrow_table()
        self.connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{table.schema}"')
        self.connection.execute(f"DROP TABLE IF EXISTS {name}")
        defaults = dict(
            duck.connection.execute(
                "SELECT column_name, column_default FROM duckdb_columns() WHERE database_name = 'lake' AND lower(schema_name || '.' || table_name) = ?",
                [table.key],
            ).fetchall()
        )
        items = ", ".join(f'"{c.name}" {duckdb_name(c.type)} DEFAULT {defaults.get(c.name) or "NULL"}' for c in table.columns)
        self.connection.execute(f"CREATE TABLE {name} ({items})")
        self.connection.register("copied", rows)
        self.connection.execute(f"INSERT INTO {name} FROM copied")
        self.connection.unregister("copied")
