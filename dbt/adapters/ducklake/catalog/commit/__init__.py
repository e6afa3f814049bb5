"""Commit staged changes as one snapshot: check for conflicts, then write every catalog row that is added or ended."""
