"""Random statements that mean the same to Spark, to DuckDB and to the model."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from .history import Kind, Statement

TABLES = ("t", "u")
"""They always exist; views read only these."""
EXTRA = "w"
"""A table that is created and dropped."""
VIEW, TEMPORARY_VIEW = "v", "x"
VIEWS = (
    "SELECT id, n FROM t WHERE id > -100",
    "SELECT id, n FROM u WHERE id > -101",
    "SELECT coalesce(max(id), 0) + 1 AS id, 1 AS n FROM t WHERE id > -102",
    "SELECT id, n FROM u WHERE id > (SELECT coalesce(max(id), -1) FROM t) AND id > -103",
    "SELECT id, n FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.id = t.id) AND id > -104",
    "SELECT CAST(count(*) AS INT) AS id, 2 AS n FROM u WHERE id > -105",
)
"""The texts of views. The last number is the index of the text, so that any reader can identify it."""


def view_number(text: str) -> int:
    """Return the index in `VIEWS` of a stored text."""
    return int(text.rsplit("-10", 1)[1][0])


def is_counted(kind: Kind, text: str) -> bool:
    """Return whether a statement reports how many rows it changed, with the same number on all sides."""
    makes_rows = kind is Kind.DEFINITION and " TABLE " in text and " AS SELECT" in text
    return makes_rows or (kind is Kind.CHANGE and not text.startswith("TRUNCATE"))


THEMES: dict[str, tuple[int, int, int, int, int]] = {
    "mixed": (8, 4, 3, 3, 1),
    "append": (1, 0, 0, 0, 0),
    "upsert": (3, 3, 0, 3, 0),
    "window": (4, 0, 4, 0, 1),
}
"""Relative frequencies of INSERT, UPDATE, DELETE, MERGE, TRUNCATE. With one theme, statements of a history affect each other more often."""


class Words:
    """Generates random statements.

    Args:
        rng: The source of randomness.
        tables: The tables to use; a table listed twice is chosen twice as often.
        theme: One of `THEMES`.
    """

    def __init__(self, rng: random.Random, tables: Sequence[str], theme: str = "mixed") -> None:
        self.rng, self.tables, self.theme = rng, tables, theme

    def key(self) -> int:
        """Return a value of `id`, of few, so that statements affect the same rows."""
        return self.rng.randrange(1, 8)

    def small(self) -> int:
        """Return a value of `n`."""
        return self.rng.randrange(4)

    def table(self) -> str:
        """Return a table to change."""
        return self.rng.choice(self.tables)

    def source(self, views: Sequence[str]) -> str:
        """Return a relation to read. `views` are the existing ones."""
        return self.rng.choice([*self.tables, *TABLES, *views, *views])

    def query(self, views: Sequence[str]) -> Statement:
        """Return a SELECT whose rows are fetched."""
        source, key, small = self.source(views), self.key(), self.small()
        text = self.rng.choice(
            [
                f"SELECT id, n FROM {source}",
                f"SELECT count(*), CAST(sum(n) AS BIGINT) FROM {source}",
                f"SELECT max(id) FROM {source} WHERE n < {small}",
                f"SELECT n FROM {source} WHERE id = {key}",
                f"SELECT a.id, b.n FROM {source} AS a JOIN {self.table()} AS b ON a.id = b.id",
            ]
        )
        return Statement(Kind.QUERY, text)

    def insert(self, views: Sequence[str]) -> Statement:
        """Return an INSERT of values, or of a query that often reads the same table."""
        table, source, key, small = self.table(), self.source(views), self.key(), self.small()
        text = self.rng.choice(
            [
                f"VALUES ({key}, {small})",
                f"VALUES ({key}, {small}), ({self.key()}, {self.small()})",
                f"SELECT id, n FROM {source} WHERE id > (SELECT coalesce(max(id), -1) FROM {table})",
                f"SELECT coalesce(max(id), 0) + 1, {small} FROM {source}",
                f"SELECT s.id, s.n FROM {source} AS s WHERE NOT EXISTS (SELECT 1 FROM {table} AS o WHERE o.id = s.id)",
                f"SELECT id, n + 1 FROM {source} WHERE n < {small}",
                f"SELECT id, n FROM {source}",
            ]
        )
        return _change(f"INSERT INTO {table} (id, n) {text}", table)

    def update(self, views: Sequence[str]) -> Statement:
        """Return an UPDATE by key, by value, or from another relation."""
        table, source = self.table(), self.source(views)
        text = self.rng.choice(
            [
                f"n = n + 1 WHERE id = {self.key()}",
                f"n = n + 1 WHERE n < {self.small()}",
                f"n = {self.small()} WHERE id IN (SELECT id FROM {source})",
                f"id = id + 1 WHERE id > {self.key()}",
            ]
        )
        return _change(f"UPDATE {table} SET {text}", table)

    def delete(self, views: Sequence[str]) -> Statement:
        """Return a DELETE by key, by value, or by another relation."""
        table, source = self.table(), self.source(views)
        text = self.rng.choice(
            [
                f"id = {self.key()}",
                f"n = {self.small()}",
                f"id > {self.key()}",
                f"id IN (SELECT id FROM {source} WHERE n < {self.small()})",
            ]
        )
        return _change(f"DELETE FROM {table} WHERE {text}", table)

    def merge(self, views: Sequence[str]) -> Statement:
        """Return an upsert. No key occurs twice in its source."""
        table, key = self.table(), self.key()
        source = self.rng.choice(
            [
                f"SELECT {key} AS id, {self.small()} AS n",
                f"SELECT {key} AS id, {self.small()} AS n UNION ALL SELECT {key + 1} AS id, {self.small()} AS n",
                f"SELECT id, max(n) AS n FROM {self.source(views)} GROUP BY id",
            ]
        )
        clauses = "WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n)"
        return _change(f"MERGE INTO {table} AS o USING ({source}) AS s ON o.id = s.id {clauses}", table)

    def truncate(self, _views: Sequence[str]) -> Statement:
        """Return a TRUNCATE."""
        table = self.table()
        return _change(f"TRUNCATE TABLE {table}", table)

    def change(self, views: Sequence[str]) -> Statement:
        """Return a row change."""
        kinds: list[Callable[[Sequence[str]], Statement]] = [self.insert, self.update, self.delete, self.merge, self.truncate]
        if self.theme == "append" and views and self.rng.random() < 0.5:  # as dbt does it
            table = self.table()
            return _change(f"INSERT INTO {table} (id, n) SELECT id, n FROM {self.rng.choice(views)}", table)
        return self.rng.choices(kinds, THEMES[self.theme])[0](views)

    def define_table(self, views: Sequence[str]) -> Statement:
        """Return a statement that creates, replaces or drops `EXTRA`."""
        name, source = EXTRA, self.source(views)
        text = self.rng.choice(
            [
                f"CREATE TABLE {name} (id INT, n INT)",
                f"CREATE TABLE {name} AS SELECT id, n FROM {source}",
                f"CREATE OR REPLACE TABLE {name} AS SELECT id, n FROM {source}",
                f"DROP TABLE {name}",
                f"INSERT INTO {name} (id, n) SELECT id, n FROM {source}",
            ]
        )
        return Statement(Kind.CHANGE if text.startswith("INSERT") else Kind.DEFINITION, text, frozenset({name}))

    def add_column(self) -> Statement:
        """Add a column that no other statement uses."""
        table = self.table()
        return Statement(Kind.DEFINITION, f"ALTER TABLE {table} ADD COLUMN c INT", frozenset({table}))

    def create_view(self) -> Statement:
        """Return a statement that creates the view of the lake, with one of its texts."""
        return Statement(Kind.DEFINITION, f"CREATE OR REPLACE VIEW {VIEW} AS {self.rng.choice(VIEWS)}", frozenset({VIEW}))

    def create_temporary_view(self, views: Sequence[str]) -> Statement:
        """Return a temporary view with one of the texts, or over the view of the lake."""
        texts = [*VIEWS, f"SELECT id, n FROM {VIEW}"] if VIEW in views else VIEWS
        return temporary_view(self.rng.choice(texts))

    def maintenance(self, kinds: Sequence[str]) -> Statement:
        """Return a maintenance call. For `expire_snapshots` it has the number of snapshots to keep; the player chooses the expired ones."""
        kind = self.rng.choice(kinds)
        return Statement(Kind.MAINTENANCE, f"{kind} {self.rng.randrange(1, 4)}" if kind == "expire_snapshots" else kind)


def temporary_view(text: str) -> Statement:
    """Return the statement that creates the temporary view of a session."""
    return Statement(Kind.TEMPORARY, f"CREATE OR REPLACE TEMPORARY VIEW {TEMPORARY_VIEW} AS {text}", temporary=TEMPORARY_VIEW)


def _change(text: str, table: str) -> Statement:
    return Statement(Kind.CHANGE, text, frozenset({table}))
