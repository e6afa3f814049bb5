"""A chain of models that read changes, a DuckDB process that writes their source, and what the models must contain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from threading import Event

from duckdb import Error

from tests.interop.other_process import OtherProcess

SOURCES = """
sources:
  - name: shop
    schema: "{{ target.schema }}"
    tables: [{name: orders}, {name: customers}, {name: orders_view}]
"""
ORDERS = "{{ ducklake_changes(source('shop', 'orders')) }}"
BY_KEY = "{{ config(materialized='incremental', incremental_strategy='changes', unique_key='id') }}"
OPEN = f"{BY_KEY} select id, customer, amount, _change_type, _snapshot_id from {ORDERS} where amount > 0"
NAMED = (
    f"{BY_KEY} select o.id, o.amount, c.name, o._change_type as _CHANGE_TYPE from {{{{ ducklake_changes(ref('open_orders')) }}}} o "
    "left join {{ source('shop', 'customers') }} c on o.customer = c.id"
)
LOGGED = (
    "{{ config(materialized='incremental', incremental_strategy='changes') }} "
    "select id, name, _change_type as what, _snapshot_id as at from {{ ducklake_changes(ref('named')) }}"
)
CHAIN = {"sources.yml": SOURCES, "open_orders.sql": OPEN, "named.sql": NAMED, "logged.sql": LOGGED}


def create_sources(duckdb: OtherProcess, schema: str) -> None:
    """Create the tables orders and customers, and use their schema."""
    duckdb.query(f"CREATE SCHEMA IF NOT EXISTS lake.{schema}")
    duckdb.query(f"USE lake.{schema}")
    duckdb.query("CREATE TABLE orders AS SELECT i AS id, i % 3 AS customer, i * 10 AS amount FROM range(1, 9) r(i)")
    duckdb.query("CREATE TABLE customers AS SELECT i AS id, 'c' || i AS name FROM range(3) r(i)")


@contextmanager
def writing(duckdb: OtherProcess, first: int) -> Iterator[list[int]]:
    """Insert, update and delete orders from this id on, until the end; the list that is yielded has the new ids."""
    done, ids = Event(), count(first)
    written: list[int] = []

    def write() -> None:
        while not done.is_set():
            new = next(ids)
            with suppress(Error):  # SQLite may be locked: then the other statements are not run
                duckdb.query(f"INSERT INTO orders VALUES ({new}, {new % 3}, {new * 10})")
                duckdb.query(f"UPDATE orders SET amount = CASE WHEN id % 5 = 0 THEN -amount ELSE amount + 1 END WHERE id % 7 = {new % 7}")
                duckdb.query(f"DELETE FROM orders WHERE id = {new - 6}")
                written.append(new)

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        try:
            yield written
        finally:
            done.set()
            writer.result()


def check(duckdb: OtherProcess, positions: Mapping[str, int]) -> None:
    """Assert that each model contains what a full build at its position would.

    Args:
        duckdb: a process that uses the schema of the models.
        positions: the snapshot of its input up to which each model has read; models without a position are not checked.
    """

    def at(model: str) -> str:
        return f"AT (VERSION => {positions[model]})"

    if "open_orders" in positions:
        expected = f"SELECT id, customer, amount FROM orders {at('open_orders')} WHERE amount > 0"
        assert sorted(duckdb.query("FROM open_orders")) == sorted(duckdb.query(expected))
    if "named" in positions:
        expected = f"SELECT o.id, amount, name FROM (FROM open_orders {at('named')}) o LEFT JOIN customers c ON o.customer = c.id"
        assert sorted(duckdb.query("FROM named")) == sorted(duckdb.query(expected))
    if "logged" in positions:
        counted = "SELECT id, count(*) FILTER (WHERE what = 'insert') - count(*) FILTER (WHERE what = 'delete') FROM logged GROUP BY id"
        rows = duckdb.query(counted)
        assert {each for (each,) in duckdb.query(f"SELECT id FROM named {at('logged')}")} == {each for each, n in rows if n == 1}
        assert {n for _, n in rows} <= {0, 1}, "a change was read twice"
