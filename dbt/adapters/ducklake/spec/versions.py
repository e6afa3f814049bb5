"""Format versions: which are understood, and what to say about the others.

Specification: the key `version` of `ducklake_metadata`.
"""

from __future__ import annotations

from ..errors import LakeError

CURRENT = "1.0"
OLDER = ("0.1", "0.2", "0.3-dev1", "0.3", "0.4-dev1", "0.4")
"""Versions that the reference migrates to 1.0 when asked to."""


def require_supported(version: str | None) -> None:
    """Accept the current format version.

    Raises:
        LakeError: the lake has another one; the text says how to bring it to this one, if that is possible.
    """
    if version == CURRENT:
        return
    if version in OLDER:
        raise LakeError(
            f"the lake has format version {version}, this adapter reads {CURRENT}; attach it once with DuckDB's ducklake "
            "extension and the option AUTOMATIC_MIGRATION to bring it up to date (older clients can then no longer open it)"
        )
    if version is None:
        raise LakeError("the catalog has no entry 'version' in ducklake_metadata, so it is not a usable DuckLake catalog")
    raise LakeError(f"the lake has format version {version}, this adapter reads {CURRENT}; install a newer dbt-ducklake")
