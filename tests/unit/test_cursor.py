"""The DB-API cursor on a fake session that only records its calls."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.ducklake.connections import DuckLakeResponse
from dbt.adapters.ducklake.cursor import CommitOutcome, LakeHandle
from dbt.adapters.ducklake.errors import CancelledError
from dbt.adapters.ducklake.lake.context import RowCounts
from dbt.adapters.ducklake.plan.bound import FilesRead, TableAt
from dbt.adapters.ducklake.provenance import Provenance
from dbt.adapters.ducklake.run.result import FilesWritten, Result

ROWS = [(1, "a"), (2, "b"), (3, "c")]


@dataclass
class FakeResult:
    columns: tuple[SimpleNamespace, ...] = (SimpleNamespace(name="id", type="int"), SimpleNamespace(name="name", type="string"))
    rowcount: int = -1
    files: tuple[FilesRead, ...] = (FilesRead(TableAt("lake", "main", "t", 6), 2, 3, 100),)
    limits: list[int | None] = field(default_factory=list)
    frame: str | None = None
    log: list[str] = field(default_factory=list)

    def run(self) -> None:
        if self.frame is not None:
            self.log.append(f"run {self.frame}")
            if "raise_error" in self.frame:
                raise ValueError(self.frame)

    def fetch(self, limit: int | None) -> list[tuple[Any, ...]]:
        self.limits.append(limit)
        return ROWS[:limit]


class FakeSession:
    def __init__(self) -> None:
        self.log: list[str] = []
        self.in_transaction = False
        self.message: tuple[Any, ...] = ()
        self.result = FakeResult()
        self.results: list[FakeResult] = []
        self.snapshot: SimpleNamespace | None = SimpleNamespace(snapshot_id=7)

    def execute(self, sql: str) -> FakeResult:
        if sql == "fail":
            raise ValueError(sql)
        self.log.append(sql)
        if sql in ("commit", "rollback"):
            self.in_transaction, self.results = False, []
            return FakeResult(())
        if sql == "begin":
            self.in_transaction, self.results = True, []
            return FakeResult(())
        self.results.append(self.result)
        return replace(self.result, frame=sql, log=self.log) if sql.startswith("select") else self.result

    def begin(self) -> None:
        self.in_transaction = True
        self.log.append("BEGIN")
        self.results = []

    @property
    def steps(self) -> int:
        return len(self.results)

    def commit(self) -> SimpleNamespace | None:
        self.in_transaction = False
        self.last_commit = SimpleNamespace(results=tuple(self.results), written=FilesWritten(1, 50), staged=False)
        self.log.append("COMMIT")
        return self.snapshot

    def rollback(self) -> None:
        self.in_transaction = False
        self.log.append("ROLLBACK")

    def set_commit_message(self, *message: Any) -> None:
        self.message = message

    def cancel(self) -> None:
        self.log.append("CANCEL")

    def close(self) -> None:
        self.log.append("CLOSE")


@pytest.fixture
def session() -> FakeSession:
    return FakeSession()


@pytest.fixture
def handle(session: FakeSession) -> LakeHandle:
    return LakeHandle(session, Provenance("me", "dbt run", "{}"))  # type: ignore[arg-type]


def test_one_statement_commits_itself(handle: LakeHandle, session: FakeSession) -> None:
    handle.cursor().execute("insert into t values (1);")

    assert session.log == ["insert into t values (1)"]


def test_several_statements_succeed_together(handle: LakeHandle, session: FakeSession) -> None:
    handle.cursor().execute("delete from t; insert into t values (1)")

    assert session.log == ["BEGIN", "delete from t", "insert into t values (1)", "COMMIT"]


def test_several_statements_fail_together(handle: LakeHandle, session: FakeSession) -> None:
    with pytest.raises(ValueError, match="fail"):
        handle.cursor().execute("delete from t; fail")

    assert session.log == ["BEGIN", "delete from t", "ROLLBACK"]


def test_several_statements_in_a_transaction_are_part_of_it(handle: LakeHandle, session: FakeSession) -> None:
    handle.begin()
    handle.cursor().execute("delete from t; insert into t values (1)")

    assert session.log == ["BEGIN", "delete from t", "insert into t values (1)"]


def test_a_query_is_not_computed_before_its_rows_are_fetched(handle: LakeHandle, session: FakeSession) -> None:
    handle.cursor().execute("select 1")

    assert session.log == ["select 1"]


def test_a_query_whose_rows_nobody_fetches_is_computed(handle: LakeHandle, session: FakeSession) -> None:
    with handle.running_queries(), handle.running_queries():
        handle.cursor().execute("select 1")
        handle.cursor().execute("delete from t")
    handle.cursor().execute("select 2")

    assert session.log == ["select 1", "run select 1", "delete from t", "select 2"]


def test_a_query_before_the_last_statement_is_computed(handle: LakeHandle, session: FakeSession) -> None:
    cursor = handle.cursor()
    cursor.execute("select 1; select 2")

    assert session.log == ["BEGIN", "select 1", "run select 1", "select 2", "COMMIT"]
    assert cursor.result is not None
    assert cursor.result.frame == "select 2", "it fetches the rows"


def test_a_failed_query_undoes_the_statements_of_its_text(handle: LakeHandle, session: FakeSession) -> None:
    with handle.running_queries(), pytest.raises(ValueError, match="raise_error"):
        handle.cursor().execute("delete from t; select raise_error('bad') from t")

    assert session.log[-2:] == ["run select raise_error('bad') from t", "ROLLBACK"]


def test_an_explicit_begin_in_a_text_is_respected(handle: LakeHandle, session: FakeSession) -> None:
    handle.cursor().execute("begin; delete from t; commit")

    assert session.log == ["begin", "delete from t", "commit"]


def test_a_limit_is_passed_to_the_query(handle: LakeHandle, session: FakeSession) -> None:
    cursor = handle.cursor()
    cursor.execute("select 1")

    assert cursor.fetchmany(2) == ROWS[:2]
    assert session.result.limits == [2]
    assert cursor.fetchmany(2) == ROWS[2:]
    assert cursor.fetchall() == []


def test_rows_of_two_runs_of_a_query_are_not_mixed(handle: LakeHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = iter([[(1, float("nan"))], [(1, float("nan")), (2, 0.0)], [(0, 0.5)], [(1, 0.5)], [(2, 0.5), (1, 0.5)]])
    monkeypatch.setattr(FakeResult, "fetch", lambda *_: next(runs))
    cursor = handle.cursor()
    cursor.execute("select 1")
    assert len(cursor.fetchmany(1)) == 1
    assert cursor.fetchmany(1) == [(2, 0.0)]

    cursor.execute("select 1")
    assert cursor.fetchmany(2) == [(0, 0.5)], "fewer than asked for, so it is not run again"
    assert cursor.fetchmany(2) == []

    cursor.execute("select 1")
    assert cursor.fetchmany(1) == [(1, 0.5)]
    with pytest.raises(DbtRuntimeError, match="Fetch all rows at once"):
        cursor.fetchall()


def test_rows_one_by_one(handle: LakeHandle, session: FakeSession) -> None:
    cursor = handle.cursor()
    cursor.execute("select 1")

    assert [cursor.fetchone() for _ in range(4)] == [*ROWS, None]
    assert session.result.limits == [None]


def test_a_description_names_columns_and_types(handle: LakeHandle) -> None:
    cursor = handle.cursor()
    assert cursor.description is None

    cursor.execute("select 1")

    assert [column[:2] for column in cursor.description or []] == [("id", "int"), ("name", "string")]


def test_a_statement_without_rows_has_nothing_to_fetch(handle: LakeHandle, session: FakeSession) -> None:
    session.result.columns = ()
    cursor = handle.cursor()
    cursor.execute("truncate table t")

    assert cursor.description is None
    with pytest.raises(DbtRuntimeError, match="no rows to fetch"):
        cursor.fetchall()


def test_begin_and_commit_can_be_repeated(handle: LakeHandle, session: FakeSession) -> None:
    handle.begin()
    handle.begin()
    handle.commit()
    assert handle.commit() is None

    assert session.log == ["BEGIN", "COMMIT"]


def test_listeners_get_the_outcome_of_their_transaction(handle: LakeHandle, session: FakeSession) -> None:
    outcomes: list[CommitOutcome] = []
    handle.on_commit(outcomes.append)
    handle.cursor().execute("select 1")
    handle.begin()
    handle.on_commit(outcomes.append)
    handle.cursor().execute("delete from t; insert into t select 1")
    handle.commit()
    handle.begin()
    handle.commit()

    assert outcomes == [CommitOutcome(7, session.result.files * 2, FilesWritten(1, 50))]


@pytest.mark.parametrize("end", ["commit", "rollback"])
@pytest.mark.parametrize("begins_in_sql", [False, True])
def test_listeners_of_a_transaction_that_sql_ended_are_forgotten(
    handle: LakeHandle, session: FakeSession, end: str, begins_in_sql: bool
) -> None:
    outcomes: list[CommitOutcome] = []
    handle.begin()
    handle.cursor().execute("delete from t; insert into t select 1")
    handle.on_commit(outcomes.append)
    handle.cursor().execute(f"{end}; begin" if begins_in_sql else end)
    handle.begin()
    handle.commit()

    assert outcomes == []
    assert session.log[-1] == "COMMIT"


def test_listeners_of_a_transaction_that_failed_are_forgotten(handle: LakeHandle, session: FakeSession) -> None:
    outcomes: list[CommitOutcome] = []
    handle.begin()
    handle.on_commit(outcomes.append)
    session.in_transaction = False
    handle.begin()
    handle.commit()

    assert outcomes == []


def test_a_response_reports_that_nothing_changed(handle: LakeHandle, session: FakeSession) -> None:
    session.snapshot = None
    response = DuckLakeResponse("MERGE 0 rows", code="MERGE")
    handle.begin()
    handle.on_commit(response.committed)
    handle.commit()

    assert str(response) == "MERGE 0 rows (nothing changed, no snapshot)"
    assert response.snapshot_id is None


def test_a_response_reports_the_result_of_a_replayed_transaction(handle: LakeHandle, session: FakeSession) -> None:
    response = DuckLakeResponse("MERGE 2 inserted", code="MERGE", rows_affected=2)
    handle.begin()
    handle.cursor().execute("merge into t")
    handle.on_commit(response.committed)
    handle.cursor().execute("comment on table t is 'x'")
    session.results = [
        Result("MERGE 3 updated", counts=RowCounts(updated=3)),
        Result("COMMENT"),
    ]  # type: ignore[list-item]
    handle.commit()

    assert (str(response), response.rows_affected, response.snapshot_id) == ("MERGE 3 updated", 3, 7)


def test_close_closes_the_session_once(handle: LakeHandle, session: FakeSession) -> None:
    handle.close()
    handle.close()

    assert session.log == ["CLOSE"]
    assert session.message == ("me", "dbt run", "{}")


def test_a_cancelled_handle_refuses_the_next_transaction(handle: LakeHandle, session: FakeSession) -> None:
    handle.cancel()
    with pytest.raises(CancelledError):
        handle.begin()
    with pytest.raises(CancelledError):
        handle.cursor().execute("insert into t values (1)")
    assert session.log == ["CANCEL"]
