"""Find the qualifiers of columns that name a relation, and give different aliases to relations whose names have the same last part.

Spark knows a relation of a lake by one name only: its alias, or the last part of its name. So `prod.orders.id` becomes `orders.id`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..errors import StatementError
from ..format.identifiers import fold
from .scopes import DottedName, Scope
from .values import Name, Qualifier, Reference


@dataclass(frozen=True)
class _Meant:
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


class Qualifiers:
    """The dotted names of a text, and the relations that they begin with.

    Args:
        scopes: all scopes of the text.
        outer: the names of relations without an alias that are named elsewhere in the statement.
    """

    def __init__(self, scopes: Sequence[Scope], outer: Iterable[Name]) -> None:
        self._scopes, self._outer = scopes, tuple(outer)
        names = (*self._outer, *(each.name for scope in scopes for each in scope.references if not each.aliased))
        ends = {name.folded[-length:] for name in names for length in (1, 2, 3)}
        self._dotted = [(scope, dotted) for scope in scopes for dotted in scope.dotted_names if _may_be_qualified(dotted, ends)]

    def give_distinct_aliases(self) -> None:
        """Let relations have their whole name as the alias, where the last part of the name would mean another relation.

        For example, `prod.orders.id` becomes `orders.id`. In a subquery over `staging.orders` that would be a column of this table, so
        it gets the alias `staging.orders`. The result is in `Scope.shown_with_whole_name`.

        Raises:
            StatementError: neither of two such relations can get an alias.
        """
        changed = True
        while changed:
            changed = False
            for scope, dotted in self._dotted:
                while self._rename_one(scope, dotted):
                    changed = True

    def _rename_one(self, scope: Scope, dotted: DottedName) -> bool:
        """Give one relation its whole name as the alias if a dotted name would otherwise mean another one; return whether it did."""
        meant = self._meant(scope, dotted)
        collision = None if meant is None else _collision(scope, meant, dotted)
        if meant is None or collision is None:
            return False
        inner, other = collision
        if other is not None and other.called_by_last_part and len(other.name.parts) > 1:
            inner.shown_with_whole_name.add(other.start)
        elif meant.scope is not None and meant.reference is not None and meant.reference.start not in meant.scope.shown_with_whole_name:
            meant.scope.shown_with_whole_name.add(meant.reference.start)
        elif meant.written is not None:
            return False
        else:
            last = meant.name.parts[-1]
            raise StatementError(f"{meant.name} and another relation are both called {last} here; give one of them an alias")
        return True

    def found(self) -> list[Qualifier]:
        """Return the qualifiers of columns that are names of visible relations without an alias of the user, or the ends of such names."""
        found = list(self._of_renamed())
        for scope, dotted in self._dotted:
            meant = self._meant(scope, dotted)
            if meant is None or (meant.written is not None and _collision(scope, meant, dotted)):
                continue  # in a collision, Spark would find the column in another relation
            found.append(Qualifier(dotted[0].start, dotted[meant.length - 1].end, meant.name, meant.alias, meant.written))
        return found

    def _of_renamed(self) -> Iterator[Qualifier]:
        """Yield the qualifiers of one part, such as `orders`, of relations that got their whole name as the alias."""
        for scope in self._scopes:
            if not any(inner.shown_with_whole_name for inner in scope.enclosing()):
                continue
            for dotted in scope.dotted_names:
                if self._meant(scope, dotted) is not None:
                    continue
                called = fold(dotted[0].identifier)
                for inner in scope.enclosing():
                    known = [each for each in inner.references if fold(inner.aliases.get(each.start) or each.name.parts[-1]) == called]
                    if known or called in inner.other_names:
                        if len(known) == 1 and known[0].start in inner.shown_with_whole_name and called not in inner.other_names:
                            yield Qualifier(dotted[0].start, dotted[0].end, known[0].name, str(known[0].name))
                        break

    def _meant(self, scope: Scope, dotted: DottedName) -> _Meant | None:
        """Return the relation without an alias of the user that a dotted name begins with; None if there is none.

        Preferred is a relation whose name ends with the qualifier: `s.t.c` for `lake.s.t`. Otherwise it is one whose whole name is the
        end of the qualifier, the longest first: `lake.s.t.c` for `s.t`. Qualifiers of three parts come before those of two, and inner
        relations before those around them.
        """
        names = tuple(token.identifier for token in dotted if token.is_identifier)
        lengths = [length for length in (3, 2) if length <= len(names) and length < len(dotted)]
        relations = list(self._relations(scope))
        exact = [(length, length) for length in lengths]
        longer = [(length, common) for length in lengths for common in range(length - 1, 0, -1)]
        for length, common in (*exact, *longer):
            written = Name(names[:length])
            for name, inner, reference in relations:
                fits = len(name.parts) >= length if common == length else len(name.parts) == common
                if fits and name.folded[-common:] == written.folded[-common:]:
                    return _Meant(name, length, inner, reference, None if common == length else written)
        return None

    def _relations(self, scope: Scope) -> Iterator[tuple[Name, Scope | None, Reference | None]]:
        """Yield the name, scope and place of the visible relations without an alias of the user, the innermost first."""
        for inner in scope.enclosing():
            for reference in inner.with_distinct_aliases():
                if not reference.aliased and reference.alias in (None, str(reference.name)):
                    yield reference.name, inner, reference
        for name in self._outer:
            yield name, None, None


def _may_be_qualified(dotted: DottedName, ends: set[tuple[str, ...]]) -> bool:
    """Whether a dotted name may begin with a name that ends with one of `ends`: a cheap test that excludes most names."""
    parts = tuple(fold(token.identifier) for token in dotted[:3] if token.is_identifier)
    qualifiers_of_two_and_three = [parts[:length] for length in (2, 3) if len(parts) >= length]
    return any(qualifier[first:] in ends for qualifier in qualifiers_of_two_and_three for first in range(len(qualifier)))


def _collision(scope: Scope, meant: _Meant, dotted: DottedName) -> tuple[Scope, Reference | None] | None:
    """Return the innermost other relation that has the name of the one that is meant in Spark, with its scope; None if there is none.

    The reference is None for a CTE or an aliased subquery.
    """
    called = fold(meant.alias or meant.name.parts[-1])
    for inner in scope.enclosing():
        for name, other in inner.names():
            if name != called or (inner is meant.scope and other == meant.reference):
                continue
            has_alias = other is not None and other.start in inner.aliases
            if inner is not meant.scope or dotted[-1].word == "*" or has_alias:
                return inner, other  # else both are in one FROM: Spark takes the one that has the column, or finds the name ambiguous
        if inner is meant.scope:
            break
    return None
