"""The values that describe types: `DataType`, `Field`, and decimals. Import them from `types`.

Specification: the page "Data Types".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import StatementError


@dataclass(frozen=True)
class Field:
    """A field of a nested type. list: one, named `element`; map: `key` and `value`; struct: any."""

    name: str
    type: DataType
    nullable: bool = True
    comment: str | None = None


@dataclass(frozen=True)
class DataType:
    """A DuckLake type. `name`: the stored text (`int32`, `decimal(10,2)`), or `list`, `map`, `struct` with `fields`."""

    name: str
    fields: tuple[Field, ...] = ()


_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)", re.IGNORECASE)


def decimal(precision: int, scale: int) -> DataType:
    """Return the type DECIMAL(precision, scale).

    Raises:
        StatementError: DuckLake does not support the precision or scale.
    """
    if not (1 <= precision <= 38 and 0 <= scale <= precision):
        raise StatementError(f"DECIMAL({precision},{scale}) is not possible: the precision must be 1 to 38, the scale 0 to the precision")
    return DataType(f"decimal({precision},{scale})")


def decimal_parameters(name: str) -> tuple[int, int] | None:
    """Return (precision, scale) of a stored decimal type such as `decimal(10,2)`; None for every other type."""
    match = _DECIMAL.fullmatch(name)
    return (int(match[1]), int(match[2])) if match else None
