"""Transactions: which of their own changes they see, and which rows a commit leaves in the catalog."""

from __future__ import annotations

import random
import string
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import make_url

from dbt.adapters.ducklake.catalog.commit import commit
from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.errors import EngineError, LakeError, NotFoundError, StatementError
from dbt.adapters.ducklake.format.files import ColumnFilter, ColumnStats, WrittenDeleteFile
from dbt.adapters.ducklake.format.objects import Column, Default, PartitionField, Partitioning, SortField
from dbt.adapters.ducklake.format.row_statistics import stats_of_rows
from tests.catalog_objects import COLUMNS, committed, table_of, view_of
from tests.places import USUAL_DATABASES
from tests.unit.catalog.conftest import change, create, file_of, insert, metadata


def log(lake: LakeCatalog) -> str | None:
    return lake.snapshots(limit=1)[0].changes_made


def counters(lake: LakeCatalog) -> tuple[int, int, int, int]:
    latest = lake.latest()
    return latest.snapshot_id, latest.schema_version, latest.next_catalog_id, latest.next_file_id


def delete_of(data_file_id: int, path: str, count: int, low: int | None = None, high: int | None = None) -> WrittenDeleteFile:
    return WrittenDeleteFile(data_file_id, path, count, 500, 200, low, high)


def test_a_commit_without_staged_changes_creates_no_snapshot(lake: LakeCatalog) -> None:
    table = create(lake)
    before = counters(lake)
    transaction = lake.begin()
    transaction.objects.put_table(table)
    transaction.objects.put_schema(transaction.schema("main"))  # type: ignore[arg-type]
    transaction.rows.truncate(table, has_rows=transaction.rows_to_end(table).exist)
    transaction.rows.depends_on_rows(table)
    transaction.set_commit_message("me", "nothing")
    assert not transaction.has_changes
    assert transaction.commit() is None
    assert counters(lake) == before


def test_only_the_transaction_sees_its_own_changes(lake: LakeCatalog) -> None:
    create(lake)
    transaction = lake.begin()
    table = table_of(transaction)
    transaction.objects.put_table(replace(table, name="renamed", comment="c"))
    transaction.objects.new_view(transaction.schema("main"), "v", "SELECT 1")  # type: ignore[arg-type]
    schema = transaction.objects.new_schema("other")
    transaction.objects.new_table(schema, "u", COLUMNS)
    assert [r.name for r in transaction.relations()] == ["renamed", "v", "u"]
    assert [r.name for r in transaction.relations("OTHER")] == ["u"]
    assert transaction.find("main", "t") is None
    assert transaction.by_id(table.table_id).comment == "c"  # type: ignore[union-attr]
    assert [s.name for s in transaction.schemas()] == ["main", "other"]
    assert [r.name for r in lake.reader().relations()] == ["t"]
    transaction.rollback()
    assert [r.name for r in lake.reader().relations()] == ["t"]


def test_a_name_is_free_after_its_relation_is_dropped(lake: LakeCatalog) -> None:
    create(lake)
    transaction = lake.begin()
    main = transaction.schema("main")
    assert main is not None
    with pytest.raises(StatementError, match="already exists"):
        transaction.objects.new_view(main, "T", "SELECT 1")
    transaction.objects.drop_table(table_of(transaction))
    view = transaction.objects.new_view(main, "T", "SELECT 1")
    transaction.objects.drop_view(view)
    transaction.objects.new_table(main, "t", COLUMNS)
    transaction.commit()
    assert table_of(lake.reader()).table_id == 2
    assert log(lake) == 'dropped_table:1,created_table:"main"."t"'


def test_a_schema_with_relations_is_not_dropped(lake: LakeCatalog) -> None:
    committed(lake, lambda tx: tx.objects.new_table(tx.objects.new_schema("s"), "t", COLUMNS))
    transaction = lake.begin()
    schema = transaction.schema("s")
    assert schema is not None
    with pytest.raises(StatementError, match="not empty"):
        transaction.objects.drop_schema(schema)
    transaction.objects.drop_table(table_of(transaction, "t", "s"))
    transaction.objects.drop_schema(schema)
    assert transaction.objects.new_schema("s").schema_id < 0
    transaction.commit()
    assert log(lake) == 'dropped_schema:1,dropped_table:2,created_schema:"s"'
    with pytest.raises(StatementError, match="cannot be renamed"):
        lake.begin().objects.put_schema(replace(lake.reader().schema("s"), name="r"))  # type: ignore[type-var]


def test_returning_to_a_savepoint_discards_later_changes(lake: LakeCatalog) -> None:
    create(lake)
    transaction = lake.begin()
    table = table_of(transaction)
    first, second = file_of(table), file_of(table)
    transaction.rows.add_files(table, [first])
    savepoint = transaction.savepoint()
    transaction.rows.add_files(table, [second])
    transaction.objects.drop_table(table)
    transaction.restore(savepoint)
    assert [file.path for file in transaction.scan_plan(table).files] == [first.path]
    transaction.commit()
    assert transaction.abandoned_files() == [second.path]


