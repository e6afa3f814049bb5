"""Options: the rows of `ducklake_metadata` equal those of DuckDB for every option and scope, without Spark and without a snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbt.adapters.ducklake.catalog.commit.options import set_options
from dbt.adapters.ducklake.errors import LakeError, NotFoundError, StatementError
from dbt.adapters.ducklake.format.options import StoredOption
from dbt.adapters.ducklake.session import LakeSession
from tests.interop import oracle
from tests.interop.catalog.conftest import Connect
from tests.places import CatalogPlace

SAME = [
    *(("parquet_compression", f"'{codec}'") for codec in ("uncompressed", "snappy", "GZIP", "Zstd", "brotli", "lz4", "lz4_raw")),
    *(("parquet_version", value) for value in ("1", "2", "'2'")),
    *(("parquet_compression_level", value) for value in ("0", "7", "'22'")),
    *(("parquet_row_group_size", value) for value in ("1", "1000", "'2048'")),
    *(("parquet_row_group_size_bytes", value) for value in ("'64MB'", "'64 MiB'", "'1.5kb'", "'10 bytes'")),
    *(("target_file_size", value) for value in ("'1GiB'", "'16MB'", "'16m'", "'1 gigabyte'", "'0.5TB'", "'512B'", "'3KiB'", "'none'")),
    *(("data_inlining_row_limit", value) for value in ("0", "100", "'7'")),
    *(("require_commit_message", value) for value in ("true", "1", "0", "false")),
    *(("hive_file_pattern", value) for value in ("false", "0", "1", "true")),
    *(
        (key, value)
        for key in ("auto_compact", "per_thread_output", "write_deletion_vectors", "sort_on_insert")
        for value in ("true", "false", "1", "0", "'true'", "'F'", "'no'")
    ),
    *(("rewrite_delete_threshold", value) for value in ("0.5", "1", "0", "'0.25'", "0.123456789")),
    *(
        (key, value)
        for key in ("expire_older_than", "delete_older_than")
        for value in (
            "'1 week'",
            "'7d'",
            "''",
            "'2 days 03:00:00'",
            "'1 month'",
            "'36 hours'",
            "'1 month 2 days'",
            "'90m'",
            "'1.5 hours'",
            "INTERVAL '7 days'",
        )
    ),
]
REFUSED = [
    ("parquet_compression", "'lzo'"),
    ("parquet_version", "3"),
    ("parquet_compression_level", "-1"),
    ("parquet_row_group_size", "0"),
    ("parquet_row_group_size", "'many'"),
    ("parquet_row_group_size_bytes", "'0MB'"),
    ("parquet_row_group_size_bytes", "1000"),
    ("target_file_size", "10"),
    ("target_file_size", "'10'"),
    ("target_file_size", "'10 apples'"),
    ("target_file_size", "'MB'"),
    ("data_inlining_row_limit", "-1"),
    ("hive_file_pattern", "'perhaps'"),
    ("auto_compact", "'perhaps'"),
    ("auto_compact", "NULL"),
    ("rewrite_delete_threshold", "1.5"),
    ("rewrite_delete_threshold", "-0.1"),
    ("expire_older_than", "'soon'"),
    ("data_path", "'/elsewhere'"),
    ("encrypted", "true"),
    ("no_such_option", "1"),
]
HARMFUL = [
    *((key, value) for key in ("delete_older_than", "expire_older_than") for value in ("'-3 days'", "'3 days ago'", "'1 day -2 days'")),
    *(("target_file_size", value) for value in ("'-1'", "'0MB'", "'0.5 bytes'")),
    ("parquet_row_group_size_bytes", "'-1'"),
    ("parquet_compression_level", "99999"),
    ("parquet_compression_level", "23"),
    ("parquet_row_group_size", "99999999999999999999"),
    ("data_inlining_row_limit", "99999999999999999999"),
    ("rewrite_delete_threshold", "'nan'"),
]
"""Values that DuckDB stores or overflows at, and that remove files too early, or make files that are useless or cannot be written."""


class Sides:
    """One lake, with our session and DuckDB on it."""

    def __init__(self, place: CatalogPlace) -> None:
        self.lake = place.lake()
        self.session: LakeSession = self.lake.session()
        self.place = place

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        options = self.session.catalog.options().rows
        return [tuple(getattr(row, column) for column in columns or ("key", "value", "scope", "scope_id")) for row in options]

    def close(self) -> None:
        self.session.close()
        self.lake.catalog.close()


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sides, duckdb.DuckDBPyConnection]]:
    directory: Path = tmp_path_factory.mktemp("options")
    both = Sides(CatalogPlace(f"ducklake:sqlite:{directory}/lake.sqlite", f"{directory}/files/"))
    duck = oracle.connect(both.place)
    yield both, duck
    duck.close()
    both.close()


@pytest.fixture
def ours(place: CatalogPlace) -> Iterator[Sides]:
    opened = Sides(place)
    yield opened
    opened.close()


@pytest.mark.parametrize(("key", "value"), SAME)
def test_the_stored_form_equals_that_of_duckdb(sides: tuple[Sides, duckdb.DuckDBPyConnection], key: str, value: str) -> None:
    both, duck = sides
    duck.execute(f"CALL lake.set_option('{key}', {value})")
    theirs = both.session.catalog.options().at(key)
    both.session.execute(f"CALL lake.set_option('{key.upper()}', {value})")
    assert both.session.catalog.options().at(key) == theirs
    assert [row[0] for row in both.rows("key")].count(key) == 1


@pytest.mark.parametrize(("key", "value"), REFUSED)
def test_values_that_duckdb_refuses_are_refused(sides: tuple[Sides, duckdb.DuckDBPyConnection], key: str, value: str) -> None:
    both, duck = sides
    before = both.rows()
    with pytest.raises(duckdb.Error):
        duck.execute(f"CALL lake.set_option('{key}', {value})")
    with pytest.raises(StatementError, match=f"option {key}"):
        both.session.execute(f"CALL lake.set_option('{key}', {value})")
    assert both.rows() == before


@pytest.mark.parametrize(("key", "value"), HARMFUL)
def test_harmful_values_are_refused(sides: tuple[Sides, duckdb.DuckDBPyConnection], key: str, value: str) -> None:
    before = sides[0].rows()
    with pytest.raises(StatementError, match=f"option {key} cannot be"):
        sides[0].session.execute(f"CALL lake.set_option('{key}', {value})")
    assert sides[0].rows() == before


@pytest.mark.parametrize("key", ["delete_older_than", "expire_older_than"])
@pytest.mark.parametrize("value", ["-3 days", "soon"])
def test_a_stored_grace_period_in_the_future_removes_nothing(ours: Sides, key: str, value: str) -> None:
    ours.session.execute("CREATE TABLE t (a INT)")
    orphan = Path(ours.session.catalog.data_path) / "main" / "t" / "being_written.parquet"
    orphan.parent.mkdir(parents=True)
    orphan.write_bytes(b"x")
    with ours.session.catalog.maintenance.database.writing() as connection:
        set_options(connection, [StoredOption(key, value)])
    procedures = ["expire_snapshots"] if key == "expire_older_than" else ["delete_orphaned_files", "cleanup_old_files"]
    for procedure in procedures:
        with pytest.raises(LakeError, match=f"option {key} of the lake has the value '{value}'.*set it again"):
            ours.session.execute(f"CALL {procedure}()")
    assert orphan.exists()
    assert len(ours.session.catalog.snapshots()) == 2


@pytest.mark.parity
def test_each_scope_has_its_row_and_no_snapshot_is_created(ours: Sides, duckdb_on: Connect) -> None:
    ours.session.execute("CREATE SCHEMA s")
    ours.session.execute("CREATE TABLE s.t (a INT)")
    ours.session.execute("CREATE TABLE u (a INT)")
    snapshot = ours.session.catalog.latest()
    for schema, value in (
        ("", "zstd"),
        (", schema => 's'", "gzip"),
        (", schema => 's', table_name => 'T'", "lz4"),
        (", table_name => 'u'", "brotli"),
    ):
        ours.session.execute(f"CALL ducklake_set_option('lake', 'parquet_compression', '{value}'{schema})")
    assert ours.session.catalog.latest() == snapshot
    rows = [row for row in ours.rows() if row[0] == "parquet_compression"]
    duck = duckdb_on()
    for schema, value in (
        ("", "zstd"),
        (", schema => 's'", "gzip"),
        (", schema => 's', table_name => 't'", "lz4"),
        (", table_name => 'u'", "brotli"),
    ):
        duck.execute(f"CALL lake.set_option('parquet_compression', '{value}'{schema})")
    assert [row for row in ours.rows() if row[0] == "parquet_compression"] == rows
    assert sorted((row[2] or "", row[1]) for row in rows) == [("", "zstd"), ("schema", "gzip"), ("table", "brotli"), ("table", "lz4")]


def test_options_are_listed_as_duckdb_lists_them(ours: Sides, duckdb_on: Connect) -> None:
    ours.session.execute("CREATE SCHEMA s")
    ours.session.execute("CREATE TABLE s.t (a INT)")
    duck = duckdb_on()
    ours.session.execute("CALL lake.set_option('target_file_size', '16MB')")
    ours.session.execute("CALL lake.set_option('target_file_size', '32MB', schema => 's')")
    duck.execute("CALL lake.set_option('auto_compact', false, schema => 's', table_name => 't')")
    for text in ("CALL lake.options()", "CALL ducklake_options('lake')"):
        listed = ours.session.execute(text)
        assert [column.name for column in listed.columns] == [
            each[0] for each in duck.execute("SELECT * FROM lake.options()").description or ()
        ]
        theirs = duck.execute("SELECT option_name, value, scope, scope_entry FROM lake.options()").fetchall()
        assert sorted((row[0], *row[2:]) for row in listed.fetch()) == sorted(theirs)
        assert all(row[1] for row in listed.fetch())


@pytest.mark.parity
def test_options_are_part_of_the_transaction(ours: Sides) -> None:
    ours.session.begin()
    ours.session.execute("CALL lake.set_option('parquet_version', 2)")
    assert ("parquet_version", "V2") in [(row[0], row[2]) for row in ours.session.execute("CALL lake.options()").fetch()]
    assert ours.session.catalog.options().at("parquet_version") is None
    ours.session.rollback()
    assert ours.session.catalog.options().at("parquet_version") is None
    ours.session.begin()
    ours.session.execute("CALL lake.set_option('parquet_version', 2)")
    assert ours.session.commit() is None
    assert ours.session.catalog.options().at("parquet_version") == "V2"


def test_properties_that_name_options_are_set_with_the_table(ours: Sides, duckdb_on: Connect) -> None:
    ours.session.execute("CREATE TABLE t (a INT) TBLPROPERTIES ('parquet_compression' = 'ZSTD', 'team' = 'x')")
    table = ours.session.catalog.reader().find("main", "t")
    assert table is not None
    assert ours.session.catalog.options().at("parquet_compression", "table", table.table_id) == "zstd"
    assert table.tags == {"dbt_ducklake.property.team": "x"}
    assert duckdb_on().execute("SELECT value, scope_entry FROM lake.options() WHERE scope = 'TABLE'").fetchall() == [("zstd", "main.t")]
    ours.session.execute("CREATE OR REPLACE TABLE t (b INT) OPTIONS (parquet_compression 'gzip', hive_file_pattern false)")
    assert [row for row in ours.rows() if row[2] == "table"] == [
        ("parquet_compression", "gzip", "table", table.table_id),
        ("hive_file_pattern", "false", "table", table.table_id),
    ]
    with pytest.raises(StatementError, match="parquet_version cannot be '9'"):
        ours.session.execute("CREATE TABLE u (a INT) TBLPROPERTIES ('parquet_version' = '9')")
    assert ours.session.catalog.reader().find("main", "u") is None


def test_tables_created_in_a_transaction_can_have_options(ours: Sides, duckdb_on: Connect) -> None:
    ours.session.begin()
    ours.session.execute("CREATE TABLE kept (a INT)")
    ours.session.execute("CREATE TABLE gone (a INT)")
    for name in ("kept", "gone"):
        ours.session.execute(f"CALL lake.set_option('parquet_version', 2, table_name => '{name}')")
    ours.session.execute("DROP TABLE gone")
    ours.session.commit()
    assert duckdb_on().execute("SELECT value, scope_entry FROM lake.options() WHERE scope = 'TABLE'").fetchall() == [("V2", "main.kept")]


@pytest.mark.parity
def test_an_inlining_limit_set_by_us_does_not_crash_duckdb_with_views(ours: Sides, duckdb_on: Connect) -> None:
    duck = duckdb_on()
    duck.execute("CREATE TABLE t (a INT)")
    duck.execute("CREATE VIEW v AS SELECT a FROM t")
    ours.session.execute("CALL lake.set_option('data_inlining_row_limit', 3)")
    ours.session.execute("CALL lake.set_option('data_inlining_row_limit', 2, schema => 'main')")
    again = duckdb_on()
    again.execute("INSERT INTO t VALUES (1), (2)")
    again.execute("INSERT INTO t SELECT range::INT FROM range(10)")
    assert again.execute("SELECT count(*) FROM v").fetchone() == (12,)
    assert again.execute("SELECT count(*) FROM glob(?)", [f"{ours.place.data_path}main/t/*.parquet"]).fetchone() == (1,)


def test_a_table_with_a_reserved_column_name_is_not_inlined(ours: Sides) -> None:
    ours.session.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
    ours.session.execute("CREATE TABLE t (row_id INT)")
    for scope in ("", ", schema => 'main'", ", table_name => 't'"):
        with pytest.raises(StatementError, match="column row_id"):
            ours.session.execute(f"CALL lake.set_option('data_inlining_row_limit', 5{scope})")
    ours.session.execute("CALL lake.set_option('data_inlining_row_limit', 0, table_name => 't')")
    ours.session.execute("CALL lake.set_option('data_inlining_row_limit', 5)")


def test_a_scope_must_exist(ours: Sides) -> None:
    with pytest.raises(NotFoundError, match="nope"):
        ours.session.execute("CALL lake.set_option('parquet_version', 2, schema => 'nope')")
    with pytest.raises(NotFoundError, match=r"main\.nope"):
        ours.session.execute("CALL lake.set_option('parquet_version', 2, table_name => 'nope')")
