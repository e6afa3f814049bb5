"""A sample of the broken cells of `tests/torture/broken_catalogs.py`, and what the errors say."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.errors import LakeError
from dbt.adapters.ducklake.format.objects import Table
from dbt.adapters.ducklake.lake.cleanup import cleanup_old_files
from dbt.adapters.ducklake.lake.context import Context
from dbt.adapters.ducklake.lake.history import details
from dbt.adapters.ducklake.lake.listing import table_info
from dbt.adapters.ducklake.lake.options import options
from dbt.adapters.ducklake.lake.orphans import delete_orphaned_files
from dbt.adapters.ducklake.report.gather import gather
from tests.broken_catalogs import BrokenLake, cases, make_lake, no_spark
from tests.catalog_objects import table_of

EVERY = 45


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_lake(tmp_path_factory.mktemp("good"))


@pytest.fixture
def broken(good: Path, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a copy of the good catalog, which `reader` then opens."""
    (tmp_path / "lake.sqlite").write_bytes(good.read_bytes())
    with closing(sqlite3.connect(tmp_path / "lake.sqlite", isolation_level=None)) as connection:
        yield connection


@pytest.fixture
def lake(broken: sqlite3.Connection, tmp_path: Path) -> Iterator[LakeCatalog]:  # noqa: ARG001 (writes the catalog)
    with LakeCatalog.open(CatalogSettings(f"ducklake:sqlite:{tmp_path}/lake.sqlite")) as opened:
        yield opened


def test_a_sample_of_broken_cells(good: Path, tmp_path: Path) -> None:
    lake = BrokenLake(good, tmp_path)
    for case in list(cases(good))[::EVERY]:
        assert lake.wrongs(case) == [], str(case)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "ducklake_column SET column_name = NULL WHERE column_name = 'day'",
            r"ducklake_column \(column_id=\d+, table_id=\d+\) has column_name = NULL",
        ),
        (
            "ducklake_column SET parent_column = 99 WHERE column_name = 'l'",
            r"ducklake_column .*has a parent_column that is not a column of the table",
        ),
        (
            "ducklake_column SET nulls_allowed = 'maybe' WHERE column_name = 'day'",
            r"nulls_allowed = 'maybe', which must be true or false, or NULL",
        ),
        ("ducklake_tag SET key = NULL WHERE value = 'breaks'", r"ducklake_tag \(object_id=\d+\) has key = NULL, which must be text"),
        (
            "ducklake_sort_expression SET sort_direction = 'UP'",
            "ducklake_sort_expression .*sort_direction = 'UP', which must be ASC or DESC",
        ),
    ],
)
def test_a_damaged_definition_is_named_and_the_others_are_listed(
    broken: sqlite3.Connection, lake: LakeCatalog, change: str, message: str
) -> None:
    broken.execute(f"UPDATE {change}")
    reader = lake.reader()
    assert "other" in {relation.name for relation in reader.relations("main")}
    assert {"other", "victim"} <= {name.name for name in reader.names("main")}
    assert "victim" not in {relation.name for relation in reader.relations("main")}
    with pytest.raises(LakeError, match=message):
        reader.find("main", "victim")


def test_a_damaged_schema_is_not_created_again(broken: sqlite3.Connection, lake: LakeCatalog) -> None:
    broken.execute("UPDATE ducklake_schema SET path_is_relative = 'perhaps' WHERE schema_name = 'side'")
    with pytest.raises(LakeError, match=r"ducklake_schema .*path_is_relative = 'perhaps'"):
        lake.begin().objects.new_schema("Side")
    assert [schema.name for schema in lake.reader().schemas()] == ["main"]


@pytest.mark.parametrize("change", ["partial_max = 'many'", "begin_snapshot = NULL"])
def test_a_reader_without_checks_names_the_row_that_made_it_fail(broken: sqlite3.Connection, lake: LakeCatalog, change: str) -> None:
    victim = lake.reader().find("main", "victim")
    assert isinstance(victim, Table)
    broken.execute(f"UPDATE ducklake_delete_file SET {change}")
    with pytest.raises(LakeError, match=rf"ducklake_delete_file \(delete_file_id=\d+, .*{change}, which must be a number"):
        lake.table_log(victim, lake.latest())


@pytest.mark.parametrize("path", [None, "", ".", "..", "p/", "p/.", "p/..", "a\0b.parquet"])
@pytest.mark.parametrize("table", ["ducklake_data_file", "ducklake_delete_file"])
def test_removals_and_readers_name_the_row_of_a_file_without_a_path(
    broken: sqlite3.Connection, lake: LakeCatalog, table: str, path: str | None
) -> None:
    broken.execute(f"UPDATE {table} SET path = ?", (path,))
    context = Context(lake, lake.begin(), no_spark)
    shown = "NULL" if path is None else re.escape(repr(path))
    message = rf"{table} \({table[9:]}_id=\d+.*\) has path = {shown}, which must be the path of a file"
    for removal in (cleanup_old_files, delete_orphaned_files):
        with pytest.raises(LakeError, match=message):
            removal(context, older_than=None, dry_run=True)
    with pytest.raises(LakeError, match=message):
        lake.reader().scan_plan(table_of(lake.reader(), "victim"))


