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
from .qualifiers import Qualifiers
from .relation import NOT_AN_ALIAS, cte_name, ends_expression, relation, relation_alias, relation_name
from .scopes import Scope, outer_stars, select_stars
from .tokens import Cursor, Kind, Source, words
from .values import CURRENT_PLACE, VIRTUAL_COLUMNS, FunctionCall, Name, OuterStar, Qualifier, Reference, Sql, TimeTravel

CTES = frozenset[str]
"""The folded names of the CTEs that are visible."""
Place = TypeVar("Place", Reference, Qualifier, FunctionCall, OuterStar)

_ENDS_FROM = words(
    "WHERE GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET WINDOW UNION EXCEPT MINUS SETMINUS INTERSECT SELECT",
    "SET QUALIFY LATERAL INSERT |>",
)
_SET_OPERATIONS = words("UNION EXCEPT MINUS SETMINUS INTERSECT")
_ENDS_FILTERS = words("SELECT GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE QUALIFY")
_NATURAL_JOINS = words("JOIN INNER CROSS LEFT RIGHT FULL SEMI ANTI OUTER")
_AFTER_QUERY = _SET_OPERATIONS | words("ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET WINDOW |>")
_BEFORE_STAR = words("SELECT DISTINCT ALL , (")
_FUNCTIONS_WITH_FROM = words("TRIM EXTRACT SUBSTRING SUBSTR OVERLAY POSITION")


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


def names_in_from(text: str) -> set[str]:
    """Return what each relation of a FROM clause, without the keyword, is called in the rest of its query, in folded case."""
    source = Source(f"SELECT 1 FROM {text}")
    finder = _Finder(source)
    finder.scan(Cursor(source), frozenset())
    return finder.scopes[0].called()


def _with_places(text: str, cursor: Cursor, begin: int, outer: Iterable[Name]) -> Sql:
    """Return the text of a cursor, which begins at a position of its source, with the names in it."""
    if cursor.done:
        return Sql(text)
    source = cursor.source
    finder = _Finder(source)
    try:
        finder.scan(cursor, frozenset())
        qualifiers = Qualifiers(finder.scopes, outer)
        qualifiers.give_distinct_aliases()
    except RecursionError:
        raise StatementError("the statement is nested too deeply: name parts of it with WITH") from None
    scopes = finder.scopes
    found = [reference for scope in scopes for reference in scope.final_references()]
    stars = select_stars(scopes, source)
    return Sql(
        text,
        _shifted(sorted(found, key=lambda reference: reference.start), begin),
        _shifted(qualifiers.found(), begin),
        _shifted(finder.calls, begin),
        tuple(replace(star, end=star.end - begin, references=_shifted(star.references, begin)) for star in stars),
        _shifted(outer_stars(scopes[0], source), begin),
        tuple(name for name in VIRTUAL_COLUMNS if any(name in scope.virtual for scope in scopes)),
    )


def _shifted(places: Iterable[Place], begin: int) -> tuple[Place, ...]:
    """Return the same places, counted from `begin`."""
    return tuple(replace(place, start=place.start - begin, end=place.end - begin) for place in places)


def rows_of(name: Name, at: TimeTravel | None = None) -> Sql:
    """Return `SELECT * FROM name`."""
    start = len("SELECT * FROM ")
    text = f"SELECT * FROM {name.quoted}"
    return Sql(text, (Reference(start, len(text), name, at),))


