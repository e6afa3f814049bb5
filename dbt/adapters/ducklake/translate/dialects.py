"""Translate the text of views and defaults between Spark's SQL and DuckDB's, which share a lake.

`{DUCKLAKE_CATALOG}` in the SQL of a view means the lake's own name (specification: `ducklake_view`). Both directions keep it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import sqlglot
from sqlglot import Dialect, exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from ..errors import StatementError
from ..format.identifiers import backquoted, double_quoted, fold
from ..sql.references import references
from ..sql.tokens import Cursor, Source, has_continued_comment
from ..sql.values import FunctionCall, Name, Reference, Sql
from .precedence import add_parentheses
from .rules_to_duckdb import RULES as RULES_TO_DUCKDB
from .rules_to_spark import RULES as RULES_TO_SPARK
from .shared_sql import NoCounterpartError, Rules, translate_tree

PLACEHOLDER = "{DUCKLAKE_CATALOG}"

_TYPE = re.compile(r"[A-Z_ ]+(\(\d+(,\d+)?\))?")
"""A type, which DuckDB stores in quotes after the AS of a cast."""
_WORD = re.compile(r"[a-z_]\w*", re.ASCII)
"""The name of a function that needs no quotes."""
_OWN_DATE_FUNCTIONS = frozenset({"DATE_FORMAT", "DATE_TRUNC", "TRUNC"})
"""Spark's functions whose units and patterns stay as written; sqlglot would take `Y` for a year and `yyyyy` for `yyyy` and `y`."""
_MARK = "\ue000"
"""Appended to a function's name to hide it from sqlglot. A parser without the function would be a subclass, which `sqlglot[c]` forbids."""
_APPROXIMATE = (exp.Upper, exp.Lower, exp.ILike, exp.Cast)
"""Expressions whose rules do not apply to an approximate translation, because they refuse small differences."""


@dataclass(frozen=True)
class _Direction:
    """The direction of a translation."""

    read: str | type[Dialect]
    write: str
    read_quote: Callable[[str], str]
    written_quote: Callable[[str], str]
    rules: Rules
    unparsed: frozenset[str] = frozenset()
    """Functions that are calls of an unknown function in the tree, in upper case."""


class ListsFromOne(DuckDB):
    """DuckDB's SQL with the indexes of lists as written, from 1; sqlglot would shift them to 0."""

    INDEX_OFFSET = 0


TO_SPARK = _Direction(ListsFromOne, "spark", double_quoted, backquoted, RULES_TO_SPARK)
TO_DUCKDB = _Direction("databricks", "duckdb", backquoted, double_quoted, RULES_TO_DUCKDB, _OWN_DATE_FUNCTIONS)


def qualify(sql: Sql, fill: Callable[[Reference], Name | None], function: Callable[[Name], Name | None] = lambda _: None) -> str:
    """Return the text with each name written in full, as it is stored in a view: `` {DUCKLAKE_CATALOG}.`schema`.`name` ``.

    Args:
        sql: a query.
        fill: returns the name of a reference: two parts in this lake, three in another one; None if it is in no lake.
        function: does the same for the name of a function that is called.
    """
    text = sql.text
    places: list[Reference | FunctionCall] = [*sql.references, *sql.calls]
    for place in sorted(places, key=lambda found: found.start, reverse=True):
        name = fill(place) if isinstance(place, Reference) else function(place.name)
        if name is not None:
            end = place.start + _name_length(text[place.start : place.end])
            own = [PLACEHOLDER] if len(name.parts) < 3 else []
            full = ".".join([*own, *map(backquoted, name.parts)])
            alias = f" AS {backquoted(name.parts[-1])}" if isinstance(place, Reference) and _needs_alias(place, sql) else ""
            text = f"{text[: place.start]}{full}{text[end : place.end]}{alias}{text[place.end :]}"
    return text


def _needs_alias(reference: Reference, sql: Sql) -> bool:
    """Whether columns qualified by this one-part name would become ambiguous: another reference without an alias has the same last part."""
    has_alias = reference.aliased or reference.alias not in (None, reference.name.parts[-1])
    if len(reference.name.parts) > 1 or has_alias or reference.enclosed:
        return False
    own = fold(reference.name.parts[-1])
    return any(fold(each.name.parts[-1]) == own and len(each.name.parts) > 1 and not each.aliased for each in sql.references)


