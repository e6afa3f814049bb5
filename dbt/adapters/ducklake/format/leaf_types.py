"""The table of DuckLake's leaf types: one row for each type, with all its properties that are data.

Specification: the page "Data Types". A leaf type is a type without fields. Other modules read these properties and define the functions
that convert values (CONTRIBUTING.md, "Add a type"). This module imports no engine: it names the types of Spark, DuckDB and PostgreSQL in
strings, which other modules map to the types of these engines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

from .datatype import decimal_parameters
from .text_patterns import INTERVAL, TIME_NANOS, TIME_WITH_ZONE, UUID


class Encoding(Enum):
    """How values are encoded in statistics, partition values and hashes. `statistics.Value` is a value before it becomes text."""

    BOOLEAN = auto()
    INTEGER = auto()
    HUGE = auto()
    """An integer of 128 bits. It has partition values and hashes, but no bounds."""
    FLOAT = auto()
    DECIMAL = auto()
    DATE = auto()
    """Days since 1970-01-01."""
    TIME = auto()
    """Nanoseconds since midnight."""
    TIMESTAMP = auto()
    """Nanoseconds since 1970-01-01 00:00:00, in UTC if the type has a time zone."""
    TEXT = auto()
    BLOB = auto()
    NONE = auto()
    """No bounds. DuckDB always writes a value count of 0."""


class Cell(Enum):
    """How a database that has only numbers, strings and blobs stores an inlined value."""

    NUMBER = auto()
    TEXT = auto()
    BLOB = auto()


@dataclass(frozen=True, slots=True)
class LeafType:
    """The properties of a leaf type."""

    name: str
    """DuckLake's name, without parameters."""

    spark: str
    """The Spark type as DDL text. For decimals the parameters are added."""

    encoding: Encoding = Encoding.NONE

    written: tuple[str, ...] = ()
    """The names that users write in DDL and in `column_types`, in lower case."""

    parameter: str | None = None
    """What the parameter of a written name means: `length` or `precision`. The parameter is checked, but not stored."""

    aliases: tuple[str, ...] = ()
    """Other names that the catalog may have."""

    pattern: str | None = None
    """The regular expression for the values, for a type whose values are strings."""

    bits: int = 0
    """The size of an integer or float, in bits."""

    unsigned: bool = False

    unit_nanos: int = 0
    """The unit of a time or timestamp, in nanoseconds."""

    width: int = 8
    """The estimated size of a value in a file, in bytes."""

    promotions: tuple[str, ...] = ()
    """The types that a column of this type can be changed to, besides wider integers and decimals."""

    cell: Cell | None = None
    """How SQLite and MySQL store inlined values; if None, they inline no rows with such a column, as for `duckdb` and `postgres`."""

    duckdb: str | None = None
    """The type in DuckDB, for inlined values in a DuckDB file and for values that DuckDB writes to encrypted files."""

    duckdb_file: str | None = None
    """The type that DuckDB writes to files, if not `duckdb`, of which Parquet would lose the offset, the nanoseconds or some digits."""

    postgres: str | None = None
    """The column type of inlined values in PostgreSQL."""

    inlined_kind: str = "string"
    """The kind of inlined values, in the notation of `FileField.kind`."""

    accepted_kinds: tuple[str, ...] = ()
    """Each `FileField.kind` that is accepted when files of other programs are added. Decimals and blobs have rules instead."""

    variously_stored: bool = False
    """Whether writers store values differently in Parquet files, so that a reader must look at the footer of each file."""

    arrow_accepts: type | None = None
    """The Python type whose values PyArrow converts correctly without our own conversion."""

    partitions: bool = True
    """Whether a column of this type can be a partition key."""

    extra_stats: bool = False
    """Whether a file has `extra_stats` of the column instead of bounds."""

    @property
    def is_native(self) -> bool:
        """Whether it has exactly the values of its Spark type, so that the name of the Spark type in DDL means this type."""
        return self.spark.partition("(")[0] in self.written

    @property
    def has_bounds(self) -> bool:
        """Whether statistics have a minimum and a maximum."""
        return self.encoding not in (Encoding.NONE, Encoding.HUGE)

    @property
    def has_only_counts(self) -> bool:
        """Whether DuckDB uses no bounds of it. A table has statistics of it nevertheless, without which DuckDB cannot SET NOT NULL."""
        counted = self.encoding in (Encoding.HUGE, Encoding.BLOB) or (self.encoding is Encoding.NONE and not self.extra_stats)
        return counted and self.duckdb is not None

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer of any size."""
        return self.encoding in (Encoding.INTEGER, Encoding.HUGE)

    @property
    def is_float(self) -> bool:
        """Whether it is a binary floating-point number."""
        return self.encoding is Encoding.FLOAT

    @property
    def is_timestamp(self) -> bool:
        """Whether it is a timestamp of any unit, with or without a time zone."""
        return self.encoding is Encoding.TIMESTAMP

    @property
    def is_dated(self) -> bool:
        """Whether it is a date or a timestamp."""
        return self.encoding in (Encoding.DATE, Encoding.TIMESTAMP)

    @property
    def is_coarse(self) -> bool:
        """Whether it is a timestamp whose unit is longer than Spark's microsecond."""
        return self.is_timestamp and self.unit_nanos > 1000

    @property
    def is_text(self) -> bool:
        """Whether it is a string that is not the text of another kind of value."""
        return self.encoding is Encoding.TEXT and self.pattern is None

    @property
    def is_opaque(self) -> bool:
        """Whether Spark has only texts or bytes that stand for its values, and cannot compare or convert the values themselves."""
        return self.pattern is not None or (self.spark in ("string", "binary") and self.encoding not in (Encoding.TEXT, Encoding.BLOB))

    @property
    def has_one_text(self) -> bool:
        """Whether each opaque value is stored as one text, though users may write others: bounds need that texts compare as values do."""
        return self.is_opaque and self.has_bounds

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest integer. They have at most 38 digits, because a Spark decimal has no more."""
        greatest = min(2 ** (self.bits - (not self.unsigned)) - 1, _MAX_INTEGER)
        return 0 if self.unsigned else max(-greatest - 1, -_MAX_INTEGER), greatest

    @property
    def digits(self) -> int:
        """The number of digits of the greatest integer."""
        return len(str(self.limits[1]))


_MAX_INTEGER = 10**38 - 1
_INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64, 128))
_FROM_INTEGER = ("float32", "float64", "variant")
_SIGNED_KINDS = ("int(8)", "uint(8)", "int(16)", "uint(16)", "int(32)", "uint(32)", "int(64)")
_UNSIGNED_KINDS = ("uint(8)", "uint(16)", "uint(32)", "uint(64)")
_TIMESTAMP_KINDS = ("timestamp(millis)", "timestamp(micros)", "int96")
_TIMESTAMPTZ_KINDS = ("timestamptz(millis)", "timestamptz(micros)", "timestamptz(nanos)")

# fmt: off
_ROWS = (
    LeafType("boolean", "boolean", Encoding.BOOLEAN, written=("boolean", "bool", "logical"),
        cell=Cell.NUMBER, duckdb="BOOLEAN", postgres="boolean", inlined_kind="boolean", arrow_accepts=bool,
        width=1, promotions=(*_INTEGERS, "variant"), accepted_kinds=("boolean",)),

    LeafType("int8", "tinyint", Encoding.INTEGER, bits=8, written=("tinyint", "byte", "int1"),
        cell=Cell.NUMBER, duckdb="TINYINT", postgres="smallint", inlined_kind="int(8)",
        width=1, promotions=_FROM_INTEGER, accepted_kinds=_SIGNED_KINDS[:1]),
    LeafType("int16", "smallint", Encoding.INTEGER, bits=16, written=("smallint", "short", "int2", "int16"),
        cell=Cell.NUMBER, duckdb="SMALLINT", postgres="smallint", inlined_kind="int(16)",
        width=2, promotions=_FROM_INTEGER, accepted_kinds=_SIGNED_KINDS[:3]),
    LeafType("int32", "int", Encoding.INTEGER, bits=32, written=("int", "integer", "int4", "int32", "signed"),
        cell=Cell.NUMBER, duckdb="INTEGER", postgres="integer", inlined_kind="int(32)", arrow_accepts=int,
        width=4, promotions=_FROM_INTEGER, accepted_kinds=_SIGNED_KINDS[:5]),
    LeafType("int64", "bigint", Encoding.INTEGER, bits=64, written=("bigint", "long", "int8", "int64"),
        cell=Cell.NUMBER, duckdb="BIGINT", postgres="bigint", inlined_kind="int(64)", arrow_accepts=int,
        promotions=_FROM_INTEGER, accepted_kinds=_SIGNED_KINDS),
    LeafType("int128", "decimal(38,0)", Encoding.HUGE, bits=128, written=("hugeint", "int128"),
        cell=Cell.TEXT, duckdb="HUGEINT", duckdb_file="DECIMAL(38,0)", postgres="varchar", inlined_kind="decimal(38,0)",
        promotions=("float32", "float64"), variously_stored=True),
    LeafType("uint8", "smallint", Encoding.INTEGER, bits=8, unsigned=True, written=("utinyint", "uint8"),
        cell=Cell.NUMBER, duckdb="UTINYINT", postgres="integer", inlined_kind="uint(8)",
        width=1, promotions=_FROM_INTEGER, accepted_kinds=_UNSIGNED_KINDS[:1]),
    LeafType("uint16", "int", Encoding.INTEGER, bits=16, unsigned=True, written=("usmallint", "uint16"),
        cell=Cell.NUMBER, duckdb="USMALLINT", postgres="integer", inlined_kind="uint(16)",
        width=2, promotions=_FROM_INTEGER, accepted_kinds=_UNSIGNED_KINDS[:2]),
    LeafType("uint32", "bigint", Encoding.INTEGER, bits=32, unsigned=True, written=("uinteger", "uint32"),
        cell=Cell.NUMBER, duckdb="UINTEGER", postgres="bigint", inlined_kind="uint(32)",
        width=4, promotions=_FROM_INTEGER, accepted_kinds=_UNSIGNED_KINDS[:3]),
    LeafType("uint64", "decimal(20,0)", Encoding.INTEGER, bits=64, unsigned=True, written=("ubigint", "uint64"),
        cell=Cell.TEXT, duckdb="UBIGINT", postgres="varchar", inlined_kind="uint(64)",
        promotions=_FROM_INTEGER, accepted_kinds=_UNSIGNED_KINDS),
    LeafType("uint128", "decimal(38,0)", Encoding.HUGE, bits=128, unsigned=True, written=("uhugeint", "uint128"),
        cell=Cell.TEXT, duckdb="UHUGEINT", duckdb_file="DECIMAL(38,0)", postgres="varchar", inlined_kind="decimal(38,0)",
        promotions=("float32", "float64"), variously_stored=True),

    LeafType("float32", "float", Encoding.FLOAT, bits=32, written=("float", "real", "float4", "float32"),
        cell=Cell.TEXT, duckdb="FLOAT", postgres="real", inlined_kind="float",
        width=4, promotions=("float64", "variant"), accepted_kinds=("float",)),
    LeafType("float64", "double", Encoding.FLOAT, bits=64, written=("double", "double precision", "float8", "float64"),
        cell=Cell.TEXT, duckdb="DOUBLE", postgres="double precision", inlined_kind="double", arrow_accepts=float,
        promotions=("variant",), accepted_kinds=("float", "double")),
    LeafType("decimal", "decimal", Encoding.DECIMAL, written=("decimal", "dec", "numeric", "number"),
        cell=Cell.TEXT, duckdb="DECIMAL", postgres="numeric", inlined_kind="decimal",
        promotions=("float32", "float64", "variant")),

    LeafType("date", "date", Encoding.DATE, written=("date",),
        cell=Cell.TEXT, duckdb="DATE", postgres="varchar", inlined_kind="date", width=4, accepted_kinds=("date",),
        promotions=("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamptz", "variant")),
    LeafType("time", "time(6)", Encoding.TIME, unit_nanos=1000, written=("time", "time without time zone"), parameter="precision",
        cell=Cell.TEXT, duckdb="TIME", postgres="time", inlined_kind="time(micros)", accepted_kinds=("time(micros)",)),
    LeafType("time_ns", "string", pattern=TIME_NANOS, written=("time_ns",),
        cell=Cell.TEXT, duckdb="TIME_NS", duckdb_file="VARCHAR", variously_stored=True),
    LeafType("timetz", "string", pattern=TIME_WITH_ZONE, written=("timetz", "time with time zone"), parameter="precision",
        cell=Cell.TEXT, duckdb="TIME WITH TIME ZONE", duckdb_file="VARCHAR", postgres="time with time zone", width=32,
        variously_stored=True),
    LeafType("timestamp", "timestamp_ntz", Encoding.TIMESTAMP, unit_nanos=1000, aliases=("timestamp_us",),
        written=("timestamp_ntz", "timestamp without time zone", "datetime", "timestamp_us"), parameter="precision",
        cell=Cell.TEXT, duckdb="TIMESTAMP", postgres="varchar", inlined_kind="timestamp(micros)",
        promotions=("timestamp_ns", "timestamptz", "variant"), accepted_kinds=(*_TIMESTAMP_KINDS, "timestamp(nanos)")),
    LeafType("timestamp_s", "timestamp_ntz", Encoding.TIMESTAMP, unit_nanos=1_000_000_000, written=("timestamp_s",),
        cell=Cell.TEXT, duckdb="TIMESTAMP_S", postgres="varchar", inlined_kind="timestamp(micros)",
        promotions=("timestamp", "timestamp_ms", "timestamp_ns"), accepted_kinds=_TIMESTAMP_KINDS),
    LeafType("timestamp_ms", "timestamp_ntz", Encoding.TIMESTAMP, unit_nanos=1_000_000, written=("timestamp_ms",),
        cell=Cell.TEXT, duckdb="TIMESTAMP_MS", postgres="varchar", inlined_kind="timestamp(micros)",
        promotions=("timestamp", "timestamp_ns"), accepted_kinds=_TIMESTAMP_KINDS),
    LeafType("timestamp_ns", "string", Encoding.TIMESTAMP, unit_nanos=1, written=("timestamp_ns",),
        cell=Cell.TEXT, duckdb="TIMESTAMP_NS", postgres="varchar",
        accepted_kinds=(*_TIMESTAMP_KINDS, "timestamp(nanos)"), variously_stored=True),
    LeafType("timestamptz", "timestamp", Encoding.TIMESTAMP, unit_nanos=1000, parameter="precision",
        written=("timestamp", "timestamp_ltz", "timestamptz", "timestamp with time zone", "timestamp with local time zone"),
        cell=Cell.TEXT, duckdb="TIMESTAMP WITH TIME ZONE", postgres="varchar", inlined_kind="timestamptz(micros)",
        promotions=("variant",), accepted_kinds=_TIMESTAMPTZ_KINDS),
    LeafType("interval", "string", pattern=INTERVAL, written=("interval",),
        cell=Cell.TEXT, duckdb="INTERVAL", duckdb_file="VARCHAR", postgres="interval", width=32, accepted_kinds=("interval",),
        variously_stored=True),

    LeafType("varchar", "string", Encoding.TEXT, parameter="length",
        written=("string", "varchar", "char", "character", "text", "character varying", "char varying", "nvarchar", "nchar", "bpchar",
                 "void", "null"),
        cell=Cell.TEXT, duckdb="VARCHAR", postgres="bytea",  # PostgreSQL's text cannot contain NUL characters
        arrow_accepts=str, width=32, promotions=("json", "variant"), accepted_kinds=("string",)),
    LeafType("json", "string", Encoding.TEXT, written=("json", "jsonb"),
        cell=Cell.TEXT, duckdb="JSON", postgres="bytea", width=32, accepted_kinds=("json",)),
    LeafType("uuid", "string", Encoding.TEXT, pattern=UUID, written=("uuid", "guid"),
        cell=Cell.TEXT, duckdb="UUID", postgres="uuid", width=32, accepted_kinds=("uuid",), variously_stored=True),
    LeafType("blob", "binary", Encoding.BLOB, parameter="length",
        written=("binary", "varbinary", "binary varying", "blob", "bytea", "bytes"),
        cell=Cell.BLOB, duckdb="BLOB", postgres="bytea", inlined_kind="binary", arrow_accepts=bytes,
        width=32, promotions=("variant",)),
    LeafType("geometry", "binary", written=("geometry",), inlined_kind="geometry",
        width=32, accepted_kinds=("geometry",), partitions=False, extra_stats=True),
    LeafType("variant", "variant", written=("variant",), duckdb="VARIANT", inlined_kind="variant",
        width=32, variously_stored=True, partitions=False, extra_stats=True),
    LeafType("unknown", "string", duckdb_file="VARCHAR", variously_stored=True),
)
# fmt: on

LEAF_TYPES: Mapping[str, LeafType] = {leaf.name: leaf for leaf in _ROWS}
"""The leaf types by name."""

STORED_NAMES: Mapping[str, LeafType] = {name: leaf for leaf in _ROWS for name in (leaf.name, *leaf.aliases)}
"""The leaf types by every name that the catalog may have, which includes aliases."""

NO_LEAF = LeafType("", "")
"""The row for nested types and for unknown names. It has none of the properties."""


@lru_cache(maxsize=1024)
def leaf_type(stored: str) -> LeafType:
    """Return the row of a stored type, such as `int32` or `decimal(10,2)`; NO_LEAF for a nested type and for any other text."""
    found = LEAF_TYPES.get(stored)
    if found is None and decimal_parameters(stored) is not None:
        return LEAF_TYPES["decimal"]
    return found or NO_LEAF
