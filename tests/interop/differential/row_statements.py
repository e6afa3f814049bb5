"""Random statements that change rows."""

from __future__ import annotations

from . import values
from .shape import ColumnShape, Shape
from .values import INTEGERS, Dialect, literal
from .words import Maker, Statement, Texts, both, name_of, relation


class RowStatements(Maker):
    """INSERT, UPDATE, DELETE, MERGE, TRUNCATE."""

    def insert_values(self, shape: Shape) -> Statement | None:
        table = self._table(shape)
        columns = list(table.columns)
        named = self.rng.random() < 0.4
        if named:
            self.rng.shuffle(columns)
            columns = columns[: max(1, len(columns) - self.rng.randrange(3))]
        many = self.rng.choice((1, 2, 5, 9, 10, 11, 12, 20))
        rows = [[self._value(column) for column in columns] for _ in range(many)]

        def texts(dialect: Dialect) -> str:
            listed = f" ({', '.join(name_of(c.name, dialect) for c in columns)})" if named else ""
            body = ", ".join("(" + ", ".join(literal(c.type, v, dialect) for c, v in zip(columns, row, strict=True)) + ")" for row in rows)
            return f"INSERT INTO {relation(table.schema, table.name, dialect)}{listed} VALUES {body}"

        return both("insert", texts, table.key)

    def insert_select(self, shape: Shape) -> Statement | None:
        table, source = self._table(shape), self._table(shape)
        pairs = [(c, self._column(source, lambda s, c=c: s.type == c.type)) for c in table.columns]  # type: ignore[misc]
        condition = self.condition(source)

        def texts(dialect: Dialect) -> str:
            items = ", ".join(name_of(s.name, dialect) if s else literal(c.type, None, dialect) for c, s in pairs)
            return (
                f"INSERT INTO {relation(table.schema, table.name, dialect)} SELECT {items} "
                f"FROM {relation(source.schema, source.name, dialect)} WHERE {condition(dialect)}"
            )

        return both("insert select", texts, table.key)

    def update(self, shape: Shape) -> Statement | None:
        table = self._table(shape)
        changed = self.rng.sample(table.columns, min(len(table.columns), self.rng.choice((1, 1, 2))))
        sets = [(column, self._new_value(column)) for column in changed]
        condition = self.condition(table)

        def texts(dialect: Dialect) -> str:
            items = ", ".join(f"{name_of(self_name, dialect)} = {text(dialect)}" for self_name, text in named)
            return f"UPDATE {relation(table.schema, table.name, dialect)} SET {items} WHERE {condition(dialect)}"

        named = [(self._spelled(column.name), text) for column, text in sets]
        return both("update", texts, table.key)

    def _new_value(self, column: ColumnShape) -> Texts:
        given = self._value(column)
        if column.type.name in INTEGERS and self.rng.random() < 0.5:
            return lambda d: f"CAST(coalesce({name_of(column.name, d)}, 0) % 7 + 1 AS {values.type_text(column.type, d)})"
        if column.type.name == "varchar" and self.rng.random() < 0.3:
            return lambda d: f"upper({name_of(column.name, d)})"
        return lambda d: literal(column.type, given, d)

    def delete(self, shape: Shape) -> Statement:
        table = self._table(shape)
        condition = self.condition(table)
        everything = self.rng.random() < 0.06

        def texts(dialect: Dialect) -> str:
            where = "" if everything else f" WHERE {condition(dialect)}"
            return f"DELETE FROM {relation(table.schema, table.name, dialect)}{where}"

        return both("delete", texts, table.key)

    def truncate(self, shape: Shape) -> Statement | None:
        table = self._table(shape)
        return both("truncate", lambda d: f"TRUNCATE TABLE {relation(table.schema, table.name, d)}", table.key)

    def merge(self, shape: Shape) -> Statement | None:
        table = self._table(shape)
        key = self._column(table, lambda c: c.type.name in INTEGERS)
        if key is None:
            return None
        source = [key, *(c for c in table.columns if c != key)]
        # Never a NULL in a NOT NULL column: DuckDB's MERGE would insert it.
        rows = [
            [k, *(values.value(self.rng, c.type, 0.15 if c.nullable else 0) for c in source[1:])]
            for k in self.rng.sample(range(100), self.rng.randrange(1, 15))
        ]
        changed = self.rng.sample(source[1:], min(len(source) - 1, 2))
        condition = self.condition(table, "t")
        guard = self.rng.random() < 0.3
        matched = self.rng.choice(("update", "update", "delete", None))
        if matched == "update" and not changed:
            matched = "delete"
        inserts = matched is None or self.rng.random() < 0.7
        orphans = self.rng.choice(("DELETE", "UPDATE")) if self.rng.random() < 0.15 else ""
        orphaned, kept = self.condition(table, "t"), self.rng.choice(table.columns)
        given_to_orphans = values.value(self.rng, kept.type, 0.15 if kept.nullable else 0)

        def texts(dialect: Dialect) -> str:
            def n(name: str) -> str:
                return name_of(name, dialect)

            selects = [
                "SELECT " + ", ".join(f"{literal(c.type, v, dialect)} AS {n(c.name)}" for c, v in zip(source, row, strict=True))
                for row in rows
            ]
            clauses = ""
            if matched:
                action = "DELETE" if matched == "delete" else "UPDATE SET " + ", ".join(f"{n(c.name)} = s.{n(c.name)}" for c in changed)
                clauses += f" WHEN MATCHED{f' AND {condition(dialect)}' if guard else ''} THEN {action}"
            if inserts:
                names = ", ".join(n(c.name) for c in source)
                given = ", ".join(f"s.{n(c.name)}" for c in source)
                clauses += f" WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({given})"
            if orphans:
                action = orphans if orphans == "DELETE" else f"UPDATE SET {n(kept.name)} = {literal(kept.type, given_to_orphans, dialect)}"
                clauses += f" WHEN NOT MATCHED BY SOURCE AND {orphaned(dialect)} THEN {action}"
            using = " UNION ALL ".join(selects)
            return f"MERGE INTO {relation(table.schema, table.name, dialect)} AS t USING ({using}) AS s ON t.{n(key.name)} = s.{n(key.name)}{clauses}"

        return both("merge", texts, table.key)
