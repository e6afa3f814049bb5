"""UPDATE and MERGE give the same rows, row ids and changes whether this process or Spark reads the old rows and writes the new ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.errors import DataError, StatementError
from dbt.adapters.ducklake.lake import small, target
from dbt.adapters.ducklake.spark.read import local
from dbt.adapters.ducklake.spark.rows import positions
from dbt.adapters.ducklake.spark.rows.plans import limit_partitions
from dbt.adapters.ducklake.spark.write import few_rows
from tests.interop.conftest import Both
from tests.places import FULL_MATRIX, nightly, nightly_rows

pytestmark = pytest.mark.local_rows
CATALOGS = ["sqlite"]
CREATE = """
CREATE TABLE {table} (id INT NOT NULL, part STRING, amount DECIMAL(10, 2), day DATE, at TIMESTAMP, wall TIMESTAMP_NTZ, f DOUBLE, raw BINARY,
    flag BOOLEAN, big DECIMAL(20, 0)) {layout}
"""
ROWS = """
SELECT CAST(id AS INT) AS id, IF(id % 3 = 0, 'a', IF(id % 3 = 1, 'b b', NULL)) AS part, CAST(id / 4 AS DECIMAL(10, 2)) AS amount,
    date_add(DATE '2026-01-01', CAST(id AS INT)) AS day, timestamp_seconds(id * 86400 + 0.5) AS at,
    CAST(timestamp_seconds(id * 3600) AS TIMESTAMP_NTZ) AS wall, IF(id % 5 = 0, DOUBLE('NaN'), id / 7) AS f, CAST(string(id) AS BINARY) AS raw,
    id % 2 = 0 AS flag, CAST(id AS DECIMAL(20, 0)) * 10000000000 AS big FROM range({start}, {end})
"""
MERGE = "MERGE INTO {table} t USING (SELECT *, id + 100 AS moved FROM ({rows})) s ON t.id = s.id"
UPSERT = MERGE + " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
STATEMENTS = [
    "UPDATE {table} SET amount = amount + 1 WHERE id BETWEEN 3 AND 7",
    UPSERT.replace("{rows}", ROWS.format(start=5, end=25)),
    "DELETE FROM {table} WHERE id % 4 = 0",
    "UPDATE {table} SET id = id + 1000, part = 'c', f = NULL, raw = NULL WHERE id >= 15",
    MERGE.replace("{rows}", ROWS.format(start=0, end=12))
    + " WHEN MATCHED AND t.id = 1 THEN DELETE WHEN MATCHED AND t.id < 6 THEN UPDATE SET amount = s.amount * 2, part = upper(s.part)"
    + " WHEN NOT MATCHED AND s.id = 4 THEN INSERT (id, part) VALUES (s.moved, 'new')",
    MERGE.replace("{rows}", ROWS.format(start=200, end=203)) + " WHEN NOT MATCHED THEN INSERT *",
    MERGE.replace("{rows}", ROWS.format(start=2, end=4)) + " WHEN MATCHED THEN DELETE",
    UPSERT.replace("{rows}", ROWS.format(start=0, end=0)),
    "UPDATE {table} SET flag = NULL",
]
FIRST_ROWS = 20
"""How many rows a table begins with. The row ids of later rows depend on the order of their files, which is not defined."""
LAYOUTS = ["", *nightly("PARTITIONED BY (bucket(3, id), year(day))", "PARTITIONED BY (part)", "SORTED BY (amount)")]


@pytest.fixture(autouse=True)
def first_rows_by_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have Spark write the results of queries, so that the first rows get the same ids in all tables."""
    monkeypatch.setattr(few_rows, "MAX_ROWS", -1)


