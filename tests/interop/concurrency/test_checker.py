"""Tests of the checker with histories written by hand, without a lake."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from .checker import Verdict, check
from .history import Actor, Answer, Done, History, State, TableRows, Transaction, ViewText
from .model import Model
from .scripted import script, statement
from .statements import VIEWS

COLUMNS = ("id", "n")


def lake(t: list[int], u: list[int], **more: ViewText) -> State:
    """Create a state from the ids of its rows; `n` is 0."""
    return State.of({"t": _table(t), "u": _table(u), **more})


def _table(ids: list[int]) -> TableRows:
    return TableRows.of(COLUMNS, [(each, 0) for each in ids])


def done(text: str, answer: int | list[tuple[int, ...]] | None = None, *, refused: bool = False, view: str | None = None) -> Done:
    """Create a statement and its answer: a count, or rows."""
    given = Answer(rows=tuple(answer)) if isinstance(answer, list) else Answer(count=answer, refused=refused)
    return Done(statement(text), given, () if view is None else (("x", f"CREATE OR REPLACE TEMPORARY VIEW x AS {view}"),))


def did(
    number: int,
    steps: tuple[int, int],
    seen: tuple[int, int],
    *work: Done,
    snapshot: int | None = None,
    committed: bool = True,
    actor: Actor = "A",
) -> Transaction:
    """Create a transaction with BEGIN, by default a committed one of A."""
    return Transaction(number, actor, *steps, committed, work, seen, () if snapshot is None else (snapshot,), True)


def verdict(model: Model, states: Mapping[int, State], *transactions: Transaction, faults: tuple[str, ...] = ()) -> Verdict:
    return check(History(script(), (), transactions, states, faults), model).verdict


ADD = "INSERT INTO t (id, n) SELECT coalesce(max(id), 0) + 1, 0 FROM t"


def test_transactions_in_sequence(model: Model) -> None:
    states = {1: lake([1], []), 2: lake([1, 2], []), 3: lake([1, 2, 3], [])}
    assert (
        verdict(model, states, did(0, (0, 1), (1, 1), done(ADD, 1), snapshot=2), did(1, (2, 3), (2, 2), done(ADD, 1), snapshot=3))
        is Verdict.SERIALIZABLE
    )


def test_two_appends_of_the_same_row(model: Model) -> None:
    states = {1: lake([1], []), 2: lake([1, 2], []), 3: lake([1, 2, 2], [])}
    first, second = did(0, (0, 2), (1, 1), done(ADD, 1), snapshot=2), did(1, (1, 3), (1, 2), done(ADD, 1), snapshot=3)
    assert verdict(model, states, first, second) is Verdict.VIOLATION


@pytest.mark.parametrize(("source", "view"), [("v", None), ("x", VIEWS[2])], ids=["view", "temporary view"])
def test_two_appends_of_the_same_row_through_a_view(model: Model, source: str, view: str | None) -> None:
    given = {"v": ViewText(2)}
    states = {
        1: lake([1], [], **given),
        2: State.of({**dict(lake([1], [], **given).relations), "t": TableRows.of(COLUMNS, [(1, 0), (2, 1)])}),
    }
    states[3] = states[2].with_relations_of(["t"], State.of({"t": TableRows.of(COLUMNS, [(1, 0), (2, 1), (2, 1)])}))
    append = done(f"INSERT INTO t (id, n) SELECT id, n FROM {source}", 1, view=view)
    first, second = did(0, (0, 2), (1, 1), append, snapshot=2), did(1, (1, 3), (1, 2), append, snapshot=3, actor="B")
    assert verdict(model, states, first, second) is Verdict.VIOLATION
    assert verdict(model, {each: states[each] for each in (1, 2)}, first) is Verdict.SERIALIZABLE


def test_a_count_that_is_wrong_where_the_transaction_is_placed(model: Model) -> None:
    states = {1: lake([1], []), 2: lake([1, 7], []), 3: lake([1, 7, 7], [])}
    first = did(0, (0, 2), (1, 1), done("INSERT INTO t VALUES (7, 0)", 1), snapshot=2)
    update, insert = done("UPDATE t SET n = 0 WHERE id = 7", 0), done("INSERT INTO t VALUES (7, 0)", 1)
    assert verdict(model, states, first, did(1, (1, 3), (1, 2), update, insert, snapshot=3)) is Verdict.VIOLATION
    update = done("UPDATE t SET n = 0 WHERE id = 7", 1)
    assert verdict(model, states, first, did(1, (1, 3), (1, 2), update, insert, snapshot=3)) is Verdict.SERIALIZABLE


def test_write_skew_when_each_reads_what_the_other_changes(model: Model) -> None:
    states = {1: lake([1], [1]), 2: lake([1], [1, 5]), 3: lake([1, 6], [1, 5])}
    first = did(0, (0, 2), (1, 1), done("SELECT count(*) FROM t", [(1,)]), done("INSERT INTO u VALUES (5, 0)", 1), snapshot=2)
    second = did(1, (1, 3), (1, 2), done("SELECT count(*) FROM u", [(1,)]), done("INSERT INTO t VALUES (6, 0)", 1), snapshot=3)
    assert verdict(model, states, first, second) is Verdict.WRITE_SKEW


def test_no_write_skew_when_only_one_reads_what_the_other_changes(model: Model) -> None:
    states = {1: lake([1], [1]), 2: lake([1], [1, 5]), 3: lake([1, 6], [1, 5])}
    first = did(0, (0, 2), (1, 1), done("INSERT INTO u VALUES (5, 0)", 1), snapshot=2)
    second = did(1, (1, 3), (1, 2), done("SELECT count(*) FROM u", [(1,)]), done("INSERT INTO t VALUES (6, 0)", 1), snapshot=3)
    assert verdict(model, states, first, second) is Verdict.REORDERED


def test_reads_at_two_snapshots_are_not_write_skew(model: Model) -> None:
    states = {1: lake([], [1]), 2: lake([], [1, 5]), 3: lake([6], [1, 5])}
    first = did(0, (0, 2), (1, 1), done("INSERT INTO u VALUES (5, 0)", 1), snapshot=2)
    counts = done("SELECT count(*) FROM u", [(1,)]), done("SELECT max(id) FROM u", [(5,)])
    assert (
        verdict(model, states, first, did(1, (1, 3), (1, 2), *counts, done("INSERT INTO t VALUES (6, 0)", 1), snapshot=3))
        is Verdict.VIOLATION
    )


def test_a_reader_can_be_placed_anywhere_between_begin_and_end(model: Model) -> None:
    states = {1: lake([], []), 2: lake([5], []), 3: lake([5, 6], [])}
    writers = [
        did(each, (each, each), (each, each), done(f"INSERT INTO t VALUES ({each + 4}, 0)", 1), snapshot=each + 1) for each in (1, 2)
    ]
    for count, begun, expected in ((0, 0, True), (1, 0, True), (2, 0, True), (0, 2, False), (1, 2, True), (3, 0, False)):
        reader = did(9, (begun, 3), (1, 3), done("SELECT count(*) FROM t", [(count,)]))
        assert (verdict(model, states, *writers, reader) is Verdict.SERIALIZABLE) is expected, (count, begun)


def test_lost_rows_lost_deletes_and_unexplained_rows(model: Model) -> None:
    for text, count, after in (
        ("INSERT INTO t VALUES (5, 0)", 1, [1]),
        ("DELETE FROM t WHERE id = 1", 1, [1]),
        ("DELETE FROM t WHERE id = 9", 0, []),
    ):
        assert (
            verdict(model, {1: lake([1], []), 2: lake(after, [])}, did(0, (0, 1), (1, 1), done(text, count), snapshot=2))
            is Verdict.VIOLATION
        )
    assert verdict(model, {1: lake([1], []), 2: lake([], [])}) is Verdict.VIOLATION


def test_an_aborted_transaction_must_have_read_some_snapshot(model: Model) -> None:
    states = {1: lake([1], []), 2: lake([1, 5], [])}
    writer = did(0, (1, 1), (1, 1), done("INSERT INTO t VALUES (5, 0)", 1), snapshot=2)
    for count, expected in ((1, Verdict.SERIALIZABLE), (2, Verdict.SERIALIZABLE), (0, Verdict.VIOLATION)):
        aborted = did(
            1, (0, 2), (1, 2), done("SELECT count(*) FROM t", [(count,)]), done("INSERT INTO t VALUES (7, 0)", 1), committed=False
        )
        assert verdict(model, states, writer, aborted) is expected


def test_a_refusal_is_an_answer(model: Model) -> None:
    states = {1: lake([1], [])}
    assert verdict(model, states, did(0, (0, 0), (1, 1), done("SELECT id, n FROM w", refused=True))) is Verdict.SERIALIZABLE
    assert verdict(model, states, did(0, (0, 0), (1, 1), done("SELECT id, n FROM t", refused=True))) is Verdict.VIOLATION


def test_maintenance_changes_no_rows(model: Model) -> None:
    call = done("merge_adjacent_files")
    assert verdict(model, {1: lake([1], []), 2: lake([1], [])}, did(0, (0, 0), (1, 1), call, snapshot=2)) is Verdict.SERIALIZABLE
    assert verdict(model, {1: lake([1], []), 2: lake([], [])}, did(0, (0, 0), (1, 1), call, snapshot=2)) is Verdict.VIOLATION


def test_the_rules_of_duckdb_differ_from_ours(model: Model) -> None:
    states = {1: lake([1], []), 2: lake([1, 2], []), 3: lake([1, 2, 2], [])}
    ours, theirs = did(0, (0, 2), (1, 1), done(ADD, 1), snapshot=2), did(1, (1, 3), (1, 2), done(ADD, 1), snapshot=3, actor="duckdb")
    assert verdict(model, states, ours, theirs) is Verdict.SERIALIZABLE


def test_a_fault_is_a_violation(model: Model) -> None:
    assert verdict(model, {1: lake([], [])}, faults=("KeyError",)) is Verdict.VIOLATION
