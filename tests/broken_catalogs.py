"""A good lake in which one cell of the catalog is broken at a time, and what must hold afterwards.

The lake has every kind of row: tables, views, macros, partitions, sort orders, delete files, inlined rows, options, tags, name mappings,
and a file that is scheduled for deletion.
Readers and writers of another table go on as before, or fail with an error that names the wrong row. Readers of the affected table may
fail so too. Nothing else is allowed: no exception of Python, and no commit that differs from the one on the good lake.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.errors import DuckLakeError
from dbt.adapters.ducklake.format.objects import Table, View
from dbt.adapters.ducklake.lake.cleanup import cleanup_old_files
from dbt.adapters.ducklake.lake.context import Context
from dbt.adapters.ducklake.lake.history import history
from dbt.adapters.ducklake.lake.listing import list_files, table_info
from dbt.adapters.ducklake.lake.options import options
from dbt.adapters.ducklake.lake.orphans import delete_orphaned_files
from dbt.adapters.ducklake.lake.snapshots import snapshot_rows
from dbt.adapters.ducklake.session import connect
from tests.catalog_objects import table_of
from tests.duckdb_instances import open_duckdb

VALUES: dict[str, Any] = {"NULL": None, "a wrong text": "wrong", "a negative number": -7}
STATEMENTS = [
    "CREATE TABLE other (a INTEGER, b VARCHAR)",
    "INSERT INTO other SELECT range::INTEGER, 'many' FROM range(50)",
    "INSERT INTO other VALUES (100, 'few')",
    "CREATE SCHEMA side",
    "CREATE TABLE side.third (a INTEGER DEFAULT 3)",
    "CREATE TABLE victim (gone INTEGER, id INTEGER, part VARCHAR, day DATE, s STRUCT(x INTEGER, l VARCHAR[]))",
    "ALTER TABLE victim DROP COLUMN gone",
    "COPY (SELECT 300 AS id, 'p' AS part, DATE '2025-01-01' AS day, NULL::STRUCT(x INTEGER, l VARCHAR[]) AS s) TO 'DIRECTORY/more.parquet'",
    "CALL ducklake_add_data_files('lake', 'victim', 'DIRECTORY/more.parquet')",
    "ALTER TABLE victim SET PARTITIONED BY (part, year(day))",
    "ALTER TABLE victim SET SORTED BY (id DESC)",
    "INSERT INTO victim SELECT range::INTEGER, 'p', DATE '2024-01-01', {'x': 1, 'l': ['a']} FROM range(50)",
    "DELETE FROM victim WHERE id < 20",
    "DELETE FROM victim WHERE id = 30",
    "ALTER TABLE victim ADD COLUMN more INTEGER DEFAULT 7",
    "INSERT INTO victim VALUES (200, 'p', DATE '2025-01-01', NULL, 8)",
    "DELETE FROM victim WHERE id = 40",
    "CREATE VIEW fine (x) AS SELECT a FROM other",
    "CREATE VIEW seen AS SELECT id FROM victim",
    "CREATE MACRO twice(a, b := 2) AS a * b",
    "COMMENT ON TABLE victim IS 'breaks'",
    "COMMENT ON COLUMN victim.id IS 'its number'",
    "CALL lake.set_option('parquet_compression', 'gzip', table_name => 'other')",
    "CALL lake.set_option('parquet_compression', 'zstd', table_name => 'victim')",
    "CREATE TABLE short_lived AS SELECT range AS a FROM range(50)",
    "DROP TABLE short_lived",
]
BELONGING = frozenset(
    {"table_id", "object_id", "begin_snapshot", "end_snapshot", "schema_id", "partition_id", "sort_id", "data_file_id", "mapping_id"}
)
"""Columns that say to what a row belongs, and when. A row with another such value belongs to nothing that is read."""
FREE = frozenset(
    {
        *("column_type", "initial_default", "default_value", "default_value_type", "default_value_dialect", "expression", "dialect"),
        *("key", "value", "path", "encryption_key", "source_name", "table_uuid", "table_name", "column_name"),
    }
)
"""Columns of texts of which every one can be right, such as a path, and of types that a newer version may know."""
OPTIONAL = frozenset({"footer_size", "row_id_start", "parent_column"})
"""Columns in which NULL can be right."""
LISTINGS = frozenset({"listing", "options", "table_info"})
"""Reads that leave out what is damaged."""
CHANGING = {"snapshot_time", "schedule_start"}
"""Columns whose values differ between two runs."""


@dataclass(frozen=True)
class Case:
    """One cell that gets a wrong value."""

    table: str
    column: str
    value: str
    row: int
    """The `rowid` of SQLite."""

    def __str__(self) -> str:
        return f"{self.table}.{self.column} is {self.value}"


def make_lake(directory: Path) -> Path:
    """Create the good lake, and return the path of its catalog."""
    catalog = directory / "lake.sqlite"
    with open_duckdb("ducklake", "sqlite_scanner") as duck:
        duck.execute(f"ATTACH 'ducklake:sqlite:{catalog}' AS lake (DATA_PATH '{directory}/files/')")
        duck.execute("USE lake")
        for statement in STATEMENTS:
            duck.execute(statement.replace("DIRECTORY", str(directory)))
        ((last,),) = duck.execute("SELECT id FROM lake.current_snapshot()").fetchall()
        duck.execute(f"CALL ducklake_expire_snapshots('lake', versions => [{last - 1}])")
    with connect(f"ducklake:sqlite:{catalog}") as session:
        session.execute("ALTER TABLE victim SET TBLPROPERTIES ('team' = 'blue')")
        session.execute("ALTER TABLE other SET TBLPROPERTIES ('team' = 'red')")
    return catalog


def cases(catalog: Path) -> Iterator[Case]:
    """Yield every case: of each table the row that matters most, each column with each wrong value."""
    with closing(sqlite3.connect(catalog)) as connection:
        for table, columns in _tables(connection).items():
            row = _row(connection, table, columns)
            if row is not None:
                yield from (Case(table, column, value, row) for column in columns for value in VALUES)
        for row in _rows_of_properties(connection):
            yield from (Case("ducklake_metadata", column, value, row) for column in ("key", "value") for value in VALUES)
        data_path = connection.execute("SELECT rowid FROM ducklake_metadata WHERE key = 'data_path'").fetchone()[0]
        yield Case("ducklake_metadata", "value", "NULL", data_path)  # every text can be right


def _tables(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the columns of each metadata table, without the inlined rows of `other`, which are themselves what is read of it."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'ducklake_%' AND name NOT LIKE 'ducklake_inlined_data_1_%' ORDER BY 1"
    names = connection.execute(query)
    return {name: [each[1] for each in connection.execute(f"PRAGMA table_info('{name}')")] for (name,) in names.fetchall()}


def _row(connection: sqlite3.Connection, table: str, columns: list[str]) -> int | None:
    """Return the newest live row of the metadata table; if its rows belong to tables, that of the table `victim`."""
    conditions = ["end_snapshot IS NULL"] if "end_snapshot" in columns else []
    owner = next((each for each in ("table_id", "object_id") if each in columns), None)
    if owner is not None:
        conditions.append(
            f"{owner} = (SELECT table_id FROM ducklake_table WHERE table_name = 'victim' ORDER BY begin_snapshot DESC LIMIT 1)"
        )
    found: int | None = connection.execute(f"SELECT max(rowid) FROM {table} WHERE {' AND '.join(conditions) or 'TRUE'}").fetchone()[0]
    return found if found is not None else _last_row(connection, table)


def _rows_of_properties(connection: sqlite3.Connection) -> list[int]:
    """Return the rows of the lake's own properties, such as its format version, in `ducklake_metadata`, without its data path."""
    return [
        row for (row,) in connection.execute("SELECT rowid FROM ducklake_metadata WHERE scope IS NULL AND key <> 'data_path' ORDER BY 1")
    ]


