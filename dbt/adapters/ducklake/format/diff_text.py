"""The differences of a table as text, JSON, or Markdown for a pull request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from datetime import timezone
from typing import Any

from .diff import ADDED, CHANGED, REMOVED, ColumnChange, ComparedRelation, Example, TableDiff
from .printable import printable

Show = Callable[[str], str]
"""Returns a name or a value as it is shown."""
FORMATS = ("text", "json", "markdown")
_MARKS = {ADDED: "+", REMOVED: "-", CHANGED: "~", "dropped": "-"}
_MAX_LENGTH = 60
"""The maximum number of characters of a value in text and Markdown."""


def render(diff: TableDiff, form: str) -> str:
    """Return the differences in one of `FORMATS`, without a newline at the end."""
    match form:
        case "json":
            return json.dumps(_plain(diff), indent=2, ensure_ascii=False)
        case "markdown":
            return "\n".join(_markdown(diff))
    return "\n".join(_text(diff))


def _plain(diff: TableDiff) -> dict[str, Any]:
    rows = diff.rows
    return {
        "from": _side(diff.before),
        "to": _side(diff.after),
        "equal": diff.is_empty,
        "columns": [_plain_column(change) for change in diff.columns],
        "key": None if diff.key is None else list(diff.key),
        "not_compared": list(diff.not_compared),
        "rows": {
            ADDED: rows.added,
            REMOVED: rows.removed,
            CHANGED: rows.changed,
            "changed_by_column": dict(rows.by_column),
            "without_unique_key": {"from": rows.unpaired[0], "to": rows.unpaired[1]},
        },
        "examples": [asdict(example) for example in rows.examples],
    }


def _side(side: ComparedRelation) -> dict[str, Any]:
    return {
        "relation": side.name,
        "snapshot_id": side.snapshot_id,
        "snapshot_time": side.time.astimezone(timezone.utc).isoformat(),
        "staged_changes": side.staged,
    }


def _plain_column(change: ColumnChange) -> dict[str, Any]:
    fields = {"type": change.type, "nullable": change.nullable, "name": change.renamed}
    differing = {name: {"from": values[0], "to": values[1]} for name, values in fields.items() if values is not None}
    return {"column": change.name, "change": change.kind, **differing}


def _text(diff: TableDiff) -> Iterator[str]:
    yield f"from {_place(diff.before)}"
    yield f"to   {_place(diff.after)}"
    if diff.is_empty:
        yield "no differences"
    if diff.columns:
        yield ""
        yield f"columns: {_column_counts(diff)}"
        for change in diff.columns:
            yield f"  {_MARKS[change.kind]} {_shown(change.name)}: {_details(change)}"
    if not diff.rows.is_empty:
        yield ""
        yield f"rows by {_key(diff)}: {_row_counts(diff)}"
        for name, count in diff.rows.by_column.items():
            yield f"  ~ {_shown(name)}: {count:,} changed"
    yield from _notes(diff, str)
    if diff.rows.examples:
        yield ""
        yield "examples:"
        for example in diff.rows.examples:
            yield f"  {_MARKS[example.kind]} {_example(example, _shown)}"


def _markdown(diff: TableDiff) -> Iterator[str]:
    yield f"### {_code(diff.after.name)}: {_headline(diff)}"
    yield ""
    yield f"From {_place(diff.before, _code)} to {_place(diff.after, _code)}."
    if diff.columns:
        yield ""
        yield "| column | | |"
        yield "| --- | --- | --- |"
        for change in diff.columns:
            yield f"| {_code(change.name)} | {change.kind} | {_details(change, _code)} |"
    if not diff.rows.is_empty:
        yield ""
        yield f"| rows by {_key(diff, _code)} | |"
        yield "| --- | ---: |"
        for kind in (ADDED, REMOVED, CHANGED):
            yield f"| {kind} | {getattr(diff.rows, kind):,} |"
        for name, count in diff.rows.by_column.items():
            yield f"| changed in {_code(name)} | {count:,} |"
    for note in _notes(diff, _code):
        yield ""
        yield note
    if diff.rows.examples:
        yield ""
        yield "<details><summary>Examples</summary>"
        yield ""
        yield "| | key | values |"
        yield "| --- | --- | --- |"
        for example in diff.rows.examples:
            yield f"| {example.kind} | {_named(example.key, _code)} | {_values(example, _code)} |"
        yield ""
        yield "</details>"


def _headline(diff: TableDiff) -> str:
    if diff.is_empty:
        return "no differences"
    parts = [] if diff.rows.is_empty else [f"rows {_row_counts(diff)}"]
    return "; ".join([*parts, *([f"columns {_column_counts(diff)}"] if diff.columns else [])])


def _row_counts(diff: TableDiff) -> str:
    rows = diff.rows
    return f"{rows.added:,} added, {rows.removed:,} removed, {rows.changed:,} changed"


def _column_counts(diff: TableDiff) -> str:
    kinds = [change.kind for change in diff.columns]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("added", "dropped", "changed"))


def _place(side: ComparedRelation, show: Show = str) -> str:
    time = f"{side.time.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    return f"{show(side.name)} at snapshot {side.snapshot_id} ({time})" + (" with staged changes" if side.staged else "")


def _key(diff: TableDiff, show: Show = str) -> str:
    return "row id" if diff.key is None else ", ".join(show(name) for name in diff.key)


def _details(change: ColumnChange, show: Show = str) -> str:
    parts = []
    if change.renamed is not None:
        parts.append(f"renamed from {show(change.renamed[0])}")
    match change.type:
        case None:
            pass
        case (None, str(type_)) | (str(type_), None):
            parts.append(show(type_))
        case (str(before), str(after)):
            parts.append(f"{show(before)} → {show(after)}")
    if change.nullable is not None:
        parts.append("now nullable" if change.nullable[1] else "now NOT NULL")
    return ", ".join(parts)


def _notes(diff: TableDiff, show: Show) -> Iterator[str]:
    if diff.not_compared:
        yield f"not compared, because their types differ: {', '.join(show(name) for name in diff.not_compared)}"
    before, after = diff.rows.unpaired
    if before or after:
        yield (
            f"the key is NULL or not unique in {before:,} rows before and {after:,} after: these were compared as whole rows, "
            "so a change of such a row counts as removed and added"
        )


def _example(example: Example, show: Show) -> str:
    if example.kind == CHANGED:
        return f"{_named(example.key, show)}: {_values(example, show)}"
    return _values(example, show)


def _values(example: Example, show: Show) -> str:
    if example.kind == CHANGED:
        before, after = example.before or {}, example.after or {}
        return ", ".join(f"{show(name)} {_value(before[name], show)} → {_value(after[name], show)}" for name in after)
    return _named(example.after if example.kind == ADDED else example.before, show)


def _named(values: Mapping[str, str | None] | None, show: Show) -> str:
    return ", ".join(f"{show(name)} = {_value(value, show)}" for name, value in (values or {}).items())


def _value(value: str | None, show: Show) -> str:
    return "NULL" if value is None else show(value)


def _shown(text: str) -> str:
    """Return a value as one line, without control characters, which a terminal would interpret, and truncated to `_MAX_LENGTH`."""
    plain = printable(text[: _MAX_LENGTH + 1])
    return plain if len(plain) <= _MAX_LENGTH else plain[:_MAX_LENGTH] + "…"


def _code(text: str) -> str:
    """Return a value as code in a cell of a Markdown table, with all Markdown syntax escaped."""
    plain = _shown(text)
    if not plain.strip():
        return f"`'{plain}'`"
    fence = "`" * (max(map(len, re.findall("`+", plain)), default=0) + 1)
    space = " " if plain.startswith("`") or plain.endswith("`") else ""
    return fence + space + plain.replace("|", "\\|") + space + fence
