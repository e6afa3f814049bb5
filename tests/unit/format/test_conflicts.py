"""The conflict matrix: at least as strict as DuckDB's, without its gaps."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.format.changes import Change, Kind
from dbt.adapters.ducklake.format.conflicts import MOVES, Act, Action, Conflict, Renamed, conflicts, find_conflicts

ON_TABLE = {
    "dropped": Kind.DROPPED_TABLE,
    "altered": Kind.ALTERED_TABLE,
    "inserted": Kind.INSERTED_INTO_TABLE,
    "inlined_insert": Kind.INLINED_INSERT,
    "deleted": Kind.DELETED_FROM_TABLE,
    "inlined_delete": Kind.INLINED_DELETE,
    "flush": Kind.INLINE_FLUSH,
    "merge": Kind.MERGE_ADJACENT,
    "rewrite": Kind.REWRITE_DELETE,
}
REFERENCE = {  # without the conflicts of a compaction with deletes and other compactions: its commit compares each file
    Act.DROP_TABLE: {"dropped"},
    Act.INSERT: {"dropped", "altered", "deleted", "inlined_delete"},
    Act.DELETE: {"dropped", "altered", "merge", "rewrite", "inserted", "inlined_insert"},
    Act.DELETE_INLINED: {"dropped", "altered", "inlined_delete", "flush", "inserted", "inlined_insert"},
    Act.FLUSH: {"dropped", "inlined_delete", "flush"},
    Act.COMPACT: {"dropped"},
    Act.ALTER_TABLE: {"dropped", "altered"},
}
STRICTER = {
    Act.ALTER_TABLE: {"inserted", "inlined_insert", "deleted", "inlined_delete", "flush"},
    Act.FLUSH: {"altered"},
    Act.DROP_TABLE: {"inserted", "inlined_insert", "deleted", "inlined_delete", "altered"},
    Act.RENAME_TABLE: {"dropped", "altered"},
    Act.DELETE: {"inlined_delete"},
    Act.DELETE_INLINED: {"merge", "rewrite", "deleted"},
    Act.DEPEND_ON_ROWS: {"inserted", "inlined_insert", "deleted", "inlined_delete"},
    Act.DELETE_ALL: {"inserted", "inlined_insert", "deleted", "inlined_delete", "merge", "rewrite", "flush"},
    Act.ROLL_BACK: {"inserted", "inlined_insert", "deleted", "inlined_delete", "merge", "rewrite", "flush", "dropped", "altered"},
}


@pytest.mark.parametrize("matrix", [REFERENCE, STRICTER], ids=["reference", "stricter"])
def test_every_conflict_of_the_matrix_is_found(matrix: dict[Act, set[str]]) -> None:
    for act, others in matrix.items():
        for other in others:
            assert conflicts(Action(act, 7), Change(ON_TABLE[other], 7)), (act, other)
            assert not conflicts(Action(act, 7), Change(ON_TABLE[other], 8)), (act, other)


@pytest.mark.parametrize(
    ("mine", "others"),
    [
        (Act.INSERT, {"inserted", "inlined_insert", "merge", "rewrite", "flush"}),
        (Act.DELETE, {"deleted"}),
        (Act.RENAME_TABLE, {"inserted", "inlined_insert", "deleted", "inlined_delete", "flush", "merge", "rewrite"}),
        (Act.DEPEND_ON_ROWS, {"flush", "merge", "rewrite"}),
        (Act.ALTER_TABLE, {"merge", "rewrite"}),
        (Act.FLUSH, {"inserted", "inlined_insert"}),
        (Act.COMPACT, set(ON_TABLE) - {"dropped"}),  # the commit compares the files
    ],
)
def test_compatible_changes(mine: Act, others: set[str]) -> None:
    for other in others:
        assert not conflicts(Action(mine, 7), Change(ON_TABLE[other], 7)), (mine, other)


def test_names_are_compared_without_case() -> None:
    theirs = Change(Kind.CREATED_VIEW, schema="Main", name="T")
    assert conflicts(Action(Act.CREATE, 0, "main", "t"), theirs)
    assert conflicts(Action(Act.RENAME_TABLE, 5, "main", "t"), theirs)
    assert not conflicts(Action(Act.CREATE, 0, "main", "u"), theirs)
    assert conflicts(Action(Act.CREATE_SCHEMA, None, "x"), Change(Kind.CREATED_SCHEMA, schema="X"))


def test_a_schema_with_concurrent_new_tables_is_not_dropped() -> None:
    assert conflicts(Action(Act.DROP_SCHEMA, 3, "s"), Change(Kind.CREATED_TABLE, schema="S", name="t"))
    assert conflicts(Action(Act.DROP_SCHEMA, 3, "s"), Change(Kind.DROPPED_SCHEMA, 3))
    assert conflicts(Action(Act.CREATE, 3, "s", "t"), Change(Kind.DROPPED_SCHEMA, 3))
    assert not conflicts(Action(Act.CREATE, 3, "s", "t"), Change(Kind.DROPPED_SCHEMA, 4))


@pytest.mark.parametrize("act", [Act.ALTER_VIEW, Act.DROP_VIEW, Act.RENAME_VIEW])
def test_views_that_were_dropped_or_altered(act: Act) -> None:
    assert conflicts(Action(act, 9), Change(Kind.DROPPED_VIEW, 9))
    assert conflicts(Action(act, 9), Change(Kind.ALTERED_VIEW, 9))


@pytest.mark.parametrize("act", [Act.DROP_TABLE, Act.ALTER_TABLE, Act.RENAME_TABLE, Act.RENAME_VIEW, Act.ALTER_VIEW])
def test_relations_that_were_renamed_concurrently(act: Act) -> None:
    assert conflicts(Action(act, 9, "s", "t"), Renamed(9))
    assert not conflicts(Action(Act.INSERT, 9, "s", "t"), Renamed(9))


def test_a_rollback_of_the_lake_conflicts_with_every_change_but_maintenance() -> None:
    mine = Action(Act.ROLL_BACK_ALL)
    for kind in Kind:
        assert conflicts(mine, Change(kind, 7, "s", "t")) is (kind not in MOVES), kind


def test_a_rollback_of_a_schema_conflicts_with_the_changes_in_it() -> None:
    schema, mine = Action(Act.ROLL_BACK_ALL, 3, "s"), Action(Act.ROLL_BACK_ALL, 7, "s", "t")
    assert conflicts(schema, Change(Kind.CREATED_VIEW, schema="S", name="new"))
    assert conflicts(schema, Change(Kind.CREATED_TABLE_MACRO, schema="s", name="new"))
    assert conflicts(schema, Change(Kind.DROPPED_SCHEMA, 3))
    assert conflicts(mine, Change(Kind.ALTERED_VIEW, 7))
    assert not conflicts(schema, Change(Kind.CREATED_VIEW, schema="other", name="t"))
    assert not conflicts(mine, Change(Kind.CREATED_VIEW, schema="other", name="t"))
    assert not conflicts(mine, Change(Kind.ALTERED_VIEW, 8))
    assert not conflicts(mine, Change(Kind.MERGE_ADJACENT, 7))
    (found,) = find_conflicts([Action(Act.ROLL_BACK_ALL)], [("snapshot 5", Change(Kind.CREATED_TABLE, schema="s", name="t"))])
    assert found.describe() == "cannot roll back the lake: snapshot 5 created a table in it"
    (found,) = find_conflicts([Action(Act.ROLL_BACK_ALL)], [("snapshot 5", Change(Kind.DROPPED_TABLE, 7))])
    assert found.describe() == "cannot roll back the lake: snapshot 5 changed or dropped something in it"


def test_a_creation_in_a_schema_that_is_rolled_back_is_listed_once() -> None:
    mine = [Action(Act.ROLL_BACK_ALL, 3, "s"), Action(Act.ROLL_BACK_ALL, 7, "s", "t"), Action(Act.ROLL_BACK_ALL, 8, "s", "u")]
    (found,) = find_conflicts(mine, [("snapshot 5", Change(Kind.CREATED_TABLE, schema="s", name="new"))])
    assert found.describe() == "cannot roll back s: snapshot 5 created a table in it"


@pytest.mark.parametrize(
    ("mine", "kind", "sentence"),
    [
        (Action(Act.CREATE, 3, "s", "t"), Kind.DROPPED_SCHEMA, "cannot create s.t: another dropped its schema"),
        (Action(Act.DROP_SCHEMA, 3, "s"), Kind.DROPPED_SCHEMA, "cannot drop schema s: another dropped it"),
        (Action(Act.DROP_MACRO, 3, "s", "m"), Kind.DROPPED_TABLE_MACRO, "cannot drop macro s.m: another dropped it"),
    ],
)
def test_a_concurrent_drop_is_described_from_the_side_of_this_action(mine: Action, kind: Kind, sentence: str) -> None:
    (found,) = find_conflicts([mine], [("another", Change(kind, 3))])
    assert found.describe() == sentence


def test_a_change_of_unknown_kind_conflicts_with_everything() -> None:
    assert conflicts(Action(Act.CREATE_SCHEMA, None, "x"), Change(Kind.UNKNOWN))


def test_the_first_conflict_of_each_object_is_described() -> None:
    found = find_conflicts(
        [Action(Act.INSERT, 7, "main", "orders"), Action(Act.DELETE_ALL, 8, "main", "items")],
        [
            ("snapshot 4", Change(Kind.INSERTED_INTO_TABLE, 7)),
            ("snapshot 5 by me", Change(Kind.ALTERED_TABLE, 7)),
            ("snapshot 6", Change(Kind.DROPPED_TABLE, 7)),
            (None, Change(Kind.INSERTED_INTO_TABLE, 8)),
        ],
    )
    assert [each.describe() for each in found] == [
        "cannot insert into main.orders: snapshot 5 by me altered it",
        "cannot replace all rows of main.items: a concurrent transaction inserted rows into it",
    ]
    assert find_conflicts([], [("snapshot 4", Change(Kind.DROPPED_TABLE, 7))]) == []


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_has_a_description(kind: Kind) -> None:
    assert Conflict(Action(Act.INSERT, 1), Change(kind, 1), "snapshot 2").describe()
