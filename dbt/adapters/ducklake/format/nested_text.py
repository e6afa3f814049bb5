"""Nested values as text: read DuckDB's literal form and its SQL form for structs, and write the literal form.

The literal form is the result of a cast to VARCHAR: `[a, 'b c', NULL]`, `{'f': x}`, `{k=v}`; inside quotes a backslash escapes the next
character. DuckDB writes the SQL form for struct columns of an inlined table: every text is quoted, with quotes doubled and no backslashes,
values without a literal are casts such as `CAST('2020-01-02' AS DATE)`, and lists and maps inside are in the literal form. DuckDB reads
both with a cast that understands only the literal form, so it misreads or refuses some texts in the SQL form.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .identifiers import fold
from .objects import Column

Scalar = Callable[[str, str], Any]
"""Converts (text, stored type) to a value; raises ValueError if the text is not of that type."""

_CAST_END = re.compile(r"\s+AS\s+[A-Za-z_ ]+(\([0-9, ]*\))?\s*\)", re.IGNORECASE)
"""The rest of a CAST after its string."""
_BLANKS = " \t\n\v\f\r"
"""The white space before and after which DuckDB quotes a string; others, such as a no-break space, belong to a string without quotes."""
_SQL_BARE = re.compile(r"[+-]?[0-9.eE+-]+|true|false", re.IGNORECASE)
"""A value without quotes in the SQL form: a number or a boolean."""


def parse_nested(text: str, column: Column, scalar: Scalar, *, sql_structs: bool = True) -> Any:
    """Parse a string into a list, a dict (struct) or a list of pairs (map).

    Args:
        text: the string.
        column: its column.
        scalar: converts the text of a leaf.
        sql_structs: a struct may be in the SQL form. Backslashes have another meaning in it, and some strings are valid in both forms.

    Raises:
        ValueError: the text is not a value of the column's type in either form.
    """
    if column.type == "struct" and sql_structs:
        try:
            return _Parser(text, scalar, sql_form=True).whole(column)
        except ValueError:
            pass  # other writers use the literal form
    return _Parser(text, scalar, sql_form=False).whole(column)


def format_nested(value: Any, column: Column, text: Callable[[Any, str], str]) -> str:
    """Return the literal form of a list, a dict (struct) or a list of pairs (map), with every leaf in quotes.

    Args:
        value: the nested value.
        column: its column.
        text: converts (value, stored type) of a leaf to its text.

    Raises:
        ValueError: the text would not be read back as the same value: it contains JSON, which DuckDB reads differently; a closing bracket
            two levels deep, with which DuckDB ends the inner value; or it is a struct whose text is also valid in the SQL form.
    """
    if any(node.type == "json" for node in column.walk()):
        raise ValueError("JSON inside a nested value")
    formatted = _format(value, column, text)
    if column.type == "struct" and _format(parse_nested(formatted, column, _unchanged), column, _unchanged) != formatted:
        raise ValueError("the text of the struct is ambiguous")
    return formatted


def _format(value: Any, column: Column, text: Callable[[Any, str], str], depth: int = 0) -> str:
    if value is None:
        return "NULL"
    inner = depth + 1
    match column.type, column.children:
        case "list", (element,):
            return "[" + ", ".join(_format(item, element, text, inner) for item in value) + "]"
        case "map", (key, entry):
            return "{" + ", ".join(f"{_format(k, key, text, inner)}={_format(v, entry, text, inner)}" for k, v in value) + "}"
        case "struct", children:
            fields = (f"{_quoted(child.name, inner)}: {_format(value.get(child.name), child, text, inner)}" for child in children)
            return "{" + ", ".join(fields) + "}"
    return _quoted(text(value, column.type), depth)


def _unchanged(text: str, _type: str) -> str:
    """Return the text of a leaf, for conversions that keep it."""
    return text


def _quoted(text: str, depth: int) -> str:
    """Return a string in quotes, in the literal form. `depth` is the number of nested values around it."""
    if depth > 1 and ("]" in text or "}" in text):
        raise ValueError("a closing bracket inside a nested value of a nested value")
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


class _Parser:
    """A parser of one text. `sql_form` applies only to structs and their scalar fields.

    Each method parses from the current position and moves past what it has parsed.
    A method that requires certain text raises ValueError for any other text.
    """

    def __init__(self, text: str, scalar: Scalar, *, sql_form: bool) -> None:
        self.text = text
        self.position = 0
        self.scalar = scalar
        self.sql_form = sql_form

    def whole(self, column: Column) -> Any:
        """Parse the whole text as a value of a column."""
        value = self.value(column, "")
        self.skip_blanks()
        if self.position != len(self.text):
            raise self.unexpected()
        return value

    def value(self, column: Column, ends: str) -> Any:
        """Parse a value; without quotes, it ends before one of the characters of `ends`."""
        self.skip_blanks()
        if column.type in ("list", "struct", "map"):
            if self.null(ends):
                return None
            outer = self.sql_form
            self.sql_form = outer and column.type == "struct"
            try:
                return {"list": self.list_value, "struct": self.struct_value, "map": self.map_value}[column.type](column)
            finally:
                self.sql_form = outer
        quotes = ("'",) if column.type == "json" else ("'", '"')  # a JSON string has double quotes of its own
        if self.text.startswith(quotes, self.position):
            return self.scalar(self.quoted(), column.type)
        if self.sql_form and self.text[self.position : self.position + 5].upper() == "CAST(":
            return self.cast(column)
        bare = self.bare(ends)
        if bare.upper() == "NULL" and (bare, column.type) != ("null", "json"):  # a lower-case null in JSON is a JSON value
            return None
        if self.sql_form and not _SQL_BARE.fullmatch(bare):
            raise self.unexpected()
        return self.scalar(bare, column.type)

    def list_value(self, column: Column) -> list[Any]:
        """Parse `[value, …]`."""
        self.expect("[")
        items: list[Any] = []
        while not self.accept("]"):
            if items:
                self.expect(",")
            items.append(self.value(column.children[0], ",]"))
        return items

    def struct_value(self, column: Column) -> dict[str, Any]:
        """Parse `{name: value, …}`; a field that is missing is NULL."""
        fields = {fold(child.name): child for child in column.children}
        found: dict[str, Any] = {child.name: None for child in column.children}
        first = True
        self.expect("{")
        while not self.accept("}"):
            if not first:
                self.expect(",")
            first = False
            self.skip_blanks()
            name = self.quoted() if self.text.startswith(("'", '"'), self.position) else self.bare(":")
            self.expect(":")
            child = fields.get(fold(name))
            if child is None:
                raise ValueError(f"no field {name}")
            found[child.name] = self.value(child, ",}")
        return found

    def map_value(self, column: Column) -> list[tuple[Any, Any]]:
        """Parse `{key=value, …}`."""
        key, value = column.children
        pairs: list[tuple[Any, Any]] = []
        self.expect("{")
        while not self.accept("}"):
            if pairs:
                self.expect(",")
            name = self.value(key, "=")
            self.expect("=")
            pairs.append((name, self.value(value, ",}")))
        return pairs

    def cast(self, column: Column) -> Any:
        """Parse `CAST('text' AS type)`."""
        self.position += len("CAST(")
        self.skip_blanks()
        text = self.quoted()
        end = _CAST_END.match(self.text, self.position)
        if end is None:
            raise self.unexpected()
        self.position = end.end()
        return self.scalar(text, column.type)

    def quoted(self) -> str:
        """Parse a string in quotes, and return it without them and without escapes."""
        quote = self.text[self.position]
        self.position += 1
        parts: list[str] = []
        while self.position < len(self.text):
            character = self.text[self.position]
            self.position += 1
            if character == "\\" and not self.sql_form:
                parts.append(self.text[self.position : self.position + 1])
                self.position += 1
            elif character != quote:
                parts.append(character)
            elif self.sql_form and self.text.startswith(quote, self.position):
                parts.append(quote)
                self.position += 1
            else:
                return "".join(parts)
        raise self.unexpected()

    def bare(self, ends: str) -> str:
        """Parse a value without quotes, up to one of `ends` that is outside brackets and quotes."""
        start, depth, quote = self.position, 0, ""
        while self.position < len(self.text):
            character = self.text[self.position]
            if quote:
                quote = "" if character == quote else quote
                self.position += character == "\\"  # only JSON contains quotes in bare text
            elif depth == 0 and character in ends:
                break
            elif character == '"':
                quote = character
            elif character in "[{(":
                depth += 1
            elif character in "]})":
                depth -= 1
            self.position += 1
        return self.text[start : self.position].strip(_BLANKS)

    def null(self, ends: str) -> bool:
        """Parse NULL without quotes if it is next; return whether it was."""
        following = self.text[self.position + 4 : self.position + 5]
        if self.text[self.position : self.position + 4].upper() == "NULL" and (not following or following in ends + _BLANKS):
            self.position += 4
            return True
        return False

    def accept(self, character: str) -> bool:
        """Parse white space, and a character if it is next; return whether it was."""
        self.skip_blanks()
        if self.text.startswith(character, self.position):
            self.position += 1
            return True
        return False

    def expect(self, character: str) -> None:
        """Parse white space and a character."""
        if not self.accept(character):
            raise self.unexpected()

    def skip_blanks(self) -> None:
        """Move past white space."""
        while self.position < len(self.text) and self.text[self.position] in _BLANKS:
            self.position += 1

    def unexpected(self) -> ValueError:
        """Return the error for the text at the current position."""
        return ValueError(f"unexpected text at {self.position}: {self.text[self.position : self.position + 20]!r}")
