"""Text of views and defaults between Spark's SQL and DuckDB's, which share a lake.

`{DUCKLAKE_CATALOG}` in a text stands for the lake's own name (specification: `ducklake_view`); it survives both ways.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType

import sqlglot
from sqlglot import Dialect, exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.tokenizer_core import TokenType

from ..errors import StatementError
from ..format.identifiers import backquoted
from ..sql.references import references
from ..sql.tokens import Cursor, Source
from ..sql.values import FunctionCall, Name, Reference, Sql
from . import words_of_duckdb, words_of_spark
from .shared_sql import NoCounterpartError, said

PLACEHOLDER = "{DUCKLAKE_CATALOG}"

_TYPE = re.compile(r"[A-Z_ ]+(\(\d+(,\d+)?\))?")
_WORD = re.compile(r"[a-z_]\w*", re.ASCII)


_ROUGHLY_ALIKE = (exp.Upper, exp.Lower, exp.ILike, exp.Cast)


@dataclass(frozen=True)
class _Way:
    """From which dialect, and into which."""

    read: str | type[Dialect]
    write: str
    quote: str
    back: str
    words: ModuleType


class _Counted(DuckDB):
    """DuckDB's SQL with the indexes of lists as they are written, counted from 1."""

    INDEX_OFFSET = 0


TO_SPARK = _Way(_Counted, "spark", '"', "`", words_of_spark)
TO_DUCKDB = _Way("databricks", "duckdb", "`", '"', words_of_duckdb)


def qualify(sql: Sql, fill: Callable[[Reference], Name | None], function: Callable[[Name], Name | None] = lambda name: None) -> str:
    """The text with each name written in full, as a view is stored: `` {DUCKLAKE_CATALOG}.`schema`.`name` ``.

    Args:
        sql: a query.
        fill: the name of a reference, of two parts in this lake or of three in another one; None for what is in no lake.
        function: the same for the name of a function that is called.
    """
    text = sql.text
    places: list[Reference | FunctionCall] = [*sql.references, *sql.calls]
    for place in sorted(places, key=lambda found: found.start, reverse=True):
        name = fill(place) if isinstance(place, Reference) else function(place.name)
        if name is not None:
            behind = place.start + _name_length(text[place.start : place.end])
            own = [PLACEHOLDER] if len(name.parts) < 3 else []
            full = ".".join([*own, *map(backquoted, name.parts)])
            text = text[: place.start] + full + text[behind:]
    return text


def to_duckdb(text: str, *, roughly: bool = False) -> str | None:
    """Spark's SQL in DuckDB's words; None where a construct or function has no counterpart known to mean the same.

    Args:
        roughly: for an order of rows, in which a letter or a fraction may matter otherwise and nothing may fail.
    """
    try:
        sql = references(text)
    except StatementError:
        return None
    for reference in reversed(sql.references):
        if reference.at is not None:
            behind = reference.start + _name_length(text[reference.start : reference.end])
            version, timestamp = reference.at.version, reference.at.timestamp
            at = f"VERSION => {version}" if timestamp is None else f"TIMESTAMP => {timestamp}"
            own = reference.alias if reference.alias != ".".join(reference.name.parts) else None
            alias = f" AS {backquoted(own)}" if own else ""
            text = f"{text[:behind]} AT ({at}){alias}{text[reference.end :]}"
    return _translated(text, TO_DUCKDB, roughly)[0]


def to_spark(text: str, *, roughly: bool = False) -> str | None:
    """DuckDB's SQL in Spark's words; None where a construct or function has no counterpart known to mean the same.

    Args:
        roughly: as of `to_duckdb`.
    """
    return _translated(plain_words(text), TO_SPARK, roughly)[0]


def sort_expression_for_spark(expression: str) -> str | None:
    """A sort expression of the lake in Spark's SQL; None if it has no counterpart there."""
    return to_spark(expression, roughly=True)


def without_spark_words(text: str) -> str:
    """The piece of DuckDB's SQL for which `to_spark` has no words."""
    return _translated(plain_words(text), TO_SPARK)[1]


def _name_length(text: str) -> int:
    """The length of the name with which a text begins."""
    cursor = Cursor(Source(text))
    cursor.name()
    return cursor.source.tokens[cursor.position - 1].end


@lru_cache(maxsize=1024)
def _translated(text: str, way: _Way, roughly: bool = False) -> tuple[str | None, str]:
    """(the text in the other words, the piece that has none)."""
    try:
        trees = sqlglot.parse(text.replace(PLACEHOLDER, way.quote + PLACEHOLDER + way.quote), read=way.read)
        if len(trees) != 1 or trees[0] is None or isinstance(trees[0], exp.Command):
            return None, text
        rules = {kind: rule for kind, rule in way.words.RULES.items() if not (roughly and kind in _ROUGHLY_ALIKE)}
        bare = not isinstance(trees[0], exp.Paren)
        tree = said(trees[0], way.read, way.words.MORE, rules, way.words.EARLY)
        tree = tree.unnest() if bare else tree
        translated = tree.sql(dialect=way.write, unsupported_level=ErrorLevel.RAISE, comments=False)
    except NoCounterpartError as error:
        return None, str(error)
    except (SqlglotError, RecursionError):
        return None, text
    return translated.replace(way.back + PLACEHOLDER + way.back, PLACEHOLDER), ""


def plain_words(text: str, *, keep_main: bool = False) -> str:
    """DuckDB's SQL as it is written, from DuckDB's SQL as it is stored: `main."position"(s, 'x')`, `CAST(d AS "DATE")`.

    Args:
        keep_main: leave `main.` before functions, which may be one of the lake's.
    """
    try:
        tokens = sqlglot.tokenize(text, read="duckdb")
    except SqlglotError:
        return text
    pieces: list[tuple[int, int, str]] = []
    open_: list[str] = []
    for i, token in enumerate(tokens):
        behind = tokens[i + 1] if i + 1 < len(tokens) else None
        before = tokens[i - 1].text.upper() if i else ""
        if token.token_type is TokenType.L_PAREN:
            is_lambda = behind is not None and behind.text.lower() == "lambda"
            open_.append("lambda" if is_lambda else before)
            if is_lambda:
                pieces.append((token.start, token.end, ""))
        elif token.token_type is TokenType.R_PAREN:
            if open_ and open_.pop() == "lambda":
                pieces.append((token.start, token.end, ""))
        elif behind is None:
            continue
        elif token.token_type is TokenType.IDENTIFIER and before == "AS" and open_ and open_[-1] in ("CAST", "TRY_CAST"):
            if behind.token_type is TokenType.R_PAREN and _TYPE.fullmatch(token.text):
                pieces.append((token.start, token.end, token.text))
        elif behind.token_type is TokenType.L_PAREN and _WORD.fullmatch(token.text):
            own = not keep_main and before == "." and tokens[i - 2].text == "main" and (i < 3 or tokens[i - 3].text != ".")
            if own or (token.token_type is TokenType.IDENTIFIER and before not in (".", "AS")):
                name = "strpos" if token.text == "position" else token.text
                pieces.append((tokens[i - 2].start if own else token.start, token.end, name))
    for start, end, word in reversed(pieces):
        text = text[:start] + word + text[end + 1 :]
    return text
