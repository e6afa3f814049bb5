"""Pieces of the user's text that Spark will evaluate: the text as written, and the positions of the names in it.

Binding splices replacements into that text; it is never regenerated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...spec.identifiers import backquoted


@dataclass(frozen=True)
class Name:
    """A name of one to three parts as the user wrote it, unquoted: (database,) (schema,) object."""

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.parts)


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

    def bind(
        self,
        resolve: Callable[[Reference], str | None],
        known: Iterable[Name] = (),
        function: Callable[[Name], str | None] | None = None,
        virtual: Callable[[Reference], tuple[str, ...]] = lambda reference: (),
    ) -> str:
        """The text with each reference replaced by `resolve(reference)` (SQL of a relation), with an alias added where the user gave none.

        A reference that resolves to None is left as it is, and so are its qualifiers. `known` are names bound outside this text, such
        as the target of the statement that this text is a condition of. `function` gives SQL for the name of a function, or None.
        `virtual` tells which virtual columns a reference that is resolved shows as if they were real.
        """
        resolved: dict[tuple[str, ...], bool] = {tuple(part.casefold() for part in name.parts): True for name in known}
        edits: list[tuple[int, int, str]] = []
        for reference in self.references:
            replacement = resolve(reference)
            key = tuple(part.casefold() for part in reference.name.parts)
            resolved[key] = replacement is not None
            if replacement is None:
                continue
            if not reference.aliased:
                replacement += f" AS {backquoted(reference.alias or reference.name.parts[-1])}"
                if reference.enclosed:
                    replacement = f"({replacement})"
            edits.append((reference.start, reference.end, replacement))
        for qualifier in self.qualifiers:
            if resolved.get(tuple(part.casefold() for part in qualifier.name.parts)):
                edits.append((qualifier.start, qualifier.end, backquoted(qualifier.alias or qualifier.name.parts[-1])))
        for call in self.calls:
            replacement = None if function is None else function(call.name)
            if replacement is not None:
                edits.append((call.start, call.end, replacement))
        for star in self.stars:
            hidden = [f"{backquoted(each.called or '')}.{backquoted(name)}" for each in star.references for name in virtual(each)]
            if hidden:
                edits.append((star.end, star.end, f"{', '.join(hidden)}, " if star.excepts else f" EXCEPT ({', '.join(hidden)})"))
        text = self.text
        for start, end, replacement in sorted(edits, reverse=True):
            text = text[:start] + replacement + text[end:]
        return text
