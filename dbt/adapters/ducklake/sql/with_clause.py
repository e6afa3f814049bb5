"""Move a WITH clause that comes before INSERT, UPDATE, DELETE or MERGE into the queries that may use it."""

from __future__ import annotations

from dataclasses import dataclass

from .references import fragment, references
from .tokens import QUERY_STARTS, Cursor, Source
from .values import Sql


@dataclass(frozen=True)
class WithClause:
    """The text of the clause, WITH included; empty if there is none."""

    text: str = ""

    def before(self, query: Cursor) -> Sql:
        """Return the text that remains at a cursor as a query with this clause before it, and move the cursor to the end."""
        text, query.position = query.text, query.stop
        return references(self._prefix(text) if self.text else text)

    def into(self, sql: Sql) -> Sql:
        """Return an expression with this clause in each of its outermost subqueries."""
        if not self.text:
            return sql
        source = Source(sql.text)
        text, index, copied = "", 0, 0
        while index < len(source.tokens):
            if source.tokens[index].word == "(" and source.token(index + 1).word in QUERY_STARTS:
                close = source.partner[index]
                start, end = source.tokens[index].end, source.tokens[close].start
                text += sql.text[copied:start] + self._prefix(sql.text[start:end])
                copied, index = end, close
            index += 1
        if copied == 0:
            return sql
        outer = {qualifier.name for qualifier in sql.qualifiers}
        return fragment(Source(text + sql.text[copied:]), outer=outer, whole=True)

    def _prefix(self, query: str) -> str:
        """Return a query with this clause before it; if the query has its own WITH, its CTEs follow those of this clause."""
        source = Source(query)
        if source.token(0).word != "WITH":
            return f"{self.text} {query}"
        clause, ctes = self.text, source.tokens[0].end
        if source.token(1).word == "RECURSIVE":
            ctes = source.tokens[1].end
            if Source(clause).token(1).word != "RECURSIVE":
                clause = "WITH RECURSIVE" + clause[len("WITH") :]
        return f"{clause},{query[ctes:]}"


def with_clause(cursor: Cursor) -> WithClause:
    """Read the WITH clause at the cursor. If a query follows it, leave the cursor there and return an empty clause."""
    start = cursor.position
    if not cursor.at("WITH"):
        return WithClause()
    clause = cursor.upto(("INSERT", "UPDATE", "DELETE", "MERGE"))
    if cursor.done or cursor.source.token(cursor.position - 1).word != ")":
        cursor.position = start
        return WithClause()
    return WithClause(clause.text)
