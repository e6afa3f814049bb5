"""Parse type names that users write: those of Spark, DuckDB, DuckLake, PostgreSQL and the SQL standard.

If Spark has the name, its meaning wins: `TIMESTAMP` is an instant, `DECIMAL` is `DECIMAL(10,0)`. `int8` has eight bytes, as in PostgreSQL
and DuckDB. Lengths of `CHAR(n)` and `VARCHAR(n)` are dropped, because DuckLake has none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import StatementError
from .datatype import DataType, Field, decimal
from .identifiers import fold
from .leaf_types import LEAF_TYPES, LeafType

_BY_WRITTEN_NAME = {written: leaf for leaf in LEAF_TYPES.values() for written in leaf.written}
_PHRASES = sorted({tuple(name.split()) for name in _BY_WRITTEN_NAME if " " in name}, key=len, reverse=True)
_INTERVAL_UNITS = frozenset({"year", "month", "day", "hour", "minute", "second"})
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
        found = repr(self._tokens[self._at].text) if self._at < len(self._tokens) else "end"
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
        leaf = _BY_WRITTEN_NAME.get(written)
        if leaf is None:
            raise self._error(f"there is no type {written}")
        if leaf.name == "varchar" and self._words("collate") and self._take("word").lower() not in {"utf8_binary", "binary"}:
            raise self._error("DuckLake has no collations")
        return self._with_arguments(leaf, written, arguments)

    def _with_arguments(self, leaf: LeafType, written: str, arguments: list[int]) -> DataType:
        if leaf.name == "decimal":
            if len(arguments) > 2:
                raise self._error("a decimal has a precision and a scale")
            precision, scale = [*arguments, *(10, 0)[len(arguments) :]]
            return decimal(precision, scale)
        if written == "float" and len(arguments) == 1:
            return DataType("float32" if arguments[0] <= 24 else "float64")
        if arguments and (leaf.parameter is None or len(arguments) != 1):
            raise self._error(f"{written} takes no parameters")
        if arguments and leaf.parameter == "precision" and arguments[0] > 6:
            raise self._error("times have microseconds, a precision of at most 6")
        return DataType(leaf.name)

    def _arguments(self) -> list[int]:
        if not self._mark("("):
            return []
        arguments: list[int] = []
        while True:
            word = self._take("word")
            if not (word.isdecimal() or word.lower() == "max"):
                raise self._error(f"{word!r} is not a number")
            arguments.append(int(word) if word.isdecimal() else 0)
            if self._expect(",", ")") == ")":
                return arguments

    def _interval(self) -> DataType:
        units = [unit for unit in _INTERVAL_UNITS if self._words(unit)]
        if units and self._words("to") and self._take("word").lower() not in _INTERVAL_UNITS:
            raise self._error("unknown unit of an interval")
        return DataType("interval")
