"""Rollbacks between random statements and maintenance of both writers: the table and all its known snapshots have the expected rows."""

from __future__ import annotations

import os
import random

import pytest

from tests.interop.conftest import Both
from tests.places import FULL_MATRIX

STEPS = int(os.environ.get("ROLLBACK_STEPS", "40" if FULL_MATRIX else "30"))
SEEDS = int(os.environ.get("ROLLBACK_SEEDS", "1"))
MAINTENANCE = (
    "CALL ducklake_flush_inlined_data('lake')",
    "CALL ducklake_merge_adjacent_files('lake')",
    "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
)
MERGE = (
    "MERGE INTO t USING (SELECT * FROM VALUES {values} AS s(id, v)) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)"
)

Rows = dict[int, str]


def rows_at(both: Both, version: int) -> Rows:
    return dict(both.duck.execute(f"SELECT id, v FROM t AT (VERSION => {version})").fetchall())


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(SEEDS))
def test_rollbacks_between_changes_and_maintenance(both: Both, seed: int) -> None:
    choice, log = random.Random(seed), []
    both.duckdb("CREATE TABLE t (id INTEGER, v VARCHAR)")
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 3)")
    known: dict[int, Rows] = {both.snapshots() - 1: {}}
    expected: Rows = {}
    for step in range(STEPS):
        run, key = choice.choice([both.duckdb, both.spark]), choice.randrange(40)
        match choice.choice(["insert", "few", "delete", "update", "merge", "merge", "roll back", "maintain", "maintain"]):
            case "insert":
                statement = f"INSERT INTO t SELECT i, 'r{step}' FROM range({key}, {key + 10}) r(i) WHERE i NOT IN (SELECT id FROM t)"
                both.duckdb(statement)
                expected = {**dict.fromkeys(range(key, key + 10), f"r{step}"), **expected}
            case "few":
                statement = f"INSERT INTO t VALUES ({1000 + step}, 'few')"
                run(statement)
                expected = {**expected, 1000 + step: "few"}
            case "delete":
                statement = f"DELETE FROM t WHERE id BETWEEN {key} AND {key + 4}"
                run(statement)
                expected = {i: v for i, v in expected.items() if not key <= i <= key + 4}
            case "update":
                statement = f"UPDATE t SET v = 'u{step}' WHERE id BETWEEN {key} AND {key + 2}"
                run(statement)
                expected = {i: f"u{step}" if key <= i <= key + 2 else v for i, v in expected.items()}
            case "merge":
                new = dict.fromkeys(range(key, key + choice.choice([2, 12])), f"m{step}")
                statement = MERGE.format(values=", ".join(f"({i}, '{v}')" for i, v in new.items()))
                both.spark(statement)
                expected = {**expected, **new}
            case "roll back":
                version = choice.choice(sorted(known))
                statement = f"CALL lake.rollback(version => {version}, table_name => 't')"
                both.spark(statement)
                expected = known[version]
            case "maintain":
                statement = choice.choice(MAINTENANCE)
                run(statement)
        log.append(f"{'duckdb' if run == both.duckdb else 'spark'}: {statement}")
        known[both.snapshots() - 1] = expected
        history = "\n".join(log)
        assert dict(both.rows("SELECT id, v FROM t")) == expected, history
        for version in choice.sample(sorted(known), min(5, len(known))):
            assert rows_at(both, version) == known[version], f"snapshot {version}\n{history}"
    both.check_history("t")
