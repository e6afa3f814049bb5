"""The sides of a run: DuckDB's extension and our session on one lake, and plain DuckDB tables for a third comparison."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
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

    def reattach(self, inlining: int | None) -> None: ...


def one_form(value: Any) -> Any:
    """Convert a value to a form that does not depend on its side."""
    return str(value) if isinstance(value, uuid.UUID) else comparable(value)


def in_one_form(rows: list[tuple[Any, ...]]) -> Rows:
    return sorted((tuple(one_form(v) for v in row) for row in rows), key=repr)


class Ours:
    """Our session. `place` lets it reconnect as another client."""

    dialect: Dialect = "spark"

    def __init__(self, session: LakeSession, place: CatalogUnderTest | None = None) -> None:
        self.session, self.place, self.owned = session, place, False

    def run(self, text: str) -> None:
        try:
            self.session.execute(text)
        except DuckLakeError as error:
            raise RefusedError(f"{type(error).__name__}: {error}") from error

    def query(self, text: str) -> Rows:
        try:
            return in_one_form(self.session.execute(text).fetch())
        except DuckLakeError as error:
            raise RefusedError(f"{type(error).__name__}: {error}") from error

    def rows(self, table: TableShape, version: int | None) -> Rows:
        """Return the rows of a table with their ids first."""
        return in_one_form([(row[-1], *row[:-1]) for row in fetch(self._frame(table, version))])

    def rows_at(self, table: TableShape, versions: Iterable[int]) -> dict[int, Rows]:
        """Return the rows of a table with their ids first at several snapshots, with one Spark job."""
        found: dict[int, Rows] = {version: [] for version in versions}
        frames = [self._frame(table, version).withColumn("__version", lit(version)) for version in found]
        for row in fetch(reduce(lambda one, other: one.unionAll(other), frames)):
            found[row[-1]].append((row[-2], *row[:-2]))
        return {version: in_one_form(rows) for version, rows in found.items()}

    def _frame(self, table: TableShape, version: int | None) -> DataFrame:
        catalog = self.session.catalog
        reader = catalog.reader(catalog.latest() if version is None else catalog.resolve(version=version))
        plan = reader.scan_plan(table_of(reader, table.name, table.schema))
        return scan(self.session.spark(), plan, virtual=("rowid",))

    def selected(self, table: TableShape, version: int | None, condition: str = "true") -> Rows:
        """Return the rows of a table as a query of the session returns them, without ids."""
        at = "" if version is None else f" VERSION AS OF {version}"
        return in_one_form(
            self.session.execute(f"SELECT * FROM {relation(table.schema, table.name, 'spark')}{at} WHERE {condition}").fetch()
        )

    def shape(self) -> Shape:
        return of_ours(self.session)

    def reattach(self, inlining: int | None) -> None:
        """Reconnect as another client, which inlines up to `inlining` rows. Spark stays."""
        assert self.place is not None
        runtime = self.session.lake.runtime
        self.close()
        self.session, self.owned = self.place.open(runtime, data_inlining_row_limit=inlining).session(), True

    def close(self) -> None:
        """Close the session that `reattach` opened."""
        if self.owned:
            self.session.close()
            self.session.catalog.close()


class DuckDB:
    """The reference implementation, with the lake attached as `lake`."""

    dialect: Dialect = "duckdb"

    def __init__(self, place: CatalogUnderTest) -> None:
        self.place = place
        self.limit: int | None = None
        self.connection = oracle.connect(place)
        self.connection.execute("USE lake")

    def run(self, text: str) -> None:
        try:
            self.connection.execute(text)
        except duckdb.Error as error:
            raise RefusedError(f"{type(error).__name__}: {str(error).split('Stack Trace')[0].strip()}") from error

    def rows(self, table: TableShape, version: int | None) -> Rows:
        """Return the rows of a table with their ids first."""
        at = "" if version is None else f" AT (VERSION => {version})"
        return in_one_form(self.connection.execute(f"SELECT rowid, * FROM {relation(table.schema, table.name, 'duckdb')}{at}").fetchall())

    def query(self, text: str) -> Rows:
        try:
            return in_one_form(self.connection.execute(text).fetchall())
        except duckdb.Error as error:
            raise RefusedError(f"{type(error).__name__}: {error}") from error

    def selected(self, table: TableShape, version: int | None, condition: str = "true") -> Rows:
        """Return the rows of a table that match a condition, without ids."""
        at = "" if version is None else f" AT (VERSION => {version})"
        name = relation(table.schema, table.name, "duckdb")
        return in_one_form(self.connection.execute(f"SELECT * FROM {name}{at} WHERE {condition}").fetchall())

    def shape(self) -> Shape:
        return of_duckdb_side(self.connection)

    def would_lose_values(self, statement: Statement) -> bool:
        """Return whether the statement on this client would make DuckDB lose values later: see `test_found_faults`.

        That happens if a client without inlining alters a table that has inlined rows, because the newest inlined-data table then has the
        old columns. It also happens if it inlines rows of a table that has no inlined-data table, because DuckDB adds no row for that one
        to `ducklake_schema_versions`.
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
        default = DEFAULT_INLINING if self.limit is None else self.limit
        if not rows:  # the open transaction has created or renamed it
            return alters and default == 0
        ((inlined, limit),) = rows
        limits = (default, int(default if limit is None else limit))  # DuckDB does not see an option that we have set since it attached
        return bool(inlined) and 0 in limits if alters else not inlined and max(limits) > 0

    def confuses_layouts(self, rewrites: bool) -> bool:
        """Return whether a flush or compaction by this client may use the current columns for rows of older columns.

        A sorted table that has had other columns is then sorted by another column, or not at all: see `test_found_faults`. A rewrite that
        computes the statistics again reads all current columns from every inlined-data table ("Failed to read inlined-data aggregates").
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
        """Return whether a flush by this client may lose deletes: DuckDB's does for bucketed tables on PostgreSQL, see `test_found_faults`."""
        keys = "__ducklake_metadata_lake.ducklake_partition_column"
        return self.place.database == "postgres" and bool(
            self.connection.execute(f"SELECT 1 FROM {keys} WHERE transform LIKE 'bucket%' LIMIT 1").fetchall()
        )

    def reattach(self, inlining: int | None) -> None:
        """Reconnect as another client, which inlines up to `inlining` rows."""
        self.limit = inlining
        oracle.reattach(self.connection, self.place, **({} if inlining is None else {"data_inlining_row_limit": inlining}))


