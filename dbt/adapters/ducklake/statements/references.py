"""Where a text names relations: after FROM, JOIN, TABLE, INTO, UPDATE and USING, with the scopes of CTEs.

Only tokens are looked at. Expressions are walked through, never understood: whatever Spark's grammar allows in them,
today or in its next version, cannot hide a name. The grammar obeyed is `relationPrimary` and what leads to it in
Spark's `SqlBaseParser.g4`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from .timetravel import time_travel
from .tokens import QUERY_STARTS, Cursor, Kind, Source, Token, string_value, words
from .values import Name, Qualifier, Reference, Sql

CTES = frozenset[str]

NOT_A_NAME = words(
    "SELECT FROM WHERE GROUP HAVING ORDER SORT DISTRIBUTE LIMIT OFFSET UNION EXCEPT MINUS INTERSECT JOIN INNER LEFT",
    "RIGHT FULL CROSS NATURAL SEMI ANTI ON USING SET AS WHEN THEN WITH LATERAL AND OR NOT IN IS",
)
NOT_AN_ALIAS = NOT_A_NAME | words(
    "CLUSTER WINDOW QUALIFY PIVOT UNPIVOT TABLESAMPLE INSERT MAP REDUCE VALUES WATERMARK FOR REPLACE PARTITION BY",
    "TABLE OPTIONS DELETE UPDATE SETMINUS DO END",
)
ENDS_FROM = words(
    "WHERE GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET WINDOW UNION EXCEPT MINUS SETMINUS INTERSECT SELECT",
    "SET QUALIFY LATERAL INSERT |>",
)
FUNCTIONS_WITH_FROM = words("TRIM EXTRACT SUBSTRING SUBSTR OVERLAY POSITION")
FILE_FORMATS = words("parquet csv json orc text avro xml binaryfile delta iceberg hudi")
PATH = re.compile(r"[/\\:.*]")


def references(text: str) -> Sql:
    """The text with its references and qualifiers; CTEs, table functions, files (`` parquet.`/path` ``) are none.

    Raises:
        StatementError: a quote or bracket is not closed, or time travel is not to a number or a moment.
    """
    return fragment(Source(text), 0, None, whole=True)


def fragment(source: Source, start: int = 0, stop: int | None = None, *, outer: Iterable[Name] = (), whole: bool = False) -> Sql:
    """The tokens [start, stop) of a source as written, with the names in them.

    Args:
        source: the text.
        start: index of the first token.
        stop: index behind the last token; None: all.
        outer: relations without alias named elsewhere in the statement, whose names may qualify columns here.
        whole: with the comments before and behind.
    """
    stop = len(source.tokens) if stop is None else stop
    if start >= stop:
        return Sql(source.text if whole else "")
    finder = _Finder(source, outer)
    finder.scan(start, stop, frozenset())
    begin, end = (0, len(source.text)) if whole else (source.tokens[start].start, source.tokens[stop - 1].end)
    return Sql(
        source.text[begin:end],
        tuple(replace(found, start=found.start - begin, end=found.end - begin) for found in finder.found()),
        tuple(replace(found, start=found.start - begin, end=found.end - begin) for found in finder.qualifiers()),
    )


def piece(cursor: Cursor, outer: Iterable[Name] = ()) -> Sql:
    """What is left in a cursor, with the names in it; moves to its end."""
    start, cursor.position = cursor.position, cursor.stop
    return fragment(cursor.source, start, cursor.stop, outer=outer)


@dataclass(frozen=True)
class Relation:
    """What `relation_at` found: the reference, and the index of the token behind its alias."""

    reference: Reference
    stop: int
    alias: str | None


def relation_at(source: Source, index: int, stop: int, *, columns: bool = False) -> Relation | None:
    """The relation named at a token; None for a function, a file, a keyword, or a name of more than three parts.

    `columns`: a bracket behind the name lists columns; else it makes the name a function's.
    """
    parts, behind = _name_at(source, index, stop)
    if not parts or source.token(behind).word in (("-",) if columns else ("(", "-", "$", "{")):
        return None
    start, end = source.tokens[index].start, source.tokens[behind - 1].end
    at, after = time_travel(source, behind, stop)
    if at is not None:
        end = source.tokens[after - 1].end
    options = source.token(after).word == "WITH" and source.token(after + 1).word == "("
    if options:
        after = source.skip(after + 1)
    sampled = after
    while source.token(after).word in ("TABLESAMPLE", "REPEATABLE") and source.token(after + 1).word == "(":
        after = source.skip(after + 1)
    alias, behind_alias = _alias_at(source, after, stop)
    if len(parts) > 3 or _is_file(source, index, parts):
        return None
    reference = Reference(start, end, Name(parts), at, aliased=alias is not None, enclosed=alias is None and after > sampled)
    return Relation(reference, behind_alias, alias)


def _name_at(source: Source, index: int, stop: int) -> tuple[tuple[str, ...], int]:
    token = source.token(index)
    if index >= stop or not token.is_identifier:
        return (), index
    if token.word == "IDENTIFIER" and source.token(index + 1).word == "(":
        literal = source.token(index + 2)
        if literal.kind is not Kind.STRING or source.token(index + 3).word != ")":
            return (), index
        inner = Source(string_value(literal.text))
        parts, behind = _name_at(inner, 0, len(inner.tokens))
        return (parts if behind == len(inner.tokens) else ()), index + 4
    if token.word in NOT_A_NAME and source.token(index + 1).word != ".":
        return (), index
    parts = (token.identifier,)
    index += 1
    while index + 1 < stop and source.tokens[index].word == "." and source.tokens[index + 1].is_identifier:
        parts += (source.tokens[index + 1].identifier,)
        index += 2
    return parts, index


def _is_file(source: Source, index: int, parts: tuple[str, ...]) -> bool:
    """`` parquet.`/path` ``: Spark reads the path itself."""
    return (
        len(parts) == 2
        and parts[0].lower() in FILE_FORMATS
        and source.token(index + 2).kind is Kind.QUOTED
        and PATH.search(parts[1]) is not None
    )


def _alias_at(source: Source, index: int, stop: int) -> tuple[str | None, int]:
    """An alias with its column list, and the index behind."""
    token = source.token(index)
    said = token.word == "AS"
    if said:
        index += 1
        token = source.token(index)
    if index >= stop or not token.is_identifier or (token.kind is Kind.WORD and token.word in NOT_AN_ALIAS and not said):
        return None, index - said
    if said and token.word in QUERY_STARTS:
        return None, index - 1
    index += 1
    if source.token(index).word == "(" and index < stop:
        index = source.skip(index)
    return token.identifier, index


class _Finder:
    """Walks over the tokens of a source and collects the places that name relations."""

    def __init__(self, source: Source, outer: Iterable[Name] = ()) -> None:
        self.source = source
        self.outer = tuple(outer)
        self.tokens = source.tokens
        self._found: list[Reference] = []
        self._chains: list[tuple[int, int]] = []

    def found(self) -> list[Reference]:
        return sorted(self._found, key=lambda reference: reference.start)

    def qualifiers(self) -> list[Qualifier]:
        """Chains of names that begin with the name, or the end of the name, of a relation without an alias."""
        names = {
            tuple(part.casefold() for part in name.parts[-length:]): name
            for name in (*self.outer, *(reference.name for reference in self._found if not reference.aliased))
            for length in range(2, len(name.parts) + 1)
        }
        found = []
        for start, stop in self._chains if names else ():
            parts = tuple(token.identifier.casefold() for token in self.tokens[start:stop:2] if token.is_identifier)
            for length in (3, 2):
                name = names.get(parts[:length])
                behind = start + 2 * length - 1
                if name is not None and len(parts) >= length and self.source.token(behind).word == ".":
                    found.append(Qualifier(self.tokens[start].start, self.tokens[behind - 1].end, name))
                    break
        return found

    def scan(self, index: int, stop: int, ctes: CTES, *, query: bool = True, listing: bool = False) -> None:
        """Walks over [index, stop). `query`: FROM is a clause here; `listing`: a comma is followed by a relation."""
        statement = outer = ctes, index
        merging = False
        while index < stop:
            token = self.tokens[index]
            if token.word in ("(", "["):
                self._bracket(index, ctes)
                index = self.source.skip(index)
            elif index and self.tokens[index - 1].word == ".":
                index += 1
            elif token.is_identifier and self.source.token(index + 1).word == ".":
                index = self._chain(index, stop)
            elif token.word == ";":
                ctes, listing, merging = outer[0], False, False
                index += 1
                statement = ctes, index
            elif token.word == "WITH" and (closed := self._with(index, stop, ctes)):
                index, ctes = closed
                statement = ctes, index
            elif (token.word == "FROM" and query and not self._is_comparison(index)) or (token.word == "," and listing):
                index = self._relation(index + 1, stop, ctes)
                listing = True
            elif token.word == "JOIN":
                index = self._relation(index + 1, stop, ctes)
            elif token.word == "USING" and merging:
                merging = False
                index = self._relation(index + 1, stop, ctes)
            else:
                merging = merging or (token.word == "MERGE" and index == statement[1])
                listing = listing and token.word not in ENDS_FROM
                index = self._word(index, stop, ctes, first=index == statement[1])

    def _word(self, index: int, stop: int, ctes: CTES, *, first: bool) -> int:
        """The words that name a relation without a FROM clause: TABLE t, INTO t, OVERWRITE t, UPDATE t."""
        word, before = self.tokens[index].word, self.source.token(index - 1).word
        behind = index + 1
        if word == "TABLE":
            if self.source.token(behind).word == "(":
                close = self.source.skip(behind) - 1
                parts, end = _name_at(self.source, behind + 1, close)
                if parts and end == close:
                    self._add_bare(behind + 1, close, ctes)
                    return close + 1
                return behind
            while self.source.token(behind).word in ("IF", "NOT", "EXISTS"):
                behind += 1
            if before in ("CACHE", "LAZY") and self._defines(behind, stop):
                return behind
            return self._add_bare(behind, stop, ctes)
        if (word == "INTO" and before in ("INSERT", "MERGE", "EVOLUTION")) or (word == "OVERWRITE" and before in ("INSERT", "EVOLUTION")):
            if self.source.token(behind).word in ("DIRECTORY", "LOCAL"):
                return behind
            behind += self.source.token(behind).word == "TABLE"
            merging = before == "MERGE" or self.source.token(index - 4).word == "MERGE"
            return self._add(behind, stop, frozenset(), bare=not merging, columns=not merging)
        if word == "UPDATE" and first:
            return self._add(behind, stop, frozenset())
        return behind

    def _defines(self, index: int, stop: int) -> bool:
        """CACHE TABLE name [OPTIONS (…)] [AS] query: the name is a new one."""
        behind = _name_at(self.source, index, stop)[1]
        if self.source.token(behind).word == "OPTIONS":
            behind = self.source.skip(behind + 1)
        return self.source.token(behind).word == "AS" or self.source.query_starts(behind)

    def _bracket(self, index: int, ctes: CTES) -> None:
        close = self.source.partner[index]
        before = self.source.token(index - 1).word
        query = self.tokens[index].word == "(" and self.source.query_starts(index) and before not in FUNCTIONS_WITH_FROM
        self.scan(index + 1, close, ctes, query=query)

    def _with(self, index: int, stop: int, ctes: CTES) -> tuple[int, CTES] | None:
        """The CTEs of a WITH clause: the index behind them and the names visible then; None for another WITH."""
        index += 1
        recursive = self.source.token(index).word == "RECURSIVE" and self.source.token(index + 1).is_identifier
        index += recursive
        begun = False
        while index < stop and self.tokens[index].is_identifier:
            name = self.tokens[index].identifier.casefold()
            body = index + 1
            if self.source.token(body).word == "(" and self.source.token(self.source.skip(body)).word in (
                "AS",
                "MAX",
                "(",
            ):
                body = self.source.skip(body)
            if [self.source.token(body + ahead).word for ahead in range(3)] == ["MAX", "RECURSION", "LEVEL"]:
                body += 4
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
        """A relation and its alias; the index behind."""
        while self.source.token(index).word in ("LATERAL", "STREAM") and self._goes_on(index):
            index += 1
        token = self.source.token(index)
        if index >= stop:
            return index
        if token.word == "(":
            if self.source.query_starts(index):
                self.scan(index + 1, self.source.partner[index], ctes)
            else:
                self._parenthesised(index, ctes)
            index = self.source.skip(index)
            return _alias_at(self.source, index, stop)[1]
        if token.word == "VALUES" and self.source.token(index + 1).word not in (".", ""):
            return self._values(index + 1, stop, ctes)
        return self._add(index, stop, ctes)

    def _goes_on(self, index: int) -> bool:
        """LATERAL and STREAM are words of the grammar here: something to read follows."""
        behind = self.source.token(index + 1)
        return behind.word == "(" or (behind.is_identifier and behind.word not in NOT_AN_ALIAS)

    def _parenthesised(self, index: int, ctes: CTES) -> None:
        close = self.source.partner[index]
        behind = self._relation(index + 1, close, ctes)
        self.scan(behind, close, ctes, listing=True)

    def _values(self, index: int, stop: int, ctes: CTES) -> int:
        """The rows of an inline table: their commas separate rows."""
        while index < stop:
            if self.tokens[index].word == "(":
                self._bracket(index, ctes)
            index = self.source.skip(index)
            if self.source.token(index).word != "," or self.source.token(index + 1).is_identifier:
                break
            index += 1
        return _alias_at(self.source, index, stop)[1]

    def _add(self, index: int, stop: int, ctes: CTES, *, bare: bool = False, columns: bool = False) -> int:
        """Collects the relation named at `index`. `bare`: the grammar allows no alias; `columns`: but a list of columns."""
        relation = relation_at(self.source, index, stop, columns=columns)
        if relation is None:
            return index
        reference = relation.reference
        if len(reference.name.parts) == 1 and reference.at is None and reference.name.parts[0].casefold() in ctes:
            return relation.stop
        if bare:
            behind = next(i for i in range(index, stop + 1) if self.source.token(i).start >= reference.end)
            self._found.append(replace(reference, aliased=True, enclosed=False))
            return behind
        self._found.append(reference)
        return relation.stop

    def _add_bare(self, index: int, stop: int, ctes: CTES) -> int:
        return self._add(index, stop, ctes, bare=True)

    def _chain(self, index: int, stop: int) -> int:
        """A dotted name in an expression."""
        start = index
        while index + 2 < stop and self.tokens[index + 1].word == "." and self._may_follow(self.tokens[index + 2]):
            index += 2
        called = index + 1 < stop and self.tokens[index + 1].word == "("
        if not called and (index - start >= 4 or (index > start and self.tokens[index].word == "*")):
            self._chains.append((start, index + 1))
        return index + 1

    @staticmethod
    def _may_follow(token: Token) -> bool:
        return token.is_identifier or token.word == "*"

    def _is_comparison(self, index: int) -> bool:
        """IS [NOT] DISTINCT FROM."""
        return self.source.token(index - 1).word == "DISTINCT" and self.source.token(index - 2).word in ("IS", "NOT")
