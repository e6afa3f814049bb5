"""Compaction: which data files are merged, and the values that describe the result to a commit.

Specification: the pages "Merge Adjacent Files" and "Rewrite Heavily Deleted Files".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .files import DataFile, WrittenFile
from .objects import Column


@dataclass(frozen=True)
class Candidate:
    """A live data file and the properties that decide which files it can be merged with."""

    file: DataFile
    schema_version: int
    """The table's schema version when the file began. It fixes the columns that the file must keep for older snapshots."""
    partition_id: int | None
    partition_values: tuple[str | None, ...]
    newest: int
    """The greatest snapshot id among its rows."""

    @property
    def deleted(self) -> int:
        """The number of its rows that are deleted."""
        in_file = 0 if self.file.delete_file is None else self.file.delete_file.delete_count
        return in_file + len(self.file.inlined_deletes)

    @property
    def live_bytes(self) -> int:
        """The approximate size of its remaining rows, in bytes."""
        rows = max(self.file.record_count, 1)
        return self.file.size_bytes * max(rows - self.deleted, 0) // rows


Group = tuple[Candidate, ...]
"""Files to merge, in the order of their rows, with the same schema version and partition."""


@dataclass(frozen=True)
class Compacted:
    """A group that was merged. `file` is None if all its rows were deleted."""

    group: Group
    file: WrittenFile | None
    row_id_start: int | None = None
    """Not None if the rows have consecutive row ids from this number on, which are not embedded in the file."""
    columns: tuple[Column, ...] = ()
    """The columns with which the file was written, which may be those of an earlier schema."""


@dataclass(frozen=True)
class Compaction:
    """The result for a commit. A rewrite ends the old files; a merge replaces them at every snapshot, and removes them."""

    units: tuple[Compacted, ...]
    rewrites: bool
    left: int = 0
    """How many files a commit left as they were, because concurrent writers had changed files of their groups."""

    def written(self) -> Iterator[WrittenFile]:
        """Yield the files that a commit registers."""
        yield from (unit.file for unit in self.units if unit.file is not None)


def to_merge(candidates: Iterable[Candidate], target: int, at_least: int = 0, below: int | None = None) -> list[Group]:
    """Group small files without deletes. Groups of one file are left out.

    Args:
        candidates: the files, in the order of their rows.
        target: the target size of a file, in bytes. Files of this size are not merged, and a group that reaches it is complete.
        at_least: the minimum size of a file to merge, in bytes.
        below: files of at least this size in bytes are not merged; None: `target`.
    """
    limit = target if below is None else min(target, below)
    small = [each for each in candidates if at_least <= each.file.size_bytes < limit and not each.file.has_deletes]
    return [group for group in _packed(small, target) if len(group) > 1]


def to_rewrite(candidates: Iterable[Candidate], target: int, threshold: float) -> list[Group]:
    """Group the files in which at least the share `threshold` (0 to 1) of the rows is deleted; `target` is that of `to_merge`."""
    eligible = [each for each in candidates if each.deleted and each.deleted >= threshold * each.file.record_count]
    return _packed(eligible, target)


def consecutive_row_ids(group: Group) -> bool:
    """Whether the row ids of the files are consecutive. The answer is valid only for files without embedded row ids."""
    ends = [None if each.file.row_id_start is None else each.file.row_id_start + each.file.record_count for each in group]
    starts = [each.file.row_id_start for each in group]
    return None not in starts and starts[1:] == ends[:-1]


def _packed(candidates: Sequence[Candidate], target: int) -> list[Group]:
    """Divide files into groups of one schema version and partition; a group that has `target` bytes of live rows is complete."""
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
