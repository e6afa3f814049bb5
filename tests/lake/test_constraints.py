"""CHECK constraints apply to every row that any statement writes; keys are stored and shown; DuckDB reads such tables like any other."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import DataError, StatementError
from dbt.adapters.ducklake.format.constraints import constraints_of
from dbt.adapters.ducklake.session import LakeSession
from tests.places import nightly_rows

TABLE = """
    CREATE TABLE t (
        id INT NOT NULL PRIMARY KEY, price DECIMAL(6,2) CHECK (price > 0), kind STRING REFERENCES kinds (kind),
        CONSTRAINT cheap CHECK (kind <> 'cheap' OR price < 10)
    )
"""


@pytest.fixture
def t(lake: LakeSession) -> LakeSession:
    lake.execute(TABLE)
    lake.execute("INSERT INTO t VALUES (1, 5, 'cheap'), (2, 50, 'dear'), (3, NULL, NULL)")
    return lake


def rows(session: LakeSession, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def test_a_check_applies_to_every_statement(t: LakeSession) -> None:
    before = t.catalog.begin().snapshot.snapshot_id
    for statement, name in [
        ("INSERT INTO t VALUES (4, 0, 'dear')", "t_check"),
        ("INSERT INTO t SELECT 4, '12', 'cheap'", "cheap"),
        ("UPDATE t SET price = price * 10", "cheap"),
        ("MERGE INTO t USING (SELECT 1 AS id, -1 AS price) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET price = s.price", "t_check"),
        (
            "MERGE INTO t USING (SELECT 9 AS id, -1 AS price) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, price) VALUES (s.id, s.price)",
            "t_check",
        ),
        ("INSERT OVERWRITE t SELECT id, -price, kind FROM t", "t_check"),
        ("CREATE OR REPLACE TABLE t (id INT CHECK (id < 3)) AS SELECT id FROM t", "t_check"),
    ]:
        with pytest.raises(DataError, match=f"main.t: a row does not pass the constraint {name}, CHECK") as caught:
            t.execute(statement)
        assert "nothing was written" in str(caught.value)
    assert t.catalog.begin().snapshot.snapshot_id == before
    t.execute("INSERT INTO t SELECT id + 10, price, kind FROM t WHERE price > 5")
    t.execute("UPDATE t SET price = 9.99 WHERE kind = 'cheap'")
    assert [row[0] for row in rows(t, "SELECT id FROM t ORDER BY id")] == [1, 2, 3, 12]


def test_a_check_applies_only_to_rows_that_are_written(t: LakeSession) -> None:
    t.execute("INSERT INTO t SELECT id, price, kind FROM (SELECT id + 20 AS id, price - 20 AS price, kind FROM t) WHERE price > 0")
    assert rows(t, "SELECT id, price FROM t WHERE id > 20") == [(22, rows(t, "SELECT CAST(30 AS DECIMAL(6,2)) AS x")[0][0])]


def test_constraints_are_shown(t: LakeSession) -> None:
    described = {row[0]: row[1] for row in rows(t, "DESCRIBE EXTENDED t")}
    assert described["t_pkey"] == "PRIMARY KEY (id) NOT ENFORCED"
    assert described["cheap"] == "CHECK (kind <> 'cheap' OR price < 10)"
    assert described["t_kind_fkey"] == "FOREIGN KEY (kind) REFERENCES kinds (kind) NOT ENFORCED"
    query = "SELECT constraint_name, constraint_type, enforced FROM information_schema.table_constraints WHERE table_name = 't' ORDER BY 1"
    assert rows(t, query) == [
        ("cheap", "CHECK", "YES"),
        ("t_check", "CHECK", "YES"),
        ("t_kind_fkey", "FOREIGN KEY", "NO"),
        ("t_pkey", "PRIMARY KEY", "NO"),
    ]
    assert rows(t, "SELECT column_name FROM information_schema.key_column_usage ORDER BY 1") == [("id",), ("kind",)]
    assert rows(t, "SELECT check_clause FROM information_schema.check_constraints WHERE constraint_name = 't_check'") == [("price > 0",)]


def test_constraints_follow_column_changes_and_replaced_tables(t: LakeSession) -> None:
    with pytest.raises(StatementError, match="part of the constraint t_check"):
        t.execute("ALTER TABLE t RENAME COLUMN price TO cost")
    with pytest.raises(StatementError, match="part of the constraint cheap"):
        t.execute("ALTER TABLE t DROP COLUMN kind")
    t.execute("ALTER TABLE t RENAME COLUMN id TO key")
    with t.reading() as reader:
        assert constraints_of(reader.find("main", "t").tags)[0].columns == ("key",)
    t.execute("CREATE OR REPLACE TABLE t AS SELECT -1 AS price")
    with t.reading() as reader:
        assert constraints_of(reader.find("main", "t").tags) == ()


def test_a_nested_field_of_a_check_is_kept(lake: LakeSession) -> None:
    lake.execute("CREATE TABLE n (s STRUCT<a: INT, b: INT>, CONSTRAINT positive CHECK (s.a > 0))")
    for change in ("DROP COLUMN s.a", "RENAME COLUMN s.a TO c"):
        with pytest.raises(StatementError, match=r"s\.a of main\.n is part of the constraint positive"):
            lake.execute(f"ALTER TABLE n {change}")
    lake.execute("INSERT INTO n VALUES (named_struct('a', 1, 'b', 2))")


def test_a_check_that_is_not_a_condition_is_refused(lake: LakeSession) -> None:
    for check in ("nosuch > 1", "a + 1"):
        with pytest.raises(StatementError):
            lake.execute(f"CREATE TABLE u (a INT CHECK ({check}))")
    lake.execute("CREATE TABLE u (a INT CHECK (a > 1))")
    with pytest.raises(DataError, match="u_check"):
        lake.load_seed("main", "u", [("a", "int")], [(1,)], rebuild=False)
    assert lake.load_seed("main", "u", [("a", "int")], [(2,)], rebuild=False) == 1
    assert rows(lake, "SELECT * FROM u") == [(2,)]


STORED = [
    (
        "TIMESTAMP_S",
        "v < TIMESTAMP_NTZ'2024-01-01 10:00:01'",
        "TIMESTAMP_NTZ'2024-01-01 10:00:00.6'",
        "TIMESTAMP_NTZ'2024-01-01 10:00:00.4'",
    ),
    ("TIMESTAMP_NS", "v < '2024-01-01 10:00:00.5'", "'2024-01-01T10:00:00.5'", "'2024-01-01T10:00:00.400'"),
    ("UUID", "v < 'a'", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "'90EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"),
    ("DECIMAL(4,1)", "v < 10", "9.96", "9.94"),
    ("ARRAY<TIMESTAMP_NS>", "v[0] <> '2024-01-01 10:00:00.5'", "array('2024-01-01T10:00:00.50')", "array('2024-01-01')"),
    ("STRUCT<x: UUID>", "v.x < 'a'", "named_struct('x', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11')", "NULL"),
    ("MAP<STRING, TIMESTAMP_S>", "year(v['k']) < 2024", "map('k', TIMESTAMP_NTZ'2023-12-31 23:59:59.9')", "map('k', NULL)"),
]
SAME_ROUNDING = ("TIMESTAMP_MS", "v <> TIMESTAMP_NTZ'2024-01-01 10:00:00.002'", "'2024-01-01 10:00:00.0015'", "'2024-01-01 10:00:00.0014'")
"""Type, condition, a value that fails it only as it is stored, and a value that passes."""


@pytest.mark.parametrize(
    ("kind", "condition", "wrong", "right"),
    [*STORED[:3], *nightly_rows(*STORED[3:], SAME_ROUNDING)],
    ids=[kind for kind, *_ in [*STORED, SAME_ROUNDING]],
)
def test_a_check_applies_to_the_stored_value(lake: LakeSession, kind: str, condition: str, wrong: str, right: str) -> None:
    lake.execute(f"CREATE TABLE t (id INT, v {kind}, CHECK ({condition}))")
    with pytest.raises(DataError, match="t_check"):
        lake.execute(f"INSERT INTO t SELECT 1, {wrong} FROM range(1)")
    lake.execute(f"INSERT INTO t SELECT 1, {right} FROM range(1)")
    with pytest.raises(DataError, match="t_check"):
        lake.execute(f"UPDATE t SET v = {wrong}")
    lake.execute("UPDATE t SET id = 2")
    assert rows(lake, f"SELECT id FROM t WHERE v IS NULL OR coalesce({condition}, true)") == [(2,)]
    lake.execute("CREATE TABLE u AS SELECT * FROM t")
    assert rows(lake, "SELECT count(*) FROM t JOIN u ON t.v <=> u.v" if "MAP" not in kind else "SELECT count(*) FROM t") == [(1,)]