def play(both: Both, table: str, layout: str) -> list[Any]:
    """Run the statements on a new table, and return the counts, the rows with their ids, and the changes by snapshot."""
    both.spark(CREATE.format(table=table, layout="" if "SORTED" in layout else layout))
    if "SORTED" in layout:
        both.spark(f"ALTER TABLE {table} SET {layout}")
    both.spark(f"INSERT INTO {table} {ROWS.format(start=0, end=FIRST_ROWS)}")
    first = both.session.catalog.latest().snapshot_id
    counts = [both.session.execute(text.format(table=table)).rowcount for text in STATEMENTS]
    rows = both.rows(f"SELECT * FROM {table}")
    ids = {key: row_id for key, row_id in both.row_ids(table, "id").items() if row_id < FIRST_ROWS}
    last = both.session.catalog.latest().snapshot_id
    changes = both.duck.execute(
        f"SELECT snapshot_id - {first}, if(rowid < {FIRST_ROWS}, rowid, NULL), change_type, id FROM ducklake_table_changes('lake', 'main', '{table}', {first + 1}, {last}) ORDER BY ALL"
    ).fetchall()
    return [counts, repr(rows), ids, changes]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_ways_are_equal(both: Both, monkeypatch: pytest.MonkeyPatch, layout: str) -> None:
    local_ways: list[bool] = []
    monkeypatch.setattr(
        target, "local_rows", lambda plan, **more: local_ways.append((found := local.local_rows(plan, **more)) is not None) or found
    )
    in_process = play(both, "in_process", layout)
    assert len(local_ways) >= len(STATEMENTS) - 1
    assert all(local_ways)
    if FULL_MATRIX and not layout:
        with monkeypatch.context() as patch:
            patch.setattr(small, "MAX_VALUES", 10 * 4)
            assert in_process == play(both, "limited", layout), "Spark writes more rows than the limit"
    monkeypatch.setattr(local, "MAX_ROWS", 0)
    if FULL_MATRIX:
        assert in_process == play(both, "fetched", layout)
    monkeypatch.setattr(small, "MAX_VALUES", 0)
    monkeypatch.setattr(target, "MAX_DELETED", 0)
    assert in_process == play(both, "by_spark", layout)
    if FULL_MATRIX:
        monkeypatch.setattr(positions, "MANY_ROWS", -1)
        assert in_process == play(both, "by_bitmaps", layout)


