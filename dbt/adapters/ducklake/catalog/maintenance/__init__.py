"""Expiring snapshots, and listing files that can be removed."""
