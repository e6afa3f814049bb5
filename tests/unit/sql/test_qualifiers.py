"""Dotted names of columns mean the same relation after binding as before: relations with the same last part are kept apart."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import StatementError
from dbt.adapters.ducklake.sql.references import references
from dbt.adapters.ducklake.sql.values import Name

TARGET = (Name(("prod", "orders")),)


def bound(text: str, outer: tuple[Name, ...] = ()) -> str:
    """Return the text for Spark, in which V is the view of each relation."""
    sql = references(text, outer)
    return "".join(sql.pieces(lambda _: "V", outer))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "SELECT * FROM a.t WHERE EXISTS (SELECT 1 FROM b.t WHERE b.t.id = a.t.id AND t.k = 3) AND t.z = 1",
            "SELECT * FROM V AS `t` WHERE EXISTS (SELECT 1 FROM V AS `b.t` WHERE `b.t`.id = `t`.id AND `b.t`.k = 3) AND t.z = 1",
        ),
        (
            "SELECT a.t.*, t.x FROM a.t JOIN b.u AS t ON a.t.id = t.uid",
            "SELECT `a.t`.*, t.x FROM V AS `a.t` JOIN V AS t ON `a.t`.id = t.uid",
        ),
        (
            "WITH t AS (SELECT 1 AS id) SELECT s.t.x FROM s.t, (SELECT * FROM t WHERE t.id = 2) u",
            "WITH t AS (SELECT 1 AS id) SELECT `t`.x FROM V AS `t`, (SELECT * FROM t WHERE t.id = 2) u",
        ),
        (
            "WITH t AS (SELECT 1 AS id) SELECT s.t.x FROM s.t WHERE EXISTS (SELECT 1 FROM t WHERE t.id = s.t.id)",
            "WITH t AS (SELECT 1 AS id) SELECT `s.t`.x FROM V AS `s.t` WHERE EXISTS (SELECT 1 FROM t WHERE t.id = `s.t`.id)",
        ),
        (
            "SELECT main.o.id, o.k FROM main.o JOIN main.p ON main.o.id = p.id",
            "SELECT `o`.id, o.k FROM V AS `o` JOIN V AS `p` ON `o`.id = p.id",
        ),
        (
            "WITH t AS (SELECT 1 a) SELECT t.a, t.x FROM t JOIN s.t ON s.t.k = t.a",
            "WITH t AS (SELECT 1 a) SELECT t.a, t.x FROM t JOIN V AS `t` ON `t`.k = t.a",
        ),
        (
            "SELECT * FROM a.t WHERE id IN (SELECT t.s.x FROM b.t WHERE a.t.y = t.s.f.g)",
            "SELECT * FROM V AS `t` WHERE id IN (SELECT `b.t`.s.x FROM V AS `b.t` WHERE `t`.y = `b.t`.s.f.g)",
        ),
    ],
)
def test_relations_with_the_same_last_part(text: str, expected: str) -> None:
    assert bound(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "EXISTS (SELECT 1 FROM staging.orders WHERE staging.orders.id = prod.orders.id AND orders.x = 1) AND orders.y = 2",
            "EXISTS (SELECT 1 FROM V AS `staging.orders` WHERE `staging.orders`.id = `orders`.id AND `staging.orders`.x = 1) AND orders.y = 2",
        ),
        ("id IN (SELECT id FROM staging.orders) AND prod.orders.x = 1", "id IN (SELECT id FROM V AS `orders`) AND `orders`.x = 1"),
    ],
)
def test_a_subquery_of_a_changed_table(text: str, expected: str) -> None:
    assert bound(text, TARGET) == expected


@pytest.mark.parametrize(
    "text",
    [
        "EXISTS (SELECT 1 FROM staging.fixes orders WHERE orders.id = prod.orders.id)",
        "EXISTS (WITH orders AS (SELECT 1 AS id) SELECT 1 FROM orders WHERE orders.id = prod.orders.id)",
        "EXISTS (SELECT 1 FROM (SELECT 1 AS id) AS orders WHERE orders.id = prod.orders.id)",
        "EXISTS (SELECT 1 FROM orders WHERE orders.id = prod.orders.id)",
    ],
)
def test_names_that_cannot_be_kept_apart_are_refused(text: str) -> None:
    with pytest.raises(StatementError, match=r"prod\.orders and another relation are both called orders here; give one of them an alias"):
        bound(text, TARGET)
