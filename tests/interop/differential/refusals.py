"""Which refusals a run may meet. Any other is a difference."""

from __future__ import annotations

import re

_EXPECTED = {
    "spark": (
        r"NOT NULL",
        r"cannot become .* in place",
        r"is a (partition|sort) key",
    ),
    # What the reference itself does not do, decided before it touches anything. Its other errors are a lake that it cannot read.
    "duckdb": (r"^(Catalog|Binder|Constraint|NotImplemented)Exception",),
}


def is_expected(dialect: str, message: str) -> bool:
    """Whether a side may refuse a statement in these words."""
    return any(re.search(pattern, message) for pattern in _EXPECTED[dialect])
