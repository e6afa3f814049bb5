"""Catalogs of older format versions: read as they are (`older`), or brought to the current version in one transaction (`migrate`).

What differs is described once, in `differences`; both are derived from it.
"""
