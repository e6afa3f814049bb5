"""The block `secrets` of a profile: how to reach object stores, with the names of DuckDB's secrets and of dbt-duckdb's block."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, get_type_hints

from dbt_common.exceptions import DbtRuntimeError

from .errors import ConfigurationError
from .spark.session.s3_secrets import S3Secret
from .unknown import refuse_other_types, refuse_unknown

_FIELDS = tuple(each.name for each in dataclasses.fields(S3Secret))
_ONLY_NAMES = ("type", "name")
"""Fields of an entry that are not fields of the secret."""


def storage_secrets(given: Any) -> tuple[S3Secret, ...]:
    """Check the entries of `secrets` and return them.

    Args:
        given: the list in the profile, or a single entry.

    Raises:
        DbtRuntimeError: an entry is wrong; the message names its number and field, and contains no key.
    """
    if given is None:
        return ()
    entries = [given] if isinstance(given, Mapping) else given
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise DbtRuntimeError("`secrets` must be a list of maps, each with `type: s3` and fields such as `key_id`, `secret` and `endpoint`")
    found = tuple(_secret(entry, f"`secrets`: entry {number}") for number, entry in enumerate(entries, start=1))
    scopes = [each.bucket for each in found]
    for scope in scopes:
        if scopes.count(scope) > 1:
            raise DbtRuntimeError(f"`secrets`: two entries are for {'all buckets' if scope is None else scope}; give each its own `scope`")
    return found


def _secret(entry: Mapping[str, Any], where: str) -> S3Secret:
    fields = {str(name).lower(): value for name, value in entry.items() if value is not None}
    kind = fields.get("type")
    if str(kind).lower() != "s3":
        raise DbtRuntimeError(
            f"{where}: `type` must be s3. For other stores set Spark's connector in `spark.config` and the credentials in the environment"
        )
    refuse_unknown(where, fields, [*_FIELDS, *_ONLY_NAMES])
    refuse_other_types("secrets.", fields, get_type_hints(S3Secret))
    try:
        return S3Secret(**{name: fields[name] for name in _FIELDS if name in fields})
    except ConfigurationError as error:
        raise DbtRuntimeError(f"{where}: {error}") from error
