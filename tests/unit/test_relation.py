"""Relations as dbt names them."""

from __future__ import annotations

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


def test_tables_and_views_can_be_replaced_and_renamed() -> None:
    assert relation().can_be_replaced
    assert relation(type="view").can_be_renamed


def test_an_empty_relation_is_a_query_without_rows_and_without_alias() -> None:
    assert str(relation(limit=0)) == "(select * from `lake`.`main`.`Orders` where false limit 0)"
