"""Lakes that releases of DuckDB's extension wrote, and the program that makes them."""
