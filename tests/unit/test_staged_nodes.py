"""Nodes that wait for their tests are published in the order that their tests need."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.ducklake.errors import ConflictError
from dbt.adapters.ducklake.format.files import DeleteFile
from dbt.adapters.ducklake.lake.context import Context
from dbt.adapters.ducklake.lake.row_changes import stage_deletes
from dbt.adapters.ducklake.publishing.results import publish_tested
from dbt.adapters.ducklake.session import Lake, LakeSession
from dbt.adapters.ducklake.session.staged_nodes import NodePlan
from dbt.adapters.ducklake.spark.files.deletes import positions_table
from tests.catalog_objects import table_of
from tests.places import CatalogPlace

PLANS = {
    "orders": NodePlan(tests=frozenset({"relationships"})),
    "customers": NodePlan(tests=frozenset({"unique"})),
    "relationships": NodePlan(frozenset({"orders", "customers"}), is_test=True),
    "unique": NodePlan(frozenset({"customers"}), is_test=True),
}


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with CatalogPlace(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/").lake() as opened:
        opened.stage_nodes(PLANS)
        yield opened
        opened.end_run()


def build(lake: Lake, name: str) -> None:
    """Create the table of a node in the node's transaction."""
    with lake.session() as session:
        session.node = lambda: name
        session.set_commit_message(None, name)
        session.begin()
        session.execute(f"CREATE TABLE {name} (id INT)")
        session.commit()


def check(lake: Lake, name: str) -> None:
    """Run a test that reads what its plan says, and passes."""
    with lake.session() as session:
        session.node = lambda: name
        for table in PLANS[name].reads:
            session.execute(f"DESCRIBE {table}")
    assert lake.nodes is not None
    lake.nodes.record_test(name, None)


def published(lake: Lake) -> list[str | None]:
    return [record.message for record in lake.catalog.snapshots() if record.message is not None]


def test_a_node_is_published_after_the_staged_nodes_that_its_test_has_read(lake: Lake) -> None:
    build(lake, "orders")
    build(lake, "customers")
    check(lake, "relationships")
    assert published(lake) == []
    check(lake, "unique")
    assert published(lake) == ["customers", "orders"]


def test_a_node_whose_test_has_read_a_node_with_a_conflict_is_not_published(lake: Lake) -> None:
    build(lake, "orders")
    build(lake, "customers")
    check(lake, "relationships")
    with lake.session() as other:
        other.set_commit_message(None, "theirs")
        other.execute("CREATE TABLE customers (name STRING)")
    with pytest.raises(ConflictError, match="customers was not published"):
        check(lake, "unique")
    assert published(lake) == ["theirs"]
    assert lake.nodes is not None
    assert lake.nodes.unpublished["orders"] == "customers was not published"


def test_later_tests_can_read_a_node_with_a_conflict(lake: Lake) -> None:
    plans = {
        "orders": NodePlan(tests=frozenset({"not_null"})),
        "customers": NodePlan(frozenset({"orders"}), frozenset({"unique"})),
        "returns": NodePlan(tests=frozenset({"relationships"})),
        "not_null": NodePlan(frozenset({"orders"}), is_test=True),
        "unique": NodePlan(frozenset({"customers"}), is_test=True),
        "relationships": NodePlan(frozenset({"orders", "customers", "returns"}), is_test=True),
    }
    lake.stage_nodes(plans)
    assert lake.nodes is not None
    build(lake, "orders")
    build(lake, "customers")
    lake.nodes.record_test("not_null", None)
    with lake.session() as other:
        other.execute("CREATE TABLE customers (name STRING)")
    with pytest.raises(ConflictError, match="customers was not published"):
        lake.nodes.record_test("unique", None)
    build(lake, "returns")
    with lake.session() as session:
        session.node = lambda: "relationships"
        columns = {name: session.execute(f"DESCRIBE {name}").fetch()[0][0] for name in plans["relationships"].reads}
    assert columns == {"orders": "id", "customers": "id", "returns": "id"}
    lake.nodes.record_test("relationships", None)
    lake.nodes.finish(plans)
    assert published(lake) == ["orders"]
    assert lake.nodes.unpublished["returns"] == "customers was not published"


MUTUAL = {**PLANS, "unique": NodePlan(frozenset({"orders", "customers"}), is_test=True)}
"""The test of each table reads the other one."""