def test_files_of_a_transaction_that_does_not_commit_are_abandoned(lake: LakeCatalog) -> None:
    create(lake)
    transaction = lake.begin()
    file = file_of(table_of(transaction))
    transaction.rows.add_files(table_of(transaction), [file, replace(file_of(table_of(transaction)), record_count=0)])
    transaction.rollback()
    assert len(transaction.abandoned_files()) == 2
    with pytest.raises(StatementError, match="over"):
        transaction.rows.truncate(table_of(lake.reader()))
    with pytest.raises(StatementError, match="over"):
        transaction.commit()


def test_counters_are_incremented_as_duckdbs_caches_require(lake: LakeCatalog) -> None:
    table = create(lake)
    assert counters(lake) == (1, 1, 2, 0)
    insert(lake, file_of(table), file_of(table))
    assert counters(lake) == (2, 1, 2, 2)
    committed(lake, lambda tx: tx.objects.put_table(replace(table_of(tx), comment="c")))
    assert counters(lake) == (3, 2, 2, 2)
    committed(lake, lambda tx: tx.objects.put_table(replace(table_of(tx), partitioning=Partitioning(0, (PartitionField(1),)))))
    assert counters(lake) == (4, 3, 3, 2)
    committed(lake, lambda tx: tx.objects.put_table(replace(table_of(tx), sorting=(SortField("a"),))))
    assert counters(lake) == (5, 4, 4, 2)
    file_id = lake.reader().scan_plan(table).files[0].data_file_id
    committed(lake, lambda tx: tx.rows.delete_rows(table, delete_files=[delete_of(file_id, table.path + "d.parquet", 1)]))
    assert counters(lake) == (6, 4, 4, 3)
    committed(lake, lambda tx: tx.rows.truncate(table))
    assert counters(lake) == (7, 4, 4, 3)
    assert metadata(lake, "SELECT * FROM ducklake_schema_versions ORDER BY 2") == [(1, 1, 1), (4, 3, 1)]


def test_row_ids_continue_and_counts_are_gross(lake: LakeCatalog) -> None:
    table = create(lake)
    insert(lake, file_of(table, 0, 9), file_of(table, 10, 14, rows=5))
    insert(lake, file_of(table, -3, 2, embedded=True))
    starts = metadata(lake, "SELECT row_id_start, record_count FROM ducklake_data_file ORDER BY data_file_id")
    assert starts == [(0, 10), (10, 5), (15, 10)]
    assert metadata(lake, "SELECT * FROM ducklake_table_stats") == [(1, 25, 25, 3000)]
    committed(lake, lambda tx: tx.rows.truncate(table))
    assert metadata(lake, "SELECT * FROM ducklake_table_stats") == [(1, 25, 25, 3000)]
    bounds = metadata(lake, "SELECT column_id, min_value, max_value FROM ducklake_table_column_stats ORDER BY 1")
    assert bounds == [(1, "-3", "14"), (2, "x", "y")]


def test_bounds_that_are_not_certain_are_not_stored(lake: LakeCatalog) -> None:
    table = create(lake)

    def bounds() -> dict[int, tuple[Any, ...]]:
        rows = metadata(lake, "SELECT column_id, contains_null, min_value, max_value FROM ducklake_table_column_stats")
        return {row[0]: (bool(row[1]), *row[2:]) for row in rows}

    insert(lake, file_of(table, stats=(ColumnStats(1, 5, 0, 10), ColumnStats(2, 5, 10, 0, None, None))))
    assert bounds() == {1: (True, None, None)}  # no value yet, and a text without an upper bound
    insert(lake, file_of(table, 5, 6))
    assert bounds() == {}  # NULL bounds no longer mean "no value yet"
    added = Column(3, "c", "int64", initial_default="7", default=Default("7"))

    def add_column_and_rows(transaction: Any) -> None:
        altered = replace(table_of(transaction), columns=(*COLUMNS, added), next_column_id=4)
        transaction.objects.put_table(altered)
        transaction.rows.add_files(altered, [file_of(altered, stats=(ColumnStats(3, 5, 9, 1, "10", "12"),))])

    committed(lake, add_column_and_rows)
    assert bounds() == {}  # DuckDB stores none for a column that older files do not have

    def replace_all(transaction: Any) -> None:
        transaction.rows.truncate(table_of(transaction))
        new = replace(added, column_id=4, name="d")
        altered = replace(table_of(transaction), columns=(*COLUMNS, added, new), next_column_id=5)
        transaction.objects.put_table(altered)
        transaction.rows.add_files(altered, [file_of(altered, stats=(ColumnStats(4, 5, 10, 0, "10", "12"),))])

    committed(lake, replace_all)
    assert bounds() == {4: (False, "10", "12")}
    insert(lake, file_of(table, stats=()))
    assert bounds() == {}


