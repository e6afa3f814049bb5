"""The history of a table as SQL shows it, with snapshots of this package and of DuckDB, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.errors import NotFoundError, StatementError
from dbt.adapters.ducklake.session import LakeSession, connect
from tests.duckdb_instances import open_duckdb

COLUMNS = [("a", "int")]
EXTRA = {"node_id": "model.shop.orders", "invocation_id": "1f", "dbt_version": "1.11", "dbt_ducklake_version": "0.1", "n": 1}


@pytest.fixture
def session(tmp_path: Path) -> Iterator[LakeSession]:
    with connect(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/") as opened:
        opened.set_commit_message("me", "dbt run", json.dumps(EXTRA))
        opened.load_seed("main", "orders", COLUMNS, [(number,) for number in range(100)])
        with open_duckdb("ducklake", "sqlite_scanner") as duck:
            duck.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.sqlite' AS lake")
            duck.execute("INSERT INTO lake.orders SELECT range::INT FROM range(1000)")
            duck.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
            duck.execute("DELETE FROM lake.orders WHERE a < 10")
            duck.execute("DELETE FROM lake.orders WHERE a BETWEEN 20 AND 40")
            duck.execute("CREATE VIEW lake.recent AS SELECT a FROM lake.orders")
        yield opened
        assert not opened.runtime.started


def answer(session: LakeSession, text: str) -> list[dict[str, Any]]:
    result = session.execute(text)
    return [dict(zip((column.name for column in result.columns), row, strict=True)) for row in result.fetch()]


def test_history_names_who_what_and_how_much(session: LakeSession) -> None:
    rows = answer(session, "CALL history('orders')")
    shown = [(row["author"], row["node_id"], row["changes"], row["rows_inserted"], row["rows_deleted"]) for row in rows]
    assert shown == [
        (None, None, ["delete"], 0, None),  # the deletes of both are in the same delete files
        (None, None, ["delete"], 0, None),
        (None, None, ["insert"], 1000, 0),
        ("me", "model.shop.orders", ["create", "insert"], 100, 0),
    ]
    assert rows[-1]["invocation_id"] == "1f"
    assert rows[-1]["commit_message"] == "dbt run"
    assert answer(session, "CALL lake.history('orders', limit => 2)") == rows[:2]
    assert answer(session, "CALL ducklake_history('lake', 'orders', limit => 0)") == []


def test_describe_history_has_deltas_columns(session: LakeSession) -> None:
    newest, *_, oldest = answer(session, "DESCRIBE HISTORY orders")
    assert (oldest["userName"], oldest["operation"], oldest["userMetadata"]) == ("me", "CREATE, INSERT", "dbt run")
    assert oldest["engineInfo"] == "dbt-ducklake/0.1 dbt/1.11"
    assert oldest["operationParameters"] == {key: str(value) for key, value in EXTRA.items()}
    assert oldest["operationMetrics"]["numOutputRows"] == "100"
    assert "numDeletedRows" not in newest["operationMetrics"]
    assert [row["version"] for row in answer(session, "DESCRIBE HISTORY lake.main.orders LIMIT 1")] == [newest["version"]]


def test_describe_detail_has_the_committed_figures(session: LakeSession) -> None:
    session.execute("ALTER TABLE orders SET TBLPROPERTIES (owner = 'me', parquet_compression = 'zstd')")
    (detail,) = answer(session, "DESCRIBE DETAIL orders")
    assert (detail["name"], detail["numRows"], detail["numFiles"], detail["numDeleteFiles"]) == ("lake.main.orders", 1038, 2, 2)
    assert detail["properties"] == {"owner": "me", "parquet_compression": "zstd"}
    assert detail["createdAt"] < detail["lastModified"]


def test_a_table_that_is_not_committed_has_details_and_no_history(session: LakeSession) -> None:
    session.begin()
    session.load_seed("main", "new", COLUMNS, [(1,)])
    assert answer(session, "DESCRIBE HISTORY new") == []
    (detail,) = answer(session, "DESCRIBE DETAIL new")
    assert (detail["createdAt"], detail["numRows"]) == (None, 0)


def test_properties_and_options_of_a_table_are_shown(session: LakeSession) -> None:
    session.execute("ALTER TABLE orders SET TBLPROPERTIES (owner = 'me', parquet_compression = 'zstd', comment = 'not shown')")
    assert answer(session, "SHOW TBLPROPERTIES orders") == [
        {"key": "owner", "value": "me"},
        {"key": "parquet_compression", "value": "zstd"},
    ]
    assert answer(session, "SHOW TBLPROPERTIES orders ('owner')") == [{"key": "owner", "value": "me"}]
    (missing,) = answer(session, "SHOW TBLPROPERTIES orders (a.b)")
    assert missing["value"] == "Table lake.main.orders does not have property: a.b"
    assert answer(session, "SHOW TBLPROPERTIES recent") == []


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("DESCRIBE HISTORY nothing", NotFoundError, "nothing"),
        ("SHOW TBLPROPERTIES nothing", NotFoundError, "nothing"),
        ("DESCRIBE HISTORY recent", StatementError, "main.recent is a view, and only tables have history"),
        ("DESCRIBE DETAIL recent", StatementError, "only tables have"),
        ("CALL history('recent')", StatementError, "only tables have"),
        ("CALL history('orders', limit => -1)", StatementError, "0 or more, not -1"),
    ],
)
def test_errors_say_what_is_wrong(session: LakeSession, text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        session.execute(text)
