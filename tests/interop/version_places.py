"""Reads the rows of a catalog of any version, and copies an older SQLite catalog to PostgreSQL as its release would have written it."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any

from sqlalchemy import Column, MetaData, Table, create_engine, text
from sqlalchemy.types import VARCHAR

from dbt.adapters.ducklake.catalog.store import tables as t
from dbt.adapters.ducklake.catalog.store.location import parse_location
from tests.duckdb_instances import open_duckdb
from tests.frozen import FrozenLake

_TIMES = ("snapshot_time", "schedule_start")


def tables_of(lake: FrozenLake) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of every table in an SQLite catalog or a DuckDB file, with the columns in their order and without timestamps."""
    with open_duckdb("sqlite_scanner") as connection:
        if lake.path.startswith("ducklake:sqlite:"):
            connection.execute(f"ATTACH '{lake.file}' AS lake (TYPE sqlite)")
        else:
            connection.execute(f"ATTACH '{lake.file}' AS lake")
        names = connection.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'lake' ORDER BY 1").fetchall()
        found = {}
        for (name,) in names:
            result = connection.execute(f'SELECT * FROM lake."{name}"')
            columns = [column[0] for column in result.description]
            found[name] = [
                {key: _plain(value) for key, value in zip(columns, row, strict=True) if key not in _TIMES} for row in result.fetchall()
            ]
        return found


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value if isinstance(value, int | float | None) else str(value)


def in_duckdb(lake: FrozenLake) -> FrozenLake:
    """Copy an SQLite catalog into a DuckDB file, because DuckDB cannot migrate the first versions on SQLite."""
    file = lake.file.with_name("copy.duckdb")
    current = {table.name: table for table in t.METADATA.sorted_tables}
    with open_duckdb("sqlite_scanner", database=str(file)) as connection:
        connection.execute(f"ATTACH '{lake.file}' AS old (TYPE sqlite)")
        for (name,) in connection.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'old'").fetchall():
            types = {column.name: column.type for column in current[name].columns} if name in current else {}
            columns = connection.execute("SELECT column_name FROM duckdb_columns() WHERE database_name = 'old' AND table_name = ?", [name])
            cells = [_cell(column, types.get(column)) for (column,) in columns.fetchall()]
            connection.execute(f'CREATE TABLE "{name}" AS SELECT {", ".join(cells)} FROM old."{name}"')
    return replace(lake, path=f"ducklake:{file}", file=file)


def _cell(name: str, type_: Any) -> str:
    stored = {t.Uuid: "UUID", t.Boolean: "BOOLEAN", t.Timestamp: "TIMESTAMPTZ"}.get(type(type_))
    return f'"{name}"::{stored} AS "{name}"' if stored else f'"{name}"'


def in_postgres(lake: FrozenLake, url: str) -> FrozenLake:
    """Copy the metadata tables, without inlined rows, whose encoding differs."""
    engine = create_engine(parse_location(url).url)
    current = {table.name: table for table in t.METADATA.sorted_tables}
    current["ducklake_file_column_statistics"] = current["ducklake_file_column_stats"]
    with sqlite3.connect(lake.file) as source, engine.begin() as target:
        source.row_factory = sqlite3.Row
        for (name,) in source.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if name not in current:
                continue
            columns = [row["name"] for row in source.execute(f"PRAGMA table_info({name})")]
            types = {column.name: column.type for column in current[name].columns}
            table = Table(name, MetaData(), *(Column(each, types.get(each, VARCHAR())) for each in columns))
            table.create(target)
            rows = [dict(row) for row in source.execute(f"SELECT * FROM {name}")]
            for row in rows:
                for column in table.columns:
                    if isinstance(column.type, t.Timestamp) and row[column.name] is not None:
                        row[column.name] = column.type.process_result_value(row[column.name], _SQLITE)
            if name == "ducklake_inlined_data_tables":
                rows = []
            if rows:
                target.execute(table.insert(), rows)
        inlined = {row[0] for row in source.execute("SELECT table_id FROM ducklake_inlined_data_tables")}
        if inlined:
            listed = ", ".join(map(str, inlined))
            for name in ("ducklake_table", "ducklake_column"):
                target.execute(text(f"DELETE FROM {name} WHERE table_id IN ({listed})"))
    source.close()
    engine.dispose()
    kept = {
        snapshot: {name: content for name, content in relations.items() if name not in ("main.notes", "main.flushed")}
        for snapshot, relations in lake.snapshots.items()
    }
    return replace(lake, path=url, snapshots=kept)


class _Sqlite:
    name = "sqlite"


_SQLITE: Any = _Sqlite()