def _last_row(connection: sqlite3.Connection, table: str) -> int | None:
    found: int | None = connection.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0]
    return found


class BrokenLake:
    """Copies of the good lake, each with one wrong cell."""

    def __init__(self, good: Path, directory: Path) -> None:
        self._good = good
        self.catalog = directory / "broken.sqlite"
        self._settings = CatalogSettings(f"ducklake:sqlite:{self.catalog}")
        self.catalog.write_bytes(self._good.read_bytes())
        self.expected = {name: read() for name, read in self._reads().items()}
        self.committed = self._insert()

    def wrongs(self, case: Case) -> list[str]:
        """Return what is not as it must be after one cell was broken."""
        found: list[str] = []
        if not self.allows(case):
            return found
        for name, read in [*self._reads().items(), ("insert", lambda: self._insert(case))]:  # only the last one writes
            expected = self.committed if name == "insert" else self.expected[name]
            try:
                got = read()
            except DuckLakeError as error:
                if name in LISTINGS and not _is_global(case):
                    found.append(f"{name}: the listing fails: {error}")
                elif not _names_row(error, case):
                    found.append(f"{name}: the error does not name the row: {type(error).__name__}: {error}")
            except Exception as error:
                found.append(f"{name}: {type(error).__name__}: {error}")
            else:
                if got != expected and not _may_change(case, name):
                    found.append(f"{name}: {_difference(got, expected)}")
        return found

    def _reads(self) -> dict[str, Callable[[], Any]]:
        return {
            "listing": self._listing,
            "columns": self._columns,
            "other": lambda: self._plan("other"),
            "victim": lambda: self._plan("victim"),
            "options": lambda: self._in_context(lambda context: [each for each in options(context) if each.entry == "main.other"]),
            "table_info": lambda: self._in_context(lambda context: [each for each in table_info(context) if each[0] == "other"]),
            "snapshots": lambda: self._in_context(lambda context: snapshot_rows(context.catalog.snapshots())),
            "history of other": lambda: self._in_context(lambda context: history(context, table_of(context.transaction, "other"))),
            "history of victim": lambda: self._in_context(_history_of_victim),
            "files of other": lambda: self._in_context(
                lambda context: list_files(context.transaction, table_of(context.transaction, "other"))
            ),
            "expiry": lambda: self._in_context(lambda context: context.catalog.maintenance.expire(versions=[1, 3], dry_run=True)),
            "cleanup": lambda: self._in_context(lambda context: cleanup_old_files(context, older_than=None, dry_run=True)),
            "orphans": lambda: self._in_context(lambda context: delete_orphaned_files(context, older_than=None, dry_run=True)),
        }

    def allows(self, case: Case) -> bool:
        """Whether the database itself lets the cell have the value."""
        try:
            self._break(case)
        except sqlite3.IntegrityError:
            return False
        return True

    def _break(self, case: Case) -> None:
        self.catalog.write_bytes(self._good.read_bytes())
        with closing(sqlite3.connect(self.catalog)) as connection:
            _set(connection, case, VALUES[case.value])

    def _open(self) -> LakeCatalog:
        return LakeCatalog.open(self._settings)

    def _in_context(self, read: Callable[[Context], Any]) -> Any:
        with self._open() as lake:
            return read(Context(lake, lake.begin(), no_spark))

    def _listing(self) -> Any:
        """Return the relations that no case changes, as they are listed with and without their definitions."""
        with self._open() as lake:
            reader = lake.reader()
            kept = {"other", "fine"}
            names = [(each.schema_name, each.name, each.is_table) for each in reader.names() if each.name in kept]
            return sorted(names), [each for each in reader.relations() if each.name in kept and each.name != "fine"]

    def _columns(self) -> Any:
        with self._open() as lake:
            found = lake.reader().find("main", "other")
            assert isinstance(found, Table)
            return found.columns

    def _plan(self, name: str) -> Any:
        with self._open() as lake:
            reader = lake.reader()
            found = reader.find("main", name)
            return None if found is None or isinstance(found, View) else (found, reader.scan_plan(found))

    def _insert(self, case: Case | None = None) -> Any:
        """Return all rows of the catalog after an INSERT, with the broken cell restored."""
        with connect(f"ducklake:sqlite:{self.catalog}") as session:
            session.execute("INSERT INTO other VALUES (7, 'seven'), (8, NULL)")
        with closing(sqlite3.connect(self.catalog)) as connection:
            if case is not None:
                _set(connection, case, self._original(case))
            return {table: _rows(connection, table, columns) for table, columns in _tables(connection).items()}

    def _original(self, case: Case) -> Any:
        with closing(sqlite3.connect(self._good)) as connection:
            return connection.execute(f'SELECT "{case.column}" FROM {case.table} WHERE rowid = ?', (case.row,)).fetchone()[0]


