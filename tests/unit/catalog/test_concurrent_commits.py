"""Two concurrent transactions, one inside the other: compatible changes commit, others are refused and leave the lake unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.errors import ConflictError
from dbt.adapters.ducklake.format.files import WrittenDeleteFile
from dbt.adapters.ducklake.format.objects import Column
from tests.catalog_objects import COLUMNS, table_of, view_of
from tests.places import EVERY_DATABASE
from tests.unit.catalog.conftest import change, create, file_of, insert, metadata

Work = Callable[[Transaction], Any]


def add_rows(tx: Transaction) -> None:
    tx.rows.add_files(table_of(tx), [file_of(table_of(tx))])


def delete_from(*indexes: int) -> Work:
    def work(tx: Transaction) -> None:
        files = tx.scan_plan(table_of(tx)).files
        deletes = [WrittenDeleteFile(files[i].data_file_id, f"{table_of(tx).path}{id(tx)}-{i}-delete.parquet", 1, 1, 1) for i in indexes]
        tx.rows.delete_rows(table_of(tx), delete_files=deletes)

    return work


def end_file(index: int) -> Work:
    return lambda tx: tx.rows.delete_rows(table_of(tx), ended_files=[tx.scan_plan(table_of(tx)).files[index].data_file_id])


def truncate(tx: Transaction) -> None:
    tx.rows.truncate(table_of(tx))


def upsert(tx: Transaction) -> None:
    tx.rows.depends_on_rows(table_of(tx))
    add_rows(tx)


def add_column(tx: Transaction) -> None:
    table = table_of(tx)
    tx.objects.put_table(
        replace(table, columns=(*table.columns, Column(table.next_column_id, "c", "int32")), next_column_id=table.next_column_id + 1)
    )


def rename(tx: Transaction) -> None:
    tx.objects.put_table(replace(table_of(tx), name="renamed"))


def drop(tx: Transaction) -> None:
    tx.objects.drop_table(table_of(tx))


def new_table(name: str, schema: str = "main") -> Work:
    return lambda tx: tx.objects.new_table(tx.schema(schema), name, COLUMNS)  # type: ignore[arg-type]


def new_view(name: str) -> Work:
    return lambda tx: tx.objects.new_view(tx.schema("main"), name, "SELECT 1")  # type: ignore[arg-type]


def comment_view(tx: Transaction) -> None:
    tx.objects.put_view(replace(view_of(tx, "v"), comment="c"))


def drop_view(tx: Transaction) -> None:
    tx.objects.drop_view(view_of(tx, "v"))


def rename_to_u(tx: Transaction) -> None:
    tx.objects.put_table(replace(table_of(tx), name="u"))


def drop_schema(tx: Transaction) -> None:
    tx.objects.drop_schema(tx.schema("s"))  # type: ignore[arg-type]


@pytest.fixture
def prepared(lake: LakeCatalog) -> LakeCatalog:
    """A lake with table `t` of two files, view `v`, and empty schema `s`."""
    table = create(lake)
    insert(lake, file_of(table, 0, 9), file_of(table, 10, 19))
    transaction = lake.begin()
    new_view("v")(transaction)
    transaction.objects.new_schema("s")
    transaction.commit()
    return lake


REFUSED: list[tuple[str, Work, Work]] = [
    ("insert, dropped", add_rows, drop),
    ("insert, altered", add_rows, add_column),
    ("insert, deleted", add_rows, delete_from(0)),
    ("delete, inserted", delete_from(0), add_rows),
    ("delete, same file", delete_from(0), delete_from(0)),
    ("delete, file ended", delete_from(0), end_file(0)),
    ("end file, deleted", end_file(0), delete_from(0)),
    ("end file, ended", end_file(0), end_file(0)),
    ("truncate, inserted", truncate, add_rows),
    ("truncate, deleted", truncate, delete_from(1)),
    ("truncate, truncated", truncate, truncate),
    ("upsert, upserted", upsert, upsert),
    ("upsert, inserted", upsert, add_rows),
    ("upsert, deleted", upsert, delete_from(0)),
    ("alter, altered", add_column, add_column),
    ("alter, inserted", add_column, add_rows),
    ("alter, deleted", add_column, delete_from(0)),
    ("alter, renamed", add_column, rename),
    ("alter, dropped", add_column, drop),
    ("rename, dropped", rename, drop),
    ("rename, altered", rename, add_column),
    ("rename, renamed", rename, rename_to_u),
    ("rename, name taken", rename_to_u, new_table("U")),
    ("drop, dropped", drop, drop),
    ("drop, inserted", drop, add_rows),
    ("drop, deleted", drop, delete_from(0)),
    ("drop, altered", drop, add_column),
    ("drop, renamed", drop, rename),
    ("create, created", new_table("n"), new_table("N")),
    ("create, view created", new_table("n"), new_view("n")),
    ("create, renamed to", new_table("u"), rename_to_u),
    ("create in schema, dropped", new_table("n", "s"), drop_schema),
    ("drop schema, created in", drop_schema, new_table("n", "s")),
    ("drop schema, dropped", drop_schema, drop_schema),
    ("new schema, created", lambda tx: tx.objects.new_schema("x"), lambda tx: tx.objects.new_schema("X")),
    ("comment on view, dropped", comment_view, drop_view),
    ("drop view, altered", drop_view, comment_view),
    ("comment on view, altered", comment_view, lambda tx: tx.objects.put_view(replace(view_of(tx, "v"), sql="SELECT 2"))),
]
ALLOWED: list[tuple[str, Work, Work]] = [
    ("insert, inserted", add_rows, add_rows),
    ("insert, renamed", add_rows, rename),
    ("rename, inserted", rename, add_rows),
    ("delete, another file", delete_from(0), delete_from(1)),
    ("end file, another file", end_file(0), end_file(1)),
    ("create, another", new_table("n"), new_table("m")),
    ("create in main, schema dropped", new_table("n"), drop_schema),
    ("insert, another table created", add_rows, new_table("n")),
    ("alter, view commented", add_column, comment_view),
]

EVERYWHERE = {
    *("insert, dropped", "delete, same file", "delete, file ended", "truncate, inserted", "upsert, inserted", "alter, altered"),
    *("rename, name taken", "create, created", "drop schema, created in", "new schema, created", "comment on view, dropped"),
    *("insert, inserted", "delete, another file", "create, another"),
}
"""One pair for each query that a commit sends to the database. The rules themselves do not depend on the database."""


def on_databases(cases: list[tuple[str, Work, Work]]) -> pytest.MarkDecorator:
    """Parametrize with all pairs on SQLite, and with those of `EVERYWHERE` on every catalog database."""
    parameters = []
    for database in EVERY_DATABASE:
        name, marks = (database, ()) if isinstance(database, str) else (database.values[0], database.marks)
        chosen = (case for case in cases if name == "sqlite" or case[0] in EVERYWHERE)
        parameters += [pytest.param(name, *case[1:], id=f"{name}: {case[0]}", marks=marks) for case in chosen]
    return pytest.mark.parametrize(("place", "mine", "theirs"), parameters, indirect=["place"])


@on_databases(REFUSED)
def test_conflicting_changes_are_refused(prepared: LakeCatalog, mine: Work, theirs: Work) -> None:
    me, other = prepared.begin(), prepared.begin()
    mine(me)
    theirs(other)
    assert other.commit() is not None
    before = prepared.latest()
    with pytest.raises(ConflictError, match="run it again"):
        me.commit()
    assert prepared.latest() == before
    if mine in (add_rows, upsert):
        assert len(me.abandoned_files()) == 1
    prepared.reader().relations()


@on_databases(ALLOWED)
def test_compatible_changes_are_committed_in_turn(prepared: LakeCatalog, mine: Work, theirs: Work) -> None:
    me, other = prepared.begin(), prepared.begin()
    mine(me)
    theirs(other)
    first, second = other.commit(), me.commit()
    assert first is not None
    assert second is not None
    assert second.snapshot_id == first.snapshot_id + 1
    assert second.next_file_id >= first.next_file_id
    starts = metadata(prepared, "SELECT row_id_start, record_count FROM ducklake_data_file ORDER BY row_id_start")
    assert [row[0] for row in starts] == [10 * i for i in range(len(starts))]


def test_every_snapshot_since_the_start_is_checked(prepared: LakeCatalog) -> None:
    me = prepared.begin()
    add_rows(me)
    for work in (new_table("x"), delete_from(0), new_table("y")):
        other = prepared.begin()
        work(other)
        other.commit()
    with pytest.raises(ConflictError, match=r"insert into main\.t: snapshot 5 deleted rows"):
        me.commit()


def test_expired_snapshots_are_a_conflict(prepared: LakeCatalog) -> None:
    me = prepared.begin()
    add_rows(me)
    for name in ("x", "y"):
        other = prepared.begin()
        new_table(name)(other)
        other.commit()
    for table in ("ducklake_snapshot", "ducklake_snapshot_changes"):
        change(prepared, f"DELETE FROM {table} WHERE snapshot_id = 4")
    with pytest.raises(ConflictError, match="expired"):
        me.commit()


def test_a_concurrent_writer_does_not_take_row_ids_that_the_transaction_read(prepared: LakeCatalog) -> None:
    me = prepared.begin()
    table = table_of(me)
    me.rows.add_files(table, [file_of(table)])
    ids = {staged.file_id for staged in me.staged.rows[table.table_id].files}
    staged = next(each for each in me.scan_plan(table).files if each.data_file_id in ids)
    assert staged.row_id_start == 20
    me.rows.delete_rows(table, ended_files=[staged.data_file_id])
    me.rows.add_files(table, [file_of(table, embedded=True)])
    other = prepared.begin()
    add_rows(other)
    other.commit()
    with pytest.raises(ConflictError, match="row ids"):
        me.commit()
