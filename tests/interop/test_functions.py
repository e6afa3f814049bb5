"""The lake's functions return what DuckDB's return, in queries and by CALL; maintenance procedures in SQL."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import NotFoundError, StatementError
from tests.interop.conftest import Both, comparable_rows


@pytest.fixture
def shop(both: Both) -> Both:
    both.duckdb('CREATE SCHEMA "s x"')
    both.duckdb('CREATE TABLE "s x"."t.y" AS SELECT range AS a FROM range(20)')
    both.duckdb('INSERT INTO "s x"."t.y" VALUES (5)')
    both.duckdb('DELETE FROM "s x"."t.y" WHERE a < 10')
    both.duckdb("CREATE VIEW v AS SELECT 1 AS x")
    both.duckdb("CREATE MACRO m(a) AS a")
    both.duckdb("CALL lake.set_commit_message('me', 'why', extra_info => '{}')")
    both.spark("CREATE TABLE u AS SELECT id FROM range(100)")
    both.spark("DELETE FROM u WHERE id < 20")
    return both


FUNCTIONS = [
    "SELECT snapshot_id, snapshot_time, schema_version, author, commit_message, commit_extra_info FROM lake.snapshots()",
    "SELECT s.snapshot_id, s.changes FROM ducklake_snapshots('lake') AS s",
    "SELECT id FROM lake.current_snapshot()",
    "SELECT max(snapshot_id) - min(id) FROM ducklake_snapshots('lake') CROSS JOIN ducklake_current_snapshot('lake')",
    "SELECT table_name, schema_id, table_id, CAST(table_uuid AS VARCHAR(36)) AS u, file_count, file_size_bytes FROM lake.table_info()",
    "SELECT table_name, delete_file_count, delete_file_size_bytes FROM lake.table_info()",
    "SELECT * FROM ducklake_list_files('lake', 'u')",
    "SELECT * FROM ducklake_list_files('lake', 't.y', schema => 's x', snapshot_version => 3)",
    "SELECT data_path FROM lake.settings()",
    "SELECT option_name, value, scope, scope_entry FROM lake.options() WHERE option_name <> 'created_by'",
]


def test_functions_return_the_rows_of_duckdb(shop: Both) -> None:
    for query in FUNCTIONS:
        theirs = comparable_rows(shop.duck.execute(query).fetchall())
        assert comparable_rows(shop.session.execute(query).fetch()) == theirs != [], query


def test_table_info_lists_the_committed_tables_of_a_schema_that_the_transaction_drops(shop: Both) -> None:
    query = "SELECT table_name, schema_id FROM ducklake_table_info('lake')"
    shop.session.begin()
    shop.spark("DROP SCHEMA `s x` CASCADE")
    ours = shop.session.execute(query).fetch()
    shop.session.rollback()
    shop.duck.execute('BEGIN; DROP SCHEMA lake."s x" CASCADE')
    theirs = shop.duck.execute(query).fetchall()
    shop.duck.execute("ROLLBACK")
    assert sorted(ours) == sorted(theirs) != []


def test_functions_can_be_called_and_used_in_views(shop: Both) -> None:
    newest = shop.snapshots() - 1
    assert shop.session.execute("CALL ducklake_current_snapshot('lake')").fetch() == [(newest,)]
    assert shop.session.execute("SELECT id FROM lake.last_committed_snapshot()").fetch() == [(newest,)]
    shop.spark("CREATE VIEW history AS SELECT snapshot_id FROM lake.snapshots() WHERE snapshot_id > 0")
    assert shop.session.execute("SELECT max(snapshot_id) FROM history").fetch() == [(newest + 1,)]


def test_unknown_functions_arguments_and_tables_are_refused(shop: Both) -> None:
    with pytest.raises(StatementError, match="not a function of the lake"):
        shop.spark("SELECT * FROM lake.nothing()")
    with pytest.raises(StatementError, match="takes table_name"):
        shop.spark("SELECT * FROM lake.list_files(nothing => 1)")
    with pytest.raises(NotFoundError):
        shop.spark("SELECT * FROM lake.list_files('nothing')")


def test_snapshots_expire_and_files_are_cleaned_up(shop: Both) -> None:
    shop.spark("DROP TABLE u")
    newest = shop.snapshots() - 1
    with pytest.raises(StatementError, match="not both"):
        shop.spark("CALL ducklake_expire_snapshots('lake', versions => [1], older_than => now())")
    dry = shop.session.execute("CALL ducklake_expire_snapshots('lake', dry_run => true, versions => [2])").fetch()
    assert [row[0] for row in dry] == [2]
    assert shop.snapshots() == newest + 1
    assert shop.session.execute("CALL lake.expire_snapshots(older_than => now() - INTERVAL '1 week')").fetch() == []
    expired = shop.session.execute("CALL lake.expire_snapshots(older_than => now())").fetch()
    assert [row[0] for row in expired] == list(range(newest))
    assert shop.snapshots() == 1
    assert shop.session.execute("CALL ducklake_cleanup_old_files('lake')").fetch() == []
    theirs = shop.duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true, dry_run => true)").fetchall()
    ours = shop.session.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)").fetch()
    assert sorted(ours) == sorted(theirs) != []
    assert shop.session.execute("CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)").fetch() == []
    shop.session.begin()
    with pytest.raises(StatementError, match="inside a transaction"):
        shop.spark("CALL ducklake_expire_snapshots('lake', older_than => now())")
    shop.session.rollback()
