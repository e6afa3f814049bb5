"""Wrong answers that a code review found, as scripts."""

from __future__ import annotations

import pytest

from tests.places import USUAL_DATABASES, nightly, nightly_rows, skip_unless_chosen

from .checker import check
from .model import Model
from .playing import Player
from .scripted import script
from .statements import VIEWS
from .test_concurrency import ACCEPTED, report

FILLED = ("INSERT INTO t VALUES (1, 1), (2, 2)", "INSERT INTO u VALUES (1, 1), (2, 2)")
DAY = "CREATE OR REPLACE TEMPORARY VIEW x AS SELECT id, n FROM u WHERE n = 1"
APPEND = "INSERT INTO t (id, n) SELECT id, n FROM"
in_files_and_inlined = pytest.mark.parametrize("inlining", [0, 10], ids=["files", "inlined"])
"""For cases that depend on where rows are stored."""


@pytest.fixture(params=USUAL_DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    """The catalog database; in `make test` half of the cases run on each, and random histories on both."""
    skip_unless_chosen(request.node.name.replace(str(request.param), ""), request.param_index, len(USUAL_DATABASES))
    return str(request.param)


def assert_accepted(player: Player, model: Model, *lines: str, inlining: int = 0, setup: tuple[str, ...] = FILLED) -> None:
    """Assert that the history of a script is accepted and that at least one transaction commits, and return it."""
    history = player.play(script(*lines, inlining=inlining, setup=setup))
    finding = check(history, model)
    if finding.verdict not in ACCEPTED["snapshot"]:
        pytest.fail(report(history, finding), pytrace=False)
    assert any(each.committed for each in history.transactions)


def test_a_temporary_view_from_before_begin_is_read_again(player: Player, model: Model) -> None:
    assert_accepted(
        player,
        model,
        f"A {DAY}",
        "A BEGIN",
        "A DELETE FROM t WHERE n = 1",
        f"A {APPEND} x",
        "B INSERT INTO u VALUES (9, 1)",
        "B INSERT INTO t VALUES (9, 1)",
        "A COMMIT",
    )


def test_a_temporary_view_is_read_again_even_if_all_counts_are_equal(player: Player, model: Model) -> None:
    assert_accepted(
        player,
        model,
        f"A {DAY}",
        "A BEGIN",
        "A DELETE FROM t WHERE n = 1",
        f"A {APPEND} x",
        "duckdb UPDATE u SET id = 9 WHERE id = 1",
        "duckdb UPDATE t SET id = 9 WHERE id = 1",
        "A COMMIT",
    )


@in_files_and_inlined
def test_a_count_is_an_answer(player: Player, model: Model, inlining: int) -> None:
    upsert = ("UPDATE t SET n = n + 1 WHERE id = 7", "INSERT INTO t (id, n) VALUES (7, 0)")
    assert_accepted(
        player,
        model,
        "A BEGIN",
        "B BEGIN",
        *(f"{actor} {statement}" for statement in upsert for actor in ("A", "B")),
        "A COMMIT",
        "B COMMIT",
        inlining=inlining,
    )


@pytest.mark.parametrize("actor", ["B", "duckdb"])
@in_files_and_inlined
def test_deletes_have_the_snapshot_that_committed_them(player: Player, model: Model, inlining: int, actor: str) -> None:
    assert_accepted(
        player,
        model,
        "A BEGIN",
        "A DELETE FROM t WHERE id = 2",
        f"{actor} INSERT INTO u VALUES (5, 5)",
        f"{actor} INSERT INTO u VALUES (6, 6)",
        "A COMMIT",
        inlining=inlining,
        setup=("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)", "DELETE FROM t WHERE id = 1"),
    )


@pytest.mark.parametrize(
    "view", [f"CREATE VIEW v AS {VIEWS[3]}", f"CREATE OR REPLACE TEMPORARY VIEW x AS {VIEWS[3]}"], ids=["lake", "temporary"]
)
@pytest.mark.parametrize("read_first", [False, True], ids=["unread", "read first"])
def test_an_append_depends_on_what_its_view_reads(player: Player, model: Model, view: str, read_first: bool) -> None:
    name = view.split(" AS ")[0][-1]
    made = ("A " + view, "B " + view) if name == "x" else ("A " + view,)
    reading = tuple(f"{actor} SELECT id, n FROM {name}" for actor in ("A", "B")) if read_first else ()
    assert_accepted(
        player,
        model,
        *made,
        *reading,
        "A BEGIN",
        "B BEGIN",
        f"A {APPEND} {name}",
        f"B {APPEND} {name}",
        "A COMMIT",
        "B COMMIT",
        setup=("INSERT INTO u VALUES (1, 1), (2, 2)",),
    )


@in_files_and_inlined
def test_an_append_that_reads_a_view_with_a_concurrent_append_of_duckdb(player: Player, model: Model, inlining: int) -> None:
    assert_accepted(
        player,
        model,
        f"A CREATE VIEW v AS {VIEWS[3]}",
        "A BEGIN",
        f"A {APPEND} v",
        f"duckdb {APPEND} v",
        "A COMMIT",
        inlining=inlining,
        setup=("INSERT INTO u VALUES (1, 1), (2, 2)",),
    )


@pytest.mark.parametrize(
    ("actor", "statement"),
    [
        ("B", "SELECT id, n FROM t"),
        ("duckdb", "INSERT INTO u SELECT id, n FROM t"),
        *nightly_rows(("duckdb", "SELECT id, n FROM t"), ("B", "DELETE FROM t WHERE id > 0")),
    ],
)
@in_files_and_inlined
def test_a_pinned_snapshot_expires(player: Player, model: Model, inlining: int, statement: str, actor: str) -> None:
    assert_accepted(
        player,
        model,
        "A BEGIN",
        *(f"{actor} {each}" for each in ("BEGIN", "TRUNCATE TABLE t", "INSERT INTO t VALUES (9, 9)", "COMMIT", "expire_snapshots 1")),
        f"A {statement}",
        "A INSERT INTO u VALUES (5, 5)",
        "A COMMIT",
        inlining=inlining,
    )


@pytest.mark.parametrize("statement", ["SELECT id, n FROM w", "INSERT INTO w VALUES (5, 5)", "ALTER TABLE w ADD COLUMN c INT"])
def test_a_table_is_dropped_and_expired(player: Player, model: Model, statement: str) -> None:
    assert_accepted(
        player,
        model,
        "A CREATE TABLE w AS SELECT id, n FROM t",
        "A BEGIN",
        "B DROP TABLE w",
        "B INSERT INTO t VALUES (9, 9)",
        "B expire_snapshots 1",
        f"A {statement}",
        "A INSERT INTO u VALUES (5, 5)",
        "A COMMIT",
    )


def test_temporary_views_are_read_when_they_are_used(player: Player, model: Model) -> None:
    assert_accepted(
        player,
        model,
        "A CREATE OR REPLACE TEMPORARY VIEW x AS SELECT id, n FROM t",
        "A INSERT INTO t VALUES (5, 5)",
        "A SELECT id, n FROM x",
        "A BEGIN",
        "A INSERT INTO t VALUES (6, 6)",
        "A CREATE OR REPLACE TEMPORARY VIEW x AS SELECT id, n FROM t",
        "A ROLLBACK",
        "A SELECT id, n FROM x",
        "B INSERT INTO t VALUES (7, 7)",
        "A SELECT id, n FROM x",
    )


def test_a_read_through_a_view_counts_for_the_table_that_is_changed(player: Player, model: Model) -> None:
    assert_accepted(
        player,
        model,
        "A CREATE VIEW v AS SELECT id, n FROM t WHERE id > -100",
        "A BEGIN",
        "A CREATE TABLE w AS SELECT id, n FROM v",
        "A INSERT INTO t VALUES (5, 5)",
        "duckdb INSERT INTO t SELECT max(id) + 1, 0 FROM t",
        "A COMMIT",
    )


def test_a_replay_whose_statements_are_refused_is_a_conflict(player: Player, model: Model) -> None:
    assert_accepted(
        player,
        model,
        "A CREATE TABLE w AS SELECT id, n FROM t",
        "A BEGIN",
        "A UPDATE t SET n = n + 1 WHERE id = 1",
        "A INSERT INTO u SELECT id, n FROM w",
        "B DROP TABLE w",
        "B UPDATE t SET n = n + 1 WHERE id = 1",
        "A COMMIT",
    )


@pytest.mark.parametrize("actor", ["B", *nightly("duckdb")])
@pytest.mark.parametrize(
    ("change", "read"),
    [("UPDATE t SET n = n + 1 WHERE id = 1", "SELECT id, n FROM t"), ("DELETE FROM t WHERE id = 1", "SELECT n FROM t WHERE id = 1")],
    ids=["update", "delete"],
)
@pytest.mark.parametrize(
    ("inlining", "maintenance", "setup"),
    [
        (10, "flush_inlined_data", ()),
        (0, "merge_adjacent_files", ()),
        (10, "flush_inlined_data", ("CALL ducklake_flush_inlined_data('lake')", "DELETE FROM t WHERE id = 2")),
    ],
    ids=["flush", "merge", "flush of inlined deletes"],
)
def test_rows_that_were_changed_are_moved(
    player: Player, model: Model, inlining: int, maintenance: str, setup: tuple[str, ...], change: str, read: str, actor: str
) -> None:
    assert_accepted(
        player,
        model,
        "A BEGIN",
        f"A {change}",
        f"{actor} {maintenance}",
        f"A {read}",
        f"A {change}",
        "A COMMIT",
        inlining=inlining,
        setup=("INSERT INTO t VALUES (1, 1), (2, 2)", "INSERT INTO t VALUES (3, 3)", *setup),
    )
