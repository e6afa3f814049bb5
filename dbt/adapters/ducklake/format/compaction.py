"""Compaction: which data files become one, and what a commit is told about it.

Specification: the pages "Merge Adjacent Files" and "Rewrite Heavily Deleted Files".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .files import DataFile, WrittenFile


@dataclass(frozen=True)
class Candidate:
    """A live data file with what decides which others it can be united with."""

    file: DataFile
    schema_version: int
    """Of its table, when the file began: the columns that it must keep, for the sake of older snapshots."""
    partition_id: int | None
    partition_values: tuple[str | None, ...]
    newest: int
    """The greatest snapshot that a row of it belongs to."""

    @property
    def deleted(self) -> int:
        """How many of its rows are deleted."""
        known = 0 if self.file.delete_file is None else self.file.delete_file.delete_count
        return known + len(self.file.inlined_deletes)

    @property
    def live_bytes(self) -> int:
        """What its rows that are left take in a file, about."""
        rows = max(self.file.record_count, 1)
        return self.file.size_bytes * max(rows - self.deleted, 0) // rows


Group = tuple[Candidate, ...]
"""Files that become one, in the order of their rows; alike in schema version and partition."""


@dataclass(frozen=True)
class Compacted:
    """A group that was united. No file: all its rows were deleted."""

    group: Group
    file: WrittenFile | None
    row_id_start: int | None = None
    """Not None: the rows have consecutive row ids from here on, and none in the file."""


@dataclass(frozen=True)
class Compaction:
    """What a commit has to do. A rewrite ends the old files; a merge takes their place at every snapshot, and they vanish."""

    units: tuple[Compacted, ...]
    rewrites: bool

    def written(self) -> Iterator[WrittenFile]:
        """The files that a commit would register."""
        yield from (unit.file for unit in self.units if unit.file is not None)


def to_merge(candidates: Iterable[Candidate], target: int, at_least: int = 0, below: int | None = None) -> list[Group]:
    """The groups of small files: neighbours without deletes, as many as reach `target` bytes; a file alone stays as it is.

    Args:
        candidates: in the order of their rows.
        target: files of this size are not united; in bytes.
        at_least: smaller files are left alone.
        below: larger files, and those of this size, are left alone; None: the target.
    """
    limit = target if below is None else min(target, below)
    small = [each for each in candidates if at_least <= each.file.size_bytes < limit and not each.file.is_touched]
    return [group for group in _packed(small, target) if len(group) > 1]


def to_rewrite(candidates: Iterable[Candidate], target: int, threshold: float) -> list[Group]:
    """The groups of files of which at least the share `threshold` of the rows is deleted."""
    worn = [each for each in candidates if each.deleted and each.deleted >= threshold * each.file.record_count]
    return _packed(worn, target)


def consecutive_row_ids(group: Group) -> bool:
    """Whether the row ids of the files follow each other; to be trusted of files that have none in them."""
    ends = [None if each.file.row_id_start is None else each.file.row_id_start + each.file.record_count for each in group]
    starts = [each.file.row_id_start for each in group]
    return None not in starts and starts[1:] == ends[:-1]


def _packed(candidates: Sequence[Candidate], target: int) -> list[Group]:
    open_groups: dict[object, list[Candidate]] = {}
    sizes: dict[object, int] = {}
    groups: list[list[Candidate]] = []
    for each in candidates:
        key = (each.schema_version, each.partition_id, each.partition_values)
        if key not in open_groups or sizes[key] >= target:
            open_groups[key], sizes[key] = [], 0
            groups.append(open_groups[key])
        open_groups[key].append(each)
        sizes[key] += each.live_bytes
    return [tuple(group) for group in groups]
