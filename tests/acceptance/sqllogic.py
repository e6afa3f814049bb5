"""Plays the sqllogictest files of DuckDB's extensions, to make the lakes that they make. Expected results are not compared."""

from __future__ import annotations

import gzip
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FACTS = ("require", "require-env", "test-env", "unzip", "mode", "set", "load", "halt")
LOOPS = ("loop", "foreach", "concurrentloop", "concurrentforeach")
INTERNAL_NAMES = re.compile(r"\$\{(\w+)\}|\{(UUID|TEST_DIR|DATA_DIR)\}|__TEST_DIR__|__WORKING_DIRECTORY__")


@dataclass(frozen=True)
class Command:
    """One record of a file: its words, such as `("statement", "ok", "con1")`, and the lines that follow up to an empty line or `----`."""

    words: tuple[str, ...]
    text: str = ""


def commands(text: str) -> list[Command]:
    """Return the records of a file. Lines of comments are left out."""
    records = []
    for block in re.split(r"\n\s*\n", re.sub(r"(?m)^#.*\n?", "", text + "\n")):
        lines = block.strip("\n").split("\n")
        while lines and lines[0].split(maxsplit=1)[:1] and lines[0].split()[0] not in ("statement", "query"):
            records.append(Command(tuple(lines.pop(0).split())))
        if lines and lines[0].strip():
            end = lines.index("----") if "----" in lines else len(lines)
            records.append(Command(tuple(lines[0].split()), "\n".join(lines[1:end])))
    return records


@dataclass(frozen=True)
class Statement:
    """A statement to run on the connection of that name; the empty name is the first connection."""

    connection: str
    text: str


class Script:
    """A file whose loops are unrolled and whose names are replaced.

    Args:
        folder: Folder for files, which replaces `__TEST_DIR__`.
        given: Values that replace those of `test-env`.
    """

    def __init__(self, file: Path, folder: Path, given: Mapping[str, str]) -> None:
        self.folder, self.given = folder, given
        self.names: dict[str, str] = dict(given)
        self.records = commands(file.read_text(encoding="utf-8"))
        self.required = {record.words[1] for record in self.records if record.words[0] == "require"}
        self.needs_environment = any(record.words[0] == "require-env" for record in self.records)

    def statements(self) -> Iterator[Statement]:
        """Yield the statements in order. Files of `unzip` are written when their turn comes."""
        yield from self._unrolled(self.records)

    def _unrolled(self, records: list[Command]) -> Iterator[Statement]:
        index, skipped = 0, False
        while index < len(records):
            record = records[index]
            index += 1
            match record.words[0]:
                case "mode":
                    skipped = record.words[1] == "skip"
                case "test-env" if record.words[1] not in self.given:
                    self.names[record.words[1]] = self._replaced(record.words[2])
                case "unzip":
                    self._unzip(*map(self._replaced, record.words[1:3]))
                case kind if kind in LOOPS:
                    length = _to_end(records[index:])
                    for value in _values(record):
                        self.names[record.words[1]] = value
                        yield from self._unrolled(records[index : index + length])
                    index += length + 1
                case "skipif" if self._is_true(record.words[1]):
                    index += 1
                case "statement" | "query" if not skipped:
                    yield Statement(
                        record.words[2] if len(record.words) > 2 and record.words[0] == "statement" else "", self._replaced(record.text)
                    )

    def _is_true(self, condition: str) -> bool:
        match = re.fullmatch(r"(\w+)([=<>])(\w+)", condition)
        if match is None or match[1] not in self.names:
            return False
        value = self.names[match[1]]
        if match[2] == "=":
            return value == match[3]
        return int(value) < int(match[3]) if match[2] == "<" else int(value) > int(match[3])

    def _replaced(self, text: str) -> str:
        def value(match: re.Match[str]) -> str:
            if match[2] == "UUID":
                return uuid.uuid4().hex
            if match[1]:
                return self.names.get(match[1], match[0])
            return str(self.folder)

        return INTERNAL_NAMES.sub(value, text)

    @staticmethod
    def _unzip(source: str, target: str) -> None:
        Path(target).write_bytes(gzip.decompress(Path(source).read_bytes()))


def _to_end(records: list[Command]) -> int:
    """Return the number of records before the `endloop` that ends the loop whose body begins here."""
    depth = 1
    for number, record in enumerate(records):
        depth += (record.words[0] in LOOPS) - (record.words[0] == "endloop")
        if depth == 0:
            return number
    raise ValueError("a loop without its end")


def _values(loop: Command) -> list[str]:
    if loop.words[0].endswith("foreach"):
        return list(loop.words[2:])
    return [str(number) for number in range(int(loop.words[2]), int(loop.words[3]))]
