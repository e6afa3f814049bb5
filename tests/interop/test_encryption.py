"""Encrypted lakes: both sides read and write the same files, no file has plain rows, and no key is shown.

`DUCKLAKE_TEST_ENCRYPTED=true pytest tests/interop` runs the other tests of this folder on encrypted lakes too.
"""

from __future__ import annotations

import base64
import logging
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from pyarrow.parquet.encryption import create_decryption_properties

from dbt.adapters.ducklake.errors import ConfigurationError, LakeError, MissingFileError, StatementError
from dbt.adapters.ducklake.format.objects import Table
from dbt.adapters.ducklake.session import Lake, LakeSession, LakeSettings
from dbt.adapters.ducklake.spark.encrypted import duckdb_files, notice
from dbt.adapters.ducklake.spark.read import encrypted as encrypted_read
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from dbt.adapters.ducklake.spark.session.settings import SparkSettings
from tests.catalogs import CatalogUnderTest, session_on
from tests.interop.conftest import Both
from tests.interop.oracle import connect as connect_duckdb
from tests.interop.oracle import reattach

MARKER = "GEHEIMNIS"
"""A value that is in tables of these tests and must be in no file."""


@pytest.fixture
def lake(catalog: CatalogUnderTest, runtime: SparkRuntime) -> Iterator[LakeSession]:
    """A session on an empty encrypted lake that writes all rows to files."""
    with session_on(catalog.open(runtime, encrypted=True, data_inlining_row_limit=0)) as session:
        yield session


@pytest.fixture
def both(catalog: CatalogUnderTest, lake: LakeSession) -> Iterator[Both]:
    duck = connect_duckdb(catalog, encrypted=True, data_inlining_row_limit=0)
    duck.execute("USE lake")
    yield Both(lake, duck)
    duck.close()


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def plain_files(folder: Path) -> list[str]:
    """Return the files with a marker, or that a Parquet library could read without a key."""
    return [
        name
        for name, content in files_below(folder).items()
        if MARKER.encode() in content or content[:4] == b"PAR1" or content[-4:] == b"PAR1"
    ]


def keys(session: LakeSession) -> list[str]:
    """Return all keys in the catalog, in base64 and as hexadecimal digits."""
    with session.catalog._database.reading() as connection:
        found = [
            row[0]
            for table in ("ducklake_data_file", "ducklake_delete_file")
            for row in connection.exec_driver_sql(f"SELECT encryption_key FROM {table}")
        ]
    return [*found, *(base64.b64decode(key).hex() for key in found)]


def test_both_sides_change_one_table_in_turn(both: Both, tmp_path: Path) -> None:
    both.spark(f"CREATE TABLE t AS SELECT CAST(id AS INT) AS id, concat('{MARKER}', id) AS v FROM range(100)")
    assert len(both.rows("SELECT * FROM t")) == 100
    both.duckdb("INSERT INTO t SELECT i::INTEGER, 'd' || i FROM range(100, 200) r(i)")
    both.spark("DELETE FROM t WHERE id % 10 = 0")
    both.duckdb("DELETE FROM t WHERE id % 10 = 1")
    both.spark("UPDATE t SET v = concat(v, '+') WHERE id % 10 = 2")
    both.duckdb("UPDATE t SET v = v || '-' WHERE id % 10 = 3")
    both.spark("DELETE FROM t WHERE id % 10 = 4")
    merge = "MERGE INTO t USING (SELECT {n} AS id, 'm' AS v) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)"
    for number in (5, 1000):
        both.spark(merge.format(n=number))
        both.duckdb(merge.format(n=number + 1))
    assert len(both.rows("SELECT rowid, * FROM t")) == 142
    both.check_history("t")
    last = both.snapshots() - 1
    both.rows(f"SELECT * FROM lake.table_changes('t', 1, {last})")
    assert plain_files(tmp_path) == []


