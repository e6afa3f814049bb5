"""Parse one relation of a query: its name, time travel, sample and alias, in the order of Spark's grammar or of DuckDB's."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..format.identifiers import fold
from .timetravel import time_travel
from .tokens import BEFORE_OPERAND, QUERY_STARTS, Cursor, Kind, Token, words
from .values import Name, Reference

_NOT_A_NAME = words(
    "SELECT FROM WHERE GROUP HAVING ORDER SORT DISTRIBUTE LIMIT OFFSET UNION EXCEPT MINUS INTERSECT JOIN INNER LEFT",
    "RIGHT FULL CROSS NATURAL SEMI ANTI ON USING SET AS WHEN THEN WITH LATERAL AND OR NOT IN IS",
)
"""Keywords that cannot be the name of a relation without quotes."""
NOT_AN_ALIAS = _NOT_A_NAME | words(
    "CLUSTER WINDOW QUALIFY PIVOT UNPIVOT TABLESAMPLE INSERT MAP REDUCE VALUES WATERMARK FOR REPLACE PARTITION BY",
    "TABLE OPTIONS DELETE UPDATE SETMINUS DO END",
)
"""Keywords that cannot be an alias without AS or quotes."""
_ENDS_RELATION = {
    "ASOF": words("JOIN INNER LEFT"),
    "MATCH_CONDITION": words("("),
    "APPROX": words("NEAREST"),
    "EXACT": words("NEAREST"),
    "BIN": words("BY"),
    "CHANGES": words("FROM"),
}
"""Words that cannot be an alias without AS or quotes if one of these words follows: clauses of Spark 4.3 after a relation."""
_BEFORE_EXPRESSION = BEFORE_OPERAND | words(
    "SELECT DISTINCT BY ON HAVING QUALIFY WHEN THEN ELSE CASE INTERVAL LIMIT OFFSET SET VALUES TABLE USING RETURN EXTEND AGGREGATE DROP",
    "DISTANCE SIMILARITY",
)
"""Words that no expression can end with: a name after one of them is not an alias."""
_FILE_FORMATS = words("parquet csv json orc text avro xml binaryfile delta iceberg hudi")
_PATH_CHARACTER = re.compile(r"[/\\:.*]")
"""With such a character, `x` in `` parquet.`x` `` is the path of a file; without it, a table in a schema `parquet`."""


@dataclass(frozen=True)
class Relation:
    """A relation in a query."""

    reference: Reference
    alias: str | None
    """The user's alias."""
    after: int
    """The index of the first token after the reference. An alias that follows the reference comes after this index."""


def relation(cursor: Cursor, *, columns: bool = False) -> Relation | None:
    """Parse a relation with its alias.

    Args:
        cursor: a cursor at the first token of the name.
        columns: whether parentheses after the name contain a list of columns, as in INSERT; otherwise they are the arguments of a function.

    Returns:
        None for a function of Spark, a file, a keyword, or a name of more than three parts. Then the cursor does not move.
    """
    start = cursor.position
    found = _relation(cursor, columns)
    if found is None:
        cursor.position = start
    return found


def _relation(cursor: Cursor, columns: bool) -> Relation | None:
    first = cursor.peek()
    is_quoted_part = cursor.peek(2).kind is Kind.QUOTED
    parts = relation_name(cursor)
    if not columns and cursor.at("(") and _may_be_lake_function(parts):
        return _call(cursor, first.start, parts)
    if not parts or cursor.at_any(("-",) if columns else ("(", "-", "$", "{")):
        return None
    at = time_travel(cursor)
    end, after = cursor.peek(-1).end, cursor.position
    options = cursor.at("WITH", "(")
    if options:
        cursor.expect("WITH")
        cursor.group()
    sampled = False
    while cursor.at("TABLESAMPLE", "(") or cursor.at("REPEATABLE", "("):
        sampled = True
        cursor.position += 1
        cursor.group()
    alias = relation_alias(cursor)
    if len(parts) > 3 or (is_quoted_part and _is_file(parts)):
        return None
    if alias is not None and at is None and not options and not sampled:
        at = time_travel(cursor)
        if at is not None:
            return Relation(Reference(first.start, cursor.peek(-1).end, Name(parts), at, alias=alias), alias, cursor.position)
    has_alias = alias is not None or options
    return Relation(Reference(first.start, end, Name(parts), at, aliased=has_alias, enclosed=sampled and not has_alias), alias, after)


