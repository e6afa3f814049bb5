"""A statement that fails computes its rows once. Only a result that is too large for this process is computed again, by Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from dbt.adapters.ducklake.errors import DuckLakeError
from dbt.adapters.ducklake.lake import small
from dbt.adapters.ducklake.session import LakeSession
from dbt.adapters.ducklake.spark.errors import is_too_large

CATALOGS = ["sqlite"]
pytestmark = pytest.mark.local_rows  # these tests are about the rows that this process fetches
SOURCE = "SELECT id, fails(id) AS n FROM range(1)"
STATEMENTS = {
    "merge": f"MERGE INTO t USING ({SOURCE}) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "update": "UPDATE t SET n = fails(n) WHERE id = 1",
    "delete": "DELETE FROM t WHERE id = 1 AND fails(n) = 1",
    "insert": f"INSERT INTO t {SOURCE} LIMIT 1",
    "create": f"CREATE TABLE u AS {SOURCE} LIMIT 1",
}


@pytest.fixture
def calls(lake: LakeSession, tmp_path: Path) -> Path:
    """A file that gets a line for each call of the function `fails`, for a lake with the table `t`."""
    path = str(tmp_path / "calls")

    def fails(number: int) -> int:
        with open(path, "a") as file:
            file.write(f"{number}\n")
        raise ValueError("no value")

    lake.spark().udf.register("fails", fails, "bigint")
    lake.execute("CREATE TABLE t AS SELECT id, 10 * id AS n FROM range(3)")
    return Path(path)


@pytest.mark.parametrize("kind", STATEMENTS)
def test_rows_that_cannot_be_computed_are_computed_once(lake: LakeSession, calls: Path, kind: str) -> None:
    with pytest.raises(DuckLakeError, match="no value"):
        lake.execute(STATEMENTS[kind])
    assert len(calls.read_text().splitlines()) == 1
    assert lake.execute("SELECT n FROM t ORDER BY n").fetch() == [(0,), (10,), (20,)]


TOO_LARGE = [
    "Total size of serialized results of 2 tasks (2.0 GiB) is bigger than spark.driver.maxResultSize (1024.0 MiB)",
    "java.lang.OutOfMemoryError: Java heap space",
    "org.apache.arrow.memory.OutOfMemoryException: Failure allocating buffer.",
    "io.netty.util.internal.OutOfDirectMemoryError: failed to allocate 16777216 byte(s) of direct memory",
    "org.apache.arrow.vector.util.OversizedAllocationException: Memory required for vector is (4294967296), which is overflow",
    "RESOURCE_EXHAUSTED: Received message larger than max",
]


@pytest.mark.parametrize("text", TOO_LARGE)
def test_texts_about_the_size_of_a_result(text: str) -> None:
    assert is_too_large(RuntimeError(text))


def test_other_errors_are_not_about_the_size_of_a_result() -> None:
    assert is_too_large(pa.ArrowMemoryError("malloc of size 17179869184 failed"))
    assert not is_too_large(RuntimeError("[DIVIDE_BY_ZERO] Division by zero"))


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE t SET n = n + 1 WHERE id = 1", [(0,), (11,), (20,)]),
        ("INSERT INTO t SELECT 4, id FROM range(30, 40) LIMIT 1", [(0,), (10,), (20,), (30,)]),
        (STATEMENTS["merge"].replace("fails(id)", "id + 5"), [(5,), (10,), (20,)]),
    ],
)
def test_a_result_that_is_too_large_is_left_to_spark(
    lake: LakeSession, monkeypatch: pytest.MonkeyPatch, statement: str, expected: list[tuple[int]]
) -> None:
    def fetch(*_: object, **__: object) -> None:
        raise RuntimeError(TOO_LARGE[0])

    lake.execute("CREATE TABLE t AS SELECT id, 10 * id AS n FROM range(3)")
    monkeypatch.setattr(small, "fetch_small", fetch)
    monkeypatch.setattr(small, "fitted_rows", fetch)
    lake.execute(statement)
    assert lake.execute("SELECT n FROM t ORDER BY n").fetch() == expected
