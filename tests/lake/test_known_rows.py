"""The read set of a transaction, as derived from its statements: a concurrent change of other rows is no conflict."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dbt.adapters.ducklake.errors import ConflictError
from dbt.adapters.ducklake.session import LakeSession
from tests.places import nightly

CATALOGS = ["sqlite"]
OUTSIDE = "INSERT INTO t SELECT 500 + id, 'far', 'theirs' FROM range(3)"
INSIDE = "INSERT INTO t SELECT 5, 'near', 'theirs' FROM range(1)"
MERGE = "MERGE INTO t USING {} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
KEYS = "(SELECT CAST(id AS INT) AS id, 'near' AS part, 'mine' AS name FROM range(4, 8))"


@pytest.fixture
def commits_together(lake: LakeSession, monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """A function that returns whether a transaction commits after a concurrent writer's commit, without a replay."""
    monkeypatch.setattr("dbt.adapters.ducklake.session.transacting.REPLANS", 0)
    other = lake.lake.session()

    def run(mine: list[str], theirs: str) -> bool:
        lake.execute("DROP TABLE t")
        lake.execute("CALL ducklake_clone('lake', table_name => 'first', into => 'main.t')")
        lake.execute("SELECT * FROM v").fetch()
        lake.begin()
        for statement in mine:
            lake.execute(statement)
        other.execute(theirs)
        try:
            lake.commit()
        except ConflictError:
            return False
        return True

    lake.execute("CREATE TABLE first PARTITIONED BY (part) AS SELECT CAST(id AS INT) AS id, 'near' AS part, 'old' AS name FROM range(6)")
    lake.execute("INSERT INTO first SELECT 300 + id, 'far', 'old' FROM range(6)")
    lake.execute("CREATE TABLE t AS SELECT * FROM first")
    lake.execute("CREATE VIEW v AS SELECT max(id) AS top FROM t")
    lake.execute("CREATE FUNCTION main.top() RETURNS INT RETURN SELECT max(id) FROM t")
    return run


OUTSIDE_OF_WHAT_IS_READ: list[list[str]] = [
    ["DELETE FROM t WHERE id BETWEEN 4 AND 8"],
    ["DELETE FROM t WHERE id BETWEEN 4 AND 8", "INSERT INTO t SELECT 6, 'near', 'mine' FROM range(1)"],
    [MERGE.format(KEYS)],
    ["UPDATE t SET name = 'mine' WHERE id < 100"],
    ["INSERT INTO t REPLACE WHERE id < 10 SELECT 6, 'near', 'mine' FROM range(1)"],
    ["INSERT OVERWRITE t PARTITION (part) SELECT 6, 'near', 'mine' FROM range(1)"],
    ["INSERT OVERWRITE t PARTITION (part = 'near') SELECT 6, 'mine' FROM range(1)"],
    ["DELETE FROM t WHERE id = 1", "UPDATE t SET name = 'mine' WHERE part = 'near'"],
    [f"CREATE OR REPLACE TEMPORARY VIEW keys AS {KEYS[1:-1]}", MERGE.format("keys")],
    [f"CREATE OR REPLACE TEMPORARY VIEW seen AS {KEYS[1:-1]} WHERE id IN (SELECT id FROM t WHERE id < 9)", MERGE.format("seen")],
]
AMONG_WHAT_IS_READ: list[list[str]] = [
    ["DELETE FROM t WHERE id < 10 AND id < (SELECT max(id) FROM t)"],
    ["UPDATE t SET name = (SELECT count(*) FROM t) WHERE id < 10"],
    ["UPDATE t SET name = main.top() WHERE id < 10"],
    [MERGE.format("(SELECT 5 AS id, 'near' AS part, CAST(top AS STRING) AS name FROM v)")],
    ["CREATE OR REPLACE TEMPORARY VIEW s AS SELECT 5 AS id, 'near' AS part, CAST(max(id) AS STRING) AS name FROM t", MERGE.format("s")],
    ["DELETE FROM t WHERE id < 10", "DELETE FROM t WHERE length(name) > 100"],
    ["DELETE FROM t WHERE id < 10 OR name = 'theirs'"],
    ["DELETE FROM t WHERE id % 500 < 10"],
    [MERGE.format(KEYS) + " WHEN NOT MATCHED BY SOURCE THEN DELETE"],
    [MERGE.format(KEYS.replace("near", "far").replace("4, 8", "4, 900"))],
    ["INSERT OVERWRITE t PARTITION (part) SELECT 6, 'far', 'mine' FROM range(1)"],
]
PARTS = 2
"""Of how many tests each list is. Their names decide whether Spark or this process reads the rows (`tests/row_readers.py`)."""


@pytest.mark.parametrize("part", [0, *nightly(*range(1, PARTS))])
def test_a_concurrent_change_outside_the_read_set_is_no_conflict(commits_together: Callable[..., bool], part: int) -> None:
    for mine in OUTSIDE_OF_WHAT_IS_READ[part::PARTS]:
        assert commits_together(mine, OUTSIDE), mine
        assert not commits_together(mine, INSIDE), mine


@pytest.mark.parametrize("part", [0, *nightly(*range(1, PARTS))])
def test_a_concurrent_change_inside_the_read_set_is_a_conflict(commits_together: Callable[..., bool], part: int) -> None:
    for mine in AMONG_WHAT_IS_READ[part::PARTS]:
        assert not commits_together(mine, OUTSIDE), mine