@pytest.mark.parametrize("kind", ["int128", "uint128", "timetz", "interval", "time_ns", "blob"])
def test_a_type_of_which_duckdb_uses_no_bounds_has_a_row(lake: LakeCatalog, kind: str) -> None:
    table = create(lake, columns=(Column(1, "a", kind),))
    query = "SELECT contains_null, min_value, max_value FROM ducklake_table_column_stats"

    insert(lake, file_of(table, stats=(ColumnStats(1, 5, 10, 0),)))
    assert [(bool(row[0]), *row[1:]) for row in metadata(lake, query)] == [(False, None, None)]
    insert(lake, file_of(table, stats=(ColumnStats(1, 5, 9, 1),)))
    assert [(bool(row[0]), *row[1:]) for row in metadata(lake, query)] == [(True, None, None)]
    insert(lake, file_of(table, stats=()))
    assert metadata(lake, query) == []


def test_rounded_bounds_are_those_of_the_file_only(lake: LakeCatalog) -> None:
    table = create(lake, columns=(Column(1, "a", "timestamp"),))
    bounds = ("2020-01-01 00:00:00.000001", "2020-01-01 00:00:00.000002")
    insert(lake, file_of(table, stats=(ColumnStats(1, 5, 10, 0, *bounds, is_rounded=True),)))
    assert metadata(lake, "SELECT min_value, max_value FROM ducklake_file_column_stats") == [bounds]
    assert metadata(lake, "SELECT * FROM ducklake_table_column_stats") == []


def test_the_bounds_of_staged_rows_are_those_of_the_rows_that_stay(lake: LakeCatalog) -> None:
    table = create(lake, columns=(Column(1, "a", "int32"),))
    rows = [(1,), (2,), (1000,), (None,)]

    def insert_and_delete(transaction: Any) -> None:
        transaction.rows.add_inlined(table, rows, stats_of_rows(table.columns, rows))
        name = transaction.staged.rows[table.table_id].inlined[0].name
        transaction.rows.delete_rows(table, inlined={name: [2, 3]})

    committed(lake, insert_and_delete)
    query = "SELECT contains_null, min_value, max_value FROM ducklake_table_column_stats"
    assert [(bool(row[0]), *row[1:]) for row in metadata(lake, query)] == [(False, "1", "2")]


def test_a_changed_column_ends_its_row_and_begins_another_with_the_same_id(lake: LakeCatalog) -> None:
    create(lake, columns=(*COLUMNS, Column(3, "s", "struct", (Column(4, "x", "int32"),))))

    def alter(change: Any) -> None:
        committed(lake, lambda tx: tx.objects.put_table(change(table_of(tx))))

    def rows() -> list[tuple[Any, ...]]:
        return metadata(
            lake,
            "SELECT column_id, begin_snapshot, column_order, column_name, column_type, default_value, default_value_type, parent_column "
            "FROM ducklake_column WHERE end_snapshot IS NULL ORDER BY column_order",
        )

    original = rows()
    assert original[2] == (3, 1, 3, "s", "struct", "NULL", "", None)
    assert original[3] == (4, 1, 4, "x", "int32", "NULL", "literal", 3)
    alter(lambda t: replace(t, columns=(replace(t.columns[0], type="int64"), *t.columns[1:])))
    assert rows() == [(1, 2, 1, "a", "int64", "NULL", "literal", None), *original[1:]]
    alter(lambda t: replace(t, columns=(t.columns[1], t.columns[0], t.columns[2])))
    assert {row[0]: row[2] for row in rows()} == {2: 2, 1: 3, 3: 4, 4: 4}  # only siblings are compared
    assert [c.name for c in table_of(lake.reader()).columns] == ["b", "a", "s"]
    alter(lambda t: replace(t, columns=t.columns[:2]))
    assert [row[0] for row in rows()] == [2, 1]
    alter(lambda t: replace(t, columns=(*t.columns, Column(t.next_column_id, "s", "varchar")), next_column_id=t.next_column_id + 1))
    assert table_of(lake.reader()).columns[-1].column_id == 5
    assert log(lake) == "altered_table:1"


def test_changed_comments_and_tags_end_their_row_and_begin_another(lake: LakeCatalog) -> None:
    columns = (replace(COLUMNS[0], comment="key"), COLUMNS[1])
    create(lake, columns=columns, comment="one", tags={"dbt_ducklake.x": "1"})

    def change(**more: Any) -> None:
        committed(lake, lambda tx: tx.objects.put_table(replace(table_of(tx), **more)))

    change(comment="two", tags={"dbt_ducklake.y": "2"})
    assert (table_of(lake.reader()).comment, table_of(lake.reader()).tags) == ("two", {"dbt_ducklake.y": "2"})
    change(comment=None, tags={}, columns=COLUMNS)
    table = table_of(lake.reader())
    assert (table.comment, table.tags, table.columns[0].comment) == (None, {}, None)
    tags = metadata(lake, 'SELECT "key", value FROM ducklake_tag WHERE end_snapshot IS NULL')
    assert tags == [("comment", None)]
    assert metadata(lake, 'SELECT "key", value FROM ducklake_column_tag WHERE end_snapshot IS NULL') == [("comment", None)]
    earlier = table_of(lake.reader(lake.resolve(version=1)))
    assert (earlier.comment, earlier.columns[0].comment, earlier.tags) == ("one", "key", {"dbt_ducklake.x": "1"})


