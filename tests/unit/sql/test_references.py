"""Relation names are found in any text, with CTE scopes, and nothing else is found: the cases are in references.sql."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbt.adapters.ducklake.errors import StatementError
from dbt.adapters.ducklake.sql.references import references
from dbt.adapters.ducklake.sql.tokens import SKIPPED
from dbt.adapters.ducklake.sql.values import Name, Reference, Sql, TimeTravel

MARKS = {"«": ("»", "alias"), "‹": ("›", "plain"), "⟪": ("⟫", "enclosed"), "⟨": ("⟩", "qualifier")}
"""Opening mark → (closing mark, kind of name); the head of references.sql explains the kinds."""
ANY_MARK = re.compile("[«»‹›⟪⟫⟨⟩]")


def cases() -> list[tuple[str, str]]:
    blocks = re.split(r"^--- (.*)\n", (Path(__file__).parent / "references.sql").read_text(), flags=re.MULTILINE)[1:]
    return [(name, text.rstrip("\n")) for name, text in zip(blocks[::2], blocks[1::2], strict=True)]


EACH_CASE = pytest.mark.parametrize("expected", [pytest.param(text, id=name) for name, text in cases()])


def marked(sql: Sql) -> str:
    """Return the text with marks around the names that were found."""
    edits = [(r.start, r.end, "plain" if r.aliased else "enclosed" if r.enclosed else "alias") for r in sql.references] + [
        (q.start, q.end, "qualifier") for q in sql.qualifiers
    ]
    opening = {kind: (mark, close) for mark, (close, kind) in MARKS.items()}
    text = sql.text
    for start, end, kind in sorted(edits, reverse=True):
        mark, close = opening[kind]
        text = text[:start] + mark + text[start:end] + close + text[end:]
    return text


@EACH_CASE
def test_names_are_found_at_their_positions(expected: str) -> None:
    text = ANY_MARK.sub("", expected)
    assert marked(references(text)) == expected


@EACH_CASE
def test_positions_are_correct_with_windows_line_ends_and_prefixes(expected: str) -> None:
    expected = "\r\n-- ünïcode 😀 from x\r\n" + expected.replace("\n", "\r\n")
    assert marked(references(ANY_MARK.sub("", expected))) == expected


@pytest.mark.parametrize(
    ("comment", "names"),
    [
        ("-- a\n", ["t"]),
        ("-- a\r", ["t"]),
        ("-- D:\\a\\\r\n", ["t"]),
        ("-- D:\\a\n", ["t"]),
        ("-- D:\\a\\\n", []),
        ("-- D:\\a\\\n b\n", ["t"]),
        ("-- a\\", []),
    ],
)
def test_a_comment_ends_where_it_ends_in_spark(comment: str, names: list[str]) -> None:
    assert [str(each.name) for each in references(f"select 1 {comment}from t\n").references] == names
    assert (re.fullmatch(f"{SKIPPED}from t", f"{comment}from t") is not None) == bool(names)


def test_names_are_unquoted() -> None:
    found = references("select * from `a b`.`c``d`.E").references
    assert [reference.name for reference in found] == [Name(("a b", "c`d", "E"))]


@pytest.mark.parametrize(
    ("clause", "at"),
    [
        ("version as of 3", TimeTravel(version=3)),
        ("for version as of '17'", TimeTravel(version=17)),
        ("FOR SYSTEM_VERSION AS OF 4", TimeTravel(version=4)),
        ("at (version => 5)", TimeTravel(version=5)),
        ("timestamp as of '2026-01-01'", TimeTravel(timestamp="'2026-01-01'")),
        ("for timestamp as of timestamp '2026-01-01'", TimeTravel(timestamp="timestamp '2026-01-01'")),
        ("FOR SYSTEM_TIME AS OF now()", TimeTravel(timestamp="now()")),
        ("AT (TIMESTAMP => now() - INTERVAL '1 week')", TimeTravel(timestamp="now() - INTERVAL '1 week'")),
        ("timestamp as of (select max(t) from x)", TimeTravel(timestamp="(select max(t) from x)")),
        ("timestamp as of cast('2026-01-01' as timestamp)", TimeTravel(timestamp="cast('2026-01-01' as timestamp)")),
    ],
)
@pytest.mark.parametrize("alias", ["", " x", " as x", ", y", " where z = 1", " join y on true"])
def test_time_travel_ends_before_the_next_clause(clause: str, at: TimeTravel, alias: str) -> None:
    text = f"select * from t {clause}{alias}"
    first = references(text).references[0]
    assert (first.at, text[first.start : first.end]) == (at, f"t {clause}")


@pytest.mark.parametrize("clause", ["version as of 'last'", "at (version => x)", "version as of 1.5", "at (timestamp => )"])
def test_a_version_that_is_not_a_number_is_refused(clause: str) -> None:
    with pytest.raises(StatementError, match="Syntax error in line 1"):
        references(f"select * from t {clause}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("select 1\nfrom 'a", "Syntax error in line 2, near \"'a\": the quote ' is not closed"),
        ("select `a", "Syntax error in line 1, near '`a': the quote ` is not closed"),
        ("select (1", r"Syntax error in line 1, near '\(1': this bracket is not closed"),
        ("select 1)", r"Syntax error in line 1, near '\)': this \) closes nothing"),
        ("select [1)", r"this \) closes nothing"),
        ("select 1 /* a /* b */", "the comment /\\* is not closed"),
    ],
)
def test_the_error_names_the_line_of_an_unclosed_token(text: str, message: str) -> None:
    with pytest.raises(StatementError, match=message):
        references(text)


def test_binding_inserts_replacements_into_the_text() -> None:
    sql = references(
        "with c as (select 1)\nselect s.t.x, ü.y from s.t -- from z\njoin u ü on s.t.i = ü.i join c tablesample (1 rows), v tablesample (1 rows)"
    )

    def resolve(reference: Reference) -> str | None:
        return None if str(reference.name) == "u" else f"`{reference.name}@7`"

    assert "".join(sql.pieces(resolve)) == (
        "with c as (select 1)\nselect `t`.x, ü.y from `s.t@7` AS `t` -- from z\n"
        "join u ü on `t`.i = ü.i join c tablesample (1 rows), (`v@7` AS `v`) tablesample (1 rows)"
    )


def test_binding_keeps_the_users_alias_before_the_time_travel() -> None:
    sql = references("select x.i from s.t as x at (version => 3) where x.i = 1")
    assert "".join(sql.pieces(lambda reference: f"`{reference.name}@3`")) == "select x.i from `s.t@3` AS `x` where x.i = 1"


def test_binding_distinguishes_relations_of_the_same_last_part() -> None:
    sql = references(
        "with c as (select t.i from a.t) select a.t.i, b.t.j, (select max(a.t.k) from x.u where b.t.i = u.i) from a.t join b.t on a.t.i = b.t.i"
    )
    assert "".join(sql.pieces(lambda reference: f"`{reference.name}@1`")) == (
        "with c as (select t.i from `a.t@1` AS `t`) select `a.t`.i, `b.t`.j, (select max(`a.t`.k) from `x.u@1` AS `u` where `b.t`.i = u.i)"
        " from `a.t@1` AS `a.t` join `b.t@1` AS `b.t` on `a.t`.i = `b.t`.i"
    )


def test_binding_gives_a_table_before_a_pipe_an_alias() -> None:
    sql = references("table s.t |> where t.x = s.t.y |> union all (table u)")
    assert "".join(sql.pieces(lambda reference: f"`{reference.name}@1`")) == (
        "FROM `s.t@1` AS `t` |> where t.x = `t`.y |> union all (table `u@1`)"
    )


def test_binding_leaves_unresolved_names_unchanged() -> None:
    text = "select cat.s.t.x from cat.s.t version as of 3"
    assert "".join(references(text).pieces(lambda _: None)) == text
