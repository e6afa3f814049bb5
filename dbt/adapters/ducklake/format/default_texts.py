"""The text of a literal default, in the form that DuckDB's casts from text read.

DuckDB casts the `initial_default` of every column when it loads a catalog. One text that it cannot cast makes all tables of the lake
unusable for it. So texts that Spark or Python read, but DuckDB may not, are rewritten.
"""

from __future__ import annotations

import json
import re
from decimal import ROUND_HALF_UP, Context, Decimal

from .datatype import decimal_parameters
from .initial_defaults import ESCAPED_BYTE, truth
from .leaf_types import Encoding, LeafType, leaf_type
from .statistics import float_text
from .timestamps import (
    DAY_NANOS,
    INFINITY_DAYS,
    INFINITY_MICROS,
    MIN_NANOS,
    date_text,
    parse_date,
    parse_iso,
    parse_time,
    parse_timestamp,
    time_text,
    timestamp_text,
)

_PLAIN_NUMBER = re.compile(r"-?[0-9]+([.][0-9]+)?")
_PREFIXED_INTEGER = re.compile(r"\s*(0[xX][0-9a-fA-F]+(_[0-9a-fA-F]+)*|0[bB][01]+(_[01]+)*)", re.ASCII)
"""A hexadecimal or binary integer that DuckDB reads: with ASCII's blanks in front of it, and none behind."""
_ASCII_NUMBER = re.compile(r"\s*[!-~]+\s*", re.ASCII)
"""A number with ASCII's digits and blanks. DuckDB knows no others."""
_ASCII_UNSIGNED = re.compile(r"\s*(-0+|[!-,.-~][!-~]*\s*)", re.ASCII)
"""The same for unsigned types, in which DuckDB refuses even `-0.0` and `-0 `."""
_ROUNDING = Context(prec=1000, rounding=ROUND_HALF_UP)
"""DuckDB rounds half away from zero. The digits suffice for every number of its types."""
_MOST_DECIMALS = 18
"""A number of digits after the point that DuckDB always reads in an integer of at most 64 bits with an exponent that is not negative."""
_MOST_DECIMALS_OF_HUGE = 38
"""A number of digits after the point that DuckDB always reads in an integer of 128 bits."""
_EXPONENTS = range(-(2**15), 2**15)
"""The exponents that DuckDB reads, except in floating-point numbers."""
_BOOLEANS = frozenset({"true", "t", "yes", "y", "1", "false", "f", "no", "n", "0"})
"""The texts that DuckDB casts to BOOLEAN, in lower case."""
_MIN_MICROS = -9_223_372_022_400_000_000
"""290309-12-22 (BC), the first day of DuckDB's timestamps."""


def default_text(type_name: str, text: str) -> str:
    """Return the text of a default of the stored type `type_name` as DuckDB reads it.

    Raises:
        ValueError: DuckDB has no such value.
        ArithmeticError: the text is not a number.
    """
    match leaf_type(type_name).encoding:
        case Encoding.BOOLEAN:
            return "true" if truth(text.strip()) else "false"
        case Encoding.INTEGER | Encoding.HUGE:
            return _integer(text)
        case Encoding.DECIMAL:
            return text if _PLAIN_NUMBER.fullmatch(text) else f"{Decimal(text):f}"
        case Encoding.FLOAT:
            return text if _PLAIN_NUMBER.fullmatch(text) else float_text(float(text), type_name) or "nan"
        case Encoding.DATE:
            return _date(text)
        case Encoding.TIME:
            return time_text(parse_time(text))
        case Encoding.TIMESTAMP:
            return _timestamp(type_name, text.strip())
        case Encoding.BLOB:
            return blob_text(ESCAPED_BYTE.sub(lambda match: bytes([int(match.group(1), 16)]), text.encode()))
        case Encoding.NONE:
            return text.strip()
    return text