def test_a_rename_keeps_id_uuid_and_path(lake: LakeCatalog) -> None:
    before = create(lake)
    committed(lake, lambda tx: tx.objects.put_table(replace(table_of(tx), name="Renamed")))
    after = table_of(lake.reader(), "renamed")
    assert after == replace(before, name="Renamed")
    assert log(lake) == 'created_table:"main"."Renamed"'
    committed(lake, lambda tx: tx.objects.put_table(replace(table_of(tx, "renamed"), name="RENAMED", comment="c")))
    assert log(lake) == 'created_table:"main"."RENAMED",altered_table:1'


def test_a_replaced_view_keeps_its_id(lake: LakeCatalog) -> None:
    committed(lake, lambda tx: tx.objects.new_view(tx.schema("main"), "v", "SELECT 1", column_aliases=["a", 'b"c'], comment="c"))
    view = view_of(lake.reader(), "v")
    assert (view.column_aliases, view.comment, view.view_id) == (("a", 'b"c'), "c", 1)
    committed(lake, lambda tx: tx.objects.put_view(replace(view_of(tx, "v"), sql="SELECT 2", column_aliases=())))
    assert log(lake) == "altered_view:1"
    assert view_of(lake.reader(), "v").sql == "SELECT 2"
    assert view_of(lake.reader(lake.resolve(version=1)), "v").sql == "SELECT 1"
    committed(lake, lambda tx: tx.objects.put_view(replace(view_of(tx, "v"), comment="d")))
    assert len(metadata(lake, "SELECT * FROM ducklake_view")) == 2
    assert metadata(lake, "SELECT column_aliases FROM ducklake_view WHERE end_snapshot IS NULL") == [("",)]
    committed(lake, lambda tx: tx.objects.drop_view(view_of(tx, "v")))
    assert lake.reader().find("main", "v") is None
    assert metadata(lake, "SELECT count(*) FROM ducklake_tag WHERE end_snapshot IS NULL") == [(0,)]


def test_a_dropped_table_ends_in_all_metadata_tables(lake: LakeCatalog) -> None:
    table = create(
        lake, columns=(replace(COLUMNS[0], comment="c"),), comment="c", partitioning=(PartitionField(1),), sorting=(SortField("a"),)
    )
    insert(lake, file_of(table, partition_values=("1",)))
    file_id = lake.reader().scan_plan(table).files[0].data_file_id
    committed(lake, lambda tx: tx.rows.delete_rows(table, delete_files=[delete_of(file_id, table.path + "d.parquet", 1)]))
    committed(lake, lambda tx: tx.objects.drop_table(table_of(tx)))
    for name in ("table", "column", "column_tag", "tag", "data_file", "delete_file", "partition_info", "sort_info"):
        assert metadata(lake, f"SELECT end_snapshot FROM ducklake_{name}") == [(4,)], name


def test_partition_values_belong_to_the_spec_of_their_time(lake: LakeCatalog) -> None:
    create(lake, partitioning=(PartitionField(1), PartitionField(2)))

    def work(transaction: Any) -> None:
        table = table_of(transaction)
        transaction.rows.add_files(table, [file_of(table, partition_values=("1", None))])
        transaction.objects.put_table(replace(table, partitioning=Partitioning(99, (PartitionField(2),))))
        transaction.rows.add_files(table, [file_of(table, partition_values=("x",)), file_of(table)])

    committed(lake, work)
    assert metadata(lake, "SELECT partition_id FROM ducklake_data_file ORDER BY data_file_id") == [(2,), (3,), (None,)]
    values = metadata(lake, "SELECT data_file_id, partition_key_index, partition_value FROM ducklake_file_partition_value ORDER BY 1, 2")
    assert values == [(0, 0, "1"), (0, 1, None), (1, 0, "x")]
    assert table_of(lake.reader()).partitioning == Partitioning(3, (PartitionField(2),))
    committed(lake, lambda tx: tx.objects.put_table(replace(table_of(tx), partitioning=None)))
    assert table_of(lake.reader()).partitioning is None
    assert metadata(lake, "SELECT partition_id FROM ducklake_partition_info WHERE end_snapshot IS NULL") == [(4,)]


def test_equal_partitioning_changes_nothing(lake: LakeCatalog) -> None:
    table = create(lake, partitioning=(PartitionField(1),))
    transaction = lake.begin()
    transaction.objects.put_table(replace(table, partitioning=Partitioning(-5, (PartitionField(1),))))
    assert not transaction.has_changes