@pytest.mark.parametrize("conflicting", ["orders", "customers"])
def test_of_nodes_whose_tests_read_each_other_none_is_published_if_one_has_a_conflict(lake: Lake, conflicting: str) -> None:
    lake.stage_nodes(MUTUAL)
    build(lake, "orders")
    build(lake, "customers")
    check(lake, "unique")
    with lake.session() as other:
        other.set_commit_message(None, "theirs")
        other.execute(f"CREATE TABLE {conflicting} (name STRING)")
    with pytest.raises(ConflictError, match=f"{conflicting} was not published"):
        check(lake, "relationships")
    assert published(lake) == ["theirs"]


def test_nodes_whose_tests_read_each_other_are_published(lake: Lake) -> None:
    lake.stage_nodes(MUTUAL)
    build(lake, "orders")
    build(lake, "customers")
    check(lake, "unique")
    assert published(lake) == []
    check(lake, "relationships")
    assert sorted(map(str, published(lake))) == ["customers", "orders"]


@pytest.mark.parametrize("node", ["master", "untested", "relationships"])
def test_maintenance_of_what_is_not_staged_waits_while_nodes_are_staged(lake: Lake, node: str) -> None:
    lake.stage_nodes({**PLANS, "untested": NodePlan()})
    with lake.session() as other:
        other.node = lambda: node
        build(lake, "orders")
        other.execute("CALL lake.delete_orphaned_files(cleanup_all => true)")
        assert lake.nodes is not None
        assert lake.nodes.deferred == ["CALL lake.delete_orphaned_files(cleanup_all => true)"]
    lake.end_run()
    assert lake.deferred_statements(node) is None


def test_a_dry_run_of_maintenance_does_not_wait(lake: Lake) -> None:
    with lake.session() as hook:
        hook.node = lambda: "master"
        hook.execute("CREATE TABLE earlier (id INT)")
        build(lake, "orders")
        result = hook.execute("CALL lake.expire_snapshots(older_than => TIMESTAMP '2100-01-01', dry_run => true)")
        assert result.rows
        hook.execute("CALL lake.cleanup_old_files(cleanup_all => true, dry_run => false)")
        assert lake.nodes is not None
        assert lake.nodes.deferred == ["CALL lake.cleanup_old_files(cleanup_all => true, dry_run => false)"]


LOGGING = {
    "orders": NodePlan(tests=frozenset({"relationships"})),
    "customers": NodePlan(frozenset({"orders"})),
    "relationships": NodePlan(frozenset({"orders", "customers"}), is_test=True),
}
"""A test of the first table reads the second, so the second is built from staged rows."""


def log(lake: Lake, name: str, seen: int) -> None:
    """Append a row to the log in the transaction of a node, which reads `seen` rows, as `INSERT INTO log SELECT count(*) FROM log` does."""
    with lake.session() as session:
        session.node = lambda: name
        session.set_commit_message(None, name)
        session.begin()
        with session.reading() as transaction:
            table = table_of(transaction, "log")
            assert sum(len(rows.rows) for rows in transaction.scan_plan(table).inlined) == seen
            transaction.record_read(table.table_id)
        session.execute(f"INSERT INTO log VALUES ({seen})")
        session.commit()


@pytest.fixture
def logged(lake: Lake) -> Lake:
    lake.end_run()
    with lake.session() as session:
        session.execute("CREATE TABLE log (n INT)")
    lake.stage_nodes(LOGGING)
    return lake


def append_as_two_nodes(lake: Lake) -> None:
    log(lake, "orders", 0)
    log(lake, "customers", 1)
    with lake.session() as session:
        session.node = lambda: "relationships"
        session.execute("DESCRIBE log")


def test_nodes_that_append_to_a_table_and_read_it_are_published_one_after_the_other(logged: Lake) -> None:
    append_as_two_nodes(logged)
    assert logged.nodes is not None
    logged.nodes.record_test("relationships", None)
    logged.nodes.finish(LOGGING)
    assert published(logged) == ["orders", "customers"]
    assert logged.nodes.unpublished == {}


def test_another_writer_of_the_table_that_a_node_reads_is_a_conflict(logged: Lake) -> None:
    append_as_two_nodes(logged)
    with logged.session() as other:
        other.set_commit_message(None, "theirs")
        other.execute("INSERT INTO log VALUES (9)")
    assert logged.nodes is not None
    logged.nodes.record_test("relationships", None)
    with pytest.raises(ConflictError, match=r"was not published: cannot .*theirs"):
        logged.nodes.finish(LOGGING)
    assert published(logged) == ["theirs"]


