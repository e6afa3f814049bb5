"""Our session and DuckDB's ducklake extension on one lake, on every catalog database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import pytest

from dbt.adapters.ducklake.session import LakeSession
from tests.catalogs import CatalogUnderTest
from tests.interop.oracle import connect as connect_duckdb


def comparable(value: Any) -> Any:
    """Normalize a value of either side: structs and maps as pairs, times with a zone in UTC, bytes as bytes."""
    if isinstance(value, dict):
        value = list(value.items())
    if isinstance(value, list | tuple):
        return [comparable(item) for item in value]
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, float) and value != value:
        return "NaN"
    if hasattr(value, "astimezone") and getattr(value, "tzinfo", None) is not None:
        import datetime as dt

        return value.astimezone(dt.timezone.utc)
    return value


def comparable_rows(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted((tuple(comparable(v) for v in row) for row in rows), key=repr)


class Both:
    """The two sides of one lake."""

    def __init__(self, session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
        self.session = session
        self.duck = duck

    def spark(self, statement: str) -> None:
        self.session.execute(statement)

    def duckdb(self, statement: str) -> None:
        self.duck.execute(statement)

    def rows(self, duckdb_query: str, spark_query: str | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of a query, which must be equal on both sides, sorted where their values can be compared."""
        theirs = comparable_rows(self.duck.execute(duckdb_query).fetchall())
        ours = comparable_rows(self.session.execute(spark_query or duckdb_query).fetch())
        assert ours == theirs
        try:
            return sorted(ours)
        except TypeError:
            return ours

    def row_ids(self, table: str, key: str) -> dict[Any, int]:
        return dict(self.duck.execute(f"SELECT {key}, rowid FROM {table} ORDER BY ALL").fetchall())

    def snapshots(self) -> int:
        return int(self.duck.execute("SELECT count(*) FROM ducklake_snapshots('lake')").fetchall()[0][0])

    def check_history(self, table: str) -> None:
        """Assert that the table has equal rows on both sides at every snapshot that contains it."""
        first = self.duck.execute(
            "SELECT min(snapshot_id) FROM ducklake_snapshots('lake') WHERE list_contains(changes['tables_created'], ?) ", [f"main.{table}"]
        ).fetchall()[0][0]
        last = self.duck.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetchall()[0][0]
        assert first is not None
        versions = range(first, last + 1)
        ours = self.ours_at(table, versions)
        for version in versions:
            theirs = comparable_rows(self.duck.execute(f"SELECT * FROM {table} AT (VERSION => {version})").fetchall())
            assert ours[version] == theirs, f"snapshot {version}"

    def ours_at(self, table: str, versions: Iterable[int]) -> dict[int, list[tuple[Any, ...]]]:
        """Return the rows that we read of a table at snapshots, with one statement for up to 16 that have the same columns."""
        generations: dict[Any, list[int]] = {}
        for version in versions:
            columns = self.duck.execute(f"SELECT * FROM {table} AT (VERSION => {version}) LIMIT 0").description
            generations.setdefault(tuple((column[0], str(column[1])) for column in columns), []).append(version)
        found: dict[int, list[tuple[Any, ...]]] = {}
        for alike in generations.values():
            for start in range(0, len(alike), 16):
                some = alike[start : start + 16]
                rows = self.session.execute(
                    " UNION ALL ".join(f"SELECT {each}, * FROM {table} VERSION AS OF {each}" for each in some)
                ).fetch()
                found |= {each: comparable_rows([row[1:] for row in rows if row[0] == each]) for each in some}
        return found

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.session.begin()
        yield
        self.session.commit()


@pytest.fixture
def both(catalog: CatalogUnderTest, lake: LakeSession) -> Iterator[Both]:
    duck = connect_duckdb(catalog)
    duck.execute("USE lake")
    yield Both(lake, duck)
    duck.close()
