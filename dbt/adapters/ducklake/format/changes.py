"""Logged changes: parse and format the text of `ducklake_snapshot_changes.changes_made`.

Specification: the table `ducklake_snapshot_changes`. The text is a comma-separated list of `kind:value` without blanks. A value is an id,
or for a creation a name in double quotes (`"schema"` or `"schema"."name"`, with quotes inside doubled). Kinds are read ignoring case.
DuckDB refuses to open a lake with an unknown kind, so we write only the kinds in `Kind`.

A snapshot of ours that deletes rows from files or compacts files has guards at the end of the text: an `inserted_into_table` for each
such table without an insert. A guard makes DuckDB refuse a concurrent delete from the table. DuckDB compares its delete with our inserts,
but not always with our deletes and compactions: not if it inlines the delete, and not if our delete file replaces another or begins at an
earlier snapshot. Without the guard it would commit a second delete of a row, a second delete file, or deletes of a file that no longer
exists. Then it counts wrong, or cannot read the table. Both DuckDB and we write inserts before deletes and compactions, so an
`inserted_into_table` after one of these is a guard.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """The kinds of changes, in the order in which the reference implementation writes the entries of one snapshot."""

    DROPPED_SCHEMA = "dropped_schema"
    DROPPED_TABLE = "dropped_table"
    DROPPED_VIEW = "dropped_view"
    CREATED_SCHEMA = "created_schema"
    CREATED_TABLE = "created_table"
    """Also a rename, with the new name only."""
    CREATED_VIEW = "created_view"
    """Also a rename, with the new name only."""
    CREATED_SCALAR_MACRO = "created_scalar_macro"
    CREATED_TABLE_MACRO = "created_table_macro"
    DROPPED_SCALAR_MACRO = "dropped_scalar_macro"
    DROPPED_TABLE_MACRO = "dropped_table_macro"
    INSERTED_INTO_TABLE = "inserted_into_table"
    DELETED_FROM_TABLE = "deleted_from_table"
    ALTERED_TABLE = "altered_table"
    ALTERED_VIEW = "altered_view"
    INLINED_INSERT = "inlined_insert"
    INLINED_DELETE = "inlined_delete"
    INLINE_FLUSH = "inline_flush"
    MERGE_ADJACENT = "merge_adjacent"
    REWRITE_DELETE = "rewrite_delete"
    UNKNOWN = "unknown"
    """A kind of a later version; never written."""


CREATIONS = frozenset(
    {
        Kind.CREATED_SCHEMA,
        Kind.CREATED_TABLE,
        Kind.CREATED_VIEW,
        Kind.CREATED_SCALAR_MACRO,
        Kind.CREATED_TABLE_MACRO,
    }
)
CHANGES_OF_ROWS = frozenset({Kind.INSERTED_INTO_TABLE, Kind.DELETED_FROM_TABLE, Kind.INLINED_INSERT, Kind.INLINED_DELETE})
COMPACTIONS = frozenset({Kind.MERGE_ADJACENT, Kind.REWRITE_DELETE})
MOVES = COMPACTIONS | {Kind.INLINE_FLUSH}
"""Changes that move rows to other files without changing them. Afterwards the files do not show which snapshot changed a row before."""
_GUARDED = COMPACTIONS | {Kind.DELETED_FROM_TABLE}
_KINDS = {kind.value: kind for kind in Kind if kind is not Kind.UNKNOWN} | {
    "flushed_inlined": Kind.INLINE_FLUSH,
    "compacted_table": Kind.REWRITE_DELETE,  # older versions do not distinguish the two compactions; this is the stricter one
}
_RANK = {kind: rank for rank, kind in enumerate(Kind)}


@dataclass(frozen=True)
class Change:
    """One entry. Creations have a name (schemas only `schema`), all others an id."""

    kind: Kind
    object_id: int | None = None
    schema: str | None = None
    name: str | None = None


def parse_entries(text: str | None) -> tuple[Change, ...]:
    """Parse a `changes_made` text with its guards; entries that are not understood get the kind UNKNOWN."""
    return tuple(_parse_entry(entry) for entry in _split(text or "", ","))


def parse_changes(text: str | None) -> tuple[Change, ...]:
    """Return the changes of a `changes_made` text: its entries without the guards."""
    changes: list[Change] = []
    guarded: set[int | None] = set()
    for change in parse_entries(text):
        if change.kind is Kind.INSERTED_INTO_TABLE and change.object_id in guarded:
            continue
        changes.append(change)
        if change.kind in _GUARDED:
            guarded.add(change.object_id)
    return tuple(changes)


def format_changes(changes: Iterable[Change]) -> str | None:
    """Return the `changes_made` text of changes, without duplicates and in the order of `Kind`, then the guards; None if there are none.

    Raises:
        ValueError: an entry has the kind UNKNOWN, which must never be written.
    """
    entries = sorted(set(changes), key=_sort_key)
    if any(change.kind is Kind.UNKNOWN for change in entries):
        raise ValueError("a change of unknown kind cannot be written")
    return ",".join(f"{change.kind.value}:{_value(change)}" for change in [*entries, *_guards(entries)]) or None


def _guards(entries: Sequence[Change]) -> list[Change]:
    inserted = {change.object_id for change in entries if change.kind is Kind.INSERTED_INTO_TABLE}
    guarded = {change.object_id for change in entries if change.kind in _GUARDED and change.object_id is not None}
    return [Change(Kind.INSERTED_INTO_TABLE, table_id) for table_id in sorted(guarded - inserted)]


def _sort_key(change: Change) -> tuple[int, int, str, str]:
    return _RANK[change.kind], change.object_id or 0, change.schema or "", change.name or ""


def _value(change: Change) -> str:
    if change.kind not in CREATIONS:
        return str(change.object_id)
    parts = [part for part in (change.schema, change.name) if part is not None]
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def _parse_entry(entry: str) -> Change:
    word, _, value = (part.strip() for part in entry.partition(":"))
    kind = _KINDS.get(word.lower(), Kind.UNKNOWN)
    if kind in CREATIONS:
        parts = [_unquote(part) for part in _split(value, ".")]
        return Change(kind, schema=parts[0] if parts else "", name=parts[1] if len(parts) > 1 else None)
    if kind is Kind.UNKNOWN or not value.isdecimal():
        return Change(Kind.UNKNOWN, name=entry)
    return Change(kind, int(value))


def _unquote(part: str) -> str:
    if len(part) >= 2 and part[0] == part[-1] == '"':
        return part[1:-1].replace('""', '"')
    return part


def _split(text: str, separator: str) -> list[str]:
    """Split a string at separators outside double quotes, without empty parts."""
    parts, start, quoted = [], 0, False
    for position, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif character == separator and not quoted:
            parts.append(text[start:position])
            start = position + 1
    if text:
        parts.append(text[start:])
    return [part for part in parts if part]
