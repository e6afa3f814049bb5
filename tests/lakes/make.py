"""Creates the frozen lakes in this folder with the DuckDB release of the running Python: one on SQLite, one in a DuckDB file.

The tests do not run it. Each release needs an environment of its own:

    for release in 1.3.2 1.4.4 1.5.0 1.5.5; do
        python -m venv /tmp/$release
        /tmp/$release/bin/pip install duckdb==$release duckdb-extension-ducklake==$release duckdb-extension-sqlite-scanner==$release
        /tmp/$release/bin/pip install duckdb-extensions
        /tmp/$release/bin/python tests/lakes/make.py
    done

1.3.2 writes format 0.2, 1.4.x 0.3, 1.5.0 and 1.5.1 0.4, later ones 1.0. No release that wrote 0.1 is in the package registry; that lake is
the lake of 1.3.2 with the first migration undone (`down_to_0_1`), compared column by column with catalogs that DuckDB 1.3.0 wrote
(`data/old_ducklake/v01*.db.gz` in the extension's repository).

Each lake's `expected.json` contains what its release reads from it: every table and view at every snapshot.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
from duckdb_extensions import import_extension

HERE = Path(__file__).resolve().parent
FORMATS = {"1.3": "0.2", "1.4": "0.3", "1.5.0": "0.4", "1.5.1": "0.4", "1.5": "1.0"}

ROWS_IN_FILES = [
    # the rows of three snapshots in one file
    "CREATE TABLE log (n INTEGER, what VARCHAR)",
    "INSERT INTO log VALUES (1, 'first')",
    "INSERT INTO log VALUES (2, 'second'), (3, 'third')",
    "INSERT INTO log VALUES (4, NULL)",
    "CALL ducklake_merge_adjacent_files('lake')",
    "INSERT INTO log VALUES (5, 'fifth')",
    "DELETE FROM log WHERE n IN (2, 5)",
    # columns that are added, dropped and renamed; delete files
    "CREATE TABLE items (id INTEGER, name VARCHAR, price DECIMAL(8,2), added DATE)",
    "INSERT INTO items VALUES (1, 'pen', 1.50, '2024-01-01'), (2, 'ink', 7.25, '2024-01-02'), (3, NULL, NULL, NULL)",
    "INSERT INTO items VALUES (4, 'nib', 0.10, '2024-02-01'), (5, 'pad', 3.00, '2024-02-02')",
    "DELETE FROM items WHERE id = 2",
    "UPDATE items SET price = price + 1 WHERE id = 4",
    "ALTER TABLE items ADD COLUMN stock INTEGER DEFAULT 7",
    "INSERT INTO items VALUES (6, 'cap', 9.99, '2024-03-01', 12)",
    "ALTER TABLE items RENAME COLUMN name TO title",
    "ALTER TABLE items DROP COLUMN added",
    "ALTER TABLE items ALTER COLUMN stock TYPE BIGINT",
    "INSERT INTO items VALUES (7, 'box', 4.00, 9000000000)",
    "DELETE FROM items WHERE id = 5",
    # another schema, nested types, every row deleted
    "CREATE SCHEMA shop",
    "CREATE TABLE shop.nested (id INTEGER, tags VARCHAR[], place STRUCT(x INTEGER, y VARCHAR), moment TIMESTAMP, ok BOOLEAN, share DOUBLE)",
    (
        "INSERT INTO shop.nested VALUES (1, ['a', 'b'], {'x': 1, 'y': 'one'}, '2024-05-06 07:08:09.123456', true, 0.5), "
        "(2, [], NULL, NULL, NULL, NULL), (3, [NULL], {'x': NULL, 'y': 'three'}, '1969-12-31 23:59:59', false, -1e300)"
    ),
    "DELETE FROM shop.nested WHERE id = 2",
    # partitioned by a column whose id is not its position
    "CREATE TABLE orders (gone INTEGER, id INTEGER, region VARCHAR, day DATE)",
    "ALTER TABLE orders DROP COLUMN gone",
    "INSERT INTO orders VALUES (1, 'north', '2023-12-31')",
    "ALTER TABLE orders SET PARTITIONED BY (region, year(day))",
    "INSERT INTO orders VALUES (2, 'north', '2024-01-01'), (3, 'south', '2024-01-01'), (4, 'south', '2025-01-01')",
    "DELETE FROM orders WHERE id = 3",
    # tables and schemas that are dropped
    "CREATE TABLE former (a INTEGER, b INTEGER)",
    "ALTER TABLE former SET PARTITIONED BY (b)",
    "INSERT INTO former VALUES (1, 2)",
    "DROP TABLE former",
    "CREATE TABLE misnamed (a INTEGER)",
    "INSERT INTO misnamed VALUES (1)",
    "ALTER TABLE misnamed RENAME TO named",
    # views and comments
    "CREATE VIEW cheap AS SELECT id, price FROM items WHERE price < 5",
    "COMMENT ON TABLE items IS 'what there is'",
    "COMMENT ON COLUMN items.id IS 'its number'",
]

SINCE_0_3 = [
    "BEGIN",
    "INSERT INTO log VALUES (6, 'with a message')",
    "CALL ducklake_set_commit_message('lake', 'somebody', 'the sixth', extra_info => '{}')",
    "COMMIT",
]

SINCE_0_4 = [
    "CREATE MACRO twice(a) AS a * 2",
    "ALTER TABLE named SET SORTED BY (a DESC)",
    "INSERT INTO named VALUES (2), (3)",
]

INLINED = [
    "CREATE TABLE notes (id INTEGER, body VARCHAR, moment TIMESTAMP, share DOUBLE)",
    "INSERT INTO notes VALUES (1, 'it''s', '2024-05-06 07:08:09', 1.5), (2, NULL, NULL, NULL)",
    "INSERT INTO notes VALUES (3, 'three', '1969-12-31 23:59:59', -0.25)",
    "DELETE FROM notes WHERE id = 2",
    "UPDATE notes SET body = 'drei' WHERE id = 3",
]

INLINED_SINCE_1_0 = [  # earlier releases do not read their own output correctly
    "ALTER TABLE notes ADD COLUMN more INTEGER",
    "INSERT INTO notes VALUES (4, 'four', NULL, 0, 44)",
]

FLUSHED = [
    "CREATE TABLE flushed (id INTEGER)",
    "INSERT INTO flushed VALUES (1)",
    "INSERT INTO flushed VALUES (2)",
    "INSERT INTO flushed VALUES (3)",
    "CALL ducklake_flush_inlined_data('lake', table_name => 'flushed')",
    "INSERT INTO flushed VALUES (4)",
]


def plain(value: Any) -> Any:
    """Convert a value to what JSON can express, in the same way for every client's Python types."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if hasattr(value, "asDict"):  # a Row of Spark
        return plain(value.asDict())
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


