"""Encrypted Parquet files as DuckDB writes them, which no other library reads."""
