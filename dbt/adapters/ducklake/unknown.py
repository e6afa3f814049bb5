"""Refuse unknown fields of a profile, and fields of the wrong type, by name."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from types import UnionType
from typing import Any, Union, get_args, get_origin

from dbt_common.exceptions import DbtRuntimeError

_DESCRIPTIONS = {
    bool: "true or false",
    str: "a string",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a map of names and values",
    type(None): "empty",
}


def refuse_unknown(where: str, given: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse unknown fields, and suggest a similar known one.

    Args:
        where: the part of the profile, as the subject of the message.
        given: the fields of the profile.
        known: the names of all known fields.

    Raises:
        DbtRuntimeError: a field is unknown; the message names it.
    """
    for name in given:
        if name in known:
            continue
        similar = difflib.get_close_matches(str(name), known, n=1)
        hint = f"did you mean `{similar[0]}`?" if similar else f"known are {', '.join(sorted(known))}"
        raise DbtRuntimeError(f"{where} has the unknown field `{name}`: {hint}")


def refuse_other_types(where: str, given: Mapping[str, Any], types: Mapping[str, Any]) -> None:
    """Refuse fields whose YAML value does not have the field's type.

    Args:
        where: the prefix of the field's name in the message, such as `spark.`.
        given: the fields of the profile.
        types: the type annotation of each field. It is checked if it is a simple type, a list, a map, or a union of these.

    Raises:
        DbtRuntimeError: the message names the field, and not its value, which may be a secret.
    """
    for name, value in given.items():
        allowed = _classes(types.get(name))
        # The exact type, because a boolean is also an instance of int.
        if not all(each in _DESCRIPTIONS for each in allowed) or type(value) in allowed:
            continue
        expected = " or ".join(_DESCRIPTIONS[each] for each in allowed if each is not type(None))
        raise DbtRuntimeError(f"`{where}{name}` must be {expected}, not {_DESCRIPTIONS.get(type(value), 'a ' + type(value).__name__)}")


def _classes(annotation: Any) -> list[Any]:
    """Return the classes of a type annotation without their parameters."""
    parts = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return [get_origin(each) or each for each in parts]
