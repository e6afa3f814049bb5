"""Read the rows of VALUES, or of a SELECT without FROM, if they consist of constants: literals, casts of literals, and the current time.

Only forms whose meaning does not depend on Spark's version are read. All others, such as escapes in strings other than those of quotes,
backslashes and white space, are left to Spark.
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
_BITS = {"Y": ("tinyint", 7), "S": ("smallint", 15), "L": ("bigint", 63)}
_MAX_DIGITS = 38
_WORDS = {"NULL": Literal("void", None), "TRUE": Literal("boolean", True), "FALSE": Literal("boolean", False)}
_CLOCKS = {"CURRENT_TIMESTAMP": "timestamp", "NOW": "timestamp", "CURRENT_DATE": "date"}
_TYPED = {"DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMP_LTZ": "timestamp", "TIMESTAMP_NTZ": "timestamp_ntz"}
_TYPES = {
    **_TYPED,
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
_DECIMALS = ("DECIMAL", "DEC", "NUMERIC")


class _NotConstantError(Exception):
    """The text is not a constant that we read."""


def constant_rows(query: str) -> list[tuple[Constant, ...]] | None:
    """Return the rows of `VALUES …` or `SELECT …`; None if the query has anything else than a list of constants."""
    if "${" in query:  # Spark replaces it by a setting
        return None
    cursor = Cursor(Source(query))
    try:
        if cursor.accept("SELECT"):
            return [tuple(_named(item) for item in cursor.items())]
        cursor.expect("VALUES")
        return [_row(item) for item in cursor.items()]
    except (_NotConstantError, StatementError):
        return None


def _named(item: Cursor) -> Constant:
    value = _expression(item)
    if item.accept("AS"):
        item.identifier()
    item.finish()
    return value


def _row(item: Cursor) -> tuple[Constant, ...]:
    enclosed = item.at("(") and item.source.skip(item.position) == item.stop
    return tuple(_whole(cell) for cell in (item.group().items() if enclosed else [item]))


def constant(text: str) -> Constant | None:
    """Return the constant that a piece of SQL is, or None."""
    try:
        return None if "${" in text else _whole(Cursor(Source(text)))
    except (_NotConstantError, StatementError):
        return None


def _whole(cursor: Cursor) -> Constant:
    value = _expression(cursor)
    cursor.finish()
    return value


def _expression(cursor: Cursor) -> Constant:
    signed = cursor.at_any(_SIGNS)
    value = _simple(cursor)
    while cursor.accept("::"):
        if signed:  # the sign may belong to the result of the cast
            raise _NotConstantError
        value = CastTo(value, _type(cursor))
    return value


def _simple(cursor: Cursor) -> Constant:
    if cursor.peek().kind is Kind.STRING:
        return Literal("string", _string(cursor))
    if cursor.peek().kind is Kind.NUMBER or (cursor.at_any(_SIGNS) and cursor.peek(1).kind is Kind.NUMBER):
        sign = cursor.accept_any("+", "-") or ""
        cursor.position += 1
        return _number(sign.replace("+", ""), cursor.peek(-1).text)
    if cursor.at("("):
        return _whole(cursor.group())
    if cursor.accept("CAST"):
        inner = cursor.group()
        value = _expression(inner)
        inner.expect("AS")
        type_ = _type(inner)
        inner.finish()
        return CastTo(value, type_)
    return _worded(cursor)


def _worded(cursor: Cursor) -> Constant:
    word = cursor.peek().word
    called = cursor.peek(1).word == "(" and cursor.peek(2).word == ")"
    if cursor.peek(1).kind is Kind.STRING and (word in _TYPED or word == "X"):
        text = _string_value(cursor.peek(1).text)
        cursor.position += 2
        return _hexadecimal(text) if word == "X" else CastTo(Literal("string", text), _TYPED[word])
    if word in _CLOCKS and (called or word != "NOW"):
        cursor.position += 3 if called else 1
        return CurrentTime(_CLOCKS[word])
    if word not in _WORDS:
        raise _NotConstantError
    cursor.position += 1
    return _WORDS[word]


def _string(cursor: Cursor) -> str:
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
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise _NotConstantError
    number, suffix = sign + found["digits"], (found["suffix"] or "").upper()
    whole = found["point"] is None and not found["digits"].startswith(".") and found["exponent"] is None
    if suffix in _BITS:
        type_, bits = _BITS[suffix]
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
    """Refuse infinities, which Spark refuses, and negative zeros, which not every catalog stores."""
    if number in (float("inf"), float("-inf")) or str(number) == "-0.0":
        raise _NotConstantError
    return number


def _decimal(text: str) -> Literal:
    number = Decimal(text)
    _, digits, exponent = number.as_tuple()
    scale = -int(exponent)
    precision = max(len(digits), scale)
    if precision > _MAX_DIGITS:
        raise _NotConstantError
    return Literal(f"decimal({precision},{scale})", number if number else number.copy_abs())


def _type(cursor: Cursor) -> str:
    word = cursor.peek().word
    cursor.position += 1
    if word in _TYPES:
        return _TYPES[word]
    if word not in _DECIMALS:
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
