"""Read the rows of VALUES, or of a SELECT without FROM, if they consist of constants: literals, casts of literals, and the current time.

Only forms that every version of Spark reads alike are read; the caller checks the settings. Everything else is left to Spark. In strings,
only the escapes of quotes, backslashes, line feeds, carriage returns and tabs are read.
"""

from __future__ import annotations

import re
from decimal import Decimal

from ..errors import StatementError
from .tokens import Cursor, Kind, Source, string_value
from .values import CastTo, Constant, CurrentTime, Literal

_NUMBER = re.compile(r"(?P<digits>\d+(?P<point>\.\d*)?|\.\d+)(?P<exponent>E[+-]?\d+)?(?P<suffix>BD|[LSYFD])?", re.IGNORECASE | re.ASCII)
_STRING = re.compile(r"""'(?:[^'\\\0]|\\[\\'"ntr]|'')*'|"(?:[^"\\\0]|\\[\\'"ntr]|"")*\"""")
_SIGNS = ("+", "-")
_INTEGER_SUFFIXES = {"Y": ("tinyint", 7), "S": ("smallint", 15), "L": ("bigint", 63)}
"""Suffix of an integer → its type, and the number of its bits without the sign."""
_MAX_DIGITS = 38
"""The maximum precision of a decimal."""
_KEYWORDS = {"NULL": Literal("void", None), "TRUE": Literal("boolean", True), "FALSE": Literal("boolean", False)}
_CURRENT_TIMES = {"CURRENT_TIMESTAMP": "timestamp", "NOW": "timestamp", "CURRENT_DATE": "date"}
_TYPED_STRINGS = {"DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMP_LTZ": "timestamp", "TIMESTAMP_NTZ": "timestamp_ntz"}
"""The words before a string, as in `DATE '2026-01-31'` → its type."""
_TYPES = {
    **_TYPED_STRINGS,
    "BOOLEAN": "boolean",
    "TINYINT": "tinyint",
    "BYTE": "tinyint",
    "SMALLINT": "smallint",
    "SHORT": "smallint",
    "INT": "int",
    "INTEGER": "int",
    "BIGINT": "bigint",
    "LONG": "bigint",
    "FLOAT": "float",
    "REAL": "float",
    "DOUBLE": "double",
    "STRING": "string",
    "BINARY": "binary",
}
_DECIMAL_TYPES = ("DECIMAL", "DEC", "NUMERIC")


class _NotConstantError(Exception):
    """The text is not a constant that we read."""


def constant_rows(query: str) -> list[tuple[Constant, ...]] | None:
    """Return the rows of `VALUES …`, or the one row of `SELECT …`; None if an item is not a constant or another clause follows."""
    if "${" in query:  # Spark replaces `${name}` by a setting
        return None
    cursor = Cursor(Source(query))
    try:
        if cursor.accept("SELECT"):
            return [tuple(_selected(item) for item in cursor.items())]
        cursor.expect("VALUES")
        return [tuple(map(_only_constant, row.cells())) for row in cursor.items()]
    except (_NotConstantError, StatementError):
        return None


def _selected(item: Cursor) -> Constant:
    """Read an item of a SELECT list: a constant, perhaps with a name."""
    value = _expression(item)
    if item.accept("AS"):
        item.identifier()
    item.finish()
    return value


def constant(text: str) -> Constant | None:
    """Parse an SQL expression that is a constant; None if it is anything else."""
    try:
        return None if "${" in text else _only_constant(Cursor(Source(text)))
    except (_NotConstantError, StatementError):
        return None


def _only_constant(cursor: Cursor) -> Constant:
    """Read a constant that is all of the text."""
    value = _expression(cursor)
    cursor.finish()
    return value


def _expression(cursor: Cursor) -> Constant:
    """Read a constant, perhaps with casts after it: `'1'::int`."""
    signed = cursor.at_any(_SIGNS)
    value = _simple(cursor)
    while cursor.accept("::"):
        if signed:  # the sign may belong to the result of the cast
            raise _NotConstantError
        value = CastTo(value, _type(cursor))
    return value


