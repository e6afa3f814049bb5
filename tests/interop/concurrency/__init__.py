"""Random interleavings of two of our sessions and DuckDB, whose histories must be serializable."""
