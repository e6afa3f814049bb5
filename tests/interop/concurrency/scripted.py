"""Parse hand-written scripts: one step per line, the actor first."""

from __future__ import annotations

from .history import BEGIN, COMMIT, ROLLBACK, Actor, Kind, Script, Statement, Step
from .statements import TEMPORARY_VIEW

_ACTORS: dict[str, Actor] = {"A": "A", "B": "B", "duckdb": "duckdb"}
_TRANSACTION = {statement.text: statement for statement in (BEGIN, COMMIT, ROLLBACK)}
_FIRST_WORDS = {
    "SELECT": Kind.QUERY,
    "INSERT": Kind.CHANGE,
    "UPDATE": Kind.CHANGE,
    "DELETE": Kind.CHANGE,
    "MERGE": Kind.CHANGE,
    "TRUNCATE": Kind.CHANGE,
}
_TABLE_AT = {"INSERT": 2, "UPDATE": 1, "DELETE": 2, "MERGE": 2, "TRUNCATE": 2, "DROP": 2, "ALTER": 2, "CREATE": 2}
"""First word → index of the word that names the relation."""


def script(*lines: str, inlining: int = 0, setup: tuple[str, ...] = ()) -> Script:
    """Create a script on tables `t` and `u` with columns `id` and `n`, both empty unless the setup fills them.

    Args:
        lines: Such as `A BEGIN`, `duckdb INSERT INTO t VALUES (1, 2)`, `B merge_adjacent_files`, `A expire_snapshots 1`.
        inlining: The `data_inlining_row_limit` of all clients.
        setup: Statements that DuckDB runs before the first step, one snapshot for each.
    """
    tables = tuple(f"CREATE TABLE {table} (id INTEGER, n INTEGER)" for table in ("t", "u"))
    return Script(inlining, tables + setup, tuple(_step(line) for line in lines))


def _step(line: str) -> Step:
    actor, text = line.split(None, 1)
    return Step(_ACTORS[actor], statement(text))


def statement(text: str) -> Statement:
    """Create a statement; its first words determine the kind."""
    if text in _TRANSACTION:
        return _TRANSACTION[text]
    words = text.replace("OR REPLACE ", "").split()
    if words[0].islower():
        return Statement(Kind.MAINTENANCE, text)
    if words[0] == "CREATE" and words[1] == "TEMPORARY":
        return Statement(Kind.TEMPORARY, text, temporary=TEMPORARY_VIEW)
    writes = frozenset({words[_TABLE_AT[words[0]]]}) if words[0] in _TABLE_AT else frozenset()
    return Statement(_FIRST_WORDS.get(words[0], Kind.DEFINITION), text, writes)
