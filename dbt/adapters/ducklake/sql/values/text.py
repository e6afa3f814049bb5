"""SQL that Spark will evaluate: the user's text as written, and the positions of the names in it.

Binding replaces these names in the text. The text is never generated from a syntax tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from ...format.identifiers import backquoted, fold

T = TypeVar("T")
P = TypeVar("P", "Reference", "Qualifier", "FunctionCall", "OuterStar")


@dataclass(frozen=True)
class Name:
    """A name of one to three parts as the user wrote it, unquoted: (database,) (schema,) object."""

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.parts)

    @property
    def folded(self) -> tuple[str, ...]:
        """The parts in the case in which names are compared."""
        return tuple(map(fold, self.parts))

    @property
    def quoted(self) -> str:
        """The name with each part in backquotes."""
        return ".".join(map(backquoted, self.parts))


@dataclass(frozen=True)
class TimeTravel:
    """A snapshot to read: either `version` or `timestamp` (the SQL text of a constant expression)."""

    version: int | None = None
    timestamp: str | None = None


@dataclass(frozen=True)
class Reference:
    """A place in SQL where a relation is named: text[start:end] covers the name and its time-travel clause, not its alias."""

    start: int
    end: int
    name: Name
    at: TimeTravel | None = None
    aliased: bool = False
    """Whether the user gave an alias, or the grammar allows none. Otherwise binding adds one: `alias`, or the last part of the name."""
    enclosed: bool = False
    """Whether the alias to add must be in parentheses with the name, because TABLESAMPLE follows the name."""
    piped: bool = False
    """Whether it is `TABLE name` before `|>`, which takes no alias and so becomes `FROM name AS alias`; the range covers TABLE too."""
    alias: str | None = None
    """The alias to add, where it is not the last part of the name.

    Either the user's alias before the time travel (DuckDB's order, `t x AT (VERSION => 3)`; text[start:end] covers it then), or
    one that distinguishes two relations with the same last part.
    """
    arguments: str | None = None
    """The text in the parentheses, if this is a call that may be one of the lake's functions; text[start:end] covers it too."""
    virtual: tuple[str, ...] = ()
    """The virtual columns (`VIRTUAL_COLUMNS`) that its SELECT, or a subquery of it, names without a qualifier or with one that fits."""
    called: str | None = None
    """The alias or name that qualifies its columns in the SELECT; set only if `virtual` is not empty."""
    joined_naturally: bool = False
    """Whether its SELECT has a NATURAL JOIN, which would compare the virtual columns; set only if `virtual` is not empty."""

    @property
    def called_by_last_part(self) -> bool:
        """Whether it gets the last part of its name as the alias."""
        return not self.aliased and self.alias is None


@dataclass(frozen=True)
class Qualifier:
    """A place where a column is qualified by two or more parts (`lake.s.t.c`, `s.t.c`).

    text[start:end] covers all parts of the qualifier, but not the column. If `name` resolves to a lake relation, the qualifier is
    replaced by its quoted last part.
    """

    start: int
    end: int
    name: Name
    alias: str | None = None
    """The replacement of the qualifier, where it is not the last part of the name."""
    written: Name | None = None
    """The qualifier, if it has more parts than `name`; it is replaced only if both mean one relation."""


VIRTUAL_COLUMNS = ("rowid", "snapshot_id", "filename", "file_row_number")
"""Columns that every table of a lake has, as in DuckDB: `*` does not include them, and a column with the same name hides them."""


@dataclass(frozen=True)
class Star:
    """A `*` or `q.*` that must not show the virtual columns, which are real columns of the replaced relations in its SELECT.

    text[:end] ends with the star or, if `excepts` (the star has an EXCEPT list already), with the parenthesis that opens the list.
    """

    end: int
    excepts: bool
    references: tuple[Reference, ...]
    """The references whose columns it shows."""


@dataclass(frozen=True)
class OuterStar:
    """A `*` or `q.*` outside of a SELECT, such as that of `hash(t.*)`: text[start:end] covers it with its qualifier and its EXCEPT list."""

    start: int
    end: int
    qualifier: tuple[str, ...]
    """The folded parts of the qualifier."""
    excepts: tuple[str, ...] = ()
    """The folded names of the columns that it leaves out."""


CURRENT_PLACE = frozenset({"CURRENT_CATALOG", "CURRENT_DATABASE", "CURRENT_SCHEMA"})
"""The functions that return the current lake or schema. Spark's own would return those of its catalog."""


@dataclass(frozen=True)
class FunctionCall:
    """A place where a function is called by a name of two or three parts, which text[start:end] covers.

    Or a call of a function of `CURRENT_PLACE`, which text[start:end] covers with its parentheses.
    """

    start: int
    end: int
    name: Name