@pytest.mark.nightly
def test_maintenance_keeps_rows_row_ids_and_history(both: Both, catalog: CatalogUnderTest, tmp_path: Path) -> None:
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 5)")
    both.spark("CREATE TABLE t (id INT, p STRING, v STRING)")
    both.spark("ALTER TABLE t SET PARTITIONED BY (p)")
    for number in range(3):
        both.spark(f"INSERT INTO t SELECT id + {number * 20}, concat('p', id % 2), '{MARKER}' FROM range(20)")
        both.duckdb(f"INSERT INTO t SELECT (i + {1000 + number * 20})::INTEGER, 'p' || (i % 2), 'd' FROM range(20) r(i)")
    both.spark("INSERT INTO t VALUES (7000, 'p0', 'inlined')")
    both.duckdb("DELETE FROM t WHERE id IN (3, 1003, 7000)")
    query = "SELECT rowid, id, p, v FROM t"
    before = both.rows(query)
    for call in (
        "ducklake_flush_inlined_data('lake')",
        "ducklake_merge_adjacent_files('lake')",
        "ducklake_rewrite_data_files('lake', delete_threshold => 0)",
    ):
        both.spark(f"CALL {call}")
        assert both.rows(query) == before, call
        reattach(both.duck, catalog)  # DuckDB keeps a list of inlined-data tables, and the flush has dropped an empty one
        both.check_history("t")
    both.duckdb("UPDATE t SET v = 'after' WHERE id < 10")
    both.duckdb("CALL ducklake_merge_adjacent_files('lake')")
    both.duckdb("CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)")
    assert len(both.rows(query)) == len(before)
    both.check_history("t")
    assert plain_files(tmp_path / "lake_files") == []  # inlined rows are in the catalog, which is not encrypted
    assert not [name for name in files_below(tmp_path / "lake_files") if "p=" in name]


def test_a_rollback_and_a_clone_keep_the_keys_of_their_files(both: Both, tmp_path: Path) -> None:
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 5)")
    both.duckdb("CREATE TABLE t AS SELECT i::INTEGER AS id, 'd' || i AS v FROM range(50) r(i)")
    both.duckdb("INSERT INTO t VALUES (100, 'inlined')")
    both.duckdb("INSERT INTO t VALUES (101, 'inlined')")
    both.spark("CALL ducklake_flush_inlined_data('lake')")
    both.spark("DELETE FROM t WHERE id = 1")
    good, before = both.snapshots() - 1, both.rows("SELECT * FROM t")
    both.duckdb("DELETE FROM t WHERE id < 20")
    both.spark("CALL ducklake_merge_adjacent_files('lake')")
    both.spark("TRUNCATE TABLE t")
    both.spark(f"CALL ducklake_rollback('lake', table_name => 't', version => {good})")
    assert both.rows("SELECT * FROM t") == before
    both.spark("CALL ducklake_clone('lake', table_name => 't', into => 'main.copy')")
    both.duckdb("UPDATE copy SET v = 'changed' WHERE id = 30")
    both.spark("DELETE FROM t WHERE id = 40")
    assert (30, "changed") in both.rows("SELECT * FROM copy")
    both.spark("CALL ducklake_rewrite_data_files('lake', table_name => 't', delete_threshold => 0)")
    assert both.rows("SELECT * FROM t") == [row for row in before if row[0] != 40]
    assert plain_files(tmp_path / "lake_files") == []


def test_statistics_are_those_of_duckdb(both: Both) -> None:
    columns = (
        "id INTEGER, flag BOOLEAN, small UTINYINT, big UBIGINT, d DECIMAL(9, 2), f DOUBLE, s VARCHAR, b BLOB, day DATE, t TIMESTAMP, z TIMESTAMPTZ, "
        "clock TIME, u UUID, l VARCHAR[], st STRUCT(a INTEGER, b DOUBLE[]), m MAP(VARCHAR, DATE)"
    )
    both.duckdb(f"CREATE TABLE theirs ({columns})")
    both.duckdb(f"CREATE TABLE ours ({columns})")
    both.duckdb(
        "INSERT INTO theirs SELECT i, i % 2 = 0, i, i * 1000000000, i / 7, CASE WHEN i = 3 THEN 'nan' ELSE i / 3 END, repeat('x', i * 20), "
        "encode('b' || i), DATE '2020-01-01' + i::INTEGER, TIMESTAMP '2020-01-01 00:00:00.5' + i * INTERVAL 1 HOUR, TIMESTAMPTZ '1900-01-01 00:00:00+00' + "
        "i * INTERVAL 1 DAY, TIME '00:00:01.25', uuid(), ['a' || i, NULL], {'a': i, 'b': [i / 2]}, MAP {'k': DATE '2000-01-01'} FROM range(30) r(i)"
    )
    both.duckdb("INSERT INTO theirs (id) VALUES (NULL)")
    both.duckdb("CALL ducklake_merge_adjacent_files('lake')")
    both.spark("INSERT INTO ours SELECT * FROM theirs")
    query = (
        "SELECT c.column_name, s.value_count, s.null_count, s.min_value, s.max_value, s.contains_nan, s.extra_stats FROM "
        "__ducklake_metadata_lake.ducklake_file_column_stats s JOIN __ducklake_metadata_lake.ducklake_column c USING (table_id, column_id) "
        "JOIN __ducklake_metadata_lake.ducklake_table t USING (table_id) JOIN __ducklake_metadata_lake.ducklake_data_file f USING (data_file_id) "
        "WHERE t.table_name = '{}' AND f.end_snapshot IS NULL ORDER BY s.column_id"
    )
    wanted = both.duck.execute(query.format("theirs")).fetchall()
    assert len(wanted) == 18
    assert both.duck.execute(query.format("ours")).fetchall() == wanted
    assert len(both.rows("SELECT id FROM ours WHERE s > 'xxx'")) == len(both.rows("SELECT id FROM theirs WHERE s > 'xxx'"))


