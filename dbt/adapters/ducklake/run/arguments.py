"""Check the arguments of CALL, by position or by name, against the parameters of the procedure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from ..errors import StatementError
from ..format.identifiers import fold
from ..format.timestamps import python_datetime
from ..sql.values import Call

T = TypeVar("T")

_SYNONYMS = {"table": "table_name", "schema": "schema_name", "schema_name": "schema"}
"""Another name → the parameter's name. Some of DuckDB's procedures have `schema`, others `schema_name`; ours accept both."""
TRUE, FALSE = frozenset({"true", "t", "yes", "y", "1"}), frozenset({"false", "f", "no", "n", "0"})
"""The strings that DuckDB casts to a boolean."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a procedure."""

    name: str
    read: Callable[[Any], Any]
    """A function such as `text` below. It converts a constant of the statement to the argument's value. It is not called for NULL, which
    becomes None."""
    required: bool = False
    """Whether the argument is required; an explicit NULL is accepted."""
    only_named: bool = False
    """Whether it cannot be given by position."""


def named(**readers: Callable[[Any], Any]) -> tuple[Parameter, ...]:
    """Return optional parameters that cannot be given by position, each with its function `read`."""
    return tuple(Parameter(name, read, only_named=True) for name, read in readers.items())


# Functions for `Parameter.read`. Each raises ValueError with a description of what it expects.


def text(value: object) -> str:
    """Return a string; a number is converted to one."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise ValueError("a string")


def identifier(value: object) -> str:
    """Return the name of a schema or table. An empty one is refused: without a name, some procedures change the whole lake."""
    name = text(value)
    if not name:
        raise ValueError("a name that is not empty")
    return name


def integer(value: object) -> int:
    """Return a whole number. A string with one is converted."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError("a whole number")
    try:
        return int(value)
    except ValueError:
        raise ValueError("a whole number") from None


def number(value: object) -> float:
    """Return a number. A string with one is converted."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("a number")
    try:
        return float(value)
    except ValueError:
        raise ValueError("a number") from None


def boolean(value: object) -> bool:
    """Return a boolean, also for 0, 1 or a string that DuckDB casts to one."""
    word = fold(str(value))
    if word in TRUE or word in FALSE:
        return word in TRUE
    raise ValueError("TRUE or FALSE")


def integers(value: object) -> list[int]:
    """Return a list of whole numbers."""
    return _items(value, integer, "a list of whole numbers, such as [1, 2]")


def strings(value: object) -> list[str]:
    """Return a list of strings; one string becomes a list."""
    return _items(value if isinstance(value, list) else [value], text, "a string or a list of strings")


def parts(value: object) -> tuple[str, ...]:
    """Return the parts of a name."""
    expected = "the parts of a name as a list, such as ['lake', 'schema', 'name']"
    found = _items(value, text, expected)
    if not 1 <= len(found) <= 3:
        raise ValueError(expected)
    return tuple(found)


def _items(value: object, read: Callable[[object], T], expected: str) -> list[T]:
    """Return the items of a list, each converted by `read`; the error for a wrong item describes the list."""
    if not isinstance(value, list):
        raise ValueError(expected)
    try:
        return [read(item) for item in value]
    except ValueError:
        raise ValueError(expected) from None


def timestamp(value: object) -> datetime:
    """Return a timestamp, given as TIMESTAMP '…' or as a string. If it has no time zone, the caller applies the session's."""
    if isinstance(value, str):
        try:
            value = python_datetime(value)
        except ValueError:
            value = None
    if not isinstance(value, datetime):
        raise ValueError("a timestamp, such as TIMESTAMP '2026-01-31 12:00:00+00:00'")
    return value


def snapshot_or_timestamp(value: object) -> int | datetime:
    """Return a snapshot id, or a timestamp."""
    try:
        return integer(value)
    except ValueError:
        pass
    try:
        return timestamp(value)
    except ValueError:
        raise ValueError("the number of a snapshot or a timestamp, such as TIMESTAMP '2026-01-31 12:00:00+00:00'") from None


def constant(value: object) -> object:
    """Return any constant unchanged."""
    return value


def split_lake(call: Call, lakes: Iterable[str]) -> tuple[str, Call]:
    """Return the lake that the first argument of a `ducklake_…` call names, and the call without that argument.

    Raises:
        StatementError: the first argument is not one of the lakes.
    """
    known = list(lakes)
    first = call.arguments[0] if call.arguments else None
    if first is None or first.name is not None or fold(str(first.value)) not in map(fold, known):
        names = " or ".join(f"'{name}'" for name in known)
        raise StatementError(f"CALL {call.name}: the first argument must be the lake's name, {names}")
    return str(first.value), Call(call.name, call.arguments[1:])


def arguments(call: Call, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Return the value of each parameter by name; it is None if the argument was not given or is NULL.

    Raises:
        StatementError: an argument is unknown, given twice, missing or of the wrong type.
    """
    expected = ", ".join(f"{parameter.name} => …" if parameter.only_named else parameter.name for parameter in parameters) or "no arguments"
    known = {parameter.name: parameter for parameter in parameters}
    positional = [parameter.name for parameter in parameters if not parameter.only_named]
    given: dict[str, Any] = {}
    for index, argument in enumerate(call.arguments):
        name = fold(argument.name) if argument.name else (positional[index] if index < len(positional) else None)
        name = _SYNONYMS.get(name, name) if name is not None and name not in known else name
        if name is None or name not in known or name in given:
            raise StatementError(f"CALL {call.name} takes {expected}; check argument {argument.name or index + 1}")
        try:
            given[name] = None if argument.value is None else known[name].read(argument.value)
        except ValueError as error:
            raise StatementError(f"CALL {call.name}: {name} must be {error}, not {argument.value!r}") from None
    missing = [parameter.name for parameter in parameters if parameter.required and parameter.name not in given]
    if missing:
        raise StatementError(f"CALL {call.name} needs {', '.join(missing)}; it takes {expected}")
    return {name: given.get(name) for name in known}
