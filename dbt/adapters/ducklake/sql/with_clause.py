"""Move a WITH clause from before INSERT, UPDATE, DELETE or MERGE into the queries of the statement that may use it."""

from __future__ import annotations

from dataclasses import dataclass

from .references import references
from .relation import cte_name
from .tokens import QUERY_STARTS, Cursor, Kind, Source, Token, words
from .values import Sql

_OPERATORS = words("AND OR NOT IS IN BETWEEN LIKE ILIKE RLIKE REGEXP DIV")


@dataclass(frozen=True)
class WithClause:
    """The WITH clause before a statement."""

    text: str = ""
    """The text including the keyword WITH; empty if the statement has no such clause."""

    def before(self, query: Cursor) -> Sql:
        """Return the rest of the statement, from the cursor on, as a query that begins with this clause. Move the cursor to the end."""
        text = query.rest().text
        return references(self._prepended_to(text) if self.text else text)

    def into(self, sql: Sql) -> Sql:
        """Return an expression in which each outermost subquery begins with this clause."""
        if not self.text:
            return sql
        cursor, text, copied_to = Cursor(Source(sql.text)), "", 0
        while not cursor.done:
            opening = cursor.peek()
            if opening.word == "(" and query_begins(cursor.peek(1), cursor.peek(2)):
                cursor.skip()
                closing = cursor.peek(-1)
                text += sql.text[copied_to : opening.end] + self._prepended_to(sql.text[opening.end : closing.start])
                copied_to = closing.start
            else:
                cursor.position += 1
        if copied_to == 0:
            return sql
        outer = {qualifier.name for qualifier in sql.qualifiers}
        return references(text + sql.text[copied_to:], outer)

    def _prepended_to(self, query: str) -> str:
        """Return a query that begins with this clause. If the query has its own WITH clause, its CTEs follow those of this one."""
        source = Source(query)
        if source.token(0).word != "WITH":
            return f"{self.text} {query}"
        clause, ctes = self.text, source.tokens[0].end
        if source.token(1).word == "RECURSIVE":
            ctes = source.tokens[1].end
            if Source(clause).token(1).word != "RECURSIVE":
                clause = "WITH RECURSIVE" + clause[len("WITH") :]
        return f"{clause},{query[ctes:]}"


def query_begins(first: Token, after: Token) -> bool:
    """Whether a query begins with two tokens. VALUES, TABLE, MAP and REDUCE may be names of columns and functions."""
    word = first.word
    if word in ("SELECT", "WITH", "FROM"):
        return True
    if after.kind is Kind.SYMBOL:
        return word == "VALUES" and after.word == "("
    return word in QUERY_STARTS and after.word not in _OPERATORS


def with_clause(cursor: Cursor) -> WithClause:
    """Read a WITH clause at the cursor, if it belongs to INSERT, UPDATE, DELETE or MERGE.

    If it belongs to a query, or there is none, the cursor does not move and the result is an empty clause.
    """
    start = cursor.position
    if not cursor.accept("WITH"):
        return WithClause()
    if cursor.peek(1).is_identifier:
        cursor.accept("RECURSIVE")
    while cte_name(cursor) is not None:
        cursor.group()
        if not cursor.accept(","):
            break
    if not cursor.at_any(("INSERT", "UPDATE", "DELETE", "MERGE")):
        cursor.position = start
        return WithClause()
    return WithClause(cursor.source.slice(start, cursor.position))
