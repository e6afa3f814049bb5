"""Changes that depend on some rows of a table, and concurrent changes of its rows, compared by the statistics of files and inlined rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.errors import ConflictError
from dbt.adapters.ducklake.format.files import ColumnFilter, ColumnStats, WrittenDeleteFile
from dbt.adapters.ducklake.format.objects import Column, PartitionField
from tests.catalog_objects import committed, table_of
from tests.places import USUAL_DATABASES, CatalogPlace, empty_place
from tests.unit.catalog.conftest import catalog_writer, change, create, file_of, insert

Work = Callable[[Transaction], Any]
COLUMNS = (Column(1, "a", "int32"), Column(2, "b", "varchar"), Column(3, "f", "float64"))
LOW, HIGH = ColumnFilter.between(1, "0", "9"), ColumnFilter.between(1, "100", "109")
NULLS = ColumnFilter(1, nulls=True)


@pytest.fixture(params=USUAL_DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Any) -> CatalogPlace:
    """The two usual databases."""
    return empty_place(request.param, request, tmp_path)


@pytest.fixture
def prepared(lake: LakeCatalog) -> LakeCatalog:
    """A lake with files of 0 to 9 and of 100 to 109, and the inlined rows 5 and 105."""
    table = create(lake, columns=COLUMNS)
    insert(lake, file_of(table, 0, 9), file_of(table, 100, 109))
    committed(lake, inlines(5, 105))
    return lake


def stats(low: str | None, high: str | None, *, values: int | None = 10, nulls: int | None = 0) -> tuple[ColumnStats, ...]:
    return (ColumnStats(1, 50, values, nulls, low, high),)


def adds(low: int, high: int, **more: Any) -> Work:
    return lambda tx: tx.rows.add_files(table_of(tx), [file_of(table_of(tx), low, high, **more)])


def inlines(*values: int | None) -> Work:
    def work(tx: Transaction) -> None:
        rows = [(value, "x", 0.0) for value in values]
        tx.rows.add_inlined(table_of(tx), rows, (ColumnStats(1, 0, len(rows), None), ColumnStats(2), ColumnStats(3)))

    return work


def deletes(index: int) -> Work:
    def work(tx: Transaction) -> None:
        file = tx.scan_plan(table_of(tx)).files[index].data_file_id
        tx.rows.delete_rows(table_of(tx), delete_files=[WrittenDeleteFile(file, f"{table_of(tx).path}{id(tx)}-{file}.parquet", 1, 1, 1)])

    return work


def ends(index: int) -> Work:
    return lambda tx: tx.rows.delete_rows(table_of(tx), ended_files=[tx.scan_plan(table_of(tx)).files[index].data_file_id])


def ends_inlined(index: int) -> Work:
    def work(tx: Transaction) -> None:
        (inlined,) = tx.scan_plan(table_of(tx)).inlined
        tx.rows.delete_rows(table_of(tx), inlined={inlined.table_name: [inlined.row_ids[index]]})

    return work


def depends(*conditions: tuple[ColumnFilter, ...]) -> Work:
    def work(tx: Transaction) -> None:
        for condition in conditions:
            tx.rows.depends_on_rows(table_of(tx), condition)

    return work


def all_of(*works: Work) -> Work:
    def work(tx: Transaction) -> None:
        for each in works:
            each(tx)

    return work


def batch(*works: Work) -> Work:
    """Return a batch of the low rows."""
    return all_of(depends((LOW,)), *works)


LOW_BATCH = batch(ends(0), ends_inlined(0), adds(0, 9))
HIGH_BATCH = all_of(depends((HIGH,)), ends(1), ends_inlined(1), adds(100, 109))
ONLY_ADDS = batch(adds(0, 9))
FLOATS = (ColumnStats(3, 50, 10, 0, "1.0", "2.0", None),)

COMPATIBLE: list[tuple[str, Work, Work]] = [
    ("two batches", LOW_BATCH, HIGH_BATCH),
    ("a batch of a window without rows", ONLY_ADDS, HIGH_BATCH),
    ("delete files", batch(deletes(0), adds(0, 9)), all_of(deletes(1), adds(100, 109))),
    ("a file ended", LOW_BATCH, ends(1)),
    ("inlined rows", LOW_BATCH, inlines(10, 100)),
    ("an inlined row ended", LOW_BATCH, ends_inlined(1)),
    ("NULLs, which pass no comparison", ONLY_ADDS, adds(0, 0, stats=stats(None, None, values=0, nulls=10))),
    ("an inlined NULL", LOW_BATCH, inlines(None)),
    ("values without NULLs in the read set", all_of(depends((NULLS,)), adds(0, 0)), adds(1, 9)),
    ("one of two filters excludes", all_of(depends((LOW, ColumnFilter.between(2, "p", "q"))), adds(0, 9)), adds(0, 9)),
    ("all of several conditions", all_of(depends((LOW,), (HIGH,)), adds(0, 9)), adds(50, 60)),
    ("a query read other rows", all_of(ONLY_ADDS, lambda tx: tx.record_read(table_of(tx).table_id, (LOW,))), adds(50, 60)),
    ("a query read another table", all_of(ONLY_ADDS, lambda tx: tx.record_read(4711)), adds(50, 60)),
]
CONFLICTING: list[tuple[str, Work, Work]] = [
    ("a file inside", LOW_BATCH, adds(9, 20)),
    ("a late row, inlined", ONLY_ADDS, inlines(100, 4)),
    ("a file without statistics", ONLY_ADDS, adds(0, 0, stats=())),
    ("a file without bounds", ONLY_ADDS, adds(0, 0, stats=stats(None, None))),
    ("a file with one bound", ONLY_ADDS, adds(0, 0, stats=stats(None, "500"))),
    ("a bound that is not a number", ONLY_ADDS, adds(0, 0, stats=stats("x", "y"))),
    ("NULLs in the read set", all_of(depends((NULLS,)), adds(0, 0)), adds(0, 0, stats=stats("50", "60", nulls=1))),
    ("NULLs that were not counted", all_of(depends((NULLS,)), adds(0, 0)), adds(0, 0, stats=stats("50", "60", nulls=None))),
    ("NaN that was not counted", all_of(depends((ColumnFilter.between(3, "5.0", None),)), adds(0, 0)), adds(0, 0, stats=FLOATS)),
    ("a delete inside", ONLY_ADDS, deletes(0)),
    ("a file ended inside", ONLY_ADDS, ends(0)),
    ("an inlined row ended inside", ONLY_ADDS, ends_inlined(0)),
    ("the same file", batch(deletes(0)), deletes(0)),
    ("all rows ended", LOW_BATCH, lambda tx: tx.rows.truncate(table_of(tx))),
    ("another statement depends on all", all_of(LOW_BATCH, depends(())), adds(50, 60)),
    ("one of several conditions", all_of(depends((LOW,), (HIGH,)), adds(0, 9)), adds(105, 105)),
    ("a query read all rows", all_of(ONLY_ADDS, lambda tx: tx.record_read(table_of(tx).table_id)), adds(50, 60)),
    ("a query may have read anything", all_of(ONLY_ADDS, lambda tx: tx.record_read(None)), adds(50, 60)),
    ("all rows replaced", all_of(depends((LOW,)), lambda tx: tx.rows.truncate(table_of(tx))), adds(50, 60)),
    ("a filter of a missing column", all_of(depends((ColumnFilter.between(9, "0", "9"),)), adds(0, 9)), adds(50, 60)),
]


@pytest.mark.parametrize(("mine", "theirs"), [case[1:] for case in COMPATIBLE], ids=[case[0] for case in COMPATIBLE])
def test_changes_of_other_rows_do_not_conflict(prepared: LakeCatalog, mine: Work, theirs: Work) -> None:
    me, other = prepared.begin(), prepared.begin()
    mine(me)
    theirs(other)
    assert other.commit() is not None
    assert me.commit() is not None


@pytest.mark.parametrize(("mine", "theirs"), [case[1:] for case in CONFLICTING], ids=[case[0] for case in CONFLICTING])
def test_changes_of_the_same_rows_conflict(prepared: LakeCatalog, mine: Work, theirs: Work) -> None:
    me, other = prepared.begin(), prepared.begin()
    mine(me)
    theirs(other)
    other.commit()
    before = prepared.latest()
    with pytest.raises(ConflictError, match="run it again"):
        me.commit()
    assert prepared.latest() == before


def test_partition_values_are_used_without_statistics(lake: LakeCatalog) -> None:
    table = create(lake, columns=COLUMNS, partitioning=(PartitionField(1, "identity"),))
    for value, together in (("50", True), ("5", False)):
        me, other = lake.begin(), lake.begin()
        all_of(depends((LOW,)), adds(0, 9, stats=(), partition_values=("3",)))(me)
        other.rows.add_files(table, [file_of(table, stats=(), partition_values=(value,))])
        other.commit()
        if together:
            assert me.commit() is not None
        else:
            with pytest.raises(ConflictError, match=r"main\.t: a concurrent transaction inserted rows"):
                me.commit()


@pytest.mark.parametrize(("index", "together"), [(1, True), (0, False)])
def test_deletes_that_duckdb_inlines(prepared: LakeCatalog, index: int, together: bool) -> None:
    me = prepared.begin()
    batch(deletes(0), adds(0, 9))(me)
    table, newest = table_of(prepared.reader()), prepared.latest().snapshot_id
    file = prepared.reader().scan_plan(table).files[index].data_file_id
    kept = "snapshot_time, schema_version, next_catalog_id, next_file_id"
    copied = f"INSERT INTO ducklake_snapshot SELECT {newest + 1}, {kept} FROM ducklake_snapshot WHERE snapshot_id = {newest}"
    with catalog_writer(prepared) as connection:
        for statement in (
            f"CREATE TABLE ducklake_inlined_delete_{table.table_id}(file_id BIGINT, row_id BIGINT, begin_snapshot BIGINT)",
            f"INSERT INTO ducklake_inlined_delete_{table.table_id} VALUES ({file}, 3, {newest + 1})",
            copied,
            f"INSERT INTO ducklake_snapshot_changes(snapshot_id, changes_made) VALUES ({newest + 1}, 'inlined_delete:{table.table_id}')",
        ):
            connection.exec_driver_sql(statement)
    if together:
        assert me.commit() is not None
    else:
        with pytest.raises(ConflictError, match="run it again"):
            me.commit()


def test_rows_that_a_compaction_has_moved_are_a_conflict(prepared: LakeCatalog) -> None:
    me = prepared.begin()
    ONLY_ADDS(me)
    committed(prepared, deletes(0))
    change(
        prepared,
        f"UPDATE ducklake_snapshot_changes SET changes_made = changes_made || ',rewrite_delete:{table_of(me).table_id}' "
        f"WHERE snapshot_id = {prepared.latest().snapshot_id}",
    )
    with pytest.raises(ConflictError, match=r"insert into main\.t: snapshot 4 deleted rows"):
        me.commit()


def test_an_expired_start_snapshot_is_a_conflict(prepared: LakeCatalog) -> None:
    me = prepared.begin()
    ONLY_ADDS(me)
    committed(prepared, ends(1))
    for table in ("ducklake_snapshot", "ducklake_snapshot_changes"):
        change(prepared, f"DELETE FROM {table} WHERE snapshot_id = {me.snapshot.snapshot_id}")
    with pytest.raises(ConflictError, match="Run the statement or transaction again"):
        me.commit()
