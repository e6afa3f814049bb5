"""The sides of a differential run: our session and DuckDB's extension on one lake, and plain DuckDB tables as a third side."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from contextlib import suppress
from functools import reduce
from typing import Any, Protocol

import duckdb
from pyspark.sql import DataFrame
from pyspark.sql.functions import lit

from dbt.adapters.ducklake.errors import DuckLakeError
from dbt.adapters.ducklake.session import LakeSession
from dbt.adapters.ducklake.spark.read.scan import scan
from dbt.adapters.ducklake.spark.rows.fetch import fetch
from tests.catalog_objects import table_of
from tests.catalogs import CatalogUnderTest
from tests.interop import oracle
from tests.interop.conftest import comparable

from .shape import Shape, TableShape, of_duckdb_side, of_ours
from .values import Dialect, duckdb_name
from .words import INSERTING_KINDS, LAYOUT_KINDS, Statement, relation

Rows = list[tuple[Any, ...]]
DEFAULT_INLINING = 10
"""DuckDB's default maximum number of rows that an insert inlines."""


class RefusedError(Exception):
    """A side refused a statement; the lake is unchanged."""


class Side(Protocol):
    """A client of the lake."""

    dialect: Dialect

    def run(self, text: str) -> None: ...

    def shape(self) -> Shape: ...

    def reattach(self, inlining: int | None) -> None:
        """Reconnect as another client.

        Args:
            inlining: The most rows of an insert that this client inlines. None is the default of the side.
        """


def normalized(value: Any) -> Any:
    """Return a value in the form that is the same for all sides."""
    return str(value) if isinstance(value, uuid.UUID) else comparable(value)


def normalized_rows(rows: list[tuple[Any, ...]]) -> Rows:
    """Return rows with normalized values, sorted, because the sides return them in different orders."""
    return sorted((tuple(normalized(v) for v in row) for row in rows), key=repr)


class Ours:
    """Our session. It can reconnect as another client if `place` is given."""

    dialect: Dialect = "spark"

    def __init__(self, session: LakeSession, place: CatalogUnderTest | None = None) -> None:
        self.session, self.place, self.reconnected = session, place, False

    def run(self, text: str) -> None:
        try:
            self.session.execute(text)
        except DuckLakeError as error:
            raise RefusedError(f"{type(error).__name__}: {error}") from error

    def query(self, text: str) -> Rows:
        try:
            return normalized_rows(self.session.execute(text).fetch())
        except DuckLakeError as error:
            raise RefusedError(f"{type(error).__name__}: {error}") from error

    def rows(self, table: TableShape, version: int | None) -> Rows:
        """Return the rows of a table, each with its row id first."""
        return normalized_rows([(row[-1], *row[:-1]) for row in fetch(self._frame(table, version))])

    def rows_at(self, table: TableShape, versions: Iterable[int]) -> dict[int, Rows]:
        """Return the rows of a table at several snapshots, each with its row id first. This takes only one Spark job."""
        found: dict[int, Rows] = {version: [] for version in versions}
        frames = [self._frame(table, version).withColumn("__version", lit(version)) for version in found]
        for row in fetch(reduce(lambda one, other: one.unionAll(other), frames)):
            found[row[-1]].append((row[-2], *row[:-2]))
        return {version: normalized_rows(rows) for version, rows in found.items()}

    def _frame(self, table: TableShape, version: int | None) -> DataFrame:
        catalog = self.session.catalog
        reader = catalog.reader(catalog.latest() if version is None else catalog.resolve(version=version))
        plan = reader.scan_plan(table_of(reader, table.name, table.schema))
        return scan(self.session.spark(), plan, virtual=("rowid",))

    def selected(self, table: TableShape, version: int | None, condition: str = "true") -> Rows:
        """Return the rows that a query with a condition returns, without row ids."""
        at = "" if version is None else f" VERSION AS OF {version}"
        return normalized_rows(
            self.session.execute(f"SELECT * FROM {relation(table.schema, table.name, 'spark')}{at} WHERE {condition}").fetch()
        )

    def shape(self) -> Shape:
        return of_ours(self.session)

    def reattach(self, inlining: int | None) -> None:
        """Reconnect as another client. Spark keeps running."""
        assert self.place is not None
        runtime = self.session.lake.runtime
        self.close()
        self.session, self.reconnected = self.place.open(runtime, data_inlining_row_limit=inlining).session(), True

    def close(self) -> None:
        """Close the session that `reattach` opened."""
        if self.reconnected:
            self.session.close()
            self.session.catalog.close()


