"""Show rows as a table on a terminal, as JSON or as CSV."""

from __future__ import annotations

import csv
import itertools
import json
import math
import sys
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import click

from ..format.printable import printable

format_option: Callable[[Any], Any] = click.option(
    "--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True, help="How rows are shown."
)


def show(names: Sequence[str], rows: Sequence[Sequence[Any]], form: str, *, whole_seconds: bool = False) -> None:
    """Write rows to the standard output.

    Args:
        names: the names of the columns.
        rows: Python values.
        form: `table`, `json` (an array of objects) or `csv` (with a header row; NULL is empty, nested values are JSON).
        whole_seconds: leave out the fractions of the seconds of timestamps in a table.
    """
    match form:
        case "json":
            keys = _distinct(names)
            objects = [dict(zip(keys, map(_plain, row), strict=True)) for row in rows]
            click.echo(json.dumps(objects, indent=2, ensure_ascii=False))
        case "csv":
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerow(names)
            writer.writerows([_cell(value) for value in row] for row in rows)
        case _:
            _show_table(names, rows, "seconds" if whole_seconds else "auto")


def _show_table(names: Sequence[str], rows: Sequence[Sequence[Any]], timespec: str) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for index, name in enumerate(names):
        numeric = any(_is_number(row[index]) for row in rows) and all(row[index] is None or _is_number(row[index]) for row in rows)
        table.add_column(Text(printable(name, keep="\n")), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(_short(value, timespec), keep="\n"), style="" if value is not None else "dim") for value in row))
    width = None if sys.stdout.isatty() else 10_000  # a file or pipe has no width, so nothing is wrapped
    Console(width=width, highlight=False).print(table)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _distinct(names: Sequence[str]) -> list[str]:
    """Return the names, numbered where they are repeated: an object has each key once."""
    found: list[str] = []
    for name in names:
        numbered = (f"{name}_{number}" for number in itertools.count(1))
        found.append(name if name not in found else next(each for each in numbered if each not in found and each not in names))
    return found


def _short(value: object, timespec: str) -> str:
    match value:
        case None:
            return "NULL"
        case datetime():
            in_utc = value if value.tzinfo is None else value.astimezone(timezone.utc).replace(tzinfo=None)
            return in_utc.isoformat(sep=" ", timespec=timespec) + ("" if value.tzinfo is None else "Z")
        case list() if value and all(isinstance(item, str) for item in value):
            return ", ".join(value)
        case _:
            return _cell(value)


def _cell(value: object) -> str:
    plain = _plain(value)
    if plain is None:
        return ""
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Convert a value to one that JSON has: bytes become hexadecimal digits, timestamps and other values strings."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case bytes() | bytearray():
            return value.hex()
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal() | timedelta():
            return str(value)
        case dict():
            return {str(_plain(key)): _plain(inner) for key, inner in value.items()}
        case _ if hasattr(value, "asDict"):
            return {key: _plain(inner) for key, inner in value.asDict().items()}
        case list() | tuple() | set():
            return [_plain(inner) for inner in value]
        case _:
            return str(value)
