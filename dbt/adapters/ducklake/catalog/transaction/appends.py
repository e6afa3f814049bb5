"""Rows that were only appended to a table can be separated from other staged changes of it, and joined with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..staged import RowChanges, StagedFile, StagedRows


def appended(start: RowChanges, after: RowChanges) -> RowChanges | None:
    """Return the rows that were appended between two states of a table's changes; None if anything else has changed."""
    files, inlined = after.files[len(start.files) :], after.inlined[len(start.inlined) :]
    rest = replace(
        after,
        files=after.files[: len(start.files)],
        inlined=after.inlined[: len(start.inlined)],
        reserved_row_ids=start.reserved_row_ids,
    )
    if rest != start or any(each.file.embedded_row_ids for each in files):
        return None
    return RowChanges(
        files=tuple(_moved_files(files, -start.reserved_row_ids)),
        inlined=tuple(_moved_rows(inlined, -start.reserved_row_ids)),
        reserved_row_ids=after.reserved_row_ids - start.reserved_row_ids,
    )


def with_appended(changes: RowChanges, more: RowChanges) -> RowChanges:
    """Return changes of a table with more rows appended, as `appended` returns them."""
    return replace(
        changes,
        files=(*changes.files, *_moved_files(more.files, changes.reserved_row_ids)),
        inlined=(*changes.inlined, *_moved_rows(more.inlined, changes.reserved_row_ids)),
        reserved_row_ids=changes.reserved_row_ids + more.reserved_row_ids,
    )


def _moved_files(files: Iterable[StagedFile], by: int) -> Iterable[StagedFile]:
    return (replace(each, row_id_offset=each.row_id_offset + by) for each in files)


def _moved_rows(rows: Iterable[StagedRows], by: int) -> Iterable[StagedRows]:
    return (replace(each, offsets=tuple(offset + by for offset in each.offsets)) for each in rows)