@pytest.mark.nightly
def test_renamed_promoted_and_nested_columns_of_old_files(both: Both) -> None:
    both.duckdb("CREATE TABLE t (id INTEGER, a SMALLINT, st STRUCT(x INTEGER, y VARCHAR), l STRUCT(z INTEGER)[])")
    both.duckdb("INSERT INTO t SELECT i, i, {'x': i, 'y': 'y'}, [{'z': i}, NULL] FROM range(3) r(i)")
    both.duckdb("INSERT INTO t VALUES (9, NULL, NULL, NULL)")
    for change in (
        "ALTER TABLE t RENAME COLUMN a TO b",
        "ALTER TABLE t ADD COLUMN a VARCHAR DEFAULT 'new'",
        "ALTER TABLE t ALTER COLUMN b SET TYPE BIGINT",
        "ALTER TABLE t RENAME COLUMN st.x TO xx",
        "ALTER TABLE t ADD COLUMN st.x DOUBLE",
        "ALTER TABLE t DROP COLUMN st.y",
        "ALTER TABLE t ADD COLUMN file_row_number INTEGER",
    ):
        both.duckdb(change)
    both.duckdb("INSERT INTO t SELECT 5, 2000000000000, {'xx': 1, 'x': 0.5}, [], 'a', 7")
    both.rows("SELECT * FROM t")
    both.spark("UPDATE t SET a = 'ours' WHERE id IN (1, 9)")
    assert len(both.rows("SELECT rowid, * FROM t")) == 5
    both.check_history("t")


def test_a_path_that_is_a_pattern_and_odd_names(both: Both) -> None:
    both.spark("CREATE SCHEMA `a[b]*?`")
    both.spark("CREATE TABLE `a[b]*?`.t AS SELECT 1 AS `x\"y'z`, named_struct('a b', 2) AS `s.t`")
    both.spark("INSERT INTO `a[b]*?`.t VALUES (2, NULL)")
    assert both.rows('SELECT * FROM "a[b]*?".t', "SELECT * FROM `a[b]*?`.t") == [(1, [["a b", 2]]), (2, None)]


def test_many_files_are_read_in_several_tasks_and_functions(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encrypted_read, "TASK_BYTES", 1000)
    monkeypatch.setattr(encrypted_read, "FUNCTION_CHARACTERS", 1500)
    both.duckdb("CREATE TABLE t (id INTEGER)")
    for number in range(12):
        both.duckdb(f"INSERT INTO t SELECT i + {number * 10} FROM range(10) r(i)")
    both.spark("DELETE FROM t WHERE id % 25 = 0")
    assert len(both.rows("SELECT rowid, id, filename, file_row_number FROM t")) == 115


def test_spark_does_not_take_a_large_encrypted_table_for_a_small_one(both: Both) -> None:
    both.duckdb("CREATE TABLE t AS SELECT md5(i::VARCHAR) || md5((-i)::VARCHAR) AS v FROM range(300000) r(i)")
    plan = "\n".join(row[0] for row in both.session.execute("EXPLAIN SELECT count(*) FROM t a JOIN t b ON a.v = b.v").fetch())
    assert "Broadcast" not in plan


