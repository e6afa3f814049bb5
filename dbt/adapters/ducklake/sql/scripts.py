"""Split SQL with several statements."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import StatementError
from .tokens import Token, tokenize

_AFTER_BEGIN = frozenset({";", "TRANSACTION", "WORK"})
_OF_TRANSACTIONS = frozenset({"BEGIN", "START", "COMMIT", "ROLLBACK", "ABORT"})


def split(text: str) -> list[str]:
    """Return the statements in a string, without the semicolons between them and without parts that are only comments.

    Semicolons in quotes, in comments and in a Spark script (`BEGIN … END`) do not end a statement. A string whose quotes do not
    match is not split: either its parser reports the error, or it is a configuration value, which may contain an apostrophe.
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
    """Whether the text is a BEGIN … END script and not the start of a transaction."""
    return len(tokens) > 1 and tokens[0].word == "BEGIN" and tokens[1].word not in _AFTER_BEGIN


def is_transaction_control(tokens: Sequence[Token]) -> bool:
    """Whether a statement with these tokens begins or ends a transaction."""
    return bool(tokens) and tokens[0].word in _OF_TRANSACTIONS and not is_script(tokens)


def controls_transaction(statement: str) -> bool:
    """Whether the statement begins or ends a transaction."""
    try:
        return is_transaction_control(tokenize(statement))
    except StatementError:
        return False
