"""If the snapshot of an open transaction expires, its reads and its commit fail instead of using incomplete catalog rows.

A flush between two queries of a read is no error: the rows are then in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import Connection

from dbt.adapters.ducklake.catalog.commit import flush, rows
from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.maintenance import expiry, maintenance
from dbt.adapters.ducklake.catalog.read import column_history, flush_plan, row_state, table_metrics
from dbt.adapters.ducklake.catalog.staged import Flush
from dbt.adapters.ducklake.catalog.store.database import ConcurrentWriteError
from dbt.adapters.ducklake.catalog.store.inlined import registered
from dbt.adapters.ducklake.catalog.store.retries import RetrySettings
from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.errors import ConflictError, EngineError, NotFoundError
from dbt.adapters.ducklake.format.files import ColumnStats
from dbt.adapters.ducklake.format.objects import Column, Schema
from tests.catalog_objects import COLUMNS, committed, table_of
from tests.places import CatalogPlace
from tests.unit.catalog.conftest import change, create, file_of, insert, metadata

EXPIRED = "snapshot 2, which this transaction reads, was expired"


@pytest.fixture
def begun(lake: LakeCatalog, place: CatalogPlace) -> Iterator[Transaction]:
    """A transaction through another connection, on snapshot 2, where `t` has a file. It has not read anything yet."""
    table = create(lake)
    insert(lake, file_of(table))
    with place.open() as opened:
        yield opened.begin()


def rebuild(lake: LakeCatalog) -> None:
    """Replace all rows of `t`, and expire the earlier snapshots."""

    def work(tx: Transaction) -> None:
        tx.rows.truncate(table_of(tx))
        tx.rows.add_files(table_of(tx), [file_of(table_of(tx), 20, 29)])

    committed(lake, work)
    expire(lake)


def drop(lake: LakeCatalog) -> None:
    committed(lake, lambda tx: tx.objects.drop_table(table_of(tx)))
    expire(lake)


def expire(lake: LakeCatalog) -> None:
    newest = lake.latest().snapshot_id
    lake.maintenance.expire(versions=range(newest), dry_run=False)


def test_the_rows_of_an_expired_snapshot_are_a_conflict(lake: LakeCatalog, begun: Transaction) -> None:
    table = table_of(begun)
    rebuild(lake)
    reads: list[Callable[[], Any]] = [
        lambda: begun.scan_plan(table),
        lambda: begun.rows_to_end(table),
        lambda: begun.base.compaction_plan(table),
        lambda: begun.base.flush_plan(table),
        lambda: begun.base.change_plan(table, 2),
        lambda: lake.reader().change_plan(table, 2),
        lambda: lake.reader().rollback_plan(table, begun.snapshot),
        lambda: begun.base.rollback_plan(table, lake.latest()),
    ]
    for read in reads:
        with pytest.raises(ConflictError, match=EXPIRED):
            read()


def test_a_table_that_was_dropped_and_expired_is_a_conflict(lake: LakeCatalog, begun: Transaction) -> None:
    names = begun.names()  # names only, without the definitions
    drop(lake)
    for read in (lambda: begun.find("main", "t"), lambda: begun.named(names), begun.relations):
        with pytest.raises(ConflictError, match=EXPIRED):
            read()


def test_names_that_were_never_read_are_a_conflict(lake: LakeCatalog, begun: Transaction) -> None:
    drop(lake)
    for read in (lambda: begun.find("main", "t"), begun.schemas, begun.macros):
        with pytest.raises(ConflictError, match=EXPIRED):
            read()


def test_definitions_can_be_read_while_any_snapshot_of_their_schema_version_remains(lake: LakeCatalog, begun: Transaction) -> None:
    table = table_of(begun)
    insert(lake, file_of(table, 20, 29))
    later = lake.begin()
    expire(lake)
    assert table_of(later) == table
    assert begun.find("main", "t") == table
    assert len(later.scan_plan(table).files) == 2


@pytest.mark.parametrize("work", [rebuild, drop])
def test_a_transaction_on_an_expired_snapshot_does_not_commit(
    lake: LakeCatalog, begun: Transaction, work: Callable[[LakeCatalog], None]
) -> None:
    create(lake, "other")
    begun = lake.begin()
    begun.objects.new_table(begun.schema("main"), "made_from_t", COLUMNS)  # type: ignore[arg-type]
    work(lake)
    before = lake.latest()
    with pytest.raises(ConflictError, match="snapshot 3, which this transaction reads, was expired"):
        begun.commit()
    assert lake.latest() == before


def test_a_lake_opened_at_a_snapshot_that_expires(lake: LakeCatalog, begun: Transaction, place: CatalogPlace) -> None:
    table = table_of(begun)
    with place.open(snapshot_version=2) as past:
        assert len(past.reader().scan_plan(table).files) == 1
        rebuild(lake)
        with pytest.raises(NotFoundError, match="was opened at it"):
            past.reader().scan_plan(table)


@pytest.mark.parametrize(
    "read",
    [
        lambda begun: begun.scan_plan(table_of(begun)),
        lambda begun: begun.rows_to_end(table_of(begun)),
        lambda begun: begun.base.flush_plan(table_of(begun)),
        lambda begun: begun.base.change_plan(table_of(begun), 3),
        lambda begun: begun.base.rollback_plan(table_of(begun), begun.snapshot),
    ],
    ids=["scan", "rows to end", "flush", "changes", "rollback"],
)
def test_an_inlined_data_table_that_a_flush_drops_during_a_read(
    lake: LakeCatalog, place: CatalogPlace, read: Callable[[Transaction], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if lake.location.file is not None:
        pytest.skip("a file is locked while it is read")
    with_two_inlined_data_tables(lake)
    begun = lake.begin()
    table_of(begun)
    expected = lake.latest()

    def flush_first(connection: Connection, table_id: int) -> list[tuple[str, int]]:
        found = registered(connection, table_id)
        monkeypatch.undo()
        with place.open() as other:
            flush_all(other)
        return found

    for module in (column_history, flush_plan, row_state):
        monkeypatch.setattr(module, "registered", flush_first)
    read(begun)
    assert lake.latest().snapshot_id == expected.snapshot_id + 1


@pytest.mark.parametrize("place", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
@pytest.mark.parametrize(
    ("module", "act"),
    [
        (table_metrics, lambda lake: lake.table_log(table_of(lake.reader()), lake.latest())),
        (rows, lambda lake: committed(lake, lambda tx: tx.rows.truncate(table_of(tx)))),
        (expiry, drop),
    ],
    ids=["history", "truncate", "expiry"],
)
def test_an_inlined_data_table_that_duckdb_drops_after_its_commit(
    lake: LakeCatalog, module: Any, act: Callable[[LakeCatalog], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB does not exclude other writers meanwhile."""
    with_two_inlined_data_tables(lake)
    lake.table_log(table_of(lake.reader()), lake.latest())

    def drop_first(connection: Connection, table_id: int) -> list[tuple[str, int]]:
        found = registered(connection, table_id)
        monkeypatch.undo()
        change(lake, f"DELETE FROM ducklake_inlined_data_tables WHERE table_name = '{found[0][0]}'")
        change(lake, f"DROP TABLE {found[0][0]}")
        return found

    monkeypatch.setattr(module, "registered", drop_first)
    act(lake)
    assert module.registered is registered, "the table was dropped"


