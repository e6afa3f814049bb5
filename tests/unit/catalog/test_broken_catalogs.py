"""A sample of the broken cells of `tests/torture/broken_catalogs.py`, and what the errors say."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.errors import LakeError
from dbt.adapters.ducklake.format.objects import Table
from tests.broken_catalogs import BrokenLake, cases, make_lake

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


def test_a_reader_without_checks_names_the_row_that_made_it_fail(broken: sqlite3.Connection, lake: LakeCatalog) -> None:
    victim = lake.reader().find("main", "victim")
    assert isinstance(victim, Table)
    broken.execute("UPDATE ducklake_delete_file SET partial_max = 'many'")
    with pytest.raises(LakeError, match=r"ducklake_delete_file \(delete_file_id=\d+, .*partial_max = 'many', which must be a number"):
        lake.table_log(victim, lake.latest())
