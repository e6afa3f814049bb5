"""Bounds of float columns by which DuckDB would prune too much, because it compares them with an inexact constant.

Specification: "ducklake_file_column_stats" (bounds). To prune files, DuckDB writes the constant of the condition into a query on the
catalog as its shortest text, without a cast. A literal with an exponent is a DOUBLE in that query, which is seldom equal to the float32. A
text without an exponent is a DECIMAL, which becomes a float with one or two rounding steps. If the condition is on the value of a bound,
DuckDB can skip its row, in its own files too. Where that can happen we write no bounds, which only loses the pruning.
"""

from __future__ import annotations

import math

from .leaf_types import leaf_type
from .statistics import Bounds, float_text, to_float32

_EXACT_BITS = {32: 24, 64: 53}
"""Bits of a float → the bits of the whole numbers that it represents exactly."""
_LONG_DIGITS = 18
"""The maximum digits of a decimal that DuckDB stores in 64 bits."""


def prunable_bounds(type_name: str, bounds: Bounds) -> Bounds:
    """Return the bounds, or none if a DuckDB condition on the value at either of them would miss it."""
    least, greatest = bounds
    if not leaf_type(type_name).is_float or least is None or greatest is None:
        return bounds
    low, high = _rounded(type_name, float(least)), _rounded(type_name, float(greatest))
    missed = any(read < low for read in _read(type_name, low)) or any(read > high for read in _read(type_name, high))
    return (None, None) if missed else bounds


def _read(type_name: str, value: float) -> list[float]:
    """Return the numbers that DuckDB may read for the constant `value`; it sometimes writes a float32 with nine digits."""
    if math.isinf(value):  # DuckDB casts the text of an infinity to the type
        return [value]
    texts = {float_text(value, type_name) or "nan"}
    if type_name == "float32":
        texts.add(repr(float(f"{value:.9g}")))
    return [read_by_duckdb(type_name, text) for text in texts]


def read_by_duckdb(type_name: str, text: str) -> float:
    """Return the number that DuckDB compares with a bound of a column of `type_name` if it writes the constant as `text`."""
    if "e" in text:
        return float(text)
    whole, _, fraction = text.partition(".")
    unscaled, scale = int(whole + fraction), len(fraction)
    power = 10**scale
    if abs(unscaled) <= 1 << _EXACT_BITS[leaf_type(type_name).bits]:
        return _rounded(type_name, _rounded(type_name, unscaled) / _rounded(type_name, power))
    quotient, rest = divmod(abs(unscaled), power)
    is_huge = unscaled < 0 and len(whole + fraction) - 1 > _LONG_DIGITS
    part = _rounded(type_name, _magnitude(type_name, rest, is_huge) / _rounded(type_name, power))
    return math.copysign(_rounded(type_name, _magnitude(type_name, quotient, is_huge) + part), unscaled)


def _magnitude(type_name: str, whole: int, is_huge: bool) -> float:
    """Round a whole number to the type; for negative 128-bit numbers DuckDB rounds the complement."""
    return _rounded(type_name, _rounded(type_name, whole - 1) + 1) if is_huge and whole else _rounded(type_name, whole)


def _rounded(type_name: str, value: float) -> float:
    return to_float32(value) if type_name == "float32" else float(value)
