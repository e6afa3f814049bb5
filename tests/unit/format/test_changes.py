"""Logged changes: reading and writing `changes_made`."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.format.changes import Change, Kind, format_changes, parse_changes, parse_entries

TEXTS = [
    'created_schema:"main"',
    'created_table:"main"."t"',
    'created_table:"a,b"."c:d ""e"".f"',
    "dropped_schema:3,dropped_table:1,dropped_view:2",
    'dropped_table:1,created_table:"main"."t",inserted_into_table:4',
    "inserted_into_table:1,deleted_from_table:1,altered_table:2,altered_view:3",
    "inlined_insert:1,inlined_delete:1,inline_flush:2",
    'created_scalar_macro:"main"."f",dropped_table_macro:7',
]


@pytest.mark.parametrize("text", TEXTS)
def test_texts_of_duckdb_are_unchanged_by_a_round_trip(text: str) -> None:
    assert format_changes(parse_changes(text)) == text


@pytest.mark.parametrize("text", ["deleted_from_table:1", "merge_adjacent:1", "rewrite_delete:1", "deleted_from_table:1,inline_flush:1"])
def test_deletes_and_compactions_are_guarded(text: str) -> None:
    guarded = format_changes(parse_changes(text))
    assert guarded == f"{text},inserted_into_table:1"
    assert parse_changes(guarded) == parse_changes(text)
    assert parse_entries(guarded) == (*parse_changes(text), Change(Kind.INSERTED_INTO_TABLE, 1))


def test_only_tables_without_an_insert_are_guarded() -> None:
    text = "inserted_into_table:1,deleted_from_table:1,deleted_from_table:2"
    assert format_changes(parse_changes(text)) == f"{text},inserted_into_table:2"
    assert parse_changes(f"{text},inserted_into_table:2,inserted_into_table:3")[3:] == (Change(Kind.INSERTED_INTO_TABLE, 3),)


def test_names_with_quotes_commas_and_dots_are_one_entry() -> None:
    assert parse_changes('created_table:"a,b"."c:d ""e"".f"') == (Change(Kind.CREATED_TABLE, schema="a,b", name='c:d "e".f'),)


def test_no_changes_are_null() -> None:
    assert parse_changes(None) == ()
    assert format_changes([]) is None


def test_kinds_are_read_in_any_case_and_by_their_older_names() -> None:
    assert parse_changes("Inserted_Into_Table:1") == (Change(Kind.INSERTED_INTO_TABLE, 1),)
    assert parse_changes("flushed_inlined:1") == (Change(Kind.INLINE_FLUSH, 1),)
    assert parse_changes("compacted_table:1")[0].kind is Kind.REWRITE_DELETE


@pytest.mark.parametrize("entry", ["teleported_table:1", "inserted_into_table:²"])
def test_unknown_kinds_are_read_and_never_written(entry: str) -> None:
    unknown = parse_changes(entry)
    assert unknown[0].kind is Kind.UNKNOWN
    with pytest.raises(ValueError, match="unknown kind"):
        format_changes(unknown)


def test_entries_are_written_once_and_in_duckdbs_order() -> None:
    changes = [Change(Kind.ALTERED_TABLE, 1), Change(Kind.INSERTED_INTO_TABLE, 1), Change(Kind.INSERTED_INTO_TABLE, 1)]
    assert format_changes(changes) == "inserted_into_table:1,altered_table:1"
