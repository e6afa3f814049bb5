"""Texts with several statements: where each ends."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import StatementError
from .tokens import Token, tokenize

_AFTER_BEGIN = frozenset({";", "TRANSACTION", "WORK"})
_OF_TRANSACTIONS = frozenset({"BEGIN", "START", "COMMIT", "ROLLBACK", "ABORT"})


def split(text: str) -> list[str]:
    """The statements of a text, without the semicolons between them; what holds comments only is no statement.

    Semicolons in quotes, in comments and in a script of Spark (`BEGIN … END`) end nothing. A text whose quotes do not match is
    left whole: its reader says what is wrong, or it is configuration, where an apostrophe is a letter.
    """
    try:
        tokens = tokenize(text)
    except StatementError:
        return [text]
    if is_script(tokens):
        return [text]
    statements: list[str] = []
    start, filled = 0, False
    for token in tokens:
        if token.word != ";":
            filled = True
            continue
        if filled:
            statements.append(text[start : token.start].strip())
        start, filled = token.end, False
    if filled:
        statements.append(text[start:].strip())
    return statements


def is_script(tokens: Sequence[Token]) -> bool:
    """BEGIN … END of SQL scripting, not the begin of a transaction."""
    return len(tokens) > 1 and tokens[0].word == "BEGIN" and tokens[1].word not in _AFTER_BEGIN


def controls_transaction(statement: str) -> bool:
    """Whether the statement begins or ends a transaction."""
    try:
        tokens = tokenize(statement)
    except StatementError:
        return False
    return bool(tokens) and tokens[0].word in _OF_TRANSACTIONS and not is_script(tokens)
