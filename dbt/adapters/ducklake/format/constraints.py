"""Constraints of a table other than NOT NULL: CHECK is enforced for every row that we write, keys are informational.

The format does not support them (specification: "Constraints"), so they are stored as JSON in a tag of the table. DuckDB ignores the tag
and does not check the rows that it writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from .identifiers import fold
from .sort_text import names_in_spark

CONSTRAINTS_TAG = "dbt_ducklake.constraints"
CHECK, PRIMARY_KEY, UNIQUE, FOREIGN_KEY = "CHECK", "PRIMARY KEY", "UNIQUE", "FOREIGN KEY"
_SUFFIX = {CHECK: "check", PRIMARY_KEY: "pkey", UNIQUE: "key", FOREIGN_KEY: "fkey"}


@dataclass(frozen=True)
class Constraint:
    """One constraint."""

    kind: str
    """CHECK, PRIMARY KEY, UNIQUE or FOREIGN KEY."""
    name: str = ""
    """Empty if the statement gives none; `named` then sets it."""
    columns: tuple[str, ...] = ()
    """The columns of a key."""
    expression: str | None = None
    """The condition of a CHECK, as SQL on the table's columns."""
    references: str | None = None
    """The table to which a FOREIGN KEY refers, as written in the statement."""
    referenced: tuple[str, ...] = ()
    """The columns of that table to which the key refers, if the statement names them."""

    @property
    def is_enforced(self) -> bool:
        """Whether rows that violate the constraint are refused."""
        return self.kind == CHECK

    def __str__(self) -> str:
        """Return the constraint as SQL, without its name."""
        if self.kind == CHECK:
            return f"CHECK ({self.expression})"
        text = f"{self.kind} ({', '.join(self.columns)})"
        if self.kind == FOREIGN_KEY:
            text += f" REFERENCES {self.references}" + (f" ({', '.join(self.referenced)})" if self.referenced else "")
        return f"{text} NOT ENFORCED"


def named(constraints: Iterable[Constraint], table: str) -> tuple[Constraint, ...]:
    """Give each constraint of a table a unique name: a number is added to one that is already taken.

    A missing name is derived as in PostgreSQL: `t_pkey`, `t_a_key`, `t_check1`.
    """
    result: list[Constraint] = []
    taken: set[str] = set()
    for constraint in constraints:
        columns = () if constraint.kind == PRIMARY_KEY else constraint.columns
        base = constraint.name or "_".join((table, *columns, _SUFFIX[constraint.kind]))
        name, number = base, 0
        while fold(name) in taken:
            number += 1
            name = f"{base}{number}"
        taken.add(fold(name))
        result.append(replace(constraint, name=name))
    return tuple(result)


def constraints_of(tags: Mapping[str, str]) -> tuple[Constraint, ...]:
    """Return the constraints that are stored in the tags of a table."""
    return tuple(
        Constraint(**{**each, "columns": tuple(each["columns"]), "referenced": tuple(each["referenced"])})
        for each in json.loads(tags.get(CONSTRAINTS_TAG, "[]"))
    )


def checks_of(tags: Mapping[str, str]) -> list[Constraint]:
    """Return the CHECK constraints that are stored in the tags of a table; only these are enforced."""
    return [constraint for constraint in constraints_of(tags) if constraint.is_enforced]


def with_constraints(tags: Mapping[str, str], constraints: Sequence[Constraint]) -> dict[str, str]:
    """Return the tags with exactly these constraints; other tags stay."""
    kept = {key: value for key, value in tags.items() if key != CONSTRAINTS_TAG}
    if constraints:
        kept[CONSTRAINTS_TAG] = json.dumps([asdict(each) for each in constraints], ensure_ascii=False)
    return kept


def without_column(tags: Mapping[str, str], column: str) -> dict[str, str]:
    """Return the tags after a column is dropped: PRIMARY KEY, UNIQUE and FOREIGN KEY constraints on it are dropped too.

    Raises:
        ValueError: a CHECK uses the column; the message is the name and the SQL of that constraint.
    """
    _require_not_in_check(tags, column)
    return with_constraints(tags, [each for each in constraints_of(tags) if fold(column) not in _folded(each.columns)])


def with_renamed_column(tags: Mapping[str, str], column: str, to: str) -> dict[str, str]:
    """Return the tags after a column is renamed.

    Raises:
        ValueError: a CHECK uses the column; the message is the name and the SQL of that constraint.
    """
    _require_not_in_check(tags, column)
    changed = [
        replace(each, columns=tuple(to if fold(name) == fold(column) else name for name in each.columns)) for each in constraints_of(tags)
    ]
    return with_constraints(tags, changed)


def _require_not_in_check(tags: Mapping[str, str], column: str) -> None:
    for check in checks_of(tags):
        if fold(column) in names_in_spark(check.expression or ""):
            raise ValueError(f"{check.name}, {check}")


def _folded(names: Iterable[str]) -> set[str]:
    return {fold(name) for name in names}
