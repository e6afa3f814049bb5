"""The arguments of CALL."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import cast

import pytest

from dbt.adapters.ducklake.errors import StatementError
from dbt.adapters.ducklake.run.arguments import (
    Parameter,
    arguments,
    boolean,
    constant,
    identifier,
    integer,
    integers,
    named,
    number,
    parts,
    split_lake,
    strings,
    text,
    timestamp,
)
from dbt.adapters.ducklake.sql.parse import parse
from dbt.adapters.ducklake.sql.values import Call

PARAMETERS = (
    Parameter("key", text, required=True),
    Parameter("many", integers),
    *named(count=integer, dry=boolean, at=timestamp, share=number, any=constant, files=strings, name=parts),
)
EMPTY = dict.fromkeys(("key", "many", "count", "dry", "at", "share", "any", "files", "name"))
NOON = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)


def call(inside: str) -> Call:
    return cast(Call, parse(f"CALL lake.f({inside})"))


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("'a'", {"key": "a"}),
        ("key => 'a', COUNT => 3", {"key": "a", "count": 3}),
        ("key = 'a', count := -3", {"key": "a", "count": -3}),
        ("'a', [1, 2]", {"key": "a", "many": [1, 2]}),
        ("'a', many => array(1)", {"key": "a", "many": [1]}),
        ("7", {"key": "7"}),
        ("null", {"key": None}),
        ("'a', dry => true", {"key": "a", "dry": True}),
        ("'a', dry => 0", {"key": "a", "dry": False}),
        ("'a', dry => 'False'", {"key": "a", "dry": False}),
        ("'a', dry => 'Y'", {"key": "a", "dry": True}),
        ("'a', at => timestamp '2026-01-31 12:00:00'", {"key": "a", "at": NOON.replace(tzinfo=None)}),
        ("'a', at => '2026-01-31T12:00:00Z'", {"key": "a", "at": NOON}),
        ("'a', any => interval '7 days'", {"key": "a", "any": "7 days"}),
        ("'a', any => INTERVAL 7 DAYS", {"key": "a", "any": "7 days"}),
        ("'a', share => 0.5", {"key": "a", "share": 0.5}),
        ("'a', any => 16", {"key": "a", "any": 16}),
        ("'a', files => 'f', name => ['s', 7]", {"key": "a", "files": ["f"], "name": ("s", "7")}),
        ("'a', files => ['f', 'g']", {"key": "a", "files": ["f", "g"]}),
    ],
)
def test_arguments_are_read(inside: str, expected: dict[str, object]) -> None:
    assert arguments(call(inside), PARAMETERS) == EMPTY | expected


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("", "needs key; it takes key, many, count => …"),
        ("'a', 'b', 3", "many must be a list of whole numbers, such as .*, not 'b'"),
        ("'a', [1, 'b']", r"many must be a list of whole numbers, such as .*, not \[1, 'b'\]"),
        ("'a', [1], 3", "check argument 3"),
        ("'a', key => 'b'", "check argument key"),
        ("'a', nope => 1", "check argument nope"),
        ("'a', count => 1.5", "count must be a whole number, not 1.5"),
        ("'a', count => true", "count must be a whole number"),
        ("'a', dry => 2", "dry must be TRUE or FALSE"),
        ("'a', at => 'soon'", "at must be a timestamp"),
        ("'a', share => 'half'", "share must be a number"),
        ("true", "key must be a string"),
        ("'a', files => [true]", r"files must be a string or a list of strings, not \[True\]"),
        ("'a', files => true", "files must be a string or a list of strings, not True"),
        ("'a', name => ['s', null]", r"name must be the parts of a name as a list, such as .*, not \['s', None\]"),
    ],
)
def test_wrong_arguments_are_refused(inside: str, message: str) -> None:
    with pytest.raises(StatementError, match=message):
        arguments(call(inside), PARAMETERS)


def test_functions_of_the_extension_take_the_lake_first() -> None:
    assert split_lake(call("'LAKE', 'a'"), ["lake", "other"]) == ("LAKE", call("'a'"))
    for inside in ("", "'another'", "key => 'lake'"):
        with pytest.raises(StatementError, match="the first argument must be the lake's name, 'lake'"):
            split_lake(call(inside), ["lake"])


def test_a_table_and_a_schema_have_one_name_and_the_others_are_understood() -> None:
    table = Parameter("table_name", text, required=True)

    assert arguments(call("table => 't', schema_name => 's'"), (table, Parameter("schema", text))) == {"table_name": "t", "schema": "s"}
    assert arguments(call("schema => 's', table_name => 't'"), (table, Parameter("schema_name", text))) == {
        "table_name": "t",
        "schema_name": "s",
    }
    with pytest.raises(StatementError, match="check argument table"):
        arguments(call("'t', table => 't'"), (table,))


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(StatementError, match="a name that is not empty"):
        arguments(call("table_name => ''"), (Parameter("table_name", identifier),))
    assert arguments(call("table_name => NULL"), (Parameter("table_name", identifier),)) == {"table_name": None}
