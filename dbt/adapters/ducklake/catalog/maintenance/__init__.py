"""Expiry of snapshots and removal of files that nothing refers to."""
