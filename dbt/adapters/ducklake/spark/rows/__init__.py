"""Rows that a statement finds, matches, caches or fetches."""