def test_an_inlined_data_table_that_is_missing_is_named_by_the_error(lake: LakeCatalog) -> None:
    create(lake)
    committed(lake, lambda tx: tx.rows.add_inlined(table_of(tx), [(1, "x")], (ColumnStats(1), ColumnStats(2))))
    change(lake, "DROP TABLE ducklake_inlined_data_1_1" if lake.database_kind != "mysql" else "DROP TABLE ducklake_inlined_data_1_2")
    with pytest.raises(EngineError, match="ducklake_inlined_data_1_"):
        committed(lake, lambda tx: tx.rows.truncate(table_of(tx), has_rows=True))


def schema_of(tx: Transaction) -> Schema:
    schema = tx.schema("s")
    assert schema is not None
    return schema


def test_an_expiry_drops_many_inlined_data_tables_in_several_transactions(lake: LakeCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "MAX_DROPPED_TABLES", 2)
    committed(lake, lambda tx: tx.objects.new_schema("s"))

    def create_filled(tx: Transaction) -> None:
        for number in range(5):
            table = tx.objects.new_table(schema_of(tx), f"t{number}", COLUMNS)
            tx.rows.add_inlined(table, [(1, "x")], (ColumnStats(1), ColumnStats(2)))
            tx.rows.add_files(table, [file_of(table)])

    committed(lake, create_filled)

    def drop_all(tx: Transaction) -> None:
        for number in range(5):
            tx.objects.drop_table(table_of(tx, f"t{number}", "s"))

    committed(lake, drop_all)
    committed(lake, lambda tx: tx.objects.drop_schema(schema_of(tx)))
    original = expiry.expire
    calls: list[Any] = []

    def interrupted(*arguments: Any) -> bool:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(maintenance, "expire", interrupted)
    with pytest.raises(KeyboardInterrupt):
        expire(lake)
    assert metadata(lake, "SELECT count(*) FROM ducklake_table") == [(3,)]
    assert len(lake.maintenance.known_files()) == 5
    expire(lake)  # no snapshot is left to expire
    assert len(calls) == 4
    for name in ("ducklake_table", "ducklake_inlined_data_tables", "ducklake_data_file"):
        assert metadata(lake, f"SELECT count(*) FROM {name}") == [(0,)], name
    assert metadata(lake, "SELECT schema_name FROM ducklake_schema") == [("main",)]
    assert len(lake.maintenance.scheduled(None)) == 5


