"""`information_schema` reads the catalog at the snapshot that the statement sees."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import NotFoundError, StatementError
from dbt.adapters.ducklake.session import LakeSession
from tests.catalog_objects import committed


@pytest.fixture
def shop(lake: LakeSession) -> LakeSession:
    """A lake with an additional schema, a table and a view of it."""
    lake.execute("CREATE SCHEMA shop")
    lake.execute(
        "CREATE TABLE shop.orders (id INT NOT NULL, price DECIMAL(10,2) DEFAULT 1.5 COMMENT 'it''s \"net\" \\\\ here', kind STRING)"
    )
    lake.execute("CREATE VIEW shop.cheap AS SELECT id, price FROM shop.orders WHERE price < 2")
    return lake


def test_tables_are_listed_with_their_kind(shop: LakeSession) -> None:
    query = (
        "SELECT table_catalog, table_name, table_type FROM information_schema.tables WHERE table_schema ILIKE 'SHOP' ORDER BY table_name"
    )
    assert shop.execute(query).fetch() == [("lake", "cheap", "VIEW"), ("lake", "orders", "BASE TABLE")]


def test_columns_have_types_defaults_and_comments(shop: LakeSession) -> None:
    query = (
        "SELECT c.column_name, c.ordinal_position, c.is_nullable, c.data_type, c.numeric_scale, c.column_default, c.column_comment "
        "FROM lake.INFORMATION_SCHEMA.columns AS c WHERE c.table_name = 'orders' ORDER BY 2"
    )
    assert shop.execute(query).fetch() == [
        ("id", 1, "NO", "int", None, None, None),
        ("price", 2, "YES", "decimal(10,2)", 2, "1.5", 'it\'s "net" \\ here'),
        ("kind", 3, "YES", "string", None, None, None),
    ]
    assert shop.execute("SELECT count(*) FROM information_schema.columns WHERE table_name = 'cheap'").fetch() == [(2,)]


def test_schemata_and_view_texts(shop: LakeSession) -> None:
    assert shop.execute("SELECT schema_name FROM information_schema.schemata ORDER BY 1").fetch() == [("main",), ("shop",)]
    [(text,)] = shop.execute("SELECT view_definition FROM information_schema.views").fetch()
    assert text == "SELECT id, price FROM `lake`.`shop`.`orders` WHERE price < 2"


def test_a_transaction_sees_what_it_has_staged(shop: LakeSession) -> None:
    shop.begin()
    shop.execute("DROP VIEW shop.cheap")
    assert shop.execute("SELECT table_name FROM information_schema.tables").fetch() == [("orders",)]
    shop.rollback()
    assert shop.execute("SELECT count(*) FROM information_schema.tables").fetch() == [(2,)]
    assert shop.execute("SELECT count(*) FROM information_schema.tables VERSION AS OF 1").fetch() == [(0,)]


def test_a_schema_of_that_name_in_the_lake_takes_precedence(lake: LakeSession) -> None:
    committed(lake.lake.catalog, lambda transaction: transaction.objects.new_schema("information_schema"))  # SQL cannot create it
    with pytest.raises(NotFoundError):
        lake.execute("SELECT * FROM information_schema.tables")


@pytest.mark.parametrize("statement", ["CREATE SCHEMA information_schema", "CREATE TABLE information_schema.t (a INT)"])
def test_it_cannot_be_created(lake: LakeSession, statement: str) -> None:
    with pytest.raises(StatementError, match="schema information_schema describes the lake and cannot be created"):
        lake.execute(statement)
