"""Texts with several statements."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.sql.scripts import controls_transaction, split


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select 1", ["select 1"]),
        ("select 1;", ["select 1"]),
        (" select 1 ; ; select 2 ", ["select 1", "select 2"]),
        ("select ';' ; select \"a;b\" ; select `c;d`", ["select ';'", 'select "a;b"', "select `c;d`"]),
        ("select 'it\\'s;' ; select 'it''s;'", ["select 'it\\'s;'", "select 'it''s;'"]),
        ("select r'\\' ; select 2", ["select r'\\'", "select 2"]),
        ("-- a ; b\nselect 1 -- c ; d\n; /* ; /* ; */ ; */ select 2", ["-- a ; b\nselect 1 -- c ; d", "/* ; /* ; */ ; */ select 2"]),
        ("/* only */ -- comments\n;", []),
        ("", []),
        ("begin; insert into t values (1); commit", ["begin", "insert into t values (1)", "commit"]),
        ("begin transaction; select 1", ["begin transaction", "select 1"]),
        ("begin declare x int; set x = 1; end", ["begin declare x int; set x = 1; end"]),
        ("set x = don't", ["set x = don't"]),
        ("/* q */ BEGIN\n select 1; END;", ["/* q */ BEGIN\n select 1; END;"]),
    ],
)
def test_a_text_is_split_at_its_semicolons(text: str, expected: list[str]) -> None:
    assert split(text) == expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("/* x */ BEGIN", True),
        ("commit", True),
        ("rollback", True),
        ("start transaction", True),
        ("begin select 1; end", False),
        ("select 'begin'", False),
    ],
)
def test_transaction_statements_are_recognized(statement: str, expected: bool) -> None:
    assert controls_transaction(statement) is expected


def test_comments_stay_with_their_statements() -> None:
    text = "select ';' -- a; b\n; /* ; */ insert into t select 1;;\n set x = `;`;\n-- end;"
    assert split(text) == ["select ';' -- a; b", "/* ; */ insert into t select 1", "set x = `;`"]


def test_a_script_is_not_split() -> None:
    assert split("begin select 1; select 2; end") == ["begin select 1; select 2; end"]
    assert split("begin; select 1; commit") == ["begin", "select 1", "commit"]
