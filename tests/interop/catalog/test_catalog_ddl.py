"""The same statements through DuckDB and through our transactions leave the same rows in the catalog."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.format.objects import Column, Default, PartitionField, Partitioning, SortField
from tests.catalog_objects import table_of, view_of
from tests.interop import oracle
from tests.interop.catalog.conftest import rows_of
from tests.interop.parquet_files import write_deletes, write_file
from tests.places import REFERENCE_DATABASES, CatalogPlace, empty_place, nightly

COMPARED = {
    "snapshot": "snapshot_id, schema_version, next_catalog_id, next_file_id",
    "snapshot_changes": "*",
    "schema": "schema_id, begin_snapshot, end_snapshot, schema_name, path, path_is_relative",
    "table": "table_id, begin_snapshot, end_snapshot, schema_id, table_name, path, path_is_relative",
    "column": "*",
    "column_tag": "*",
    "tag": "*",
    "view": "view_id, begin_snapshot, end_snapshot, schema_id, view_name, dialect, sql, column_aliases",
    "partition_info": "*",
    "partition_column": "*",
    "sort_info": "*",
    "sort_expression": "*",
    "schema_versions": "*",
    "data_file": "data_file_id, table_id, begin_snapshot, end_snapshot, file_order, path_is_relative, file_format, record_count, row_id_start, partition_id, mapping_id, partial_max",
    "delete_file": "delete_file_id, table_id, begin_snapshot, end_snapshot, data_file_id, path_is_relative, format, delete_count, partial_max",
    "file_column_stats": "data_file_id, table_id, column_id, value_count, null_count, min_value, max_value, contains_nan",
    "table_stats": "table_id, record_count, next_row_id",
    "table_column_stats": "table_id, column_id, contains_null, min_value, max_value",
    "file_partition_value": "*",
    "files_scheduled_for_deletion": "data_file_id, path_is_relative",
    "inlined_data_tables": "table_id, schema_version",
}  # fmt: skip

GUARDED = re.compile(
    r"(?:inserted_into_table:(?P<before>\d+),)?(deleted_from_table:(?P<table>\d+))(?:,inserted_into_table:(?P<after>\d+))?"
)


def without_guard(text: str) -> str:
    """Return a log of changes without the guard of a delete, see `format.changes`.

    DuckDB on PostgreSQL logs an insert too, of a delete that replaces a delete file.
    """
    found = GUARDED.fullmatch(text)
    return found[2] if found and {found["before"], found["after"]} <= {None, found["table"]} else text


Step = tuple[str, Callable[[Transaction], Any]]
Script = list[Step]


@dataclass
class Twins:
    """Two lakes of the same kind: DuckDB changes one, we change the other."""

    ours: LakeCatalog
    duckdb_on_ours: duckdb.DuckDBPyConnection
    theirs: duckdb.DuckDBPyConnection
    retyped: bool = False

    def limit_inlining(self, limit: int) -> None:
        """Store the limit in both lakes, unless it is DuckDB's default."""
        for side in (self.duckdb_on_ours, self.theirs) if limit != 10 else ():
            side.execute(f"CALL ducklake_set_option('lake', 'data_inlining_row_limit', {limit})")

    def run(self, script: Script) -> None:
        for statement, work in script:
            self.theirs.execute(statement)
            transaction = self.ours.begin()
            work(transaction)
            assert transaction.commit() is not None
            self.compare(statement)

    def compare(self, step: str) -> None:
        self.retyped = self.retyped or "SET DATA TYPE" in step
        # All tables of one side before those of the other: of a DuckDB file, each change of the side attaches the lake again.
        ours, theirs = self.tables(self.duckdb_on_ours), self.tables(self.theirs)
        for side in (ours, theirs):
            side["snapshot_changes"] = [(row[0], without_guard(row[1]), *row[2:]) for row in side["snapshot_changes"]]
        for table in COMPARED:
            assert ours[table] == theirs[table], f"ducklake_{table} after {step}"

    def tables(self, side: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[Any, ...]]]:
        """Return the compared rows of each table."""
        found = {}
        for table, columns in COMPARED.items():
            if table == "snapshot" and self.retyped:
                # We increment the counter of files, so that other DuckDB connections drop cached statistics of the old type. DuckDB does
                # not.
                columns = columns.removesuffix(", next_file_id")
            found[table] = rows_of(side, f"SELECT {columns} FROM {{meta}}.ducklake_{table} ORDER BY ALL")
        return found


