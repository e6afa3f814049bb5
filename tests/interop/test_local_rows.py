"""Rows of a small table that this process reads are the rows that Spark reads; the tables that it leaves to Spark are known."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from dbt.adapters.ducklake.errors import StatementError
from dbt.adapters.ducklake.format.files import LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID, ScanPlan
from dbt.adapters.ducklake.format.objects import Table
from dbt.adapters.ducklake.lake import merge, small_merge
from dbt.adapters.ducklake.spark.read import local
from dbt.adapters.ducklake.spark.read.local import local_rows, rows_with_keys
from dbt.adapters.ducklake.spark.read.local_file import FileReader
from dbt.adapters.ducklake.spark.read.scan import scan
from dbt.adapters.ducklake.spark.rows import local_match, match, positions
from tests.interop.conftest import Both
from tests.interop.types.cases import CASES, Case, duck_value, our_type, spark_text, spark_value
from tests.places import nightly_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = pytest.mark.local_rows
CATALOGS = ["sqlite"]
LINEAGE = (LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID)
ALIKE = {
    *("boolean", "int8", "int16", "int32", "int64", "float32", "float64"),
    *("varchar", "blob", "date", "timestamp", "timestamp_s", "timestamptz", "geometry"),
}
"""Types that this process reads from the files of both writers and inlined; decimals, too."""


def is_local(both: Both, name: str) -> bool:
    """Whether this process reads a table. If it does, compare its rows with those of a scan."""
    reader = both.session.catalog.reader()
    table = reader.find("main", name)
    assert isinstance(table, Table)
    plan = reader.scan_plan(table)
    found = local_rows(plan, lineage=True)
    if found is None:
        return False
    spark = both.session.spark()
    scanned = scan(spark, plan, lineage=True)
    assert [(field.name, field.dataType) for field in found.schema] == [(field.name, field.dataType) for field in scanned.schema]
    assert texts(found.frame(spark)) == texts(scanned)
    for name in found.rows.column_names[: -len(LINEAGE)]:
        assert_found_by_key(plan, found.rows, name)
    return True


def assert_found_by_key(plan: ScanPlan, rows: pa.Table, name: str) -> None:
    """Assert that the rows with some values of a column are found, with their lineage."""
    values = pc.unique(rows.column(name).slice(rows.num_rows // 2)).drop_null()
    found = rows_with_keys(plan, {name: values})
    assert found is not None
    assert in_order(with_values(found.rows, name, values)) == in_order(with_values(rows, name, values))


def with_values(rows: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return rows.filter(pc.is_in(rows.column(name), value_set=values))


def in_order(rows: pa.Table) -> list[pa.Array]:
    """Return the columns, sorted by their lineage. NaN equals NaN."""
    columns = rows.sort_by([(name, "ascending") for name in LINEAGE]).combine_chunks().columns
    return [column.cast(pa.string()) if pa.types.is_floating(column.type) else column for column in columns]


def texts(frame: DataFrame) -> list[tuple[Any, ...]]:
    """Return all values as texts, because Python cannot represent some dates."""
    columns = [f"hex({name})" if kind == "binary" else f"CAST({name} AS STRING)" for name, kind in frame.dtypes]
    return sorted((tuple(row) for row in frame.selectExpr(*columns).collect()), key=repr)


@pytest.mark.nightly
def test_types(both: Both) -> None:
    known: dict[str, list[bool]] = {}

    def note(case: Case, name: str) -> None:
        known.setdefault(case.stored, []).append(is_local(both, name))

    for number, case in enumerate(case for case in CASES if case.in_files):
        rows = ", ".join(f"({index}, {duck_value(case, value)})" for index, value in enumerate([*case.in_files, None]))
        for where, limit in (("files", 0), ("inlined", 100)):
            if where == "inlined" and not case.inlined:
                continue
            name = f"{where}_{number}"
            both.duckdb(f"CREATE TABLE {name} (id INTEGER, v {case.duck})")
            both.duckdb(f"CALL lake.set_option('data_inlining_row_limit', {limit}, table_name => '{name}')")
            both.duckdb(f"INSERT INTO {name} VALUES {rows}")
            note(case, name)
        both.spark(f"CREATE TABLE spark_{number} (id INT, v {our_type(case, 'column')})")
        values = " UNION ALL ".join(
            "SELECT {} AS id, {} AS v".format(index, spark_value(case, "'" + spark_text(case, value).replace("'", "\\'") + "'"))
            for index, value in enumerate(case.in_files)
        )
        both.spark(f"INSERT INTO spark_{number} {values}")
        note(case, f"spark_{number}")
    assert {stored for stored, ways in known.items() if all(ways)} == {
        stored for stored in known if stored in ALIKE or stored.startswith("decimal")
    }


def test_history_of_columns(both: Both) -> None:
    both.duckdb("CREATE TABLE t (id INTEGER, a INTEGER, s VARCHAR)")
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0)")
    both.duckdb("INSERT INTO t SELECT range, range, 'x' || range FROM range(10)")
    assert is_local(both, "t")
    both.duckdb("ALTER TABLE t RENAME COLUMN a TO b")
    both.duckdb("ALTER TABLE t ADD COLUMN a VARCHAR")
    both.duckdb("INSERT INTO t SELECT range, range, 'y', 'new' FROM range(10, 15)")
    both.duckdb("DELETE FROM t WHERE id % 4 = 0")
    both.spark("UPDATE t SET a = 'updated' WHERE id < 6")
    both.spark("DELETE FROM t WHERE id = 13")
    assert is_local(both, "t"), "a renamed column, one with the earlier name of another, deletes of both, embedded row ids"
    both.duckdb("ALTER TABLE t DROP COLUMN s")
    both.duckdb("ALTER TABLE t ALTER b SET DATA TYPE BIGINT")
    both.duckdb("INSERT INTO t VALUES (99, 9999999999, 'big')")
    assert is_local(both, "t"), "a wider integer"
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 100)")
    both.duckdb("INSERT INTO t VALUES (100, 1, 'inlined'), (101, 2, 'inlined')")
    both.duckdb("DELETE FROM t WHERE id IN (1, 101)")
    assert is_local(both, "t"), "inlined rows and inlined deletes"
    both.duckdb("ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 42")
    assert not is_local(both, "t"), "Spark fills in the default"
    both.duckdb("CREATE TABLE empty (id INTEGER)")
    assert is_local(both, "empty")


def test_tables_that_spark_reads(both: Both) -> None:
    both.spark("CREATE TABLE nested AS SELECT 1 AS id, named_struct('a', 1) AS s")
    both.spark("CREATE TABLE large AS SELECT id FROM range(10001)")
    both.spark("CREATE TABLE wide AS SELECT id, " + ", ".join(f"id AS c{n}" for n in range(40)) + " FROM range(5000)")
    assert not any(is_local(both, name) for name in ("nested", "large", "wide"))


def test_keys_are_searched_only_in_row_groups_that_may_have_them(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    both.duckdb("CALL lake.set_option('parquet_row_group_size', 2048)")
    both.duckdb("CREATE TABLE t AS SELECT range AS id, 'name ' || range AS name, range % 7 AS part FROM range(20480)")
    both.duckdb("DELETE FROM t WHERE id = 4097")
    reads: list[tuple[int, list[str]]] = []
    read = FileReader._batches
    monkeypatch.setattr(FileReader, "_batches", lambda self, index, names: (reads.append((index, names)), read(self, index, names))[1])
    both.spark("MERGE INTO t USING (SELECT explode(array(5L, 4096L, 4097L, 8000L, -1L)) AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert sorted(reads) == [(0, ["id"]), (1, ["id"]), (2, ["id"]), (3, ["id"])]
    reads.clear()
    both.spark(
        "MERGE INTO t USING (SELECT CAST(20479 AS BIGINT) AS id, 'x' AS name, 0 AS part) s ON t.id = s.id AND t.name = 'name 20479' "
        "WHEN MATCHED THEN UPDATE SET name = concat(t.name, s.name)"
    )
    assert reads == [(9, ["id"]), (9, ["name", "part"])]
    assert both.rows("SELECT count(*), sum(id), max(name) FILTER (WHERE part = 4) FROM t") == [(20476, 209688762, "name 9993")]
    assert both.rows("SELECT id, part FROM t WHERE name = 'name 20479x'") == [(20479, 4)]


COPY = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"


def test_keys_that_are_all_null(both: Both) -> None:
    both.spark("CREATE TABLE t AS SELECT id, 'old' AS name FROM range(20000)")
    both.spark(f"MERGE INTO t USING (SELECT CAST(NULL AS BIGINT) AS id, 'new' AS name) s ON t.id = s.id {COPY}")
    assert both.rows("SELECT count(*), count(id), count(*) FILTER (WHERE name = 'new') FROM t") == [(20001, 20000, 1)]


def test_a_name_with_a_dot_that_is_also_the_path_of_a_field(both: Both) -> None:
    both.duckdb("CREATE TABLE t AS SELECT {b: 1000000 + range} AS a, range AS \"a.b\", 'old' AS name FROM range(20000)")
    both.duckdb("ALTER TABLE t DROP COLUMN a")
    both.spark(f"MERGE INTO t USING (SELECT 5L AS `a.b`, 'new' AS name) s ON t.`a.b` = s.`a.b` {COPY}")
    assert both.rows("SELECT count(*), count(*) FILTER (WHERE name = 'new') FROM t") == [(20000, 1)]


@pytest.mark.parametrize("limit", ["MAX_FOUND_ROWS", "MAX_FOUND_BYTES", "MAX_SEARCHED_BYTES", "MAX_SEARCHED_FILES"])
def test_larger_searches_are_left_to_spark(both: Both, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    both.spark("CREATE TABLE t AS SELECT id, id % 3 AS part FROM range(20000)")
    monkeypatch.setattr(local, limit, 0)
    reader = both.session.catalog.reader()
    table = reader.find("main", "t")
    assert isinstance(table, Table)
    assert rows_with_keys(reader.scan_plan(table), {"part": pa.array([1])}) is None
    both.spark("MERGE INTO t USING (SELECT 1L AS part) s ON t.part = s.part WHEN MATCHED THEN DELETE")
    assert both.rows("SELECT part, count(*) FROM t GROUP BY part") == [(0, 6667), (2, 6666)]


def test_pairs_are_counted_before_they_are_made(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_match, "MAX_PAIRS", 8)
    both.spark("CREATE TABLE t AS SELECT id, id % 2 AS part FROM range(6)")
    merge = "MERGE INTO t USING (SELECT explode(array({})) AS part) s ON t.part = s.part WHEN MATCHED THEN DELETE"
    counted: list[int] = []
    count = local_match._number_of_pairs
    monkeypatch.setattr(local_match, "_number_of_pairs", lambda *given: (counted.append(count(*given)), counted[-1])[1])
    both.spark(merge.format("1L, 1L, 1L, 5L"))
    both.spark(merge.format("0L, 0L"))
    assert counted == [9]
    assert both.rows("SELECT count(*) FROM t") == [(0,)]


COPIES = [
    ("t.id = s.id", "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"),
    ("(s.at = t.at) AND `T`.`name` = S.name", "WHEN MATCHED THEN UPDATE SET price = s . price WHEN NOT MATCHED THEN INSERT *"),
    ("t.id = s.id AND t.name = s.name", "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"),
    ("t.id = s.id", "WHEN MATCHED THEN UPDATE SET name = s.same WHEN NOT MATCHED THEN INSERT (name, id) VALUES (s.same, s.id)"),
    ("t.id = s.id", "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"),
    ("t.id = s.id", "WHEN MATCHED THEN DELETE"),
]
"""Merges that only copy columns, so that Spark does not see the pairs."""
MERGES = [
    (
        "T.ID = `S`.`id` AND t.at <= s.at",
        "WHEN MATCHED AND t.price < s.price THEN UPDATE SET price = t.price + s.price, name = upper(s.name)",
    ),
    (
        "t.price = s.price",
        "WHEN MATCHED THEN UPDATE SET price = s.price + 1 WHEN NOT MATCHED AND s.id > 12 THEN INSERT (id) VALUES (s.id)",
    ),
    ("t.id = s.id", "WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.same)"),
    ("t.id = s.id", "WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED AND s.id > 12 THEN INSERT (name) VALUES (s.name)"),
    ("t.id = s.id AND t.id > 4", "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"),
    ("t.id = s.id", "WHEN MATCHED AND s.id IN (SELECT max(id) FROM other) THEN DELETE"),
    ("t.id = s.id AND (NOT t.name <=> s.name OR t.id = 5)", "WHEN MATCHED AND s.id > 3 THEN UPDATE SET name = s.name"),
    ("t.id = s.id AND length(t.name) = 1", "WHEN MATCHED THEN UPDATE SET name = 'by a function'"),
    ("t.id = s.id", "WHEN MATCHED THEN UPDATE SET name = s.name || 1 WHEN NOT MATCHED THEN INSERT (name) VALUES (s.name || 1)"),
    ("s.at = t.at", "WHEN MATCHED AND t.name IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET name = concat(t.name, '$', s.name)"),
]


@pytest.mark.parametrize(("on", "clauses"), [*COPIES[:2], *nightly_rows(*COPIES[2:]), *MERGES[:2], *nightly_rows(*MERGES[2:])])
def test_a_merge_of_pairs_is_a_merge_with_a_join(both: Both, monkeypatch: pytest.MonkeyPatch, on: str, clauses: str) -> None:
    ways: list[str] = []
    for name in ("copied_pairs", "local_pairs"):
        real = getattr(local_match, name)
        monkeypatch.setattr(
            small_merge, name, lambda *given, name=name, real=real: (found := real(*given)) and (ways.append(name), found)[1]
        )
    columns = "CAST({id} AS BIGINT) AS id, {name} AS name, CAST({id} AS DECIMAL(9, 2)) / 3 AS price, timestamp_seconds({id} * 60) AS at"
    rows = columns.format(id="IF(n % 7 = 6, NULL, n)", name="IF(n % 5 = 0, NULL, string(n))")
    if "other" in clauses:
        both.spark("CREATE TABLE other AS SELECT CAST(7 AS BIGINT) AS id")
    both.spark(f"CREATE TABLE first AS SELECT {rows} FROM range(10) AS r(n)")
    both.spark("DELETE FROM first WHERE id = 3")

    def play(table: str) -> list[Any]:
        both.spark(f"CALL ducklake_clone('lake', table_name => 'first', into => 'main.{table}')")
        source = rows.replace("/ 3", "/ 3 + 0") + ", upper(string(n)) || 'x' AS same"
        result = both.session.execute(f"MERGE INTO {table} t USING (SELECT {source} FROM range(2, 16) AS r(n)) s ON {on} {clauses}")
        return [result.rowcount, both.rows(f"SELECT * FROM {table}")]

    copied = play("copied")
    assert ("copied_pairs" in ways) is ((on, clauses) in COPIES)
    with monkeypatch.context() as patch:
        patch.setattr(local, "MAX_FILES", -1)  # as if the table were large: its rows are found by their keys
        assert play("searched") == copied
    monkeypatch.setattr(small_merge, "kept_columns", lambda *_: None)
    pairs = play("pairs")
    assert "local_pairs" in ways or (on, clauses) not in COPIES
    monkeypatch.setattr(small_merge, "_local_pairs", lambda *_: None)
    assert copied == pairs == play("joined")


def test_a_random_condition_is_refused_as_in_a_join(both: Both) -> None:
    both.spark("CREATE TABLE t AS SELECT id FROM range(10)")
    with pytest.raises(StatementError, match="deterministic"):
        both.spark("MERGE INTO t USING (SELECT id FROM range(5)) s ON t.id = s.id AND rand() > 0.5 WHEN MATCHED THEN DELETE")


def test_a_small_merge_update_and_delete_need_few_jobs_and_read_no_file_in_spark(both: Both) -> None:
    both.spark("CREATE TABLE t AS SELECT id, string(id) AS name FROM range(100)")
    both.spark("CREATE TEMPORARY VIEW source AS SELECT id, 'new' AS name FROM range(95, 105)")
    store = both.session.spark()._jsc.sc().statusStore()

    def work(statement: str) -> tuple[int, int]:
        """Return the number of Spark jobs of a statement, and the bytes that they read."""
        before = {job.jobId() for job in _sequence(store.jobsList(None))}
        both.spark(statement)
        jobs = [job for job in _sequence(store.jobsList(None)) if job.jobId() not in before and job.numTasks()]
        stages = [store.lastStageAttempt(stage) for job in jobs for stage in _sequence(job.stageIds())]
        return len(jobs), sum(stage.inputBytes() for stage in stages)

    merge = "MERGE INTO t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    assert work(merge) == (1, 0)
    assert work("UPDATE t SET name = 'x' WHERE id < 5") == (1, 0)
    assert work("DELETE FROM t WHERE id >= 100") == (1, 0)
    assert both.rows("SELECT name, count(*) FROM t GROUP BY name HAVING count(*) > 1") == [("new", 5), ("x", 5)]


def _sequence(found: Any) -> list[Any]:
    return [found.apply(index) for index in range(found.size())]


def test_a_query_of_a_small_table_needs_no_scan_unless_it_names_files(both: Both) -> None:
    both.spark("CREATE TABLE t AS SELECT id, string(id) AS name FROM range(20)")
    both.spark("CREATE VIEW v AS SELECT * FROM t")

    def plan(query: str) -> str:
        ((text,),) = both.session.execute(f"EXPLAIN {query}").fetch()
        return str(text)

    assert "LocalTableScan" in plan("SELECT * FROM v WHERE id > 3")
    assert "FileScan" in plan("SELECT id, input_file_name() FROM t")
    both.spark("DELETE FROM t WHERE id = 7")
    assert both.rows("SELECT count(*), min(name) FROM v WHERE id > 5") == [(13, "10")]
    (names,) = set(both.session.execute("SELECT DISTINCT input_file_name() FROM v").fetch())
    assert names[0].endswith(".parquet"), "also when the function is outside of a view"
    both.spark("CREATE VIEW w AS SELECT id, input_file_name() AS file FROM v")
    found = both.session.execute("SELECT DISTINCT file FROM v JOIN w USING (id)").fetch()
    assert found == [names], "also when the statement reads the same view without its files"


@pytest.mark.parametrize("is_small", [True, False])
def test_an_unqualified_column_named_as_a_function_is_the_column(both: Both, monkeypatch: pytest.MonkeyPatch, is_small: bool) -> None:
    if not is_small:
        monkeypatch.setattr(small_merge, "_local_pairs", lambda *_: None)
    both.spark("CREATE TABLE t AS SELECT 1L AS id, 'old' AS owner, DATE'2020-01-01' AS day")
    both.spark(
        "MERGE INTO t USING (SELECT 1L AS id, 'alice' AS user, DATE'2021-01-01' AS current_date) s ON t.id = s.id "
        "WHEN MATCHED AND current_date < DATE'2022-01-01' THEN UPDATE SET owner = user, day = current_date"
    )
    assert both.rows("SELECT owner, day FROM t") == [("alice", dt.date(2021, 1, 1))]


@pytest.mark.parametrize("by_source", [True, False])
def test_a_merge_has_one_current_time(both: Both, by_source: bool) -> None:
    both.spark("CREATE TABLE t AS SELECT id, current_timestamp() AS loaded FROM range(3)")
    kept = "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET loaded = current_timestamp()" if by_source else ""
    both.spark(
        "MERGE INTO t USING (SELECT id FROM range(1, 5)) s ON t.id = s.id "
        "WHEN MATCHED AND s.id = 1 THEN UPDATE SET loaded = coalesce((SELECT max(loaded) FROM t WHERE id > 9), current_timestamp) "
        "WHEN MATCHED THEN UPDATE SET loaded = struct(now() AS current_date).current_date "
        f"WHEN NOT MATCHED THEN INSERT (id, loaded) VALUES (s.id, current_timestamp) {kept}"
    )
    assert both.rows("SELECT count(DISTINCT loaded), count(*) FROM t") == [(1 if by_source else 2, 5)]


def test_a_quoted_parameter_named_as_a_function_is_the_parameter(both: Both) -> None:
    both.spark("CREATE TABLE t AS SELECT id, array(id) AS a FROM range(4)")
    both.spark(
        "MERGE INTO t USING (SELECT id FROM range(4)) s ON t.id = s.id "
        "WHEN MATCHED AND exists(transform(t.a, x -> CAST(x AS STRING)), `localtime` -> CAST(localtime AS STRING) = '2') THEN DELETE"
    )
    assert both.rows("SELECT id FROM t ORDER BY id") == [(0,), (1,), (3,)]


def test_a_merge_has_one_current_time_in_functions_that_may_begin_a_query(both: Both) -> None:
    both.spark("CREATE TABLE t AS SELECT 0L AS id, current_timestamp() AS loaded")
    both.spark(
        "MERGE INTO t USING (SELECT id FROM range(2)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET loaded = element_at(map('a', current_timestamp), 'a') "
        "WHEN NOT MATCHED THEN INSERT (id, loaded) VALUES (s.id, current_timestamp)"
    )
    assert both.rows("SELECT count(DISTINCT loaded), count(*) FROM t") == [(1, 2)]


def test_an_expression_of_a_merge_has_one_current_time(both: Both) -> None:
    both.spark("CREATE TABLE t AS SELECT 0L AS id, 'old' AS name")
    both.spark(
        "MERGE INTO t USING (SELECT 0L AS id) s ON t.id = s.id "
        "WHEN MATCHED AND (SELECT current_timestamp) = current_timestamp AND now() = (SELECT current_timestamp) THEN UPDATE SET name = 'new'"
    )
    assert both.rows("SELECT name FROM t") == [("new",)]


def test_a_merge_of_many_pairs_fetches_bitmaps(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row of the target is in ten pairs: fetching them as rows would need memory for each pair."""
    both.spark("CREATE TABLE t AS SELECT id, 'x' AS name FROM range(20)")
    monkeypatch.setattr(positions, "MANY_ROWS", 50)
    monkeypatch.setattr(merge, "most_rows", lambda *_: 0)
    fetched: list[str] = []
    real = match.fetch_bitmaps
    monkeypatch.setattr(match, "fetch_bitmaps", lambda *given: (fetched.append("bitmaps"), real(*given))[1])
    result = both.session.execute("MERGE INTO t USING (SELECT id % 10 AS id FROM range(100)) s ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert (result.counts.deleted, fetched) == (10, ["bitmaps"])
    assert both.rows("SELECT count(*), min(id) FROM t") == [(10, 10)]


@pytest.mark.parametrize(("limit", "is_broadcast"), [(1000, False), (10_000, True)])
def test_a_source_of_long_strings_is_not_broadcast(both: Both, monkeypatch: pytest.MonkeyPatch, limit: int, is_broadcast: bool) -> None:
    monkeypatch.setattr(merge, "BROADCAST_BYTES", limit)
    monkeypatch.setattr(merge, "most_rows", lambda *_: 0)
    made: list[bool] = []
    real = merge.Match
    monkeypatch.setattr(merge, "Match", lambda *given, broadcast: (made.append(broadcast), real(*given, broadcast=broadcast))[1])
    both.spark("CREATE TABLE t (id BIGINT, name STRING)")
    both.spark("MERGE INTO t USING (SELECT id, repeat('x', 200) AS name FROM range(10)) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *")
    assert made == [is_broadcast]
    assert both.rows("SELECT count(*), max(length(name)) FROM t") == [(10, 200)]
