"""Format versions: which are read, which is written, and the errors for the others.

Specification: the key `version` of `ducklake_metadata`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import LakeError

CURRENT = "1.0"
"""The version that we write."""

OLDER = ("0.1", "0.2", "0.3-dev1", "0.3", "0.4-dev1", "0.4")
"""Versions that we read without migration, and migrate to the current one on request; oldest first."""


def is_older(version: str | None) -> bool:
    """Whether a lake can be read but must be migrated before it can be written.

    Raises:
        LakeError: the version is missing or not known.
    """
    if version == CURRENT:
        return False
    if version in OLDER:
        return True
    if version is None:
        raise LakeError("the catalog has no entry 'version' in ducklake_metadata, so it is not a usable DuckLake catalog")
    raise LakeError(
        f"the lake has format version {version} in ducklake_metadata; this adapter writes {CURRENT} and reads that and {', '.join(OLDER)}. "
        "Install a newer dbt-ducklake"
    )


def migration_required(version: str) -> LakeError:
    """Return the error for writing to an older lake."""
    return LakeError(
        f"the lake has format version {version} and can only be read; to write to it, migrate it to {CURRENT}: "
        "dbt run-operation ducklake_migrate, or CALL ducklake_migrate('lake') with the lake's name, or automatic_migration: true in the "
        "profile. Releases of DuckDB before 1.5.2 can then no longer open it"
    )


PARTIAL_MAX = "partial_max:"
"""The prefix of a `partial_file_info` that has the newest snapshot of a merged file, whose rows contain their snapshot ids."""


@dataclass(frozen=True)
class MergedFile:
    """A data file that was merged without snapshot ids in its rows. Older snapshots see only some of the rows."""

    data_file_id: int
    path: str
    stored_path: str
    """The path in the catalog, which may be relative."""
    pieces: tuple[tuple[int, int], ...]
    """(snapshot id, number of rows of the file that this snapshot sees), ascending."""

    @property
    def newest(self) -> int:
        """The newest snapshot with rows in the file."""
        return self.pieces[-1][0]


@dataclass(frozen=True)
class RewrittenFile:
    """A merged file rewritten with snapshot ids in its rows, in the same directory as the old file."""

    path: str
    file_size_bytes: int
    footer_size: int


def pieces_of(partial_file_info: str | None) -> tuple[tuple[int, int], ...]:
    """Parse the pieces of a merged file, such as `2:1|4:6`: the first row is from snapshot 2, the next five from snapshot 4.

    Up to format 0.3 a merge wrote rows in the order of their snapshots. The other form, `partial_max:4`, has no pieces.
    """
    if not partial_file_info or partial_file_info.startswith(PARTIAL_MAX):
        return ()
    pairs = (piece.split(":") for piece in partial_file_info.split("|"))
    return tuple(sorted((int(snapshot), int(count)) for snapshot, count in pairs))


def row_limit(partial_file_info: str | None, snapshot_id: int) -> int | None:
    """Return how many rows from the start of a merged file a snapshot sees; None for all rows."""
    pieces = pieces_of(partial_file_info)
    if not pieces or pieces[-1][0] <= snapshot_id:
        return None
    return max((count for snapshot, count in pieces if snapshot <= snapshot_id), default=0)
