"""The relations, qualified columns, virtual columns and stars of one SELECT, and which of them its subqueries see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..format.identifiers import fold
from .tokens import Source, Token
from .values import VIRTUAL_COLUMNS, OuterStar, Reference, Star

DottedName = tuple[Token, ...]
"""The parts of a dotted name, without the dots; the last may be a star, or a token after a dot that cannot be a name."""


@dataclass
class Scope:
    """The relations that one SELECT names, and the dotted names of its expressions."""

    parent: Scope | None
    references: list[Reference] = field(default_factory=list)
    other_names: list[str] = field(default_factory=list)
    """The folded names of the relations that are not references: CTEs, and aliases of subqueries, functions and files."""
    dotted_names: list[DottedName] = field(default_factory=list)
    shown_with_whole_name: set[int] = field(default_factory=set)
    """The starts of the references that get their whole name as the alias, because another relation has their last part as its name."""
    aliases: dict[int, str] = field(default_factory=dict)
    """The user's aliases by the start of the reference."""
    stars: list[tuple[tuple[str, ...], int]] = field(default_factory=list)
    """(qualifier, index of the token) of each `*` that shows columns."""
    virtual: dict[str, set[tuple[str, ...]]] = field(default_factory=dict)
    """The qualifiers, which may be empty, of the virtual columns named in this SELECT and its subqueries."""
    own_virtual: set[str] = field(default_factory=set)
    """The virtual columns that this SELECT itself names without a qualifier, not its subqueries."""
    reshapes: bool = False
    """Whether its FROM has a PIVOT, an UNPIVOT or an alias with a list of columns, to whose result another column of a relation matters."""
    defined: set[str] = field(default_factory=set)
    """The names of virtual columns that the SELECT gave to expressions so far; later they mean these expressions."""
    filters: bool = False
    """Whether the parser is in FROM or WHERE, where the names of `defined` do not apply."""
    groups: dict[int, str] = field(default_factory=dict)
    """The folded alias of the parentheses around a reference, by its start: `(s.t JOIN s.u USING (id)) x`."""
    selects: bool = False
    """Whether it has the word SELECT; the outermost scope of an expression has none."""
    joins_naturally: bool = False
    """Whether its FROM has a NATURAL JOIN."""

    def add_virtual_column(self, name: str, qualifier: tuple[str, ...] = ()) -> None:
        """Record a virtual column, which may belong to this SELECT or to an enclosing one."""
        if not qualifier:
            self.own_virtual.add(name)
        for scope in self.enclosing():
            scope.virtual.setdefault(name, set()).add(qualifier)

    def final_references(self) -> list[Reference]:
        """Return the references with their final aliases and virtual columns."""
        references = self.with_distinct_aliases()
        return [self._with_virtual(each) if each.arguments is None else each for each in references] if self.selects else references

    def _with_virtual(self, reference: Reference) -> Reference:
        """Return a reference with the virtual columns that may belong to it."""
        name = self.groups.get(reference.start) or self.aliases.get(reference.start) or reference.alias or reference.name.parts[-1]
        called = replace(reference, called=name)
        wanted = tuple(name for name in VIRTUAL_COLUMNS if any(can_qualify(each, called) for each in self._qualifiers_of(name)))
        return replace(called, virtual=wanted, joined_naturally=self.joins_naturally) if wanted else reference

    def _qualifiers_of(self, name: str) -> set[tuple[str, ...]]:
        """Return the qualifiers of a virtual column that may mean a relation of this SELECT.

        An unqualified name in a subquery most likely means a relation of the subquery. It does not count where the column would change
        the result of this SELECT.
        """
        inherited = name not in self.own_virtual and (self.reshapes or self.joins_naturally)
        return self.virtual.get(name, set()) - ({()} if inherited else set())

    def with_distinct_aliases(self) -> list[Reference]:
        """Return the references. Those without a user's alias whose last parts are equal get their whole name as the alias."""
        if not self.references:
            return []
        names = {each.name.folded for each in self.references if each.called_by_last_part}
        relations = Counter(name[-1] for name in names)
        return [
            replace(each, alias=str(each.name))
            if each.called_by_last_part and (each.start in self.shown_with_whole_name or relations[each.name.folded[-1]] > 1)
            else each
            for each in self.references
        ]

    def enclosing(self) -> Iterator[Scope]:
        """Yield this scope and those around it, the innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def called(self) -> set[str]:
        """Return what each relation of the SELECT is called in the user's text, folded."""
        names = (self.groups.get(each.start) or self.aliases.get(each.start) or each.name.parts[-1] for each in self.references)
        return {*map(fold, names), *self.other_names}

    def names(self) -> list[tuple[str, Reference | None]]:
        """Return what each relation is called in the text for Spark, folded, with its reference if it is one."""
        references = [(self.aliases.get(each.start) or each.alias or each.name.parts[-1], each) for each in self.with_distinct_aliases()]
        return [*((fold(name), each) for name, each in references), *((name, None) for name in self.other_names)]


def can_qualify(qualifier: tuple[str, ...], reference: Reference) -> bool:
    """Whether a qualifier, which may be empty, can mean a reference; without a user's alias any end of its name can."""
    ends_name = reference.name.folded[-len(qualifier) :] == qualifier and (len(qualifier) > 1 or not reference.aliased)
    return not qualifier or qualifier == (fold(reference.called or ""),) or ends_name


def select_stars(scopes: Sequence[Scope], source: Source) -> list[Star]:
    """Return the stars of SELECTs in which virtual columns are named."""
    found = []
    for scope in scopes:
        for qualifier, index in scope.stars if scope.virtual and scope.selects else ():
            excepts = _has_except(source, index)
            shown = [each for each in scope.final_references() if each.called is not None and can_qualify(qualifier, each)]
            found.append(Star(source.tokens[index + 2 * excepts].end, excepts, tuple(shown)))
    return found


def outer_stars(outermost: Scope, source: Source) -> list[OuterStar]:
    """Return the stars that are in no SELECT."""
    found = []
    for qualifier, index in () if outermost.selects else outermost.stars:
        start, end = source.tokens[index - 2 * len(qualifier)].start, source.tokens[index].end
        excepts: tuple[str, ...] = ()
        if _has_except(source, index):
            close = source.partner[index + 2]
            end, excepts = source.tokens[close].end, _last_parts(source, index + 3, close)
        found.append(OuterStar(start, end, qualifier, excepts))
    return found


def _has_except(source: Source, index: int) -> bool:
    """Whether EXCEPT and a list of columns follow the star at `index`."""
    return source.token(index + 1).word == "EXCEPT" and source.token(index + 2).word == "("


def _last_parts(source: Source, index: int, stop: int) -> tuple[str, ...]:
    """Return the folded last part of each name in a list."""
    ends = (each for each in range(index, stop) if source.token(each + 1).word in (",", ")"))
    return tuple(fold(source.tokens[each].identifier) for each in ends if source.tokens[each].is_identifier)
