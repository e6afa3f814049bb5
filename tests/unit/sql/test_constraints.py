"""Constraints in CREATE TABLE, and how column changes affect them."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import StatementError
from dbt.adapters.ducklake.format.constraints import (
    CONSTRAINTS_TAG,
    Constraint,
    constraints_of,
    named,
    with_constraints,
    with_renamed_column,
    without_column,
)
from dbt.adapters.ducklake.sql.parse import parse
from dbt.adapters.ducklake.sql.values import CreateTable

A = ("a",)


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("a int primary key", Constraint("PRIMARY KEY", columns=A)),
        ("a int not null unique", Constraint("UNIQUE", columns=A)),
        ("a int check ((a > 0)) not null", Constraint("CHECK", expression="(a > 0)")),
        ("a int constraint c check (a in (1, 2))", Constraint("CHECK", "c", expression="a in (1, 2)")),
        ("a int references `lake`.s.u (b) not enforced", Constraint("FOREIGN KEY", columns=A, references="lake.s.u", referenced=("b",))),
        ("a int, primary key (a) not enforced rely", Constraint("PRIMARY KEY", columns=A)),
        ("a int, b int, constraint k unique (a, b)", Constraint("UNIQUE", "k", columns=("a", "b"))),
        ("a int, check (a > 1)", Constraint("CHECK", expression="a > 1")),
        (
            "a int, constraint f foreign key (a) references u on delete cascade",
            Constraint("FOREIGN KEY", "f", columns=A, references="u"),
        ),
    ],
)
def test_constraints_of_create_table_are_parsed(inside: str, expected: Constraint) -> None:
    statement = parse(f"create table t ({inside})")
    assert isinstance(statement, CreateTable)
    assert statement.constraints == (expected,)
    assert statement.columns[0].name == "a"


@pytest.mark.parametrize(
    ("inside", "message"),
    [("a int, primary key ()", "a column was expected"), ("a int constraint c", "PRIMARY KEY, UNIQUE, FOREIGN KEY or CHECK")],
)
def test_an_invalid_constraint_is_a_syntax_error(inside: str, message: str) -> None:
    with pytest.raises(StatementError, match=message):
        parse(f"create table t ({inside})")


def test_columns_can_have_the_names_of_constraints() -> None:
    statement = parse("create table t (check int, unique string, constraint date)")
    assert isinstance(statement, CreateTable)
    assert [column.name for column in statement.columns] == ["check", "unique", "constraint"]
    assert not statement.constraints


def test_each_constraint_gets_a_unique_name() -> None:
    given = [Constraint("PRIMARY KEY", columns=A), Constraint("CHECK", expression="a > 0"), Constraint("CHECK", expression="a > 1")]
    given += [Constraint("UNIQUE", columns=("a", "b")), Constraint("FOREIGN KEY", "t_check", columns=A, references="u")]
    assert [each.name for each in named(given, "t")] == ["t_pkey", "t_check", "t_check1", "t_a_b_key", "t_check2"]


def test_constraints_are_stored_in_a_tag_and_follow_the_columns() -> None:
    given = named([Constraint("UNIQUE", columns=("a", "b")), Constraint("CHECK", expression="`c` > 0")], "t")
    tags = with_constraints({"comment": "x"}, given)
    assert constraints_of(tags) == given
    assert constraints_of(with_renamed_column(tags, "A", "z"))[0].columns == ("z", "b")
    assert [each.kind for each in constraints_of(without_column(tags, "b"))] == ["CHECK"]
    assert with_constraints(tags, ()) == {"comment": "x"}
    with pytest.raises(ValueError, match=r"t_check, CHECK \(`c` > 0\)"):
        without_column(tags, "c")
    assert constraints_of({}) == ()
    assert CONSTRAINTS_TAG.startswith("dbt_ducklake.")
