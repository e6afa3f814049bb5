"""The relations, qualified columns, virtual columns and stars of one SELECT, and which of them its subqueries see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ..format.identifiers import fold
from .values import VIRTUAL_COLUMNS, Name, Reference


@dataclass
class Scope:
    """The relations that one SELECT names, and the dotted names of its expressions as (first token, index after the last)."""

    parent: Scope | None
    references: list[Reference] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    """The folded names of the relations that are not references: CTEs, and aliases of subqueries."""
    chains: list[tuple[int, int]] = field(default_factory=list)
    whole: set[int] = field(default_factory=set)
    """The starts of the references that get their whole name as the alias, because another relation has their last part as its name."""
    aliases: dict[int, str] = field(default_factory=dict)
    """The user's aliases by the start of the reference."""
    stars: list[tuple[tuple[str, ...], int]] = field(default_factory=list)
    """(qualifier, index of the token) of each `*` that shows columns."""
    virtual: set[str] = field(default_factory=set)
    """The virtual columns named in this SELECT and its subqueries."""
    selects: bool = False

    def name_virtual(self, name: str) -> None:
        """Record a virtual column, which may belong to this SELECT or to an enclosing one."""
        self.virtual.add(name)
        if self.parent is not None:
            self.parent.name_virtual(name)

    def final(self) -> list[Reference]:
        """Return the references with their final aliases and virtual columns."""
        wanted = tuple(name for name in VIRTUAL_COLUMNS if name in self.virtual) if self.selects else ()
        return [
            replace(each, virtual=wanted, called=self.aliases.get(each.start) or each.alias or each.name.parts[-1])
            if wanted and each.arguments is None
            else each
            for each in self.with_distinct_aliases()
        ]

    def with_distinct_aliases(self) -> list[Reference]:
        """Return the references. Those without a user's alias whose last parts are equal get their whole name as the alias."""
        names: dict[str, set[tuple[str, ...]]] = {}
        for reference in self.references:
            if not reference.aliased and reference.alias is None:
                parts = folded(reference.name)
                names.setdefault(parts[-1], set()).add(parts)
        return [
            replace(reference, alias=".".join(reference.name.parts))
            if not reference.aliased
            and reference.alias is None
            and (reference.start in self.whole or len(names[folded(reference.name)[-1]]) > 1)
            else reference
            for reference in self.references
        ]

    def enclosing(self) -> Iterator[Scope]:
        """Yield this scope and those around it, the innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def names(self) -> list[tuple[str, Reference | None]]:
        """Return what each relation is called in the text for Spark, folded, with its reference if it is one."""
        references = [(self.aliases.get(each.start) or each.alias or each.name.parts[-1], each) for each in self.with_distinct_aliases()]
        return [*((fold(name), each) for name, each in references), *((name, None) for name in self.others)]


def folded(name: Name) -> tuple[str, ...]:
    """Return the parts of a name in the case in which names are compared."""
    return tuple(fold(part) for part in name.parts)


def shows(qualifier: tuple[str, ...], reference: Reference) -> bool:
    """Whether a star with this qualifier, which may be empty, shows the columns of a reference."""
    called = fold(reference.called or "")
    return not qualifier or qualifier == (called,) or (len(qualifier) > 1 and folded(reference.name)[-len(qualifier) :] == qualifier)
