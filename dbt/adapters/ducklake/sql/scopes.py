"""What one SELECT names: relations, qualified columns, virtual columns and stars, and how a subquery sees those around it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ..format.identifiers import fold
from .values import VIRTUAL_COLUMNS, Name, Reference


@dataclass
class Scope:
    """The relations that one SELECT names, and the dotted names (first token, behind the last) of its expressions."""

    parent: Scope | None
    references: list[Reference] = field(default_factory=list)
    chains: list[tuple[int, int]] = field(default_factory=list)
    aliases: dict[int, str] = field(default_factory=dict)
    """The user's own, by where the reference starts."""
    stars: list[tuple[tuple[str, ...], int]] = field(default_factory=list)
    """(qualifier, index of the token) of each `*` that shows columns."""
    virtual: set[str] = field(default_factory=set)
    """The virtual columns named here and in subqueries."""
    selects: bool = False

    def name_virtual(self, name: str) -> None:
        """A virtual column is named here: it may belong to this SELECT or to one around it."""
        self.virtual.add(name)
        if self.parent is not None:
            self.parent.name_virtual(name)

    def final(self) -> list[Reference]:
        """The references as they are bound."""
        wanted = tuple(name for name in VIRTUAL_COLUMNS if name in self.virtual) if self.selects else ()
        return [
            replace(each, virtual=wanted, called=self.aliases.get(each.start) or each.alias or each.name.parts[-1])
            if wanted and each.arguments is None
            else each
            for each in self.told_apart()
        ]

    def told_apart(self) -> list[Reference]:
        """The references; those with the same last part and without an alias of the user's get their whole name as alias."""
        names: dict[str, set[tuple[str, ...]]] = {}
        for reference in self.references:
            if not reference.aliased and reference.alias is None:
                parts = folded(reference.name)
                names.setdefault(parts[-1], set()).add(parts)
        return [
            replace(reference, alias=".".join(reference.name.parts))
            if not reference.aliased and reference.alias is None and len(names[folded(reference.name)[-1]]) > 1
            else reference
            for reference in self.references
        ]

    def in_sight(self, outer: Iterable[Name]) -> dict[tuple[str, ...], tuple[Name, str | None]]:
        """Each qualifier of several parts that means a relation of this scope or of one around it: its name and added alias."""
        seen = self.parent.in_sight(outer) if self.parent else {}
        named: list[tuple[Name, str | None]] = [] if self.parent else [(name, None) for name in outer]
        for reference in self.told_apart():
            if not reference.aliased and reference.alias in (None, ".".join(reference.name.parts)):
                named.append((reference.name, reference.alias))
        for name, alias in named:
            for length in range(2, len(name.parts) + 1):
                seen[folded(name)[-length:]] = name, alias
        return seen


def folded(name: Name) -> tuple[str, ...]:
    return tuple(fold(part) for part in name.parts)


def shows(qualifier: tuple[str, ...], reference: Reference) -> bool:
    """Whether a star with that qualifier, if any, shows the columns of a reference."""
    called = fold(reference.called or "")
    return not qualifier or qualifier == (called,) or (len(qualifier) > 1 and folded(reference.name)[-len(qualifier) :] == qualifier)