def to_duckdb(text: str, *, approximate: bool = False, names: Sequence[str] = ()) -> str | None:
    """Translate Spark's SQL to DuckDB's; return None if a construct or function has no counterpart with the same meaning.

    Args:
        text: the SQL.
        approximate: accept functions that differ for some letters or fractions. For sorting, where a different order is
            harmless and an error is not.
        names: the names of the query's columns in Spark, to be given to the expressions without a name.
    """
    if has_continued_comment(text):
        return None
    try:
        sql = references(text)
    except StatementError:
        return None
    for reference in reversed(sql.references):
        if reference.at is not None:
            end = reference.start + _name_length(text[reference.start : reference.end])
            version, timestamp = reference.at.version, reference.at.timestamp
            at = f"VERSION => {version}" if timestamp is None else f"TIMESTAMP => {timestamp}"
            own = reference.alias if reference.alias != str(reference.name) else None
            alias = f" AS {backquoted(own)}" if own else ""
            text = f"{text[:end]} AT ({at}){alias}{text[reference.end :]}"
    return _translated(_with_escaped_quotes(text), TO_DUCKDB, approximate, tuple(names))[0]


def _with_escaped_quotes(text: str) -> str:
    r"""Return Spark's SQL with each doubled quote in a string as `\'`, because sqlglot reads two strings there."""
    try:
        tokens = sqlglot.tokenize(text, read=TO_DUCKDB.read)
    except SqlglotError:
        return text
    for token, following in reversed(list(pairwise(tokens))):
        quote = text[token.end]
        touches = following.start == token.end + 1 and text[following.start] == quote
        if touches and token.token_type is following.token_type is TokenType.STRING:
            text = f"{text[: token.end]}\\{quote}{text[following.start + 1 :]}"
    return text


def to_spark(text: str, *, approximate: bool = False, names: Sequence[str] = ()) -> str | None:
    """Translate DuckDB's SQL to Spark's; return None if a construct or function has no counterpart with the same meaning.

    Args:
        text: the SQL.
        approximate: as in `to_duckdb`.
        names: the names that DuckDB gives to the selected expressions without an alias, from `selected_texts`.
    """
    return _translated(plain_duckdb(text), TO_SPARK, approximate, tuple(names))[0]


def untranslatable_part(text: str) -> str:
    """Return the part of DuckDB's SQL that `to_spark` cannot translate; an empty string if it can translate all of it."""
    return _translated(plain_duckdb(text), TO_SPARK)[1]


def _name_length(text: str) -> int:
    """Return the length of the name at the start of a string."""
    cursor = Cursor(Source(text))
    cursor.name()
    return cursor.peek(-1).end


@lru_cache(maxsize=1024)
def _translated(text: str, direction: _Direction, approximate: bool = False, names: tuple[str, ...] = ()) -> tuple[str | None, str]:
    """Return (the translated text or None, the part that cannot be translated)."""
    try:
        trees = parse_with_unknown(text.replace(PLACEHOLDER, direction.read_quote(PLACEHOLDER)), direction.read, direction.unparsed)
        if len(trees) != 1 or trees[0] is None or isinstance(trees[0], exp.Command):
            return None, text
        _name_expressions(trees[0], names)
        bare = not isinstance(trees[0], exp.Paren)
        tree = translate_tree(trees[0], direction.read, direction.rules, _APPROXIMATE if approximate else ())
        tree = tree.unnest() if bare else tree
        add_parentheses(tree)
        translated = tree.sql(dialect=direction.write, unsupported_level=ErrorLevel.RAISE, comments=False)
    except NoCounterpartError as error:
        return None, str(error)
    except (SqlglotError, RecursionError):
        return None, text
    return translated.replace(direction.written_quote(PLACEHOLDER), PLACEHOLDER), ""


def parse_with_unknown(text: str, read: str | type[Dialect], unknown: Collection[str]) -> list[exp.Expr | None]:
    """Return the trees of the statements of a text.

    Args:
        text: the text.
        read: its dialect.
        unknown: functions that are calls of an unknown function in the trees, in upper case.

    Raises:
        SqlglotError: sqlglot cannot parse the text.
    """
    dialect = Dialect.get_or_raise(read)
    tokens = dialect.tokenize(text)
    for token, following in pairwise(tokens):
        is_name = token.token_type is not TokenType.STRING
        if is_name and following.token_type is TokenType.L_PAREN and token.text.upper() in unknown:
            token.text += _MARK
    trees = dialect.parser().parse(tokens, text)
    for node in (node for tree in trees if tree is not None for node in tree.walk()):
        is_name = isinstance(node, exp.Identifier | exp.Anonymous) and isinstance(node.this, str)
        if is_name and node.this.endswith(_MARK) and node.this[:-1].upper() in unknown:
            node.set("this", node.this[:-1])
    return trees


