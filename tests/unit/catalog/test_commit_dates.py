"""A delete file that contains the snapshot of its transaction is rewritten until it contains the snapshot that is committed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.errors import ConflictError
from dbt.adapters.ducklake.format.files import WrittenDeleteFile
from tests.catalog_objects import committed, table_of
from tests.unit.catalog.conftest import create, file_of, insert, metadata


@pytest.fixture
def begun(lake: LakeCatalog) -> Transaction:
    """A transaction on snapshot 3, where the file of `t` has a delete file."""
    table = create(lake)
    insert(lake, file_of(table))
    first = WrittenDeleteFile(0, table.path + "first.parquet", 1, 1, 1)
    committed(lake, lambda tx: tx.rows.delete_rows(table, delete_files=[first]))
    return lake.begin()


def second(begun: Transaction) -> WrittenDeleteFile:
    """Return a delete file that replaces the first and contains the snapshot that the transaction expects to commit."""
    return WrittenDeleteFile(0, table_of(begun).path + "4.parquet", 2, 10, 5, min_snapshot=3, max_snapshot=4)


def commit_concurrently(lake: LakeCatalog) -> None:
    committed(lake, lambda tx: tx.objects.new_schema(f"s{lake.latest().snapshot_id}"))


class Rewriter:
    """Pretends to rewrite a delete file. During each of the first `concurrent_commits` calls another transaction commits."""

    def __init__(self, lake: LakeCatalog, concurrent_commits: int = 0) -> None:
        self.lake, self.concurrent_commits, self.written = lake, concurrent_commits, []

    def __call__(self, file: WrittenDeleteFile, after: int, snapshot_id: int) -> WrittenDeleteFile:
        assert after == 3
        self.written.append(snapshot_id)
        if len(self.written) <= self.concurrent_commits:
            commit_concurrently(self.lake)
        path = file.path.rpartition("/")[0] + f"/{snapshot_id}.parquet"
        return replace(file, path=path, size_bytes=10 + snapshot_id, max_snapshot=snapshot_id)


def registered(lake: LakeCatalog) -> list[tuple[object, ...]]:
    return metadata(lake, "SELECT path, begin_snapshot, partial_max, file_size_bytes FROM ducklake_delete_file")


def test_a_file_is_not_rewritten_without_concurrent_commits(lake: LakeCatalog, begun: Transaction) -> None:
    rewriter = Rewriter(lake)
    begun.rows.delete_rows(table_of(begun), delete_files=[second(begun)], rewrite_with_id=rewriter)
    begun.commit()
    assert rewriter.written == []
    assert registered(lake) == [("4.parquet", 3, 4, 10)]
    assert begun.abandoned_files() == []


def test_a_file_is_rewritten_before_the_lock_is_taken_and_again_after_a_concurrent_commit(lake: LakeCatalog, begun: Transaction) -> None:
    table = table_of(begun)
    rewriter = Rewriter(lake, concurrent_commits=1)  # this commit would never return if the lock were already taken
    begun.rows.delete_rows(table, delete_files=[second(begun)], rewrite_with_id=rewriter)
    commit_concurrently(lake)
    commit_concurrently(lake)
    snapshot = begun.commit()
    assert snapshot is not None
    assert snapshot.snapshot_id == 7
    assert rewriter.written == [6, 7]
    assert registered(lake) == [("7.parquet", 3, 7, 17)]
    assert begun.abandoned_files() == [table.path + "4.parquet", table.path + "6.parquet"]


def test_after_a_conflict_all_rewritten_files_are_abandoned(lake: LakeCatalog, begun: Transaction) -> None:
    table = table_of(begun)
    begun.rows.delete_rows(table, delete_files=[second(begun)], rewrite_with_id=Rewriter(lake))
    committed(lake, lambda tx: tx.rows.delete_rows(table, ended_files=[0]))
    with pytest.raises(ConflictError, match="deleted rows of the same files"):
        begun.commit()
    assert begun.abandoned_files() == [table.path + "4.parquet", table.path + "5.parquet"]


def test_a_file_that_cannot_be_rewritten_is_a_conflict(lake: LakeCatalog, begun: Transaction) -> None:
    begun.rows.delete_rows(table_of(begun), delete_files=[second(begun)])
    commit_concurrently(lake)
    with pytest.raises(ConflictError, match="records that snapshot 4 deleted its rows"):
        begun.commit()
