"""Read the lake with DuckDB: its snapshots with their messages, marts, the changes of the last build, an earlier snapshot."""

from __future__ import annotations

import duckdb
import duckdb_lake

SNAPSHOTS = """
    SELECT snapshot_id AS id, strftime(snapshot_time, '%H:%M:%S') AS time, author, commit_message AS message,
           array_to_string([replace(kind, '_', ' ') FOR kind IN map_keys(changes)], ', ') AS changes
    FROM lake.snapshots() ORDER BY snapshot_id
"""
BEST_CUSTOMERS = """
    SELECT customer_id, name, country, orders, revenue, segment
    FROM shop.customers JOIN shop.customer_segments USING (customer_id)
    ORDER BY revenue DESC, customer_id LIMIT 5
"""
BUILDS = """
    SELECT min(snapshot_id), max(snapshot_id) FROM lake.snapshots() WHERE commit_message = 'dbt build'
"""
CHANGES = """
    SELECT change_type, order_id, status, amount FROM {feed}
    WHERE order_id IN (260, 271, 301) ORDER BY order_id, change_type DESC
"""
OPEN_ORDERS = """
    SELECT 'before' AS version, count(*) AS open_orders, min(order_id) AS oldest FROM open_orders AT (VERSION => {first})
    UNION ALL SELECT 'now', count(*), min(order_id) FROM open_orders
"""
PRICE_HISTORY = """
    SELECT product_code, product, price, dbt_valid_to IS NULL AS valid_now
    FROM shop.price_history
    WHERE product_code IN ('COF', 'JAM', 'NUT', 'OIL') ORDER BY product_code, dbt_valid_from
"""


def heading(text: str) -> None:
    """Print an underlined heading."""
    print(f"\n{text}\n{'-' * len(text)}")


def show(lake: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Print the rows of a query."""
    lake.sql(sql).show(max_width=160, max_rows=100)


def main() -> None:
    """Print all sections."""
    lake = duckdb_lake.connect()

    heading("Snapshots of the lake: one for each load, change of prices, and dbt build")
    show(lake, SNAPSHOTS)

    heading("The mart `customers` with the Python model `customer_segments`")
    show(lake, BEST_CUSTOMERS)

    first, last = lake.execute(BUILDS).fetchone() or (None, None)
    heading(f"The changes of the second day's merge in `orders` (change feed of snapshot {last})")
    feed = f"lake.table_changes('orders', {last}, {last})"
    lake.execute("USE lake.shop")
    show(lake, f"SELECT change_type, count(*) AS rows FROM {feed} GROUP BY ALL ORDER BY 1")
    show(lake, CHANGES.format(feed=feed))

    heading(f"The same table before and now (snapshot {first} and the latest)")
    show(
        lake,
        f"SELECT 'before' AS version, count(*) AS orders, sum(amount) AS amount FROM orders AT (VERSION => {first}) "
        "UNION ALL SELECT 'now', count(*), sum(amount) FROM orders",
    )

    heading("Orders that are not shipped: the model `open_orders` read only the changes above")
    show(lake, OPEN_ORDERS.format(first=first))

    heading("The price list's history (a dbt snapshot)")
    show(lake, PRICE_HISTORY)


if __name__ == "__main__":
    main()
