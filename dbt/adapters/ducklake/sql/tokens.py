"""Split statements into tokens by Spark's lexical rules (`SqlBaseLexer.g4`), and a cursor to read them.

A token has its position in the text, so that parts of the text can be copied as written.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from enum import Enum
from typing import NamedTuple

from ..errors import StatementError
from .values import Name


def words(*lines: str) -> frozenset[str]:
    """Return the set of the words in some lines."""
    return frozenset(word for line in lines for word in line.split())


class Kind(Enum):
    """The kind of a token."""

    WORD = "word"
    QUOTED = "quoted"
    STRING = "string"
    NUMBER = "number"
    SYMBOL = "symbol"
    END = "end"


class Token(NamedTuple):
    """text[start:end] of a statement. `word`: upper case of a WORD, the text itself of a SYMBOL, else empty."""

    kind: Kind
    text: str
    start: int
    end: int
    word: str = ""

    @property
    def is_identifier(self) -> bool:
        """Whether the token can be a name."""
        return self.kind is Kind.WORD or self.kind is Kind.QUOTED

    @property
    def identifier(self) -> str:
        """The identifier without its quotes."""
        return self.text[1:-1].replace("``", "`") if self.kind is Kind.QUOTED else self.text


_LEXER = re.compile(
    r"""\s*(?:
      (?P<comment>--(?:\\\n|[^\r\n])*)
    | (?P<block>/\*)
    | (?P<string>[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)
    | (?P<quoted>`(?:[^`]|``)*`)
    | (?P<number>(?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?:BD|bd|[LlSsYyFfDd])?(?!\w))
    | (?P<word>\w+|\{DUCKLAKE_CATALOG\})
    | (?P<symbol><=>|=>|->|::|\|>|\|\||!=|<>|<=|>=|==|\S)
    | (?P<nothing>$))
    """,
    re.VERBOSE | re.DOTALL,
)
QUERY_STARTS = words("SELECT WITH FROM VALUES TABLE MAP REDUCE")
"""The words with which a query begins."""
BEFORE_OPERAND = words(
    "AND OR NOT IS IN BETWEEN LIKE ILIKE RLIKE REGEXP ANY SOME ALL ESCAPE DIV FROM WHERE = == <=> != <> < <= > >= + - * / % || | & ^ ~ !"
)
"""Words and symbols that an expression cannot end with, so that an operand follows."""
SKIPPED = r"(?:\s|--(?:\\\n|\\(?!\n)|[^\\\r\n])*(?:[\r\n]|$)|/\*(?:[^*]|\*(?!/))*\*/)*"
"""A regular expression for white space and comments, for statements whose words are not SQL."""
_KINDS = {kind.value: kind for kind in Kind}
_BLOCK = re.compile(r"/\*|\*/")
_CONTINUED_COMMENT = re.compile(r"--[^\r\n]*\\\n")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[01][0-7]{2}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_PAIRS = {")": "(", "]": "["}


def syntax_error(text: str, position: int, message: str) -> StatementError:
    """Return the error for SQL that is wrong at `position`, with the line and the SQL at that position."""
    line = text.count("\n", 0, position) + 1
    near = " ".join(text[position : position + 40].split())
    place = f"near {near!r}" if near else "at the end of the statement"
    return StatementError(f"Syntax error in line {line}, {place}: {message}")


def has_continued_comment(text: str) -> bool:
    """Whether the text may have a comment that ends with a backslash and goes on in the next line, where sqlglot reads SQL."""
    return _CONTINUED_COMMENT.search(text) is not None


def tokenize(text: str) -> tuple[Token, ...]:
    """Return the tokens of `text` without white space and comments.

    Raises:
        StatementError: a string, quoted name or comment is not closed.
    """
    tokens: list[Token] = []
    position, length, match = 0, len(text), _LEXER.match
    while position < length:
        found = match(text, position)
        assert found is not None, "a character or the end follows white space"
        group = found.lastgroup
        assert group is not None
        start, position = found.span(group)
        kind = _KINDS.get(group)
        value = text[start:position]
        if kind is Kind.WORD:
            tokens.append(Token(kind, value, start, position, value.upper()))
        elif kind is Kind.SYMBOL:
            if value in "'\"`":
                raise syntax_error(text, start, f"the quote {value} is not closed")
            tokens.append(Token(kind, value, start, position, value))
        elif kind is not None:
            tokens.append(Token(kind, value, start, position))
        elif group == "block":
            position = _end_of_block(text, start)
    return tuple(tokens)


def _end_of_block(text: str, start: int) -> int:
    depth = 0
    for found in _BLOCK.finditer(text, start):
        depth += 1 if found.group() == "/*" else -1
        if depth == 0:
            return found.end()
    raise syntax_error(text, start, "the comment /* is not closed")


def string_value(literal: str) -> str:
    """Return the value of one string literal of Spark.

    Raises:
        StatementError: an escape is no character.
    """
    if literal[0] == "$":
        tag = literal[: literal.index("$", 1) + 1]
        return literal[len(tag) : -len(tag)]
    if literal[0] in "rR":
        return literal[2:-1]
    quote = literal[0]

    def unescape(found: re.Match[str]) -> str:
        code = found.group(1)
        if code[0] in "uU" and len(code) > 1:
            if int(code[1:], 16) > sys.maxunicode:
                raise StatementError(f"\\{code} is no character: the last one is \\U0010FFFF")
            return chr(int(code[1:], 16))
        if len(code) == 3:
            return chr(int(code, 8))
        return _ESCAPED.get(code, code)

    value = _ESCAPE.sub(unescape, literal[1:-1].replace(quote * 2, quote))
    if value.isascii():
        return value
    joined = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")  # \uD83D\uDE00 is one character
    return joined.encode(errors="replace").decode()  # half a character is `?`, as in Spark


class Source:
    """SQL with its tokens and the partner of each bracket.

    Raises:
        StatementError: brackets do not match.
    """

    def __init__(self, text: str, tokens: tuple[Token, ...] | None = None) -> None:
        self.text = text
        self.tokens = tokenize(text) if tokens is None else tokens
        self.end = Token(Kind.END, "", len(text), len(text))
        self.partner: dict[int, int] = {}
        opened: list[int] = []
        for index, token in enumerate(self.tokens):
            if token.word in ("(", "["):
                opened.append(index)
            elif token.word in _PAIRS:
                if not opened or self.tokens[opened[-1]].word != _PAIRS[token.word]:
                    raise syntax_error(text, token.start, f"this {token.word} closes nothing")
                self.partner[opened.pop()] = index
        if opened:
            raise syntax_error(text, self.tokens[opened[-1]].start, "this bracket is not closed")

    def token(self, index: int) -> Token:
        """Return the token at `index`, or the END token."""
        return self.tokens[index] if 0 <= index < len(self.tokens) else self.end

    def slice(self, start: int, stop: int) -> str:
        """Return the text of the tokens [start, stop), as written."""
        return self.text[self.tokens[start].start : self.tokens[stop - 1].end] if start < stop else ""

    def skip(self, index: int) -> int:
        """Return the index after the token at `index`, or after the closing bracket if that token opens one."""
        return self.partner.get(index, index) + 1


class Cursor:
    """Reads the tokens [position, stop) of a source from left to right.

    The methods that read something raise StatementError, with the line, if the tokens are something else.
    """

    def __init__(self, source: Source, start: int = 0, stop: int | None = None) -> None:
        self.source = source
        self.position = start
        self.stop = len(source.tokens) if stop is None else stop

    def copy(self) -> Cursor:
        """Return a cursor at the same place, to look ahead."""
        return Cursor(self.source, self.position, self.stop)

    @property
    def done(self) -> bool:
        """Whether no tokens are left."""
        return self.position >= self.stop

    def peek(self, ahead: int = 0) -> Token:
        """Return the token `ahead` positions from here, which may be negative, without moving; the END token if there is none."""
        index = self.position + ahead
        return self.source.tokens[index] if 0 <= index < self.stop else self.source.end

    def at(self, *words: str) -> bool:
        """Whether the next tokens are these words or symbols."""
        return all(self.peek(ahead).word == word for ahead, word in enumerate(words))

    def at_query(self) -> bool:
        """Whether a query begins here, perhaps after opening parentheses."""
        ahead = 0
        while self.peek(ahead).word == "(":
            ahead += 1
        return self.peek(ahead).word in QUERY_STARTS

    def at_any(self, words: Collection[str]) -> bool:
        """Whether the next token is one of these words or symbols."""
        return self.peek().word in words

    def accept(self, *words: str) -> bool:
        """Move past these words if they come next; return whether they did."""
        if self.at(*words):
            self.position += len(words)
            return True
        return False

    def accept_any(self, *words: str) -> str | None:
        """Move past the next word and return it if it is one of these; else return None."""
        word = self.peek().word
        if word in words:
            self.position += 1
            return word
        return None

    def expect(self, *words: str) -> None:
        """Move past these words, or raise StatementError."""
        if not self.accept(*words):
            raise self.error(f"{' '.join(words)} was expected")

    def error(self, message: str) -> StatementError:
        """Return a syntax error at the next token."""
        token = self.peek()
        position = token.start
        if token.kind is Kind.END and self.stop < len(self.source.tokens):
            position = self.source.tokens[self.stop].start
        return syntax_error(self.source.text, position, message)

    def finish(self) -> None:
        """Raise StatementError if any tokens are left."""
        if not self.done:
            raise self.error("this was not expected here")

    def identifier(self) -> str:
        """Read one identifier and return it without quotes."""
        token = self.peek()
        if not token.is_identifier:
            raise self.error("a name was expected")
        if not token.identifier:
            raise self.error("a name cannot be empty")
        self.position += 1
        return token.identifier

    def parts(self) -> tuple[str, ...]:
        """Read a dotted name."""
        parts = [self.identifier()]
        while self.at(".") and self.peek(1).is_identifier:
            self.position += 1
            parts.append(self.identifier())
        return tuple(parts)

    def identifier_clause(self) -> Cursor | None:
        """Move past IDENTIFIER('name') if it comes next, and return a cursor over the name."""
        if not (self.at("IDENTIFIER", "(") and self.peek(2).kind is Kind.STRING and self.peek(3).word == ")"):
            return None
        self.position += 4
        return Cursor(Source(string_value(self.peek(-2).text)))

    def name(self) -> Name:
        """Read the name of a relation or schema, also as IDENTIFIER('name')."""
        inner = self.identifier_clause()
        parts = (inner or self).parts()
        if inner is not None:
            inner.finish()
        if self.at("-"):
            raise self.error("a name with a hyphen needs backquotes: `like-this`")
        if len(parts) > 3:
            raise StatementError(f"{'.'.join(parts)} has more than three parts; write database.schema.name")
        return Name(parts)

    def string(self) -> str:
        """Read one or more adjacent string literals and return their joined value."""
        if self.peek().kind is not Kind.STRING:
            raise self.error("a string in quotes was expected")
        value = ""
        while self.peek().kind is Kind.STRING:
            value += string_value(self.peek().text)
            self.position += 1
        return value

    def skip(self) -> None:
        """Move past the next token, or past the brackets that it opens."""
        self.position = min(self.source.skip(self.position), self.stop)

    def group(self, opening: str = "(") -> Cursor:
        """Return a cursor over the tokens in the parentheses or square brackets that come next, and move past them."""
        if not self.at(opening):
            raise self.error(f"{opening} was expected")
        close = self.source.partner[self.position]
        inner = Cursor(self.source, self.position + 1, close)
        self.position = close + 1
        return inner

    def names(self) -> tuple[str, ...]:
        """Read a list of identifiers in parentheses."""
        names = []
        for item in self.group().items():
            names.append(item.identifier())
            item.finish()
        return tuple(names)

    def items(self) -> list[Cursor]:
        """Split the rest at its commas, except those in brackets or in type parameters `<…>`."""
        items: list[Cursor] = []
        while not self.done:
            items.append(self.upto((",",)))
            if self.accept(",") and self.done:
                raise self.error("something was expected after the comma")
        return items

    def cells(self) -> list[Cursor]:
        """Split a row of VALUES: the items in the parentheses around it, or its one value."""
        enclosed = self.at("(") and self.source.skip(self.position) == self.stop
        return self.group().items() if enclosed else [self]

    def upto(self, words: Collection[str]) -> Cursor:
        """Return a cursor over the tokens before the next of `words` outside brackets and CASE … END, and move to that word."""
        start = self.position
        cases = angles = 0
        previous = ""
        while not self.done:
            word = self.peek().word
            if previous != ".":
                if cases == 0 and angles == 0 and word in words:
                    break
                cases = max(0, cases + (word == "CASE") - (word == "END"))
            if word == "<" and previous in ("ARRAY", "MAP", "STRUCT"):
                angles += 1
            elif angles:
                angles += (word == "<") - (word == ">")
            previous = word
            self.skip()
        return Cursor(self.source, start, self.position)

    def rest(self) -> Cursor:
        """Return a cursor over the rest, and move to the end."""
        start, self.position = self.position, self.stop
        return Cursor(self.source, start, self.stop)

    @property
    def text(self) -> str:
        """The rest of the text, as written."""
        return self.source.slice(self.position, self.stop)


def parse_name(text: str) -> Name:
    """Parse the name of a relation or schema.

    Raises:
        StatementError: the text is not exactly one name.
    """
    cursor = Cursor(Source(text))
    name = cursor.name()
    cursor.finish()
    return name