@dataclass(frozen=True)
class Sql:
    """SQL text with the positions of the relations that it names, except CTEs of the same text."""

    text: str
    references: tuple[Reference, ...] = ()
    qualifiers: tuple[Qualifier, ...] = ()
    calls: tuple[FunctionCall, ...] = ()
    stars: tuple[Star, ...] = ()
    outer_stars: tuple[OuterStar, ...] = ()
    virtual: tuple[str, ...] = ()
    """All virtual columns that the text names, including its subqueries. Used for conditions, which name columns of the target."""

    def with_columns(self, columns: Callable[[OuterStar], Sequence[str] | None]) -> Sql:
        """Return the SQL with columns in place of the stars outside of SELECTs.

        Args:
            columns: returns SQL for each column that a star means; None leaves the star as it is.
        """
        expanded = [(star, found) for star in self.outer_stars if (found := columns(star)) is not None]
        if not expanded:
            return self
        edits: list[_Edit[str]] = [_Edit(star.start, star.end, ", ".join(found)) for star, found in expanded]
        growth = [(edit.end, len(edit.before) - (edit.end - edit.start)) for edit in edits]

        def moved(position: int) -> int:
            return position + sum(more for end, more in growth if end <= position)

        def shifted(place: P) -> P:
            return replace(place, start=moved(place.start), end=moved(place.end))

        replaced = {star for star, _ in expanded}
        return Sql(
            "".join(_spliced(self.text, edits)),
            tuple(map(shifted, self.references)),
            tuple(shifted(each) for each in self.qualifiers if not any(star.start <= each.start < star.end for star in replaced)),
            tuple(map(shifted, self.calls)),
            tuple(replace(each, end=moved(each.end), references=tuple(map(shifted, each.references))) for each in self.stars),
            tuple(shifted(each) for each in self.outer_stars if each not in replaced),
            self.virtual,
        )

    def pieces(
        self,
        resolve: Callable[[Reference], T | None],
        known: Iterable[Name] = (),
        function: Callable[[Name], T | str | None] = lambda _: None,
        virtual: Callable[[Reference], tuple[str, ...]] = lambda _: (),
        same: Callable[[Name, Name], bool] = lambda _one, _other: False,
    ) -> tuple[str | T, ...]:
        """Split the text at its names. Each name with a value is replaced by the value, followed by an alias if the user gave none.

        Args:
            resolve: returns the value of a reference; None leaves it, and the columns that it qualifies, as they are.
            known: names bound outside this text, such as the target of a statement for its condition.
            function: returns the value for the name of a function, SQL in place of a call of `CURRENT_PLACE`, or None.
            virtual: returns the virtual columns that the value of a reference shows as real columns; called after `resolve`.
            same: returns whether two names mean one relation.
        """
        resolved = {name.folded: True for name in known}
        edits: list[_Edit[T]] = []
        for reference in self.references:
            value = resolve(reference)
            resolved[reference.name.folded] = value is not None
            if value is not None:
                edits.append(_Edit(reference.start, reference.end, *_with_alias(reference, value)))
        for qualifier in self.qualifiers:
            written = qualifier.written
            if resolved.get(qualifier.name.folded) and (written is None or same(qualifier.name, written)):
                edits.append(_Edit(qualifier.start, qualifier.end, backquoted(qualifier.alias or qualifier.name.parts[-1])))
        for call in self.calls:
            called = function(call.name)
            if isinstance(called, str):
                edits.append(_Edit(call.start, call.end, called))
            elif called is not None:
                edits.append(_Edit(call.start, call.end, "", called))
        for star in self.stars:
            hidden = [f"{backquoted(each.called or '')}.{backquoted(name)}" for each in star.references for name in virtual(each)]
            if hidden:
                edits.append(_Edit(star.end, star.end, f"{', '.join(hidden)}, " if star.excepts else f" EXCEPT ({', '.join(hidden)})"))
        return _spliced(self.text, edits)


@dataclass(frozen=True)
class _Edit(Generic[T]):
    """text[start:end] is replaced by `before`, a value, and `after`."""

    start: int
    end: int
    before: str
    value: T | None = None
    after: str = ""


def _with_alias(reference: Reference, value: T) -> tuple[str, T, str]:
    """Return the text before the value, the value, and the text after it."""
    if reference.aliased:
        return "", value, ""
    alias = f" AS {backquoted(reference.alias or reference.name.parts[-1])}"
    if reference.enclosed:
        return "(", value, f"{alias})"
    return "FROM " if reference.piped else "", value, alias


def _spliced(text: str, edits: list[_Edit[T]]) -> tuple[str | T, ...]:
    pieces: list[str | T] = []
    pending, position = "", 0
    for edit in sorted(edits, key=lambda each: (each.start, each.end)):
        pending += text[position : edit.start] + edit.before
        if edit.value is not None:
            pieces += [pending, edit.value]
            pending = edit.after
        position = edit.end
    return (*pieces, pending + text[position:])
