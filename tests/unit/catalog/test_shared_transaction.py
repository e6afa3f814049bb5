"""Transactions that share their changes: each sees what was added before it, conflicts are found, and one snapshot commits everything."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.read.reader import SnapshotReader
from dbt.adapters.ducklake.catalog.staged import CommitMessage
from dbt.adapters.ducklake.catalog.transaction.shared import SharedTransaction
from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.errors import ConfigurationError, ConflictError, StatementError
from dbt.adapters.ducklake.format.files import ColumnFilter
from dbt.adapters.ducklake.format.objects import Table, View
from tests.catalog_objects import COLUMNS, committed, main_of, table_of, view_of
from tests.unit.catalog.conftest import create, file_of, insert, metadata


def begin(shared: SharedTransaction) -> Transaction:
    return shared.begin(lambda: None)


def create_in(transaction: Transaction, name: str, schema: str = "main") -> None:
    found = transaction.schema(schema) or transaction.objects.new_schema(schema)
    table = transaction.objects.new_table(found, name, COLUMNS)
    transaction.rows.add_files(table, [file_of(table)])


def count(view: SnapshotReader | Transaction, name: str = "t", schema: str = "main") -> int:
    return sum(file.record_count for file in view.scan_plan(table_of(view, name, schema)).files)


def count_down() -> Iterator[int]:
    return itertools.count(-1, -1)


def names(lake: LakeCatalog) -> list[str]:
    return [each.name for each in lake.reader().relations()]


def test_all_changes_become_one_snapshot(lake: LakeCatalog) -> None:
    insert(lake, file_of(create(lake)))
    before = lake.latest().snapshot_id
    shared = lake.begin_shared()
    one, other = begin(shared), begin(shared)
    create_in(one, "one")
    create_in(other, "other", "new")
    table = table_of(other)
    other.rows.add_files(table, [file_of(table, 10, 19)])
    assert other.find("main", "one") is None
    for transaction, node in ((one, "model.one"), (other, "model.other")):
        transaction.set_commit_message("me", node)
        assert transaction.commit() is None
    later = begin(shared)
    table = table_of(later, "one")
    assert count(later, "one") == 10
    later.rows.add_files(table, [file_of(table, 10, 19)])
    later.objects.put_table(replace(table, name="renamed"))
    later.commit()
    assert lake.latest().snapshot_id == before
    parts = [(part.message.message, part.changed) for part in shared.parts]
    assert parts == [("model.one", ("main.one",)), ("model.other", ("main.t", "new.other")), (None, ("main.renamed",))]
    assert shared.changed_names() == ["main.renamed", "main.t", "new.other"]
    assert shared.whole.commit() is not None
    assert lake.latest().snapshot_id == before + 1
    assert [(name, count(lake.reader(), name)) for name in ("t", "renamed")] == [
        ("t", 20),
        ("renamed", 20),
    ]
    assert count(lake.reader(), "other", "new") == 10
    files = metadata(lake, "SELECT data_file_id, table_id FROM ducklake_data_file")
    assert len(files) == len({row[0] for row in files}) == 5


def test_a_statement_that_finds_no_rows_changes_nothing(lake: LakeCatalog) -> None:
    insert(lake, file_of(create(lake)))
    shared = lake.begin_shared()
    changing, deleting, other = (begin(shared) for _ in range(3))
    table = table_of(changing)
    changing.rows.add_files(table, [file_of(table, 10, 19)])
    changing.commit()
    deleting.rows.depends_on_rows(table)
    assert not deleting.changes_catalog
    deleting.commit()
    other.rows.depends_on_rows(table)
    create_in(other, "other")
    assert other.changes_catalog
    with pytest.raises(ConflictError, match="a table was changed by another transaction of this run"):
        other.commit()
    last = begin(shared)
    last.rows.depends_on_rows(table)
    create_in(last, "last")
    last.commit()
    assert [part.changed for part in shared.parts] == [("main.t",), ("main.last",)]
    assert shared.whole.commit() is not None


def test_changes_that_a_position_includes_stay_as_they_are(sqlite_lake: LakeCatalog) -> None:
    """A model has read what the run has staged for `t`. Nobody may change `t` afterwards, in the run or before it is published."""
    create(sqlite_lake)
    shared = sqlite_lake.begin_shared()
    first = begin(shared)
    first.rows.add_files(table_of(first), [file_of(table_of(first))])
    first.commit()
    model, same_time = begin(shared), begin(shared)
    model.rows.read_as_input(table_of(model))
    create_in(model, "model")
    same_time.rows.add_files(table_of(same_time), [file_of(table_of(same_time), 10, 19)])
    model.commit()
    with pytest.raises(ConflictError, match="whose changes were read"):
        same_time.commit()
    later = begin(shared)
    table = table_of(later)
    with pytest.raises(StatementError, match="cannot be changed again"):
        later.rows.add_files(table, [file_of(table, 10, 19)])
    with pytest.raises(StatementError, match="cannot be changed again"):
        later.objects.put_table(replace(table, columns=table.columns[:1]))
    later.objects.put_table(replace(table, comment="a comment"))
    insert(sqlite_lake, file_of(table_of(sqlite_lake.reader()), 20, 29))
    with pytest.raises(ConflictError, match="use the rows of main"):
        shared.whole.commit()


def test_a_rolled_back_or_failed_transaction_adds_nothing(sqlite_lake: LakeCatalog) -> None:
    shared = sqlite_lake.begin_shared()
    kept, failed = begin(shared), begin(shared)
    create_in(kept, "kept")
    kept.commit()
    create_in(failed, "failed")
    paths = failed.written_files()
    failed.rollback()
    assert set(failed.abandoned_files()) == set(paths)
    assert kept.abandoned_files() == []
    shared.whole.commit()
    assert names(sqlite_lake) == ["kept"]


def test_a_file_that_a_later_transaction_replaces_is_abandoned_with_the_run(sqlite_lake: LakeCatalog) -> None:
    shared = sqlite_lake.begin_shared()
    first, second = begin(shared), begin(shared)
    create_in(first, "t")
    (path,) = first.written_files()
    first.commit()
    second = begin(shared)
    second.objects.drop_table(table_of(second))
    create_in(second, "t")
    second.commit()
    assert second.abandoned_files() == []
    shared.whole.commit()
    assert shared.whole.abandoned_files() == [path]
    assert count(sqlite_lake.reader()) == 10


@pytest.mark.parametrize("conflict", ["rows", "rows that it read", "definition", "name", "view name", "schema", "option", "dropped schema"])
def test_conflicting_changes_are_refused(sqlite_lake: LakeCatalog, conflict: str) -> None:
    create(sqlite_lake)
    committed(sqlite_lake, lambda transaction: transaction.objects.new_schema("old"))
    shared = sqlite_lake.begin_shared()
    one, other = begin(shared), begin(shared)
    table = table_of(one)
    for number, transaction in enumerate((one, other)):
        match conflict:
            case "rows" if number:
                transaction.rows.truncate(table)
            case "rows" | "rows that it read":
                transaction.rows.add_files(table, [file_of(table)])
                transaction.record_read(table.table_id)
            case "definition" if number:
                transaction.objects.put_table(replace(table, comment="c"))
            case "definition":
                transaction.objects.drop_table(table)
            case "view name" if number:
                transaction.objects.new_view(transaction.schema("main"), "NEW", "SELECT 1")  # type: ignore[arg-type]
            case "schema":
                transaction.objects.new_schema("made" if number else "MADE")
            case "option":
                transaction.objects.set_option("target_file_size", str(number))
            case "dropped schema" if number:
                transaction.objects.drop_schema(transaction.schema("old"))  # type: ignore[arg-type]
            case "dropped schema":
                create_in(transaction, "new", "old")
            case _:
                create_in(transaction, "new")
    one.commit()
    files = other.written_files()
    with pytest.raises(ConflictError, match="another transaction of this run"):
        other.commit()
    assert set(other.abandoned_files()) == set(files)
    assert not {*files} & {*shared.whole.written_files()}


CONDITION = (ColumnFilter(1, nulls=True),)


@pytest.mark.parametrize("earlier", ["new table", "same condition", "truncated", "no rows"])
@pytest.mark.parametrize("change", ["merge", "overwrite"])
def test_rows_that_two_transactions_merge_or_overwrite_are_a_conflict(sqlite_lake: LakeCatalog, earlier: str, change: str) -> None:
    """What a statement has found to delete, here nothing, does not show in its staged changes."""
    if earlier != "new table":
        create(sqlite_lake)
    shared = sqlite_lake.begin_shared()
    first = begin(shared)
    match earlier:
        case "new table":
            first.objects.new_table(main_of(first), "t", COLUMNS)
        case "same condition":
            first.rows.depends_on_rows(table_of(first), CONDITION)
        case "truncated":
            first.rows.truncate(table_of(first))
    first.commit()
    one, other = begin(shared), begin(shared)
    for transaction in (one, other):
        table = table_of(transaction)
        if change == "merge":
            transaction.rows.depends_on_rows(table, CONDITION)
        else:
            transaction.rows.truncate(table)
        transaction.rows.add_files(table, [file_of(table)])
    appending = begin(shared)
    appending.rows.add_files(table_of(appending), [file_of(table_of(appending))])
    one.commit()
    with pytest.raises(ConflictError, match="was changed by another transaction of this run"):
        other.commit()
    appending.commit()
    shared.whole.commit()
    assert count(sqlite_lake.reader()) == 20


def test_rows_that_two_transactions_append_are_joined(lake: LakeCatalog) -> None:
    insert(lake, file_of(create(lake)))
    shared = lake.begin_shared()
    first = begin(shared)
    first.rows.add_files(table_of(first), [file_of(table_of(first))])
    first.commit()
    transactions = [begin(shared) for _ in range(3)]
    for transaction in transactions:
        table = table_of(transaction)
        transaction.rows.add_files(table, [file_of(table), file_of(table)])
        transaction.rows.add_inlined(table, [(1, "x")], file_of(table, 1, 1, rows=1).column_stats)
    for transaction in transactions:
        transaction.commit()
    shared.whole.commit()
    starts = metadata(lake, "SELECT row_id_start FROM ducklake_data_file ORDER BY 1")
    inlined = [row for rows in lake.reader().scan_plan(table_of(lake.reader())).inlined for row in rows.row_ids]
    used = [number for (start,) in starts for number in range(start, start + 10)] + inlined
    assert sorted(used) == list(range(83))


def test_a_transaction_leaves_out_what_it_started_from(sqlite_lake: LakeCatalog) -> None:
    insert(sqlite_lake, file_of(create(sqlite_lake)))
    ids = count_down()
    earlier = sqlite_lake.begin_shared(ids=ids)
    transaction = begin(earlier)
    create_in(transaction, "earlier")
    table = table_of(transaction)
    transaction.rows.add_files(table, [file_of(table)])
    transaction.commit()
    later = sqlite_lake.begin_shared(earlier.own(), ids)
    transaction = begin(later)
    assert (count(transaction, "earlier"), count(transaction)) == (10, 20)
    create_in(transaction, "later")
    table = table_of(transaction)
    transaction.rows.add_files(table, [file_of(table)])
    transaction.commit()
    assert later.changed_names() == ["main.later", "main.t"]
    assert later.commit(CommitMessage(message="later")) is not None
    assert (names(sqlite_lake), count(sqlite_lake.reader())) == (["later", "t"], 20)
    assert earlier.commit(CommitMessage()) is not None
    assert (sorted(names(sqlite_lake)), count(sqlite_lake.reader())) == (["earlier", "later", "t"], 30)


@pytest.mark.parametrize(
    "change", ["definition", "rows", "new rows", "new table in a new schema", "option of a table", "option of a schema", "position"]
)
def test_a_change_of_what_it_started_from_is_refused(sqlite_lake: LakeCatalog, change: str) -> None:
    insert(sqlite_lake, file_of(create(sqlite_lake)))
    ids = count_down()
    earlier = sqlite_lake.begin_shared(ids=ids)
    transaction = begin(earlier)
    create_in(transaction, "earlier", "new")
    transaction.rows.truncate(table_of(transaction))
    transaction.commit()
    later = sqlite_lake.begin_shared(earlier.own(), ids)
    transaction = begin(later)
    match change:
        case "definition":
            transaction.objects.put_table(replace(table_of(transaction, "earlier", "new"), comment="c"))
        case "rows":
            transaction.objects.drop_table(table_of(transaction))
        case "new rows":
            table = table_of(transaction, "earlier", "new")
            transaction.rows.add_files(table, [file_of(table)])
        case "new table in a new schema":
            create_in(transaction, "later", "new")
        case "option of a table":
            transaction.objects.set_option("target_file_size", "1000000", table_of(transaction, "earlier", "new"))
        case "option of a schema":
            transaction.objects.set_option("target_file_size", "1000000", transaction.schema("new"))
        case "position":
            transaction.rows.read_as_input(table_of(transaction))
            create_in(transaction, "later")
    with pytest.raises(StatementError, match="that is not published yet"):
        transaction.commit()
    assert not later.changes_catalog


def test_the_run_conflicts_with_a_concurrent_writer_as_a_transaction_does(sqlite_lake: LakeCatalog) -> None:
    create(sqlite_lake)
    shared = sqlite_lake.begin_shared()
    transaction = begin(shared)
    transaction.objects.put_table(replace(table_of(transaction), comment="ours"))
    transaction.commit()
    committed(sqlite_lake, lambda theirs: theirs.objects.drop_table(table_of(theirs)))
    with pytest.raises(ConflictError):
        shared.whole.commit()
    assert names(sqlite_lake) == []


def test_only_some_tables_are_kept(sqlite_lake: LakeCatalog) -> None:
    insert(sqlite_lake, file_of(create(sqlite_lake)))
    shared = sqlite_lake.begin_shared()
    transaction = begin(shared)
    for name, schema in (("failures", "audit"), ("model", "main"), ("other", "more")):
        create_in(transaction, name, schema)
    transaction.objects.new_view(transaction.schema("main"), "v", "SELECT 1")  # type: ignore[arg-type]
    transaction.objects.drop_table(table_of(transaction))
    transaction.commit()
    shared.keep([("AUDIT", "Failures")])
    assert shared.whole.commit() is not None
    assert sorted(names(sqlite_lake)) == ["failures", "t"]
    assert [schema.name for schema in sqlite_lake.reader().schemas()] == ["audit", "main"]
    assert len(shared.whole.abandoned_files()) == 2


def test_a_kept_table_replaces_the_view_with_its_name(sqlite_lake: LakeCatalog) -> None:
    before = sqlite_lake.begin()
    before.objects.new_view(before.schema("main"), "failures", "SELECT 1")  # type: ignore[arg-type]
    before.commit()
    shared = sqlite_lake.begin_shared()
    transaction = begin(shared)
    view = transaction.find("main", "failures")
    assert isinstance(view, View)
    transaction.objects.drop_view(view)
    create_in(transaction, "failures", "main")
    transaction.objects.new_view(transaction.schema("main"), "other", "SELECT 1")  # type: ignore[arg-type]
    transaction.commit()
    shared.keep([("main", "failures")])
    shared.whole.commit()
    assert [(each.name, type(each)) for each in sqlite_lake.reader().relations("main")] == [("failures", Table)]
    assert metadata(sqlite_lake, "SELECT view_name FROM ducklake_view WHERE end_snapshot IS NULL") == []


def test_the_end_abandons_no_live_file(sqlite_lake: LakeCatalog) -> None:
    shared = sqlite_lake.begin_shared()
    transaction = begin(shared)
    create_in(transaction, "t")
    transaction.commit()
    shared.whole.commit()
    shared.whole.rollback()
    assert shared.whole.abandoned_files() == []
    transaction.rollback()
    assert transaction.abandoned_files() == []


def test_nothing_can_be_added_after_the_end(sqlite_lake: LakeCatalog) -> None:
    shared = sqlite_lake.begin_shared()
    transaction = begin(shared)
    create_in(transaction, "t")
    shared.whole.rollback()
    with pytest.raises(StatementError, match="over"):
        transaction.commit()
    assert names(sqlite_lake) == []


def test_a_refused_change_stages_nothing(sqlite_lake: LakeCatalog) -> None:
    def refuse() -> None:
        raise ConfigurationError("not this lake")

    shared = sqlite_lake.begin_shared()
    transaction = shared.begin(refuse)
    with pytest.raises(ConfigurationError, match="not this lake"):
        create_in(transaction, "t")
    transaction.commit()
    assert not shared.changes_catalog


@pytest.mark.parametrize("seed", range(5))
def test_interleaved_transactions_on_separate_tables_equal_sequential_ones(sqlite_lake: LakeCatalog, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(6):
        create(sqlite_lake, f"t{number}")
    expected = {f"t{number}": 0 for number in range(6)}
    views: set[str] = set()
    shared = sqlite_lake.begin_shared()
    for turn in range(8):
        chosen = chance.sample(sorted(expected), 3)
        opened = [(begin(shared), name) for name in chosen]
        for number, (transaction, name) in enumerate(opened):
            table = table_of(transaction, name)
            if chance.random() < 0.3:
                transaction.rows.truncate(table)
                expected[name] = 0
            transaction.rows.add_files(table, [file_of(table) for _ in range(turn % 3)])
            expected[name] += 10 * (turn % 3)
            views.add(view := f"v{turn}_{number}")
            transaction.objects.new_view(transaction.schema("main"), view, "SELECT 1")  # type: ignore[arg-type]
        chance.shuffle(opened)
        for transaction, _ in opened:
            transaction.commit()
    shared.whole.commit()
    reader = sqlite_lake.reader()
    assert {name: count(reader, name) for name in expected} == expected
    assert {view_of(reader, name).name for name in views} == views
