"""Invariants of the catalog and its files that must hold after every step of either side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
from sqlalchemy import inspect, text
from sqlalchemy.engine import Connection

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.format.types import DataType

from .values import duckdb_name

KINDS = frozenset(
    [
        "created_schema",
        "dropped_schema",
        "created_table",
        "dropped_table",
        "created_view",
        "dropped_view",
        "altered_table",
        "altered_view",
        "inserted_into_table",
        "deleted_from_table",
        "inlined_insert",
        "inlined_delete",
        "inline_flush",
        "merge_adjacent",
        "rewrite_delete",
    ]
)
_ENTRY = re.compile(r'(\w+):((?:"(?:[^"]|"")*"\.?)+|\d+)(?:,|$)')
_COMPARED = frozenset(
    ["int8", "int16", "int32", "int64", "uint32", "float32", "float64", "date", "timestamp", "timestamptz", "varchar", "boolean"]
)


@dataclass
class Invariants:
    """Checks a lake. Caches the checked files and the counters of the last check."""

    catalog: LakeCatalog
    plain: duckdb.DuckDBPyConnection
    _seen: set[str] = field(default_factory=set)
    _counters: tuple[int, ...] = (0, 0, 0, 0)
    _logged: int = -1

    def violations(self) -> list[str]:
        """Return the violated invariants as text."""
        with self.catalog._database.reading() as connection:
            if connection.dialect.name == "mysql":
                connection.execute(text("SET SESSION sql_mode = 'ANSI_QUOTES'"))
            found = [*self._counted(connection), *self._log(connection)]
            for query, words in _NONE_OF.items():
                rows = connection.execute(text(query)).fetchall()
                found += [f"{words}: {tuple(row)}" for row in rows]
            found += self._inlined(connection)
            files = connection.execute(text(_FILES)).fetchall()
            columns = connection.execute(
                text("SELECT table_id, column_id, column_name, column_type, begin_snapshot, end_snapshot FROM ducklake_column")
            ).fetchall()
            stats = connection.execute(
                text("SELECT data_file_id, column_id, value_count, null_count, min_value, max_value FROM ducklake_file_column_stats")
            ).fetchall()
        by_file: dict[int, list[Any]] = {}
        for row in stats:
            by_file.setdefault(row.data_file_id, []).append(row)
        for file in files:
            path = self._path(file)
            if path not in self._seen:
                self._seen.add(path)
                found += self._file(path, file, by_file.get(file.data_file_id, []), columns)
        return found

    def _counted(self, connection: Connection) -> list[str]:
        newest = connection.execute(
            text("SELECT snapshot_id, schema_version, next_catalog_id, next_file_id FROM ducklake_snapshot ORDER BY snapshot_id DESC")
        ).first()
        assert newest is not None
        before, self._counters = self._counters, (newest[0], newest[1], newest[2], newest[3])
        return (
            [f"counters went back from {before} to {self._counters}"]
            if any(a > b for a, b in zip(before, self._counters, strict=True))
            else []
        )

    def _log(self, connection: Connection) -> list[str]:
        rows = connection.execute(
            text("SELECT snapshot_id, changes_made FROM ducklake_snapshot_changes WHERE snapshot_id > :last"), {"last": self._logged}
        ).fetchall()
        self._logged = max([self._logged, *(row.snapshot_id for row in rows)])
        found = []
        for row in rows:
            changes = row.changes_made or ""
            entries = _ENTRY.findall(changes)
            rebuilt = ",".join(f"{kind}:{value}" for kind, value in entries)
            if rebuilt != changes or not {kind for kind, _ in entries} <= KINDS:
                found.append(f"snapshot {row.snapshot_id} has logged changes that DuckDB does not know: {changes}")
        return found

    def _inlined(self, connection: Connection) -> list[str]:
        registered = {row[0] for row in connection.execute(text("SELECT table_name FROM ducklake_inlined_data_tables"))}
        existing = set(inspect(connection).get_table_names())
        data = {name for name in existing if re.fullmatch(r"ducklake_inlined_data_\d+_\d+", name)}
        found = [f"inlined table {name} is not registered" for name in data - registered]
        found += [f"inlined table {name} is registered and does not exist" for name in registered - data]
        for name in registered & data:
            table_id = int(name.split("_")[3])
            greatest = connection.execute(text(f'SELECT max(row_id) FROM "{name}"')).scalar()
            following = connection.execute(
                text("SELECT max(next_row_id) FROM ducklake_table_stats WHERE table_id = :id"), {"id": table_id}
            ).scalar()
            if greatest is not None and (following is None or greatest >= following):
                found.append(f"{name} has row id {greatest}, and next_row_id is {following}")
        return found

    def _path(self, file: Any) -> str:
        if not file.path_is_relative:
            return str(file.path)
        root = self.catalog.data_path
        for part, relative in ((file.schema_path, file.schema_relative), (file.table_path, file.table_relative)):
            root = (root + part) if relative else part
        return str(root + file.path)

    def _file(self, path: str, file: Any, stats: Sequence[Any], columns: Sequence[Any]) -> list[str]:
        local = Path(path)
        if not local.exists():
            return [f"{path} does not exist"]
        content = local.read_bytes()
        found = []
        if len(content) != file.file_size_bytes:
            found.append(f"{path} has {len(content)} bytes, the catalog says {file.file_size_bytes}")
        if path.endswith(".puffin"):
            return found
        footer = int.from_bytes(content[-8:-4], "little")
        if file.footer_size is not None and footer != file.footer_size:
            found.append(f"{path} has a footer of {footer} bytes, the catalog says {file.footer_size}")
        parquet = pq.ParquetFile(local)
        if parquet.metadata.num_rows != file.record_count:
            found.append(f"{path} has {parquet.metadata.num_rows} rows, the catalog says {file.record_count}")
        if file.record_count == 0 and not parquet.metadata.created_by.startswith("DuckDB"):  # an UPDATE of no row by DuckDB leaves one
            found.append(f"{path} has no rows, and we have registered it")
        ids = {int((f.metadata or {}).get(b"PARQUET:field_id", b"-1")): f.name for f in parquet.schema_arrow}
        for row in stats:
            found += self._bounds(path, file, row, ids, columns)
        return found

    def _bounds(self, path: str, file: Any, stats: Any, ids: dict[int, str], columns: Sequence[Any]) -> list[str]:
        """Check that statistics contain the data. Missing statistics are always valid."""
        name = ids.get(stats.column_id)
        kind = next(
            (
                c.column_type
                for c in columns
                if (c.table_id, c.column_id) == (file.table_id, stats.column_id)
                and c.begin_snapshot <= file.begin_snapshot
                and (c.end_snapshot is None or c.end_snapshot > file.begin_snapshot)
            ),
            None,
        )
        if name is None or kind not in _COMPARED:
            return []
        quoted, cast = '"' + name.replace('"', '""') + '"', duckdb_name(DataType(kind))
        number, nulls, below, above = self.plain.execute(
            f"SELECT count({quoted}), count(*) - count({quoted}), count(*) FILTER (CAST({quoted} AS {cast}) < CAST($low AS {cast})), "
            f"count(*) FILTER (CAST({quoted} AS {cast}) > CAST($high AS {cast}){' AND NOT isnan(' + quoted + ')' if kind.startswith('float') else ''}) "
            "FROM read_parquet($path, hive_partitioning = false)",
            {"low": stats.min_value, "high": stats.max_value, "path": path},
        ).fetchone()  # type: ignore[misc]
        found = []
        if below or above:
            found.append(f"{path}: {below} values of {name} are below {stats.min_value!r}, {above} above {stats.max_value!r}")
        if stats.value_count is not None and (stats.value_count, stats.null_count) != (number, nulls):
            found.append(
                f"{path}: {name} has {number} values and {nulls} NULLs, the catalog says {stats.value_count} and {stats.null_count}"
            )
        return found


_FILES = """
SELECT f.data_file_id, f.table_id, f.begin_snapshot, f.path, f.path_is_relative, f.record_count, f.file_size_bytes, f.footer_size,
       t.path AS table_path, t.path_is_relative AS table_relative, s.path AS schema_path, s.path_is_relative AS schema_relative
