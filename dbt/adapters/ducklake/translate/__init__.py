"""Translate between DuckDB's SQL and Spark's, which share the views, macros and expressions of a lake."""