def _may_be_lake_function(parts: tuple[str, ...]) -> bool:
    """Whether a name may be that of a lake function: `lake.snapshots`, `lake.s.table_changes`, `ducklake_snapshots`."""
    return len(parts) in (2, 3) or (len(parts) == 1 and fold(parts[0]).startswith("ducklake_"))


def _call(cursor: Cursor, start: int, parts: tuple[str, ...]) -> Relation:
    """Parse the arguments and the alias of a call of a lake function."""
    opening = cursor.peek()
    cursor.group()
    closing, after = cursor.peek(-1), cursor.position
    alias = relation_alias(cursor)
    arguments = cursor.source.text[opening.end : closing.start]
    return Relation(Reference(start, closing.end, Name(parts), aliased=alias is not None, arguments=arguments), alias, after)


def relation_name(cursor: Cursor) -> tuple[str, ...]:
    """Parse the name of a relation, which may be IDENTIFIER('name'); return its parts, () if there is no name."""
    inner = cursor.identifier_clause()
    if inner is not None:
        parts = relation_name(inner)
        return parts if inner.done else ()
    token = cursor.peek()
    is_keyword = token.word in _NOT_A_NAME and cursor.peek(1).word != "."
    if not token.is_identifier or is_keyword or cursor.at("IDENTIFIER", "("):
        return ()
    parts = (token.identifier,)
    cursor.position += 1
    while cursor.at(".") and cursor.peek(1).is_identifier:
        parts += (cursor.peek(1).identifier,)
        cursor.position += 2
    return parts


def _is_file(parts: tuple[str, ...]) -> bool:
    """Whether a name whose last part is quoted is a file such as `` parquet.`/path` ``, which Spark reads itself."""
    return len(parts) == 2 and parts[0].lower() in _FILE_FORMATS and _PATH_CHARACTER.search(parts[1]) is not None


def may_be_alias(cursor: Cursor) -> bool:
    """Whether the next token can be an alias without AS."""
    token = cursor.peek()
    if token.kind is not Kind.WORD:
        return token.is_identifier
    return token.word not in NOT_AN_ALIAS and cursor.peek(1).word not in _ENDS_RELATION.get(token.word, ())


def relation_alias(cursor: Cursor) -> str | None:
    """Parse `[AS] alias [(columns)]`, if it comes next, and return the alias."""
    has_as = cursor.at("AS")
    token = cursor.peek(int(has_as))
    if not token.is_identifier or (token.word in QUERY_STARTS if has_as else not may_be_alias(cursor)):
        return None
    cursor.position += 1 + has_as
    if cursor.at("("):
        cursor.group()
    return token.identifier


def cte_name(cursor: Cursor) -> str | None:
    """Parse `name [(columns)] [MAX RECURSION LEVEL n] [AS]` of a CTE, and return the folded name; None if no parentheses follow it."""
    token = cursor.peek()
    if not token.is_identifier:
        return None
    cursor.position += 1
    columns = cursor.copy()
    columns.skip()
    if cursor.at("(") and columns.at_any(("AS", "MAX", "(")):
        cursor.skip()
    if cursor.accept("MAX", "RECURSION", "LEVEL"):
        cursor.skip()
    cursor.accept("AS")
    return fold(token.identifier) if cursor.at("(") else None


def ends_expression(last: Token, before: Token) -> bool:
    """Whether an expression may end with the token `last`, which follows `before`, so that a name after it is its alias."""
    if last.kind is Kind.WORD:
        return before.word == "." or last.word not in _BEFORE_EXPRESSION
    return last.word in (")", "]") or last.kind in (Kind.STRING, Kind.NUMBER, Kind.QUOTED)