class Plain:
    """Plain DuckDB tables of the same names that get the same statements: a third comparison of values, not of row ids.

    Its refusals are not differences: the tables affected are copied from the lake again.
    """

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.execute("SET TimeZone = 'UTC'")
        self.stale: set[str] = set()
        self.affected: set[str] = set()
        self.in_transaction, self.lost = False, False

    def follow(self, statement: Statement) -> None:
        """Repeat a statement of the lake, inside a transaction of the lake or not."""
        self.affected.update(statement.tables)
        if statement.no_rows:
            return
        if statement.third is None:
            self.stale.update(statement.tables)
            self.lost = self.in_transaction  # later statements of the transaction may read these tables
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
        """Begin a transaction of the following statements."""
        self.connection.execute("BEGIN")
        self.in_transaction = True

    def end(self, *, commit: bool) -> None:
        """End the transaction as the lake did. If this side could not follow, its copies of the tables are dropped."""
        if self.in_transaction:
            try:
                self.connection.execute("COMMIT" if commit and not self.lost else "ROLLBACK")
            except duckdb.Error:
                self.lost = True
        if self.lost:
            self.stale.update(self.affected)
        self.in_transaction, self.lost = False, False
        self.affected.clear()

    def rows(self, table: TableShape) -> Rows | None:
        """Return the rows of this side, or None if it has no copy of the table."""
        if table.key in self.stale:
            return None
        columns = ", ".join(f'"{column.name}"' for column in table.columns)
        try:
            return in_one_form(self.connection.execute(f"SELECT {columns} FROM {relation(table.schema, table.name, 'duckdb')}").fetchall())
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
        items = ", ".join(f'"{c.name}" {duckdb_name(c.type)} DEFAULT {defaults.get(c.name) or "NULL"}' for c in table.columns)
        self.connection.execute(f"CREATE TABLE {name} ({items})")
        self.connection.register("copied", rows)
        self.connection.execute(f"INSERT INTO {name} FROM copied")
        self.connection.unregister("copied")
