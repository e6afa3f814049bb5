"""Random interleavings of two sessions of ours and DuckDB, whose histories must be serializable."""
