"""With the isolation level `serializable`, concurrent changes of everything that a transaction has read are conflicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.staged import CommitMessage
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.errors import ConfigurationError, ConflictError, DataError
from dbt.adapters.ducklake.format.files import ColumnFilter
from dbt.adapters.ducklake.lake.alter import set_nullable
from dbt.adapters.ducklake.lake.context import Context
from tests.catalog_objects import COLUMNS, committed, table_of, view_of
from tests.places import USUAL_DATABASES, CatalogPlace, empty_place
from tests.unit.catalog.conftest import create, file_of, insert

Work = Callable[[Transaction], Any]
LOW, HIGH = ColumnFilter.between(1, "0", "9"), ColumnFilter.between(1, "100", "109")


@pytest.fixture(params=USUAL_DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Any) -> CatalogPlace:
    return empty_place(request.param, request, tmp_path)


@pytest.fixture
def lake(place: CatalogPlace) -> Iterator[LakeCatalog]:
    """A lake with `t`, which transactions read, `u`, which they change, and the view `v`."""
    with place.open(isolation_level="serializable") as opened:
        insert(opened, file_of(create(opened), 0, 9))
        create(opened, "u")
        committed(opened, lambda tx: tx.objects.new_view(tx.schema("main"), "v", "SELECT 1 AS a"))
        yield opened


def reads(*within: ColumnFilter) -> Work:
    return lambda tx: tx.record_read(table_of(tx).table_id, within)


def looks_up(name: str) -> Work:
    return lambda tx: tx.find("main", name)


def lists_tables(tx: Transaction) -> None:
    tx.record_read(None)


def adds(name: str, low: int = 0, high: int = 9) -> Work:
    return lambda tx: tx.rows.add_files(table_of(tx, name), [file_of(table_of(tx, name), low, high)])


def alters(name: str) -> Work:
    return lambda tx: tx.objects.put_table(replace(table_of(tx, name), comment="changed"))


def renames(name: str) -> Work:
    def work(tx: Transaction) -> None:
        if name == "v":
            tx.objects.put_view(replace(view_of(tx, name), name="renamed"))
        else:
            tx.objects.put_table(replace(table_of(tx, name), name="renamed"))

    return work


def drops(name: str) -> Work:
    return lambda tx: tx.objects.drop_view(view_of(tx, name)) if name == "v" else tx.objects.drop_table(table_of(tx, name))


def makes(name: str) -> Work:
    return lambda tx: tx.objects.new_table(tx.schema("main"), name, COLUMNS)


def conflict(lake: LakeCatalog, read: Work, theirs: Work) -> str | None:
    """Return the message if a transaction that reads and inserts into `u` conflicts with what is committed before it."""
    transaction = lake.begin()
    read(transaction)
    adds("u")(transaction)
    committed(lake, theirs)
    try:
        transaction.commit()
    except ConflictError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("read", "theirs", "expected"),
    [
        (reads(), adds("t"), "cannot use the rows of main.t: "),
        (reads(LOW), adds("t", 5, 6), "cannot use the rows of main.t: a concurrent transaction inserted rows that this one depends on"),
        (reads(LOW), adds("t", 105, 106), None),
        (reads(HIGH), adds("t", 105, 106), "cannot use the rows of main.t: "),
        (reads(), alters("t"), "altered it"),
        (reads(), drops("t"), "dropped it"),
        (reads(), renames("t"), "cannot use the definition of main.t: a concurrent transaction renamed it"),
        (reads(), adds("u"), None),
        (reads(), makes("w"), None),
        (looks_up("v"), drops("v"), "cannot use the definition of main.v: "),
        (looks_up("v"), renames("v"), "cannot use the definition of main.v: "),
        (looks_up("W"), makes("w"), "created a table with that name"),
        (looks_up("w"), makes("x"), None),
        (lists_tables, makes("w"), "cannot use the tables of the lake: "),
        (lists_tables, adds("t"), "changed or dropped something in it"),
    ],
)
def test_conflicts(lake: LakeCatalog, read: Work, theirs: Work, expected: str | None) -> None:
    message = conflict(lake, read, theirs)
    assert message is None if expected is None else message is not None and expected in message


@pytest.mark.parametrize("theirs", [adds("t"), drops("t"), renames("t"), drops("v"), makes("w")])
def test_snapshot_isolation_requires_only_the_changed_tables(place: CatalogPlace, lake: LakeCatalog, theirs: Work) -> None:
    with place.open() as other:
        for read in (reads(), looks_up("v"), looks_up("w")):
            transaction = other.begin()
            read(transaction)
        adds("u")(transaction)
        committed(lake, theirs)
        assert transaction.commit() is not None


def test_a_transaction_that_changes_nothing_has_no_conflict(lake: LakeCatalog) -> None:
    transaction = lake.begin()
    reads()(transaction)
    committed(lake, adds("t"))
    assert transaction.commit() is None


def test_what_a_failed_statement_has_read_counts(lake: LakeCatalog) -> None:
    def fails(transaction: Transaction) -> None:
        savepoint = transaction.savepoint()
        transaction.rows.depends_on_rows(table_of(transaction), [LOW])
        transaction.restore(savepoint)

    assert conflict(lake, fails, adds("t", 105, 106)) is None
    assert "inserted rows that this one depends on" in (conflict(lake, fails, adds("t")) or "")


def test_what_a_failed_set_not_null_has_read_counts(lake: LakeCatalog) -> None:
    def spark() -> Any:
        raise DataError("the column contains NULLs")

    def fails(transaction: Transaction) -> None:
        savepoint = transaction.savepoint()
        with pytest.raises(DataError):
            set_nullable(Context(lake, transaction, spark), table_of(transaction), ("a",), False)
        transaction.restore(savepoint)

    assert "cannot use the rows of main.t: " in (conflict(lake, fails, adds("t")) or "")


@pytest.mark.parametrize(("theirs", "is_conflict"), [(adds("t"), True), (makes("w"), True), (makes("x"), False)])
def test_transactions_that_are_committed_together(lake: LakeCatalog, theirs: Work, is_conflict: bool) -> None:
    shared = lake.begin_shared()
    for read in (reads(), looks_up("w")):
        transaction = shared.begin(lambda: None)
        read(transaction)
        adds("u")(transaction)
        transaction.commit()
    committed(lake, theirs)
    if not is_conflict:
        shared.require_committable()
        return
    with pytest.raises(ConflictError):
        shared.require_committable()


@pytest.mark.parametrize(("serializable", "is_conflict"), [(True, True), (False, False)])
def test_a_transaction_of_a_run_that_changes_nothing(place: CatalogPlace, lake: LakeCatalog, serializable: bool, is_conflict: bool) -> None:
    with place.open(isolation_level="serializable" if serializable else "snapshot") as other:
        shared = other.begin_shared()
        for work in (reads(), adds("u")):
            transaction = shared.begin(lambda: None)
            work(transaction)
            transaction.commit()
        committed(lake, adds("t"))
        with pytest.raises(ConflictError) if is_conflict else nullcontext():
            shared.require_committable()


def test_the_rows_of_failed_tests_are_kept_whatever_the_run_has_read(lake: LakeCatalog) -> None:
    shared = lake.begin_shared()
    for works in ((reads(), adds("u")), (reads(), makes("failures"))):
        transaction = shared.begin(lambda: None)
        for work in works:
            work(transaction)
        transaction.commit()
    committed(lake, adds("t"))
    shared.keep([("main", "failures")])
    assert shared.commit(CommitMessage()) is not None


@pytest.mark.parametrize("name", ["t", "v"])
def test_renames_that_a_transaction_has_seen_are_no_conflict(lake: LakeCatalog, name: str) -> None:
    ids = count(-1, -1)
    earlier = lake.begin_shared(ids=ids)
    transaction = earlier.begin(lambda: None)
    renames(name)(transaction)
    transaction.commit()
    later = lake.begin_shared(earlier.own(), ids)
    transaction = later.begin(lambda: None)
    for work in (looks_up(name), looks_up("renamed"), adds("u")):
        work(transaction)
    transaction.commit()
    snapshot = earlier.commit(CommitMessage())
    assert snapshot is not None
    later.record_published(snapshot)
    later.require_committable()


def test_other_levels_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="`isolation_level` must be snapshot or serializable, not 'read committed'"):
        CatalogSettings("lake.sqlite", isolation_level="read committed")