def test_a_removal_names_the_scheduled_row_that_is_damaged(broken: sqlite3.Connection, lake: LakeCatalog) -> None:
    broken.execute("UPDATE ducklake_files_scheduled_for_deletion SET path = NULL")
    context = Context(lake, lake.begin(), no_spark)
    for removal in (cleanup_old_files, delete_orphaned_files):
        with pytest.raises(LakeError, match=r"ducklake_files_scheduled_for_deletion \(data_file_id=\d+.*\) has path = NULL"):
            removal(context, older_than=None, dry_run=True)


@pytest.mark.parametrize("table", ["ducklake_data_file", "ducklake_delete_file"])
@pytest.mark.parametrize("column", ["path", "file_size_bytes"])
def test_a_change_feed_and_a_flush_name_the_row_of_a_file(broken: sqlite3.Connection, lake: LakeCatalog, table: str, column: str) -> None:
    reader = lake.reader()
    victim = table_of(reader, "victim")
    assert reader.change_plan(victim, 1).inserted.files
    assert reader.rows_to_end(victim).inlined_deletes
    broken.execute(f"UPDATE {table} SET {column} = NULL")
    message = rf"{table} \({table[9:]}_id=\d+.*\) has {column} = NULL, which must be"
    with pytest.raises(LakeError, match=message):
        reader.change_plan(victim, 1)
    if column == "path":
        with pytest.raises(LakeError, match=message):
            reader.rows_to_end(victim)


@pytest.mark.parametrize("table", ["ducklake_data_file", "ducklake_delete_file"])
@pytest.mark.parametrize("change", ["encryption_key = 'hunter2', path = NULL", "encryption_key = CAST('hunter2' AS BLOB)"])
def test_the_error_of_a_damaged_row_does_not_show_its_key(broken: sqlite3.Connection, lake: LakeCatalog, table: str, change: str) -> None:
    broken.execute(f"UPDATE {table} SET {change}")
    with pytest.raises(LakeError, match=f"{table} .* has (path = NULL|encryption_key = )") as raised:
        lake.reader().scan_plan(table_of(lake.reader(), "victim"))
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("path", ["", "main/", "main/..", "main/a\0b.parquet"])
def test_a_scheduled_path_that_no_file_can_have_stops_no_removal(broken: sqlite3.Connection, lake: LakeCatalog, path: str) -> None:
    broken.execute("INSERT INTO ducklake_files_scheduled_for_deletion VALUES (99, ?, 1, '2020-01-01 00:00:00+00')", (path,))
    context = Context(lake, lake.begin(), no_spark)
    reasons = [each.kept_because for each in cleanup_old_files(context, older_than=None, dry_run=True)]
    assert reasons == ["a path cannot contain a NUL character" if "\0" in path else "the path does not end in a file name", None]
    assert delete_orphaned_files(context, older_than=None, dry_run=True) == []


@pytest.mark.parametrize(
    "change",
    [
        "ducklake_metadata SET scope_id = 'wrong' WHERE value = 'zstd'",
        "ducklake_column SET column_type = NULL WHERE column_name = 'day'",
    ],
)
def test_the_options_are_listed_if_that_of_one_table_is_damaged(broken: sqlite3.Connection, lake: LakeCatalog, change: str) -> None:
    broken.execute(f"UPDATE {change}")
    found = {option.value: option.entry for option in options(Context(lake, lake.begin(), no_spark)) if option.scope == "TABLE"}
    assert found == {"gzip": "main.other", "zstd": None if "scope_id" in change else "main.victim"}


def test_the_sizes_of_tables_are_listed_without_one_whose_inlined_rows_are_not_found(broken: sqlite3.Connection, lake: LakeCatalog) -> None:
    victim = table_of(lake.reader(), "victim")
    condition = f"WHERE table_id = {victim.table_id}"
    broken.execute(f"UPDATE ducklake_inlined_data_tables SET schema_version = 'late' {condition}")
    assert [row[0] for row in table_info(Context(lake, lake.begin(), no_spark))] == ["other", "third"]
    assert [each.name for each in gather(lake, "lake").tables] == ["main.other", "side.third"]
    with pytest.raises(LakeError, match=r"ducklake_inlined_data_tables \(table_id=\d+, .*schema_version = 'late', which must be a number"):
        details(Context(lake, lake.begin(), no_spark), "lake", victim)
