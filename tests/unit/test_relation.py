"""Relations as dbt names them."""

from __future__ import annotations

from datetime import date, datetime

import pytest
from dbt.adapters.base.relation import EventTimeFilter

from dbt.adapters.ducklake.relation import DuckLakeRelation


def relation(**parts: object) -> DuckLakeRelation:
    return DuckLakeRelation.create(**{"database": "lake", "schema": "main", "identifier": "Orders", "type": "table", **parts})


def test_three_parts_in_back_quotes() -> None:
    assert relation().render() == "`lake`.`main`.`Orders`"
    assert relation(identifier="a`b").render() == "`lake`.`main`.`a``b`"


def test_parts_can_be_left_unquoted() -> None:
    assert relation(quote_policy={"identifier": False}).render() == "`lake`.`main`.Orders"


def test_a_schema_is_two_parts() -> None:
    assert relation().without_identifier().render() == "`lake`.`main`"


def test_names_match_without_case() -> None:
    assert relation().matches(database="LAKE", schema="main", identifier="orders")
    assert not relation().matches(identifier="order")


def test_only_the_rendered_parts_are_its_name() -> None:
    temporary = relation().include(database=False, schema=False)

    assert temporary.name_parts == ("Orders",)
    assert temporary.is_temporary
    assert relation().name_parts == ("lake", "main", "Orders")
    assert not relation().is_temporary


def test_a_pin_is_rendered_wherever_the_relation_is() -> None:
    assert relation().at(3).render() == "`lake`.`main`.`Orders` version as of 3"
    assert str(relation(limit=0).at("3")) == "(select * from `lake`.`main`.`Orders` version as of 3 where false limit 0)"
    assert str(relation().at(timestamp=date(2026, 1, 31))) == "`lake`.`main`.`Orders` timestamp as of '2026-01-31 00:00:00+00:00'"
    assert relation().at(3).without_identifier().render() == "`lake`.`main`"
    assert relation().at(3).at(timestamp="2026-01-31 12:00:00+01:00").render().endswith("timestamp as of '2026-01-31 12:00:00+01:00'")
    assert relation().at(None, "None") == relation()
    sampled = relation(event_time_filter=EventTimeFilter("at", start=datetime(2026, 1, 31))).at(3)
    assert str(sampled) == "(select * from `lake`.`main`.`Orders` version as of 3 where at >= '2026-01-31 00:00:00')"


@pytest.mark.parametrize(
    ("pin", "message"),
    [((3, "2026-01-31"), "exclude each other"), (("three",), "number of a snapshot"), ((None, "x"), "must be a moment, such as")],
)
def test_what_is_no_pin_is_refused(pin: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        relation().at(*pin)


def test_tables_and_views_can_be_replaced_and_renamed() -> None:
    assert relation().can_be_replaced
    assert relation(type="view").can_be_renamed


def test_an_empty_relation_is_a_query_without_rows_and_without_alias() -> None:
    assert str(relation(limit=0)) == "(select * from `lake`.`main`.`Orders` where false limit 0)"
