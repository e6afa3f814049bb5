"""Find the dotted names of columns that begin with the name of a relation, and keep relations with the same last part apart.

Spark knows a relation of a lake by one name, its alias or the last part of its name. So `prod.orders.id` becomes `orders.id`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..errors import StatementError
from ..format.identifiers import fold
from .scopes import Scope, folded
from .tokens import Source
from .values import Name, Qualifier, Reference


def give_distinct_aliases(scopes: Sequence[Scope], source: Source, outer: Sequence[Name]) -> None:
    """Give a relation its whole name as the alias where the last part of a name would mean another relation.

    `prod.orders.id` becomes `orders.id`, which in a subquery over `staging.orders` would be the column of that table.

    Raises:
        StatementError: neither of the two relations can have another alias than the user's.
    """
    last_parts = _last_parts(scopes, outer)
    dotted_names = [(scope, dotted) for scope in scopes for dotted in scope.dotted_names if last_parts & set(_first_parts(dotted, source))]
    changed = True
    while changed:
        changed = False
        for scope, dotted in dotted_names:
            while _rename_one(scope, dotted, source, outer):
                changed = True


def _last_parts(scopes: Sequence[Scope], outer: Sequence[Name]) -> set[tuple[str, ...]]:
    """Return the last part, the last two and the last three parts of the names of all relations, folded."""
    names = (*outer, *(each.name for scope in scopes for each in scope.references if not each.aliased))
    return {folded(name)[-length:] for name in names for length in (1, 2, 3)}


def _first_parts(dotted: tuple[int, int], source: Source) -> Iterator[tuple[str, ...]]:
    """Yield the first two and the first three parts of a dotted name, folded, and the ends of these."""
    parts = tuple(fold(token.identifier) for token in source.tokens[dotted[0] : min(dotted[1], dotted[0] + 5) : 2] if token.is_identifier)
    return (parts[start:length] for length in (2, 3) if len(parts) >= length for start in range(length))


@dataclass(frozen=True)
class _Owner:
    """The relation that a dotted name begins with."""

    name: Name
    length: int
    """The number of parts of the dotted name that are parts of `name`."""
    scope: Scope | None = None
    reference: Reference | None = None
    """The place that names the relation; None for a relation named outside of the text."""
    written: Name | None = None
    """The qualifier, if it has more parts than `name`: whether both mean one relation depends on the current schema."""

    @property
    def alias(self) -> str | None:
        """The alias that the relation gets; None if it is the last part of its name."""
        return None if self.reference is None else self.reference.alias


def _rename_one(scope: Scope, dotted: tuple[int, int], source: Source, outer: Sequence[Name]) -> bool:
    """Give one relation its whole name as the alias if a dotted name would otherwise mean another relation; return whether it did."""
    owner = _owner(scope, dotted, source, outer)
    if owner is None:
        return False
    collision = _collision(scope, owner, is_star=source.token(dotted[1] - 1).word == "*")
    if collision is None:
        return False
    inner, other = collision
    if other is not None and not other.aliased and other.alias is None and len(other.name.parts) > 1:
        inner.shown_with_whole_name.add(other.start)
    elif owner.scope is not None and owner.reference is not None and owner.reference.start not in owner.scope.shown_with_whole_name:
        owner.scope.shown_with_whole_name.add(owner.reference.start)
    elif owner.written is not None:
        return False
    else:
        last = owner.name.parts[-1]
        raise StatementError(f"{owner.name} and another relation are both called {last} here; give one of them an alias")
    return True


def _collision(scope: Scope, owner: _Owner, *, is_star: bool) -> tuple[Scope, Reference | None] | None:
    """Return the innermost relation that Spark would take for the owner, by its alias or last part; None if there is none."""
    called = fold(owner.alias or owner.name.parts[-1])
    for inner in scope.enclosing():
        for name, other in inner.names():
            if name != called or (inner is owner.scope and other == owner.reference):
                continue
            has_alias = other is not None and other.start in inner.aliases
            if inner is not owner.scope or is_star or has_alias:
                return inner, other  # else Spark finds a column of two relations in one FROM by its name, or refuses it
        if inner is owner.scope:
            break
    return None


def _owner(scope: Scope, dotted: tuple[int, int], source: Source, outer: Sequence[Name]) -> _Owner | None:
    """Return the innermost relation without an alias of the user that a dotted name begins with, by three parts rather than two.

    A relation whose name has the parts at its end comes before one whose whole name is the end of the parts,
    of these the longest first.
    """
    start, stop = dotted
    names = tuple(token.identifier for token in source.tokens[start:stop:2] if token.is_identifier)
    lengths = [length for length in (3, 2) if len(names) >= length and source.token(start + 2 * length - 1).word == "."]
    relations = list(_relations(scope, outer))
    exact = [(length, length) for length in lengths]
    longer = [(length, common) for length in lengths for common in range(length - 1, 0, -1)]
    for length, common in (*exact, *longer):
        written = Name(names[:length])
        for name, inner, reference in relations:
            fits = len(name.parts) >= length if common == length else len(name.parts) == common
            if fits and folded(name)[-common:] == folded(written)[-common:]:
                return _Owner(name, length, inner, reference, None if common == length else written)
    return None


def _relations(scope: Scope, outer: Sequence[Name]) -> Iterator[tuple[Name, Scope | None, Reference | None]]:
    """Yield the visible relations without an alias of the user, the innermost first."""
    for inner in scope.enclosing():
        for reference in inner.with_distinct_aliases():
            if not reference.aliased and reference.alias in (None, ".".join(reference.name.parts)):
                yield reference.name, inner, reference
    for name in outer:
        yield name, None, None


def _renamed(scopes: Sequence[Scope], source: Source, outer: Sequence[Name]) -> Iterator[Qualifier]:
    """Yield the qualifiers of one part that mean a relation which got its whole name as the alias."""
    for scope in scopes:
        if not any(inner.shown_with_whole_name for inner in scope.enclosing()):
            continue
        for start, stop in scope.dotted_names:
            if _owner(scope, (start, stop), source, outer) is not None:
                continue
            called = fold(source.tokens[start].identifier)
            for inner in scope.enclosing():
                known = [each for each in inner.references if fold(inner.aliases.get(each.start) or each.name.parts[-1]) == called]
                if known or called in inner.other_names:
                    if len(known) == 1 and known[0].start in inner.shown_with_whole_name and called not in inner.other_names:
                        token, name = source.tokens[start], known[0].name
                        yield Qualifier(token.start, token.end, name, ".".join(name.parts))
                    break


def qualifiers(scopes: Sequence[Scope], source: Source, outer: Sequence[Name]) -> list[Qualifier]:
    """Return the dotted names that begin with the name of a visible relation without an alias, or with the end of that name."""
    found = list(_renamed(scopes, source, outer))
    last_parts = _last_parts(scopes, outer)
    for scope in scopes:
        for dotted in scope.dotted_names:
            owner = _owner(scope, dotted, source, outer) if last_parts & set(_first_parts(dotted, source)) else None
            is_star = source.token(dotted[1] - 1).word == "*"
            if owner is not None and owner.written is not None and _collision(scope, owner, is_star=is_star):
                continue  # Spark would find it in another relation
            if owner is not None:
                first, last = source.tokens[dotted[0]], source.tokens[dotted[0] + 2 * owner.length - 2]
                found.append(Qualifier(first.start, last.end, owner.name, owner.alias, owner.written))
    return found