def ordered(rows: list[Any]) -> list[Any]:
    """Sort rows in an order that does not depend on the engine."""
    return sorted((plain(list(row)) for row in rows), key=lambda row: json.dumps(row))


def connect() -> duckdb.DuckDBPyConnection:
    """Open DuckDB with its extensions, in UTC."""
    connection = duckdb.connect()
    for extension in ("ducklake", "sqlite_scanner"):
        import_extension(extension, con=connection)
        connection.execute(f"LOAD {extension}")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def read(connection: duckdb.DuckDBPyConnection, attach: str, snapshots: list[int]) -> dict[str, Any]:
    """Return the rows of every table and view at every snapshot."""
    found: dict[str, Any] = {}
    for snapshot in snapshots:
        connection.execute(f"ATTACH '{attach}' AS lake (SNAPSHOT_VERSION {snapshot})")
        names = connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'lake' UNION ALL "
            "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'lake' AND NOT internal ORDER BY ALL"
        ).fetchall()
        found[str(snapshot)] = at = {}
        connection.execute("USE lake")
        for schema, name in names:
            result = connection.execute(f'SELECT * FROM lake."{schema}"."{name}"')
            columns = [column[0] for column in result.description]
            at[f"{schema}.{name}"] = {"columns": columns, "rows": ordered(result.fetchall())}
        connection.execute("USE memory")
        connection.execute("DETACH lake")
    return found


