"""Fields of a profile that do not exist are refused by name."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any

from dbt_common.exceptions import DbtRuntimeError


def refuse_unknown(where: str, given: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse a field that is not known, with what was probably meant.

    Raises:
        DbtRuntimeError: the text names the field.
    """
    for name in given:
        if name in known:
            continue
        similar = difflib.get_close_matches(str(name), known, n=1)
        hint = f"did you mean `{similar[0]}`?" if similar else f"known are {', '.join(sorted(known))}"
        raise DbtRuntimeError(f"{where} has the unknown field `{name}`: {hint}")