@pytest.fixture(params=REFERENCE_DATABASES)
def twins(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Twins]:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    ours = empty_place(request.param, request, tmp_path / "a")
    theirs = empty_place(request.param, request, tmp_path / "b") if request.param != "postgres" else second_database(ours, tmp_path)
    duck = oracle.connect(theirs)
    duck.execute("USE lake")
    with ours.open() as lake:
        eyes = oracle.connect(ours)
        yield Twins(lake, eyes, duck)
        eyes.close()
    duck.close()


def second_database(place: CatalogPlace, tmp_path: Path) -> CatalogPlace:
    return replace(place, data_path=f"{tmp_path}/b/files/", metadata_schema="twin")


def columns(*added: Column) -> tuple[Column, ...]:
    return (Column(1, "a", "int32", nullable=False), Column(2, "b", "varchar"), *added)


def new_table(*added: Column, **more: Any) -> Callable[[Transaction], Any]:
    return lambda tx: tx.objects.new_table(tx.schema("main"), "t", columns(*added), **more)  # type: ignore[arg-type]


def altered(change: Callable[[Any], Any]) -> Callable[[Transaction], Any]:
    return lambda tx: tx.objects.put_table(change(table_of(tx)))


def added(column: Column) -> Callable[[Transaction], Any]:
    return altered(lambda t: replace(t, columns=(*t.columns, column), next_column_id=column.column_id + 1))


def changed(column: str, **more: Any) -> Callable[[Transaction], Any]:
    return altered(lambda t: replace(t, columns=tuple(replace(c, **more) if c.name == column else c for c in t.columns)))


def inserted(*rows: dict[str, Any]) -> Callable[[Transaction], Any]:
    return lambda tx: tx.rows.add_files(table_of(tx), [write_file(table_of(tx), rows)])


def deleted(*positions: int, ids: list[int] | None = None) -> Callable[[Transaction], Any]:
    def work(tx: Transaction) -> None:
        table = table_of(tx)
        file = tx.scan_plan(table).files[0]
        tx.rows.delete_rows(table, delete_files=[write_deletes(table, file.data_file_id, file.path, positions, ids)])

    return work


def ended(tx: Transaction) -> None:
    table = table_of(tx)
    tx.rows.delete_rows(table, ended_files=[file.data_file_id for file in tx.scan_plan(table).files])


@pytest.mark.parametrize("limit", [10, *nightly(0)])
def test_tables_and_their_columns(twins: Twins, limit: int) -> None:
    twins.limit_inlining(limit)
    struct = Column(3, "s", "struct", (Column(4, "x", "int32"), Column(5, "l", "list", (Column(6, "element", "varchar"),))))
    mapped = Column(7, "m", "map", (Column(8, "key", "varchar"), Column(9, "value", "int32")))
    amount = Column(10, "d", "decimal(10,2)", initial_default="1.50", default=Default("1.5"))
    script: Script = [
        ("CREATE TABLE t(a INTEGER NOT NULL, b VARCHAR, s STRUCT(x INTEGER, l VARCHAR[]), m MAP(VARCHAR, INTEGER), d DECIMAL(10,2) DEFAULT 1.5)", new_table(struct, mapped, amount)),
        ("ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 5", added(Column(11, "c", "int32", initial_default="5", default=Default("5")))),
        ("ALTER TABLE t RENAME COLUMN b TO bb", changed("b", name="bb")),
        ("ALTER TABLE t ALTER c SET DATA TYPE BIGINT", changed("c", type="int64")),
        ("ALTER TABLE t ALTER a DROP NOT NULL", changed("a", nullable=True)),
        ("ALTER TABLE t ALTER c SET DEFAULT 7", changed("c", default=Default("7"))),
        ("ALTER TABLE t ALTER c DROP DEFAULT", changed("c", default=None)),
        ("ALTER TABLE t DROP COLUMN s", altered(lambda t: replace(t, columns=tuple(c for c in t.columns if c.name != "s")))),
        ("ALTER TABLE t RENAME TO t2", altered(lambda t: replace(t, name="t2"))),
        ("DROP TABLE t2", lambda tx: tx.objects.drop_table(table_of(tx, "t2"))),
    ]  # fmt: skip
    twins.run(script)