def test_large_results_are_split_into_files(lake: LakeSession, catalog: CatalogUnderTest) -> None:
    lake.execute("CALL lake.set_option('target_file_size', '100KB')")
    lake.execute("CREATE TABLE t AS SELECT id, uuid() AS v FROM range(0, 20000, 1, 1)")
    files = lake.execute("SELECT data_file FROM lake.list_files('t')").fetch()
    assert len(files) > 3
    with connect_duckdb(catalog) as duck:
        assert duck.execute("SELECT count(DISTINCT id), count(DISTINCT v) FROM lake.t").fetchone() == (20000, 20000)


def test_a_level_that_duckdb_stores_and_cannot_write_is_ignored(both: Both, caplog: pytest.LogCaptureFixture) -> None:
    both.duckdb("CALL lake.set_option('parquet_compression', 'zstd')")
    both.duckdb("CALL lake.set_option('parquet_compression_level', 99999)")
    with pytest.raises(duckdb.Error, match="Compression level must be between"):
        both.duckdb("CREATE TABLE theirs AS SELECT 1 AS id")
    both.spark("CREATE TABLE t AS SELECT id FROM range(100)")
    both.spark("INSERT INTO t VALUES (100)")
    assert both.rows("SELECT * FROM t") == [(number,) for number in range(101)]
    assert "parquet_compression_level is 99999, but no codec has a level above 22; it is ignored" in caplog.text


def test_a_failed_write_leaves_no_files(lake: LakeSession, tmp_path: Path) -> None:
    lake.execute("CREATE TABLE t (id INT NOT NULL, j JSON)")
    before = files_below(tmp_path / "lake_files")
    with pytest.raises(Exception, match="NOT NULL"):
        lake.execute("INSERT INTO t SELECT IF(id = 900, NULL, id), NULL FROM range(1000)")
    with pytest.raises(Exception, match="json"):
        lake.execute("INSERT INTO t SELECT id, IF(id = 900, '{', '1') FROM range(1000)")
    assert files_below(tmp_path / "lake_files") == before


def test_nested_variants_are_refused_and_others_work(both: Both) -> None:
    both.spark('CREATE TABLE v AS SELECT id, parse_json(concat(\'{"a": \', id, \', "b": [1, "x"]}\')) AS v FROM range(5)')
    assert both.rows("SELECT id, v.a::INTEGER, v.b[2]::VARCHAR FROM v", "SELECT id, v:a::int, v:b[1]::string FROM v")[3] == (3, 3, "x")
    both.spark("CREATE TABLE nested (l ARRAY<VARIANT>)")
    with pytest.raises(StatementError, match="column l contains a variant in a list, which DuckDB cannot write to an encrypted file"):
        both.spark("INSERT INTO nested SELECT array(parse_json('1')) FROM range(2)")


def test_added_files_are_refused_because_nobody_could_read_the_table(both: Both, tmp_path: Path) -> None:
    duckdb.execute(f"COPY (SELECT 7::INTEGER AS id) TO '{tmp_path}/plain.parquet'")
    both.duckdb("CREATE TABLE t AS SELECT 1::INTEGER AS id")
    with pytest.raises(LakeError, match="the lake is encrypted, and files that are added are not"):
        both.spark(f"CALL ducklake_add_data_files('lake', 't', '{tmp_path}/plain.parquet')")
    both.duckdb(f"CALL ducklake_add_data_files('lake', 't', '{tmp_path}/plain.parquet')")
    with pytest.raises(duckdb.InvalidInputException, match="does not have an encryption key"):
        both.duck.execute("SELECT * FROM t").fetchall()


def test_deletes_are_encrypted_even_if_the_lake_wants_deletion_vectors(both: Both, tmp_path: Path) -> None:
    both.duckdb("CALL lake.set_option('write_deletion_vectors', true)")
    both.duckdb("CREATE TABLE t AS SELECT i AS id FROM range(20) r(i)")
    both.spark("DELETE FROM t WHERE id = 1")
    both.duckdb("CREATE TABLE u AS SELECT i AS id FROM range(20) r(i)")
    both.duckdb("DELETE FROM u WHERE id = 1")
    assert len(both.rows("SELECT * FROM t")) == len(both.rows("SELECT * FROM u")) == 19
    both.spark("DELETE FROM u WHERE id = 2")
    assert len(both.rows("SELECT * FROM u")) == 18
    names = files_below(tmp_path / "lake_files")
    assert [name.rpartition(".")[2] for name in names if "-delete" in name].count("puffin") == 1  # DuckDB's own, which it never encrypts


