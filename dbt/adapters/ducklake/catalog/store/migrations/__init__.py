"""Catalogs of older format versions: read without changing them (`older`), or migrate them in one transaction (`migrate`).

Both use the list of differences in `differences`.
"""
