"""Convert Python values and JSON texts to lists, maps, structs and JSON; the values inside are converted by given functions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

Convert = Callable[[Any], Any]


def json_text(value: Any) -> str:
    """Return a value as JSON; a string must be JSON already.

    Raises:
        ValueError: the string is not JSON, or has half of a surrogate pair, which has no bytes.
    """
    if isinstance(value, str):
        json.dumps(json.loads(value), ensure_ascii=False).encode()
        return value
    return json.dumps(value, ensure_ascii=False, default=lambda each: float(each) if isinstance(each, Decimal) else str(each))


def sequence(value: Any) -> list[Any]:
    """Return the items of a list.

    Raises:
        TypeError: the value is an object or a string.
        ValueError: the string is not JSON.
    """
    loaded = _loaded(value)
    if isinstance(loaded, Mapping | str):
        raise TypeError
    return list(loaded)


def map_entries(value: Any, convert_key: Convert, convert_value: Convert) -> list[tuple[Any, Any]]:
    """Return the converted entries of a map, which is an object or a list of pairs.

    Raises:
        ValueError: a key is NULL or repeated, which no reader accepts, or the string is not JSON.
    """
    loaded = _loaded(value)
    entries: list[tuple[Any, Any]] = []
    for key, entry in loaded.items() if isinstance(loaded, Mapping) else loaded:
        if key is None:
            raise ValueError("a key is NULL")
        entries.append((convert_key(key), convert_value(entry)))
    if _has_repeated([key for key, _ in entries]):
        raise ValueError("a key is repeated")
    return entries


def struct_fields(value: Any, fields: Mapping[str, Convert]) -> dict[str, Any]:
    """Return the converted fields of a struct, which is an object, or a list of all values in order.

    Args:
        value: the struct.
        fields: the function for each field, by its name.

    Raises:
        ValueError: a field is unknown, the list has another length, or the string is not JSON.
    """
    loaded = _loaded(value)
    if isinstance(loaded, Mapping):
        unknown = [name for name in loaded if name not in fields]
        if unknown:
            raise ValueError(f"there is no field {unknown[0]}")
        return {name: convert(loaded.get(name)) for name, convert in fields.items()}
    items = list(loaded)
    return {name: convert(item) for (name, convert), item in zip(fields.items(), items, strict=True)}


def _loaded(value: Any) -> Any:
    """Return the value of a JSON text, with all digits of its decimals; another value as it is."""
    return json.loads(value, parse_float=Decimal, object_pairs_hook=_object) if isinstance(value, str) else value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if _has_repeated([name for name, _ in pairs]):
        raise ValueError("a key is repeated")
    return dict(pairs)


def _has_repeated(values: list[Any]) -> bool:
    try:
        return len(set(values)) < len(values)
    except TypeError:  # lists and structs
        return any(value in values[:index] for index, value in enumerate(values))