class DuckDB:
    """DuckDB with its extension, the reference implementation. The lake is attached as `lake`."""

    dialect: Dialect = "duckdb"

    def __init__(self, place: CatalogUnderTest) -> None:
        self.place = place
        self.inlining: int | None = None
        """The most rows of an insert that this client inlines. None is DuckDB's default."""
        self.in_transaction = False
        self.connection = oracle.connect(place)
        self.connection.execute("USE lake")

    def run(self, text: str) -> None:
        if text in ("BEGIN", "COMMIT", "ROLLBACK"):
            self.in_transaction = text == "BEGIN"
        try:
            self.connection.execute(text)
        except duckdb.Error as error:
            if not self.in_transaction:  # a column with a default that is not a literal leaves the connection in an aborted transaction
                with suppress(duckdb.Error):
                    self.connection.execute("ROLLBACK")
            raise RefusedError(f"{type(error).__name__}: {str(error).split('Stack Trace')[0].strip()}") from error

    def rows(self, table: TableShape, version: int | None) -> Rows:
        """Return the rows of a table, each with its row id first."""
        at = "" if version is None else f" AT (VERSION => {version})"
        return normalized_rows(
            self.connection.execute(f"SELECT rowid, * FROM {relation(table.schema, table.name, 'duckdb')}{at}").fetchall()
        )

    def query(self, text: str) -> Rows:
        try:
            return normalized_rows(self.connection.execute(text).fetchall())
        except duckdb.Error as error:
            raise RefusedError(f"{type(error).__name__}: {error}") from error

    def selected(self, table: TableShape, version: int | None, condition: str = "true") -> Rows:
        """Return the rows that a query with a condition returns, without row ids."""
        at = "" if version is None else f" AT (VERSION => {version})"
        name = relation(table.schema, table.name, "duckdb")
        return normalized_rows(self.connection.execute(f"SELECT * FROM {name}{at} WHERE {condition}").fetchall())

    def shape(self) -> Shape:
        return of_duckdb_side(self.connection)

    def would_lose_values(self, statement: Statement) -> bool:
        """Return whether DuckDB would lose values later if this client ran the statement. See `test_found_faults`.

        There are two cases. In the first, a client without inlining alters a table that has inlined rows: the newest inlined-data table
        then keeps the old columns. In the second, a client inlines rows of a table that has no inlined-data table yet: DuckDB creates one,
        but adds no row to `ducklake_schema_versions`.
        """
        if statement.kind not in LAYOUT_KINDS | INSERTING_KINDS:
            return False
        alters = statement.kind in LAYOUT_KINDS
        metadata = "__ducklake_metadata_lake"
        rows = self.connection.execute(
            f"SELECT (SELECT count(*) FROM {metadata}.ducklake_inlined_data_tables i WHERE i.table_id = t.table_id), "
            f"(SELECT max(value) FROM {metadata}.ducklake_metadata m WHERE m.key = 'data_inlining_row_limit' AND m.scope = 'table' "
            "AND m.scope_id = t.table_id) "
            f"FROM {metadata}.ducklake_table t JOIN {metadata}.ducklake_schema s ON s.schema_id = t.schema_id "
            "WHERE t.end_snapshot IS NULL AND s.end_snapshot IS NULL AND lower(s.schema_name || '.' || t.table_name) = ?",
            [statement.tables[0]],
        ).fetchall()
        default = DEFAULT_INLINING if self.inlining is None else self.inlining
        if not rows:  # the open transaction has created or renamed the table
            return alters and default == 0
        ((inlined, limit),) = rows
        limits = (default, int(default if limit is None else limit))  # DuckDB does not see options that we set after it attached
        return bool(inlined) and 0 in limits if alters else not inlined and max(limits) > 0

    def misreads_old_columns(self, rewrites: bool) -> bool:
        """Return whether a flush or compaction by this client may read rows with old columns as if they had the current ones.

        A sorted table whose columns have changed is then sorted by a wrong column, or not at all: see `test_found_faults`. A rewrite
        computes the statistics again and so reads all current columns from every inlined-data table. If one lacks some of them, it fails
        with "Failed to read inlined-data aggregates".
        """
        metadata = "__ducklake_metadata_lake"
        affected = f"SELECT table_id FROM {metadata}.ducklake_sort_info"
        if rewrites:
            affected += f" UNION ALL SELECT table_id FROM {metadata}.ducklake_inlined_data_tables"
        return bool(
            self.connection.execute(
                f"SELECT t.table_id FROM {metadata}.ducklake_table t JOIN {metadata}.ducklake_column c ON c.table_id = t.table_id "
                f"WHERE t.end_snapshot IS NULL AND t.table_id IN ({affected}) "
                "GROUP BY t.table_id HAVING count(c.end_snapshot) > 0 OR min(c.begin_snapshot) < max(c.begin_snapshot)"
            ).fetchall()
        )

    def flush_loses_deletes(self) -> bool:
        """Return whether a flush by this client may lose deletes, as it does for bucketed tables on PostgreSQL. See `test_found_faults`."""
        keys = "__ducklake_metadata_lake.ducklake_partition_column"
        return self.place.database == "postgres" and bool(
            self.connection.execute(f"SELECT 1 FROM {keys} WHERE transform LIKE 'bucket%' LIMIT 1").fetchall()
        )

    def reattach(self, inlining: int | None) -> None:
        """Reconnect as another client."""
        self.inlining = inlining
        oracle.reattach(self.connection, self.place, **({} if inlining is None else {"data_inlining_row_limit": inlining}))


