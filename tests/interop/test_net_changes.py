"""The changes of an input since a model's last commit: net changes of either writer, read once, and a position in the model's snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dbt.adapters.ducklake.errors import StatementError
from dbt.adapters.ducklake.session import LakeSession, LakeSettings, connect
from tests.catalogs import CatalogUnderTest
from tests.interop.conftest import Both, comparable_rows
from tests.places import nightly

CHANGES = "ducklake_changes('lake', 'main', '{}', model => ['lake', 'main', 'm'], full_build => {})"
MODEL = ["lake", "main", "m"]
Rows = list[tuple[object, ...]]


def build(session: LakeSession, *inputs: str) -> None:
    """Build the model `m` of all rows of its inputs, which have the columns id and v."""
    query = " UNION ALL ".join(f"SELECT id, v FROM {CHANGES.format(name, 'true')}" for name in inputs)
    session.begin()
    session.execute(f"CREATE OR REPLACE TABLE m AS {query}")
    session.set_positions(MODEL, query, rebuilt=True)
    session.commit()


def read(session: LakeSession, *inputs: str) -> Rows:
    """Read the changes of the inputs in a transaction that sets the positions."""
    query = " UNION ALL ".join(f"SELECT _change_type, id, v, _snapshot_id FROM {CHANGES.format(name, 'false')}" for name in inputs)
    session.begin()
    found = session.execute(query).fetch()
    session.set_positions(MODEL, query, rebuilt=False)
    session.commit()
    return sorted(found, key=lambda row: (row[0], row[1] is not None, row[1] or 0))


def kinds(rows: Rows) -> Rows:
    return [row[:3] for row in rows]


def positions(session: LakeSession) -> Rows:
    return session.execute("SELECT input, snapshot_id, problem FROM lake.positions(table_name => 'm')").fetch()


@pytest.fixture
def model(both: Both) -> Both:
    """An input `t` with six rows, and a model `m` of it."""
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 2)")
    both.spark("CREATE TABLE t (id INT, v STRING)")
    both.spark("INSERT INTO t SELECT id, 'a' FROM range(1, 7) r(id)")
    build(both.session, "t")
    return both


@pytest.fixture
def second(both: Both) -> Iterator[LakeSession]:
    with both.session.lake.session() as session:
        yield session


@pytest.mark.parametrize("writer", ["duckdb", *nightly("spark")])
@pytest.mark.parity
def test_each_row_has_one_net_change(model: Both, writer: str) -> None:
    write: Callable[[str], None] = getattr(model, writer)
    write("INSERT INTO t VALUES (7, 'new'), (8, 'gone'), (9, 'new then changed')")
    write("INSERT INTO t VALUES (10, 'small')")
    write("UPDATE t SET v = 'b' WHERE id IN (1, 2, 9, 10)")
    write("UPDATE t SET v = 'c' WHERE id = 1")
    write("UPDATE t SET v = 'x' WHERE id = 3")
    write("UPDATE t SET v = 'a' WHERE id = 3")
    write("DELETE FROM t WHERE id IN (4, 8)")
    write("INSERT INTO t VALUES (11, 'moved')")
    write("UPDATE t SET id = 55 WHERE id = 5")
    wanted = [
        *[("delete", 4, "a"), ("insert", 7, "new"), ("insert", 9, "b"), ("insert", 10, "b"), ("insert", 11, "moved")],
        *[("update", 1, "c"), ("update", 2, "b"), ("update", 55, "a")],
    ]
    found = read(model.session, "t")
    assert kinds(found) == wanted
    snapshots = dict(model.duck.execute("SELECT id, snapshot_id FROM t").fetchall())
    assert {row[1]: row[3] for row in found if row[0] != "delete"} == {row[1]: snapshots[row[1]] for row in found if row[0] != "delete"}
    assert read(model.session, "t") == []


def test_old_versions_are_read_on_demand(model: Both) -> None:
    model.duckdb("UPDATE t SET id = 55 WHERE id = 5")
    query = CHANGES.format("t", "false").replace("full_build", "old_versions => true, full_build")
    found = model.session.execute(f"SELECT _change_type, id FROM {query}").fetch()
    assert sorted(found) == [("update", 55), ("update_preimage", 5)]


def test_rows_that_are_only_written_again_are_no_changes(model: Both) -> None:
    """Compaction, flush, a rebuild with the same rows, and DuckDB's merge of files."""
    for number in range(20, 24):
        model.duckdb(f"INSERT INTO t VALUES ({number}, 'a'), ({number + 10}, 'a'), ({number + 20}, 'a'), (NULL, NULL)")
        model.duckdb(f"INSERT INTO t VALUES ({number + 30}, 'inlined')")
    model.spark("DELETE FROM t WHERE id IN (20, 50)")
    assert len(read(model.session, "t")) == 18
    model.duckdb("INSERT INTO t VALUES (100, 'real'), (NULL, NULL)")
    model.duckdb("CALL ducklake_flush_inlined_data('lake')")
    model.duckdb("CALL ducklake_merge_adjacent_files('lake')")
    model.duckdb("CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)")
    assert kinds(read(model.session, "t")) == [("insert", None, None), ("insert", 100, "real")]
    model.spark("CREATE OR REPLACE TABLE t AS SELECT * FROM t")
    assert read(model.session, "t") == []
    model.spark("CREATE OR REPLACE TABLE t AS SELECT id, CASE WHEN id = 6 THEN 'z' ELSE v END AS v FROM t WHERE id <> 1 OR id IS NULL")
    assert kinds(read(model.session, "t")) == [("delete", 1, "a"), ("delete", 6, "a"), ("insert", 6, "z")]


