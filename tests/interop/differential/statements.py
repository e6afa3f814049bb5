"""Random statements that mean the same to both sides, with the frequencies of a run."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from .definitions import Definitions
from .row_statements import RowStatements
from .shape import Shape
from .values import Dialect
from .words import Statement


class Statements(RowStatements, Definitions):
    """Generates statements from a seeded generator of random numbers. The same seed and the same lake give the same statements."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self.fresh: set[str] = set()
        """The keys of tables that were created and have not changed since."""
        self._rows: Sequence[tuple[float, Callable[[Shape], Statement | None]]] = (
            (20, self.insert_values), (8, self.insert_select), (14, self.update), (12, self.delete), (10, self.merge), (1.5, self.truncate),
        )  # fmt: skip
        self._definers: Sequence[tuple[float, Callable[[Shape], Statement | None]]] = (
            (6, self.create_table), (4, self.create_as), (2, self.replace_as), (2, self.drop_table), (2, self.rename_table),
            (5, self.add_column), (4, self.drop_column), (4, self.rename_column), (4, self.retype_column), (2, self.nested_field),
            (2, self.set_default), (2, self.set_nullable), (3, self.set_partitioning), (2, self.set_sorting), (2, self.comment),
            (1, self.create_view), (0.5, self.drop_view), (1, self.create_schema), (0.3, self.drop_schema),
        )  # fmt: skip

    def next(self, shape: Shape, dialect: Dialect) -> Statement:
        """Return a statement that the side can run."""
        while True:
            fresh = [table for table in shape.tables if table.key in self.fresh]
            if not shape.tables:
                made = self.create_table(shape)
            elif fresh and self.rng.random() < 0.4:
                made = self.first_layout(self.rng.choice(fresh))
            else:
                kinds = self._rows if self.rng.random() < 0.65 else self._definers
                (make,) = self.rng.choices([make for _, make in kinds], [weight for weight, _ in kinds])
                made = make(shape)
            if made is not None and made.text(dialect) is not None:
                return made

    def note(self, statement: Statement) -> None:
        """Record that a side has run a statement."""
        self.fresh.difference_update(statement.tables)
        if statement.kind == "create table":
            self.fresh.update(statement.tables)
