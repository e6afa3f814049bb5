"""Change the price list on the second day with DuckDB, as the buyers do: two higher prices, one removed product, one new product."""

from __future__ import annotations

import duckdb_lake


def main() -> None:
    """Change the prices in one transaction."""
    lake = duckdb_lake.connect()
    lake.execute("BEGIN")
    lake.execute("UPDATE landing.price_list SET price = 12.90 WHERE product_code = 'COF'")
    lake.execute("UPDATE landing.price_list SET price = 14.50 WHERE product_code = 'OIL'")
    lake.execute("DELETE FROM landing.price_list WHERE product_code = 'JAM'")
    lake.execute("INSERT INTO landing.price_list VALUES ('NUT', 'Walnuts', 8.20)")
    lake.execute("CALL lake.set_commit_message('the buyers, with DuckDB', 'prices from the second day on')")
    lake.execute("COMMIT")
    print("DuckDB changed the price list: higher prices for coffee and oil, no plum jam, new walnuts")


if __name__ == "__main__":
    main()
