"""The refusals that a run expects. Any other is a difference."""

from __future__ import annotations

import re

_EXPECTED = {
    "spark": (
        r"NOT NULL",
        r"cannot become .* in place",
        r"is a (partition|sort) key",
        r"DuckDB would (?:not find them by the column|miss rows when it filters by the column)",
    ),
    # Operations that DuckDB does not support and refuses before it changes anything. Its other errors mean that it cannot read the lake,
    # except that it cannot write some lists of strings with Parquet's version 2: see test_found_faults.
    "duckdb": (r"^(Catalog|Binder|Constraint|NotImplemented)Exception", r"Failed to serialize: not enough space in buffer"),
}


def is_expected(dialect: str, message: str) -> bool:
    """Return whether this refusal of a side is expected."""
    return any(re.search(pattern, message) for pattern in _EXPECTED[dialect])
