"""Parse type names that users write: those of Spark, DuckDB, DuckLake, PostgreSQL and the SQL standard.

If Spark has the name, its meaning wins: `TIMESTAMP` is an instant, `DECIMAL` is `DECIMAL(10,0)`. `int8` has eight bytes, as in PostgreSQL
and DuckDB. Lengths of `CHAR(n)` and `VARCHAR(n)` are dropped, because DuckLake has none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import StatementError
from .datatype import DataType, Field, decimal
from .identifiers import fold

WRITTEN_NAMES: Mapping[str, tuple[str, ...]] = {
    "boolean": ("boolean", "bool", "logical"),
    "int8": ("tinyint", "byte", "int1"),
    "int16": ("smallint", "short", "int2", "int16"),
    "int32": ("int", "integer", "int4", "int32", "signed"),
    "int64": ("bigint", "long", "int8", "int64"),
    "int128": ("hugeint", "int128"),
    "uint8": ("utinyint", "uint8"),
    "uint16": ("usmallint", "uint16"),
    "uint32": ("uinteger", "uint32"),
    "uint64": ("ubigint", "uint64"),
    "uint128": ("uhugeint", "uint128"),
    "float32": ("float", "real", "float4", "float32"),
    "float64": ("double", "double precision", "float8", "float64"),
    "decimal": ("decimal", "dec", "numeric", "number"),
    "varchar": (
        "string",
        "varchar",
        "char",
        "character",
        "text",
        "character varying",
        "char varying",
        "nvarchar",
        "nchar",
        "bpchar",
        "void",
        "null",
    ),
    "blob": ("binary", "varbinary", "binary varying", "blob", "bytea", "bytes"),
    "date": ("date",),
    "time": ("time", "time without time zone"),
    "time_ns": ("time_ns",),
    "timetz": ("timetz", "time with time zone"),
    "timestamptz": (
        "timestamp",
        "timestamp_ltz",
        "timestamptz",
        "timestamp with time zone",
        "timestamp with local time zone",
    ),
    "timestamp": ("timestamp_ntz", "timestamp without time zone", "datetime", "timestamp_us"),
    "timestamp_s": ("timestamp_s",),
    "timestamp_ms": ("timestamp_ms",),
    "timestamp_ns": ("timestamp_ns",),
    "interval": ("interval",),
    "json": ("json", "jsonb"),
    "uuid": ("uuid", "guid"),
    "geometry": ("geometry",),
    "variant": ("variant",),
}
"""DuckLake's leaf types and the names that users write for them."""

_BY_WRITTEN_NAME = {written: name for name, names in WRITTEN_NAMES.items() for written in names}
_PHRASES = sorted({tuple(name.split()) for name in _BY_WRITTEN_NAME if " " in name}, key=len, reverse=True)
_INTERVAL_UNITS = frozenset({"year", "month", "day", "hour", "minute", "second"})
_LENGTH_TYPES = frozenset({"varchar", "blob"})
_PRECISION_TYPES = frozenset({"time", "timetz", "timestamp", "timestamptz"})
_TOKEN = re.compile(
    r"""
    \s+
    | (?P<word>\w+)
    | `(?P<back>(?:[^`]|``)*)`
    | "(?P<double>(?:[^"]|"")*)"
    | '(?P<text>(?:[^'\\]|''|\\.)*)'
    | (?P<mark>[<>()\[\],:])
    """,
    re.VERBOSE,
)
_CLOSING = {"<": ">", "(": ")"}


def parse_type(text: str) -> DataType:
    """Parse a type in Spark's DDL, or with the names of DuckDB, DuckLake, PostgreSQL or the SQL standard.

    Raises:
        StatementError: a lake cannot store the type.
    """
    return _TypeParser(text).parse()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str