@pytest.mark.parametrize("limit", [0, *nightly(10)])
def test_comments_layout_schemas_and_views(twins: Twins, limit: int) -> None:
    twins.limit_inlining(limit)
    script: Script = [
        ("CREATE TABLE t(a INTEGER NOT NULL, b VARCHAR)", new_table()),
        ("COMMENT ON TABLE t IS 'it''s'", altered(lambda t: replace(t, comment="it's"))),
        ("COMMENT ON COLUMN t.a IS 'key'", changed("a", comment="key")),
        ("COMMENT ON COLUMN t.a IS NULL", changed("a", comment=None)),
        ("COMMENT ON TABLE t IS NULL", altered(lambda t: replace(t, comment=None))),
        ("ALTER TABLE t SET PARTITIONED BY (b, a)", altered(lambda t: replace(t, partitioning=Partitioning(0, (PartitionField(2), PartitionField(1)))))),
        ("ALTER TABLE t RESET PARTITIONED BY", altered(lambda t: replace(t, partitioning=None))),
        ("ALTER TABLE t SET SORTED BY (a DESC, b)", altered(lambda t: replace(t, sorting=(SortField("a", "DESC"), SortField("b"))))),
        ("ALTER TABLE t RESET SORTED BY", altered(lambda t: replace(t, sorting=()))),
        ("CREATE SCHEMA other", lambda tx: tx.objects.new_schema("other")),
        ("CREATE TABLE other.u(a INTEGER NOT NULL, b VARCHAR)", lambda tx: tx.objects.new_table(tx.schema("other"), "u", columns())),  # type: ignore[arg-type]
        ('CREATE VIEW v("x", "y z") AS SELECT a, b FROM lake.main.t', lambda tx: tx.objects.new_view(tx.schema("main"), "v", "SELECT a, b FROM {DUCKLAKE_CATALOG}.main.t", column_aliases=["x", "y z"])),  # type: ignore[arg-type]
        ("COMMENT ON VIEW v IS 'seen'", lambda tx: tx.objects.put_view(replace(view_of(tx, "v"), comment="seen"))),
        ("DROP VIEW v", lambda tx: tx.objects.drop_view(view_of(tx, "v"))),
        ("DROP TABLE other.u", lambda tx: tx.objects.drop_table(table_of_other(tx))),
        ("DROP SCHEMA other", lambda tx: tx.objects.drop_schema(tx.schema("other"))),  # type: ignore[arg-type]
    ]  # fmt: skip
    twins.run(script)


def table_of_other(tx: Transaction) -> Any:
    return tx.find("other", "u")


def test_rows_and_statistics(twins: Twins) -> None:
    twins.limit_inlining(0)
    script: Script = [
        ("CREATE TABLE t(a INTEGER NOT NULL, b VARCHAR)", new_table()),
        ("INSERT INTO t SELECT i, 'n' || i FROM range(10) r(i)", inserted(*({"a": i, "b": f"n{i}"} for i in range(10)))),
        ("INSERT INTO t VALUES (-5, NULL), (20, 'z')", inserted({"a": -5, "b": None}, {"a": 20, "b": "z"})),
        ("DELETE FROM t WHERE a IN (1, 2)", deleted(1, 2)),
        ("DELETE FROM t WHERE a = 3", deleted(1, 2, 3, ids=[4, 4, 5])),
        ("DELETE FROM t", ended),
    ]
    twins.run(script)
