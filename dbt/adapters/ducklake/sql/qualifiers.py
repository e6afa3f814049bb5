"""Find the qualifiers of columns that name a relation, and give different aliases to relations whose names have the same last part.

Spark knows a relation of a lake by one name only: its alias, or the last part of its name. So `prod.orders.id` becomes `orders.id`.

A dotted name is a range of tokens: (index of the first, index after the last). `outer` has the names of relations without an alias that
are named elsewhere in the statement. An *owner* is the relation that a dotted name begins with.
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
    """Let relations have their whole name as the alias, where the last part of the name would mean another relation.

    For example, `prod.orders.id` becomes `orders.id`. In a subquery over `staging.orders` that would be a column of this table, so it
    gets the alias `staging.orders`. The result is in `Scope.shown_with_whole_name`.

    Raises:
        StatementError: neither of two such relations can get an alias.
    """
    name_ends = _name_ends(scopes, outer)
    dotted_names = [(scope, dotted) for scope in scopes for dotted in scope.dotted_names if _may_have_owner(dotted, source, name_ends)]
    changed = True
    while changed:
        changed = False
        for scope, dotted in dotted_names:
            while _rename_one(scope, dotted, source, outer):
                changed = True


def _name_ends(scopes: Sequence[Scope], outer: Sequence[Name]) -> set[tuple[str, ...]]:
    """Return the last one, two and three parts of the name of each relation without an alias of the user, folded."""
    names = (*outer, *(each.name for scope in scopes for each in scope.references if not each.aliased))
    return {folded(name)[-length:] for name in names for length in (1, 2, 3)}


def _may_have_owner(dotted: tuple[int, int], source: Source, name_ends: set[tuple[str, ...]]) -> bool:
    """Whether a dotted name may begin with the name of a relation: a cheap test that excludes most names before `_owner`."""
    start, stop = dotted
    parts = tuple(fold(token.identifier) for token in source.tokens[start : min(stop, start + 5) : 2] if token.is_identifier)
    qualifiers_of_two_and_three = [parts[:length] for length in (2, 3) if len(parts) >= length]
    return any(qualifier[first:] in name_ends for qualifier in qualifiers_of_two_and_three for first in range(len(qualifier)))


@dataclass(frozen=True)
class _Owner:
    """The relation that a dotted name begins with."""

    name: Name
    length: int
    """The number of parts of the dotted name that qualify the column."""
    scope: Scope | None = None
    reference: Reference | None = None
    """The place that names the relation; this and `scope` are None for a relation of `outer`."""
    written: Name | None = None
    """The qualifier, if it has more parts than `name`; then it depends on the current schema whether both mean one relation."""

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
    """Return the innermost other relation that has the owner's name in Spark, with its scope; None if there is none.

    The reference is None for a CTE or an aliased subquery.
    """
    called = fold(owner.alias or owner.name.parts[-1])
    for inner in scope.enclosing():
        for name, other in inner.names():
            if name != called or (inner is owner.scope and other == owner.reference):
                continue
            has_alias = other is not None and other.start in inner.aliases
            if inner is not owner.scope or is_star or has_alias:
                return inner, other  # else both are in one FROM: Spark takes the one that has the column, or finds the name ambiguous
        if inner is owner.scope:
            break
    return None


def _owner(scope: Scope, dotted: tuple[int, int], source: Source, outer: Sequence[Name]) -> _Owner | None:
    """Return the relation without an alias of the user that a dotted name begins with; None if there is none.

    Preferred is a relation whose name ends with the qualifier: `s.t.c` for `lake.s.t`. Otherwise it is one whose whole name is the end of
    the qualifier, the longest first: `lake.s.t.c` for `s.t`. Qualifiers of three parts come before those of two, and inner relations
    before those around them.
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
    """Yield the name, scope and place of the visible relations without an alias of the user, the innermost first."""
    for inner in scope.enclosing():
        for reference in inner.with_distinct_aliases():
            if not reference.aliased and reference.alias in (None, ".".join(reference.name.parts)):
                yield reference.name, inner, reference
    for name in outer:
        yield name, None, None


def _qualifiers_of_renamed(scopes: Sequence[Scope], source: Source, outer: Sequence[Name]) -> Iterator[Qualifier]:
    """Yield the qualifiers of one part, such as `orders`, of relations that got their whole name as the alias."""
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
    """Return the qualifiers of columns that are names of visible relations without an alias of the user, or the ends of such names."""
    found = list(_qualifiers_of_renamed(scopes, source, outer))
    name_ends = _name_ends(scopes, outer)
    for scope in scopes:
        for dotted in scope.dotted_names:
            owner = _owner(scope, dotted, source, outer) if _may_have_owner(dotted, source, name_ends) else None
            is_star = source.token(dotted[1] - 1).word == "*"
            if owner is not None and owner.written is not None and _collision(scope, owner, is_star=is_star):
                continue  # Spark would find the column in another relation
            if owner is not None:
                first, last = source.tokens[dotted[0]], source.tokens[dotted[0] + 2 * owner.length - 2]
                found.append(Qualifier(first.start, last.end, owner.name, owner.alias, owner.written))
    return found
