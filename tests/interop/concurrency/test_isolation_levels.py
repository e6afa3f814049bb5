"""Two transactions that each read what the other changes: snapshot isolation lets both commit, `serializable` plans the second one again."""

from __future__ import annotations

import pytest

from tests.places import USUAL_DATABASES, nightly, selected_databases

from .checker import Verdict, check
from .model import Model
from .playing import Player
from .scripted import script
from .test_concurrency import report

FILLED = ("INSERT INTO t VALUES (1, 1), (2, 2)", "INSERT INTO u VALUES (1, 1), (2, 2)")
ROWS = (
    "A BEGIN",
    "B BEGIN",
    "A INSERT INTO t (id, n) SELECT max(id) + 1, 0 FROM u",
    "B INSERT INTO u (id, n) SELECT max(id) + 1, 0 FROM t",
)
VIEW = (
    "A CREATE OR REPLACE TEMPORARY VIEW x AS SELECT id, n FROM u WHERE id > -101",
    "A BEGIN",
    "B BEGIN",
    "A DELETE FROM t WHERE id IN (SELECT id FROM x WHERE n < 3)",
    "B DELETE FROM u WHERE id IN (SELECT id FROM t WHERE n < 3)",
)
ABSENT_TABLE = (
    "A BEGIN",
    "B BEGIN",
    "A SELECT id, n FROM w",
    "A INSERT INTO t VALUES (7, 7)",
    "B CREATE TABLE w AS SELECT id, n FROM t",
)
DROPPED_TABLE = (
    "A CREATE TABLE w (id INT, n INT)",
    "A BEGIN",
    "B BEGIN",
    "A INSERT INTO t (id, n) SELECT id, n FROM w",
    "A INSERT INTO u VALUES (7, 7)",
    "B SELECT count(*), CAST(sum(n) AS BIGINT) FROM u",
    "B DROP TABLE w",
)
FAILED_STATEMENT = (
    "A BEGIN",
    "B BEGIN",
    "A UPDATE t SET n = 2147483646 + id",
    "A INSERT INTO u VALUES (7, 7)",
    "B SELECT count(*), CAST(sum(n) AS BIGINT) FROM u",
    "B DELETE FROM t WHERE id = 2",
)
CASES = {
    "rows": ROWS,
    "rows of a temporary view": VIEW,
    "a table that does not exist": ABSENT_TABLE,
    "a table that is dropped": DROPPED_TABLE,
    "a statement that fails": FAILED_STATEMENT,
}


@pytest.fixture(params=selected_databases(USUAL_DATABASES))
def database(request: pytest.FixtureRequest) -> str:
    """The catalog database; random histories run on every one."""
    return str(request.param)


@pytest.mark.parametrize("lines", CASES.values(), ids=CASES)
@pytest.mark.parametrize("first", ["A", *nightly("B")])
def test_transactions_that_read_what_the_other_changes(
    player: Player, model: Model, isolation_level: str, lines: tuple[str, ...], first: str
) -> None:
    second = "B" if first == "A" else "A"
    history = player.play(script(*lines, f"{first} COMMIT", f"{second} COMMIT", setup=FILLED))
    finding = check(history, model)
    expected = Verdict.SERIALIZABLE if isolation_level == "serializable" else Verdict.WRITE_SKEW
    assert finding.verdict is expected, report(history, finding)
    assert any(each.committed for each in history.transactions if each.explicit)


def test_a_transaction_of_duckdb_commits_before(player: Player, model: Model, isolation_level: str) -> None:
    lines = ("duckdb UPDATE u SET n = 9 WHERE id = 1", "A COMMIT")
    history = player.play(script("A BEGIN", "A UPDATE t SET n = (SELECT max(n) FROM u) WHERE id = 1", *lines, setup=FILLED))
    (ours,) = (each for each in history.transactions if each.explicit)
    assert check(history, model).verdict is (Verdict.SERIALIZABLE if isolation_level == "serializable" else Verdict.REORDERED)
    assert ours.committed
    assert bool(ours.replays) == (isolation_level == "serializable")
