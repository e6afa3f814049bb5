"""Write the files that the shop's systems deliver on a day.

Orders and order items are Parquet; customers and the first price list are JSON.

    python make_data.py 1      # the first day: a month of orders
    python make_data.py 2      # the second day: new orders, old orders that were shipped or returned, customers who moved
    python make_data.py 3      # and so on, 40 orders a day

The files of a day are always the same.
"""

from __future__ import annotations

import json
import random
import sys
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

LANDING = Path(__file__).parent / "landing"
FIRST_DAY_ENDS = datetime(2026, 3, 1)

PRODUCTS = {
    "APL": ("Apple juice", "3.20"),
    "BRD": ("Rye bread", "4.10"),
    "CHS": ("Mountain cheese", "7.90"),
    "COF": ("Coffee beans", "11.50"),
    "EGG": ("Ten eggs", "3.60"),
    "HON": ("Heather honey", "6.80"),
    "JAM": ("Plum jam", "4.40"),
    "MLK": ("Oat milk", "2.30"),
    "OIL": ("Olive oil", "12.90"),
    "TEA": ("Green tea", "5.70"),
}
COUNTRIES = ["AT", "CH", "DE", "DK", "FR", "IT", "NL", "PL"]
FIRST_NAMES = ["Ada", "Bela", "Chiara", "Dörte", "Emil", "Fleur", "Goran", "Hanna", "Ines", "Jan", "Klara", "Luca"]
LAST_NAMES = ["Bakker", "Conti", "Dubois", "Eriksen", "Fischer", "Gruber", "Huber", "Kowalski", "Marti", "Nowak"]

ORDERS = pa.schema(
    [
        ("order_id", pa.int64()),
        ("customer_id", pa.int64()),
        ("ordered_at", pa.timestamp("us")),
        ("status", pa.string()),
    ]
)
ITEMS = pa.schema(
    [
        ("order_id", pa.int64()),
        ("line", pa.int32()),
        ("product_code", pa.string()),
        ("quantity", pa.int32()),
        ("unit_price", pa.decimal128(10, 2)),
    ]
)


def customers(day: int) -> list[dict[str, object]]:
    """A full extract: 60 customers on the first day, 5 new ones on each later day. On the second day 3 move to another country."""
    rows: list[dict[str, object]] = []
    for customer_id in range(1, 56 + 5 * day):
        chance = random.Random(customer_id)
        first, last = chance.choice(FIRST_NAMES), chance.choice(LAST_NAMES)
        country = chance.choice(COUNTRIES)
        if day >= 2 and customer_id in (7, 21, 42):
            country = COUNTRIES[(COUNTRIES.index(country) + 1) % len(COUNTRIES)]
        rows.append(
            {
                "customer_id": customer_id,
                "name": f"{first} {last}",
                "email": f"{first}.{last}.{customer_id}@Example.org",
                "country_code": country,
                "signed_up_on": f"2025-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}",
            }
        )
    return rows


def day_of(order_id: int) -> int:
    """The day on which an order was placed: 300 orders on the first day, 40 on each later day."""
    return 1 if order_id <= 300 else 2 + (order_id - 301) // 40


def order(order_id: int) -> tuple[dict[str, object], list[dict[str, object]]]:
    """An order as it was placed, with its items."""
    chance = random.Random(1000 + order_id)
    day = day_of(order_id)
    if day == 1:
        ordered_at = FIRST_DAY_ENDS - timedelta(days=28) + timedelta(minutes=134 * order_id)
    else:
        ordered_at = FIRST_DAY_ENDS + timedelta(days=day - 2, minutes=30 * ((order_id - 301) % 40 + 1))
    head = {
        "order_id": order_id,
        "customer_id": chance.randint(1, 55 + 5 * day),
        "ordered_at": ordered_at,
        "status": "placed",
    }
    items: list[dict[str, object]] = []
    for line, code in enumerate(sorted(chance.sample(sorted(PRODUCTS), chance.randint(1, 4))), start=1):
        price = Decimal(PRODUCTS[code][1])
        items.append(
            {
                "order_id": order_id,
                "line": line,
                "product_code": code,
                "quantity": chance.randint(1, 5),
                "unit_price": price,
            }
        )
    return head, items


def orders(day: int) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """The day's orders and items: new orders, and earlier orders whose status changed."""
    heads: list[dict[str, object]] = []
    items: list[dict[str, object]] = []
    last = 300 + 40 * (day - 1)
    for order_id in range(1 if day == 1 else last - 39, last + 1):
        head, lines = order(order_id)
        if order_id <= 270:
            head["status"] = "returned" if order_id % 25 == 0 else "shipped"
        heads.append(head)
        items.extend(lines)
    if day >= 2:
        heads += [{**order(order_id)[0], "status": "shipped"} for order_id in range(last - 69, last - 49)]
        heads.append({**order(last - 80)[0], "status": "returned"})
    return heads, items


def write_json(path: Path, rows: list[dict[str, object]]) -> None:
    """Write the rows as JSON, one object per line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def write_parquet(path: Path, rows: list[dict[str, object]], schema: pa.Schema) -> None:
    """Write the rows as a Parquet file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)


def main(day: int) -> None:
    """Write the files of a day."""
    heads, items = orders(day)
    write_parquet(LANDING / "orders" / f"day_{day}.parquet", heads, ORDERS)
    write_parquet(LANDING / "order_items" / f"day_{day}.parquet", items, ITEMS)
    write_json(LANDING / "customers" / f"day_{day}.json", customers(day))
    if day == 1:
        prices = [{"product_code": code, "product": name, "price": price} for code, (name, price) in PRODUCTS.items()]
        write_json(LANDING / "price_list.json", prices)
    print(f"day {day}: {len(heads)} orders, {len(items)} items, {len(customers(day))} customers in {LANDING.name}/")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].isdecimal() or sys.argv[1] == "0":
        sys.exit(__doc__)
    main(int(sys.argv[1]))
