"""Format versions: which are read, which is written, and what to say about the others.

Specification: the key `version` of `ducklake_metadata`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import LakeError

CURRENT = "1.0"
"""The version that is written."""

OLDER = ("0.1", "0.2", "0.3-dev1", "0.3", "0.4-dev1", "0.4")
"""Versions that are read as they are, and migrated to the current one when asked to; oldest first."""


def is_older(version: str | None) -> bool:
    """Whether a lake can be read, and has to be migrated before it can be written.

    Raises:
        LakeError: a version that is not known, which nobody may write to.
    """
    if version == CURRENT:
        return False
    if version in OLDER:
        return True
    if version is None:
        raise LakeError("the catalog has no entry 'version' in ducklake_metadata, so it is not a usable DuckLake catalog")
    raise LakeError(
        f"the lake has format version {version}; this adapter writes {CURRENT} and reads that and {', '.join(OLDER)}. "
        "Install a newer dbt-ducklake"
    )


def written_only_after_migration(version: str) -> LakeError:
    """The refusal to write to an older lake."""
    return LakeError(
        f"the lake has format version {version} and can only be read; to write to it, migrate it to {CURRENT}: "
        "dbt run-operation ducklake_migrate, or CALL ducklake_migrate('lake') with the lake's name, or automatic_migration: true in the "
        "profile. Releases of DuckDB before 1.5.2 can then no longer open it"
    )


PARTIAL_MAX = "partial_max:"
"""How a `partial_file_info` begins that says which snapshot is the newest in a merged file, whose rows carry their snapshot ids."""


@dataclass(frozen=True)
class MergedFile:
    """A data file that was merged before its rows carried snapshot ids, of which some snapshot sees only a part."""

    data_file_id: int
    path: str
    stored_path: str
    """The path as the catalog has it, which may be relative."""
    pieces: tuple[tuple[int, int], ...]
    """(snapshot id, rows of the file up to and with those of that snapshot), ascending."""

    @property
    def newest(self) -> int:
        """The newest snapshot with rows in the file."""
        return self.pieces[-1][0]


@dataclass(frozen=True)
class RewrittenFile:
    """A merged file whose rows carry their snapshot ids now; it lies beside the old one."""

    path: str
    file_size_bytes: int
    footer_size: int


def pieces_of(partial_file_info: str | None) -> tuple[tuple[int, int], ...]:
    """The pieces of a merged file from the text `2:1|4:6`: the first row belongs to snapshot 2, five more came with snapshot 4.

    Up to format 0.3 merging wrote the rows in the order of their snapshots. Nothing if the text is of the other form, `partial_max:4`.
    """
    if not partial_file_info or partial_file_info.startswith(PARTIAL_MAX):
        return ()
    pairs = (piece.split(":") for piece in partial_file_info.split("|"))
    return tuple(sorted((int(snapshot), int(count)) for snapshot, count in pairs))


def row_limit(partial_file_info: str | None, snapshot_id: int) -> int | None:
    """How many rows of a merged file a snapshot sees, counted from the front; None for all that there are."""
    pieces = pieces_of(partial_file_info)
    if not pieces or pieces[-1][0] <= snapshot_id:
        return None
    return max((count for snapshot, count in pieces if snapshot <= snapshot_id), default=0)
