"""Give a statement that runs several Spark jobs one current time, as Spark gives one to a query."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ..format.identifiers import fold
from ..sql.relation import ends_expression
from ..sql.tokens import Kind, Source, Token, words
from ..sql.with_clause import query_begins

_TIMES = {
    "CURRENT_TIMESTAMP": "timestamp_micros({})",
    "NOW": "timestamp_micros({})",
    "CURRENT_DATE": "CAST(timestamp_micros({}) AS DATE)",
    "CURDATE": "CAST(timestamp_micros({}) AS DATE)",
    "CURRENT_TIME": "CAST(timestamp_micros({}) AS TIME)",
    "LOCALTIME": "CAST(timestamp_micros({}) AS TIME)",
    "LOCALTIMESTAMP": "CAST(timestamp_micros({}) AS TIMESTAMP_NTZ)",
    "UNIX_TIMESTAMP": "unix_seconds(timestamp_micros({}))",
}
"""Function → the expression for its value at a time given in microseconds since 1970."""
_ANY_TIME = re.compile("|".join(_TIMES), re.IGNORECASE)
_WITHOUT_PARENTHESES = frozenset(("CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "LOCALTIME", "LOCALTIMESTAMP"))
_AFTER_QUERY = words(") UNION EXCEPT MINUS INTERSECT ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET |>")
"""The words and symbols that end or continue a query after its first part in parentheses."""
_BEFORE_ARGUMENT = words("BOTH LEADING TRAILING PLACING FOR")
"""The words before an argument of `trim`, `overlay` and `substring`, as in `trim(BOTH a FROM b)`."""
_WITH_PRECISION = frozenset(("CURRENT_TIME", "LOCALTIME"))


def at_time(text: str, micros: int, columns: Collection[str]) -> str:
    """Return SQL in which the functions for the current time are constants.

    Args:
        text: an expression.
        micros: the time in microseconds since 1970.
        columns: names of the columns that the expression may name; a column takes precedence over a function without parentheses.

    A function without parentheses stays in a subquery, where it may be a column of the subquery. Then all functions of the expression
    stay, so that it has one time.
    """
    if not _ANY_TIME.search(text):  # a MERGE of a wide table has hundreds of expressions
        return text
    source = Source(text)
    names = {fold(name) for name in columns} | _parameters(source.tokens)
    without_expressions = _types(source) + _exceptions(source)
    queries = [range(opening, closing) for opening, closing in source.partner.items() if _is_query(source, opening)]
    parts: list[str] = []
    end = 0
    for index, token in enumerate(source.tokens):
        if token.kind is not Kind.WORD or token.word not in _TIMES or source.token(index - 1).word == ".":
            continue
        arguments = _arguments(source.tokens[index + 1 : index + 4], token.word)
        if arguments is None:
            if fold(token.text) in names or not _is_bare(source, index) or _is_in(without_expressions, index - 1):
                continue
            if _is_in(queries, index):
                return text
        time = _TIMES[token.word].format(micros)
        if arguments:
            time = f"CAST({time} AS TIME({arguments[0].text}))"
        parts += [text[end : token.start], time]
        end = token.end if arguments is None else source.token(index + 2 + len(arguments)).end
    return "".join([*parts, text[end:]])


def _is_in(ranges: Sequence[range], index: int) -> bool:
    return any(index in each for each in ranges)


def _is_query(source: Source, opening: int) -> bool:
    """Whether the bracket at `opening` encloses a query, such as `(SELECT …)` or `((SELECT …) ORDER BY …)`."""
    first = source.token(opening + 1)
    if first.word == "(":
        return _is_query(source, opening + 1) and source.token(source.skip(opening + 1)).word in _AFTER_QUERY
    return query_begins(first, source.token(opening + 2))


def _types(source: Source) -> list[range]:
    """Return where the `<…>` of the types in `CAST(… AS struct<…>)` and `…::struct<…>` are. Another `<` compares."""
    found: list[range] = []
    opened: list[int] = []
    for index, token in enumerate(source.tokens):
        begins = source.token(index - 2).word in ("AS", "::") and source.token(index - 1).word in ("ARRAY", "MAP", "STRUCT")
        if token.word == "<" and (begins or opened):
            opened.append(index)
        elif token.word == ">" and opened:
            found.append(range(opened.pop(), index + 1))
    return found


def _exceptions(source: Source) -> list[range]:
    """Return where the parentheses of `* EXCEPT (…)` are."""
    return [
        range(opening, closing)
        for opening, closing in source.partner.items()
        if (source.token(opening - 2).word, source.token(opening - 1).word) == ("*", "EXCEPT")
    ]


def _parameters(tokens: Sequence[Token]) -> set[str]:
    """Return the names of the parameters of lambda functions: `x` in `x -> …`, `x` and `y` in `(x, y) -> …`."""
    found = set()
    for index, token in enumerate(tokens):
        if token.word == "->":
            start = index - 1
            if tokens[start].word == ")":
                while start and tokens[start].word != "(":
                    start -= 1
            found |= {fold(each.identifier) for each in tokens[start:index] if each.is_identifier}
    return found


def _is_bare(source: Source, index: int) -> bool:
    """Whether a word is a function without parentheses: not an alias or the name of an argument."""
    before, after = source.token(index - 1), source.token(index + 1)
    is_expression = before.word in _BEFORE_ARGUMENT or (before.word != ":" and not ends_expression(before, source.token(index - 2)))
    return source.token(index).word in _WITHOUT_PARENTHESES and is_expression and after.word not in ("(", "=>")


def _arguments(after: Sequence[Token], function: str) -> Sequence[Token] | None:
    """Return the tokens in the parentheses after a function: none, or its precision; None if anything else follows."""
    words = [token.word for token in after]
    if words[:2] == ["(", ")"]:
        return ()
    has_precision = function in _WITH_PRECISION and words == ["(", "", ")"] and after[1].kind is Kind.NUMBER
    return after[1:2] if has_precision else None