def make(directory: Path, kind: str, version: str) -> None:
    """Create one lake."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    os.chdir(directory)
    connection = connect()
    if kind == "duckdb":  # small blocks, because otherwise an empty file takes three megabytes
        connection.execute("ATTACH 'lake.duckdb' AS small (BLOCK_SIZE 16384)")
        connection.execute("CREATE TABLE small.made AS SELECT 1")
        connection.execute("DROP TABLE small.made")
        connection.execute("DETACH small")
    attach = "ducklake:sqlite:lake.sqlite" if kind == "sqlite" else "ducklake:lake.duckdb"
    inlines = kind == "duckdb" or version >= "0.3"
    batches = [(0, ROWS_IN_FILES), (0, SINCE_0_3 if version >= "0.3" else []), (0, SINCE_0_4 if version >= "0.4" else [])]
    if inlines:
        batches += [(10, INLINED), (10, [*(INLINED_SINCE_1_0 if version >= "1.0" else []), *FLUSHED] if version >= "0.3" else [])]
    for limit, statements in batches:
        inlining = f", DATA_INLINING_ROW_LIMIT {limit}" if limit or version >= "0.4" else ""
        connection.execute(f"ATTACH '{attach}' AS lake (DATA_PATH 'files/'{inlining})")
        connection.execute("USE lake")
        for statement in statements:
            connection.execute(statement)
        snapshots = [row[0] for row in connection.execute("SELECT snapshot_id FROM ducklake_snapshots('lake') ORDER BY 1").fetchall()]
        connection.execute("USE memory")
        connection.execute("DETACH lake")
    content = {"version": version, "duckdb": duckdb.__version__, "snapshots": read(connection, attach, snapshots)}
    connection.close()
    if kind == "duckdb":
        (directory / "lake.duckdb.gz").write_bytes(gzip.compress((directory / "lake.duckdb").read_bytes(), 9, mtime=0))
        (directory / "lake.duckdb").unlink()
    (directory / "expected.json").write_text(json.dumps(content, indent=None, separators=(",", ":")))


def down_to_0_1(source: Path, target: Path) -> None:
    """Convert a lake of format 0.2 to what 0.1 would have written: the reverse of DuckDB's first migration."""
    import sqlite3

    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    with sqlite3.connect(target / "lake.sqlite") as catalog:
        run = catalog.execute
        # All paths were relative to the lake's directory.
        places = "SELECT s.path || t.path FROM ducklake_table t JOIN ducklake_schema s USING (schema_id) WHERE t.table_id = {}.table_id"
        for table in ("ducklake_data_file", "ducklake_delete_file"):
            run(f"UPDATE {table} SET path = ({places.format(table)} LIMIT 1) || path WHERE path_is_relative")
        position = (
            "SELECT count(*) FROM ducklake_column before JOIN ducklake_column own ON own.table_id = before.table_id "
            "WHERE own.table_id = k.table_id AND own.column_id = k.column_id AND before.parent_column IS NULL "
            "AND before.column_order < own.column_order AND before.begin_snapshot <= i.begin_snapshot "
            "AND (before.end_snapshot IS NULL OR before.end_snapshot > i.begin_snapshot)"
        )
        keys = run(
            f"SELECT k.rowid, ({position}) FROM ducklake_partition_column k JOIN ducklake_partition_info i USING (partition_id, table_id)"
        ).fetchall()
        for row, column_position in keys:
            run("UPDATE ducklake_partition_column SET column_id = ? WHERE rowid = ?", (column_position, row))
        for table, columns in {
            "ducklake_schema": ("path", "path_is_relative"),
            "ducklake_table": ("path", "path_is_relative"),
            "ducklake_metadata": ("scope", "scope_id"),
            "ducklake_data_file": ("mapping_id",),
        }.items():
            for column in columns:
                run(f"ALTER TABLE {table} DROP COLUMN {column}")
        run("DROP TABLE ducklake_column_mapping")
        run("DROP TABLE ducklake_name_mapping")
        run("UPDATE ducklake_metadata SET value = '0.1' WHERE key = 'version'")
    catalog.close()
    vacuumed = sqlite3.connect(target / "lake.sqlite")
    vacuumed.execute("VACUUM")
    vacuumed.close()
    expected = json.loads((target / "expected.json").read_text())
    (target / "expected.json").write_text(json.dumps({**expected, "version": "0.1"}, separators=(",", ":")))


if __name__ == "__main__":
    release = duckdb.__version__
    written = FORMATS.get(release) or FORMATS[release.rpartition(".")[0]]
    wanted = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else HERE
    for catalog_database in ("sqlite", "duckdb"):
        make(wanted / f"{written}-{catalog_database}", catalog_database, written)
    if written == "0.2":
        down_to_0_1(wanted / "0.2-sqlite", wanted / "0.1-sqlite")
