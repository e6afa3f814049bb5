"""Geometries: well-known binary and text, and the extent that the catalog stores for a column.

Specification: "Data Types" (geometry) and `extra_stats` of the pages "ducklake_file_column_stats" and "ducklake_table_column_stats".
Values are ISO well-known binary, little-endian, as the reference implementation writes them.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

_TYPES = ("point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection")
_DIMENSIONS = ("", "z", "m", "zm")
_POINT, _LINESTRING, _POLYGON, _MULTIPOINT = 1, 2, 3, 4
_GEOMETRYCOLLECTION = 7
_TOKEN = re.compile(r"\s*([A-Za-z]+|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[(),])")
_AXES = ("x", "y", "z", "m")


@dataclass(frozen=True)
class Extent:
    """The bounding box of geometries and the names of their types, such as `point` and `linestring_z`; an axis without values is None."""

    axes: tuple[tuple[float, float] | None, ...] = (None, None, None, None)
    types: frozenset[str] = frozenset()

    def union(self, other: Extent) -> Extent:
        """Return the extent of both together."""
        axes = tuple(_wider(one, two) for one, two in zip(self.axes, other.axes, strict=True))
        return Extent(axes, self.types | other.types)

    def to_json(self) -> str | None:
        """Return the text of `extra_stats`; None if a bound is infinite, which JSON cannot express."""
        if any(not math.isfinite(bound) for axis in self.axes if axis is not None for bound in axis):
            return None
        sides: list[str] = []
        for name, axis in zip(_AXES, self.axes, strict=True):
            low, high = (None, None) if axis is None else axis
            sides += [f'"{name}min": {_number(low)}', f'"{name}max": {_number(high)}']
        types = ", ".join(f'"{name}"' for name in sorted(self.types))
        return f'{{"bbox": {{{", ".join(sides)}}}, "types": [{types}]}}'


def extent_of_json(text: str) -> Extent:
    """Parse an extent that `to_json` or the reference implementation wrote.

    Raises:
        ValueError: the text is not an extent.
    """
    loaded = json.loads(text)
    types = loaded.get("types", []) if isinstance(loaded, dict) else None
    if not isinstance(types, list) or not isinstance(loaded.get("bbox"), dict):
        raise ValueError(f"{text!r} is not the extent of geometries")
    box = loaded["bbox"]
    axes = tuple(_axis(box.get(f"{name}min"), box.get(f"{name}max")) for name in _AXES)
    return Extent(axes, frozenset(map(str, types)))


def extent_of(values: Iterable[bytes | None]) -> Extent:
    """Return the extent of geometries in well-known binary; NULLs are skipped.

    Raises:
        ValueError: a value is not well-known binary.
    """
    extent = Extent()
    for value in values:
        if value is not None:
            extent = extent.union(_read(value))
    return extent


def wkb_of_text(text: str) -> bytes:
    """Convert well-known text to well-known binary.

    Raises:
        ValueError: the text is not a geometry.
    """
    writer = _Text(text)
    data = writer.geometry(None)
    writer.finish()
    return data


def _read(data: bytes) -> Extent:
    try:
        points: list[tuple[int, Sequence[float]]] = []
        code, end = _geometry(data, 0, points)
    except struct.error as error:
        raise ValueError(f"{data[:40].hex()} ends in the middle of a geometry") from error
    if end != len(data):
        raise ValueError(f"{data[:40].hex()} has bytes after the end of its geometry")
    low: list[float] = [math.inf] * 4
    high: list[float] = [-math.inf] * 4
    for dimensions, numbers in points:
        axes = _axes(dimensions)
        for index, axis in enumerate(axes):
            known = [number for number in numbers[index :: len(axes)] if number == number]
            if known:
                low[axis], high[axis] = min(low[axis], *known), max(high[axis], *known)
    boxes = tuple(None if a > b else (a, b) for a, b in zip(low, high, strict=True))
    suffix = _DIMENSIONS[code // 1000]
    return Extent(boxes, frozenset({_TYPES[code % 1000 - 1] + (f"_{suffix}" if suffix else "")}))


def _geometry(data: bytes, at: int, points: list[tuple[int, Sequence[float]]]) -> tuple[int, int]:
    """Read the geometry at the offset `at` and add its coordinates to `points`; return (type code, offset of its end)."""
    order, code = struct.unpack_from("<BI", data, at)
    kind, dimensions = code % 1000, code // 1000
    if order != 1 or not 1 <= kind <= len(_TYPES) or dimensions > 3:
        raise ValueError(f"{data[:40].hex()} is not a geometry in ISO well-known binary, little-endian")
    at += 5
    width = len(_axes(dimensions))
    if kind == _POINT:
        return code, _coordinates(data, at, 1, width, dimensions, points)
    (count,) = struct.unpack_from("<I", data, at)
    at += 4
    if kind == _LINESTRING:
        return code, _coordinates(data, at, count, width, dimensions, points)
    for _ in range(count):
        if kind == _POLYGON:
            (length,) = struct.unpack_from("<I", data, at)
            at = _coordinates(data, at + 4, length, width, dimensions, points)
        else:
            _, at = _geometry(data, at, points)
    return code, at


def _axes(dimensions: int) -> tuple[int, ...]:
    """Return which of `_AXES` the coordinates of a geometry have: x, y, z for the dimensions 1 and 3, m for 2 and 3."""
    return (0, 1, *((2,) if dimensions in (1, 3) else ()), *((3,) if dimensions in (2, 3) else ()))


def _coordinates(data: bytes, at: int, count: int, width: int, dimensions: int, points: list[tuple[int, Sequence[float]]]) -> int:
    end = at + 8 * count * width
    if end > len(data):
        raise ValueError(f"{data[:40].hex()} ends in the middle of a geometry")
    points.append((dimensions, struct.unpack_from(f"<{count * width}d", data, at)))
    return end


class _Text:
    """A recursive descent parser of well-known text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = []
        at = 0
        while at < len(text.rstrip()):
            match = _TOKEN.match(text, at)
            if match is None:
                raise self._error()
            self._tokens.append(match[1].upper())
            at = match.end()
        self._at = 0

    def finish(self) -> None:
        """Require that all tokens are read."""
        if self._at != len(self._tokens):
            raise self._error()

    def geometry(self, dimensions: int | None) -> bytes:
        """Read the next geometry; `dimensions` are those of the enclosing collection, if any."""
        name = self._take().lower()
        if name not in _TYPES:
            raise self._error()
        kind = _TYPES.index(name) + 1
        suffix = self._peek().lower()
        if suffix in _DIMENSIONS[1:]:
            self._take()
            dimensions = _DIMENSIONS.index(suffix)
        dimensions = dimensions or 0
        width = len(_axes(dimensions))
        return struct.pack("<BI", 1, kind + 1000 * dimensions) + self._body(kind, dimensions, width)

    def _body(self, kind: int, dimensions: int, width: int) -> bytes:
        if self._peek() == "EMPTY":
            self._take()
            return struct.pack(f"<{width}d", *[math.nan] * width) if kind == _POINT else struct.pack("<I", 0)
        if kind == _POINT:
            self._expect("(")
            data = self._vertex(width)
            self._expect(")")
            return data
        if kind == _LINESTRING:
            return self._many(lambda: self._vertex(width))
        if kind == _POLYGON:
            return self._many(lambda: self._many(lambda: self._vertex(width)))
        if kind == _GEOMETRYCOLLECTION:
            return self._many(lambda: self.geometry(dimensions))
        inner = kind - 3
        head = struct.pack("<BI", 1, inner + 1000 * dimensions)
        if kind == _MULTIPOINT and [*self._tokens, "", ""][self._at + 1] not in ("(", "EMPTY"):
            return self._many(lambda: head + self._vertex(width))
        return self._many(lambda: head + self._body(inner, dimensions, width))

    def _many(self, one: Callable[[], bytes]) -> bytes:
        self._expect("(")
        parts = [one()]
        while self._peek() == ",":
            self._take()
            parts.append(one())
        self._expect(")")
        return struct.pack("<I", len(parts)) + b"".join(parts)

    def _vertex(self, width: int) -> bytes:
        return struct.pack(f"<{width}d", *[self._float() for _ in range(width)])

    def _float(self) -> float:
        try:
            return float(self._take())
        except ValueError:
            raise self._error() from None

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _expect(self, mark: str) -> None:
        if self._take() != mark:
            raise self._error()

    def _error(self) -> ValueError:
        return ValueError(f"{self._text[:80]!r} is not a geometry in well-known text")


def _wider(one: tuple[float, float] | None, two: tuple[float, float] | None) -> tuple[float, float] | None:
    if one is None or two is None:
        return one or two
    return min(one[0], two[0]), max(one[1], two[1])


def _axis(low: object, high: object) -> tuple[float, float] | None:
    return (float(low), float(high)) if isinstance(low, int | float) and isinstance(high, int | float) else None


def _number(value: float | None) -> str:
    """Return the number with six decimals, as the reference implementation writes it, or with more if six are not exact.

    The text must have a point or an exponent, because DuckDB reads an integer here as 0.
    """
    if value is None:
        return "null"
    short = f"{value:.6f}"
    return short if float(short) == value and len(short) < 25 else repr(float(value))
