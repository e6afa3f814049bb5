"""Refuse unknown fields of a profile by name."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any

from dbt_common.exceptions import DbtRuntimeError


def refuse_unknown(where: str, given: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse unknown fields, and suggest a similar known one.

    Args:
        where: the part of the profile, for the message.
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
