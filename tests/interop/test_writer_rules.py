"""Rules for a second writer: what would crash or block DuckDB, and frequent mistakes. One lake with many changes, one rule per test.

Only we write to the lake, in all ways that we support, with some DDL; each test checks the catalog and the files.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from tests.catalogs import CatalogUnderTest
from tests.interop.differential.invariants import KINDS, Invariants
from tests.interop.oracle import connect

ROW_ID, SNAPSHOT_ID, PATH, POSITION = 2147483540, 2147483539, 2147483646, 2147483645
SCRIPT = (
    "CREATE TABLE t (a INT NOT NULL, s STRING DEFAULT 'x', n STRUCT<x: INT, y: STRING>, l ARRAY<INT>, m MAP<STRING, INT>, b BOOLEAN, z TIMESTAMP)",
    (
        "INSERT INTO t SELECT id, concat('s', id), named_struct('x', id, 'y', 'y'), array(id, NULL), map('k', id), id % 2 = 0, "
        "TIMESTAMP'2020-01-02 03:04:05.5+02:00' FROM range(0, 40)"
    ),
    "UPDATE t SET s = 'updated' WHERE a < 5",
    "DELETE FROM t WHERE a IN (7, 8)",
    "DELETE FROM t WHERE a = 9",
    (
        "MERGE INTO t USING (SELECT 10 AS a UNION ALL SELECT 100) AS s ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = NULL "
        "WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a)"
    ),
    "ALTER TABLE t ADD COLUMN c INT DEFAULT 7",
    "ALTER TABLE t DROP COLUMN c",
    "ALTER TABLE t ADD COLUMN c STRING",
    "COMMENT ON TABLE t IS 'of t'",
    "COMMENT ON COLUMN t.a IS 'of a'",
    "CREATE VIEW v AS SELECT a FROM t WHERE a >= 0",
    "COMMENT ON VIEW v IS 'of v'",
    "CREATE TABLE p (k INT, d DATE) PARTITIONED BY (k, year(d))",
    "INSERT INTO p SELECT id % 2, DATE'1969-12-31' FROM range(0, 30)",
    "INSERT INTO t (a) VALUES (200)",
    "ALTER TABLE t RENAME COLUMN s TO `S 2`",
    "CREATE OR REPLACE TABLE r AS SELECT a, l FROM t",
    "CREATE OR REPLACE TABLE r AS SELECT a, m FROM t",
    "TRUNCATE TABLE r",
    "CREATE SCHEMA s",
    "DROP SCHEMA s",
    "CREATE FUNCTION twice(x INT) RETURNS INT RETURN x * 2",
    "CREATE TABLE few (a INT)",
    "INSERT INTO few VALUES (1), (2)",
    "DELETE FROM t WHERE a = 1",
)
INLINED = "few"
"""The table whose rows are inlined."""


@dataclass
class Busy:
    """The lake after `SCRIPT` has run."""

    place: CatalogUnderTest
    file: Path
    snapshots: list[tuple[Any, ...]]
    """(snapshot id, schema version, next catalog id, next file id) of each snapshot."""
    violations: list[str]
    """The broken rules of the catalog, with the statement after which they were found."""

    def stored(self, query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.file)) as connection:
            return connection.execute(query).fetchall()

    def paths(self, table: str) -> list[Path]:
        """Return the paths of the files in `ducklake_data_file` or `ducklake_delete_file`."""
        root = Path(self.place.data_path)
        query = f"SELECT DISTINCT t.path, f.path FROM {table} f JOIN ducklake_table t USING (table_id)"
        return [root / "main" / directory / path for directory, path in self.stored(query)]


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory, runtime: SparkRuntime) -> Iterator[Busy]:
    directory = tmp_path_factory.mktemp("busy")
    place = CatalogUnderTest("sqlite", f"ducklake:sqlite:{directory}/lake.sqlite", f"{directory}/files/")
    lake = place.open(runtime)
    session = lake.session()
    session.execute("CALL set_option('data_inlining_row_limit', 0)")  # most rules are about files
    counters = "SELECT snapshot_id, schema_version, next_catalog_id, next_file_id FROM ducklake_snapshot ORDER BY 1"
    violations: list[str] = []
    with duckdb.connect() as plain:
        invariants = Invariants(lake.catalog, plain)
        for statement in SCRIPT:
            session.execute(statement)
            if statement.startswith(f"CREATE TABLE {INLINED} "):
                session.execute(f"CALL set_option('data_inlining_row_limit', 10, table_name => '{INLINED}')")
            violations += [f"{statement}: {words}" for words in invariants.violations()]
    with closing(sqlite3.connect(directory / "lake.sqlite")) as connection:
        snapshots = connection.execute(counters).fetchall()
    yield Busy(place, directory / "lake.sqlite", snapshots, violations)
    session.close()
    lake.catalog.close()


@pytest.fixture
def duck(busy: Busy) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = connect(busy.place)
    connection.execute("USE lake")
    yield connection
    connection.close()


# -- what crashes or blocks a DuckDB client -------------------------------------------------------------------------------------


def test_no_invariant_is_violated(busy: Busy) -> None:
    assert busy.violations == []


def test_changes_are_of_known_kinds(busy: Busy, duck: duckdb.DuckDBPyConnection) -> None:
    texts = [text for (text,) in busy.stored("SELECT changes_made FROM ducklake_snapshot_changes WHERE changes_made IS NOT NULL")]
    assert len(texts) >= len(SCRIPT) - 1, "only CREATE FUNCTION, which DuckDB does not know, has none"
    assert {kind for text in texts for kind in re.findall(r"(?:^|,)(\w+):", text)} <= KINDS
    assert len(duck.execute("FROM ducklake_snapshots('lake')").fetchall()) == len(SCRIPT) + 1


def test_view_aliases_are_never_null(busy: Busy, duck: duckdb.DuckDBPyConnection) -> None:
    assert busy.stored("SELECT count(*) FROM ducklake_view WHERE column_aliases IS NULL") == [(0,)]
    assert duck.execute("SELECT count(*) FROM v").fetchone() == (38,)


def test_functions_are_no_macros_of_another_dialect(busy: Busy) -> None:
    assert busy.stored("SELECT * FROM ducklake_macro_impl") == []


def test_column_tags_are_comments_only(busy: Busy) -> None:
    assert busy.stored("SELECT DISTINCT key FROM ducklake_column_tag") == [("comment",)]


def test_catalog_tables_equal_those_of_duckdb(busy: Busy, tmp_path: Path) -> None:
    twin = CatalogUnderTest("sqlite", f"ducklake:sqlite:{tmp_path}/twin.sqlite", f"{tmp_path}/files/")
    connect(twin).close()
    query = (
        "SELECT m.name, c.cid, c.name, c.type FROM sqlite_master m, pragma_table_info(m.name) c "
        "WHERE m.type = 'table' AND m.name NOT GLOB 'ducklake_inlined_*[0-9]' ORDER BY 1, 2"
    )
    with closing(sqlite3.connect(tmp_path / "twin.sqlite")) as connection:
        assert busy.stored(query) == connection.execute(query).fetchall()


def test_the_version_is_one_that_duckdb_reads(busy: Busy) -> None:
    assert busy.stored("SELECT value FROM ducklake_metadata WHERE key = 'version'") == [("1.0",)]


def test_a_data_file_has_at_most_one_live_delete_file(busy: Busy) -> None:
    query = "SELECT data_file_id FROM ducklake_delete_file WHERE end_snapshot IS NULL GROUP BY 1 HAVING count(*) > 1"
    assert busy.stored(query) == []


def test_positions_ascend_and_are_not_null(busy: Busy) -> None:
    files = busy.paths("ducklake_delete_file")
    assert files
    for path in files:
        positions = pq.read_table(path).column("pos").to_pylist()
        assert None not in positions
        assert positions == sorted(set(positions))


def test_every_node_of_a_file_has_its_field_id(busy: Busy) -> None:
    def nodes(field: pa.Field) -> Iterator[pa.Field]:
        yield field
        kind = field.type
        is_map = pa.types.is_map(kind)  # the repeated group between the map and its key has no id
        for child in [kind.key_field, kind.item_field] if is_map else [kind.field(index) for index in range(kind.num_fields)]:
            yield from nodes(child)

    for path in busy.paths("ducklake_data_file"):
        for field in pq.read_schema(path):
            for node in nodes(field):
                assert b"PARQUET:field_id" in (node.metadata or {}), f"{node} of {path}"


def test_no_file_needs_a_name_mapping(busy: Busy) -> None:
    assert busy.stored("SELECT count(*) FROM ducklake_data_file WHERE mapping_id IS NOT NULL") == [(0,)]


def test_delete_files_of_several_snapshots_have_snapshot_ids(busy: Busy) -> None:
    assert busy.stored("SELECT count(*) FROM ducklake_data_file WHERE partial_max IS NOT NULL") == [(0,)]
    several = {path for (path,) in busy.stored("SELECT path FROM ducklake_delete_file WHERE partial_max IS NOT NULL")}
    files = busy.paths("ducklake_delete_file")
    assert set() < several < {path.name for path in files}, "SCRIPT has delete files of both kinds"
    for path in files:
        fields = {int(f.metadata[b"PARQUET:field_id"]) for f in pq.read_schema(path)}
        assert fields == {PATH, POSITION, *([SNAPSHOT_ID] if path.name in several else [])}


def test_definitions_increment_the_schema_version(busy: Busy) -> None:
    definitions = ("ALTER", "COMMENT", "CREATE", "DROP")
    for statement, (_, old, *_), (_, new, *_) in zip(SCRIPT, busy.snapshots, busy.snapshots[1:], strict=False):
        if statement.split()[0] in definitions:
            assert new == old + 1, statement


def test_new_rows_increment_the_file_counter(busy: Busy) -> None:
    for statement, (*_, old), (*_, new) in zip(SCRIPT, busy.snapshots, busy.snapshots[1:], strict=False):
        if statement.startswith(("INSERT", "UPDATE", "MERGE")) and INLINED not in statement:
            assert new > old, statement


def test_inlined_tables_are_registered_with_their_schema_version(busy: Busy) -> None:
    inlined = busy.stored("SELECT table_id, table_name, schema_version FROM ducklake_inlined_data_tables")
    assert inlined
    for table_id, name, version in inlined:
        assert name == f"ducklake_inlined_data_{table_id}_{version}"
        query = f"SELECT 1 FROM ducklake_schema_versions WHERE table_id = {table_id} AND schema_version = {version}"
        assert busy.stored(query), name


def test_values_have_the_declared_types(busy: Busy) -> None:
    """DuckDB's SQLite scanner refuses text in a BIGINT column, and a time without `+00` would be read in the reader's zone."""
    for table, column in busy.stored(
        "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.type = 'BIGINT'"
    ):
        assert {kind for (kind,) in busy.stored(f'SELECT DISTINCT typeof("{column}") FROM "{table}"')} <= {"integer", "null"}, (
            table,
            column,
        )
    for (time,) in busy.stored("SELECT snapshot_time FROM ducklake_snapshot"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00", time)


# -- frequent mistakes ---------------------------------------------------------------------------------------------------------


def test_the_footer_size_excludes_the_last_eight_bytes(busy: Busy) -> None:
    for path, size in busy.stored("SELECT path, footer_size FROM ducklake_data_file"):
        (file,) = (found for found in busy.paths("ducklake_data_file") if str(found).endswith(path))
        assert int.from_bytes(file.read_bytes()[-8:-4], "little") == size


def test_partition_ids_and_tables_share_a_counter(busy: Busy) -> None:
    ids = busy.stored("SELECT partition_id FROM ducklake_partition_info UNION ALL SELECT DISTINCT table_id FROM ducklake_table")
    ids += busy.stored("SELECT DISTINCT view_id FROM ducklake_view UNION ALL SELECT schema_id FROM ducklake_schema")
    assert len(set(ids)) == len(ids)
    assert max(ids)[0] < busy.snapshots[-1][2]


def test_date_parts_are_calendar_values(busy: Busy) -> None:
    assert {
        value for (value,) in busy.stored("SELECT partition_value FROM ducklake_file_partition_value WHERE partition_key_index = 1")
    } == {"1969"}


def test_a_missing_default_is_stored_as_the_text_null(busy: Busy) -> None:
    assert busy.stored("SELECT DISTINCT default_value FROM ducklake_column WHERE column_name = 'a'") == [("NULL",)]


def test_scheduled_files_are_relative_to_the_data_path(busy: Busy) -> None:
    scheduled = busy.stored("SELECT path, path_is_relative FROM ducklake_files_scheduled_for_deletion")
    for path, relative in scheduled:
        assert relative
        assert (Path(busy.place.data_path) / path).exists()
    assert scheduled, "the second DELETE replaces a delete file"


def test_a_column_that_is_added_again_has_a_new_id(busy: Busy) -> None:
    assert len(busy.stored("SELECT DISTINCT column_id FROM ducklake_column WHERE column_name = 'c'")) == 2


def test_updates_keep_row_ids(duck: duckdb.DuckDBPyConnection) -> None:
    assert duck.execute("SELECT count(*) FROM t WHERE a < 40 AND rowid <> a").fetchone() == (0,)
    feed = duck.execute(
        "SELECT change_type, count(*) FROM ducklake_table_changes('lake', 'main', 't', 3, 3) GROUP BY 1 ORDER BY 1"
    ).fetchall()
    assert feed == [("update_postimage", 5), ("update_preimage", 5)]


def test_uuids_are_lower_case_texts(busy: Busy) -> None:
    for table, column in (("ducklake_table", "table_uuid"), ("ducklake_schema", "schema_uuid"), ("ducklake_view", "view_uuid")):
        for (value,) in busy.stored(f"SELECT {column} FROM {table}"):
            assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", value)