def _name_expressions(tree: exp.Expr, names: tuple[str, ...]) -> None:
    """Give each selected expression without a name its name. Those between the first and the last star have no known position."""
    selected = tree.selects if isinstance(tree, exp.Query) else []
    stars = [i for i, each in enumerate(selected) if each.is_star]
    if not names or (not stars and len(names) != len(selected)):
        return
    start, end = (stars[0], stars[-1] + 1) if stars else (len(selected), len(selected))
    for i, each in enumerate(selected):
        has_name = isinstance(each, exp.Alias | exp.Column | exp.Dot) or each.is_int  # both engines name an integer by its digits
        if (i < start or i >= end) and not has_name:
            name = names[i if i < start else i - len(selected)]
            each.replace(exp.alias_(each.copy(), name, quoted=True))


def plain_duckdb(text: str, *, keep_main: bool = False) -> str:  # noqa: C901 (one pass over the tokens with shared state)
    """Return DuckDB's SQL as users write it, from its stored form such as `main."position"(s, 'x')` or `CAST(d AS "DATE")`.

    Args:
        text: the stored form.
        keep_main: keep `main.` before functions, which may be a macro of the lake.
    """
    try:
        tokens = sqlglot.tokenize(text, read="duckdb")
    except SqlglotError:
        return text
    pieces: list[tuple[int, int, str]] = []
    open_: list[str] = []
    for i, token in enumerate(tokens):
        after = tokens[i + 1] if i + 1 < len(tokens) else None
        before = tokens[i - 1].text.upper() if i else ""
        if token.token_type is TokenType.L_PAREN:
            is_lambda = after is not None and after.text.lower() == "lambda"
            open_.append("lambda" if is_lambda else before)
            if is_lambda:
                pieces.append((token.start, token.end, ""))
        elif token.token_type is TokenType.R_PAREN:
            if open_ and open_.pop() == "lambda":
                pieces.append((token.start, token.end, ""))
        elif after is None:
            continue
        elif token.token_type is TokenType.IDENTIFIER and before == "AS" and open_ and open_[-1] in ("CAST", "TRY_CAST"):
            if after.token_type is TokenType.R_PAREN and _TYPE.fullmatch(token.text):
                pieces.append((token.start, token.end, token.text))
        elif after.token_type is TokenType.L_PAREN and _WORD.fullmatch(token.text):
            own = not keep_main and before == "." and tokens[i - 2].text == "main" and (i < 3 or tokens[i - 3].text != ".")
            if own or (token.token_type is TokenType.IDENTIFIER and before not in (".", "AS")):
                name = "strpos" if token.text == "position" else token.text
                pieces.append((tokens[i - 2].start if own else token.start, token.end, name))
    for start, end, word in reversed(pieces):
        text = text[:start] + word + text[end + 1 :]
    return text


_AFTER_SELECTED = frozenset(
    {
        *(TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.QUALIFY, TokenType.WINDOW),
        *(TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.USING, TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT),
    }
)
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})


def selected_texts(text: str) -> tuple[str, ...]:
    """Return the text of each selected expression of a query in DuckDB's stored form: DuckDB names a column without an alias by it.

    Args:
        text: the query; of several, such as those of a UNION, the first one has the names.
    """
    try:
        tokens = sqlglot.tokenize(text, read="duckdb")
    except SqlglotError:
        return ()
    found: list[str] = []
    first, depth = _outer_select(tokens) + 1, 0
    for i in range(first, len(tokens) + 1):
        kind = tokens[i].token_type if i < len(tokens) else TokenType.SEMICOLON
        depth += (kind in _OPENING) - (kind in _CLOSING)
        if depth < 0 or (depth == 0 and (kind in (TokenType.COMMA, TokenType.SEMICOLON) or kind in _AFTER_SELECTED)):
            found.append(text[tokens[first].start : tokens[i - 1].end + 1] if first < i else "")
            first = i + 1
            if kind is not TokenType.COMMA:
                break
        elif depth == 0 and kind is TokenType.DISTINCT and i == first:
            first = i + 1
    return tuple(found)


def _outer_select(tokens: Sequence[Token]) -> int:
    """Return the index of the SELECT of the query itself: each parenthesis around it begins a query, not an expression or a CTE."""
    opened: list[bool] = []
    for i, token in enumerate(tokens):
        if token.token_type in _OPENING:
            opened.append(i == 0 or tokens[i - 1].token_type in (TokenType.L_PAREN, TokenType.R_PAREN))
        elif token.token_type in _CLOSING and opened:
            opened.pop()
        elif token.token_type is TokenType.SELECT and all(opened):
            return i
    return len(tokens)
