"""The meaning of statements without concurrent writers: plain DuckDB tables in memory, without a lake."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from .history import Answer, Done, Kind, Relation, State, Statement, TableRows, ViewText, in_order
from .statements import EXTRA, TABLES, TEMPORARY_VIEW, VIEW, VIEWS, is_counted, view_number

_Asked = tuple[Statement, tuple[tuple[str, str], ...]]
"""A statement and the temporary views of its session."""


@dataclass(frozen=True)
class Outcome:
    """The answers to a list of statements, and the resulting state."""

    answers: tuple[Answer, ...]
    state: State

    def mismatch(self, work: Sequence[Done]) -> str | None:
        """Return the first statement with a different answer."""
        for done, answer in zip(work, self.answers, strict=True):
            if not done.answer.same(answer):
                return f"{done.statement.text}: the answer was {done.answer}, it should be {answer}"
        return None


class Model:
    """Runs statements on any state, one after the other."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(config={"threads": 1})
        self._cached = functools.lru_cache(maxsize=4096)(self._run)

    def run(self, work: Sequence[Done], state: State) -> Outcome:
        """Return the answers and the resulting state of a transaction's statements when they run on a state."""
        return self._cached(tuple((done.statement, done.views) for done in work), state)

    def _run(self, work: Sequence[_Asked], state: State) -> Outcome:
        self._load(state)
        answers = []
        for statement, views in work:
            self._connection.execute(f"DROP VIEW IF EXISTS temp.{TEMPORARY_VIEW}")
            for _, text in views:
                self._answer(Kind.TEMPORARY, text)
            answers.append(Answer() if statement.kind is Kind.MAINTENANCE else self._answer(statement.kind, statement.text))
        return Outcome(tuple(answers), self._read())

    def _load(self, state: State) -> None:
        for name in (TEMPORARY_VIEW, VIEW):
            self._connection.execute(f"DROP VIEW IF EXISTS {name}")
        for name in (*TABLES, EXTRA):
            self._connection.execute(f"DROP TABLE IF EXISTS {name}")
        for name, found in sorted(state.relations, key=lambda item: isinstance(item[1], ViewText)):
            if isinstance(found, ViewText):
                self._connection.execute(f"CREATE VIEW {name} AS {VIEWS[found.number]}")
                continue
            columns = ", ".join(f"{column} INTEGER" for column in found.columns)
            self._connection.execute(f"CREATE TABLE {name} ({columns})")
            if found.rows:
                marks = ", ".join(f"({', '.join('NULL' if value is None else str(value) for value in row)})" for row in found.rows)
                self._connection.execute(f"INSERT INTO {name} VALUES {marks}")

    def _answer(self, kind: Kind, text: str) -> Answer:
        try:
            rows = self._connection.execute(text).fetchall()
        except duckdb.Error as error:
            return Answer(refused=True, message=str(error).splitlines()[0])
        if kind is Kind.QUERY:
            return Answer(rows=in_order(rows))
        return Answer(count=rows[0][0] if is_counted(kind, text) else None)

    def _read(self) -> State:
        relations: dict[str, Relation] = {}
        for (name,) in self._connection.execute("SELECT table_name FROM duckdb_tables() WHERE NOT temporary").fetchall():
            found = self._connection.execute(f"SELECT * FROM {name}")
            columns = [column[0] for column in found.description or ()]
            relations[name] = TableRows.of(columns, found.fetchall())
        query = "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal AND NOT temporary"
        for name, text in self._connection.execute(query).fetchall():
            relations[name] = ViewText(view_number(text))
        return State.of(relations)