def _simple(cursor: Cursor) -> Constant:
    """Read a literal, a constant in parentheses, CAST(…), or a constant that begins with a word."""
    if cursor.peek().kind is Kind.STRING:
        return Literal("string", _string(cursor))
    if cursor.peek().kind is Kind.NUMBER or (cursor.at_any(_SIGNS) and cursor.peek(1).kind is Kind.NUMBER):
        sign = cursor.accept_any("+", "-") or ""
        cursor.position += 1
        return _number(sign.replace("+", ""), cursor.peek(-1).text)
    if cursor.at("("):
        return _only_constant(cursor.group())
    if cursor.accept("CAST"):
        inner = cursor.group()
        value = _expression(inner)
        inner.expect("AS")
        type_ = _type(inner)
        inner.finish()
        return CastTo(value, type_)
    return _word_constant(cursor)


def _word_constant(cursor: Cursor) -> Constant:
    """Read `DATE '…'`, `X'…'`, the current time, NULL, TRUE or FALSE."""
    word = cursor.peek().word
    is_call = cursor.peek(1).word == "(" and cursor.peek(2).word == ")"
    if cursor.peek(1).kind is Kind.STRING and (word in _TYPED_STRINGS or word == "X"):
        text = _string_value(cursor.peek(1).text)
        cursor.position += 2
        return _hexadecimal(text) if word == "X" else CastTo(Literal("string", text), _TYPED_STRINGS[word])
    if word in _CURRENT_TIMES and (is_call or word != "NOW"):
        cursor.position += 3 if is_call else 1
        return CurrentTime(_CURRENT_TIMES[word])
    if word not in _KEYWORDS:
        raise _NotConstantError
    cursor.position += 1
    return _KEYWORDS[word]


def _string(cursor: Cursor) -> str:
    """Read a string, which may consist of several literals."""
    text = ""
    while cursor.peek().kind is Kind.STRING:
        text += _string_value(cursor.peek().text)
        cursor.position += 1
    return text


def _string_value(token: str) -> str:
    if not _STRING.fullmatch(token):
        raise _NotConstantError
    return string_value(token)


def _hexadecimal(text: str) -> Literal:
    if not re.fullmatch("(?:[0-9A-Fa-f]{2})*", text):
        raise _NotConstantError
    return Literal("binary", bytes.fromhex(text))


def _number(sign: str, text: str) -> Constant:
    """Return a number with the type that Spark gives it by its suffix, point, exponent and size."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise _NotConstantError
    number, suffix = sign + found["digits"], (found["suffix"] or "").upper()
    whole = found["point"] is None and not found["digits"].startswith(".") and found["exponent"] is None
    if suffix in _INTEGER_SUFFIXES:
        type_, bits = _INTEGER_SUFFIXES[suffix]
        if not whole or not -(2**bits) <= int(number) < 2**bits:
            raise _NotConstantError
        return Literal(type_, int(number))
    if suffix == "D" or (found["exponent"] and not suffix):
        return Literal("double", _finite(float(number + (found["exponent"] or ""))))
    if found["exponent"]:
        raise _NotConstantError
    if whole and not suffix and -(2**63) <= int(number) < 2**63:
        return Literal("int" if -(2**31) <= int(number) < 2**31 else "bigint", int(number))
    decimal = _decimal(number)
    return CastTo(decimal, "float") if suffix == "F" else decimal


def _finite(number: float) -> float:
    """Return the number. Infinities are not read, because Spark refuses them, nor is -0.0, because not every catalog database stores it."""
    if number in (float("inf"), float("-inf")) or str(number) == "-0.0":
        raise _NotConstantError
    return number


def _decimal(text: str) -> Literal:
    """Return a decimal with the precision and scale of its text."""
    number = Decimal(text)
    _, digits, exponent = number.as_tuple()
    scale = -int(exponent)
    precision = max(len(digits), scale)
    if precision > _MAX_DIGITS:
        raise _NotConstantError
    return Literal(f"decimal({precision},{scale})", number if number else number.copy_abs())  # Spark's decimals have no -0


def _type(cursor: Cursor) -> str:
    """Read the name of a type, and return Spark's name of it."""
    word = cursor.peek().word
    cursor.position += 1
    if word in _TYPES:
        return _TYPES[word]
    if word not in _DECIMAL_TYPES:
        raise _NotConstantError
    if not cursor.at("("):
        return "decimal(10,0)"
    parameters = [item.text for item in cursor.group().items()]
    if not all(each.isascii() and each.isdecimal() for each in parameters) or len(parameters) not in (1, 2):
        raise _NotConstantError
    precision, scale = (*map(int, parameters), 0)[:2]
    if not (0 < precision <= _MAX_DIGITS and scale <= precision):
        raise _NotConstantError
    return f"decimal({precision},{scale})"
