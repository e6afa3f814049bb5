"""How much is read from a lake with many relations: names without definitions, requested definitions, and only changes after a change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.format.objects import Column
from tests.catalog_objects import COLUMNS, committed, table_of
from tests.places import USUAL_DATABASES, CatalogPlace, empty_place

MANY = 100


@pytest.fixture(params=USUAL_DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> CatalogPlace:
    return empty_place(request.param, request, tmp_path)


def make(transaction: Transaction, *names: str) -> None:
    schema = transaction.schema("main")
    assert schema is not None
    for name in names:
        transaction.objects.new_table(schema, name, COLUMNS, comment=f"about {name}")


@pytest.fixture
def place_with_many(place: CatalogPlace) -> CatalogPlace:
    with place.open() as lake:
        committed(lake, lambda transaction: make(transaction, *(f"t{number}" for number in range(MANY))))
    return place


@contextmanager
def recorded_queries() -> Iterator[list[tuple[str, int]]]:
    """Record the queries that are sent, each with the number of its parameters."""
    sent: list[tuple[str, int]] = []

    def record(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.startswith("SELECT"):
            sent.append((statement, len(parameters)))

    event.listen(Engine, "before_cursor_execute", record)
    try:
        yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", record)


def test_names_are_read_without_definitions(place_with_many: CatalogPlace) -> None:
    with place_with_many.open() as lake:
        reader = lake.reader()
        with recorded_queries() as sent:
            assert len(reader.names("main")) == MANY
        assert len(sent) <= 6
        assert not any("ducklake_column_tag" in statement or "max(" in statement for statement, _ in sent)


def test_only_requested_definitions_are_read(place_with_many: CatalogPlace) -> None:
    with place_with_many.open() as lake:
        reader = lake.reader()
        names = reader.names()
        for number in (1, 3, 25):
            asked = names[number : 2 * number]
            with recorded_queries() as sent:
                found = reader.named(asked)
            assert [table.comment for table in found] == [f"about {name.name}" for name in asked]
            assert len(sent) <= 7, "the number of queries does not depend on the number of definitions"
            assert max(parameters for _, parameters in sent) <= number + 2
        with recorded_queries() as sent:
            assert len(reader.relations()) == MANY
        assert max(parameters for _, parameters in sent) <= 2, "all definitions are read without a list of ids"


def test_after_a_change_only_the_change_is_read(place_with_many: CatalogPlace) -> None:
    with place_with_many.open() as lake:
        lake.reader().relations()
        for change in (
            lambda t: make(t, "one_more"),
            lambda t: t.objects.put_table(replace(table_of(t, "t7"), comment="another")),
            lambda t: t.objects.put_table(replace(table_of(t, "t8"), columns=(*COLUMNS, Column(3, "c", "int64")), next_column_id=4)),
            lambda t: t.objects.put_table(replace(table_of(t, "t9"), name="renamed")),
            lambda t: t.objects.drop_table(table_of(t, "t10")),
            lambda t: t.objects.new_view(t.schema("main"), "t10", "SELECT 1 AS one"),
        ):
            committed(lake, change)
            with recorded_queries() as sent:
                found = lake.reader().relations()
            assert all(parameters < 10 for _, parameters in sent)
            assert not any(
                statement.startswith("SELECT DISTINCT") and "begin_snapshot >" not in statement and " IN (" not in statement
                for statement, _ in sent
            ), "columns of other tables are not read"
            with place_with_many.open() as fresh:
                assert found == fresh.reader().relations()


def test_a_new_schema_is_visible(place_with_many: CatalogPlace) -> None:
    with place_with_many.open() as lake:
        lake.reader().relations()
        committed(lake, lambda transaction: transaction.objects.new_schema("other"))
        committed(lake, lambda transaction: transaction.objects.new_table(transaction.schema("other"), "t", COLUMNS))
        assert table_of(lake.reader(), "t", "other").columns == COLUMNS
        assert len(lake.reader().names()) == MANY + 1
