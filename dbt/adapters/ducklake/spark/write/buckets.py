"""bucket(n) in Spark: DuckLake's hash computed with Spark's own hash function, without Python on the executors.

Both are Murmur3 (x86, 32 bits). Spark's `hash` starts with the seed 42 and uses the hash of each argument as the seed of the next. A first
argument with the hash 0 therefore provides the seed 0 of DuckLake. Spark mixes the last one to three bytes of a string differently, so
`hash` gets a multiple of four bytes, and the rest is computed by arithmetic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from ...errors import StatementError
from ...format.leaf_types import Encoding, leaf_type
from ...format.types import decimal_parameters
from ..values.conform import wall_micros

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

_MASK = 0xFFFFFFFF
_C1, _C2 = 0xCC9E2D51, 0x1B873593
_FINAL_1, _FINAL_2 = 0x85EBCA6B, 0xC2B2AE35


def bucket(value: SparkColumn, type_name: str, count: int, steps: Steps) -> SparkColumn:
    """Return the bucket of a value, 0 to `count` - 1, or NULL for NULL.

    Args:
        value: the value, of the Spark type of its column.
        type_name: the DuckLake type of the column.
        count: the number of buckets.
        steps: gets columns that the expression uses; the SELECT must have them before it.

    Raises:
        StatementError: the type cannot be bucketed.
    """
    number = _as_number(value, type_name)
    data = _as_bytes(value, type_name) if number is None else None
    if number is not None:
        hashed = F.hash(F.lit(ZERO_HASH), number)
    elif data is not None:
        hashed = _hash_bytes(data, steps)
    else:
        raise StatementError(f"bucket({count}) is not possible on a column of the type {type_name}")
    return F.when(value.isNotNull(), hashed.bitwiseAND(F.lit(0x7FFFFFFF)) % count)


def _as_number(value: SparkColumn, type_name: str) -> SparkColumn | None:
    """Return the BIGINT or DOUBLE to hash; None for types that are not hashed as a number."""
    leaf, parameters = leaf_type(type_name), decimal_parameters(type_name)
    match leaf.encoding:
        case Encoding.FLOAT:
            return value.cast("double")
        case Encoding.BOOLEAN:
            return value.cast("bigint")
        case Encoding.INTEGER if not leaf.unsigned:
            return value.cast("bigint")
        case Encoding.DECIMAL if parameters is not None and parameters[0] <= 18:
            return F.concat(_minus(value), _digits(value)).cast("bigint")
        case Encoding.DATE:
            return F.unix_date(value).cast("bigint")
        case Encoding.TIME:
            minutes = F.hour(value) * 60 + F.minute(value)
            seconds = F.date_part(F.lit("SECOND"), value) + (minutes * 60).cast("decimal(10,0)")
            return (seconds * F.lit(1_000_000).cast("decimal(7,0)")).cast("bigint")
        case Encoding.TIMESTAMP if type_name == "timestamptz":
            return F.unix_micros(value)
        case Encoding.TIMESTAMP if type_name == "timestamp_ns":
            return value
        case Encoding.TIMESTAMP:
            return F.call_function("div", wall_micros(value), F.lit(leaf.unit_nanos // 1000)).cast("bigint")
    return None


def _as_bytes(value: SparkColumn, type_name: str) -> SparkColumn | None:
    """Return the bytes to hash; None for types that are not hashed as a string or blob."""
    match leaf_type(type_name).encoding:
        case Encoding.BLOB:
            return value
        case Encoding.DECIMAL:
            return _decimal_text(value, type_name).cast("binary")
        case Encoding.INTEGER | Encoding.HUGE | Encoding.TEXT:
            return value.cast("string").cast("binary")
    return None


def _minus(value: SparkColumn) -> SparkColumn:
    return F.when(value < 0, F.lit("-")).otherwise(F.lit(""))


def _digits(value: SparkColumn) -> SparkColumn:
    """Return the digits of a decimal without its scale. The cast may give `0.50`, `5E-7` or `0E-20`, depending on the ANSI mode."""
    return F.regexp_replace(value.cast("string"), r"[-.]|E.*$", "")


def _decimal_text(value: SparkColumn, type_name: str) -> SparkColumn:
    """Format a decimal as DuckDB does, without a digit before the point if all digits are after it: `.50`, `-.50`."""
    precision, scale = decimal_parameters(type_name) or (38, 0)
    digits = F.ltrim(_digits(value), F.lit("0"))
    least = max(1, scale + (precision > scale))
    digits = F.when(F.length(digits) < least, F.lpad(digits, least, "0")).otherwise(digits)
    if scale == 0:
        return F.concat(_minus(value), digits)
    whole = F.substring(digits, F.lit(1), F.length(digits) - scale)
    return F.concat(_minus(value), whole, F.lit("."), F.right(digits, F.lit(scale)))


def _hash_bytes(data: SparkColumn, steps: Steps) -> SparkColumn:
    """Return the unsigned hash of `data`, a BIGINT."""
    data = steps.step(data)
    length = steps.step(F.octet_length(data).cast("bigint"))
    rest = steps.step(length % 4)
    head = F.substring(data, F.lit(1), (length - rest).cast("int"))
    whole = steps.step(F.hash(F.lit(ZERO_HASH), head).cast("bigint").bitwiseAND(F.lit(_MASK)))
    hashed = steps.step(steps.unfinish(whole).bitwiseXOR(length - rest))
    byte = [F.hex(F.substring(data, (length - rest + i).cast("int"), F.lit(1))) for i in (3, 2, 1)]
    tail = steps.step(F.conv(F.concat(*byte), 16, 10).cast("bigint"))
    tail = steps.multiply(steps.rotate(steps.multiply(tail, _C1), 15), _C2)
    mixed = steps.step(hashed.bitwiseXOR(tail).bitwiseXOR(length))
    return steps.step(F.when(rest == 0, whole).otherwise(steps.finish(mixed)))


class Steps:
    """32-bit arithmetic on BIGINT columns.

    All results are columns of one SELECT, and later columns use earlier ones by name (lateral aliases). So each result is computed once,
    and Spark analyzes the plan once, not at every step.
    """

    def __init__(self) -> None:
        self.columns: list[SparkColumn] = []

    def step(self, value: SparkColumn) -> SparkColumn:
        """Add a column with this value, and return a reference to it."""
        name = f"__ducklake_step_{len(self.columns) + 1}"
        self.columns.append(value.alias(name))
        return F.col(name)

    def multiply(self, value: SparkColumn, factor: int) -> SparkColumn:
        """Multiply modulo 2^32."""
        low = value.bitwiseAND(F.lit(0xFFFF)) * F.lit(factor)
        high = (F.shiftright(value, 16) * F.lit(factor)).bitwiseAND(F.lit(0xFFFF)) * F.lit(0x10000)
        return self.step((low + high).bitwiseAND(F.lit(_MASK)))

    def rotate(self, value: SparkColumn, bits: int) -> SparkColumn:
        """Rotate 32 bits to the left."""
        rotated = F.shiftleft(value, bits).bitwiseOR(F.shiftright(value, 32 - bits))
        return self.step(rotated.bitwiseAND(F.lit(_MASK)))

    def fold(self, value: SparkColumn, *bits: int) -> SparkColumn:
        """XOR the value with itself shifted right, for each number of `bits` in turn."""
        folded = value
        for count in bits:
            folded = folded.bitwiseXOR(F.shiftright(value, count))
        return self.step(folded)

    def finish(self, value: SparkColumn) -> SparkColumn:
        """Compute the last step of the hash."""
        value = self.multiply(self.fold(value, 16), _FINAL_1)
        value = self.multiply(self.fold(value, 13), _FINAL_2)
        return self.fold(value, 16)

    def unfinish(self, value: SparkColumn) -> SparkColumn:
        """Compute the inverse of `finish`."""
        value = self.multiply(self.fold(value, 16), _inverse(_FINAL_2))
        value = self.multiply(self.fold(value, 13, 26), _inverse(_FINAL_1))
        return self.fold(value, 16)


def _inverse(odd: int) -> int:
    return pow(odd, -1, 1 << 32)


def _zero_hash() -> int:
    """Return the INT whose hash with Spark's seed 42 is 0, by inverting each step of the hash of an INT."""
    state = (4 - 0xE6546B64) * _inverse(5) & _MASK
    block = (state >> 13 | state << 19 & _MASK) ^ 42
    block = block * _inverse(_C2) & _MASK
    block = (block >> 15 | block << 17 & _MASK) * _inverse(_C1) & _MASK
    return block - (1 << 32) if block >> 31 else block


ZERO_HASH = _zero_hash()