def test_a_second_delete_file_replaces_the_first(lake: LakeCatalog) -> None:
    table = create(lake)
    insert(lake, file_of(table))
    file = lake.reader().scan_plan(table).files[0]
    committed(lake, lambda tx: tx.rows.delete_rows(table, delete_files=[delete_of(file.data_file_id, table.path + "d1.parquet", 2)]))
    first = lake.reader().scan_plan(table).files[0].delete_file
    assert first is not None
    assert (first.begin_snapshot, first.snapshot_limit, first.delete_count) == (3, 3, 2)
    with pytest.raises(LakeError, match="snapshot ids"):
        committed(lake, lambda tx: tx.rows.delete_rows(table, delete_files=[delete_of(file.data_file_id, table.path + "d2.parquet", 3)]))
    committed(lake, lambda tx: tx.rows.delete_rows(table, delete_files=[delete_of(file.data_file_id, table.path + "d2.parquet", 3, 3, 4)]))
    rows = metadata(lake, "SELECT delete_file_id, begin_snapshot, end_snapshot, path, delete_count, partial_max FROM ducklake_delete_file")
    assert rows == [(2, 3, None, "d2.parquet", 3, 4)]
    scheduled = metadata(lake, "SELECT data_file_id, path, path_is_relative FROM ducklake_files_scheduled_for_deletion")
    assert scheduled == [(1, "main/t/d1.parquet", 1)]
    earlier = lake.reader(lake.resolve(version=3)).scan_plan(table).files[0].delete_file
    assert earlier is not None
    assert (earlier.path, earlier.snapshot_limit) == (table.path + "d2.parquet", 3)


def test_delete_files_that_ended_in_an_older_format_remain_for_the_snapshots_that_read_them(lake: LakeCatalog) -> None:
    table = create(lake)
    insert(lake, file_of(table))
    file = lake.reader().scan_plan(table).files[0]
    committed(lake, lambda tx: tx.rows.delete_rows(table, delete_files=[delete_of(file.data_file_id, table.path + "d1.parquet", 2)]))
    committed(lake, lambda tx: tx.objects.new_schema("other"))
    # as format 0.3 did it: d2 follows at snapshot 4, and d1 ends at that snapshot
    change(lake, "UPDATE ducklake_delete_file SET end_snapshot = 4")
    change(
        lake,
        "INSERT INTO ducklake_delete_file (delete_file_id, table_id, begin_snapshot, data_file_id, path, path_is_relative, format, delete_count,"
        " file_size_bytes, footer_size) SELECT 2, table_id, 4, data_file_id, 'd2.parquet', path_is_relative, format, 3, 1, 1 FROM ducklake_delete_file",
    )
    change(lake, "UPDATE ducklake_snapshot SET next_file_id = 3")
    committed(lake, lambda tx: tx.rows.delete_rows(table, delete_files=[delete_of(file.data_file_id, table.path + "d3.parquet", 4, 4, 5)]))
    rows = metadata(lake, "SELECT begin_snapshot, end_snapshot, path FROM ducklake_delete_file ORDER BY begin_snapshot")
    assert rows == [(3, 4, "d1.parquet"), (4, None, "d3.parquet")]
    assert metadata(lake, "SELECT data_file_id FROM ducklake_files_scheduled_for_deletion") == [(2,)]
    at_three = lake.reader(lake.resolve(version=3)).scan_plan(table).files[0].delete_file
    assert at_three is not None
    assert at_three.path == table.path + "d1.parquet"


def test_a_delete_file_replaced_in_the_same_transaction_counts_from_the_commit(lake: LakeCatalog) -> None:
    table = create(lake)
    insert(lake, file_of(table))
    transaction = lake.begin()
    file = transaction.scan_plan(table).files[0]
    transaction.rows.delete_rows(table, delete_files=[delete_of(file.data_file_id, table.path + "d1.parquet", 1)])
    staged = transaction.scan_plan(table).files[0].delete_file
    assert staged is not None
    assert (staged.begin_snapshot, staged.delete_file_id < 0) == (3, True)
    transaction.rows.delete_rows(table, delete_files=[delete_of(file.data_file_id, table.path + "d2.parquet", 2, 3, 3)])
    transaction.commit()
    assert metadata(lake, "SELECT begin_snapshot, path, partial_max FROM ducklake_delete_file") == [(3, "d2.parquet", None)]
    assert transaction.abandoned_files() == [table.path + "d1.parquet"]


