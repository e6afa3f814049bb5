"""Find the relations that a statement names: after FROM, JOIN, TABLE, INTO, UPDATE and USING, with the scopes of CTEs.

Only tokens are read. Expressions are not parsed, so that no syntax that Spark allows in them, now or in a later version,
can hide a name. The rules follow `relationPrimary` and the rules that lead to it in Spark's `SqlBaseParser.g4`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from ..errors import StatementError
from ..format.identifiers import fold
from .qualifiers import give_distinct_aliases, qualifiers
from .relation import NOT_AN_ALIAS, alias_at, name_at, relation_at
from .scopes import Scope, can_qualify
from .tokens import Cursor, Kind, Source, Token, words
from .values import CURRENT_PLACE, VIRTUAL_COLUMNS, FunctionCall, Name, OuterStar, Qualifier, Reference, Sql, Star, TimeTravel

CTES = frozenset[str]
"""The folded names of the CTEs that are visible."""
Place = TypeVar("Place", Reference, Qualifier, FunctionCall, OuterStar)

ENDS_FROM = words(
    "WHERE GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET WINDOW UNION EXCEPT MINUS SETMINUS INTERSECT SELECT",
    "SET QUALIFY LATERAL INSERT |>",
)
SET_OPERATIONS = words("UNION EXCEPT MINUS SETMINUS INTERSECT")
ENDS_FILTERS = words("SELECT GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE QUALIFY")
NATURAL_JOINS = words("JOIN INNER CROSS LEFT RIGHT FULL SEMI ANTI OUTER")
AFTER_QUERY = SET_OPERATIONS | words("ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET WINDOW |>")
BEFORE_BARE_ALIAS = words(") ] END")
BEFORE_STAR = words("SELECT DISTINCT ALL , (")
FUNCTIONS_WITH_FROM = words("TRIM EXTRACT SUBSTRING SUBSTR OVERLAY POSITION")


def references(text: str | Source, outer: Iterable[Name] = ()) -> Sql:
    """Return the text with its references and qualifiers. CTEs, table functions and files (`` parquet.`/path` ``) are not references.

    Args:
        text: the SQL.
        outer: relations without an alias, named elsewhere in the statement, whose names may qualify columns in the text.

    Raises:
        StatementError: a quote or bracket is not closed, or time travel is not to a number or a timestamp.
    """
    source = text if isinstance(text, Source) else Source(text)
    return _with_places(source.text, Cursor(source), 0, outer)


def piece(cursor: Cursor, outer: Iterable[Name] = ()) -> Sql:
    """Return the rest of a cursor, with the names in it, and move to its end. The arguments and errors are those of `references`."""
    rest = cursor.rest()
    return _with_places(rest.text, rest, rest.peek().start, outer)


def _with_places(text: str, cursor: Cursor, begin: int, outer: Iterable[Name]) -> Sql:
    """Return the text of a cursor, which begins at a position of its source, with the names in it."""
    if cursor.done:
        return Sql(text)
    source = cursor.source
    finder = _Finder(source)
    try:
        finder.scan(cursor.position, cursor.stop, frozenset())
        give_distinct_aliases(finder.scopes, source, tuple(outer))
    except RecursionError:
        raise StatementError("the statement is nested too deeply: name parts of it with WITH") from None
    return Sql(
        text,
        tuple(_shifted(found, begin) for found in finder.found()),
        tuple(_shifted(found, begin) for found in qualifiers(finder.scopes, source, tuple(outer))),
        tuple(_shifted(found, begin) for found in finder.calls),
        tuple(Star(star.end - begin, star.excepts, tuple(_shifted(each, begin) for each in star.references)) for star in finder.stars()),
        tuple(_shifted(found, begin) for found in finder.outer_stars()),
        finder.virtual(),
    )


def _shifted(found: Place, begin: int) -> Place:
    """Return the same place, counted from `begin`."""
    return replace(found, start=found.start - begin, end=found.end - begin)


def rows_of(name: Name, at: TimeTravel | None = None) -> Sql:
    """Return `SELECT * FROM name`."""
    start = len("SELECT * FROM ")
    text = f"SELECT * FROM {name.quoted}"
    return Sql(text, (Reference(start, len(text), name, at),))


class _Finder:
    """Collects the places in a source that name relations, token by token."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = source.tokens
        self.calls: list[FunctionCall] = []
        self.scopes: list[Scope] = []
        self._scope = Scope(None)

    def found(self) -> list[Reference]:
        """Return the references of all scopes in the order of the text."""
        found = (reference for scope in self.scopes for reference in scope.final_references())
        return sorted(found, key=lambda reference: reference.start)

    def stars(self) -> list[Star]:
        """Return the stars of SELECTs in which virtual columns are named."""
        found = []
        for scope in self.scopes:
            for qualifier, index in scope.stars if scope.virtual and scope.selects else ():
                excepts = self.source.token(index + 1).word == "EXCEPT" and self.source.token(index + 2).word == "("
                shown = [each for each in scope.final_references() if each.called is not None and can_qualify(qualifier, each)]
                found.append(Star(self.tokens[index + 2 * excepts].end, excepts, tuple(shown)))
        return found

    def outer_stars(self) -> list[OuterStar]:
        """Return the stars that are in no SELECT."""
        first = self.scopes[0]
        found = []
        for qualifier, index in () if first.selects else first.stars:
            start, end = self.tokens[index - 2 * len(qualifier)].start, self.tokens[index].end
            excepts: tuple[str, ...] = ()
            if self.source.token(index + 1).word == "EXCEPT" and self.source.token(index + 2).word == "(":
                close = self.source.partner[index + 2]
                end, excepts = self.tokens[close].end, self._names(index + 3, close)
            found.append(OuterStar(start, end, qualifier, excepts))
        return found

    def _names(self, index: int, stop: int) -> tuple[str, ...]:
        """Return the folded last part of each name in a list."""
        ends = (each for each in range(index, stop) if self.source.token(each + 1).word in (",", ")"))
        return tuple(fold(self.tokens[each].identifier) for each in ends if self.tokens[each].is_identifier)

    def virtual(self) -> tuple[str, ...]:
        """Return the virtual columns that are named in any scope."""
        return tuple(name for name in VIRTUAL_COLUMNS if any(name in scope.virtual for scope in self.scopes))

    def scan(self, index: int, stop: int, ctes: CTES, *, query: bool = True, listing: bool = False) -> None:
        """Scan [index, stop) in a new scope, or in the scope of a FROM list if `listing`.

        Args:
            index: index of the first token.
            stop: index after the last token.
            ctes: names of the visible CTEs.
            query: FROM is a clause, not part of a function such as `trim(… FROM …)`.
            listing: a comma is followed by a relation.
        """
        enclosing = self._scope
        if not listing:
            self._open(enclosing)
        self._walk(index, stop, ctes, query, listing, enclosing)
        self._scope = enclosing

    def _walk(self, index: int, stop: int, ctes: CTES, query: bool, listing: bool, enclosing: Scope) -> None:
        """Scan [index, stop) in the current scope. A set operation or `;` opens another scope in `enclosing`; the rest is as in `scan`."""
        outer, first, merging = ctes, index, False
        while index < stop:
            token = self.tokens[index]
            if token.word in ("(", "["):
                self._bracket(index, ctes)
                index = self.source.skip(index)
            elif index and self.tokens[index - 1].word == ".":
                index += 1
            elif token.is_identifier and (self.source.token(index + 1).word == "." or token.word in CURRENT_PLACE):
                index = self._chain(index, stop)
            elif token.word == ";":
                self._open(enclosing)
                ctes, listing, merging = outer, False, False
                first = index = index + 1
            elif token.word == "WITH" and (closed := self._with(index, stop, ctes)):
                index, ctes = closed
                first = index
            elif (token.word == "FROM" and query and not self._continues(index, listing)) or (token.word == "," and listing):
                index = self._relation(index + 1, stop, ctes)
                listing = True
            elif token.word == "JOIN":
                index = self._relation(index + 1, stop, ctes)
            elif token.word == "USING" and merging:
                merging = False
                index = self._relation(index + 1, stop, ctes)
            else:
                if token.word in SET_OPERATIONS and self.source.token(index - 1).word != "*":  # `* EXCEPT (…)` excludes columns
                    self._open(enclosing)
                merging = merging or (token.word == "MERGE" and index == first)
                listing = listing and token.word not in ENDS_FROM
                self._note(index, query)
                index = self._word(index, stop, ctes, first=index == first)

    def _note(self, index: int, query: bool) -> None:
        """Record a SELECT, a NATURAL JOIN, an unqualified star or an unqualified virtual column in the scope.

        Args:
            index: index of the token.
            query: the token is not in parentheses.
        """
        token, before, after = self.tokens[index], self.source.token(index - 1).word, self.source.token(index + 1).word
        if token.word in ENDS_FILTERS:
            self._scope.filters = False
        if token.word == "SELECT":
            self._scope.selects = True
        elif token.word == "NATURAL" and after in NATURAL_JOINS:
            self._scope.joins_naturally = True
        elif token.word == "*":
            counts = before == "(" and self.source.token(index - 2).word == "COUNT"
            if before in BEFORE_STAR and not counts:
                self._scope.stars.append(((), index))
        elif token.is_identifier and fold(token.identifier) in VIRTUAL_COLUMNS and after != "(":
            name = fold(token.identifier)
            if before == "AS" or (query and before in BEFORE_BARE_ALIAS):
                if query and fold(self.source.token(index - 2).text) != name:
                    self._scope.defined.add(name)
            elif self._scope.filters or name not in self._scope.defined:
                self._scope.add_virtual_column(name)

    def _word(self, index: int, stop: int, ctes: CTES, *, first: bool) -> int:
        """Read a word that names a relation without a FROM clause: TABLE t, INTO t, OVERWRITE t, UPDATE t."""
        word, before = self.tokens[index].word, self.source.token(index - 1).word
        after = index + 1
        if word == "TABLE":
            if self.source.token(after).word == "(":
                close = self.source.skip(after) - 1
                parts, end = name_at(self.source, after + 1, close)
                if parts and end == close:
                    self._add_bare(after + 1, close, ctes)
                    return close + 1
                return after
            while self.source.token(after).word in ("IF", "NOT", "EXISTS"):
                after += 1
            if before in ("CACHE", "LAZY") and self._defines(after, stop):
                return after
            piped = self._piped(index, stop, ctes) if first else None
            return piped or self._add_bare(after, stop, ctes)
        if (word == "INTO" and before in ("INSERT", "MERGE", "EVOLUTION")) or (word == "OVERWRITE" and before in ("INSERT", "EVOLUTION")):
            if self.source.token(after).word in ("DIRECTORY", "LOCAL"):
                return after
            after += self.source.token(after).word == "TABLE"
            merging = before == "MERGE" or self.source.token(index - 4).word == "MERGE"
            return self._add(after, stop, frozenset(), bare=not merging, columns=not merging)
        if word == "UPDATE" and first:
            return self._add(after, stop, frozenset())
        return after

    def _piped(self, index: int, stop: int, ctes: CTES) -> int | None:
        """Collect the relation of `TABLE name |> …`, which begins at `index`; return the index after the name, None without a pipe."""
        relation = relation_at(self.source, index + 1, stop)
        if relation is None or relation.alias is not None or self.source.token(relation.stop).word != "|>":
            return None
        known = len(self._scope.references)
        end = self._add(index + 1, stop, ctes)
        if len(self._scope.references) > known:  # it is not the name of a CTE
            self._scope.references[-1] = replace(self._scope.references[-1], start=self.tokens[index].start, piped=True)
        return end

    def _defines(self, index: int, stop: int) -> bool:
        """Whether CACHE TABLE name [OPTIONS (…)] [AS] query defines a new name."""
        after = name_at(self.source, index, stop)[1]
        if self.source.token(after).word == "OPTIONS":
            after = self.source.skip(after + 1)
        return self.source.token(after).word == "AS" or self.source.query_starts(after)

    def _bracket(self, index: int, ctes: CTES) -> None:
        """Scan what is in the brackets that open at `index`: a subquery in a new scope, other expressions in the current one."""
        close = self.source.partner[index]
        before = self.source.token(index - 1).word
        query = self.tokens[index].word == "(" and self.source.query_starts(index) and before not in FUNCTIONS_WITH_FROM
        if query:
            self.scan(index + 1, close, ctes)
        else:
            self._walk(index + 1, close, ctes, False, False, self._scope)

    def _with(self, index: int, stop: int, ctes: CTES) -> tuple[int, CTES] | None:
        """Read the CTEs of a WITH clause: return the index after them and the names visible from then on; None for another WITH."""
        index += 1
        recursive = self.source.token(index).word == "RECURSIVE" and self.source.token(index + 1).is_identifier
        index += recursive
        begun = False
        while index < stop and self.tokens[index].is_identifier:
            name = fold(self.tokens[index].identifier)
            body = index + 1
            if self.source.token(body).word == "(" and self.source.token(self.source.skip(body)).word in (
                "AS",
                "MAX",
                "(",
            ):
                body = self.source.skip(body)
            if [self.source.token(body + ahead).word for ahead in range(3)] == ["MAX", "RECURSION", "LEVEL"]:
                body += 4  # MAX RECURSION LEVEL and its number
            body += self.source.token(body).word == "AS"
            if body >= stop or self.tokens[body].word != "(":
                return None
            self.scan(body + 1, self.source.partner[body], ctes | {name} if recursive else ctes)
            ctes |= {name}
            begun = True
            index = self.source.skip(body)
            if self.source.token(index).word != ",":
                break
            index += 1
        return (index, ctes) if begun else None

    def _relation(self, index: int, stop: int, ctes: CTES) -> int:
        """Read a relation and its alias; return the index after them."""
        self._scope.filters, bare = True, False
        while self.source.token(index).word in ("LATERAL", "STREAM") and self._is_keyword_before_relation(index):
            bare = self.source.token(index).word == "STREAM"
            index += 1
        if bare and self.source.token(index).word == "(":
            self._add_bare(index + 1, self.source.partner[index], ctes)
            return self._alias(self.source.skip(index), stop)
        token = self.source.token(index)
        if index >= stop:
            return index
        if token.word == "(":
            if self.source.query_starts(index) and not self._begins_with_relation(index):
                self.scan(index + 1, self.source.partner[index], ctes)
                return self._alias(self.source.skip(index), stop)
            before = len(self._scope.references)
            self._parenthesized(index, ctes)
            end = self._alias(self.source.skip(index), stop)
            if end > self.source.skip(index):
                inside = self._scope.references[before:]
                self._scope.groups.update(dict.fromkeys((each.start for each in inside), self._scope.other_names[-1]))
            return end
        after = self.source.token(index + 1)
        if token.word == "VALUES" and after.word != "." and after.kind not in (Kind.QUOTED, Kind.END):
            return self._values(index + 1, stop, ctes)
        return self._add(index, stop, ctes)

    def _open(self, parent: Scope | None) -> None:
        """Open a new scope, which becomes the current one."""
        self._scope = Scope(parent)
        self.scopes.append(self._scope)

    def _is_keyword_before_relation(self, index: int) -> bool:
        """Whether LATERAL or STREAM is a keyword, because a relation follows it."""
        after = self.source.token(index + 1)
        return after.word == "(" or (after.is_identifier and after.word not in NOT_AN_ALIAS)

    def _begins_with_relation(self, index: int) -> bool:
        """Whether parentheses begin with a subquery that is one of their relations: `((SELECT …) x JOIN t …)`."""
        after = self.source.skip(index + 1)
        return (
            self.source.token(index + 1).word == "(" and after < self.source.partner[index] and self.tokens[after].word not in AFTER_QUERY
        )

    def _parenthesized(self, index: int, ctes: CTES) -> None:
        """Read the relations in the parentheses that open at `index`."""
        close = self.source.partner[index]
        after = self._relation(index + 1, close, ctes)
        self.scan(after, close, ctes, listing=True)

    def _values(self, index: int, stop: int, ctes: CTES) -> int:
        """Read the rows of an inline table: commas between them do not start a relation."""
        while index < stop:
            if self.tokens[index].word == "(":
                self._bracket(index, ctes)
            index = self.source.skip(index)
            if self.source.token(index).word != "," or self.source.token(index + 1).is_identifier:
                break
            index += 1
        return self._alias(index, stop)

    def _alias(self, index: int, stop: int) -> int:
        """Read the alias of a relation that is not a reference; return the index after it."""
        alias, after = alias_at(self.source, index, stop)
        if alias is not None:
            self._scope.other_names.append(fold(alias))
        return after

    def _add(self, index: int, stop: int, ctes: CTES, *, bare: bool = False, columns: bool = False) -> int:
        """Collect the relation named at `index`, and return the index after it.

        Args:
            index: index of the first token of the name.
            stop: index after the last token that may belong to it.
            ctes: names of the visible CTEs, which are not collected.
            bare: no alias may follow.
            columns: a list of columns may follow.
        """
        relation = relation_at(self.source, index, stop, columns=columns)
        if relation is None:
            return index
        reference = relation.reference
        if len(reference.name.parts) == 1 and reference.at is None and fold(reference.name.parts[0]) in ctes:
            self._scope.other_names.append(fold(relation.alias or reference.name.parts[0]))
            return relation.stop
        if bare:
            after = next(i for i in range(index, stop + 1) if self.source.token(i).start >= reference.end)
            self._scope.references.append(replace(reference, aliased=True, enclosed=False))
            return after
        self._scope.references.append(reference)
        if relation.alias is not None:
            self._scope.aliases[reference.start] = relation.alias
        return relation.stop

    def _add_bare(self, index: int, stop: int, ctes: CTES) -> int:
        return self._add(index, stop, ctes, bare=True)

    def _chain(self, index: int, stop: int) -> int:
        """Read a dotted name in an expression: a function call, a star, or a column; return the index after it."""
        start = index
        while index + 2 < stop and self.tokens[index + 1].word == "." and self._may_follow(self.tokens[index + 2]):
            index += 2
        called = index + 1 < stop and self.tokens[index + 1].word == "("
        if called and (2 <= index - start <= 4 or index == start):  # one to three parts, with a dot between them
            parts = tuple(token.identifier for token in self.tokens[start : index + 1 : 2])
            end = index if len(parts) > 1 else self.source.partner[index + 1]
            self.calls.append(FunctionCall(self.tokens[start].start, self.tokens[end].end, Name(parts)))
        last = self.tokens[index]
        if last.word == "*":
            self._scope.stars.append((self._qualifier(start, index), index))
        elif not called and fold(last.identifier) in VIRTUAL_COLUMNS:
            self._scope.add_virtual_column(fold(last.identifier), self._qualifier(start, index))
        if not called and index > start:
            self._scope.dotted_names.append((start, index + 1))
        return index + 1

    def _qualifier(self, start: int, index: int) -> tuple[str, ...]:
        """Return the folded parts of a dotted name before its last part, which is at `index`."""
        return tuple(fold(token.identifier) for token in self.tokens[start : index - 1 : 2])

    @staticmethod
    def _may_follow(token: Token) -> bool:
        return token.is_identifier or token.word == "*"

    def _continues(self, index: int, listing: bool) -> bool:
        """Whether FROM is part of IS [NOT] DISTINCT FROM, or of the clause CHANGES FROM of a relation."""
        before = self.source.token(index - 1).word
        return (before == "CHANGES" and listing) or (before == "DISTINCT" and self.source.token(index - 2).word in ("IS", "NOT"))