def test_a_rollback_of_the_model_or_the_input_moves_what_is_read(model: Both) -> None:
    before = model.snapshots() - 1
    model.duckdb("INSERT INTO t VALUES (7, 'new')")
    first = read(model.session, "t")
    model.duckdb("DELETE FROM t WHERE id = 2")
    assert kinds(read(model.session, "t")) == [("delete", 2, "a")]
    model.spark(f"CALL ducklake_rollback('lake', version => {before}, table_name => 'm')")
    assert kinds(read(model.session, "t")) == [("delete", 2, "a"), ("insert", 7, "new")]
    assert kinds(first) == [("insert", 7, "new")]
    model.spark(f"CALL ducklake_rollback('lake', version => {before}, table_name => 't')")
    assert kinds(read(model.session, "t")) == [("delete", 7, "new"), ("insert", 2, "a")]


def test_a_position_survives_changes_of_the_model_by_duckdb(model: Both) -> None:
    """DuckDB keeps tags that it does not know when it changes the table."""
    known = positions(model.session)
    for statement in (
        "COMMENT ON TABLE m IS 'a model'",
        "ALTER TABLE m ADD COLUMN w INTEGER",
        "ALTER TABLE m SET PARTITIONED BY (id)",
        "INSERT INTO m VALUES (99, 'x', 1)",
        "DELETE FROM m WHERE id = 99",
        "ALTER TABLE m RENAME TO n",
        "ALTER TABLE n RENAME TO m",
    ):
        model.duckdb(statement)
    assert positions(model.session) == known


def test_duckdb_merges_the_files_of_several_increments(model: Both) -> None:
    """The position changes the lake's schema version, but not that of the table, which would keep its files apart."""
    for number in range(3):
        model.duckdb(f"INSERT INTO t SELECT i, 'new' FROM range({number}0, {number}5) r(i)")
        query = f"SELECT id, v FROM {CHANGES.format('t', 'false')}"
        model.session.begin()
        model.session.execute(f"INSERT INTO m {query}")
        model.session.set_positions(MODEL, query, rebuilt=False)
        model.session.commit()
    known = positions(model.session)
    model.duckdb("CALL ducklake_merge_adjacent_files('lake', 'm')")
    assert len(model.duck.execute("FROM ducklake_list_files('lake', 'm')").fetchall()) == 1
    assert positions(model.session) == known
    assert len(model.rows("SELECT * FROM m")) == 6 + 3 * 5


def test_an_input_in_a_schema_with_a_dot_is_found_after_it_was_created_again(model: Both) -> None:
    for schema, table in (("a", "b.t"), ("a.b", "t")):
        model.duckdb(f'CREATE SCHEMA "{schema}"')
        model.duckdb(f'CREATE TABLE "{schema}"."{table}" AS SELECT 1 AS id, \'x\' AS v')
    query = "SELECT id, v FROM ducklake_changes('lake', 'a.b', 't', model => ['lake', 'main', 'm'], full_build => true)"
    model.session.set_positions(MODEL, query, rebuilt=True)
    assert model.session.position_problems(MODEL) == [], "the other table with this full name does not matter"
    model.duckdb('DROP TABLE a."b.t"')
    model.duckdb('DROP TABLE "a.b".t')
    assert model.session.position_problems(MODEL) == ["lake.a.b.t was dropped"]
    model.duckdb("CREATE TABLE \"a.b\".t AS SELECT 1 AS id, 'x' AS v")
    assert "the table now named lake.a.b.t is a different one" in model.session.position_problems(MODEL)[0]


