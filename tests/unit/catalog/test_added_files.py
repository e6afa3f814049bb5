"""A file of another program can be added to one table once: of two transactions that add it, only one commits."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.errors import ConflictError, LakeError, StatementError
from dbt.adapters.ducklake.format.files import MappedField
from dbt.adapters.ducklake.lake.add_files import _require_new
from dbt.adapters.ducklake.session import LakeSession, connect
from dbt.adapters.ducklake.spark.files.footers import FileToRead
from tests.catalog_objects import committed, table_of
from tests.unit.catalog.conftest import create, file_of

MAPPING = (MappedField("a", 1), MappedField("b", 2))


def adds(path: str, name: str = "t") -> Callable[[Transaction], Any]:
    def work(tx: Transaction) -> None:
        table = table_of(tx, name)
        tx.rows.add_files(table, [replace(file_of(table), path=path, mapping=MAPPING)])

    return work


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (adds("/others/f.parquet"), adds("/others/f.parquet")),
        (adds("/others/f.parquet"), adds("/others/f.parquet", "u")),
        (adds("/others/f.parquet"), adds("file:///others/./f.parquet")),
        (adds("s3a://bucket/f.parquet"), adds("s3://bucket//f.parquet")),
    ],
)
def test_a_file_that_two_transactions_add(
    lake: LakeCatalog, mine: Callable[[Transaction], Any], theirs: Callable[[Transaction], Any]
) -> None:
    create(lake)
    create(lake, "u")
    me = lake.begin()
    mine(me)
    committed(lake, theirs)
    with pytest.raises(ConflictError, match="a concurrent transaction added it, and a file can be added only once"):
        me.commit()
    assert me.abandoned_files() == []


def test_a_file_that_was_added_and_scheduled_for_deletion_concurrently(lake: LakeCatalog) -> None:
    create(lake)
    create(lake, "u")
    me = lake.begin()
    adds("/others/f.parquet")(me)
    keeper = lake.latest().snapshot_id
    committed(lake, adds("/others/f.parquet", "u"))
    committed(lake, lambda tx: tx.objects.drop_table(table_of(tx, "u")))
    lake.maintenance.expire(versions=[keeper + 1], dry_run=False)
    with pytest.raises(ConflictError):
        me.commit()


@contextmanager
def with_linked_file(folder: Path) -> Iterator[LakeSession]:
    """A session of a new lake with a table `t`, to which `link.parquet` was added, a symbolic link to `real.parquet`."""
    pq.write_table(pa.table({"a": pa.array([1], pa.int32())}), folder / "real.parquet")
    (folder / "link.parquet").symlink_to(folder / "real.parquet")
    with connect(f"ducklake:sqlite:{folder}/lake.sqlite", f"{folder}/files/") as session:
        session.execute("CREATE TABLE t (a INT)")
        session.execute(f"CALL add_data_files('t', '{folder}/link.parquet')")
        yield session


def test_a_file_that_was_added_by_the_name_of_a_link_cannot_be_added_again(tmp_path: Path) -> None:
    with with_linked_file(tmp_path) as session:
        for name in ("link", "real"):
            with pytest.raises(LakeError, match=rf"{name}\.parquet is already a file of this lake"):
                session.execute(f"CALL add_data_files('t', '{tmp_path}/{name}.parquet')")


def test_a_clone_of_a_file_that_was_added_by_the_name_of_a_link_is_a_file_of_its_own(tmp_path: Path) -> None:
    with with_linked_file(tmp_path) as session:
        session.execute("CALL clone(table_name => 't', into => 'main.u')")
    [clone] = (tmp_path / "files").rglob("*.parquet")
    (tmp_path / "real.parquet").unlink()
    assert not clone.is_symlink()
    assert pq.read_table(clone).num_rows == 1


def test_only_added_files_are_examined_for_links(lake: LakeCatalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create(lake)
    committed(lake, lambda tx: tx.rows.add_files(table_of(tx), [file_of(table_of(tx)) for _ in range(3)]))
    committed(lake, adds(f"{tmp_path}/added.parquet"))
    examined: list[str] = []

    def islink(path: str) -> bool:
        examined.append(path)
        return False

    monkeypatch.setattr(os.path, "islink", islink)
    maintenance = lake.maintenance
    new = FileToRead(f"{tmp_path}/new.parquet", 0)
    _require_new([new], maintenance.known_files(), maintenance.added_files())
    assert len(maintenance.known_files()) == 4
    assert examined == [f"{tmp_path}/added.parquet"]


@pytest.mark.parametrize(("nanos", "has_bounds"), [(1400, False), (1000, True)])
def test_a_copy_of_an_added_file_has_no_exact_bounds_if_the_original_has_none(tmp_path: Path, nanos: int, has_bounds: bool) -> None:
    pq.write_table(pa.table({"a": pa.array([nanos], pa.timestamp("ns"))}), tmp_path / "f.parquet")
    with connect(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/") as session:
        session.execute("CREATE TABLE t (a TIMESTAMP_NTZ)")
        session.execute(f"CALL add_data_files('t', '{tmp_path}/f.parquet')")
        session.execute("CALL clone(table_name => 't', into => 'other')")
        session.execute("DROP TABLE t")
        session.execute(f"CALL rollback(version => {session.catalog.latest().snapshot_id - 1}, table_name => 't')")
    with closing(sqlite3.connect(tmp_path / "lake.sqlite")) as catalog:
        bounds = catalog.execute("SELECT min_value, max_value FROM ducklake_table_column_stats").fetchall()
        of_files = catalog.execute("SELECT DISTINCT min_value FROM ducklake_file_column_stats").fetchall()
    assert bounds == ([("1970-01-01 00:00:00.000001",) * 2] * 3 if has_bounds else [])
    assert of_files == [("1970-01-01 00:00:00.000001",)]


def test_different_files_do_not_conflict(lake: LakeCatalog) -> None:
    create(lake)
    me = lake.begin()
    adds("/others/f.parquet")(me)
    committed(lake, adds("/others/g.parquet"))
    assert me.commit() is not None


def test_a_path_with_a_secret_is_refused(tmp_path: Path) -> None:
    with connect(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/") as session:
        session.execute("CREATE TABLE t (a INT)")
        with pytest.raises(StatementError, match="contains a password or a secret key") as caught:
            session.execute("CALL ducklake_add_data_files('lake', 't', 's3://KEY:hunter2@bucket/a.parquet')")
        assert "hunter2" not in str(caught.value)