def test_more_rows_than_the_limit_are_computed_once(both: Both, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def seen(number: int) -> int:
        with (tmp_path / "seen").open("a") as log:
            log.write(f"{number}\n")
        return number + 100

    both.session.spark().udf.register("seen", seen, "int")
    monkeypatch.setattr(local, "MAX_ROWS", 0)
    monkeypatch.setattr(small, "MAX_VALUES", 2 * 10)
    both.spark("CREATE TABLE t AS SELECT CAST(id AS INT) AS id, CAST(id AS INT) AS n FROM range(20)")
    assert both.session.execute("UPDATE t SET n = seen(n)").rowcount == 20
    assert sorted(map(int, (tmp_path / "seen").read_text().split())) == list(range(20))
    assert both.rows("SELECT * FROM t") == [(n, n + 100) for n in range(20)]
    both.check_history("t")


@pytest.mark.parametrize("values", [1_000_000, *nightly(0)])
def test_invalid_values_are_refused_and_nothing_changes(both: Both, monkeypatch: pytest.MonkeyPatch, values: int) -> None:
    monkeypatch.setattr(small, "MAX_VALUES", values)
    both.spark("CREATE TABLE t (id INT NOT NULL, n TINYINT)")
    both.spark("INSERT INTO t SELECT id, id FROM range(20)")
    with pytest.raises(DataError, match="n: 300 does not fit"):
        both.spark("UPDATE t SET n = id + 299 WHERE id = 1")
    with pytest.raises(DataError, match="id is NOT NULL"):
        both.spark("UPDATE t SET id = NULL WHERE id = 1")
    source = "(SELECT id, 300 AS n FROM range(19, 21))"
    with pytest.raises(DataError, match="n: 300 does not fit"):
        both.spark(f"MERGE INTO t USING {source} s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *")
    both.spark(f"MERGE INTO t USING {source} s ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND s.id < 20 THEN INSERT *")
    assert len(both.rows("SELECT * FROM t")) == 19
    doubled = "(SELECT 3 AS id, 1 AS n UNION ALL SELECT 3, 2)"
    with pytest.raises(DataError, match="more than one row of the source"):
        both.spark(f"MERGE INTO t USING {doubled} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *")
    both.spark(
        "MERGE INTO t USING (SELECT 5 AS id, 300 AS n) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = 7 WHEN NOT MATCHED THEN INSERT *"
    )
    assert (5, 7) in both.rows("SELECT * FROM t")


@pytest.mark.parametrize("many", [10**7, -1])
def test_a_row_that_two_rows_of_the_source_match(both: Both, monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    monkeypatch.setattr(local, "MAX_ROWS", 0)
    monkeypatch.setattr(small, "MAX_VALUES", 0)
    monkeypatch.setattr(positions, "MANY_ROWS", many)
    both.spark("CREATE TABLE t AS SELECT id, id AS n FROM range(200)")
    both.spark("DELETE FROM t WHERE id < 10")
    source = "MERGE INTO t USING (SELECT explode(sequence(1, 2)) AS k, id FROM range(100)) s ON t.id = s.id"
    with pytest.raises(DataError, match="more than one row of the source"):
        both.spark(f"{source} WHEN MATCHED AND k = 1 THEN UPDATE SET n = 0 WHEN MATCHED THEN DELETE")
    merged = both.session.execute(f"{source} AND k = 2 WHEN MATCHED THEN UPDATE SET n = 0 WHEN NOT MATCHED BY SOURCE THEN DELETE")
    assert merged.rowcount == 190
    assert both.rows("SELECT count(*), sum(n), min(id) FROM t") == [(90, 0, 10)]
    both.check_history("t")


LAX_JSON = ["[1,]", '{"a":1,}', "NaN", '{"a":1,"a":2}', " 1 "]
"""Texts that DuckDB takes as JSON; some of them we refuse in new rows."""


@pytest.mark.parametrize(("rows", "values"), [(local.MAX_ROWS, 1_000_000), *nightly_rows((0, 0), (0, 1_000_000), (local.MAX_ROWS, 0))])
def test_json_that_is_not_assigned_is_copied_as_it_is(both: Both, monkeypatch: pytest.MonkeyPatch, values: int, rows: int) -> None:
    monkeypatch.setattr(small, "MAX_VALUES", values)
    monkeypatch.setattr(local, "MAX_ROWS", rows)
    both.duckdb("CREATE TABLE t (id INTEGER, n INTEGER, j JSON, k JSON)")
    both.duckdb("CREATE TABLE u (id INTEGER, n INTEGER, s STRUCT(j JSON), k JSON)")
    for table, value in (("t", "j"), ("u", "{'j': j}")):
        for number, each in enumerate(LAX_JSON):
            both.duck.execute(f"INSERT INTO {table} SELECT ?, 0, {value}, '[]' FROM (SELECT ?::JSON AS j)", [number, each])
        both.spark(f"UPDATE {table} SET n = 1 WHERE id < 2")
        source = f"MERGE INTO {table} USING (SELECT id, 2 AS n FROM range(1, 9)) s ON {table}.id = s.id"
        both.spark(f"{source} WHEN MATCHED AND s.id > 2 THEN UPDATE SET n = s.n, k = '[2]' WHEN MATCHED THEN UPDATE SET n = 3")
        both.spark(f"{source} AND s.id = 1 WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = {table}.n + 10")
        stored = "j" if table == "t" else "s.j"
        assert both.duck.execute(f"SELECT n, {stored}::VARCHAR, k::VARCHAR FROM {table} ORDER BY id").fetchall() == [
            (n, text, k) for n, text, k in zip([11, 3, 13, 12, 12], LAX_JSON, ["[]"] * 3 + ["[2]"] * 2, strict=True)
        ]
    for assigned in ("j = j", "k = '[1,]'"):
        with pytest.raises(DataError, match="is not of the type json"):
            both.spark(f"UPDATE t SET {assigned}")


def test_the_limit_of_a_small_change_needs_no_shuffle(both: Both) -> None:
    frame = both.session.spark().range(0, 1000, 1, 4)
    assert limit_partitions(frame, 5).toArrow().num_rows == 20
    assert limit_partitions(frame, 5)._jdf.queryExecution().executedPlan().toString().count("Exchange") == 0


@pytest.mark.parametrize(("most", "rows"), [(0, local.MAX_ROWS), *nightly_rows((target.MAX_DELETED, 0), (0, 0))])
def test_deleted_rows_neither_match_nor_fail(both: Both, monkeypatch: pytest.MonkeyPatch, most: int, rows: int) -> None:
    monkeypatch.setattr(target, "MAX_DELETED", most)
    monkeypatch.setattr(local, "MAX_ROWS", rows)
    both.spark("CREATE TABLE t (id INT, s STRING)")
    both.spark("INSERT INTO t SELECT id, IF(id % 2 = 0, string(id), 'no number') FROM range(20)")
    both.duckdb("DELETE FROM t WHERE id % 2 = 1")
    assert both.session.execute("UPDATE t SET id = CAST(s AS INT) + 100 WHERE CAST(s AS INT) < 10").rowcount == 5
    assert both.session.execute("UPDATE t SET id = id WHERE CAST(s AS INT) < 10").rowcount == 5, "the old versions are not updated again"
    source = "(SELECT CAST(value AS INT) AS value FROM range(0, 10) AS r(value))"
    merged = both.session.execute(
        f"MERGE INTO t USING {source} n ON CAST(t.s AS INT) = n.value WHEN MATCHED THEN UPDATE SET id = 7 "
        "WHEN NOT MATCHED THEN INSERT (id, s) VALUES (n.value, '-1')"
    )
    assert merged.rowcount == 10
    assert both.session.execute("DELETE FROM t WHERE CAST(s AS INT) >= 10").rowcount == 5
    assert both.rows("SELECT * FROM t") == sorted([*[(7, str(n)) for n in range(0, 10, 2)], *[(n, "-1") for n in range(1, 10, 2)]])
    both.check_history("t")


@pytest.mark.parametrize("writer", ["spark", "duckdb"])
def test_inlined_deletes_and_deletion_vectors_are_left_out(both: Both, writer: str) -> None:
    both.spark("CREATE TABLE t AS SELECT id, id AS n FROM range(100)")
    both.spark("ALTER TABLE t SET TBLPROPERTIES ('write_deletion_vectors' = 'true')")
    delete = both.spark if writer == "spark" else both.duckdb
    delete("DELETE FROM t WHERE id < 30")
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 10)")
    delete("DELETE FROM t WHERE id IN (40, 41)")
    assert both.session.execute("UPDATE t SET n = n + 1 WHERE id < 50").rowcount == 18
    assert both.session.execute("DELETE FROM t WHERE id < 45").rowcount == 13
    assert both.rows("SELECT count(*), sum(n) FROM t") == [(55, sum(range(45, 100)) + 5)]
    both.check_history("t")


@pytest.mark.parametrize("read_in_process", [True, False])
@pytest.mark.parametrize(
    "statement", ["UPDATE t SET n = 1 WHERE id IN (SELECT id FROM nowhere)", "UPDATE t SET n = nope(n)", "DELETE FROM t WHERE nope = 1"]
)
def test_a_statement_is_analyzed_although_its_table_is_empty(
    both: Both, statement: str, read_in_process: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    both.spark("CREATE TABLE t (id INTEGER, n INTEGER)")
    if not read_in_process:
        monkeypatch.setattr(local, "MAX_ROWS", -1)
    with pytest.raises(StatementError, match=r"nowhere|nope"):
        both.spark(statement)
    both.spark("UPDATE t SET n = 1")
    both.spark("DELETE FROM t WHERE id = 1")
    assert both.rows("SELECT * FROM t") == []