def test_an_input_that_cannot_be_continued_is_named(model: Both) -> None:
    def problem() -> str:
        ((_, _, found),) = positions(model.session)
        with pytest.raises(StatementError, match="full-refresh") as error:
            model.session.execute(f"SELECT * FROM {CHANGES.format('t', 'false')}")
        assert found in str(error.value)
        assert model.session.position_problems(MODEL) == [found]
        assert model.session.position_problems(MODEL, {("lake", "main.other"), ("more", "main.t")}) == []
        return str(found)

    assert model.session.position_problems(MODEL) == []
    model.duckdb("ALTER TABLE t ADD COLUMN w INTEGER")
    assert "columns of lake.main.t have changed" in problem()
    build(model.session, "t")
    model.duckdb("ALTER TABLE t RENAME TO old")
    assert model.session.position_problems(MODEL) == []
    model.duckdb("INSERT INTO old VALUES (7, 'new', 1)")
    assert model.session.execute(f"SELECT id FROM {CHANGES.format('old', 'false')}").fetch() == [(7,)]
    model.duckdb("ALTER TABLE old ADD COLUMN later INTEGER")
    (found,) = model.session.position_problems(MODEL, {("LAKE", "main.OLD")})
    assert "columns of lake.main.old have changed" in found, "the model reads the renamed table"
    model.duckdb("CREATE TABLE t (id INTEGER, v VARCHAR)")
    assert "the table now named lake.main.t is a different one" in problem()
    build(model.session, "t")
    model.duckdb("DROP TABLE t")
    assert "was dropped" in model.session.position_problems(MODEL)[0]
    model.duckdb("CREATE TABLE t (id INTEGER, v VARCHAR)")
    assert "the table now named lake.main.t is a different one" in problem()
    build(model.session, "t")
    model.duckdb("INSERT INTO t VALUES (1, 'a')")
    model.duckdb("CALL ducklake_expire_snapshots('lake', older_than => now())")
    assert "has expired" in problem()


