"""`ducklake_changes` and the strategy `changes`: each model reads only what changed in its inputs since its last commit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from dbt.tests.fixtures.project import TestProjInfo
from dbt.tests.util import run_dbt, run_dbt_and_capture, write_file
from dbt_common.exceptions import DbtRuntimeError

from tests.duckdb_instances import open_duckdb
from tests.functional.change_models import CHAIN, OPEN, ORDERS, SOURCES, check, create_sources, writing
from tests.interop.other_process import OtherProcess
from tests.places import CatalogPlace
from tests.postgres import fresh_database

UNIT_TEST = """
unit_tests:
  - name: only_open
    model: open_orders
    given:
      - input: source('shop', 'orders')
        rows: [{id: 1, customer: 1, amount: 5}, {id: 2, customer: 1, amount: 0}]
    expect:
      rows: [{id: 1, amount: 5, _change_type: insert}]
"""


class WithDuckDB:
    """A project whose sources DuckDB writes."""

    @pytest.fixture(scope="class")
    def duckdb(self, project: TestProjInfo) -> Iterator[Any]:
        connection = open_duckdb("ducklake", "sqlite_scanner")
        connection.execute(f"ATTACH '{project.adapter.config.credentials.path}' AS lake")
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS lake.{project.test_schema}")
        connection.execute(f"USE lake.{project.test_schema}")
        connection.execute("CREATE TABLE orders AS SELECT i AS id, i % 3 AS customer, i * 10 AS amount FROM range(1, 9) r(i)")
        connection.execute("CREATE TABLE customers AS SELECT i AS id, 'c' || i AS name FROM range(3) r(i)")
        connection.execute("CREATE VIEW orders_view AS SELECT * FROM orders")
        yield connection
        connection.close()

    @staticmethod
    def rows(duckdb: Any, query: str) -> list[tuple[object, ...]]:
        return sorted(duckdb.execute(query).fetchall())


class TestChain(WithDuckDB):
    @pytest.fixture(scope="class")
    def models(self):
        return {**CHAIN, "tests.yml": UNIT_TEST}

    @pytest.fixture(scope="class")
    def built(self, duckdb: Any) -> None:  # noqa: ARG002 (writes the sources)
        """The models after their first run."""
        run_dbt(["run"])

    def check(self, duckdb: Any) -> None:
        """Assert that the models contain what a full build would."""
        assert self.rows(duckdb, "FROM open_orders") == self.rows(duckdb, "SELECT id, customer, amount FROM orders WHERE amount > 0")
        query = "SELECT o.id, amount, name FROM orders o LEFT JOIN customers c ON o.customer = c.id WHERE amount > 0"
        assert self.rows(duckdb, "FROM named") == self.rows(duckdb, query)

    def increment(self, duckdb: Any) -> list[tuple[object, ...]]:
        """Run the models, and return what the last one appended."""
        before = self.rows(duckdb, "SELECT what, id FROM logged")
        run_dbt(["run"])
        self.check(duckdb)
        after = self.rows(duckdb, "SELECT what, id FROM logged")
        for row in before:
            after.remove(row)
        return after

    @pytest.mark.usefixtures("built")
    def test_each_model_reads_the_increment_of_the_one_before(self, duckdb):
        self.check(duckdb)
        assert self.rows(duckdb, "SELECT what, id FROM logged") == [("insert", each) for each in range(1, 9)]
        snapshots = "SELECT count(*) FROM ducklake_snapshots('lake')"
        count = duckdb.execute(snapshots).fetchone()
        assert self.increment(duckdb) == []
        assert duckdb.execute(snapshots).fetchone() == count

        duckdb.execute("UPDATE orders SET amount = 11 WHERE id = 1")
        duckdb.execute("UPDATE orders SET amount = -1 WHERE id = 2")
        duckdb.execute("UPDATE orders SET id = 33 WHERE id = 3")
        duckdb.execute("DELETE FROM orders WHERE id = 4")
        duckdb.execute("INSERT INTO orders VALUES (9, 0, 90), (10, 0, -5)")
        found = self.increment(duckdb)
        assert found == [("delete", 2), ("delete", 3), ("delete", 4), ("insert", 9), ("insert", 33), ("update", 1)]

        duckdb.execute("UPDATE orders SET amount = 50 WHERE id = 5")  # the value that it has
        duckdb.execute("UPDATE orders SET amount = 66 WHERE id = 6")
        assert self.increment(duckdb) == [("update", 6)]
        duckdb.execute("CREATE TABLE copied AS FROM orders")
        duckdb.execute("DELETE FROM orders")
        duckdb.execute("INSERT INTO orders FROM copied")
        assert self.increment(duckdb) == []

    @pytest.mark.nightly
    @pytest.mark.usefixtures("built")
    def test_runs_of_one_model_and_full_builds_lose_no_change(self, duckdb):
        known = self.rows(duckdb, "FROM named")
        duckdb.execute("DELETE FROM orders WHERE id = 7")
        run_dbt(["run", "--select", "open_orders"])
        run_dbt(["run", "--empty"])
        assert self.rows(duckdb, "FROM named") == known
        run_dbt(["run", "--full-refresh", "--select", "open_orders"])
        duckdb.execute("DELETE FROM orders WHERE id = 8")
        run_dbt(["run"])
        self.check(duckdb)

    @pytest.mark.usefixtures("built")
    def test_positions_are_shown(self, project):
        _, output = run_dbt_and_capture(["run-operation", "ducklake_positions", "--args", "{table_name: named}"])
        assert f"lake.{project.test_schema}.open_orders" in output
        catalog = run_dbt(["docs", "generate"])
        stats = {node.metadata.name: node.stats["positions"] for node in catalog.nodes.values()}
        assert str(stats["named"].value).startswith(f"lake.{project.test_schema}.open_orders: ")
        assert stats["named"].include
        assert len(run_dbt(["test"])) == 1


UNION = """
{{ config(materialized='incremental', unique_key=['kind', 'id']) }}
select 'order' as kind, id, cast(amount as string) as value, {{ is_incremental() }} as added from {{ ducklake_changes(source('shop', 'orders')) }}
where _change_type <> 'delete'
union all
select 'customer', id, name, {{ is_incremental() }} from {{ ducklake_changes(source('shop', 'customers')) }} where _change_type <> 'delete'
"""


class TestFullBuilds(WithDuckDB):
    @pytest.fixture(scope="class")
    def models(self):
        return {"sources.yml": SOURCES, "united.sql": UNION, "open_orders.sql": OPEN}

    def run(self, *more: str) -> str:
        _, output = run_dbt_and_capture(["run", *more])
        return str(output)

    def added(self, duckdb: Any) -> list[tuple[object, ...]]:
        return self.rows(duckdb, "SELECT kind, id FROM united WHERE added")

    @pytest.mark.nightly
    def test_an_input_that_cannot_be_continued_is_read_whole(self, duckdb):
        self.run()
        assert self.added(duckdb) == []
        duckdb.execute("INSERT INTO orders VALUES (9, 0, 90)")
        assert "built from all rows" not in self.run()
        assert self.added(duckdb) == [("order", 9)]
        duckdb.execute("UPDATE customers SET name = 'new' WHERE id = 1")
        self.run()
        assert self.added(duckdb) == [("customer", 1), ("order", 9)]

        for reason, *statements in (
            ("columns of .*orders have changed", "ALTER TABLE orders ADD COLUMN note VARCHAR"),
            ("is a different one", "ALTER TABLE orders RENAME TO before", "CREATE TABLE orders AS FROM before WHERE id < 5"),
            ("is a different one", "DROP TABLE orders", "CREATE TABLE orders AS FROM before WHERE id > 5"),
            (
                "has expired",
                "INSERT INTO orders VALUES (50, 0, 500, NULL)",
                "CALL ducklake_expire_snapshots('lake', older_than => now())",
                "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
            ),
        ):
            for statement in statements:
                duckdb.execute(statement)
            output = self.run()
            assert output.count("must be built from all rows, because") == 2, reason
            assert self.rows(duckdb, "SELECT id FROM united WHERE kind = 'order'") == self.rows(duckdb, "SELECT id FROM orders")
            assert self.rows(duckdb, "SELECT id FROM open_orders") == self.rows(duckdb, "SELECT id FROM orders WHERE amount > 0")
            assert self.added(duckdb) == []
            assert "built from all rows" not in self.run()

        duckdb.execute("CREATE OR REPLACE TABLE spare AS FROM orders")
        duckdb.execute("DELETE FROM orders WHERE id = 50")
        output = self.run("--full-refresh")
        assert "because" not in output
        assert self.rows(duckdb, "SELECT id FROM open_orders") == self.rows(duckdb, "SELECT id FROM orders WHERE amount > 0")

    def test_a_model_that_did_not_read_changes_is_built_once(self, project, duckdb):
        write_file("{{ config(materialized='incremental', unique_key='id') }} select 1 as id", project.project_root, "models", "later.sql")
        self.run("--select", "later")
        write_file(OPEN, project.project_root, "models", "later.sql")
        output = self.run("--select", "later", "--no-partial-parse")
        assert "it has not read changes before" in output
        assert self.rows(duckdb, "SELECT id FROM later") == self.rows(duckdb, "SELECT id FROM orders WHERE amount > 0")
        duckdb.execute("ALTER TABLE orders ADD COLUMN later INTEGER")
        write_file(OPEN.replace("unique_key", "full_refresh=false, unique_key"), project.project_root, "models", "later.sql")
        (result,) = run_dbt(["run", "--select", "later"], expect_pass=False)
        assert "full_refresh is false" in result.message


WRAPPER = "{% macro changed(relation) %}{{ ducklake_changes(relation) }}{% endmacro %}"
APPENDED = "{{ config(materialized='incremental') }} select id, {{ is_incremental() }} as added from %s"


class TestInputsThatAreNoLongerRead(WithDuckDB):
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "sources.yml": SOURCES,
            "log.sql": APPENDED % ORDERS,
            "wrapped.sql": APPENDED % "{{ changed(source('shop', 'orders')) }}",
            "switched.sql": UNION,
        }

    @pytest.fixture(scope="class")
    def macros(self):
        return {"changed.sql": WRAPPER}

    def test_old_positions_do_not_rebuild_a_model(self, project, duckdb):
        """The source no longer has rows that only these models have."""
        run_dbt(["run"])
        duckdb.execute("DELETE FROM orders WHERE id < 8")
        duckdb.execute("ALTER TABLE orders ADD COLUMN note VARCHAR")
        plain = APPENDED % "{{ source('shop', 'orders') }} -- before: ducklake_changes"
        write_file(plain, project.project_root, "models", "log.sql")
        only_customers = UNION.split("union all")[0].replace("'orders'", "'customers'").replace("amount", "name")
        write_file(only_customers, project.project_root, "models", "switched.sql")

        _, output = run_dbt_and_capture(["run"])
        known = [(each, False) for each in range(1, 9)]
        assert self.rows(duckdb, "SELECT id, added FROM log") == sorted([*known, (8, True)])
        assert self.rows(duckdb, "SELECT count(*) FROM switched WHERE NOT added") == [(8 + 3,)]
        assert output.count("must be built from all rows") == 1
        assert self.rows(duckdb, "SELECT id, added FROM wrapped") == [(8, False)]
        positions = project.run_sql("select table_name, input from lake.positions() order by 1", fetch="all")
        assert [(table, name.rpartition(".")[2]) for table, name in positions] == [("switched", "customers"), ("wrapped", "orders")]


class TestKeptRows(WithDuckDB):
    """`tmp_relation_type: table`: the rows that are merged are those that are cached."""

    @pytest.fixture(scope="class")
    def models(self):
        compared = "insert into merged select count(*) from orders_at__dbt_changes c join {{ this }} t using (id) where c.r = t.r"
        config = (
            "{{ config(materialized='incremental', incremental_strategy='changes', unique_key='id', tmp_relation_type='table', "
            'post_hook=["create table if not exists merged (n bigint)", '
            f'"{compared}"]) }}}}'
        )
        query = f"select id, rand() as r, _change_type from {ORDERS}"
        return {"sources.yml": SOURCES, "orders_at.sql": f"{config} {query}"}

    def test_the_rows_are_computed_once(self, duckdb):
        run_dbt(["run"])
        duckdb.execute("UPDATE orders SET amount = 0 WHERE id < 4")
        run_dbt(["run"])
        assert self.rows(duckdb, "SELECT n FROM merged") == [(0,), (3,)]


class TestRefused(WithDuckDB):
    @pytest.fixture(scope="class")
    def models(self):
        read = "{{ config(materialized='incremental', incremental_strategy='changes', unique_key='id') }} select id"
        return {
            "sources.yml": SOURCES,
            "as_table.sql": f"{{{{ config(materialized='table') }}}} select * from {ORDERS}",
            "short.sql": "{{ config(materialized='ephemeral') }} select 1 as id",
            "of_ephemeral.sql": f"{read}, _change_type from {{{{ ducklake_changes(ref('short')) }}}}",
            "of_view.sql": f"{read}, _change_type from {{{{ ducklake_changes(source('shop', 'orders_view')) }}}}",
            "without_type.sql": f"{read} from {ORDERS}",
            "batches.sql": (
                "{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='id', begin='2026-01-01', batch_size='year') }} "
                f"select * from {ORDERS}"
            ),
            "without_changes.sql": f"{read} from {{{{ source('shop', 'orders') }}}}",
        }

    @pytest.mark.usefixtures("duckdb")
    def test_the_error_says_what_to_do(self):
        results = run_dbt(["run", "--exclude", "batches"], expect_pass=False)
        found = {result.node.name: result.message for result in results}
        with pytest.raises(DbtRuntimeError, match="does not work with microbatch"):
            run_dbt(["compile", "--select", "batches"])
        for name, text in {
            "as_table": "works in incremental models only",
            "of_ephemeral": "an ephemeral model, a pinned source and files record no changes",
            "of_view": "is a view, which records no changes",
            "without_type": "must return the column _change_type",
            "without_changes": "that reads the changes of an input",
        }.items():
            assert text in found[name], name


@pytest.mark.nightly
class TestPublishedRun(WithDuckDB):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target):
        return {**dbt_profile_target, "publish": "run"}

    @pytest.fixture(scope="class")
    def models(self):
        return CHAIN

    def positions(self, project: TestProjInfo, duckdb: Any) -> set[int]:
        """Return how far the positions of the models are behind the newest snapshot."""
        (newest,) = duckdb.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetchone()
        return {newest - row[0] for row in project.run_sql("select snapshot_id from lake.positions()", fetch="all")}

    def test_a_chain_in_a_published_run_reads_each_change_once(self, project, duckdb):
        before = duckdb.execute("SELECT count(*) FROM ducklake_snapshots('lake')").fetchone()[0]
        run_dbt(["run"])
        assert duckdb.execute("SELECT count(*) FROM ducklake_snapshots('lake')").fetchone()[0] == before + 1
        assert self.positions(project, duckdb) == {0, 1}, "the source was read one snapshot before the one that the run published"

        duckdb.execute("INSERT INTO orders VALUES (9, 0, 90)")
        duckdb.execute("DELETE FROM orders WHERE id = 1")
        run_dbt(["run"])
        assert self.rows(duckdb, "SELECT id FROM named") == [(each,) for each in range(2, 10)]
        assert self.rows(duckdb, "SELECT id FROM logged WHERE what = 'delete'") == [(1,)]
        assert self.positions(project, duckdb) == {0, 1}

        assert self.rows(duckdb, "SELECT count(*) FROM logged") == [(10,)]
        duckdb.execute("UPDATE orders SET amount = 91 WHERE id = 9")
        run_dbt(["run", "--select", "open_orders"])
        run_dbt(["run"])
        assert self.rows(duckdb, "SELECT amount FROM named WHERE id = 9") == [(91,)]
        assert self.rows(duckdb, "SELECT id FROM logged WHERE what = 'update'") == [(9,)]
        assert self.rows(duckdb, "SELECT count(*) FROM logged") == [(11,)]


@pytest.mark.nightly
class TestAConcurrentWriter:
    """DuckDB changes the source in another process, without a pause, while the chain runs.

    `tests/interop/test_net_changes.py` has a case for each change that may come between two steps of a run.
    """

    @pytest.fixture(scope="class")
    def models(self):
        return CHAIN

    @pytest.fixture
    def duckdb(self, project: TestProjInfo) -> Iterator[OtherProcess]:
        credentials = project.adapter.config.credentials
        with OtherProcess(CatalogPlace(credentials.path, credentials.data_path)) as other:
            create_sources(other, project.test_schema)
            yield other

    @staticmethod
    def check(project: TestProjInfo, duckdb: OtherProcess) -> int:
        """Check the models, and return the position of the first one."""
        found = project.run_sql("select table_name, snapshot_id from lake.positions()", fetch="all")
        positions = {table.rpartition(".")[2]: snapshot for table, snapshot in found}
        check(duckdb, positions)
        assert positions.keys() == {"open_orders", "named", "logged"}
        return positions["open_orders"]

    def test_each_change_is_read_once_while_the_writer_goes_on(self, project, duckdb):
        run_dbt(["run"])
        position = self.check(project, duckdb)
        with writing(duckdb, first=100) as written:
            for publish in ("node", "run", "node", "run"):
                run_dbt(["run", "--vars", f"ducklake_publish: {publish}"])
                before, position = position, self.check(project, duckdb)
                assert position > before
        assert len(written) > 10
        run_dbt(["run"])
        self.check(project, duckdb)
        assert sorted(duckdb.query("FROM open_orders")) == sorted(duckdb.query("FROM orders WHERE amount > 0"))


@pytest.mark.postgres
class TestAConcurrentWriterOnPostgreSQL(TestAConcurrentWriter):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target, postgres_server):
        with fresh_database(postgres_server) as url:
            yield {**dbt_profile_target, "path": url}
