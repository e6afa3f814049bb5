"""The second day's new prices, typed into the lake by the buyers, who use DuckDB: two dearer, one gone, one new."""

from __future__ import annotations

import duckdb_lake


def main() -> None:
    lake = duckdb_lake.connect()
    lake.execute("BEGIN")
    lake.execute("UPDATE landing.price_list SET price = 12.90 WHERE product_code = 'COF'")
    lake.execute("UPDATE landing.price_list SET price = 14.50 WHERE product_code = 'OIL'")
    lake.execute("DELETE FROM landing.price_list WHERE product_code = 'JAM'")
    lake.execute("INSERT INTO landing.price_list VALUES ('NUT', 'Walnuts', 8.20)")
    lake.execute("CALL lake.set_commit_message('the buyers, with DuckDB', 'prices from the second day on')")
    lake.execute("COMMIT")
    print("DuckDB changed the price list: coffee and oil are dearer, plum jam is gone, walnuts are new")


if __name__ == "__main__":
    main()
