"""Parse one relation of a query: its name, time travel, sample and alias, in the order of Spark's grammar or of DuckDB's."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..format.identifiers import fold
from .timetravel import time_travel
from .tokens import QUERY_STARTS, Kind, Source, string_value, words
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
_FILE_FORMATS = words("parquet csv json orc text avro xml binaryfile delta iceberg hudi")
_PATH_CHARACTER = re.compile(r"[/\\:.*]")
"""With such a character, `x` in `` parquet.`x` `` is the path of a file; without it, a table in a schema `parquet`."""


@dataclass(frozen=True)
class Relation:
    """The result of `relation_at`."""

    reference: Reference
    stop: int
    """The index of the token after the relation, its alias included."""
    alias: str | None


def relation_at(source: Source, index: int, stop: int, *, columns: bool = False) -> Relation | None:
    """Return the relation whose name begins at a token.

    Args:
        source: the tokens of the statement.
        index: the index of the first token of the name.
        stop: the index of the token after the query.
        columns: whether parentheses after the name contain a list of columns, as in INSERT; otherwise they are the arguments of a function.

    Returns:
        None for a function of Spark, a file, a keyword, or a name of more than three parts.
    """
    parts, name_stop = name_at(source, index, stop)
    if not columns and source.token(name_stop).word == "(" and _may_be_lake_function(parts):
        return _call(source, index, name_stop, stop, parts)
    if not parts or source.token(name_stop).word in (("-",) if columns else ("(", "-", "$", "{")):
        return None
    start, end = source.tokens[index].start, source.tokens[name_stop - 1].end
    at, after = time_travel(source, name_stop, stop)
    if at is not None:
        end = source.tokens[after - 1].end
    options = source.token(after).word == "WITH" and source.token(after + 1).word == "("
    if options:
        after = source.skip(after + 1)
    before_sample = after
    while source.token(after).word in ("TABLESAMPLE", "REPEATABLE") and source.token(after + 1).word == "(":
        after = source.skip(after + 1)
    alias, alias_stop = alias_at(source, after, stop)
    if len(parts) > 3 or _is_file(source, index, parts):
        return None
    if alias is not None and at is None and after == name_stop:
        at, alias_stop = time_travel(source, alias_stop, stop)
        if at is not None:
            end = source.tokens[alias_stop - 1].end
            return Relation(Reference(start, end, Name(parts), at, alias=alias), alias_stop, alias)
    enclosed = alias is None and not options and after > before_sample
    reference = Reference(start, end, Name(parts), at, aliased=alias is not None or options, enclosed=enclosed)
    return Relation(reference, alias_stop, alias)


def _may_be_lake_function(parts: tuple[str, ...]) -> bool:
    """Whether a name may be that of a lake function: `lake.snapshots`, `lake.s.table_changes`, `ducklake_snapshots`."""
    return len(parts) in (2, 3) or (len(parts) == 1 and fold(parts[0]).startswith("ducklake_"))


def _call(source: Source, index: int, opening: int, stop: int, parts: tuple[str, ...]) -> Relation:
    """Return a call of a lake function with its arguments and alias; `opening` is the index of its opening parenthesis."""
    closing = source.partner[opening]
    inside = source.text[source.tokens[opening].end : source.tokens[closing].start]
    alias, alias_stop = alias_at(source, closing + 1, stop)
    start, end = source.tokens[index].start, source.tokens[closing].end
    return Relation(Reference(start, end, Name(parts), aliased=alias is not None, arguments=inside), alias_stop, alias)


def name_at(source: Source, index: int, stop: int) -> tuple[tuple[str, ...], int]:
    """Return the parts of the name at an index, which may be IDENTIFIER('name'), and the index after it; () if there is no name."""
    token = source.token(index)
    if index >= stop or not token.is_identifier:
        return (), index
    if token.word == "IDENTIFIER" and source.token(index + 1).word == "(":
        literal = source.token(index + 2)
        if literal.kind is not Kind.STRING or source.token(index + 3).word != ")":
            return (), index
        inner = Source(string_value(literal.text))
        parts, name_stop = name_at(inner, 0, len(inner.tokens))
        return (parts if name_stop == len(inner.tokens) else ()), index + 4
    if token.word in _NOT_A_NAME and source.token(index + 1).word != ".":
        return (), index
    parts = (token.identifier,)
    index += 1
    while index + 1 < stop and source.tokens[index].word == "." and source.tokens[index + 1].is_identifier:
        parts += (source.tokens[index + 1].identifier,)
        index += 2
    return parts, index


def _is_file(source: Source, index: int, parts: tuple[str, ...]) -> bool:
    """Whether the name is a file such as `` parquet.`/path` ``, which Spark reads itself."""
    return (
        len(parts) == 2
        and parts[0].lower() in _FILE_FORMATS
        and source.token(index + 2).kind is Kind.QUOTED
        and _PATH_CHARACTER.search(parts[1]) is not None
    )


def may_be_alias(source: Source, index: int) -> bool:
    """Whether the token at an index can be an alias without AS."""
    token = source.token(index)
    if token.kind is not Kind.WORD:
        return token.is_identifier
    return token.word not in NOT_AN_ALIAS and source.token(index + 1).word not in _ENDS_RELATION.get(token.word, ())


def alias_at(source: Source, index: int, stop: int) -> tuple[str | None, int]:
    """Return the alias at an index, and the index after it and its column list; if there is no alias, None and the index itself."""
    token = source.token(index)
    has_as = token.word == "AS"
    if has_as:
        index += 1
        token = source.token(index)
    if index >= stop or not token.is_identifier or not (has_as or may_be_alias(source, index)):
        return None, index - has_as
    if has_as and token.word in QUERY_STARTS:
        return None, index - 1
    index += 1
    if source.token(index).word == "(" and index < stop:
        index = source.skip(index)
    return token.identifier, index