class _Finder:
    """Collects the places in a source that name relations. Its methods read tokens of a cursor, and move it past what they read."""

    def __init__(self, source: Source) -> None:
        self.tokens = source.tokens
        self.calls: list[FunctionCall] = []
        self.scopes: list[Scope] = []
        self._scope = Scope(None)

    def scan(self, cursor: Cursor, ctes: CTES) -> None:
        """Scan the rest of a cursor in a new scope.

        Args:
            cursor: a cursor over a query, an expression or a statement.
            ctes: names of the visible CTEs.
        """
        enclosing = self._scope
        self._open(enclosing)
        self._walk(cursor, ctes, enclosing)
        self._scope = enclosing

    def _open(self, parent: Scope | None) -> None:
        """Open a new scope, which becomes the current one."""
        self._scope = Scope(parent)
        self.scopes.append(self._scope)

    def _walk(self, cursor: Cursor, ctes: CTES, enclosing: Scope, *, query: bool = True, listing: bool = False) -> None:
        """Scan the rest of a cursor in the current scope.

        Args:
            cursor: as in `scan`.
            ctes: as in `scan`.
            enclosing: the scope in which a set operation or `;` opens another one.
            query: FROM is a clause, not part of a function such as `trim(… FROM …)`.
            listing: a comma is followed by a relation.
        """
        outer, first, merging = ctes, cursor.position, False
        while not cursor.done:
            token = cursor.peek()
            if token.word in ("(", "["):
                self._bracket(cursor, ctes)
            elif cursor.peek(-1).word == ".":
                cursor.position += 1
            elif token.is_identifier and (cursor.peek(1).word == "." or token.word in CURRENT_PLACE):
                self._chain(cursor)
            elif token.word == ";":
                self._open(enclosing)
                ctes, listing, merging = outer, False, False
                cursor.position += 1
                first = cursor.position
            elif token.word == "WITH" and (visible := self._with(cursor, ctes)) is not None:
                first, ctes = cursor.position, visible
            elif (token.word == "FROM" and query and not self._continues(cursor, listing)) or (token.word == "," and listing):
                cursor.position += 1
                self._relation(cursor, ctes)
                listing = True
            elif token.word == "JOIN" or (token.word == "USING" and merging):
                merging = merging and token.word == "JOIN"
                cursor.position += 1
                self._relation(cursor, ctes)
            else:
                if token.word in _SET_OPERATIONS and cursor.peek(-1).word != "*":  # `* EXCEPT (…)` excludes columns
                    self._open(enclosing)
                merging = merging or (token.word == "MERGE" and cursor.position == first)
                listing = listing and token.word not in _ENDS_FROM
                self._note(cursor, query)
                self._word(cursor, ctes, first=cursor.position == first)

    def _note(self, cursor: Cursor, query: bool) -> None:
        """Record a SELECT, a NATURAL JOIN, an unqualified star or an unqualified virtual column in the scope; the cursor does not move.

        Args:
            cursor: a cursor at the token.
            query: the token is not in parentheses.
        """
        token, before, after = cursor.peek(), cursor.peek(-1).word, cursor.peek(1).word
        if token.word in _ENDS_FILTERS:
            self._scope.filters = False
        if token.word == "SELECT":
            self._scope.selects = True
        elif token.word in ("PIVOT", "UNPIVOT"):
            self._scope.reshapes = True
        elif token.word == "NATURAL" and after in _NATURAL_JOINS:
            self._scope.joins_naturally = True
        elif token.word == "*":
            counts = before == "(" and cursor.peek(-2).word == "COUNT"
            if before in _BEFORE_STAR and not counts:
                self._scope.stars.append(((), cursor.position))
        elif token.is_identifier and fold(token.identifier) in VIRTUAL_COLUMNS and after != "(":
            name = fold(token.identifier)
            if before == "AS" or (query and ends_expression(cursor.peek(-1), cursor.peek(-2))):
                named = cursor.peek(-2 if before == "AS" else -1)
                if query and fold(named.identifier) != name:
                    self._scope.defined.add(name)
            elif self._scope.filters or name not in self._scope.defined:
                self._scope.add_virtual_column(name)

    def _word(self, cursor: Cursor, ctes: CTES, *, first: bool) -> None:
        """Read a word, and the relation that it may name without a FROM clause: TABLE t, INTO t, OVERWRITE t, UPDATE t."""
        word, before = cursor.peek().word, cursor.peek(-1).word
        cursor.position += 1
        if word == "TABLE":
            self._table(cursor, before, ctes, first=first)
        elif (word == "INTO" and before in ("INSERT", "MERGE", "EVOLUTION")) or (word == "OVERWRITE" and before in ("INSERT", "EVOLUTION")):
            merging = before == "MERGE" or cursor.peek(-5).word == "MERGE"
            if not cursor.at_any(("DIRECTORY", "LOCAL")):
                cursor.accept("TABLE")
                self._add(cursor, frozenset(), bare=not merging, columns=not merging)
        elif word == "UPDATE" and first:
            self._add(cursor, frozenset())

    def _table(self, cursor: Cursor, before: str, ctes: CTES, *, first: bool) -> None:
        """Read the relation after TABLE: `TABLE t`, `TABLE(t)` as an argument, `TABLE t |> …`; `before` is the word before TABLE."""
        ahead = cursor.copy()
        if cursor.at("("):
            inside = ahead.group()
            name = inside.copy()
            if relation_name(name) and name.done:
                self._add(inside, ctes, bare=True)
                cursor.position = ahead.position
            return
        found = relation(ahead)
        piped = first and found is not None and found.alias is None and ahead.at("|>")
        table = self.tokens[cursor.position - 1]
        while not piped and cursor.accept_any("IF", "NOT", "EXISTS"):
            pass
        if before in ("CACHE", "LAZY") and self._defines(cursor.copy()):
            return
        added = self._add(cursor, ctes, bare=not piped)
        if piped and added:  # it is not the name of a CTE
            self._scope.references[-1] = replace(self._scope.references[-1], start=table.start, piped=True)

    def _defines(self, cursor: Cursor) -> bool:
        """Whether CACHE TABLE name [OPTIONS (…)] [AS] query defines a new name."""
        relation_name(cursor)
        if cursor.accept("OPTIONS"):
            cursor.skip()
        return cursor.at("AS") or cursor.at_query()

    def _bracket(self, cursor: Cursor, ctes: CTES) -> None:
        """Scan what is in the brackets that come next: a subquery in a new scope, other expressions in the current one."""
        before = cursor.peek(-1).word
        query = cursor.at("(") and cursor.at_query() and before not in _FUNCTIONS_WITH_FROM
        inside = cursor.group(cursor.peek().word)
        if query:
            self.scan(inside, ctes)
        else:
            self._walk(inside, ctes, self._scope, query=False)

    def _with(self, cursor: Cursor, ctes: CTES) -> CTES | None:
        """Read the CTEs of a WITH clause and return the names visible from then on; None for another WITH."""
        start = cursor.position
        cursor.expect("WITH")
        recursive = cursor.peek(1).is_identifier and cursor.accept("RECURSIVE")
        begun = False
        while cursor.peek().is_identifier:
            name = cte_name(cursor)
            if name is None:
                cursor.position = start
                return None
            self.scan(cursor.group(), ctes | {name} if recursive else ctes)
            ctes |= {name}
            begun = True
            if not cursor.accept(","):
                break
        if begun:
            return ctes
        cursor.position = start
        return None

    def _relation(self, cursor: Cursor, ctes: CTES) -> None:
        """Read a relation and its alias."""
        self._scope.filters, bare = True, False
        while cursor.at_any(("LATERAL", "STREAM")) and self._is_keyword_before_relation(cursor):
            bare = cursor.at("STREAM")
            cursor.position += 1
        if cursor.at("("):
            self._parenthesized(cursor, ctes, bare)
        elif cursor.at("VALUES") and cursor.peek(1).word != "." and cursor.peek(1).kind not in (Kind.QUOTED, Kind.END):
            self._values(cursor, ctes)
        elif relation(cursor.copy()) is None:
            self._function_or_file(cursor.copy())
        else:
            self._add(cursor, ctes)

    def _function_or_file(self, ahead: Cursor) -> None:
        """Note the alias of a function of Spark or a file; its name and arguments are scanned as an expression."""
        if relation_name(ahead):
            if ahead.at("("):
                ahead.skip()
            self._alias(ahead)

    def _is_keyword_before_relation(self, cursor: Cursor) -> bool:
        """Whether LATERAL or STREAM is a keyword, because a relation follows it."""
        after = cursor.peek(1)
        return after.word == "(" or (after.is_identifier and after.word not in NOT_AN_ALIAS)

    def _parenthesized(self, cursor: Cursor, ctes: CTES, bare: bool) -> None:
        """Read a subquery, or relations in parentheses, with the alias; `bare`: the parentheses contain only a name."""
        query = cursor.at_query()
        inside = cursor.group()
        known, enclosing, grouped = len(self._scope.references), self._scope, list[int]()
        if bare:
            self._add(inside, ctes, bare=True)
        elif query and not self._begins_with_relation(inside.copy()):
            self.scan(inside, ctes)
        else:
            self._relation(inside, ctes)
            self._walk(inside, ctes, enclosing, listing=True)
            self._scope = enclosing
            grouped = [each.start for each in enclosing.references[known:]]
        if self._alias(cursor):
            enclosing.reshapes = enclosing.reshapes or (bool(grouped) and cursor.peek(-1).word == ")")
            enclosing.groups.update(dict.fromkeys(grouped, enclosing.other_names[-1]))

    def _begins_with_relation(self, inside: Cursor) -> bool:
        """Whether parentheses begin with a subquery that is one of their relations: `((SELECT …) x JOIN t …)`."""
        if not inside.at("("):
            return False
        inside.skip()
        return not inside.done and not inside.at_any(_AFTER_QUERY)

    def _values(self, cursor: Cursor, ctes: CTES) -> None:
        """Read an inline table: commas between its rows do not start a relation."""
        cursor.expect("VALUES")
        while not cursor.done:
            if cursor.at("("):
                self._bracket(cursor, ctes)
            else:
                cursor.skip()
            if cursor.peek(1).is_identifier or not cursor.accept(","):
                break
        self._alias(cursor)

    def _alias(self, cursor: Cursor) -> bool:
        """Read the alias of a relation that is not a reference; return whether it has one."""
        alias = relation_alias(cursor)
        if alias is not None:
            self._scope.other_names.append(fold(alias))
        return alias is not None

    def _add(self, cursor: Cursor, ctes: CTES, *, bare: bool = False, columns: bool = False) -> bool:
        """Read a relation, if one comes next, and collect it; return whether it was collected.

        Args:
            cursor: a cursor at the name.
            ctes: names of the visible CTEs, which are not collected.
            bare: no alias may follow.
            columns: a list of columns may follow.
        """
        found = relation(cursor, columns=columns)
        if found is None:
            return False
        reference = found.reference
        if len(reference.name.parts) == 1 and reference.at is None and fold(reference.name.parts[0]) in ctes:
            self._scope.other_names.append(fold(found.alias or reference.name.parts[0]))
            return False
        if bare:
            reference = replace(reference, aliased=True, enclosed=False)
            cursor.position = found.after
        elif found.alias is not None:
            self._scope.aliases[reference.start] = found.alias
            self._scope.reshapes = self._scope.reshapes or cursor.peek(-1).word == ")"  # a list of columns
        self._scope.references.append(reference)
        return True

    def _chain(self, cursor: Cursor) -> None:
        """Read a dotted name in an expression: a function call, a star, or a column."""
        start = cursor.position
        while cursor.peek(1).word == "." and (cursor.peek(2).is_identifier or cursor.peek(2).word == "*"):
            cursor.position += 2
        index, last = cursor.position, cursor.peek()
        called = cursor.peek(1).word == "("
        if called and index - start <= 4:  # one to three parts, with a dot between them
            parts = tuple(token.identifier for token in self.tokens[start : index + 1 : 2])
            end = index if len(parts) > 1 else cursor.source.partner[index + 1]
            self.calls.append(FunctionCall(self.tokens[start].start, self.tokens[end].end, Name(parts)))
        qualifier = tuple(fold(token.identifier) for token in self.tokens[start : max(start, index - 1) : 2])
        if last.word == "*":
            self._scope.stars.append((qualifier, index))
        elif not called and fold(last.identifier) in VIRTUAL_COLUMNS:
            self._scope.add_virtual_column(fold(last.identifier), qualifier)
        if not called and index > start:
            after = (cursor.peek(2),) if cursor.peek(1).word == "." else ()
            self._scope.dotted_names.append((*self.tokens[start : index + 1 : 2], *after))
        cursor.position += 1

    def _continues(self, cursor: Cursor, listing: bool) -> bool:
        """Whether FROM is part of IS [NOT] DISTINCT FROM, or of the clause CHANGES FROM of a relation."""
        before = cursor.peek(-1).word
        return (before == "CHANGES" and listing) or (before == "DISTINCT" and cursor.peek(-2).word in ("IS", "NOT"))
