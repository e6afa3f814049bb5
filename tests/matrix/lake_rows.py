"""Compare the lake of the matrix project (`tests/matrix/project`) with the expected rows, read by DuckDB with the `ducklake` extension."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.duckdb_instances import open_duckdb

_UTC = dt.timezone.utc
_ORDERS = [(1, "open", 10.5, (1, 8)), (2, "paid", 20.0, (2, 9)), (3, "open", 30.25, (1, 10)), (4, "paid", 40.0, (2, 8))]
_AT = {f"{day}-{hour}": dt.datetime(2026, 1, day, hour, tzinfo=_UTC) for day in (1, 2) for hour in (8, 9, 10)}


def _at(day: int, hour: int) -> dt.datetime:
    return _AT[f"{day}-{hour}"]


_CURRENT = [(order, status, amount, _at(*at)) for order, status, amount, at in _ORDERS]

EXPECTED: dict[str, list[tuple[Any, ...]]] = {
    "SELECT id, status, amount, changed_at FROM day ORDER BY id": _CURRENT,
    "SELECT id, status, amount, changed_at FROM merged ORDER BY id": _CURRENT,
    "SELECT * FROM totals ORDER BY status": [("open", 2, 40.75, _at(1, 10)), ("paid", 2, 60.0, _at(2, 9))],
    "SELECT count(*), sum(number), count(DISTINCT text) FROM many": [(1000, 549000, 1000)],
    "SELECT id, status, dbt_valid_from, dbt_valid_to FROM history ORDER BY dbt_valid_from, id": [
        (1, "open", _at(1, 8), None),
        (2, "open", _at(1, 9), _at(2, 9)),
        (3, "open", _at(1, 10), None),
        (4, "paid", _at(2, 8), None),
        (2, "paid", _at(2, 9), None),
    ],
    "SELECT * FROM nested WHERE id = 7": [(7, [7, 8], {"k": {"a": 7, "b": ["7"]}}, Decimal("0.875"), dt.datetime(2026, 1, 8, tzinfo=_UTC))],
    "SELECT count(*), sum(len(numbers)), sum(pairs['k'].a) FROM nested": [(100, 200, 4950)],
    "SELECT * FROM by_function ORDER BY id": [(1, "open", 21, 4), (2, "paid", 40, 4), (3, "open", 60, 4), (4, "paid", 80, 4)],
    "SELECT * FROM by_pandas ORDER BY id": [(1, "open!"), (2, "paid!"), (3, "open!"), (4, "paid!")],
}
FEATURES: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "time_of_day": ("SELECT count(*), min(time), max(time) FROM time_of_day", [(20, dt.time(1, 2, 3), dt.time(1, 2, 3))]),
    "any_type": ("SELECT count(*), any_value(document) FROM any_type", [(20, {"a": [1, "x"]})]),
}
"""Model with the tag `feature` → its query and the expected rows."""


def differences(catalog: str, lacking: Collection[str]) -> list[str]:
    """Return a line for each query whose rows, as DuckDB reads them after the second build, differ from the expected ones.

    Args:
        catalog: the attach string, `ducklake:sqlite:…`.
        lacking: the features whose tables do not exist.
    """
    expected = {**EXPECTED, **{query: rows for name, (query, rows) in FEATURES.items() if name not in lacking}}
    found = []
    with open_duckdb("ducklake", "sqlite_scanner") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"ATTACH '{catalog}' AS lake (READ_ONLY)")
        connection.execute("USE lake.main")
        for query, rows in expected.items():
            read = connection.execute(query).fetchall()
            if read != rows:
                found.append(f"{query}: {read}, not {rows}")
    return found


def count_parquet_files(folder: Path) -> int:
    """Return how many Parquet files are below a folder."""
    return sum(1 for _ in folder.rglob("*.parquet"))