def test_expired_snapshots_between_position_and_now_do_not_matter(model: Both) -> None:
    model.duckdb("SET ducklake_default_data_inlining_row_limit = 0")
    model.duckdb("INSERT INTO t VALUES (7, 'new'), (8, 'new'), (9, 'new')")
    model.duckdb("DELETE FROM t WHERE id IN (1, 7)")
    model.duckdb("UPDATE t SET v = 'b' WHERE id IN (2, 8)")
    ((_, position, _),) = positions(model.session)
    between = list(range(int(position) + 1, model.snapshots() - 1))
    model.duckdb(f"CALL ducklake_expire_snapshots('lake', versions => {between})")
    model.duckdb("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    assert kinds(read(model.session, "t")) == [("delete", 1, "a"), ("insert", 8, "b"), ("insert", 9, "new"), ("update", 2, "b")]


@pytest.mark.parity
def test_two_runs_at_once_do_not_read_a_row_twice(model: Both, second: LakeSession) -> None:
    """The second commit conflicts, because the first one moved the position; its transaction is replayed from there."""
    model.duckdb("INSERT INTO t VALUES (7, 'new'), (8, 'new'), (9, 'new')")
    query = f"SELECT id, v FROM {CHANGES.format('t', 'false')}"

    def start(session: LakeSession) -> None:
        session.begin()
        session.execute(f"INSERT INTO m {query}")
        session.set_positions(MODEL, query, rebuilt=False)

    start(model.session)
    start(second)
    model.session.commit()
    model.duckdb("INSERT INTO t VALUES (10, 'later'), (11, 'later'), (12, 'later')")
    second.commit()
    assert [row[0] for row in model.rows("SELECT id FROM m")] == list(range(1, 13))
    assert read(model.session, "t") == []


@pytest.mark.parity
def test_a_failed_run_does_not_move_the_position(model: Both) -> None:
    model.duckdb("INSERT INTO t VALUES (7, 'new')")
    query = f"SELECT id, v FROM {CHANGES.format('t', 'false')}"
    model.session.begin()
    model.session.execute(f"INSERT INTO m {query}")
    model.session.set_positions(MODEL, query, rebuilt=False)
    model.session.rollback()
    assert kinds(read(model.session, "t")) == [("insert", 7, "new")]


@pytest.mark.parametrize("writer", ["duckdb", "spark"])
def test_a_run_without_changes_creates_no_snapshot(model: Both, writer: str) -> None:
    """Although a file of the input has deleted rows: their delete file is older than the model's position."""
    write: Callable[[str], None] = getattr(model, writer)
    write("CALL lake.set_option('data_inlining_row_limit', 0)")
    write("DELETE FROM t WHERE id = 6")
    assert kinds(read(model.session, "t")) == [("delete", 6, "a")]
    model.duckdb("CREATE TABLE other (id INTEGER)")
    count, known = model.snapshots(), positions(model.session)
    assert read(model.session, "t") == []
    assert model.snapshots() == count
    assert positions(model.session) == known


def test_each_input_has_its_own_position(model: Both) -> None:
    model.spark("CREATE TABLE u AS SELECT 100 AS id, 'u' AS v")
    with pytest.raises(StatementError, match="has not read them before"):
        model.session.execute(f"SELECT * FROM {CHANGES.format('u', 'false')}")
    build(model.session, "t", "u")
    model.duckdb("INSERT INTO t VALUES (7, 'new')")
    assert kinds(read(model.session, "t", "u")) == [("insert", 7, "new")]
    model.duckdb("INSERT INTO u VALUES (101, 'u')")
    assert kinds(read(model.session, "t", "u")) == [("insert", 101, "u")]


def test_an_input_may_be_in_another_lake(model: Both, catalog: CatalogUnderTest, tmp_path: Path) -> None:
    other = LakeSettings(f"ducklake:sqlite:{tmp_path}/other.sqlite", f"{tmp_path}/other/", database="other")
    with connect(catalog.path, catalog.data_path, spark=model.session.spark(), attach=[other]) as session:
        session.execute("CREATE TABLE other.main.o AS SELECT 1 AS id, 'o' AS v")
        query = "SELECT id, v FROM other.main.changes('o', model => ['lake', 'main', 'm'], full_build => {})"
        session.begin()
        session.execute(f"CREATE OR REPLACE TABLE m AS {query.format('true')}")
        session.set_positions(MODEL, query.format("true"), rebuilt=True)
        session.commit()
        session.execute("INSERT INTO other.main.o VALUES (2, 'o')")
        assert session.execute(query.format("false")).fetch() == [(2, "o")]
        assert positions(session) == [("other.main.o", 1, None)]
    with pytest.raises(StatementError, match="a position is of the lake other"):
        model.session.position_problems(MODEL)
    ((name, snapshot_id, problem),) = positions(model.session)
    assert (name, snapshot_id) == ("other.main.o", 1)
    assert "the lake other, which the profile does not attach" in problem


def staged_run(session: LakeSession, *statements: str) -> None:
    """Change the input and read its changes in one transaction, which stays open."""
    query = f"SELECT id, v FROM {CHANGES.format('t', 'false')} WHERE _change_type <> 'delete'"
    session.begin()
    for statement in statements:
        session.execute(statement)
    session.execute(f"INSERT INTO m {query}")
    session.set_positions(MODEL, query, rebuilt=False)


@pytest.mark.parity
def test_changes_of_the_same_transaction_are_read_up_to_its_snapshot(model: Both) -> None:
    session = model.session
    model.duckdb("SET ducklake_default_data_inlining_row_limit = 0")
    model.duckdb("DELETE FROM t WHERE id = 1")
    session.begin()
    for statement in (
        *("INSERT INTO t VALUES (7, 'new'), (8, 'gone')", "DELETE FROM t WHERE id IN (2, 8)", "UPDATE t SET v = 'b' WHERE id = 3"),
        *("INSERT INTO t SELECT id, 'n' FROM range(100, 110) r(id)", "DELETE FROM t WHERE id BETWEEN 101 AND 109"),
    ):
        session.execute(statement)
    found = session.execute(f"SELECT _change_type, id, v FROM {CHANGES.format('t', 'false')}").fetch()
    assert sorted(found) == [("delete", 1, "a"), ("delete", 2, "a"), ("insert", 7, "new"), ("insert", 100, "n"), ("update", 3, "b")]
    session.rollback()
    staged_run(session, "INSERT INTO t VALUES (7, 'new')", "CREATE OR REPLACE TABLE t AS SELECT id, v FROM t WHERE id <> 2")
    with pytest.raises(StatementError, match="cannot be changed again before this transaction is committed"):
        session.execute("INSERT INTO t VALUES (9, 'late')")
    session.rollback()
    staged_run(session, "INSERT INTO t VALUES (7, 'new')")
    session.commit()
    assert positions(session) == [("lake.main.t", model.snapshots() - 1, None)]
    assert [row[0] for row in model.rows("SELECT id FROM m")] == [1, 2, 3, 4, 5, 6, 7]
    assert read(session, "t") == []


@pytest.mark.parity
def test_a_concurrent_change_of_a_staged_input_is_read_once(model: Both) -> None:
    staged_run(model.session, "INSERT INTO t VALUES (7, 'new')")
    model.duckdb("INSERT INTO t VALUES (8, 'other')")
    model.session.commit()
    assert [row[0] for row in model.rows("SELECT id FROM m")] == list(range(1, 9))
    assert read(model.session, "t") == []


def test_a_new_input_is_read_in_the_transaction_that_creates_it(model: Both) -> None:
    query = f"SELECT id, v FROM {CHANGES.format('n', 'true')}"
    model.session.begin()
    model.session.execute("CREATE TABLE n AS SELECT 1 AS id, 'n' AS v")
    model.session.execute(f"CREATE OR REPLACE TABLE m AS {query}")
    model.session.set_positions(MODEL, query, rebuilt=True)
    model.session.commit()
    assert positions(model.session) == [("lake.main.n", model.snapshots() - 1, None)]
    model.duckdb("INSERT INTO n VALUES (2, 'n')")
    assert kinds(read(model.session, "n")) == [("insert", 2, "n")]


def test_what_records_no_changes_is_refused(model: Both) -> None:
    model.spark("CREATE VIEW view_of_t AS SELECT * FROM t")
    with pytest.raises(StatementError, match="is a view, which records no changes"):
        model.session.execute(f"SELECT * FROM {CHANGES.format('view_of_t', 'true')}")
    model.spark("CREATE TABLE odd AS SELECT 1 AS _change_type")
    with pytest.raises(StatementError, match="a column _change_type"):
        model.session.execute(f"SELECT * FROM {CHANGES.format('odd', 'true')}")
    with pytest.raises(StatementError, match="cannot read its own changes"):
        build(model.session, "m")
    model.session.rollback()
    with pytest.raises(StatementError, match="while dbt compiled it"):
        model.session.set_positions(MODEL, f"SELECT * FROM {CHANGES.format('t', 'false')}", rebuilt=True)


def test_a_rebuild_without_positions_has_none(model: Both) -> None:
    model.spark("CREATE OR REPLACE TABLE m AS SELECT * FROM t")
    assert positions(model.session) == []
    assert model.session.position_problems(MODEL) is None


@pytest.mark.nightly
def test_values_of_every_kind_are_compared(both: Both) -> None:
    columns = (
        "1 AS id, MAP('a', 1, 'b', NULL) AS m, parse_json('{\"a\": 1}') AS j, array(map(1, 'x')) AS l, "
        "named_struct('f', CASE WHEN rand() < 2 THEN map(1, 2) END, 'g', cast(NULL AS INT)) AS s, double('NaN') AS d, cast(NULL AS map<int, int>) AS n, X'01' AS b, "
        "timestamp '2024-01-01 00:00:00.000001' AS t, 'v' AS v"
    )
    both.spark(f"CREATE TABLE t AS SELECT {columns}")
    build(both.session, "t")
    both.spark(f"CREATE OR REPLACE TABLE t AS SELECT {columns}")
    assert read(both.session, "t") == []
    for column, value in (
        ("m", "MAP('a', 1, 'b', 2)"),
        ("j", 'parse_json(\'{"a": "1"}\')'),
        ("l", "array(map(1, 'y'))"),
        ("s", "named_struct('f', map(1, 3), 'g', cast(NULL AS INT))"),
        ("t", "timestamp '2024-01-01 00:00:00.000002'"),
        ("b", "X'02'"),
    ):
        both.spark(f"UPDATE t SET {column} = {value}")
        assert [row[:2] for row in read(both.session, "t")] == [("update", 1)], column
    assert len(comparable_rows(both.session.execute("SELECT * FROM t").fetch())) == 1


def test_a_flushed_delete_is_read_once(model: Both) -> None:
    model.duckdb("CALL lake.set_option('data_inlining_row_limit', 5)")
    model.duckdb("DELETE FROM t WHERE id = 1")
    assert kinds(read(model.session, "t")) == [("delete", 1, "a")]
    model.duckdb("DELETE FROM t WHERE id = 2")
    model.duckdb("CALL ducklake_flush_inlined_data('lake')")
    assert kinds(read(model.session, "t")) == [("delete", 2, "a")]
    assert read(model.session, "t") == []
