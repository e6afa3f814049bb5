"""After a transaction is cancelled, no statement of it runs and nothing is committed. No statement here needs Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dbt.adapters.ducklake.errors import CancelledError
from dbt.adapters.ducklake.session import LakeSession
from tests.places import CatalogPlace


@pytest.fixture
def session(tmp_path: Path) -> Iterator[LakeSession]:
    with CatalogPlace(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/").lake() as lake, lake.session() as session:
        session.execute("CREATE TABLE t (id INT)")
        yield session


def tables(session: LakeSession) -> list[str]:
    return sorted(row[1] for row in session.execute("SHOW TABLES").fetch())


def test_a_transaction_that_is_cancelled_between_two_statements_runs_no_more_statements(session: LakeSession) -> None:
    session.begin()
    session.execute("CREATE TABLE u (id INT)")
    session.cancel()
    for statement in ("CREATE TABLE v (id INT)", "DESCRIBE t", "DESCRIBE t"):
        with pytest.raises(CancelledError):
            session.execute(statement)
    with pytest.raises(CancelledError):
        session.commit()
    assert not session.in_transaction
    assert tables(session) == ["t"]


def test_rollback_ends_a_cancelled_transaction_and_the_next_one_commits(session: LakeSession) -> None:
    session.execute("BEGIN")
    session.cancel()
    session.execute("ROLLBACK")
    session.begin()
    session.execute("CREATE TABLE u (id INT)")
    session.commit()
    assert tables(session) == ["t", "u"]


def test_a_cancellation_outside_a_transaction_does_not_stop_later_statements(session: LakeSession) -> None:
    session.cancel()
    session.execute("CREATE TABLE u (id INT)")
    session.cancel()
    session.begin()
    session.execute("CREATE TABLE v (id INT)")
    session.commit()
    assert tables(session) == ["t", "u", "v"]
