"""Deletion vectors: written if the table's option requests them, and read at every snapshot by DuckDB, as we read DuckDB's."""

from __future__ import annotations

import pytest

from tests.interop.conftest import Both


def delete_files(both: Both) -> list[tuple[object, ...]]:
    """Return (format, extension, delete_count, whether footer_size is 0, whether partial_max is set) of every delete file."""
    return both.duck.execute(
        "SELECT format, right(path, 14), delete_count, footer_size = 0, partial_max IS NOT NULL "
        "FROM __ducklake_metadata_lake.ducklake_delete_file ORDER BY delete_file_id"
    ).fetchall()


@pytest.fixture
def filled(both: Both) -> Both:
    both.duckdb("CREATE TABLE t (id INT, v VARCHAR)")
    both.duckdb("CALL lake.set_option('write_deletion_vectors', true, table_name => 't')")
    both.duckdb("INSERT INTO t SELECT i, 'v' FROM range(20000) r (i)")
    return both


def test_the_first_delete_of_a_file_is_a_vector_that_duckdb_reads(filled: Both) -> None:
    filled.spark("DELETE FROM t WHERE id % 3 = 0 OR id < 7000 AND id <> 5")
    ((kind, name, count, no_footer, has_partial_max),) = delete_files(filled)
    assert (kind, name, no_footer, has_partial_max) == ("puffin", "-delete.puffin", True, False)
    assert filled.rows("SELECT count(*), sum(id) FROM t") == [(20000 - count, filled.duck.execute("SELECT sum(id) FROM t").fetchone()[0])]
    filled.check_history("t")


def test_a_later_delete_is_a_delete_file_with_snapshot_ids_for_time_travel(filled: Both) -> None:
    filled.spark("UPDATE t SET v = 'w' WHERE id % 2000 = 1")
    assert [row[0] for row in delete_files(filled)] == ["puffin"]
    filled.spark("DELETE FROM t WHERE id BETWEEN 50 AND 52")
    assert [(row[0], row[4]) for row in delete_files(filled)] == [("parquet", True)]
    filled.spark("MERGE INTO t USING (SELECT 7 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert [row[0] for row in delete_files(filled)] == ["parquet"]
    filled.check_history("t")
    assert filled.rows("SELECT count(*) FROM t") == [(19996,)]


def test_vectors_of_duckdb_are_read_and_replaced(filled: Both) -> None:
    filled.duckdb("DELETE FROM t WHERE id % 1000 = 7")
    assert [row[0] for row in delete_files(filled)] == ["puffin"]
    filled.rows("SELECT count(*), sum(id) FROM t")
    filled.spark("DELETE FROM t WHERE id % 1000 = 8")
    assert [row[0] for row in delete_files(filled)] == ["parquet"]
    filled.check_history("t")


def test_two_deletes_in_one_transaction_and_a_delete_of_all_rows(filled: Both) -> None:
    with filled.transaction():
        filled.spark("DELETE FROM t WHERE id < 10")
        filled.spark("DELETE FROM t WHERE id < 20")
    filled.check_history("t")
    assert filled.rows("SELECT count(*), min(id) FROM t") == [(19980, 20)]
    filled.spark("DELETE FROM t WHERE id >= 0")
    assert filled.rows("SELECT count(*) FROM t") == [(0,)]
    filled.check_history("t")
