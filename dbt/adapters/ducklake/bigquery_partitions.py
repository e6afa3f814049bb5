"""The config `partition_by` in dbt-bigquery's form, which packages use for every adapter that they do not know: a map with a `field`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from .format.identifiers import backquoted

_PLAIN = re.compile(r"\w+")
_PARTS = ("year", "month", "day", "hour")
"""The partition keys of calendar parts; a granularity needs all parts up to its own, since `month` alone is the same in every year."""
_TIMES = ("timestamp", "datetime")
_KNOWN = ("field", "data_type", "granularity", "copy_partitions")


def partition_keys(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of a lake that make the same partitions.

    Args:
        given: `field`, a column; `data_type`: `date` (the default), `timestamp` or `datetime`; `granularity`: `day` (the default), `month`,
            `year`, or for times `hour`. `copy_partitions` is about how BigQuery replaces partitions, and has no effect.

    Raises:
        DbtRuntimeError: a lake has no such partitions; the message names the config.
    """
    field, kind = given.get("field"), str(given.get("data_type") or "date").lower()
    granularity = str(given.get("granularity") or "day").lower()
    unknown = [name for name in given if name not in _KNOWN and given[name]]
    if not isinstance(field, str) or not field:
        raise DbtRuntimeError(f"the config partition_by is a map without a column as its `field`: {dict(given)!r}")
    if kind not in ("date", *_TIMES) or unknown:
        reason = f"{', '.join(unknown)} of the map" if unknown else f"the data_type {kind}"
        raise DbtRuntimeError(
            f"the config partition_by: a lake has no counterpart of {reason} in {dict(given)!r}; "
            f"write a column or an expression, such as {field} or bucket(16, {field})"
        )
    if granularity not in (_PARTS if kind in _TIMES else _PARTS[:3]):
        raise DbtRuntimeError(
            f"the config partition_by: the granularity of a {kind} is {', '.join(_PARTS[: 4 if kind in _TIMES else 3])}, not {granularity}"
        )
    column = field if _PLAIN.fullmatch(field) else backquoted(field)
    if kind == "date" and granularity == "day":
        return (column,)
    return tuple(f"{part}({column})" for part in _PARTS[: _PARTS.index(granularity) + 1])