class Plain:
    """Plain DuckDB tables with the names of the lake's tables, on which the same statements run. They have no row ids.

    A statement that fails only here is no difference: the affected tables are then copied from the lake again.
    """

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.execute("SET TimeZone = 'UTC'")
        self.stale: set[str] = set()
        """The keys of the tables that must be copied from the lake again."""
        self.affected: set[str] = set()
        """The keys of the tables that the transaction has changed."""
        self.in_transaction = False
        self.failed = False
        """Whether a statement of the transaction could not run here."""

    def follow(self, statement: Statement) -> None:
        """Run a statement that ran on the lake, in the open transaction or as one of its own."""
        self.affected.update(statement.tables)
        if statement.no_rows:
            return
        if statement.third is None:
            self.stale.update(statement.tables)
            self.failed = self.in_transaction  # later statements of the transaction may read these tables
            return
        if self.failed:
            return
        try:
            self.connection.execute(statement.third)
        except duckdb.Error:
            self.failed = True
        if not self.in_transaction:
            self.end(commit=True)

    def begin(self) -> None:
        """Begin a transaction for the following statements."""
        self.connection.execute("BEGIN")
        self.in_transaction = True

    def end(self, *, commit: bool) -> None:
        """End the transaction as the lake did. If a statement of it failed here, the tables that it changed are stale."""
        if self.in_transaction:
            try:
                self.connection.execute("COMMIT" if commit and not self.failed else "ROLLBACK")
            except duckdb.Error:
                self.failed = True
        if self.failed:
            self.stale.update(self.affected)
        self.in_transaction, self.failed = False, False
        self.affected.clear()

    def rows(self, table: TableShape) -> Rows | None:
        """Return the rows of a table, or None if this side has no current copy of it."""
        if table.key in self.stale:
            return None
        columns = ", ".join(f'"{column.name}"' for column in table.columns)
        try:
            return normalized_rows(
                self.connection.execute(f"SELECT {columns} FROM {relation(table.schema, table.name, 'duckdb')}").fetchall()
            )
        except duckdb.Error:
            return None

    def copy(self, table: TableShape, duck: DuckDB) -> None:
        """Copy a table from the lake."""
        self.stale.discard(table.key)
        name = relation(table.schema, table.name, "duckdb")
        rows = oracle.arrow_table(duck.connection, f"FROM lake.{name}")
        self.connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{table.schema}"')
        self.connection.execute(f"DROP TABLE IF EXISTS {name}")
        defaults = dict(
            duck.connection.execute(
                "SELECT column_name, column_default FROM duckdb_columns() WHERE database_name = 'lake' AND lower(schema_name || '.' || table_name) = ?",
                [table.key],
            ).fetchall()
        )
        columns = ", ".join(f'"{c.name}" {duckdb_name(c.type)} DEFAULT {defaults.get(c.name) or "NULL"}' for c in table.columns)
        self.connection.execute(f"CREATE TABLE {name} ({columns})")
        self.connection.register("copied", rows)
        self.connection.execute(f"INSERT INTO {name} FROM copied")
        self.connection.unregister("copied")
