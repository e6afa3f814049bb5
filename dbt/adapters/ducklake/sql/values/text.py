"""Pieces of the user's text that Spark will evaluate: the text as written, and the positions of the names in it.

Binding splices replacements into that text; it is never regenerated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ...format.identifiers import backquoted, fold

T = TypeVar("T")


@dataclass(frozen=True)
class Name:
    """A name of one to three parts as the user wrote it, unquoted: (database,) (schema,) object."""

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.parts)

    @property
    def quoted(self) -> str:
        """The name as Spark quotes it."""
        return ".".join(map(backquoted, self.parts))


@dataclass(frozen=True)
class TimeTravel:
    """`version` or `timestamp` (SQL text of a constant expression), never both."""

    version: int | None = None
    timestamp: str | None = None


@dataclass(frozen=True)
class Reference:
    """A place in a text where a relation is named: text[start:end] covers the name and its time-travel clause, not its alias."""

    start: int
    end: int
    name: Name
    at: TimeTravel | None = None
    aliased: bool = False
    """The user gave it an alias, or none may stand here. Otherwise the replacement must add one: the last part of the name."""
    enclosed: bool = False
    """The alias to add must stand in parentheses with the name, because TABLESAMPLE follows the name."""
    alias: str | None = None
    """The alias to add where it is not the last part of the name: the user's own, where it stands before the time travel (DuckDB's
    order, `t x AT (VERSION => 3)`; text[start:end] covers it then), or one that tells two relations of the same last part apart."""
    arguments: str | None = None
    """Not None: a call that may be one of the lake's functions, and what stands in its brackets, which text[start:end] covers too."""
    virtual: tuple[str, ...] = ()
    """The virtual columns (`VIRTUAL_COLUMNS`) that its SELECT, or one inside, names."""
    called: str | None = None
    """With `virtual`: the name by which its columns are qualified."""


@dataclass(frozen=True)
class Qualifier:
    """A place where a column is qualified by two or more parts (`lake.s.t.c`, `s.t.c`): text[start:end] covers the qualifier with all
    its parts but not the column; it is replaced by the quoted last part when `name` resolves to a lake relation."""

    start: int
    end: int
    name: Name
    alias: str | None = None
    """What the qualifier is replaced by, where it is not the last part of the name."""


VIRTUAL_COLUMNS = ("rowid", "snapshot_id", "filename", "file_row_number")
"""Columns that a table of a lake has besides those it was given, as in DuckDB: none of `*`, and hidden by a column of that name."""


@dataclass(frozen=True)
class Star:
    """A `*` or `q.*` that must not show virtual columns, which have become real ones in its SELECT.

    text[:end] ends with it, or, if the user `excepts` columns already, with the bracket that opens their list.
    """

    end: int
    excepts: bool
    references: tuple[Reference, ...]
    """Those whose columns it shows."""


@dataclass(frozen=True)
class FunctionCall:
    """A place where a function is called by a name of two or three parts: text[start:end] covers the name."""

    start: int
    end: int
    name: Name


@dataclass(frozen=True)
class Sql:
    """SQL text with the positions of the relations that it names; names of CTEs of the same text are not among them."""

    text: str
    references: tuple[Reference, ...] = ()
    qualifiers: tuple[Qualifier, ...] = ()
    calls: tuple[FunctionCall, ...] = ()
    stars: tuple[Star, ...] = ()
    virtual: tuple[str, ...] = ()
    """The virtual columns that are named outside of subqueries, or inside; for conditions, which name columns of the target."""

    def pieces(
        self,
        resolve: Callable[[Reference], T | None],
        known: Iterable[Name] = (),
        function: Callable[[Name], T | None] = lambda name: None,
        virtual: Callable[[Reference], tuple[str, ...]] = lambda reference: (),
    ) -> tuple[str | T, ...]:
        """The text cut at its names, with a value in the place of each name that has one, and an alias behind where the user gave none.

        Args:
            resolve: the value of a reference; None leaves it, and the columns that it qualifies, as they are.
            known: names bound outside this text, such as the target of the statement that this text is a condition of.
            function: the value for the name of a function.
            virtual: which virtual columns a reference that has a value shows as if they were real; asked after `resolve`.
        """
        resolved = {_folded(name): True for name in known}
        edits: list[_Edit[T]] = []
        for reference in self.references:
            value = resolve(reference)
            resolved[_folded(reference.name)] = value is not None
            if value is not None:
                edits.append(_Edit(reference.start, reference.end, *_with_alias(reference, value)))
        for qualifier in self.qualifiers:
            if resolved.get(_folded(qualifier.name)):
                edits.append(_Edit(qualifier.start, qualifier.end, backquoted(qualifier.alias or qualifier.name.parts[-1])))
        for call in self.calls:
            value = function(call.name)
            if value is not None:
                edits.append(_Edit(call.start, call.end, "", value))
        for star in self.stars:
            hidden = [f"{backquoted(each.called or '')}.{backquoted(name)}" for each in star.references for name in virtual(each)]
            if hidden:
                edits.append(_Edit(star.end, star.end, f"{', '.join(hidden)}, " if star.excepts else f" EXCEPT ({', '.join(hidden)})"))
        return _cut(self.text, edits)


@dataclass(frozen=True)
class _Edit(Generic[T]):
    """text[start:end] gives way to `before`, a value, and `behind`."""

    start: int
    end: int
    before: str
    value: T | None = None
    behind: str = ""


def _with_alias(reference: Reference, value: T) -> tuple[str, T, str]:
    """What stands before the value, the value, and what stands behind it."""
    if reference.aliased:
        return "", value, ""
    alias = f" AS {backquoted(reference.alias or reference.name.parts[-1])}"
    return ("(", value, f"{alias})") if reference.enclosed else ("", value, alias)


def _cut(text: str, edits: list[_Edit[T]]) -> tuple[str | T, ...]:
    pieces: list[str | T] = []
    written, position = "", 0
    for edit in sorted(edits, key=lambda each: (each.start, each.end)):
        written += text[position : edit.start] + edit.before
        if edit.value is not None:
            pieces += [written, edit.value]
            written = edit.behind
        position = edit.end
    return (*pieces, written + text[position:])


def _folded(name: Name) -> tuple[str, ...]:
    return tuple(fold(part) for part in name.parts)