def test_threads_of_a_node_that_overwrite_its_table_leave_the_rows_of_one(lake: Lake) -> None:
    def session_of_orders() -> LakeSession:
        session = lake.session()
        session.node = lambda: "orders"
        return session

    build(lake, "orders")
    sessions = [session_of_orders() for _ in range(3)]
    for number, session in enumerate(sessions):
        session.begin()
        session.execute("DELETE FROM orders")
        session.execute(f"INSERT INTO orders VALUES ({number})")
    for session in sessions:
        session.commit()
    assert lake.nodes is not None
    lake.nodes.record_test("relationships", None)
    reader = lake.catalog.reader()
    assert [rows.rows for rows in reader.scan_plan(table_of(reader, "orders")).inlined] == [((2,),)]


def delete_row(lake: Lake, node: str | None, position: int) -> None:
    """Delete the row at a position of the only file of the log."""
    with lake.session() as session:
        session.node = lambda: node
        session.begin()
        with session.reading() as transaction:
            table = table_of(transaction, "log")
            plan = transaction.scan_plan(table)
            context = Context(lake.catalog, transaction, session.spark)
            stage_deletes(context, table, plan, {plan.files[0].data_file_id: pa.array([position])})
        session.commit()


@pytest.fixture
def shared_log(lake: Lake) -> Lake:
    """A lake whose table log has a file of three rows; the node customers reads what the node orders stages."""
    lake.end_run()
    with lake.session() as session:
        session.execute("CREATE TABLE log (n INT)")
        session.execute("CALL set_option('data_inlining_row_limit', '0')")
        session.execute("INSERT INTO log VALUES (0), (1), (2)")
    lake.stage_nodes(PLANS | {"customers": NodePlan(frozenset({"orders"}), frozenset({"unique"}))})
    return lake


def test_a_reader_keeps_the_delete_file_that_publishing_another_node_replaces(shared_log: Lake) -> None:
    delete_row(shared_log, None, 0)
    delete_row(shared_log, "orders", 1)

    def delete_file(reader: LakeSession) -> DeleteFile:
        with reader.reading() as transaction:
            found = transaction.scan_plan(table_of(transaction, "log")).files[0].delete_file
        assert found is not None
        return found

    with shared_log.session() as reader, shared_log.session() as other:
        reader.node = lambda: "customers"
        first = delete_file(reader)
        other.execute("CREATE TABLE another (n INT)")  # so the delete file gets another snapshot id when it is published
        assert shared_log.nodes is not None
        shared_log.nodes.record_test("relationships", None)
        assert delete_file(other).path != first.path
        assert positions_table(delete_file(reader)).column(0).to_pylist() == [0, 1]
    shared_log.end_run()
    assert not Path(first.path).exists()


@pytest.mark.parametrize("earlier", [[], [0]])
def test_a_node_does_not_read_rows_that_another_writer_deleted_from_a_file_with_staged_deletes(
    shared_log: Lake, earlier: list[int]
) -> None:
    for position in earlier:
        delete_row(shared_log, None, position)
    delete_row(shared_log, "orders", 1)
    delete_row(shared_log, None, 2)
    with shared_log.session() as reader:
        reader.node = lambda: "customers"
        with pytest.raises(ConflictError, match="moved or deleted by a concurrent transaction"), reader.reading() as transaction:
            transaction.scan_plan(table_of(transaction, "log"))


def test_a_conflict_and_a_failed_deferred_statement_are_both_reported(lake: Lake) -> None:
    build(lake, "orders")
    with lake.session() as other:
        other.execute("CREATE TABLE orders (id INT)")
    assert lake.nodes is not None
    lake.nodes.deferred.extend(["CALL lake.set_option('no_such_option', '1')", "CALL lake.set_option('parquet_version', '9')"])
    result = SimpleNamespace(status="success", node=SimpleNamespace(unique_id="orders", resource_type="model"))
    config = SimpleNamespace(credentials=SimpleNamespace(schema="main"))
    with pytest.raises(DbtRuntimeError) as raised:
        publish_tested(lake, config, [result], "always")
    message = str(raised.value)
    assert all(each in message for each in ("was not published", "no_such_option", "parquet_version")), message