def test_files_are_pruned_by_their_statistics(lake: LakeCatalog) -> None:
    table = create(lake)
    unknown = file_of(table, stats=())
    insert(lake, file_of(table, 0, 9), file_of(table, 10, 19), unknown, file_of(table, 20, 29))
    plan = lake.reader().scan_plan(table, [ColumnFilter.between(1, "12", "15"), ColumnFilter.between(99, "1", "2")])
    assert [file.data_file_id for file in plan.files] == [1, 2]
    assert plan.pruned_files == 2
    assert len(lake.reader().scan_plan(table, [ColumnFilter.between(1, None, None)]).files) == 4
    transaction = lake.begin()
    transaction.rows.add_files(table, [file_of(table, 100, 200)])
    assert [file.data_file_id for file in transaction.scan_plan(table, [ColumnFilter.between(1, "0", "0")]).files] == [0, 2, -1]


def test_ambiguous_column_names_are_listed(lake: LakeCatalog) -> None:
    nested = Column(3, "s", "struct", (Column(4, "x", "int32"), Column(5, "y", "int32")))
    table = create(lake, columns=(*COLUMNS, nested))
    assert lake.reader().scan_plan(table).reused_names == frozenset()
    committed(lake, lambda tx: tx.objects.put_table(replace(table, columns=(COLUMNS[0], nested))))
    committed(
        lake,
        lambda tx: tx.objects.put_table(replace(table_of(tx), columns=(COLUMNS[0], nested, Column(6, "B", "int64")), next_column_id=7)),
    )
    plan = lake.reader().scan_plan(table_of(lake.reader()))
    assert plan.reused_names == {(None, "b")}
    transaction = lake.begin()
    renamed = replace(nested, children=(replace(nested.children[0], name="z", type="int64"), nested.children[1]))
    transaction.objects.put_table(replace(table_of(transaction), columns=(COLUMNS[0], renamed)))
    plan = transaction.scan_plan(table_of(transaction))
    assert plan.reused_names == {(None, "b"), (3, "z")}
    assert plan.retyped == {4}


def test_a_commit_message_is_stored_and_can_be_required(lake: LakeCatalog) -> None:
    def work(name: str, *message: str | None) -> None:
        transaction = lake.begin()
        transaction.objects.new_schema(name)
        if message:
            transaction.set_commit_message(*message)  # type: ignore[arg-type]
        transaction.commit()

    work("a", "me", "first 'words'", '{"x": 1}')
    record = lake.snapshots(limit=1)[0]
    assert (record.author, record.message, record.extra_info) == ("me", "first 'words'", '{"x": 1}')
    change(lake, "INSERT INTO ducklake_metadata VALUES ('require_commit_message', 'true', NULL, NULL)")
    with pytest.raises(StatementError, match="set_commit_message"):
        work("b")
    work("b", None, None)
    assert lake.reader().schema("b") is not None


def test_snapshots_are_found_by_version_and_timestamp(lake: LakeCatalog) -> None:
    create(lake)
    first, second = lake.snapshots()
    assert lake.resolve(version=0) == first.snapshot
    assert lake.resolve(timestamp=second.snapshot.time) == second.snapshot
    assert lake.resolve(timestamp=second.snapshot.time.replace(tzinfo=None)) == second.snapshot
    assert lake.resolve() == second.snapshot
    with pytest.raises(NotFoundError, match="snapshots from 0 to 1"):
        lake.resolve(version=7)
    with pytest.raises(NotFoundError, match="later"):
        lake.resolve(timestamp=first.snapshot.time.replace(year=2000))
    assert [record.snapshot.snapshot_id for record in lake.snapshots(after=0, until=1)] == [1]


def test_live_tables_without_columns_are_ignored(sqlite_lake: LakeCatalog) -> None:
    import sqlite3

    create(sqlite_lake)
    with sqlite3.connect(str(sqlite_lake.location.file)) as connection:
        connection.execute("UPDATE ducklake_column SET end_snapshot = 1")
    with LakeCatalog.open(CatalogSettings(str(sqlite_lake.location.file))) as again:
        assert again.reader().relations() == []
        assert again.reader().find("main", "t") is None


def test_files_are_kept_if_the_outcome_of_the_commit_is_unknown(lake: LakeCatalog) -> None:
    from sqlalchemy import event
    from sqlalchemy.exc import OperationalError

    table = create(lake)
    transaction = lake.begin()
    transaction.rows.add_files(table, [file_of(table)])

    def fail(_connection: Any) -> None:
        raise OperationalError("COMMIT", {}, Exception("server closed the connection unexpectedly"))

    engine = lake._database._engine
    event.listen(engine, "commit", fail)
    with pytest.raises(EngineError, match="not known whether the snapshot exists"):
        transaction.commit()
    event.remove(engine, "commit", fail)
    assert transaction.abandoned_files() == []
    insert(lake, file_of(table))


