"""Bounds of float columns that DuckDB cannot prune by: it compares them with a text that is read again as another number.

Specification: "ducklake_file_column_stats" (bounds). When DuckDB prunes files it writes the constant of the condition into a query on the
catalog as its shortest text, without a cast. A text with an exponent is a DOUBLE there, which for a float32 is seldom the number meant; one
without is a DECIMAL, which becomes a float by one or two rounded steps. A bound that meets such a number loses its row, in DuckDB's own
files too. So a file has no bounds where that can happen, which loses nothing but the pruning.
"""

from __future__ import annotations

import math

from .statistics import FLOATS, Bounds, float_text, to_float32

_EXACT_BITS = {"float32": 24, "float64": 53}
_LONG_DIGITS = 18
"""Digits of a decimal that DuckDB holds in 64 bits."""


def prunable_bounds(type_name: str, bounds: Bounds) -> Bounds:
    """The bounds, or none if a condition of DuckDB that names the value at either of them misses it."""
    least, greatest = bounds
    if type_name not in FLOATS or least is None or greatest is None:
        return bounds
    low, high = _rounded(type_name, float(least)), _rounded(type_name, float(greatest))
    missed = any(read < low for read in _read(type_name, low)) or any(read > high for read in _read(type_name, high))
    return (None, None) if missed else bounds


def _read(type_name: str, value: float) -> list[float]:
    """What DuckDB may take the constant `value` for: where its search for the shortest text gives up, a float32 has nine digits."""
    if math.isinf(value):  # said as a text, which is cast to the type
        return [value]
    texts = {float_text(value, type_name) or "nan"}
    if type_name == "float32":
        texts.add(repr(float(f"{value:.9g}")))
    return [read_by_duckdb(type_name, text) for text in texts]


def read_by_duckdb(type_name: str, text: str) -> float:
    """The number that DuckDB compares a bound of a column of `type_name` with, if `text` is how it says the condition's constant."""
    if "e" in text:
        return float(text)
    whole, _, fraction = text.partition(".")
    unscaled, scale = int(whole + fraction), len(fraction)
    power = 10**scale
    if abs(unscaled) <= 1 << _EXACT_BITS[type_name]:
        return _rounded(type_name, _rounded(type_name, unscaled) / _rounded(type_name, power))
    quotient, rest = divmod(abs(unscaled), power)
    is_huge = unscaled < 0 and len(whole + fraction) - 1 > _LONG_DIGITS
    part = _rounded(type_name, _magnitude(type_name, rest, is_huge) / _rounded(type_name, power))
    return math.copysign(_rounded(type_name, _magnitude(type_name, quotient, is_huge) + part), unscaled)


def _magnitude(type_name: str, whole: int, is_huge: bool) -> float:
    """A whole number as the type; of negative ones of 128 bits the complement is rounded."""
    return _rounded(type_name, _rounded(type_name, whole - 1) + 1) if is_huge and whole else _rounded(type_name, whole)


def _rounded(type_name: str, value: float) -> float:
    return to_float32(value) if type_name == "float32" else float(value)