def _history_of_victim(context: Context) -> Any:
    found = context.transaction.find("main", "victim")
    return history(context, found) if isinstance(found, Table) else None


def no_spark() -> Any:
    """Refuse to start Spark, for a `Context`."""
    raise AssertionError("these reads start no Spark")


def _set(connection: sqlite3.Connection, case: Case, value: Any) -> None:
    connection.execute(f'UPDATE {case.table} SET "{case.column}" = ? WHERE rowid = ?', (value, case.row))
    connection.commit()


def _rows(connection: sqlite3.Connection, table: str, columns: list[str]) -> list[tuple[Any, ...]]:
    kept = ", ".join(f'"{each}"' for each in columns if each not in CHANGING)
    return sorted(connection.execute(f"SELECT {kept} FROM {table}").fetchall(), key=repr)


def _is_global(case: Case) -> bool:
    """Whether everything depends on the row: the newest snapshot, or a property of the lake."""
    return case.table in ("ducklake_snapshot", "ducklake_metadata")


def _names_row(error: DuckLakeError, case: Case) -> bool:
    """Whether the message names the table of the row; a renamed column is missing in the table of inlined rows, which the message names."""
    text = str(error)
    return case.table in text or (case.column == "column_name" and "ducklake_inlined_data" in text)


def _may_change(case: Case, read: str) -> bool:
    """Whether a read may give another result, because the new value can be right."""
    if (case.table, case.column) == ("ducklake_snapshot", "snapshot_id"):
        return read != "insert"  # the snapshot before is the newest then
    if case.table == "ducklake_snapshot_changes":
        return read != "insert"  # the log of the last snapshot, which changed `other`; every text and no text can be right
    if read == "history of victim":
        return True  # its numbers are sums, of which the database leaves out a wrong text
    if read in ("cleanup", "orphans") and case.column == "path":
        return True
    if read != "victim":
        return False
    if case.column in BELONGING | FREE or case.table.startswith("ducklake_inlined_data_4"):
        return True
    return case.column in OPTIONAL and case.value == "NULL"


def _difference(got: Any, expected: Any) -> str:
    if isinstance(got, dict) and isinstance(expected, dict):
        parts = [(name, set(got[name]) ^ set(rows)) for name, rows in expected.items() if got[name] != rows]
        return f"another commit: {parts}"[:600]
    return f"got {got}, expected {expected}"[:1500]