class _TypeParser:
    """A recursive descent parser of one type."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._tokenize()
        self._at = 0

    def parse(self) -> DataType:
        type_ = self._type()
        if self._at < len(self._tokens):
            raise self._error(f"unexpected {self._tokens[self._at].text!r}")
        return type_

    def _tokenize(self) -> list[_Token]:
        tokens: list[_Token] = []
        position = 0
        while position < len(self._text):
            match = _TOKEN.match(self._text, position)
            if match is None:
                raise self._error(f"unexpected {self._text[position]!r}")
            if match.lastgroup is not None:
                tokens.append(_Token(match.lastgroup, match[match.lastgroup]))
            position = match.end()
        return tokens

    def _error(self, reason: str) -> StatementError:
        return StatementError(f"Type {self._text.strip()!r} is not a type that a lake can store: {reason}")

    def _mark(self, *marks: str) -> str | None:
        """Consume the next token if it is one of `marks`, and return it; otherwise return None."""
        if self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token.kind == "mark" and token.text in marks:
                self._at += 1
                return token.text
        return None

    def _expect(self, *marks: str) -> str:
        mark = self._mark(*marks)
        if mark is None:
            found = repr(self._tokens[self._at].text) if self._at < len(self._tokens) else "the end"
            raise self._error(f"expected {' or '.join(marks)} and found {found}")
        return mark

    def _words(self, *words: str) -> bool:
        """Consume the next tokens if they are these words, ignoring case, and return whether they were."""
        tokens = self._tokens[self._at : self._at + len(words)]
        if [t.text.lower() for t in tokens if t.kind == "word"] == list(words):
            self._at += len(words)
            return True
        return False

    def _take(self, *kinds: str) -> str:
        if self._at < len(self._tokens) and self._tokens[self._at].kind in kinds:
            self._at += 1
            return self._tokens[self._at - 1].text
        found = repr(self._tokens[self._at].text) if self._at < len(self._tokens) else "the end"
        raise self._error(f"unexpected {found}")

    def _type(self) -> DataType:
        type_ = self._base()
        while self._mark("["):
            if self._mark("]") is None:
                raise self._error("DuckLake has no arrays of a fixed size; leave out the size")
            type_ = DataType("list", (Field("element", type_),))
        return type_

    def _base(self) -> DataType:
        word = self._take("word", "double").lower()
        following = self._tokens[self._at].text if self._at < len(self._tokens) else ""
        if word in {"array", "list"} and following in _CLOSING:
            return self._list()
        if word == "map" and following in _CLOSING:
            return self._map()
        if word in {"struct", "row"} and following in _CLOSING:
            return self._struct()
        return self._leaf(word)

    def _list(self) -> DataType:
        closing = _CLOSING[self._expect("<", "(")]
        element = self._type()
        self._expect(closing)
        return DataType("list", (Field("element", element),))

    def _map(self) -> DataType:
        closing = _CLOSING[self._expect("<", "(")]
        key = self._type()
        self._expect(",")
        value = self._type()
        self._expect(closing)
        return DataType("map", (Field("key", key), Field("value", value)))

    def _struct(self) -> DataType:
        closing = _CLOSING[self._expect("<", "(")]
        fields: list[Field] = []
        while True:
            fields.append(self._struct_field())
            if self._expect(",", closing) == closing:
                break
        names = [fold(field.name) for field in fields]
        for name in names:
            if names.count(name) > 1:
                raise self._error(f"the field {name} is listed twice")
        return DataType("struct", tuple(fields))

    def _struct_field(self) -> Field:
        quoted = {"back": "``", "double": '""'}
        if self._at < len(self._tokens) and self._tokens[self._at].kind in quoted:
            kind = self._tokens[self._at].kind
            name = self._take(kind).replace(quoted[kind], quoted[kind][0])
        else:
            name = self._take("word")
        self._mark(":")
        type_ = self._type()
        nullable = not self._words("not", "null")
        comment = None
        if self._words("comment"):
            comment = re.sub(r"\\(.)|''", lambda m: m[1] or "'", self._take("text"), flags=re.DOTALL)
        return Field(name, type_, nullable, comment)

    def _leaf(self, word: str) -> DataType:
        if word == "interval":
            return self._interval()
        arguments = self._arguments()
        written = word
        for phrase in _PHRASES:
            if phrase[0] == word and self._words(*phrase[1:]):
                written = " ".join(phrase)
                break
        arguments = arguments or self._arguments()
        name = _BY_WRITTEN_NAME.get(written)
        if name is None:
            raise self._error(f"there is no type {written}")
        if name == "varchar" and self._words("collate") and self._take("word").lower() not in {"utf8_binary", "binary"}:
            raise self._error("DuckLake has no collations")
        return self._with_arguments(name, written, arguments)

    def _with_arguments(self, name: str, written: str, arguments: list[int]) -> DataType:
        if name == "decimal":
            if len(arguments) > 2:
                raise self._error("a decimal has a precision and a scale")
            precision, scale = [*arguments, *(10, 0)[len(arguments) :]]
            return decimal(precision, scale)
        if written == "float" and len(arguments) == 1:
            return DataType("float32" if arguments[0] <= 24 else "float64")
        if not arguments or (name in _LENGTH_TYPES and len(arguments) == 1):
            return DataType(name)
        if name in _PRECISION_TYPES and len(arguments) == 1:
            if arguments[0] > 6:
                raise self._error("times have microseconds, a precision of at most 6")
            return DataType(name)
        raise self._error(f"{written} takes no parameters")

    def _arguments(self) -> list[int]:
        if not self._mark("("):
            return []
        arguments: list[int] = []
        while True:
            word = self._take("word")
            if not (word.isdigit() or word.lower() == "max"):
                raise self._error(f"{word!r} is not a number")
            arguments.append(int(word) if word.isdigit() else 0)
            if self._expect(",", ")") == ")":
                return arguments

    def _interval(self) -> DataType:
        units = [unit for unit in _INTERVAL_UNITS if self._words(unit)]
        if units and self._words("to") and self._take("word").lower() not in _INTERVAL_UNITS:
            raise self._error("unknown unit of an interval")
        return DataType("interval")
