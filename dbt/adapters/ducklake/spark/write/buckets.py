"""bucket(n) in Spark: the hash of DuckLake in terms of Spark's own, without code on the executors.

Both are Murmur3 (x86, 32 bits); Spark's `hash` begins with the seed 42 and passes the hash of one argument on as the
seed of the next. An argument whose hash is 0 in front gives the seed 0 that DuckLake wants. Spark mixes the last one
to three bytes of a text in its own way, so a text is hashed up to a multiple of four bytes, and what remains is done
with arithmetic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from ...errors import StatementError
from ...format.statistics import FLOATS
from ...format.types import decimal_parameters
from ..values.conform import wall_micros

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

_MASK = 0xFFFFFFFF
_C1, _C2 = 0xCC9E2D51, 0x1B873593
_FINAL_1, _FINAL_2 = 0x85EBCA6B, 0xC2B2AE35
_AS_LONG = frozenset({"boolean", "int8", "int16", "int32", "int64"})
_MICROS = {"timestamp": 1, "timestamp_ms": 1000, "timestamp_s": 1_000_000}
_AS_TEXT = frozenset({"uint8", "uint16", "uint32", "uint64", "int128", "uint128", "uuid", "varchar", "json"})


def bucket(value: SparkColumn, type_name: str, count: int, steps: Steps) -> SparkColumn:
    """The bucket, 0 to `count` - 1, of `value`, or NULL where that is NULL; it names columns that are added to `steps`.

    Raises:
        StatementError: a type that cannot be bucketed.
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
    """The BIGINT or DOUBLE that is hashed, for types that are hashed as a number."""
    parameters = decimal_parameters(type_name)
    if type_name in FLOATS:
        return value.cast("double")
    if type_name in _AS_LONG:
        return value.cast("bigint")
    if type_name == "date":
        return F.unix_date(value).cast("bigint")
    if type_name == "timestamptz":
        return F.unix_micros(value)
    if type_name in _MICROS:
        return F.call_function("div", wall_micros(value), F.lit(_MICROS[type_name])).cast("bigint")
    if type_name == "timestamp_ns":
        return value
    if type_name == "time":
        minutes = F.hour(value) * 60 + F.minute(value)
        seconds = F.date_part(F.lit("SECOND"), value) + (minutes * 60).cast("decimal(10,0)")
        return (seconds * F.lit(1_000_000).cast("decimal(7,0)")).cast("bigint")
    if parameters is not None and parameters[0] <= 18:
        return F.replace(value.cast("string"), F.lit(".")).cast("bigint")
    return None


def _as_bytes(value: SparkColumn, type_name: str) -> SparkColumn | None:
    """The bytes that are hashed, for types that are hashed as a text or blob."""
    if type_name == "blob":
        return value
    if type_name in _AS_TEXT or decimal_parameters(type_name) is not None:
        return value.cast("string").cast("binary")
    return None


def _hash_bytes(data: SparkColumn, of: Steps) -> SparkColumn:
    """The unsigned hash of `data`, a BIGINT."""
    data = of.step(data)
    length = of.step(F.octet_length(data).cast("bigint"))
    rest = of.step(length % 4)
    head = F.substring(data, F.lit(1), (length - rest).cast("int"))
    whole = of.step(F.hash(F.lit(ZERO_HASH), head).cast("bigint").bitwiseAND(F.lit(_MASK)))
    hashed = of.step(of.unfinish(whole).bitwiseXOR(length - rest))
    byte = [F.hex(F.substring(data, (length - rest + i).cast("int"), F.lit(1))) for i in (3, 2, 1)]
    tail = of.step(F.conv(F.concat(*byte), 16, 10).cast("bigint"))
    tail = of.multiply(of.rotate(of.multiply(tail, _C1), 15), _C2)
    mixed = of.step(hashed.bitwiseXOR(tail).bitwiseXOR(length))
    return of.step(F.when(rest == 0, whole).otherwise(of.finish(mixed)))


class Steps:
    """Arithmetic of 32 bits on BIGINT columns. Each result is a column of one SELECT, each of which later ones name (a lateral alias): what
    is used more than once is computed once, and Spark analyses the plan once, not at every step.
    """

    def __init__(self) -> None:
        self.columns: list[SparkColumn] = []

    def step(self, value: SparkColumn) -> SparkColumn:
        name = f"__ducklake_step_{len(self.columns) + 1}"
        self.columns.append(value.alias(name))
        return F.col(name)

    def multiply(self, value: SparkColumn, factor: int) -> SparkColumn:
        low = value.bitwiseAND(F.lit(0xFFFF)) * F.lit(factor)
        high = (F.shiftright(value, 16) * F.lit(factor)).bitwiseAND(F.lit(0xFFFF)) * F.lit(0x10000)
        return self.step((low + high).bitwiseAND(F.lit(_MASK)))

    def rotate(self, value: SparkColumn, bits: int) -> SparkColumn:
        turned = F.shiftleft(value, bits).bitwiseOR(F.shiftright(value, 32 - bits))
        return self.step(turned.bitwiseAND(F.lit(_MASK)))

    def fold(self, value: SparkColumn, *bits: int) -> SparkColumn:
        folded = value
        for count in bits:
            folded = folded.bitwiseXOR(F.shiftright(value, count))
        return self.step(folded)

    def finish(self, value: SparkColumn) -> SparkColumn:
        """The last step of the hash."""
        value = self.multiply(self.fold(value, 16), _FINAL_1)
        value = self.multiply(self.fold(value, 13), _FINAL_2)
        return self.fold(value, 16)

    def unfinish(self, value: SparkColumn) -> SparkColumn:
        """The inverse of `finish`."""
        value = self.multiply(self.fold(value, 16), _inverse(_FINAL_2))
        value = self.multiply(self.fold(value, 13, 26), _inverse(_FINAL_1))
        return self.fold(value, 16)


def _inverse(odd: int) -> int:
    return pow(odd, -1, 1 << 32)


def _zero_hash() -> int:
    """The INT whose hash with Spark's seed of 42 is 0: each step of the hash of an INT, undone."""
    state = (4 - 0xE6546B64) * _inverse(5) & _MASK
    block = (state >> 13 | state << 19 & _MASK) ^ 42
    block = block * _inverse(_C2) & _MASK
    block = (block >> 15 | block << 17 & _MASK) * _inverse(_C1) & _MASK
    return block - (1 << 32) if block >> 31 else block


ZERO_HASH = _zero_hash()