def test_an_expiry_that_is_refused_after_its_first_transaction_says_so(sqlite_lake: LakeCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    create(sqlite_lake)
    calls: list[Any] = []

    def busy_later(*arguments: Any) -> bool:
        calls.append(arguments)
        if len(calls) > 1:
            raise ConcurrentWriteError("locked")
        return True

    monkeypatch.setattr(maintenance, "expire", busy_later)
    once = replace(sqlite_lake.maintenance, retry=RetrySettings(max_retry_count=0))
    with pytest.raises(ConflictError, match="the snapshots have expired, but not all"):
        once.expire(versions=[0], dry_run=False)
    calls.append(None)
    with pytest.raises(ConflictError, match="nothing was changed"):
        once.expire(versions=[0], dry_run=False)


def test_a_flush_drops_the_emptied_inlined_data_tables_of_the_whole_lake(lake: LakeCatalog) -> None:
    """Those that it empties itself are dropped by the next one, and the newest one of each table stays."""
    with_two_inlined_data_tables(lake)
    create(lake, "u")
    committed(lake, lambda tx: add_column(tx, "u"))
    if "u" not in inlined_data_tables(lake):
        pytest.skip("the database has no empty inlined-data tables, because DuckDB does not read it")
    create(lake, "v")
    committed(lake, lambda tx: tx.rows.add_inlined(table_of(tx, "v"), [(1, "x")], (ColumnStats(1), ColumnStats(2))))
    committed(lake, lambda tx: add_column(tx, "v"))
    committed(lake, add_column)
    before = lake.latest()
    assert inlined_data_tables(lake) == {"t": 3, "u": 2, "v": 2}
    flush_all(lake)
    assert inlined_data_tables(lake) == {"t": 2, "u": 1, "v": 2}
    assert lake.latest().schema_version > before.schema_version
    committed(lake, lambda tx: tx.rows.add_inlined(table_of(tx), [(3, "z", 3, 4)], tuple(map(ColumnStats, range(1, 5)))))
    flush_all(lake)
    assert inlined_data_tables(lake) == {"t": 1, "u": 1, "v": 2}


def test_a_flush_drops_a_limited_number_of_emptied_inlined_data_tables(sqlite_lake: LakeCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with rows, which are not dropped, do not keep the others from being dropped by a later flush."""
    lake = sqlite_lake
    monkeypatch.setattr(flush, "MAX_DROPPED_TABLES", 2)
    for name in ("filled", "other"):
        create(lake, name)
        committed(lake, lambda tx, name=name: tx.rows.add_inlined(table_of(tx, name), [(1, "x")], (ColumnStats(1), ColumnStats(2))))
        committed(lake, lambda tx, name=name: add_column(tx, name))
    create(lake)
    for _ in range(5):
        committed(lake, add_column)
    numbers = [6]
    for _ in range(200):
        insert_and_flush(lake)
        numbers.append(inlined_data_tables(lake)["t"])
        if numbers[-1] == 1:
            break
    assert numbers[-1] == 1
    assert {before - after for before, after in pairwise(numbers)} <= {0, 1, 2}
    assert inlined_data_tables(lake) == {"filled": 2, "other": 2, "t": 1}


def insert_and_flush(lake: LakeCatalog) -> None:
    """Commit a row of `t` that is inlined, and a flush of `t`."""

    def insert_row(tx: Transaction) -> None:
        columns = table_of(tx).columns
        tx.rows.add_inlined(table_of(tx), [(1, "x", *range(len(columns) - 2))], tuple(ColumnStats(each.column_id) for each in columns))

    committed(lake, insert_row)
    flush_all(lake)


def test_an_inlined_data_table_that_is_missing_stops_no_flush_of_another_table(sqlite_lake: LakeCatalog) -> None:
    lake = sqlite_lake
    create(lake, "u")
    committed(lake, lambda tx: add_column(tx, "u"))
    ((name,),) = metadata(lake, "SELECT min(table_name) FROM ducklake_inlined_data_tables")
    change(lake, f"DROP TABLE {name}")
    with_two_inlined_data_tables(lake)
    flush_all(lake)
    assert inlined_data_tables(lake) == {"t": 1, "u": 2}


def inlined_data_tables(lake: LakeCatalog) -> dict[str, int]:
    """Return table → the number of its inlined-data tables."""
    query = "SELECT t.table_name, count(*) FROM ducklake_inlined_data_tables i JOIN ducklake_table t ON t.table_id = i.table_id"
    return dict(metadata(lake, f"{query} WHERE t.end_snapshot IS NULL GROUP BY t.table_name"))


def add_column(tx: Transaction, name: str = "t") -> None:
    table = table_of(tx, name)
    added = Column(table.next_column_id, f"c{table.next_column_id}", "int32")
    tx.objects.put_table(replace(table, columns=(*table.columns, added), next_column_id=table.next_column_id + 1))


def with_two_inlined_data_tables(lake: LakeCatalog) -> None:
    """Make a table `t` with two inlined-data tables. A flush has emptied the first, so the next flush drops it."""
    create(lake)
    committed(lake, lambda tx: tx.rows.add_inlined(table_of(tx), [(1, "x")], (ColumnStats(1), ColumnStats(2))))
    committed(lake, add_column)
    flush_all(lake)
    committed(lake, lambda tx: tx.rows.add_inlined(table_of(tx), [(2, "y", 3)], (ColumnStats(1), ColumnStats(2), ColumnStats(3))))


def flush_all(lake: LakeCatalog) -> None:
    """Commit a flush of `t` as if all its rows were in a file."""

    def work(tx: Transaction) -> None:
        table = table_of(tx)
        rows = {each.table_name: len(each.row_ids) for each in tx.base.flush_plan(table).versions}
        tx.rows.flush(table, Flush((), (), rows, 0, tx.snapshot.snapshot_id))

    committed(lake, work)