def readable_default(type_name: str, text: str) -> str | None:
    """Return the text of a stored default if DuckDB may read it, otherwise another text of the same value; None if there is none."""
    leaf = leaf_type(type_name)
    try:
        match leaf.encoding:
            case Encoding.BLOB:
                is_readable = text.isascii() and "\\" not in ESCAPED_BYTE.sub(b"", text.encode()).decode()
                return text if is_readable else default_text(type_name, text)
            case Encoding.BOOLEAN:
                return text if text.lower() in _BOOLEANS else default_text(type_name, text)
            case Encoding.INTEGER | Encoding.HUGE if _PREFIXED_INTEGER.fullmatch(text.strip()):
                return _readable_prefixed(leaf, text)
            case Encoding.INTEGER | Encoding.HUGE | Encoding.DECIMAL | Encoding.FLOAT:
                return _readable_number(type_name, text)
            case Encoding.DATE if _is_time(text):  # DuckDB takes the day of a timestamp
                return text if abs(parse_timestamp(text.strip())[0] // DAY_NANOS) <= INFINITY_DAYS else None
            case Encoding.TIMESTAMP if _is_time(text):
                default_text(type_name, text)
    except (ValueError, ArithmeticError):
        return _text_of_boolean(text) if leaf.is_integer else None
    return text


def _readable_prefixed(leaf: LeafType, text: str) -> str | None:
    """Return the text of a hexadecimal or binary integer; DuckDB reads it without blanks behind it, and in types of at most 64 bits."""
    number = int(text, 0)
    if not _is_in_range(leaf.name, Decimal(number)):
        return None
    return text if leaf.encoding is Encoding.INTEGER and _PREFIXED_INTEGER.fullmatch(text) else str(number)


def _readable_number(type_name: str, text: str) -> str | None:
    """Return the text of any other number.

    Raises:
        ValueError, ArithmeticError: the text is not a number, or one that no type has.
    """
    float(text)  # reads what DuckDB reads, and also other digits and blanks; Decimal reads more, such as 1__0
    leaf = leaf_type(type_name)
    if not leaf.is_float and not _is_in_range(type_name, Decimal(text)):
        return None
    form = _ASCII_UNSIGNED if leaf.unsigned else _ASCII_NUMBER
    if not form.fullmatch(text):
        return default_text(type_name, text)
    return text if leaf.is_float or _has_readable_parts(type_name, text) else f"{_rounded(type_name, Decimal(text)):f}"


def _has_readable_parts(type_name: str, text: str) -> bool:
    """Whether DuckDB reads a number in the type's range. It reads the digits before it applies the exponent, and then adds zeros."""
    leaf = leaf_type(type_name)
    digits, _, exponent = text.strip().lower().replace("_", "").partition("e")
    power, mantissa, decimals = int(exponent or 0), Decimal(digits), len(digits.partition(".")[2])
    if power not in _EXPONENTS:
        return False
    match leaf.encoding:
        case Encoding.DECIMAL:
            precision, scale = decimal_parameters(type_name) or (0, 0)
            if mantissa and power > precision - scale:
                return False
        case Encoding.HUGE:
            if decimals > _MOST_DECIMALS_OF_HUGE:
                return False
        case _:
            if exponent and power >= 0 and decimals > _MOST_DECIMALS:
                return False
            type_name = "uint64" if leaf.name == "uint64" else "int64"  # DuckDB reads 64 bits for every smaller type
    return _is_in_range(type_name, Decimal(int(mantissa)))


def _rounded(type_name: str, number: Decimal) -> Decimal:
    """Return a number with as many digits after the point as the type, rounded as DuckDB rounds.

    Raises:
        ArithmeticError: the number is not finite, or has more than 1,000 digits.
    """
    _, scale = decimal_parameters(type_name) or (0, 0)
    return number.quantize(Decimal((0, (1,), -scale)), context=_ROUNDING)


def _is_in_range(type_name: str, number: Decimal) -> bool:
    """Whether DuckDB's type has the number, after rounding. Spark's range of integers of 128 bits is smaller.

    Raises:
        ArithmeticError: as of `_rounded`.
    """
    precision, scale = decimal_parameters(type_name) or (0, 0)
    rounded = _rounded(type_name, number)
    if precision:
        return rounded.copy_abs() < Decimal((0, (1,), precision - scale))
    leaf = leaf_type(type_name)
    count = 1 << leaf.bits
    least = 0 if leaf.unsigned else -count // 2
    return least <= rounded < least + count


def _is_time(text: str) -> bool:
    """Whether we can parse a date or timestamp; DuckDB reads more forms."""
    try:
        parse_timestamp(text.strip())
    except ValueError:
        return False
    return True


def _text_of_boolean(text: str) -> str | None:
    """Return the number of a default from when the column was a boolean; None for other texts."""
    try:
        return _number_of(text)
    except ValueError:
        return None


def _number_of(boolean: str) -> str:
    return "1" if truth(boolean.strip()) else "0"


def changed_default_text(old: str, new: str, text: str) -> str:
    """Return the text of a default of the stored type `old` for the type `new`, which can represent every value of `old`.

    Raises:
        ValueError: DuckDB has no such value of the new type, or would give it another type, as each value of a VARIANT has its own.
        ArithmeticError: the text is not a number.
    """
    if new == "variant":
        raise ValueError("DuckDB reads every default of a VARIANT as a string")
    if new == "json":
        json.loads(text)
        return text
    if leaf_type(old).encoding is Encoding.BOOLEAN and leaf_type(new).is_integer:
        return _number_of(text)
    return text if leaf_type(new).encoding is Encoding.NONE else default_text(new, text)


def blob_text(value: bytes) -> str:
    r"""Return the text of a blob, as DuckDB writes it: `\xAB` for each byte that is not a plain printable character."""
    return "".join(chr(byte) if 32 <= byte <= 126 and chr(byte) not in "\\'\"" else f"\\x{byte:02X}" for byte in value)


def _integer(text: str) -> str:
    number = Decimal(text)
    if not number.is_finite() or number != int(number):
        raise ValueError(f"{text!r} is not an integer")
    return str(int(number))


def _date(text: str) -> str:
    days = parse_date(text.strip())
    if abs(days) > INFINITY_DAYS:
        raise ValueError(f"{text!r} is not a date of DuckDB")
    return date_text(days)


def _timestamp(type_name: str, text: str) -> str:
    """Return the text as it is if all engines read it alike; an offset is only in texts of instants."""
    nanos, offset = parse_timestamp(text)
    is_instant = leaf_type(type_name).name == "timestamptz"
    if is_instant:
        nanos -= (offset or 0) * 1_000_000_000
    is_infinite = "infinity" in text
    if leaf_type(type_name).unit_nanos == 1:
        if not is_infinite and not MIN_NANOS <= nanos < INFINITY_MICROS:
            raise ValueError(f"{text!r} is outside the years 1677 to 2262")
    elif not is_infinite and not _MIN_MICROS <= nanos // 1000 < INFINITY_MICROS:
        raise ValueError(f"{text!r} is not a timestamp of DuckDB")
    if is_infinite or (parse_iso(text) is not None and (is_instant or offset is None)):
        return text
    return timestamp_text(nanos) + ("+00" if is_instant else "")