def test_keys_are_in_no_plan_log_and_error(both: Both, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    caplog.set_level(logging.DEBUG, "dbt")
    caplog.set_level(logging.DEBUG, "pyspark")
    both.spark(f"CREATE TABLE t AS SELECT id, '{MARKER}' AS v FROM range(50)")
    both.spark("DELETE FROM t WHERE id = 1")
    shown = [
        str(both.session.execute(f"EXPLAIN {mode} SELECT * FROM t").fetch()) for mode in ("", "EXTENDED", "FORMATTED", "COST", "CODEGEN")
    ]
    reader = both.session.catalog.reader()
    shown.append(repr([reader.scan_plan(table) for table in reader.relations("main") if isinstance(table, Table)]))
    for path in (tmp_path / "lake_files").rglob("*.parquet"):
        path.write_bytes(path.read_bytes()[:-40] + bytes(32) + path.read_bytes()[-8:])
    with pytest.raises(LakeError) as error:
        both.session.execute("SELECT * FROM t").fetch()
    shown += [str(error.value), repr(error.value), caplog.text]
    found = keys(both.session)
    assert len(found) == 4
    assert [key for key in found for text in shown if key in text] == []


class TestBadInput:
    @pytest.fixture
    def with_rows(self, lake: LakeSession) -> LakeSession:
        lake.execute("CREATE TABLE t AS SELECT id FROM range(100)")
        return lake

    def change(self, session: LakeSession, assignment: str) -> None:
        with session.catalog._database.writing() as connection:
            connection.exec_driver_sql(f"UPDATE ducklake_data_file SET {assignment}")

    def test_a_wrong_key(self, with_rows: LakeSession) -> None:
        self.change(with_rows, f"encryption_key = '{base64.b64encode(bytes(16)).decode()}'")
        with pytest.raises(
            LakeError, match=r"ducklake-.*\.parquet cannot be read: its key in the catalog is wrong, or the file is damaged"
        ):
            with_rows.execute("SELECT * FROM t").fetch()

    @pytest.mark.parametrize("key", ["no base64", "AAAA", ""])
    def test_a_key_that_is_no_key(self, with_rows: LakeSession, key: str) -> None:
        self.change(with_rows, f"encryption_key = '{key}'")
        with pytest.raises(LakeError, match=r"no valid encryption_key for the file .*parquet: it is not 16, 24 or 32 bytes in base64"):
            with_rows.execute("SELECT * FROM t").fetch()

    def test_a_damaged_page(self, with_rows: LakeSession) -> None:
        (path,) = [row[0] for row in with_rows.execute("SELECT data_file FROM lake.list_files('t')").fetch()]
        content = bytearray(Path(path).read_bytes())
        content[60] ^= 1
        Path(path).write_bytes(content)
        with pytest.raises(
            LakeError, match=r"ducklake-.*\.parquet cannot be read: its key in the catalog is wrong, or the file is damaged"
        ):
            with_rows.execute("SELECT * FROM t").fetch()

    def test_a_missing_file(self, with_rows: LakeSession) -> None:
        query = with_rows.execute("SELECT * FROM t")
        (path,) = [row[0] for row in with_rows.execute("SELECT data_file FROM lake.list_files('t')").fetch()]
        os.remove(path)
        with pytest.raises(MissingFileError, match="is missing"):  # known when the rows are read
            query.fetch()

    @pytest.mark.usefixtures("with_rows")
    def test_a_missing_package(self, catalog: CatalogUnderTest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setitem(sys.modules, "duckdb", None)
        with pytest.raises(duckdb_files.EncryptedFileError, match=re.escape("has no package duckdb: pip install 'dbt-ducklake[duckdb]'")):
            duckdb_files.connect()
        monkeypatch.undo()
        found = __import__("importlib.util").util.find_spec
        monkeypatch.setattr(
            "importlib.util.find_spec", lambda name, *more: None if name == "duckdb_extension_httpfs" else found(name, *more)
        )
        for place in (catalog, CatalogUnderTest("sqlite", f"ducklake:sqlite:{tmp_path}/new.sqlite", f"{tmp_path}/new/")):
            with pytest.raises(ConfigurationError, match=r"lacks duckdb-extension-httpfs: pip install 'dbt-ducklake\[duckdb\]'"):
                place.open(encrypted=True)
        with sqlite3.connect(tmp_path / "new.sqlite") as connection:
            assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)

    @pytest.mark.usefixtures("lake")
    def test_a_lake_that_is_not_as_the_profile_says(self, catalog: CatalogUnderTest, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match="the lake is encrypted, but the profile has `encrypted: false`"):
            catalog.open(encrypted=False)
        catalog.open().close_catalogs()
        plain = CatalogUnderTest("sqlite", f"ducklake:sqlite:{tmp_path}/plain.sqlite", f"{tmp_path}/plain/")
        plain.open(encrypted=False).close_catalogs()
        with pytest.raises(ConfigurationError, match="the lake is not encrypted, but the profile has `encrypted: true`"):
            plain.open(encrypted=True)


def test_an_encrypted_lake_that_is_attached_to_a_plain_one(runtime: SparkRuntime, tmp_path: Path) -> None:
    attached = LakeSettings(
        f"{tmp_path}/secret.sqlite", f"{tmp_path}/secret/", database="secret", encrypted=True, data_inlining_row_limit=0
    )
    settings = LakeSettings(f"{tmp_path}/plain.sqlite", f"{tmp_path}/plain/", attached=(attached,), data_inlining_row_limit=0)
    lake = Lake.open(settings, runtime)
    with session_on(lake) as session:
        session.execute(f"CREATE TABLE secret.main.t AS SELECT id, '{MARKER}' AS v FROM range(9)")
        session.execute("CREATE TABLE lake.main.ids AS SELECT id FROM secret.main.t")
        assert len(session.execute("SELECT * FROM secret.main.t JOIN lake.main.ids USING (id)").fetch()) == 9
        assert plain_files(tmp_path / "secret") == []
        assert len(plain_files(tmp_path / "plain")) == 1
        lake.catalog_of("secret").close()


def test_the_costs_are_told_once(lake: LakeSession, caplog: pytest.LogCaptureFixture) -> None:
    notice._announce.cache_clear()
    for number in range(2):
        lake.execute(f"CREATE TABLE t{number} AS SELECT id FROM range(10)")
        lake.execute(f"SELECT * FROM t{number}").fetch()
    told = [record.getMessage() for record in caplog.records if record.name == notice.__name__]
    assert told[0].startswith("The lake is encrypted:")
    assert "Spark's own temporary files (shuffles, spilled and cached rows) are not encrypted" in told[1]  # the Spark of the tests
    assert len(told) == 2


@pytest.mark.nightly
def test_no_file_of_a_process_has_plain_rows_at_any_time(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "spark").mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "DUCKLAKE_TEST_ENCRYPTED"}
    result = subprocess.run(
        [sys.executable, "-m", "tests.interop.encrypted_session", str(tmp_path), str(tmp_path / "files")],
        cwd=Path(__file__).parents[2],
        env={**environment, "TMPDIR": str(tmp_path / "tmp")},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert result.returncode == 0, result.stderr
    found, seen = result.stdout.splitlines()
    assert found == "[]"
    assert {".parquet", ".data"} <= set(eval(seen))  # files of the lake, and files of Spark's shuffles
    assert "GEHEIMNIS" not in result.stderr


def test_a_local_spark_encrypts_its_temporary_files() -> None:
    local, remote = SparkSettings(), SparkSettings(master=None, remote="sc://host:15002")
    assert local.with_encrypted_files().launch_config()["spark.io.encryption.enabled"] == "true"
    assert remote.with_encrypted_files() == remote
    own = SparkSettings(config={"spark.io.encryption.enabled": "false"})
    assert own.with_encrypted_files() == own


def test_parquet_libraries_cannot_decrypt_what_duckdb_encrypts(both: Both) -> None:
    """DuckDB omits the additional authenticated data of the Parquet specification. If this test fails, Spark could read the files itself."""
    both.duckdb("CREATE TABLE t AS SELECT range AS a FROM range(1000)")
    path, key = both.duck.execute("SELECT data_file, data_file_encryption_key FROM ducklake_list_files('lake', 't')").fetchone()
    with pytest.raises(OSError, match="Failed decryption"):
        pq.read_table(path, decryption_properties=create_decryption_properties(footer_key=key))
