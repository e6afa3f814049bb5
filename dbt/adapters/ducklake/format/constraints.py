"""Constraints of a table beside NOT NULL: CHECK, which holds for every row that we write, and keys, which only inform.

The format has no place for them (specification: "Constraints"), so they are JSON in a tag of the table. DuckDB passes over the tag: what it
writes is not checked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from .identifiers import fold
from .sort_text import names_in

CONSTRAINTS_TAG = "dbt_ducklake.constraints"
CHECK, PRIMARY_KEY, UNIQUE, FOREIGN_KEY = "CHECK", "PRIMARY KEY", "UNIQUE", "FOREIGN KEY"
_SUFFIX = {CHECK: "check", PRIMARY_KEY: "pkey", UNIQUE: "key", FOREIGN_KEY: "fkey"}


@dataclass(frozen=True)
class Constraint:
    """One constraint; `kind` is CHECK, PRIMARY KEY, UNIQUE or FOREIGN KEY, the name is empty until `named` gives one."""

    kind: str
    name: str = ""
    columns: tuple[str, ...] = ()
    """The columns of a key."""
    expression: str | None = None
    """What a CHECK asks, as SQL over the table's columns."""
    references: str | None = None
    """The table of a FOREIGN KEY, as written."""
    referenced: tuple[str, ...] = ()
    """Its columns there, if they are said."""

    @property
    def is_enforced(self) -> bool:
        return self.kind == CHECK

    def __str__(self) -> str:
        """As SQL writes it behind its name."""
        if self.kind == CHECK:
            return f"CHECK ({self.expression})"
        text = f"{self.kind} ({', '.join(self.columns)})"
        if self.kind == FOREIGN_KEY:
            text += f" REFERENCES {self.references}" + (f" ({', '.join(self.referenced)})" if self.referenced else "")
        return f"{text} NOT ENFORCED"


def named(constraints: Iterable[Constraint], table: str) -> tuple[Constraint, ...]:
    """The constraints, each with a name of its own, in PostgreSQL's manner where none is said: `t_pkey`, `t_a_key`, `t_check1`."""
    found: list[Constraint] = []
    taken: set[str] = set()
    for constraint in constraints:
        columns = () if constraint.kind == PRIMARY_KEY else constraint.columns
        base = constraint.name or "_".join((table, *columns, _SUFFIX[constraint.kind]))
        name, number = base, 0
        while fold(name) in taken:
            number += 1
            name = f"{base}{number}"
        taken.add(fold(name))
        found.append(replace(constraint, name=name))
    return tuple(found)


def constraints_of(tags: Mapping[str, str]) -> tuple[Constraint, ...]:
    """The constraints that the tags of a table hold."""
    return tuple(
        Constraint(**{**each, "columns": tuple(each["columns"]), "referenced": tuple(each["referenced"])})
        for each in json.loads(tags.get(CONSTRAINTS_TAG, "[]"))
    )


def checks_of(tags: Mapping[str, str]) -> list[Constraint]:
    """Those of them that rows must pass."""
    return [constraint for constraint in constraints_of(tags) if constraint.is_enforced]


def with_constraints(tags: Mapping[str, str], constraints: Sequence[Constraint]) -> dict[str, str]:
    """The tags with these constraints and no others."""
    kept = {key: value for key, value in tags.items() if key != CONSTRAINTS_TAG}
    if constraints:
        kept[CONSTRAINTS_TAG] = json.dumps([asdict(each) for each in constraints], ensure_ascii=False)
    return kept


def without_column(tags: Mapping[str, str], column: str) -> dict[str, str]:
    """The tags when a column has gone: its keys go with it.

    Raises:
        ValueError: a CHECK names it; the text is that constraint.
    """
    _refuse_checked(tags, column)
    return with_constraints(tags, [each for each in constraints_of(tags) if fold(column) not in _folded(each.columns)])


def with_renamed_column(tags: Mapping[str, str], column: str, to: str) -> dict[str, str]:
    """The tags when a column has another name.

    Raises:
        ValueError: a CHECK names it; the text is that constraint.
    """
    _refuse_checked(tags, column)
    changed = [
        replace(each, columns=tuple(to if fold(name) == fold(column) else name for name in each.columns)) for each in constraints_of(tags)
    ]
    return with_constraints(tags, changed)


def _refuse_checked(tags: Mapping[str, str], column: str) -> None:
    for check in checks_of(tags):
        if fold(column) in names_in(check.expression or ""):
            raise ValueError(f"{check.name}, {check}")


def _folded(names: Iterable[str]) -> set[str]:
    return {fold(name) for name in names}
