"""Relations as dbt names them."""

from __future__ import annotations

from datetime import date, datetime
from types import SimpleNamespace

import pytest
from dbt.adapters.base.relation import EventTimeFilter
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.ducklake.relation import DuckLakeRelation


def relation(**parts: object) -> DuckLakeRelation:
    return DuckLakeRelation.create(**{"database": "lake", "schema": "main", "identifier": "Orders", "type": "table", **parts})


def test_three_parts_in_back_quotes() -> None:
    assert relation().render() == "`lake`.`main`.`Orders`"
    assert relation(identifier="a`b").render() == "`lake`.`main`.`a``b`"


def test_parts_can_be_unquoted() -> None:
    assert relation(quote_policy={"identifier": False}).render() == "`lake`.`main`.Orders"


def test_a_schema_is_two_parts() -> None:
    assert relation().without_identifier().render() == "`lake`.`main`"


def test_without_a_schema_the_identifier_stands_alone() -> None:
    for each in (relation(schema=None), relation().incorporate(path={"schema": None}), relation().include(schema=False)):
        assert each.render() == "`Orders`"
        assert each.name_parts == ("Orders",)
        assert each.has_one_part
    assert relation(schema=None).incorporate(path={"schema": "main"}).render() == "`lake`.`main`.`Orders`"


def test_names_match_without_case() -> None:
    assert relation().matches(database="LAKE", schema="main", identifier="orders")
    assert not relation().matches(identifier="order")


def test_the_name_contains_only_the_rendered_parts() -> None:
    temporary = relation().include(database=False, schema=False)

    assert temporary.name_parts == ("Orders",)
    assert temporary.has_one_part
    assert relation().name_parts == ("lake", "main", "Orders")
    assert not relation().has_one_part


def test_a_pin_is_part_of_every_rendering() -> None:
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
    [((3, "2026-01-31"), "cannot be used together"), (("three",), "number of a snapshot"), ((None, "x"), "must be a timestamp, such as")],
)
def test_an_invalid_pin_is_refused(pin: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        relation().at(*pin)


def test_tables_and_views_can_be_replaced_and_renamed() -> None:
    assert relation().can_be_replaced
    assert relation(type="view").can_be_renamed


def test_an_empty_relation_is_a_query_without_rows_and_without_alias() -> None:
    assert str(relation(limit=0)) == "(select * from `lake`.`main`.`Orders` where false limit 0)"


def source(meta: dict[str, object] | None = None, **config: object) -> DuckLakeRelation:
    described = SimpleNamespace(
        resource_type="source", name="orders", identifier="Orders", schema="raw", database="lake", tags=["t"], meta=meta or {},
        config=SimpleNamespace(extra=config), quoting_dict={}, catalog_name=None,
    )  # fmt: skip
    return DuckLakeRelation.create_from(SimpleNamespace(quoting={}), described)  # type: ignore[arg-type]


def test_a_source_of_files_is_rendered_as_files() -> None:
    files = source(external_location="/data/{schema}/{name}.parquet")
    assert files.render() == "parquet.`/data/raw/orders.parquet`"
    assert str(files.replace(limit=0)) == "(select * from parquet.`/data/raw/orders.parquet` where false limit 0)"
    assert files.without_identifier().render() == "`lake`.`raw`"
    assert source({"external_location": "/data/{identifier}_{part}.json", "part": 3}).render().startswith("json.`/data/Orders_3.json` with")


def test_the_configs_of_a_table_override_the_meta_of_its_source() -> None:
    assert source({"snapshot_version": 3}, snapshot_version=5).render().endswith(" version as of 5")
    assert source({"external_location": "/all.parquet"}, external_location="/own.parquet").render() == "parquet.`/own.parquet`"
    assert source({"snapshot_version": 3}, snapshot_version="none").render().endswith(" version as of 3"), "it pins nothing"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"external_location": "/a.parquet", "snapshot_version": 3}, "source raw.Orders: files have no snapshots"),
        (
            {"external_location": "/{nme}.parquet"},
            r"KeyError: 'nme'\); the names are: database, external_location, identifier, name, schema",
        ),
        ({"external_location": "/a.parquet", "formatter": "other"}, "newstyle, oldstyle or template"),
        ({"external_location": "read_csv('/a.csv')"}, "is DuckDB's SQL"),
    ],
)
def test_a_source_that_cannot_be_read_is_refused(config: dict[str, object], message: str) -> None:
    with pytest.raises(DbtRuntimeError, match=message):
        source(**config)


def test_files_have_no_snapshots() -> None:
    with pytest.raises(ValueError, match="has no snapshots"):
        source(external_location="/a.parquet").at(3)