def test_files_are_kept_if_the_process_is_interrupted_after_the_commit(lake: LakeCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    table, transaction, commit_once = create(lake), lake.begin(), commit._commit_once
    transaction.rows.add_files(table, [file_of(table)])

    def interrupted(*arguments: Any) -> None:
        commit_once(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(commit, "_commit_once", interrupted)
    with pytest.raises(KeyboardInterrupt):
        transaction.commit()
    assert lake.latest().snapshot_id == 2
    assert transaction.abandoned_files() == []


def test_an_error_of_the_database_shows_no_values(lake: LakeCatalog) -> None:
    table, transaction = create(lake), lake.begin()
    transaction.rows.add_files(table, [replace(file_of(table), encryption_key="a-key-of-a-file")])
    change(lake, "ALTER TABLE ducklake_data_file RENAME COLUMN encryption_key TO gone")
    with pytest.raises(EngineError, match="encryption_key") as caught:
        transaction.commit()
    assert "a-key-of-a-file" not in "".join(traceback.format_exception(caught.value))  # dbt logs the whole chain


def test_a_failure_before_the_commit_leaves_the_lake_unchanged_and_names_the_files(lake: LakeCatalog) -> None:
    table = create(lake)
    transaction = lake.begin()
    transaction.rows.add_files(table, [file_of(table)])
    change(lake, "ALTER TABLE ducklake_file_column_stats RENAME TO gone")
    with pytest.raises(EngineError, match="ducklake_file_column_stats"):
        transaction.commit()
    change(lake, "ALTER TABLE gone RENAME TO ducklake_file_column_stats")
    assert len(transaction.abandoned_files()) == 1
    assert lake.latest().snapshot_id == 1
    assert metadata(lake, "SELECT count(*) FROM ducklake_data_file") == [(0,)]


def test_listings_read_no_definitions(lake: LakeCatalog) -> None:
    create(lake)
    committed(lake, lambda tx: tx.objects.new_view(tx.objects.new_schema("a"), "v", "SELECT 1"))
    assert [(n.schema_name, n.name, n.is_table) for n in lake.reader().names()] == [("a", "v", False), ("main", "t", True)]
    transaction = lake.begin()
    transaction.objects.drop_view(view_of(transaction, "v", "a"))
    transaction.objects.put_table(replace(table_of(transaction), name="u"))
    assert [(n.relation_id, n.name) for n in transaction.names("MAIN")] == [(1, "u")]
    assert transaction.names("a") == []


def test_write_options_come_from_the_narrowest_scope(lake: LakeCatalog) -> None:
    table = create(lake)
    assert lake.begin().write_options(table).compression == "snappy"
    change(lake, "INSERT INTO ducklake_metadata VALUES ('parquet_compression', 'zstd', 'schema', 0)")
    assert lake.begin().write_options(table).compression == "zstd"
    assert lake.option("parquet_compression") == "snappy"


def columns_of(names: Iterable[str], kind: str = "int32") -> tuple[Column, ...]:
    return tuple(Column(number, name, kind) for number, name in enumerate(names, 1))


def numbered(count: int) -> Iterator[str]:
    return (f"c{number}" for number in range(count))


BIG = b"\0" * 9_000_000


@pytest.mark.parametrize(
    ("columns", "value", "refused_by"),
    [
        pytest.param(columns_of(numbered(1997)), 1, {"postgresql", "mysql"}, id="1997 columns"),
        pytest.param(columns_of(numbered(1998)), 1, {"postgresql", "mysql", "sqlite"}, id="1998 columns"),
        pytest.param(columns_of(numbered(980), "int64"), 10**15, set(), id="980 numbers"),
        pytest.param(columns_of(numbered(1500), "int64"), 10**15, {"postgresql", "mysql"}, id="1500 numbers"),
        pytest.param(columns_of(numbered(190), "varchar"), None, set(), id="190 strings"),
        pytest.param(columns_of(numbered(320), "varchar"), None, {"mysql"}, id="320 strings"),
        pytest.param(columns_of(numbered(500), "varchar"), None, {"postgresql", "mysql"}, id="500 strings"),
        pytest.param(columns_of(["ctid"]), 1, {"postgresql"}, id="system column"),
        pytest.param(columns_of(["Xmin", "b"]), 1, {"postgresql"}, id="system column in upper case"),
        pytest.param(columns_of(["oid", "rowid"]), 1, set(), id="former system column"),
        pytest.param(columns_of(["DB_ROW_ID"]), 1, {"mysql"}, id="column of InnoDB"),
        pytest.param(columns_of(["fts_doc_id"]), 1, {"mysql"}, id="column of InnoDB in lower case"),
        pytest.param(columns_of(["k", "\u212a"]), 1, {"mysql"}, id="Kelvin sign"),
        pytest.param(columns_of(["i", "\u0130"]), 1, {"mysql"}, id="dotted I"),
        pytest.param(columns_of(["row_\u0130d"]), 1, {"mysql"}, id="column of inlined data tables"),
        pytest.param(columns_of(["a "]), 1, {"mysql"}, id="space at the end"),
        pytest.param(columns_of(["\U0001f600"]), 1, {"mysql"}, id="emoji"),
        pytest.param(columns_of(["a"], "blob"), BIG, {"mysql"}, id="large blob"),
    ],
)
def test_rows_that_the_database_cannot_store_are_not_inlined(
    lake: LakeCatalog, columns: tuple[Column, ...], value: Any, refused_by: set[str]
) -> None:
    table = create(lake, columns=columns)
    rng = random.Random(1)
    # Strings that are as long as the longest that no database stores outside the row's page, and that cannot be compressed.
    lengths = {"postgresql": 23, "mysql": 40}
    database = make_url(lake.location.url).get_backend_name()
    row = tuple("".join(rng.choices(string.ascii_letters, k=lengths.get(database, 30))) if value is None else value for _ in columns)
    assert lake.can_inline(columns, [row]) is (database not in refused_by)
    is_slow = database == "duckdb" and len(columns) > 100  # a DuckDB file has no limit
    if database not in refused_by and not is_slow:
        committed(lake, lambda tx: tx.rows.add_inlined(table, [row], tuple(ColumnStats(each.column_id) for each in columns)))
        (inlined,) = lake.reader().scan_plan(table_of(lake.reader())).inlined
        assert inlined.rows == (row,)


@pytest.mark.parametrize("name", ["xmin", "DB_ROW_ID", "a ", "row_id"])
def test_a_column_with_inlined_rows_can_get_a_name_that_the_database_cannot_store(lake: LakeCatalog, name: str) -> None:
    create(lake)
    stats = (ColumnStats(1), ColumnStats(2))
    committed(lake, lambda tx: tx.rows.add_inlined(table_of(tx), [(1, "x")], stats))

    def rename(tx: Transaction) -> None:
        table = table_of(tx)
        tx.objects.put_table(replace(table, columns=(replace(table.columns[0], name=name), *table.columns[1:])))

    committed(lake, rename)
    table = table_of(lake.reader())
    limit = lake.options().at("data_inlining_row_limit", "table", table.table_id)
    is_postgres = make_url(lake.location.url).get_backend_name() == "postgresql"
    assert limit == ("0" if name == "xmin" and is_postgres else None), "DuckDB would inline rows by position into the earlier columns"
    if lake.can_inline(table.columns):
        committed(lake, lambda tx: tx.rows.add_inlined(table_of(tx), [(2, "y")], stats))
    rows = [row for inlined in lake.reader().scan_plan(table).inlined for row in inlined.rows]
    assert rows == ([(1, "x"), (2, "y")] if lake.can_inline(table.columns) else [(1, "x")])


@pytest.mark.parametrize("place", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
def test_rows_of_a_transaction_that_then_makes_the_table_too_wide_are_refused(lake: LakeCatalog) -> None:
    table = create(lake, columns=columns_of(numbered(300), "varchar"))
    wide = tuple(replace(each, default=None, initial_default="x" * 23) for each in columns_of(numbered(500), "varchar"))

    def insert_and_widen(tx: Transaction) -> None:
        row = tuple("x" * 23 for _ in table.columns)
        tx.rows.add_inlined(table, [row], tuple(ColumnStats(each.column_id) for each in table.columns))
        tx.objects.put_table(replace(table, columns=wide, next_column_id=501))

    with pytest.raises(LakeError, match="commit before you alter the table"):
        committed(lake, insert_and_widen)


@pytest.mark.parametrize("place", [*USUAL_DATABASES, pytest.param("mysql", marks=pytest.mark.mysql)], indirect=True)
def test_a_wide_table_gets_an_inlined_data_table_for_duckdb_although_our_rows_are_not_inlined(lake: LakeCatalog) -> None:
    table = create(lake, columns=columns_of(numbered(500), "varchar"))
    committed(lake, lambda tx: tx.objects.put_table(replace(table, columns=table.columns[1:])))
    versions = [version for (version,) in metadata(lake, "SELECT schema_version FROM ducklake_inlined_data_tables")]
    assert sorted(versions) == ([] if lake.database_kind == "mysql" else [1, 2])


@pytest.mark.parametrize("place", [pytest.param("mysql", marks=pytest.mark.mysql)], indirect=True)
def test_an_alter_creates_no_inlined_data_table_where_duckdb_cannot_insert(lake: LakeCatalog) -> None:
    create(lake)
    committed(lake, lambda tx: tx.rows.add_inlined(table_of(tx), [(1, "x")], (ColumnStats(1), ColumnStats(2))))
    committed(lake, lambda tx: tx.objects.put_table(replace(table_of(tx), columns=table_of(tx).columns[1:])))
    assert metadata(lake, "SELECT count(*) FROM ducklake_inlined_data_tables") == [(1,)]
    committed(lake, lambda tx: tx.rows.add_inlined(table_of(tx), [("y",)], (ColumnStats(2),)))
    assert metadata(lake, "SELECT count(*) FROM ducklake_inlined_data_tables") == [(2,)]
    rows = [row for inlined in lake.reader().scan_plan(table_of(lake.reader())).inlined for row in inlined.rows]
    assert rows == [(1, "x"), ("y",)]
