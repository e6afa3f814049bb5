"""Expressions that are constants by their form."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal


@dataclass(frozen=True)
class Literal:
    """A literal with Spark's type as DDL text; `void` is the type of NULL."""

    type: str
    value: bool | int | Decimal | float | str | bytes | date | None


@dataclass(frozen=True)
class CurrentTime:
    """The time of the statement as a `timestamp`, or its `date` in the session's time zone."""

    type: str


@dataclass(frozen=True)
class CastTo:
    """A value cast to a type of Spark; also a typed literal such as DATE '2020-01-01'."""

    value: Constant
    type: str


Constant = Literal | CurrentTime | CastTo