FROM (SELECT data_file_id, table_id, begin_snapshot, path, path_is_relative, record_count, file_size_bytes, footer_size FROM ducklake_data_file
      UNION ALL
      SELECT -delete_file_id, table_id, begin_snapshot, path, path_is_relative, delete_count, file_size_bytes, footer_size FROM ducklake_delete_file) f
JOIN (SELECT DISTINCT table_id, path, path_is_relative, schema_id FROM ducklake_table) t ON t.table_id = f.table_id
JOIN ducklake_schema s ON s.schema_id = t.schema_id
"""

_NONE_OF = {
    "SELECT data_file_id, count(*) FROM ducklake_delete_file WHERE end_snapshot IS NULL GROUP BY data_file_id HAVING count(*) > 1": (
        "a data file has several live delete files"
    ),
    "SELECT f.data_file_id, f.row_id_start + f.record_count, s.next_row_id FROM ducklake_data_file f "
    "LEFT JOIN ducklake_table_stats s ON s.table_id = f.table_id "
    "WHERE f.row_id_start IS NOT NULL AND f.partial_max IS NULL AND (s.next_row_id IS NULL OR f.row_id_start + f.record_count > s.next_row_id)": (
        "a file has row ids that next_row_id will give again"
    ),
    "SELECT table_id, count(*) FROM ducklake_table WHERE end_snapshot IS NULL GROUP BY table_id HAVING count(*) > 1": "a table is live twice",
    "SELECT schema_id, lower(table_name), count(*) FROM ducklake_table WHERE end_snapshot IS NULL GROUP BY 1, 2 HAVING count(*) > 1": (
        "two tables of one name"
    ),
    "SELECT table_id, column_id, count(*) FROM ducklake_column WHERE end_snapshot IS NULL GROUP BY 1, 2 HAVING count(*) > 1": (
        "a column is live twice"
    ),
    "SELECT table_id, count(*) FROM ducklake_partition_info WHERE end_snapshot IS NULL GROUP BY 1 HAVING count(*) > 1": "two live partition specs",
    "SELECT view_id FROM ducklake_view WHERE column_aliases IS NULL": "column_aliases is NULL, which DuckDB cannot load",
    'SELECT table_id, "key" FROM ducklake_column_tag WHERE "key" <> \'comment\'': "a column tag that DuckDB cannot load",
    "SELECT data_file_id, count(*) FROM (SELECT data_file_id FROM ducklake_data_file UNION ALL SELECT delete_file_id FROM ducklake_delete_file) AS ids "
    "GROUP BY data_file_id HAVING count(*) > 1": "a file id is used twice",
    "SELECT table_id, schema_version, count(*) FROM ducklake_schema_versions GROUP BY 1, 2 HAVING count(*) > 1": "a schema version twice",
    **{
        f"SELECT '{table}', o.{name}, s.snapshot_id, s.schema_version FROM ducklake_{table} o JOIN ducklake_snapshot s ON s.snapshot_id IN (o.begin_snapshot, o.end_snapshot) "
        "JOIN ducklake_snapshot p ON p.snapshot_id = s.snapshot_id - 1 AND p.schema_version = s.schema_version": (
            "DuckDB caches definitions by schema version, and a snapshot changes them without a new one"
        )
        for table, name in (("schema", "schema_name"), ("table", "table_name"), ("view", "view_name"), ("column", "column_name"))
    },
    "SELECT i.table_name FROM ducklake_inlined_data_tables i JOIN ducklake_table t ON t.table_id = i.table_id WHERE t.end_snapshot IS NULL "
    "AND NOT EXISTS (SELECT 1 FROM ducklake_schema_versions v WHERE v.table_id = i.table_id AND v.schema_version = i.schema_version)": (
        "DuckDB reads the table's first columns, since the schema version of an inlined-data table has no row"
    ),
    "SELECT table_id, count(*) FROM ducklake_table_stats GROUP BY table_id HAVING count(*) > 1": "two rows of table statistics",
    "SELECT table_id, column_id, count(*) FROM ducklake_table_column_stats GROUP BY table_id, column_id HAVING count(*) > 1": (
        "two rows of statistics of one column"
    ),
    "SELECT t.table_id FROM ducklake_table t WHERE t.end_snapshot IS NULL AND NOT EXISTS "
    "(SELECT 1 FROM ducklake_schema_versions v WHERE v.table_id = t.table_id)": "a table has no schema version",
}
