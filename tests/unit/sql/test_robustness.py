"""For any text, the parser returns a statement or raises a StatementError, and its positions are correct."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from dbt.adapters.ducklake.errors import StatementError
from dbt.adapters.ducklake.sql.parse import parse
from dbt.adapters.ducklake.sql.references import references
from dbt.adapters.ducklake.sql.tokens import tokenize
from tests.unit.sql.test_definitions import ALTER, CREATE, DROP
from tests.unit.sql.test_inspection import NOT_FOR_SPARK, PASSED_THROUGH, QUERIES
from tests.unit.sql.test_references import ANY_MARK, cases
from tests.unit.sql.test_rows import DELETE, INSERT, MERGE, UPDATE

TEXTS = [
    *(text for text, _ in [*CREATE, *DROP, *NOT_FOR_SPARK, *INSERT, *UPDATE, *DELETE, *MERGE]),
    *(f"alter table t {text}" for text, _ in ALTER),
    *QUERIES,
    *PASSED_THROUGH,
    *(ANY_MARK.sub("", text) for _, text in cases()),
]
STRANGE = [
    "(",
    ")",
    "[",
    "]",
    ",",
    ".",
    ";",
    "'",
    "`",
    "*",
    "=>",
    "from",
    "select",
    "with",
    "as",
    "values",
    "when",
    "table",
    "at",
    "-",
    "<",
]


@pytest.mark.parametrize("seed", range(20))
def test_mutilated_statements_never_crash_the_parser(seed: int) -> None:
    chance = random.Random(seed)
    for text in TEXTS:
        words = [token.text for token in tokenize(text)]
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(words)) if words else 0
            match chance.randrange(4):
                case 0:
                    words[place : place + chance.randint(1, 3)] = []
                case 1:
                    words.insert(place, chance.choice(STRANGE))
                case 2:
                    words[place:] = []
                case _:
                    words.insert(place, chance.choice(words) if words else "x")
        try:
            parse(" ".join(words))
        except StatementError:
            continue


@pytest.mark.parametrize("text", TEXTS)
def test_every_reference_is_at_its_reported_position(text: str) -> None:
    sql = references(text)
    for reference in sql.references:
        covered = sql.text[reference.start : reference.end].casefold().replace("``", "`")
        assert all(part.casefold() in covered for part in reference.name.parts)
    spans = sorted((place.start, place.end) for place in (*sql.references, *sql.qualifiers))
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
